/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of the built-in functions.
 * Called by the walk (check.c). What each call is after checking:
 *
 *   str(p [, n])           char [] of unknown count: the bytes up to NUL, at most n;
 *                          args[0] is a char pointer or (not decayed) array of characters
 *   buf(p, n)              unsigned char [n], of unknown count unless n is a constant;
 *                          args[0] is any pointer or (not decayed) array
 *   starts_with, contains  int; args[0] as of str, args[1] a STRING without NUL
 *   container_of(p, T, m)  T *: the address p less bit_offset / 8
 *   list(head, next, n)    T [] of unknown count: at most n nodes from `T *head' on, each
 *                          found in the pointer at bit_offset of the one before
 *   $entry(x)              the type of x; neither an lvalue nor in memory
 *
 * Counts and limits are ptrdiff_t.
 */
#include "common/check.h"

/* ---- what they share ---- */

/* An address in args[0]: integers (registers, marker arguments) are given the type POINTER. */
static struct gs_error *integer_address(struct gs_checker *c, struct gs_expr **slot,
					gs_type_id pointer, bool *done)
{
	struct gs_arith arith = gs_check_arith(c, (*slot)->type);

	*done = arith.class == GS_ARITH_INT;
	if (!*done)
		return NULL;
	if (arith.size < c->scope->pointer_size && !(*slot)->is_constant)
		return gs_error_hint(gs_check_error(c, *slot, GS_ERR_USAGE,
						    "`%s' is too small to hold an address",
						    gs_check_type_text(c, (*slot)->type)),
				     "a cast says that it does: (char *)x");
	gs_check_convert(c, slot, pointer);
	return NULL;
}

/* The text operand of str, starts_with and contains. */
static struct gs_error *check_text(struct gs_checker *c, struct gs_expr *e)
{
	struct gs_expr **slot = &e->args[0];
	gs_type_id char_type, pointer;
	bool done;

	GS_TRY(gs_check_operand(c, slot));
	if ((*slot)->kind == GS_EXPR_STRING)
		return gs_check_decay(c, slot);
	GS_TRY(gs_check_container_text(c, slot));
	GS_TRY(gs_check_char_type(c, &char_type));
	GS_TRY(gs_check_pointer_to(c, char_type, &pointer));
	GS_TRY(integer_address(c, slot, pointer, &done));
	if (done || gs_check_is_text(c, (*slot)->type))
		return NULL;
	const struct gs_type *type = gs_check_stripped(c, (*slot)->type);
	if (type->kind == GS_KIND_POINTER &&
	    gs_check_stripped(c, type->target)->kind == GS_KIND_VOID) {
		/* The representation is the same; the type says what is read. */
		*slot = gs_check_wrap(c, GS_EXPR_CAST, GS_OPR_NONE, *slot, pointer);
		gs_fold(c, *slot);
		return NULL;
	}
	return gs_error_hint(
		gs_check_error(c, *slot, GS_ERR_USAGE,
			       "%s needs a char pointer, a char array or an address, not "
			       "`%s'",
			       e->name, gs_check_type_text(c, (*slot)->type)),
		"(char *)p reads it as characters all the same");
}

/* A limit or size: at least 1 when it is a constant. */
static struct gs_error *check_count(struct gs_checker *c, struct gs_expr **slot, const char *what)
{
	GS_TRY(gs_check_index(c, slot, what));
	if ((*slot)->is_constant && (int64_t)(*slot)->number < 1)
		return gs_check_error(c, *slot, GS_ERR_USAGE, "%s must be at least 1", what);
	return NULL;
}

/* ---- each of them ---- */

static struct gs_error *check_str(struct gs_checker *c, struct gs_expr *e)
{
	gs_type_id char_type;

	GS_TRY(check_text(c, e));
	if (e->nargs > 1)
		GS_TRY(check_count(c, &e->args[1], "the limit of str"));
	GS_TRY(gs_check_char_type(c, &char_type));
	return gs_check_array_of(c, char_type, 1, NULL, &e->type);
}

static struct gs_error *check_buf(struct gs_checker *c, struct gs_expr *e)
{
	struct gs_expr **p = &e->args[0], **n = &e->args[1];
	gs_type_id byte, pointer;
	bool done;

	GS_TRY(gs_check_int_type(c, 1, false, &byte));
	GS_TRY(gs_check_pointer_to(c, byte, &pointer));
	GS_TRY(gs_check_operand(c, p));
	if ((*p)->kind == GS_EXPR_STRING)
		return gs_check_decay(c, p);
	GS_TRY(integer_address(c, p, pointer, &done));
	unsigned kind = gs_check_stripped(c, (*p)->type)->kind;
	if (!done && kind != GS_KIND_POINTER && kind != GS_KIND_ARRAY)
		return gs_error_hint(gs_check_error(c, *p, GS_ERR_USAGE,
						    "buf needs a pointer, an array or an address, "
						    "not `%s'",
						    gs_check_type_text(c, (*p)->type)),
				     "the bytes of an object are buf(&x, sizeof x)");
	GS_TRY(check_count(c, n, "the size of buf"));
	if ((*n)->is_constant && (*n)->number > INT32_MAX)
		return gs_check_error(c, *n, GS_ERR_LIMIT, "buf reads less than 2 GiB");
	return gs_check_array_of(c, byte, 1, (*n)->is_constant ? &(*n)->number : NULL, &e->type);
}

static struct gs_error *check_search(struct gs_checker *c, struct gs_expr *e)
{
	GS_TRY(check_text(c, e));
	GS_TRY(gs_check_expr(c, e->args[1]));
	GS_TRY(gs_check_literal(c, e->args[1]));
	return gs_check_int_type(c, 4, true, &e->type);
}

/* Whether a pointer of type ID may be one to MEMBER: the same type, or untyped memory. */
static bool may_point_to(const struct gs_checker *c, gs_type_id id, gs_type_id member)
{
	const struct gs_type *type = gs_check_stripped(c, id);
	const struct gs_type *target = gs_check_stripped(c, type->target);
	const struct gs_type *array = gs_check_stripped(c, member);

	if (target->kind == GS_KIND_VOID || (target->flags & GS_TYPE_CHAR))
		return true;
	/* A pointer into a member array points to its elements. */
	return gs_type_equal(c->types, type->target, member) ||
	       (array->kind == GS_KIND_ARRAY &&
		gs_type_equal(c->types, type->target, array->target));
}

static struct gs_error *check_container_of(struct gs_checker *c, struct gs_expr *e)
{
	struct gs_expr **p = &e->args[0], *member = e->args[1];
	gs_type_id container, byte, pointer;
	bool done;

	GS_TRY(gs_check_type_name(c, e, e->type_name, &container));
	if (!gs_kind_is_aggregate(gs_check_stripped(c, container)->kind))
		return gs_check_error(
			c, e, GS_ERR_USAGE,
			"container_of needs a struct, union or class as its type, not "
			"`%s'",
			gs_check_type_text(c, container));
	GS_TRY(gs_check_designator(c, member, container, &e->bit_offset));
	GS_TRY(gs_check_value(c, p));
	GS_TRY(gs_check_int_type(c, 1, false, &byte));
	GS_TRY(gs_check_pointer_to(c, byte, &pointer));
	GS_TRY(integer_address(c, p, pointer, &done));
	if (gs_check_stripped(c, (*p)->type)->kind != GS_KIND_POINTER)
		return gs_check_error(c, *p, GS_ERR_USAGE,
				      "container_of needs a pointer to the member, not `%s'",
				      gs_check_type_text(c, (*p)->type));
	if (!may_point_to(c, (*p)->type, member->type))
		return gs_error_hint(gs_check_error(c, e, GS_ERR_USAGE,
						    "the pointer is `%s', but the member is `%s'",
						    gs_check_type_text(c, (*p)->type),
						    gs_check_type_text(c, member->type)),
				     "(void *)p is taken as it is");
	return gs_check_pointer_to(c, container, &e->type);
}

static struct gs_error *check_list(struct gs_checker *c, struct gs_expr *e)
{
	struct gs_expr **head = &e->args[0], *next = e->args[1];
	gs_type_id node;
	uint64_t size;

	GS_TRY(gs_check_value(c, head));
	const struct gs_type *type = gs_check_stripped(c, (*head)->type);
	if (type->kind != GS_KIND_POINTER ||
	    !gs_kind_is_aggregate(gs_check_stripped(c, type->target)->kind))
		return gs_check_error(c, *head, GS_ERR_USAGE,
				      "list needs a pointer to its first node, not `%s'",
				      gs_check_type_text(c, (*head)->type));
	GS_TRY(gs_check_element(c, *head, (*head)->type, false, &node, &size));
	GS_TRY(gs_check_designator(c, next, node, &e->bit_offset));
	const struct gs_type *link = gs_check_stripped(c, next->type);
	if (link->kind != GS_KIND_POINTER || !gs_type_equal(c->types, link->target, node))
		return gs_check_error(c, next, GS_ERR_USAGE,
				      "the link to the next node is `%s', but the nodes are `%s'",
				      gs_check_type_text(c, next->type),
				      gs_check_type_text(c, node));
	GS_TRY(check_count(c, &e->args[2], "the limit of list"));
	return gs_check_array_of(c, node, size, NULL, &e->type);
}

static struct gs_error *check_entry(struct gs_checker *c, struct gs_expr *e)
{
	void (*in_entry)(void *, bool) = c->scope->in_entry;
	struct gs_error *err;

	if (c->in_entry)
		return gs_check_error(c, e, GS_ERR_USAGE, "$entry inside $entry");
	c->in_entry = true;
	if (in_entry)
		in_entry(c->scope->ctx, true);
	err = gs_check_operand(c, &e->args[0]);
	if (!err && e->args[0]->kind == GS_EXPR_STRING)
		err = gs_check_decay(c, &e->args[0]);
	if (in_entry)
		in_entry(c->scope->ctx, false);
	c->in_entry = false;
	if (err)
		return err;
	e->type = e->args[0]->type;
	e->is_register = true;
	e->is_constant = e->args[0]->is_constant;
	e->number = e->args[0]->number;
	e->real = e->args[0]->real;
	return NULL;
}

/* ---- all of them ---- */

/* A variable called str hides the function; a function of the program does not, for gs calls none.
 */
static struct gs_error *check_hidden(struct gs_checker *c, const struct gs_expr *e)
{
	struct gs_symbol sym = {0};
	struct gs_error *err;

	if (e->qualifier || strcmp(e->name, "entry") == 0)
		return NULL;
	err = c->scope->find_name(c->scope->ctx, NULL, e->name, &sym);
	if (err) {
		gs_error_free(err);
		return NULL;
	}
	if (gs_check_stripped(c, sym.type)->kind == GS_KIND_FUNCTION)
		return NULL;
	return gs_error_hint(
		gs_check_error(c, e, GS_ERR_USAGE,
			       "`%s' is a variable of the program here, `%s': it cannot be "
			       "called",
			       e->name, gs_check_type_text(c, sym.type)),
		"the built-in function is also $%s(...)", e->name);
}

struct gs_error *gs_check_call(struct gs_checker *c, struct gs_expr *e)
{
	static const struct {
		const char *name;
		struct gs_error *(*check)(struct gs_checker *c, struct gs_expr *e);
	} functions[] = {
		{"str", check_str},
		{"buf", check_buf},
		{"starts_with", check_search},
		{"contains", check_search},
		{"list", check_list},
		{"container_of", check_container_of},
		{"entry", check_entry},
	};

	GS_TRY(check_hidden(c, e));
	for (size_t i = 0; i < GS_ARRAY_SIZE(functions); i++)
		if (strcmp(functions[i].name, e->name) == 0)
			return functions[i].check(c, e);
	return gs_check_error(c, e, GS_ERR_INTERNAL, "unknown built-in function `%s'", e->name);
}
