/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the indirect jump of a switch leads, as gcc and clang make them: a table of offsets from
 * itself, or of addresses. Under flow_function.c. What has another form is not known.
 */
#include "record/flow_function.h"

#define BACK_MAX 24
#define ENTRIES_MAX 8192

struct table_search {
	struct gs_module *m;
	const struct gs_code *code;
	cs_insn *insn;
};

static const cs_x86 *decode(struct table_search *s, size_t i)
{
	uint8_t bytes[16];
	const uint8_t *p = bytes;
	uint64_t addr = s->code->insns[i].addr;
	size_t n = gs_module_read(s->m, addr, bytes, sizeof(bytes));

	if (s->code->insns[i].flow == GS_FLOW_BAD ||
	    !cs_disasm_iter(s->m->decoder.detail, &p, &n, &addr, s->insn))
		return NULL;
	return &s->insn->detail->x86;
}

/* Address that a `lea' loads relative to the instruction pointer, or 0. */
static uint64_t loaded_address(struct table_search *s, size_t i, x86_reg reg)
{
	const cs_x86 *x = decode(s, i);

	if (!x || s->insn->id != X86_INS_LEA || x->op_count != 2 || x->operands[0].reg != reg ||
	    x->operands[1].mem.base != X86_REG_RIP || x->operands[1].mem.index)
		return 0;
	return s->code->insns[i].addr + s->code->insns[i].len + (uint64_t)x->operands[1].mem.disp;
}

/* The table in REG: loaded before instruction I, or, hoisted, at the one place of the function. */
static uint64_t find_base(struct table_search *s, size_t i, x86_reg reg)
{
	uint64_t found = 0;

	for (size_t k = i; k-- > 0 && i - k <= BACK_MAX;)
		if ((found = loaded_address(s, k, reg)))
			return gs_elf_is_executable(s->m, found) ? 0 : found;
	for (size_t k = 0; k < s->code->n; k++) {
		/* lea with a REX prefix and a displacement alone. */
		uint64_t table = s->code->insns[k].len == 7 ? loaded_address(s, k, reg) : 0;

		if (!table || gs_elf_is_executable(s->m, table) || table == found)
			continue;
		if (found)
			return 0;
		found = table;
	}
	return found;
}

/* jmp *%reg, after `movslq (base,index,4),%x' and `add'. */
static uint64_t relative_table(struct table_search *s, size_t jump, x86_reg reg)
{
	x86_reg other = X86_REG_INVALID;

	for (size_t k = jump; k-- > 0 && jump - k <= BACK_MAX;) {
		const cs_x86 *x = decode(s, k);

		if (!x || s->code->insns[k].flow != GS_FLOW_NEXT)
			return 0;
		if (!other && s->insn->id == X86_INS_ADD && x->op_count == 2 &&
		    x->operands[0].reg == reg && x->operands[1].type == X86_OP_REG) {
			other = x->operands[1].reg;
		} else if (other && s->insn->id == X86_INS_MOVSXD && x->op_count == 2 &&
			   x->operands[1].type == X86_OP_MEM && x->operands[1].mem.scale == 4 &&
			   x->operands[1].mem.disp == 0 &&
			   (x->operands[0].reg == reg || x->operands[0].reg == other)) {
			x86_reg base = x->operands[1].mem.base;
			bool is_sum = (x->operands[0].reg == reg && base == other) ||
				      (x->operands[0].reg == other && base == reg);

			return is_sum ? find_base(s, k, base) : 0;
		}
	}
	return 0;
}

static void read_table(struct table_search *s, size_t jump, uint64_t table, unsigned size,
		       struct gs_jump_list *out)
{
	for (unsigned i = 0; i < ENTRIES_MAX; i++) {
		uint64_t target = 0;
		int32_t offset;

		if (size == 4) {
			if (gs_module_read(s->m, table + 4 * i, &offset, 4) != 4)
				return;
			target = table + (uint64_t)(int64_t)offset;
		} else if (gs_module_read(s->m, table + 8 * i, &target, 8) != 8) {
			return;
		}
		/* The table's length is not known: it ends where no instruction begins. */
		if (gs_code_find(s->code, target) == SIZE_MAX)
			return;
		*GS_PUSH(out->jumps, out->n, out->cap) =
			(struct gs_flow_jump){s->code->insns[jump].addr, target};
	}
}

void gs_jump_table_read(struct gs_module *m, const struct gs_code *code, size_t jump,
			struct gs_jump_list *out)
{
	struct table_search s = {m, code, NULL};
	const cs_x86 *x;
	uint64_t table = 0;
	unsigned size = 4;

	if (!m->decoder.is_64 || m->info.big_endian)
		return;
	s.insn = cs_malloc(m->decoder.detail);
	x = decode(&s, jump);
	if (x && x->op_count == 1 && x->operands[0].type == X86_OP_REG) {
		table = relative_table(&s, jump, x->operands[0].reg);
	} else if (x && x->op_count == 1 && x->operands[0].type == X86_OP_MEM &&
		   !x->operands[0].mem.base && x->operands[0].mem.index &&
		   x->operands[0].mem.scale == 8) {
		table = (uint64_t)x->operands[0].mem.disp;
		size = 8;
	}
	if (table)
		read_table(&s, jump, table, size, out);
	cs_free(s.insn, 1);
}
