/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit tests of the text rules: escaping, globs, nearest names, sizes, 128-bit integers.
 * In the flow: what stands between foreign bytes and a terminal.
 */
#include "common/text.h"
#include "tests/tap.h"

static char last[4096];

static const char *escaped(const void *s, size_t n, enum gs_escape mode)
{
	struct gs_buf b = {0};

	gs_escape(&b, s, n, mode);
	snprintf(last, sizeof(last), "%s", gs_buf_cstr(&b));
	gs_buf_deinit(&b);
	return last;
}
#define ESCAPED(s, mode) escaped((s), sizeof(s) - 1, GS_ESCAPE_##mode)

static void test_escape_c(void)
{
	CHECK_STR(ESCAPED("a\"b\\c\n\t\r\a", C), "a\\\"b\\\\c\\n\\t\\r\\a");
	CHECK_STR(ESCAPED("\0\x1b\x7f", C), "\\000\\033\\177");
	CHECK_STR(ESCAPED("\xff\xc3\xa9\xc3", C), "\\377\xc3\xa9\\303");
	CHECK_STR(ESCAPED("\xc2\x9b", C), "\\302\\233");	  /* C1: CSI */
	CHECK_STR(ESCAPED("\xe2\x80\xae", C), "\\342\\200\\256"); /* U+202E */
}

static void test_escape_json(void)
{
	CHECK_STR(ESCAPED("a\"b\\c\n\t\r\b\f/", JSON), "a\\\"b\\\\c\\n\\t\\r\\b\\f/");
	CHECK_STR(ESCAPED("\0\x1b\x7f", JSON), "\\u0000\\u001b\\u007f");
	CHECK_STR(ESCAPED("\xff", JSON), "\\\\xff");
	CHECK_STR(ESCAPED("\xe2\x80\xae\xe2\x81\xa6\xd8\x9c", JSON), "\\u202e\\u2066\\u061c");
	CHECK_STR(ESCAPED("\xe2\x80\xa8", JSON), "\\u2028");
	CHECK_STR(ESCAPED("\xf0\x9f\x98\x80", JSON), "\xf0\x9f\x98\x80");
}

static void test_escape_plain_and_csv(void)
{
	CHECK_STR(ESCAPED("a\"b\\c\n", PLAIN), "a\"b\\c\\n");
	CHECK_STR(ESCAPED("a\"b\\c\n\t\r", CSV), "a\"b\\c\n\t\\x0d");
	CHECK_STR(ESCAPED("\xff\xe2\x80\x8f", CSV), "\\xff\\u{200F}");
	CHECK_STR(ESCAPED("", CSV), "");
}

/* Every sequence of bytes comes out as valid UTF-8 without control characters. */
static void test_escape_output_is_always_clean(void)
{
	static const uint8_t odd[] = {0,    'a',  0x1b, 0x7f, 0x80, 0x9b, 0xbf, 0xc0, 0xc2, 0xe2,
				      0x80, 0xae, 0xed, 0xa0, 0xf0, 0x90, 0xf4, 0xf5, 0xff, '"'};
	uint32_t state = 1, cp;

	for (int round = 0; round < 20000; round++) {
		uint8_t in[6];
		struct gs_buf b = {0};

		for (size_t i = 0; i < sizeof(in); i++) {
			state = state * 1103515245 + 12345;
			in[i] = odd[(state >> 16) % sizeof(odd)];
		}
		gs_escape(&b, in, sizeof(in), (enum gs_escape)(round % 4));
		for (size_t i = 0; i < b.len;) {
			size_t n = gs_utf8_decode(b.data + i, b.len - i, &cp);

			CHECK(n > 0 && cp >= 0x20 && !(cp >= 0x7f && cp < 0xa0) && cp != 0x202e);
			i += n ? n : 1;
		}
		gs_buf_deinit(&b);
	}
}

static size_t utf8(const char *s, size_t n)
{
	uint32_t cp;

	return gs_utf8_decode((const uint8_t *)s, n, &cp);
}

static void test_utf8_edges(void)
{
	CHECK_INT(utf8("\xc1\xbf", 2), 0);	   /* overlong */
	CHECK_INT(utf8("\xe0\x9f\xbf", 3), 0);	   /* overlong */
	CHECK_INT(utf8("\xed\xa0\x80", 3), 0);	   /* surrogate */
	CHECK_INT(utf8("\xf4\x90\x80\x80", 4), 0); /* beyond U+10FFFF */
	CHECK_INT(utf8("\xf4\x8f\xbf\xbf", 4), 4);
	CHECK_INT(utf8("\xe2\x82\xac", 2), 0); /* cut */
	CHECK_INT(utf8("\xe2\x82\xac", 3), 3);
}

static void test_globs(void)
{
	static const struct {
		const char *pattern, *s;
		bool match;
	} cases[] = {
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"a*b*c", "aXbYbZc", true},
		{"a*b*c", "aXbYbZ", false},
		{"?", "\xc3\xa9", true},
		{"??", "\xc3\xa9", false},
		{"?", "\xff", true},
		{"[a-c]x", "bx", true},
		{"[a-c]x", "dx", false},
		{"[!a-c]x", "dx", true},
		{"[^a-c]x", "ax", false},
		{"[]]", "]", true},
		{"[!]]", "]", false},
		{"[a", "[a", true},
		{"[a-]", "-", true},
		{"[\\]]", "]", true},
		{"\\*", "*", true},
		{"\\*", "x", false},
		{"a\\", "a\\", true},
		{"*\\?*", "what?now", true},
		{"ns::*", "ns::f(int)", true},
		{"A", "a", false},
		{"*.so*", "libc.so.6", true},
	};

	for (size_t i = 0; i < GS_ARRAY_SIZE(cases); i++) {
		bool got = gs_glob_match(cases[i].pattern, cases[i].s);

		if (got != cases[i].match)
			printf("# %s %s\n", cases[i].pattern, cases[i].s);
		CHECK(got == cases[i].match);
	}
}

static void test_glob_is_not_exponential(void)
{
	char s[4001];

	memset(s, 'a', 4000);
	s[4000] = '\0';
	CHECK(!gs_glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*b", s));
}

static const char *hint(const char *wanted, const char *const *names)
{
	struct gs_nearest near = {.wanted = wanted};
	char *text;

	for (; *names; names++)
		gs_nearest_feed(&near, *names);
	text = gs_nearest_hint(&near);
	snprintf(last, sizeof(last), "%s", text ? text : "nothing");
	free(text);
	gs_nearest_deinit(&near);
	return last;
}

static void test_nearest(void)
{
	static const char *const names[] = {"length", "size",	 "flags", "sizes",
					    "size",   "ns::foo", "Size",  NULL};
	static const char *const few[] = {"a", "b", "xy", NULL};

	CHECK_STR(hint("siez", names), "did you mean `size', `sizes', `Size'?");
	CHECK_STR(hint("lenght", names), "did you mean `length'?");
	CHECK_STR(hint("foo", names), "did you mean `ns::foo'?");
	CHECK_STR(hint("c", few), "nothing");
	CHECK_STR(hint("completely_else", names), "nothing");
}

static void test_human_size(void)
{
	char b[32];

	CHECK_STR(gs_human_size(0, b), "0 B");
	CHECK_STR(gs_human_size(1023, b), "1023 B");
	CHECK_STR(gs_human_size(1024, b), "1.0 KiB");
	CHECK_STR(gs_human_size(12595, b), "12.3 KiB");
	CHECK_STR(gs_human_size(1048575, b), "1.0 MiB");
	CHECK_STR(gs_human_size(UINT64_MAX, b), "16.0 EiB");
}

static void test_parse_size(void)
{
	uint64_t v = 7;

	CHECK(gs_parse_size("4096", &v) && v == 4096);
	CHECK(gs_parse_size("1.5 K", &v) && v == 1536);
	CHECK(gs_parse_size("10m", &v) && v == 10 << 20);
	CHECK(gs_parse_size("2GiB", &v) && v == (uint64_t)2 << 30);
	CHECK(gs_parse_size("18446744073709551615", &v) && v == UINT64_MAX);
	v = 7;
	CHECK(!gs_parse_size("18446744073709551616", &v));
	CHECK(!gs_parse_size("99999999999G", &v));
	CHECK(!gs_parse_size("", &v) && !gs_parse_size("-1", &v) && !gs_parse_size("1.", &v));
	CHECK(!gs_parse_size(".5K", &v) && !gs_parse_size("1X", &v) && !gs_parse_size("1KK", &v));
	CHECK(!gs_parse_size("0x10", &v) && !gs_parse_size("1iB", &v));
	CHECK_INT(v, 7);
}

static void test_parse_duration(void)
{
	uint64_t ns = 7;

	CHECK(gs_parse_duration("2", &ns) && ns == 2000000000);
	CHECK(gs_parse_duration("500ms", &ns) && ns == 500000000);
	CHECK(gs_parse_duration("1.5h", &ns) && ns == 5400000000000);
	CHECK(gs_parse_duration("0.1us", &ns) && ns == 100);
	CHECK(gs_parse_duration("1m", &ns) && ns == 60000000000);
	ns = 7;
	CHECK(!gs_parse_duration("1y", &ns) && !gs_parse_duration("s", &ns));
	CHECK(!gs_parse_duration("300000000d", &ns));
	CHECK_INT(ns, 7);
}

static void test_128_bit_integers(void)
{
	struct gs_buf b = {0};

	gs_put_u128(&b, ~(unsigned __int128)0);
	gs_buf_putc(&b, ' ');
	gs_put_i128(&b, (__int128)((unsigned __int128)1 << 127));
	gs_buf_putc(&b, ' ');
	gs_put_i128(&b, -1);
	gs_buf_putc(&b, ' ');
	gs_put_u128(&b, 0);
	CHECK_STR(gs_buf_cstr(&b), "340282366920938463463374607431768211455 "
				   "-170141183460469231731687303715884105728 -1 0");
	gs_buf_deinit(&b);
}

int main(void)
{
	TAP_RUN(test_escape_c);
	TAP_RUN(test_escape_json);
	TAP_RUN(test_escape_plain_and_csv);
	TAP_RUN(test_escape_output_is_always_clean);
	TAP_RUN(test_utf8_edges);
	TAP_RUN(test_globs);
	TAP_RUN(test_glob_is_not_exponential);
	TAP_RUN(test_nearest);
	TAP_RUN(test_human_size);
	TAP_RUN(test_parse_size);
	TAP_RUN(test_parse_duration);
	TAP_RUN(test_128_bit_integers);
	return tap_done();
}
