/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Control flow of a decoded function, to fire once each time control enters the code of a line.
 * Between lines.c, which knows the addresses of a line, and place.c, which probes some of them.
 */
#include "record/insn.h"

#include "record/dwarf_internal.h"

struct edge {
	uint32_t to, from;
};

struct graph {
	const struct gs_code *code;
	struct edge *edges; /* jumps only, ascending to */
	size_t nedges, edges_cap;
	bool *is_leader; /* may be reached by an indirect jump or from nowhere that is known */
	bool has_indirect;
	size_t entry;
};

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

static int compare_edges(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;

	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

static size_t first_edge(const struct graph *g, size_t to)
{
	size_t low = 0, high = g->nedges;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (g->edges[mid].to < to)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Whether the instruction before I in memory runs into it. */
static bool is_fallen_into(const struct graph *g, size_t i)
{
	const struct gs_insn *insns = g->code->insns;

	return i > 0 && insns[i - 1].addr + insns[i - 1].len == insns[i].addr &&
	       falls_through(&insns[i - 1]);
}

static void build(struct graph *g, const uint64_t *leaders, size_t nleaders)
{
	const struct gs_code *code = g->code;

	for (size_t i = 0; i < code->n; i++) {
		const struct gs_insn *insn = &code->insns[i];
		size_t to;

		g->has_indirect |= insn->flow == GS_FLOW_JUMP_INDIRECT;
		if (insn->flow != GS_FLOW_BRANCH && insn->flow != GS_FLOW_JUMP)
			continue;
		to = gs_code_find(code, insn->target);
		if (to != SIZE_MAX)
			*GS_PUSH(g->edges, g->nedges, g->edges_cap) =
				(struct edge){(uint32_t)to, (uint32_t)i};
	}
	if (g->nedges)
		qsort(g->edges, g->nedges, sizeof(*g->edges), compare_edges);
	g->is_leader = gs_calloc(code->n + 1, 1);
	for (size_t i = 0; g->has_indirect && i < nleaders; i++) {
		size_t at = gs_code_find(code, leaders[i]);

		if (at != SIZE_MAX)
			g->is_leader[at] = true;
	}
	/* Landing pads and the like: nothing in the function leads there, so everything may. */
	for (size_t i = 0; i < code->n; i++) {
		size_t e = first_edge(g, i);

		if (!is_fallen_into(g, i) && (e >= g->nedges || g->edges[e].to != i))
			g->is_leader[i] = true;
	}
}

/* Marks I as to be visited. True: the search has ended, a path without a kept candidate exists. */
static bool reach(const struct graph *g, size_t i, size_t self, const bool *kept, uint8_t *seen,
		  size_t *todo, size_t *n)
{
	if (i == self)
		return true;
	if (kept[i] || seen[i])
		return false;
	if (i == g->entry || g->is_leader[i])
		return true;
	seen[i] = 1;
	todo[(*n)++] = i;
	return false;
}

/* Whether some path from the entry, or from itself, reaches SELF without passing a kept
 * instruction. */
static bool is_reached(const struct graph *g, size_t self, const bool *kept)
{
	size_t *todo GS_CLEANUP_FREE = gs_calloc(g->code->n + 1, sizeof(*todo));
	uint8_t *seen GS_CLEANUP_FREE = gs_calloc(g->code->n + 1, 1);
	size_t n = 0;

	if (self == g->entry || g->is_leader[self])
		return true;
	todo[n++] = self;
	while (n) {
		size_t i = todo[--n];

		if (is_fallen_into(g, i) && reach(g, i - 1, self, kept, seen, todo, &n))
			return true;
		for (size_t e = first_edge(g, i); e < g->nedges && g->edges[e].to == i; e++)
			if (reach(g, g->edges[e].from, self, kept, seen, todo, &n))
				return true;
	}
	return false;
}

static bool is_of_line(const struct gs_flow_line *line, uint64_t addr)
{
	size_t low = 0, high = line->nranges;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (line->ranges[mid][0] <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low > 0 && addr < line->ranges[low - 1][1];
}

/* Visits I on the way forward. False: a path has left the line. */
static bool proceed(const struct graph *g, const struct gs_flow_line *line, size_t i,
		    const bool *kept, uint8_t *seen, size_t *todo, size_t *n)
{
	if (i >= g->code->n)
		return false;
	if (kept[i] || seen[i])
		return true;
	if (!is_of_line(line, g->code->insns[i].addr))
		return false;
	seen[i] = 1;
	todo[(*n)++] = i;
	return true;
}

static bool follow(const struct graph *g, const struct gs_flow_line *line, size_t i,
		   const bool *kept, uint8_t *seen, size_t *todo, size_t *n)
{
	const struct gs_insn *insn = &g->code->insns[i];

	switch (insn->flow) {
	case GS_FLOW_BRANCH:
		if (!proceed(g, line, gs_code_find(g->code, insn->target), kept, seen, todo, n))
			return false;
		break;
	case GS_FLOW_JUMP:
		return proceed(g, line, gs_code_find(g->code, insn->target), kept, seen, todo, n);
	case GS_FLOW_NEXT:
	case GS_FLOW_CALL:
		break;
	default:
		return false;
	}
	return is_fallen_into(g, i + 1) && proceed(g, line, i + 1, kept, seen, todo, n);
}

/* Whether every path from SELF meets a kept candidate before it leaves the line. */
static bool always_meets(const struct graph *g, const struct gs_flow_line *line, size_t self,
			 const bool *kept)
{
	size_t *todo GS_CLEANUP_FREE = gs_calloc(g->code->n + 1, sizeof(*todo));
	uint8_t *seen GS_CLEANUP_FREE = gs_calloc(g->code->n + 1, 1);
	size_t n = 0;

	seen[self] = 1;
	todo[n++] = self;
	while (n) {
		size_t i = todo[--n];

		if (i + 1 >= g->code->n || !follow(g, line, i, kept, seen, todo, &n))
			return false;
	}
	return true;
}

void gs_flow_thin(const struct gs_code *code, const struct gs_flow_line *line, bool *drop)
{
	struct graph g = {.code = code, .entry = gs_code_find(code, line->entry)};
	bool *kept GS_CLEANUP_FREE = gs_calloc(code->n + 1, sizeof(*kept));

	build(&g, line->leaders, line->nleaders);
	for (size_t i = 0; i < line->n; i++) {
		size_t at = gs_code_find(code, line->addrs[i]);

		if (at != SIZE_MAX)
			kept[at] = true;
	}
	for (int forward = 0; forward < 2; forward++)
		for (size_t i = 0; i < line->n; i++) {
			size_t which = line->order[i], at = gs_code_find(code, line->addrs[which]);

			if (at == SIZE_MAX || drop[which])
				continue;
			/* Without itself: a loop that only meets itself has met nothing. */
			kept[at] = false;
			drop[which] = forward ? always_meets(&g, line, at, kept)
					      : !is_reached(&g, at, kept);
			kept[at] = !drop[which];
		}
	free(g.edges);
	free(g.is_leader);
}
