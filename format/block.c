/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Block headers and payload compression, as gs-file(5) says.
 * Between the writer's or reader's payloads and the bytes of the file.
 */
#include "format/block.h"

#include <lz4.h>

#include "common/hash.h"

const uint8_t gs_signature[GS_SIGNATURE_LEN] = {0x89, 'G', 'S', 'D', '\r', '\n', 0x1a, '\n'};
static const uint8_t magic[4] = {0x9b, 'G', 'S', 'B'};

#define CRC_FROM 8 /* the CRC covers the header from here on */

void gs_block_put_header(struct gs_buf *out, const struct gs_block_header *h)
{
	size_t start = out->len;
	uint32_t crc;

	gs_buf_append(out, magic, sizeof(magic));
	gs_put_u32(out, 0);
	gs_buf_append(out, h->file_id, GS_FILE_ID_LEN);
	gs_put_u16(out, GS_HEADER_LEN);
	gs_put_u16(out, h->type);
	gs_put_u32(out, h->flags);
	gs_put_u32(out, h->stored_len);
	gs_put_u32(out, h->raw_len);
	gs_put_u32(out, h->rows);
	gs_put_u32(out, h->cpu);
	gs_put_u64(out, h->seq);
	gs_put_u64(out, h->time_first);
	gs_put_u64(out, h->time_last);
	gs_put_u32(out, h->payload_crc);
	gs_put_u32(out, 0);
	gs_put_u64(out, h->compat);
	gs_put_u64(out, h->incompat);
	crc = gs_crc32c(0, out->data + start + CRC_FROM, GS_HEADER_LEN - CRC_FROM);
	for (int i = 0; i < 4; i++)
		out->data[start + 4 + i] = (uint8_t)(crc >> (8 * i));
}

size_t gs_block_peek(const uint8_t *p, size_t n)
{
	size_t len;

	if (n < GS_HEADER_MIN_PEEK || memcmp(p, magic, sizeof(magic)) != 0)
		return 0;
	len = gs_load_uint(p + 24, 2, false);
	return len >= GS_HEADER_LEN && len <= GS_HEADER_MAX && len % 8 == 0 ? len : 0;
}

bool gs_block_parse(const uint8_t *p, size_t n, struct gs_block_header *h)
{
	size_t len = gs_block_peek(p, n);
	struct gs_reader r = gs_reader_of(p, n);
	uint32_t crc;

	if (!len || len > n)
		return false;
	gs_read_u32(&r);
	crc = gs_read_u32(&r);
	if (crc != gs_crc32c(0, p + CRC_FROM, len - CRC_FROM))
		return false;
	memcpy(h->file_id, gs_read_bytes(&r, GS_FILE_ID_LEN), GS_FILE_ID_LEN);
	h->header_len = gs_read_u16(&r);
	h->type = gs_read_u16(&r);
	h->flags = gs_read_u32(&r);
	h->stored_len = gs_read_u32(&r);
	h->raw_len = gs_read_u32(&r);
	h->rows = gs_read_u32(&r);
	h->cpu = gs_read_u32(&r);
	h->seq = gs_read_u64(&r);
	h->time_first = gs_read_u64(&r);
	h->time_last = gs_read_u64(&r);
	h->payload_crc = gs_read_u32(&r);
	gs_read_u32(&r);
	h->compat = gs_read_u64(&r);
	h->incompat = gs_read_u64(&r);
	return true;
}

const char *gs_block_check(const struct gs_block_header *h)
{
	if (h->flags & GS_BLOCK_MUST_KNOW & ~(uint32_t)GS_BLOCK_KNOWN)
		return "has flags of a newer version";
	if (h->type != GS_BLOCK_EVENTS) {
		if (h->stored_len > GS_BLOCK_MAX_META || h->raw_len > GS_BLOCK_MAX_META)
			return "is larger than the limit";
		if (!(h->flags & GS_BLOCK_LZ4) && h->raw_len != h->stored_len)
			return "has lengths that disagree";
		return NULL;
	}
	if (h->stored_len > GS_BLOCK_MAX_EVENTS_STORED || h->raw_len > GS_BLOCK_MAX_RAW)
		return "is larger than the limit";
	if (h->flags & GS_BLOCK_LZ4)
		return "is compressed twice";
	if (!h->rows || h->rows > h->raw_len / sizeof(struct gs_event_head))
		return "has an impossible number of rows";
	if (h->time_first > h->time_last)
		return "ends before it begins";
	return NULL;
}

const char *gs_block_type_name(unsigned type)
{
	if (gs_block_is_meta(type))
		return gs_meta_table_name((enum gs_meta_table)(type - GS_BLOCK_META));
	switch (type) {
	case GS_BLOCK_EVENTS:
		return "event";
	case GS_BLOCK_INDEX:
		return "index";
	case GS_BLOCK_TRAILER:
		return "trailer";
	default:
		return "unknown";
	}
}

bool gs_block_decompress(const void *p, size_t n, uint8_t *out, size_t raw_len)
{
	if (n > INT32_MAX || raw_len > INT32_MAX)
		return false;
	return LZ4_decompress_safe(p, (char *)out, (int)n, (int)raw_len) == (int)raw_len;
}

bool gs_block_compress(struct gs_buf *out, const void *p, size_t n)
{
	int got;

	if (n < 16 || n > LZ4_MAX_INPUT_SIZE)
		return false;
	/* A destination smaller than the source: LZ4 gives up as soon as it cannot win. */
	got = LZ4_compress_default(p, (char *)gs_buf_reserve(out, n), (int)n, (int)n - 1);
	if (got <= 0)
		return false;
	out->len += (size_t)got;
	return true;
}
