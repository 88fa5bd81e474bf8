/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many elements an array has that only the run knows: C's arrays of variable length.
 * Between a variable's type in DWARF and the plan, beside dwarf_location.c, which says where it is.
 */
#include "record/dwarf_find.h"
#include "record/dwarf_type.h"

#define STEPS_MAX 64

static struct gs_location absent(const char *reason)
{
	return (struct gs_location){.kind = GS_LOC_ABSENT,
				    .status = GS_STATUS_UNAVAILABLE,
				    .reason = reason,
				    .node = GS_NODE_NONE,
				    .where = ""};
}

static struct gs_location value(uint16_t node)
{
	return (struct gs_location){
		.kind = GS_LOC_VALUE, .node = node, .reason = "", .where = "computed"};
}

/* The bound is another variable, which the compiler made or the program has. */
static struct gs_error *bound_of_variable(struct gs_context *c, const struct gs_known_variable *of,
					  Dwarf_Die *die, struct gs_plan *plan,
					  struct gs_location *out)
{
	struct gs_variable var = {0};
	Dwarf_Die frame = of->frame;
	uint64_t size;

	GS_TRY(gs_variable_from_die(c->m, die, &frame, GS_VAR_LOCAL, &var));
	GS_TRY(gs_context_location(c, &var, plan, out));
	size = gs_type_size(c->m->types, var.type);
	if (out->kind == GS_LOC_ABSENT)
		return NULL;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		size = 8;
	if (out->kind == GS_LOC_MEMORY)
		out->node =
			gs_plan_node(plan, GS_OP_LOAD, (unsigned)size, out->node, GS_NODE_NONE, 0);
	else if (out->kind != GS_LOC_VALUE)
		*out = absent("its length is in parts");
	if (size < 8 && out->kind != GS_LOC_ABSENT)
		out->node = gs_plan_node(
			plan, gs_type_is_signed(c->m->types, var.type) ? GS_OP_SEXT : GS_OP_ZEXT,
			(unsigned)size, out->node, GS_NODE_NONE, 0);
	if (out->kind != GS_LOC_ABSENT)
		out->kind = GS_LOC_VALUE;
	return NULL;
}

static void bound_of_expression(struct gs_context *c, Dwarf_Attribute *attr, struct gs_plan *plan,
				struct gs_location *out)
{
	struct gs_evaluation ev = {.c = c, .plan = plan, .frame_die = &c->scopes[0]};
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_getlocation_addr(attr, c->pc, &ops, &n, 1) <= 0 || n == 0) {
		*out = absent("its length is optimized out");
		return;
	}
	if (ops[n - 1].atom == DW_OP_stack_value)
		n--;
	if (!gs_evaluate_ops(&ev, attr, ops, n) || !ev.depth) {
		*out = absent(ev.reason && *ev.reason ? ev.reason : "its length is not known here");
		return;
	}
	*out = value(ev.stack[ev.depth - 1].node);
}

static struct gs_error *bound(struct gs_context *c, const struct gs_known_variable *of,
			      Dwarf_Die *subrange, unsigned at, struct gs_plan *plan,
			      struct gs_location *out)
{
	Dwarf_Attribute attr;
	Dwarf_Die die;
	uint64_t number;

	if (gs_die_number(subrange, at, &number)) {
		*out = value(gs_plan_const(plan, (int64_t)number));
		return NULL;
	}
	if (!dwarf_attr_integrate(subrange, at, &attr)) {
		*out = absent("its length is not known");
		return NULL;
	}
	if (dwarf_formref_die(&attr, &die))
		return bound_of_variable(c, of, &die, plan, out);
	bound_of_expression(c, &attr, plan, out);
	return NULL;
}

static struct gs_error *count_of(struct gs_context *c, const struct gs_known_variable *of,
				 Dwarf_Die *subrange, struct gs_plan *plan, struct gs_location *out)
{
	uint64_t lower = 0;

	if (dwarf_hasattr_integrate(subrange, DW_AT_count))
		return bound(c, of, subrange, DW_AT_count, plan, out);
	GS_TRY(bound(c, of, subrange, DW_AT_upper_bound, plan, out));
	gs_die_number(subrange, DW_AT_lower_bound, &lower);
	if (out->kind == GS_LOC_VALUE)
		out->node = gs_plan_node(plan, GS_OP_ADD, 8, out->node,
					 gs_plan_const(plan, 1 - (int64_t)lower), 0);
	return NULL;
}

/* The STEP-th dimension of the array type; *step is reduced by those that it has. */
static bool find_subrange(Dwarf_Die *array, unsigned *step, Dwarf_Die *out)
{
	if (dwarf_child(array, out) != 0)
		return false;
	do {
		if (dwarf_tag(out) != DW_TAG_subrange_type)
			continue;
		if (*step == 0)
			return true;
		(*step)--;
	} while (dwarf_siblingof(out, out) == 0);
	return false;
}

struct gs_error *gs_context_dimension(struct gs_context *c, const struct gs_variable *var,
				      unsigned step, struct gs_plan *plan, struct gs_location *out)
{
	struct gs_module *m = c->m;
	struct gs_known_variable known; /* a copy: the table grows when others are met */
	Dwarf_Die die, subrange;

	*out = absent("its length is not known here");
	if (var->handle == 0 || var->handle > m->nvariables)
		return NULL;
	known = m->variables[var->handle - 1];
	die = known.die;
	for (unsigned i = 0; i < STEPS_MAX && gs_die_link(&die, DW_AT_type, &die); i++) {
		switch (dwarf_tag(&die)) {
		case DW_TAG_array_type:
			if (find_subrange(&die, &step, &subrange))
				return count_of(c, &known, &subrange, plan, out);
			break;
		case DW_TAG_pointer_type:
			if (step == 0)
				return NULL;
			step--;
			break;
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
		case DW_TAG_reference_type:
		case DW_TAG_rvalue_reference_type:
			break;
		default:
			return NULL;
		}
	}
	return NULL;
}
