/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What C does to operands: decay, integer promotions, the usual arithmetic conversions.
 * Called by the checks of operators; what they add are implicit nodes, so that lowering and
 * evaluation need no conversion logic of their own.
 */
#include "common/check.h"

/* ---- classes of types ---- */

/* gs computes with integers of 1, 2, 4 and 8 bytes and with IEEE single and double: what it cannot
 * compute exactly as the program would, it refuses. */
struct gs_arith gs_check_arith(const struct gs_checker *c, gs_type_id id)
{
	const struct gs_type *type = gs_check_stripped(c, id);
	uint64_t size = gs_type_size(c->types, id);
	struct gs_arith none = {GS_ARITH_NONE, 0, false};

	switch (type->kind) {
	case GS_KIND_BOOL:
	case GS_KIND_INT:
	case GS_KIND_ENUM:
		if (size != 1 && size != 2 && size != 4 && size != 8)
			return none;
		return (struct gs_arith){GS_ARITH_INT, (uint8_t)size,
					 gs_type_is_signed(c->types, id)};
	case GS_KIND_FLOAT:
		if (type->encoding != GS_FLOAT_IEEE || (size != 4 && size != 8))
			return none;
		return (struct gs_arith){GS_ARITH_FLOAT, (uint8_t)size, true};
	default:
		return none;
	}
}

bool gs_check_is_pointer(const struct gs_checker *c, gs_type_id id)
{
	unsigned kind = gs_check_stripped(c, id)->kind;

	return kind == GS_KIND_POINTER || kind == GS_KIND_UNSPECIFIED;
}

/* Why a type that is a number all the same is not computed with, or NULL. */
static const char *refusal(const struct gs_checker *c, gs_type_id id, const char **hint)
{
	const struct gs_type *type = gs_check_stripped(c, id);
	uint64_t size = gs_type_size(c->types, id);

	*hint = NULL;
	switch (type->kind) {
	case GS_KIND_INT:
	case GS_KIND_BOOL:
	case GS_KIND_ENUM:
		if (!size)
			return "its size is not known";
		*hint = size == 16 ? "its halves can be read with *(long *)&x and ((long *)&x)[1]"
				   : NULL;
		return size == 16 ? "128-bit integers are captured, but not computed with"
				  : "integers of this size are not computed with";
	case GS_KIND_FLOAT:
		if (type->encoding == GS_FLOAT_DECIMAL || type->encoding == GS_FLOAT_IBM)
			return "this floating format is not computed with";
		*hint = "a cast to (double) rounds it";
		return "only float and double are computed with, so that nothing is rounded unseen";
	case GS_KIND_COMPLEX:
		return "complex numbers are captured, but not computed with";
	default:
		return NULL;
	}
}

struct gs_error *gs_check_not_scalar(struct gs_checker *c, const struct gs_expr *e,
				     const char *what)
{
	const char *hint, *why = refusal(c, e->type, &hint);
	const struct gs_type *type = gs_check_stripped(c, e->type);
	struct gs_error *err;

	if (why)
		err = gs_check_error(c, e, GS_ERR_UNSUPPORTED, "%s has the type `%s': %s", what,
				     gs_check_type_text(c, e->type), why);
	else
		err = gs_check_error(c, e, GS_ERR_USAGE, "%s cannot be of the type `%s'", what,
				     gs_check_type_text(c, e->type));
	if (hint)
		err = gs_error_hint(err, "%s", hint);
	if (gs_kind_is_aggregate(type->kind) && type->nmembers && type->members[0].name)
		err = gs_error_hint(err, "name one of its members, such as `%s'",
				    type->members[0].name);
	return err;
}

/* ---- implicit nodes ---- */

struct gs_expr *gs_check_wrap(struct gs_checker *c, enum gs_expr_kind kind, enum gs_expr_op op,
			      struct gs_expr *operand, gs_type_id type)
{
	struct gs_expr *e = gs_arena_alloc(c->arena, sizeof(*e));

	*e = (struct gs_expr){.kind = kind,
			      .op = op,
			      .start = operand->start,
			      .len = operand->len,
			      .a = operand,
			      .type = type,
			      .implicit = true};
	return e;
}

bool gs_check_has_address(const struct gs_expr *e)
{
	return e->is_lvalue && !e->is_register && !e->bit_size;
}

struct gs_error *gs_check_operand(struct gs_checker *c, struct gs_expr **slot)
{
	struct gs_expr *e = *slot;

	GS_TRY(gs_check_expr(c, e));
	const struct gs_type *type = gs_check_stripped(c, e->type);
	if (type->kind != GS_KIND_REFERENCE && type->kind != GS_KIND_RVALUE_REFERENCE)
		return NULL;
	*slot = gs_check_wrap(c, GS_EXPR_UNARY, GS_OPR_DEREF, e, type->target);
	(*slot)->is_lvalue = true;
	return NULL;
}

static struct gs_error *no_address(struct gs_checker *c, const struct gs_expr *e)
{
	return gs_error_hint(
		gs_check_error(c, e, GS_ERR_USAGE,
			       "`%s' is needed as an address here, but it is not in memory",
			       gs_check_type_text(c, e->type)),
		"an element of it can be used: [0]");
}

struct gs_error *gs_check_decay(struct gs_checker *c, struct gs_expr **slot)
{
	struct gs_expr *e = *slot;
	const struct gs_type *type = gs_check_stripped(c, e->type);
	gs_type_id pointer;

	if (e->kind == GS_EXPR_STRING)
		return gs_check_error(c, e, GS_ERR_USAGE,
				      "a string literal can only be compared with == and != to a "
				      "char pointer or array, or be an argument of starts_with and "
				      "contains");
	if (type->kind != GS_KIND_ARRAY && type->kind != GS_KIND_FUNCTION)
		return NULL;
	if (type->flags & GS_TYPE_VECTOR)
		return gs_error_hint(gs_check_not_scalar(c, e, "an operand"),
				     "its elements can be used: [0]");
	if (!gs_check_has_address(e))
		return no_address(c, e);
	GS_TRY(gs_check_pointer_to(c, type->kind == GS_KIND_ARRAY ? type->target : e->type,
				   &pointer));
	*slot = gs_check_wrap(c, GS_EXPR_UNARY, GS_OPR_ADDR, e, pointer);
	return NULL;
}

struct gs_error *gs_check_value(struct gs_checker *c, struct gs_expr **slot)
{
	GS_TRY(gs_check_operand(c, slot));
	return gs_check_decay(c, slot);
}

struct gs_error *gs_check_scalar(struct gs_checker *c, struct gs_expr **slot, const char *what)
{
	GS_TRY(gs_check_value(c, slot));
	if (gs_check_arith(c, (*slot)->type).class == GS_ARITH_NONE &&
	    !gs_check_is_pointer(c, (*slot)->type))
		return gs_check_not_scalar(c, *slot, what);
	return NULL;
}

static struct gs_error *require_integer(struct gs_checker *c, struct gs_expr **slot,
					const char *what)
{
	GS_TRY(gs_check_decay(c, slot));
	if (gs_check_arith(c, (*slot)->type).class == GS_ARITH_INT)
		return NULL;
	if (gs_check_arith(c, (*slot)->type).class == GS_ARITH_NONE)
		return gs_check_not_scalar(c, *slot, what);
	return gs_error_hint(gs_check_error(c, *slot, GS_ERR_USAGE,
					    "%s must be an integer, not `%s'", what,
					    gs_check_type_text(c, (*slot)->type)),
			     "a cast such as (long) makes it one");
}

struct gs_error *gs_check_integer(struct gs_checker *c, struct gs_expr **slot, const char *what)
{
	GS_TRY(gs_check_operand(c, slot));
	return require_integer(c, slot, what);
}

struct gs_error *gs_check_to_index(struct gs_checker *c, struct gs_expr **slot, const char *what)
{
	gs_type_id ptrdiff;

	GS_TRY(require_integer(c, slot, what));
	GS_TRY(gs_check_ptrdiff_type(c, &ptrdiff));
	gs_check_convert(c, slot, ptrdiff);
	return NULL;
}

struct gs_error *gs_check_index(struct gs_checker *c, struct gs_expr **slot, const char *what)
{
	GS_TRY(gs_check_operand(c, slot));
	return gs_check_to_index(c, slot, what);
}

/* ---- conversions ---- */

/* Whether the bits of one are the bits of the other, and mean the same number. */
static bool same_representation(const struct gs_checker *c, gs_type_id a, gs_type_id b)
{
	struct gs_arith x = gs_check_arith(c, a), y = gs_check_arith(c, b);

	if (x.class == GS_ARITH_NONE || y.class == GS_ARITH_NONE)
		return gs_type_equal(c->types, a, b) ||
		       (gs_check_is_pointer(c, a) && gs_check_is_pointer(c, b));
	/* Converting to _Bool tests for 0. */
	if ((gs_check_stripped(c, a)->kind == GS_KIND_BOOL) !=
	    (gs_check_stripped(c, b)->kind == GS_KIND_BOOL))
		return false;
	return x.class == y.class && x.size == y.size && x.is_signed == y.is_signed;
}

void gs_check_convert(struct gs_checker *c, struct gs_expr **slot, gs_type_id type)
{
	struct gs_expr *e = *slot;

	/* A promotion keeps the value: converting what was promoted gives the same, in one step. */
	if (e->implicit && e->kind == GS_EXPR_CAST && !same_representation(c, e->type, type))
		*slot = e->a;
	if (same_representation(c, (*slot)->type, type))
		return;
	*slot = gs_check_wrap(c, GS_EXPR_CAST, GS_OPR_NONE, *slot, type);
	gs_fold(c, *slot);
}

/* The type after promotion; *type is left alone where promotion changes nothing. */
static struct gs_error *promoted(struct gs_checker *c, const struct gs_expr *e, gs_type_id *type)
{
	struct gs_arith arith = gs_check_arith(c, e->type);
	const struct gs_type *t = gs_check_stripped(c, e->type);

	if (arith.class != GS_ARITH_INT)
		return NULL;
	/* C 6.7.2.2: an enumeration constant is an int, whatever the enumeration is. */
	if (t->kind == GS_KIND_ENUM && e->is_constant && e->kind == GS_EXPR_NAME &&
	    (int64_t)e->number == (int32_t)e->number)
		return gs_check_int_type(c, 4, true, type);
	/*
	 * A bit-field promotes by its width, also where it is declared long (gcc and clang agree);
	 * one wider than int has its declared type, as in clang and C++ (gcc computes in the odd
	 * width).
	 */
	if (e->bit_size && e->bit_size <= 32) {
		bool is_unsigned = e->bit_size == 32 && !arith.is_signed;
		return gs_check_int_type(c, 4, !is_unsigned, type);
	}
	if (arith.size < 4 || t->kind == GS_KIND_BOOL)
		return gs_check_int_type(c, 4, true, type);
	if (t->kind == GS_KIND_ENUM)
		return gs_check_int_type(c, arith.size, arith.is_signed, type);
	return NULL;
}

struct gs_error *gs_check_promote(struct gs_checker *c, struct gs_expr **slot)
{
	gs_type_id type = (*slot)->type;

	GS_TRY(promoted(c, *slot, &type));
	gs_check_convert(c, slot, type);
	return NULL;
}

/*
 * Of two promoted operands. Ranks are told by size, which gives the same representation as C's
 * ranks in both data models: where sizes are equal one unsigned operand makes the result unsigned,
 * and a larger type holds all values of a smaller one.
 */
static struct gs_error *common_type(struct gs_checker *c, struct gs_arith a, struct gs_arith b,
				    gs_type_id *type)
{
	if (a.class == GS_ARITH_FLOAT || b.class == GS_ARITH_FLOAT) {
		bool is_double = (a.class == GS_ARITH_FLOAT && a.size == 8) ||
				 (b.class == GS_ARITH_FLOAT && b.size == 8);
		return gs_check_float_type(c, is_double ? 8 : 4, type);
	}
	if (a.size == b.size)
		return gs_check_int_type(c, a.size, a.is_signed && b.is_signed, type);
	return a.size > b.size ? gs_check_int_type(c, a.size, a.is_signed, type)
			       : gs_check_int_type(c, b.size, b.is_signed, type);
}

struct gs_error *gs_check_usual(struct gs_checker *c, struct gs_expr **a, struct gs_expr **b,
				gs_type_id *type)
{
	gs_type_id common;

	GS_TRY(gs_check_promote(c, a));
	GS_TRY(gs_check_promote(c, b));
	GS_TRY(common_type(c, gs_check_arith(c, (*a)->type), gs_check_arith(c, (*b)->type),
			   &common));
	gs_check_convert(c, a, common);
	gs_check_convert(c, b, common);
	*type = common;
	return NULL;
}
