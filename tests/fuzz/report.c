/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz target of gs-report: the bytes, with their checksums mended, as a recording in every output
 * format, with expressions over names that recordings of the corpus have.
 *
 * What comes out must have no raw control character: a report is read in a terminal.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Its mending of checksums is used here, the target itself is not. */
#define LLVMFuzzerTestOneInput fuzz_input
#include "tests/fuzz/input.c"
#undef LLVMFuzzerTestOneInput

#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const runs[][6] = {
	{"--text", "--limit", "200"},
	{"--json", "--limit", "200"},
	{"--csv", "--limit", "200"},
	{"--json", "--limit", "200", "--fields", "values,values[0],$comm"},
	{"--stats", "len", "--by", "$probe,req.flags"},
	{"--hist", "p->d", "--linear", "3", "--json"},
	{"--top", "req", "--by", "uri"},
	{"--info"},
};

/* The same for all outputs and messages: lines, and in CSV fields, may have tabs and line ends. */
static void check_bytes(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((p[i] < 0x20 && p[i] != '\n' && p[i] != '\r' && p[i] != '\t') || p[i] == 0x7f)
			__builtin_trap();
}

/* A path for the bytes, or for what will be written. */
static char *memory_path(int *fd, const void *data, size_t size)
{
	*fd = memfd_create("fuzz", 0);
	if (*fd < 0 || write(*fd, data, size) != (ssize_t)size)
		abort();
	return gs_asprintf("/proc/self/fd/%d", *fd);
}

static void check_file(int fd)
{
	uint8_t buf[65536];
	ssize_t n;

	for (off_t at = 0; (n = pread(fd, buf, sizeof(buf), at)) > 0; at += n)
		check_bytes(buf, (size_t)n);
}

static void report(char *path, const char *const *args, size_t max)
{
	char *argv[16] = {"gs-report", "-o"}, *text;
	struct gs_report_options opts;
	int n = 3, fd;
	size_t len;
	FILE *messages = open_memstream(&text, &len);

	argv[2] = memory_path(&fd, "", 0);
	for (size_t i = 0; i < max && args[i]; i++)
		argv[n++] = (char *)args[i];
	argv[n++] = path;
	if (gs_report_options_parse(&opts, n, argv))
		abort();
	gs_report_run(&opts, messages);
	gs_report_options_deinit(&opts);
	fclose(messages);
	check_bytes((const uint8_t *)text, len);
	check_file(fd);
	close(fd);
	free(text);
	free(argv[2]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = gs_malloc(size + 1);
	char *path;
	int fd;

	memcpy(copy, data, size);
	mend(copy, size);
	path = memory_path(&fd, copy, size);
	for (size_t i = 0; i < GS_ARRAY_SIZE(runs); i++)
		report(path, runs[i], GS_ARRAY_SIZE(runs[i]));
	close(fd);
	free(path);
	free(copy);
	return 0;
}
