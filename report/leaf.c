/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values without parts: what kind of thing bytes of a type are, or why they are nothing.
 * The first half of the walk that feeds every renderer.
 */
#include "report/walk.h"

#include "common/bytes.h"

static bool absent(struct gs_leaf *leaf)
{
	leaf->kind = GS_LEAF_ABSENT;
	return true;
}

/* Absence is told by a value of its own; LEAF borrows it. */
static bool absent_as(struct gs_leaf *leaf, struct gs_value *why, uint8_t status,
		      const char *reason)
{
	*why = *leaf->value;
	why->status = status;
	why->reason = reason;
	why->data = NULL;
	why->len = 0;
	leaf->value = why;
	return absent(leaf);
}

/* Up to 16 bytes as one integer. */
static bool load_wide(const struct gs_event *ev, const struct gs_value *v, struct gs_leaf *leaf,
		      size_t size)
{
	bool big = ev->source.big_endian;
	unsigned __int128 wide;

	if (v->in_bits || size <= 8) {
		if (!gs_value_scalar(&ev->source, v, &leaf->bits))
			return false;
		leaf->wide = leaf->is_signed ? (__int128)(int64_t)leaf->bits : (__int128)leaf->bits;
		return true;
	}
	if (size > 16 || v->len < size)
		return false;
	wide = gs_load_uint(v->data + (big ? size - 8 : 0), 8, big);
	wide |= (unsigned __int128)gs_load_uint(v->data + (big ? 0 : 8), size - 8, big) << 64;
	if (leaf->is_signed && size < 16)
		wide = (unsigned __int128)((__int128)(wide << (128 - 8 * size)) >>
					   (128 - 8 * size));
	leaf->bits = (uint64_t)wide;
	leaf->wide = (__int128)wide;
	return true;
}

static bool is_char_type(const struct gs_types *types, gs_type_id id)
{
	const struct gs_type *t = gs_type_get(types, gs_type_strip(types, id));

	return t->kind == GS_KIND_INT &&
	       (t->byte_size == 1 || t->byte_size == 2 || t->byte_size == 4) &&
	       ((t->flags & (GS_TYPE_CHAR | GS_TYPE_UTF)) || gs_type_wide_prefix(types, id));
}

static bool integer_leaf(struct gs_event *ev, const struct gs_value *v, struct gs_leaf *leaf)
{
	const struct gs_type *t = leaf->type;

	leaf->is_signed = t->flags & GS_TYPE_SIGNED;
	leaf->size = (uint8_t)(t->byte_size > 16 ? 16 : t->byte_size);
	leaf->kind = GS_LEAF_INT;
	if (t->kind == GS_KIND_BOOL)
		leaf->kind = GS_LEAF_BOOL;
	else if (t->kind == GS_KIND_ENUM)
		leaf->kind = GS_LEAF_ENUM;
	else if (is_char_type(ev->source.types, v->type)) {
		leaf->kind = GS_LEAF_CHAR;
		leaf->prefix = gs_type_wide_prefix(ev->source.types, v->type);
	}
	if (t->kind == GS_KIND_ENUM)
		leaf->is_signed = gs_type_is_signed(ev->source.types, v->type);
	return load_wide(ev, v, leaf, t->byte_size);
}

static bool pointer_leaf(struct gs_event *ev, const struct gs_value *v, struct gs_leaf *leaf)
{
	const struct gs_types *types = ev->source.types;
	const struct gs_type *target;
	struct gs_value head = *v;
	size_t half = ev->source.pointer_size;

	leaf->kind = GS_LEAF_POINTER;
	target = gs_type_get(types, gs_type_strip(types, leaf->type->target));
	leaf->is_function = target->kind == GS_KIND_FUNCTION;
	if (leaf->type->kind == GS_KIND_MEMBER_POINTER && !v->in_bits && half && half <= 8 &&
	    v->len == 2 * half) {
		/* Itanium C++ ABI 2.3: address or offset in the virtual table, then the adjustment.
		 */
		leaf->bits = gs_load_uint(v->data, half, ev->source.big_endian);
		leaf->adjust = gs_load_int(v->data + half, half, ev->source.big_endian);
	} else if (!gs_value_scalar(&ev->source, &head, &leaf->bits)) {
		return false;
	}
	if (leaf->is_function && ev->batch)
		leaf->symbol = gs_event_symbol(ev, leaf->bits);
	return true;
}

/* Wide characters are captured as an array, up to the limit: its first NUL makes it whole. */
static void end_at_nul(struct gs_leaf *leaf, struct gs_value *pointee)
{
	static const uint8_t zeros[4];

	for (size_t i = 0; i + leaf->size <= leaf->len; i += leaf->size) {
		if (memcmp(leaf->bytes + i, zeros, leaf->size) != 0)
			continue;
		leaf->len = i;
		pointee->status = GS_STATUS_OK;
		return;
	}
	leaf->len -= leaf->len % leaf->size;
	if (pointee->status == GS_STATUS_OK)
		pointee->status = GS_STATUS_TRUNCATED;
}

/* char *: its string is the value. False where no string was planned for it. */
static bool string_pointer(struct gs_event *ev, const struct gs_value *v, struct gs_leaf *leaf,
			   struct gs_value *pointee)
{
	const struct gs_types *types = ev->source.types;
	uint64_t bits;
	unsigned size = 1;

	if ((!gs_type_is_char_pointer(types, v->type) &&
	     !gs_type_is_wide_pointer(types, v->type, &size)) ||
	    !ev->source.follow(ev->source.ctx, v->item, v->item_offset, pointee))
		return false;
	if (ev->batch && gs_value_scalar(&ev->source, v, &bits) && bits == 0) {
		leaf->kind = GS_LEAF_NULL;
		return true;
	}
	leaf->value = pointee;
	leaf->size = (uint8_t)size;
	leaf->prefix = gs_type_wide_prefix(types, leaf->type->target);
	/* Why the pointer is not there is why its string is not. */
	if (ev->batch && !gs_status_has_data(v->status) && !gs_status_has_data(pointee->status)) {
		leaf->value = v;
		return absent(leaf);
	}
	if (!gs_status_has_data(pointee->status)) {
		if (!pointee->has_address && gs_value_scalar(&ev->source, v, &pointee->address))
			pointee->has_address = true;
		return absent(leaf);
	}
	leaf->kind = GS_LEAF_STRING;
	leaf->bytes = pointee->data;
	leaf->len = pointee->len;
	if (size > 1)
		end_at_nul(leaf, pointee);
	return true;
}

static bool is_string_array(const struct gs_event *ev, unsigned flags, const struct gs_value *v,
			    const struct gs_type *t)
{
	const struct gs_types *types = ev->source.types;

	if (t->kind != GS_KIND_ARRAY || (t->flags & GS_TYPE_VECTOR))
		return false;
	if (gs_type_is_char_array(types, v->type) ||
	    (is_char_type(types, t->target) && gs_type_wide_prefix(types, t->target)))
		return true;
	return (flags & GS_WALK_CHARS) && is_char_type(types, t->target);
}

static void array_string(struct gs_event *ev, const struct gs_value *v, struct gs_leaf *leaf)
{
	const struct gs_types *types = ev->source.types;
	const struct gs_type *elem = gs_type_get(types, gs_type_strip(types, leaf->type->target));
	uint32_t flags = 0;

	if (v->item >= 0 && v->item_offset == 0 && (uint32_t)v->item < ev->view->schema.nitems &&
	    ev->view->schema.items[v->item].type == v->type)
		flags = ev->view->schema.items[v->item].flags;
	leaf->kind = GS_LEAF_STRING;
	leaf->bytes = v->data;
	leaf->len = v->len;
	leaf->size = (uint8_t)(elem->byte_size ? elem->byte_size : 1);
	leaf->prefix = gs_type_wide_prefix(types, leaf->type->target);
	leaf->nul_ends = !(flags & GS_SCHEMA_STRING);
	if (flags & GS_SCHEMA_COMM)
		leaf->len = strnlen((const char *)v->data, v->len);
}

/* A statement of the site that these bytes are not there, although the item is. */
static bool noted(const struct gs_event *ev, struct gs_leaf *leaf, struct gs_value *why)
{
	const struct gs_value *v = leaf->value;
	const struct gs_meta_note *note;

	if (v->item < 0 || !ev->site || !ev->site->nnotes || !gs_status_has_data(v->status))
		return false;
	note = gs_event_note(ev, (uint32_t)v->item, v->item_offset,
			     leaf->type->byte_size ? leaf->type->byte_size : v->len);
	if (!note)
		return false;
	return absent_as(leaf, why, note->status,
			 note->reason && note->reason[0] ? note->reason : NULL);
}

static bool float_leaf(const struct gs_value *v, struct gs_leaf *leaf, struct gs_value *why)
{
	const struct gs_type *t = leaf->type;

	leaf->kind = t->kind == GS_KIND_COMPLEX ? GS_LEAF_COMPLEX : GS_LEAF_FLOAT;
	leaf->size = (uint8_t)(t->byte_size > 32 ? 0 : t->byte_size);
	leaf->bytes = v->data;
	leaf->len = v->len;
	if (t->encoding == GS_FLOAT_DECIMAL)
		return absent_as(leaf, why, GS_STATUS_UNAVAILABLE, "a decimal float");
	if (t->encoding == GS_FLOAT_IBM)
		return absent_as(leaf, why, GS_STATUS_UNAVAILABLE, "an IBM double-double");
	if (!v->in_bits && (v->len < t->byte_size || !leaf->size))
		return absent_as(leaf, why, GS_STATUS_NOT_COLLECTED, NULL);
	return true;
}

bool gs_leaf_of(struct gs_event *ev, unsigned flags, const struct gs_value *v, struct gs_leaf *leaf)
{
	/* What the leaf may borrow besides V; one walk at a time. */
	static _Thread_local struct gs_value other;
	bool data = gs_status_has_data(v->status);
	bool ok = true;

	*leaf = (struct gs_leaf){.value = v};
	leaf->type = gs_type_get(ev->source.types, gs_type_strip(ev->source.types, v->type));
	if (is_string_array(ev, flags, v, leaf->type)) {
		if (!data || noted(ev, leaf, &other))
			return absent(leaf);
		array_string(ev, v, leaf);
		return true;
	}
	if (gs_container_text(ev, v, leaf, &other))
		return true;
	switch (leaf->type->kind) {
	case GS_KIND_STRUCT:
	case GS_KIND_CLASS:
	case GS_KIND_UNION:
	case GS_KIND_ARRAY:
		return !data && !(flags & GS_WALK_EXPAND) ? absent(leaf) : false;
	case GS_KIND_REFERENCE:
	case GS_KIND_RVALUE_REFERENCE:
	case GS_KIND_POINTER:
		if (data && noted(ev, leaf, &other))
			return true;
		if (string_pointer(ev, v, leaf, &other))
			return true;
		break;
	default:
		break;
	}
	if (!data || noted(ev, leaf, &other))
		return absent(leaf);
	switch (leaf->type->kind) {
	case GS_KIND_BOOL:
	case GS_KIND_INT:
	case GS_KIND_ENUM:
		ok = integer_leaf(ev, v, leaf);
		break;
	case GS_KIND_FLOAT:
	case GS_KIND_COMPLEX:
		return float_leaf(v, leaf, &other);
	case GS_KIND_POINTER:
	case GS_KIND_REFERENCE:
	case GS_KIND_RVALUE_REFERENCE:
	case GS_KIND_MEMBER_POINTER:
	case GS_KIND_UNSPECIFIED:
		ok = pointer_leaf(ev, v, leaf);
		break;
	default:
		return absent_as(leaf, &other, GS_STATUS_UNAVAILABLE, "no value of type void");
	}
	return ok ? true : absent_as(leaf, &other, GS_STATUS_NOT_COLLECTED, NULL);
}
