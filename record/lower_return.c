/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known at the exit of a function alone: its result, how long it took, and what was saved
 * at its entry. Between checked expressions and plan nodes, beside lower_object.c.
 *
 * A call is told by its stack pointer at the entry, which the exit has again. So that a stale frame
 * is not taken for it where stacks are copied or switched, what a function leaves as it was by the
 * ABI must be the same too: slot 0 of a frame is a sum of those registers.
 */
#include "record/resolver.h"

#define STACK_POINTER 7
/* The most that is kept of an aggregate, for one slot is the sum. */
#define ENTRY_BYTES_MAX ((GS_PLAN_MAX_SAVES - 1) * 8)
#define MIX 0x9e3779b97f4a7c15ull /* odd: multiplication loses nothing */

static uint16_t reg(struct gs_plan *plan, unsigned number)
{
	return gs_plan_node(plan, GS_OP_REG, 8, GS_NODE_NONE, GS_NODE_NONE, number);
}

static uint16_t add_const(struct gs_plan *plan, uint16_t node, int64_t v)
{
	return gs_plan_node(plan, GS_OP_ADD, 8, node, gs_plan_const(plan, v), 0);
}

/* The registers that a function preserves, as one number. */
static uint16_t preserved(struct gs_plan *plan, unsigned pointer_size)
{
	static const uint8_t of_64[] = {3, 6, 12, 13, 14, 15}, of_32[] = {3, 6, 4, 5};
	const uint8_t *list = pointer_size == 8 ? of_64 : of_32;
	size_t n = pointer_size == 8 ? sizeof(of_64) : sizeof(of_32);
	uint16_t sum = reg(plan, list[0]);

	for (size_t i = 1; i < n; i++) {
		sum = gs_plan_node(plan, GS_OP_MUL, 8, sum, gs_plan_const(plan, (int64_t)MIX), 0);
		sum = gs_plan_node(plan, GS_OP_ADD, 8, sum, reg(plan, list[i]), 0);
	}
	return sum;
}

void gs_lower_entry_init(struct gs_plan *plan, const struct gs_site *entry)
{
	gs_plan_init(plan);
	plan->kind = GS_PLAN_ENTRY;
	plan->frame = reg(plan, STACK_POINTER);
	gs_plan_save(plan, preserved(plan, entry->pointer_size));
}

/* ---- when an exit is one ---- */

static uint16_t flag(struct gs_plan *plan, unsigned bit)
{
	uint16_t node = gs_plan_node(plan, GS_OP_SHR, 8, reg(plan, GS_PLAN_REG_FLAGS),
				     gs_plan_const(plan, bit), 0);

	return gs_plan_node(plan, GS_OP_AND, 8, node, gs_plan_const(plan, 1), 0);
}

/* Intel SDM volume 1, appendix B: the conditions in pairs, the odd one of which is the opposite. */
static uint16_t condition(struct gs_plan *plan, unsigned code)
{
	enum { CF = 0, PF = 2, ZF = 6, SF = 7, OF = 11 };
	uint16_t node;

	switch (code / 2) {
	case 0:
		node = flag(plan, OF);
		break;
	case 1:
		node = flag(plan, CF);
		break;
	case 2:
		node = flag(plan, ZF);
		break;
	case 3:
		node = gs_plan_node(plan, GS_OP_OR, 8, flag(plan, CF), flag(plan, ZF), 0);
		break;
	case 4:
		node = flag(plan, SF);
		break;
	case 5:
		node = flag(plan, PF);
		break;
	default:
		node = gs_plan_node(plan, GS_OP_XOR, 8, flag(plan, SF), flag(plan, OF), 0);
		if (code / 2 == 7)
			node = gs_plan_node(plan, GS_OP_OR, 8, node, flag(plan, ZF), 0);
	}
	return code & 1 ? gs_plan_node(plan, GS_OP_LNOT, 8, node, GS_NODE_NONE, 0) : node;
}

static uint16_t bias(struct gs_plan *plan)
{
	return gs_plan_node(plan, GS_OP_BIAS, 8, GS_NODE_NONE, GS_NODE_NONE, 0);
}

static uint16_t jump_target(struct gs_plan *plan, const struct gs_exit_point *e,
			    unsigned pointer_size)
{
	uint16_t node = gs_plan_const(plan, e->disp);

	if (e->is_image)
		node = gs_plan_node(plan, GS_OP_ADD, 8, bias(plan), node, 0);
	if (e->base >= 0)
		node = gs_plan_node(plan, GS_OP_ADD, 8, reg(plan, (unsigned)e->base), node, 0);
	if (e->index >= 0)
		node = gs_plan_node(plan, GS_OP_ADD, 8, node,
				    gs_plan_node(plan, GS_OP_MUL, 8, reg(plan, (unsigned)e->index),
						 gs_plan_const(plan, e->scale), 0),
				    0);
	if (pointer_size == 4)
		node = gs_plan_node(plan, GS_OP_ZEXT, 4, node, GS_NODE_NONE, 0);
	if (e->is_memory)
		node = gs_plan_node(plan, GS_OP_LOAD, pointer_size, node, GS_NODE_NONE, 0);
	return node;
}

/* The target is outside of the function. */
static uint16_t leads_out(struct gs_plan *plan, const struct gs_exit_point *e,
			  unsigned pointer_size)
{
	uint16_t target =
		gs_plan_node(plan, GS_OP_SUB, 8, jump_target(plan, e, pointer_size), bias(plan), 0);
	uint16_t inside = GS_NODE_NONE;

	for (size_t i = 0; i < e->nranges; i++) {
		uint16_t at = add_const(plan, target, -(int64_t)e->ranges[i][0]);
		uint64_t size = e->ranges[i][1] - e->ranges[i][0];
		uint16_t in =
			gs_plan_node(plan, GS_OP_ULT, 8, at, gs_plan_const(plan, (int64_t)size), 0);

		inside = inside == GS_NODE_NONE ? in
						: gs_plan_node(plan, GS_OP_LOR, 8, inside, in, 0);
	}
	return gs_plan_node(plan, GS_OP_LNOT, 8, inside, GS_NODE_NONE, 0);
}

void gs_lower_frame(struct gs_lower *l)
{
	const struct gs_exit_point *e = l->site->place->exit;
	struct gs_plan *plan = l->plan;
	unsigned word = l->site->pointer_size;

	plan->frame = reg(plan, STACK_POINTER);
	plan->takes_frame = true;
	if (e->kind == GS_EXIT_URETPROBE) {
		plan->at_return = true;
		plan->frame = add_const(plan, plan->frame, -(int64_t)word);
	}
	plan->check = preserved(plan, word);
	if (e->condition != GS_EXIT_ALWAYS)
		plan->guard = condition(plan, e->condition);
	else if (e->is_indirect)
		plan->guard = leads_out(plan, e, word);
}

/* ---- the values ---- */

static const char *loops(const struct gs_lower *l)
{
	return l->site->entry->place->is_loop
		       ? "the function's first instruction is that of a loop as well"
		       : NULL;
}

static void absent_object(struct gs_object *obj, const char *reason)
{
	*obj = (struct gs_object){
		.kind = GS_OBJECT_ABSENT, .status = GS_STATUS_UNAVAILABLE, .reason = reason};
}

void gs_lower_retval(struct gs_lower *l, struct gs_object *obj)
{
	const struct gs_place_site *place = l->site->place;
	struct gs_location loc = {0};

	if (place->exit->kind == GS_EXIT_TAIL) {
		absent_object(obj, gs_arena_printf(&l->site->r->arena, "tail call to %s",
						   place->exit->target));
		return;
	}
	if (place->context)
		gs_context_return_value(place->context, l->plan, &loc);
	else
		loc = (struct gs_location){.kind = GS_LOC_VALUE, .node = reg(l->plan, 0)};
	gs_lower_location(l, &loc, obj);
}

static uint16_t saved(struct gs_lower *l, int64_t slot)
{
	return gs_plan_node(l->plan, GS_OP_SAVED, 8, GS_NODE_NONE, GS_NODE_NONE, slot);
}

uint16_t gs_lower_duration(struct gs_lower *l)
{
	const char *why = loops(l);

	if (why)
		return gs_lower_absent(l, GS_STATUS_UNAVAILABLE, why);
	return gs_plan_node(
		l->plan, GS_OP_SUB, 8,
		gs_plan_node(l->plan, GS_OP_BUILTIN, 8, GS_NODE_NONE, GS_NODE_NONE, GS_PLAN_TIME),
		saved(l, GS_SAVED_TIME), 0);
}

bool gs_lower_is_entry(const struct gs_expr *e)
{
	return e->kind == GS_EXPR_CALL && strcmp(e->name, "entry") == 0;
}

static struct gs_lower at_entry(struct gs_lower *l)
{
	return (struct gs_lower){.site = l->site->entry,
				 .types = l->types,
				 .plan = l->site->entry_plan,
				 .text = l->text};
}

/* NODE of the entry's plan, as a node of the exit's. */
static struct gs_error *keep(struct gs_lower *l, struct gs_lower *in, const struct gs_expr *e,
			     uint16_t node, uint16_t *out)
{
	const char *why = loops(l);
	unsigned slot;

	if (in->absent != GS_STATUS_OK || why) {
		if (l->absent == GS_STATUS_OK && !why) {
			l->absent_name = in->absent_name;
			l->absent_var = NULL;
		}
		*out = gs_lower_absent(l, why ? GS_STATUS_UNAVAILABLE : in->absent,
				       why ? why : in->absent_reason);
		return NULL;
	}
	if (node < in->plan->nnodes && in->plan->nodes[node].op == GS_OP_CONST) {
		*out = gs_plan_const(l->plan, in->plan->nodes[node].imm);
		return NULL;
	}
	slot = gs_plan_save(in->plan, node);
	if (slot >= GS_PLAN_MAX_SAVES)
		return gs_lower_error(l, e, GS_ERR_LIMIT,
				      "the $entry(...) of this probe keep more than %u values of 8 "
				      "bytes",
				      GS_PLAN_MAX_SAVES - 1);
	*out = saved(l, slot);
	return NULL;
}

static struct gs_error *need_exit(const struct gs_lower *l, const struct gs_expr *e)
{
	if (l->site->entry)
		return NULL;
	return gs_error_hint(
		gs_lower_error(l, e, GS_ERR_USAGE,
			       "$entry(...) is only known at the return of a function"),
		"FUNCTION%%return is the place for it");
}

struct gs_error *gs_lower_entry_scalar(struct gs_lower *l, const struct gs_expr *e, uint16_t *node)
{
	struct gs_lower in;
	uint16_t value;

	GS_TRY(need_exit(l, e));
	in = at_entry(l);
	GS_TRY(gs_lower_scalar(&in, e->args[0], &value));
	return keep(l, &in, e, value, node);
}

static bool is_scalar(const struct gs_lower *l, const struct gs_expr *e)
{
	const struct gs_type *t = gs_type_get(l->types, gs_type_strip(l->types, e->type));

	return (gs_type_is_integral(l->types, e->type) && t->byte_size <= 8) ||
	       t->kind == GS_KIND_POINTER || t->kind == GS_KIND_REFERENCE ||
	       t->kind == GS_KIND_RVALUE_REFERENCE || t->kind == GS_KIND_FUNCTION ||
	       t->kind == GS_KIND_UNSPECIFIED;
}

struct gs_error *gs_lower_entry_object(struct gs_lower *l, const struct gs_expr *e,
				       struct gs_object *obj)
{
	uint64_t size = gs_type_size(l->types, e->type);
	struct gs_lower in;
	struct gs_location_piece *parts;
	struct gs_object object;
	size_t n = (size + 7) / 8;

	GS_TRY(need_exit(l, e));
	in = at_entry(l);
	if (is_scalar(l, e)) {
		parts = gs_arena_alloc(&l->site->r->arena, sizeof(*parts));
		*parts = (struct gs_location_piece){.size = 8, .kind = GS_LOC_VALUE};
		GS_TRY(gs_lower_entry_scalar(l, e, &parts->node));
		*obj = (struct gs_object){.kind = GS_OBJECT_PARTS, .parts = parts, .nparts = 1};
		return NULL;
	}
	if (size == 0 || size > ENTRY_BYTES_MAX)
		return gs_lower_error(l, e, GS_ERR_LIMIT,
				      "$entry keeps values of at most %u bytes, not %llu",
				      ENTRY_BYTES_MAX, (unsigned long long)size);
	GS_TRY(gs_lower_object(&in, e->args[0], &object));
	parts = gs_arena_alloc(&l->site->r->arena, n * sizeof(*parts));
	for (size_t i = 0; i < n; i++) {
		unsigned bytes = size - i * 8 < 8 ? (unsigned)(size - i * 8) : 8;

		parts[i] = (struct gs_location_piece){
			.offset = (uint32_t)(i * 8), .size = bytes, .kind = GS_LOC_VALUE};
		/* Each word is there or not for itself. */
		in.absent = GS_STATUS_OK;
		uint16_t word = gs_object_bytes(&in, &object, i * 8, bytes);

		if (in.absent != GS_STATUS_OK || loops(l)) {
			parts[i].kind = GS_LOC_ABSENT;
			parts[i].status = loops(l) ? GS_STATUS_UNAVAILABLE : in.absent;
			parts[i].reason = loops(l) ? loops(l) : in.absent_reason;
			continue;
		}
		GS_TRY(keep(l, &in, e, word, &parts[i].node));
	}
	*obj = (struct gs_object){.kind = GS_OBJECT_PARTS, .parts = parts, .nparts = n};
	return NULL;
}
