/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers by DWARF number: their names, and their contents as plan nodes, here, at the function's
 * entry or in its caller. Under dwarf_expr.c. Only general registers can be read by a probe.
 */
#include "record/dwarf_internal.h"

static const char *const names_64[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
				       "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};
static const char *const names_32[] = {"eax", "ecx", "edx", "ebx", "esp",
				       "ebp", "esi", "edi", "eip"};
static const char *const segments[] = {"es", "cs", "ss", "ds", "fs", "gs"};

const char *gs_register_name(const struct gs_module *m, unsigned regno)
{
	static __thread char text[16];
	bool is_64 = m->info.machine == EM_X86_64;

	if (is_64 && regno < GS_ARRAY_SIZE(names_64))
		return names_64[regno];
	if (m->info.machine == EM_386 && regno < GS_ARRAY_SIZE(names_32))
		return names_32[regno];
	if (is_64 && regno >= 17 && regno <= 32)
		snprintf(text, sizeof(text), "xmm%u", regno - 17);
	else if (is_64 && regno >= 67 && regno <= 82)
		snprintf(text, sizeof(text), "xmm%u", regno - 67 + 16);
	else if (is_64 && regno >= 33 && regno <= 40)
		snprintf(text, sizeof(text), "st%u", regno - 33);
	else if (is_64 && regno >= 118 && regno <= 125)
		snprintf(text, sizeof(text), "k%u", regno - 118);
	else if (is_64 && regno >= 50 && regno <= 55)
		return segments[regno - 50];
	else if (is_64 && (regno == 58 || regno == 59))
		return regno == 58 ? "fs.base" : "gs.base";
	else if (!is_64 && regno >= 40 && regno <= 45)
		return segments[regno - 40];
	else if (!is_64 && regno >= 93 && regno <= 100)
		snprintf(text, sizeof(text), "k%u", regno - 93);
	else if (is_64 && regno >= 41 && regno <= 48)
		snprintf(text, sizeof(text), "mm%u", regno - 41);
	else if (!is_64 && regno >= 11 && regno <= 18)
		snprintf(text, sizeof(text), "st%u", regno - 11);
	else if (!is_64 && regno >= 21 && regno <= 28)
		snprintf(text, sizeof(text), "xmm%u", regno - 21);
	else if (!is_64 && regno >= 29 && regno <= 36)
		snprintf(text, sizeof(text), "mm%u", regno - 29);
	else
		snprintf(text, sizeof(text), "register %u", regno);
	return text;
}

/* What a register held when the function was entered: it still does, or another does, or the call
 * site tells. */
static bool entry_register(struct gs_evaluation *ev, unsigned regno, uint16_t *node)
{
	const struct gs_module *m = ev->c->m;
	struct gs_evaluation now = *ev;
	struct gs_place_value cfa;
	unsigned where;

	now.at_entry = false;
	if (gs_prologue_entry_value(ev->c, regno, &where) && gs_register_node(&now, where, node))
		return true;
	if (regno == (m->info.machine == EM_386 ? 4u : 7u) && gs_frame_cfa(&now, &cfa)) {
		*node = gs_plan_node(ev->plan, GS_OP_SUB, 8, cfa.node,
				     gs_plan_const(ev->plan, m->info.pointer_size), 0);
		return true;
	}
	if (gs_caller_value(&now, &(struct gs_passed){.regno = regno}, node))
		return true;
	return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "DW_OP_entry_value(%s)",
			   gs_register_name(m, regno));
}

bool gs_register_node(struct gs_evaluation *ev, unsigned regno, uint16_t *node)
{
	/* The plan speaks of x86-64's numbers: those of i386 are in another order. */
	static const uint8_t of_386[] = {0, 2, 1, 3, 7, 6, 4, 5, 16};
	const struct gs_module *m = ev->c->m;

	if (ev->at_entry)
		return entry_register(ev, regno, node);
	if (ev->callee)
		return gs_frame_caller_register(ev->callee, regno, node) ||
		       gs_no_value(ev, GS_STATUS_UNAVAILABLE, "the caller's %s is lost",
				   gs_register_name(m, regno));
	if (m->info.machine == EM_X86_64 && regno <= 16) {
		*node = gs_plan_node(ev->plan, GS_OP_REG, 8, GS_NODE_NONE, GS_NODE_NONE, regno);
		return true;
	}
	if (m->info.machine == EM_386 && regno < GS_ARRAY_SIZE(of_386)) {
		*node = gs_plan_node(ev->plan, GS_OP_REG, 8, GS_NODE_NONE, GS_NODE_NONE,
				     of_386[regno]);
		*node = gs_plan_node(ev->plan, GS_OP_ZEXT, 4, *node, GS_NODE_NONE, 0);
		return true;
	}
	if (m->info.machine != EM_X86_64 && m->info.machine != EM_386)
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE,
				   "recording on this machine is not supported");
	return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "in %s", gs_register_name(m, regno));
}
