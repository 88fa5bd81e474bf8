/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What became of each probe's events in the recorder, so that recorded + lost is what the kernel
 * counted. Counted by the drain (main thread) and the writer thread, summed up by the session.
 */
#ifndef GS_RECORD_TALLY_H
#define GS_RECORD_TALLY_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/mem.h"
#include "format/event.h"
#include "format/meta.h"

struct gs_tally_row {
	_Atomic uint64_t seen;	 /* came out of the rings */
	_Atomic uint64_t lost;	 /* no room to keep it, or it could not be written */
	_Atomic uint64_t beyond; /* after --max-events or --max-size, or of the recorder itself */
};

struct gs_tally {
	uint32_t nprobes, max_sites;
	_Atomic uint32_t nsites;   /* grows when a later module is attached */
	uint32_t *site_probe;	   /* max_sites entries: never moves, the writer thread reads it */
	struct gs_tally_row *rows; /* nprobes, and one more for what belongs to no probe */
};

static inline void gs_tally_init(struct gs_tally *t, uint32_t nprobes, uint32_t max_sites)
{
	t->nprobes = nprobes;
	t->nsites = 0;
	t->max_sites = max_sites;
	t->site_probe = gs_calloc(max_sites, sizeof(*t->site_probe));
	t->rows = gs_calloc(nprobes + 1u, sizeof(*t->rows));
}
static inline void gs_tally_deinit(struct gs_tally *t)
{
	free(t->site_probe);
	free(t->rows);
}
/* Row of a site's probe; the last one for a site that is not known. */
static inline struct gs_tally_row *gs_tally_site(const struct gs_tally *t, uint32_t site)
{
	return &t->rows[site < t->nsites ? t->site_probe[site] : t->nprobes];
}
static inline void gs_tally_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

#endif
