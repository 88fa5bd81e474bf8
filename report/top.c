/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --top: the most frequent values with counts and shares. The groups are the values themselves.
 * A kind of aggregate.
 */
#include "report/aggregate.h"

static _Thread_local size_t top_nby;

static int compare_by(const struct gs_group *a, const struct gs_group *b)
{
	for (size_t i = 0; i < top_nby; i++) {
		int c = gs_cell_compare(&a->keys[i], &b->keys[i]);

		if (c)
			return c;
	}
	return 0;
}

/* Within the same --by keys the most frequent first; equal ones by value. */
static int by_count(const void *x, const void *y)
{
	const struct gs_group *a = x, *b = y;
	int c = compare_by(a, b);

	if (c)
		return c;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return gs_cell_compare(&a->keys[top_nby], &b->keys[top_nby]);
}

static void add_row(struct gs_aggregation *a, struct gs_table *t, const struct gs_group *g,
		    uint64_t sum)
{
	struct gs_cell share = gs_cell_real((double)g->count / (double)sum);

	for (size_t k = 0; k < gs_aggregate_nkeys(a); k++)
		gs_table_add(t, gs_cell_copy(&g->keys[k]));
	gs_table_add(t, gs_cell_integer(g->count));
	free(share.human);
	share.human = gs_asprintf("%.2f%%", 100 * ((double)g->count / (double)sum));
	gs_table_add(t, share);
}

static void top_report(struct gs_aggregation *a, struct gs_buf *out)
{
	static const char *const names[] = {"value", "count", "share"};
	struct gs_table t = {0};
	uint64_t left_out = 0;

	top_nby = a->nby;
	if (a->ngroups)
		qsort(a->groups, a->ngroups, sizeof(*a->groups), by_count);
	t.columns = gs_aggregate_columns(a, names, 3, &t.ncolumns);
	for (size_t i = 0, end; i < a->ngroups; i = end) {
		uint64_t sum = 0;

		for (end = i; end < a->ngroups && !compare_by(&a->groups[i], &a->groups[end]);
		     end++)
			sum += a->groups[end].count;
		for (size_t k = i; k < end; k++) {
			if (k - i < a->limit)
				add_row(a, &t, &a->groups[k], sum);
			else
				left_out++;
		}
	}
	gs_table_put(out, &t, a->format, &a->opts);
	if (left_out && a->format == GS_TABLE_TEXT)
		gs_buf_printf(out, "(%llu more values)\n", (unsigned long long)left_out);
	free(t.columns);
	t.columns = NULL;
	gs_table_deinit(&t);
}

const struct gs_aggregate gs_aggregate_top = {.name = "top", .report = top_report};
