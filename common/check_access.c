/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of what reaches objects: members, elements, slices, p@n, * and &.
 * Called by the walk (check.c); looking up members by name is in check_member.c.
 */
#include <inttypes.h>

#include "common/check.h"

/* Cap on the bytes of a slice of constant size: no recording holds more, and sums cannot overflow.
 */
#define SLICE_BYTES_MAX ((uint64_t)1 << 31)

/* ---- members ---- */

static struct gs_error *not_aggregate(struct gs_checker *c, const struct gs_expr *e)
{
	const struct gs_type *type = gs_check_stripped(c, e->a->type);
	struct gs_error *err = gs_check_error(
		c, e, GS_ERR_USAGE,
		"`%s%s' needs a struct, union or class, or a pointer to one, not `%s'",
		e->arrow ? "->" : ".", e->name, gs_check_type_text(c, e->a->type));

	if (type->kind == GS_KIND_POINTER)
		type = gs_check_stripped(c, type->target);
	if (type->kind == GS_KIND_POINTER &&
	    gs_kind_is_aggregate(gs_check_stripped(c, type->target)->kind))
		err = gs_error_hint(err, "(*p)->%s reads through the outer pointer", e->name);
	return err;
}

/*
 * A member of a virtual base is looked for in that base, which is an implicit MEMBER of its own:
 * e->a becomes it. Nothing happens where NAME is not in one.
 */
static struct gs_error *enter_virtual_base(struct gs_checker *c, struct gs_expr *e,
					   gs_type_id *aggregate, bool *arrow)
{
	const char *name = e->name;
	struct gs_member member, base;
	uint64_t bits, holder;

	while (gs_type_find_member(c->types, *aggregate, name, strlen(name), &member, &bits,
				   NULL) &&
	       (member.flags & GS_MEMBER_VIRTUAL_BASE) &&
	       gs_type_find_virtual_base(c->types, *aggregate, name, strlen(name), &base,
					 &holder)) {
		struct gs_expr *step = gs_arena_alloc(c->arena, sizeof(*step));

		if (!base.bit_offset || base.bit_offset / 8 > UINT32_MAX)
			return gs_check_error(c, e, GS_ERR_UNSUPPORTED,
					      "`%s' is in a virtual base class, and the debug "
					      "information does not say where that is",
					      name);
		*step = (struct gs_expr){.kind = GS_EXPR_MEMBER,
					 .start = e->start,
					 .len = e->len,
					 .name = base.name,
					 .a = e->a,
					 .arrow = *arrow,
					 .type = base.type,
					 .is_lvalue = *arrow || e->a->is_lvalue,
					 .is_register = !*arrow && e->a->is_register,
					 .implicit = true,
					 .bit_offset = holder,
					 .virtual_base = (uint32_t)(base.bit_offset / 8)};
		e->a = step;
		*aggregate = base.type;
		*arrow = false;
		if ((member.flags & GS_MEMBER_BASE) && member.type == base.type)
			break;
	}
	return NULL;
}

static bool is_base_itself(const struct gs_checker *c, const struct gs_expr *step, const char *name)
{
	return !gs_type_find_member(c->types, step->type, name, strlen(name), NULL, NULL, NULL);
}

/* As gdb, `.' and `->' both take an object or a pointer; afterwards `arrow' tells which it is. */
struct gs_error *gs_check_member(struct gs_checker *c, struct gs_expr *e)
{
	struct gs_member member;
	gs_type_id aggregate;

	GS_TRY(gs_check_operand(c, &e->a));
	if (gs_check_stripped(c, e->a->type)->kind == GS_KIND_ARRAY)
		GS_TRY(gs_check_decay(c, &e->a));
	aggregate = e->a->type;
	bool arrow = gs_check_stripped(c, aggregate)->kind == GS_KIND_POINTER;
	if (arrow)
		aggregate = gs_check_stripped(c, aggregate)->target;
	if (!gs_kind_is_aggregate(gs_check_stripped(c, aggregate)->kind))
		return not_aggregate(c, e);
	gs_type_id whole = aggregate;
	GS_TRY(enter_virtual_base(c, e, &aggregate, &arrow));
	if (aggregate != whole && is_base_itself(c, e->a, e->name)) {
		/* The virtual base as a whole. */
		member = (struct gs_member){.type = aggregate};
		e->bit_offset = 0;
	} else {
		struct gs_error *err =
			gs_check_find_member(c, e, aggregate, e->name, &member, &e->bit_offset);
		bool found = false;

		if (err && gs_error_code_of(err) == GS_ERR_NOT_FOUND)
			GS_TRY(gs_check_static_member(c, e, whole, &found));
		if (found) {
			gs_error_free(err);
			return NULL;
		}
		if (err)
			return err;
	}
	e->arrow = arrow;
	e->type = member.type;
	e->bit_size = member.bit_size;
	e->is_lvalue = arrow || e->a->is_lvalue;
	e->is_register = !arrow && e->a->is_register;
	return NULL;
}

/* ---- elements ---- */

/* Of a type that has no size: why. */
static struct gs_error *no_size(struct gs_checker *c, const struct gs_expr *e, gs_type_id element)
{
	const struct gs_type *type = gs_check_stripped(c, element);
	const char *text = gs_check_type_text(c, element);

	if (type->kind == GS_KIND_VOID)
		return gs_error_hint(gs_check_error(c, e, GS_ERR_USAGE,
						    "what a `%s' points to has no type",
						    gs_check_type_text(c, e->type)),
				     "cast it first: (type *)p, or read bytes: buf(p, n)");
	if (type->kind == GS_KIND_FUNCTION)
		return gs_check_error(c, e, GS_ERR_USAGE, "`%s' is a function, not data", text);
	return gs_check_error(c, e, GS_ERR_USAGE, "the size of `%s' is not known%s", text,
			      type->flags & GS_TYPE_INCOMPLETE
				      ? ": it is only declared where this is looked up"
				      : "");
}

struct gs_error *gs_check_element(struct gs_checker *c, const struct gs_expr *e, gs_type_id id,
				  bool void_is_byte, gs_type_id *element, uint64_t *size)
{
	const struct gs_type *type = gs_check_stripped(c, id);
	const struct gs_type *target = gs_check_stripped(c, type->target);

	*element = type->target;
	*size = gs_type_size(c->types, type->target);
	if (type->kind == GS_KIND_UNSPECIFIED)
		return no_size(c, e, GS_TYPE_VOID);
	if (type->kind == GS_KIND_ARRAY) {
		*size = type->stride;
	} else if (target->kind == GS_KIND_VOID && void_is_byte) {
		*size = 1;
		return NULL;
	}
	/* Rows of variable length: the lowering asks the variable for their size. */
	if (c->scope->has_lengths && target->kind == GS_KIND_ARRAY &&
	    (target->flags & GS_TYPE_RUN_TIME_COUNT))
		return NULL;
	if (target->kind == GS_KIND_VOID || target->kind == GS_KIND_FUNCTION ||
	    (target->flags & (GS_TYPE_INCOMPLETE | GS_TYPE_COUNT_UNKNOWN)))
		return no_size(c, e, type->target);
	return NULL;
}

static bool is_sequence(const struct gs_checker *c, const struct gs_expr *e)
{
	unsigned kind = gs_check_stripped(c, e->type)->kind;

	return kind == GS_KIND_ARRAY || kind == GS_KIND_POINTER;
}

static bool is_integer(const struct gs_checker *c, const struct gs_expr *e)
{
	return gs_check_arith(c, e->type).class == GS_ARITH_INT;
}

static struct gs_error *check_index(struct gs_checker *c, struct gs_expr *e)
{
	uint64_t size;

	GS_TRY(gs_check_to_index(c, &e->b, "an index"));
	GS_TRY(gs_check_element(c, e->a, e->a->type, false, &e->type, &size));
	bool pointer = gs_check_stripped(c, e->a->type)->kind == GS_KIND_POINTER;
	e->is_lvalue = pointer || e->a->is_lvalue;
	e->is_register = !pointer && e->a->is_register;
	return NULL;
}

/* ---- slices ---- */

/* The array type of COUNT elements; COUNT is NULL when only the run knows. */
static struct gs_error *sequence_type(struct gs_checker *c, struct gs_expr *e, gs_type_id element,
				      uint64_t stride, const uint64_t *count)
{
	uint64_t bytes;

	if (count && (__builtin_mul_overflow(*count, stride ? stride : 1, &bytes) ||
		      bytes > SLICE_BYTES_MAX))
		return gs_check_error(c, e, GS_ERR_LIMIT,
				      "%" PRIu64 " elements of `%s' are more than can be read",
				      *count, gs_check_type_text(c, element));
	return gs_check_array_of(c, element, stride, count, &e->type);
}

/* An end that was left out: lo is 0, hi the array's own end. */
static struct gs_error *slice_ends(struct gs_checker *c, struct gs_expr *e, uint64_t *lo,
				   uint64_t *hi, bool *constant)
{
	const struct gs_type *type = gs_check_stripped(c, e->a->type);
	bool bounded = type->kind == GS_KIND_ARRAY && !(type->flags & GS_TYPE_COUNT_UNKNOWN);

	if (!e->c && !bounded)
		return gs_error_hint(gs_check_error(c, e, GS_ERR_USAGE,
						    "where the slice of `%s' ends is not known",
						    gs_check_type_text(c, e->a->type)),
				     "give its end: [first:end]");
	*lo = e->b ? e->b->number : 0;
	*hi = e->c ? e->c->number : type->count;
	*constant = (!e->b || e->b->is_constant) && (!e->c || e->c->is_constant);
	if (*constant && (int64_t)*hi < (int64_t)*lo)
		return gs_check_error(c, e, GS_ERR_USAGE,
				      "the slice ends before it begins: %" PRId64 " is less than "
				      "%" PRId64,
				      (int64_t)*hi, (int64_t)*lo);
	return NULL;
}

/* An end left out at run time is made explicit: its node is a constant ptrdiff_t. */
static struct gs_error *end_node(struct gs_checker *c, const struct gs_expr *slice, uint64_t value,
				 struct gs_expr **slot)
{
	struct gs_expr *e = gs_arena_alloc(c->arena, sizeof(*e));

	*e = (struct gs_expr){.kind = GS_EXPR_NUMBER,
			      .start = slice->start,
			      .len = slice->len,
			      .number = value,
			      .is_constant = true,
			      .implicit = true};
	GS_TRY(gs_check_ptrdiff_type(c, &e->type));
	*slot = e;
	return NULL;
}

static struct gs_error *check_slice(struct gs_checker *c, struct gs_expr *e)
{
	uint64_t size, lo = 0, hi = 0, count;
	gs_type_id element;
	bool constant;

	if (e->b)
		GS_TRY(gs_check_to_index(c, &e->b, "the start of a slice"));
	if (e->c)
		GS_TRY(gs_check_to_index(c, &e->c, "the end of a slice"));
	GS_TRY(gs_check_element(c, e->a, e->a->type, false, &element, &size));
	if (gs_check_stripped(c, element)->kind == GS_KIND_ARRAY &&
	    (gs_check_stripped(c, element)->flags & GS_TYPE_RUN_TIME_COUNT))
		return gs_error_hint(no_size(c, e->a, element), "slice one row: a[i][lo:hi]");
	GS_TRY(slice_ends(c, e, &lo, &hi, &constant));
	if (!e->b)
		GS_TRY(end_node(c, e, lo, &e->b));
	if (!e->c)
		GS_TRY(end_node(c, e, hi, &e->c));
	count = hi - lo;
	return sequence_type(c, e, element, size, constant ? &count : NULL);
}

/* C 6.5.2.1: i[a] is a[i]. */
static void swap_index(const struct gs_checker *c, struct gs_expr *e)
{
	struct gs_expr *swap = e->a;

	if (!is_integer(c, e->a) || !is_sequence(c, e->b))
		return;
	e->a = e->b;
	e->b = swap;
}

/* a[i] and a[lo:hi]; the array stays an array, for it may be in a register or captured. */
struct gs_error *gs_check_indexing(struct gs_checker *c, struct gs_expr *e)
{
	GS_TRY(gs_check_operand(c, &e->a));
	if (e->b)
		GS_TRY(gs_check_operand(c, &e->b));
	if (e->c)
		GS_TRY(gs_check_operand(c, &e->c));
	if (e->kind == GS_EXPR_INDEX)
		swap_index(c, e);
	if (e->a->kind == GS_EXPR_STRING || !is_sequence(c, e->a))
		return gs_check_error(c, e, GS_ERR_USAGE,
				      "`%s' has no elements: an array or pointer is needed before "
				      "`['",
				      gs_check_type_text(c, e->a->type));
	return e->kind == GS_EXPR_SLICE ? check_slice(c, e) : check_index(c, e);
}

/* gdb's p@n */
struct gs_error *gs_check_atsign(struct gs_checker *c, struct gs_expr *e)
{
	gs_type_id pointer, element;
	uint64_t size, count;

	GS_TRY(gs_check_operand(c, &e->a));
	if (e->a->kind == GS_EXPR_STRING || !gs_check_has_address(e->a))
		return gs_error_hint(gs_check_error(c, e->a, GS_ERR_USAGE,
						    "what stands before `@' must be an object in "
						    "memory"),
				     "n elements at a pointer are *p@n");
	GS_TRY(gs_check_pointer_to(c, e->a->type, &pointer));
	GS_TRY(gs_check_element(c, e->a, pointer, false, &element, &size));
	GS_TRY(gs_check_index(c, &e->b, "the number of elements after `@'"));
	count = e->b->number;
	if (e->b->is_constant && (int64_t)count < 1)
		return gs_check_error(c, e->b, GS_ERR_USAGE,
				      "the number of elements after `@' must be at least 1");
	return sequence_type(c, e, element, size, e->b->is_constant ? &count : NULL);
}

/* ---- * and & ---- */

/* `*a' of an array is its first element, which needs no address: INDEX by an implicit 0. */
static struct gs_error *deref_array(struct gs_checker *c, struct gs_expr *e)
{
	uint64_t size;

	GS_TRY(end_node(c, e, 0, &e->b));
	GS_TRY(gs_check_element(c, e->a, e->a->type, false, &e->type, &size));
	e->kind = GS_EXPR_INDEX;
	e->op = GS_OPR_NONE;
	e->is_lvalue = e->a->is_lvalue;
	e->is_register = e->a->is_register;
	return NULL;
}

struct gs_error *gs_check_deref(struct gs_checker *c, struct gs_expr *e)
{
	GS_TRY(gs_check_operand(c, &e->a));
	const struct gs_type *type = gs_check_stripped(c, e->a->type);
	if (type->kind == GS_KIND_ARRAY && e->a->kind != GS_EXPR_STRING)
		return deref_array(c, e);
	GS_TRY(gs_check_decay(c, &e->a));
	type = gs_check_stripped(c, e->a->type);
	if (type->kind != GS_KIND_POINTER) {
		struct gs_error *err =
			gs_check_error(c, e, GS_ERR_USAGE, "`*' needs a pointer, not `%s'",
				       gs_check_type_text(c, e->a->type));
		if (is_integer(c, e->a))
			err = gs_error_hint(err, "an address is given a type by a cast: "
						 "*(type *)x");
		return err;
	}
	if (gs_check_stripped(c, type->target)->kind == GS_KIND_VOID)
		return no_size(c, e->a, GS_TYPE_VOID);
	e->type = type->target;
	e->is_lvalue = true;
	return NULL;
}

struct gs_error *gs_check_address_of(struct gs_checker *c, struct gs_expr *e)
{
	const char *why = NULL;

	GS_TRY(gs_check_operand(c, &e->a));
	if (e->a->kind == GS_EXPR_STRING || !e->a->is_lvalue)
		why = "it is a value, not an object";
	else if (e->a->is_register)
		why = "it is not in memory here";
	else if (e->a->bit_size)
		why = "it is a bit-field";
	if (why)
		return gs_check_error(c, e, GS_ERR_USAGE, "there is no address to take: %s", why);
	return gs_check_pointer_to(c, e->a->type, &e->type);
}
