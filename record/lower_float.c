/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Comparisons of float and double by integer means: eBPF has no floating-point registers.
 * A part of the lowering.
 *
 * IEEE numbers of one width are ordered as sign and magnitude: negated where the sign bit is set
 * they compare as integers, and both zeros are 0. A NaN's magnitude is above infinity's: then all
 * but != is false.
 *
 * A constant is brought to the other operand's own type exactly: where it has no value there, the
 * comparison is with its neighbour below. So `f > 0.1' is C's answer for a float f, which promotes
 * to double.
 */
#include <math.h>

#include "record/resolver.h"

static const struct gs_type *stripped(const struct gs_lower *l, gs_type_id id)
{
	return gs_type_get(l->types, gs_type_strip(l->types, id));
}

static uint16_t op2(struct gs_lower *l, enum gs_plan_op op, uint16_t a, uint16_t b)
{
	return gs_plan_node(l->plan, op, 8, a, b, 0);
}

struct bits {
	uint16_t raw;
	unsigned size; /* 4 or 8 */
};

static uint64_t magnitude_mask(unsigned size)
{
	return size == 4 ? 0x7fffffff : INT64_MAX;
}

static uint64_t infinity_bits(unsigned size)
{
	return size == 4 ? 0x7f800000 : 0x7ff0000000000000;
}

static uint16_t magnitude(struct gs_lower *l, struct bits v)
{
	return op2(l, GS_OP_AND, v.raw, gs_plan_const(l->plan, (int64_t)magnitude_mask(v.size)));
}

static uint16_t order_key(struct gs_lower *l, struct bits v)
{
	uint16_t m = magnitude(l, v);
	uint16_t sign = op2(l, GS_OP_SHR, v.raw, gs_plan_const(l->plan, v.size * 8 - 1));

	return gs_plan_select(l->plan, sign,
			      gs_plan_node(l->plan, GS_OP_NEG, 8, m, GS_NODE_NONE, 0), m);
}

static uint16_t is_number(struct gs_lower *l, struct bits v)
{
	return op2(l, GS_OP_ULE, magnitude(l, v),
		   gs_plan_const(l->plan, (int64_t)infinity_bits(v.size)));
}

static uint16_t compare_keys(struct gs_lower *l, enum gs_expr_op op, uint16_t a, uint16_t b)
{
	switch (op) {
	case GS_OPR_EQ:
		return op2(l, GS_OP_EQ, a, b);
	case GS_OPR_NE:
		return op2(l, GS_OP_NE, a, b);
	case GS_OPR_LT:
		return op2(l, GS_OP_SLT, a, b);
	case GS_OPR_LE:
		return op2(l, GS_OP_SLE, a, b);
	case GS_OPR_GT:
		return op2(l, GS_OP_SLT, b, a);
	default:
		return op2(l, GS_OP_SLE, b, a);
	}
}

static uint16_t compare_bits(struct gs_lower *l, enum gs_expr_op op, struct bits a, struct bits b)
{
	uint16_t numbers = op2(l, GS_OP_LAND, is_number(l, a), is_number(l, b));
	uint16_t result = compare_keys(l, op, order_key(l, a), order_key(l, b));

	if (op != GS_OPR_NE)
		return op2(l, GS_OP_LAND, numbers, result);
	return op2(l, GS_OP_LOR, gs_plan_node(l->plan, GS_OP_LNOT, 8, numbers, GS_NODE_NONE, 0),
		   result);
}

/* ---- operands ---- */

/* The operand under implicit conversions, which add nothing to the value. */
static const struct gs_expr *unconverted(const struct gs_expr *e)
{
	while (e->kind == GS_EXPR_CAST && e->implicit && e->a)
		e = e->a;
	return e;
}

static struct gs_error *load(struct gs_lower *l, const struct gs_expr *e, struct bits *out)
{
	struct gs_object obj;
	const struct gs_type *type = stripped(l, e->type);

	if (!e->is_lvalue || type->kind != GS_KIND_FLOAT || type->encoding != GS_FLOAT_IEEE ||
	    (type->byte_size != 4 && type->byte_size != 8))
		return gs_error_hint(gs_lower_error(l, e, GS_ERR_UNSUPPORTED,
						    "a probe compares float and double variables, "
						    "not what is computed from them"),
				     "record it, and select in the report with --where");
	GS_TRY(gs_lower_object(l, e, &obj));
	out->size = (unsigned)type->byte_size;
	out->raw = gs_object_bytes(l, &obj, 0, out->size);
	return NULL;
}

static struct bits constant_bits(struct gs_lower *l, double v, unsigned size)
{
	uint64_t raw = 0;
	float narrow = (float)v;

	if (size == 4)
		memcpy(&raw, &narrow, sizeof(narrow));
	else
		memcpy(&raw, &v, sizeof(v));
	return (struct bits){gs_plan_const(l->plan, (int64_t)raw), size};
}

/* X OP v for a v that has no value in X's type, whose neighbour below is compared with instead. */
static enum gs_expr_op beside(enum gs_expr_op op)
{
	return op == GS_OPR_LT ? GS_OPR_LE : op == GS_OPR_GE ? GS_OPR_GT : op;
}

static enum gs_expr_op mirrored(enum gs_expr_op op)
{
	switch (op) {
	case GS_OPR_LT:
		return GS_OPR_GT;
	case GS_OPR_LE:
		return GS_OPR_GE;
	case GS_OPR_GT:
		return GS_OPR_LT;
	case GS_OPR_GE:
		return GS_OPR_LE;
	default:
		return op;
	}
}

/* The largest float that is not above V; -infinity is one. */
static float float_below(double v)
{
	float f = (float)v;

	return (double)f > v ? nextafterf(f, -INFINITY) : f;
}

static struct gs_error *compare_float(struct gs_lower *l, const struct gs_expr *e,
				      enum gs_expr_op op, double v, uint16_t *node)
{
	struct bits a;
	float below;

	GS_TRY(load(l, e, &a));
	below = float_below(v);
	if (a.size == 8 || isnan(v) || (double)below == v) {
		*node = compare_bits(l, op, a, constant_bits(l, v, a.size));
	} else if (op == GS_OPR_EQ || op == GS_OPR_NE) {
		*node = gs_plan_const(l->plan, op == GS_OPR_NE);
	} else {
		*node = compare_bits(l, beside(op), a, constant_bits(l, (double)below, 4));
	}
	return NULL;
}

/* An integer with a constant: both are exact in the integers, with one step for the fraction. */
static struct gs_error *compare_integer(struct gs_lower *l, const struct gs_expr *e,
					enum gs_expr_op op, double v, uint16_t *node)
{
	bool is_signed = gs_type_is_signed(l->types, e->type);
	double below = floor(v), least = is_signed ? -0x1p63 : 0, end = is_signed ? 0x1p63 : 0x1p64;
	uint16_t a, b;

	GS_TRY(gs_lower_scalar(l, e, &a));
	/* An 8-byte integer is rounded to double before C compares it. */
	if (gs_type_size(l->types, e->type) > 4)
		return gs_lower_error(l, e, GS_ERR_UNSUPPORTED,
				      "a 64-bit integer is rounded when it is compared with a "
				      "floating-point number: write an integer");
	if (isnan(v) || below < least || below >= end) {
		bool low = below < least;

		*node = gs_plan_const(
			l->plan, op == GS_OPR_NE ||
					 (!isnan(v) && (low ? op == GS_OPR_GT || op == GS_OPR_GE
							    : op == GS_OPR_LT || op == GS_OPR_LE)));
		return NULL;
	}
	if (below != v && (op == GS_OPR_EQ || op == GS_OPR_NE)) {
		*node = gs_plan_const(l->plan, op == GS_OPR_NE);
		return NULL;
	}
	/* At most 32 bits: as 64-bit signed numbers both signednesses compare alike. */
	b = gs_plan_const(l->plan, (int64_t)below);
	*node = compare_keys(l, below != v ? beside(op) : op, a, b);
	return NULL;
}

struct gs_error *gs_lower_float_compare(struct gs_lower *l, const struct gs_expr *e, uint16_t *node)
{
	const struct gs_expr *a = unconverted(e->a), *b = unconverted(e->b);
	enum gs_expr_op op = e->op;
	struct bits x, y;

	if (e->a->is_constant && !e->b->is_constant) {
		const struct gs_expr *swap = a;

		a = b;
		b = swap;
		op = mirrored(op);
	}
	if (e->a->is_constant || e->b->is_constant) {
		/* The converted constant: an integer literal is a number of the common type there.
		 */
		const struct gs_expr *constant = e->b->is_constant ? e->b : e->a;
		double v = gs_lower_is_float(l, constant) ? constant->real
							  : (double)(int64_t)constant->number;

		return gs_lower_is_float(l, a) ? compare_float(l, a, op, v, node)
					       : compare_integer(l, a, op, v, node);
	}
	GS_TRY(load(l, a, &x));
	GS_TRY(load(l, b, &y));
	if (x.size != y.size)
		return gs_lower_error(l, e, GS_ERR_UNSUPPORTED,
				      "a float and a double are not compared in a probe");
	*node = compare_bits(l, op, x, y);
	return NULL;
}

struct gs_error *gs_lower_float_truth(struct gs_lower *l, const struct gs_expr *e, uint16_t *node)
{
	struct bits v;

	GS_TRY(load(l, unconverted(e), &v));
	*node = gs_plan_node(l->plan, GS_OP_BOOL, 8, magnitude(l, v), GS_NODE_NONE, 0);
	return NULL;
}
