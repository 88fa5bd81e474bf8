/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of functions and variables: qualified, and compared with what a user wrote.
 * Between the index, which finds by the last component, and the places and scopes that want an
 * exact match.
 */
#include <ctype.h>

#include "record/dwarf_internal.h"

#define COMPONENTS_MAX 64

/* ---- qualified names ---- */

static const char *scope_name(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	if (name)
		return name;
	return dwarf_tag(die) == DW_TAG_namespace ? "(anonymous namespace)" : NULL;
}

/* The scope that names the entry: that of the declaration that it completes, of the function it is
 * a copy of. */
static gs_ref parent_of(struct gs_module *m, Dwarf_Die *die)
{
	Dwarf_Die at = *die, link;
	const struct gs_index_entry *e;

	for (int i = 0; i < 8; i++) {
		if (!gs_die_link(&at, DW_AT_abstract_origin, &link) &&
		    !gs_die_link(&at, DW_AT_specification, &link))
			break;
		at = link;
	}
	e = gs_index_at(m, gs_ref_of(m, &at));
	return e ? e->parent : 0;
}

static void put_scopes(struct gs_module *m, struct gs_buf *b, gs_ref ref, int depth)
{
	Dwarf_Die die;
	const char *name;

	if (!ref || depth > 32 || !gs_ref_die(m, ref, &die))
		return;
	name = scope_name(&die);
	put_scopes(m, b, parent_of(m, &die), depth + 1);
	if (name && dwarf_tag(&die) != DW_TAG_subprogram) {
		gs_buf_puts(b, name);
		gs_buf_puts(b, "::");
	} else if (name) {
		gs_buf_printf(b, "%s::", name);
	}
}

const char *gs_qualified_name(struct gs_module *m, Dwarf_Die *die)
{
	gs_ref ref = gs_ref_of(m, die);
	uint64_t *known = gs_map_get(&m->names, &ref, sizeof(ref));
	const char *name = dwarf_diename(die);
	struct gs_buf b;

	if (known)
		return (const char *)(uintptr_t)*known;
	gs_buf_init(&b);
	put_scopes(m, &b, parent_of(m, die), 0);
	gs_buf_puts(&b, name ? name : "");
	name = gs_arena_strdup(&m->arena, gs_buf_cstr(&b));
	gs_buf_deinit(&b);
	gs_map_put(&m->names, &ref, sizeof(ref), (uintptr_t)name, NULL);
	return name;
}

/* ---- parts of names ---- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* Length of an operator's name at S ("operator<<"), or 0 if there is none. */
static size_t operator_len(const char *s)
{
	static const char *const ops[] = {"()", "[]",	"<=>", "<<=", ">>=", "->*", "->", "<<",
					  ">>", "<=",	">=",  "==",  "!=",  "&&",  "||", "++",
					  "--", "+=",	"-=",  "*=",  "/=",  "%=",  "^=", "&=",
					  "|=", "\"\"", ",",   "<",   ">",   "+",   "-",  "*",
					  "/",	"%",	"^",   "&",   "|",   "~",   "!",  "="};
	size_t len = 8;

	if (strncmp(s, "operator", 8) != 0 || is_word(s[8]))
		return 0;
	while (s[len] == ' ')
		len++;
	for (size_t i = 0; i < GS_ARRAY_SIZE(ops); i++)
		if (strncmp(s + len, ops[i], strlen(ops[i])) == 0)
			return len + strlen(ops[i]);
	return len;
}

size_t gs_name_base_len(const char *name)
{
	size_t start = operator_len(name);
	const char *angle;

	if (start == 0) {
		if (name[0] == '<' || name[0] == '{')
			return strlen(name);
		/* A conversion operator: its type may have template arguments. */
		if (strncmp(name, "operator ", 9) == 0)
			return strlen(name);
		start = 1;
	}
	if (strlen(name) < start)
		return strlen(name);
	angle = strchr(name + start, '<');
	if (!angle)
		return strlen(name);
	while (angle > name + 1 && angle[-1] == ' ')
		angle--;
	return (size_t)(angle - name);
}

/* Skips a bracketed part that begins at S[I]; the index after it. */
static size_t skip_brackets(const char *s, size_t i)
{
	int depth = 0;

	for (; s[i]; i++) {
		if (strchr("(<{[", s[i]))
			depth++;
		else if (s[i] == '>' && i > 0 && s[i - 1] == '-')
			continue;
		else if (strchr(")>}]", s[i]) && --depth == 0)
			return i + 1;
	}
	return i;
}

struct gs_name_query {
	const char *components[COMPONENTS_MAX];
	size_t n;
	bool is_absolute;   /* began with :: */
	const char *params; /* text between the parentheses, or NULL */
	struct gs_arena *arena;
};

/* End of the component that begins at S[I]; *params is set where its parameter list begins. */
static size_t component_end(const char *s, size_t i, size_t *params)
{
	size_t start = i, op = operator_len(s + i);

	*params = 0;
	i += op;
	for (; s[i]; i++) {
		if (s[i] == ':' && s[i + 1] == ':')
			break;
		if (s[i] == '(' && (i != start || op) && strncmp(s + i, "(anonymous", 10) != 0) {
			*params = i;
			break;
		}
		if (strchr("(<{[", s[i]))
			i = skip_brackets(s, i) - 1;
	}
	return i;
}

struct gs_name_query *gs_name_query_parse(struct gs_arena *arena, const char *text)
{
	struct gs_name_query *q = gs_arena_alloc(arena, sizeof(*q));
	size_t i = 0, end, params = 0;

	q->arena = arena;
	if (text[0] == ':' && text[1] == ':') {
		q->is_absolute = true;
		i = 2;
	}
	while (text[i] && q->n < COMPONENTS_MAX) {
		size_t len;

		end = component_end(text, i, &params);
		for (len = end - i; len && text[i + len - 1] == ' ';)
			len--;
		q->components[q->n++] = gs_arena_strndup(arena, text + i, len);
		i = end;
		if (params) {
			size_t close = skip_brackets(text, params);

			/* "f(int)::local": the parameters of an outer function are not compared. */
			if (text[close] == ':' && text[close + 1] == ':') {
				i = close + 2;
				continue;
			}
			q->params = gs_arena_strndup(arena, text + params + 1,
						     close > params + 1 ? close - params - 2 : 0);
			break;
		}
		if (text[i] == ':')
			i += 2;
	}
	return q;
}

const char *gs_name_query_base(const struct gs_name_query *q, size_t *len)
{
	const char *last = q->n ? q->components[q->n - 1] : "";

	*len = gs_name_base_len(last);
	return last;
}

/* ---- comparison ---- */

/* Equal but for blanks that do not separate words. */
static bool equal_but_blanks(const char *a, const char *b)
{
	char last = 0;

	for (;;) {
		bool gap_a = false, gap_b = false;

		for (; *a == ' '; a++)
			gap_a = true;
		for (; *b == ' '; b++)
			gap_b = true;
		if (*a != *b)
			return false;
		if (!*a)
			return true;
		if (gap_a != gap_b && is_word(last) && is_word(*a))
			return false;
		last = *a++;
		b++;
	}
}

static void split(struct gs_arena *arena, const char *name, const char **out, size_t *n)
{
	struct gs_name_query *q = gs_name_query_parse(arena, name);

	memcpy(out, q->components, q->n * sizeof(*out));
	*n = q->n;
}

/* ---- parameter types as words ---- */

/* Words of a type in one canonical order: qualifiers after what they qualify, no tags, one
 * spelling. */
static void canonical_base(struct gs_buf *out, const char *s, size_t len)
{
	int longs = 0, is_unsigned = 0, is_signed = 0, has_int = 0, has_char = 0, has_short = 0;
	bool is_const = false, is_volatile = false, other = false;
	size_t i = 0;

	while (i < len) {
		size_t start = i;

		if (!is_word(s[i])) {
			if (s[i] != ' ') {
				gs_buf_putc(out, s[i]);
				other = true;
			}
			i++;
			continue;
		}
		while (i < len && is_word(s[i]))
			i++;
#define IS(w) (i - start == strlen(w) && strncmp(s + start, w, i - start) == 0)
		if (IS("const"))
			is_const = true;
		else if (IS("volatile"))
			is_volatile = true;
		else if (IS("struct") || IS("class") || IS("union") || IS("enum") ||
			 IS("restrict") || IS("__restrict"))
			continue;
		else if (IS("long"))
			longs++;
		else if (IS("unsigned"))
			is_unsigned = 1;
		else if (IS("signed"))
			is_signed = 1;
		else if (IS("int"))
			has_int = 1;
		else if (IS("char"))
			has_char = 1;
		else if (IS("short"))
			has_short = 1;
		else {
			gs_buf_append(out, s + start, i - start);
			other = true;
		}
#undef IS
	}
	if (is_unsigned)
		gs_buf_puts(out, "unsigned ");
	if (has_char)
		gs_buf_puts(out, is_signed ? "signed char" : "char");
	else if (has_short)
		gs_buf_puts(out, "short");
	else if (longs && other)
		gs_buf_puts(out, " long"); /* long double */
	else if (longs)
		gs_buf_puts(out, longs > 1 ? "long long" : "long");
	else if (has_int || is_unsigned || is_signed)
		gs_buf_puts(out, "int");
	if (is_const)
		gs_buf_puts(out, " const");
	if (is_volatile)
		gs_buf_puts(out, " volatile");
}

/* Template arguments with one spelling of every integer type: "Box<long int>" is "Box<long>". */
static void canonical_arguments(struct gs_buf *out, const char *s)
{
	while (*s) {
		size_t len = strcspn(s, "<>,*&()[]");

		canonical_base(out, s, len);
		s += len;
		if (*s)
			gs_buf_putc(out, *s++);
	}
}

static bool arguments_match(const char *wanted, const char *have)
{
	struct gs_buf a, b;
	bool same;

	if (equal_but_blanks(wanted, have))
		return true;
	gs_buf_init(&a);
	gs_buf_init(&b);
	canonical_arguments(&a, wanted);
	canonical_arguments(&b, have);
	same = equal_but_blanks(gs_buf_cstr(&a), gs_buf_cstr(&b));
	gs_buf_deinit(&a);
	gs_buf_deinit(&b);
	return same;
}

static bool component_matches(const char *wanted, const char *have)
{
	size_t base = gs_name_base_len(wanted), have_base = gs_name_base_len(have);

	if (base != have_base || strncmp(wanted, have, base) != 0)
		return false;
	/* Without template arguments it is every instance. */
	return !wanted[base] || arguments_match(wanted + base, have + base);
}

/* Everything up to the first * & [ ( outside of template arguments is the base; the rest follows as
 * is. */
static char *canonical_type(const char *s)
{
	struct gs_buf b;
	size_t len = 0;
	char *text;

	gs_buf_init(&b);
	while (*s == ' ')
		s++;
	while (s[len] && !strchr("*&[(", s[len]))
		len = s[len] == '<' ? skip_brackets(s, len) : len + 1;
	canonical_base(&b, s, len);
	for (s += len; *s; s++)
		if (*s != ' ')
			gs_buf_putc(&b, *s);
	/* Qualifiers of the parameter itself are not part of a function's type. */
	text = gs_strdup(gs_buf_cstr(&b));
	gs_buf_deinit(&b);
	len = strlen(text);
	if (len > 6 && !strchr(text, '*') && !strchr(text, '&') &&
	    strcmp(text + len - 6, " const") == 0)
		text[len - 6] = 0;
	else if (len > 6 && strcmp(text + len - 6, "*const") == 0)
		text[len - 5] = 0;
	return text;
}

/* As with the function's own name, scopes at the beginning may be left out. */
static bool ends_in(const char *have, const char *wanted)
{
	size_t len = strlen(have), wanted_len = strlen(wanted), before = len - wanted_len;

	if (len <= wanted_len)
		return strcmp(have, wanted) == 0;
	return before > 2 && strcmp(have + before, wanted) == 0 && have[before - 1] == ':' &&
	       have[before - 2] == ':' && !memchr(have, '<', before);
}

static bool type_matches_text(struct gs_module *m, gs_type_id id, const char *wanted)
{
	char *have GS_CLEANUP_FREE = NULL;
	struct gs_buf b;
	bool same;

	gs_buf_init(&b);
	gs_type_print(&b, m->types, id, NULL);
	have = canonical_type(gs_buf_cstr(&b));
	gs_buf_deinit(&b);
	same = ends_in(have, wanted);
	return same;
}

/* The type with typedefs taken off at the base, under pointers and qualifiers; 0 when it has none.
 */
static gs_type_id without_typedefs(struct gs_module *m, gs_type_id id, int depth)
{
	const struct gs_type *t = gs_type_get(m->types, id);
	struct gs_type copy = *t;
	gs_type_id inner, out = id;

	if (depth > 16)
		return id;
	switch (t->kind) {
	case GS_KIND_TYPEDEF:
		return without_typedefs(m, t->target, depth + 1);
	case GS_KIND_POINTER:
	case GS_KIND_REFERENCE:
	case GS_KIND_RVALUE_REFERENCE:
	case GS_KIND_CONST:
	case GS_KIND_VOLATILE:
		inner = without_typedefs(m, t->target, depth + 1);
		if (inner == t->target)
			return id;
		copy.target = inner;
		gs_error_free(gs_types_add(m->types, &copy, &out));
		return out;
	default:
		return id;
	}
}

static bool parameter_matches(struct gs_module *m, Dwarf_Die *param, const char *text)
{
	char *wanted GS_CLEANUP_FREE = canonical_type(text);
	gs_type_id id;
	struct gs_error *err = gs_type_of(m, param, &id);

	if (err) {
		gs_error_free(err);
		return false;
	}
	return type_matches_text(m, id, wanted) ||
	       type_matches_text(m, without_typedefs(m, id, 0), wanted);
}

/* The entry whose children are the parameters: declarations keep them, copies may not. */
static bool next_parameter(Dwarf_Die *at, bool is_first, Dwarf_Die *parent)
{
	int more = is_first ? dwarf_child(parent, at) : dwarf_siblingof(at, at);

	while (more == 0) {
		if (dwarf_tag(at) == DW_TAG_unspecified_parameters)
			return true;
		if (dwarf_tag(at) == DW_TAG_formal_parameter && !gs_die_flag(at, DW_AT_artificial))
			return true;
		more = dwarf_siblingof(at, at);
	}
	return false;
}

static bool parameters_match(struct gs_module *m, const char *params, Dwarf_Die *die)
{
	Dwarf_Die param, link;
	bool more;
	size_t i = 0;

	while (!dwarf_haschildren(die) && (gs_die_link(die, DW_AT_abstract_origin, &link) ||
					   gs_die_link(die, DW_AT_specification, &link)))
		*die = link;
	more = next_parameter(&param, true, die);
	while (params[i] == ' ')
		i++;
	if (!params[i] || strcmp(params + i, "void") == 0)
		return !more;
	while (params[i]) {
		char *text GS_CLEANUP_FREE = NULL;
		size_t start = i;

		while (params[i] && params[i] != ',')
			i = strchr("(<{[", params[i]) ? skip_brackets(params, i) : i + 1;
		text = gs_strndup(params + start, i - start);
		if (params[i] == ',')
			i++;
		if (!more)
			return false;
		if (dwarf_tag(&param) == DW_TAG_unspecified_parameters) {
			if (!strstr(text, "..."))
				return false;
		} else if (!parameter_matches(m, &param, text)) {
			return false;
		}
		more = next_parameter(&param, false, die);
	}
	return !more;
}

bool gs_name_query_matches(struct gs_module *m, const struct gs_name_query *q, Dwarf_Die *die)
{
	const char *have[COMPONENTS_MAX];
	size_t n;
	Dwarf_Die copy = *die;

	split(q->arena, gs_qualified_name(m, die), have, &n);
	if (q->n == 0 || q->n > n || (q->is_absolute && q->n != n))
		return false;
	for (size_t i = 0; i < q->n; i++)
		if (!component_matches(q->components[i], have[n - q->n + i]))
			return false;
	return !q->params || parameters_match(m, q->params, &copy);
}
