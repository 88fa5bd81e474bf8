/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the recorder says on standard error: one line a message, escaped, by level.
 * Used by every stage of record/ that runs in the recorder itself; never by the resolver process.
 */
#ifndef GS_RECORD_VOICE_H
#define GS_RECORD_VOICE_H

#include <stdbool.h>

#include "common/error.h"

struct gs_voice {
	bool quiet;   /* only errors, and losses */
	bool verbose; /* details too */
};

/* "gs-record: ..." and a newline; control characters in names are escaped. */
void gs_voice_say(const struct gs_voice *v, const char *fmt, ...) GS_PRINTF(2, 3);
void gs_voice_detail(const struct gs_voice *v, const char *fmt, ...) GS_PRINTF(2, 3);
/* Also when quiet: losses and what cut the recording short. */
void gs_voice_always(const struct gs_voice *v, const char *fmt, ...) GS_PRINTF(2, 3);
/* Prints with source line and hints, and frees. */
void gs_voice_error(const struct gs_voice *v, struct gs_error *err);

/* "1 event", "2 events": S is added unless N is 1. */
static inline const char *gs_plural(unsigned long long n)
{
	return n == 1 ? "" : "s";
}

#endif
