/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values: captured bytes taken apart by type, with their status.
 * Between columns of bytes and evaluation, aggregation and rendering.
 */
#include "common/value.h"

#include <math.h>

#include "common/bytes.h"
#include "common/value_part.h"

static const struct gs_type *type_of(const struct gs_value_source *src, gs_type_id id)
{
	return gs_type_get(src->types, gs_type_strip(src->types, id));
}

/* ---- scalars ---- */

static bool is_scalar_kind(unsigned kind)
{
	switch (kind) {
	case GS_KIND_BOOL:
	case GS_KIND_INT:
	case GS_KIND_ENUM:
	case GS_KIND_POINTER:
	case GS_KIND_REFERENCE:
	case GS_KIND_RVALUE_REFERENCE:
	case GS_KIND_MEMBER_POINTER:
	case GS_KIND_UNSPECIFIED:
		return true;
	default:
		return false;
	}
}

uint64_t gs_value_type_size(const struct gs_value_source *src, gs_type_id id)
{
	const struct gs_type *type = type_of(src, id);
	uint64_t size = gs_type_size(src->types, id);
	bool address = type->kind == GS_KIND_POINTER || type->kind == GS_KIND_REFERENCE ||
		       type->kind == GS_KIND_RVALUE_REFERENCE || type->kind == GS_KIND_UNSPECIFIED;

	return size || !address ? size : src->pointer_size;
}

uint64_t gs_value_extend(const struct gs_value_source *src, gs_type_id type, uint64_t bits)
{
	uint64_t size = gs_value_type_size(src, type);
	unsigned unused;

	if (!size || size >= 8)
		return bits;
	unused = 64 - 8 * (unsigned)size;
	if (gs_type_is_signed(src->types, type))
		return (uint64_t)((int64_t)(bits << unused) >> unused);
	return bits << unused >> unused;
}

bool gs_value_scalar(const struct gs_value_source *src, const struct gs_value *v, uint64_t *bits)
{
	uint64_t size;

	if (v->status != GS_STATUS_OK || !is_scalar_kind(type_of(src, v->type)->kind))
		return false;
	if (v->in_bits) {
		*bits = v->bits;
		return true;
	}
	size = gs_value_type_size(src, v->type);
	if (size < 1 || size > 8 || v->len < size || !v->data)
		return false;
	if (gs_type_is_signed(src->types, v->type))
		*bits = (uint64_t)gs_load_int(v->data, (size_t)size, src->big_endian);
	else
		*bits = gs_load_uint(v->data, (size_t)size, src->big_endian);
	return true;
}

/* ---- floats ---- */

double gs_round_binary(unsigned __int128 mantissa, int exponent, int precision, int exponent_min)
{
	uint64_t high = (uint64_t)(mantissa >> 64), low = (uint64_t)mantissa;
	int length = high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
	int least = exponent + length - precision, drop;
	unsigned __int128 rest, half;

	if (least < exponent_min)
		least = exponent_min;
	drop = least - exponent;
	if (drop > 127)
		return 0;
	if (drop > 0) {
		/* To nearest, ties to even; once, in integers: rounding twice would be another
		 * number. */
		half = (unsigned __int128)1 << (drop - 1);
		rest = mantissa & (half * 2 - 1);
		mantissa >>= drop;
		mantissa += rest > half || (rest == half && (mantissa & 1));
		exponent = least;
	}
	/*
	 * Without drop the mantissa fits; else it has at most PRECISION + 1 bits and ends in zeros
	 * when it has one more. Both are exact in a double.
	 */
	return ldexp((double)mantissa, exponent);
}

/* An interchange format: sign, EXPONENT_BITS, MANTISSA_BITS (without the hidden one). */
static double decode_ieee(unsigned __int128 raw, int exponent_bits, int mantissa_bits)
{
	unsigned __int128 hidden = (unsigned __int128)1 << mantissa_bits;
	unsigned __int128 mantissa = raw & (hidden - 1);
	int top = (1 << exponent_bits) - 1, bias = top >> 1;
	int exponent = (int)(raw >> mantissa_bits) & top;
	bool negative = raw >> (mantissa_bits + exponent_bits) & 1;
	double v;

	if (exponent == top)
		v = mantissa ? (double)NAN : (double)INFINITY;
	else
		v = gs_round_binary(exponent ? mantissa | hidden : mantissa,
				    (exponent ? exponent : 1) - bias - mantissa_bits, 53, -1074);
	return negative ? -v : v;
}

static double decode_x87(unsigned __int128 raw)
{
	uint64_t mantissa = (uint64_t)raw;
	int exponent = (int)(raw >> 64) & 0x7fff;
	bool negative = raw >> 79 & 1;
	double v;

	/* What the processor refuses as an operand (no integer bit where there must be one) is no
	 * number. */
	if (exponent == 0x7fff && mantissa == (uint64_t)1 << 63)
		v = (double)INFINITY;
	else if (exponent == 0x7fff || (exponent && !(mantissa >> 63)))
		v = (double)NAN;
	else
		v = gs_round_binary(mantissa, (exponent ? exponent : 1) - 16383 - 63, 53, -1074);
	return negative ? -v : v;
}

static unsigned __int128 load_u128(const uint8_t *p, size_t size, bool big_endian)
{
	unsigned __int128 v = 0;

	for (size_t i = 0; i < size; i++)
		v = v << 8 | p[big_endian ? i : size - 1 - i];
	return v;
}

bool gs_value_real(const struct gs_value_source *src, const struct gs_value *v, double *real)
{
	const struct gs_type *type = type_of(src, v->type);
	size_t size = (size_t)type->byte_size;
	unsigned __int128 raw;

	if (v->status != GS_STATUS_OK || type->kind != GS_KIND_FLOAT)
		return false;
	if (v->in_bits) {
		*real = v->real;
		return true;
	}
	if (size > 16 || v->len < size || !v->data)
		return false;
	raw = load_u128(v->data, size, src->big_endian);
	if (type->encoding == GS_FLOAT_X87 && size >= 10 && !src->big_endian)
		*real = decode_x87(raw);
	else if (type->encoding == GS_FLOAT_BFLOAT && size == 2)
		*real = decode_ieee(raw, 8, 7);
	else if (type->encoding == GS_FLOAT_IEEE && size == 2)
		*real = decode_ieee(raw, 5, 10);
	else if (type->encoding == GS_FLOAT_IEEE && size == 4)
		*real = decode_ieee(raw, 8, 23);
	else if (type->encoding == GS_FLOAT_IEEE && size == 8)
		*real = decode_ieee(raw, 11, 52);
	else if (type->encoding == GS_FLOAT_IEEE && size == 16)
		*real = decode_ieee(raw, 15, 112);
	else
		return false;
	return true;
}

/* ---- parts ---- */

void gs_value_absent(struct gs_value *out, gs_type_id type, unsigned status)
{
	*out = (struct gs_value){.type = type, .status = (uint8_t)status, .item = -1};
}

/* An aggregate or array of which only the beginning was captured is still worth showing. */
static bool is_divisible(const struct gs_value_source *src, gs_type_id id)
{
	unsigned kind = type_of(src, id)->kind;

	return kind == GS_KIND_ARRAY || gs_kind_is_aggregate(kind);
}

static void take_bits(const struct gs_value_source *src, const struct gs_value *v,
		      uint64_t bit_offset, unsigned bit_size, struct gs_value *out)
{
	uint64_t first = bit_offset / 8;
	unsigned skip = bit_offset % 8, nbytes = (skip + bit_size + 7) / 8;
	unsigned __int128 raw;
	uint64_t bits;

	if (bit_size > 64) {
		out->status = GS_STATUS_UNAVAILABLE;
		out->reason = "bit-field of more than 64 bits";
		return;
	}
	if (first > v->len || v->len - first < nbytes) {
		out->status = GS_STATUS_NOT_COLLECTED;
		return;
	}
	raw = load_u128(v->data + first, nbytes, src->big_endian);
	bits = (uint64_t)(raw >> (src->big_endian ? nbytes * 8 - skip - bit_size : skip));
	bits <<= 64 - bit_size;
	if (gs_type_is_signed(src->types, out->type))
		out->bits = (uint64_t)((int64_t)bits >> (64 - bit_size));
	else
		out->bits = bits >> (64 - bit_size);
	out->in_bits = true;
}

/*
 * A flexible array member has elements that the size of its structure does not count, and that were
 * not captured: it is not an empty one. (A slice is an item of its own, and whole.)
 */
static bool is_flexible(const struct gs_value_source *src, const struct gs_value *v,
			const struct gs_value *out)
{
	const struct gs_type *type = type_of(src, out->type);

	return type->kind == GS_KIND_ARRAY && !type->count && type->stride &&
	       gs_kind_is_aggregate(type_of(src, v->type)->kind);
}

static void take_bytes(const struct gs_value_source *src, const struct gs_value *v, uint64_t offset,
		       struct gs_value *out)
{
	uint64_t size = gs_value_type_size(src, out->type);
	uint64_t left = offset < v->len ? v->len - offset : 0;

	if (is_flexible(src, v, out)) {
		out->status = GS_STATUS_NOT_COLLECTED;
	} else if (size <= left || (!size && offset <= v->len)) {
		out->data = v->data ? v->data + offset : NULL;
		out->len = (size_t)size;
	} else if (left && is_divisible(src, out->type)) {
		out->data = v->data + offset;
		out->len = (size_t)left;
		out->status =
			v->status == GS_STATUS_PARTIAL ? GS_STATUS_PARTIAL : GS_STATUS_TRUNCATED;
	} else {
		out->status = GS_STATUS_NOT_COLLECTED;
	}
}

/* A scalar that was computed has no bytes: it can only be taken whole, as what it is. */
static bool is_whole(const struct gs_value_source *src, const struct gs_value *v,
		     const struct gs_part *part)
{
	unsigned to = type_of(src, part->type)->kind, from = type_of(src, v->type)->kind;

	return !part->bit_size && !part->bit_offset &&
	       gs_value_type_size(src, part->type) == gs_value_type_size(src, v->type) &&
	       (to == from || (is_scalar_kind(to) && is_scalar_kind(from)));
}

void gs_value_part(const struct gs_value_source *src, const struct gs_value *v,
		   const struct gs_part *part, struct gs_value *out)
{
	uint64_t offset = part->bit_offset / 8;
	struct gs_value r = {.type = part->type, .status = GS_STATUS_OK, .item = -1};

	if (!gs_status_has_data(v->status)) {
		r.status = v->status;
		r.reason = v->reason;
		r.address = v->address;
	} else if (v->in_bits && is_whole(src, v, part)) {
		r = *v;
		r.type = part->type;
		r.bits = gs_value_extend(src, part->type, v->bits);
	} else if (v->in_bits) {
		r.status = GS_STATUS_NOT_COLLECTED;
	} else if (!part->bit_size && part->bit_offset % 8) {
		r.status = GS_STATUS_UNAVAILABLE;
		r.reason = "not at a byte";
	} else {
		r.has_address = v->has_address;
		r.address = v->has_address ? v->address + offset : 0;
		r.item = v->item;
		r.item_offset = v->item_offset + offset;
		if (part->bit_size)
			take_bits(src, v, part->bit_offset, part->bit_size, &r);
		else
			take_bytes(src, v, offset, &r);
	}
	*out = r;
}

/* The value that says that variant NAME is there; NULL: any that no other variant has. */
static const struct gs_enumerator *variant_value(const struct gs_type *type, const char *name)
{
	for (uint32_t i = 0; name && i < type->nenumerators; i++)
		if (strcmp(type->enumerators[i].name, name) == 0)
			return &type->enumerators[i];
	return NULL;
}

enum gs_variant_state gs_value_variant(const struct gs_value_source *src, const struct gs_value *v,
				       uint32_t i)
{
	const struct gs_type *type = type_of(src, v->type);
	const struct gs_enumerator *own = variant_value(type, type->members[i].name);
	uint64_t bits, size, mask;
	struct gs_value tag;
	uint32_t d = 0;

	while (d < type->nmembers && !(type->members[d].flags & GS_MEMBER_DISCRIMINANT))
		d++;
	if (d == type->nmembers)
		return GS_VARIANT_ACTIVE; /* there is only one */
	/* Not as a member: a hostile file's discriminant may be a variant itself. */
	gs_value_part(src, v,
		      &(struct gs_part){type->members[d].type, type->members[d].bit_offset,
					type->members[d].bit_size},
		      &tag);
	size = gs_type_size(src->types, type->members[d].type);
	if (!gs_value_scalar(src, &tag, &bits) || !size || size > 8)
		return GS_VARIANT_UNKNOWN;
	mask = size == 8 ? UINT64_MAX : (1ull << size * 8) - 1;
	if (own)
		return (((uint64_t)own->value ^ bits) & mask) ? GS_VARIANT_OTHER
							      : GS_VARIANT_ACTIVE;
	for (uint32_t e = 0; e < type->nenumerators; e++)
		if ((((uint64_t)type->enumerators[e].value ^ bits) & mask) == 0)
			return GS_VARIANT_OTHER;
	return GS_VARIANT_ACTIVE;
}

void gs_value_member(const struct gs_value_source *src, const struct gs_value *v, uint32_t i,
		     struct gs_value *out)
{
	const struct gs_type *type = type_of(src, v->type);
	const struct gs_member *m;

	if (!gs_kind_is_aggregate(type->kind) || i >= type->nmembers) {
		gs_value_absent(out, GS_TYPE_VOID, GS_STATUS_NOT_COLLECTED);
		return;
	}
	m = &type->members[i];
	if (m->flags & GS_MEMBER_STATIC) {
		gs_value_absent(out, m->type, GS_STATUS_NOT_COLLECTED);
		return;
	}
	if (m->flags & GS_MEMBER_VIRTUAL_BASE) {
		gs_value_absent(out, m->type, GS_STATUS_UNAVAILABLE);
		out->reason = "virtual base class";
		return;
	}
	if ((m->flags & GS_MEMBER_VARIANT) && gs_status_has_data(v->status) &&
	    gs_value_variant(src, v, i) != GS_VARIANT_ACTIVE) {
		gs_value_absent(out, m->type, GS_STATUS_NOT_COLLECTED);
		out->item = v->item;
		out->item_offset = v->item_offset + m->bit_offset / 8;
		return;
	}
	gs_value_part(src, v, &(struct gs_part){m->type, m->bit_offset, m->bit_size}, out);
}

void gs_value_element(const struct gs_value_source *src, const struct gs_value *v, uint64_t i,
		      struct gs_value *out)
{
	const struct gs_type *type = type_of(src, v->type);
	uint64_t bytes;

	if (type->kind != GS_KIND_ARRAY) {
		gs_value_absent(out, GS_TYPE_VOID, GS_STATUS_NOT_COLLECTED);
	} else if ((!(type->flags & GS_TYPE_COUNT_UNKNOWN) && i >= type->count) ||
		   __builtin_mul_overflow(i, type->stride, &bytes) || bytes > UINT64_MAX / 8) {
		gs_value_absent(out, type->target, GS_STATUS_BAD_RANGE);
	} else {
		gs_value_part(src, v, &(struct gs_part){type->target, bytes * 8, 0}, out);
	}
}

/* Elements without bytes cost a hostile file nothing; they may not cost the reader a loop of 2^64.
 */
#define EMPTY_ELEMENTS_MAX 65536

uint64_t gs_value_count(const struct gs_value_source *src, const struct gs_value *v)
{
	const struct gs_type *type = type_of(src, v->type);
	uint64_t there;

	if (type->kind != GS_KIND_ARRAY || !gs_status_has_data(v->status))
		return 0;
	there = type->stride ? v->len / type->stride : EMPTY_ELEMENTS_MAX;
	if (type->flags & GS_TYPE_COUNT_UNKNOWN)
		return type->stride ? there : 0;
	return type->count < there ? type->count : there;
}

/* ---- enumerators ---- */

static void put_unqualified(struct gs_buf *out, const char *name)
{
	const char *last = name;

	for (const char *p = name; *p; p++)
		if (p[0] == ':' && p[1] == ':')
			last = p + 2;
	gs_buf_puts(out, last);
}

bool gs_enum_name(struct gs_buf *out, const struct gs_type *type, uint64_t bits)
{
	/* Compared in the width of the type: producers differ in how they extend constants. */
	uint64_t mask = type->byte_size && type->byte_size < 8
				? ((uint64_t)1 << 8 * type->byte_size) - 1
				: UINT64_MAX;
	uint64_t left = bits & mask;
	size_t start = out->len;

	for (uint32_t i = 0; i < type->nenumerators; i++)
		if (((uint64_t)type->enumerators[i].value & mask) == left) {
			put_unqualified(out, type->enumerators[i].name);
			return true;
		}
	if (!(type->flags & GS_TYPE_FLAG_ENUM))
		return false;
	for (uint32_t i = 0; i < type->nenumerators && left; i++) {
		uint64_t flag = (uint64_t)type->enumerators[i].value & mask;

		if (!flag || (left & flag) != flag)
			continue;
		if (out->len > start)
			gs_buf_putc(out, '|');
		put_unqualified(out, type->enumerators[i].name);
		left &= ~flag;
	}
	/* Nothing set is not a name either: 0 without an enumerator is a number. */
	if (!left && out->len > start)
		return true;
	out->len = start;
	return false;
}
