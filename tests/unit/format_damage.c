/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Damage sweeps over a small recording: every prefix, every single flipped bit, bytes taken out,
 * put in and overwritten. Never a crash, never a changed value, always a diagnosis; outside event
 * blocks no event is lost, inside only those of the block, and they are counted.
 */
#include <stdio.h>

#include "format/block.h"
#include "tests/lib/format_sample.h"
#include "tests/tap.h"

#define ROWS 24u
#define PER_BLOCK 6u

struct result {
	bool opened, changed, out_of_order, diagnosed, has_end;
	uint32_t rows;	   /* read */
	uint64_t said;	   /* rows that damages say are lost */
	bool said_unknown; /* or that they cannot say */
};

static struct result read_bytes(const uint8_t *p, size_t len, bool no_index)
{
	struct gs_input_options opts = {.no_index = no_index};
	const struct gs_damage *damages;
	struct result r = {0};
	struct gs_batch *batch;
	struct gs_input *in;
	struct gs_error *err = gs_input_open_memory(p, len, &opts, &in);
	bool seen[ROWS] = {0};
	uint32_t row;
	long last = -1;

	if (err) {
		r.diagnosed = true;
		gs_error_free(err);
		return r;
	}
	r.opened = true;
	while (!(err = gs_input_next(in, &batch, &row)) && batch) {
		long i = sample_check(in, batch, row);

		if (i < 0 || i >= (long)ROWS || seen[i])
			r.changed = true;
		else
			seen[i] = true;
		r.out_of_order |= i < last;
		last = i;
		r.rows++;
	}
	if (err)
		r.changed = true;
	gs_error_free(err);
	r.has_end = gs_input_meta(in)->has_end;
	for (size_t n = gs_input_damages(in, &damages), i = 0; i < n; i++) {
		r.diagnosed = true;
		if (damages[i].rows == UINT64_MAX)
			r.said_unknown = true;
		else
			r.said += damages[i].rows;
	}
	gs_input_free(in);
	return r;
}

/* Whether byte AT of the intact file belongs to an event block. */
static bool in_events(const struct gs_make *m, size_t at)
{
	struct gs_block_header h;

	for (size_t pos = GS_SIGNATURE_LEN; pos < m->file.len;
	     pos += GS_HEADER_LEN + h.stored_len) {
		CHECK(gs_block_parse(m->file.data + pos, m->file.len - pos, &h));
		if (at >= pos && at < pos + GS_HEADER_LEN + h.stored_len)
			return h.type == GS_BLOCK_EVENTS;
	}
	return false;
}

static bool flip_is_fine(const struct result *r, bool events)
{
	if (!r->opened || r->changed || r->out_of_order || !r->diagnosed || !r->has_end)
		return false;
	if (!events)
		return r->rows == ROWS && r->said == 0 && !r->said_unknown;
	return r->rows == ROWS - PER_BLOCK && r->said == PER_BLOCK && !r->said_unknown;
}

/* STEP 1: every bit; 8: one bit of each byte. */
static void sweep_bits(bool no_index, int step)
{
	struct gs_make *m = sample_make(NULL, ROWS, PER_BLOCK);
	uint32_t bad = 0;

	printf("# %zu bytes\n", m->file.len);
	for (size_t at = 0; at < m->file.len; at++) {
		bool events = in_events(m, at);

		for (int bit = step == 1 ? 0 : (int)(at % 8); bit < 8; bit += step) {
			struct result r;

			m->file.data[at] ^= (uint8_t)(1 << bit);
			r = read_bytes(m->file.data, m->file.len, no_index);
			m->file.data[at] ^= (uint8_t)(1 << bit);
			if (flip_is_fine(&r, events))
				continue;
			if (bad++ < 5)
				printf("# byte %zu bit %d (events %d): opened %d changed %d order "
				       "%d "
				       "diagnosed %d end %d rows %u said %llu unknown %d\n",
				       at, bit, events, r.opened, r.changed, r.out_of_order,
				       r.diagnosed, r.has_end, r.rows, (unsigned long long)r.said,
				       r.said_unknown);
		}
	}
	CHECK_INT(bad, 0);
	gs_make_free(m);
}

static void test_flipped_bits(void)
{
	sweep_bits(false, 1);
}

static void test_flipped_bits_without_index(void)
{
	sweep_bits(true, 8);
}

static void test_prefixes(void)
{
	struct gs_make *m = sample_make(NULL, ROWS, PER_BLOCK);
	uint32_t most = 0, bad = 0;

	for (size_t len = 0; len <= m->file.len; len++) {
		uint8_t *copy = gs_malloc(len); /* its own, so that ASan sees reads beyond */
		struct result r;

		memcpy(copy, m->file.data, len);
		r = read_bytes(copy, len, false);
		bad += r.changed || r.out_of_order || r.rows < most;
		/* A cut between blocks shows by the missing end block, unless nothing is missing.
		 */
		bad += !r.diagnosed && r.has_end && r.rows != ROWS;
		most = r.rows > most ? r.rows : most;
		free(copy);
	}
	CHECK_INT(bad, 0);
	CHECK_INT(most, ROWS);
	gs_make_free(m);
}

static uint32_t random_of(uint64_t *state, uint32_t n)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % n;
}

/* Two ranges of bytes change places with nothing, noise, or zeros. */
static void test_replaced_ranges(void)
{
	struct gs_make *m = sample_make(NULL, ROWS, PER_BLOCK);
	uint64_t state = 1;
	uint32_t bad = 0, few = 0;

	for (int round = 0; round < 4000; round++) {
		struct gs_buf copy = {0};
		size_t at = random_of(&state, (uint32_t)m->file.len);
		size_t out = random_of(&state, 200), in = random_of(&state, 3) * 50;
		bool noise = random_of(&state, 2);
		struct result r;

		out = out > m->file.len - at ? m->file.len - at : out;
		if (!out && !in)
			continue;
		gs_buf_append(&copy, m->file.data, at);
		for (size_t i = 0; i < in; i++)
			gs_put_u8(&copy, noise ? (uint8_t)random_of(&state, 256) : 0);
		gs_buf_append(&copy, m->file.data + at + out, m->file.len - at - out);
		r = read_bytes(copy.data, copy.len, round & 1);
		bad += !r.opened || r.changed || r.out_of_order || !r.diagnosed;
		/* 200 bytes touch at most two event blocks, and those around them stay. */
		few += r.rows < ROWS - 2 * PER_BLOCK;
		gs_buf_deinit(&copy);
	}
	CHECK_INT(bad, 0);
	CHECK_INT(few, 0);
	gs_make_free(m);
}

/* A block taken out whole leaves no bad byte; its number is missing. One that is there twice counts
 * once. */
static void test_whole_blocks(void)
{
	struct gs_make *m = sample_make(NULL, ROWS, PER_BLOCK);
	struct gs_block_header h;

	for (size_t pos = GS_SIGNATURE_LEN; pos < m->file.len;
	     pos += GS_HEADER_LEN + h.stored_len) {
		struct gs_buf without = {0}, twice = {0};
		size_t end;
		struct result r;

		CHECK(gs_block_parse(m->file.data + pos, m->file.len - pos, &h));
		end = pos + GS_HEADER_LEN + h.stored_len;
		gs_buf_append(&without, m->file.data, pos);
		gs_buf_append(&without, m->file.data + end, m->file.len - end);
		r = read_bytes(without.data, without.len, false);
		CHECK(!r.changed && !r.out_of_order && (r.diagnosed || end == m->file.len));
		CHECK_INT(r.rows, h.type == GS_BLOCK_EVENTS ? ROWS - PER_BLOCK : ROWS);
		CHECK_INT(r.said, ROWS - r.rows);

		gs_buf_append(&twice, m->file.data, end);
		gs_buf_append(&twice, m->file.data + pos, m->file.len - pos);
		r = read_bytes(twice.data, twice.len, false);
		CHECK(!r.changed && !r.out_of_order && r.diagnosed);
		CHECK_INT(r.rows, ROWS);
		CHECK_INT(r.said, 0);
		gs_buf_deinit(&without);
		gs_buf_deinit(&twice);
	}
	gs_make_free(m);
}

/* Events whose own bytes look like the blocks of another recording: never mistaken for blocks. */
static void test_recording_within(void)
{
	struct gs_make *inner = sample_make(NULL, 1, 1), *m;
	uint32_t s, site, row, n = 0;
	struct gs_batch *batch;
	struct gs_input *in;

	m = gs_make_new(NULL);
	s = gs_make_schema(m);
	gs_make_variable(m, s, "b", 0, 4000, 0);
	site = gs_make_site(m, gs_make_probe(m, "p"), s, "f", "f.c", 1);
	for (int i = 0; i < 3; i++) {
		gs_make_event(m, 100 + (uint64_t)i, 0, site, 1, 1, "c");
		gs_make_bytes(m, 0, inner->file.data + 100 * i, 600);
	}
	gs_make_end(m, 0);
	CHECK(!gs_input_open_memory(m->file.data, m->file.len, NULL, &in));
	while (!gs_input_next(in, &batch, &row) && batch)
		n++;
	CHECK_INT(n, 3);
	gs_input_free(in);
	gs_make_free(m);
	gs_make_free(inner);
}

int main(void)
{
	TAP_RUN(test_flipped_bits);
	TAP_RUN(test_flipped_bits_without_index);
	TAP_RUN(test_prefixes);
	TAP_RUN(test_replaced_ranges);
	TAP_RUN(test_whole_blocks);
	TAP_RUN(test_recording_within);
	return tap_done();
}
