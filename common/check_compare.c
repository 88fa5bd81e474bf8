/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of comparisons: numbers, pointers, and text with a string literal.
 * Called by the check of binary operators.
 */
#include "common/check.h"

bool gs_check_is_text(const struct gs_checker *c, gs_type_id id)
{
	const struct gs_type *type = gs_check_stripped(c, id);
	const struct gs_type *element = gs_check_stripped(c, type->target);

	if (type->kind != GS_KIND_POINTER &&
	    (type->kind != GS_KIND_ARRAY || (type->flags & GS_TYPE_VECTOR)))
		return false;
	/* `unsigned char *' and `signed char *' hold text in many programs; bytes are bytes. */
	return element->kind == GS_KIND_INT && element->byte_size == 1 &&
	       (element->flags & (GS_TYPE_CHAR | GS_TYPE_PLAIN_CHAR | GS_TYPE_UTF));
}

struct gs_error *gs_check_container_text(struct gs_checker *c, struct gs_expr **slot)
{
	const struct gs_type *type = gs_check_stripped(c, (*slot)->type);
	struct gs_expr *object = *slot;

	if (!gs_kind_is_aggregate(type->kind) || type->container.kind != GS_CONTAINER_STRING)
		return NULL;
	if (!(type->container.flags & GS_CONTAINER_ENDED))
		return gs_error_hint(
			gs_check_error(c, object, GS_ERR_UNSUPPORTED,
				       "the text of a `%s' does not end in NUL: it "
				       "is only known as a whole",
				       gs_check_type_text(c, object->type)),
			"record it as an item, and compare its length or single characters");
	*slot = gs_check_wrap(c, GS_EXPR_MEMBER, GS_OPR_NONE, object, type->target);
	(*slot)->bit_offset = 8ull * type->container.data;
	(*slot)->is_lvalue = object->is_lvalue;
	(*slot)->is_register = object->is_register;
	return NULL;
}

struct gs_error *gs_check_literal(struct gs_checker *c, const struct gs_expr *literal)
{
	if (memchr(literal->string, '\0', literal->string_len))
		return gs_check_error(
			c, literal, GS_ERR_USAGE,
			"a string ends at its first NUL: this literal has one inside");
	return NULL;
}

/* The literal becomes `b'; the other side stays an array or pointer. */
static struct gs_error *compare_text(struct gs_checker *c, struct gs_expr *e)
{
	const char *hint = "str(p) reads the string at an address";

	if (e->a->kind == GS_EXPR_STRING) {
		struct gs_expr *swap = e->a;
		e->a = e->b;
		e->b = swap;
	}
	if (e->op != GS_OPR_EQ && e->op != GS_OPR_NE)
		return gs_check_error(c, e, GS_ERR_USAGE,
				      "strings can only be compared with == and !=");
	if (e->a->kind == GS_EXPR_STRING)
		return gs_check_error(c, e, GS_ERR_USAGE, "two string literals are compared");
	GS_TRY(gs_check_literal(c, e->b));
	GS_TRY(gs_check_container_text(c, &e->a));
	if (!gs_check_is_text(c, e->a->type))
		return gs_error_hint(gs_check_error(c, e, GS_ERR_USAGE,
						    "`%s' cannot be compared with a string: a char "
						    "pointer or array is needed",
						    gs_check_type_text(c, e->a->type)),
				     "%s", hint);
	return gs_check_int_type(c, 4, true, &e->type);
}

static struct gs_error *bad_comparison(struct gs_checker *c, const struct gs_expr *e)
{
	const struct gs_expr *sides[] = {e->a, e->b};

	for (int i = 0; i < 2; i++)
		if (gs_check_arith(c, sides[i]->type).class == GS_ARITH_NONE &&
		    !gs_check_is_pointer(c, sides[i]->type))
			return gs_check_not_scalar(c, sides[i], "an operand of a comparison");
	return gs_check_error(c, e, GS_ERR_USAGE, "`%s' cannot be compared with `%s'",
			      gs_check_type_text(c, e->a->type), gs_check_type_text(c, e->b->type));
}

/*
 * Pointers compare as addresses, whatever they point to: gs observes, it does not enforce C's
 * constraint. An integer is converted to the pointer's type, so that `p == 0x7f00' and `$rdi == p'
 * work.
 */
static struct gs_error *compare_pointers(struct gs_checker *c, struct gs_expr *e)
{
	bool a = gs_check_is_pointer(c, e->a->type), b = gs_check_is_pointer(c, e->b->type);
	enum gs_arith_class other = gs_check_arith(c, a ? e->b->type : e->a->type).class;

	if (!(a && b) && other != GS_ARITH_INT)
		return bad_comparison(c, e);
	if (a)
		gs_check_convert(c, &e->b, e->a->type);
	else
		gs_check_convert(c, &e->a, e->b->type);
	return gs_check_int_type(c, 4, true, &e->type);
}

/* Text that is no object: str(p), a slice. It has no address to compare. */
static bool is_string_value(const struct gs_checker *c, const struct gs_expr *e)
{
	return gs_check_stripped(c, e->type)->kind == GS_KIND_ARRAY && !gs_check_has_address(e) &&
	       gs_check_is_text(c, e->type);
}

struct gs_error *gs_check_compare(struct gs_checker *c, struct gs_expr *e)
{
	gs_type_id common;

	GS_TRY(gs_check_operand(c, &e->a));
	GS_TRY(gs_check_operand(c, &e->b));
	if (e->a->kind == GS_EXPR_STRING || e->b->kind == GS_EXPR_STRING)
		return compare_text(c, e);
	if (is_string_value(c, e->a) || is_string_value(c, e->b))
		return gs_check_error(c, e, GS_ERR_USAGE,
				      "a string can only be compared with a string literal");
	GS_TRY(gs_check_decay(c, &e->a));
	GS_TRY(gs_check_decay(c, &e->b));
	if (gs_check_is_pointer(c, e->a->type) || gs_check_is_pointer(c, e->b->type))
		return compare_pointers(c, e);
	if (gs_check_arith(c, e->a->type).class == GS_ARITH_NONE ||
	    gs_check_arith(c, e->b->type).class == GS_ARITH_NONE)
		return bad_comparison(c, e);
	GS_TRY(gs_check_usual(c, &e->a, &e->b, &common));
	return gs_check_int_type(c, 4, true, &e->type);
}
