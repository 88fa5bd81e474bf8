/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --stats: count, sum, min, mean, stddev, nearest-rank percentiles, max. Values are kept, so that
 * all are exact; on a pipe beyond a cap they go into buckets, and the percentiles' columns say so.
 * A kind of aggregate.
 */
#include <math.h>

#include "report/aggregate.h"
#include "report/values.h"

static void stats_add(struct gs_aggregation *a, void *state, const struct gs_number *n)
{
	gs_values_add(state, n, a->exact_always ? UINT64_MAX : GS_VALUES_MAX);
}

static void stats_deinit(void *state)
{
	gs_values_deinit(state);
}

static const struct {
	const char *name, *rough;
	uint32_t part; /* of 100 000 */
} percentiles[] = {
	{"p50", "p50~", 50000}, {"p90", "p90~", 90000},	    {"p95", "p95~", 95000},
	{"p99", "p99~", 99000}, {"p99.9", "p99.9~", 99900},
};
#define NPERCENTILES GS_ARRAY_SIZE(percentiles)

static struct gs_cell cell_of(const struct gs_number *n)
{
	if (n->is_real)
		return gs_cell_real(n->real);
	return gs_cell_integer(n->negative ? -(__int128)n->magnitude : (__int128)n->magnitude);
}

static void add_row(struct gs_aggregation *a, struct gs_table *t, const struct gs_group *g)
{
	struct gs_values *v = g->state;
	struct gs_number n;

	for (size_t k = 0; k < a->nby; k++)
		gs_table_add(t, gs_cell_copy(&g->keys[k]));
	gs_values_sort(v);
	gs_table_add(t, gs_cell_integer(g->count));
	gs_table_add(t, v->nreals ? gs_cell_real(gs_values_sum(v)) : gs_cell_integer(v->sum));
	gs_values_extreme(v, false, &n);
	gs_table_add(t, cell_of(&n));
	gs_table_add(t, gs_cell_real(gs_values_mean(v)));
	gs_table_add(t, gs_cell_real(gs_values_stddev(v)));
	for (size_t p = 0; p < NPERCENTILES; p++) {
		gs_values_percentile(v, percentiles[p].part, &n);
		gs_table_add(t, cell_of(&n));
	}
	gs_values_extreme(v, true, &n);
	gs_table_add(t, cell_of(&n));
}

static void stats_report(struct gs_aggregation *a, struct gs_buf *out)
{
	const char *names[6 + NPERCENTILES] = {"count", "sum", "min", "mean", "stddev"};
	struct gs_table t = {0};
	bool rough = false;

	for (size_t i = 0; i < a->ngroups; i++)
		rough |= ((struct gs_values *)a->groups[i].state)->rough;
	for (size_t p = 0; p < NPERCENTILES; p++)
		names[5 + p] = rough ? percentiles[p].rough : percentiles[p].name;
	names[5 + NPERCENTILES] = "max";
	if (rough)
		fprintf(stderr, "gs-report: percentiles are within 0.1 %% of the value: a pipe "
				"brought more values than are kept\n");
	t.columns = gs_aggregate_columns(a, names, GS_ARRAY_SIZE(names), &t.ncolumns);
	for (size_t i = 0; i < a->ngroups && i < a->limit; i++)
		add_row(a, &t, &a->groups[i]);
	gs_table_put(out, &t, a->format, &a->opts);
	free(t.columns);
	t.columns = NULL;
	gs_table_deinit(&t);
}

const struct gs_aggregate gs_aggregate_stats = {
	.name = "stats",
	.state_size = sizeof(struct gs_values),
	.numeric = true,
	.add = stats_add,
	.report = stats_report,
	.deinit = stats_deinit,
};
