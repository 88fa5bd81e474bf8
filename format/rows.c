/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gathers raw records into columns.
 * Between the ring buffers' records (writer.c) and the choice of encodings (columns.c).
 */
#include "format/rows.h"

#include "common/hash.h"
#include "common/status.h"

struct values {
	uint64_t *v;
	size_t n, cap;
};

static inline void push(struct values *to, uint64_t v)
{
	if (to->n == to->cap)
		to->v = gs_grow(to->v, &to->cap, to->n + 1, sizeof(*to->v));
	to->v[to->n++] = v;
}

/* What is gathered of one item in the current block, and how it was encoded in the last ones. */
struct item {
	bool variable;
	uint32_t size;
	unsigned width;			   /* fixed items that are integers: 1, 2, 4, 8; else 0 */
	struct values status, fault, ints; /* ints: the values, or the lengths of a variable item */
	bool odd;			   /* some status is not ok */
	struct gs_buf bytes;		   /* wide and variable items */
	size_t present;
	struct gs_choice status_choice, fault_choice, choice, length_choice;
	struct gs_choice *words; /* wide items */
};

struct schema {
	struct gs_layout layout;
	struct item *items;
	uint32_t nrows;
};

struct thread_key {
	uint32_t pid, tid;
	char comm[16];
};

struct gs_rows {
	const struct gs_meta *meta;
	struct schema **schemas; /* by id, NULL until used */
	size_t nschemas;
	uint32_t *used; /* schemas with rows in this block */
	size_t nused, used_cap;
	struct gs_event_item decoded[GS_EVENT_MAX_ITEMS];
	struct values time, site, thread;
	struct gs_map threads;
	struct thread_key last_thread;
	uint64_t last_place;
	uint64_t raw_len;
	struct gs_choice time_choice, site_choice;
	struct gs_columns columns;
	struct gs_buf scratch;
};

struct gs_rows *gs_rows_new(const struct gs_meta *meta)
{
	struct gs_rows *r = gs_calloc(1, sizeof(*r));

	r->meta = meta;
	return r;
}

static void schema_free(struct schema *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->layout.nitems; i++) {
		free(s->items[i].status.v);
		free(s->items[i].fault.v);
		free(s->items[i].ints.v);
		free(s->items[i].words);
		gs_buf_deinit(&s->items[i].bytes);
	}
	free(s->items);
	gs_layout_deinit(&s->layout);
	free(s);
}

void gs_rows_free(struct gs_rows *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nschemas; i++)
		schema_free(r->schemas[i]);
	free(r->schemas);
	free(r->used);
	free(r->time.v);
	free(r->site.v);
	free(r->thread.v);
	gs_map_deinit(&r->threads);
	gs_columns_deinit(&r->columns);
	gs_buf_deinit(&r->scratch);
	free(r);
}

static void item_init(struct item *item, const struct gs_layout_item *layout)
{
	uint32_t size = layout->size;

	item->variable = layout->variable;
	item->size = size;
	if (layout->variable)
		return;
	if (size == 1 || size == 2 || size == 4 || size == 8)
		item->width = size;
	else
		item->words = gs_calloc(gs_columns_words(size), sizeof(*item->words));
}

/* NULL when the schema's records cannot exist. */
static struct schema *schema_new(const struct gs_meta_schema *meta)
{
	struct schema *s = gs_calloc(1, sizeof(*s));
	struct gs_error *err = gs_schema_layout(meta, &s->layout);

	if (err) {
		gs_error_free(err);
		free(s);
		return NULL;
	}
	s->items = gs_calloc(s->layout.nitems, sizeof(*s->items));
	for (uint32_t i = 0; i < s->layout.nitems; i++)
		item_init(&s->items[i], &s->layout.items[i]);
	return s;
}

static struct schema *schema_of(struct gs_rows *r, uint32_t id)
{
	if (id >= r->meta->nschemas)
		return NULL;
	if (id >= r->nschemas) {
		r->schemas = gs_realloc(r->schemas, r->meta->nschemas, sizeof(*r->schemas));
		for (; r->nschemas < r->meta->nschemas; r->nschemas++)
			r->schemas[r->nschemas] = NULL;
	}
	if (!r->schemas[id])
		r->schemas[id] = schema_new(&r->meta->schemas[id]);
	return r->schemas[id];
}

static void item_reset(struct item *item)
{
	item->status.n = item->fault.n = item->ints.n = 0;
	item->odd = false;
	item->present = 0;
	gs_buf_reset(&item->bytes);
}

void gs_rows_reset(struct gs_rows *r)
{
	for (size_t i = 0; i < r->nused; i++) {
		struct schema *s = r->schemas[r->used[i]];

		s->nrows = 0;
		for (uint32_t k = 0; k < s->layout.nitems; k++)
			item_reset(&s->items[k]);
	}
	r->nused = 0;
	r->time.n = r->site.n = r->thread.n = 0;
	r->raw_len = 0;
	gs_map_deinit(&r->threads);
	gs_columns_reset(&r->columns);
}

/* Statuses are only kept from the first one on that is not ok. */
static void add_status(struct item *item, uint8_t status, uint32_t row)
{
	if (status == GS_STATUS_OK && !item->odd)
		return;
	if (!item->odd) {
		item->odd = true;
		while (item->status.n < row)
			push(&item->status, GS_STATUS_OK);
	}
	push(&item->status, status);
}

static void add_value(struct item *item, const struct gs_event_item *value, bool big_endian)
{
	item->present++;
	if (item->width) {
		push(&item->ints, gs_load_uint(value->data, item->width, big_endian));
		return;
	}
	if (item->variable)
		push(&item->ints, value->len);
	gs_buf_append(&item->bytes, value->data, value->len);
}

static uint64_t thread_place(struct gs_rows *r, const struct gs_event_head *head)
{
	struct thread_key key = {head->pid, head->tid, ""};
	size_t len = strnlen(head->comm, sizeof(head->comm));

	memcpy(key.comm, head->comm, len);
	if (r->thread.n && memcmp(&key, &r->last_thread, sizeof(key)) == 0)
		return r->last_place;
	r->last_thread = key;
	r->last_place = *gs_map_put(&r->threads, &key, sizeof(key), r->threads.n, NULL);
	return r->last_place;
}

bool gs_rows_add(struct gs_rows *r, const struct gs_event_head *head)
{
	uint32_t id = r->meta->sites[head->site].schema;
	bool big_endian = r->meta->session.big_endian;
	struct schema *s = schema_of(r, id);
	struct gs_error *err;

	if (!s)
		return false;
	err = gs_event_decode(&s->layout, head, head->len, r->decoded);
	if (err) {
		gs_error_free(err);
		return false;
	}
	if (!s->nrows)
		*GS_PUSH(r->used, r->nused, r->used_cap) = id;
	for (uint32_t i = 0; i < s->layout.nitems; i++) {
		const struct gs_event_item *value = &r->decoded[i];

		add_status(&s->items[i], value->status, s->nrows);
		if (gs_status_has_data(value->status))
			add_value(&s->items[i], value, big_endian);
		else if (value->status == GS_STATUS_FAULT)
			push(&s->items[i].fault, value->fault_address);
	}
	s->nrows++;
	push(&r->thread, thread_place(r, head));
	push(&r->time, head->time_ns);
	push(&r->site, head->site);
	r->raw_len += head->len;
	return true;
}

uint32_t gs_rows_count(const struct gs_rows *r)
{
	return (uint32_t)r->time.n;
}

static void finish_threads(struct gs_rows *r)
{
	struct gs_column_id id = {.part = GS_PART_THREAD};
	struct gs_buf *out = &r->scratch;

	gs_buf_reset(out);
	gs_put_uleb(out, r->threads.n);
	for (size_t i = 0; i < r->threads.n; i++) {
		struct thread_key key;
		size_t len;

		memcpy(&key, r->threads.entries[i].key, sizeof(key));
		len = strnlen(key.comm, sizeof(key.comm));
		gs_put_uleb(out, key.pid);
		gs_put_uleb(out, key.tid);
		gs_put_uleb(out, len);
		gs_buf_append(out, key.comm, len);
	}
	gs_pack_put(out, r->thread.v, r->thread.n, 4);
	gs_columns_encoded(&r->columns, id, GS_ENC_THREADS, out);
}

static struct gs_ints ints_of(const struct values *values, unsigned width)
{
	return (struct gs_ints){values->v, values->n, width};
}

static void finish_item(struct gs_rows *r, struct gs_column_id id, struct item *item)
{
	struct gs_columns *c = &r->columns;
	struct gs_ints status = ints_of(&item->status, 1), fault = ints_of(&item->fault, 8);
	struct gs_ints ints = ints_of(&item->ints, item->width ? item->width : 4);

	if (item->odd) {
		id.part = GS_PART_STATUS;
		gs_columns_ints(c, id, &status, &item->status_choice);
	}
	if (fault.n) {
		id.part = GS_PART_FAULT;
		gs_columns_ints(c, id, &fault, &item->fault_choice);
	}
	if (!item->present || (!item->variable && !item->size))
		return;
	id.part = GS_PART_DATA;
	if (item->variable) {
		gs_columns_variable(c, id, &ints, &item->bytes, &item->choice,
				    &item->length_choice);
		return;
	}
	id.big_endian = r->meta->session.big_endian;
	if (item->width)
		gs_columns_ints(c, id, &ints, &item->choice);
	else
		gs_columns_wide(c, id, item->bytes.data, item->present, item->size, &item->choice,
				item->words);
}

void gs_rows_finish(struct gs_rows *r, struct gs_block_header *h, struct gs_buf *payload)
{
	struct gs_column_id time = {.part = GS_PART_TIME}, site = {.part = GS_PART_SITE};
	struct gs_ints times = ints_of(&r->time, 8), sites = ints_of(&r->site, 4);

	gs_columns_ints(&r->columns, time, &times, &r->time_choice);
	gs_columns_ints(&r->columns, site, &sites, &r->site_choice);
	finish_threads(r);
	for (size_t i = 0; i < r->nused; i++) {
		struct schema *s = r->schemas[r->used[i]];

		for (uint32_t k = 0; k < s->layout.nitems; k++) {
			struct gs_column_id id = {.owner = r->used[i] + 1, .item = k};

			finish_item(r, id, &s->items[k]);
		}
	}
	gs_columns_finish(&r->columns, payload);
	h->rows = gs_rows_count(r);
	h->raw_len = (uint32_t)r->raw_len;
	h->time_first = r->time.v[0];
	h->time_last = r->time.v[r->time.n - 1];
}
