/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounded byte reader and writer: the only way that foreign bytes are taken apart.
 * Between file blocks, resolver messages or captured bytes and everything that uses them.
 */
#include "common/bytes.h"

static void reader_fail(struct gs_reader *r)
{
	r->bad = true;
	r->pos = r->end;
}

const uint8_t *gs_read_bytes(struct gs_reader *r, size_t n)
{
	const uint8_t *p = r->pos;

	if (r->bad || n > gs_reader_left(r)) {
		reader_fail(r);
		return NULL;
	}
	if (!p) /* an empty reader over NULL: zero bytes are there, and NULL would say bad */
		return (const uint8_t *)"";
	r->pos += n;
	return p;
}

static uint64_t read_le(struct gs_reader *r, size_t size)
{
	const uint8_t *p = gs_read_bytes(r, size);

	return p ? gs_load_uint(p, size, false) : 0;
}

uint8_t gs_read_u8(struct gs_reader *r)
{
	return (uint8_t)read_le(r, 1);
}

uint16_t gs_read_u16(struct gs_reader *r)
{
	return (uint16_t)read_le(r, 2);
}

uint32_t gs_read_u32(struct gs_reader *r)
{
	return (uint32_t)read_le(r, 4);
}

uint64_t gs_read_u64(struct gs_reader *r)
{
	return read_le(r, 8);
}

uint64_t gs_read_uleb(struct gs_reader *r)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (!r->bad && r->pos < r->end) {
		uint8_t byte = *r->pos++;
		uint64_t bits = byte & 0x7f;

		/* Padding with zero groups is legal; a bit beyond the 64th is not. */
		if (shift >= 64 ? bits != 0 : (bits << shift) >> shift != bits)
			break;
		if (shift < 64)
			v |= bits << shift;
		if (!(byte & 0x80))
			return v;
		shift += 7;
	}
	reader_fail(r);
	return 0;
}

int64_t gs_read_sleb(struct gs_reader *r)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (!r->bad && r->pos < r->end) {
		uint8_t byte = *r->pos++;
		uint64_t bits = byte & 0x7f;

		/* From the 64th bit on, every bit must repeat the sign. */
		if (shift == 63 && bits != 0 && bits != 0x7f)
			break;
		if (shift > 63 && bits != (v >> 63 ? 0x7f : 0))
			break;
		if (shift < 64)
			v |= bits << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (shift < 64 && (byte & 0x40))
			v |= UINT64_MAX << shift;
		return (int64_t)v;
	}
	reader_fail(r);
	return 0;
}

const char *gs_read_str(struct gs_reader *r, struct gs_arena *a)
{
	uint64_t n = gs_read_uleb(r);
	const uint8_t *p;

	if (n > gs_reader_left(r)) {
		reader_fail(r);
		return "";
	}
	p = gs_read_bytes(r, (size_t)n);
	if (!p || !n)
		return "";
	if (memchr(p, 0, (size_t)n)) {
		reader_fail(r);
		return "";
	}
	return gs_arena_strndup(a, (const char *)p, (size_t)n);
}

static void put_le(struct gs_buf *b, uint64_t v, size_t size)
{
	uint8_t *p = gs_buf_reserve(b, size);

	for (size_t i = 0; i < size; i++)
		p[i] = (uint8_t)(v >> (8 * i));
	b->len += size;
}

void gs_put_u8(struct gs_buf *b, uint8_t v)
{
	put_le(b, v, 1);
}

void gs_put_u16(struct gs_buf *b, uint16_t v)
{
	put_le(b, v, 2);
}

void gs_put_u32(struct gs_buf *b, uint32_t v)
{
	put_le(b, v, 4);
}

void gs_put_u64(struct gs_buf *b, uint64_t v)
{
	put_le(b, v, 8);
}

void gs_put_uleb(struct gs_buf *b, uint64_t v)
{
	uint8_t *p = gs_buf_reserve(b, 10);
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t)(v | 0x80);
	p[n++] = (uint8_t)v;
	b->len += n;
}

void gs_put_sleb(struct gs_buf *b, int64_t v)
{
	uint8_t *p = gs_buf_reserve(b, 10);
	size_t n = 0;

	/* Done when what is left is only copies of the sign bit of the group just written. */
	for (; v < -64 || v > 63; v >>= 7)
		p[n++] = (uint8_t)((v & 0x7f) | 0x80);
	p[n++] = (uint8_t)(v & 0x7f);
	b->len += n;
}

void gs_put_str(struct gs_buf *b, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	gs_put_uleb(b, n);
	gs_buf_append(b, s, n);
}

/* Loads of the usual sizes are one instruction and a swap; the rest go byte by byte. */
static bool load_whole(const void *p, size_t size, uint64_t *v)
{
	uint16_t v16;
	uint32_t v32;

	switch (size) {
	case 2:
		memcpy(&v16, p, 2);
		*v = v16;
		return true;
	case 4:
		memcpy(&v32, p, 4);
		*v = v32;
		return true;
	case 8:
		memcpy(v, p, 8);
		return true;
	default:
		return false;
	}
}

uint64_t gs_load_uint(const void *p, size_t size, bool big_endian)
{
	const bool host_is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	const uint8_t *b = p;
	uint64_t v = 0;

	if (load_whole(p, size, &v))
		return big_endian == host_is_big ? v : __builtin_bswap64(v) >> (64 - 8 * size);
	for (size_t i = 0; i < size; i++)
		v = v << 8 | b[big_endian ? i : size - 1 - i];
	return v;
}

int64_t gs_load_int(const void *p, size_t size, bool big_endian)
{
	uint64_t v = gs_load_uint(p, size, big_endian);
	unsigned unused = size < 8 ? 64 - 8 * (unsigned)size : 0;

	return size ? (int64_t)(v << unused) >> unused : 0;
}
