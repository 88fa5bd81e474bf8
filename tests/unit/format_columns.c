/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encodings of columns: every one gives back every value, or says that it cannot; malformed columns
 * are refused; realistic events are small.
 */
#include <stdio.h>

#include "format/columns.h"
#include "format/wide.h"
#include "tests/lib/format_make.h"
#include "tests/tap.h"

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 17 ^ *state << 31;
}

static uint64_t mask_of(unsigned width)
{
	return width == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * width) - 1;
}

enum shape { ZERO, ONES, RANDOM, COUNTER, DOWN, SMALL, SIGNS, JUMPS, FEW, EXTREMES, SHAPES };

static void fill(uint64_t *v, size_t n, unsigned width, enum shape shape, uint64_t *state)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t r = next(state);
		const uint64_t table[SHAPES] = {
			[ZERO] = 0,
			[ONES] = UINT64_MAX,
			[RANDOM] = r,
			[COUNTER] = 1000 + 8 * i,
			[DOWN] = 5 - 3 * i,
			[SMALL] = r % 10,
			[SIGNS] = r % 2 ? r % 100 : -(r % 100),
			[JUMPS] = r % 50 ? i : r,
			[FEW] = (r % 3) * 0x1234567890abcdefu,
			[EXTREMES] = r % 2 ? (uint64_t)1 << (8 * width - 1)
					   : ((uint64_t)1 << (8 * width - 1)) - 1,
		};

		v[i] = table[shape] & mask_of(width);
	}
}

static bool round_trip(const uint64_t *v, size_t n, unsigned width, unsigned enc, bool *can)
{
	struct gs_ints ints = {v, n, width};
	struct gs_buf out = {0};
	uint64_t *back = gs_malloc(n * sizeof(*back));
	bool same = true;

	*can = gs_ints_encode(&out, &ints, (enum gs_encoding)enc);
	if (*can) {
		/* Its own allocation of the exact length, so that ASan sees reads beyond. */
		uint8_t *p = gs_malloc(out.len);
		struct gs_reader r = gs_reader_of(p, out.len);

		memcpy(p, out.data, out.len);
		same = gs_ints_decode(&r, (enum gs_encoding)enc, back, n, width) &&
		       memcmp(back, v, n * sizeof(*v)) == 0;
		/* One byte less or more is never a column of that many values. */
		for (size_t len = 0; len < out.len && same && out.len < 400; len++) {
			r = gs_reader_of(p, len);
			same = !gs_ints_decode(&r, (enum gs_encoding)enc, back, n, width);
		}
		free(p);
	} else {
		same = out.len == 0;
	}
	free(back);
	gs_buf_deinit(&out);
	return same;
}

static void test_every_encoding(void)
{
	static const size_t counts[] = {1, 2, 127, 128, 129, 1000, 5461};
	uint64_t state = 7, *v = gs_malloc(5461 * sizeof(*v));
	unsigned able = 0;

	for (unsigned width = 1; width <= 8; width *= 2)
		for (int shape = 0; shape < SHAPES; shape++)
			for (size_t k = 0; k < GS_ARRAY_SIZE(counts); k++)
				for (unsigned enc = 0; enc < GS_ENC_INTS; enc++) {
					bool can, same;

					fill(v, counts[k], width, (enum shape)shape, &state);
					same = round_trip(v, counts[k], width, enc, &can);
					CHECK(same);
					if (!same)
						printf("# width %u shape %d n %zu enc %u\n", width,
						       shape, counts[k], enc);
					able |= (unsigned)can << enc;
				}
	CHECK_INT(able, (1 << GS_ENC_INTS) - 1);
	free(v);
}

/* Noise is either refused or gives some values: no crash, no read beyond (under ASan). */
static void test_noise(void)
{
	uint64_t state = 3, v[300];
	uint8_t wide[300];

	for (int round = 0; round < 20000; round++) {
		size_t len = next(&state) % 64;
		uint8_t *p = gs_malloc(len);
		struct gs_reader r = gs_reader_of(p, len);
		unsigned width = 1u << next(&state) % 4;

		for (size_t i = 0; i < len; i++)
			p[i] = (uint8_t)(next(&state) % (next(&state) % 2 ? 256 : 4));
		gs_ints_decode(&r, (enum gs_encoding)(next(&state) % 10), v, 1 + next(&state) % 300,
			       width);
		r = gs_reader_of(p, len);
		gs_wide_decode(&r, next(&state) % 10, true, wide, 1 + next(&state) % 27, 11, v);
		free(p);
	}
	CHECK(true);
}

static void wide_round_trip(size_t n, size_t size, bool big_endian, bool noise)
{
	struct gs_column_id id = {.owner = 1, .part = GS_PART_DATA, .big_endian = big_endian};
	struct gs_choice choice = {0};
	struct gs_choice *words = gs_calloc(gs_columns_words(size), sizeof(*words));
	uint8_t *rows = gs_malloc(n * size), *back = gs_malloc(n * size), *raw;
	uint64_t state = size, *scratch = gs_malloc(n * sizeof(*scratch));

	for (int round = 0; round < 3; round++) { /* the choice is remembered */
		struct gs_columns c = {0};
		struct gs_reader r;
		uint8_t enc, lz4;
		uint64_t stored, encoded;

		for (size_t i = 0; i < n * size; i++)
			rows[i] = noise ? (uint8_t)next(&state)
					: (uint8_t)(i % size == 0 ? i / size : 9);
		gs_columns_wide(&c, id, rows, n, size, &choice, words);
		r = gs_reader_of(c.dir.data, c.dir.len);
		gs_read_bytes(&r, 3);
		enc = gs_read_u8(&r);
		lz4 = gs_read_u8(&r);
		stored = gs_read_uleb(&r);
		encoded = gs_read_uleb(&r);
		CHECK(encoded <= n * size && stored == c.data.len);
		raw = gs_malloc(encoded);
		if (lz4)
			CHECK(gs_block_decompress(c.data.data, stored, raw, encoded));
		else
			memcpy(raw, c.data.data, encoded);
		r = gs_reader_of(raw, encoded);
		CHECK_INT(enc & GS_ENC_BIG_ENDIAN, big_endian ? GS_ENC_BIG_ENDIAN : 0);
		CHECK(gs_wide_decode(&r, enc & ~(unsigned)GS_ENC_BIG_ENDIAN, big_endian, back, n,
				     size, scratch));
		CHECK(memcmp(rows, back, n * size) == 0);
		free(raw);
		gs_columns_deinit(&c);
	}
	free(words);
	free(rows);
	free(back);
	free(scratch);
}

static void test_wide(void)
{
	static const size_t sizes[] = {3, 5, 10, 12, 16, 20, 33, 100};

	for (size_t i = 0; i < GS_ARRAY_SIZE(sizes); i++)
		for (int flags = 0; flags < 4; flags++) {
			wide_round_trip(1, sizes[i], flags & 1, flags & 2);
			wide_round_trip(300, sizes[i], flags & 1, flags & 2);
		}
}

/* A server with four threads on one CPU: exponential gaps, an id that counts up, a small status. */
static void test_size_of_events(void)
{
	struct gs_make *m = gs_make_new(NULL);
	uint32_t s = gs_make_schema(m), site;
	uint64_t state = 11, time = 1000000, id = 5000, n = 50000, meta;
	gs_type_id t = gs_make_int(m, "int", 4, true);

	gs_make_item(m, s, "id", t, 4, 0);
	gs_make_item(m, s, "status", t, 4, 0);
	site = gs_make_site(m, gs_make_probe(m, "p"), s, "f", "f.c", 1);
	gs_make_sync(m);
	meta = gs_writer_bytes(m->writer);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t gap = 300, r = next(&state);

		for (; r % 3; r /= 3)
			gap += next(&state) % 700;
		time += gap;
		gs_make_event(m, time, 0, site, 71,
			      71 + (uint32_t)(next(&state) % 20 ? 0 : 1 + r % 3), "worker");
		gs_make_uint(m, 0, id += 1 + (next(&state) % 4 == 0));
		gs_make_uint(m, 1, next(&state) % 50 ? 200 : 404);
	}
	gs_make_flush(m);
	printf("# %.2f bytes an event\n", (double)(gs_writer_bytes(m->writer) - meta) / (double)n);
	CHECK((gs_writer_bytes(m->writer) - meta) * 10 < n * 35);
	gs_make_free(m);
}

int main(void)
{
	TAP_RUN(test_every_encoding);
	TAP_RUN(test_noise);
	TAP_RUN(test_wide);
	TAP_RUN(test_size_of_events);
	return tap_done();
}
