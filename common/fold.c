/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Constant folding of typed nodes, as the program would compute them with -fwrapv.
 * Called by the checker on each node after its operands; lowering and evaluation take the value.
 *
 * The tree stays as it is: a constant node has is_constant and its value beside its operands. What
 * has no value in C (division by zero, shifts out of range, floats out of an integer's range) stays
 * unfolded, and becomes a status at run time.
 */
#include "common/check.h"

struct number {
	struct gs_arith arith; /* class NONE: a pointer, unsigned */
	uint64_t bits;
	double real;
};

uint64_t gs_fold_extend(const struct gs_checker *c, gs_type_id id, uint64_t bits)
{
	struct gs_arith arith = gs_check_arith(c, id);
	unsigned size = arith.class == GS_ARITH_NONE ? c->scope->pointer_size : arith.size;
	unsigned shift;

	if (gs_check_stripped(c, id)->kind == GS_KIND_BOOL)
		return bits != 0;
	if (size >= 8 || size == 0)
		return bits;
	shift = 64 - size * 8;
	return arith.is_signed ? (uint64_t)((int64_t)(bits << shift) >> shift)
			       : bits << shift >> shift;
}

static struct number number_of(const struct gs_checker *c, const struct gs_expr *e)
{
	return (struct number){gs_check_arith(c, e->type), e->number, e->real};
}

static bool truth(const struct number *n)
{
	return n->arith.class == GS_ARITH_FLOAT ? n->real != 0 : n->bits != 0;
}

static void set_bits(const struct gs_checker *c, struct gs_expr *e, uint64_t bits)
{
	e->is_constant = true;
	e->number = gs_fold_extend(c, e->type, bits);
}

static void set_real(const struct gs_checker *c, struct gs_expr *e, double real)
{
	e->is_constant = true;
	/* FLT_EVAL_METHOD is 0 where double is not x87: each result is rounded to its type. */
	e->real = gs_check_arith(c, e->type).size == 4 ? (double)(float)real : real;
}

/* ---- casts ---- */

static void int_to_float(const struct gs_checker *c, struct gs_expr *e, const struct number *n)
{
	bool single = gs_check_arith(c, e->type).size == 4;

	e->is_constant = true;
	/* Straight to the type: rounding twice would differ. */
	if (n->arith.is_signed)
		e->real = single ? (double)(float)(int64_t)n->bits : (double)(int64_t)n->bits;
	else
		e->real = single ? (double)(float)n->bits : (double)n->bits;
}

/* C 6.3.1.4: what does not fit after truncation has no value. */
static void float_to_int(const struct gs_checker *c, struct gs_expr *e, double real)
{
	struct gs_arith to = gs_check_arith(c, e->type);
	double limit = (double)(to.is_signed ? (uint64_t)1 << (to.size * 8 - 1) : UINT64_MAX);

	if (!to.is_signed && to.size < 8)
		limit = (double)((uint64_t)1 << (to.size * 8));
	/* 2^64 is what UINT64_MAX rounds to. */
	if (to.is_signed) {
		/* Truncation lets through what is less than one below the least value. */
		bool low = to.size < 8 ? real <= -limit - 1 : real < -limit;
		if (low || !(real < limit))
			return;
		set_bits(c, e, (uint64_t)(int64_t)real);
	} else if (real > -1 && real < limit) {
		set_bits(c, e, (uint64_t)real);
	}
}

static void fold_cast(const struct gs_checker *c, struct gs_expr *e)
{
	struct gs_arith to = gs_check_arith(c, e->type);
	bool to_bool = gs_check_stripped(c, e->type)->kind == GS_KIND_BOOL;

	if (!e->a->is_constant)
		return;
	struct number n = number_of(c, e->a);
	if (to_bool)
		set_bits(c, e, truth(&n));
	else if (to.class == GS_ARITH_FLOAT && n.arith.class == GS_ARITH_FLOAT)
		set_real(c, e, n.real);
	else if (to.class == GS_ARITH_FLOAT)
		int_to_float(c, e, &n);
	else if (n.arith.class == GS_ARITH_FLOAT)
		float_to_int(c, e, n.real);
	else
		set_bits(c, e, n.bits);
}

/* ---- operators ---- */

static void fold_unary(const struct gs_checker *c, struct gs_expr *e)
{
	if (!e->a || !e->a->is_constant)
		return;
	struct number n = number_of(c, e->a);
	bool real = n.arith.class == GS_ARITH_FLOAT;

	switch (e->op) {
	case GS_OPR_POS:
		real ? set_real(c, e, n.real) : set_bits(c, e, n.bits);
		break;
	case GS_OPR_NEG:
		real ? set_real(c, e, -n.real) : set_bits(c, e, 0 - n.bits);
		break;
	case GS_OPR_BITNOT:
		set_bits(c, e, ~n.bits);
		break;
	case GS_OPR_NOT:
		set_bits(c, e, !truth(&n));
		break;
	default:
		break;
	}
}

static bool compare_ints(enum gs_expr_op op, const struct number *a, const struct number *b)
{
	bool less = a->arith.is_signed ? (int64_t)a->bits < (int64_t)b->bits : a->bits < b->bits;
	bool equal = a->bits == b->bits;

	switch (op) {
	case GS_OPR_LT:
		return less;
	case GS_OPR_LE:
		return less || equal;
	case GS_OPR_GT:
		return !less && !equal;
	case GS_OPR_GE:
		return !less;
	case GS_OPR_EQ:
		return equal;
	default:
		return !equal;
	}
}

static bool compare_reals(enum gs_expr_op op, double a, double b)
{
	switch (op) {
	case GS_OPR_LT:
		return a < b;
	case GS_OPR_LE:
		return a <= b;
	case GS_OPR_GT:
		return a > b;
	case GS_OPR_GE:
		return a >= b;
	case GS_OPR_EQ:
		return a == b;
	default:
		return a != b;
	}
}

static void fold_reals(const struct gs_checker *c, struct gs_expr *e, double a, double b)
{
	switch (e->op) {
	case GS_OPR_ADD:
		set_real(c, e, a + b);
		break;
	case GS_OPR_SUB:
		set_real(c, e, a - b);
		break;
	case GS_OPR_MUL:
		set_real(c, e, a * b);
		break;
	case GS_OPR_DIV:
		/* IEEE 754 gives infinities and NaN: values, not faults. */
		set_real(c, e, a / b);
		break;
	default:
		break;
	}
}

static void fold_division(const struct gs_checker *c, struct gs_expr *e, const struct number *a,
			  const struct number *b)
{
	bool div = e->op == GS_OPR_DIV;
	uint64_t least = (uint64_t)-1 << (a->arith.size * 8 - 1);

	if (b->bits == 0)
		return;
	if (!a->arith.is_signed) {
		set_bits(c, e, div ? a->bits / b->bits : a->bits % b->bits);
		return;
	}
	if (a->bits == least && b->bits == UINT64_MAX)
		return;
	int64_t x = (int64_t)a->bits, y = (int64_t)b->bits;
	set_bits(c, e, (uint64_t)(div ? x / y : x % y));
}

static void fold_shift(const struct gs_checker *c, struct gs_expr *e, const struct number *a,
		       const struct number *b)
{
	/* A negative count is huge as unsigned. */
	if (b->bits >= a->arith.size * 8u)
		return;
	if (e->op == GS_OPR_SHL)
		set_bits(c, e, a->bits << b->bits);
	else if (a->arith.is_signed)
		set_bits(c, e, (uint64_t)((int64_t)a->bits >> b->bits));
	else
		set_bits(c, e, a->bits >> b->bits);
}

static void fold_ints(const struct gs_checker *c, struct gs_expr *e, const struct number *a,
		      const struct number *b)
{
	switch (e->op) {
	case GS_OPR_ADD:
		set_bits(c, e, a->bits + b->bits);
		break;
	case GS_OPR_SUB:
		set_bits(c, e, a->bits - b->bits);
		break;
	case GS_OPR_MUL:
		set_bits(c, e, a->bits * b->bits);
		break;
	case GS_OPR_AND:
		set_bits(c, e, a->bits & b->bits);
		break;
	case GS_OPR_OR:
		set_bits(c, e, a->bits | b->bits);
		break;
	case GS_OPR_XOR:
		set_bits(c, e, a->bits ^ b->bits);
		break;
	case GS_OPR_DIV:
	case GS_OPR_MOD:
		fold_division(c, e, a, b);
		break;
	case GS_OPR_SHL:
	case GS_OPR_SHR:
		fold_shift(c, e, a, b);
		break;
	default:
		break;
	}
}

/* Short circuit: `0 && x' is 0 whatever x is; `x && 0' is not, for x may have no value. */
static void fold_logical(const struct gs_checker *c, struct gs_expr *e)
{
	bool is_and = e->op == GS_OPR_LAND;

	if (!e->a->is_constant)
		return;
	struct number a = number_of(c, e->a), b = number_of(c, e->b);
	if (truth(&a) != is_and)
		set_bits(c, e, !is_and);
	else if (e->b->is_constant)
		set_bits(c, e, truth(&b));
}

static void fold_binary(const struct gs_checker *c, struct gs_expr *e)
{
	if (e->op == GS_OPR_LAND || e->op == GS_OPR_LOR) {
		fold_logical(c, e);
		return;
	}
	if (!e->a->is_constant || !e->b->is_constant)
		return;
	struct number a = number_of(c, e->a), b = number_of(c, e->b);
	bool real = a.arith.class == GS_ARITH_FLOAT;
	if (e->op >= GS_OPR_LT && e->op <= GS_OPR_NE)
		set_bits(c, e,
			 real ? compare_reals(e->op, a.real, b.real) : compare_ints(e->op, &a, &b));
	else if (real)
		fold_reals(c, e, a.real, b.real);
	else if (a.arith.class == GS_ARITH_INT && b.arith.class == GS_ARITH_INT)
		fold_ints(c, e, &a, &b);
}

static void fold_cond(const struct gs_checker *c, struct gs_expr *e)
{
	if (!e->a->is_constant)
		return;
	struct number a = number_of(c, e->a);
	const struct gs_expr *taken = truth(&a) ? e->b : e->c;
	e->is_constant = taken->is_constant;
	e->number = taken->number;
	e->real = taken->real;
}

void gs_fold(const struct gs_checker *c, struct gs_expr *e)
{
	switch (e->kind) {
	case GS_EXPR_CAST:
		fold_cast(c, e);
		break;
	case GS_EXPR_UNARY:
		fold_unary(c, e);
		break;
	case GS_EXPR_BINARY:
		fold_binary(c, e);
		break;
	case GS_EXPR_COND:
		fold_cond(c, e);
		break;
	default:
		break;
	}
}
