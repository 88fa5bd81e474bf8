/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Columns of one event block, writing side: the choice of encodings, LZ4, the directory.
 * Between columns of values (rows.c) and the payload of a block (writer.c).
 */
#include "format/columns.h"

#include "common/hash.h"

#define TRY_AGAIN 32 /* blocks */
#define STRINGS_MAX 1024

void gs_columns_deinit(struct gs_columns *c)
{
	gs_buf_deinit(&c->dir);
	gs_buf_deinit(&c->data);
	gs_buf_deinit(&c->trial[0]);
	gs_buf_deinit(&c->trial[1]);
	gs_buf_deinit(&c->packed);
	c->n = 0;
}

void gs_columns_reset(struct gs_columns *c)
{
	gs_buf_reset(&c->dir);
	gs_buf_reset(&c->data);
	c->n = 0;
}

void gs_columns_finish(const struct gs_columns *c, struct gs_buf *out)
{
	gs_put_uleb(out, c->n);
	gs_buf_append(out, c->dir.data, c->dir.len);
	gs_buf_append(out, c->data.data, c->data.len);
}

void gs_columns_encoded(struct gs_columns *c, struct gs_column_id id, uint8_t enc,
			const struct gs_buf *bytes)
{
	size_t start = c->data.len;
	bool packed = gs_block_compress(&c->data, bytes->data, bytes->len);

	if (!packed)
		gs_buf_append(&c->data, bytes->data, bytes->len);
	gs_put_uleb(&c->dir, id.owner);
	gs_put_uleb(&c->dir, id.item);
	gs_put_u8(&c->dir, id.part);
	gs_put_u8(&c->dir, enc | (id.big_endian ? GS_ENC_BIG_ENDIAN : 0));
	gs_put_u8(&c->dir, packed);
	gs_put_uleb(&c->dir, c->data.len - start);
	gs_put_uleb(&c->dir, bytes->len);
	c->n++;
}

/* ---- choice ---- */

/* Bytes that the column will take in the file. */
static size_t packed_size(struct gs_columns *c, const struct gs_buf *b)
{
	gs_buf_reset(&c->packed);
	return gs_block_compress(&c->packed, b->data, b->len) ? c->packed.len : b->len;
}

static bool still_good(const struct gs_choice *choice, size_t bytes, size_t n)
{
	/* Half as much again as when it was chosen: the data has changed. */
	return bytes <= 64 ||
	       bytes * 1024 / n <= choice->bytes_per_kilo + choice->bytes_per_kilo / 2;
}

static void remember(struct gs_choice *choice, unsigned enc, size_t bytes, size_t n)
{
	*choice = (struct gs_choice){true, (uint8_t)enc, 0, (uint32_t)(bytes * 1024 / n)};
}

/* What was good for the last blocks, if it is still good: its number, else -1. */
static int encode_again(struct gs_buf *out, const struct gs_ints *ints, struct gs_choice *choice)
{
	size_t start = out->len;

	if (gs_ints_encode(out, ints, GS_ENC_CONSTANT))
		return GS_ENC_CONSTANT;
	if (!choice->set || choice->age >= TRY_AGAIN)
		return -1;
	choice->age++;
	if (gs_ints_encode(out, ints, choice->enc)) {
		if (still_good(choice, out->len - start, ints->n))
			return choice->enc;
		out->len = start;
	}
	return -1;
}

/*
 * The best encoding of INTS, appended to OUT; its number. With LZ4 the size after compression
 * counts, else (parts of a column) the size itself.
 */
static unsigned encode_best(struct gs_columns *c, struct gs_buf *out, const struct gs_ints *ints,
			    struct gs_choice *choice, bool lz4)
{
	size_t best_size = SIZE_MAX, encoded = 0, start = out->len;
	struct gs_buf *trial = &c->trial[1];
	unsigned best = GS_ENC_RAW;

	for (unsigned enc = 0; enc < GS_ENC_INTS; enc++) {
		size_t size;

		gs_buf_reset(trial);
		if (enc == GS_ENC_CONSTANT || !gs_ints_encode(trial, ints, enc))
			continue;
		size = lz4 ? packed_size(c, trial) : trial->len;
		if (size < best_size) {
			best_size = size;
			best = enc;
			encoded = trial->len;
			out->len = start;
			gs_buf_append(out, trial->data, trial->len);
		}
	}
	remember(choice, best, encoded, ints->n);
	return best;
}

static unsigned encode_ints(struct gs_columns *c, struct gs_buf *out, const struct gs_ints *ints,
			    struct gs_choice *choice, bool lz4)
{
	int enc = encode_again(out, ints, choice);

	return enc >= 0 ? (unsigned)enc : encode_best(c, out, ints, choice, lz4);
}

void gs_columns_ints(struct gs_columns *c, struct gs_column_id id, const struct gs_ints *ints,
		     struct gs_choice *choice)
{
	struct gs_buf *out = &c->trial[0];
	unsigned enc;

	gs_buf_reset(out);
	enc = encode_ints(c, out, ints, choice, true);
	gs_columns_encoded(c, id, (uint8_t)enc, out);
}

/* ---- wide items ---- */

size_t gs_columns_words(size_t size)
{
	return size / 4 + size % 4;
}

static void put_wide_lanes(struct gs_buf *out, const uint8_t *rows, size_t n, size_t size)
{
	uint8_t *p = gs_buf_reserve(out, n * size);

	for (size_t lane = 0; lane < size; lane++)
		for (size_t i = 0; i < n; i++)
			*p++ = rows[i * size + lane];
	out->len += n * size;
}

static void put_words(struct gs_columns *c, struct gs_buf *out, const uint8_t *rows, size_t n,
		      size_t size, bool big_endian, struct gs_choice *words)
{
	uint64_t *v = gs_malloc(n * sizeof(*v));
	struct gs_buf one = {0};

	for (size_t word = 0, at = 0; word < gs_columns_words(size); word++) {
		struct gs_ints ints = {v, n, size - at >= 4 ? 4 : 1};
		unsigned enc;

		for (size_t i = 0; i < n; i++)
			v[i] = gs_load_uint(rows + i * size + at, ints.width, big_endian);
		gs_buf_reset(&one);
		enc = encode_ints(c, &one, &ints, &words[word], false);
		gs_put_u8(out, (uint8_t)enc);
		gs_put_uleb(out, one.len);
		gs_buf_append(out, one.data, one.len);
		at += ints.width;
	}
	gs_buf_deinit(&one);
	free(v);
}

static bool all_rows_equal(const uint8_t *rows, size_t n, size_t size)
{
	return n < 2 || memcmp(rows, rows + size, (n - 1) * size) == 0;
}

static void put_wide(struct gs_columns *c, struct gs_buf *out, struct gs_column_id id,
		     const uint8_t *rows, size_t n, size_t size, struct gs_choice *words,
		     unsigned enc)
{
	if (enc == GS_ENC_WORDS)
		put_words(c, out, rows, n, size, id.big_endian, words);
	else if (enc == GS_ENC_LANES)
		put_wide_lanes(out, rows, n, size);
	else
		gs_buf_append(out, rows, n * size);
}

void gs_columns_wide(struct gs_columns *c, struct gs_column_id id, const uint8_t *rows, size_t n,
		     size_t size, struct gs_choice *choice, struct gs_choice *words)
{
	static const uint8_t all[] = {GS_ENC_WORDS, GS_ENC_LANES, GS_ENC_RAW};
	struct gs_buf *out = &c->trial[0], best = {0};
	size_t best_size = SIZE_MAX;

	gs_buf_reset(out);
	if (all_rows_equal(rows, n, size)) {
		gs_buf_append(out, rows, size);
		gs_columns_encoded(c, id, GS_ENC_CONSTANT, out);
		return;
	}
	if (choice->set && choice->age++ < TRY_AGAIN) {
		put_wide(c, out, id, rows, n, size, words, choice->enc);
		if (out->len <= n * size) {
			gs_columns_encoded(c, id, choice->enc, out);
			return;
		}
	}
	for (size_t i = 0; i < sizeof(all); i++) {
		size_t bytes;

		gs_buf_reset(out);
		put_wide(c, out, id, rows, n, size, words, all[i]);
		bytes = packed_size(c, out);
		if (out->len <= n * size && bytes < best_size) {
			best_size = bytes;
			remember(choice, all[i], out->len, n);
			gs_buf_reset(&best);
			gs_buf_append(&best, out->data, out->len);
		}
	}
	gs_columns_encoded(c, id, choice->enc, &best);
	gs_buf_deinit(&best);
}

/* ---- variable items ---- */

/* Distinct strings once, then their numbers. False when there are too many of them to be worth it.
 */
static bool put_strings(struct gs_buf *out, const struct gs_ints *lengths, const uint8_t *bytes)
{
	uint64_t *places = gs_malloc(lengths->n * sizeof(*places));
	size_t most = lengths->n / 2 + 1;
	struct gs_map map = {0};
	bool fits = true;

	if (most > STRINGS_MAX)
		most = STRINGS_MAX;
	for (size_t i = 0; i < lengths->n && fits; bytes += lengths->v[i++]) {
		places[i] = *gs_map_put(&map, bytes, lengths->v[i], map.n, NULL);
		fits = map.n <= most;
	}
	gs_put_uleb(out, map.n);
	for (size_t i = 0; i < map.n && fits; i++) {
		gs_put_uleb(out, map.entries[i].len);
		gs_buf_append(out, map.entries[i].key, map.entries[i].len);
	}
	if (fits)
		gs_pack_put(out, places, lengths->n, 4);
	gs_map_deinit(&map);
	free(places);
	return fits;
}

static void put_lengths_and_data(struct gs_columns *c, struct gs_column_id id,
				 const struct gs_ints *lengths, const struct gs_buf *bytes,
				 struct gs_choice *length_choice)
{
	id.part = GS_PART_LENGTH;
	gs_columns_ints(c, id, lengths, length_choice);
	id.part = GS_PART_DATA;
	if (bytes->len)
		gs_columns_encoded(c, id, GS_ENC_RAW, bytes);
}

void gs_columns_variable(struct gs_columns *c, struct gs_column_id id,
			 const struct gs_ints *lengths, const struct gs_buf *bytes,
			 struct gs_choice *choice, struct gs_choice *length_choice)
{
	static const uint8_t nothing[1];
	const uint8_t *data = bytes->data ? bytes->data : nothing;
	bool retry = !choice->set || choice->age++ >= TRY_AGAIN;
	struct gs_buf strings = {0};
	bool fits =
		(retry || choice->enc == GS_ENC_STRINGS) && put_strings(&strings, lengths, data);

	if (retry) {
		/* Lengths cost about a byte each when they differ, and are not compared exactly. */
		size_t plain = packed_size(c, bytes) + lengths->n / 2;

		fits = fits && packed_size(c, &strings) < plain;
		remember(choice, fits ? GS_ENC_STRINGS : GS_ENC_RAW, bytes->len, lengths->n);
	}
	if (fits) {
		id.part = GS_PART_STRINGS;
		gs_columns_encoded(c, id, GS_ENC_STRINGS, &strings);
	} else {
		put_lengths_and_data(c, id, lengths, bytes, length_choice);
	}
	gs_buf_deinit(&strings);
}
