/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each operation of a plan is: its name, how many operands it has, and its value.
 * In the flow: shared by the plan's builder and printer; the generator compiles the same meaning.
 */
#include "bpf/plan_ops.h"

static const struct {
	const char *name;
	uint8_t operands;
} ops[GS_OP_COUNT] = {
	[GS_OP_CONST] = {"const", 0},
	[GS_OP_REG] = {"reg", 0},
	[GS_OP_BIAS] = {"bias", 0},
	[GS_OP_TLS_BASE] = {"tls", 0},
	[GS_OP_BUILTIN] = {"$", 0},
	[GS_OP_ITEM] = {"item", 0},
	[GS_OP_ABSENT] = {"absent", 0},
	[GS_OP_LOAD] = {"load", 1},
	[GS_OP_ZEXT] = {"zext", 1},
	[GS_OP_SEXT] = {"sext", 1},
	[GS_OP_NEG] = {"-", 1},
	[GS_OP_NOT] = {"~", 1},
	[GS_OP_LNOT] = {"!", 1},
	[GS_OP_BOOL] = {"!!", 1},
	[GS_OP_ADD] = {"+", 2},
	[GS_OP_SUB] = {"-", 2},
	[GS_OP_MUL] = {"*", 2},
	[GS_OP_AND] = {"&", 2},
	[GS_OP_OR] = {"|", 2},
	[GS_OP_XOR] = {"^", 2},
	[GS_OP_SHL] = {"<<", 2},
	[GS_OP_SHR] = {">>", 2},
	[GS_OP_SAR] = {"s>>", 2},
	[GS_OP_UDIV] = {"/", 2},
	[GS_OP_UMOD] = {"%", 2},
	[GS_OP_SDIV] = {"s/", 2},
	[GS_OP_SMOD] = {"s%", 2},
	[GS_OP_EQ] = {"==", 2},
	[GS_OP_NE] = {"!=", 2},
	[GS_OP_ULT] = {"<", 2},
	[GS_OP_ULE] = {"<=", 2},
	[GS_OP_SLT] = {"s<", 2},
	[GS_OP_SLE] = {"s<=", 2},
	[GS_OP_LAND] = {"&&", 2},
	[GS_OP_LOR] = {"||", 2},
	[GS_OP_SELECT] = {"?", 3},
	[GS_OP_STR_EQ] = {"str_eq", 1},
	[GS_OP_STR_PREFIX] = {"str_prefix", 1},
	[GS_OP_STR_FIND] = {"str_find", 1},
	[GS_OP_SAVED] = {"saved", 0},
};

unsigned gs_plan_op_operands(unsigned op)
{
	return op < GS_OP_COUNT ? ops[op].operands : 0;
}

const char *gs_plan_op_name(unsigned op)
{
	return op < GS_OP_COUNT ? ops[op].name : "?";
}

static uint64_t extend(unsigned size, uint64_t v, bool sign)
{
	unsigned drop = 64 - 8 * size;

	if (size == 0 || size >= 8)
		return v;
	v <<= drop;
	return sign ? (uint64_t)((int64_t)v >> drop) : v >> drop;
}

static uint64_t shift(unsigned op, unsigned size, uint64_t a, uint64_t b, unsigned *status)
{
	if (b >= size * 8) {
		*status = GS_STATUS_BAD_SHIFT;
		return 0;
	}
	if (op == GS_OP_SHL)
		return a << b;
	return op == GS_OP_SHR ? a >> b : (uint64_t)((int64_t)a >> b);
}

static uint64_t divide(unsigned op, unsigned size, uint64_t a, uint64_t b, unsigned *status)
{
	bool is_signed = op == GS_OP_SDIV || op == GS_OP_SMOD;
	uint64_t least = extend(size, 1ull << (size * 8 - 1), true);

	if (b == 0 || (is_signed && b == UINT64_MAX && a == least)) {
		*status = GS_STATUS_DIV_ZERO;
		return 0;
	}
	/* INT64_MIN / -1 of a narrower width wraps, as the generated code does. */
	if (is_signed && b == UINT64_MAX)
		return op == GS_OP_SDIV ? 0 - a : 0;
	switch (op) {
	case GS_OP_UDIV:
		return a / b;
	case GS_OP_UMOD:
		return a % b;
	case GS_OP_SDIV:
		return (uint64_t)((int64_t)a / (int64_t)b);
	default:
		return (uint64_t)((int64_t)a % (int64_t)b);
	}
}

static uint64_t compare(unsigned op, uint64_t a, uint64_t b)
{
	switch (op) {
	case GS_OP_EQ:
		return a == b;
	case GS_OP_NE:
		return a != b;
	case GS_OP_ULT:
		return a < b;
	case GS_OP_ULE:
		return a <= b;
	case GS_OP_SLT:
		return (int64_t)a < (int64_t)b;
	default:
		return (int64_t)a <= (int64_t)b;
	}
}

uint64_t gs_plan_op_apply(unsigned op, unsigned size, uint64_t a, uint64_t b, unsigned *status)
{
	switch (op) {
	case GS_OP_ZEXT:
	case GS_OP_SEXT:
		return extend(size, a, op == GS_OP_SEXT);
	case GS_OP_NEG:
		return 0 - a;
	case GS_OP_NOT:
		return ~a;
	case GS_OP_LNOT:
		return a == 0;
	case GS_OP_BOOL:
		return a != 0;
	case GS_OP_ADD:
		return a + b;
	case GS_OP_SUB:
		return a - b;
	case GS_OP_MUL:
		return a * b;
	case GS_OP_AND:
		return a & b;
	case GS_OP_OR:
		return a | b;
	case GS_OP_XOR:
		return a ^ b;
	case GS_OP_SHL:
	case GS_OP_SHR:
	case GS_OP_SAR:
		return shift(op, size, a, b, status);
	case GS_OP_UDIV:
	case GS_OP_UMOD:
	case GS_OP_SDIV:
	case GS_OP_SMOD:
		return divide(op, size ? size : 8, a, b, status);
	default:
		return compare(op, a, b);
	}
}
