/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control flow of a decoded function, and what a probe on one of its lines counts.
 * Between insn.c, which decodes, and place_line.c, which chooses the sites of a line.
 */
#ifndef GS_RECORD_FLOW_H
#define GS_RECORD_FLOW_H

#include "record/insn.h"

struct gs_flow_edge {
	uint32_t to, from;
};

struct gs_graph {
	const struct gs_code *code;
	struct gs_flow_edge *edges; /* jumps only, ascending to */
	size_t nedges, edges_cap;
	bool *is_padding; /* never executed: no-operations between code */
	bool *is_leader;  /* may be reached by an unknown jump or from nowhere that is known */
	size_t entry;	  /* index of the entry's instruction */
};

/* An indirect jump whose targets are known, one row a target; ascending from. */
struct gs_flow_jump {
	uint64_t from, to;
};
/*
 * LEADERS: where an indirect jump that is not among JUMPS may lead. CODE is borrowed and must
 * outlive the graph.
 */
void gs_graph_init(struct gs_graph *f, const struct gs_code *code, uint64_t entry,
		   const struct gs_flow_jump *jumps, size_t njumps, const uint64_t *leaders,
		   size_t nleaders);
void gs_graph_deinit(struct gs_graph *f);
/* Whether the instruction before I in memory runs into it. */
bool gs_graph_is_fallen_into(const struct gs_graph *f, size_t i);
/* First of the jumps to instruction TO; those that follow it with the same `to' are the others. */
size_t gs_graph_first_edge(const struct gs_graph *f, size_t to);

enum gs_boundary {
	GS_BOUNDARY_BEFORE = 1 << 0, /* before what the line itself has at the instruction */
	GS_BOUNDARY_AFTER = 1 << 1,
};

/*
 * One line in one function or inlined instance. A candidate is redundant when every path that
 * reaches it, from the entry or from itself, passes another that is kept, with which it is one
 * execution; or when every path from it meets such a one before it leaves the line. Two candidates
 * of the same KEY (column, and what its code does) with a boundary between them, or with another
 * key of the line, are copies of one statement, as in an unrolled loop: two executions.
 */
struct gs_flow_candidate {
	uint64_t addr;
	uint32_t key;
};
struct gs_flow_line {
	const struct gs_flow_candidate *candidates;
	const size_t *order; /* indices into candidates, in the order in which they are tried */
	size_t n;
	const uint8_t *boundaries; /* per instruction: other statements begin (enum gs_boundary) */
	/* The line's code, ascending. NULL: all that is not beyond a boundary. */
	const uint64_t (*ranges)[2];
	size_t nranges;
};
/* Marks the redundant ones in DROP. */
void gs_flow_thin(const struct gs_graph *f, const struct gs_flow_line *line, bool *drop);

#endif
