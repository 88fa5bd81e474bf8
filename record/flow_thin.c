/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which candidates of a line are redundant, so that a probe fires once each time control enters the
 * line's code. The rule is in flow.h; this walks the graph for it, backwards and forwards.
 */
#include "record/flow.h"

#include "common/mem.h"

#define NO_KEY UINT32_MAX

struct thinning {
	const struct gs_graph *f;
	const struct gs_flow_line *line;
	bool *kept;	     /* per instruction */
	uint32_t *key_of;    /* per instruction: of the candidate there, or NO_KEY */
	uint8_t *seen;	     /* bit 0: with no boundary behind, bit 1: with one */
	size_t *todo, ntodo; /* instruction * 2 + whether a boundary was passed */
};

static void push(struct thinning *t, size_t i, bool is_separated)
{
	if (t->seen[i] & (1u << is_separated))
		return;
	t->seen[i] |= (uint8_t)(1u << is_separated);
	t->todo[t->ntodo++] = i * 2 + is_separated;
}

static void restart(struct thinning *t, size_t self, bool is_separated)
{
	memset(t->seen, 0, t->f->code->n + 1);
	t->ntodo = 0;
	push(t, self, is_separated);
}

/*
 * Visits I on the way back from SELF. True: the search has ended, there is a path without a
 * candidate that SELF would be one execution with.
 */
static bool reach(struct thinning *t, size_t i, size_t self, bool is_separated)
{
	uint32_t key = t->key_of[i];

	if (i == self)
		return true;
	if (key == t->key_of[self] && (is_separated || t->line->boundaries[i] & GS_BOUNDARY_AFTER))
		return true;
	if (t->kept[i])
		return false;
	if (i == t->f->entry || t->f->is_leader[i])
		return true;
	push(t, i,
	     is_separated || t->line->boundaries[i] || (key != NO_KEY && key != t->key_of[self]));
	return false;
}

static bool is_reached(struct thinning *t, size_t self)
{
	const struct gs_graph *f = t->f;

	if (self == f->entry || f->is_leader[self])
		return true;
	restart(t, self, t->line->boundaries[self] & GS_BOUNDARY_BEFORE);
	while (t->ntodo) {
		size_t at = t->todo[--t->ntodo], i = at / 2;

		if (gs_graph_is_fallen_into(f, i) && reach(t, i - 1, self, at & 1))
			return true;
		for (size_t e = gs_graph_first_edge(f, i); e < f->nedges && f->edges[e].to == i;
		     e++)
			if (reach(t, f->edges[e].from, self, at & 1))
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

/* Visits I on the way forward from SELF. False: a path has left the line, or has come to the next
 * execution. */
static bool proceed(struct thinning *t, size_t i, size_t self)
{
	const struct gs_flow_line *line = t->line;

	if (i >= t->f->code->n || (!line->ranges && line->boundaries[i] & GS_BOUNDARY_BEFORE))
		return false;
	if (t->kept[i])
		return t->key_of[i] != t->key_of[self];
	if (line->ranges ? !is_of_line(line, t->f->code->insns[i].addr) : line->boundaries[i] != 0)
		return false;
	push(t, i, false);
	return true;
}

static bool follow(struct thinning *t, size_t i, size_t self)
{
	const struct gs_code *code = t->f->code;
	const struct gs_insn *insn = &code->insns[i];

	switch (insn->flow) {
	case GS_FLOW_BRANCH:
		if (!proceed(t, gs_code_find(code, insn->target), self))
			return false;
		break;
	case GS_FLOW_JUMP:
		return proceed(t, gs_code_find(code, insn->target), self);
	case GS_FLOW_NEXT:
	case GS_FLOW_CALL:
		break;
	default:
		return false;
	}
	return gs_graph_is_fallen_into(t->f, i + 1) && proceed(t, i + 1, self);
}

/* Whether every path from SELF meets a kept candidate before it leaves the line. */
static bool always_meets(struct thinning *t, size_t self)
{
	if (!t->line->ranges && t->line->boundaries[self] & GS_BOUNDARY_AFTER)
		return false;
	restart(t, self, false);
	while (t->ntodo)
		if (!follow(t, t->todo[--t->ntodo] / 2, self))
			return false;
	return true;
}

static void try_each(struct thinning *t, bool forward, bool *drop)
{
	for (size_t i = 0; i < t->line->n; i++) {
		size_t which = t->line->order[i];
		size_t at = gs_code_find(t->f->code, t->line->candidates[which].addr);

		if (at == SIZE_MAX || drop[which])
			continue;
		/* Without itself: a loop that only meets itself has met nothing. */
		t->kept[at] = false;
		drop[which] = forward ? always_meets(t, at) : !is_reached(t, at);
		t->kept[at] = !drop[which];
	}
}

void gs_flow_thin(const struct gs_graph *f, const struct gs_flow_line *line, bool *drop)
{
	size_t n = f->code->n + 1;
	bool *kept GS_CLEANUP_FREE = gs_calloc(n, sizeof(*kept));
	uint32_t *key_of GS_CLEANUP_FREE = gs_calloc(n, sizeof(*key_of));
	uint8_t *seen GS_CLEANUP_FREE = gs_calloc(n, sizeof(*seen));
	size_t *todo GS_CLEANUP_FREE = gs_calloc(n * 2, sizeof(*todo));
	struct thinning t = {f, line, kept, key_of, seen, todo, 0};

	memset(key_of, 0xff, n * sizeof(*key_of));
	for (size_t i = 0; i < line->n; i++) {
		size_t at = gs_code_find(f->code, line->candidates[i].addr);

		if (at == SIZE_MAX)
			continue;
		kept[at] = true;
		key_of[at] = line->candidates[i].key;
	}
	try_each(&t, false, drop);
	try_each(&t, true, drop);
}
