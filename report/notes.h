/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What must be said before any numbers, on standard error: damage, losses, faults, an unclean end,
 * and after them what was found on the way. Also decides whether a file counts as damaged.
 */
#ifndef GS_REPORT_NOTES_H
#define GS_REPORT_NOTES_H

#include "report/query.h"

/* Before the report. */
void gs_notes_before(FILE *err, struct gs_session *s);
/* After it: what is new. True when some file is damaged. */
bool gs_notes_after(FILE *err, struct gs_session *s);
/* Events that did not count because Q had no value for them. */
void gs_notes_query(FILE *err, const struct gs_query *q);
const char *gs_end_reason_text(unsigned reason);

#endif
