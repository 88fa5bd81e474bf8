/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exit statuses and what is said on standard error: usage, names, damage, losses, unclean ends; and
 * that
 * --help and the man page tell of the same options.
 */
#include <stdio.h>

#include "report/report.h"
#include "tests/lib/report_sample.h"
#include "tests/tap.h"

static void check(const char *path, const char *args, int want, const char *message)
{
	int status;
	char *err, *out = report_run(path, args, &status, &err);

	CHECK_INT(status, want);
	if (!strstr(err, message)) {
		CHECK_STR(err, message);
		printf("# of: %s\n", args);
	}
	free(out);
	free(err);
}

static void test_usage(void)
{
	char *path = report_save(report_sample());

	check(path, "--where nosuch", 1, "`nosuch' was not captured\n  nosuch\n  ^~~~~~\n");
	check(path, "--where lem", 1, "did you mean `len'");
	check(path, "--where 'len >'", 1, "a value is expected");
	check(path, "--where 'req.flag'", 1, "flags");
	check(path, "--fields ts,lem", 1, "did you mean `len'");
	check(path, "--probe 'x*'", 1, "no probe matches `x*'");
	check(path, "--hist len --top len", 1, "only one of");
	check(path, "--by len", 1, "--by needs");
	check(path, "--linear 0 --hist len", 1, "a width above 0");
	check(path, "--pid 1,x", 1, "--pid");
	check(path, "--time 3,2", 1, "the end is before the start");
	check(path, "--time x,2", 1, "--time");
	check(path, "--nosuch", 1, "nosuch");
	check(path, "--hist len,n", 1, "one expression");
	check(path, "--clock local", 1, "rel, mono or unix");
	check("/nonexistent/gs.data", "", 3, "/nonexistent/gs.data");
	check("/dev/null", "", 3, "gs-report: ");
}

static void test_left_out(void)
{
	char *path = report_save(report_sample());

	check(path, "--where 'n == 0'", 0,
	      "3 events of probes that did not capture it are left out");
	check(path, "--hist x", 0, "3 events in which it has no value are left out");
	check(path, "--top uri", 0, "1 event in which it has no value is left out");
}

static void test_notes(void)
{
	struct gs_make *m = report_sample();
	char *path;

	*GS_PUSH(m->meta->counters, m->meta->ncounters,
		 m->meta->counters_cap) = (struct gs_meta_counters){
		.probe = 0, .hits = 10, .matched = 10, .recorded = 3, .lost = 7, .faulted = 2};
	gs_writer_touch(m->writer, GS_META_COUNTERS);
	path = report_save(m);
	check(path, "--limit 1", 0, "probe handle: 7 of 10 events were lost while recording");
	check(path, "--limit 1", 0, "probe handle: 2 hits where memory could not be read");
}

static void test_output_is_not_input(void)
{
	char *path = report_save(report_sample()), *args = gs_asprintf("%s -o %s", path, path);
	char *argv[] = {"gs-report", path, "-o", path, NULL};
	struct gs_report_options opts;
	FILE *null = fopen("/dev/null", "w");

	CHECK(!gs_report_options_parse(&opts, 4, argv));
	CHECK_INT(gs_report_run(&opts, null), 1);
	gs_report_options_deinit(&opts);
	check(path, "--limit 1", 0, "");
	fclose(null);
	free(args);
}

static void rewrite(const char *path, size_t at, size_t keep)
{
	FILE *f = fopen(path, "r+");
	struct gs_buf all = {0};
	int c;

	while ((c = getc(f)) != EOF)
		gs_buf_putc(&all, (char)c);
	fclose(f);
	if (at)
		all.data[at] ^= 0x20;
	f = fopen(path, "w");
	fwrite(all.data, 1, keep ? keep : all.len, f);
	fclose(f);
	gs_buf_deinit(&all);
}

/* The first event block of a file, by its bytes: what is written by the first flush. */
static void test_damage(void)
{
	struct gs_make *m = report_sample();
	size_t end;
	char *path;
	int status;
	char *err, *out;

	gs_make_sync(m);
	end = m->file.len;
	path = report_save(m);
	rewrite(path, end - 3, 0);
	out = report_run(path, "--json", &status, &err);
	CHECK_INT(status, 2);
	CHECK(strstr(err, "damaged at byte") != NULL);
	CHECK(strstr(err, "checksum") != NULL);
	CHECK(strstr(out, "\"ts\":1204") != NULL);
	CHECK(strstr(out, "\"ts\":1500") == NULL);
	free(out);
	free(err);
}

static void test_no_end(void)
{
	struct gs_make *m = report_sample();
	size_t end;
	char *path, *err, *out;
	int status;

	gs_make_sync(m);
	end = m->file.len;
	path = report_save(m);
	rewrite(path, 0, end);
	out = report_run(path, "--fields ts", &status, &err);
	CHECK_INT(status, 0);
	CHECK(strstr(err, "did not end cleanly") != NULL);
	CHECK_STR(out, "0.000001204\n0.000001500\n0.000001501\n0.000002204\n0.000003204\n");
	free(out);
	free(err);
}

/* Every prefix of the file: a status, never a crash, and never a value that is not in the whole. */
static void test_prefixes(void)
{
	char *path = report_save(report_sample()), *whole, *out;
	int status;
	FILE *f = fopen(path, "r");
	long len;

	fseek(f, 0, SEEK_END);
	len = ftell(f);
	fclose(f);
	whole = report_run(path, "--json", &status, NULL);
	for (long keep = len - 1; keep > 0; keep -= keep > 400 ? 37 : 7) {
		char *cut = report_save(report_sample());

		rewrite(cut, 0, (size_t)keep);
		out = report_run(cut, "--json", &status, NULL);
		CHECK(status == 0 || status == 2 || status == 3);
		for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"))
			CHECK(strstr(whole, line) != NULL);
		free(out);
		remove(cut);
	}
	free(whole);
}

/* Flipped bits: every line that is shown is one of the whole file's. */
static void test_flipped_bits(void)
{
	char *path = report_save(report_sample()), *whole, *out, *err;
	int status;
	FILE *f = fopen(path, "r");
	long len;

	fseek(f, 0, SEEK_END);
	len = ftell(f);
	fclose(f);
	whole = report_run(path, "--json", &status, NULL);
	for (long at = 1; at < len; at += 7) {
		static const char *const formats[] = {"--json", "--csv", "--text", "--info"};

		rewrite(path, (size_t)at, 0);
		out = report_run(path, "--json", &status, &err);
		CHECK(status == 0 || status >= 2);
		/* Nothing is dropped in silence. */
		CHECK(status != 0 || strcmp(out, whole) == 0 || err[0]);
		for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"))
			CHECK(strstr(whole, line) != NULL);
		free(out);
		free(err);
		free(report_run(path, formats[at % 4], &status, NULL));
		rewrite(path, (size_t)at, 0);
	}
	free(whole);
}

/* ---- the man page ---- */

static char *read_all(FILE *f)
{
	struct gs_buf text = {0};
	int c;

	rewind(f);
	while ((c = getc(f)) != EOF)
		if (c != '\\') /* roff writes - as \- */
			gs_buf_putc(&text, (char)c);
	fclose(f);
	return gs_buf_cstr(&text);
}

static void test_man_page(void)
{
	FILE *page = fopen("Documentation/gs-report.1", "r"), *f = tmpfile();
	char *man = page ? read_all(page) : gs_strdup(""), *help;

	gs_report_help(f);
	help = read_all(f);
	for (size_t i = 0; i < gs_report_noptions; i++) {
		char *name = gs_asprintf("--%s", gs_report_option_table[i].long_name);

		CHECK(strstr(help, name) != NULL);
		if (!strstr(man, name))
			CHECK_STR("not in the man page", name);
		free(name);
	}
	/* And nothing in the man page that is not an option of ours. */
	for (char *p = man; (p = strstr(p, ".BI --")) || (p = NULL); p += 6) {
		char *name = p + 6;
		size_t n = strcspn(name, " \n"), k = 0;

		while (k < gs_report_noptions &&
		       (strlen(gs_report_option_table[k].long_name) != n ||
			strncmp(gs_report_option_table[k].long_name, name, n) != 0))
			k++;
		CHECK(k < gs_report_noptions);
	}
	free(man);
	free(help);
}

int main(void)
{
	TAP_RUN(test_usage);
	TAP_RUN(test_left_out);
	TAP_RUN(test_notes);
	TAP_RUN(test_output_is_not_input);
	TAP_RUN(test_damage);
	TAP_RUN(test_no_end);
	TAP_RUN(test_prefixes);
	TAP_RUN(test_flipped_bits);
	TAP_RUN(test_man_page);
	return tap_done();
}
