/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file reader: trusts nothing. Files and pipes in; metadata, event batches with lazily decoded
 * columns, and a list of damages out. Used by report/ and tests.
 *
 * A bad block is dropped alone. Reading goes on at the next block header that carries the file's
 * id.
 */
#ifndef GS_FORMAT_INPUT_H
#define GS_FORMAT_INPUT_H

#include "format/meta.h"

struct gs_input;

struct gs_input_options {
	bool no_index;	    /* scan even when there is an index (tests; verification) */
	uint64_t window_ns; /* pipes: reorder window, 0: 500 ms */
};

/*
 * Opens a path, or "-" for standard input. Seekable input: all metadata (wherever in the file) and
 * the list of event blocks are loaded now. Pipe: metadata up to the first event block.
 * GS_ERR_DAMAGED: not a gs file (the message says what it looks like: empty, text-mangled, other)
 * or no usable block at all; GS_ERR_INCOMPATIBLE: newer incompat features, named.
 */
struct gs_error *gs_input_open(const char *path, const struct gs_input_options *opts,
			       struct gs_input **out);
/* The same from memory (borrowed); tests and fuzzing. */
struct gs_error *gs_input_open_memory(const void *data, size_t len,
				      const struct gs_input_options *opts, struct gs_input **out);
void gs_input_free(struct gs_input *in);

const struct gs_meta *gs_input_meta(const struct gs_input *in);
bool gs_input_seekable(const struct gs_input *in);
uint64_t gs_input_size(const struct gs_input *in); /* bytes of the file; of a pipe: read so far */

/* ---- damage ---- */
struct gs_damage {
	uint64_t offset, length; /* bytes of the file that were dropped */
	char *message;		 /* what was wrong: "event block 17: payload checksum mismatch" */
	uint64_t seq_first,
		seq_last; /* block sequence numbers that are missing; 0,0 if none known */
	uint64_t time_first, time_last; /* span of the gap, ns CLOCK_MONOTONIC, 0 if unknown */
	uint64_t rows; /* events lost with it, as far as the header tells; UINT64_MAX unknown */
};
/* Found so far (all of them once every event was read). */
size_t gs_input_damages(const struct gs_input *in, const struct gs_damage **list);

/* ---- batches: the rows of one event block ---- */
struct gs_batch {
	uint32_t nrows;
	uint32_t cpu;
	const uint64_t *time; /* ns CLOCK_MONOTONIC, ascending */
	const uint32_t *site;
	const uint32_t *pid, *tid;
	const uint32_t *comm; /* index in comms */
	const char (*comms)[17];
	uint32_t ncomms;
	const uint32_t *schema_row; /* row's index among the rows of its site's schema */
};

/*
 * Column of an item: one entry per row of that schema in the batch. Row i's bytes: data +
 * offset[i], of offset[i+1] - offset[i] bytes, when its status has data; for fixed items of `size'
 * bytes without absent rows offset may be NULL (then i * size).
 */
struct gs_column {
	uint32_t nrows;
	uint32_t size;	       /* fixed items; 0: variable */
	const uint8_t *status; /* per row */
	const uint8_t *data;
	const uint32_t *offset; /* nrows + 1 entries, or NULL */
	const uint64_t
		*fault_address; /* per row, meaningful where status is FAULT; NULL if none is */
};
/* Decoded on first use, kept with the batch. GS_ERR_DAMAGED when that column is malformed. */
struct gs_error *gs_batch_column(struct gs_batch *b, uint32_t schema, uint32_t item,
				 const struct gs_column **out);

/* ---- iteration ---- */

/*
 * Every event, in exact time order (ties: cpu, then block sequence, then row) on seekable input
 * with memory bounded by the blocks that overlap in time; on a pipe within the window (later ones
 * are given at once and counted). *batch is NULL at the end. The batch stays valid until the next
 * call.
 */
struct gs_error *gs_input_next(struct gs_input *in, struct gs_batch **batch, uint32_t *row);
uint64_t gs_input_late(const struct gs_input *in); /* pipe: events given out of order */
/* Skips blocks whose time span is outside [from, to] (seekable: without reading them). Before the
 * first next. */
void gs_input_set_time(struct gs_input *in, uint64_t from_ns, uint64_t to_ns);

/* Whole batches in file order, for order-free aggregation; do not mix with gs_input_next. */
struct gs_error *gs_input_next_batch(struct gs_input *in, struct gs_batch **batch);

#endif
