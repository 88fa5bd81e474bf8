/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether hits of a line can be executions of it: not where the compiler made one instruction do
 * several rounds of a loop, or left no statement of its own to a path that executes the line.
 * Under place_thin.c. What it says is about the code; a line of which it says nothing counts right.
 */
#include "record/flow_function.h"
#include "record/place_line.h"

struct doubt {
	const struct gs_line_group *g;
	const struct gs_function_flow *f;
	cs_insn *insn;
};

/* ---- instructions ---- */

static bool decode(struct doubt *d, size_t i)
{
	uint8_t bytes[16];
	const uint8_t *p = bytes;
	uint64_t addr = d->f->code.insns[i].addr;
	size_t n = gs_module_read(d->g->m, addr, bytes, sizeof(bytes));

	return d->f->code.insns[i].flow != GS_FLOW_BAD &&
	       cs_disasm_iter(d->g->m->decoder.detail, &p, &n, &addr, d->insn);
}

static const cs_x86_op *memory_operand(const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;

	for (unsigned i = 0; i < x->op_count; i++)
		if (x->operands[i].type == X86_OP_MEM)
			return &x->operands[i];
	return NULL;
}

/* A vector in memory that is neither a constant nor on the stack. */
static bool is_vector_access(const cs_insn *insn)
{
	const cs_x86_op *m = memory_operand(insn);

	if (m && insn->id == X86_INS_MOVQ && m->size == 8 && m->mem.base != X86_REG_RIP)
		return true;
	return m && insn->id != X86_INS_LEA && insn->id != X86_INS_NOP && m->size >= 16 &&
	       m->mem.base != X86_REG_RIP && m->mem.base != X86_REG_RSP &&
	       m->mem.base != X86_REG_RBP;
}

static bool begins_with_any(const char *s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(s, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}

/* Arithmetic on all elements of a vector; not the moves and logic that scalars are done with too.
 */
static bool is_vector_arithmetic(const cs_insn *insn)
{
	static const char *const integer[] = {"padd",  "psub",	"pmul",	  "pmadd", "pcmp",
					      "pmin",  "pmax",	"pavg",	  "psll",  "psrl",
					      "psra",  "pshuf", "punpck", "pack",  "pmovs",
					      "pmovz", "pabs",	"psad",	  "phadd"};
	static const char *const floating[] = {"add", "sub",  "mul", "div",  "min",
					       "max", "sqrt", "cmp", "hadd", "fmadd"};
	const char *name = insn->mnemonic;
	size_t n = strlen(name);

	if (*name == 'v')
		name++;
	if (begins_with_any(name, integer, GS_ARRAY_SIZE(integer)))
		return true;
	return n > 3 && begins_with_any(name, floating, GS_ARRAY_SIZE(floating)) &&
	       (strcmp(insn->mnemonic + n - 2, "ps") == 0 ||
		strcmp(insn->mnemonic + n - 2, "pd") == 0);
}

/* ---- loops ---- */

/* Longer ones are not unrolled, nor vectorised. */
#define LOOP_INSNS_MAX 1000

/* The smallest loop around instruction I: a jump back over it. */
static bool innermost_loop(const struct gs_graph *f, size_t i, size_t *first, size_t *last)
{
	size_t best = LOOP_INSNS_MAX;

	for (size_t e = 0; e < f->nedges && f->edges[e].to <= i; e++) {
		size_t span = (size_t)f->edges[e].from - f->edges[e].to;

		if (f->edges[e].from < i || span >= best)
			continue;
		best = span;
		*first = f->edges[e].to;
		*last = f->edges[e].from;
	}
	return best != LOOP_INSNS_MAX;
}

static bool is_vectorised(struct doubt *d, size_t first, size_t last)
{
	bool has_access = false, has_arithmetic = false;

	for (size_t i = first; i <= last; i++) {
		/* Vector instructions have a prefix or an escape, a register or memory operand. */
		if (d->f->code.insns[i].len < 3 || !decode(d, i))
			continue;
		has_access |= is_vector_access(d->insn);
		has_arithmetic |= is_vector_arithmetic(d->insn);
	}
	return has_access && has_arithmetic;
}

/* The instructions of a row of the line, from I; the end of them. */
static size_t row_end(const struct gs_function_flow *f, size_t i)
{
	for (i++; i < f->code.n && f->first_row[i] == f->end_row[i];)
		i++;
	return i;
}

static bool is_same_memory(const cs_x86_op *a, const x86_op_mem *b)
{
	return a->mem.base == b->base && a->mem.index == b->index && a->mem.scale == b->scale &&
	       a->mem.segment == b->segment;
}

static bool is_plain_move(const cs_insn *insn)
{
	return strncmp(insn->mnemonic, "mov", 3) == 0 || insn->id == X86_INS_LEA ||
	       insn->id == X86_INS_NOP || insn->id == X86_INS_CMP || insn->id == X86_INS_TEST;
}

/*
 * Whether one row of the line does the same again and again: it stores to one place, or takes the
 * next element into account, three times, with nothing between that could be another statement.
 */
static bool repeats(struct doubt *d, size_t first, size_t end)
{
	x86_op_mem stored = {0}, taken = {0};
	unsigned nstored = 0, ntaken = 0, id = 0;
	int64_t disp = 0;

	for (size_t i = first; i < end; i++) {
		const cs_x86_op *m;
		int64_t at;

		if (d->f->code.insns[i].flow != GS_FLOW_NEXT)
			nstored = ntaken = 0;
		if (!decode(d, i) || !(m = memory_operand(d->insn)))
			continue;
		at = m->mem.disp;
		if (m->mem.base == X86_REG_RIP)
			at += (int64_t)(d->f->code.insns[i].addr + d->f->code.insns[i].len);
		if (m == &d->insn->detail->x86.operands[0] && d->insn->id != X86_INS_CMP &&
		    d->insn->id != X86_INS_TEST && d->insn->id != X86_INS_NOP &&
		    m->mem.base != X86_REG_RSP && m->mem.base != X86_REG_RBP) {
			nstored = nstored && is_same_memory(m, &stored) && at == disp ? nstored + 1
										      : 1;
			stored = m->mem;
			disp = at;
		} else if (!is_plain_move(d->insn)) {
			ntaken = ntaken && id == d->insn->id && is_same_memory(m, &taken)
					 ? ntaken + 1
					 : 1;
			taken = m->mem;
			id = d->insn->id;
		}
		if (nstored >= 3 || ntaken >= 3)
			return true;
	}
	return false;
}

static const char *doubt_loop(struct doubt *d, size_t i)
{
	size_t first, last;

	if (!innermost_loop(&d->f->graph, i, &first, &last))
		return NULL;
	if (is_vectorised(d, first, last))
		return "its loop is vectorised, an instruction does several rounds";
	return NULL;
}

/* What the code of the line itself tells, wherever it is in the group. */
static const char *doubt_code(struct doubt *d)
{
	const struct gs_function_flow *f = d->f;

	for (size_t i = 0; i < f->code.n; i++) {
		size_t end, first, last;

		if (f->first_row[i] == f->end_row[i] || f->owner[i] != d->g->candidates[0].group ||
		    !gs_line_is(d->g, f->lines, &f->lines->rows[f->end_row[i] - 1]))
			continue;
		end = row_end(f, i);
		if (is_vectorised(d, i, end - 1))
			return "it is vectorised, an instruction does several executions";
		if (innermost_loop(&f->graph, i, &first, &last) && repeats(d, i, end))
			return "its loop is unrolled, and the copies are not told apart";
	}
	return NULL;
}

/* ---- statements that were lost ---- */

/* Whether copies of a statement begin at one instruction: another statement is between them. */
static bool has_merged_copies(const struct doubt *d, size_t i)
{
	const struct gs_function_flow *f = d->f;
	uint32_t column = 0;
	bool is_apart = false;

	for (uint32_t r = f->first_row[i]; r < f->end_row[i]; r++) {
		const struct gs_row *row = &f->lines->rows[r];

		if (!row->is_stmt)
			continue;
		if (!gs_line_is(d->g, f->lines, row)) {
			is_apart = column != 0;
		} else if (row->column == column && is_apart) {
			return true;
		} else if (!column || is_apart) {
			column = row->column;
			is_apart = false;
		}
	}
	return false;
}

/* The statement that the row of instruction I belongs to: 1 of the line, 2 of another, 0 none
 * begins there. */
static unsigned statement_at(const struct doubt *d, size_t i)
{
	const struct gs_function_flow *f = d->f;

	for (uint32_t r = f->end_row[i]; r-- > f->first_row[i];) {
		const struct gs_row *row = &f->lines->rows[r];

		if (row->is_stmt && row->line && !row->end_sequence)
			return gs_line_is(d->g, f->lines, row) ? 1 : 2;
	}
	return 0;
}

/* Whether the instruction ends a loop, or goes on with it. */
static bool is_loop_choice(const struct doubt *d, size_t i)
{
	size_t first, last;

	return d->f->code.insns[i].flow == GS_FLOW_BRANCH &&
	       innermost_loop(&d->f->graph, i, &first, &last);
}

enum last_statement {
	LAST_IS_LINE = 1 << 0,	 /* the line is the last statement before the return */
	LAST_IS_CHOICE = 1 << 1, /* another is, and it ended a loop: it is no return */
};
enum passed {
	PASSED_BRANCH = 1 << 0,
	PASSED_LOOP = 1 << 1,
};

struct walk {
	uint8_t *seen;	 /* a bit for each set of enum passed */
	size_t *todo, n; /* instruction * 4 + enum passed */
};

/* To instruction I, from where PASSED was behind. */
static void push(struct doubt *d, struct walk *w, size_t i, unsigned passed)
{
	if (d->f->code.insns[i].flow == GS_FLOW_BRANCH)
		passed |= is_loop_choice(d, i) ? PASSED_BRANCH | PASSED_LOOP : PASSED_BRANCH;
	if (w->seen[i] & (1u << passed))
		return;
	w->seen[i] |= (uint8_t)(1u << passed);
	w->todo[w->n++] = i * 4 + passed;
}

/* Which statements are the last on the ways to the return at instruction LAST. */
static unsigned last_statements(struct doubt *d, struct walk *w, size_t last)
{
	const struct gs_graph *graph = &d->f->graph;
	unsigned found = 0;

	w->n = 0;
	push(d, w, last, 0);
	while (w->n) {
		size_t at = w->todo[--w->n], i = at / 4;
		unsigned passed = at & 3, kind = statement_at(d, i);

		if (kind == 1 && !passed)
			found |= LAST_IS_LINE;
		else if (kind == 2 && passed & PASSED_LOOP)
			found |= LAST_IS_CHOICE;
		if (kind)
			continue;
		if (gs_graph_is_fallen_into(graph, i))
			push(d, w, i - 1, passed);
		for (size_t e = gs_graph_first_edge(graph, i);
		     e < graph->nedges && graph->edges[e].to == i; e++)
			push(d, w, graph->edges[e].from, passed);
	}
	return found;
}

/*
 * A function that returns a value ends every path with a return statement. gcc merges them, and the
 * statement stays on one of the paths only: then a loop ends in none.
 */
static bool has_lost_return(struct doubt *d)
{
	const struct gs_function_flow *f = d->f;
	uint8_t *seen GS_CLEANUP_FREE = gs_calloc(f->code.n + 1, 1);
	size_t *todo GS_CLEANUP_FREE = gs_calloc((f->code.n + 1) * 4, sizeof(*todo));
	struct walk w = {seen, todo, 0};
	unsigned found = 0;

	if (!f->lines->has_markers || !f->has_return_value || d->g->candidates[0].group != f->die)
		return false;
	for (size_t i = 0; i < f->code.n; i++)
		if (f->code.insns[i].flow == GS_FLOW_RETURN)
			found |= last_statements(d, &w, i);
	return found == (LAST_IS_LINE | LAST_IS_CHOICE);
}

/* ---- the question ---- */

static const char *doubt_of(struct doubt *d)
{
	const struct gs_line_group *g = d->g;
	const char *why;

	for (size_t i = 0; i < g->n; i++) {
		size_t at = gs_code_find(&d->f->code, g->candidates[i].natural);

		if (at == SIZE_MAX)
			continue;
		if ((why = doubt_loop(d, at)))
			return why;
		if (d->f->lines->has_markers && has_merged_copies(d, at))
			return "copies of it begin at one instruction";
	}
	if ((why = doubt_code(d)))
		return why;
	return has_lost_return(d)
		       ? "it is a return that other paths share without a statement of their own"
		       : NULL;
}

const char *gs_line_doubt(const struct gs_line_group *g, const struct gs_function_flow *f)
{
	struct doubt d = {g, f, cs_malloc(g->m->decoder.detail)};
	const char *why = doubt_of(&d);

	cs_free(d.insn, 1);
	return why;
}
