/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The candidates of a line, and which of them are probed.
 * Between place_line.c, which finds them, and flow_thin.c, which knows the graph.
 */
#ifndef GS_RECORD_PLACE_LINE_H
#define GS_RECORD_PLACE_LINE_H

#include "record/place.h"

struct gs_line_candidate {
	uint64_t addr, natural;
	struct gs_context *context;
	const void *group; /* function or inlined instance */
	uint32_t column;
	bool is_run_start; /* the row before is of another line */
};
/* By group, then by address. */
void gs_line_sort(struct gs_line_candidate *candidates, size_t n);

struct gs_line_group {
	struct gs_module *m;
	const char *file;
	uint32_t line;
	const struct gs_line_candidate *candidates; /* all of one group */
	size_t n;
	const char *doubt; /* set: why the count is not that of executions */
};
/* Marks the redundant ones in DROP (one for each candidate), and sets the doubt. */
void gs_line_thin(struct gs_line_group *g, bool *drop);

struct gs_function_flow;
/* Whether the row is of the group's line. */
bool gs_line_is(const struct gs_line_group *g, const struct gs_unit_lines *t,
		const struct gs_row *row);
/* Why hits of the line in this function or instance are not executions, or NULL. place_doubt.c */
const char *gs_line_doubt(const struct gs_line_group *g, const struct gs_function_flow *f);

/* ---- what line_list.c needs of place_line.c ---- */

#define GS_LINE_DEFINITIONS_MAX 256

/* The sites of a line; ONLY (or NULL): in this definition and its instances. */
struct gs_error *gs_line_find(struct gs_module *m, const char *file, uint32_t line,
			      const gs_ref *only, struct gs_places *out);
/* Where a definition begins; false if that is not known. */
bool gs_line_declared(struct gs_module *m, gs_ref ref, const char **file, uint32_t *line);
bool gs_line_is_code(struct gs_module *m, const struct gs_row *row);
struct gs_error *gs_line_no_dwarf(struct gs_module *m);
struct gs_error *gs_line_no_such_file(struct gs_module *m, const char *file);

#endif
