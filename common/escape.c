/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one escaper: no byte of a target or a file reaches a terminal, JSON or CSV raw.
 * Between captured bytes or foreign names and every output.
 */
#include "common/text.h"

size_t gs_utf8_decode(const uint8_t *s, size_t n, uint32_t *cp)
{
	static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len;
	uint32_t c;

	if (s[0] < 0x80) {
		*cp = s[0];
		return 1;
	}
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (len > n)
		return 0;
	c = s[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*cp = c;
	return len;
}

/* Characters that turn the text around them (and the line and paragraph separators, which break
 * it). */
static bool is_bidi_or_separator(uint32_t c)
{
	return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f);
}

static void octal_bytes(struct gs_buf *out, const uint8_t *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		gs_buf_printf(out, "\\%03o", s[i]);
}

/* gdb's letters for control characters, as C has them; 0 for none. */
static char c_letter(uint32_t c)
{
	static const char letters[] = {7, 'a', 8, 'b', 9, 't', 10, 'n', 11, 'v', 12, 'f', 13, 'r'};

	for (size_t i = 0; i < sizeof(letters); i += 2)
		if (c == (uint32_t)letters[i])
			return letters[i + 1];
	return 0;
}

static void escape_c(struct gs_buf *out, const uint8_t *s, size_t n, uint32_t c)
{
	char letter = c_letter(c);

	if (letter)
		gs_buf_printf(out, "\\%c", letter);
	else
		octal_bytes(out, s, n);
}

static void escape_json(struct gs_buf *out, uint32_t c)
{
	switch (c) {
	case '\b':
		gs_buf_puts(out, "\\b");
		break;
	case '\t':
		gs_buf_puts(out, "\\t");
		break;
	case '\n':
		gs_buf_puts(out, "\\n");
		break;
	case '\f':
		gs_buf_puts(out, "\\f");
		break;
	case '\r':
		gs_buf_puts(out, "\\r");
		break;
	default:
		gs_buf_printf(out, "\\u%04x", c);
	}
}

static void escape_csv(struct gs_buf *out, const uint8_t *s, size_t n, uint32_t c)
{
	if (is_bidi_or_separator(c))
		gs_buf_printf(out, "\\u{%04X}", c);
	else
		for (size_t i = 0; i < n; i++)
			gs_buf_printf(out, "\\x%02x", s[i]);
}

static bool passes(uint32_t c, enum gs_escape mode)
{
	if (mode == GS_ESCAPE_CSV && (c == '\n' || c == '\t'))
		return true;
	if ((mode == GS_ESCAPE_C || mode == GS_ESCAPE_JSON) && (c == '"' || c == '\\'))
		return false;
	return !is_control(c) && !is_bidi_or_separator(c);
}

static void escape_one(struct gs_buf *out, const uint8_t *s, size_t n, uint32_t c,
		       enum gs_escape mode)
{
	if (c == '"' || c == '\\')
		gs_buf_printf(out, "\\%c", (char)c);
	else if (mode == GS_ESCAPE_JSON)
		escape_json(out, c);
	else if (mode == GS_ESCAPE_CSV)
		escape_csv(out, s, n, c);
	else
		escape_c(out, s, n, c);
}

static void escape_invalid(struct gs_buf *out, uint8_t byte, enum gs_escape mode)
{
	if (mode == GS_ESCAPE_JSON)
		gs_buf_printf(out, "\\\\x%02x", byte);
	else if (mode == GS_ESCAPE_CSV)
		gs_buf_printf(out, "\\x%02x", byte);
	else
		gs_buf_printf(out, "\\%03o", byte);
}

void gs_escape(struct gs_buf *out, const void *bytes, size_t n, enum gs_escape mode)
{
	const uint8_t *s = bytes;
	size_t plain = 0, i = 0;

	/* Runs that pass are copied at once; [plain, i) is such a run. */
	while (i < n) {
		uint32_t c = 0;
		size_t len = gs_utf8_decode(s + i, n - i, &c);

		if (len && passes(c, mode)) {
			i += len;
			continue;
		}
		gs_buf_append(out, s + plain, i - plain);
		if (len)
			escape_one(out, s + i, len, c, mode);
		else
			escape_invalid(out, s[i], mode);
		i += len ? len : 1;
		plain = i;
	}
	if (n)
		gs_buf_append(out, s + plain, n - plain);
}
