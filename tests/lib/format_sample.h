/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small recording with every kind of item, status and block, whose rows can be told and checked
 * by their number: for round trips, damage sweeps and golden files.
 */
#ifndef GS_TESTS_LIB_FORMAT_SAMPLE_H
#define GS_TESTS_LIB_FORMAT_SAMPLE_H

#include "format/input.h"
#include "tests/lib/format_make.h"

/* Rows FIRST.. of the sample, in blocks of PER_BLOCK rows alternating between two cpus; ends the
 * file. */
struct gs_make *sample_make(const struct gs_make_options *opts, uint32_t nrows, uint32_t per_block);

/*
 * The number of the row that a reader gave out, when it is one of the sample and every value equals
 * what was recorded; else -1.
 */
long sample_check(const struct gs_input *in, struct gs_batch *batch, uint32_t row);

/* Deterministic text of everything that is in the file. */
void sample_dump(struct gs_buf *out, struct gs_input *in);

#endif
