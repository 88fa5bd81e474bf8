/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The index at the end of a file (gs-file(5), INDEX): what every block is and where.
 * Written by writer.c as it goes, read by scan.c.
 */
#ifndef GS_FORMAT_INDEX_H
#define GS_FORMAT_INDEX_H

#include "format/block.h"

struct gs_index_entry {
	uint64_t offset; /* of the header in the file */
	uint64_t length; /* with its header */
	uint64_t seq;
	uint64_t time_first, time_last;
	uint32_t flags, rows, cpu;
	uint16_t type;
};

/* Appends one entry to the body (the count comes before it, once it is known). LAST_FIRST: caller's
 * state, 0. */
void gs_index_put(struct gs_buf *body, const struct gs_block_header *h, uint64_t *last_first);
/*
 * Reads an index payload: entries must lie gapless from the signature to END (the index block's own
 * offset). *entries is allocated. GS_ERR_DAMAGED otherwise.
 */
struct gs_error *gs_index_read(struct gs_reader *r, uint64_t end, struct gs_index_entry **entries,
			       size_t *n);

#endif
