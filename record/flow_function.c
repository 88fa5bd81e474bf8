/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A function of a module as a graph with its lines and inlined instances. For place_line.c; the
 * one that was asked for last is kept, as the lines of a function are asked for one by one.
 */
#include "record/flow_function.h"

#define RANGES_MAX 64

static int compare_ranges(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return a[0] < b[0] ? -1 : a[0] > b[0];
}

static void decode_ranges(struct gs_module *m, Dwarf_Die *function, struct gs_code *code)
{
	uint64_t ranges[RANGES_MAX][2];
	size_t n = 0;
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while (n < RANGES_MAX && (at = dwarf_ranges(function, at, &base, &low, &high)) > 0) {
		ranges[n][0] = low;
		ranges[n++][1] = high;
	}
	if (n)
		qsort(ranges, n, sizeof(ranges[0]), compare_ranges);
	for (size_t i = 0; i < n; i++)
		gs_code_decode(m, ranges[i][0], ranges[i][1], code);
}

/* First instruction at or beyond ADDR. */
static size_t insn_from(const struct gs_code *code, uint64_t addr)
{
	size_t low = 0, high = code->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (code->insns[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void paint(struct gs_function_flow *f, Dwarf_Die *instance)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(instance, at, &base, &low, &high)) > 0)
		for (size_t i = insn_from(&f->code, low);
		     i < f->code.n && f->code.insns[i].addr < high; i++)
			f->owner[i] = instance->addr;
}

/* The instances in DIE, outer ones first. */
static void paint_instances(struct gs_function_flow *f, Dwarf_Die *die, unsigned depth)
{
	Dwarf_Die child;

	if (depth > GS_DIE_DEPTH_MAX || dwarf_child(die, &child) != 0)
		return;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_inlined_subroutine)
			paint(f, &child);
		if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block)
			paint_instances(f, &child, depth + 1);
	} while (dwarf_siblingof(&child, &child) == 0);
}

static void find_rows(struct gs_function_flow *f)
{
	const struct gs_unit_lines *t = f->lines;
	size_t r = 0;

	for (size_t i = 0; i < f->code.n; i++) {
		uint64_t addr = f->code.insns[i].addr;

		/* Ranges ascend, and so do rows. */
		if (i == 0 || f->code.insns[i - 1].addr + f->code.insns[i - 1].len != addr) {
			size_t low = 0, high = t->nrows;

			while (low < high) {
				size_t mid = (low + high) / 2;

				if (t->rows[mid].addr < addr)
					low = mid + 1;
				else
					high = mid;
			}
			r = low;
		}
		while (r < t->nrows && t->rows[r].addr < addr)
			r++;
		f->first_row[i] = (uint32_t)r;
		while (r < t->nrows && t->rows[r].addr == addr)
			r++;
		f->end_row[i] = (uint32_t)r;
	}
}

/* Where an indirect jump may lead that is not understood: to the first row of each run of a line.
 */
static uint64_t *leaders_of(const struct gs_function_flow *f, size_t *n)
{
	size_t cap = 0;
	uint64_t *out = NULL;

	*n = 0;
	for (size_t i = 0; i < f->code.n; i++)
		for (uint32_t r = f->first_row[i]; r < f->end_row[i]; r++) {
			const struct gs_row *row = &f->lines->rows[r], *before = row - 1;

			if (!row->end_sequence &&
			    (r == 0 || before->end_sequence || before->line != row->line ||
			     before->file != row->file)) {
				*GS_PUSH(out, *n, cap) = row->addr;
				break;
			}
		}
	return out;
}

static void make_graph(struct gs_module *m, struct gs_function_flow *f, uint64_t entry)
{
	struct gs_jump_list jumps = {0};
	size_t nleaders;
	uint64_t *leaders GS_CLEANUP_FREE = leaders_of(f, &nleaders);

	for (size_t i = 0; i < f->code.n; i++)
		if (f->code.insns[i].flow == GS_FLOW_JUMP_INDIRECT)
			gs_jump_table_read(m, &f->code, i, &jumps);
	gs_graph_init(&f->graph, &f->code, entry, jumps.jumps, jumps.n, leaders, nleaders);
	free(jumps.jumps);
}

static void deinit(struct gs_function_flow *f)
{
	gs_graph_deinit(&f->graph);
	gs_code_deinit(&f->code);
	free(f->owner);
	free(f->first_row);
	free(f->end_row);
	*f = (struct gs_function_flow){0};
}

static void make(struct gs_module *m, struct gs_function_flow *f, Dwarf_Die *function,
		 uint64_t entry, size_t unit)
{
	size_t n;
	Dwarf_Attribute attr;

	f->die = function->addr;
	f->lines = gs_lines_of_unit(m, unit);
	f->has_return_value = dwarf_attr_integrate(function, DW_AT_type, &attr) != NULL;
	decode_ranges(m, function, &f->code);
	n = f->code.n + 1;
	f->owner = gs_calloc(n, sizeof(*f->owner));
	f->first_row = gs_calloc(n, sizeof(*f->first_row));
	f->end_row = gs_calloc(n, sizeof(*f->end_row));
	for (size_t i = 0; i < f->code.n; i++)
		f->owner[i] = function->addr;
	paint_instances(f, function, 0);
	find_rows(f);
	make_graph(m, f, entry);
}

struct gs_function_flow *gs_function_flow_of(struct gs_module *m, Dwarf_Die *function)
{
	uint64_t entry;
	size_t unit;

	if (m->flow && m->flow->die == function->addr)
		return m->flow;
	unit = gs_unit_of(m, function);
	if (!m->decoder.is_open || unit == SIZE_MAX || !gs_die_entry(m, function, &entry))
		return NULL;
	if (!m->flow)
		m->flow = gs_calloc(1, sizeof(*m->flow));
	deinit(m->flow);
	make(m, m->flow, function, entry, unit);
	return m->flow->code.n ? m->flow : NULL;
}

void gs_function_flow_free(struct gs_module *m)
{
	if (m->flow)
		deinit(m->flow);
	free(m->flow);
	m->flow = NULL;
}
