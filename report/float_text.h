/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Floats as text: gdb's digits for the text listing, shortest round-trip for JSON and CSV.
 * Target bytes in, the same characters on every host: no host long double is involved.
 */
#ifndef GS_REPORT_FLOAT_TEXT_H
#define GS_REPORT_FLOAT_TEXT_H

#include "report/walk.h"

/* A FLOAT or COMPLEX leaf with the digits that gdb gives its format (9, 17, 21, 36); nan(0x...). */
void gs_text_put_float(struct gs_buf *out, const struct gs_leaf *leaf, bool big_endian);
/*
 * A FLOAT leaf (or part PART, 0 or 1, of a COMPLEX one) in the shortest form that reads back to it.
 * False for NaN and infinities: NaN, Infinity, -Infinity was written.
 */
bool gs_put_shortest(struct gs_buf *out, const struct gs_leaf *leaf, unsigned part,
		     bool big_endian);

#endif
