/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of the built-in functions: str, buf, starts_with, contains, container_of, list, $entry.
 * Called by the operand parser; check_call.c types them.
 */
#include "common/parse.h"
#include "common/text.h"

/*
 * Parameters: e expression, s string literal, t type name, m designator of a member. Those after
 * `|' may be left out.
 */
static const struct builtin {
	const char *name, *params, *usage;
	bool dollar; /* only with $ */
} builtins[] = {
	{"str", "e|e", "str(pointer) or str(pointer, limit)", false},
	{"buf", "ee", "buf(pointer, bytes)", false},
	{"starts_with", "es", "starts_with(string, \"prefix\")", false},
	{"contains", "es", "contains(string, \"part\")", false},
	{"container_of", "etm", "container_of(pointer, type, member)", false},
	{"list", "eme", "list(head, next_member, limit)", false},
	{"entry", "e", "$entry(expression)", true},
};

static struct gs_error *unknown_function(struct gs_parser *p, const char *name, bool dollar)
{
	struct gs_nearest near = {.wanted = name};
	struct gs_error *err =
		gs_error_new(GS_ERR_USAGE,
			     "`%s' is not a built-in function, and functions of the program are "
			     "not called",
			     p->tok.string);

	for (size_t i = 0; i < GS_ARRAY_SIZE(builtins); i++)
		gs_nearest_feed(&near, builtins[i].name);
	GS_CLEANUP_FREE char *hint = gs_nearest_hint(&near);
	gs_nearest_deinit(&near);
	if (!dollar && strcmp(name, "entry") == 0)
		err = gs_error_hint(err, "write it $entry(...)");
	else if (hint)
		err = gs_error_hint(err, "%s", hint);
	return gs_error_at(err, p->lex.text, p->tok.start, p->tok.len);
}

static const struct builtin *find_builtin(const char *name, bool dollar)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(builtins); i++)
		if (strcmp(builtins[i].name, name) == 0 && (dollar || !builtins[i].dollar))
			return &builtins[i];
	return NULL;
}

/* ---- designators: next, link.next, link[0].next ---- */

static struct gs_error *designator_member(struct gs_parser *p, size_t start, struct gs_expr **e)
{
	struct gs_expr *m;

	GS_TRY(gs_parse_node(p, GS_EXPR_MEMBER, start, &m));
	m->a = *e;
	GS_TRY(gs_parse_advance(p));
	if (!gs_parse_at_name(p))
		return gs_parse_unexpected(p, "the name of a member is expected after `.'");
	m->name = p->tok.string;
	GS_TRY(gs_parse_advance(p));
	gs_parse_close(p, m);
	*e = m;
	return NULL;
}

static struct gs_error *designator_index(struct gs_parser *p, size_t start, struct gs_expr **e)
{
	struct gs_expr *x;

	GS_TRY(gs_parse_node(p, GS_EXPR_INDEX, start, &x));
	x->a = *e;
	GS_TRY(gs_parse_advance(p));
	if (p->tok.kind != GS_TOK_NUMBER)
		return gs_parse_unexpected(p, "a number is expected as the index of a member");
	GS_TRY(gs_parse_primary(p, &x->b));
	GS_TRY(gs_parse_expect(p, "]", "after the index"));
	gs_parse_close(p, x);
	*e = x;
	return NULL;
}

static struct gs_error *parse_designator(struct gs_parser *p, struct gs_expr **out)
{
	size_t start = p->tok.start;

	if (!gs_parse_at_name(p))
		return gs_parse_unexpected(p, "the name of a member is expected");
	GS_TRY(gs_parse_node(p, GS_EXPR_NAME, start, out));
	(*out)->name = p->tok.string;
	GS_TRY(gs_parse_advance(p));
	gs_parse_close(p, *out);
	while (gs_parse_at(p, ".") || gs_parse_at(p, "[")) {
		if (gs_parse_at(p, "."))
			GS_TRY(designator_member(p, start, out));
		else
			GS_TRY(designator_index(p, start, out));
	}
	return NULL;
}

/* ---- arguments ---- */

static struct gs_error *parse_argument(struct gs_parser *p, char param, struct gs_expr *call)
{
	struct gs_expr **slot = &call->args[call->nargs];

	switch (param) {
	case 't':
		return gs_parse_type_name(p, &call->type_name);
	case 'm':
		GS_TRY(parse_designator(p, slot));
		break;
	case 's':
		if (p->tok.kind != GS_TOK_STRING)
			return gs_parse_unexpected(p, "a string literal is expected");
		GS_TRY(gs_parse_strings(p, slot));
		break;
	default:
		GS_TRY(gs_parse_expression(p, slot));
	}
	call->nargs++;
	return NULL;
}

/* The count of arguments does not fit, or something else stands where `,' or `)' should. */
static struct gs_error *bad_arguments(struct gs_parser *p, const struct builtin *b)
{
	return gs_error_hint(gs_parse_unexpected(p, "the arguments of `%s' do not fit", b->name),
			     "it is used as %s", b->usage);
}

static struct gs_error *parse_arguments(struct gs_parser *p, const struct builtin *b,
					struct gs_expr *call)
{
	bool optional = false, first = true;

	GS_TRY(gs_parse_expect(p, "(", "after the name of a function"));
	for (const char *param = b->params; *param; param++) {
		if (*param == '|') {
			optional = true;
			continue;
		}
		if (gs_parse_at(p, ")") && optional)
			break;
		if (gs_parse_at(p, ")") || (!first && !gs_parse_at(p, ",")))
			return bad_arguments(p, b);
		if (!first)
			GS_TRY(gs_parse_advance(p));
		first = false;
		GS_TRY(parse_argument(p, *param, call));
	}
	if (!gs_parse_at(p, ")"))
		return bad_arguments(p, b);
	return gs_parse_advance(p);
}

struct gs_error *gs_parse_call(struct gs_parser *p, struct gs_expr **out)
{
	bool dollar = p->tok.kind == GS_TOK_DOLLAR;
	const char *name = p->tok.string + dollar;
	const struct builtin *b = find_builtin(name, dollar);
	struct gs_expr *call;

	if (!b)
		return unknown_function(p, name, dollar);
	GS_TRY(gs_parse_node(p, GS_EXPR_CALL, p->tok.start, &call));
	call->name = b->name;
	call->qualifier = dollar && !b->dollar ? "$" : NULL;
	call->args = gs_arena_alloc(p->lex.arena, strlen(b->params) * sizeof(*call->args));
	GS_TRY(gs_parse_advance(p));
	GS_TRY(parse_arguments(p, b, call));
	gs_parse_close(p, call);
	*out = call;
	return NULL;
}
