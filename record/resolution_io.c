/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The resolver's answer as bytes: what crosses from the unprivileged process to the recorder.
 * Both directions are here; the reader trusts nothing, since the writer parsed a stranger's ELF.
 */
#include <unistd.h>

#include "record/resolver.h"

#define ANSWER_VERSION 2
#define LIST_MAX (1u << 20)
#define ERRORS_MAX 4096u
#define HINTS_MAX 16u

/* ---- errors ---- */

static void write_error(struct gs_buf *out, const struct gs_error *err)
{
	size_t start = 0, len = 0;
	const char *source = gs_error_source(err, &start, &len), *hint;
	size_t nhints = 0;

	gs_put_u8(out, (uint8_t)gs_error_code_of(err));
	gs_put_str(out, gs_error_message(err));
	gs_put_u8(out, source != NULL);
	if (source) {
		gs_put_str(out, source);
		gs_put_uleb(out, start);
		gs_put_uleb(out, len);
	}
	while (nhints < HINTS_MAX && gs_error_hint_at(err, nhints))
		nhints++;
	gs_put_u8(out, (uint8_t)nhints);
	for (size_t i = 0; i < nhints; i++) {
		hint = gs_error_hint_at(err, i);
		gs_put_str(out, hint);
	}
}

static struct gs_error *read_error(struct gs_reader *in, struct gs_arena *arena)
{
	uint8_t code = gs_read_u8(in);
	struct gs_error *err =
		gs_error_new(code <= GS_ERR_INTERNAL ? (enum gs_error_code)code : GS_ERR_INTERNAL,
			     "%s", gs_read_str(in, arena));

	if (gs_read_u8(in)) {
		const char *source = gs_read_str(in, arena);
		uint64_t start = gs_read_uleb(in), len = gs_read_uleb(in), size = strlen(source);

		if (start > size || len > size + 1 - start)
			in->bad = true;
		else
			err = gs_error_at(err, source, start, len);
	}
	for (uint8_t n = gs_read_u8(in); n && !in->bad; n--)
		err = gs_error_hint(err, "%s", gs_read_str(in, arena));
	return err;
}

static void write_errors(struct gs_buf *out, const struct gs_resolution *r)
{
	gs_put_uleb(out, r->nerrors);
	for (size_t i = 0; i < r->nerrors; i++)
		write_error(out, r->errors[i]);
}

/* A count of things of at least one byte each. */
static size_t read_count(struct gs_reader *in, uint64_t most)
{
	uint64_t n = gs_read_uleb(in);

	if (n > most || n > gs_reader_left(in)) {
		in->bad = true;
		return 0;
	}
	return (size_t)n;
}

static void read_errors(struct gs_reader *in, struct gs_resolution *r)
{
	size_t n = read_count(in, ERRORS_MAX);

	r->errors = gs_calloc(n, sizeof(*r->errors));
	for (size_t i = 0; i < n && !in->bad; i++)
		r->errors[r->nerrors++] = read_error(in, &r->meta.arena);
}

/* ---- lists ---- */

static void write_warnings(struct gs_buf *out, const struct gs_resolution *r)
{
	gs_put_uleb(out, r->nwarnings);
	for (size_t i = 0; i < r->nwarnings; i++)
		gs_put_str(out, r->warnings[i]);
	gs_put_u8(out, r->explanation != NULL);
	if (r->explanation)
		gs_put_str(out, r->explanation);
}

static void read_warnings(struct gs_reader *in, struct gs_resolution *r)
{
	size_t n = read_count(in, LIST_MAX);

	r->warnings = gs_calloc(n, sizeof(*r->warnings));
	for (size_t i = 0; i < n; i++)
		r->warnings[i] = gs_read_str(in, &r->meta.arena);
	r->nwarnings = n;
	if (gs_read_u8(in))
		r->explanation = gs_read_str(in, &r->meta.arena);
}

static void write_sites(struct gs_buf *out, const struct gs_resolution *r)
{
	for (size_t i = 0; i < r->meta.nsites; i++) {
		gs_put_u32(out, r->sites[i].plan);
		gs_put_u64(out, r->sites[i].file_offset);
		gs_put_u64(out, r->sites[i].ref_ctr_offset);
		gs_put_u32(out, r->sites[i].entry);
	}
	gs_put_uleb(out, r->nentries);
	for (size_t i = 0; i < r->nentries; i++) {
		gs_put_u32(out, r->entries[i].plan);
		gs_put_u32(out, r->entries[i].probe);
		gs_put_u32(out, r->entries[i].module);
		gs_put_u64(out, r->entries[i].link_addr);
		gs_put_u64(out, r->entries[i].file_offset);
	}
}

static void read_entries(struct gs_reader *in, struct gs_resolution *r)
{
	size_t n = read_count(in, LIST_MAX);

	r->entries = gs_calloc(n, sizeof(*r->entries));
	for (size_t i = 0; i < n && !in->bad; i++) {
		struct gs_resolved_entry *e = &r->entries[r->nentries++];

		e->plan = gs_read_u32(in);
		e->probe = gs_read_u32(in);
		e->module = gs_read_u32(in);
		e->link_addr = gs_read_u64(in);
		e->file_offset = gs_read_u64(in);
		if (e->plan >= r->nplans || r->plans[e->plan].kind != GS_PLAN_ENTRY ||
		    e->probe >= r->meta.nprobes || e->module >= r->meta.nmodules)
			in->bad = true;
	}
	for (size_t i = 0; i < r->meta.nsites; i++)
		if (r->sites[i].entry != GS_NONE && r->sites[i].entry >= r->nentries)
			in->bad = true;
}

static void read_sites(struct gs_reader *in, struct gs_resolution *r)
{
	if (r->meta.nsites > gs_reader_left(in) / 24) {
		in->bad = true;
		return;
	}
	r->sites = gs_calloc(r->meta.nsites, sizeof(*r->sites));
	for (size_t i = 0; i < r->meta.nsites; i++) {
		r->sites[i].plan = gs_read_u32(in);
		r->sites[i].file_offset = gs_read_u64(in);
		r->sites[i].ref_ctr_offset = gs_read_u64(in);
		r->sites[i].entry = gs_read_u32(in);
		if (r->sites[i].plan >= r->nplans ||
		    r->plans[r->sites[i].plan].kind != GS_PLAN_CAPTURE)
			in->bad = true;
	}
	read_entries(in, r);
}

static void write_plans(struct gs_buf *out, const struct gs_resolution *r)
{
	gs_put_uleb(out, r->nplans);
	for (size_t i = 0; i < r->nplans; i++)
		gs_plan_write(out, &r->plans[i]);
}

static struct gs_error *read_plans(struct gs_reader *in, struct gs_resolution *r)
{
	size_t n = read_count(in, LIST_MAX);

	r->plans = gs_calloc(n, sizeof(*r->plans));
	for (size_t i = 0; i < n; i++) {
		gs_plan_init(&r->plans[i]);
		r->nplans++;
		GS_TRY(gs_plan_read(in, &r->plans[i]));
	}
	return NULL;
}

static void write_pending(struct gs_buf *out, const struct gs_resolution *r)
{
	gs_put_uleb(out, r->npending);
	for (size_t i = 0; i < r->npending; i++) {
		gs_put_u32(out, r->pending[i].probe);
		gs_put_str(out, r->pending[i].module);
	}
}

static void read_pending(struct gs_reader *in, struct gs_resolution *r)
{
	size_t n = read_count(in, LIST_MAX);

	r->pending = gs_calloc(n, sizeof(*r->pending));
	for (size_t i = 0; i < n; i++) {
		r->pending[i].probe = gs_read_u32(in);
		r->pending[i].module = gs_read_str(in, &r->meta.arena);
		if (r->pending[i].probe >= r->meta.nprobes)
			in->bad = true;
	}
	r->npending = n;
}

static void write_code(struct gs_buf *out, const struct gs_resolution *r)
{
	gs_put_uleb(out, r->ncode_pointers);
	for (size_t i = 0; i < r->ncode_pointers; i++) {
		const struct gs_code_pointer *c = &r->code_pointers[i];

		gs_put_uleb(out, c->schema);
		gs_put_uleb(out, c->item);
		gs_put_uleb(out, c->offset);
		gs_put_uleb(out, c->size);
	}
	gs_put_uleb(out, r->nsymbols);
	for (size_t i = 0; i < r->nsymbols; i++) {
		gs_put_uleb(out, r->symbols[i].module);
		gs_put_uleb(out, r->symbols[i].addr);
		gs_put_uleb(out, r->symbols[i].size);
		gs_put_str(out, r->symbols[i].name);
	}
}

static uint32_t read_u32_uleb(struct gs_reader *in)
{
	uint64_t v = gs_read_uleb(in);

	if (v > UINT32_MAX)
		in->bad = true;
	return (uint32_t)v;
}

/* The span lies in its item. */
static bool code_is_valid(const struct gs_meta *meta, const struct gs_code_pointer *c)
{
	const struct gs_meta_item *item;

	if (c->schema >= meta->nschemas || c->item >= meta->schemas[c->schema].nitems)
		return false;
	item = &meta->schemas[c->schema].items[c->item];
	return c->size <= 8 && c->size > 0 && c->size <= item->size &&
	       c->offset <= item->size - c->size;
}

static void read_code(struct gs_reader *in, struct gs_resolution *r)
{
	size_t n = read_count(in, LIST_MAX);

	r->code_pointers = gs_calloc(n, sizeof(*r->code_pointers));
	for (size_t i = 0; i < n; i++) {
		struct gs_code_pointer *c = &r->code_pointers[i];

		c->schema = read_u32_uleb(in);
		c->item = read_u32_uleb(in);
		c->offset = read_u32_uleb(in);
		c->size = read_u32_uleb(in);
		if (!code_is_valid(&r->meta, c))
			in->bad = true;
	}
	r->ncode_pointers = n;
	n = read_count(in, LIST_MAX);
	r->symbols = gs_calloc(n, sizeof(*r->symbols));
	for (size_t i = 0; i < n; i++) {
		r->symbols[i].module = read_u32_uleb(in);
		r->symbols[i].addr = gs_read_uleb(in);
		r->symbols[i].size = gs_read_uleb(in);
		r->symbols[i].name = gs_read_str(in, &r->meta.arena);
		if (r->symbols[i].module >= r->meta.nmodules)
			in->bad = true;
	}
	r->nsymbols = n;
}

/* ---- the whole ---- */

static const enum gs_meta_table answer_tables[] = {GS_META_MODULES, GS_META_TYPES, GS_META_PROBES,
						   GS_META_SCHEMAS, GS_META_SITES};

void gs_resolution_write(struct gs_buf *out, const struct gs_resolution *r, const uint32_t *tickets)
{
	gs_put_u8(out, ANSWER_VERSION);
	write_errors(out, r);
	write_warnings(out, r);
	if (r->nerrors)
		return;
	for (size_t i = 0; i < GS_ARRAY_SIZE(answer_tables); i++)
		gs_meta_write(out, &r->meta, answer_tables[i], 0);
	for (size_t i = 0; i < r->meta.nmodules; i++)
		gs_put_uleb(out, tickets[i]);
	write_plans(out, r);
	write_sites(out, r);
	write_pending(out, r);
	write_code(out, r);
	gs_put_u8(out, r->want_tls);
}

/* Layouts of schema and plan must agree, or records would be taken apart by another rule than they
 * were made. */
static bool plan_fits_schema(const struct gs_plan *plan, const struct gs_meta_schema *schema)
{
	if (plan->nitems != schema->nitems)
		return false;
	for (uint32_t i = 0; i < schema->nitems; i++)
		if (plan->items[i].variable != schema->items[i].variable ||
		    plan->items[i].size != schema->items[i].size)
			return false;
	return true;
}

static bool sites_are_consistent(const struct gs_resolution *r)
{
	for (size_t i = 0; i < r->meta.nsites; i++) {
		const struct gs_meta_site *site = &r->meta.sites[i];

		if (site->module >= r->meta.nmodules ||
		    !plan_fits_schema(&r->plans[r->sites[i].plan], &r->meta.schemas[site->schema]))
			return false;
	}
	return true;
}

static struct gs_error *read_tables(struct gs_reader *in, uint32_t ntickets,
				    struct gs_resolution *r, uint32_t **tickets)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(answer_tables); i++)
		GS_TRY(gs_meta_read(in, &r->meta, answer_tables[i]));
	*tickets = gs_calloc(r->meta.nmodules, sizeof(**tickets));
	for (size_t i = 0; i < r->meta.nmodules; i++) {
		(*tickets)[i] = read_u32_uleb(in);
		if ((*tickets)[i] >= ntickets)
			in->bad = true;
	}
	GS_TRY(read_plans(in, r));
	read_sites(in, r);
	if (in->bad)
		return NULL;
	read_pending(in, r);
	read_code(in, r);
	r->want_tls = gs_read_u8(in) != 0;
	if (!in->bad && !sites_are_consistent(r))
		in->bad = true;
	return NULL;
}

struct gs_error *gs_resolution_read(struct gs_reader *in, uint32_t ntickets,
				    struct gs_resolution *r, uint32_t **tickets)
{
	struct gs_error *err = NULL;

	*r = (struct gs_resolution){0};
	gs_meta_init(&r->meta);
	*tickets = NULL;
	if (gs_read_u8(in) != ANSWER_VERSION)
		in->bad = true;
	read_errors(in, r);
	read_warnings(in, r);
	if (!in->bad && !r->nerrors)
		err = read_tables(in, ntickets, r, tickets);
	if (!err && (in->bad || gs_reader_left(in)))
		err = gs_error_new(GS_ERR_DAMAGED, "its answer is malformed");
	if (err) {
		free(*tickets);
		*tickets = NULL;
		gs_resolution_deinit(r);
	}
	return err;
}

void gs_resolution_deinit(struct gs_resolution *r)
{
	for (size_t i = 0; i < r->nplans; i++)
		gs_plan_deinit(&r->plans[i]);
	for (size_t i = 0; i < r->nerrors; i++)
		gs_error_free(r->errors[i]);
	free(r->plans);
	free(r->errors);
	free(r->sites);
	free(r->entries);
	free(r->pending);
	free(r->code_pointers);
	free(r->symbols);
	free(r->warnings);
	for (size_t i = 0; r->module_fds && i < r->meta.nmodules; i++)
		if (r->module_fds[i] >= 0)
			close(r->module_fds[i]);
	free(r->module_fds);
	gs_meta_deinit(&r->meta);
	*r = (struct gs_resolution){0};
}
