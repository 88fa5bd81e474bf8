/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Golden files: recordings that an earlier version wrote read the same for ever.
 * tests/golden/NAME.gs must decode to NAME.txt: of a little-endian 64-bit, a big-endian 64-bit and
 * a little-endian 32-bit target.
 *
 * `format_golden.t --write DIR' makes new ones; existing ones are never replaced, only added to
 * when the format grows.
 */
#include <stdio.h>

#include "tests/lib/format_sample.h"
#include "tests/tap.h"

static const struct {
	const char *name;
	struct gs_make_options opts;
} golden[] = {
	{"v1-le64", {.big_endian = false}},
	{"v1-be64", {.big_endian = true}},
	{"v1-le32", {.pointer_size = 4}},
};

static char *load(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	struct gs_buf buf = {0};
	size_t got;

	if (!f)
		return NULL;
	while ((got = fread(gs_buf_reserve(&buf, 4096), 1, 4096, f)))
		buf.len += got;
	fclose(f);
	*len = buf.len;
	return gs_buf_cstr(&buf);
}

static void first_difference(const char *got, const char *want)
{
	size_t line = 0, same = 0;

	for (size_t i = 0; got[i] && got[i] == want[i]; i++)
		if (got[i] == '\n') {
			same = i + 1;
			line++;
		}
	printf("# line %zu\n#   got:  %.*s\n#   want: %.*s\n", line + 1,
	       (int)strcspn(got + same, "\n"), got + same, (int)strcspn(want + same, "\n"),
	       want + same);
}

static void check(const char *name)
{
	GS_CLEANUP_FREE char *file = gs_asprintf("tests/golden/%s.gs", name);
	GS_CLEANUP_FREE char *text = gs_asprintf("tests/golden/%s.txt", name);
	size_t len = 0;
	GS_CLEANUP_FREE char *want = load(text, &len);
	struct gs_input *in = NULL;
	struct gs_error *err = gs_input_open(file, NULL, &in);
	struct gs_buf got = {0};

	CHECK(!err && want);
	if (!err && want) {
		sample_dump(&got, in);
		CHECK(!strcmp(gs_buf_cstr(&got), want));
		if (strcmp(gs_buf_cstr(&got), want) != 0)
			first_difference(gs_buf_cstr(&got), want);
	}
	gs_error_free(err);
	gs_buf_deinit(&got);
	gs_input_free(in);
}

static void test_golden_files(void)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(golden); i++)
		check(golden[i].name);
}

/* The values of the big-endian file are those of its target: checked apart from the text. */
static void test_values(void)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(golden); i++) {
		GS_CLEANUP_FREE char *file = gs_asprintf("tests/golden/%s.gs", golden[i].name);
		struct gs_input *in = NULL;
		struct gs_batch *batch;
		uint32_t row;
		long n = 0;

		CHECK(!gs_input_open(file, NULL, &in));
		if (!in)
			continue;
		CHECK_INT(gs_input_meta(in)->session.big_endian, golden[i].opts.big_endian);
		while (!gs_input_next(in, &batch, &row) && batch)
			CHECK_INT(sample_check(in, batch, row), n++);
		CHECK_INT(n, 40);
		gs_input_free(in);
	}
}

static void save(const char *dir, const char *name, const char *ext, const struct gs_buf *buf)
{
	GS_CLEANUP_FREE char *path = gs_asprintf("%s/%s.%s", dir, name, ext);
	FILE *f = fopen(path, "wbx"); /* never over an old one */

	if (!f || fwrite(buf->data, 1, buf->len, f) != buf->len || fclose(f))
		printf("# cannot write %s\n", path);
}

static int write_all(const char *dir)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(golden); i++) {
		struct gs_make *m = sample_make(&golden[i].opts, 40, 9);
		struct gs_input *in = NULL;
		struct gs_buf text = {0};

		gs_error_free(gs_input_open_memory(m->file.data, m->file.len, NULL, &in));
		sample_dump(&text, in);
		save(dir, golden[i].name, "gs", &m->file);
		save(dir, golden[i].name, "txt", &text);
		gs_buf_deinit(&text);
		gs_input_free(in);
		gs_make_free(m);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--write"))
		return write_all(argv[2]);
	TAP_RUN(test_golden_files);
	TAP_RUN(test_values);
	return tap_done();
}
