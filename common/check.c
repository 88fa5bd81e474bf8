/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Type checker of the expression language: the walk, names and literals.
 * Third stage, after the parser: the typed tree goes to the lowering (record/) or evaluation
 * (report/).
 *
 * What each kind of node has after checking:
 *   NUMBER, FLOAT, SIZEOF  constant; C's type
 *   STRING                 char [length + 1]; stands only under == != (as `b'), starts_with,
 *                          contains and sizeof
 *   NAME, BUILTIN          what the scope gave; enumerators are constants of their enumeration
 *   MEMBER                 the member's type; `arrow' says whether `a' is a pointer, however it
 *                          was written
 *   INDEX                  the element; `a' is an array (not decayed) or a pointer, `b' a
 *                          ptrdiff_t; `*array' is INDEX by an implicit 0
 *   SLICE                  array of elements, its count fixed when both ends are constants,
 *                          else COUNT_UNKNOWN; `b' and `c' are ptrdiff_t (implicit NUMBERs
 *                          where they were left out)
 *   ATSIGN                 array of what `a' is; `b' a ptrdiff_t; count as above
 *   CALL                   see check_call.c
 *   comparisons, ! && ||   int; operands of comparisons have one representation (size, sign,
 *                          class), or are pointers
 *   ADD, SUB on pointers   the pointer is `a'; `b' is a ptrdiff_t, or a pointer in a
 *                          difference, whose type is ptrdiff_t (to be divided by the size of
 *                          the element); void counts as one byte
 *   SHL, SHR               the promoted `a'; `b' keeps its own promoted type
 */
#include "common/check.h"

#include <stdarg.h>

struct gs_error *gs_check_error(const struct gs_checker *c, const struct gs_expr *e,
				enum gs_error_code code, const char *fmt, ...)
{
	GS_CLEANUP_FREE char *message = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&message, fmt, ap) < 0)
		message = NULL;
	va_end(ap);
	return gs_error_at(gs_error_new(code, "%s", message ? message : fmt), c->text, e->start,
			   e->len);
}

const char *gs_check_type_text(const struct gs_checker *c, gs_type_id id)
{
	struct gs_buf buf = {0};
	const char *s;

	gs_type_print(&buf, c->types, id, NULL);
	s = gs_arena_strdup(c->arena, gs_buf_cstr(&buf));
	gs_buf_deinit(&buf);
	return s;
}

const struct gs_type *gs_check_stripped(const struct gs_checker *c, gs_type_id id)
{
	return gs_type_get(c->types, gs_type_strip(c->types, id));
}

/* ---- literals ---- */

/*
 * C 6.4.4.1 for targets where long has 32 bits: the lexer read the literal by LP64, and what needs
 * 64 bits is a long long here.
 */
static struct gs_error *check_number(struct gs_checker *c, struct gs_expr *e)
{
	const char *base = e->type_name ? e->type_name->base : "int";
	bool is_long = strstr(base, "long") != NULL, is_unsigned = base[0] == 'u';
	unsigned size = is_long ? 8 : 4;

	if (is_long && c->scope->pointer_size == 4 &&
	    e->number <= (is_unsigned ? UINT32_MAX : INT32_MAX))
		size = 4;
	GS_TRY(gs_check_int_type(c, size, !is_unsigned, &e->type));
	e->is_constant = true;
	if (e->string_len) {
		/* C 6.4.4.4: the value of a char with this byte, converted to int. */
		gs_type_id char_type;
		GS_TRY(gs_check_char_type(c, &char_type));
		e->number = gs_fold_extend(c, char_type, (unsigned char)e->string[0]);
	}
	return NULL;
}

static struct gs_error *check_float(struct gs_checker *c, struct gs_expr *e)
{
	bool is_float = e->type_name && strcmp(e->type_name->base, "float") == 0;

	e->is_constant = true;
	return gs_check_float_type(c, is_float ? 4 : 8, &e->type);
}

static struct gs_error *check_string(struct gs_checker *c, struct gs_expr *e)
{
	gs_type_id char_type;
	uint64_t count = e->string_len + 1;

	GS_TRY(gs_check_char_type(c, &char_type));
	return gs_check_array_of(c, char_type, 1, &count, &e->type);
}

/* ---- names ---- */

void gs_check_set_symbol(struct gs_checker *c, struct gs_expr *e, const struct gs_symbol *sym)
{
	e->type = sym->type;
	e->binding = sym->binding;
	e->is_constant = sym->is_constant;
	e->is_register = sym->is_register;
	e->is_lvalue = !sym->is_constant;
	if (sym->is_constant)
		e->number = gs_fold_extend(c, sym->type, (uint64_t)sym->value);
}

/* Names of C23 and of <stddef.h> that no debug information has; a variable hides them. */
static struct gs_error *find_wellknown(struct gs_checker *c, struct gs_expr *e, bool *found)
{
	bool is_null = strcmp(e->name, "NULL") == 0 || strcmp(e->name, "nullptr") == 0;
	bool is_true = strcmp(e->name, "true") == 0;

	*found = !e->qualifier && (is_null || is_true || strcmp(e->name, "false") == 0);
	if (!*found)
		return NULL;
	e->is_constant = true;
	e->number = is_true;
	return is_null ? gs_check_pointer_to(c, GS_TYPE_VOID, &e->type)
		       : gs_check_int_type(c, 4, true, &e->type);
}

/* In a C++ method a plain name may be a member: E becomes this->name. */
static struct gs_error *find_in_this(struct gs_checker *c, struct gs_expr *e, bool *found)
{
	struct gs_symbol sym = {0};
	struct gs_error *err;

	*found = false;
	if (strcmp(e->name, "this") == 0)
		return NULL;
	err = c->scope->find_name(c->scope->ctx, NULL, "this", &sym);
	if (err) {
		gs_error_free(err);
		return NULL;
	}
	const struct gs_type *this_type = gs_check_stripped(c, sym.type);
	/* Of Base::name the base is a member. */
	const char *member = e->qualifier ? e->qualifier : e->name;
	if (this_type->kind != GS_KIND_POINTER ||
	    !gs_type_find_member(c->types, this_type->target, member, strlen(member), NULL, NULL,
				 NULL))
		return NULL;
	if (e->qualifier)
		e->name = gs_arena_printf(c->arena, "%s::%s", e->qualifier, e->name);
	e->qualifier = NULL;
	struct gs_expr *object = gs_arena_alloc(c->arena, sizeof(*object));
	*object = (struct gs_expr){.kind = GS_EXPR_NAME,
				   .name = "this",
				   .start = e->start,
				   .len = e->len,
				   .implicit = true};
	*found = true;
	e->kind = GS_EXPR_MEMBER;
	e->a = object;
	e->arrow = true;
	return gs_check_member(c, e);
}

static struct gs_error *check_name(struct gs_checker *c, struct gs_expr *e)
{
	struct gs_symbol sym = {0};
	struct gs_error *err = c->scope->find_name(c->scope->ctx, e->qualifier, e->name, &sym),
			*other;
	bool found = false;

	if (!err) {
		gs_check_set_symbol(c, e, &sym);
		return NULL;
	}
	if (gs_error_code_of(err) != GS_ERR_NOT_FOUND)
		return gs_error_at(err, c->text, e->start, e->len);
	other = find_in_this(c, e, &found);
	if (!other && !found)
		other = find_wellknown(c, e, &found);
	if (!other && !found)
		return gs_error_at(err, c->text, e->start, e->len);
	gs_error_free(err);
	return other;
}

static struct gs_error *check_builtin(struct gs_checker *c, struct gs_expr *e)
{
	struct gs_symbol sym = {0};
	struct gs_error *err = c->scope->find_builtin(c->scope->ctx, e->name, &sym);

	if (err)
		return gs_error_at(err, c->text, e->start, e->len);
	gs_check_set_symbol(c, e, &sym);
	/* Values of the event, registers, results: none is an object in memory. */
	e->is_register = true;
	return NULL;
}

/* ---- the walk ---- */

/* The hook of the report: an item that was captured by the same expression. */
static bool find_tree(struct gs_checker *c, struct gs_expr *e)
{
	struct gs_expr before = *e;
	struct gs_buf name = {0};

	if (!c->scope->find_tree || !c->scope->find_tree(c->scope->ctx, e))
		return false;
	e->a = e->b = e->c = NULL;
	e->nargs = 0;
	if (!e->name || before.kind != GS_EXPR_NAME) {
		gs_expr_print(&name, &before);
		e->name = gs_arena_strdup(c->arena, gs_buf_cstr(&name));
		e->qualifier = NULL;
		gs_buf_deinit(&name);
	}
	return true;
}

struct gs_error *gs_check_expr(struct gs_checker *c, struct gs_expr *e)
{
	if (find_tree(c, e))
		return NULL;
	switch (e->kind) {
	case GS_EXPR_NUMBER:
		return check_number(c, e);
	case GS_EXPR_FLOAT:
		return check_float(c, e);
	case GS_EXPR_STRING:
		return check_string(c, e);
	case GS_EXPR_NAME:
		return check_name(c, e);
	case GS_EXPR_BUILTIN:
		return check_builtin(c, e);
	case GS_EXPR_MEMBER:
		return gs_check_member(c, e);
	case GS_EXPR_INDEX:
	case GS_EXPR_SLICE:
		return gs_check_indexing(c, e);
	case GS_EXPR_ATSIGN:
		return gs_check_atsign(c, e);
	case GS_EXPR_UNARY:
		return gs_check_unary(c, e);
	case GS_EXPR_BINARY:
		return gs_check_binary(c, e);
	case GS_EXPR_COND:
		return gs_check_cond(c, e);
	case GS_EXPR_CAST:
		return gs_check_cast(c, e);
	case GS_EXPR_SIZEOF:
		return gs_check_sizeof(c, e);
	case GS_EXPR_CALL:
		return gs_check_call(c, e);
	}
	return gs_check_error(c, e, GS_ERR_INTERNAL, "unknown kind of expression %d", e->kind);
}

static struct gs_error *lone_string(struct gs_checker *c, const struct gs_expr *e)
{
	return gs_check_error(
		c, e, GS_ERR_USAGE,
		"a string literal alone is not a value: it can be compared with == and "
		"!=, or be an argument of starts_with and contains");
}

struct gs_error *gs_expr_check(struct gs_expr *e, const char *text, struct gs_arena *arena,
			       const struct gs_scope *scope)
{
	struct gs_checker c = {scope, scope->types, arena, text, false};

	GS_TRY(gs_check_expr(&c, e));
	return e->kind == GS_EXPR_STRING ? lone_string(&c, e) : NULL;
}

struct gs_error *gs_expr_check_scalar(struct gs_expr **e, const char *what, const char *text,
				      struct gs_arena *arena, const struct gs_scope *scope)
{
	struct gs_checker c = {scope, scope->types, arena, text, false};
	struct gs_expr *top = *e;

	GS_TRY(gs_check_scalar(&c, &top, what));
	*e = top;
	return NULL;
}
