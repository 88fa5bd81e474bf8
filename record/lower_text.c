/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text in conditions: == and != with a string literal, starts_with, contains.
 * A part of the lowering; the program compares user memory with literals of the plan.
 *
 * A pointer leads to a C string. An array of N characters holds text up to its first NUL or its
 * end, so that a literal of N characters is compared without a NUL, and a longer one is never
 * equal.
 */
#include "record/resolver.h"

#define LITERAL_MAX 254 /* the program's buffer has room for the NUL */

struct text {
	uint16_t address; /* NONE: `object' has the bytes */
	struct gs_object object;
	bool bounded; /* an array: `most' bytes */
	uint64_t most;
};

static bool is_call(const struct gs_expr *e, const char *name)
{
	return e->kind == GS_EXPR_CALL && strcmp(e->name, name) == 0;
}

bool gs_lower_is_text(const struct gs_expr *e)
{
	if (e->kind == GS_EXPR_BINARY)
		return (e->op == GS_OPR_EQ || e->op == GS_OPR_NE) && e->b->kind == GS_EXPR_STRING;
	return is_call(e, "starts_with") || is_call(e, "contains");
}

static const struct gs_type *stripped(const struct gs_lower *l, gs_type_id id)
{
	return gs_type_get(l->types, gs_type_strip(l->types, id));
}

/* A constant limit on the length of what E is: of str(p, n) and slices. */
static struct gs_error *bound(struct gs_lower *l, const struct gs_expr *e, struct text *t)
{
	const struct gs_type *type = stripped(l, e->type);

	if (e->kind == GS_EXPR_CALL) {
		if (e->nargs < 2)
			return NULL;
		if (!e->args[1]->is_constant)
			return gs_lower_error(l, e, GS_ERR_UNSUPPORTED,
					      "a string is only compared up to a constant limit");
		t->most = e->args[1]->number;
	} else if (type->flags & GS_TYPE_COUNT_UNKNOWN) {
		return gs_lower_error(l, e, GS_ERR_UNSUPPORTED,
				      "text of a length that is only known at run time is not "
				      "compared");
	} else {
		t->most = type->count;
	}
	t->bounded = true;
	return NULL;
}

static struct gs_error *find_text(struct gs_lower *l, const struct gs_expr *e, struct text *t)
{
	uint16_t ignored;

	*t = (struct text){.address = GS_NODE_NONE};
	if (e->kind == GS_EXPR_SLICE || e->kind == GS_EXPR_ATSIGN || e->kind == GS_EXPR_CALL) {
		if (e->kind == GS_EXPR_CALL && !is_call(e, "str") && !is_call(e, "buf"))
			return gs_lower_error(l, e, GS_ERR_UNSUPPORTED,
					      "this is not text that a probe compares");
		GS_TRY(bound(l, e, t));
		return gs_lower_range(l, e, &t->address, &ignored);
	}
	if (stripped(l, e->type)->kind != GS_KIND_ARRAY)
		return gs_lower_scalar(l, e, &t->address);
	GS_TRY(gs_lower_object(l, e, &t->object));
	GS_TRY(bound(l, e, t));
	if (t->object.kind == GS_OBJECT_MEMORY)
		t->address = t->object.node;
	else if (t->object.kind == GS_OBJECT_ABSENT)
		t->address = gs_lower_absent(l, t->object.status, t->object.reason);
	return NULL;
}

/* Bytes [at, at + n) of a text in parts equal the literal's. */
static uint16_t parts_equal(struct gs_lower *l, const struct text *t, uint64_t at,
			    const char *literal, size_t n)
{
	uint16_t all = gs_plan_const(l->plan, 1);

	for (size_t i = 0; i < n; i++) {
		uint16_t byte = gs_object_bytes(l, &t->object, at + i, 1);
		uint16_t same = gs_plan_node(l->plan, GS_OP_EQ, 8, byte,
					     gs_plan_const(l->plan, (unsigned char)literal[i]), 0);

		all = gs_plan_node(l->plan, GS_OP_LAND, 8, all, same, 0);
	}
	return all;
}

/* CONTAINS in parts: at any offset, with no NUL before it. Constant text folds to a constant. */
static uint16_t parts_contain(struct gs_lower *l, const struct text *t, const char *literal,
			      size_t n)
{
	uint16_t any = gs_plan_const(l->plan, n == 0), alive = gs_plan_const(l->plan, 1);

	for (uint64_t at = 0; at + n <= t->most && n; at++) {
		uint16_t here = gs_plan_node(l->plan, GS_OP_LAND, 8, alive,
					     parts_equal(l, t, at, literal, n), 0);
		uint16_t byte = gs_object_bytes(l, &t->object, at, 1);

		any = gs_plan_node(l->plan, GS_OP_LOR, 8, any, here, 0);
		alive = gs_plan_node(l->plan, GS_OP_LAND, 8, alive,
				     gs_plan_node(l->plan, GS_OP_BOOL, 8, byte, GS_NODE_NONE, 0),
				     0);
	}
	return any;
}

static uint16_t parts_compare(struct gs_lower *l, const struct text *t, enum gs_plan_op op,
			      const struct gs_expr *literal)
{
	size_t n = literal->string_len;

	if (op == GS_OP_STR_FIND)
		return parts_contain(l, t, literal->string, n);
	if (n > t->most)
		return gs_plan_const(l->plan, 0);
	/* The NUL after the literal counts where the array has room for it. */
	if (op == GS_OP_STR_EQ && n < t->most)
		n++;
	return parts_equal(l, t, 0, literal->string, n);
}

static uint16_t string_node(struct gs_lower *l, enum gs_plan_op op, uint16_t address,
			    const struct gs_expr *literal)
{
	uint32_t at = gs_plan_literal(l->plan, literal->string, literal->string_len);

	return gs_plan_node(l->plan, op, (unsigned)literal->string_len, address, GS_NODE_NONE, at);
}

static struct gs_error *compare(struct gs_lower *l, const struct gs_expr *text,
				const struct gs_expr *literal, enum gs_plan_op op, uint16_t *node)
{
	struct text t;

	if (literal->string_len > LITERAL_MAX)
		return gs_lower_error(l, literal, GS_ERR_LIMIT,
				      "a string in a condition has at most %d bytes", LITERAL_MAX);
	GS_TRY(find_text(l, text, &t));
	if (t.address == GS_NODE_NONE && t.object.kind == GS_OBJECT_PARTS) {
		*node = parts_compare(l, &t, op, literal);
		return NULL;
	}
	if (t.bounded && literal->string_len > t.most) {
		*node = gs_plan_const(l->plan, 0);
		return NULL;
	}
	if (t.bounded && op == GS_OP_STR_FIND)
		return gs_lower_error(l, text, GS_ERR_UNSUPPORTED,
				      "contains(...) looks through C strings, not through text of "
				      "fixed size");
	if (t.bounded && op == GS_OP_STR_EQ && literal->string_len == t.most)
		op = GS_OP_STR_PREFIX;
	*node = string_node(l, op, t.address, literal);
	return NULL;
}

struct gs_error *gs_lower_text(struct gs_lower *l, const struct gs_expr *e, uint16_t *node)
{
	if (e->kind == GS_EXPR_CALL)
		return compare(l, e->args[0], e->args[1],
			       is_call(e, "contains") ? GS_OP_STR_FIND : GS_OP_STR_PREFIX, node);
	GS_TRY(compare(l, e->a, e->b, GS_OP_STR_EQ, node));
	if (e->op == GS_OPR_NE)
		*node = gs_plan_node(l->plan, GS_OP_LNOT, 8, *node, GS_NODE_NONE, 0);
	return NULL;
}
