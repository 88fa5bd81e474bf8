/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control-flow graph of a decoded function, by instruction.
 * Made by flow_function.c; walked by flow_thin.c and place_doubt.c.
 */
#include "record/flow.h"

#include "common/mem.h"

static bool falls_through(const struct gs_insn *i)
{
	switch (i->flow) {
	case GS_FLOW_NEXT:
	case GS_FLOW_BRANCH:
	case GS_FLOW_CALL:
	case GS_FLOW_BAD:
		return true;
	default:
		return false;
	}
}

bool gs_graph_is_fallen_into(const struct gs_graph *f, size_t i)
{
	const struct gs_insn *insns = f->code->insns;

	return i > 0 && i < f->code->n && !f->is_padding[i - 1] &&
	       insns[i - 1].addr + insns[i - 1].len == insns[i].addr &&
	       falls_through(&insns[i - 1]);
}

static int compare_edges(const void *pa, const void *pb)
{
	const struct gs_flow_edge *a = pa, *b = pb;

	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

size_t gs_graph_first_edge(const struct gs_graph *f, size_t to)
{
	size_t low = 0, high = f->nedges;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (f->edges[mid].to < to)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void add_edge(struct gs_graph *f, size_t from, uint64_t target)
{
	size_t to = gs_code_find(f->code, target);

	if (to != SIZE_MAX)
		*GS_PUSH(f->edges, f->nedges, f->edges_cap) =
			(struct gs_flow_edge){(uint32_t)to, (uint32_t)from};
}

/* Adds the edges of an indirect jump; false if they are not known. */
static bool add_known_jumps(struct gs_graph *f, size_t from, const struct gs_flow_jump *jumps,
			    size_t njumps)
{
	uint64_t addr = f->code->insns[from].addr;
	bool any = false;

	for (size_t i = 0; i < njumps; i++)
		if (jumps[i].from == addr) {
			add_edge(f, from, jumps[i].to);
			any = true;
		}
	return any;
}

/* Landing pads and the like: nothing in the function leads there, so everything may; but not to
 * what fills the space up to a jump's target. */
static void mark_orphans(struct gs_graph *f)
{
	for (size_t i = 0; i < f->code->n; i++) {
		size_t e = gs_graph_first_edge(f, i);
		bool is_target = e < f->nedges && f->edges[e].to == i;

		if (is_target || i == f->entry || gs_graph_is_fallen_into(f, i))
			continue;
		if (f->code->insns[i].is_nop)
			f->is_padding[i] = true;
		else
			f->is_leader[i] = true;
	}
}

void gs_graph_init(struct gs_graph *f, const struct gs_code *code, uint64_t entry,
		   const struct gs_flow_jump *jumps, size_t njumps, const uint64_t *leaders,
		   size_t nleaders)
{
	bool has_unknown = false;

	*f = (struct gs_graph){.code = code, .entry = gs_code_find(code, entry)};
	for (size_t i = 0; i < code->n; i++) {
		const struct gs_insn *insn = &code->insns[i];

		if (insn->flow == GS_FLOW_BRANCH || insn->flow == GS_FLOW_JUMP)
			add_edge(f, i, insn->target);
		else if (insn->flow == GS_FLOW_JUMP_INDIRECT)
			has_unknown |= !add_known_jumps(f, i, jumps, njumps);
	}
	if (f->nedges)
		qsort(f->edges, f->nedges, sizeof(*f->edges), compare_edges);
	f->is_leader = gs_calloc(code->n + 1, 1);
	f->is_padding = gs_calloc(code->n + 1, 1);
	for (size_t i = 0; has_unknown && i < nleaders; i++) {
		size_t at = gs_code_find(code, leaders[i]);

		if (at != SIZE_MAX)
			f->is_leader[at] = true;
	}
	mark_orphans(f);
}

void gs_graph_deinit(struct gs_graph *f)
{
	free(f->edges);
	free(f->is_leader);
	free(f->is_padding);
	*f = (struct gs_graph){0};
}
