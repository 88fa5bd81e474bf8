/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file writer: raw event records and metadata in, blocks out. Used by the recorder's writer
 * thread (one thread at a time), by repacking tools and by tests. Normative format:
 * Documentation/gs-file.5.
 */
#ifndef GS_FORMAT_WRITER_H
#define GS_FORMAT_WRITER_H

#include "format/meta.h"

struct gs_writer;

/* Most raw bytes of one event block (the sum of struct gs_event_head.len of its records). */
#define GS_BLOCK_MAX_RAW (256u * 1024)

struct gs_writer_options {
	int fd;			/* file or pipe; borrowed */
	bool no_index;		/* for pipes: do not keep and write the index */
	uint64_t repeat_bytes;	/* metadata again after this many bytes; 0: 64 MiB */
	const uint8_t *file_id; /* 16 bytes; NULL: random (tests give one) */
};

/* Writes the signature. */
struct gs_error *gs_writer_open(const struct gs_writer_options *opts, struct gs_writer **out);

/*
 * The writer's own tables: fill them (arena: meta->arena) and call gs_writer_flush_meta, or just
 * let the next events block do so; rows that were written already must not change, except counters
 * and symbols (in which case gs_writer_touch(table) writes the table again).
 */
struct gs_meta *gs_writer_meta(struct gs_writer *w);
void gs_writer_touch(struct gs_writer *w, enum gs_meta_table table);
struct gs_error *gs_writer_flush_meta(struct gs_writer *w);

/*
 * Encodes and writes raw records (of any sites, kind EVENT, each 8-byte aligned in RECORDS) as one
 * block, or several if above GS_BLOCK_MAX_RAW. Rows are sorted by time. A record that does not fit
 * its layout is dropped and counted in *bad. Everything reaches write(2) before it returns.
 */
struct gs_error *gs_writer_events(struct gs_writer *w, uint32_t cpu, const void *records,
				  size_t len, uint64_t *bad);

/* Metadata again, the end block, the index. */
struct gs_error *gs_writer_end(struct gs_writer *w, const struct gs_meta_end *end);
uint64_t gs_writer_bytes(const struct gs_writer *w); /* written so far */
uint64_t gs_writer_rows(const struct gs_writer *w);  /* events written so far */
void gs_writer_free(struct gs_writer *w); /* without an end block unless gs_writer_end was called */

#endif
