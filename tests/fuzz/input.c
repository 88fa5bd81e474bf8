/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz target of the file reader: opens the bytes as a recording, with and without index, and
 * decodes all of it. With -fsanitize=fuzzer as it is; with -DGS_FUZZ_MAIN a program that reads the
 * files it is given.
 *
 * Checksums would stop every mutation at the door. After a first pass as they are, the bytes are
 * therefore read again with all checksums mended, so that what is behind them is reached too.
 */
#include <stdio.h>

#include "common/hash.h"
#include "format/block.h"
#include "format/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

static void touch(const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sink ^= ((const uint8_t *)p)[i];
}

static void read_columns(const struct gs_meta *m, struct gs_batch *b)
{
	for (size_t s = 0; s < m->nschemas; s++) {
		for (uint32_t k = 0; k < m->schemas[s].nitems; k++) {
			const struct gs_column *c;
			struct gs_error *err = gs_batch_column(b, (uint32_t)s, k, &c);

			gs_error_free(err);
			if (err)
				continue;
			touch(c->status, c->nrows);
			touch(c->data,
			      c->offset ? c->offset[c->nrows] : (size_t)c->nrows * c->size);
			if (c->fault_address)
				touch(c->fault_address, c->nrows * sizeof(uint64_t));
		}
	}
}

static void read_rows(struct gs_input *in)
{
	struct gs_batch *batch, *last = NULL;
	struct gs_error *err;
	uint32_t row;

	while (!(err = gs_input_next(in, &batch, &row)) && batch) {
		sink ^= (uint8_t)(batch->time[row] ^ batch->site[row] ^ batch->pid[row]);
		touch(batch->comms[batch->comm[row]], 17);
		if (batch != last || row == 0)
			read_columns(gs_input_meta(in), batch);
		last = batch;
	}
	gs_error_free(err);
}

static void read_all(const uint8_t *data, size_t size, bool no_index)
{
	struct gs_input_options opts = {.no_index = no_index};
	const struct gs_damage *damages;
	struct gs_input *in;
	struct gs_error *err = gs_input_open_memory(data, size, &opts, &in);

	if (err) {
		touch(gs_error_message(err), strlen(gs_error_message(err)));
		gs_error_free(err);
		return;
	}
	read_rows(in);
	for (size_t n = gs_input_damages(in, &damages), i = 0; i < n; i++)
		touch(damages[i].message, strlen(damages[i].message));
	gs_input_free(in);
}

static void put_u32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

/* Walks the blocks by their lengths and makes both checksums right. */
static void mend(uint8_t *p, size_t size)
{
	size_t at = GS_SIGNATURE_LEN;

	while (at < size && size - at >= GS_HEADER_LEN) {
		size_t header = gs_block_peek(p + at, size - at);
		uint64_t stored = gs_load_uint(p + at + 32, 4, false);

		if (!header || header > size - at)
			return;
		if (stored <= size - at - header)
			put_u32(p + at + 72, gs_crc32c(0, p + at + header, stored));
		put_u32(p + at + 4, gs_crc32c(0, p + at + 8, header - 8));
		if (stored > size - at - header)
			return;
		at += header + stored;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = gs_malloc(size);

	memcpy(copy, data, size);
	read_all(copy, size, false);
	mend(copy, size);
	read_all(copy, size, false);
	read_all(copy, size, true);
	free(copy);
	return 0;
}

#ifdef GS_FUZZ_MAIN
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct gs_buf buf = {0};
		FILE *f = fopen(argv[i], "rb");
		size_t got;

		if (!f) {
			perror(argv[i]);
			return 1;
		}
		while ((got = fread(gs_buf_reserve(&buf, 65536), 1, 65536, f)))
			buf.len += got;
		fclose(f);
		LLVMFuzzerTestOneInput(buf.data, buf.len);
		gs_buf_deinit(&buf);
	}
	return 0;
}
#endif
