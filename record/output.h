/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writer thread: chunks of raw records and rows of metadata in, through a queue in order,
 * blocks out. After the drain, before format/. The drain never waits for the disk as long as the
 * pool has room.
 */
#ifndef GS_RECORD_OUTPUT_H
#define GS_RECORD_OUTPUT_H

#include "format/writer.h"
#include "record/merge.h"
#include "record/tally.h"

/* Memory of all chunks together, whatever the number of processors. */
#define GS_OUTPUT_POOL_BYTES (24u << 20)

/* Raw records of one processor; given to the writer as one block. */
struct gs_chunk {
	struct gs_chunk *next; /* while free */
	uint32_t cpu;
	size_t len, cap;
	uint64_t oldest_ns; /* of its records; UINT64_MAX while empty */
	uint8_t *data;
};

struct gs_output;

struct gs_output_options {
	const char *path;
	uint64_t max_size; /* 0: no limit */
	uint32_t ncpus;
	struct gs_tally *tally; /* borrowed: what is dropped here is counted there */
};

/* Creates the file. On failure nothing is left behind. */
struct gs_error *gs_output_open(const struct gs_output_options *opts, struct gs_output **out);
/* The tables: filled by the caller until gs_output_start, which writes them and starts the thread.
 */
struct gs_meta *gs_output_meta(struct gs_output *o);
struct gs_error *gs_output_start(struct gs_output *o);
/* Stops, removes the file, puts an older one back, frees. */
void gs_output_discard(struct gs_output *o);

/* A chunk to fill; waits up to WAIT_MS for the writer. NULL: none is free, or writing has failed.
 */
struct gs_chunk *gs_output_take(struct gs_output *o, uint32_t cpu, int wait_ms);
void gs_output_give(struct gs_output *o, struct gs_chunk *chunk); /* queued (or freed when empty) */
/* Rows of processes, maps, clocks, symbols and counters; both take ownership. */
void gs_output_rows(struct gs_output *o, struct gs_meta *rows);
void gs_output_resolution(struct gs_output *o, struct gs_resolution *res,
			  const struct gs_bases *bases, size_t nprobes);

/* Writing has failed (the error is given by gs_output_finish). */
bool gs_output_failed(const struct gs_output *o);
/* --max-size is reached. */
bool gs_output_full(const struct gs_output *o);

struct gs_output_summary {
	uint64_t events, bytes;
	bool stuck; /* the reader of the pipe does not take the data; the thread was left */
};
/*
 * Writes what is queued, asks FILL for the end block's content (all counts are final then), ends
 * the file. GIVE_UP is asked now and then while a blocked pipe holds the writer. The first error of
 * the recording is returned; *summary is always set. Frees O (not when stuck).
 */
struct gs_output_end {
	void (*fill)(void *ctx, struct gs_meta *meta, struct gs_meta_end *end);
	bool (*give_up)(void *ctx);
	void *ctx;
};
struct gs_error *gs_output_finish(struct gs_output *o, const struct gs_output_end *end,
				  struct gs_output_summary *summary);

#endif
