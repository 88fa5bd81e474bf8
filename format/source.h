/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the reader's bytes come from: a file, memory, or a pipe, behind one call. Under scan.c.
 */
#ifndef GS_FORMAT_SOURCE_H
#define GS_FORMAT_SOURCE_H

#include "common/error.h"
#include "common/mem.h"

struct gs_source {
	bool seekable;
	uint64_t size; /* seekable: bytes; else bytes read so far */
	/* private */
	int fd;
	bool close_fd, eof;
	const uint8_t *memory;
	uint64_t
		start; /* files: offset of byte 0 (standard input may be in the middle of a file) */
	struct gs_buf buf;
	uint64_t base; /* pipes: offset of the first byte in buf */
	size_t skip;   /* pipes: bytes at the start of buf that are forgotten */
};

/* Path, or "-" for standard input. */
struct gs_error *gs_source_open(struct gs_source *s, const char *path);
void gs_source_memory(struct gs_source *s, const void *data, size_t len);
void gs_source_close(struct gs_source *s);

/*
 * N bytes at OFFSET: *p is valid until the next call. *got is less than N only at the end of the
 * input. Pipes: OFFSET must not be forgotten; blocks until the bytes are there.
 */
struct gs_error *gs_source_at(struct gs_source *s, uint64_t offset, size_t n, const uint8_t **p,
			      size_t *got);
/* Bytes before OFFSET are not asked for again. */
void gs_source_forget(struct gs_source *s, uint64_t offset);
/* First offset from OFFSET on that is not in a hole of the file; the end when there is none. */
uint64_t gs_source_data(const struct gs_source *s, uint64_t offset);
/* Pipes: waits until more bytes (or the end) can be read beyond OFFSET; false after TIMEOUT_MS. */
bool gs_source_wait(struct gs_source *s, uint64_t offset, int timeout_ms);

#endif
