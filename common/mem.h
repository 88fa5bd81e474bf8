/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory: allocation that does not fail, arenas for what lives as long as a phase, byte buffers.
 * Used by every stage.
 *
 * Exhaustion of memory is not an error that callers handle: every size that a stranger's bytes ask
 * for is capped before it reaches these functions, and what is already in a data file stays valid.
 * On exhaustion they print one line and abort the process.
 */
#ifndef GS_COMMON_MEM_H
#define GS_COMMON_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GS_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

void *gs_malloc(size_t size);			  /* uninitialised; size 0 gives a unique pointer */
void *gs_calloc(size_t n, size_t size);		  /* zeroed; n * size is checked */
void *gs_realloc(void *p, size_t n, size_t size); /* n * size is checked */
char *gs_strdup(const char *s);
char *gs_strndup(const char *s, size_t n);
char *gs_asprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Grows *array (elements of SIZE bytes, capacity *cap) to hold at least NEED elements, doubling.
 * GS_PUSH(array, n, cap) returns a pointer to a new zeroed element at the end.
 */
void *gs_grow(void *array, size_t *cap, size_t need, size_t size);
#define GS_PUSH(array, n, cap)                                                  \
	((array) = gs_grow((array), &(cap), (size_t)(n) + 1, sizeof(*(array))), \
	 memset(&(array)[(n)], 0, sizeof(*(array))), &(array)[(n)++])

static inline void gs_free_cleanup(void *p)
{
	free(*(void **)p);
}
#define GS_CLEANUP_FREE __attribute__((cleanup(gs_free_cleanup)))

/* Arena: bump allocation, freed all at once. Zero-initialise or gs_arena_init. */
struct gs_arena {
	struct gs_arena_chunk *chunk;
	size_t used, total; /* total: bytes held, for limits */
};
void gs_arena_init(struct gs_arena *a);
void gs_arena_deinit(struct gs_arena *a);
void *gs_arena_alloc(struct gs_arena *a, size_t size); /* zeroed, 16-byte aligned */
char *gs_arena_strdup(struct gs_arena *a, const char *s);
char *gs_arena_strndup(struct gs_arena *a, const char *s, size_t n);
void *gs_arena_memdup(struct gs_arena *a, const void *p, size_t n);
char *gs_arena_printf(struct gs_arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Byte buffer: grows; also the output side of the byte codec (bytes.h). */
struct gs_buf {
	uint8_t *data;
	size_t len, cap;
};
void gs_buf_init(struct gs_buf *b);
void gs_buf_deinit(struct gs_buf *b);
void gs_buf_reset(struct gs_buf *b); /* len = 0, memory kept */
/* Room for N more bytes; returns where they go (len is not changed). */
uint8_t *gs_buf_reserve(struct gs_buf *b, size_t n);
void gs_buf_append(struct gs_buf *b, const void *p, size_t n);
void gs_buf_puts(struct gs_buf *b, const char *s);
void gs_buf_putc(struct gs_buf *b, char c);
void gs_buf_printf(struct gs_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* NUL-terminates (NUL not counted in len) and returns the data as a string. */
char *gs_buf_cstr(struct gs_buf *b);

#endif
