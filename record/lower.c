/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values of checked expressions as plan nodes.
 * Between the type checker and the plan; objects (lower_object.c) are loaded here and computed
 * with.
 *
 * A node holds a value extended to 64 bits by its type: narrower results are cut and extended again
 * after each operation, so that they wrap where C's do with -fwrapv. What cannot be computed
 * exactly is an error at its span; what is not there at this site is an ABSENT node, and is noted.
 */
#include <stdarg.h>
#include <stdio.h>

#include "record/resolver.h"

struct gs_error *gs_lower_error(const struct gs_lower *l, const struct gs_expr *e,
				enum gs_error_code code, const char *fmt, ...)
{
	GS_CLEANUP_FREE char *message = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&message, fmt, ap) < 0)
		message = NULL;
	va_end(ap);
	return gs_error_at(gs_error_new(code, "%s", message ? message : fmt), l->text, e->start,
			   e->len);
}

static const struct gs_type *stripped(const struct gs_lower *l, gs_type_id id)
{
	return gs_type_get(l->types, gs_type_strip(l->types, id));
}

static bool is_pointer_like(const struct gs_lower *l, gs_type_id id)
{
	unsigned kind = stripped(l, id)->kind;

	return kind == GS_KIND_POINTER || kind == GS_KIND_UNSPECIFIED ||
	       kind == GS_KIND_REFERENCE || kind == GS_KIND_RVALUE_REFERENCE ||
	       kind == GS_KIND_FUNCTION;
}

bool gs_lower_is_float(const struct gs_lower *l, const struct gs_expr *e)
{
	return stripped(l, e->type)->kind == GS_KIND_FLOAT;
}

/* Whether the node is 0 or 1 whatever it is computed from. */
static bool is_truth(const struct gs_plan *plan, uint16_t node)
{
	unsigned op = node < plan->nnodes ? plan->nodes[node].op : GS_OP_CONST;

	return op == GS_OP_LNOT || op == GS_OP_BOOL || (op >= GS_OP_EQ && op <= GS_OP_LOR) ||
	       (op >= GS_OP_STR_EQ && op <= GS_OP_STR_FIND);
}

/* Extensions and truths of what is one already add nothing: loads and registers are extended when
 * read. */
static bool adds_nothing(const struct gs_plan *plan, enum gs_plan_op op, unsigned size,
			 uint16_t node)
{
	const struct gs_plan_node *n = node < plan->nnodes ? &plan->nodes[node] : NULL;

	if (op == GS_OP_BOOL || op == GS_OP_ZEXT || op == GS_OP_SEXT)
		if (is_truth(plan, node))
			return true;
	if (op == GS_OP_ZEXT)
		return n && (n->op == GS_OP_ZEXT || n->op == GS_OP_LOAD) && n->size <= size;
	return op == GS_OP_SEXT && n && n->op == GS_OP_SEXT && n->size <= size;
}

static uint16_t unary(struct gs_lower *l, enum gs_plan_op op, unsigned size, uint16_t a)
{
	if (adds_nothing(l->plan, op, size, a))
		return a;
	return gs_plan_node(l->plan, op, size, a, GS_NODE_NONE, 0);
}

/* Bytes of the values of type ID in expressions; 0 if it is no integer or pointer. */
static unsigned value_size(const struct gs_lower *l, gs_type_id id)
{
	uint64_t size = gs_type_size(l->types, id);

	if (is_pointer_like(l, id))
		return l->site->pointer_size;
	return gs_type_is_integral(l->types, id) && size <= 8 ? (unsigned)size : 0;
}

uint16_t gs_lower_extend(struct gs_lower *l, uint16_t node, gs_type_id id)
{
	unsigned size = value_size(l, id);

	if (!size || size == 8)
		return node;
	return unary(l, gs_type_is_signed(l->types, id) ? GS_OP_SEXT : GS_OP_ZEXT, size, node);
}

static struct gs_error *no_floats(const struct gs_lower *l, const struct gs_expr *e)
{
	return gs_error_hint(gs_lower_error(l, e, GS_ERR_UNSUPPORTED,
					    "floating-point numbers are recorded and compared in a "
					    "probe, but not computed with"),
			     "record the operands, and compute in the report");
}

/* ---- operators ---- */

static struct gs_error *lower_unary(struct gs_lower *l, const struct gs_expr *e, uint16_t *node)
{
	struct gs_object obj;
	uint16_t a;

	if (e->op == GS_OPR_ADDR) {
		GS_TRY(gs_lower_object(l, e->a, &obj));
		if (obj.kind == GS_OBJECT_MEMORY)
			*node = obj.node;
		else if (obj.kind == GS_OBJECT_ABSENT)
			*node = gs_lower_absent(l, obj.status, obj.reason);
		else
			*node = gs_lower_absent(l, GS_STATUS_UNAVAILABLE,
						"in a register here: it has no address");
		return NULL;
	}
	if (e->op == GS_OPR_NOT) {
		GS_TRY(gs_lower_condition(l, e->a, &a));
		*node = unary(l, GS_OP_LNOT, 8, a);
		return NULL;
	}
	if (gs_lower_is_float(l, e))
		return no_floats(l, e);
	GS_TRY(gs_lower_scalar(l, e->a, &a));
	if (e->op == GS_OPR_NEG)
		a = unary(l, GS_OP_NEG, 8, a);
	else if (e->op == GS_OPR_BITNOT)
		a = unary(l, GS_OP_NOT, 8, a);
	*node = gs_lower_extend(l, a, e->type);
	return NULL;
}

/* The size of what the pointer type ID leads to; void counts as one byte, as in GNU C. */
static uint64_t pointee_size(const struct gs_lower *l, gs_type_id id)
{
	uint64_t size = gs_type_size(l->types, stripped(l, id)->target);

	return size ? size : 1;
}

static struct gs_error *pointer_arithmetic(struct gs_lower *l, const struct gs_expr *e,
					   uint16_t *node)
{
	int64_t size = (int64_t)pointee_size(l, e->a->type);
	uint16_t a, b, bytes = gs_plan_const(l->plan, size);

	if (gs_lower_is_run_time_array(l->types, stripped(l, e->a->type)->target)) {
		size = 0;
		GS_TRY(gs_lower_element_size(l, e->a, &bytes));
	}

	GS_TRY(gs_lower_scalar(l, e->a, &a));
	GS_TRY(gs_lower_scalar(l, e->b, &b));
	if (is_pointer_like(l, e->b->type)) {
		a = gs_plan_node(l->plan, GS_OP_SUB, 8, a, b, 0);
		a = gs_lower_extend(l, a, e->type);
		*node = size == 1 ? a : gs_plan_node(l->plan, GS_OP_SDIV, 8, a, bytes, 0);
		return NULL;
	}
	b = gs_plan_node(l->plan, GS_OP_MUL, 8, b, bytes, 0);
	a = gs_plan_node(l->plan, e->op == GS_OPR_ADD ? GS_OP_ADD : GS_OP_SUB, 8, a, b, 0);
	*node = gs_lower_extend(l, a, e->type);
	return NULL;
}

static bool is_comparison(enum gs_expr_op op)
{
	return op >= GS_OPR_LT && op <= GS_OPR_NE;
}

static struct gs_error *lower_comparison(struct gs_lower *l, const struct gs_expr *e,
					 uint16_t *node)
{
	bool is_signed = gs_type_is_signed(l->types, e->a->type);
	bool swap = e->op == GS_OPR_GT || e->op == GS_OPR_GE;
	enum gs_plan_op op;
	uint16_t a, b;

	if (gs_lower_is_float(l, e->a) || gs_lower_is_float(l, e->b))
		return gs_lower_float_compare(l, e, node);
	GS_TRY(gs_lower_scalar(l, e->a, &a));
	GS_TRY(gs_lower_scalar(l, e->b, &b));
	if (e->op == GS_OPR_EQ || e->op == GS_OPR_NE)
		op = e->op == GS_OPR_EQ ? GS_OP_EQ : GS_OP_NE;
	else if (e->op == GS_OPR_LT || e->op == GS_OPR_GT)
		op = is_signed ? GS_OP_SLT : GS_OP_ULT;
	else
		op = is_signed ? GS_OP_SLE : GS_OP_ULE;
	*node = gs_plan_node(l->plan, op, 8, swap ? b : a, swap ? a : b, 0);
	return NULL;
}

static enum gs_plan_op arithmetic_op(enum gs_expr_op op, bool is_signed)
{
	switch (op) {
	case GS_OPR_MUL:
		return GS_OP_MUL;
	case GS_OPR_DIV:
		return is_signed ? GS_OP_SDIV : GS_OP_UDIV;
	case GS_OPR_MOD:
		return is_signed ? GS_OP_SMOD : GS_OP_UMOD;
	case GS_OPR_ADD:
		return GS_OP_ADD;
	case GS_OPR_SUB:
		return GS_OP_SUB;
	case GS_OPR_SHL:
		return GS_OP_SHL;
	case GS_OPR_SHR:
		return is_signed ? GS_OP_SAR : GS_OP_SHR;
	case GS_OPR_AND:
		return GS_OP_AND;
	case GS_OPR_XOR:
		return GS_OP_XOR;
	case GS_OPR_OR:
		return GS_OP_OR;
	default:
		return GS_OP_COUNT;
	}
}

static struct gs_error *lower_binary(struct gs_lower *l, const struct gs_expr *e, uint16_t *node)
{
	enum gs_plan_op op = arithmetic_op(e->op, gs_type_is_signed(l->types, e->type));
	unsigned size = value_size(l, e->type);
	uint16_t a, b;

	if (e->op == GS_OPR_LAND || e->op == GS_OPR_LOR) {
		GS_TRY(gs_lower_condition(l, e->a, &a));
		GS_TRY(gs_lower_condition(l, e->b, &b));
		*node = gs_plan_node(l->plan, e->op == GS_OPR_LAND ? GS_OP_LAND : GS_OP_LOR, 8, a,
				     b, 0);
		return NULL;
	}
	if (is_comparison(e->op))
		return lower_comparison(l, e, node);
	if (gs_lower_is_float(l, e))
		return no_floats(l, e);
	if (is_pointer_like(l, e->a->type) && (e->op == GS_OPR_ADD || e->op == GS_OPR_SUB))
		return pointer_arithmetic(l, e, node);
	if (op == GS_OP_COUNT || !size)
		return gs_lower_error(l, e, GS_ERR_UNSUPPORTED,
				      "this operation is not computed in a probe");
	GS_TRY(gs_lower_scalar(l, e->a, &a));
	GS_TRY(gs_lower_scalar(l, e->b, &b));
	*node = gs_lower_extend(l, gs_plan_node(l->plan, op, size, a, b, 0), e->type);
	return NULL;
}

static struct gs_error *lower_cast(struct gs_lower *l, const struct gs_expr *e, uint16_t *node)
{
	uint16_t a;

	if (stripped(l, e->type)->kind == GS_KIND_BOOL) {
		GS_TRY(gs_lower_condition(l, e->a, &a));
		*node = unary(l, GS_OP_BOOL, 8, a);
		return NULL;
	}
	if (gs_lower_is_float(l, e) || gs_lower_is_float(l, e->a))
		return no_floats(l, e);
	if (!value_size(l, e->type))
		return gs_lower_error(l, e, GS_ERR_UNSUPPORTED,
				      "a conversion to this type is not computed in a probe");
	GS_TRY(gs_lower_scalar(l, e->a, &a));
	*node = gs_lower_extend(l, a, e->type);
	return NULL;
}

static struct gs_error *lower_call(struct gs_lower *l, const struct gs_expr *e, uint16_t *node)
{
	uint16_t a;

	if (strcmp(e->name, "container_of") == 0) {
		GS_TRY(gs_lower_scalar(l, e->args[0], &a));
		a = gs_plan_node(l->plan, GS_OP_SUB, 8, a,
				 gs_plan_const(l->plan, (int64_t)(e->bit_offset / 8)), 0);
		*node = gs_lower_extend(l, a, e->type);
		return NULL;
	}
	if (gs_lower_is_text(e))
		return gs_lower_text(l, e, node);
	if (gs_lower_is_entry(e))
		return gs_lower_entry_scalar(l, e, node);
	return gs_lower_error(l, e, GS_ERR_UNSUPPORTED, "%s(...) is an item alone, not a number",
			      e->name);
}

static struct gs_error *lower_cond(struct gs_lower *l, const struct gs_expr *e, uint16_t *node)
{
	uint16_t a, b, c;

	if (gs_lower_is_float(l, e))
		return no_floats(l, e);
	GS_TRY(gs_lower_condition(l, e->a, &a));
	GS_TRY(gs_lower_scalar(l, e->b, &b));
	GS_TRY(gs_lower_scalar(l, e->c, &c));
	*node = gs_plan_select(l->plan, a, b, c);
	return NULL;
}

/* ---- all of them ---- */

static struct gs_error *lower_object_value(struct gs_lower *l, const struct gs_expr *e,
					   uint16_t *node)
{
	struct gs_object obj;
	unsigned kind = stripped(l, e->type)->kind;

	GS_TRY(gs_lower_object(l, e, &obj));
	/* A function's value is its address. */
	if (kind == GS_KIND_FUNCTION && obj.kind == GS_OBJECT_MEMORY) {
		*node = obj.node;
		return NULL;
	}
	if (kind != GS_KIND_FUNCTION && !value_size(l, e->type))
		return gs_lower_error(l, e, GS_ERR_UNSUPPORTED,
				      "this is no integer or pointer of at most 64 bits");
	*node = gs_object_value(l, &obj, e->type);
	return NULL;
}

struct gs_error *gs_lower_scalar(struct gs_lower *l, const struct gs_expr *e, uint16_t *node)
{
	if (e->is_constant && !gs_lower_is_float(l, e)) {
		*node = gs_plan_const(l->plan, (int64_t)e->number);
		return NULL;
	}
	if (gs_lower_is_text(e))
		return gs_lower_text(l, e, node);
	switch (e->kind) {
	case GS_EXPR_SIZEOF:
		return gs_lower_size(l, e->a, node);
	case GS_EXPR_UNARY:
		if (e->op == GS_OPR_DEREF)
			break;
		return lower_unary(l, e, node);
	case GS_EXPR_BINARY:
		return lower_binary(l, e, node);
	case GS_EXPR_CAST:
		return lower_cast(l, e, node);
	case GS_EXPR_COND:
		return lower_cond(l, e, node);
	case GS_EXPR_CALL:
		return lower_call(l, e, node);
	case GS_EXPR_FLOAT:
		return no_floats(l, e);
	default:
		break;
	}
	if (gs_lower_is_float(l, e))
		return no_floats(l, e);
	return lower_object_value(l, e, node);
}

struct gs_error *gs_lower_condition(struct gs_lower *l, const struct gs_expr *e, uint16_t *node)
{
	uint16_t value;

	if (gs_lower_is_float(l, e) && !e->is_constant)
		return gs_lower_float_truth(l, e, node);
	if (gs_lower_is_float(l, e)) {
		*node = gs_plan_const(l->plan, e->real != 0);
		return NULL;
	}
	GS_TRY(gs_lower_scalar(l, e, &value));
	*node = unary(l, GS_OP_BOOL, 8, value);
	return NULL;
}
