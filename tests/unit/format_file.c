/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Round trips: what the writer got is what the reader gives, in time order, from memory, files and
 * pipes.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/hash.h"
#include "format/block.h"
#include "tests/lib/format_sample.h"
#include "tests/tap.h"

static struct gs_input *open_ok(const struct gs_make *m, const struct gs_input_options *opts)
{
	struct gs_input *in = NULL;
	struct gs_error *err = gs_input_open_memory(m->file.data, m->file.len, opts, &in);

	CHECK(!err);
	if (err)
		printf("# %s\n", gs_error_message(err));
	gs_error_free(err);
	return in;
}

/* All rows of the sample once, in order; no damage. */
static void read_all(struct gs_input *in, uint32_t nrows)
{
	const struct gs_damage *damages;
	struct gs_batch *batch = NULL;
	struct gs_error *err;
	uint32_t row, n = 0;
	long wrong = 0;

	while (!(err = gs_input_next(in, &batch, &row)) && batch)
		wrong += sample_check(in, batch, row) != (long)n++;
	CHECK(!err);
	gs_error_free(err);
	CHECK_INT(wrong, 0);
	CHECK_INT(n, nrows);
	CHECK_INT(gs_input_damages(in, &damages), 0);
	for (size_t i = 0; i < gs_input_damages(in, &damages); i++)
		printf("# %s\n", damages[i].message);
	CHECK_INT(gs_input_late(in), 0);
	CHECK(gs_input_meta(in)->has_end);
	CHECK_INT(gs_input_meta(in)->end.events, nrows);
}

static void round_trip(const struct gs_make_options *mopts, uint32_t nrows, uint32_t per_block)
{
	struct gs_make *m = sample_make(mopts, nrows, per_block);

	for (int no_index = 0; no_index < 2; no_index++) {
		struct gs_input_options opts = {.no_index = no_index};
		struct gs_input *in = open_ok(m, &opts);

		if (in)
			read_all(in, nrows);
		gs_input_free(in);
	}
	gs_make_free(m);
}

static void test_sizes(void)
{
	static const uint32_t sizes[][2] = {{1, 1},  {2, 1},	 {5, 2},
					    {40, 7}, {500, 100}, {20000, 1000}};

	for (size_t i = 0; i < GS_ARRAY_SIZE(sizes); i++)
		round_trip(NULL, sizes[i][0], sizes[i][1]);
}

static void test_big_endian(void)
{
	struct gs_make_options opts = {.big_endian = true};

	round_trip(&opts, 1000, 100);
}

/* Metadata repeated all the time, and no index. */
static void test_repeats(void)
{
	struct gs_make_options opts = {.repeat_bytes = 1, .no_index = true};

	round_trip(&opts, 1000, 50);
}

static void test_whole_batches(void)
{
	struct gs_make *m = sample_make(NULL, 100, 10);
	struct gs_input *in = open_ok(m, NULL);
	struct gs_batch *batch;
	uint32_t n = 0, bad = 0;

	while (!gs_input_next_batch(in, &batch) && batch) {
		for (uint32_t i = 0; i < batch->nrows; i++)
			bad += sample_check(in, batch, i) < 0;
		n += batch->nrows;
	}
	CHECK_INT(n, 100);
	CHECK_INT(bad, 0);
	gs_input_free(in);
	gs_make_free(m);
}

static void test_time_window(void)
{
	struct gs_make *m = sample_make(NULL, 100, 10);
	struct gs_input *in = open_ok(m, NULL);
	struct gs_batch *batch;
	uint32_t row, n = 0;

	gs_input_set_time(in, 1040000, 1059999); /* rows 40..59: two of ten blocks */
	while (!gs_input_next(in, &batch, &row) && batch)
		n++;
	CHECK_INT(n, 20);
	gs_input_free(in);
	gs_make_free(m);
}

/* The file as a stream on standard input. */
static void test_pipe(void)
{
	struct gs_make *m = sample_make(NULL, 3000, 200);
	struct gs_input *in = NULL;
	struct gs_error *err;
	int fds[2];
	pid_t pid;

	CHECK_INT(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		for (size_t at = 0; at < m->file.len;) {
			ssize_t n = write(fds[1], m->file.data + at, m->file.len - at);

			at += n > 0 ? (size_t)n : 0;
		}
		_exit(0);
	}
	close(fds[1]);
	dup2(fds[0], STDIN_FILENO);
	close(fds[0]);
	err = gs_input_open("-", NULL, &in);
	CHECK(!err);
	if (in) {
		CHECK(!gs_input_seekable(in));
		read_all(in, 3000);
		CHECK_INT(gs_input_size(in), m->file.len);
	}
	gs_input_free(in);
	waitpid(pid, NULL, 0);
	gs_make_free(m);
}

/* A live view must not wait for the next block to show the last events. */
static void test_pipe_idle(void)
{
	struct gs_make *m = sample_make(NULL, 4, 2);
	struct gs_input_options opts = {.window_ns = 30000000};
	struct gs_input *in = NULL;
	struct gs_batch *batch;
	uint32_t row, n = 0;
	int fds[2];

	CHECK_INT(pipe(fds), 0);
	CHECK_INT(write(fds[1], m->file.data, m->file.len), m->file.len);
	dup2(fds[0], STDIN_FILENO);
	close(fds[0]);
	CHECK(!gs_input_open("-", &opts, &in));
	while (n < 4 && !gs_input_next(in, &batch, &row) && batch)
		CHECK_INT(sample_check(in, batch, row), n++); /* would hang: the pipe is open */
	CHECK_INT(n, 4);
	close(fds[1]);
	CHECK(!gs_input_next(in, &batch, &row) && !batch);
	gs_input_free(in);
	gs_make_free(m);
}

/* Late in the pipe: given at once, and counted. */
static void test_pipe_late(void)
{
	struct gs_input_options opts = {.window_ns = 1000};
	struct gs_input *in = NULL;
	struct gs_batch *batch;
	uint64_t times[3] = {0};
	uint32_t row, site, n = 0;
	struct gs_make *m;
	int fds[2];

	CHECK_INT(pipe(fds), 0);
	m = gs_make_new(&(struct gs_make_options){.fd = fds[1], .no_index = true});
	site = gs_make_site(m, gs_make_probe(m, "p"), gs_make_schema(m), "f", "f.c", 1);
	gs_make_event(m, 10000, 0, site, 1, 1, "c");
	gs_make_event(m, 90000, 0, site, 1, 1, "c");
	gs_make_event(m, 20000, 1, site, 1, 1, "c");
	gs_make_end(m, 0);
	close(fds[1]);
	dup2(fds[0], STDIN_FILENO);
	close(fds[0]);
	CHECK(!gs_input_open("-", &opts, &in));
	while (n < 3 && !gs_input_next(in, &batch, &row) && batch)
		times[n++] = batch->time[row];
	CHECK_INT(n, 3);
	CHECK_INT(times[0], 10000);
	CHECK_INT(times[1] + times[2], 110000);
	CHECK_INT(gs_input_late(in), times[1] == 90000);
	gs_input_free(in);
	gs_make_free(m);
}

/* Equal times: by cpu, then in the order of the ring buffer. */
static void test_ties(void)
{
	struct gs_make *m = gs_make_new(NULL);
	uint32_t s = gs_make_schema(m), site, row, n = 0;
	struct gs_batch *batch;
	struct gs_input *in;

	gs_make_item(m, s, "n", gs_make_int(m, "int", 4, true), 4, 0);
	site = gs_make_site(m, gs_make_probe(m, "p"), s, "f", "f.c", 1);
	for (uint32_t cpu = 2; cpu-- > 0;)
		for (uint32_t i = 0; i < 3; i++) {
			gs_make_event(m, 500, cpu, site, 1, 1, "c");
			gs_make_uint(m, 0, 3 * cpu + i);
		}
	gs_make_end(m, 0);
	in = open_ok(m, NULL);
	while (!gs_input_next(in, &batch, &row) && batch) {
		const struct gs_column *c;

		CHECK(!gs_batch_column(batch, s, 0, &c));
		CHECK_INT(gs_load_uint(c->data + 4 * batch->schema_row[row], 4, false), n++);
	}
	CHECK_INT(n, 6);
	gs_input_free(in);
	gs_make_free(m);
}

/* Records of an unknown site, of a wrong kind, of a wrong length: counted, and the rest is kept. */
static void test_bad_records(void)
{
	struct gs_make *m = gs_make_new(NULL);
	uint32_t s = gs_make_schema(m);
	struct gs_event_head heads[4] = {{.len = 48, .site = 0, .time_ns = 3},
					 {.len = 48, .site = 9},
					 {.len = 48, .kind = GS_RECORD_FORK},
					 {.len = 48, .site = 0, .time_ns = 1}};
	struct gs_event_head longer[2] = {{.len = 56, .site = 0}};
	uint64_t bad = 0;

	gs_make_site(m, gs_make_probe(m, "p"), s, "f", "f.c", 1);
	CHECK(!gs_writer_events(m->writer, 0, heads, sizeof(heads), &bad));
	CHECK_INT(bad, 2);
	CHECK_INT(gs_writer_rows(m->writer), 2);
	CHECK(!gs_writer_events(m->writer, 0, longer, 56, &bad));
	CHECK_INT(bad, 3);
	CHECK(!gs_writer_events(m->writer, 0, heads, 40, &bad));
	CHECK_INT(bad, 4);
	CHECK_INT(gs_writer_rows(m->writer), 2);
	gs_make_free(m);
}

static void test_unwritable(void)
{
	struct gs_writer_options opts = {.fd = -1};
	struct gs_writer *w = NULL;
	struct gs_error *err = gs_writer_open(&opts, &w);

	CHECK(err && gs_error_code_of(err) == GS_ERR_SYSTEM);
	gs_error_free(err);
	CHECK(w == NULL);
}

static uint32_t count_undamaged(const char *path)
{
	const struct gs_damage *damages;
	struct gs_batch *batch;
	struct gs_input *in = NULL;
	uint32_t row, n = 0;

	CHECK(!gs_input_open(path, NULL, &in));
	while (in && !gs_input_next(in, &batch, &row) && batch)
		n++;
	if (in)
		CHECK_INT(gs_input_damages(in, &damages), 0);
	gs_input_free(in);
	return n;
}

/* Disk full (a file size limit does the same): half a block is taken back, the file stays valid. */
static void test_disk_full(void)
{
	struct rlimit old, low;
	struct gs_make *m = gs_make_new(NULL);
	uint32_t s = gs_make_schema(m);
	struct gs_event_head head = {.len = 48, .time_ns = 1};
	struct gs_error *err = NULL;
	uint64_t bad = 0, rows;
	char path[32];

	gs_make_site(m, gs_make_probe(m, "p"), s, "f", "f.c", 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", m->fd);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	low = (struct rlimit){2000, old.rlim_max};
	setrlimit(RLIMIT_FSIZE, &low);
	for (int i = 0; i < 100 && !err; i++)
		err = gs_writer_events(m->writer, 0, &head, sizeof(head), &bad);
	setrlimit(RLIMIT_FSIZE, &old);
	CHECK(err && gs_error_code_of(err) == GS_ERR_SYSTEM);
	CHECK(err && strstr(gs_error_message(err), "cannot write the recording"));
	gs_error_free(err);
	rows = gs_writer_rows(m->writer);
	CHECK(rows > 2);
	CHECK_INT(count_undamaged(path), rows);
	gs_make_end(m, 0); /* there is room again */
	CHECK_INT(count_undamaged(path), rows);
	gs_make_free(m);
}

/* A recording that goes on: types, schemas and sites that come after the first events. */
static void test_late_metadata(void)
{
	struct gs_make *m = gs_make_new(NULL);
	struct gs_input *in;
	struct gs_batch *batch;
	uint32_t row, n = 0;

	for (uint32_t i = 0; i < 5; i++) {
		char name[8];
		uint32_t s = gs_make_schema(m), site;

		snprintf(name, sizeof(name), "t%u", i);
		gs_make_item(m, s, "n", gs_make_int(m, name, 4, true), 4, 0);
		site = gs_make_site(m, gs_make_probe(m, name), s, "f", "f.c", i);
		gs_make_event(m, 100 + i, 0, site, 1, 1, "c");
		gs_make_uint(m, 0, i);
		gs_make_sync(m);
		in = open_ok(m, NULL); /* each state of the file is readable */
		CHECK(!gs_input_meta(in)->has_end);
		CHECK_INT(gs_input_meta(in)->nsites, i + 1);
		gs_input_free(in);
	}
	gs_make_end(m, 0);
	in = open_ok(m, NULL);
	while (!gs_input_next(in, &batch, &row) && batch) {
		const struct gs_meta *meta = gs_input_meta(in);
		const struct gs_meta_site *site = &meta->sites[batch->site[row]];
		gs_type_id type = meta->schemas[site->schema].items[0].type;

		CHECK_INT(site->line, n);
		CHECK_INT(gs_type_get(meta->types, type)->name[1], '0' + (int)n);
		n++;
	}
	CHECK_INT(n, 5);
	gs_input_free(in);
	gs_make_free(m);
}

static void refuse(const void *data, size_t len, enum gs_error_code code, const char *part)
{
	struct gs_input *in = NULL;
	struct gs_error *err = gs_input_open_memory(data, len, NULL, &in);

	CHECK(err && gs_error_code_of(err) == code);
	CHECK(err && strstr(gs_error_message(err), part));
	if (err && !strstr(gs_error_message(err), part))
		printf("# %s\n", gs_error_message(err));
	gs_error_free(err);
	gs_input_free(in);
}

static void test_other_files(void)
{
	refuse("", 0, GS_ERR_DAMAGED, "an empty file");
	refuse("\x89GSD", 4, GS_ERR_DAMAGED, "only the first bytes");
	refuse("\x89GSD\r\n\x1a\n", 8, GS_ERR_DAMAGED, "without any readable block");
	refuse("\x89GSD\n\x1a\nxxxxxxxxxx", 16, GS_ERR_DAMAGED, "line ends");
	refuse("\tGSD\r\n\x1a\nxxxxxxxxxx", 16, GS_ERR_DAMAGED, "eighth bits");
	refuse("\x7f"
	       "ELF............",
	       16, GS_ERR_DAMAGED, "an ELF file");
	refuse("PERFILE2........", 16, GS_ERR_DAMAGED, "perf.data");
	refuse("hello world, this is text", 25, GS_ERR_DAMAGED, "something else");
}

/* Rewrites the header of the first block. */
static void patch_header(struct gs_make *m, void (*change)(struct gs_block_header *))
{
	struct gs_block_header h;
	struct gs_buf out = {0};

	CHECK(gs_block_parse(m->file.data + 8, m->file.len - 8, &h));
	change(&h);
	gs_block_put_header(&out, &h);
	memcpy(m->file.data + 8, out.data, out.len);
	gs_buf_deinit(&out);
}

static void newer(struct gs_block_header *h)
{
	h->incompat = 1 << 5;
}

static void unknown(struct gs_block_header *h)
{
	h->type = 77;
	h->flags &= ~(uint32_t)GS_BLOCK_REQUIRED;
}

static void required(struct gs_block_header *h)
{
	h->type = 77;
	h->flags |= GS_BLOCK_REQUIRED;
}

static void test_newer_versions(void)
{
	struct gs_make *m = sample_make(NULL, 8, 4);
	struct gs_input_options scan = {.no_index = true};
	struct gs_input *in;

	patch_header(m, unknown); /* the session: its repeated copy is used, and nothing is said */
	in = open_ok(m, &scan);
	CHECK(gs_input_meta(in)->has_session);
	read_all(in, 8);
	gs_input_free(in);
	m->file.data[m->file.len - 1] ^= 1; /* no index */
	patch_header(m, required);
	refuse(m->file.data, m->file.len, GS_ERR_INCOMPATIBLE, "required block type 77");
	patch_header(m, newer);
	refuse(m->file.data, m->file.len, GS_ERR_INCOMPATIBLE, "0x20");
	gs_make_free(m);
}

int main(void)
{
	TAP_RUN(test_sizes);
	TAP_RUN(test_big_endian);
	TAP_RUN(test_repeats);
	TAP_RUN(test_whole_batches);
	TAP_RUN(test_time_window);
	TAP_RUN(test_pipe);
	TAP_RUN(test_pipe_idle);
	TAP_RUN(test_pipe_late);
	TAP_RUN(test_ties);
	TAP_RUN(test_bad_records);
	TAP_RUN(test_unwritable);
	TAP_RUN(test_disk_full);
	TAP_RUN(test_late_metadata);
	TAP_RUN(test_other_files);
	TAP_RUN(test_newer_versions);
	return tap_done();
}
