/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of struct gs_input, shared by input.c (opening, metadata, blocks in file order) and
 * merge.c (time order).
 */
#ifndef GS_FORMAT_INPUT_STATE_H
#define GS_FORMAT_INPUT_STATE_H

#include "format/batch.h"
#include "format/scan.h"

/* An open block in the merge: its next row. */
struct gs_cursor {
	struct gs_batch *batch;
	uint64_t time, seq;
	uint32_t cpu, row;
};

struct gs_input {
	struct gs_source src;
	uint64_t window_ns;
	struct gs_meta meta;
	struct gs_damages damages;
	struct gs_scan scan;
	struct gs_batch_env env;
	bool any_block;	    /* something of this file was readable */
	uint64_t rows_seen; /* in headers of good and bad event blocks */

	/* Seekable: the event blocks, in file order until merging sorts them. */
	struct gs_index_entry *blocks;
	size_t nblocks, blocks_cap, next_block;
	uint64_t from_ns, to_ns;

	/* Pipe: the first event block is found while opening. */
	struct gs_block held;
	bool opening, has_held, ended;
	uint64_t newest; /* latest time that was read */

	/* Iteration. */
	struct gs_batch *current; /* of gs_input_next_batch, or used up by gs_input_next */
	struct gs_cursor *heap;
	size_t nheap, heap_cap;
	bool merging, returned; /* returned: heap[0]'s row was given to the caller */
	uint64_t last_time, late, flush_until;
};

/* Opens event block I of in->blocks; *out NULL (and the damage noted) when it cannot be read. */
struct gs_error *gs_input_open_block(struct gs_input *in, const struct gs_index_entry *block,
				     struct gs_batch **out);
/*
 * Pipes: reads on to the next event block, taking in metadata. *out NULL: a bad block, or the end
 * (in->ended).
 */
struct gs_error *gs_input_read_block(struct gs_input *in, struct gs_batch **out);

#endif
