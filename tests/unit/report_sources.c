/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inputs that are not one recording: streams without an end, recordings one behind the other, files
 * with holes, names that a terminal must not see.
 */
#include <fcntl.h>
#include <unistd.h>

#include "tests/lib/report_sample.h"
#include "tests/tap.h"

static void check(const char *path, const char *args, int want, const char *message)
{
	int status;
	char *err, *out = report_run(path, args, &status, &err);

	CHECK_INT(status, want);
	CHECK(strstr(err, message) != NULL);
	if (!strstr(err, message))
		printf("# %s", err);
	free(out);
	free(err);
}

static void test_not_recordings(void)
{
	check("/dev/zero", "", 3,
	      "/dev/zero: not a recording of gs-record: no block could be read");
	check("/dev/null", "", 3, "/dev/null: not a recording of gs-record: an empty file");
	check("/", "", 3, "gs-report: /: cannot read: Is a directory");
	check("/no\x1b[31m/\xe2\x80\xae", "", 3,
	      "gs-report: /no\\033[31m/\\342\\200\\256: cannot open: No such file");
}

static size_t append(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_APPEND);
	off_t at = lseek(fd, 0, SEEK_END);

	CHECK(write(fd, data, len) == (ssize_t)len);
	close(fd);
	return (size_t)at;
}

static void test_one_behind_the_other(void)
{
	char *path = report_save(report_sample());
	struct gs_make *m = report_sample();

	gs_make_end(m, 0);
	append(path, m->file.data, m->file.len);
	gs_make_free(m);
	check(path, "--limit 1", 2, "another recording was appended here");
}

/* A recording, and then nothing at all, with a hole of 64 GiB behind it. */
static void test_hole(void)
{
	char *path = report_save(report_sample());

	CHECK_INT(truncate(path, (off_t)64 << 30), 0);
	check(path, "--where len", 2, "no block where one should begin");
	CHECK_INT(truncate(path, 0), 0);
	CHECK_INT(truncate(path, (off_t)64 << 30), 0);
	check(path, "", 3, "not a recording of gs-record: something else");
}

static void test_no_probe_has_all(void)
{
	char *path = report_save(report_sample());

	check(path, "--where 'n && uri'", 1, "some probe captured `");
	check(path, "--where 'm'", 1, "`m' was not captured");
}

int main(void)
{
	TAP_RUN(test_not_recordings);
	TAP_RUN(test_one_behind_the_other);
	TAP_RUN(test_hole);
	TAP_RUN(test_no_probe_has_all);
	return tap_done();
}
