/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit tests of command lines by table.
 * In the flow: between argv and the two main functions.
 */
#include "common/option.h"
#include "common/mem.h"
#include "tests/tap.h"

static const struct gs_option table[] = {
	{'o', "output", "FILE", "Output", "write to FILE", 1},
	{'v', "verbose", NULL, "Output", "say more", 2},
	{'q', "quiet", NULL, "Output", "say less", 3},
	{0, "string-limit", "N", "Limits",
	 "bytes of a string; a long text that must be wrapped because a terminal has eighty "
	 "columns",
	 4},
	{0, "string", "N", "Limits", "something", 5},
	{'x', NULL, "BINARY", "Limits", "which", 6},
};

static char seen[512];
static char *args[16];

static struct gs_error *set(void *ctx, int id, const char *value)
{
	size_t n = strlen(seen);

	snprintf(seen + n, sizeof(seen) - n, "%d=%s;", id, value ? value : "-");
	return NULL;
}

/* Parses the words of LINE; gives what was set, then what is left. */
static const char *parse(const char *line, bool stop)
{
	static char copy[256];
	struct gs_error *err;
	int argc = 1, rest = 0;
	size_t n;

	snprintf(copy, sizeof(copy), "%s", line);
	args[0] = (char *)"prog";
	for (char *w = strtok(copy, " "); w; w = strtok(NULL, " "))
		args[argc++] = w;
	args[argc] = NULL;
	seen[0] = '\0';
	err = gs_options_parse(table, GS_ARRAY_SIZE(table), argc, args, stop, set, NULL, &rest);
	if (err) {
		snprintf(seen, sizeof(seen), "%s%s%s", gs_error_message(err),
			 gs_error_hint_at(err, 0) ? " / " : "",
			 gs_error_hint_at(err, 0) ? gs_error_hint_at(err, 0) : "");
		gs_error_free(err);
		return seen;
	}
	for (int i = rest; i < argc; i++) {
		n = strlen(seen);
		snprintf(seen + n, sizeof(seen) - n, "[%s]", args[i]);
	}
	return seen;
}

static void test_forms(void)
{
	CHECK_STR(parse("-o f -v", false), "1=f;2=-;");
	CHECK_STR(parse("-of -vq", false), "1=f;2=-;3=-;");
	CHECK_STR(parse("-vof", false), "2=-;1=f;");
	CHECK_STR(parse("--output=f --output f --output=", false), "1=f;1=f;1=;");
	CHECK_STR(parse("-x -v", false), "6=-v;");
	CHECK_STR(parse("-o -", false), "1=-;");
}

static void test_positionals(void)
{
	CHECK_STR(parse("a -v b -o f c", false), "2=-;1=f;[a][b][c]");
	CHECK_STR(parse("-v a -q", true), "2=-;[a][-q]");
	CHECK_STR(parse("a -- -v b", false), "[a][-v][b]");
	CHECK_STR(parse("-v -- -q", true), "2=-;[-q]");
	CHECK_STR(parse("- -v", false), "2=-;[-]");
	CHECK_STR(parse("", true), "");
}

static void test_prefixes(void)
{
	CHECK_STR(parse("--out f", false), "1=f;");
	CHECK_STR(parse("--string 3", false), "5=3;");
	CHECK_STR(parse("--string-l=3", false), "4=3;");
	CHECK_STR(parse("--str 3", false), "option --str is ambiguous: --string-limit or --string");
}

static void test_errors(void)
{
	CHECK_STR(parse("--verbos=3", false), "option --verbose takes no argument");
	CHECK_STR(parse("--output", false), "option --output needs an argument: FILE");
	CHECK_STR(parse("-o", false), "option -o needs an argument: FILE");
	CHECK_STR(parse("--outptu f", false), "unknown option --outptu / did you mean `--output'?");
	CHECK_STR(parse("--zzzzzz", false), "unknown option --zzzzzz / --help lists the options");
	CHECK_STR(parse("-z", false), "unknown option -z / --help lists the options");
}

static void test_help(void)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	gs_options_help(f, "usage: prog [OPTION]", table, GS_ARRAY_SIZE(table), "See prog(1).");
	fclose(f);
	CHECK_STR(
		text,
		"usage: prog [OPTION]\n"
		"\nOutput:\n"
		"  -o, --output=FILE         write to FILE\n"
		"  -v, --verbose             say more\n"
		"  -q, --quiet               say less\n"
		"\nLimits:\n"
		"      --string-limit=N      bytes of a string; a long text that must be wrapped\n"
		"                            because a terminal has eighty columns\n"
		"      --string=N            something\n"
		"  -x BINARY                 which\n"
		"\nSee prog(1).\n");
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		CHECK(strlen(line) < 80);
	free(text);
}

int main(void)
{
	TAP_RUN(test_forms);
	TAP_RUN(test_positionals);
	TAP_RUN(test_prefixes);
	TAP_RUN(test_errors);
	TAP_RUN(test_help);
	return tap_done();
}
