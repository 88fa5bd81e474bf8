/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounded byte reader and writer: the only way that foreign bytes are taken apart.
 * Used by format/ (blocks), record/ (ELF notes, resolver messages) and report/ (captured values).
 *
 * The reader is sticky: a read past the end sets `bad`, returns 0 / NULL, and moves to the end, so
 * that a parser can read a whole structure and check once. Counts that come from the input must be
 * checked against gs_reader_left() (or a cap) before anything is allocated for them.
 */
#ifndef GS_COMMON_BYTES_H
#define GS_COMMON_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/mem.h"

struct gs_reader {
	const uint8_t *pos, *end;
	bool bad;
};

static inline struct gs_reader gs_reader_of(const void *p, size_t n)
{
	return (struct gs_reader){(const uint8_t *)p, (const uint8_t *)p + n, false};
}
static inline size_t gs_reader_left(const struct gs_reader *r)
{
	return (size_t)(r->end - r->pos);
}
uint8_t gs_read_u8(struct gs_reader *r);
uint16_t gs_read_u16(struct gs_reader *r); /* little-endian */
uint32_t gs_read_u32(struct gs_reader *r);
uint64_t gs_read_u64(struct gs_reader *r);
uint64_t gs_read_uleb(struct gs_reader *r); /* ULEB128; over 64 bits is bad */
int64_t gs_read_sleb(struct gs_reader *r);  /* SLEB128 */
/* N bytes in place, or NULL (and bad). */
const uint8_t *gs_read_bytes(struct gs_reader *r, size_t n);
/* uleb length, then that many bytes, copied into the arena and NUL-terminated; NUL inside is bad.
 * Never NULL: "" when bad. */
const char *gs_read_str(struct gs_reader *r, struct gs_arena *a);

void gs_put_u8(struct gs_buf *b, uint8_t v);
void gs_put_u16(struct gs_buf *b, uint16_t v);
void gs_put_u32(struct gs_buf *b, uint32_t v);
void gs_put_u64(struct gs_buf *b, uint64_t v);
void gs_put_uleb(struct gs_buf *b, uint64_t v);
void gs_put_sleb(struct gs_buf *b, int64_t v);
void gs_put_str(struct gs_buf *b, const char *s); /* NULL is written as "" */

static inline uint64_t gs_zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}
static inline int64_t gs_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* Unaligned loads of a captured value: SIZE 1..8 bytes, zero-extended, in the target's byte order.
 */
uint64_t gs_load_uint(const void *p, size_t size, bool big_endian);
int64_t gs_load_int(const void *p, size_t size, bool big_endian); /* sign-extended */

#endif
