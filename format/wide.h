/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Columns of items that are not 1, 2, 4 or 8 bytes (structs, arrays, long double): reading side of
 * gs_columns_wide. Under batch.c.
 */
#ifndef GS_FORMAT_WIDE_H
#define GS_FORMAT_WIDE_H

#include "format/encode.h"

/* N rows of SIZE bytes into OUT. SCRATCH: N integers. False when the column is malformed. */
bool gs_wide_decode(struct gs_reader *r, unsigned enc, bool big_endian, uint8_t *out, size_t n,
		    size_t size, uint64_t *scratch);

#endif
