/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small recording with every kind of item: made, checked row by row, and dumped as text.
 */
#include "tests/lib/format_sample.h"

#include <stdio.h>

enum { U8, U16, I32, U64, STRUCT, ODD, STRING, ARRAY, EMPTY, NITEMS };

struct want {
	uint8_t status;
	uint8_t data[64];
	uint32_t len;
	uint64_t fault;
};

static void put_target(uint8_t *to, uint64_t v, unsigned size, bool big_endian)
{
	for (unsigned i = 0; i < size; i++)
		to[big_endian ? size - 1 - i : i] = (uint8_t)(v >> (8 * i));
}

static void want_struct(struct want *w, uint64_t i, const struct gs_meta_session *target)
{
	bool big_endian = target->big_endian;

	w->len = 20;
	put_target(w->data, i * 3, 4, big_endian);
	put_target(w->data + 4, 0x7ffd00001000 + 16 * i, target->pointer_size, big_endian);
	put_target(w->data + 12, (uint64_t) - (int64_t)i, 4, big_endian);
	put_target(w->data + 16, i % 3, 2, big_endian);
	w->data[18] = (uint8_t)(i * 37);
	w->data[19] = 0;
}

/* What item K of row I holds. */
static void want_item(struct want *w, uint64_t i, int k, const struct gs_meta_session *target)
{
	bool big_endian = target->big_endian;
	static const char *const words[] = {"/index.html", "/favicon.ico", "", "/caf\xc3\xa9"};

	memset(w, 0, sizeof(*w));
	switch (k) {
	case U8:
		w->len = 1;
		w->data[0] = (uint8_t)(i * 7);
		break;
	case U16:
		w->len = 2;
		put_target(w->data, 0xfff0 + i, 2, big_endian);
		w->status = i % 5 == 1 ? GS_STATUS_OPTIMIZED_OUT : GS_STATUS_OK;
		break;
	case I32:
		w->len = 4;
		put_target(w->data, (uint64_t)((int64_t)i - 8), 4, big_endian);
		break;
	case U64:
		w->len = 8;
		put_target(w->data, i * 0x9e3779b97f4a7c15u, 8, big_endian);
		w->status = i % 4 == 3 ? GS_STATUS_FAULT : GS_STATUS_OK;
		w->fault = w->status ? 0x10 + i : 0;
		break;
	case STRUCT:
		want_struct(w, i, target);
		w->status = i % 6 == 5 ? GS_STATUS_PARTIAL : GS_STATUS_OK;
		break;
	case ODD:
		w->len = 3;
		memcpy(w->data, "\0\xff\x80", 3);
		break;
	case STRING:
		w->len = (uint32_t)strlen(words[i % 4]);
		memcpy(w->data, words[i % 4], w->len);
		w->status = i % 7 == 6 ? GS_STATUS_TRUNCATED : i % 7 == 5 ? GS_STATUS_FAULT : 0;
		w->fault = i % 7 == 5 ? UINT64_MAX - i : 0;
		break;
	case ARRAY:
		w->len = 4 * (uint32_t)(i % 9);
		for (uint32_t n = 0; n < w->len; n += 4)
			put_target(w->data + n, i * i + n, 4, big_endian);
		w->status = i % 8 == 2 ? GS_STATUS_UNAVAILABLE : GS_STATUS_OK;
		break;
	}
	if (!gs_status_has_data(w->status))
		w->len = 0;
}

static uint64_t row_time(uint64_t i)
{
	return 1000000 + i * 1000 + i % 3;
}

/* Rows 0, 1, 2 of four have schema A, each fourth schema B. */
static bool is_small(uint64_t i)
{
	return i % 4 == 3;
}

static void add_types(struct gs_make *m, gs_type_id *u8, gs_type_id *i32, gs_type_id *s)
{
	gs_type_id p;
	struct gs_error *err;

	*u8 = gs_make_int(m, "unsigned char", 1, false);
	*i32 = gs_make_int(m, "int", 4, true);
	err = gs_types_reserve(m->meta->types,
			       &(struct gs_type){.kind = GS_KIND_POINTER,
						 .byte_size = m->meta->session.pointer_size},
			       &p);
	gs_error_free(err);
	struct gs_member members[] = {
		{"n", *i32, 0, 0, 0}, {"next", p, 0, 32, 0}, {"c", *u8, 0, 144, 0}};
	*s = gs_make_type(m, &(struct gs_type){.kind = GS_KIND_STRUCT,
					       .name = "packed",
					       .byte_size = 20,
					       .members = members,
					       .nmembers = 3});
	gs_types_set_target(m->meta->types, p, *s);
}

static void add_schemas(struct gs_make *m)
{
	uint32_t a = gs_make_schema(m), b, probe = gs_make_probe(m, "serve");
	gs_type_id u8, i32, s;

	add_types(m, &u8, &i32, &s);
	gs_make_item(m, a, "u8", u8, 1, GS_SCHEMA_ARG);
	gs_make_item(m, a, "u16", gs_make_int(m, "unsigned short", 2, false), 2, 0);
	gs_make_item(m, a, "i32", i32, 4, GS_SCHEMA_LOCAL);
	gs_make_item(m, a, "u64", gs_make_int(m, "unsigned long", 8, false), 8, 0);
	gs_make_item(m, a, "s", s, 20, 0);
	gs_make_item(m, a, "odd",
		     gs_make_type(m, &(struct gs_type){.kind = GS_KIND_ARRAY,
						       .target = u8,
						       .count = 3,
						       .stride = 1}),
		     3, 0);
	gs_make_string(m, a, "str", 200);
	gs_make_variable(m, a, "array",
			 gs_make_type(m, &(struct gs_type){.kind = GS_KIND_ARRAY,
							   .target = i32,
							   .stride = 4,
							   .flags = GS_TYPE_COUNT_UNKNOWN}),
			 64, 0);
	gs_make_item(m, a, "empty",
		     gs_make_type(m, &(struct gs_type){.kind = GS_KIND_STRUCT, .name = "none"}), 0,
		     0);
	gs_make_site(m, probe, a, "serve", "srv.c", 31);
	b = gs_make_schema(m);
	gs_make_item(m, b, "i32", i32, 4, 0);
	gs_make_site(m, gs_make_probe(m, "other"), b, "other", "srv.c", 40);
}

static void add_more_meta(struct gs_make *m)
{
	static struct gs_meta_note note = {1, 0, 2, GS_STATUS_OPTIMIZED_OUT, "no location here"};
	struct gs_meta_site *site = &m->meta->sites[0];

	site->code = (const uint8_t *)"\xf3\x0f\x1e\xfa\x55";
	site->code_len = 5;
	site->code_addr = site->link_addr - 4;
	site->notes = &note;
	site->nnotes = 1;
	*GS_PUSH(m->meta->maps, m->meta->nmaps, m->meta->maps_cap) =
		(struct gs_meta_map){71, 900, 0x400000, 0x401000, 0, 0, "/bin/prog"};
	*GS_PUSH(m->meta->counters, m->meta->ncounters, m->meta->counters_cap) =
		(struct gs_meta_counters){
			.probe = 0, .hits = 99, .recorded = 98, .lost = 1, .time_ns = 77};
	*GS_PUSH(m->meta->symbols, m->meta->nsymbols, m->meta->symbols_cap) =
		(struct gs_meta_symbol){71, 0x401136, "main", 0};
}

static void put_row(struct gs_make *m, uint64_t i, uint32_t cpu)
{
	struct want w;

	gs_make_event(m, row_time(i), cpu, is_small(i), 71, 71 + (uint32_t)(i % 3),
		      i % 3 ? "worker" : "srv");
	for (int k = 0; k < (is_small(i) ? 1 : NITEMS); k++) {
		want_item(&w, i, is_small(i) ? I32 : k, &m->meta->session);
		gs_make_bytes(m, (uint32_t)k, w.data, w.len);
		if (w.status == GS_STATUS_FAULT)
			gs_make_fault(m, (uint32_t)k, w.fault);
		else
			gs_make_status(m, (uint32_t)k, w.status);
	}
}

struct gs_make *sample_make(const struct gs_make_options *opts, uint32_t nrows, uint32_t per_block)
{
	struct gs_make *m = gs_make_new(opts);

	add_schemas(m);
	add_more_meta(m);
	/* Two blocks overlap in time: one has the even rows, one the odd rows. */
	for (uint32_t first = 0; first < nrows; first += 2 * per_block) {
		for (uint32_t cpu = 0; cpu < 2; cpu++) {
			for (uint32_t k = 0; k < per_block; k++)
				if (first + 2 * k + cpu < nrows)
					put_row(m, first + 2 * k + cpu, cpu);
			gs_make_flush(m);
		}
	}
	gs_make_end(m, 1);
	return m;
}

/* ---- checking ---- */

static bool same_item(struct gs_batch *batch, uint32_t schema, uint32_t item, uint32_t at,
		      const struct want *w)
{
	const struct gs_column *c;
	struct gs_error *err = gs_batch_column(batch, schema, item, &c);
	size_t from, len;

	if (err) {
		gs_error_free(err);
		return false;
	}
	if (at >= c->nrows || c->status[at] != w->status)
		return false;
	from = c->offset ? c->offset[at] : (size_t)at * c->size;
	len = c->offset ? c->offset[at + 1] - from : c->size;
	if (w->status == GS_STATUS_FAULT && c->fault_address[at] != w->fault)
		return false;
	return len == w->len && memcmp(c->data + from, w->data, len) == 0;
}

long sample_check(const struct gs_input *in, struct gs_batch *batch, uint32_t row)
{
	const struct gs_meta *meta = gs_input_meta(in);
	uint64_t time = batch->time[row], i = (time - 1000000) / 1000;
	uint32_t schema = is_small(i);
	const char *comm = batch->comms[batch->comm[row]];
	struct want w;

	if (time < 1000000 || time != row_time(i) || batch->cpu != i % 2 ||
	    batch->site[row] != is_small(i) || batch->pid[row] != 71 ||
	    batch->tid[row] != 71 + i % 3 || strcmp(comm, i % 3 ? "worker" : "srv") != 0)
		return -1;
	for (uint32_t k = 0; k < (is_small(i) ? 1 : NITEMS); k++) {
		want_item(&w, i, is_small(i) ? I32 : (int)k, &meta->session);
		if (!same_item(batch, schema, k, batch->schema_row[row], &w))
			return -1;
	}
	return (long)i;
}

/* ---- text ---- */

static void dump_item(struct gs_buf *out, const struct gs_column *c, uint32_t at, const char *key)
{
	size_t from = c->offset ? c->offset[at] : (size_t)at * c->size;
	size_t to = c->offset ? c->offset[at + 1] : from + c->size;

	gs_buf_printf(out, " %s=", key);
	if (c->status[at])
		gs_buf_printf(out, "<%s>", gs_status_name(c->status[at]));
	if (c->status[at] == GS_STATUS_FAULT)
		gs_buf_printf(out, "@%llx", (unsigned long long)c->fault_address[at]);
	for (; from < to; from++)
		gs_buf_printf(out, "%02x", c->data[from]);
}

static void dump_row(struct gs_buf *out, const struct gs_meta *m, struct gs_batch *b, uint32_t row)
{
	uint32_t id = m->sites[b->site[row]].schema;

	gs_buf_printf(out, "%llu cpu%u %u/%u %s site%u", (unsigned long long)b->time[row], b->cpu,
		      b->pid[row], b->tid[row], b->comms[b->comm[row]], b->site[row]);
	for (uint32_t k = 0; k < m->schemas[id].nitems; k++) {
		const struct gs_column *c;
		struct gs_error *err = gs_batch_column(b, id, k, &c);

		if (err)
			gs_buf_printf(out, " %s", gs_error_message(err));
		else
			dump_item(out, c, b->schema_row[row], m->schemas[id].items[k].key);
		gs_error_free(err);
	}
	gs_buf_putc(out, '\n');
}

/* Metadata as it would be written: the bytes stand for all fields. */
static void dump_meta(struct gs_buf *out, const struct gs_meta *m)
{
	struct gs_buf raw = {0};

	for (int t = 0; t < GS_META_TABLES; t++) {
		gs_buf_reset(&raw);
		gs_meta_write(&raw, m, (enum gs_meta_table)t, 0);
		gs_buf_printf(out, "%s:", gs_meta_table_name((enum gs_meta_table)t));
		for (size_t i = 0; i < raw.len; i++)
			gs_buf_printf(out, "%s%02x", i % 48 ? "" : "\n  ", raw.data[i]);
		gs_buf_putc(out, '\n');
	}
	gs_buf_deinit(&raw);
}

void sample_dump(struct gs_buf *out, struct gs_input *in)
{
	const struct gs_damage *damages;
	struct gs_batch *batch;
	struct gs_error *err;
	uint32_t row;
	size_t n;

	dump_meta(out, gs_input_meta(in));
	while (!(err = gs_input_next(in, &batch, &row)) && batch)
		dump_row(out, gs_input_meta(in), batch, row);
	if (err)
		gs_buf_printf(out, "error: %s\n", gs_error_message(err));
	gs_error_free(err);
	n = gs_input_damages(in, &damages);
	for (size_t i = 0; i < n; i++)
		gs_buf_printf(out, "damage: %s\n", damages[i].message);
}
