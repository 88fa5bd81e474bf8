/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One function of a module as decoded code: its graph, whose code each instruction is (its own or
 * an inlined instance's), and the rows of the line table that begin there.
 * Made by flow_function.c for place_line.c; the module keeps the one that was asked for last.
 */
#ifndef GS_RECORD_FLOW_FUNCTION_H
#define GS_RECORD_FLOW_FUNCTION_H

#include "record/dwarf_internal.h"
#include "record/flow.h"

struct gs_function_flow {
	const void *die; /* of the out-of-line function */
	struct gs_code code;
	struct gs_graph graph;
	const void **owner; /* per instruction: entry of the innermost function or instance */
	/* Per instruction: rows [first_row, end_row) begin there; of no row both are the same. */
	uint32_t *first_row, *end_row;
	const struct gs_unit_lines *lines;
	bool has_return_value;
};
/* Borrowed from the module until the next call; NULL when the function cannot be decoded. */
struct gs_function_flow *gs_function_flow_of(struct gs_module *m, Dwarf_Die *function);
void gs_function_flow_free(struct gs_module *m);

struct gs_jump_list {
	struct gs_flow_jump *jumps;
	size_t n, cap;
};
/* Adds the targets of the indirect jump; none when its table is not found. */
void gs_jump_table_read(struct gs_module *m, const struct gs_code *code, size_t jump,
			struct gs_jump_list *out);

#endif
