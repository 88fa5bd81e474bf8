/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call frame information: the canonical frame address and the frame base at a pc, as plan nodes.
 * Under dwarf_expr.c. A frame register that the prologue has not set up yet is never used.
 */
#include "record/dwarf_internal.h"

static void look_for_cfi(struct gs_module *m)
{
	if (m->cfi_looked_for)
		return;
	m->cfi_looked_for = true;
	if (m->dw)
		m->cfi_debug = dwarf_getcfi(m->dw);
	/* A separate debug file has an empty .eh_frame: the module itself has the contents. */
	m->cfi_eh = dwarf_getcfi_elf(m->elf);
}

static Dwarf_Frame *frame_at(struct gs_module *m, uint64_t pc)
{
	Dwarf_Frame *frame = NULL;

	look_for_cfi(m);
	if (m->cfi_debug && dwarf_cfi_addrframe(m->cfi_debug, pc, &frame) == 0)
		return frame;
	if (m->cfi_eh && dwarf_cfi_addrframe(m->cfi_eh, pc, &frame) == 0)
		return frame;
	return NULL;
}

/* CFA = register + offset at the pc. */
static bool simple_cfa(struct gs_module *m, uint64_t pc, unsigned *regno, int64_t *offset)
{
	Dwarf_Frame *frame = frame_at(m, pc);
	Dwarf_Op *ops;
	size_t n;
	bool simple = false;

	if (frame && dwarf_frame_cfa(frame, &ops, &n) == 0 && n == 1) {
		simple = true;
		if (ops[0].atom == DW_OP_bregx) {
			*regno = (unsigned)ops[0].number;
			*offset = (int64_t)ops[0].number2;
		} else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
			*regno = ops[0].atom - DW_OP_breg0;
			*offset = (int64_t)ops[0].number;
		} else {
			simple = false;
		}
	}
	free(frame);
	return simple;
}

bool gs_cfi_rule(struct gs_module *m, uint64_t pc, unsigned *regno, int64_t *offset)
{
	return simple_cfa(m, pc, regno, offset);
}

bool gs_cfi_uses(struct gs_module *m, uint64_t pc, unsigned regno)
{
	Dwarf_Frame *frame = frame_at(m, pc);
	Dwarf_Op *ops;
	size_t n;
	bool uses;

	uses = frame && dwarf_frame_cfa(frame, &ops, &n) == 0 && n &&
	       ((ops[0].atom == DW_OP_bregx && ops[0].number == regno) ||
		(regno <= 31 && ops[0].atom == DW_OP_breg0 + regno));
	free(frame);
	return uses;
}

static bool set_cfa(struct gs_evaluation *ev, unsigned regno, int64_t offset,
		    struct gs_place_value *out)
{
	uint16_t reg;

	if (!gs_register_node(ev, regno, &reg))
		return false;
	out->node = gs_plan_node(ev->plan, GS_OP_ADD, 8, reg, gs_plan_const(ev->plan, offset), 0);
	out->is_cfa = true;
	out->cfa_offset = 0;
	return true;
}

/* A rule that is an expression: signal frames, realigned stacks. */
static bool cfa_by_expression(struct gs_evaluation *ev, Dwarf_Frame *frame,
			      struct gs_place_value *out)
{
	struct gs_evaluation inner = {
		.c = ev->c, .plan = ev->plan, .callee = ev->callee, .nesting = ev->nesting + 1};
	Dwarf_Op *ops;
	size_t n;
	bool good = dwarf_frame_cfa(frame, &ops, &n) == 0 && n > 0;

	if (!good)
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "no rule for the frame address");
	good = gs_evaluate_ops(&inner, NULL, ops, n) && inner.depth > 0;
	if (!good)
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "frame address: %s",
				   inner.reason ? inner.reason : "empty rule");
	out->node = inner.stack[inner.depth - 1].node;
	out->is_cfa = true;
	out->cfa_offset = 0;
	return true;
}

bool gs_frame_cfa(struct gs_evaluation *ev, struct gs_place_value *out)
{
	struct gs_module *m = ev->c->m;
	unsigned regno;
	int64_t offset;
	Dwarf_Frame *frame;
	bool good;

	*out = (struct gs_place_value){.node = GS_NODE_NONE};
	if (simple_cfa(m, ev->c->pc, &regno, &offset))
		return set_cfa(ev, regno, offset, out);
	frame = frame_at(m, ev->c->pc);
	if (frame) {
		good = cfa_by_expression(ev, frame, out);
		free(frame);
		return good;
	}
	/* Without tables the decoded prologue may know. */
	if (gs_prologue_sp_offset(ev->c, &offset))
		return set_cfa(ev, m->info.machine == EM_386 ? 4 : 7, offset, out);
	return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "no call frame information here");
}

/*
 * The frame base is a register (clang; gcc on request), but at this pc it may still, or again, be
 * the caller's. It is used as it is where the CFA is computed from it. Elsewhere the CFA, which is
 * known at every pc, stands for it: their distance is constant once the frame is set up.
 */
static bool base_by_register(struct gs_evaluation *ev, unsigned base, struct gs_place_value *out)
{
	struct gs_module *m = ev->c->m;
	unsigned now, later;
	int64_t offset_now, offset_later;
	Dwarf_Addr low;
	uint64_t ready;
	bool has_now = simple_cfa(m, ev->c->pc, &now, &offset_now);

	if (!gs_die_entry(ev->c->m, &ev->c->scopes[0], &low))
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "no frame base");
	ready = gs_prologue_end(m, &ev->c->scopes[0], low);
	if (simple_cfa(m, ready, &later, &offset_later) && later == base && ready != low) {
		if (!gs_frame_cfa(ev, out))
			return false;
		out->cfa_offset = -offset_later;
		out->node = gs_plan_node(ev->plan, GS_OP_ADD, 8, out->node,
					 gs_plan_const(ev->plan, -offset_later), 0);
		return true;
	}
	if (has_now && now == base && ready == low) {
		/* No prologue to speak of: the stack pointer as it is. */
		if (!gs_frame_cfa(ev, out))
			return false;
		out->cfa_offset = -offset_now;
		out->node = gs_plan_node(ev->plan, GS_OP_ADD, 8, out->node,
					 gs_plan_const(ev->plan, -offset_now), 0);
		return true;
	}
	if (ev->c->pc < ready || (has_now && now != base && now != 6))
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "the frame in %s is not set up here",
				   gs_register_name(m, base));
	*out = (struct gs_place_value){0};
	return gs_register_node(ev, base, &out->node);
}

bool gs_frame_base(struct gs_evaluation *ev, struct gs_place_value *out)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	struct gs_evaluation inner = {
		.c = ev->c, .plan = ev->plan, .callee = ev->callee, .nesting = ev->nesting + 1};

	if (!dwarf_attr_integrate(ev->frame_die, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation_addr(&attr, ev->c->pc, &ops, &n, 1) != 1 || n == 0)
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "no frame base here");
	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return base_by_register(ev, ops[0].atom - DW_OP_reg0, out);
	if (n == 1 && ops[0].atom == DW_OP_regx)
		return base_by_register(ev, (unsigned)ops[0].number, out);
	if (inner.nesting > 4 || !gs_evaluate_ops(&inner, &attr, ops, n) || inner.depth == 0)
		return gs_no_value(ev, inner.status ? inner.status : GS_STATUS_UNAVAILABLE,
				   "frame base: %s", inner.reason ? inner.reason : "empty");
	*out = inner.stack[inner.depth - 1];
	return true;
}

/* What a callee leaves as it was, by the ABI. The library's own table takes rax for rbx. */
static bool is_preserved(const struct gs_module *m, unsigned regno)
{
	if (m->info.machine == EM_X86_64)
		return regno == 3 || regno == 6 || (regno >= 12 && regno <= 15);
	return m->info.machine == EM_386 && (regno == 3 || (regno >= 5 && regno <= 7));
}

/* By the rules at the pc. */
bool gs_frame_caller_register(struct gs_evaluation *ev, unsigned regno, uint16_t *node)
{
	struct gs_evaluation inner = {
		.c = ev->c, .plan = ev->plan, .callee = ev->callee, .nesting = ev->nesting + 1};
	Dwarf_Frame *frame GS_CLEANUP_FREE = frame_at(ev->c->m, ev->c->pc);
	Dwarf_Op memory[3], *ops;
	size_t n;
	bool is_value;

	if (!frame || dwarf_frame_register(frame, (int)regno, memory, &ops, &n) != 0)
		return false;
	if (n == 0)
		return is_preserved(ev->c->m, regno) && gs_register_node(ev, regno, node);
	is_value = ops[n - 1].atom == DW_OP_stack_value;
	if (!gs_evaluate_ops(&inner, NULL, ops, is_value ? n - 1 : n) || !inner.depth)
		return false;
	*node = inner.stack[inner.depth - 1].node;
	if (!is_value)
		*node = gs_plan_node(ev->plan, GS_OP_LOAD, ev->c->m->info.pointer_size, *node,
				     GS_NODE_NONE, 0);
	return true;
}
