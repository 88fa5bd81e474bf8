/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Places that are source lines. A line has many addresses; a probe on it fires once each time
 * control enters its code: candidates are its statement rows in each function and inlined instance,
 * and those that are only reached through another one are left out (insn_flow.c).
 */
#include "record/place_line.h"

#define CANDIDATES_MAX 65536

struct line_search {
	struct gs_module *m;
	const char *file;
	uint32_t line;
	const gs_ref *only; /* definitions that the candidates must be of, or NULL */
	size_t nonly;
	struct gs_line_candidate *found;
	size_t n, cap;
	uint64_t *unmarked; /* rows of the line that begin no statement */
	size_t nunmarked, unmarked_cap;
	const char *paths[8]; /* distinct source files that matched */
	size_t npaths;
	uint32_t below, above; /* nearest lines that have code */
};

/* ---- candidates ---- */

static bool is_wanted_function(struct line_search *s, struct gs_context *c)
{
	Dwarf_Die origin;
	gs_ref own, of = 0;

	if (!s->only)
		return true;
	if (!c)
		return false;
	own = gs_ref_of(s->m, gs_context_function(c));
	if (gs_die_link(gs_context_function(c), DW_AT_abstract_origin, &origin))
		of = gs_ref_of(s->m, &origin);
	for (size_t i = 0; i < s->nonly; i++)
		if (s->only[i] == own || s->only[i] == of)
			return true;
	return false;
}

/*
 * The line on which a function opens means after its prologue, as for gdb: there its variables are
 * in place. Not when a loop begins there, which would fire at every round.
 */
static uint64_t move_past_prologue(struct gs_module *m, struct gs_context *c, uint64_t addr)
{
	Dwarf_Die *function = gs_context_function(c);
	Dwarf_Addr entry;
	uint64_t end;

	if (dwarf_tag(function) != DW_TAG_subprogram || !gs_die_entry(m, function, &entry) ||
	    entry != addr)
		return addr;
	end = gs_prologue_end(m, function, entry);
	if (end != entry && !gs_place_is_target(m, function, end))
		return end;
	return gs_place_entry(m, function, entry);
}

static bool is_known(const struct line_search *s, uint64_t addr)
{
	for (size_t i = s->n; i-- > 0;)
		if (s->found[i].addr == addr)
			return true;
	return false;
}

static void add_candidate(struct line_search *s, const char *path, const struct gs_row *row,
			  bool is_run_start)
{
	struct gs_context *c = gs_context_new_line(s->m, row->addr, path, s->line);
	uint64_t addr = row->addr, moved = addr;

	if (!is_wanted_function(s, c) || s->n >= CANDIDATES_MAX)
		return;
	if (c)
		moved = move_past_prologue(s->m, c, addr);
	if (moved != addr)
		c = gs_context_new(s->m, moved, gs_context_function(c));
	if (is_known(s, moved))
		return;
	*GS_PUSH(s->found, s->n, s->cap) = (struct gs_line_candidate){
		moved, addr, c, c ? gs_context_function(c)->addr : NULL, row->column, is_run_start};
}

static void note_path(struct line_search *s, const char *path)
{
	for (size_t i = 0; i < s->npaths; i++)
		if (strcmp(s->paths[i], path) == 0)
			return;
	if (s->npaths < GS_ARRAY_SIZE(s->paths))
		s->paths[s->npaths++] = path;
}

/* Code of the line without a statement: of an instance that has no other, it tells a loss. */
static void note_unmarked(struct line_search *s, const struct gs_unit_lines *t,
			  const struct gs_row *row)
{
	if (t->has_markers && row->line == s->line && !row->is_stmt && !row->end_sequence &&
	    s->nunmarked < CANDIDATES_MAX)
		*GS_PUSH(s->unmarked, s->nunmarked, s->unmarked_cap) = row->addr;
}

static bool has_statement_in(const struct line_search *s, const void *group)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->found[i].group == group)
			return true;
	return false;
}

/* Whether an inlined instance has code of the line and no statement of it, nor has what is around
 * it. */
static bool has_lost_instance(struct line_search *s)
{
	for (size_t i = 0; i < s->nunmarked; i++) {
		struct gs_context *c = gs_context_new_line(s->m, s->unmarked[i], s->file, s->line);
		bool found = false;

		if (!c || !c->function || !is_wanted_function(s, c) ||
		    dwarf_tag(gs_context_function(c)) != DW_TAG_inlined_subroutine)
			continue;
		for (size_t k = 0; k <= c->function && !found; k++)
			found = has_statement_in(s, c->scopes[k].addr);
		if (!found)
			return true;
	}
	return false;
}

bool gs_line_is_code(struct gs_module *m, const struct gs_row *row)
{
	return row->is_stmt && !row->end_sequence && row->line &&
	       gs_elf_is_executable(m, row->addr);
}

static void search_unit(struct line_search *s, const struct gs_unit_lines *t)
{
	bool *is_file GS_CLEANUP_FREE = gs_calloc(t->nfiles + 1, sizeof(*is_file));
	bool any = false;

	for (size_t i = 0; i < t->nfiles; i++)
		any |= is_file[i] = gs_path_has_suffix(t->files[i], s->file);
	for (size_t i = 0; any && i < t->nrows; i++) {
		const struct gs_row *row = &t->rows[i], *before = row - 1;
		bool is_run_start;

		if (!is_file[row->file])
			continue;
		note_unmarked(s, t, row);
		if (!gs_line_is_code(s->m, row))
			continue;
		note_path(s, t->files[row->file]);
		if (row->line < s->line && row->line > s->below)
			s->below = row->line;
		if (row->line > s->line && (!s->above || row->line < s->above))
			s->above = row->line;
		if (row->line != s->line)
			continue;
		is_run_start = i == 0 || before->end_sequence || before->line != row->line ||
			       before->file != row->file;
		/* A row that says again what the one before it says is no statement of its own. */
		if (is_run_start || t->has_markers || before->column != row->column)
			add_candidate(s, t->files[row->file], row, is_run_start);
	}
}

static void search_all(struct line_search *s)
{
	gs_index_need(s->m);
	for (size_t i = 0; i < s->m->nunits; i++)
		if (gs_unit_may_have_lines(s->m, i, s->file))
			search_unit(s, gs_lines_of_unit(s->m, i));
}

/* ---- sites ---- */

static void add_sites(struct line_search *s, struct gs_place_list *l)
{
	bool *drop GS_CLEANUP_FREE = gs_calloc(s->n + 1, sizeof(*drop));
	struct gs_line_group group = {.m = s->m, .file = s->file, .line = s->line};
	size_t end;

	gs_line_sort(s->found, s->n);
	for (size_t i = 0; i < s->n; i = end) {
		for (end = i + 1; end < s->n && s->found[end].group == s->found[i].group;)
			end++;
		group.candidates = &s->found[i];
		group.n = end - i;
		gs_line_thin(&group, &drop[i]);
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct gs_line_candidate *c = &s->found[i];
		size_t at = l->out->nsites;

		if (drop[i])
			continue;
		gs_place_add(l, c->addr, c->natural, c->context, NULL);
		/* The line that was asked for, not that of the code after the prologue. */
		if (l->out->nsites > at)
			l->out->sites[at].line = s->line;
	}
	if (!group.doubt && has_lost_instance(s))
		group.doubt = "an inlined instance has code of it, but no statement";
	l->out->doubt = group.doubt;
	if (group.doubt)
		gs_place_note(l, "%s:%u: counts are not executions: %s", s->file, s->line,
			      group.doubt);
}

/* ---- the questions ---- */

struct gs_error *gs_line_no_dwarf(struct gs_module *m)
{
	struct gs_error *err = gs_error_new(
		GS_ERR_NOT_FOUND, "%s has no debug information: lines are not known", m->info.path);

	if (m->info.debug_problem)
		return gs_error_hint(err, "%s", m->info.debug_problem);
	return gs_error_hint(err, "install its debug symbols, or probe a function");
}

struct gs_error *gs_line_no_such_file(struct gs_module *m, const char *file)
{
	const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	struct gs_nearest near = {.wanted = base};
	struct gs_error *err =
		gs_error_new(GS_ERR_NOT_FOUND, "no source file `%s' in %s", file, m->info.path);
	char *hint;

	for (size_t i = 0; i < m->nunits; i++) {
		Dwarf_Die die;
		const char *name = gs_unit_line_die(m, i, &die) ? dwarf_diename(&die) : NULL;
		const char *slash = name ? strrchr(name, '/') : NULL;

		if (name)
			gs_nearest_feed(&near, slash ? slash + 1 : name);
	}
	hint = gs_nearest_hint(&near);
	if (hint)
		err = gs_error_hint(err, "%s", hint);
	free(hint);
	gs_nearest_deinit(&near);
	return err;
}

static struct gs_error *no_code(struct line_search *s)
{
	struct gs_error *err =
		gs_error_new(GS_ERR_NOT_FOUND, "line %u of %s has no code", s->line, s->file);

	if (s->below && s->above)
		return gs_error_hint(err, "the nearest lines with code are %u and %u", s->below,
				     s->above);
	if (s->below || s->above)
		return gs_error_hint(err, "the nearest line with code is %u",
				     s->below ? s->below : s->above);
	return err;
}

static struct gs_error *find_line(struct line_search *s, struct gs_places *out)
{
	struct gs_place_list l = {.m = s->m, .out = out};
	const char *what = gs_arena_printf(&out->arena, "%s:%u", s->file, s->line);

	if (!s->m->info.has_dwarf)
		return gs_line_no_dwarf(s->m);
	search_all(s);
	if (s->npaths == 0)
		return gs_line_no_such_file(s->m, s->file);
	if (s->n == 0)
		return no_code(s);
	if (s->npaths > 1 && !s->only)
		gs_place_note(&l, "%s is the name of several files: %s, %s%s", s->file, s->paths[0],
			      s->paths[1], s->npaths > 2 ? ", ..." : "");
	add_sites(s, &l);
	return gs_place_finish(&l, what);
}

struct gs_error *gs_line_find(struct gs_module *m, const char *file, uint32_t line,
			      const gs_ref *only, struct gs_places *out)
{
	struct line_search s = {
		.m = m, .file = file, .line = line, .only = only, .nonly = only != NULL};
	struct gs_error *err = find_line(&s, out);

	free(s.found);
	free(s.unmarked);
	return err;
}

struct gs_error *gs_module_find_line(struct gs_module *m, const char *file, uint32_t line,
				     struct gs_places *out)
{
	return gs_line_find(m, gs_path_clean(&m->arena, file), line, NULL, out);
}

bool gs_line_declared(struct gs_module *m, gs_ref ref, const char **file, uint32_t *line)
{
	Dwarf_Die die;
	int number;

	if (!gs_ref_die(m, ref, &die) || dwarf_decl_line(&die, &number) != 0 || number <= 0)
		return false;
	*file = gs_decl_file(&die);
	*line = (uint32_t)number;
	return *file != NULL;
}

struct gs_error *gs_module_find_function_line(struct gs_module *m, const char *function, uint32_t n,
					      struct gs_places *out)
{
	gs_ref refs[GS_LINE_DEFINITIONS_MAX];
	size_t nrefs = gs_place_definitions_or_alias(m, &m->arena, function, refs,
						     GS_LINE_DEFINITIONS_MAX);
	struct gs_error *err = NULL, *first = NULL;
	const char *file;
	uint32_t line;

	if (nrefs == 0)
		return m->info.has_dwarf ? gs_place_unknown_function(m, function)
					 : gs_line_no_dwarf(m);
	for (size_t i = 0; i < nrefs; i++) {
		struct gs_places part;

		if (!gs_line_declared(m, refs[i], &file, &line))
			continue;
		gs_places_init(&part);
		err = gs_line_find(m, gs_path_clean(&m->arena, file), line + n, &refs[i], &part);
		if (!err)
			gs_place_take(m, out, &part);
		gs_places_deinit(&part);
		if (!first)
			first = err;
		else
			gs_error_free(err);
	}
	if (out->nsites) {
		gs_error_free(first);
		return NULL;
	}
	return first ? first : gs_place_unknown_function(m, function);
}
