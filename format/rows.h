/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Raw records to the payload of an event block: takes the records of one block apart by their
 * layouts, gathers each item's values, and hands them to columns.c. Under writer.c.
 *
 * All memory is kept between blocks: nothing is allocated per event once a recording has warmed up.
 */
#ifndef GS_FORMAT_ROWS_H
#define GS_FORMAT_ROWS_H

#include "format/columns.h"
#include "format/meta.h"

struct gs_rows;

/* META is borrowed: its sites and schemas say what records mean; its session the byte order. */
struct gs_rows *gs_rows_new(const struct gs_meta *meta);
void gs_rows_free(struct gs_rows *r);

/* Begins a block. */
void gs_rows_reset(struct gs_rows *r);
/* Adds a record (kind EVENT, of a known site), in time order. False: it does not fit its layout. */
bool gs_rows_add(struct gs_rows *r, const struct gs_event_head *record);
uint32_t gs_rows_count(const struct gs_rows *r);
/* Fills rows, raw_len, time_first and time_last of H, and appends the payload. At least one row. */
void gs_rows_finish(struct gs_rows *r, struct gs_block_header *h, struct gs_buf *payload);

#endif
