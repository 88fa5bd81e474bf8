/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Casts and arithmetic of evaluation: C's, with -fwrapv, and a status where C has no result.
 * Called by the walk in evaluate.c.
 */
#include "common/evaluate.h"

#include <math.h>

#include "common/bytes.h"

static const struct gs_type *type_of(evaluator *ev, gs_type_id id)
{
	return gs_type_get(ev->src->types, gs_type_strip(ev->src->types, id));
}

uint64_t gs_eval_extend(evaluator *ev, gs_type_id type, uint64_t bits)
{
	return gs_value_extend(ev->src, type, bits);
}

/* The binary formats narrower than double: bits of precision, and the exponent of the least bit. */
static double round_to(double real, int precision, int exponent_min, double limit)
{
	uint64_t bits;
	int exponent;
	double v;

	if (!isfinite(real) || real == 0)
		return real;
	v = frexp(fabs(real), &exponent);
	bits = (uint64_t)ldexp(v, 53);
	v = gs_round_binary(bits, exponent - 53, precision, exponent_min);
	if (v >= limit)
		v = (double)INFINITY;
	return copysign(v, real);
}

double gs_eval_round(evaluator *ev, gs_type_id id, double real)
{
	const struct gs_type *type = type_of(ev, id);

	if (type->encoding == GS_FLOAT_BFLOAT)
		return round_to(real, 8, -133, 0x1p128);
	if (type->encoding != GS_FLOAT_IEEE)
		return real;
	if (type->byte_size == 4)
		return (double)(float)real;
	return type->byte_size == 2 ? round_to(real, 11, -24, 0x1p16) : real;
}

/* ---- casts ---- */

static void to_integer(evaluator *ev, gs_type_id type, double real, struct gs_value *out)
{
	uint64_t size = gs_value_type_size(ev->src, type);
	bool is_signed = gs_type_is_signed(ev->src->types, type);
	double whole = trunc(real), limit, least;

	if (type_of(ev, type)->kind == GS_KIND_BOOL) {
		gs_eval_bits(ev, type, real != 0, out);
		return;
	}
	/* C 6.3.1.4: a value that does not fit has no defined result; processors differ there. */
	limit = ldexp(1, (int)size * 8 - is_signed);
	least = is_signed ? -limit : 0;
	if (!(size >= 1 && size <= 8 && whole >= least && whole < limit))
		gs_value_absent(out, type, GS_STATUS_BAD_RANGE);
	else if (whole < 0)
		gs_eval_bits(ev, type, (uint64_t)(int64_t)whole, out);
	else
		gs_eval_bits(ev, type, (uint64_t)whole, out);
}

static double to_real(evaluator *ev, gs_type_id type, uint64_t bits, bool is_signed)
{
	uint64_t magnitude = is_signed && (int64_t)bits < 0 ? 0 - bits : bits;
	const struct gs_type *t = type_of(ev, type);
	double real;

	/* Rounded once, to the type itself: through double it could be rounded twice. */
	if (t->encoding == GS_FLOAT_IEEE && t->byte_size == 4)
		real = (double)(float)magnitude;
	else if (t->encoding == GS_FLOAT_IEEE && t->byte_size == 2)
		real = gs_round_binary(magnitude, 0, 11, -24);
	else if (t->encoding == GS_FLOAT_BFLOAT)
		real = gs_round_binary(magnitude, 0, 8, -133);
	else
		real = (double)magnitude;
	return gs_eval_round(ev, type, magnitude == bits ? real : -real);
}

static bool is_number(unsigned kind)
{
	return kind == GS_KIND_BOOL || kind == GS_KIND_INT || kind == GS_KIND_ENUM ||
	       kind == GS_KIND_POINTER || kind == GS_KIND_UNSPECIFIED ||
	       kind == GS_KIND_REFERENCE || kind == GS_KIND_RVALUE_REFERENCE;
}

/* A 128-bit integer can be narrowed: its low half says all. */
static bool low_half(evaluator *ev, const struct gs_value *v, uint64_t *bits)
{
	const struct gs_type *type = type_of(ev, v->type);

	if (type->kind != GS_KIND_INT || type->byte_size != 16 || v->status != GS_STATUS_OK ||
	    v->in_bits || v->len < 16)
		return false;
	*bits = gs_load_uint(v->data + (ev->src->big_endian ? 8 : 0), 8, ev->src->big_endian);
	return true;
}

static void to_number(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	bool to_bool = type_of(ev, e->type)->kind == GS_KIND_BOOL;
	struct gs_value v, absent;
	struct gs_operand o;

	gs_evaluate(ev, e->a, &v);
	if (!to_bool && !gs_eval_is_real(ev, e->type) && low_half(ev, &v, &o.bits)) {
		gs_eval_bits(ev, e->type, o.bits, out);
		return;
	}
	if (!gs_eval_operand(ev, e->a, &o, &absent)) {
		*out = absent;
		out->type = e->type;
	} else if (gs_eval_is_real(ev, e->type)) {
		gs_eval_bits(ev, e->type, 0, out);
		out->real = o.is_real ? gs_eval_round(ev, e->type, o.real)
				      : to_real(ev, e->type, o.bits,
						gs_type_is_signed(ev->src->types, v.type));
	} else if (o.is_real) {
		to_integer(ev, e->type, o.real, out);
	} else {
		gs_eval_bits(ev, e->type, to_bool ? o.bits != 0 : o.bits, out);
		/* The same address under another type is still the captured pointer: followed. */
		if (out->bits == o.bits) {
			out->item = v.item;
			out->item_offset = v.item_offset;
		}
	}
}

void gs_eval_cast(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	unsigned to = type_of(ev, e->type)->kind, from = type_of(ev, e->a->type)->kind;
	struct gs_place place;

	if (from == GS_KIND_ARRAY && is_number(to)) {
		gs_eval_address_of(ev, e, out);
	} else if ((is_number(to) || to == GS_KIND_FLOAT) &&
		   (is_number(from) || from == GS_KIND_FLOAT)) {
		to_number(ev, e, out);
	} else {
		/* The same bytes under another type: qualifiers, typedefs, an array's view. */
		gs_eval_place(ev, e->a, &place);
		gs_eval_read(ev, &place, e->type, 0, out);
	}
}

/* ---- arithmetic ---- */

static void real_arithmetic(evaluator *ev, enum gs_expr_op op, gs_type_id type, double a, double b,
			    struct gs_value *out)
{
	double r;

	switch (op) {
	case GS_OPR_ADD:
		r = a + b;
		break;
	case GS_OPR_SUB:
		r = a - b;
		break;
	case GS_OPR_MUL:
		r = a * b;
		break;
	case GS_OPR_DIV:
		r = a / b;
		break;
	default:
		gs_value_absent(out, type, GS_STATUS_UNAVAILABLE);
		return;
	}
	/* A float result computed in double and rounded once more is the float result: 53 >= 2 * 24
	 * + 2. */
	gs_eval_bits(ev, type, 0, out);
	out->real = gs_eval_round(ev, type, r);
}

static void divide(evaluator *ev, enum gs_expr_op op, gs_type_id type, uint64_t a, uint64_t b,
		   struct gs_value *out)
{
	bool is_signed = gs_type_is_signed(ev->src->types, type);
	uint64_t size = gs_value_type_size(ev->src, type);
	int64_t least = size >= 8 ? INT64_MIN : -((int64_t)1 << (8 * size - 1));

	if (!b || (is_signed && (int64_t)a == least && (int64_t)b == -1))
		gs_value_absent(out, type, GS_STATUS_DIV_ZERO);
	else if (is_signed)
		gs_eval_bits(ev, type,
			     (uint64_t)(op == GS_OPR_DIV ? (int64_t)a / (int64_t)b
							 : (int64_t)a % (int64_t)b),
			     out);
	else
		gs_eval_bits(ev, type, op == GS_OPR_DIV ? a / b : a % b, out);
}

void gs_eval_arithmetic(evaluator *ev, enum gs_expr_op op, gs_type_id type,
			const struct gs_operand *a, const struct gs_operand *b,
			struct gs_value *out)
{
	uint64_t size = gs_value_type_size(ev->src, type);

	if (gs_eval_is_real(ev, type)) {
		real_arithmetic(ev, op, type, a->real, b->real, out);
		return;
	}
	if (size < 1 || size > 8 || a->is_real || b->is_real) {
		gs_value_absent(out, type, GS_STATUS_UNAVAILABLE);
		out->reason = "not a number that is computed with";
		return;
	}
	switch (op) {
	case GS_OPR_ADD:
		gs_eval_bits(ev, type, a->bits + b->bits, out);
		break;
	case GS_OPR_SUB:
		gs_eval_bits(ev, type, a->bits - b->bits, out);
		break;
	case GS_OPR_MUL:
		gs_eval_bits(ev, type, a->bits * b->bits, out);
		break;
	case GS_OPR_AND:
		gs_eval_bits(ev, type, a->bits & b->bits, out);
		break;
	case GS_OPR_XOR:
		gs_eval_bits(ev, type, a->bits ^ b->bits, out);
		break;
	case GS_OPR_OR:
		gs_eval_bits(ev, type, a->bits | b->bits, out);
		break;
	case GS_OPR_DIV:
	case GS_OPR_MOD:
		divide(ev, op, type, a->bits, b->bits, out);
		break;
	default:
		gs_value_absent(out, type, GS_STATUS_UNAVAILABLE);
	}
}
