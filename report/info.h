/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --info: one screen on what was recorded, where, when and how. Reads metadata alone.
 */
#ifndef GS_REPORT_INFO_H
#define GS_REPORT_INFO_H

#include "report/session.h"

/* Reads the rest of a pipe first: its end says most. */
struct gs_error *gs_info_put(struct gs_buf *out, struct gs_file *f);

#endif
