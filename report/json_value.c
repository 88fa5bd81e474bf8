/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values as JSON, and as the plain scalars that CSV cells and table cells are made of.
 * Between the walk over a value and the JSON, CSV and aggregate outputs.
 */
#include "report/json_value.h"

#include "common/bytes.h"
#include "common/text.h"
#include "report/float_text.h"
#include "report/output.h"
#include "report/wide_text.h"

#define EXACT_IN_DOUBLE (1ull << 53)

/* ---- scalars ---- */

static void put_integer(struct gs_buf *out, const struct gs_leaf *leaf)
{
	if (leaf->size > 8 && leaf->is_signed)
		gs_put_i128(out, leaf->wide);
	else if (leaf->size > 8)
		gs_put_u128(out, (unsigned __int128)leaf->wide);
	else if (leaf->is_signed)
		gs_put_signed(out, (int64_t)leaf->bits);
	else
		gs_put_decimal(out, leaf->bits);
}

/* A string's characters, as UTF-8 where they are wide; an array ends at its first NUL. */
static void put_string(struct gs_buf *out, const struct gs_event *ev, const struct gs_leaf *leaf)
{
	size_t size = leaf->size ? leaf->size : 1, n = leaf->len / size, end = 0;

	if (size == 1) {
		n = leaf->nul_ends && n ? strnlen((const char *)leaf->bytes, n) : n;
		gs_buf_append(out, leaf->bytes, n);
		return;
	}
	while (end < n && (!leaf->nul_ends ||
			   gs_load_uint(leaf->bytes + end * size, size, ev->source.big_endian)))
		end++;
	gs_put_wide(out, leaf->bytes, end, (unsigned)size, ev->source.big_endian);
}

static void put_pointer(struct gs_buf *out, const struct gs_leaf *leaf)
{
	gs_put_hex(out, leaf->bits);
	if (leaf->adjust) {
		gs_buf_puts(out, leaf->adjust < 0 ? "" : "+");
		gs_put_signed(out, leaf->adjust);
	}
}

static enum gs_scalar_kind put_complex(struct gs_buf *out, const struct gs_event *ev,
				       const struct gs_leaf *leaf)
{
	for (unsigned part = 0; part < 2; part++) {
		size_t at;

		gs_buf_putc(out, part ? ',' : '[');
		at = out->len;
		if (gs_put_shortest(out, leaf, part, ev->source.big_endian))
			continue;
		/* A word, to be quoted. */
		gs_buf_reserve(out, 2);
		memmove(out->data + at + 1, out->data + at, out->len - at);
		out->data[at] = '"';
		out->len++;
		gs_buf_putc(out, '"');
	}
	gs_buf_putc(out, ']');
	return GS_SCALAR_JSON;
}

enum gs_scalar_kind gs_leaf_scalar(struct gs_buf *out, const struct gs_event *ev,
				   const struct gs_leaf *leaf)
{
	switch (leaf->kind) {
	case GS_LEAF_ABSENT:
	case GS_LEAF_NULL:
		return GS_SCALAR_NULL;
	case GS_LEAF_BOOL:
		/* Any other value is undefined behaviour of the program, and worth seeing. */
		if (leaf->bits > 1)
			break;
		gs_buf_puts(out, leaf->bits ? "true" : "false");
		return GS_SCALAR_WORD;
	case GS_LEAF_INT:
	case GS_LEAF_CHAR:
		break;
	case GS_LEAF_ENUM:
		if (gs_enum_name(out, leaf->type, leaf->bits))
			return GS_SCALAR_NAME;
		break;
	case GS_LEAF_FLOAT:
		return gs_put_shortest(out, leaf, 0, ev->source.big_endian) ? GS_SCALAR_NUMBER
									    : GS_SCALAR_NAME;
	case GS_LEAF_COMPLEX:
		return put_complex(out, ev, leaf);
	case GS_LEAF_STRING:
		put_string(out, ev, leaf);
		return GS_SCALAR_STRING;
	case GS_LEAF_POINTER:
		put_pointer(out, leaf);
		return GS_SCALAR_NAME;
	}
	put_integer(out, leaf);
	return leaf->size > 8 ? GS_SCALAR_BIG : GS_SCALAR_NUMBER;
}

/* ---- JSON ---- */

void gs_json_put_string(struct gs_buf *out, const char *s)
{
	gs_buf_putc(out, '"');
	gs_escape(out, s, strlen(s), GS_ESCAPE_JSON);
	gs_buf_putc(out, '"');
}

static bool beyond_double(const struct gs_leaf *leaf)
{
	uint64_t magnitude = leaf->bits;

	if (leaf->kind != GS_LEAF_INT && leaf->kind != GS_LEAF_CHAR && leaf->kind != GS_LEAF_ENUM)
		return false;
	if (leaf->is_signed && (int64_t)leaf->bits < 0)
		magnitude = -leaf->bits;
	return magnitude > EXACT_IN_DOUBLE;
}

/* Strings go from the captured bytes through the escaper at once; the rest is short. */
static void put_text(struct gs_buf *out, const struct gs_event *ev, const struct gs_leaf *leaf)
{
	size_t n;

	gs_buf_putc(out, '"');
	if (leaf->kind == GS_LEAF_STRING && leaf->size <= 1) {
		n = leaf->nul_ends && leaf->len ? strnlen((const char *)leaf->bytes, leaf->len)
						: leaf->len;
		gs_escape(out, leaf->bytes, n, GS_ESCAPE_JSON);
	} else {
		struct gs_buf text = {0};

		gs_leaf_scalar(&text, ev, leaf);
		gs_escape(out, text.data, text.len, GS_ESCAPE_JSON);
		gs_buf_deinit(&text);
	}
	gs_buf_putc(out, '"');
}

static void json_leaf(struct gs_walk *w, const struct gs_leaf *leaf)
{
	struct gs_json_value *j = w->ctx;
	size_t at = j->out->len;

	if (leaf->kind == GS_LEAF_STRING) {
		put_text(j->out, w->event, leaf);
		return;
	}
	switch (gs_leaf_scalar(j->out, w->event, leaf)) {
	case GS_SCALAR_NULL:
		gs_buf_puts(j->out, "null");
		break;
	case GS_SCALAR_NUMBER:
		if (!j->quote_big || !beyond_double(leaf))
			break;
		/* fall through */
	case GS_SCALAR_BIG:
	case GS_SCALAR_NAME:
	case GS_SCALAR_STRING:
		j->out->len = at;
		put_text(j->out, w->event, leaf);
		break;
	case GS_SCALAR_WORD:
	case GS_SCALAR_JSON:
		break;
	}
}

/* A value never ends in an opening bracket: it was opened just now. */
static void comma(struct gs_buf *out)
{
	uint8_t last = out->data[out->len - 1];

	if (last != '{' && last != '[')
		gs_buf_putc(out, ',');
}

static void json_open(struct gs_walk *w, const struct gs_node *node)
{
	struct gs_json_value *j = w->ctx;

	switch (node->kind) {
	case GS_NODE_OBJECT:
		gs_buf_putc(j->out, '{');
		break;
	case GS_NODE_ARRAY:
		gs_buf_putc(j->out, '[');
		break;
	case GS_NODE_FOLLOWED:
		if (node->leaf->kind == GS_LEAF_ABSENT) {
			gs_buf_puts(j->out, "{\"@\":null");
			break;
		}
		gs_buf_puts(j->out, "{\"@\":\"");
		gs_put_hex(j->out, node->leaf->bits);
		gs_buf_putc(j->out, '"');
		break;
	case GS_NODE_REFERENCE:
		break;
	case GS_NODE_CONTAINER:
		if (node->box->rule->kind == GS_CONTAINER_OPTIONAL)
			gs_buf_puts(j->out, node->box->captured ? "" : "null");
		else
			gs_buf_putc(j->out, node->box->keyed ? '{' : '[');
		break;
	}
}

/* Keys of an object are strings; one that is not there is told by its number. */
static void json_key_end(struct gs_buf *out, size_t at, uint64_t index)
{
	if (out->data[at] == '"')
		return;
	out->len = at;
	gs_buf_puts(out, "\"[");
	gs_put_decimal(out, index);
	gs_buf_puts(out, "]\"");
}

static void json_entry(struct gs_walk *w, const struct gs_node *map, uint64_t index,
		       enum gs_entry_phase phase)
{
	struct gs_json_value *j = w->ctx;
	bool keyed = map->box->keyed;

	switch (phase) {
	case GS_ENTRY_KEY:
		comma(j->out);
		if (!keyed)
			gs_buf_putc(j->out, '[');
		j->key_at = j->out->len;
		break;
	case GS_ENTRY_VALUE:
		if (keyed)
			json_key_end(j->out, j->key_at, index);
		gs_buf_putc(j->out, keyed ? ':' : ',');
		break;
	case GS_ENTRY_END:
		if (!keyed)
			gs_buf_putc(j->out, ']');
	}
}

static void json_close(struct gs_walk *w, const struct gs_node *node)
{
	struct gs_json_value *j = w->ctx;

	if (node->kind == GS_NODE_CONTAINER) {
		if (node->box->rule->kind != GS_CONTAINER_OPTIONAL)
			gs_buf_putc(j->out, node->box->keyed ? '}' : ']');
		return;
	}
	if (node->kind != GS_NODE_REFERENCE)
		gs_buf_putc(j->out, node->kind == GS_NODE_ARRAY ? ']' : '}');
}

static void json_member(struct gs_walk *w, const struct gs_member *m, const char *name)
{
	struct gs_json_value *j = w->ctx;

	comma(j->out);
	gs_json_put_string(j->out, name ? name : "(anonymous)");
	gs_buf_putc(j->out, ':');
}

static void json_element(struct gs_walk *w, uint64_t index)
{
	comma(((struct gs_json_value *)w->ctx)->out);
}

static void json_mark(struct gs_walk *w, const struct gs_value *v)
{
	struct gs_json_value *j = w->ctx;

	if (j->mark)
		j->mark(j->mark_ctx, w, v);
}

static const struct gs_walk_ops json_ops = {
	.leaf = json_leaf,
	.open = json_open,
	.close = json_close,
	.member = json_member,
	.element = json_element,
	.entry = json_entry,
	.mark = json_mark,
};

void gs_json_put_value(struct gs_json_value *j, struct gs_event *ev, const char *key,
		       const struct gs_value *v)
{
	struct gs_walk w;

	w.ops = &json_ops;
	w.ctx = j;
	w.event = ev;
	w.flags = GS_WALK_FLATTEN;
	w.element_limit = 0;
	gs_walk_value(&w, key, v);
}
