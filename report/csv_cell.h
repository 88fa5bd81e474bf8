/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cells of CSV: quoting, the formula guard, the status column; and the cells of a row, filled in
 * any order. Used by the CSV listing and by CSV tables of aggregates.
 */
#ifndef GS_REPORT_CSV_CELL_H
#define GS_REPORT_CSV_CELL_H

#include "report/json_value.h"

struct gs_csv_cells {
	struct gs_buf text; /* of all cells of the row, as they will be written */
	struct gs_csv_cell {
		size_t at, len;
	} * cell;
	size_t n;
	size_t open;	      /* cell being filled, or n */
	struct gs_buf status; /* path=word;path=word */
	struct gs_buf path;
};

/* A string: escaped, quoted where RFC 4180 wants it or when empty; GUARD against formulas. */
void gs_csv_put_text(struct gs_buf *out, const void *s, size_t n, bool guard);

void gs_csv_cells_init(struct gs_csv_cells *c, size_t n);
void gs_csv_cells_deinit(struct gs_csv_cells *c);
void gs_csv_cells_reset(struct gs_csv_cells *c);
/* Text appended to c->text from now on is cell N, until the next begin or end. */
void gs_csv_cell_begin(struct gs_csv_cells *c, size_t n);
void gs_csv_cell_end(struct gs_csv_cells *c);
void gs_csv_cell_leaf(struct gs_csv_cells *c, const struct gs_event *ev, const struct gs_leaf *leaf,
		      bool guard);
void gs_csv_cell_copy(struct gs_buf *out, const struct gs_csv_cells *c, size_t n);
/* Names the value at the walk's path in the status column; AGAIN: so many before it have the path.
 */
void gs_csv_mark(struct gs_csv_cells *c, const struct gs_walk *w, const struct gs_value *v,
		 unsigned again);

#endif
