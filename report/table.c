/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of results: the same rows as aligned text, CSV, or JSON Lines.
 * Between the aggregates and the output.
 */
#include "report/table.h"

#include <math.h>

#include "common/text.h"
#include "report/csv_cell.h"

struct gs_cell gs_cell_text(enum gs_scalar_kind kind, const void *text, size_t len)
{
	struct gs_cell c = {.kind = kind, .text = gs_malloc(len + 1), .len = len};

	if (len)
		memcpy(c.text, text, len);
	c.text[len] = '\0';
	return c;
}

static struct gs_cell cell_of(enum gs_scalar_kind kind, struct gs_buf *text)
{
	struct gs_cell c = gs_cell_text(kind, text->data, text->len);

	gs_buf_deinit(text);
	return c;
}

struct gs_cell gs_cell_integer(__int128 v)
{
	struct gs_buf text = {0};

	gs_put_i128(&text, v);
	/* Sums and bounds are numbers to whoever reads them, however long. */
	return cell_of(GS_SCALAR_NUMBER, &text);
}

struct gs_cell gs_cell_real(double v)
{
	struct gs_buf text = {0};
	struct gs_cell c;

	if (isfinite(v)) {
		gs_put_float(&text, v, 8);
		c = cell_of(GS_SCALAR_NUMBER, &text);
		c.human = gs_asprintf("%.6g", v);
		if (fabs(v) >= 1e6 && fabs(v) < 1e15) {
			free(c.human);
			c.human = gs_asprintf("%.0f", v);
		}
		return c;
	}
	gs_buf_puts(&text, isnan(v) ? "NaN" : v < 0 ? "-Infinity" : "Infinity");
	return cell_of(GS_SCALAR_NAME, &text);
}

struct gs_cell gs_cell_copy(const struct gs_cell *c)
{
	struct gs_cell copy = gs_cell_text(c->kind, c->text, c->len);

	copy.human = c->human ? gs_strdup(c->human) : NULL;
	return copy;
}

void gs_cell_deinit(struct gs_cell *c)
{
	free(c->text);
	free(c->human);
	*c = (struct gs_cell){0};
}

static bool is_number(const struct gs_cell *c)
{
	return c->kind == GS_SCALAR_NUMBER || c->kind == GS_SCALAR_BIG;
}

static bool is_integer(const struct gs_cell *c)
{
	return c->len == strspn(c->text, "-0123456789");
}

static int compare_digits(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);

	if (n != m)
		return n < m ? -1 : 1;
	return strcmp(a, b);
}

static int compare_numbers(const struct gs_cell *a, const struct gs_cell *b)
{
	double x, y;

	if (is_integer(a) && is_integer(b)) {
		bool minus = a->text[0] == '-', other = b->text[0] == '-';

		if (minus != other)
			return minus ? -1 : 1;
		return minus ? compare_digits(b->text + 1, a->text + 1)
			     : compare_digits(a->text, b->text);
	}
	x = strtod(a->text, NULL);
	y = strtod(b->text, NULL);
	return x < y ? -1 : x > y ? 1 : strcmp(a->text, b->text);
}

int gs_cell_compare(const struct gs_cell *a, const struct gs_cell *b)
{
	size_t n = a->len < b->len ? a->len : b->len;
	int c;

	if (is_number(a) != is_number(b))
		return is_number(a) ? -1 : 1;
	if (is_number(a))
		return compare_numbers(a, b);
	c = memcmp(a->text, b->text, n);
	return c ? c : a->len < b->len ? -1 : a->len > b->len;
}

void gs_cell_put_human(struct gs_buf *out, const struct gs_cell *c)
{
	if (c->human)
		gs_buf_puts(out, c->human);
	else if (c->kind == GS_SCALAR_NULL)
		gs_buf_puts(out, "null");
	else
		gs_escape(out, c->text, c->len, GS_ESCAPE_PLAIN);
}

void gs_table_add(struct gs_table *t, struct gs_cell cell)
{
	*GS_PUSH(t->cells, t->ncells, t->cap) = cell;
}

void gs_table_deinit(struct gs_table *t)
{
	for (size_t i = 0; i < t->ncells; i++)
		gs_cell_deinit(&t->cells[i]);
	free(t->cells);
	*t = (struct gs_table){0};
}

/* ---- formats ---- */

static void put_csv(struct gs_buf *out, const struct gs_table *t, bool guard)
{
	for (size_t i = 0; i < t->ncolumns; i++) {
		if (i)
			gs_buf_putc(out, ',');
		gs_csv_put_text(out, t->columns[i], strlen(t->columns[i]), guard);
	}
	gs_buf_puts(out, "\r\n");
	for (size_t i = 0; i < t->ncells; i++) {
		const struct gs_cell *c = &t->cells[i];
		bool text = c->kind == GS_SCALAR_STRING || c->kind == GS_SCALAR_NAME ||
			    c->kind == GS_SCALAR_JSON;

		if (text)
			gs_csv_put_text(out, c->text, c->len, guard && c->kind == GS_SCALAR_STRING);
		else
			gs_buf_append(out, c->text, c->len);
		gs_buf_puts(out, (i + 1) % t->ncolumns ? "," : "\r\n");
	}
}

static bool beyond_double(const struct gs_cell *c)
{
	static const char most[] = "9007199254740992"; /* 2^53 */
	const char *digits = c->text + (c->text[0] == '-');

	return is_integer(c) && compare_digits(digits, most) > 0;
}

static void put_json_cell(struct gs_buf *out, const struct gs_cell *c, bool quote_big)
{
	bool quote = c->kind == GS_SCALAR_STRING || c->kind == GS_SCALAR_NAME ||
		     c->kind == GS_SCALAR_BIG || (quote_big && is_number(c) && beyond_double(c));

	if (c->kind == GS_SCALAR_NULL)
		gs_buf_puts(out, "null");
	if (quote)
		gs_buf_putc(out, '"');
	if (quote)
		gs_escape(out, c->text, c->len, GS_ESCAPE_JSON);
	else
		gs_buf_append(out, c->text, c->len);
	if (quote)
		gs_buf_putc(out, '"');
}

static void put_json(struct gs_buf *out, const struct gs_table *t, bool quote_big)
{
	for (size_t i = 0; i < t->ncells; i++) {
		size_t column = i % t->ncolumns;

		gs_buf_putc(out, column ? ',' : '{');
		gs_json_put_string(out, t->columns[column]);
		gs_buf_putc(out, ':');
		put_json_cell(out, &t->cells[i], quote_big);
		if (column + 1 == t->ncolumns)
			gs_buf_puts(out, "}\n");
	}
}

static size_t width_of(const struct gs_cell *c)
{
	struct gs_buf text = {0};
	size_t n = 0;

	gs_cell_put_human(&text, c);
	for (size_t i = 0; i < text.len; i++)
		n += (text.data[i] & 0xc0) != 0x80;
	gs_buf_deinit(&text);
	return n;
}

static void pad(struct gs_buf *out, size_t n)
{
	while (n--)
		gs_buf_putc(out, ' ');
}

/* Numbers to the right, all else to the left; the last column is not padded. */
static void put_text_cell(struct gs_buf *out, const struct gs_cell *c, size_t width, bool last)
{
	size_t n = width_of(c);
	bool right = is_number(c);

	if (right)
		pad(out, width - n);
	gs_cell_put_human(out, c);
	if (!right && !last)
		pad(out, width - n);
	gs_buf_puts(out, last ? "\n" : "  ");
}

static void put_text(struct gs_buf *out, const struct gs_table *t)
{
	size_t *width = gs_calloc(t->ncolumns + 1, sizeof(*width));

	for (size_t i = 0; i < t->ncolumns; i++)
		width[i] = strlen(t->columns[i]);
	for (size_t i = 0; i < t->ncells; i++) {
		size_t n = width_of(&t->cells[i]);

		if (n > width[i % t->ncolumns])
			width[i % t->ncolumns] = n;
	}
	for (size_t i = 0; i < t->ncolumns; i++) {
		struct gs_cell title = {.text = (char *)t->columns[i],
					.len = strlen(t->columns[i]),
					/* As the column below it. */
					.kind = i < t->ncells ? t->cells[i].kind : GS_SCALAR_NAME};

		if (title.kind == GS_SCALAR_NULL)
			title.kind = GS_SCALAR_NAME;
		put_text_cell(out, &title, width[i], i + 1 == t->ncolumns);
	}
	for (size_t i = 0; i < t->ncells; i++)
		put_text_cell(out, &t->cells[i], width[i % t->ncolumns],
			      (i + 1) % t->ncolumns == 0);
	free(width);
}

void gs_table_put(struct gs_buf *out, const struct gs_table *t, enum gs_table_format format,
		  const struct gs_render_options *opts)
{
	switch (format) {
	case GS_TABLE_TEXT:
		put_text(out, t);
		break;
	case GS_TABLE_CSV:
		put_csv(out, t, !opts->no_guard);
		break;
	case GS_TABLE_JSON:
		put_json(out, t, opts->json_strings);
		break;
	}
}
