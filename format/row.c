/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fields of metadata rows, in both directions.
 * Between struct gs_meta and the payload of metadata blocks and resolver messages.
 */
#include "format/row.h"

#include "common/text.h"

/* Nothing left at a field boundary: an older writer did not know this field. */
static bool row_ended(const struct gs_row *row)
{
	return !row->in.bad && gs_reader_left(&row->in) == 0;
}

static void row_fail(struct gs_row *row)
{
	row->in.bad = true;
	row->in.pos = row->in.end;
}

void gs_row_u64(struct gs_row *row, uint64_t *v)
{
	if (row->out)
		gs_put_uleb(row->out, *v);
	else
		*v = row_ended(row) ? 0 : gs_read_uleb(&row->in);
}

void gs_row_i64(struct gs_row *row, int64_t *v)
{
	if (row->out)
		gs_put_sleb(row->out, *v);
	else
		*v = row_ended(row) ? 0 : gs_read_sleb(&row->in);
}

static uint64_t get_bounded(struct gs_row *row, uint64_t max)
{
	uint64_t v = row_ended(row) ? 0 : gs_read_uleb(&row->in);

	if (v <= max)
		return v;
	row_fail(row);
	return 0;
}

void gs_row_u32(struct gs_row *row, uint32_t *v)
{
	if (row->out)
		gs_put_uleb(row->out, *v);
	else
		*v = (uint32_t)get_bounded(row, UINT32_MAX);
}

void gs_row_u16(struct gs_row *row, uint16_t *v)
{
	if (row->out)
		gs_put_uleb(row->out, *v);
	else
		*v = (uint16_t)get_bounded(row, UINT16_MAX);
}

void gs_row_u8(struct gs_row *row, uint8_t *v)
{
	if (row->out)
		gs_put_uleb(row->out, *v);
	else
		*v = (uint8_t)get_bounded(row, UINT8_MAX);
}

void gs_row_bool(struct gs_row *row, bool *v)
{
	if (row->out)
		gs_put_uleb(row->out, *v);
	else
		*v = get_bounded(row, 1) != 0;
}

static bool valid_utf8(const uint8_t *s, size_t n)
{
	uint32_t cp;

	while (n) {
		size_t len = *s < 0x80 ? 1 : gs_utf8_decode(s, n, &cp);

		if (!len || !*s)
			return false;
		s += len;
		n -= len;
	}
	return true;
}

static void put_text(struct gs_buf *out, const char *s, uint64_t bias)
{
	size_t n = strlen(s);
	struct gs_buf escaped = {0};

	if (!valid_utf8((const uint8_t *)s, n)) {
		gs_escape(&escaped, s, n, GS_ESCAPE_PLAIN);
		s = (const char *)escaped.data;
		n = escaped.len;
	}
	gs_put_uleb(out, n + bias);
	gs_buf_append(out, s, n);
	gs_buf_deinit(&escaped);
}

static const char *get_text(struct gs_row *row, uint64_t n)
{
	const uint8_t *p = n <= gs_reader_left(&row->in) ? gs_read_bytes(&row->in, n) : NULL;

	if (p && valid_utf8(p, n))
		return n ? gs_arena_strndup(row->arena, (const char *)p, n) : "";
	row_fail(row);
	return "";
}

void gs_row_str(struct gs_row *row, const char **s)
{
	if (row->out)
		put_text(row->out, *s ? *s : "", 0);
	else
		*s = row_ended(row) ? "" : get_text(row, gs_read_uleb(&row->in));
}

void gs_row_name(struct gs_row *row, const char **s)
{
	uint64_t n;

	if (row->out) {
		if (*s)
			put_text(row->out, *s, 1);
		else
			gs_put_uleb(row->out, 0);
		return;
	}
	n = row_ended(row) ? 0 : gs_read_uleb(&row->in);
	*s = n ? get_text(row, n - 1) : NULL;
}

void gs_row_bytes(struct gs_row *row, const uint8_t **p, uint32_t *len, uint32_t max)
{
	const uint8_t *from;

	gs_row_count(row, len, max, 1);
	if (row->out) {
		gs_buf_append(row->out, *p, *len);
		return;
	}
	from = gs_read_bytes(&row->in, *len);
	*p = *len && from ? gs_arena_memdup(row->arena, from, *len) : NULL;
}

void gs_row_count(struct gs_row *row, uint32_t *n, uint32_t max, size_t min_bytes)
{
	gs_row_u32(row, n);
	if (row->out)
		return;
	if (*n > max || *n > gs_reader_left(&row->in) / min_bytes) {
		row_fail(row);
		*n = 0;
	}
}
