/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether clang may have taken away the result of a function: when no caller uses it, a function
 * that is local to its file may leave anything in rax, and clang before 16 tells nobody.
 * Beside dwarf_return.c. That some caller reads the result proves that it is there.
 */
#include "record/dwarf_internal.h"

#define FOLLOWED 16 /* instructions after a call */
#define LOOKED_BYTES (FOLLOWED * 15)

static bool is_result(unsigned reg)
{
	switch (reg) {
	case X86_REG_RAX:
	case X86_REG_EAX:
	case X86_REG_AX:
	case X86_REG_AL:
		return true;
	default:
		return false;
	}
}

/* 1: it reads the result, -1: it writes or loses it, 0: neither. */
static int use_of(csh handle, const cs_insn *insn)
{
	cs_regs reads, writes;
	uint8_t nreads = 0, nwrites = 0;
	const cs_x86 *x = &insn->detail->x86;

	/* xor eax, eax reads nothing. */
	if (insn->id == X86_INS_XOR && x->op_count == 2 && x->operands[0].type == X86_OP_REG &&
	    x->operands[1].type == X86_OP_REG && x->operands[0].reg == x->operands[1].reg)
		return is_result(x->operands[0].reg) ? -1 : 0;
	if (cs_regs_access(handle, insn, reads, &nreads, writes, &nwrites) != 0)
		return -1;
	for (uint8_t i = 0; i < nreads; i++)
		if (is_result(reads[i]))
			return 1;
	for (uint8_t i = 0; i < nwrites; i++)
		if (is_result(writes[i]))
			return -1;
	for (uint8_t i = 0; i < insn->detail->groups_count; i++)
		switch (insn->detail->groups[i]) {
		case CS_GRP_CALL:
		case CS_GRP_RET:
		case CS_GRP_JUMP:
			return -1;
		}
	return 0;
}

static bool reads_result(struct gs_module *m, uint64_t addr)
{
	uint8_t bytes[LOOKED_BYTES];
	const uint8_t *p = bytes;
	size_t left = gs_module_read(m, addr, bytes, sizeof(bytes));
	cs_insn *insn = cs_malloc(m->decoder.detail);
	int use = 0;

	for (unsigned i = 0; i < FOLLOWED && use == 0 && left; i++)
		use = cs_disasm_iter(m->decoder.detail, &p, &left, &addr, insn)
			      ? use_of(m->decoder.detail, insn)
			      : -1;
	cs_free(insn, 1);
	return use > 0;
}

/* "clang version 14.0.6": 14; 0 for other compilers. */
static unsigned clang_version(struct gs_context *c)
{
	Dwarf_Attribute attr;
	const char *producer =
		dwarf_attr(&c->cu, DW_AT_producer, &attr) ? dwarf_formstring(&attr) : NULL;
	const char *at = producer ? strstr(producer, "clang version ") : NULL;

	return at ? (unsigned)strtoul(at + strlen("clang version "), NULL, 10) : 0;
}

/*
 * Without optimisation everything is in the frame; a function with nothing that could tell is
 * taken for optimised.
 */
static bool is_optimized(struct gs_context *c)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	Dwarf_Die child;
	size_t n, nframe = 0;

	if (!dwarf_attr_integrate(&c->scopes[0], DW_AT_frame_base, &attr) ||
	    dwarf_getlocation(&attr, &ops, &n) != 0 || n != 1 ||
	    (ops[0].atom != DW_OP_reg5 && ops[0].atom != DW_OP_reg6))
		return true;
	if (dwarf_child(&c->scopes[0], &child) != 0)
		return true;
	do {
		int tag = dwarf_tag(&child);

		if (tag != DW_TAG_formal_parameter && tag != DW_TAG_variable)
			continue;
		if (!dwarf_attr(&child, DW_AT_location, &attr))
			return true;
		if (dwarf_whatform(&attr) != DW_FORM_exprloc)
			return true;
		if (dwarf_getlocation(&attr, &ops, &n) != 0 || n == 0)
			return true;
		if (ops[0].atom == DW_OP_fbreg)
			nframe++;
		else if (ops[0].atom != DW_OP_addr && ops[0].atom != DW_OP_addrx)
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return nframe == 0;
}

static bool is_external(struct gs_context *c)
{
	Dwarf_Attribute attr;
	bool flag = false;

	return dwarf_attr_integrate(&c->scopes[0], DW_AT_external, &attr) &&
	       dwarf_formflag(&attr, &flag) == 0 && flag;
}

const char *gs_result_is_dropped(struct gs_context *c)
{
	unsigned version = clang_version(c);
	uint64_t entry;

	if (!version || version >= 16 || !c->m->decoder.is_open || is_external(c) ||
	    !is_optimized(c) || !gs_die_entry(c->m, &c->scopes[0], &entry))
		return NULL;
	for (size_t i = 0;; i++) {
		uint64_t after;

		if (!gs_call_to(c->m, entry, i, &after))
			return "no call is seen that uses the result of this local function: "
			       "clang may have removed it";
		if (reads_result(c->m, after))
			return NULL;
	}
}
