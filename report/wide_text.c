/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Characters wider than a byte as Unicode and UTF-8.
 * Between captured strings and the outputs, all of which are UTF-8.
 */
#include "report/wide_text.h"

#include "common/bytes.h"

bool gs_is_scalar_value(uint32_t c)
{
	return c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
}

size_t gs_utf8_encode(uint32_t c, char out[4])
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (n == 1) {
		out[0] = (char)c;
		return 1;
	}
	for (size_t i = n; i-- > 1; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)((0xf00 >> n & 0xf0) | c);
	return n;
}

uint32_t gs_wide_character(const uint8_t *bytes, size_t n, unsigned size, bool big, size_t *used)
{
	uint32_t c = (uint32_t)gs_load_uint(bytes, size, big), low;

	*used = 1;
	if (size != 2 || c < 0xd800 || c >= 0xdc00 || n < 2)
		return c;
	low = (uint32_t)gs_load_uint(bytes + 2, 2, big);
	if (low < 0xdc00 || low >= 0xe000)
		return c;
	*used = 2;
	return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

void gs_put_wide(struct gs_buf *out, const uint8_t *bytes, size_t n, unsigned size, bool big)
{
	for (size_t i = 0, used; i < n; i += used) {
		uint32_t c = gs_wide_character(bytes + i * size, n - i, size, big, &used);
		char text[4];

		if (gs_is_scalar_value(c))
			gs_buf_append(out, text, gs_utf8_encode(c, text));
		else
			gs_buf_printf(out, "\\x%x", (unsigned)c);
	}
}
