/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes columns of wide items.
 * Between the bytes of a column (batch.c) and the captured bytes of each row.
 */
#include "format/wide.h"

static bool get_constant(struct gs_reader *r, uint8_t *out, size_t n, size_t size)
{
	const uint8_t *p = gs_read_bytes(r, size);

	for (size_t i = 0; p && i < n; i++)
		memcpy(out + i * size, p, size);
	return p != NULL;
}

static bool get_lanes(struct gs_reader *r, uint8_t *out, size_t n, size_t size)
{
	const uint8_t *p = gs_read_bytes(r, n * size);

	if (!p)
		return false;
	for (size_t lane = 0; lane < size; lane++)
		for (size_t i = 0; i < n; i++)
			out[i * size + lane] = *p++;
	return true;
}

static bool get_words(struct gs_reader *r, bool big_endian, uint8_t *out, size_t n, size_t size,
		      uint64_t *v)
{
	unsigned width;

	for (size_t at = 0; at < size; at += width) {
		unsigned enc = gs_read_u8(r);
		uint64_t len = gs_read_uleb(r);
		const uint8_t *p = len <= gs_reader_left(r) ? gs_read_bytes(r, len) : NULL;
		struct gs_reader part;

		if (!p)
			return false;
		part = gs_reader_of(p, len);
		width = size - at >= 4 ? 4 : 1;
		if (!gs_ints_decode(&part, (enum gs_encoding)enc, v, n, width))
			return false;
		for (size_t i = 0; i < n; i++)
			for (unsigned k = 0; k < width; k++)
				out[i * size + at + k] =
					(uint8_t)(v[i] >> (8 * (big_endian ? width - 1 - k : k)));
	}
	return true;
}

bool gs_wide_decode(struct gs_reader *r, unsigned enc, bool big_endian, uint8_t *out, size_t n,
		    size_t size, uint64_t *scratch)
{
	const uint8_t *p;
	bool good;

	switch (enc) {
	case GS_ENC_RAW:
		p = gs_read_bytes(r, n * size);
		good = p != NULL;
		if (good)
			memcpy(out, p, n * size);
		break;
	case GS_ENC_CONSTANT:
		good = get_constant(r, out, n, size);
		break;
	case GS_ENC_LANES:
		good = get_lanes(r, out, n, size);
		break;
	case GS_ENC_WORDS:
		good = get_words(r, big_endian, out, n, size, scratch);
		break;
	default:
		good = false;
	}
	return good && !r->bad && gs_reader_left(r) == 0;
}
