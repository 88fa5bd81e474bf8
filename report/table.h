/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of results: the same rows as aligned text, CSV, or JSON Lines.
 * Between the aggregates and the output.
 */
#ifndef GS_REPORT_TABLE_H
#define GS_REPORT_TABLE_H

#include "report/json_value.h"
#include "report/render.h"

enum gs_table_format { GS_TABLE_TEXT, GS_TABLE_CSV, GS_TABLE_JSON };

struct gs_cell {
	enum gs_scalar_kind kind;
	char *text; /* owned; unescaped, not quoted */
	size_t len;
	char *human; /* owned; what text shows instead, escaped, or NULL */
};

struct gs_table {
	const char **columns; /* borrowed names */
	size_t ncolumns;
	struct gs_cell *cells; /* by row */
	size_t ncells, cap;
};

/* Takes ownership of nothing but copies TEXT. */
struct gs_cell gs_cell_text(enum gs_scalar_kind kind, const void *text, size_t len);
struct gs_cell gs_cell_integer(__int128 v);
/* Shortest round-trip for machines, six digits for people. */
struct gs_cell gs_cell_real(double v);
struct gs_cell gs_cell_copy(const struct gs_cell *c);
void gs_cell_deinit(struct gs_cell *c);
/* Numbers by value, then the rest by bytes. */
int gs_cell_compare(const struct gs_cell *a, const struct gs_cell *b);
/* As text shows it; escaped. */
void gs_cell_put_human(struct gs_buf *out, const struct gs_cell *c);

/* The cell becomes the table's. */
void gs_table_add(struct gs_table *t, struct gs_cell cell);
void gs_table_put(struct gs_buf *out, const struct gs_table *t, enum gs_table_format format,
		  const struct gs_render_options *opts);
void gs_table_deinit(struct gs_table *t);

#endif
