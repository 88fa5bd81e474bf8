/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values in GDB's notation, as gdb 13 prints them with its default settings, save what section 5 of
 * the design says otherwise: absence in words, a captured string without its address.
 */
#include "report/text_value.h"

#include "common/bytes.h"
#include "common/text.h"
#include "report/float_text.h"
#include "report/output.h"
#include "report/wide_text.h"

#define STRING_REPEATS_OVER 10 /* gdb: elements from 10 on, characters above 10 */

static struct gs_buf *out_of(struct gs_walk *w)
{
	return ((struct gs_text_value *)w->ctx)->out;
}

/* Names of a file may hold what a terminal must not see. */
static void put_name(struct gs_buf *out, const char *name)
{
	gs_escape(out, name, strlen(name), GS_ESCAPE_PLAIN);
}

/* ---- absence ---- */

static void put_absent(struct gs_buf *out, const struct gs_value *v)
{
	switch (v->status) {
	case GS_STATUS_OPTIMIZED_OUT:
		gs_buf_puts(out, "<optimized out>");
		return;
	case GS_STATUS_FAULT:
		gs_buf_puts(out, "<fault");
		if (v->has_address) {
			gs_buf_puts(out, " at ");
			gs_put_hex(out, v->address);
		}
		gs_buf_putc(out, '>');
		return;
	case GS_STATUS_UNAVAILABLE:
		gs_buf_putc(out, '<');
		if (v->reason && v->reason[0])
			put_name(out, v->reason);
		else
			gs_buf_puts(out, "unavailable");
		gs_buf_putc(out, '>');
		return;
	case GS_STATUS_NOT_COLLECTED:
		gs_buf_puts(out, "<not collected>");
		return;
	case GS_STATUS_DIV_ZERO:
		gs_buf_puts(out, "<division by zero>");
		return;
	case GS_STATUS_BAD_SHIFT:
		gs_buf_puts(out, "<bad shift>");
		return;
	case GS_STATUS_BAD_RANGE:
		gs_buf_puts(out, "<bad range>");
		return;
	default:
		gs_buf_printf(out, "<status %u>", v->status);
	}
}

/* ---- characters and strings ---- */

/* One character between QUOTEs; the escaper escapes for double quotes. */
static void put_char(struct gs_buf *out, uint64_t c, size_t size, char quote)
{
	char text[4];

	if (c == '"' && quote == '\'') {
		gs_buf_putc(out, '"');
	} else if (c == '\'' && quote == '\'') {
		gs_buf_puts(out, "\\'");
	} else if (size == 1) {
		text[0] = (char)c;
		gs_escape(out, text, 1, GS_ESCAPE_C);
	} else if (gs_is_scalar_value((uint32_t)c)) {
		gs_escape(out, text, gs_utf8_encode((uint32_t)c, text), GS_ESCAPE_C);
	} else if (c <= 0777) {
		gs_buf_printf(out, "\\%03o", (unsigned)c);
	} else {
		gs_buf_printf(out, "\\x%x", (unsigned)c);
	}
}

struct chars {
	const uint8_t *bytes;
	size_t n, size; /* characters, bytes of each */
	bool big;
};

static uint64_t char_at(const struct chars *s, size_t i)
{
	return s->size == 1 ? s->bytes[i] : gs_load_uint(s->bytes + i * s->size, s->size, s->big);
}

static size_t run_at(const struct chars *s, size_t i)
{
	size_t run = 1;

	while (i + run < s->n &&
	       memcmp(s->bytes + i * s->size, s->bytes + (i + run) * s->size, s->size) == 0)
		run++;
	return run;
}

/* Characters from I on without a long run, at most LIMIT. */
static size_t plain_stretch(const struct chars *s, size_t i, size_t limit)
{
	size_t n = 0;

	while (i + n < s->n && n < limit) {
		size_t run = run_at(s, i + n);

		if (run > STRING_REPEATS_OVER)
			break;
		n += run;
	}
	return n;
}

static void put_stretch(struct gs_buf *out, const struct chars *s, size_t i, size_t n)
{
	if (s->size == 1) {
		gs_escape(out, s->bytes + i, n, GS_ESCAPE_C);
		return;
	}
	for (size_t k = i; k < i + n; k++) {
		size_t used;
		uint32_t c = gs_wide_character(s->bytes + k * s->size, i + n - k, s->size, s->big,
					       &used);

		k += used - 1;
		put_char(out, c, s->size, '"');
	}
}

static void put_string(struct gs_buf *out, const struct gs_leaf *leaf, bool big, uint64_t limit)
{
	struct chars s = {leaf->bytes, leaf->len / leaf->size, leaf->size, big};
	const char *prefix = leaf->prefix ? leaf->prefix : "", *comma = "";
	size_t i = 0;
	uint64_t shown = 0;

	if (leaf->nul_ends && leaf->value->status == GS_STATUS_OK && s.n &&
	    char_at(&s, s.n - 1) == 0)
		s.n--;
	if (!s.n) {
		gs_buf_puts(out, prefix);
		gs_buf_puts(out, "\"\"");
	}
	while (i < s.n && shown < limit) {
		size_t n = plain_stretch(&s, i, limit - shown);

		gs_buf_puts(out, comma);
		comma = ", ";
		gs_buf_puts(out, prefix);
		if (n) {
			gs_buf_putc(out, '"');
			put_stretch(out, &s, i, n);
			gs_buf_putc(out, '"');
		} else {
			n = run_at(&s, i);
			gs_buf_putc(out, '\'');
			put_char(out, char_at(&s, i), s.size, '\'');
			gs_buf_puts(out, "' <repeats ");
			gs_put_decimal(out, n);
			gs_buf_puts(out, " times>");
		}
		i += n;
		shown += n;
	}
	if (i < s.n || leaf->value->status == GS_STATUS_TRUNCATED)
		gs_buf_puts(out, "...");
	if (leaf->value->status == GS_STATUS_PARTIAL)
		gs_buf_puts(out, " <fault after this>");
}

/* ---- scalars ---- */

static void put_integer(struct gs_buf *out, const struct gs_leaf *leaf)
{
	if (leaf->size > 8) {
		if (leaf->is_signed)
			gs_put_i128(out, leaf->wide);
		else
			gs_put_u128(out, (unsigned __int128)leaf->wide);
	} else if (leaf->is_signed) {
		gs_put_signed(out, (int64_t)leaf->bits);
	} else {
		gs_put_decimal(out, leaf->bits);
	}
}

static void put_character(struct gs_buf *out, const struct gs_leaf *leaf)
{
	uint64_t mask = leaf->size < 8 ? (1ull << (8 * leaf->size)) - 1 : UINT64_MAX;

	put_integer(out, leaf);
	gs_buf_putc(out, ' ');
	if (leaf->prefix)
		gs_buf_puts(out, leaf->prefix);
	gs_buf_putc(out, '\'');
	put_char(out, leaf->bits & mask, leaf->size, '\'');
	gs_buf_putc(out, '\'');
}

/* C++ enumerators are shown with their scope: that of the enumeration, or the scoped enumeration.
 */
static void put_enumerator(struct gs_buf *out, const struct gs_type *t, const char *name)
{
	size_t scope = 0;
	int depth = 0;

	for (size_t i = 0; t->name && t->name[i]; i++) {
		depth += (t->name[i] == '<') - (t->name[i] == '>');
		if (depth == 0 && t->name[i] == ':' && t->name[i + 1] == ':')
			scope = i + 2;
	}
	if (t->name && (t->flags & GS_TYPE_ENUM_CLASS)) {
		put_name(out, t->name);
		gs_buf_puts(out, "::");
	} else if (scope) {
		gs_escape(out, t->name, scope, GS_ESCAPE_PLAIN);
	}
	put_name(out, name);
}

static void put_flags(struct gs_buf *out, const struct gs_type *t, uint64_t bits)
{
	const char *before = "(";

	for (uint32_t i = 0; i < t->nenumerators; i++) {
		uint64_t flag = (uint64_t)t->enumerators[i].value;

		if (!(bits & flag))
			continue;
		gs_buf_puts(out, before);
		before = " | ";
		bits &= ~flag;
		put_enumerator(out, t, t->enumerators[i].name);
	}
	if (bits) {
		gs_buf_puts(out, before);
		gs_buf_puts(out, "unknown: ");
		gs_put_hex(out, bits);
		gs_buf_putc(out, ')');
	} else {
		gs_buf_puts(out, before[0] == '(' ? "0" : ")");
	}
}

static void put_enum(struct gs_buf *out, const struct gs_leaf *leaf)
{
	const struct gs_type *t = leaf->type;

	for (uint32_t i = 0; i < t->nenumerators; i++)
		if ((uint64_t)t->enumerators[i].value == leaf->bits) {
			put_enumerator(out, t, t->enumerators[i].name);
			return;
		}
	if (t->flags & GS_TYPE_FLAG_ENUM)
		put_flags(out, t, leaf->bits);
	else
		put_integer(out, leaf);
}

static void put_symbol(struct gs_buf *out, const struct gs_meta_symbol *symbol)
{
	gs_buf_puts(out, " <");
	put_name(out, symbol->name);
	if (symbol->offset) {
		gs_buf_putc(out, '+');
		gs_put_decimal(out, symbol->offset);
	}
	gs_buf_putc(out, '>');
}

/* gdb names the type of a pointer only where the pointer is the whole value. */
static void put_type_prefix(struct gs_walk *w, gs_type_id type)
{
	struct gs_buf *out = out_of(w), name = {0};

	gs_type_print(&name, w->event->source.types, type, NULL);
	gs_buf_putc(out, '(');
	gs_escape(out, name.data, name.len, GS_ESCAPE_PLAIN);
	gs_buf_puts(out, ") ");
	gs_buf_deinit(&name);
}

static void put_pointer(struct gs_walk *w, const struct gs_leaf *leaf, gs_type_id type, bool whole)
{
	struct gs_buf *out = out_of(w);
	unsigned width;

	if (leaf->type->kind == GS_KIND_UNSPECIFIED) {
		gs_put_hex(out, leaf->bits);
		return;
	}
	if ((whole && !gs_type_is_char_pointer(w->event->source.types, type) &&
	     !gs_type_is_wide_pointer(w->event->source.types, type, &width)) ||
	    (leaf->type->kind == GS_KIND_MEMBER_POINTER && leaf->is_function))
		put_type_prefix(w, type);
	gs_put_hex(out, leaf->bits);
	if (leaf->symbol)
		put_symbol(out, leaf->symbol);
	if (leaf->adjust) {
		gs_buf_puts(out, ", this adjustment ");
		gs_put_signed(out, leaf->adjust);
	}
}

static void text_leaf(struct gs_walk *w, const struct gs_leaf *leaf)
{
	const struct gs_text_value *t = w->ctx;
	bool big = w->event->source.big_endian;

	switch (leaf->kind) {
	case GS_LEAF_ABSENT:
		put_absent(t->out, leaf->value);
		break;
	case GS_LEAF_NULL:
		gs_buf_puts(t->out, "0x0");
		break;
	case GS_LEAF_BOOL:
		if (leaf->bits > 1)
			gs_put_decimal(t->out, leaf->bits);
		else
			gs_buf_puts(t->out, leaf->bits ? "true" : "false");
		break;
	case GS_LEAF_INT:
		put_integer(t->out, leaf);
		break;
	case GS_LEAF_CHAR:
		put_character(t->out, leaf);
		break;
	case GS_LEAF_ENUM:
		put_enum(t->out, leaf);
		break;
	case GS_LEAF_FLOAT:
	case GS_LEAF_COMPLEX:
		gs_text_put_float(t->out, leaf, big);
		break;
	case GS_LEAF_STRING:
		put_string(t->out, leaf, big, t->string_limit);
		break;
	case GS_LEAF_POINTER:
		put_pointer(w, leaf, leaf->value->type, w->depth == 0);
		break;
	}
}

/* ---- structure ---- */

/* "std::vector" of std::vector<int, ...>; the namespaces of ABIs are no part of it. */
static void put_container_name(struct gs_buf *out, const struct gs_type *t, bool arguments)
{
	static const char abi[] = "std::__cxx11::";
	const char *name = t->name ? t->name : "";

	if (strncmp(name, abi, sizeof(abi) - 1) == 0) {
		gs_buf_puts(out, "std::");
		name += sizeof(abi) - 1;
	}
	gs_escape(out, name, arguments || name[0] == '&' ? strlen(name) : strcspn(name, "<"),
		  GS_ESCAPE_PLAIN);
}

static void open_container(struct gs_buf *out, const struct gs_node *node)
{
	const struct gs_box *box = node->box;

	if (box->rule->kind == GS_CONTAINER_OPTIONAL) {
		put_container_name(out, node->type, true);
		gs_buf_puts(out, box->captured ? " = {" : " [no contained value]");
		return;
	}
	put_container_name(out, node->type, false);
	if (box->has_length) {
		bool sequence = box->rule->kind == GS_CONTAINER_SEQUENCE;

		gs_buf_puts(out, sequence ? " of length " : " with ");
		gs_put_decimal(out, box->length);
		if (!sequence)
			gs_buf_puts(out, box->length == 1 ? " element" : " elements");
	}
	if (box->has_capacity) {
		gs_buf_puts(out, ", capacity ");
		gs_put_decimal(out, box->capacity);
	}
	gs_buf_puts(out, box->has_length && !box->length ? "" : " = {");
}

static void close_container(struct gs_buf *out, const struct gs_node *node)
{
	const struct gs_box *box = node->box;

	if (box->rule->kind == GS_CONTAINER_OPTIONAL) {
		gs_buf_puts(out, box->captured ? "}" : "");
		return;
	}
	if (node->cut)
		gs_buf_puts(out, "...");
	gs_buf_puts(out, box->has_length && !box->length ? "" : "}");
}

static void text_open(struct gs_walk *w, const struct gs_node *node)
{
	struct gs_buf *out = out_of(w);
	bool whole = w->depth == 1;

	switch (node->kind) {
	case GS_NODE_OBJECT:
	case GS_NODE_ARRAY:
		gs_buf_putc(out, '{');
		break;
	case GS_NODE_FOLLOWED:
		if (node->leaf->kind == GS_LEAF_ABSENT) {
			if (whole)
				put_type_prefix(w, node->value->type);
			gs_buf_puts(out, "<synthetic pointer>: ");
			break;
		}
		put_pointer(w, node->leaf, node->value->type, whole);
		gs_buf_puts(out, ": ");
		break;
	case GS_NODE_REFERENCE:
		if (whole)
			put_type_prefix(w, node->value->type);
		gs_buf_putc(out, '@');
		if (node->leaf->kind == GS_LEAF_ABSENT)
			gs_buf_puts(out, "<synthetic pointer>");
		else
			gs_put_hex(out, node->leaf->bits);
		gs_buf_puts(out, ": ");
		break;
	case GS_NODE_CONTAINER:
		open_container(out, node);
		break;
	}
}

static void text_close(struct gs_walk *w, const struct gs_node *node)
{
	struct gs_buf *out = out_of(w);

	if (node->kind == GS_NODE_FOLLOWED || node->kind == GS_NODE_REFERENCE)
		return;
	if (node->kind == GS_NODE_CONTAINER) {
		close_container(out, node);
		return;
	}
	if (node->cut)
		gs_buf_puts(out, "...");
	else if (node->kind == GS_NODE_OBJECT && !node->any)
		gs_buf_puts(out, "<No data fields>");
	gs_buf_putc(out, '}');
}

/* Nothing that a value or a name ends in is a brace: it was opened just now. */
static void comma(struct gs_buf *out)
{
	if (out->data[out->len - 1] != '{')
		gs_buf_append(out, ", ", 2);
}

static void text_member(struct gs_walk *w, const struct gs_member *m, const char *name)
{
	struct gs_buf *out = out_of(w);

	comma(out);
	if (!name)
		return;
	if (m->flags & GS_MEMBER_BASE) {
		const struct gs_types *types = w->event->source.types;
		const struct gs_type *base = gs_type_get(types, gs_type_strip(types, m->type));

		gs_buf_putc(out, '<');
		put_name(out, base->name ? base->name : name);
		gs_buf_puts(out, "> = ");
		return;
	}
	put_name(out, name);
	gs_buf_append(out, " = ", 3);
}

static void text_element(struct gs_walk *w, uint64_t index)
{
	comma(out_of(w));
}

static void text_entry(struct gs_walk *w, const struct gs_node *map, uint64_t index,
		       enum gs_entry_phase phase)
{
	if (phase == GS_ENTRY_KEY) {
		comma(out_of(w));
		gs_buf_putc(out_of(w), '[');
	} else if (phase == GS_ENTRY_VALUE) {
		gs_buf_puts(out_of(w), "] = ");
	}
}

static void text_repeats(struct gs_walk *w, uint64_t count)
{
	struct gs_buf *out = out_of(w);

	gs_buf_puts(out, " <repeats ");
	gs_put_decimal(out, count);
	gs_buf_puts(out, " times>");
}

const struct gs_walk_ops gs_text_ops = {
	.leaf = text_leaf,
	.open = text_open,
	.close = text_close,
	.member = text_member,
	.element = text_element,
	.entry = text_entry,
	.repeats = text_repeats,
};

void gs_text_put_value(struct gs_buf *out, struct gs_event *ev, const char *key,
		       const struct gs_value *v)
{
	const struct gs_meta_session *s = &ev->file->meta->session;
	/* Limits that are lost cut nothing off. */
	uint64_t none = ev->file->meta->has_session ? 200 : UINT64_MAX;
	struct gs_text_value text = {.out = out,
				     .string_limit = s->string_limit ? s->string_limit : none};
	struct gs_walk w;

	w.ops = &gs_text_ops;
	w.ctx = &text;
	w.event = ev;
	w.flags = GS_WALK_REPEATS | GS_WALK_CHARS;
	w.element_limit = s->array_limit ? s->array_limit : none;
	gs_walk_value(&w, key, v);
}
