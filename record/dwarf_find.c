/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Variables, enumerators, functions and types by name, as a name at a place in the source would
 * find them. Beside dwarf_scope.c, which knows the blocks; here begins file scope.
 */
#include "record/dwarf_find.h"

#include "record/dwarf_internal.h"

struct candidate {
	Dwarf_Die die;
	const struct gs_index_entry *entry;
	unsigned score; /* 0: none */
};

/* ---- ranking ---- */

static size_t common_prefix(const char *a, const char *b)
{
	size_t n = 0;

	/* Only whole components count. */
	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == ':' && a[i + 1] == ':' && b[i + 1] == ':')
			n++;
	return n;
}

static bool same_unit(struct gs_context *c, Dwarf_Die *die)
{
	Dwarf_Die cu;

	return c && dwarf_diecu(die, &cu, NULL, NULL) && cu.addr == c->cu.addr;
}

static unsigned score_of(struct gs_module *m, struct gs_context *c, struct candidate *k)
{
	unsigned score = 1;

	if (!(k->entry->flags & GS_INDEX_DECLARATION))
		score += 2;
	if (k->entry->flags & GS_INDEX_EXTERNAL)
		score += 4;
	if (same_unit(c, &k->die))
		score += 8;
	if (k->entry->kind == GS_INDEX_VARIABLE || k->entry->kind == GS_INDEX_TYPE)
		score += 16;
	if (c)
		score += 32 * (unsigned)common_prefix(gs_qualified_name(m, gs_context_function(c)),
						      gs_qualified_name(m, &k->die));
	return score;
}

static bool unit_is_file(struct gs_module *m, Dwarf_Die *die, const char *file)
{
	Dwarf_Die cu;
	const char *name;

	if (!dwarf_diecu(die, &cu, NULL, NULL) || !(name = dwarf_diename(&cu)))
		return false;
	return gs_path_has_suffix(gs_path_clean(&m->arena, name), file);
}

struct search {
	struct gs_module *m;
	struct gs_context *c;
	const struct gs_name_query *query;
	const char *file; /* qualifier, or NULL */
	unsigned kinds;	  /* bits of enum gs_index_kind */
	struct candidate best;
	bool is_ambiguous;
	struct candidate other;
};

/* Two entries of equal rank that are the same thing: declared once, seen in several units. */
static bool is_same_thing(struct search *s, struct candidate *a, struct candidate *b)
{
	Dwarf_Attribute x, y;
	Dwarf_Op *px, *py;
	size_t nx, ny;

	if (a->entry->kind != GS_INDEX_VARIABLE || b->entry->kind != GS_INDEX_VARIABLE)
		return true;
	if ((a->entry->flags & b->entry->flags) & GS_INDEX_EXTERNAL)
		return true;
	if (!dwarf_attr_integrate(&a->die, DW_AT_location, &x) ||
	    !dwarf_attr_integrate(&b->die, DW_AT_location, &y))
		return true;
	return dwarf_getlocation(&x, &px, &nx) == 0 && dwarf_getlocation(&y, &py, &ny) == 0 &&
	       nx == ny && nx && px[0].atom == py[0].atom && px[0].number == py[0].number;
}

static void consider(struct search *s, const struct gs_index_entry *e)
{
	struct candidate k = {.entry = e};

	if (!(s->kinds & (1u << e->kind)) || (e->flags & GS_INDEX_LINKAGE) ||
	    !gs_ref_die(s->m, e->ref, &k.die) || !gs_name_query_matches(s->m, s->query, &k.die) ||
	    (s->file && !unit_is_file(s->m, &k.die, s->file)))
		return;
	k.score = score_of(s->m, s->c, &k);
	if (s->best.score && k.score == s->best.score && !is_same_thing(s, &s->best, &k)) {
		s->is_ambiguous = true;
		s->other = k;
	}
	if (k.score > s->best.score) {
		s->best = k;
		s->is_ambiguous = false;
	}
}

static bool run_search(struct search *s)
{
	size_t len;
	const char *base = gs_name_query_base(s->query, &len);

	gs_index_need(s->m);
	for (const struct gs_index_entry *e = gs_index_first(s->m, base, len); e;
	     e = gs_index_next(s->m, e))
		consider(s, e);
	return s->best.score != 0;
}

/* ---- results ---- */

static struct gs_error *enumerator(struct gs_module *m, Dwarf_Die *die, struct gs_variable *var)
{
	Dwarf_Attribute attr;
	Dwarf_Sword value = 0;
	Dwarf_Die parent;
	const struct gs_index_entry *e = gs_index_at(m, gs_ref_of(m, die));

	*var = (struct gs_variable){.name = dwarf_diename(die), .flags = GS_VAR_CONSTANT};
	if (!dwarf_attr(die, DW_AT_const_value, &attr) || !gs_enumerator_value(&attr, &value))
		return gs_error_new(GS_ERR_DAMAGED, "enumerator %s has no value", var->name);
	var->constant = value;
	/* Its type is the enumeration, which only a scoped one is indexed as the parent of. */
	if (e && e->parent && gs_ref_die(m, e->parent, &parent) &&
	    dwarf_tag(&parent) == DW_TAG_enumeration_type)
		return gs_type_of_die(m, &parent, &var->type);
	return gs_add_int_type(m, value >= INT32_MIN && value <= INT32_MAX ? 4 : 8, &var->type);
}

static struct gs_error *function_variable(struct gs_module *m, Dwarf_Die *die,
					  struct gs_variable *var)
{
	GS_TRY(gs_variable_from_die(m, die, NULL, GS_VAR_FUNCTION | GS_VAR_STATIC, var));
	return gs_function_type(m, die, &var->type);
}

static struct gs_error *to_variable(struct gs_module *m, Dwarf_Die *die, Dwarf_Die *frame,
				    struct gs_variable *var)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_enumerator:
		return enumerator(m, die, var);
	case DW_TAG_subprogram:
		return function_variable(m, die, var);
	case DW_TAG_formal_parameter:
		return gs_variable_from_die(m, die, frame, GS_VAR_PARAM, var);
	default:
		return gs_variable_from_die(m, die, frame, frame ? GS_VAR_LOCAL : 0, var);
	}
}

static const char *unit_name(Dwarf_Die *die)
{
	Dwarf_Die cu;
	const char *name;

	if (!dwarf_diecu(die, &cu, NULL, NULL) || !(name = dwarf_diename(&cu)))
		return "?";
	return strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
}

static struct gs_error *ambiguous(struct search *s, const char *name)
{
	struct gs_error *err =
		gs_error_new(GS_ERR_USAGE, "`%s' is the name of several variables", name);

	return gs_error_hint(err, "say which: %s::%s or %s::%s", unit_name(&s->best.die), name,
			     unit_name(&s->other.die), name);
}

static struct gs_error *finish(struct search *s, const char *name, struct gs_variable *var)
{
	Dwarf_Die die = s->best.die, definition;

	if (s->is_ambiguous)
		return ambiguous(s, name);
	if (dwarf_tag(&die) != DW_TAG_subprogram && dwarf_tag(&die) != DW_TAG_enumerator &&
	    (s->best.entry->flags & GS_INDEX_DECLARATION) &&
	    gs_definition_of(s->m, &die, &definition))
		die = definition;
	return to_variable(s->m, &die, NULL, var);
}

/* ---- nearest names ---- */

static void feed_list(struct gs_nearest *near, const struct gs_variable *vars, size_t n)
{
	for (size_t i = 0; i < n; i++)
		gs_nearest_feed(near, vars[i].name);
}

struct feed {
	struct gs_module *m;
	struct gs_nearest *near;
	unsigned kinds;
};

static void feed_entry(void *ctx, const struct gs_index_entry *e)
{
	struct feed *f = ctx;
	const char *name;

	if (!(f->kinds & (1u << e->kind)) || (e->flags & GS_INDEX_LINKAGE))
		return;
	name = gs_index_name(f->m, e);
	if (name)
		gs_nearest_feed(f->near, name);
}

static void feed_index(struct gs_module *m, struct gs_nearest *near, unsigned kinds)
{
	struct feed f = {m, near, kinds};

	gs_index_each(m, feed_entry, &f);
}

static struct gs_error *not_found(struct gs_module *m, struct gs_context *c, const char *what,
				  const char *name, unsigned kinds)
{
	struct gs_nearest near = {.wanted = name};
	struct gs_error *err = gs_error_new(GS_ERR_NOT_FOUND, "no %s `%s' here", what, name);
	const struct gs_variable *vars;
	size_t n;
	char *hint;

	if (c) {
		gs_error_free(gs_context_args(c, &vars, &n));
		feed_list(&near, vars, n);
		gs_error_free(gs_context_locals(c, &vars, &n));
		feed_list(&near, vars, n);
	}
	if (near.n == 0)
		feed_index(m, &near, kinds);
	hint = gs_nearest_hint(&near);
	if (hint)
		err = gs_error_hint(err, "%s", hint);
	free(hint);
	gs_nearest_deinit(&near);
	return err;
}

/* ---- variables ---- */

#define VARIABLES (1u << GS_INDEX_VARIABLE | 1u << GS_INDEX_ENUMERATOR | 1u << GS_INDEX_FUNCTION)

/* A static variable of a function that is named as the qualifier; other locals only of the
 * context's own. */
static bool in_function(struct gs_module *m, Dwarf_Die *parent, const char *name, Dwarf_Die *found,
			int depth)
{
	Dwarf_Die child;

	if (depth > 32 || dwarf_child(parent, &child) != 0)
		return false;
	do {
		const char *have;
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_lexical_block && in_function(m, &child, name, found, depth + 1))
			return true;
		if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter)
			continue;
		have = dwarf_diename(&child);
		if (have && strcmp(have, name) == 0) {
			*found = child;
			return true;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

static struct gs_error *find_in_function(struct gs_module *m, struct gs_context *c,
					 const char *function, const char *name,
					 struct gs_variable *var, bool *done)
{
	struct gs_name_query *q = gs_name_query_parse(&m->arena, function);
	struct search s = {.m = m, .c = c, .query = q, .kinds = 1u << GS_INDEX_FUNCTION};
	Dwarf_Die found;
	size_t scope;

	*done = false;
	if (c && gs_name_query_matches(m, q, gs_context_function(c)) &&
	    gs_scope_find(c, name, &found, &scope)) {
		*done = true;
		return to_variable(m, &found, &c->scopes[scope], var);
	}
	if (!run_search(&s) || !in_function(m, &s.best.die, name, &found, 0))
		return NULL;
	*done = true;
	GS_TRY(to_variable(m, &found, NULL, var));
	if (!(var->flags & (GS_VAR_STATIC | GS_VAR_TLS | GS_VAR_CONSTANT)))
		return gs_error_new(GS_ERR_NOT_FOUND, "`%s' is a local variable of %s, not of here",
				    name, function);
	return NULL;
}

struct gs_error *gs_context_find(struct gs_context *c, const char *qualifier, const char *name,
				 struct gs_variable *var)
{
	struct gs_module *m = c->m;
	struct search s = {.m = m, .c = c, .file = qualifier, .kinds = VARIABLES};
	Dwarf_Die found;
	size_t scope;
	bool done;

	if (!qualifier && gs_scope_find(c, name, &found, &scope)) {
		Dwarf_Die definition;

		if (gs_die_flag(&found, DW_AT_declaration)) /* extern in a block */
			return gs_definition_of(m, &found, &definition)
				       ? to_variable(m, &definition, NULL, var)
				       : to_variable(m, &found, NULL, var);
		return to_variable(m, &found, &c->scopes[scope], var);
	}
	s.query = gs_name_query_parse(&m->arena, name);
	if (run_search(&s))
		return finish(&s, name, var);
	if (qualifier) {
		GS_TRY(find_in_function(m, c, qualifier, name, var, &done));
		if (done)
			return NULL;
		/* ns::v, where the front end took the scope for a qualifier. */
		s = (struct search){.m = m, .c = c, .kinds = VARIABLES};
		s.query = gs_name_query_parse(
			&m->arena, gs_arena_printf(&m->arena, "%s::%s", qualifier, name));
		if (run_search(&s))
			return finish(&s, name, var);
	}
	return not_found(m, c, "variable", name, VARIABLES);
}

struct gs_error *gs_module_find_global(struct gs_module *m, const char *name,
				       struct gs_variable *var)
{
	struct search s = {
		.m = m, .query = gs_name_query_parse(&m->arena, name), .kinds = VARIABLES};

	if (!run_search(&s))
		return not_found(m, NULL, "variable", name, VARIABLES);
	return finish(&s, name, var);
}

/* ---- types ---- */

static bool strip_tag(const char **name, int *tag)
{
	static const struct {
		const char *word;
		int tag;
	} tags[] = {{"struct ", DW_TAG_structure_type},
		    {"class ", DW_TAG_class_type},
		    {"union ", DW_TAG_union_type},
		    {"enum ", DW_TAG_enumeration_type}};

	for (size_t i = 0; i < GS_ARRAY_SIZE(tags); i++)
		if (strncmp(*name, tags[i].word, strlen(tags[i].word)) == 0) {
			*name += strlen(tags[i].word);
			*tag = tags[i].tag;
			return true;
		}
	*tag = 0;
	return false;
}

static bool tag_fits(int wanted, int tag, bool is_cxx)
{
	if (wanted == 0) /* in C, a tag is not a type name */
		return is_cxx || tag == DW_TAG_typedef || tag == DW_TAG_base_type ||
		       tag == DW_TAG_unspecified_type;
	if (wanted == DW_TAG_structure_type || wanted == DW_TAG_class_type)
		return tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
	return wanted == tag;
}

static bool is_cxx(struct gs_module *m, Dwarf_Die *die)
{
	Dwarf_Die cu;
	int lang = dwarf_diecu(die, &cu, NULL, NULL) ? dwarf_srclang(&cu) : -1;

	return lang != DW_LANG_C && lang != DW_LANG_C89 && lang != DW_LANG_C99 &&
	       lang != DW_LANG_C11;
}

static bool type_in_scope(struct gs_context *c, const char *name, int tag, Dwarf_Die *found)
{
	Dwarf_Die child;

	for (size_t i = c->nscopes; i-- > 0;) {
		if (dwarf_child(&c->scopes[i], &child) != 0)
			continue;
		do {
			const char *have = dwarf_diename(&child);
			int t = dwarf_tag(&child);

			if (have && strcmp(have, name) == 0 &&
			    (t == DW_TAG_typedef || t == DW_TAG_structure_type ||
			     t == DW_TAG_union_type || t == DW_TAG_class_type ||
			     t == DW_TAG_enumeration_type) &&
			    tag_fits(tag, t, is_cxx(c->m, &child))) {
				*found = child;
				return true;
			}
		} while (dwarf_siblingof(&child, &child) == 0);
	}
	return false;
}

struct gs_error *gs_module_find_type(struct gs_module *m, struct gs_context *c, const char *name,
				     gs_type_id *id)
{
	const char *bare = name, *base;
	int tag;
	struct candidate best = {0}, k = {0};
	struct gs_name_query *q;
	size_t len;

	gs_index_need(m);
	strip_tag(&bare, &tag);
	if (c && type_in_scope(c, bare, tag, &k.die))
		return gs_type_of_die(m, &k.die, id);
	q = gs_name_query_parse(&m->arena, bare);
	base = gs_name_query_base(q, &len);
	for (k.entry = gs_index_first(m, base, len); k.entry; k.entry = gs_index_next(m, k.entry)) {
		if (k.entry->kind != GS_INDEX_TYPE || !gs_ref_die(m, k.entry->ref, &k.die) ||
		    !tag_fits(tag, dwarf_tag(&k.die), is_cxx(m, &k.die)) ||
		    !gs_name_query_matches(m, q, &k.die))
			continue;
		k.score = score_of(m, c, &k);
		if (k.score > best.score)
			best = k;
	}
	if (!best.score)
		return not_found(m, NULL, "type", name, 1u << GS_INDEX_TYPE);
	return gs_type_of_die(m, &best.die, id);
}
