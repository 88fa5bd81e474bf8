/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line of gs-record: what it gives, and what it refuses with which words.
 * Tests the first step of the recorder, without starting anything.
 */
#include "record/options.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/tap.h"

#define MAX_WORDS 40

/* Splits LINE at spaces; "~" stands for an empty word. */
static int split(char *line, char **argv)
{
	int n = 0;

	argv[n++] = (char *)"gs-record";
	while (*line && n < MAX_WORDS) {
		argv[n++] = line;
		line += strcspn(line, " ");
		if (*line)
			*line++ = 0;
		if (!strcmp(argv[n - 1], "~"))
			argv[n - 1] = (char *)"";
	}
	argv[n] = NULL;
	return n;
}

static struct gs_error *parse(const char *line, struct gs_record_options *out)
{
	static char copy[1024];
	static char *argv[MAX_WORDS + 1];

	snprintf(copy, sizeof(copy), "%s", line);
	return gs_record_options_parse(split(copy, argv), argv, out);
}

static void test_defaults(void)
{
	struct gs_record_options o;

	CHECK(!parse("-e work -- ./srv -p 80", &o));
	CHECK_STR(o.output, "gs.data");
	CHECK_INT(o.nprobes, 1);
	CHECK_STR(o.probes[0], "work");
	CHECK_STR(o.command[0], "./srv");
	CHECK_STR(o.command[1], "-p");
	CHECK_INT(o.npids, 0);
	CHECK_INT(o.string_limit, 200);
	CHECK_INT(o.array_limit, 200);
	CHECK_INT(o.depth, 0);
	CHECK_INT(o.max_events, 0);
	CHECK(o.feature_mask == ~0u);
	gs_record_options_deinit(&o);
}

static void test_all_options(void)
{
	struct gs_record_options o;

	CHECK(!parse(
		"-o x.data -e a -e b -p 7,8,7 -p 9 --duration 1.5s --max-events 10 --max-size 10M "
		"--buffer-size 8M --string-limit 50 --depth 2 --max-sites 5 --no-follow -q",
		&o));
	CHECK_STR(o.output, "x.data");
	CHECK_INT(o.nprobes, 2);
	CHECK_INT(o.npids, 3);
	CHECK_INT(o.pids[2], 9);
	CHECK_INT(o.duration_ns, 1500000000);
	CHECK_INT(o.max_events, 10);
	CHECK_INT(o.max_size, 10 << 20);
	CHECK_INT(o.buffer_bytes, 8 << 20);
	CHECK_INT(o.string_limit, 50);
	CHECK_INT(o.depth, 2);
	CHECK_INT(o.max_sites, 5);
	CHECK(o.no_follow && o.quiet && !o.verbose);
	CHECK(!o.command);
	gs_record_options_deinit(&o);
}

static void test_command_without_dashes(void)
{
	struct gs_record_options o;

	CHECK(!parse("-e work prog -e x --help", &o));
	CHECK_INT(o.nprobes, 1);
	CHECK(!o.help);
	CHECK_STR(o.command[3], "--help");
	gs_record_options_deinit(&o);
}

static void test_help_needs_nothing(void)
{
	struct gs_record_options o;

	CHECK(!parse("--help", &o));
	CHECK(o.help);
	gs_record_options_deinit(&o);
	CHECK(!parse("--version", &o));
	CHECK(o.version);
	gs_record_options_deinit(&o);
}

static void test_listings(void)
{
	struct gs_record_options o;

	CHECK(!parse("-L work -x prog", &o));
	CHECK_INT(o.listing, GS_LIST_LINES);
	CHECK_STR(o.listing_arg, "work");
	gs_record_options_deinit(&o);
	CHECK(!parse("-F w* prog", &o));
	CHECK_INT(o.listing, GS_LIST_FUNCTIONS);
	gs_record_options_deinit(&o);
}

static void test_probe_file(void)
{
	char path[] = "/tmp/gs-probes-XXXXXX", line[128];
	int fd = mkstemp(path);
	struct gs_record_options o;

	CHECK(write(fd, "# two\nwork\n\nmain { argc }\n", 26) == 26);
	close(fd);
	snprintf(line, sizeof(line), "-e first -f %s -e last prog", path);
	CHECK(!parse(line, &o));
	CHECK_INT(o.nprobes, 4);
	CHECK_STR(o.probes[1], "work");
	CHECK_STR(o.probes[2], "main { argc }");
	CHECK_STR(o.probes[3], "last");
	gs_record_options_deinit(&o);
	unlink(path);
}

static void test_refused(void)
{
	static const struct {
		const char *line, *words[2];
	} cases[] = {
		{"-e work", {"command", "-x"}},
		{"prog", {"no probe", "-e"}},
		{"-e work -p 1 prog", {"not both", "prog"}},
		{"-e work -p 1x", {"`1x'", "process id"}},
		{"-e work -p 1,,2", {"`'", "process id"}},
		{"-e work -p -5", {"`-5'", "process id"}},
		{"-e work -p 0", {"`0'", "process id"}},
		{"-e work -p 99999999999", {"`99999999999'", "process id"}},
		{"-e work -x a -x b", {"`a'", "`b'"}},
		{"-e work --max-events 0 prog", {"--max-events", "`0'"}},
		{"-e work --max-events 1e6 prog", {"--max-events", "`1e6'"}},
		{"-e work --max-events 99999999999999999999 prog", {"--max-events", "999"}},
		{"-e work --duration 0 prog", {"--duration", "`0'"}},
		{"-e work --duration soon prog", {"--duration", "`soon'"}},
		{"-e work --buffer-size 12Q prog", {"--buffer-size", "`12Q'"}},
		{"-e work --buffer-size 1 prog", {"--buffer-size", "64.0 KiB"}},
		{"-e work --string-limit 40000 prog", {"--string-limit", "`40000'"}},
		{"-e work --depth 99 prog", {"--depth", "`99'"}},
		{"-e work -q -v prog", {"-q", "-v"}},
		{"-e work -L work prog", {"-L", "-e"}},
		{"-L a -V b prog", {"-L", "-V"}},
		{"-e work --no-follow -x prog", {"--no-follow", "command"}},
		{"-e work --user root -x prog", {"--user", "root"}},
		{"-e work -o ~ prog", {"-o", "empty"}},
		{"-e work --no-such prog", {"--no-such", ""}},
		{"-e work -f /no/such prog", {"/no/such", ""}},
	};
	struct gs_record_options o;

	for (size_t i = 0; i < GS_ARRAY_SIZE(cases); i++) {
		struct gs_error *err = parse(cases[i].line, &o);

		CHECK(err);
		if (!err) {
			printf("# accepted: %s\n", cases[i].line);
			gs_record_options_deinit(&o);
			continue;
		}
		for (int k = 0; k < 2; k++) {
			if (!strstr(gs_error_message(err), cases[i].words[k]))
				printf("# %s: %s\n", cases[i].line, gs_error_message(err));
			CHECK(strstr(gs_error_message(err), cases[i].words[k]));
		}
		gs_error_free(err);
	}
}

static void test_features_off(void)
{
	struct gs_record_options o;
	struct gs_error *err;

	setenv("GS_FEATURES_OFF", "no-multi", 1);
	CHECK(!parse("-e work prog", &o));
	CHECK(o.feature_mask != ~0u);
	gs_record_options_deinit(&o);
	setenv("GS_FEATURES_OFF", "no-such-feature", 1);
	err = parse("-e work prog", &o);
	CHECK(err);
	gs_error_free(err);
	unsetenv("GS_FEATURES_OFF");
}

int main(void)
{
	TAP_RUN(test_defaults);
	TAP_RUN(test_all_options);
	TAP_RUN(test_command_without_dashes);
	TAP_RUN(test_help_needs_nothing);
	TAP_RUN(test_listings);
	TAP_RUN(test_probe_file);
	TAP_RUN(test_refused);
	TAP_RUN(test_features_off);
	return tap_done();
}
