/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operands of the expression language: literals, names with their scopes, parentheses.
 * Called by the operator parser (parse.c).
 */
#include "common/parse.h"

bool gs_parse_at_name(const struct gs_parser *p)
{
	return p->tok.kind == GS_TOK_NAME || p->tok.kind == GS_TOK_QUOTED;
}

static struct gs_type_name *literal_type(struct gs_parser *p, const char *base)
{
	struct gs_type_name *t = gs_arena_alloc(p->lex.arena, sizeof(*t));

	t->base = base;
	return t;
}

static struct gs_error *parse_number(struct gs_parser *p, struct gs_expr **out)
{
	const struct gs_tok *t = &p->tok;
	struct gs_expr *e;

	GS_TRY(gs_parse_node(p, t->kind == GS_TOK_FLOAT ? GS_EXPR_FLOAT : GS_EXPR_NUMBER, t->start,
			     &e));
	e->number = t->number;
	e->real = t->real;
	if (t->kind == GS_TOK_FLOAT)
		e->type_name = literal_type(p, t->is_float ? "float" : "double");
	else if (t->width == 4)
		e->type_name = literal_type(p, t->is_unsigned ? "unsigned int" : "int");
	else
		e->type_name = literal_type(p, t->is_unsigned ? "unsigned long" : "long");
	if (t->kind == GS_TOK_CHAR) {
		e->string = t->string;
		e->string_len = t->string_len;
	}
	*out = e;
	GS_TRY(gs_parse_advance(p));
	gs_parse_close(p, e);
	return NULL;
}

struct gs_error *gs_parse_strings(struct gs_parser *p, struct gs_expr **out)
{
	struct gs_expr *e;

	GS_TRY(gs_parse_node(p, GS_EXPR_STRING, p->tok.start, &e));
	e->string = "";
	for (; p->tok.kind == GS_TOK_STRING;) {
		char *s = gs_arena_alloc(p->lex.arena, e->string_len + p->tok.string_len + 1);
		memcpy(s, e->string, e->string_len);
		memcpy(s + e->string_len, p->tok.string, p->tok.string_len);
		e->string = s;
		e->string_len += p->tok.string_len;
		GS_TRY(gs_parse_advance(p));
	}
	gs_parse_close(p, e);
	*out = e;
	return NULL;
}

/* ---- names ---- */

/* Offset of the last `::' that is not inside template arguments or parentheses; 0 when there is
 * none. */
static size_t last_scope(const char *s, size_t n)
{
	unsigned depth = 0;
	size_t found = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		if (strchr("<([", s[i]) && s[i])
			depth++;
		else if (depth && strchr(">)]", s[i]) && s[i])
			depth--;
		else if (!depth && s[i] == ':' && s[i + 1] == ':')
			found = i++;
	}
	return found;
}

/* `file.c::f::v' is split after the file, `a::b::c' before the last name (struct gs_expr says why).
 */
static void split_name(struct gs_parser *p, struct gs_expr *e, const char *s, size_t n)
{
	const char *first = strstr(s, "::");
	size_t at = first && gs_lex_is_file(s, (size_t)(first - s)) ? (size_t)(first - s)
								    : last_scope(s, n);

	if (at) {
		e->qualifier = gs_arena_strndup(p->lex.arena, s, at);
		e->name = s + at + 2;
	} else {
		e->name = s;
	}
}

/* After a quoted name: `'file.c'::v', where v may have scopes of its own. */
static struct gs_error *parse_quoted_scope(struct gs_parser *p, struct gs_expr *e)
{
	e->qualifier = e->name;
	GS_TRY(gs_parse_advance(p));
	if (!gs_parse_at_name(p))
		return gs_parse_unexpected(p, "a name is expected after `::'");
	e->name = p->tok.string;
	return gs_parse_advance(p);
}

static struct gs_error *reserved_word(struct gs_parser *p)
{
	return gs_error_at(
		gs_error_hint(gs_error_new(GS_ERR_USAGE,
					   "a value is expected, found the type word `%s'",
					   p->tok.string),
			      "a cast is written (type)value"),
		p->lex.text, p->tok.start, p->tok.len);
}

static struct gs_error *parse_name(struct gs_parser *p, struct gs_expr **out)
{
	struct gs_expr *e;
	bool quoted = p->tok.kind == GS_TOK_QUOTED;

	if (gs_parse_is_type_word(&p->tok))
		return reserved_word(p);
	GS_TRY(gs_parse_node(p, GS_EXPR_NAME, p->tok.start, &e));
	if (quoted)
		e->name = p->tok.string;
	else
		split_name(p, e, p->tok.string, p->tok.string_len);
	GS_TRY(gs_parse_advance(p));
	if (quoted && gs_parse_at(p, "::"))
		GS_TRY(parse_quoted_scope(p, e));
	gs_parse_close(p, e);
	*out = e;
	return NULL;
}

/* ::v */
static struct gs_error *parse_global(struct gs_parser *p, struct gs_expr **out)
{
	size_t start = p->tok.start;

	GS_TRY(gs_parse_advance(p));
	if (!gs_parse_at_name(p))
		return gs_parse_unexpected(p, "a name is expected after `::'");
	GS_TRY(parse_name(p, out));
	(*out)->start = start;
	gs_parse_close(p, *out);
	if (!(*out)->qualifier)
		(*out)->qualifier = "";
	return NULL;
}

static struct gs_error *parse_dollar(struct gs_parser *p, struct gs_expr **out)
{
	struct gs_expr *e;

	GS_TRY(gs_parse_node(p, GS_EXPR_BUILTIN, p->tok.start, &e));
	e->name = p->tok.string + 1;
	GS_TRY(gs_parse_advance(p));
	gs_parse_close(p, e);
	*out = e;
	return NULL;
}

/* ---- all of them ---- */

static struct gs_error *parse_parens(struct gs_parser *p, struct gs_expr **out)
{
	GS_TRY(gs_parse_advance(p));
	GS_TRY(gs_parse_expression(p, out));
	return gs_parse_expect(p, ")", "to close the parenthesis");
}

/* Whether the token after the current one is `(': a call. */
static bool call_follows(const struct gs_parser *p)
{
	const struct gs_lexer *l = &p->lex;
	size_t pos = l->pos;

	while (pos < l->end && gs_lex_space((unsigned char)l->text[pos]))
		pos++;
	return pos < l->end && l->text[pos] == '(';
}

struct gs_error *gs_parse_primary(struct gs_parser *p, struct gs_expr **out)
{
	switch (p->tok.kind) {
	case GS_TOK_NUMBER:
	case GS_TOK_CHAR:
	case GS_TOK_FLOAT:
		return parse_number(p, out);
	case GS_TOK_STRING:
		return gs_parse_strings(p, out);
	case GS_TOK_NAME:
		return call_follows(p) ? gs_parse_call(p, out) : parse_name(p, out);
	case GS_TOK_QUOTED:
		return parse_name(p, out);
	case GS_TOK_DOLLAR:
		return call_follows(p) ? gs_parse_call(p, out) : parse_dollar(p, out);
	default:
		if (gs_parse_at(p, "("))
			return parse_parens(p, out);
		if (gs_parse_at(p, "::"))
			return parse_global(p, out);
		return gs_parse_unexpected(p, "a value is expected");
	}
}
