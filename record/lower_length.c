/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sizes that only the run knows: of arrays of variable length, their rows, and what pointers to
 * such arrays lead to. Between the lowering of places (lower_object.c) and DWARF's bounds.
 *
 * A type cannot say them: they belong to the variable that was declared so. It is found at the root
 * of the expression; each index or dereference on the way to it is one dimension further in.
 */
#include "record/resolver.h"

static const struct gs_type *stripped(const struct gs_lower *l, gs_type_id id)
{
	return gs_type_get(l->types, gs_type_strip(l->types, id));
}

bool gs_lower_is_run_time_array(const struct gs_types *types, gs_type_id id)
{
	const struct gs_type *type = gs_type_get(types, gs_type_strip(types, id));

	return type->kind == GS_KIND_ARRAY && (type->flags & GS_TYPE_RUN_TIME_COUNT);
}

/* The variable that E begins at, and how many dimensions E is inside of it. */
static const struct gs_operand *root_of(const struct gs_lower *l, const struct gs_expr *e,
					unsigned *level)
{
	unsigned n = 0;

	for (; e; e = e->a) {
		switch (e->kind) {
		case GS_EXPR_NAME:
			*level = n;
			return e->binding && e->binding <= l->site->noperands
				       ? &l->site->operands[e->binding - 1]
				       : NULL;
		case GS_EXPR_INDEX:
			n++;
			break;
		case GS_EXPR_UNARY:
			if (e->op == GS_OPR_DEREF)
				n++;
			else if (e->op != GS_OPR_ADDR)
				return NULL;
			/* An array that decays leads to its elements as it does itself. */
			else if (!e->implicit && n-- == 0)
				return NULL;
			break;
		case GS_EXPR_BINARY:
			if (e->op != GS_OPR_ADD && e->op != GS_OPR_SUB)
				return NULL;
			break;
		case GS_EXPR_CAST:
			if (!e->implicit)
				return NULL;
			break;
		default:
			return NULL;
		}
	}
	return NULL;
}

static struct gs_error *count_node(struct gs_lower *l, const struct gs_operand *root,
				   unsigned level, uint16_t *node)
{
	struct gs_location loc;

	*node = GS_NODE_NONE;
	if (!root || root->kind != GS_OPERAND_VARIABLE || !l->site->place->context) {
		*node = gs_lower_absent(l, GS_STATUS_UNAVAILABLE, "its length is not known here");
		return NULL;
	}
	GS_TRY(gs_context_dimension(l->site->place->context, &root->var, level, l->plan, &loc));
	*node = loc.kind == GS_LOC_VALUE ? loc.node
					 : gs_lower_absent(l, GS_STATUS_UNAVAILABLE, loc.reason);
	return NULL;
}

static struct gs_error *size_node(struct gs_lower *l, const struct gs_operand *root, unsigned level,
				  gs_type_id id, uint16_t *node)
{
	uint16_t count, size;

	if (!gs_lower_is_run_time_array(l->types, id)) {
		*node = gs_plan_const(l->plan, (int64_t)gs_type_size(l->types, id));
		return NULL;
	}
	GS_TRY(count_node(l, root, level, &count));
	GS_TRY(size_node(l, root, level + 1, stripped(l, id)->target, &size));
	*node = gs_plan_node(l->plan, GS_OP_MUL, 8, count, size, 0);
	return NULL;
}

struct gs_error *gs_lower_size(struct gs_lower *l, const struct gs_expr *e, uint16_t *node)
{
	unsigned level = 0;
	const struct gs_operand *root = root_of(l, e, &level);

	return size_node(l, root, level, e->type, node);
}

struct gs_error *gs_lower_element_size(struct gs_lower *l, const struct gs_expr *e, uint16_t *node)
{
	unsigned level = 0;
	const struct gs_operand *root = root_of(l, e, &level);

	return size_node(l, root, level + 1, stripped(l, e->type)->target, node);
}

struct gs_error *gs_lower_length(struct gs_lower *l, const struct gs_want *want, uint16_t *node)
{
	unsigned level = 0;
	const struct gs_operand *root =
		want->tree ? root_of(l, want->tree, &level) : &want->operand;

	return count_node(l, root, level, node);
}
