/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which candidates of a line in one function or inlined instance are probed.
 * Under place_line.c: puts what the line table says into the terms of the graph (flow_thin.c).
 */
#include "record/flow_function.h"
#include "record/place_line.h"

static int compare_candidates(const void *pa, const void *pb)
{
	const struct gs_line_candidate *a = pa, *b = pb;

	if (a->group != b->group)
		return (uintptr_t)a->group < (uintptr_t)b->group ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

void gs_line_sort(struct gs_line_candidate *candidates, size_t n)
{
	if (n)
		qsort(candidates, n, sizeof(*candidates), compare_candidates);
}

/*
 * Rows inside a run are tried first, from the end: what stays is where a run begins. Of the key
 * that the first run begins with all are tried last: copies of a statement stay together.
 */
static void order_candidates(const struct gs_line_group *g, const struct gs_flow_candidate *c,
			     size_t *order)
{
	uint32_t head = 0;
	size_t k = 0;

	for (size_t i = g->n; i-- > 0;)
		if (g->candidates[i].is_run_start)
			head = c[i].key;
	for (unsigned rank = 0; rank < 3; rank++)
		for (size_t i = g->n; i-- > 0;) {
			unsigned own = c[i].key == head ? 2 : g->candidates[i].is_run_start;

			if (own == rank)
				order[k++] = i;
		}
}

bool gs_line_is(const struct gs_line_group *g, const struct gs_unit_lines *t,
		const struct gs_row *row)
{
	return row->line == g->line && !row->end_sequence &&
	       gs_path_has_suffix(t->files[row->file], g->file);
}

/* Where statements of other lines begin in the same function or instance. */
static uint8_t *find_boundaries(const struct gs_line_group *g, const struct gs_function_flow *f)
{
	uint8_t *out = gs_calloc(f->code.n + 1, sizeof(*out));

	for (size_t i = 0; i < f->code.n; i++) {
		unsigned side = GS_BOUNDARY_BEFORE;

		for (uint32_t r = f->first_row[i]; r < f->end_row[i]; r++) {
			const struct gs_row *row = &f->lines->rows[r];

			if (!row->is_stmt || !row->line || row->end_sequence)
				continue;
			if (gs_line_is(g, f->lines, row))
				side = GS_BOUNDARY_AFTER;
			else if (f->owner[i] == g->candidates[0].group)
				out[i] |= (uint8_t)side;
		}
	}
	return out;
}

/* What the code of a row does, roughly: the function that it calls, or its first instruction. */
static uint32_t signature(struct gs_module *m, const struct gs_function_flow *f, uint64_t addr)
{
	size_t i = gs_code_find(&f->code, addr);
	uint8_t bytes[16];
	size_t n = gs_module_read(m, addr, bytes, sizeof(bytes));
	uint32_t out = 0;
	cs_insn *insn;

	for (size_t k = i; k < f->code.n && (k == i || f->first_row[k] == f->end_row[k]); k++)
		if (f->code.insns[k].flow == GS_FLOW_CALL && f->code.insns[k].target)
			return (uint32_t)gs_hash(&f->code.insns[k].target, 8, 0);
	if (i == SIZE_MAX || cs_disasm(m->decoder.detail, bytes, n, addr, 1, &insn) != 1)
		return 0;
	out = insn->id;
	for (unsigned k = 0; k < insn->detail->x86.op_count; k++)
		out = out * 31 + insn->detail->x86.operands[k].type * 64 +
		      insn->detail->x86.operands[k].size;
	cs_free(insn, 1);
	return out;
}

static uint32_t key_of(const struct gs_line_group *g, const struct gs_function_flow *f,
		       const struct gs_line_candidate *c)
{
	/* A marker is a statement's; a row is any part of one. */
	uint32_t part = f->lines->has_markers ? 0 : signature(g->m, f, c->natural);

	return (c->column * 0x9e3779b1u ^ part) & INT32_MAX;
}

/* Code of the line in the unit: from each of its rows to the next row. */
static uint64_t (*ranges_of_line(const struct gs_line_group *g, const struct gs_unit_lines *t,
				 size_t *n))[2]
{
	size_t cap = 0;
	uint64_t(*out)[2] = NULL;

	*n = 0;
	for (size_t i = 0; i + 1 < t->nrows; i++) {
		const struct gs_row *row = &t->rows[i];
		uint64_t *range;

		if (row->end_sequence || row->line != g->line || !gs_line_is(g, t, row))
			continue;
		range = *GS_PUSH(out, *n, cap);
		range[0] = row->addr;
		range[1] = t->rows[i + 1].addr;
	}
	return out;
}

static void thin(struct gs_line_group *g, const struct gs_function_flow *f, bool *drop)
{
	struct gs_flow_candidate *candidates GS_CLEANUP_FREE = gs_calloc(g->n, sizeof(*candidates));
	size_t *order GS_CLEANUP_FREE = gs_calloc(g->n, sizeof(*order));
	uint8_t *boundaries GS_CLEANUP_FREE = find_boundaries(g, f);
	struct gs_flow_line line = {
		.candidates = candidates, .order = order, .n = g->n, .boundaries = boundaries};
	uint64_t(*ranges)[2] =
		f->lines->has_markers ? NULL : ranges_of_line(g, f->lines, &line.nranges);

	for (size_t i = 0; i < g->n; i++)
		candidates[i] = (struct gs_flow_candidate){g->candidates[i].addr,
							   key_of(g, f, &g->candidates[i])};
	order_candidates(g, candidates, order);
	line.ranges = (const uint64_t(*)[2])ranges;
	gs_flow_thin(&f->graph, &line, drop);
	free(ranges);
}

void gs_line_thin(struct gs_line_group *g, bool *drop)
{
	struct gs_context *c = g->candidates[0].context;
	const struct gs_function_flow *f = c ? gs_function_flow_of(g->m, &c->scopes[0]) : NULL;

	if (!f)
		return;
	if (g->n > 1)
		thin(g, f, drop);
	if (!g->doubt)
		g->doubt = gs_line_doubt(g, f);
}
