/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Characters wider than a byte (wchar_t, char16_t, char32_t) as Unicode and UTF-8.
 * Between captured strings and the outputs, all of which are UTF-8.
 */
#ifndef GS_REPORT_WIDE_TEXT_H
#define GS_REPORT_WIDE_TEXT_H

#include "common/mem.h"

/* Not a surrogate, and not beyond Unicode. */
bool gs_is_scalar_value(uint32_t c);
/* Bytes written, 1 to 4; C is a scalar value. */
size_t gs_utf8_encode(uint32_t c, char out[4]);
/* The character at the first of N units of SIZE bytes; *used: 2 for a UTF-16 pair, else 1. */
uint32_t gs_wide_character(const uint8_t *bytes, size_t n, unsigned size, bool big, size_t *used);
/* N units as UTF-8; what is no character as `\xd800'. */
void gs_put_wide(struct gs_buf *out, const uint8_t *bytes, size_t n, unsigned size, bool big);

#endif
