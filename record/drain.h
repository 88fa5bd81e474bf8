/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The drain: raw records out of the rings, by processor, into chunks for the writer thread. It
 * copies and counts; no formatting, no allocation an event.
 *
 * With --max-events records are held back until all processors must have delivered what is older,
 * and released in the order of time: the file has exactly the first N.
 */
#ifndef GS_RECORD_DRAIN_H
#define GS_RECORD_DRAIN_H

#include "record/output.h"
#include "record/process.h"

/* A chunk is given to the writer when a poll finds its oldest record this old: with a poll every 50
 * ms it is on its way after 150 ms at the latest. */
#define GS_DRAIN_AGE_NS 100000000u
#define GS_DRAIN_HOLD_NS 100000000u

struct gs_drain;

struct gs_drain_options {
	struct gs_output *output; /* all borrowed */
	struct gs_tally *tally;
	struct gs_processes *processes;
	uint32_t ncpus;
	uint64_t max_events;	    /* 0: no limit */
	bool (*give_up)(void *ctx); /* asked while the writer has no room; NULL: never */
	void *ctx;
};
struct gs_drain *gs_drain_new(const struct gs_drain_options *opts);
void gs_drain_free(struct gs_drain *d);

/* Sites of a resolution: their probes go into the tally, their code pointers are looked for. Before
 * their events come. BASES as for the merge. */
struct gs_error *gs_drain_add(struct gs_drain *d, const struct gs_resolution *res,
			      const struct gs_bases *bases);

/* gs_record_fn of the tracer; CTX is the drain. */
int gs_drain_record(void *ctx, int cpu, const void *data, size_t len);
/* After each poll, which began at POLLED_NS and emptied the rings: releases what was held, hands
 * over what is old. */
void gs_drain_tick(struct gs_drain *d, uint64_t now_ns, uint64_t polled_ns);
/* The rings are empty for good: everything goes to the writer. */
void gs_drain_finish(struct gs_drain *d);

bool gs_drain_full(const struct gs_drain *d); /* --max-events is reached */
/* Too much is held: do not poll before GS_DRAIN_HOLD_NS after the last poll, which then releases
 * it. */
bool gs_drain_congested(const struct gs_drain *d);

#endif
