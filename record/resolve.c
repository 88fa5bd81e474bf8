/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The resolver's work from request to answer: every probe is parsed and resolved, all errors are
 * kept. Runs in the unprivileged process (resolver_process.c), or in a test.
 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "record/resolver.h"

void gs_resolver_warn(struct gs_resolver *r, const char *fmt, ...)
{
	GS_CLEANUP_FREE char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	/* What holds at each of many sites is said once. */
	for (size_t i = 0; text && i < r->out->nwarnings; i++)
		if (strcmp(r->out->warnings[i], text) == 0)
			return;
	*(const char **)GS_PUSH(r->out->warnings, r->out->nwarnings, r->warnings_cap) =
		gs_arena_strdup(&r->arena, text ? text : fmt);
}

static void add_error(struct gs_resolver *r, struct gs_error *err)
{
	if (err)
		*(struct gs_error **)GS_PUSH(r->out->errors, r->out->nerrors, r->errors_cap) = err;
}

static int open_debug_file(void *ctx, const char *path)
{
	struct gs_resolver *r = ctx;

	if (r->files->open_debug)
		return r->files->open_debug(r->files->ctx, path, &r->arena);
	return r->files->open(r->files->ctx, path, &r->arena, NULL, NULL);
}

static int fetch_debug_file(void *ctx, const uint8_t *id, size_t len, const char **path)
{
	struct gs_resolver *r = ctx;

	return r->files->fetch(r->files->ctx, id, len, &r->arena, path);
}

/* What is wrong beside the debug information that is used. */
static void warn_of_debug_files(struct gs_resolver *r)
{
	for (const struct gs_loaded *m = r->loaded; m; m = m->next) {
		const struct gs_module_info *info = gs_module_info(m->m);

		if (m->id == GS_NONE && m != r->executable)
			continue;
		/* A recording without any says so where it matters: at what cannot be captured. */
		if (!info->has_dwarf && r->req->listing == GS_LIST_NONE)
			continue;
		for (size_t i = 0; i < info->ndebug_notes; i++)
			gs_resolver_warn(r, "%s: %s", m->path, info->debug_notes[i]);
	}
}

static uint8_t kind_of(const struct gs_probe_spec *spec)
{
	if (spec->is_return)
		return GS_PROBE_RETURN;
	switch (spec->where) {
	case GS_WHERE_FUNCTION:
		return GS_PROBE_FUNCTION;
	case GS_WHERE_LINE:
	case GS_WHERE_FUNCTION_LINE:
		return GS_PROBE_LINE;
	case GS_WHERE_MARKER:
		return GS_PROBE_MARKER;
	default:
		return GS_PROBE_ADDRESS;
	}
}

static void add_probe_row(struct gs_resolver *r, uint32_t id, const char *text,
			  const struct gs_probe_spec *spec)
{
	struct gs_meta *meta = &r->out->meta;

	*GS_PUSH(meta->probes, meta->nprobes, meta->probes_cap) =
		(struct gs_meta_probe){.id = id,
				       .name = spec->name    ? spec->name
					       : spec->place ? spec->place
							     : "",
				       .text = text,
				       .kind = kind_of(spec)};
}

static void resolve_all(struct gs_resolver *r)
{
	for (size_t i = 0; i < r->req->nprobes; i++) {
		struct gs_probe_spec spec = {0};
		struct gs_error *err = gs_probe_parse(&r->arena, r->req->probes[i], &spec);

		add_probe_row(r, (uint32_t)i, r->req->probes[i], &spec);
		if (!err)
			err = gs_resolve_probe(r, (uint32_t)i, &spec);
		add_error(r, err);
	}
	if (!r->out->nerrors) {
		if (r->req->explain)
			gs_explain_plans(r);
		add_error(r, gs_tables_finish(r));
	}
}

static void release(struct gs_resolver *r)
{
	struct gs_resolution *out = r->out;

	/* Strings and reasons live in the resolver's arena; the arrays are the resolution's. */
	out->explanation = NULL;
	gs_resolution_deinit(out);
	gs_search_close(r);
	gs_types_free(r->types);
	gs_buf_deinit(&r->explanation);
	free(r->tickets);
	free(r->plan_hashes);
	gs_arena_deinit(&r->arena);
}

void gs_resolver_run(const struct gs_resolve_request *req, const struct gs_file_source *files,
		     struct gs_buf *answer)
{
	struct gs_resolution out = {0};
	struct gs_resolver r = {.req = req, .files = files, .out = &out};

	r.opener = (struct gs_opener){.ctx = &r,
				      .open_file = open_debug_file,
				      .fetch = files->fetch && req->debuginfod ? fetch_debug_file
									       : NULL,
				      .debug_dirs = req->debug_dirs,
				      .ndebug_dirs = req->ndebug_dirs,
				      .root = req->root,
				      .raw_containers = req->raw_containers};
	r.types = gs_types_new();
	gs_meta_init(&out.meta);
	if (req->listing == GS_LIST_NONE)
		resolve_all(&r);
	else
		add_error(&r, gs_listing_run(&r));
	warn_of_debug_files(&r);
	if (req->explain || req->listing != GS_LIST_NONE)
		out.explanation = gs_buf_cstr(&r.explanation);
	gs_resolution_write(answer, &out, r.tickets);
	release(&r);
}
