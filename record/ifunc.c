/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The implementations that the resolver of an indirect function chooses from: what it can return.
 * Under place.c: the resolver itself runs once, its implementations run at each call.
 */
#include "record/flow.h"
#include "record/place.h"

#define RESOLVER_BYTES_MAX 4096

struct resolver {
	struct gs_module *m;
	struct gs_code code;
	struct gs_graph graph;
	cs_insn *insn;
	struct gs_implementations *out;
	uint8_t (*seen)[16]; /* by instruction and register */
	struct value {
		size_t insn;
		unsigned reg;
	} * todo;
	size_t ntodo, todo_cap;
};

/* rax, eax, ... as one number; 16 for what is none of the general registers. */
static unsigned register_number(x86_reg reg)
{
	static const x86_reg wide[] = {X86_REG_RAX, X86_REG_RCX, X86_REG_RDX, X86_REG_RBX,
				       X86_REG_RSP, X86_REG_RBP, X86_REG_RSI, X86_REG_RDI,
				       X86_REG_R8,  X86_REG_R9,	 X86_REG_R10, X86_REG_R11,
				       X86_REG_R12, X86_REG_R13, X86_REG_R14, X86_REG_R15};
	static const x86_reg narrow[] = {X86_REG_EAX,  X86_REG_ECX,  X86_REG_EDX,  X86_REG_EBX,
					 X86_REG_ESP,  X86_REG_EBP,  X86_REG_ESI,  X86_REG_EDI,
					 X86_REG_R8D,  X86_REG_R9D,  X86_REG_R10D, X86_REG_R11D,
					 X86_REG_R12D, X86_REG_R13D, X86_REG_R14D, X86_REG_R15D};

	for (unsigned i = 0; i < 16; i++)
		if (reg == wide[i] || reg == narrow[i])
			return i;
	return 16;
}

/* What a register held before instruction I is what counts; at the entry that is not known. */
static void follow_back(struct resolver *r, size_t i, unsigned reg)
{
	if (i == r->graph.entry || r->graph.is_leader[i])
		r->out->is_complete = false;
	if (reg >= 16 || r->seen[i][reg])
		return;
	r->seen[i][reg] = 1;
	*GS_PUSH(r->todo, r->ntodo, r->todo_cap) = (struct value){i, reg};
}

static void add_implementation(struct resolver *r, uint64_t addr)
{
	const struct gs_symbol *s = gs_symbol_at(r->m, addr);

	if (!s || s->addr != addr || !gs_elf_is_executable(r->m, addr)) {
		r->out->is_complete = false;
		return;
	}
	for (size_t i = 0; i < r->out->n; i++)
		if (r->out->addrs[i] == addr)
			return;
	*GS_PUSH(r->out->addrs, r->out->n, r->out->cap) = addr;
}

static bool decode(struct resolver *r, size_t i)
{
	uint8_t bytes[16];
	const uint8_t *p = bytes;
	uint64_t addr = r->code.insns[i].addr;
	size_t n = gs_module_read(r->m, addr, bytes, sizeof(bytes));

	return cs_disasm_iter(r->m->decoder.detail, &p, &n, &addr, r->insn);
}

static bool is_conditional_move(const cs_insn *insn)
{
	return strncmp(insn->mnemonic, "cmov", 4) == 0;
}

/* Whether instruction I leaves the register as it was; what it makes of it is followed. */
static bool passes(struct resolver *r, size_t i, unsigned reg)
{
	const cs_x86 *x;
	const cs_x86_op *to, *from;

	if (r->code.insns[i].flow == GS_FLOW_CALL || !decode(r, i)) {
		r->out->is_complete = false;
		return false;
	}
	x = &r->insn->detail->x86;
	to = &x->operands[0];
	from = &x->operands[1];
	/* Instructions with one operand write it or, as cpuid, several that they do not name. */
	if (x->op_count < 2) {
		bool changes = r->insn->id == X86_INS_CPUID || r->insn->id == X86_INS_XGETBV ||
			       (x->op_count == 1 && to->type == X86_OP_REG &&
				register_number(to->reg) == reg && r->insn->id != X86_INS_PUSH);

		r->out->is_complete &= !changes;
		return !changes;
	}
	if (to->type != X86_OP_REG || register_number(to->reg) != reg ||
	    r->insn->id == X86_INS_CMP || r->insn->id == X86_INS_TEST || r->insn->id == X86_INS_BT)
		return true;
	if (r->insn->id == X86_INS_LEA && from->mem.base == X86_REG_RIP && !from->mem.index) {
		add_implementation(r, r->code.insns[i].addr + r->code.insns[i].len +
					      (uint64_t)from->mem.disp);
	} else if (r->insn->id == X86_INS_MOV && from->type == X86_OP_IMM) {
		add_implementation(r, (uint64_t)from->imm);
	} else if ((r->insn->id == X86_INS_MOV || is_conditional_move(r->insn)) &&
		   from->type == X86_OP_REG) {
		bool is_conditional = is_conditional_move(r->insn);

		follow_back(r, i, register_number(from->reg));
		return is_conditional;
	} else {
		r->out->is_complete = false;
		return is_conditional_move(r->insn);
	}
	return false;
}

/* The instructions before I, with the value in REG there. */
static void step_back(struct resolver *r, struct value v)
{
	const struct gs_graph *g = &r->graph;

	if (gs_graph_is_fallen_into(g, v.insn) && passes(r, v.insn - 1, v.reg))
		follow_back(r, v.insn - 1, v.reg);
	for (size_t e = gs_graph_first_edge(g, v.insn); e < g->nedges && g->edges[e].to == v.insn;
	     e++)
		follow_back(r, g->edges[e].from, v.reg);
}

/* Without optimisation the result goes through memory: then every function whose address is taken.
 */
static void take_all(struct resolver *r)
{
	for (size_t i = 0; i < r->code.n; i++) {
		const cs_x86 *x;
		const struct gs_symbol *s;
		uint64_t addr = 0;

		if (!decode(r, i))
			continue;
		x = &r->insn->detail->x86;
		if (r->insn->id == X86_INS_LEA && x->operands[1].mem.base == X86_REG_RIP)
			addr = r->code.insns[i].addr + r->code.insns[i].len +
			       (uint64_t)x->operands[1].mem.disp;
		else if (r->insn->id == X86_INS_MOV && x->operands[1].type == X86_OP_IMM)
			addr = (uint64_t)x->operands[1].imm;
		s = addr ? gs_symbol_at(r->m, addr) : NULL;
		if (s && s->addr == addr)
			add_implementation(r, addr);
	}
}

void gs_ifunc_implementations(struct gs_module *m, const struct gs_symbol *s,
			      struct gs_implementations *out)
{
	struct resolver r = {.m = m, .out = out};
	bool returns = false;

	*out = (struct gs_implementations){.is_complete = true};
	if (!m->decoder.is_open || s->size == 0 || s->size > RESOLVER_BYTES_MAX)
		return;
	gs_code_decode(m, s->addr, s->addr + s->size, &r.code);
	gs_graph_init(&r.graph, &r.code, s->addr, NULL, 0, NULL, 0);
	r.seen = gs_calloc(r.code.n + 1, sizeof(*r.seen));
	r.insn = cs_malloc(m->decoder.detail);
	for (size_t i = 0; i < r.code.n; i++) {
		uint8_t flow = r.code.insns[i].flow;
		bool leaves = (flow == GS_FLOW_JUMP || flow == GS_FLOW_BRANCH) &&
			      gs_code_find(&r.code, r.code.insns[i].target) == SIZE_MAX;

		if (leaves || flow == GS_FLOW_JUMP_INDIRECT)
			out->is_complete = false;
		if (flow == GS_FLOW_RETURN) {
			returns = true;
			follow_back(&r, i, 0);
		}
	}
	while (r.ntodo)
		step_back(&r, r.todo[--r.ntodo]);
	out->is_complete &= returns;
	if (!out->n && returns)
		take_all(&r);
	cs_free(r.insn, 1);
	free(r.seen);
	free(r.todo);
	gs_graph_deinit(&r.graph);
	gs_code_deinit(&r.code);
}
