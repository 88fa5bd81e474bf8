/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory: allocation that does not fail, arenas, byte buffers.
 * Under every stage of the flow; sizes from strangers are capped before they arrive here.
 */
#include "common/mem.h"

#include <stdarg.h>
#include <stdio.h>

#define ARENA_CHUNK 16384
#define ARENA_ALIGN 16

struct gs_arena_chunk {
	struct gs_arena_chunk *next;
	size_t size;
	_Alignas(ARENA_ALIGN) unsigned char data[];
};

static _Noreturn void out_of_memory(size_t n, size_t size)
{
	fprintf(stderr, "gs: out of memory (%zu elements of %zu bytes)\n", n, size);
	abort();
}

static size_t mul_or_die(size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		out_of_memory(n, size);
	return bytes;
}

static size_t add_or_die(size_t a, size_t b)
{
	size_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		out_of_memory(a, 1);
	return sum;
}

void *gs_malloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		out_of_memory(1, size);
	return p;
}

void *gs_calloc(size_t n, size_t size)
{
	void *p = n && size ? calloc(n, size) : calloc(1, 1);

	if (!p)
		out_of_memory(n, size);
	return p;
}

void *gs_realloc(void *p, size_t n, size_t size)
{
	size_t bytes = mul_or_die(n, size);

	p = realloc(p, bytes ? bytes : 1);
	if (!p)
		out_of_memory(n, size);
	return p;
}

char *gs_strdup(const char *s)
{
	return gs_strndup(s, strlen(s));
}

char *gs_strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = gs_malloc(len + 1);

	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *gs_asprintf(const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		out_of_memory(1, strlen(fmt));
	return s;
}

void *gs_grow(void *array, size_t *cap, size_t need, size_t size)
{
	size_t want = *cap;

	if (need <= want)
		return array;
	want = want ? mul_or_die(want, 2) : 8;
	if (want < need)
		want = need;
	array = gs_realloc(array, want, size);
	*cap = want;
	return array;
}

/* ---- arena ---- */

void gs_arena_init(struct gs_arena *a)
{
	*a = (struct gs_arena){0};
}

void gs_arena_deinit(struct gs_arena *a)
{
	struct gs_arena_chunk *c = a->chunk;

	while (c) {
		struct gs_arena_chunk *next = c->next;

		free(c);
		c = next;
	}
	gs_arena_init(a);
}

static struct gs_arena_chunk *chunk_new(struct gs_arena *a, size_t size)
{
	struct gs_arena_chunk *c = gs_calloc(1, add_or_die(sizeof(*c), size));

	c->size = size;
	a->total += size;
	return c;
}

void *gs_arena_alloc(struct gs_arena *a, size_t size)
{
	size_t need = add_or_die(size, ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	struct gs_arena_chunk *c = a->chunk;

	if (c && need <= c->size - a->used) {
		a->used += need;
		return c->data + a->used - need;
	}
	/* A big object gets a chunk of its own, behind the current one, which stays in use. */
	if (c && need > ARENA_CHUNK / 4) {
		struct gs_arena_chunk *own = chunk_new(a, need);

		own->next = c->next;
		c->next = own;
		return own->data;
	}
	c = chunk_new(a, need > ARENA_CHUNK ? need : ARENA_CHUNK);
	c->next = a->chunk;
	a->chunk = c;
	a->used = need;
	return c->data;
}

char *gs_arena_strdup(struct gs_arena *a, const char *s)
{
	return gs_arena_memdup(a, s, strlen(s) + 1);
}

char *gs_arena_strndup(struct gs_arena *a, const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = gs_arena_alloc(a, add_or_die(len, 1));

	memcpy(copy, s, len);
	return copy;
}

void *gs_arena_memdup(struct gs_arena *a, const void *p, size_t n)
{
	void *copy = gs_arena_alloc(a, n);

	if (n)
		memcpy(copy, p, n);
	return copy;
}

char *gs_arena_printf(struct gs_arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *s;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		out_of_memory(1, strlen(fmt));
	s = gs_arena_alloc(a, (size_t)n + 1);
	vsnprintf(s, (size_t)n + 1, fmt, again);
	va_end(again);
	return s;
}

/* ---- byte buffer ---- */

void gs_buf_init(struct gs_buf *b)
{
	*b = (struct gs_buf){0};
}

void gs_buf_deinit(struct gs_buf *b)
{
	free(b->data);
	gs_buf_init(b);
}

void gs_buf_reset(struct gs_buf *b)
{
	b->len = 0;
}

uint8_t *gs_buf_reserve(struct gs_buf *b, size_t n)
{
	size_t need = add_or_die(b->len, n);

	if (need > b->cap || !b->data)
		b->data = gs_grow(b->data, &b->cap, need > 64 ? need : 64, 1);
	return b->data + b->len;
}

void gs_buf_append(struct gs_buf *b, const void *p, size_t n)
{
	if (!n)
		return;
	memcpy(gs_buf_reserve(b, n), p, n);
	b->len += n;
}

void gs_buf_puts(struct gs_buf *b, const char *s)
{
	gs_buf_append(b, s, strlen(s));
}

void gs_buf_putc(struct gs_buf *b, char c)
{
	*gs_buf_reserve(b, 1) = (uint8_t)c;
	b->len++;
}

void gs_buf_printf(struct gs_buf *b, const char *fmt, ...)
{
	va_list ap, again;
	size_t room;
	char *to;
	int n;

	to = (char *)gs_buf_reserve(b, 64);
	room = b->cap - b->len;
	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(to, room, fmt, ap);
	va_end(ap);
	if (n < 0)
		out_of_memory(1, strlen(fmt));
	if ((size_t)n >= room)
		vsnprintf((char *)gs_buf_reserve(b, (size_t)n + 1), (size_t)n + 1, fmt, again);
	va_end(again);
	b->len += (size_t)n;
}

char *gs_buf_cstr(struct gs_buf *b)
{
	*gs_buf_reserve(b, 1) = '\0';
	return (char *)b->data;
}
