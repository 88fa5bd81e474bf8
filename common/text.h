/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text rules that must be the same everywhere: escaping of hostile strings, numbers, globs, name
 * suggestions, human sizes. Used by every message and every renderer.
 */
#ifndef GS_COMMON_TEXT_H
#define GS_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/mem.h"

/*
 * The one escaper. Valid UTF-8 passes; control characters (C0, DEL, C1), bidi controls (U+061C,
 * U+200E/F, U+202A..E, U+2066..9), line separators and invalid bytes do not.
 *   GS_ESCAPE_C     for text output inside double quotes: \n \t \" \\ and \ooo octal as gdb does;
 *                   an invalid byte is octal.
 *   GS_ESCAPE_JSON  inside a JSON string: RFC 8259 escapes, \u00XX; bidi controls as \uXXXX; an
 * invalid byte becomes the four characters \xHH (backslash escaped: "\\xHH"). GS_ESCAPE_PLAIN for
 * names and messages outside quotes: as C, but quotes and backslash pass. GS_ESCAPE_CSV   cell
 * content (quoting is the CSV writer's): text passes, control characters other than \n and \t, bidi
 * controls and invalid bytes become \xHH (\u{XXXX} for bidi).
 */
enum gs_escape { GS_ESCAPE_C, GS_ESCAPE_JSON, GS_ESCAPE_PLAIN, GS_ESCAPE_CSV };
void gs_escape(struct gs_buf *out, const void *s, size_t n, enum gs_escape mode);

/* Decodes one UTF-8 sequence at s (n > 0 bytes left): its length 1..4 and *cp, or 0 if invalid. */
size_t gs_utf8_decode(const uint8_t *s, size_t n, uint32_t *cp);

/* Shortest decimal that reads back to the same value of that width; "inf" "-inf" "nan" as C.
 * Locale-independent. binary16/32/64 by SIZE 2, 4, 8. */
void gs_put_float(struct gs_buf *out, double v, size_t size);
/* x87 80-bit extended and IEEE binary128, from target bytes; shortest round-trip in own width. */
void gs_put_float80(struct gs_buf *out, const uint8_t le_bytes[10]);
void gs_put_float128(struct gs_buf *out, const uint8_t le_bytes[16]);
/* 128-bit integers in decimal. */
void gs_put_u128(struct gs_buf *out, unsigned __int128 v);
void gs_put_i128(struct gs_buf *out, __int128 v);

/* Shell-style glob over the whole string: * ? [set] and backslash; case-sensitive; linear time. */
bool gs_glob_match(const char *pattern, const char *s);

/* Nearest names: feed candidates, then list at most MAX of them, best first. Zero-initialise. */
struct gs_nearest {
	const char *wanted;
	struct {
		char *name;
		unsigned distance;
	} best[4];
	size_t n;
};
void gs_nearest_feed(struct gs_nearest *near, const char *candidate);
/* "did you mean `a', `b'?" or NULL when nothing is near; caller frees. */
char *gs_nearest_hint(struct gs_nearest *near);
void gs_nearest_deinit(struct gs_nearest *near);

/* "12.3 KiB"; buf of at least 32 bytes; returns buf. */
char *gs_human_size(uint64_t bytes, char *buf);
/* "1.5 K", "10 M" with suffix K M G (powers of 1024), for size options; false if malformed. */
bool gs_parse_size(const char *s, uint64_t *bytes);
/* "500ms", "2s", "1m", "1.5h", plain number is seconds; result in ns; false if malformed. */
bool gs_parse_duration(const char *s, uint64_t *ns);

#endif
