/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fields of metadata rows, in both directions: one function per row describes its layout, for
 * writing and for reading. Used by meta.c and types_io.c only.
 *
 * Fields are only ever appended to a row. A row that ends at a field boundary was written before
 * the rest existed: those fields read as 0 or "". Bytes behind the last known field are skipped.
 */
#ifndef GS_FORMAT_ROW_H
#define GS_FORMAT_ROW_H

#include "common/bytes.h"

struct gs_row {
	struct gs_buf *out;	/* writing, else NULL */
	struct gs_reader in;	/* reading */
	struct gs_arena *arena; /* reading: where strings and arrays go */
};

void gs_row_u64(struct gs_row *row, uint64_t *v);
void gs_row_i64(struct gs_row *row, int64_t *v);
void gs_row_u32(struct gs_row *row, uint32_t *v);
void gs_row_u16(struct gs_row *row, uint16_t *v);
void gs_row_u8(struct gs_row *row, uint8_t *v);
void gs_row_bool(struct gs_row *row, bool *v);
/* UTF-8 without NUL. What is not valid UTF-8 is written escaped. Never NULL after reading. */
void gs_row_str(struct gs_row *row, const char **s);
/* The same, where NULL and "" differ. */
void gs_row_name(struct gs_row *row, const char **s);
void gs_row_bytes(struct gs_row *row, const uint8_t **p, uint32_t *len, uint32_t max);
/*
 * Number of elements of an array in the row, each at least MIN_BYTES long. Reading: more than MAX,
 * or more than the rest of the row can hold, is bad and gives 0.
 */
void gs_row_count(struct gs_row *row, uint32_t *n, uint32_t max, size_t min_bytes);

/* Types are rows too: id TYPE of the table, or one row into *TYPE (arrays in the arena). */
struct gs_type;
void gs_row_type(struct gs_row *row, struct gs_type *type);

struct gs_meta;
struct gs_error;
/* The rows of the type table, after its row count (types_io.c). */
struct gs_error *gs_types_read(struct gs_reader *r, struct gs_meta *m, size_t first, size_t count);

#endif
