/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds blocks: chain of headers, resynchronisation behind damage, index.
 * Between bytes (source.c) and the meaning of blocks (input.c).
 */
#include "format/scan.h"

#include <stdarg.h>

#include "common/hash.h"

#define SEARCH_CHUNK ((size_t)256 << 10)
#define DAMAGES_MAX 100000
/* Of a stream without a block: one that goes on for ever is not to be read for ever. */
#define STREAM_SEARCH_MAX ((uint64_t)64 << 20)

/* ---- damages ---- */

struct gs_damage *gs_damages_add(struct gs_damages *d, uint64_t offset, uint64_t length,
				 const char *fmt, ...)
{
	struct gs_buf text = {0};
	struct gs_damage *damage;
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (d->n >= DAMAGES_MAX) {
		d->full = true;
		damage = &d->list[d->n - 1];
		damage->length = offset + length - damage->offset;
		damage->rows = UINT64_MAX;
		return damage;
	}
	gs_buf_puts(&text, line);
	damage = GS_PUSH(d->list, d->n, d->cap);
	damage->offset = offset;
	damage->length = length;
	damage->message = gs_buf_cstr(&text);
	damage->rows = UINT64_MAX;
	return damage;
}

void gs_damages_deinit(struct gs_damages *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->list[i].message);
	free(d->list);
	*d = (struct gs_damages){0};
}

/* ---- signature ---- */

const char *gs_scan_looks_like(const uint8_t *p, size_t n)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *what;
	} known[] = {
		{"\x09GSD", 4, "a recording whose eighth bits were cleared in a transfer"},
		{"\x89GSD\n", 5, "a recording whose line ends were changed in a text transfer"},
		{"\x89GSD\r\r", 6, "a recording whose line ends were changed in a text transfer"},
		{"\x89GSD\r\n\x1a\r", 8,
		 "a recording whose line ends were changed in a text transfer"},
		{"\xc2\x89GSD", 5, "a recording that was converted to UTF-8"},
		{"\xef\xbf\xbdGSD", 6, "a recording that was converted to UTF-8"},
		{"PERFILE2", 8, "a perf.data file"},
		{"\x7f"
		 "ELF",
		 4, "an ELF file"},
		{"\x1f\x8b", 2, "gzip data (decompress it first)"},
		{"\x28\xb5\x2f\xfd", 4, "zstd data (decompress it first)"},
		{"\xfd"
		 "7zXZ",
		 5, "xz data (decompress it first)"},
	};

	if (!n)
		return "an empty file";
	for (size_t i = 0; i < GS_ARRAY_SIZE(known); i++)
		if (n >= known[i].len && memcmp(p, known[i].bytes, known[i].len) == 0)
			return known[i].what;
	if (n < GS_SIGNATURE_LEN && memcmp(p, gs_signature, n) == 0)
		return "only the first bytes of a recording";
	return "something else";
}

struct gs_error *gs_scan_signature(struct gs_scan *s)
{
	const uint8_t *p;
	size_t got;

	GS_TRY(gs_source_at(s->src, 0, GS_SIGNATURE_LEN, &p, &got));
	s->offset = GS_SIGNATURE_LEN;
	if (got == GS_SIGNATURE_LEN && memcmp(p, gs_signature, GS_SIGNATURE_LEN) == 0)
		return NULL;
	if (got < GS_SIGNATURE_LEN)
		return gs_error_new(GS_ERR_DAMAGED, "not a recording of gs-record: %s",
				    gs_scan_looks_like(p, got));
	gs_damages_add(s->damages, 0, GS_SIGNATURE_LEN, "signature: this is %s",
		       gs_scan_looks_like(p, got))
		->rows = 0;
	return NULL;
}

/* ---- headers ---- */

static bool same_file(const struct gs_scan *s, const struct gs_block_header *h)
{
	return !s->have_id || memcmp(h->file_id, s->file_id, GS_FILE_ID_LEN) == 0;
}

/* A header of this file at OFFSET? *left: bytes of input there, at most GS_HEADER_MAX. */
static struct gs_error *header_at(struct gs_scan *s, uint64_t offset, struct gs_block_header *h,
				  bool *good, size_t *left)
{
	const uint8_t *p;
	size_t len;

	*good = false;
	GS_TRY(gs_source_at(s->src, offset, GS_HEADER_LEN, &p, left));
	len = gs_block_peek(p, *left);
	if (len > GS_HEADER_LEN)
		GS_TRY(gs_source_at(s->src, offset, len, &p, left));
	*good = len && gs_block_parse(p, *left, h) && same_file(s, h);
	return NULL;
}

static struct gs_error *incompatible(const struct gs_block *b)
{
	if (b->h.incompat)
		return gs_error_new(
			GS_ERR_INCOMPATIBLE,
			"written by a newer version of gs: incompatible features 0x%llx",
			(unsigned long long)b->h.incompat);
	return gs_error_new(GS_ERR_INCOMPATIBLE,
			    "written by a newer version of gs: required block type %u", b->h.type);
}

static bool is_known_type(unsigned type)
{
	return gs_block_is_meta(type) || type == GS_BLOCK_EVENTS || type == GS_BLOCK_INDEX ||
	       type == GS_BLOCK_TRAILER;
}

/* A later block's header within the N bytes at P, or NULL; *next: where the search could not go on.
 */
static const uint8_t *search_chunk(const struct gs_scan *s, const uint8_t *p, size_t n, bool last,
				   const uint8_t **next)
{
	const uint8_t *end = p + n, *hit;
	struct gs_block_header h;

	while ((hit = memmem(p, (size_t)(end - p), "\x9bGSB", 4))) {
		/* A header that goes on beyond this chunk is looked at again in the next one. */
		if (!last && end - hit < (ptrdiff_t)GS_HEADER_MAX)
			return *next = hit, NULL;
		/* The file id first: a checksum for each magic would be slow on hostile input. */
		if (end - hit >= (ptrdiff_t)GS_HEADER_LEN &&
		    (!s->have_id || !memcmp(hit + 8, s->file_id, GS_FILE_ID_LEN)) &&
		    gs_block_parse(hit, (size_t)(end - hit), &h) && h.seq > s->last_seq)
			return hit;
		p = hit + 1;
	}
	*next = end - p < 3 || last ? p : end - 3; /* a magic may begin in the last bytes */
	return NULL;
}

/* First offset from FROM on where a later block of this file begins; *found false: none. */
static struct gs_error *search(struct gs_scan *s, uint64_t from, uint64_t *at, bool *found)
{
	const uint8_t *p, *hit, *next;
	size_t got;

	for (;;) {
		from = gs_source_data(s->src, from);
		GS_TRY(gs_source_at(s->src, from, SEARCH_CHUNK, &p, &got));
		hit = search_chunk(s, p, got, got < SEARCH_CHUNK, &next);
		*found = hit != NULL;
		if (hit || got < SEARCH_CHUNK ||
		    (!s->have_id && !s->src->seekable && from > STREAM_SEARCH_MAX)) {
			*at = from + (hit ? (uint64_t)(hit - p) : got);
			return NULL;
		}
		from += (uint64_t)(next - p);
		gs_source_forget(s->src, from);
	}
}

/* The block before is remembered until the next header is found where it should be. */
static struct gs_error *prev_is_bad(struct gs_scan *s, bool *bad)
{
	const uint8_t *payload;
	const char *wrong;

	*bad = false;
	if (!s->have_prev)
		return NULL;
	GS_TRY(gs_scan_payload(s->src, &s->prev, &payload, &wrong));
	*bad = payload == NULL;
	return NULL;
}

/* No good header at s->offset: moves to the next block that there is. */
static struct gs_error *resync(struct gs_scan *s, const char *what, uint64_t rows, bool *found)
{
	uint64_t from = s->offset, at;
	struct gs_damage *damage;
	bool bad;

	GS_TRY(prev_is_bad(s, &bad));
	if (bad)
		from = s->prev.offset + s->prev.h.header_len;
	else if (!s->have_prev && s->offset == GS_SIGNATURE_LEN)
		from = 0; /* bytes before the first header may be missing */
	else
		from = s->offset + 1;
	GS_TRY(search(s, from, &at, found));
	if (at < s->offset && bad)
		damage = gs_damages_add(s->damages, at, 0, "bytes are missing in the block before");
	else
		damage = gs_damages_add(s->damages, s->offset, at > s->offset ? at - s->offset : 0,
					"%s", what);
	damage->rows = rows;
	damage->time_first = s->last_time;
	s->gap = s->damages->n;
	s->have_prev = false;
	s->offset = at;
	return NULL;
}

/* Closes the gap that was open before BLOCK, or notes one that only its number shows. */
static void note_gap(struct gs_scan *s, const struct gs_block *b)
{
	struct gs_damage *d = s->gap ? &s->damages->list[s->gap - 1] : NULL;

	if (b->h.seq != s->last_seq + 1) {
		if (!d)
			d = gs_damages_add(s->damages, b->offset, 0,
					   "blocks %llu to %llu are missing",
					   (unsigned long long)s->last_seq + 1,
					   (unsigned long long)b->h.seq - 1);
		d->seq_first = s->last_seq + 1;
		d->seq_last = b->h.seq - 1;
		d->time_first = s->last_time;
		if (!s->gap)
			s->gap = s->damages->n;
	}
	if (s->gap && b->h.type == GS_BLOCK_EVENTS) {
		s->damages->list[s->gap - 1].time_last = b->h.time_first;
		s->gap = 0;
	}
}

static void accept(struct gs_scan *s, const struct gs_block *b)
{
	note_gap(s, b);
	memcpy(s->file_id, b->h.file_id, GS_FILE_ID_LEN);
	s->have_id = true;
	s->last_seq = b->h.seq;
	if (b->h.type == GS_BLOCK_EVENTS)
		s->last_time = b->h.time_last;
	s->prev = *b;
	s->have_prev = true;
	s->offset = b->offset + b->h.header_len + b->h.stored_len;
	gs_source_forget(s->src, b->offset);
}

/* Whether all of the payload is there; the last byte tells. */
static struct gs_error *is_whole(struct gs_scan *s, const struct gs_block *b, bool *whole)
{
	uint64_t len = (uint64_t)b->h.header_len + b->h.stored_len;
	const uint8_t *p;
	size_t got;

	*whole = s->src->seekable && b->offset + len <= s->src->size;
	if (s->src->seekable)
		return NULL;
	GS_TRY(gs_source_at(s->src, b->offset, (size_t)len, &p, &got));
	*whole = got == len;
	return NULL;
}

/* What is at s->offset, of which LEFT bytes are there, instead of a header. */
static struct gs_error *no_header(struct gs_scan *s, size_t left, const char **what)
{
	const uint8_t *p;
	size_t got;

	GS_TRY(gs_source_at(s->src, s->offset, GS_SIGNATURE_LEN, &p, &got));
	if (s->have_id && got == GS_SIGNATURE_LEN && memcmp(p, gs_signature, got) == 0)
		*what = "another recording was appended here: cut it off to read it";
	else if (left < GS_HEADER_LEN)
		*what = "the file ends within a block header";
	else
		*what = "no block where one should begin";
	return NULL;
}

/* Drops a block whose header cannot be used although it is intact. */
static void drop(struct gs_scan *s, const struct gs_block *b, const char *wrong)
{
	uint64_t len = (uint64_t)b->h.header_len + b->h.stored_len;
	struct gs_damage *d =
		gs_damages_add(s->damages, b->offset, len, "%s block %llu %s",
			       gs_block_type_name(b->h.type), (unsigned long long)b->h.seq, wrong);

	d->seq_first = d->seq_last = b->h.seq;
	if (b->h.type != GS_BLOCK_EVENTS)
		d->rows = 0;
	s->offset = b->offset + len;
	s->have_prev = false;
}

/* Takes or drops the good header at s->offset; *taken tells. */
static struct gs_error *consider(struct gs_scan *s, const struct gs_block *b, bool *taken,
				 bool *more)
{
	const char *wrong = gs_block_check(&b->h);
	bool whole;

	*taken = false;
	*more = true;
	if (b->h.incompat || (b->h.flags & GS_BLOCK_REQUIRED && !is_known_type(b->h.type)))
		return incompatible(b);
	if (b->h.seq <= s->last_seq) {
		drop(s, b, "is out of sequence: it was there before");
		s->damages->list[s->damages->n - 1].rows = 0;
		return NULL;
	}
	if (wrong) {
		drop(s, b, wrong);
		note_gap(s, b);
		s->last_seq = b->h.seq;
		return NULL;
	}
	GS_TRY(is_whole(s, b, &whole));
	if (whole) {
		accept(s, b);
		*taken = true;
		return NULL;
	}
	s->have_prev = false;
	s->last_seq = b->h.seq; /* whatever follows in it has a greater one */
	if (b->h.type == GS_BLOCK_EVENTS)
		s->rows_dropped += b->h.rows;
	GS_TRY(resync(s, "the file ends within a block",
		      b->h.type == GS_BLOCK_EVENTS ? b->h.rows : 0, more));
	s->damages->list[s->gap - 1].seq_first = s->damages->list[s->gap - 1].seq_last = b->h.seq;
	return NULL;
}

struct gs_error *gs_scan_next(struct gs_scan *s, struct gs_block *block, bool *found)
{
	bool good, more = true;
	size_t left;

	*found = false;
	while (more) {
		block->offset = s->offset;
		GS_TRY(header_at(s, s->offset, &block->h, &good, &left));
		if (!left)
			return NULL;
		if (!good) {
			const char *what;

			GS_TRY(no_header(s, left, &what));
			GS_TRY(resync(s, what, UINT64_MAX, &more));
			continue;
		}
		GS_TRY(consider(s, block, found, &more));
		if (*found)
			return NULL;
	}
	return NULL;
}

struct gs_error *gs_scan_payload(struct gs_source *src, const struct gs_block *block,
				 const uint8_t **payload, const char **wrong)
{
	size_t len = (size_t)block->h.header_len + block->h.stored_len, got;
	const uint8_t *p;

	*payload = NULL;
	GS_TRY(gs_source_at(src, block->offset, len, &p, &got));
	if (got < len)
		*wrong = "is cut off";
	else if (gs_crc32c(0, p + block->h.header_len, block->h.stored_len) != block->h.payload_crc)
		*wrong = "has a payload that does not match its checksum";
	else
		*payload = p + block->h.header_len;
	return NULL;
}

/* ---- index ---- */

/* The block at OFFSET with a good payload of this type, copied to OUT decompressed; false: none. */
static struct gs_error *whole_block(struct gs_scan *s, uint64_t offset, unsigned type,
				    struct gs_block *b, struct gs_buf *out, bool *good)
{
	const uint8_t *payload;
	const char *wrong;
	size_t left;

	b->offset = offset;
	GS_TRY(header_at(s, offset, &b->h, good, &left));
	*good = *good && b->h.type == type && !gs_block_check(&b->h) && !b->h.incompat;
	if (!*good)
		return NULL;
	GS_TRY(gs_scan_payload(s->src, b, &payload, &wrong));
	*good = payload != NULL;
	if (!payload)
		return NULL;
	gs_buf_reset(out);
	gs_buf_reserve(out, b->h.raw_len);
	out->len = b->h.raw_len;
	if (b->h.flags & GS_BLOCK_LZ4)
		*good = gs_block_decompress(payload, b->h.stored_len, out->data, out->len);
	else
		memcpy(out->data, payload, out->len);
	return NULL;
}

static struct gs_error *find_index(struct gs_scan *s, struct gs_buf *out, struct gs_block *index,
				   bool *good)
{
	struct gs_block trailer;
	uint64_t at;

	*good = s->src->size >= GS_SIGNATURE_LEN + 3 * GS_HEADER_LEN;
	if (!*good)
		return NULL;
	at = s->src->size - GS_HEADER_LEN - 8;
	GS_TRY(whole_block(s, at, GS_BLOCK_TRAILER, &trailer, out, good));
	if (!*good || out->len != 8)
		return *good = false, NULL;
	at = gs_load_uint(out->data, 8, false);
	*good = at >= GS_SIGNATURE_LEN && at < trailer.offset;
	if (*good)
		GS_TRY(whole_block(s, at, GS_BLOCK_INDEX, index, out, good));
	*good = *good && memcmp(index->h.file_id, trailer.h.file_id, GS_FILE_ID_LEN) == 0 &&
		index->offset + index->h.header_len + index->h.stored_len == trailer.offset;
	return NULL;
}

struct gs_error *gs_scan_index(struct gs_scan *s, struct gs_index_entry **entries, size_t *n)
{
	struct gs_buf out = {0};
	struct gs_block index;
	struct gs_error *err;
	bool good;

	*entries = NULL;
	*n = 0;
	err = find_index(s, &out, &index, &good);
	if (!err && good) {
		struct gs_reader r = gs_reader_of(out.data, out.len);

		/* One that does not describe the file is not used; the scan then says what is
		 * wrong. */
		gs_error_free(gs_index_read(&r, index.offset, entries, n));
		if (*entries && *n + 1 != index.h.seq) {
			free(*entries);
			*entries = NULL;
		}
		if (*entries) {
			memcpy(s->file_id, index.h.file_id, GS_FILE_ID_LEN);
			s->have_id = true;
		}
	}
	gs_buf_deinit(&out);
	return err;
}
