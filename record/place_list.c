/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Listings of functions, and their names for suggestions.
 * What -F prints; beside place.c, which finds single ones.
 */
#include "record/place.h"

static bool is_definition(const struct gs_index_entry *e)
{
	return e->kind == GS_INDEX_FUNCTION &&
	       !(e->flags & (GS_INDEX_LINKAGE | GS_INDEX_DECLARATION));
}

struct feed {
	struct gs_module *m;
	struct gs_nearest *near;
};

static void feed_entry(void *ctx, const struct gs_index_entry *e)
{
	struct feed *f = ctx;
	const char *name = is_definition(e) ? gs_index_name(f->m, e) : NULL;

	if (name)
		gs_nearest_feed(f->near, name);
}

void gs_module_feed_functions(struct gs_module *m, struct gs_nearest *near)
{
	struct feed f = {m, near};

	gs_index_each(m, feed_entry, &f);
	for (size_t i = 0; i < m->nfunctions; i++)
		gs_nearest_feed(near, m->functions[i].name);
}

struct rows {
	struct gs_module *m;
	struct gs_map by_name; /* name -> index in rows */
	struct gs_function_row *rows;
	size_t n, cap;
	const char *glob;
};

static bool matches(const char *glob, const char *name)
{
	const char *last = name;

	if (gs_glob_match(glob, name))
		return true;
	/* Without scope it is about the last component, as for probes. */
	for (const char *s = name; *s && *s != '<' && *s != '('; s++)
		if (s[0] == ':' && s[1] == ':')
			last = s + 2;
	return last != name && !strstr(glob, "::") && gs_glob_match(glob, last);
}

static struct gs_function_row *row_of(struct rows *r, const char *name)
{
	bool fresh;
	uint64_t at = *gs_map_put(&r->by_name, name, strlen(name), r->n, &fresh);

	if (fresh)
		GS_PUSH(r->rows, r->n, r->cap)->name = gs_arena_strdup(&r->m->arena, name);
	return &r->rows[at];
}

static void count_copy(const struct gs_module *m, struct gs_function_row *row, Dwarf_Die *die)
{
	Dwarf_Addr entry;

	if (!gs_die_entry(m, die, &entry))
		return;
	row->ncopies++;
	if (!row->link_addr || entry < row->link_addr)
		row->link_addr = entry;
}

static void add_entry(void *ctx, const struct gs_index_entry *e)
{
	struct rows *r = ctx;
	struct gs_module *m = r->m;
	Dwarf_Die die, copy;
	struct gs_function_row *row;
	const struct gs_instance *i;
	size_t n;
	Dwarf_Addr entry;
	const char *name;
	int line;

	if (!is_definition(e) || !gs_ref_die(m, e->ref, &die))
		return;
	i = gs_index_instances(m, e->ref, &n);
	if (n == 0 && !gs_die_entry(m, &die, &entry))
		return;
	name = gs_qualified_name(m, &die);
	if (!matches(r->glob, name))
		return;
	row = row_of(r, name);
	if (!row->file) {
		row->file = gs_decl_file(&die);
		if (dwarf_decl_line(&die, &line) == 0 && line > 0)
			row->line = (uint32_t)line;
	}
	count_copy(m, row, &die);
	for (; n; n--, i++) {
		if (!gs_ref_die(m, i->die, &copy))
			continue;
		if (dwarf_tag(&copy) == DW_TAG_inlined_subroutine)
			row->ninlined++;
		else
			count_copy(m, row, &copy);
	}
}

static void add_symbol(struct rows *r, const struct gs_symbol *s)
{
	Dwarf_Die die;
	struct gs_function_row *row;

	if (!matches(r->glob, s->name) || gs_index_function_at(r->m, s->addr, &die) ||
	    strstr(s->name, ".cold"))
		return;
	row = row_of(r, s->name);
	if (row->ncopies++ == 0) {
		row->link_addr = s->addr;
		row->from_symbol = true;
	}
}

static int compare_function_rows(const void *pa, const void *pb)
{
	const struct gs_function_row *a = pa, *b = pb;

	return strcmp(a->name, b->name);
}

struct gs_error *gs_module_list_functions(struct gs_module *m, const char *glob,
					  bool (*fn)(void *ctx, const struct gs_function_row *row),
					  void *ctx)
{
	struct rows r = {.m = m, .glob = glob};
	struct gs_error *err = NULL;

	gs_index_each(m, add_entry, &r);
	for (size_t i = 0; i < m->nfunctions; i++)
		add_symbol(&r, &m->functions[i]);
	if (r.n == 0)
		err = gs_place_unknown_function(m, glob);
	else
		qsort(r.rows, r.n, sizeof(*r.rows), compare_function_rows);
	for (size_t i = 0; i < r.n; i++)
		if (!fn(ctx, &r.rows[i]))
			break;
	free(r.rows);
	gs_map_deinit(&r.by_name);
	return err;
}
