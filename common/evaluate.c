/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Evaluation of checked expressions over captured values: the walk and the operators.
 * Between the expression checker and --where, --hist, --by; the tests' oracle for probe programs.
 *
 * An operand that is absent makes the result absent with the operand's status: nothing is ever
 * computed from a value that is not there. Conversions are CAST nodes, put there by the checker.
 */
#include "common/evaluate.h"

static unsigned kind_of(evaluator *ev, gs_type_id id)
{
	return gs_type_get(ev->src->types, gs_type_strip(ev->src->types, id))->kind;
}

bool gs_eval_is_real(evaluator *ev, gs_type_id type)
{
	return kind_of(ev, type) == GS_KIND_FLOAT;
}

void gs_eval_bits(evaluator *ev, gs_type_id type, uint64_t bits, struct gs_value *out)
{
	*out = (struct gs_value){.type = type,
				 .status = GS_STATUS_OK,
				 .in_bits = true,
				 .bits = gs_eval_extend(ev, type, bits),
				 .item = -1};
}

static void set_real(evaluator *ev, gs_type_id type, double real, struct gs_value *out)
{
	*out = (struct gs_value){.type = type,
				 .status = GS_STATUS_OK,
				 .in_bits = true,
				 .real = gs_eval_round(ev, type, real),
				 .item = -1};
}

/* ---- operands ---- */

bool gs_eval_operand(evaluator *ev, const struct gs_expr *e, struct gs_operand *operand,
		     struct gs_value *absent)
{
	struct gs_value v;
	bool there;

	gs_evaluate(ev, e, &v);
	*operand = (struct gs_operand){.is_real = gs_eval_is_real(ev, v.type)};
	there = operand->is_real ? gs_value_real(ev->src, &v, &operand->real)
				 : gs_value_scalar(ev->src, &v, &operand->bits);
	if (there)
		return true;
	/* Part of a number is no number; and OK without a number is a type that is not computed
	 * with. */
	gs_value_absent(absent, e->type,
			v.status == GS_STATUS_OK       ? GS_STATUS_UNAVAILABLE
			: gs_status_has_data(v.status) ? GS_STATUS_NOT_COLLECTED
						       : v.status);
	absent->address = gs_status_has_data(v.status) ? 0 : v.address;
	absent->reason = v.status == GS_STATUS_OK ? "not a number that is computed with" : v.reason;
	return false;
}

bool gs_eval_truth(evaluator *ev, const struct gs_expr *e, bool *truth, struct gs_value *absent)
{
	struct gs_operand o;

	if (!gs_eval_operand(ev, e, &o, absent))
		return false;
	*truth = o.is_real ? o.real != 0 : o.bits != 0;
	return true;
}

static void keep_type(const struct gs_expr *e, struct gs_value *out)
{
	out->type = e->type;
}

/* ---- operators ---- */

static void eval_logical(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	bool left, right;

	if (!gs_eval_truth(ev, e->a, &left, out))
		return keep_type(e, out);
	/* As in C, what is on the right may be absent where it does not matter. */
	if (left == (e->op == GS_OPR_LOR)) {
		gs_eval_bits(ev, e->type, left, out);
		return;
	}
	if (!gs_eval_truth(ev, e->b, &right, out))
		return keep_type(e, out);
	gs_eval_bits(ev, e->type, right, out);
}

static void eval_cond(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	bool truth;

	if (gs_eval_truth(ev, e->a, &truth, out))
		gs_evaluate(ev, truth ? e->b : e->c, out);
	out->type = e->type;
}

/* -1, 0, 1; 2 for unordered. */
static int compare(const struct gs_operand *a, const struct gs_operand *b, bool is_signed)
{
	if (a->is_real || b->is_real) {
		if (a->real != a->real || b->real != b->real)
			return 2;
		return a->real < b->real ? -1 : a->real > b->real;
	}
	if (is_signed)
		return (int64_t)a->bits < (int64_t)b->bits ? -1
							   : (int64_t)a->bits > (int64_t)b->bits;
	return a->bits < b->bits ? -1 : a->bits > b->bits;
}

static bool holds(enum gs_expr_op op, int order)
{
	switch (op) {
	case GS_OPR_LT:
		return order == -1;
	case GS_OPR_LE:
		return order == -1 || order == 0;
	case GS_OPR_GT:
		return order == 1;
	case GS_OPR_GE:
		return order == 1 || order == 0;
	case GS_OPR_EQ:
		return order == 0;
	default:
		return order != 0;
	}
}

static void eval_comparison(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	struct gs_operand a, b;
	int order;

	if (gs_eval_is_text_comparison(e)) {
		gs_eval_text_comparison(ev, e, out);
		return;
	}
	if (!gs_eval_operand(ev, e->a, &a, out) || !gs_eval_operand(ev, e->b, &b, out))
		return keep_type(e, out);
	order = compare(&a, &b, gs_type_is_signed(ev->src->types, e->a->type));
	gs_eval_bits(ev, e->type, holds(e->op, order), out);
}

static bool is_pointer(evaluator *ev, const struct gs_expr *e)
{
	unsigned kind = kind_of(ev, e->type);

	return kind == GS_KIND_POINTER || kind == GS_KIND_ARRAY || kind == GS_KIND_UNSPECIFIED;
}

/* pointer +- integer, integer + pointer, pointer - pointer. */
static void eval_pointer_arithmetic(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	bool swapped = !is_pointer(ev, e->a), both = !swapped && is_pointer(ev, e->b);
	const struct gs_expr *pointer = swapped ? e->b : e->a, *other = swapped ? e->a : e->b;
	uint64_t size = gs_eval_element_size(ev, pointer->type);
	struct gs_operand p, n;
	int64_t distance;

	if (!gs_eval_operand(ev, pointer, &p, out) || !gs_eval_operand(ev, other, &n, out))
		return keep_type(e, out);
	if (!both) {
		gs_eval_bits(ev, e->type,
			     e->op == GS_OPR_SUB ? p.bits - n.bits * size : p.bits + n.bits * size,
			     out);
		return;
	}
	if (!size) {
		gs_value_absent(out, e->type, GS_STATUS_DIV_ZERO);
		return;
	}
	/* In the width of ptrdiff_t: with 32-bit pointers the difference wraps at 32 bits. */
	distance = (int64_t)gs_eval_extend(ev, e->type, p.bits - n.bits);
	gs_eval_bits(ev, e->type, size > INT64_MAX ? 0 : (uint64_t)(distance / (int64_t)size), out);
}

static void eval_shift(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	uint64_t width = 8 * gs_value_type_size(ev->src, e->type);
	bool is_signed = gs_type_is_signed(ev->src->types, e->type);
	struct gs_operand a, n;

	if (!gs_eval_operand(ev, e->a, &a, out) || !gs_eval_operand(ev, e->b, &n, out))
		return keep_type(e, out);
	/* A negative count is sign-extended, hence beyond every width. */
	if (n.bits >= width)
		gs_value_absent(out, e->type, GS_STATUS_BAD_SHIFT);
	else if (e->op == GS_OPR_SHL)
		gs_eval_bits(ev, e->type, a.bits << n.bits, out);
	else if (is_signed)
		gs_eval_bits(ev, e->type, (uint64_t)((int64_t)a.bits >> n.bits), out);
	else
		gs_eval_bits(ev, e->type, a.bits >> n.bits, out);
}

static void eval_binary(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	struct gs_operand a, b;

	switch (e->op) {
	case GS_OPR_LAND:
	case GS_OPR_LOR:
		eval_logical(ev, e, out);
		return;
	case GS_OPR_LT:
	case GS_OPR_LE:
	case GS_OPR_GT:
	case GS_OPR_GE:
	case GS_OPR_EQ:
	case GS_OPR_NE:
		eval_comparison(ev, e, out);
		return;
	case GS_OPR_SHL:
	case GS_OPR_SHR:
		eval_shift(ev, e, out);
		return;
	default:
		break;
	}
	if ((e->op == GS_OPR_ADD || e->op == GS_OPR_SUB) &&
	    (is_pointer(ev, e->a) || is_pointer(ev, e->b))) {
		eval_pointer_arithmetic(ev, e, out);
		return;
	}
	if (!gs_eval_operand(ev, e->a, &a, out) || !gs_eval_operand(ev, e->b, &b, out))
		return keep_type(e, out);
	gs_eval_arithmetic(ev, e->op, e->type, &a, &b, out);
}

static void eval_unary(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	struct gs_operand a;
	struct gs_place place;

	if (e->op == GS_OPR_DEREF) {
		gs_eval_place(ev, e, &place);
		gs_eval_read(ev, &place, e->type, 0, out);
		return;
	}
	if (e->op == GS_OPR_ADDR) {
		gs_eval_address_of(ev, e, out);
		return;
	}
	if (!gs_eval_operand(ev, e->a, &a, out))
		return keep_type(e, out);
	if (e->op == GS_OPR_NOT)
		gs_eval_bits(ev, e->type, a.is_real ? a.real == 0 : a.bits == 0, out);
	else if (e->op == GS_OPR_BITNOT)
		gs_eval_bits(ev, e->type, ~a.bits, out);
	else if (a.is_real)
		set_real(ev, e->type, e->op == GS_OPR_NEG ? -a.real : a.real, out);
	else
		gs_eval_bits(ev, e->type, e->op == GS_OPR_NEG ? 0 - a.bits : a.bits, out);
}

/* ---- the walk ---- */

static void eval_constant(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	if (gs_eval_is_real(ev, e->type))
		set_real(ev, e->type, e->real, out);
	else
		gs_eval_bits(ev, e->type, e->number, out);
}

static void eval_string(const struct gs_expr *e, struct gs_value *out)
{
	*out = (struct gs_value){.type = e->type,
				 .status = GS_STATUS_OK,
				 .data = (const uint8_t *)e->string,
				 .len = e->string_len,
				 .item = -1};
}

void gs_evaluate(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	struct gs_place place;

	if (e->is_constant && e->kind != GS_EXPR_STRING) {
		eval_constant(ev, e, out);
		return;
	}
	switch (e->kind) {
	case GS_EXPR_NUMBER:
	case GS_EXPR_FLOAT:
	case GS_EXPR_SIZEOF:
		eval_constant(ev, e, out);
		return;
	case GS_EXPR_STRING:
		eval_string(e, out);
		return;
	case GS_EXPR_NAME:
	case GS_EXPR_BUILTIN:
		*out = (struct gs_value){.type = e->type, .item = -1};
		ev->lookup(ev->ctx, e, out);
		if (out->type == GS_TYPE_VOID)
			out->type = e->type;
		return;
	case GS_EXPR_MEMBER:
	case GS_EXPR_INDEX:
		gs_eval_place(ev, e, &place);
		gs_eval_read(ev, &place, e->type, e->kind == GS_EXPR_MEMBER ? e->bit_size : 0, out);
		return;
	case GS_EXPR_SLICE:
	case GS_EXPR_ATSIGN:
		gs_eval_slice(ev, e, out);
		return;
	case GS_EXPR_UNARY:
		eval_unary(ev, e, out);
		return;
	case GS_EXPR_BINARY:
		eval_binary(ev, e, out);
		return;
	case GS_EXPR_COND:
		eval_cond(ev, e, out);
		return;
	case GS_EXPR_CAST:
		gs_eval_cast(ev, e, out);
		return;
	case GS_EXPR_CALL:
		gs_eval_call(ev, e, out);
		return;
	}
	gs_value_absent(out, e->type, GS_STATUS_UNAVAILABLE);
}
