/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cells of CSV: quoting, the formula guard, the status column, and the cells of a row.
 * Between values and the CSV listing and tables.
 */
#include "report/csv_cell.h"

#include "common/text.h"

/* Spreadsheets take what begins so for a formula (OWASP, CSV injection). */
static bool is_formula(const char *s, size_t n)
{
	return n && memchr("=+-@\t\r", s[0], 6);
}

void gs_csv_put_text(struct gs_buf *out, const void *bytes, size_t n, bool guard)
{
	const char *s = bytes;
	struct gs_buf text = {0};
	bool quote;
	size_t start = out->len;

	if (guard && is_formula(s, n))
		gs_buf_putc(out, '\'');
	gs_escape(out, s, n, GS_ESCAPE_CSV);
	quote = out->len == start;
	for (size_t i = start; i < out->len && !quote; i++)
		quote = out->data[i] == ',' || out->data[i] == '"' || out->data[i] == '\n' ||
			out->data[i] == '\r';
	quote |= out->len > start && (out->data[start] == ' ' || out->data[out->len - 1] == ' ');
	if (!quote)
		return;
	gs_buf_append(&text, out->data + start, out->len - start);
	out->len = start;
	gs_buf_putc(out, '"');
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '"')
			gs_buf_putc(out, '"');
		gs_buf_putc(out, (char)text.data[i]);
	}
	gs_buf_putc(out, '"');
	gs_buf_deinit(&text);
}

void gs_csv_cells_init(struct gs_csv_cells *c, size_t n)
{
	*c = (struct gs_csv_cells){.cell = gs_calloc(n + 1, sizeof(*c->cell)), .n = n, .open = n};
}

void gs_csv_cells_deinit(struct gs_csv_cells *c)
{
	free(c->cell);
	gs_buf_deinit(&c->text);
	gs_buf_deinit(&c->status);
	gs_buf_deinit(&c->path);
}

void gs_csv_cells_reset(struct gs_csv_cells *c)
{
	memset(c->cell, 0, (c->n + 1) * sizeof(*c->cell));
	gs_buf_reset(&c->text);
	gs_buf_reset(&c->status);
	c->open = c->n;
}

void gs_csv_cell_end(struct gs_csv_cells *c)
{
	c->cell[c->open].len = c->text.len - c->cell[c->open].at;
	c->open = c->n;
	c->cell[c->n].at = c->text.len;
}

void gs_csv_cell_begin(struct gs_csv_cells *c, size_t n)
{
	gs_csv_cell_end(c);
	c->open = n;
	c->cell[n].at = c->text.len;
}

void gs_csv_cell_copy(struct gs_buf *out, const struct gs_csv_cells *c, size_t n)
{
	if (c->cell[n].len)
		gs_buf_append(out, c->text.data + c->cell[n].at, c->cell[n].len);
}

void gs_csv_cell_leaf(struct gs_csv_cells *c, const struct gs_event *ev, const struct gs_leaf *leaf,
		      bool guard)
{
	struct gs_buf text = {0};
	size_t at = c->text.len;

	switch (gs_leaf_scalar(&c->text, ev, leaf)) {
	case GS_SCALAR_NULL:
	case GS_SCALAR_NUMBER:
	case GS_SCALAR_BIG:
	case GS_SCALAR_WORD:
		return;
	case GS_SCALAR_NAME:
	case GS_SCALAR_JSON:
		guard = false;
		break;
	case GS_SCALAR_STRING:
		break;
	}
	gs_buf_append(&text, c->text.data + at, c->text.len - at);
	c->text.len = at;
	gs_csv_put_text(&c->text, text.data, text.len, guard);
	gs_buf_deinit(&text);
}

/* The separator itself cannot be in a path or reason: the column stays easy to take apart. */
static void put_without_separator(struct gs_buf *out, const void *bytes, size_t n)
{
	const char *s = bytes;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == ';')
			gs_buf_puts(out, "\\x3b");
		else
			gs_buf_putc(out, s[i]);
	}
}

void gs_csv_mark(struct gs_csv_cells *c, const struct gs_walk *w, const struct gs_value *v,
		 unsigned again)
{
	gs_buf_reset(&c->path);
	gs_walk_path(&c->path, w);
	if (again)
		gs_buf_printf(&c->path, "#%u", again + 1);
	if (c->status.len)
		gs_buf_putc(&c->status, ';');
	put_without_separator(&c->status, c->path.data, c->path.len);
	gs_buf_putc(&c->status, '=');
	gs_buf_puts(&c->status, gs_status_name(v->status));
	if (v->status == GS_STATUS_UNAVAILABLE && v->reason && v->reason[0]) {
		gs_buf_puts(&c->status, " (");
		put_without_separator(&c->status, v->reason, strlen(v->reason));
		gs_buf_putc(&c->status, ')');
	}
}
