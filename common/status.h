/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Status of a captured item: absence travels end to end. Set by the resolver (static) or by the
 * probe at run time, kept in the file, shown by every renderer.
 */
#ifndef GS_COMMON_STATUS_H
#define GS_COMMON_STATUS_H

#include <stdint.h>

/* Numbers are part of the file format: append only. One byte an item in every event. */
enum gs_status {
	GS_STATUS_OK = 0,
	GS_STATUS_OPTIMIZED_OUT = 1, /* DWARF says there is no value here */
	GS_STATUS_FAULT = 2,	     /* memory was not readable; the address is kept */
	GS_STATUS_TRUNCATED = 3,     /* a stated limit cut it; the captured part is there */
	GS_STATUS_UNAVAILABLE =
		4, /* exists, cannot be read; the site's note says why ("in xmm0") */
	GS_STATUS_NOT_COLLECTED =
		5,		/* not attempted: parent pointer absent or null, condition, depth */
	GS_STATUS_DIV_ZERO = 6, /* division by zero or INT_MIN / -1 */
	GS_STATUS_BAD_SHIFT = 7, /* shift count negative or not less than the width */
	GS_STATUS_PARTIAL = 8,	 /* string or array: memory ended; what was before it is there */
	GS_STATUS_BAD_RANGE = 9, /* slice with run-time bounds: hi < lo, or index out of limits */
	GS_STATUS_COUNT
};

/* The captured bytes are there (whole or in part). */
static inline int gs_status_has_data(unsigned status)
{
	return status == GS_STATUS_OK || status == GS_STATUS_TRUNCATED ||
	       status == GS_STATUS_PARTIAL;
}

/* The word for JSON and CSV: "ok", "optimized-out", "fault", "truncated", "unavailable",
 * "not-collected", "division-by-zero", "bad-shift", "truncated" (PARTIAL), "bad-range"; "unknown".
 */
const char *gs_status_name(unsigned status);

#endif
