/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --hist: how values are spread, in buckets of powers of two (exact for all integers, mirrored for
 * negative ones) or of one width. A kind of aggregate.
 *
 * Every bucket is half open: low <= value < high. Log2 buckets of integers are [0, 1), [1, 2), [2,
 * 4) ... and [-1, 0), [-3, -1), [-7, -3) ...: the mirror images of the values, not of the bounds.
 */
#include <math.h>

#include "common/text.h"
#include "report/aggregate.h"
#include "report/output.h"

#define FILL_MAX 1000 /* empty buckets are shown while there are at most so many */
#define BAR 40

struct bucket {
	double index; /* integral; of reals' log2 buckets the exponent */
	int side;     /* log2: -1, 0, 1 */
	uint64_t count;
};

struct hist {
	uint64_t count;
	struct gs_map index; /* side and index to bucket */
	struct bucket *buckets;
	size_t n, cap;
	/* The common case without the map: log2 of integers. */
	uint64_t small[129];
	bool any_real;
	__int128 sum;
	double real_sum, least, most;
	__int128 ileast, imost;
};

static double real_of(const struct gs_number *n)
{
	if (n->is_real)
		return n->real;
	return n->negative ? -(double)n->magnitude : (double)n->magnitude;
}

static void count_bucket(struct hist *h, int side, double index)
{
	struct {
		double index;
		int64_t side;
	} key = {index == 0 ? 0.0 : index, side};
	bool fresh;
	uint64_t at = *gs_map_put(&h->index, &key, sizeof(key), h->n, &fresh);

	if (fresh)
		*GS_PUSH(h->buckets, h->n, h->cap) = (struct bucket){.index = index, .side = side};
	h->buckets[at].count++;
}

static void count_log2(struct hist *h, const struct gs_number *n)
{
	int exponent;

	if (!n->is_real) {
		int bit = n->magnitude ? 64 - __builtin_clzll(n->magnitude) : 0;

		h->small[n->negative ? 64 - bit : 64 + bit]++;
		return;
	}
	if (n->real == 0 || isinf(n->real)) {
		count_bucket(h, n->real > 0 ? 2 : n->real < 0 ? -2 : 0, 0);
		return;
	}
	frexp(n->real, &exponent);
	count_bucket(h, n->real < 0 ? -1 : 1, exponent - 1);
}

static void count_linear(struct hist *h, const struct gs_number *n, double width)
{
	bool whole = width == floor(width) && width < 9e15;
	__int128 v = n->negative ? -(__int128)n->magnitude : (__int128)n->magnitude;
	__int128 w = whole ? (__int128)width : 1, q;

	if (n->is_real || !whole) {
		count_bucket(h, 0, floor(real_of(n) / width));
		return;
	}
	q = v / w - (v % w < 0);
	count_bucket(h, 0, (double)q);
}

static void hist_add(struct gs_aggregation *a, void *state, const struct gs_number *n)
{
	struct hist *h = state;
	double d = real_of(n);
	__int128 i = n->negative ? -(__int128)n->magnitude : (__int128)n->magnitude;

	if (!h->count || d < h->least)
		h->least = d;
	if (!h->count || d > h->most)
		h->most = d;
	if (!h->count || i < h->ileast)
		h->ileast = i;
	if (!h->count || i > h->imost)
		h->imost = i;
	h->any_real |= n->is_real;
	h->sum += i;
	h->real_sum += d;
	h->count++;
	if (a->linear > 0)
		count_linear(h, n, a->linear);
	else
		count_log2(h, n);
}

static void hist_deinit(void *state)
{
	struct hist *h = state;

	gs_map_deinit(&h->index);
	free(h->buckets);
}

/* ---- rows ---- */

struct row {
	struct gs_cell low, high;
	uint64_t count;
};
struct rows {
	struct row *list;
	size_t n, cap;
};

static void add_row(struct rows *rows, struct gs_cell low, struct gs_cell high, uint64_t count)
{
	*GS_PUSH(rows->list, rows->n, rows->cap) = (struct row){low, high, count};
}

static __int128 small_low(int i)
{
	if (i == 64)
		return 0;
	return i > 64 ? (__int128)1 << (i - 65) : 1 - ((__int128)1 << (64 - i));
}

static void small_rows(const struct hist *h, struct rows *rows)
{
	int first = 0, last = 128;

	while (first < 129 && !h->small[first])
		first++;
	while (last >= 0 && !h->small[last])
		last--;
	for (int i = first; i <= last; i++)
		add_row(rows, gs_cell_integer(small_low(i)), gs_cell_integer(small_low(i + 1)),
			h->small[i]);
}

static int by_place(const void *x, const void *y)
{
	const struct bucket *a = x, *b = y;

	if (a->side != b->side)
		return a->side < b->side ? -1 : 1;
	if (a->index == b->index)
		return 0;
	/* Larger magnitudes of negative numbers come first. */
	return (a->index < b->index) == (a->side >= 0) ? -1 : 1;
}

/* Real buckets of negative numbers are (-2^(k+1), -2^k]: the bounds are said as they are. */
static void real_row(const struct bucket *b, double index, uint64_t count, struct rows *rows)
{
	double low = 0, high = 0;

	if (b->side == 1) {
		low = ldexp(1, (int)index);
		high = ldexp(1, (int)index + 1);
	} else if (b->side == -1) {
		low = -ldexp(1, (int)index + 1);
		high = -ldexp(1, (int)index);
	} else if (b->side) {
		low = high = b->side < 0 ? -INFINITY : INFINITY;
	}
	add_row(rows, gs_cell_real(low), gs_cell_real(high), count);
}

static struct gs_cell bound(double index, double width, bool real)
{
	if (real || width != floor(width) || fabs(index) > 9e15 || width > 9e15)
		return gs_cell_real(index * width);
	return gs_cell_integer((__int128)index * (__int128)width);
}

static void put_bucket(const struct gs_aggregation *a, const struct hist *h, const struct bucket *b,
		       double index, uint64_t count, struct rows *rows)
{
	if (a->linear > 0)
		add_row(rows, bound(index, a->linear, h->any_real),
			bound(index + 1, a->linear, h->any_real), count);
	else
		real_row(b, index, count, rows);
}

static void map_rows(const struct gs_aggregation *a, struct hist *h, struct rows *rows)
{
	double filled = 0;

	if (h->n)
		qsort(h->buckets, h->n, sizeof(*h->buckets), by_place);
	for (size_t i = 0; i + 1 < h->n; i++)
		if (h->buckets[i].side == h->buckets[i + 1].side)
			filled += fabs(h->buckets[i + 1].index - h->buckets[i].index) - 1;
	for (size_t i = 0; i < h->n; i++) {
		const struct bucket *b = &h->buckets[i];
		double step = b->side < 0 ? -1 : 1;

		put_bucket(a, h, b, b->index, b->count, rows);
		if (filled > FILL_MAX || i + 1 == h->n || b->side != b[1].side)
			continue;
		for (double k = b->index + step; k != b[1].index; k += step)
			put_bucket(a, h, b, k, 0, rows);
	}
}

/* ---- text ---- */

static void put_summary(struct gs_aggregation *a, const struct gs_group *g, struct gs_buf *out)
{
	const struct hist *h = g->state;
	struct gs_cell cells[3] = {
		h->any_real ? gs_cell_real(h->least) : gs_cell_integer(h->ileast),
		h->any_real ? gs_cell_real(h->most) : gs_cell_integer(h->imost),
		gs_cell_real((h->any_real ? h->real_sum : (double)h->sum) / (double)h->count)};
	static const char *const names[3] = {", min ", ", max ", ", mean "};

	gs_aggregate_put_keys(a, g, out);
	if (a->nby)
		gs_buf_puts(out, ": ");
	gs_buf_puts(out, a->expr->text);
	gs_buf_puts(out, ": count ");
	gs_put_decimal(out, g->count);
	for (int i = 0; i < 3; i++) {
		gs_buf_puts(out, names[i]);
		gs_cell_put_human(out, &cells[i]);
		gs_cell_deinit(&cells[i]);
	}
	gs_buf_putc(out, '\n');
}

static void put_bars(const struct rows *rows, struct gs_buf *out)
{
	size_t left = 0, right = 0;
	uint64_t most = 1;

	for (size_t i = 0; i < rows->n; i++) {
		left = rows->list[i].low.len > left ? rows->list[i].low.len : left;
		right = rows->list[i].high.len > right ? rows->list[i].high.len : right;
		most = rows->list[i].count > most ? rows->list[i].count : most;
	}
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->list[i];
		/* Anything that is there has a mark. */
		int bar = (int)(((unsigned __int128)row->count * BAR + most - 1) / most);

		gs_buf_printf(out, "  [%*s, %*s) %12llu |%-*.*s|\n", (int)left, row->low.text,
			      (int)right, row->high.text, (unsigned long long)row->count, BAR, bar,
			      "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@");
	}
}

static void hist_report(struct gs_aggregation *a, struct gs_buf *out)
{
	static const char *const names[] = {"low", "high", "count"};
	struct gs_table t = {0};

	t.columns = gs_aggregate_columns(a, names, 3, &t.ncolumns);
	for (size_t i = 0; i < a->ngroups && i < a->limit; i++) {
		const struct gs_group *g = &a->groups[i];
		struct rows rows = {0};

		small_rows(g->state, &rows);
		map_rows(a, g->state, &rows);
		if (a->format == GS_TABLE_TEXT) {
			put_summary(a, g, out);
			put_bars(&rows, out);
		}
		for (size_t r = 0; r < rows.n; r++) {
			for (size_t k = 0; k < a->nby; k++)
				gs_table_add(&t, gs_cell_copy(&g->keys[k]));
			gs_table_add(&t, rows.list[r].low);
			gs_table_add(&t, rows.list[r].high);
			gs_table_add(&t, gs_cell_integer(rows.list[r].count));
		}
		free(rows.list);
	}
	if (a->format != GS_TABLE_TEXT)
		gs_table_put(out, &t, a->format, &a->opts);
	free(t.columns);
	t.columns = NULL;
	gs_table_deinit(&t);
}

const struct gs_aggregate gs_aggregate_hist = {
	.name = "hist",
	.state_size = sizeof(struct hist),
	.numeric = true,
	.add = hist_add,
	.report = hist_report,
	.deinit = hist_deinit,
};
