/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where parameters are before the prologue has stored them. Without optimisation DWARF gives each
 * parameter one slot in the frame for the whole function; until the prologue has written it, the
 * slot holds the previous call's value. The prologue is decoded and run symbolically over what the
 * registers held at entry: that tells which register is written to which slot, and when.
 */
#include "record/dwarf_internal.h"

#define ZONE_INSNS_MAX 400
#define SPILLS_MAX 128
#define NO_REGISTER 0xff

enum origin_kind {
	ORIGIN_UNKNOWN,
	ORIGIN_REGISTER, /* bits of general register n at entry, from bit `shift' on, `bits' of them
			  */
	ORIGIN_VECTOR,	 /* xmm register n at entry */
	ORIGIN_CFA,	 /* the CFA plus offset */
	ORIGIN_CALLER,	 /* what was at the CFA plus offset at entry (the caller's stack) */
};
struct origin {
	uint8_t kind, n, shift, bits;
	int64_t offset;
	uint64_t mask;
};
struct spill {
	uint64_t addr; /* of the storing instruction */
	int64_t offset;
	uint32_t size;
	bool is_push;
	struct origin what;
};

/* Registers by the module's DWARF numbers. */
struct machine {
	struct origin regs[16];
	uint32_t vectors_changed;
};

struct gs_prologue {
	bool covers_pc;	   /* the pc is in the straight line from the entry */
	bool is_reentered; /* a branch leads back to the entry */
	struct machine at_pc;
	struct spill spills[SPILLS_MAX];
	size_t nspills;
};

struct run {
	struct gs_module *m;
	struct gs_prologue *p;
	struct machine now;
	csh handle;
	struct origin x87; /* on top of the floating-point stack */
	unsigned word, sp;
	uint64_t join;	  /* end of a part that is run only on a condition; 0: none */
	uint32_t changed; /* registers written in that part */
};

/* ---- registers of capstone ---- */

static const struct {
	uint16_t names[4]; /* 64, 32, 16, 8 bits */
	uint8_t dwarf_64, dwarf_32;
} registers[] = {
	{{X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL}, 0, 0},
	{{X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL}, 1, 2},
	{{X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL}, 2, 1},
	{{X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL}, 3, 3},
	{{X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL}, 4, 6},
	{{X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL}, 5, 7},
	{{X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL}, 6, 5},
	{{X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL}, 7, 4},
	{{X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B}, 8, NO_REGISTER},
	{{X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B}, 9, NO_REGISTER},
	{{X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B}, 10, NO_REGISTER},
	{{X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B}, 11, NO_REGISTER},
	{{X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B}, 12, NO_REGISTER},
	{{X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B}, 13, NO_REGISTER},
	{{X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B}, 14, NO_REGISTER},
	{{X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B}, 15, NO_REGISTER},
};

/* DWARF number and width in bits; NO_REGISTER for others. AH and its like count as "other". */
static uint8_t general(const struct run *r, unsigned reg, unsigned *bits)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(registers); i++)
		for (unsigned k = 0; k < 4; k++)
			if (registers[i].names[k] == reg) {
				*bits = 64u >> k;
				return r->word == 8 ? registers[i].dwarf_64 : registers[i].dwarf_32;
			}
	return NO_REGISTER;
}

static int vector(unsigned reg)
{
	if (reg >= X86_REG_XMM0 && reg <= X86_REG_XMM31)
		return (int)(reg - X86_REG_XMM0);
	if (reg >= X86_REG_YMM0 && reg <= X86_REG_YMM31)
		return (int)(reg - X86_REG_YMM0);
	return -1;
}

/* The whole register that a partial name such as AH belongs to. */
static uint8_t whole(const struct run *r, unsigned reg)
{
	unsigned bits;

	switch (reg) {
	case X86_REG_AH:
		return 0;
	case X86_REG_BH:
		return 3;
	case X86_REG_CH:
		return r->word == 8 ? 2 : 1;
	case X86_REG_DH:
		return r->word == 8 ? 1 : 2;
	default:
		return general(r, reg, &bits);
	}
}

/* ---- state ---- */

static void set(struct run *r, uint8_t reg, struct origin o)
{
	if (reg >= 16)
		return;
	r->now.regs[reg] = o;
	if (r->join)
		r->changed |= 1u << reg;
}

static struct origin unknown(void)
{
	return (struct origin){.kind = ORIGIN_UNKNOWN};
}

/* Everything that the instruction writes to is forgotten. */
static void forget_written(struct run *r, const cs_insn *insn)
{
	cs_regs read, written;
	uint8_t nread, nwritten;
	const cs_x86 *x = &insn->detail->x86;

	if (cs_regs_access(r->handle, insn, read, &nread, written, &nwritten) == 0)
		for (unsigned i = 0; i < nwritten; i++) {
			int v = vector(written[i]);

			set(r, whole(r, written[i]), unknown());
			if (v >= 0)
				r->now.vectors_changed |= 1u << v;
		}
	/* Capstone's access information has gaps: the first operand is written too, to be safe. */
	for (unsigned i = 0; i < x->op_count && i < 2; i++) {
		int v;

		if (x->operands[i].type != X86_OP_REG)
			continue;
		v = vector(x->operands[i].reg);
		if (i == 0 || insn->id == X86_INS_XCHG || insn->id == X86_INS_XADD)
			set(r, whole(r, x->operands[i].reg), unknown());
		if (i == 0 && v >= 0)
			r->now.vectors_changed |= 1u << v;
	}
}

/* Address of a memory operand as an offset from the CFA. */
static bool frame_address(const struct run *r, const cs_x86_op *op, int64_t *offset)
{
	unsigned bits;
	uint8_t base = general(r, op->mem.base, &bits);

	if (op->mem.index != X86_REG_INVALID || op->mem.segment != X86_REG_INVALID || base >= 16 ||
	    bits != r->word * 8 || r->now.regs[base].kind != ORIGIN_CFA)
		return false;
	*offset = r->now.regs[base].offset + op->mem.disp;
	return true;
}

static struct origin origin_of(const struct run *r, unsigned reg)
{
	unsigned bits;
	uint8_t n = general(r, reg, &bits);
	int v = vector(reg);
	struct origin o = {0};

	if (v >= 0 && !(r->now.vectors_changed & (1u << v)))
		return (struct origin){.kind = ORIGIN_VECTOR, .n = (uint8_t)v};
	if (n >= 16)
		return o;
	o = r->now.regs[n];
	if (o.kind == ORIGIN_REGISTER && o.bits > bits)
		o.bits = (uint8_t)bits;
	if (o.kind == ORIGIN_CFA && bits != r->word * 8)
		return unknown();
	return o;
}

static void add_spill(struct run *r, uint64_t addr, int64_t offset, unsigned size,
		      struct origin what)
{
	struct gs_prologue *p = r->p;

	/* What is stored only on a condition is not known to be there. */
	if (p->nspills == SPILLS_MAX || r->join)
		return;
	if ((what.kind == ORIGIN_REGISTER || what.kind == ORIGIN_CALLER) && what.bits < size * 8)
		what = unknown();
	p->spills[p->nspills++] = (struct spill){addr, offset, size, false, what};
}

/* What a load from the frame gives: something of the caller's, or what was stored there before. */
static struct origin read_frame(const struct run *r, int64_t offset, unsigned size)
{
	const struct gs_prologue *p = r->p;
	struct origin o = unknown();

	if (offset >= 0)
		return (struct origin){.kind = ORIGIN_CALLER,
				       .offset = offset,
				       .bits = (uint8_t)(size * 8),
				       .mask = UINT64_MAX};
	for (size_t i = p->nspills; i-- > 0;) {
		const struct spill *s = &p->spills[i];

		if (s->offset >= offset + (int64_t)size || offset >= s->offset + (int64_t)s->size)
			continue;
		if (s->offset == offset && s->size >= size && s->what.kind != ORIGIN_CFA)
			o = s->what;
		break;
	}
	if ((o.kind == ORIGIN_REGISTER || o.kind == ORIGIN_CALLER) && o.bits > size * 8)
		o.bits = (uint8_t)(size * 8);
	return o;
}

/* ---- instructions ---- */

static void move(struct run *r, const cs_insn *insn, bool is_signed_or_zero_extending)
{
	const cs_x86_op *dst = &insn->detail->x86.operands[0], *src = dst + 1;
	struct origin o = unknown();
	int64_t offset;
	unsigned bits = 0;

	if (dst->type == X86_OP_MEM) {
		if (src->type == X86_OP_REG)
			o = origin_of(r, src->reg);
		if (frame_address(r, dst, &offset))
			add_spill(r, insn->address, offset, dst->size, o);
		return;
	}
	if (src->type == X86_OP_REG) {
		o = origin_of(r, src->reg);
	} else if (src->type == X86_OP_MEM && frame_address(r, src, &offset)) {
		o = read_frame(r, offset, src->size);
	}
	forget_written(r, insn);
	if (vector(dst->reg) >= 0)
		return;
	if (general(r, dst->reg, &bits) >= 16)
		return;
	if (o.kind == ORIGIN_CFA && (bits != r->word * 8 || is_signed_or_zero_extending))
		o = unknown();
	if ((o.kind == ORIGIN_REGISTER || o.kind == ORIGIN_CALLER) && o.bits > bits)
		o.bits = (uint8_t)bits;
	set(r, general(r, dst->reg, &bits), o);
}

static void lea(struct run *r, const cs_insn *insn)
{
	const cs_x86_op *dst = &insn->detail->x86.operands[0], *src = dst + 1;
	int64_t offset;
	unsigned bits;
	bool known = frame_address(r, src, &offset);

	forget_written(r, insn);
	if (known && general(r, dst->reg, &bits) < 16 && bits == r->word * 8)
		set(r, general(r, dst->reg, &bits),
		    (struct origin){.kind = ORIGIN_CFA, .offset = offset});
}

static void add_constant(struct run *r, const cs_insn *insn, int sign)
{
	const cs_x86_op *dst = &insn->detail->x86.operands[0], *src = dst + 1;
	struct origin o = dst->type == X86_OP_REG ? origin_of(r, dst->reg) : unknown();
	unsigned bits;

	forget_written(r, insn);
	if (o.kind == ORIGIN_CFA && src->type == X86_OP_IMM) {
		o.offset += sign * src->imm;
		set(r, general(r, dst->reg, &bits), o);
	}
}

/* "and $1,%al": how clang makes sure of a bool. "shr $16,%eax": the next part of a small structure.
 */
static void mask_or_shift(struct run *r, const cs_insn *insn)
{
	const cs_x86_op *dst = &insn->detail->x86.operands[0], *src = dst + 1;
	struct origin o = dst->type == X86_OP_REG ? origin_of(r, dst->reg) : unknown();
	unsigned bits = 0, count;
	bool good = (o.kind == ORIGIN_REGISTER ||
		     (o.kind == ORIGIN_CALLER && insn->id == X86_INS_AND)) &&
		    insn->detail->x86.op_count == 2 && src->type == X86_OP_IMM;

	if (dst->type == X86_OP_REG)
		general(r, dst->reg, &bits);
	forget_written(r, insn);
	if (!good || bits == 0)
		return;
	if (insn->id == X86_INS_AND) {
		o.mask &= (uint64_t)src->imm;
	} else {
		count = (unsigned)src->imm & (bits == 64 ? 63 : 31);
		if (count >= o.bits || o.mask != UINT64_MAX)
			return;
		o.shift = (uint8_t)(o.shift + count);
		o.bits = (uint8_t)(o.bits - count);
	}
	set(r, general(r, dst->reg, &bits), o);
}

static void push_insn(struct run *r, const cs_insn *insn)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];
	struct origin *sp = &r->now.regs[r->sp];
	struct origin what = op->type == X86_OP_REG ? origin_of(r, op->reg) : unknown();

	if (sp->kind != ORIGIN_CFA)
		return;
	sp->offset -= r->word;
	if (r->join)
		r->changed |= 1u << r->sp;
	if (!r->join && r->p->nspills < SPILLS_MAX) {
		add_spill(r, insn->address, sp->offset, r->word, what);
		r->p->spills[r->p->nspills - 1].is_push = true;
	}
}

static void pop_insn(struct run *r, const cs_insn *insn)
{
	struct origin sp = r->now.regs[r->sp];

	forget_written(r, insn);
	if (sp.kind == ORIGIN_CFA) {
		sp.offset += r->word;
		set(r, (uint8_t)r->sp, sp);
	}
}

static bool is_vector_move(unsigned id)
{
	switch (id) {
	case X86_INS_MOVSS:
	case X86_INS_MOVSD:
	case X86_INS_MOVAPS:
	case X86_INS_MOVAPD:
	case X86_INS_MOVUPS:
	case X86_INS_MOVUPD:
	case X86_INS_MOVDQA:
	case X86_INS_MOVDQU:
	case X86_INS_MOVQ:
	case X86_INS_MOVD:
	case X86_INS_MOVLPS:
	case X86_INS_MOVHPS:
	case X86_INS_VMOVSS:
	case X86_INS_VMOVSD:
	case X86_INS_VMOVAPS:
	case X86_INS_VMOVAPD:
	case X86_INS_VMOVUPS:
	case X86_INS_VMOVUPD:
	case X86_INS_VMOVDQA:
	case X86_INS_VMOVDQU:
	case X86_INS_VMOVQ:
	case X86_INS_VMOVD:
		return true;
	default:
		return false;
	}
}

/* A long double is copied from the caller's stack to its slot through the floating-point stack. */
static void x87_move(struct run *r, const cs_insn *insn)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];
	struct origin o = r->x87;
	int64_t offset;
	bool is_frame = op->type == X86_OP_MEM && frame_address(r, op, &offset);

	r->x87 = unknown();
	if (!is_frame || op->size != 10)
		return;
	if (insn->id == X86_INS_FLD && offset >= 0)
		/* With its padding, up to the alignment of the ABI. */
		r->x87 = (struct origin){.kind = ORIGIN_CALLER,
					 .offset = offset,
					 .bits = r->word == 8 ? 128 : 96,
					 .mask = UINT64_MAX};
	else if (insn->id == X86_INS_FSTP)
		add_spill(r, insn->address, offset, r->word == 8 ? 16 : 12, o);
}

static void execute(struct run *r, const cs_insn *insn)
{
	bool two = insn->detail->x86.op_count == 2;

	switch (insn->id) {
	case X86_INS_MOV:
	case X86_INS_MOVABS:
		if (two)
			move(r, insn, false);
		return;
	case X86_INS_MOVZX:
	case X86_INS_MOVSX:
	case X86_INS_MOVSXD:
		if (two)
			move(r, insn, true);
		return;
	case X86_INS_LEA:
		lea(r, insn);
		return;
	case X86_INS_ADD:
	case X86_INS_SUB:
		add_constant(r, insn, insn->id == X86_INS_ADD ? 1 : -1);
		return;
	case X86_INS_AND:
	case X86_INS_SHR:
		mask_or_shift(r, insn);
		return;
	case X86_INS_PUSH:
		push_insn(r, insn);
		return;
	case X86_INS_POP:
		pop_insn(r, insn);
		return;
	case X86_INS_FLD:
	case X86_INS_FSTP:
		x87_move(r, insn);
		return;
	case X86_INS_CMP:
	case X86_INS_TEST:
	case X86_INS_NOP:
		return;
	default:
		if (two && is_vector_move(insn->id))
			move(r, insn, false);
		else
			forget_written(r, insn);
	}
}

/* ---- the walk ---- */

/* "mov (%esp),%ebx; ret": how position-independent 32-bit code gets its own address. */
static bool is_pc_thunk(struct gs_module *m, uint64_t target)
{
	uint8_t b[4];

	return gs_module_read(m, target, b, 4) == 4 && b[0] == 0x8b && b[2] == 0x24 && b[3] == 0xc3;
}

/* A call returns with what the ABI preserves: the frame, and the registers that the callee must
 * save. */
static void call(struct run *r, const cs_insn *insn)
{
	static const uint8_t lost_64[] = {0, 1, 2, 4, 5, 8, 9, 10, 11};
	static const uint8_t lost_32[] = {0, 1, 2};
	const cs_x86_op *op = &insn->detail->x86.operands[0];
	bool is_64 = r->word == 8;
	const uint8_t *lost = is_64 ? lost_64 : lost_32;
	uint8_t reg;

	for (size_t i = 0; i < (is_64 ? sizeof(lost_64) : sizeof(lost_32)); i++)
		set(r, lost[i], unknown());
	r->now.vectors_changed = UINT32_MAX;
	r->x87 = unknown();
	if (is_64)
		return;
	if (op->type == X86_OP_IMM && is_pc_thunk(r->m, (uint64_t)op->imm)) {
		uint8_t code[4];

		/* The register that it loads is told by the thunk's own operand. */
		if (gs_module_read(r->m, (uint64_t)op->imm, code, 4) == 4) {
			reg = (code[1] >> 3) & 7;
			set(r, reg, unknown());
		}
		return;
	}
	/* A callee of 32-bit code may pop its arguments. */
	set(r, (uint8_t)r->sp, unknown());
}

static bool ends_zone(const cs_insn *insn)
{
	const cs_detail *d = insn->detail;

	for (unsigned i = 0; i < d->groups_count; i++)
		if (d->groups[i] == CS_GRP_JUMP || d->groups[i] == CS_GRP_RET ||
		    d->groups[i] == CS_GRP_INT || d->groups[i] == CS_GRP_IRET)
			return true;
	return false;
}

/*
 * A branch forward over a few instructions (a variadic function saves its vector registers only if
 * there are any) is followed on both sides at once: what is written in between is forgotten where
 * they meet.
 */
static bool follow_branch(struct run *r, const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;
	uint64_t target;

	if (insn->id == X86_INS_JMP || insn->id == X86_INS_CALL || x->op_count != 1 ||
	    x->operands[0].type != X86_OP_IMM || r->join)
		return false;
	target = (uint64_t)x->operands[0].imm;
	if (target <= insn->address || target - insn->address > 200)
		return false;
	r->join = target;
	r->changed = 0;
	return true;
}

static void meet(struct run *r, uint64_t addr)
{
	if (!r->join || addr < r->join)
		return;
	r->join = 0;
	for (unsigned i = 0; i < 16; i++)
		if (r->changed & (1u << i))
			r->now.regs[i] = unknown();
}

static void snapshot(struct run *r, struct gs_context *c, uint64_t addr)
{
	if (addr != c->pc || r->join)
		return;
	r->p->covers_pc = true;
	r->p->at_pc = r->now;
}

/*
 * Lowest address that any later branch of the function returns to: there the straight line ends. A
 * branch to the entry itself is a call of itself: the registers hold arguments again, if not the
 * first ones.
 */
static uint64_t first_loop_head(struct gs_module *m, uint64_t low, uint64_t high, bool *reentered)
{
	struct gs_code code = {0};
	uint64_t head = UINT64_MAX;

	gs_code_decode(m, low, high, &code);
	for (size_t i = 0; i < code.n; i++) {
		const struct gs_insn *insn = &code.insns[i];

		if (insn->flow != GS_FLOW_BRANCH && insn->flow != GS_FLOW_JUMP)
			continue;
		if (insn->target == low)
			*reentered = true;
		else if (insn->target > low && insn->target <= insn->addr && insn->target < head)
			head = insn->target;
	}
	gs_code_deinit(&code);
	return head;
}

static void walk(struct run *r, struct gs_context *c, uint64_t low, uint64_t high)
{
	uint8_t bytes[4096];
	size_t left;
	const uint8_t *p = bytes;
	uint64_t addr = low, end = first_loop_head(r->m, low, high, &r->p->is_reentered);
	cs_insn *insn = cs_malloc(r->handle);

	left = gs_module_read(r->m, low, bytes,
			      high - low < sizeof(bytes) ? high - low : sizeof(bytes));
	for (unsigned i = 0; i < ZONE_INSNS_MAX; i++) {
		meet(r, addr);
		/* A loop head is reached from elsewhere too: what is known ends before it. */
		if (addr >= end)
			break;
		snapshot(r, c, addr);
		if (!cs_disasm_iter(r->handle, &p, &left, &addr, insn))
			break;
		if (insn->address == low && gs_insn_is_endbr(r->m, low))
			continue;
		if (insn->id == X86_INS_CALL) {
			call(r, insn);
			continue;
		}
		if (ends_zone(insn)) {
			if (!follow_branch(r, insn))
				break;
			continue;
		}
		execute(r, insn);
	}
	cs_free(insn, 1);
}

static void start(struct run *r)
{
	for (unsigned i = 0; i < 16; i++)
		r->now.regs[i] = (struct origin){.kind = ORIGIN_REGISTER,
						 .n = (uint8_t)i,
						 .bits = (uint8_t)(r->word * 8),
						 .mask = UINT64_MAX};
	r->now.regs[r->sp] = (struct origin){.kind = ORIGIN_CFA, .offset = -(int64_t)r->word};
}

static const struct gs_prologue *prologue_of(struct gs_context *c)
{
	struct gs_module *m = c->m;
	struct run r = {.m = m, .handle = m->decoder.detail};
	Dwarf_Addr entry, base, low, high = 0;
	ptrdiff_t at = 0;

	if (c->prologue)
		return c->prologue;
	c->prologue = r.p = gs_arena_alloc(&m->arena, sizeof(*r.p));
	r.word = m->info.pointer_size;
	r.sp = m->info.machine == EM_X86_64 ? 7 : 4;
	if (!m->decoder.is_open || !gs_die_entry(m, &c->scopes[0], &entry))
		return r.p;
	while ((at = dwarf_ranges(&c->scopes[0], at, &base, &low, &high)) > 0)
		if (entry >= low && entry < high)
			break;
	if (at <= 0)
		return r.p;
	start(&r);
	walk(&r, c, entry, high);
	return r.p;
}

/* ---- asking ---- */

static bool find_entry_register(struct gs_context *c, const struct gs_prologue *p, unsigned regno,
				unsigned *now)
{
	for (unsigned k = 0; p->covers_pc && regno < 16 && k < 16; k++) {
		unsigned i = k == 0 ? regno : k <= regno ? k - 1 : k;
		const struct origin *o = &p->at_pc.regs[i];

		if (o->kind == ORIGIN_REGISTER && o->n == regno && o->shift == 0 &&
		    o->bits == c->m->info.pointer_size * 8 && o->mask == UINT64_MAX) {
			*now = i;
			return true;
		}
	}
	return false;
}

bool gs_prologue_entry_value(struct gs_context *c, unsigned regno, unsigned *now)
{
	const struct gs_prologue *p = prologue_of(c);

	return !p->is_reentered && find_entry_register(c, p, regno, now);
}

bool gs_prologue_sp_offset(struct gs_context *c, int64_t *offset)
{
	const struct gs_prologue *p = prologue_of(c);
	unsigned sp = c->m->info.machine == EM_X86_64 ? 7 : 4;

	if (!p->covers_pc || p->at_pc.regs[sp].kind != ORIGIN_CFA)
		return false;
	*offset = -p->at_pc.regs[sp].offset;
	return true;
}

static enum gs_spill_kind absent(struct gs_evaluation *ev, const char *why)
{
	gs_no_value(ev, GS_STATUS_UNAVAILABLE, "%s", why);
	return GS_SPILL_ABSENT;
}

static uint16_t masked(struct gs_evaluation *ev, uint16_t node, unsigned shift, uint64_t mask,
		       unsigned size)
{
	if (shift)
		node = gs_plan_node(ev->plan, GS_OP_SHR, 8, node, gs_plan_const(ev->plan, shift),
				    0);
	if (mask != UINT64_MAX)
		node = gs_plan_node(ev->plan, GS_OP_AND, 8, node,
				    gs_plan_const(ev->plan, (int64_t)mask), 0);
	if (size < 8)
		node = gs_plan_node(ev->plan, GS_OP_ZEXT, size, node, GS_NODE_NONE, 0);
	return node;
}

/* SIZE bytes, SKIP bytes into what is going to be stored. */
static enum gs_spill_kind value_of(struct gs_evaluation *ev, const struct spill *s, unsigned skip,
				   unsigned size, uint16_t *node)
{
	struct gs_place_value cfa;
	unsigned now;

	switch (s->what.kind) {
	case ORIGIN_REGISTER:
		if (!find_entry_register(ev->c, ev->c->prologue, s->what.n, &now))
			return absent(ev, "the register that held it was changed");
		if (!gs_register_node(ev, now, node))
			return GS_SPILL_ABSENT;
		ev->where = gs_arena_strdup(&ev->c->m->arena, gs_register_name(ev->c->m, now));
		*node = masked(ev, *node, s->what.shift, s->what.mask, 8);
		*node = masked(ev, *node, skip * 8, UINT64_MAX, size);
		return GS_SPILL_VALUE;
	case ORIGIN_CALLER:
		if (s->what.bits < (skip + size) * 8 || (size & (size - 1)))
			break;
		if (!gs_frame_cfa(ev, &cfa))
			return GS_SPILL_ABSENT;
		*node = gs_plan_node(ev->plan, GS_OP_ADD, 8, cfa.node,
				     gs_plan_const(ev->plan, s->what.offset + skip), 0);
		*node = gs_plan_node(ev->plan, GS_OP_LOAD, size, *node, GS_NODE_NONE, 0);
		if (s->what.mask != UINT64_MAX)
			*node = masked(ev, *node, 0, s->what.mask >> (8 * skip), size);
		ev->where = gs_arena_printf(&ev->c->m->arena, "[cfa%+lld]",
					    (long long)s->what.offset + skip);
		return GS_SPILL_VALUE;
	case ORIGIN_VECTOR:
		gs_no_value(ev, GS_STATUS_UNAVAILABLE, "in xmm%u", s->what.n);
		return GS_SPILL_ABSENT;
	}
	return absent(ev, "not yet in its slot in the frame");
}

/*
 * The first store to the bytes. A push may as well only make room ("push %rax" for a frame of 8
 * bytes): it counts when nothing else is stored there.
 */
static const struct spill *find_spill(const struct gs_prologue *p, int64_t offset, unsigned size,
				      bool is_push)
{
	for (size_t i = 0; i < p->nspills; i++) {
		const struct spill *s = &p->spills[i];

		if (s->is_push == is_push && s->offset < offset + (int64_t)size &&
		    offset < s->offset + (int64_t)s->size)
			return s;
	}
	return NULL;
}

static bool is_after_prologue(struct gs_context *c)
{
	Dwarf_Addr entry;
	uint64_t end;

	if (dwarf_entrypc(&c->scopes[0], &entry) != 0)
		return false;
	end = gs_prologue_end(c->m, &c->scopes[0], entry);
	return end != entry && c->pc >= end;
}

enum gs_spill_kind gs_prologue_read(struct gs_evaluation *ev, int64_t offset, unsigned size,
				    uint16_t *node)
{
	const struct gs_prologue *p = prologue_of(ev->c);
	const struct spill *first = NULL;

	if (!p->covers_pc)
		return GS_SPILL_MEMORY;
	first = find_spill(p, offset, size, false);
	if (!first)
		first = find_spill(p, offset, size, true);
	/* Stored in a way that is not understood: after the prologue it is there. */
	if (!first && is_after_prologue(ev->c))
		return GS_SPILL_MEMORY;
	if (!first)
		return absent(ev, "not yet in its slot in the frame");
	if (first->offset > offset || first->offset + (int64_t)first->size < offset + (int64_t)size)
		return GS_SPILL_PARTS;
	if (first->addr < ev->c->pc)
		return GS_SPILL_MEMORY;
	return value_of(ev, first, (unsigned)(offset - first->offset), size, node);
}
