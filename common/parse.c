/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parser of the expression language: operators by precedence, and what follows an operand.
 * Second stage of probe items, conditions and report expressions; the checker comes next.
 *
 * Recursion is bounded by GS_PARSE_DEPTH_MAX levels of brackets, prefix operators and `?:'; chains
 * of binary and postfix operators are loops, whose left-deep trees the cap on nodes bounds.
 */
#include "common/parse.h"

#include <stdarg.h>

struct gs_error *gs_parse_advance(struct gs_parser *p)
{
	p->last_end = p->tok.start + p->tok.len;
	return gs_lex_next(&p->lex, &p->tok);
}

bool gs_parse_at(const struct gs_parser *p, const char *op)
{
	return p->tok.kind == GS_TOK_PUNCT && strcmp(p->tok.op, op) == 0;
}

/* The lexer is given no more than the cap: where it ends, the text may go on. */
static bool is_cut(const struct gs_parser *p)
{
	return p->tok.kind == GS_TOK_END && p->lex.text[p->lex.end] != '\0';
}

static struct gs_error *too_long(const struct gs_parser *p)
{
	return gs_error_at(gs_error_new(GS_ERR_LIMIT, "the expression is longer than %d bytes",
					GS_PARSE_BYTES_MAX),
			   p->lex.text, p->lex.end, 1);
}

struct gs_error *gs_parse_unexpected(struct gs_parser *p, const char *fmt, ...)
{
	GS_CLEANUP_FREE char *what = NULL;
	const struct gs_tok *t = &p->tok;
	struct gs_error *err;
	va_list ap;

	if (is_cut(p))
		return too_long(p);
	va_start(ap, fmt);
	if (vasprintf(&what, fmt, ap) < 0)
		what = NULL;
	va_end(ap);
	if (t->kind == GS_TOK_END)
		err = gs_error_new(GS_ERR_USAGE, "%s, found the end of the expression", what);
	else
		err = gs_error_new(GS_ERR_USAGE, "%s, found `%.*s'", what, (int)t->len,
				   p->lex.text + t->start);
	return gs_error_at(err, p->lex.text, t->start, t->len ? t->len : 1);
}

struct gs_error *gs_parse_expect(struct gs_parser *p, const char *op, const char *after)
{
	if (!gs_parse_at(p, op))
		return gs_parse_unexpected(p, "`%s' is expected %s", op, after);
	return gs_parse_advance(p);
}

struct gs_error *gs_parse_node(struct gs_parser *p, enum gs_expr_kind kind, size_t start,
			       struct gs_expr **out)
{
	struct gs_expr *e = NULL;

	if (++p->nodes > GS_PARSE_NODES_MAX)
		return gs_error_at(
			gs_error_new(GS_ERR_LIMIT,
				     "the expression has more than %d operands and operators",
				     GS_PARSE_NODES_MAX),
			p->lex.text, start, 1);
	e = gs_arena_alloc(p->lex.arena, sizeof(*e));
	e->kind = kind;
	e->start = start;
	*out = e;
	return NULL;
}

void gs_parse_close(struct gs_parser *p, struct gs_expr *e)
{
	e->len = p->last_end - e->start;
}

static struct gs_error *too_deep(struct gs_parser *p)
{
	return gs_error_at(gs_error_new(GS_ERR_LIMIT,
					"the expression is nested more than %d levels deep",
					GS_PARSE_DEPTH_MAX),
			   p->lex.text, p->tok.start, p->tok.len ? p->tok.len : 1);
}

/* ---- postfix: . -> [ ] ---- */

static struct gs_error *parse_member(struct gs_parser *p, size_t start, struct gs_expr **e)
{
	struct gs_expr *m = NULL;

	GS_TRY(gs_parse_node(p, GS_EXPR_MEMBER, start, &m));
	m->a = *e;
	m->arrow = gs_parse_at(p, "->");
	GS_TRY(gs_parse_advance(p));
	if (!gs_parse_at_name(p))
		return gs_parse_unexpected(p, "the name of a member is expected after `%s'",
					   m->arrow ? "->" : ".");
	m->name = p->tok.string;
	GS_TRY(gs_parse_advance(p));
	gs_parse_close(p, m);
	*e = m;
	return NULL;
}

/* a[i], a[lo:hi], a[lo:], a[:hi], a[:] */
static struct gs_error *parse_bracket(struct gs_parser *p, size_t start, struct gs_expr **e)
{
	struct gs_expr *x = NULL;

	GS_TRY(gs_parse_node(p, GS_EXPR_INDEX, start, &x));
	x->a = *e;
	GS_TRY(gs_parse_advance(p));
	if (!gs_parse_at(p, ":"))
		GS_TRY(gs_parse_expression(p, &x->b));
	if (gs_parse_at(p, ":")) {
		x->kind = GS_EXPR_SLICE;
		GS_TRY(gs_parse_advance(p));
		if (!gs_parse_at(p, "]"))
			GS_TRY(gs_parse_expression(p, &x->c));
	}
	GS_TRY(gs_parse_expect(p, "]",
			       x->kind == GS_EXPR_SLICE ? "after the slice" : "after the index"));
	gs_parse_close(p, x);
	*e = x;
	return NULL;
}

static struct gs_error *changes_program(struct gs_parser *p)
{
	struct gs_error *err = gs_error_new(
		GS_ERR_USAGE, "`%s' would change the program: gs only reads it", p->tok.op);

	if (strcmp(p->tok.op, "=") == 0)
		err = gs_error_hint(err, "`==' compares");
	else if (strcmp(p->tok.op, "--") == 0 || strcmp(p->tok.op, "++") == 0)
		err = gs_error_hint(err, "with a space between, `%c %c' is two operators",
				    p->tok.op[0], p->tok.op[0]);
	return gs_error_at(err, p->lex.text, p->tok.start, p->tok.len);
}

static struct gs_error *parse_postfix(struct gs_parser *p, struct gs_expr **out)
{
	size_t start = p->tok.start;

	GS_TRY(gs_parse_primary(p, out));
	for (;;) {
		if (gs_parse_at(p, ".") || gs_parse_at(p, "->"))
			GS_TRY(parse_member(p, start, out));
		else if (gs_parse_at(p, "["))
			GS_TRY(parse_bracket(p, start, out));
		else if (gs_parse_at(p, "("))
			return gs_error_at(gs_error_new(GS_ERR_USAGE,
							"functions of the program are not called: "
							"gs only reads it"),
					   p->lex.text, p->tok.start, 1);
		else if (gs_parse_at(p, "++") || gs_parse_at(p, "--"))
			return changes_program(p);
		else
			return NULL;
	}
}

/* ---- prefix operators, casts, sizeof ---- */

static enum gs_expr_op prefix_op(const struct gs_tok *t)
{
	static const char chars[] = "+-~!*&";
	static const enum gs_expr_op ops[] = {GS_OPR_POS, GS_OPR_NEG,	GS_OPR_BITNOT,
					      GS_OPR_NOT, GS_OPR_DEREF, GS_OPR_ADDR};

	if (t->kind != GS_TOK_PUNCT || t->op[1])
		return GS_OPR_NONE;
	const char *at = strchr(chars, t->op[0]);
	return at && *at ? ops[at - chars] : GS_OPR_NONE;
}

static struct gs_error *parse_prefix(struct gs_parser *p, enum gs_expr_op op, struct gs_expr **out)
{
	struct gs_expr *e = NULL;

	GS_TRY(gs_parse_node(p, GS_EXPR_UNARY, p->tok.start, &e));
	e->op = op;
	GS_TRY(gs_parse_advance(p));
	GS_TRY(gs_parse_unary(p, &e->a));
	gs_parse_close(p, e);
	*out = e;
	return NULL;
}

/* At `(': *out stays NULL when it is not a cast. */
static struct gs_error *parse_cast(struct gs_parser *p, struct gs_expr **out)
{
	struct gs_type_name *type = NULL;
	size_t start = p->tok.start;
	struct gs_parser saved = *p;
	struct gs_expr *e = NULL;

	*out = NULL;
	GS_TRY(gs_parse_advance(p));
	GS_TRY(gs_parse_paren_type(p, true, &type));
	if (!type) {
		*p = saved;
		return NULL;
	}
	GS_TRY(gs_parse_node(p, GS_EXPR_CAST, start, &e));
	e->type_name = type;
	GS_TRY(gs_parse_unary(p, &e->a));
	gs_parse_close(p, e);
	*out = e;
	return NULL;
}

/* sizeof (type), sizeof unary */
static struct gs_error *parse_sizeof(struct gs_parser *p, struct gs_expr **out)
{
	struct gs_expr *e = NULL;

	GS_TRY(gs_parse_node(p, GS_EXPR_SIZEOF, p->tok.start, &e));
	GS_TRY(gs_parse_advance(p));
	if (gs_parse_at(p, "(")) {
		struct gs_parser saved = *p;
		GS_TRY(gs_parse_advance(p));
		GS_TRY(gs_parse_paren_type(p, false, &e->type_name));
		if (!e->type_name)
			*p = saved;
	}
	if (!e->type_name)
		GS_TRY(gs_parse_unary(p, &e->a));
	gs_parse_close(p, e);
	*out = e;
	return NULL;
}

static struct gs_error *parse_unary_inner(struct gs_parser *p, struct gs_expr **out)
{
	enum gs_expr_op op = prefix_op(&p->tok);

	if (op != GS_OPR_NONE)
		return parse_prefix(p, op, out);
	if (gs_parse_at(p, "++") || gs_parse_at(p, "--"))
		return changes_program(p);
	if (p->tok.kind == GS_TOK_NAME && strcmp(p->tok.string, "sizeof") == 0)
		return parse_sizeof(p, out);
	if (gs_parse_at(p, "(")) {
		GS_TRY(parse_cast(p, out));
		if (*out)
			return NULL;
	}
	return parse_postfix(p, out);
}

struct gs_error *gs_parse_unary(struct gs_parser *p, struct gs_expr **out)
{
	if (p->depth >= GS_PARSE_DEPTH_MAX)
		return too_deep(p);
	p->depth++;
	GS_TRY(parse_unary_inner(p, out));
	p->depth--;
	return NULL;
}

/* ---- binary operators ---- */

struct binary {
	char op[4];
	uint8_t precedence; /* higher binds tighter */
	enum gs_expr_op expr_op;
};

/* C 6.5; `@' as in gdb, between the multiplicative and the unary operators. */
static const struct binary binaries[] = {
	{"||", 1, GS_OPR_LOR},	{"&&", 2, GS_OPR_LAND}, {"|", 3, GS_OPR_OR},
	{"^", 4, GS_OPR_XOR},	{"&", 5, GS_OPR_AND},	{"==", 6, GS_OPR_EQ},
	{"!=", 6, GS_OPR_NE},	{"<", 7, GS_OPR_LT},	{"<=", 7, GS_OPR_LE},
	{">", 7, GS_OPR_GT},	{">=", 7, GS_OPR_GE},	{"<<", 8, GS_OPR_SHL},
	{">>", 8, GS_OPR_SHR},	{"+", 9, GS_OPR_ADD},	{"-", 9, GS_OPR_SUB},
	{"*", 10, GS_OPR_MUL},	{"/", 10, GS_OPR_DIV},	{"%", 10, GS_OPR_MOD},
	{"@", 11, GS_OPR_NONE},
};

static const struct binary *find_binary(const struct gs_tok *t)
{
	for (size_t i = 0; t->kind == GS_TOK_PUNCT && i < GS_ARRAY_SIZE(binaries); i++)
		if (strcmp(binaries[i].op, t->op) == 0)
			return &binaries[i];
	return NULL;
}

static struct gs_error *parse_binary(struct gs_parser *p, unsigned least, struct gs_expr **out)
{
	size_t start = p->tok.start;
	const struct binary *b;

	GS_TRY(gs_parse_unary(p, out));
	while ((b = find_binary(&p->tok)) && b->precedence >= least) {
		struct gs_expr *e = NULL;
		GS_TRY(gs_parse_node(p, b->expr_op == GS_OPR_NONE ? GS_EXPR_ATSIGN : GS_EXPR_BINARY,
				     start, &e));
		e->op = b->expr_op;
		e->a = *out;
		GS_TRY(gs_parse_advance(p));
		GS_TRY(parse_binary(p, b->precedence + 1u, &e->b));
		gs_parse_close(p, e);
		*out = e;
	}
	return NULL;
}

static struct gs_error *parse_conditional(struct gs_parser *p, struct gs_expr **out)
{
	size_t start = p->tok.start;
	struct gs_expr *e = NULL;

	GS_TRY(parse_binary(p, 1, out));
	if (!gs_parse_at(p, "?"))
		return NULL;
	GS_TRY(gs_parse_node(p, GS_EXPR_COND, start, &e));
	e->a = *out;
	GS_TRY(gs_parse_advance(p));
	p->depth++;
	GS_TRY(gs_parse_expression(p, &e->b));
	GS_TRY(gs_parse_expect(p, ":", "between the two values of `?:'"));
	GS_TRY(gs_parse_expression(p, &e->c));
	p->depth--;
	gs_parse_close(p, e);
	*out = e;
	return NULL;
}

/* Brackets are counted by the gs_parse_unary that they stand in, `?:' by itself. */
struct gs_error *gs_parse_expression(struct gs_parser *p, struct gs_expr **out)
{
	if (p->depth >= GS_PARSE_DEPTH_MAX)
		return too_deep(p);
	return parse_conditional(p, out);
}

/* ---- entry ---- */

static struct gs_error *check_end(struct gs_parser *p, bool may_stop)
{
	const struct gs_tok *t = &p->tok;

	if (t->kind == GS_TOK_END)
		return is_cut(p) ? too_long(p) : NULL;
	if (may_stop && (gs_parse_at(p, ",") || gs_parse_at(p, "}")))
		return NULL;
	if (t->kind == GS_TOK_PUNCT && t->op[0] != ':' && t->op[0] != '<' && t->op[0] != '>' &&
	    strchr(t->op, '='))
		return changes_program(p);
	if (t->kind == GS_TOK_PUNCT && (strcmp(t->op, "<<=") == 0 || strcmp(t->op, ">>=") == 0))
		return changes_program(p);
	if (gs_parse_at(p, ")") || gs_parse_at(p, "]"))
		return gs_parse_unexpected(p, "an operator is expected: there is nothing to close");
	return gs_parse_unexpected(p, "an operator is expected%s", may_stop ? ", `,' or `}'" : "");
}

struct gs_error *gs_expr_parse(struct gs_arena *arena, const char *text, size_t start,
			       const struct gs_parse_hooks *hooks, size_t *stop,
			       struct gs_expr **out)
{
	size_t len = strnlen(text + start, GS_PARSE_BYTES_MAX);
	struct gs_parser p = {.lex = {text, start, start + len, arena}, .hooks = hooks};
	struct gs_expr *e = NULL;

	GS_TRY(gs_lex_next(&p.lex, &p.tok));
	if (p.tok.kind == GS_TOK_END || (stop && gs_parse_at(&p, "}")))
		return gs_parse_unexpected(&p, "an expression is expected");
	GS_TRY(gs_parse_expression(&p, &e));
	GS_TRY(check_end(&p, stop != NULL));
	if (stop)
		*stop = p.tok.start;
	*out = e;
	return NULL;
}
