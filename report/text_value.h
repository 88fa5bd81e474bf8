/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values in GDB's notation. Callbacks of the walk for the text listing and the keys of text tables.
 */
#ifndef GS_REPORT_TEXT_VALUE_H
#define GS_REPORT_TEXT_VALUE_H

#include "report/walk.h"

struct gs_text_value {
	struct gs_buf *out;
	uint64_t string_limit; /* characters of a string that are shown */
};

extern const struct gs_walk_ops gs_text_ops;

/* Appends V as GDB prints it. W carries the limits. */
void gs_text_put_value(struct gs_buf *out, struct gs_event *ev, const char *key,
		       const struct gs_value *v);
#endif
