/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lines of a source file or function that can be probed: what -L prints.
 * Beside place_line.c, which finds the sites of each.
 */
#include "record/place_line.h"

struct line {
	const char *file, *directory;
	uint32_t number;
};

struct line_list {
	struct gs_module *m;
	const char *file; /* whose lines are wanted */
	struct line *lines;
	size_t n, cap;
};

static int compare_lines(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;
	int by_file = strcmp(a->file, b->file);

	if (by_file)
		return by_file;
	return a->number < b->number ? -1 : a->number > b->number;
}

static const char *directory_of(struct gs_module *m, size_t unit)
{
	Dwarf_Die die;
	Dwarf_Attribute attr;

	return gs_unit_line_die(m, unit, &die) && dwarf_attr(&die, DW_AT_comp_dir, &attr)
		       ? dwarf_formstring(&attr)
		       : NULL;
}

/* Rows of a unit in [low, high). */
static void add_rows(struct line_list *l, size_t unit, uint64_t low, uint64_t high)
{
	const struct gs_unit_lines *t = gs_lines_of_unit(l->m, unit);
	const char *directory = directory_of(l->m, unit);
	bool *is_file GS_CLEANUP_FREE = gs_calloc(t->nfiles + 1, sizeof(*is_file));
	uint32_t last = 0;

	for (size_t i = 0; i < t->nfiles; i++)
		is_file[i] = gs_path_has_suffix(t->files[i], l->file);
	for (size_t i = 0; i < t->nrows; i++) {
		const struct gs_row *row = &t->rows[i];

		if (row->addr < low || row->addr >= high || row->line == last ||
		    !is_file[row->file] || !gs_line_is_code(l->m, row))
			continue;
		last = row->line;
		*GS_PUSH(l->lines, l->n, l->cap) =
			(struct line){t->files[row->file], directory, row->line};
	}
}

static void add_ranges(struct line_list *l, Dwarf_Die *function)
{
	size_t unit = gs_unit_of(l->m, function);
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while (unit != SIZE_MAX && (at = dwarf_ranges(function, at, &base, &low, &high)) > 0)
		add_rows(l, unit, low, high);
}

/* In sorted order, each once. */
static void finish(struct line_list *l)
{
	size_t kept = 0;

	if (l->n)
		qsort(l->lines, l->n, sizeof(*l->lines), compare_lines);
	for (size_t i = 0; i < l->n; i++)
		if (i == 0 || compare_lines(&l->lines[i], &l->lines[i - 1]) != 0)
			l->lines[kept++] = l->lines[i];
	l->n = kept;
}

static bool put(struct line_list *l, const gs_ref *only,
		bool (*fn)(void *ctx, const struct gs_line_row *row), void *ctx, size_t *count)
{
	bool goes_on = true;

	finish(l);
	for (size_t i = 0; goes_on && i < l->n; i++) {
		struct gs_line_row row = {.file = l->lines[i].file,
					  .directory = l->lines[i].directory,
					  .line = l->lines[i].number};
		struct gs_places p;

		gs_places_init(&p);
		gs_error_free(gs_line_find(l->m, row.file, row.line, only, &p));
		row.nsites = (uint32_t)p.nsites;
		row.doubt = p.doubt;
		if (row.nsites) {
			++*count;
			goes_on = fn(ctx, &row);
		}
		gs_places_deinit(&p);
	}
	free(l->lines);
	return goes_on;
}

static struct gs_error *list_file(struct gs_module *m, const char *file,
				  bool (*fn)(void *ctx, const struct gs_line_row *row), void *ctx)
{
	struct line_list l = {.m = m, .file = gs_path_clean(&m->arena, file)};
	size_t count = 0;

	gs_index_need(m);
	for (size_t i = 0; i < m->nunits; i++)
		if (gs_unit_may_have_lines(m, i, l.file))
			add_rows(&l, i, 0, UINT64_MAX);
	put(&l, NULL, fn, ctx, &count);
	return count ? NULL : gs_line_no_such_file(m, file);
}

/* The lines of a definition are those of its copies and inlined instances. */
static bool list_definition(struct gs_module *m, gs_ref ref, const char *file,
			    bool (*fn)(void *ctx, const struct gs_line_row *row), void *ctx,
			    size_t *count)
{
	struct line_list l = {.m = m, .file = gs_path_clean(&m->arena, file)};
	Dwarf_Die die;
	size_t n;

	if (gs_ref_die(m, ref, &die))
		add_ranges(&l, &die);
	for (const struct gs_instance *i = gs_index_instances(m, ref, &n); n; n--, i++)
		if (gs_ref_die(m, i->die, &die))
			add_ranges(&l, &die);
	return put(&l, &ref, fn, ctx, count);
}

struct gs_error *gs_module_list_lines(struct gs_module *m, const char *function, const char *file,
				      bool (*fn)(void *ctx, const struct gs_line_row *row),
				      void *ctx)
{
	gs_ref refs[GS_LINE_DEFINITIONS_MAX];
	size_t nrefs, count = 0;
	uint32_t line;

	if (!m->info.has_dwarf)
		return gs_line_no_dwarf(m);
	if (!function)
		return list_file(m, file, fn, ctx);
	nrefs = gs_place_definitions_or_alias(m, &m->arena, function, refs,
					      GS_LINE_DEFINITIONS_MAX);
	for (size_t i = 0; i < nrefs; i++)
		if (gs_line_declared(m, refs[i], &file, &line) &&
		    !list_definition(m, refs[i], file, fn, ctx, &count))
			return NULL;
	return count ? NULL : gs_place_unknown_function(m, function);
}
