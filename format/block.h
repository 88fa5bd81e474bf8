/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signature, block header, numbers and limits of gs-file(5): what writer and reader must agree on.
 * Private to format/ and its tests.
 */
#ifndef GS_FORMAT_BLOCK_H
#define GS_FORMAT_BLOCK_H

#include "common/bytes.h"
#include "common/error.h"
#include "format/meta.h"
#include "format/writer.h"

#define GS_SIGNATURE_LEN 8
extern const uint8_t gs_signature[GS_SIGNATURE_LEN];

#define GS_FILE_ID_LEN 16
#define GS_HEADER_LEN 96u
#define GS_HEADER_MAX 1024u
/* magic, CRC, file id, length: what is needed to know how long the header is. */
#define GS_HEADER_MIN_PEEK 28u

#define GS_BLOCK_MAX_META (64u << 20)
#define GS_BLOCK_MAX_EVENTS_STORED (4u << 20)
#define GS_BLOCK_MAX_ROWS (GS_BLOCK_MAX_RAW / sizeof(struct gs_event_head))
#define GS_COLUMN_MAX_ENCODED (GS_BLOCK_MAX_RAW + (64u << 10))
/* Rows of a metadata table are cut into blocks of about this size. */
#define GS_META_BLOCK (1u << 20)

enum gs_block_type {
	GS_BLOCK_META = 1, /* + enum gs_meta_table */
	GS_BLOCK_SESSION = GS_BLOCK_META + GS_META_SESSION,
	GS_BLOCK_END = GS_BLOCK_META + GS_META_END,
	GS_BLOCK_EVENTS = 32,
	GS_BLOCK_INDEX = 33,
	GS_BLOCK_TRAILER = 34,
	/* reserved */
	GS_BLOCK_STACKS = 40,
	GS_BLOCK_FRAMES = 41,
	GS_BLOCK_AGGREGATES = 42,
	GS_BLOCK_TRIGGER = 43,
	GS_BLOCK_GOVERNOR = 44,
};
static inline bool gs_block_is_meta(unsigned type)
{
	return type >= GS_BLOCK_META && type < GS_BLOCK_META + GS_META_TABLES;
}

enum gs_block_flags {
	GS_BLOCK_LZ4 = 1 << 0,
	GS_BLOCK_REPEAT = 1 << 1,
	GS_BLOCK_REQUIRED = 1 << 2,
	GS_BLOCK_KNOWN = GS_BLOCK_LZ4 | GS_BLOCK_REPEAT | GS_BLOCK_REQUIRED,
	GS_BLOCK_MUST_KNOW = 0xffff,
	/* reserved, ignorable */
	GS_BLOCK_HAS_STACKS = 1 << 16,
	GS_BLOCK_SNAPSHOT = 1 << 17,
	GS_BLOCK_THINNED = 1 << 18,
};

struct gs_block_header {
	uint8_t file_id[GS_FILE_ID_LEN];
	uint16_t header_len; /* of the file; writers: GS_HEADER_LEN */
	uint16_t type;
	uint32_t flags, stored_len, raw_len, rows, cpu;
	uint64_t seq, time_first, time_last;
	uint32_t payload_crc;
	uint64_t compat, incompat;
};

/* Appends the GS_HEADER_LEN bytes of the header. */
void gs_block_put_header(struct gs_buf *out, const struct gs_block_header *h);
/* Length of the header that begins at P (N >= GS_HEADER_MIN_PEEK bytes), or 0 when none does. */
size_t gs_block_peek(const uint8_t *p, size_t n);
/* Parses the header of N bytes at P; false when there is none or its CRC is wrong. */
bool gs_block_parse(const uint8_t *p, size_t n, struct gs_block_header *h);
/* Limits that hold for every block of this type; NULL or what is wrong. */
const char *gs_block_check(const struct gs_block_header *h);
/* "event", "sites", "index", "unknown". */
const char *gs_block_type_name(unsigned type);

/*
 * LZ4 block of exactly RAW_LEN bytes into OUT. False when malformed. Writers use gs_block_compress:
 * appends and returns true when that is smaller.
 */
bool gs_block_decompress(const void *p, size_t n, uint8_t *out, size_t raw_len);
bool gs_block_compress(struct gs_buf *out, const void *p, size_t n);

/* ---- columns of event blocks ---- */

enum gs_part {
	GS_PART_TIME = 0, /* owner 0 */
	GS_PART_SITE = 1,
	GS_PART_THREAD = 2,

	GS_PART_STATUS = 0, /* items */
	GS_PART_FAULT = 1,
	GS_PART_LENGTH = 2,
	GS_PART_DATA = 3,
	GS_PART_STRINGS = 4,
	GS_PART_IGNORABLE = 16,
};

enum gs_encoding {
	GS_ENC_RAW = 0,
	GS_ENC_CONSTANT = 1,
	GS_ENC_PACK = 2,
	GS_ENC_DELTA = 3,
	GS_ENC_VARINT = 4,
	GS_ENC_RUNS = 5,
	GS_ENC_DICTIONARY = 6,
	GS_ENC_LANES = 7,
	GS_ENC_INTS, /* the encodings of integers are below */
	GS_ENC_WORDS = 8,
	GS_ENC_STRINGS = 9,
	GS_ENC_THREADS = 10,
	GS_ENC_BIG_ENDIAN = 0x80,
};

#endif
