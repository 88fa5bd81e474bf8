/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the blocks of a recording one after another, also behind damage, and notes what was
 * damaged. Between source.c and input.c.
 */
#ifndef GS_FORMAT_SCAN_H
#define GS_FORMAT_SCAN_H

#include "format/index.h"
#include "format/input.h"
#include "format/source.h"

struct gs_damages {
	struct gs_damage *list;
	size_t n, cap;
	bool full; /* too many: only counted in the last one */
};
/* A new damage (message formatted), rows unknown. Valid until the next one. */
struct gs_damage *gs_damages_add(struct gs_damages *d, uint64_t offset, uint64_t length,
				 const char *fmt, ...) GS_PRINTF(4, 5);
void gs_damages_deinit(struct gs_damages *d);

struct gs_block {
	uint64_t offset;
	struct gs_block_header h;
};

struct gs_scan {
	struct gs_source *src;
	struct gs_damages *damages;
	uint64_t offset; /* where the next header should be */
	bool have_id;
	uint8_t file_id[GS_FILE_ID_LEN];
	struct gs_block prev;
	bool have_prev;
	uint64_t last_seq, last_time; /* of accepted blocks */
	uint64_t rows_dropped; /* of event blocks with a good header that were not given out */
	size_t gap;	       /* 1 + index of the damage that the next block ends, or 0 */
};

/* Reads and checks the signature; a damaged one is noted. GS_ERR_DAMAGED when the input is empty.
 */
struct gs_error *gs_scan_signature(struct gs_scan *s);
/* "text" mangled, "gzip" and so on: what the first bytes look like, for messages. */
const char *gs_scan_looks_like(const uint8_t *p, size_t n);

/*
 * The next block whose header is good and whose payload is within the input; *found is false at the
 * end. Its payload is not checked. GS_ERR_INCOMPATIBLE when a newer version's features would be
 * needed.
 */
struct gs_error *gs_scan_next(struct gs_scan *s, struct gs_block *block, bool *found);

/*
 * Payload of a block, as stored, in place until the next use of the source; NULL (and *wrong says
 * why) when its CRC is wrong or it is cut off.
 */
struct gs_error *gs_scan_payload(struct gs_source *src, const struct gs_block *block,
				 const uint8_t **payload, const char **wrong);

/*
 * All blocks by the index at the end of seekable input. *entries NULL when there is none that can
 * be used.
 */
struct gs_error *gs_scan_index(struct gs_scan *s, struct gs_index_entry **entries, size_t *n);

#endif
