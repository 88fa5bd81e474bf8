/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes x86 instructions and says what the kernel's uprobes do with each.
 * Under place.c: which addresses can be probed, and at what cost.
 */
#include "record/insn.h"

#include "record/dwarf_internal.h"

bool gs_decoder_open(struct gs_decoder *d, bool is_64)
{
	cs_mode mode = is_64 ? CS_MODE_64 : CS_MODE_32;

	if (cs_open(CS_ARCH_X86, mode, &d->detail) != CS_ERR_OK)
		return false;
	if (cs_open(CS_ARCH_X86, mode, &d->text) != CS_ERR_OK) {
		cs_close(&d->detail);
		return false;
	}
	cs_option(d->detail, CS_OPT_DETAIL, CS_OPT_ON);
	cs_option(d->text, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	d->is_open = true;
	d->is_64 = is_64;
	return true;
}

void gs_decoder_close(struct gs_decoder *d)
{
	if (!d->is_open)
		return;
	cs_close(&d->detail);
	cs_close(&d->text);
	d->is_open = false;
}

/* ---- flow ---- */

static bool has_group(const cs_insn *insn, unsigned group)
{
	for (unsigned i = 0; i < insn->detail->groups_count; i++)
		if (insn->detail->groups[i] == group)
			return true;
	return false;
}

static uint64_t direct_target(const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;

	return x->op_count == 1 && x->operands[0].type == X86_OP_IMM ? (uint64_t)x->operands[0].imm
								     : 0;
}

static void classify(const cs_insn *insn, struct gs_insn *out)
{
	out->addr = insn->address;
	out->len = (uint8_t)insn->size;
	out->target = 0;
	out->flow = GS_FLOW_NEXT;
	out->is_nop = insn->id == X86_INS_NOP || insn->id == X86_INS_INT3;
	if (insn->id == X86_INS_JMP || insn->id == X86_INS_LJMP) {
		out->target = direct_target(insn);
		out->flow = out->target ? GS_FLOW_JUMP : GS_FLOW_JUMP_INDIRECT;
	} else if (insn->id == X86_INS_CALL || insn->id == X86_INS_LCALL) {
		out->target = direct_target(insn);
		out->flow = GS_FLOW_CALL;
	} else if (has_group(insn, CS_GRP_RET) || has_group(insn, CS_GRP_IRET)) {
		out->flow = GS_FLOW_RETURN;
	} else if (insn->id == X86_INS_UD2 || insn->id == X86_INS_HLT || insn->id == X86_INS_UD2B) {
		out->flow = GS_FLOW_STOP;
	} else if (has_group(insn, CS_GRP_JUMP) || insn->id == X86_INS_XBEGIN) {
		out->target = direct_target(insn);
		out->flow = GS_FLOW_BRANCH;
	}
}

void gs_code_decode(struct gs_module *m, uint64_t low, uint64_t high, struct gs_code *code)
{
	uint8_t *bytes GS_CLEANUP_FREE = NULL;
	const uint8_t *p;
	size_t left;
	uint64_t addr = low;
	cs_insn *insn;

	if (!m->decoder.is_open || high <= low)
		return;
	if (high - low > GS_FUNCTION_BYTES_MAX)
		high = low + GS_FUNCTION_BYTES_MAX;
	bytes = gs_malloc(high - low);
	left = gs_module_read(m, low, bytes, high - low);
	p = bytes;
	insn = cs_malloc(m->decoder.detail);
	while (left) {
		struct gs_insn *out = GS_PUSH(code->insns, code->n, code->cap);

		if (cs_disasm_iter(m->decoder.detail, &p, &left, &addr, insn)) {
			classify(insn, out);
			continue;
		}
		/* Data between instructions, or one that capstone does not know. */
		*out = (struct gs_insn){.addr = addr, .len = 1, .flow = GS_FLOW_BAD};
		p++;
		left--;
		addr++;
	}
	cs_free(insn, 1);
}

void gs_code_deinit(struct gs_code *code)
{
	free(code->insns);
	*code = (struct gs_code){0};
}

size_t gs_code_find(const struct gs_code *code, uint64_t addr)
{
	size_t low = 0, high = code->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (code->insns[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < code->n && code->insns[low].addr == addr ? low : SIZE_MAX;
}

/* ---- what uprobes do: arch/x86/kernel/uprobes.c ---- */

struct opcode {
	const uint8_t *p; /* at the (last) opcode byte */
	const uint8_t *end;
	uint8_t map; /* 1, 2 (0f), 3 (0f 38, 0f 3a) */
	bool is_vex, bad_prefix, has_66, has_rep;
	uint8_t rex;
};

static void skip_prefixes(struct opcode *o)
{
	for (; o->p < o->end; o->p++)
		switch (*o->p) {
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0xf0:
			o->bad_prefix = true;
			break;
		case 0x66:
			o->has_66 = true;
			break;
		case 0xf2:
		case 0xf3:
			o->has_rep = true;
			break;
		case 0x64:
		case 0x65:
		case 0x67:
			break;
		default:
			return;
		}
}

static bool find_opcode(struct opcode *o, bool is_64)
{
	skip_prefixes(o);
	if (is_64 && o->p < o->end && (*o->p & 0xf0) == 0x40)
		o->rex = *o->p++;
	if (o->p >= o->end)
		return false;
	o->map = 1;
	/* In 32-bit code these are VEX and EVEX only where the next byte could not be a memory
	 * operand. */
	if ((*o->p == 0xc4 || *o->p == 0xc5 || *o->p == 0x62) && o->p + 1 < o->end &&
	    (is_64 || (o->p[1] & 0xc0) == 0xc0)) {
		o->is_vex = true;
		o->p += *o->p == 0xc5 ? 2 : *o->p == 0xc4 ? 3 : 4;
	} else if (*o->p == 0x0f) {
		o->map = 2;
		o->p++;
		if (o->p < o->end && (*o->p == 0x38 || *o->p == 0x3a)) {
			o->map = 3;
			o->p++;
		}
	}
	return o->p < o->end;
}

/* One-byte opcodes that the kernel refuses; AVX opcodes are looked up in the same table. */
static bool one_byte_refused(uint8_t op, bool is_64)
{
	static const uint8_t both[] = {0x0f, 0x6c, 0x6d, 0x6e, 0x6f, 0xcc, 0xcd, 0xce,
				       0xcf, 0xd6, 0xe4, 0xe5, 0xe6, 0xe7, 0xec, 0xed,
				       0xee, 0xef, 0xf0, 0xf1, 0xf4, 0xfa, 0xfb};
	static const uint8_t only_64[] = {0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x26, 0x27,
					  0x2e, 0x2f, 0x36, 0x37, 0x3e, 0x3f, 0x60, 0x61, 0x62,
					  0x82, 0x9a, 0xc4, 0xc5, 0xd4, 0xd5, 0xea};
	static const uint8_t only_32[] = {0x07, 0x17, 0x1f, 0x26, 0x2e, 0x36, 0x3e,
					  0x63, 0x64, 0x65, 0x66, 0x67, 0xc4, 0xc5};

	if (memchr(both, op, sizeof(both)))
		return true;
	return is_64 ? memchr(only_64, op, sizeof(only_64)) != NULL
		     : memchr(only_32, op, sizeof(only_32)) != NULL;
}

/* The kernel takes every opcode that begins with 0f. A system call is not stepped out of line all
 * the same: it leaves the address of the copy in %rcx, and may not return there. */
static bool two_byte_refused(uint8_t op)
{
	return op == 0x05 || op == 0x07 || op == 0x34 || op == 0x35;
}

static bool is_refused(const struct opcode *o, bool is_64)
{
	if (o->bad_prefix)
		return true;
	if (o->map == 3)
		return false;
	if (o->map == 2)
		return two_byte_refused(*o->p);
	if (one_byte_refused(*o->p, is_64))
		return true;
	/* mov to the stack segment masks exceptions for one instruction. */
	return !o->is_vex && *o->p == 0x8e && o->p + 1 < o->end && ((o->p[1] >> 3) & 7) == 2;
}

static bool is_emulated(const struct opcode *o, const uint8_t *bytes, size_t len)
{
	uint8_t op = *o->p;

	if (o->is_vex)
		return false;
	if (o->map == 2)
		return (op & 0xf0) == 0x80;
	if ((op & 0xf8) == 0x50) /* push, at most with the prefix that names r8 to r15 */
		return len == 1 || (len == 2 && bytes[0] == 0x41);
	/* pause (f3 90) is a nop to the kernel; with REX.B it is an exchange. */
	return (op == 0x90 && !(o->rex & 1)) || op == 0xe8 || op == 0xe9 || op == 0xeb ||
	       (op & 0xf0) == 0x70;
}

enum gs_cost gs_insn_cost(const uint8_t *bytes, size_t len, bool is_64)
{
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	struct opcode o = {.p = bytes, .end = bytes + len};
	bool is_branch;

	if (is_64 && len == 5 && memcmp(bytes, nop5, 5) == 0)
		return GS_COST_NOP5;
	if (!find_opcode(&o, is_64) || is_refused(&o, is_64))
		return GS_COST_REFUSED;
	is_branch = !o.is_vex && ((o.map == 1 && (*o.p == 0xe8 || *o.p == 0xe9)) ||
				  (o.map == 2 && (*o.p & 0xf0) == 0x80));
	/* 16-bit branches: refused. */
	if (is_branch && o.has_66)
		return GS_COST_REFUSED;
	return is_emulated(&o, bytes, len) ? GS_COST_EMULATED : GS_COST_STEPPED;
}

const char *gs_cost_name(enum gs_cost cost)
{
	static const char *const names[] = {"emulated", "single-stepped", "nop5", "refused"};

	return names[cost];
}

/* ---- single instructions ---- */

const char *gs_insn_text(struct gs_module *m, uint64_t addr, struct gs_arena *arena)
{
	uint8_t bytes[16];
	size_t n = gs_module_read(m, addr, bytes, sizeof(bytes));
	cs_insn *insn;
	const char *text = "(bad)";

	if (!m->decoder.is_open || !n)
		return text;
	if (cs_disasm(m->decoder.text, bytes, n, addr, 1, &insn) == 1) {
		text = gs_arena_printf(arena, insn->op_str[0] ? "%s %s" : "%s%s", insn->mnemonic,
				       insn->op_str);
		cs_free(insn, 1);
	}
	return text;
}

unsigned gs_insn_len(struct gs_module *m, uint64_t addr)
{
	uint8_t bytes[16];
	size_t n = gs_module_read(m, addr, bytes, sizeof(bytes));
	cs_insn *insn;
	unsigned len = 0;

	if (!m->decoder.is_open || !n)
		return 0;
	if (cs_disasm(m->decoder.text, bytes, n, addr, 1, &insn) == 1) {
		len = insn->size;
		cs_free(insn, 1);
	}
	return len;
}

bool gs_insn_is_endbr(struct gs_module *m, uint64_t addr)
{
	uint8_t bytes[4];

	return gs_module_read(m, addr, bytes, 4) == 4 && bytes[0] == 0xf3 && bytes[1] == 0x0f &&
	       bytes[2] == 0x1e && (bytes[3] == 0xfa || bytes[3] == 0xfb);
}
