/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * -F GLOB, -L PLACE, -V PLACE: what can be probed: functions, lines, variables.
 * Beside the flow: the same search and places as for probes, with a listing as the answer.
 */
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/resolver.h"

/* [MODULE!]REST of the argument. */
static struct gs_error *find_module(struct gs_resolver *r, const char *module,
				    struct gs_loaded **out)
{
	if (!module)
		return gs_search_executable(r, out);
	GS_TRY(gs_search_module(r, module, out));
	if (*out)
		return NULL;
	return gs_search_hint(r, gs_error_new(GS_ERR_NOT_FOUND, "there is no module `%s'", module),
			      module);
}

/* ---- functions ---- */

static bool put_function(void *ctx, const struct gs_function_row *row)
{
	struct gs_buf *out = ctx;

	gs_escape(out, row->name, strlen(row->name), GS_ESCAPE_PLAIN);
	if (row->file && *row->file)
		gs_buf_printf(out, "  %s:%u", row->file, row->line);
	else if (row->from_symbol)
		gs_buf_printf(out, "  0x%" PRIx64, row->link_addr);
	if (row->ninlined && !row->ncopies)
		gs_buf_printf(out, "  (only inlined: %u)", row->ninlined);
	else if (row->ninlined)
		gs_buf_printf(out, "  (inlined: %u)", row->ninlined);
	if (row->ncopies > 1)
		gs_buf_printf(out, "  (copies: %u)", row->ncopies);
	gs_buf_putc(out, '\n');
	return true;
}

static struct gs_error *list_functions(struct gs_resolver *r)
{
	const char *arg = r->req->listing_arg, *bang = strchr(arg, '!');
	const char *module = NULL;
	struct gs_loaded *m;

	/* operator! is a name; a module's name comes first and has no blank or bracket. */
	if (bang && bang > arg && strcspn(arg, " (<") > (size_t)(bang - arg) &&
	    strncmp(arg, "operator!", 9) != 0) {
		module = gs_arena_strndup(&r->arena, arg, (size_t)(bang - arg));
		arg = bang + 1;
	}
	GS_TRY(find_module(r, module, &m));
	GS_TRY(gs_module_list_functions(m->m, arg, put_function, &r->explanation));
	if (!r->explanation.len)
		return gs_error_new(GS_ERR_NOT_FOUND, "no function of %s matches `%s'", m->path,
				    arg);
	return NULL;
}

/* ---- lines ---- */

#define SOURCE_BYTES_MAX (64u << 20)

struct line_list {
	struct gs_resolver *r;
	const char *file;
	char *text; /* of the file; NULL if it is not found */
	const char *at;
	uint32_t line; /* that `at' begins */
};

static char *read_source(struct gs_resolver *r, const char *path)
{
	int fd = r->opener.open_file ? r->opener.open_file(r->opener.ctx, path) : -1;
	struct stat st;
	char *text = NULL;
	ssize_t n = -1;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < SOURCE_BYTES_MAX) {
		text = gs_malloc((size_t)st.st_size + 1);
		n = pread(fd, text, (size_t)st.st_size, 0);
	}
	close(fd);
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n] = 0;
	return text;
}

/* Where DWARF says, else of that name where the user is. */
static void open_source(struct line_list *list, const struct gs_line_row *row)
{
	const char *path = row->file, *slash = strrchr(path, '/');

	free(list->text);
	list->text = NULL;
	if (*path != '/' && row->directory)
		path = gs_arena_printf(&list->r->arena, "%s/%s", row->directory, path);
	if (*path == '/')
		list->text = read_source(list->r, path);
	for (const char *rest = row->file; !list->text && rest; rest = strchr(rest, '/')) {
		rest += *rest == '/';
		list->text = read_source(list->r, rest);
		if (rest == slash + 1)
			break;
	}
	list->at = list->text;
	list->line = 1;
}

static const char *source_line(struct line_list *list, uint32_t line)
{
	if (!list->text)
		return NULL;
	for (; list->line < line && *list->at; list->line++)
		list->at += strcspn(list->at, "\n") + (strchr(list->at, '\n') != NULL);
	return *list->at && list->line == line ? list->at : NULL;
}

static bool put_line(void *ctx, const struct gs_line_row *row)
{
	struct line_list *list = ctx;
	struct gs_buf *out = &list->r->explanation;
	const char *text;

	if (!list->file || strcmp(list->file, row->file) != 0) {
		list->file = gs_arena_strdup(&list->r->arena, row->file);
		gs_escape(out, list->file, strlen(list->file), GS_ESCAPE_PLAIN);
		gs_buf_putc(out, '\n');
		open_source(list, row);
	}
	gs_buf_printf(out, "%8u", row->line);
	text = source_line(list, row->line);
	if (text) {
		size_t indent = strspn(text, " \t");

		gs_buf_puts(out, "  ");
		for (size_t i = 0; i < indent; i++)
			gs_buf_puts(out, text[i] == '\t' ? "    " : " ");
		gs_escape(out, text + indent, strcspn(text + indent, "\r\n"), GS_ESCAPE_PLAIN);
	}
	if (row->nsites > 1)
		gs_buf_printf(out, "  (sites: %u)", row->nsites);
	if (row->doubt)
		gs_buf_printf(out, "  (counts are not executions: %s)", row->doubt);
	gs_buf_putc(out, '\n');
	return true;
}

static struct gs_error *list_lines_of(struct gs_resolver *r, const struct gs_probe_spec *spec,
				      struct gs_loaded *m)
{
	struct line_list list = {.r = r};
	struct gs_error *err, *as_file;

	if (spec->where == GS_WHERE_LINE) {
		err = gs_module_list_lines(m->m, NULL, spec->file, put_line, &list);
	} else {
		err = gs_module_list_lines(m->m, spec->function, NULL, put_line, &list);
		/* `server.c' parses as a name: it may be a source file. */
		if (err && gs_error_code_of(err) == GS_ERR_NOT_FOUND) {
			as_file = gs_module_list_lines(m->m, NULL, spec->function, put_line, &list);
			gs_error_free(as_file ? as_file : err);
			err = as_file ? err : NULL;
		}
	}
	free(list.text);
	return err;
}

static struct gs_error *list_lines(struct gs_resolver *r, const struct gs_probe_spec *spec)
{
	struct gs_loaded *m;

	if (spec->where == GS_WHERE_ADDRESS || spec->where == GS_WHERE_MARKER)
		return gs_error_at(gs_error_new(GS_ERR_USAGE,
						"lines are listed of a function or a source file"),
				   spec->text, spec->place_start, spec->place_len);
	GS_TRY(find_module(r, spec->module, &m));
	if (!gs_module_info(m->m)->has_dwarf)
		return gs_error_new(GS_ERR_NOT_FOUND, "%s has no debug information: %s", m->path,
				    gs_module_info(m->m)->debug_problem
					    ? gs_module_info(m->m)->debug_problem
					    : "its lines are not known");
	return list_lines_of(r, spec, m);
}

/* ---- variables ---- */

static void put_variables(struct gs_site *site, const char *head, const struct gs_variable *vars,
			  size_t n)
{
	struct gs_buf *out = &site->r->explanation;

	if (n)
		gs_buf_printf(out, "  %s\n", head);
	for (size_t i = 0; i < n; i++) {
		const char *where = gs_explain_where(site, &vars[i]);

		gs_buf_puts(out, "    ");
		gs_type_print(out, site->r->types, vars[i].type, vars[i].name);
		gs_buf_printf(out, "%s%s\n", *where ? "  " : "", where);
	}
}

static struct gs_error *put_site(struct gs_resolver *r, struct gs_loaded *m,
				 const struct gs_place_site *place)
{
	const struct gs_variable *vars = NULL;
	struct gs_site site;
	struct gs_error *err;
	size_t n = 0;

	gs_site_init(&site, r, m, place);
	gs_buf_printf(&r->explanation, "0x%" PRIx64 " %s", place->link_addr, place->func);
	if (place->inlined_in && *place->inlined_in)
		gs_buf_printf(&r->explanation, " inlined in %s", place->inlined_in);
	if (place->file && *place->file)
		gs_buf_printf(&r->explanation, " %s:%u", place->file, place->line);
	gs_buf_putc(&r->explanation, '\n');
	err = place->context ? gs_context_args(place->context, &vars, &n) : NULL;
	if (!err) {
		put_variables(&site, "arguments", vars, n);
		n = 0;
		if (place->context)
			err = gs_context_locals(place->context, &vars, &n);
	}
	if (!err)
		put_variables(&site, "locals", vars, n);
	if (!place->context)
		gs_buf_puts(&r->explanation, "  no debug information here\n");
	gs_site_deinit(&site);
	return err;
}

static struct gs_error *list_variables(struct gs_resolver *r, const struct gs_probe_spec *spec)
{
	struct gs_loaded *m = NULL;
	struct gs_places places;
	struct gs_error *err;

	gs_places_init(&places);
	err = gs_resolve_place(r, spec, &m, &places);
	if (!err && !m)
		err = gs_search_hint(
			r, gs_error_new(GS_ERR_NOT_FOUND, "there is no module `%s'", spec->module),
			spec->module);
	for (size_t i = 0; !err && i < places.nsites; i++)
		err = put_site(r, m, &places.sites[i]);
	gs_places_deinit(&places);
	return err;
}

struct gs_error *gs_listing_run(struct gs_resolver *r)
{
	struct gs_probe_spec spec;

	if (r->req->listing == GS_LIST_FUNCTIONS)
		return list_functions(r);
	GS_TRY(gs_probe_parse(&r->arena, r->req->listing_arg, &spec));
	if (spec.has_braces || spec.condition_len || spec.is_return || spec.name ||
	    spec.has_wildcard || spec.where == GS_WHERE_MARKER)
		return gs_error_at(gs_error_new(GS_ERR_USAGE,
						"one place is expected here, without items, "
						"condition or wildcard"),
				   spec.text, 0, strlen(spec.text));
	return r->req->listing == GS_LIST_LINES ? list_lines(r, &spec) : list_variables(r, &spec);
}
