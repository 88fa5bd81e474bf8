/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The place of a probe as text: where it ends, and its parts.
 * Private to probe.c and probe_place.c; the first step of the probe language.
 */
#ifndef GS_RECORD_PROBE_PLACE_H
#define GS_RECORD_PROBE_PLACE_H

#include "record/probe.h"

/* An error with its span in TEXT. */
struct gs_error *gs_probe_error(const char *text, size_t start, size_t len, const char *fmt, ...)
	GS_PRINTF(4, 5);

/* Offset of the first byte from POS on that is not a blank. */
size_t gs_probe_skip_blanks(const char *text, size_t pos);
bool gs_probe_is_name_byte(char c);
/* Whether WORD stands at POS and is not the beginning of a longer identifier. */
bool gs_probe_at_word(const char *text, size_t pos, const char *word);

/*
 * Parses the place that starts at POS; *end is the offset after it, with %return. Fills place,
 * module, where, function, file, number, is_return, has_wildcard and the span.
 */
struct gs_error *gs_probe_parse_place(struct gs_arena *arena, const char *text, size_t pos,
				      struct gs_probe_spec *spec, size_t *end);

#endif
