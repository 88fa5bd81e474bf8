/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of operators: unary, arithmetic, shifts, logic, ?:, casts, sizeof.
 * Called by the walk (check.c); comparisons are in check_compare.c, * and & in check_access.c.
 */
#include "common/check.h"

static const char *const operator_texts[] = {
	[GS_OPR_POS] = "+", [GS_OPR_NEG] = "-",	 [GS_OPR_BITNOT] = "~", [GS_OPR_NOT] = "!",
	[GS_OPR_MUL] = "*", [GS_OPR_DIV] = "/",	 [GS_OPR_MOD] = "%",	[GS_OPR_ADD] = "+",
	[GS_OPR_SUB] = "-", [GS_OPR_SHL] = "<<", [GS_OPR_SHR] = ">>",	[GS_OPR_AND] = "&",
	[GS_OPR_XOR] = "^", [GS_OPR_OR] = "|",	 [GS_OPR_LAND] = "&&",	[GS_OPR_LOR] = "||",
};

/* "the operand of `+'" */
static const char *operand_of(struct gs_checker *c, const struct gs_expr *e, const char *which)
{
	return gs_arena_printf(c->arena, "the %soperand of `%s'", which, operator_texts[e->op]);
}

static enum gs_arith_class class_of(const struct gs_checker *c, const struct gs_expr *e)
{
	return gs_check_arith(c, e->type).class;
}

/* ---- unary ---- */

struct gs_error *gs_check_unary(struct gs_checker *c, struct gs_expr *e)
{
	if (e->op == GS_OPR_DEREF)
		return gs_check_deref(c, e);
	if (e->op == GS_OPR_ADDR)
		return gs_check_address_of(c, e);
	if (e->op == GS_OPR_NOT) {
		GS_TRY(gs_check_scalar(c, &e->a, operand_of(c, e, "")));
		GS_TRY(gs_check_int_type(c, 4, true, &e->type));
	} else if (e->op == GS_OPR_BITNOT) {
		GS_TRY(gs_check_integer(c, &e->a, operand_of(c, e, "")));
		GS_TRY(gs_check_promote(c, &e->a));
		e->type = e->a->type;
	} else {
		GS_TRY(gs_check_value(c, &e->a));
		if (class_of(c, e->a) == GS_ARITH_NONE)
			return gs_check_not_scalar(c, e->a, operand_of(c, e, ""));
		GS_TRY(gs_check_promote(c, &e->a));
		e->type = e->a->type;
	}
	gs_fold(c, e);
	return NULL;
}

/* ---- pointer arithmetic ---- */

/* pointer + integer (either order as written), pointer - integer */
static struct gs_error *check_offset(struct gs_checker *c, struct gs_expr *e)
{
	gs_type_id element, ptrdiff;
	uint64_t size;

	GS_TRY(gs_check_element(c, e->a, e->a->type, true, &element, &size));
	GS_TRY(gs_check_ptrdiff_type(c, &ptrdiff));
	gs_check_convert(c, &e->b, ptrdiff);
	e->type = e->a->type;
	return NULL;
}

static struct gs_error *check_difference(struct gs_checker *c, struct gs_expr *e)
{
	gs_type_id a, b;
	uint64_t size;

	GS_TRY(gs_check_element(c, e->a, e->a->type, true, &a, &size));
	GS_TRY(gs_check_element(c, e->b, e->b->type, true, &b, &size));
	if (!gs_type_equal(c->types, a, b))
		return gs_check_error(
			c, e, GS_ERR_USAGE,
			"the difference of `%s' and `%s': pointers to different types",
			gs_check_type_text(c, e->a->type), gs_check_type_text(c, e->b->type));
	if (!size)
		return gs_check_error(c, e, GS_ERR_USAGE, "`%s' has no size to divide by",
				      gs_check_type_text(c, a));
	return gs_check_ptrdiff_type(c, &e->type);
}

/* True when E is pointer arithmetic; the pointer is then `a'. */
static bool is_pointer_arithmetic(const struct gs_checker *c, struct gs_expr *e)
{
	bool a = gs_check_is_pointer(c, e->a->type), b = gs_check_is_pointer(c, e->b->type);

	if (e->op == GS_OPR_ADD && b && !a) {
		struct gs_expr *swap = e->a;
		e->a = e->b;
		e->b = swap;
		return class_of(c, e->b) == GS_ARITH_INT;
	}
	if (e->op == GS_OPR_SUB && a && b)
		return true;
	return (e->op == GS_OPR_ADD || e->op == GS_OPR_SUB) && a &&
	       class_of(c, e->b) == GS_ARITH_INT;
}

/* ---- binary ---- */

static struct gs_error *bad_operands(struct gs_checker *c, const struct gs_expr *e)
{
	const struct gs_expr *sides[] = {e->a, e->b};

	for (int i = 0; i < 2; i++)
		if (class_of(c, sides[i]) == GS_ARITH_NONE &&
		    !gs_check_is_pointer(c, sides[i]->type))
			return gs_check_not_scalar(c, sides[i],
						   operand_of(c, e, i ? "right " : "left "));
	return gs_check_error(c, e, GS_ERR_USAGE, "`%s' cannot be applied to `%s' and `%s'",
			      operator_texts[e->op], gs_check_type_text(c, e->a->type),
			      gs_check_type_text(c, e->b->type));
}

static struct gs_error *check_shift(struct gs_checker *c, struct gs_expr *e)
{
	GS_TRY(gs_check_promote(c, &e->a));
	GS_TRY(gs_check_promote(c, &e->b));
	e->type = e->a->type;
	return NULL;
}

static struct gs_error *check_arithmetic(struct gs_checker *c, struct gs_expr *e)
{
	bool ints, numbers;

	GS_TRY(gs_check_value(c, &e->a));
	GS_TRY(gs_check_value(c, &e->b));
	ints = class_of(c, e->a) == GS_ARITH_INT && class_of(c, e->b) == GS_ARITH_INT;
	numbers = class_of(c, e->a) != GS_ARITH_NONE && class_of(c, e->b) != GS_ARITH_NONE;
	if (is_pointer_arithmetic(c, e))
		return gs_check_is_pointer(c, e->b->type) ? check_difference(c, e)
							  : check_offset(c, e);
	switch (e->op) {
	case GS_OPR_ADD:
	case GS_OPR_SUB:
	case GS_OPR_MUL:
	case GS_OPR_DIV:
		return numbers ? gs_check_usual(c, &e->a, &e->b, &e->type) : bad_operands(c, e);
	case GS_OPR_SHL:
	case GS_OPR_SHR:
		return ints ? check_shift(c, e) : bad_operands(c, e);
	default:
		return ints ? gs_check_usual(c, &e->a, &e->b, &e->type) : bad_operands(c, e);
	}
}

struct gs_error *gs_check_binary(struct gs_checker *c, struct gs_expr *e)
{
	if (e->op >= GS_OPR_LT && e->op <= GS_OPR_NE) {
		GS_TRY(gs_check_compare(c, e));
	} else if (e->op == GS_OPR_LAND || e->op == GS_OPR_LOR) {
		GS_TRY(gs_check_scalar(c, &e->a, operand_of(c, e, "left ")));
		GS_TRY(gs_check_scalar(c, &e->b, operand_of(c, e, "right ")));
		GS_TRY(gs_check_int_type(c, 4, true, &e->type));
	} else {
		GS_TRY(check_arithmetic(c, e));
	}
	gs_fold(c, e);
	return NULL;
}

/* ---- ?: ---- */

static bool is_null_constant(const struct gs_checker *c, const struct gs_expr *e)
{
	return e->is_constant && class_of(c, e) != GS_ARITH_FLOAT && e->number == 0;
}

static bool is_void_pointer(const struct gs_checker *c, const struct gs_expr *e)
{
	const struct gs_type *type = gs_check_stripped(c, e->type);

	return type->kind == GS_KIND_UNSPECIFIED ||
	       (type->kind == GS_KIND_POINTER &&
		gs_check_stripped(c, type->target)->kind == GS_KIND_VOID);
}

/* C 6.5.15p6: the null pointer takes the other type, else void * wins; 0 when the two do not fit.
 */
static gs_type_id cond_pointer_type(const struct gs_checker *c, const struct gs_expr *x,
				    const struct gs_expr *y)
{
	bool x_null = is_null_constant(c, x), y_null = is_null_constant(c, y);

	if (gs_check_is_pointer(c, x->type) && y_null)
		return x->type;
	if (gs_check_is_pointer(c, y->type) && x_null)
		return y->type;
	if (!gs_check_is_pointer(c, x->type) || !gs_check_is_pointer(c, y->type))
		return GS_TYPE_VOID;
	if (is_void_pointer(c, x) || gs_type_equal(c->types, x->type, y->type))
		return x->type;
	return is_void_pointer(c, y) ? y->type : GS_TYPE_VOID;
}

static struct gs_error *check_branches(struct gs_checker *c, struct gs_expr *e)
{
	if (gs_kind_is_aggregate(gs_check_stripped(c, e->b->type)->kind) &&
	    gs_type_equal(c->types, e->b->type, e->c->type)) {
		e->type = e->b->type;
		return NULL;
	}
	GS_TRY(gs_check_decay(c, &e->b));
	GS_TRY(gs_check_decay(c, &e->c));
	if (class_of(c, e->b) != GS_ARITH_NONE && class_of(c, e->c) != GS_ARITH_NONE)
		return gs_check_usual(c, &e->b, &e->c, &e->type);
	e->type = cond_pointer_type(c, e->b, e->c);
	if (e->type == GS_TYPE_VOID)
		return gs_check_error(c, e, GS_ERR_USAGE,
				      "the two values of `?:' are `%s' and `%s': they have no "
				      "common type",
				      gs_check_type_text(c, e->b->type),
				      gs_check_type_text(c, e->c->type));
	gs_check_convert(c, &e->b, e->type);
	gs_check_convert(c, &e->c, e->type);
	return NULL;
}

struct gs_error *gs_check_cond(struct gs_checker *c, struct gs_expr *e)
{
	GS_TRY(gs_check_scalar(c, &e->a, "the condition of `?:'"));
	GS_TRY(gs_check_operand(c, &e->b));
	GS_TRY(gs_check_operand(c, &e->c));
	GS_TRY(check_branches(c, e));
	gs_fold(c, e);
	return NULL;
}

/* ---- casts ---- */

/* A long double may be rounded to double where the user says so: once, hence not to float. */
static bool is_rounding(const struct gs_checker *c, const struct gs_expr *e)
{
	const struct gs_type *from = gs_check_stripped(c, e->a->type);
	bool ieee = from->encoding == GS_FLOAT_IEEE || from->encoding == GS_FLOAT_X87;
	struct gs_arith to = gs_check_arith(c, e->type);

	if (from->kind != GS_KIND_FLOAT || to.class != GS_ARITH_FLOAT)
		return false;
	/* _Float16 and bfloat16 widen exactly to both. */
	return to.size == 8 ? ieee || from->encoding == GS_FLOAT_BFLOAT
			    : from->byte_size == 2 && from->encoding != GS_FLOAT_DECIMAL;
}

static struct gs_error *bad_cast(struct gs_checker *c, const struct gs_expr *e)
{
	return gs_check_error(c, e, GS_ERR_USAGE, "`%s' cannot be cast to `%s'",
			      gs_check_type_text(c, e->a->type), gs_check_type_text(c, e->type));
}

static struct gs_error *check_target(struct gs_checker *c, struct gs_expr *e)
{
	const struct gs_type *to = gs_check_stripped(c, e->type);

	if (to->kind == GS_KIND_ARRAY)
		return gs_error_hint(gs_check_error(c, e, GS_ERR_USAGE,
						    "C has no cast to an array, `%s'",
						    gs_check_type_text(c, e->type)),
				     "cast a pointer and take elements: *(type *)p@n");
	if (gs_kind_is_aggregate(to->kind) && !gs_type_equal(c->types, e->type, e->a->type))
		return gs_error_hint(bad_cast(c, e), "memory is seen as another type by a cast of "
						     "its address: *(type *)&x");
	return NULL;
}

struct gs_error *gs_check_cast(struct gs_checker *c, struct gs_expr *e)
{
	GS_TRY(gs_check_operand(c, &e->a));
	GS_TRY(gs_check_type_name(c, e, e->type_name, &e->type));
	GS_TRY(check_target(c, e));
	if (gs_kind_is_aggregate(gs_check_stripped(c, e->type)->kind))
		return NULL; /* to the same type: the object itself */
	GS_TRY(gs_check_decay(c, &e->a));
	enum gs_arith_class from = class_of(c, e->a), to = class_of(c, e);
	bool from_pointer = gs_check_is_pointer(c, e->a->type);
	bool to_pointer = gs_check_stripped(c, e->type)->kind == GS_KIND_POINTER;
	if (from == GS_ARITH_NONE && is_rounding(c, e))
		return NULL;
	if (from == GS_ARITH_NONE && !from_pointer)
		return gs_check_not_scalar(c, e->a, "the operand of a cast");
	if (to == GS_ARITH_NONE && !to_pointer)
		return gs_check_not_scalar(c, e, "the result of a cast");
	if ((from_pointer && to == GS_ARITH_FLOAT) || (from == GS_ARITH_FLOAT && to_pointer))
		return bad_cast(c, e);
	gs_fold(c, e);
	return NULL;
}

/* ---- sizeof ---- */

/* `sizeof (T)' parses like a variable in parentheses where nobody told the parser that T is a type.
 */
static void sizeof_name(struct gs_checker *c, struct gs_expr *e)
{
	struct gs_symbol sym = {0};
	struct gs_error *err;
	bool hidden;
	gs_type_id id;

	if (e->type_name || e->a->kind != GS_EXPR_NAME || e->a->qualifier)
		return;
	err = c->scope->find_name(c->scope->ctx, NULL, e->a->name, &sym);
	hidden = !err || gs_error_code_of(err) != GS_ERR_NOT_FOUND;
	gs_error_free(err);
	if (hidden)
		return;
	struct gs_type_name *name = gs_arena_alloc(c->arena, sizeof(*name));
	name->base = e->a->name;
	err = gs_check_type_name(c, e, name, &id);
	if (!err)
		e->type_name = name;
	gs_error_free(err);
}

struct gs_error *gs_check_sizeof(struct gs_checker *c, struct gs_expr *e)
{
	gs_type_id id;

	sizeof_name(c, e);
	if (e->type_name) {
		GS_TRY(gs_check_type_name(c, e, e->type_name, &id));
		e->a = NULL;
	} else {
		GS_TRY(gs_check_operand(c, &e->a));
		id = e->a->type;
		if (e->a->bit_size)
			return gs_check_error(c, e, GS_ERR_USAGE,
					      "a bit-field has no size in bytes");
	}
	const struct gs_type *type = gs_check_stripped(c, id);
	uint64_t size = type->kind == GS_KIND_VOID ? 1 : gs_type_size(c->types, id);
	if (c->scope->has_lengths && !e->type_name && type->kind == GS_KIND_ARRAY &&
	    (type->flags & GS_TYPE_RUN_TIME_COUNT))
		return gs_check_size_type(c, &e->type);
	if (type->kind == GS_KIND_FUNCTION || (type->flags & GS_TYPE_INCOMPLETE) ||
	    (type->kind == GS_KIND_ARRAY && (type->flags & GS_TYPE_COUNT_UNKNOWN)))
		return gs_check_error(c, e, GS_ERR_USAGE, "the size of `%s' is not known",
				      gs_check_type_text(c, id));
	e->is_constant = true;
	e->number = size;
	return gs_check_size_type(c, &e->type);
}
