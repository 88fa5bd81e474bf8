/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Aggregates: grouping by the values of expressions, and what every kind of aggregate shares.
 * Between the filtered events and the result tables.
 */
#include "report/aggregate.h"

#include <math.h>

#include "report/text_value.h"

size_t gs_aggregate_nkeys(const struct gs_aggregation *a)
{
	return a->nby + !a->kind->numeric;
}

static struct gs_query *key_query(const struct gs_aggregation *a, size_t i)
{
	return i < a->nby ? a->by[i] : a->expr;
}

/* The value as a scalar, or as JSON when it has parts; appended to TEXT. */
static enum gs_scalar_kind key_scalar(struct gs_aggregation *a, struct gs_event *ev,
				      const struct gs_value *v, struct gs_buf *text, bool *there)
{
	struct gs_json_value j = {.out = text, .quote_big = a->opts.json_strings};
	struct gs_leaf leaf;

	*there = true;
	if (gs_leaf_of(ev, 0, v, &leaf)) {
		*there = leaf.kind != GS_LEAF_ABSENT;
		return gs_leaf_scalar(text, ev, &leaf);
	}
	gs_json_put_value(&j, ev, "", v);
	return GS_SCALAR_JSON;
}

/* Appends kind, length and text of each key: equal bytes are equal keys. */
static bool make_key(struct gs_aggregation *a, struct gs_event *ev)
{
	gs_buf_reset(&a->key);
	for (size_t i = 0; i < gs_aggregate_nkeys(a); i++) {
		struct gs_query *q = key_query(a, i);
		struct gs_value v;
		size_t at;
		uint32_t len;
		bool there;

		if (!gs_query_eval(q, ev, &v))
			return false;
		at = a->key.len;
		gs_buf_append(&a->key, "kllll", 5);
		a->key.data[at] = (uint8_t)key_scalar(a, ev, &v, &a->key, &there);
		if (!there) {
			q->absent++;
			return false;
		}
		len = (uint32_t)(a->key.len - at - 5);
		memcpy(a->key.data + at + 1, &len, 4);
	}
	return true;
}

static void make_cells(struct gs_aggregation *a, struct gs_event *ev, struct gs_group *g)
{
	size_t n = gs_aggregate_nkeys(a), at = 0;

	g->keys = gs_calloc(n + 1, sizeof(*g->keys));
	for (size_t i = 0; i < n; i++) {
		struct gs_buf text = {0};
		struct gs_value v;
		uint32_t len;

		memcpy(&len, a->key.data + at + 1, 4);
		g->keys[i] = gs_cell_text((enum gs_scalar_kind)a->key.data[at],
					  a->key.data + at + 5, len);
		at += 5 + len;
		/* People see what the listing shows, numbers and names excepted. */
		if (g->keys[i].kind != GS_SCALAR_JSON && g->keys[i].kind != GS_SCALAR_STRING)
			continue;
		if (!gs_query_eval(key_query(a, i), ev, &v))
			continue;
		gs_text_put_value(&text, ev, "", &v);
		g->keys[i].human = gs_strdup(gs_buf_cstr(&text));
		gs_buf_deinit(&text);
	}
}

static struct gs_group *group_of(struct gs_aggregation *a, struct gs_event *ev)
{
	bool fresh = false;
	uint64_t at = 0;
	struct gs_group *g;

	if (gs_aggregate_nkeys(a)) {
		if (!make_key(a, ev))
			return NULL;
		at = *gs_map_put(&a->index, a->key.data, a->key.len, a->ngroups, &fresh);
	} else {
		fresh = a->ngroups == 0;
	}
	if (!fresh)
		return &a->groups[at];
	g = GS_PUSH(a->groups, a->ngroups, a->groups_cap);
	make_cells(a, ev, g);
	if (a->kind->state_size)
		g->state = gs_calloc(1, a->kind->state_size);
	return g;
}

static bool number_of(struct gs_aggregation *a, struct gs_event *ev, struct gs_number *n)
{
	const struct gs_types *types = ev->source.types;
	struct gs_value v;
	uint64_t bits;

	if (!gs_query_eval(a->expr, ev, &v))
		return false;
	*n = (struct gs_number){0};
	if (gs_value_scalar(&ev->source, &v, &bits)) {
		n->negative = gs_type_is_signed(types, v.type) && (int64_t)bits < 0;
		n->magnitude = n->negative ? -bits : bits;
		return true;
	}
	if (gs_value_real(&ev->source, &v, &n->real) && !isnan(n->real)) {
		n->is_real = true;
		return true;
	}
	a->not_numbers++;
	return false;
}

bool gs_aggregate_event(struct gs_aggregation *a, struct gs_event *ev)
{
	struct gs_number n;
	struct gs_group *g;

	if (a->kind->numeric && !number_of(a, ev, &n))
		return false;
	g = group_of(a, ev);
	if (!g)
		return false;
	g->count++;
	if (a->kind->numeric)
		a->kind->add(a, g->state, &n);
	return true;
}

static _Thread_local size_t sort_keys;

static int by_keys(const void *x, const void *y)
{
	const struct gs_group *a = x, *b = y;

	for (size_t i = 0; i < sort_keys; i++) {
		int c = gs_cell_compare(&a->keys[i], &b->keys[i]);

		if (c)
			return c;
	}
	return 0;
}

void gs_aggregate_report(struct gs_aggregation *a, struct gs_buf *out)
{
	sort_keys = gs_aggregate_nkeys(a);
	if (a->ngroups)
		qsort(a->groups, a->ngroups, sizeof(*a->groups), by_keys);
	a->kind->report(a, out);
}

void gs_aggregate_deinit(struct gs_aggregation *a)
{
	for (size_t i = 0; i < a->ngroups; i++) {
		for (size_t k = 0; k < gs_aggregate_nkeys(a); k++)
			gs_cell_deinit(&a->groups[i].keys[k]);
		if (a->kind->deinit && a->groups[i].state)
			a->kind->deinit(a->groups[i].state);
		free(a->groups[i].keys);
		free(a->groups[i].state);
	}
	free(a->groups);
	gs_map_deinit(&a->index);
	gs_buf_deinit(&a->key);
	gs_query_free(a->expr);
	for (size_t i = 0; i < a->nby; i++)
		gs_query_free(a->by[i]);
	free(a->by);
}

const char **gs_aggregate_columns(const struct gs_aggregation *a, const char *const *names,
				  size_t n, size_t *total)
{
	const char **columns = gs_calloc(a->nby + n, sizeof(*columns));

	for (size_t i = 0; i < a->nby; i++)
		columns[i] = a->by[i]->text;
	for (size_t i = 0; i < n; i++)
		columns[a->nby + i] = names[i];
	*total = a->nby + n;
	return columns;
}

void gs_aggregate_put_keys(const struct gs_aggregation *a, const struct gs_group *g,
			   struct gs_buf *out)
{
	for (size_t i = 0; i < a->nby; i++) {
		gs_buf_printf(out, "%s%s = ", i ? ", " : "", a->by[i]->text);
		gs_cell_put_human(out, &g->keys[i]);
	}
}
