/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One event block, decoded: the columns of all rows at once, the columns of items when they are
 * asked for. Between input.c (blocks) and reports (struct gs_batch of input.h).
 */
#ifndef GS_FORMAT_BATCH_H
#define GS_FORMAT_BATCH_H

#include "format/block.h"
#include "format/input.h"

/* What is the same for all batches of an input. */
struct gs_batch_env {
	const struct gs_meta *meta;
	uint32_t *fixed_len; /* of the records of each schema; filled as schemas come */
	size_t n, cap;
};
void gs_batch_env_deinit(struct gs_batch_env *env);

/*
 * Takes an event block apart whose payload (h->stored_len bytes, copied) has passed its checksum.
 * GS_ERR_DAMAGED otherwise.
 */
struct gs_error *gs_batch_open(struct gs_batch_env *env, const struct gs_block_header *h,
			       const uint8_t *payload, struct gs_batch **out);
void gs_batch_free(struct gs_batch *b);
/* For merging. */
uint64_t gs_batch_seq(const struct gs_batch *b);

#endif
