/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Columns of one event block, writing side: chooses the encoding of each column by size, compresses
 * it, and collects directory and data. Under rows.c, which fills the columns from raw records.
 *
 * Trying all encodings costs several times the encoding itself, so the winner is remembered per
 * column (struct gs_choice, kept by the caller between blocks) and tried again after some blocks,
 * or when it does not fit.
 */
#ifndef GS_FORMAT_COLUMNS_H
#define GS_FORMAT_COLUMNS_H

#include "format/encode.h"

struct gs_choice {
	bool set;
	uint8_t enc;
	uint8_t age;		 /* blocks since all encodings were tried */
	uint32_t bytes_per_kilo; /* what 1024 values took then */
};

struct gs_columns {
	struct gs_buf dir, data; /* of the block that is being built */
	uint32_t n;
	struct gs_buf trial[2], packed; /* scratch */
};
void gs_columns_deinit(struct gs_columns *c);
/* Begins a new block; memory is kept. */
void gs_columns_reset(struct gs_columns *c);
/* Appends the payload of the block. */
void gs_columns_finish(const struct gs_columns *c, struct gs_buf *out);

struct gs_column_id {
	uint32_t owner, item; /* owner: 0, or schema + 1 */
	uint8_t part;
	bool big_endian;
};

/* All of these need at least one value. */
void gs_columns_ints(struct gs_columns *c, struct gs_column_id id, const struct gs_ints *ints,
		     struct gs_choice *choice);
/*
 * N rows of SIZE bytes. CHOICE: the column's own, WORDS: one for each 4-byte word and single byte
 * left, gs_columns_words(size) of them.
 */
size_t gs_columns_words(size_t size);
void gs_columns_wide(struct gs_columns *c, struct gs_column_id id, const uint8_t *rows, size_t n,
		     size_t size, struct gs_choice *choice, struct gs_choice *words);
/* Variable items: N lengths and their bytes, as LENGTH and DATA or as STRINGS. */
void gs_columns_variable(struct gs_columns *c, struct gs_column_id id,
			 const struct gs_ints *lengths, const struct gs_buf *bytes,
			 struct gs_choice *choice, struct gs_choice *length_choice);
/* A column that was encoded elsewhere. */
void gs_columns_encoded(struct gs_columns *c, struct gs_column_id id, uint8_t enc,
			const struct gs_buf *bytes);

#endif
