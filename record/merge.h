/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One session out of several answers of the resolver: ids that each answer numbers from 0 are moved
 * behind those that are there. Called when the session begins, and by the writer thread for modules
 * that are mapped later.
 */
#ifndef GS_RECORD_MERGE_H
#define GS_RECORD_MERGE_H

#include "record/resolve.h"

struct gs_bases {
	uint32_t entries;
	uint32_t modules, schemas, sites; /* added to the ids of the answer */
	const uint32_t
		*probes; /* session's probe id by the answer's; NULL: equal, and rows are added */
};

/* Copies modules, schemas (with their types), sites, and probes into META, whose tables end at the
 * bases. */
struct gs_error *gs_merge_resolution(struct gs_meta *meta, const struct gs_resolution *res,
				     const struct gs_bases *bases);
/* Moves rows that only come one after the other: processes, maps, clocks, symbols; counters
 * replace. */
void gs_merge_rows(struct gs_meta *meta, const struct gs_meta *rows);

#endif
