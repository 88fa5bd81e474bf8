/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a frame register stands. Without optimisation, where a frame is realigned, gcc and clang
 * give variables one location for the whole function, relative to a register as it is in the
 * function's body. In the prologue, between pushed arguments and after the frame was taken down the
 * register is another. Under dwarf_location.c.
 */
#include "record/dwarf_internal.h"

#define BODY_BYTES_MAX (1u << 16)

static unsigned stack_pointer(const struct gs_module *m)
{
	return m->info.machine == EM_X86_64 ? 7 : 4;
}

static unsigned frame_pointer(const struct gs_module *m)
{
	return m->info.machine == EM_X86_64 ? 6 : 5;
}

static bool is_sp(unsigned reg)
{
	return reg == X86_REG_RSP || reg == X86_REG_ESP || reg == X86_REG_SP || reg == X86_REG_SPL;
}

/* What the instruction adds to the stack pointer; false where that is not a constant. */
static bool moves_sp(const cs_insn *insn, int word, int64_t *by)
{
	const cs_x86 *x = &insn->detail->x86;
	bool names_it =
		x->op_count && x->operands[0].type == X86_OP_REG && is_sp(x->operands[0].reg);

	*by = 0;
	switch (insn->id) {
	case X86_INS_PUSH:
		*by = -(x->op_count && x->operands[0].size == 2 ? 2 : word);
		return true;
	case X86_INS_POP:
		*by = x->op_count && x->operands[0].size == 2 ? 2 : word;
		return !names_it;
	case X86_INS_PUSHFQ:
	case X86_INS_PUSHFD:
		*by = -word;
		return true;
	case X86_INS_POPFQ:
	case X86_INS_POPFD:
		*by = word;
		return true;
	case X86_INS_LEAVE:
	case X86_INS_ENTER:
	case X86_INS_XCHG:
		return !names_it && insn->id == X86_INS_XCHG;
	case X86_INS_ADD:
	case X86_INS_SUB:
		if (!names_it)
			return true;
		*by = insn->id == X86_INS_ADD ? x->operands[1].imm : -x->operands[1].imm;
		return x->operands[1].type == X86_OP_IMM;
	case X86_INS_CMP:
	case X86_INS_TEST:
		return true;
	default:
		return !names_it;
	}
}

/*
 * Unoptimised code pushes the arguments of one call and takes them away behind it: what is pushed
 * at a pc is the sum over the code before it, whatever branches between.
 */
static bool is_level(struct gs_module *m, uint64_t from, uint64_t pc)
{
	uint8_t *bytes GS_CLEANUP_FREE = NULL;
	const uint8_t *p;
	size_t left = pc - from;
	uint64_t addr = from;
	int64_t sum = 0, by;
	bool good = true;
	cs_insn *insn;

	if (!m->decoder.is_open || left > BODY_BYTES_MAX)
		return false;
	bytes = gs_malloc(left + 1);
	if (gs_module_read(m, from, bytes, left) != left)
		return false;
	p = bytes;
	insn = cs_malloc(m->decoder.detail);
	while (good && left) {
		good = cs_disasm_iter(m->decoder.detail, &p, &left, &addr, insn) &&
		       moves_sp(insn, m->info.pointer_size, &by);
		sum += good ? by : 0;
	}
	cs_free(insn, 1);
	return good && sum == 0;
}

/* `pop': the stack pointer is on its way back already, where the tables still count from the frame
 * pointer. */
static bool is_pop(const struct gs_module *m, uint64_t pc)
{
	uint8_t bytes[2] = {0};
	size_t n = gs_module_read(m, pc, bytes, sizeof(bytes));
	unsigned at = m->info.machine == EM_X86_64 && n && (bytes[0] & 0xf0) == 0x40;

	return at < n && bytes[at] >= 0x58 && bytes[at] <= 0x5f;
}

bool gs_frame_is_set_up(struct gs_context *c, unsigned regno)
{
	struct gs_module *m = c->m;
	unsigned now = 0, later = 0;
	int64_t offset_now = 0, offset_later = 0;
	uint64_t low, ready;
	bool simple_now, simple_later;

	if (!gs_die_entry(m, &c->scopes[0], &low))
		return false;
	/* Parameters are in their slots from there on. */
	ready = gs_prologue_end(m, &c->scopes[0], low);
	if (c->pc < ready)
		return false;
	/* It is the frame pointer wherever the frame address is counted from it. */
	if (regno == frame_pointer(m))
		return gs_cfi_uses(m, c->pc, regno);
	simple_now = gs_cfi_rule(m, c->pc, &now, &offset_now);
	simple_later = gs_cfi_rule(m, ready, &later, &offset_later);
	if (is_pop(m, c->pc) || simple_now != simple_later || now != later ||
	    offset_now != offset_later)
		return false;
	return regno != stack_pointer(m) || is_level(m, ready, c->pc);
}
