/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encodings of integer columns (gs-file(5), Encodings of integers), both directions.
 * Under columns.c, which chooses among them.
 */
#ifndef GS_FORMAT_ENCODE_H
#define GS_FORMAT_ENCODE_H

#include "common/bytes.h"
#include "format/block.h"

/* N values of WIDTH bytes, zero-extended. */
struct gs_ints {
	const uint64_t *v;
	size_t n;
	unsigned width;
};

/*
 * Appends the encoded column (N > 0). False, and OUT unchanged, when the encoding cannot say these
 * values (CONSTANT) or is no shorter than RAW would be.
 */
bool gs_ints_encode(struct gs_buf *out, const struct gs_ints *ints, enum gs_encoding enc);

/*
 * Decodes N values; the reader must hold exactly the column. False when it is malformed. Whatever
 * the bytes are, all N values are written or the result is false.
 */
bool gs_ints_decode(struct gs_reader *r, enum gs_encoding enc, uint64_t *v, size_t n,
		    unsigned width);

/* PACK alone, for columns that embed it. */
void gs_pack_put(struct gs_buf *out, const uint64_t *v, size_t n, unsigned width);
bool gs_pack_get(struct gs_reader *r, uint64_t *v, size_t n, unsigned width);

#endif
