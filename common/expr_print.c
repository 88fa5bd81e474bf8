/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expressions back to canonical text, and equality of trees.
 * Beside the flow: keys of report expressions, messages, --dry-run.
 *
 * What the checker made (implicit conversions, decayed arrays) is looked through, so that a tree
 * prints and compares the same before and after checking.
 */
#include <inttypes.h>

#include "common/parse.h"
#include "common/text.h"

/* The written node under what the checker put over it; NULL for an end of a slice that was left
 * out. */
static const struct gs_expr *written(const struct gs_expr *e)
{
	while (e && e->implicit && e->a)
		e = e->a;
	return e && e->implicit && e->kind == GS_EXPR_NUMBER ? NULL : e;
}

/* ---- literals and names ---- */

/* Whether S lexes as one plain token, as a name or qualifier. */
static bool is_plain(const char *s, bool qualifier)
{
	size_t n = strlen(s), i = 0;

	if (!n || !gs_lex_name_start((unsigned char)*s))
		return false;
	if (qualifier && gs_lex_is_file(s, n)) {
		while (i < n && (gs_lex_name_part((unsigned char)s[i]) ||
				 (s[i] == '.' && gs_lex_name_part((unsigned char)s[i + 1]))))
			i++;
		return i == n;
	}
	for (i = 0; i < n;) {
		if (!gs_lex_name_start((unsigned char)s[i]))
			return false;
		while (i < n && gs_lex_name_part((unsigned char)s[i]))
			i++;
		if (i < n && s[i] == '<') {
			i = gs_lex_template(s, i, n);
			/* Alone, arguments are taken only before `::'. */
			if (!i || (i == n && !qualifier))
				return false;
		}
		if (i == n)
			return true;
		if (s[i] != ':' || s[i + 1] != ':')
			return false;
		i += 2;
	}
	return false;
}

static void print_quoted(struct gs_buf *out, const char *s)
{
	gs_buf_putc(out, '\'');
	for (; *s; s++) {
		if (*s == '\'' || *s == '\\')
			gs_buf_putc(out, '\\');
		gs_buf_putc(out, *s);
	}
	gs_buf_putc(out, '\'');
}

static void print_name(struct gs_buf *out, const char *s, bool qualifier)
{
	if (is_plain(s, qualifier) && !gs_parse_is_reserved(s))
		gs_buf_puts(out, s);
	else
		print_quoted(out, s);
}

/*
 * A name with scopes in it was split elsewhere than a plain `a::b::c' would be, and a quoted name
 * can follow only a quoted qualifier: quotes keep them so.
 */
static void print_scoped(struct gs_buf *out, const struct gs_expr *e)
{
	const char *q = e->qualifier, *name = e->name ? e->name : "?";
	bool scopes = strstr(name, "::") != NULL;
	bool file = q && gs_lex_is_file(q, strlen(q));

	if (!q || !*q) {
		gs_buf_puts(out, q ? "::" : "");
		if (scopes)
			print_quoted(out, name);
		else
			print_name(out, name, false);
		return;
	}
	if (is_plain(q, true) && is_plain(name, false) && (file || !scopes))
		gs_buf_puts(out, q);
	else
		print_quoted(out, q);
	gs_buf_puts(out, "::");
	if (is_plain(name, false))
		gs_buf_puts(out, name);
	else
		print_quoted(out, name);
}

static void print_char(struct gs_buf *out, unsigned char c)
{
	if (c == '\'' || c == '\\')
		gs_buf_printf(out, "'\\%c'", c);
	else if (c >= 0x20 && c < 0x7f)
		gs_buf_printf(out, "'%c'", c);
	else
		gs_buf_printf(out, "'\\%03o'", c);
}

static void print_number(struct gs_buf *out, const struct gs_expr *e)
{
	const char *base = e->type_name ? e->type_name->base : "int";

	if (e->string_len) {
		print_char(out, (unsigned char)e->string[0]);
		return;
	}
	/* Decimal literals of 64 bits without a sign need their suffix, and so do small longs. */
	gs_buf_printf(out, "%" PRIu64, e->number);
	if (base[0] == 'u')
		gs_buf_putc(out, 'u');
	if (strstr(base, "long") && e->number <= (base[0] == 'u' ? UINT32_MAX : INT32_MAX))
		gs_buf_putc(out, 'l');
}

static void print_real(struct gs_buf *out, const struct gs_expr *e)
{
	bool is_float = e->type_name && strcmp(e->type_name->base, "float") == 0;
	size_t start = out->len;

	gs_put_float(out, e->real, is_float ? 4 : 8);
	if (!memchr(out->data + start, '.', out->len - start) &&
	    !memchr(out->data + start, 'e', out->len - start))
		gs_buf_puts(out, ".0");
	if (is_float)
		gs_buf_putc(out, 'f');
}

static void print_string(struct gs_buf *out, const struct gs_expr *e)
{
	gs_buf_putc(out, '"');
	gs_escape(out, e->string, e->string_len, GS_ESCAPE_C);
	gs_buf_putc(out, '"');
}

static void print_type_name(struct gs_buf *out, const struct gs_type_name *t)
{
	if (t->is_const)
		gs_buf_puts(out, "const ");
	/* A base that is no word of C's and would not lex as it stands was quoted. */
	if (!strpbrk(t->base, " <") && !is_plain(t->base, true))
		print_name(out, t->base, true);
	else
		gs_buf_puts(out, t->base);
	if (t->npointers || t->ndims || t->nouter)
		gs_buf_putc(out, ' ');
	for (uint32_t i = 0; i < t->npointers; i++)
		gs_buf_putc(out, '*');
	if (t->nouter) {
		gs_buf_putc(out, '(');
		for (uint32_t i = 0; i < t->nouter; i++)
			gs_buf_putc(out, '*');
		gs_buf_putc(out, ')');
	}
	for (uint32_t i = 0; i < t->ndims; i++)
		gs_buf_printf(out, "[%" PRIu64 "]", t->dims[i]);
}

/* ---- operators ---- */

enum { P_COND = 0, P_UNARY = 12, P_POSTFIX = 13, P_PRIMARY = 14 };

static const struct {
	const char *text;
	int precedence;
} operators[] = {
	[GS_OPR_NONE] = {"", P_PRIMARY}, [GS_OPR_POS] = {"+", P_UNARY},
	[GS_OPR_NEG] = {"-", P_UNARY},	 [GS_OPR_BITNOT] = {"~", P_UNARY},
	[GS_OPR_NOT] = {"!", P_UNARY},	 [GS_OPR_DEREF] = {"*", P_UNARY},
	[GS_OPR_ADDR] = {"&", P_UNARY},	 [GS_OPR_MUL] = {"*", 10},
	[GS_OPR_DIV] = {"/", 10},	 [GS_OPR_MOD] = {"%", 10},
	[GS_OPR_ADD] = {"+", 9},	 [GS_OPR_SUB] = {"-", 9},
	[GS_OPR_SHL] = {"<<", 8},	 [GS_OPR_SHR] = {">>", 8},
	[GS_OPR_LT] = {"<", 7},		 [GS_OPR_LE] = {"<=", 7},
	[GS_OPR_GT] = {">", 7},		 [GS_OPR_GE] = {">=", 7},
	[GS_OPR_EQ] = {"==", 6},	 [GS_OPR_NE] = {"!=", 6},
	[GS_OPR_AND] = {"&", 5},	 [GS_OPR_XOR] = {"^", 4},
	[GS_OPR_OR] = {"|", 3},		 [GS_OPR_LAND] = {"&&", 2},
	[GS_OPR_LOR] = {"||", 1},
};

/* `*a' of an array is an INDEX by an implicit 0 after checking. */
static bool is_array_deref(const struct gs_expr *e)
{
	return e->kind == GS_EXPR_INDEX && e->b && e->b->implicit && e->b->kind == GS_EXPR_NUMBER;
}

static int precedence(const struct gs_expr *e)
{
	switch (e->kind) {
	case GS_EXPR_COND:
		return P_COND;
	case GS_EXPR_BINARY:
	case GS_EXPR_UNARY:
		return operators[e->op].precedence;
	case GS_EXPR_ATSIGN:
		return 11;
	case GS_EXPR_CAST:
		return P_UNARY;
	case GS_EXPR_INDEX:
		return is_array_deref(e) ? P_UNARY : P_POSTFIX;
	case GS_EXPR_MEMBER:
	case GS_EXPR_SLICE:
		return P_POSTFIX;
	default:
		return P_PRIMARY;
	}
}

/* In parentheses when it binds less tightly than LEAST. */
static void print_at(struct gs_buf *out, const struct gs_expr *e, int least)
{
	bool parens;

	e = written(e);
	if (!e)
		return;
	parens = precedence(e) < least;
	if (parens)
		gs_buf_putc(out, '(');
	gs_expr_print(out, e);
	if (parens)
		gs_buf_putc(out, ')');
}

/* As print_at, with a space before it if the lexer would take FIRST for a part of what stands
 * before:
 * `- -a' must not become `--a', nor `a[i: ::g]' a `:::'. */
static void print_apart(struct gs_buf *out, const struct gs_expr *e, int least, char first)
{
	size_t at = out->len;

	print_at(out, e, least);
	if (out->len == at || out->data[at] != first)
		return;
	gs_buf_putc(out, ' ');
	memmove(out->data + at + 1, out->data + at, out->len - at - 1);
	out->data[at] = ' ';
}

static void print_prefix(struct gs_buf *out, char op, const struct gs_expr *operand)
{
	gs_buf_putc(out, op);
	print_apart(out, operand, P_UNARY, strchr("+-&", op) ? op : '\0');
}

static void print_infix(struct gs_buf *out, const struct gs_expr *e)
{
	int level = precedence(e);
	bool at_sign = e->kind == GS_EXPR_ATSIGN;

	print_at(out, e->a, level);
	if (at_sign)
		gs_buf_putc(out, '@');
	else
		gs_buf_printf(out, " %s ", operators[e->op].text);
	print_at(out, e->b, level + 1);
}

static void print_brackets(struct gs_buf *out, const struct gs_expr *e)
{
	print_at(out, e->a, P_POSTFIX);
	gs_buf_putc(out, '[');
	print_at(out, e->b, P_COND);
	if (e->kind == GS_EXPR_SLICE) {
		gs_buf_putc(out, ':');
		print_apart(out, e->c, P_COND, ':');
	}
	gs_buf_putc(out, ']');
}

static void print_call(struct gs_buf *out, const struct gs_expr *e)
{
	const char *separator = "";

	if (e->qualifier || strcmp(e->name, "entry") == 0)
		gs_buf_putc(out, '$');
	gs_buf_printf(out, "%s(", e->name);
	for (size_t i = 0; i < e->nargs; i++) {
		gs_buf_puts(out, separator);
		separator = ", ";
		print_at(out, e->args[i], P_COND);
		if (i == 0 && e->type_name) {
			gs_buf_puts(out, ", ");
			print_type_name(out, e->type_name);
		}
	}
	gs_buf_putc(out, ')');
}

/* `(T)-1' is a difference where nobody says that T is a type: `(T)(-1)' is not. */
static void print_cast(struct gs_buf *out, const struct gs_expr *e)
{
	const struct gs_type_name *t = e->type_name;
	bool sure = t->is_const || t->npointers || t->nouter || strpbrk(t->base, " <") ||
		    gs_parse_is_reserved(t->base);
	size_t at;

	gs_buf_putc(out, '(');
	print_type_name(out, t);
	gs_buf_putc(out, ')');
	at = out->len;
	print_at(out, e->a, P_UNARY);
	if (sure || out->len == at || !strchr("+-*&:", out->data[at]))
		return;
	out->len = at;
	print_at(out, e->a, P_PRIMARY + 1);
}

static void print_sizeof(struct gs_buf *out, const struct gs_expr *e)
{
	gs_buf_puts(out, "sizeof(");
	if (e->type_name)
		print_type_name(out, e->type_name);
	else
		print_at(out, e->a, P_COND);
	gs_buf_putc(out, ')');
}

static void print_cond(struct gs_buf *out, const struct gs_expr *e)
{
	print_at(out, e->a, P_COND + 1);
	gs_buf_puts(out, " ? ");
	print_at(out, e->b, P_COND);
	gs_buf_puts(out, " : ");
	print_at(out, e->c, P_COND);
}

/* `a.c::m', member m of base c: written so it would be m of file a.c. */
static bool reads_as_file(const struct gs_expr *e)
{
	const char *scope = strstr(e->name, "::");
	char file[8] = "a.";

	if (e->arrow || !scope || scope - e->name > (ptrdiff_t)sizeof(file) - 3)
		return false;
	memcpy(file + 2, e->name, (size_t)(scope - e->name));
	return gs_lex_is_file(file, strlen(file));
}

static void print_member(struct gs_buf *out, const struct gs_expr *e)
{
	const struct gs_expr *a = written(e->a);
	bool number = a && (a->kind == GS_EXPR_NUMBER || a->kind == GS_EXPR_FLOAT);

	/* `3.x' would be one token. */
	print_at(out, a, number || reads_as_file(e) ? P_PRIMARY + 1 : P_POSTFIX);
	gs_buf_puts(out, e->arrow ? "->" : ".");
	print_name(out, e->name, false);
}

void gs_expr_print(struct gs_buf *out, const struct gs_expr *e)
{
	e = written(e);
	switch (e->kind) {
	case GS_EXPR_NUMBER:
		print_number(out, e);
		break;
	case GS_EXPR_FLOAT:
		print_real(out, e);
		break;
	case GS_EXPR_STRING:
		print_string(out, e);
		break;
	case GS_EXPR_NAME:
		print_scoped(out, e);
		break;
	case GS_EXPR_BUILTIN:
		gs_buf_printf(out, "$%s", e->name);
		break;
	case GS_EXPR_MEMBER:
		print_member(out, e);
		break;
	case GS_EXPR_INDEX:
	case GS_EXPR_SLICE:
		if (is_array_deref(e))
			print_prefix(out, '*', e->a);
		else
			print_brackets(out, e);
		break;
	case GS_EXPR_UNARY:
		print_prefix(out, operators[e->op].text[0], e->a);
		break;
	case GS_EXPR_ATSIGN:
	case GS_EXPR_BINARY:
		print_infix(out, e);
		break;
	case GS_EXPR_COND:
		print_cond(out, e);
		break;
	case GS_EXPR_CAST:
		print_cast(out, e);
		break;
	case GS_EXPR_SIZEOF:
		print_sizeof(out, e);
		break;
	case GS_EXPR_CALL:
		print_call(out, e);
		break;
	}
}

/* ---- equality ---- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_type_name(const struct gs_type_name *a, const struct gs_type_name *b)
{
	if (!a || !b)
		return a == b;
	return same_text(a->base, b->base) && a->npointers == b->npointers &&
	       a->nouter == b->nouter && a->ndims == b->ndims && a->is_const == b->is_const &&
	       memcmp(a->dims, b->dims, a->ndims * sizeof(a->dims[0])) == 0;
}

/* The names, operators and literals of the nodes themselves, not of their children. */
static bool same_node(const struct gs_expr *a, const struct gs_expr *b)
{
	bool name = a->kind == GS_EXPR_NAME || a->kind == GS_EXPR_BUILTIN ||
		    a->kind == GS_EXPR_MEMBER || a->kind == GS_EXPR_CALL;

	if (a->kind != b->kind || a->op != b->op || a->nargs != b->nargs ||
	    !same_type_name(a->type_name, b->type_name))
		return false;
	/* `p.m' and `p->m' are one member: checking settles which it is. `$str(p)' is str(p). */
	if (name && !same_text(a->name, b->name))
		return false;
	if (a->kind == GS_EXPR_NAME && !same_text(a->qualifier, b->qualifier))
		return false;
	if (a->kind == GS_EXPR_FLOAT)
		return memcmp(&a->real, &b->real, sizeof(a->real)) == 0;
	if (a->kind == GS_EXPR_NUMBER && !a->string_len && !b->string_len)
		return a->number == b->number;
	return a->string_len == b->string_len &&
	       (!a->string_len || memcmp(a->string, b->string, a->string_len) == 0);
}

static const struct gs_expr *deref_operand(const struct gs_expr *e)
{
	if (is_array_deref(e))
		return e->a;
	return e->kind == GS_EXPR_UNARY && e->op == GS_OPR_DEREF ? e->a : NULL;
}

bool gs_expr_equal(const struct gs_expr *a, const struct gs_expr *b)
{
	a = written(a);
	b = written(b);
	if (!a || !b)
		return a == b;
	if (deref_operand(a) && deref_operand(b))
		return gs_expr_equal(deref_operand(a), deref_operand(b));
	if (!same_node(a, b))
		return false;
	for (size_t i = 0; i < a->nargs; i++)
		if (!gs_expr_equal(a->args[i], b->args[i]))
			return false;
	return gs_expr_equal(a->a, b->a) && gs_expr_equal(a->b, b->b) && gs_expr_equal(a->c, b->c);
}
