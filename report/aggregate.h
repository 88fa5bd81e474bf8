/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Aggregates: one expression over all events, by groups. Each kind (histogram, statistics, most
 * frequent values) is a table of functions; grouping, counting of what is absent, and order are
 * shared. Between the filtered events and the result tables.
 */
#ifndef GS_REPORT_AGGREGATE_H
#define GS_REPORT_AGGREGATE_H

#include "common/hash.h"
#include "report/query.h"
#include "report/table.h"

struct gs_number {
	bool is_real;
	bool negative;	    /* integers: the value is -magnitude */
	uint64_t magnitude; /* integers */
	double real;
};

struct gs_aggregation;

struct gs_aggregate {
	const char *name;
	size_t state_size; /* of a group, zeroed */
	bool numeric;	   /* takes numbers; else the values are keys as --by's */
	void (*add)(struct gs_aggregation *a, void *state, const struct gs_number *n);
	void (*report)(struct gs_aggregation *a, struct gs_buf *out);
	void (*deinit)(void *state);
};
extern const struct gs_aggregate gs_aggregate_hist, gs_aggregate_stats, gs_aggregate_top;

struct gs_group {
	struct gs_cell *keys; /* of --by; of top also the value */
	uint64_t count;
	void *state;
};

struct gs_aggregation {
	const struct gs_aggregate *kind;
	struct gs_query *expr, **by;
	size_t nby;
	enum gs_table_format format;
	struct gs_render_options opts;
	double linear;	   /* width of buckets, or 0: log2 */
	uint64_t limit;	   /* rows of top, groups of the others; UINT64_MAX: all */
	bool exact_always; /* a file: values are kept however many */
	struct gs_map index;
	struct gs_group *groups;
	size_t ngroups, groups_cap;
	uint64_t not_numbers; /* NaN, or not numeric at all */
	struct gs_buf key;
};

/* False when the event did not count. */
bool gs_aggregate_event(struct gs_aggregation *a, struct gs_event *ev);
/* Groups in the order of their keys, then the kind's report. */
void gs_aggregate_report(struct gs_aggregation *a, struct gs_buf *out);
void gs_aggregate_deinit(struct gs_aggregation *a);
size_t gs_aggregate_nkeys(const struct gs_aggregation *a);
/* Column names of a table: those of --by, then NAMES. Caller frees. */
const char **gs_aggregate_columns(const struct gs_aggregation *a, const char *const *names,
				  size_t n, size_t *total);
/* "pid = 71, $comm = srv" as a line's beginning; nothing without --by. */
void gs_aggregate_put_keys(const struct gs_aggregation *a, const struct gs_group *g,
			   struct gs_buf *out);

#endif
