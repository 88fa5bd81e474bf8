/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a probe on a five-byte nop could overwrite the program's data. Newer kernels (6.18)
 * rewrite such a probe into a call, which pushes eight bytes; in a function that keeps locals below
 * the stack pointer (the red zone of the x86-64 ABI) that is one of them. Under place.c.
 */
#include "record/dwarf_internal.h"

static bool is_sp(unsigned reg)
{
	return reg == X86_REG_RSP || reg == X86_REG_ESP;
}

static bool is_fp(unsigned reg)
{
	return reg == X86_REG_RBP || reg == X86_REG_EBP;
}

/* What a function's code says of the bytes below its stack pointer. */
struct below {
	bool calls; /* compilers keep nothing there in a function that calls */
	bool is_accessed, frame_is_accessed, is_known;
};

static void look_at(const cs_insn *insn, struct below *b)
{
	const cs_x86 *x = &insn->detail->x86;
	bool adjusts = insn->id == X86_INS_SUB || insn->id == X86_INS_ADD ||
		       insn->id == X86_INS_AND || insn->id == X86_INS_PUSH ||
		       insn->id == X86_INS_POP;

	b->calls |= insn->id == X86_INS_CALL;
	for (unsigned i = 0; i < x->op_count; i++) {
		const cs_x86_op *op = &x->operands[i];

		/* The address of what is there can be in any register that it is copied to. */
		if (op->type == X86_OP_REG && is_sp(op->reg) && !adjusts)
			b->frame_is_accessed = true;
		if (op->type != X86_OP_MEM)
			continue;
		if (is_sp(op->mem.base) && (op->mem.disp < 0 || op->mem.index != X86_REG_INVALID))
			b->is_accessed = true;
		if (is_fp(op->mem.base))
			b->frame_is_accessed = true;
	}
}

static struct below look_below(struct gs_module *m, uint64_t low, uint64_t size)
{
	struct below b = {.is_known = true};
	uint8_t *bytes GS_CLEANUP_FREE = gs_malloc(size);
	const uint8_t *p = bytes;
	size_t left = size;
	uint64_t addr = low;
	cs_insn *insn;

	if (gs_module_read(m, low, bytes, size) != size)
		return (struct below){0};
	insn = cs_malloc(m->decoder.detail);
	while (left && b.is_known) {
		if (cs_disasm_iter(m->decoder.detail, &p, &left, &addr, insn))
			look_at(insn, &b);
		else
			b.is_known = false;
	}
	cs_free(insn, 1);
	return b;
}

bool gs_red_zone_is_free(struct gs_module *m, uint64_t addr)
{
	const struct gs_symbol *s = gs_symbol_at(m, addr);
	struct below b;

	/* Nothing is below the stack pointer yet at a function's first instruction. */
	if (s && (addr == s->addr || (addr == s->addr + 4 && gs_insn_is_endbr(m, s->addr))))
		return true;
	if (!s || !s->size || s->size > GS_FUNCTION_BYTES_MAX || addr - s->addr >= s->size)
		return false;
	b = look_below(m, s->addr, s->size);
	return b.is_known && !b.is_accessed && (b.calls || !b.frame_is_accessed);
}
