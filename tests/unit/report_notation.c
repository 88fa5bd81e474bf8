/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values one by one: GDB's notation (what gdb 13 printed for the same bytes), JSON and CSV.
 */
#include "tests/lib/report_sample.h"
#include "tests/tap.h"

static struct gs_make *made;
static struct gs_sample_types t;

/* One item `v' of one event. */
static void begin(gs_type_id type, uint32_t size, uint32_t flags)
{
	uint32_t schema = gs_make_schema(made);

	gs_make_item(made, schema, "v", type, size, flags);
	gs_make_event(made, 2000, 0,
		      gs_make_site(made, gs_make_probe(made, "f"), schema, "f", "f.c", 1), 71, 71,
		      "srv");
}

static void fresh(void)
{
	made = gs_make_new(NULL);
	report_types(made, &t);
}

static void expect(const char *path, const char *args, const char *want)
{
	int status;
	char *err, *out = report_run(path, args, &status, &err);

	CHECK_INT(status, 0);
	CHECK_STR(out, want);
	free(out);
	free(err);
}

/* TEXT and JSON of the value; CSV cells are tested with the listing. */
static void is(const char *text, const char *json)
{
	char *path = report_save(made), *want = gs_asprintf("v = %s\n", text);

	expect(path, "--fields v", want);
	free(want);
	want = gs_asprintf("{\"values\":{\"v\":%s}}\n", json);
	expect(path, "--json --fields v", want);
	free(want);
}

static void value(gs_type_id type, const void *bytes, uint32_t size, const char *text,
		  const char *json)
{
	begin(type, size, 0);
	gs_make_bytes(made, 0, bytes, size);
	is(text, json);
}

static void chars(const char *bytes, uint32_t size, const char *text, const char *json)
{
	fresh();
	value(report_array(made, t.plain_char, size, 1), bytes, size, text, json);
}

static void test_char_arrays(void)
{
	chars("abc\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, "\"abc\", '\\000' <repeats 12 times>",
	      "\"abc\"");
	chars("abc\0\0", 5, "\"abc\\000\"", "\"abc\"");
	chars("abcd", 4, "\"abcd\"", "\"abcd\"");
	chars("", 1, "\"\"", "\"\"");
	chars("\0\0\0", 3, "\"\\000\\000\"", "\"\"");
	chars("xaaaaaaaaaa\0\0\0\0\0\0\0\0\0", 20,
	      "\"xaaaaaaaaaa\\000\\000\\000\\000\\000\\000\\000\\000\"", "\"xaaaaaaaaaa\"");
	chars("xaaaaaaaaaaay\0\0\0\0\0\0\0", 20,
	      "\"x\", 'a' <repeats 11 times>, \"y\\000\\000\\000\\000\\000\\000\"",
	      "\"xaaaaaaaaaaay\"");
	chars("\0018\1779", 5, "\"\\0018\\1779\"", "\"\\u00018\\u007f9\"");
	/* Hostile: terminal escapes, invalid UTF-8, a bidi override. */
	chars("\033[2J\xff\xe2\x80\xae", 9, "\"\\033[2J\\377\\342\\200\\256\"",
	      "\"\\u001b[2J\\\\xff\\u202e\"");
}

static void test_long_array_of_chars(void)
{
	char bytes[300], text[260] = "\"", json[310] = "\"";

	for (int i = 0; i < 300; i++)
		bytes[i] = (char)('a' + i % 26);
	memcpy(text + 1, bytes, 200);
	memcpy(text + 201, "\"...", 4);
	memcpy(json + 1, bytes, 300);
	json[301] = '"';
	chars(bytes, 300, text, json);
	memset(bytes, 0, sizeof(bytes));
	chars(bytes, 256, "'\\000' <repeats 255 times>", "\"\"");
}

static void test_scalars(void)
{
	int32_t i = -5;
	uint64_t u = UINT64_MAX;
	double nan = -__builtin_nan("");

	fresh();
	value(t.i32, &i, 4, "-5", "-5");
	fresh();
	value(t.u64, &u, 8, "18446744073709551615", "18446744073709551615");
	fresh();
	value(t.plain_char, "\xff", 1, "-1 '\\377'", "-1");
	fresh();
	value(t.u8, "\'", 1, "39 '\\''", "39");
	fresh();
	value(t.u8, "\"", 1, "34 '\"'", "34");
	fresh();
	value(t.u8, "\\", 1, "92 '\\\\'", "92");
	fresh();
	value(t.boolean, "\1", 1, "true", "true");
	fresh();
	value(t.boolean, "\2", 1, "2", "2");
	fresh();
	value(t.f64, &nan, 8, "-nan(0x8000000000000)", "\"NaN\"");
	fresh();
	value(t.f64, &(double){1e300 * 1e10}, 8, "inf", "\"Infinity\"");
	fresh();
	value(t.f64, &(double){123456789012345680000.0}, 8, "1.2345678901234568e+20",
	      "1.2345678901234568e+20");
	fresh();
	value(t.f64, &(double){1}, 8, "1", "1");
	fresh();
	value(t.flags, "\3\0\0", 4, "(RD | WR)", "\"RD|WR\"");
	fresh();
	value(t.flags, "\2\0\0", 4, "WR", "\"WR\"");
	fresh();
	value(t.flags, "\0\0\0", 4, "0", "0");
	fresh();
	value(t.flags, "\x11\0\0", 4, "(RD | unknown: 0x10)", "17");
}

static void wide(gs_type_id type, const char *hex, const char *text, const char *json)
{
	uint8_t bytes[16];

	for (int i = 0; i < 16; i++) {
		unsigned b;

		sscanf(hex + 2 * i, "%2x", &b);
		bytes[i] = (uint8_t)b;
	}
	value(type, bytes, 16, text, json);
}

static void test_wide(void)
{
	struct gs_type x87 = {.kind = GS_KIND_FLOAT,
			      .name = "long double",
			      .byte_size = 16,
			      .encoding = GS_FLOAT_X87};
	struct gs_type f128 = {.kind = GS_KIND_FLOAT, .name = "_Float128", .byte_size = 16};

	fresh();
	wide(gs_make_int(made, "__int128", 16, true), "000000000000000000000000f0ffffff",
	     "-1267650600228229401496703205376", "\"-1267650600228229401496703205376\"");
	fresh();
	wide(gs_make_int(made, "unsigned __int128", 16, false), "00000000000000000000000000000080",
	     "170141183460469231731687303715884105728",
	     "\"170141183460469231731687303715884105728\"");
	fresh();
	wide(gs_make_type(made, &x87), "cdccccccccccccccfb3f000000000000",
	     "0.100000000000000000001", "0.1");
	/* No integer bit: an unnormal, a pseudo-infinity and a pseudo-NaN. */
	fresh();
	wide(gs_make_type(made, &x87), "0000000000000040ff3f000000000000", "<invalid float value>",
	     "\"NaN\"");
	fresh();
	wide(gs_make_type(made, &x87), "0000000000000000ffff000000000000", "<invalid float value>",
	     "\"NaN\"");
	fresh();
	wide(gs_make_type(made, &x87), "0100000000000000ff7f000000000000", "<invalid float value>",
	     "\"NaN\"");
	fresh();
	wide(gs_make_type(made, &x87), "0000000000000080ff7f000000000000", "inf", "\"Infinity\"");
	fresh();
	wide(gs_make_type(made, &f128), "9a99999999999999999999999999fb3f",
	     "0.100000000000000000000000000000000005", "0.1");
}

static void test_arrays(void)
{
	int32_t ints[250], mixed[30] = {1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3};
	struct gs_buf text = {0}, json = {0};

	fresh();
	value(report_array(made, t.i32, 20, 4), &(int32_t[20]){0}, 80, "{0 <repeats 20 times>}",
	      "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]");
	fresh();
	value(report_array(made, t.i32, 9, 4), &(int32_t[9]){0}, 36, "{0, 0, 0, 0, 0, 0, 0, 0, 0}",
	      "[0,0,0,0,0,0,0,0,0]");
	fresh();
	value(report_array(made, t.i32, 30, 4), mixed, 120,
	      "{1, 2 <repeats 10 times>, 3, 3, 3, 0 <repeats 16 times>}",
	      "[1,2,2,2,2,2,2,2,2,2,2,3,3,3,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]");
	fresh();
	value(report_array(made, report_array(made, t.i32, 2, 4), 3, 8), &(int32_t[6]){1, 2, 3}, 24,
	      "{{1, 2}, {3, 0}, {0, 0}}", "[[1,2],[3,0],[0,0]]");
	fresh();
	value(report_array(made, report_array(made, t.plain_char, 4, 1), 2, 4), "ab\0\0cd\0", 8,
	      "{\"ab\\000\", \"cd\\000\"}", "[\"ab\",\"cd\"]");
	/* gdb shows arrays of every character type as strings; JSON only plain char. */
	fresh();
	value(report_array(made, t.u8, 4, 1), "\1\2\0\0", 4, "\"\\001\\002\\000\"", "[1,2,0,0]");
	for (int i = 0; i < 250; i++) {
		ints[i] = i;
		if (i < 200)
			gs_buf_printf(&text, "%s%d", i ? ", " : "{", i);
		gs_buf_printf(&json, "%s%d", i ? "," : "[", i);
	}
	gs_buf_puts(&text, "...}");
	gs_buf_puts(&json, "]");
	fresh();
	value(report_array(made, t.i32, 250, 4), ints, 1000, gs_buf_cstr(&text),
	      gs_buf_cstr(&json));
	gs_buf_deinit(&text);
	gs_buf_deinit(&json);
}

/* namespace ns { struct Base { int b; }; struct Empty {}; enum class C { R, G }; }
 * struct D : ns::Base, ns::Empty { (vptr) C c; static int s; int &r; } */
static void test_cplusplus(void)
{
	struct gs_enumerator names[] = {{"R", 0}, {"G", 1}};
	struct gs_type c = {.kind = GS_KIND_ENUM,
			    .name = "ns::C",
			    .byte_size = 4,
			    .flags = GS_TYPE_ENUM_CLASS,
			    .enumerators = names,
			    .nenumerators = 2};
	struct gs_member b = {.name = "b"};
	struct gs_type base = {.kind = GS_KIND_STRUCT,
			       .name = "ns::Base",
			       .byte_size = 4,
			       .members = &b,
			       .nmembers = 1};
	struct gs_type empty = {.kind = GS_KIND_CLASS, .name = "ns::Empty<a::b>", .byte_size = 1};
	struct gs_type ref = {.kind = GS_KIND_REFERENCE, .byte_size = 8};
	struct gs_member members[] = {
		{.name = NULL, .flags = GS_MEMBER_BASE},
		{.name = NULL, .flags = GS_MEMBER_BASE},
		{.name = "_vptr.D", .bit_offset = 64, .flags = GS_MEMBER_ARTIFICIAL},
		{.name = "c", .bit_offset = 128},
		{.name = "s", .flags = GS_MEMBER_STATIC},
		{.name = "r", .bit_offset = 192},
	};
	struct gs_type d = {.kind = GS_KIND_CLASS,
			    .name = "D",
			    .byte_size = 32,
			    .members = members,
			    .nmembers = GS_ARRAY_SIZE(members)};
	uint8_t bytes[32] = {5};
	uint32_t schema, child;

	fresh();
	b.type = ref.target = members[4].type = t.i32;
	members[0].type = gs_make_type(made, &base);
	members[1].type = gs_make_type(made, &empty);
	members[2].type = report_pointer(made, t.i32);
	members[3].type = gs_make_type(made, &c);
	members[5].type = gs_make_type(made, &ref);
	bytes[16] = 1;
	bytes[24] = 0x40;
	schema = gs_make_schema(made);
	gs_make_item(made, schema, "v", gs_make_type(made, &d), 32, 0);
	child = report_pointee(made, schema, 0, 24, t.i32, 4);
	gs_make_event(made, 2000, 0,
		      gs_make_site(made, gs_make_probe(made, "f"), schema, "f", "f.c", 1), 71, 71,
		      "srv");
	gs_make_bytes(made, 0, bytes, 32);
	gs_make_uint(made, child, 7);
	is("{<ns::Base> = {b = 5}, <ns::Empty<a::b>> = {<No data fields>}, c = ns::C::G, "
	   "r = @0x40: 7}",
	   "{\"Base\":{\"b\":5},\"Empty<a::b>\":{},\"c\":\"G\",\"r\":7}");
}

static void absent(uint8_t status, const char *reason, const char *text, const char *json)
{
	struct gs_meta_note note = {.status = status, .reason = reason};
	char *path, *want;

	fresh();
	begin(t.i32, 4, 0);
	made->meta->sites[0].notes = gs_arena_memdup(&made->meta->arena, &note, sizeof(note));
	made->meta->sites[0].nnotes = reason != NULL;
	gs_make_status(made, 0, status);
	path = report_save(made);
	want = gs_asprintf("v = %s\n", text);
	expect(path, "--fields v", want);
	free(want);
	want = gs_asprintf("{\"values\":{\"v\":null},%s}\n", json);
	expect(path, "--json --fields v", want);
	free(want);
}

static void test_absence(void)
{
	absent(GS_STATUS_UNAVAILABLE, "in xmm0", "<in xmm0>",
	       "\"status\":{\"v\":\"unavailable\"},\"reason\":{\"v\":\"in xmm0\"}");
	absent(GS_STATUS_UNAVAILABLE, NULL, "<unavailable>", "\"status\":{\"v\":\"unavailable\"}");
	absent(GS_STATUS_OPTIMIZED_OUT, NULL, "<optimized out>",
	       "\"status\":{\"v\":\"optimized-out\"}");
	absent(GS_STATUS_NOT_COLLECTED, NULL, "<not collected>",
	       "\"status\":{\"v\":\"not-collected\"}");
	absent(GS_STATUS_DIV_ZERO, NULL, "<division by zero>",
	       "\"status\":{\"v\":\"division-by-zero\"}");
	absent(GS_STATUS_BAD_SHIFT, NULL, "<bad shift>", "\"status\":{\"v\":\"bad-shift\"}");
	absent(GS_STATUS_BAD_RANGE, NULL, "<bad range>", "\"status\":{\"v\":\"bad-range\"}");
}

/* A piece of a struct that was optimised out: the rest is shown, and no expression sees the hole.
 */
static void test_partial_absence(void)
{
	struct gs_member members[] = {{.name = "a"}, {.name = "b", .bit_offset = 32}};
	struct gs_type s = {.kind = GS_KIND_STRUCT,
			    .name = "s",
			    .byte_size = 8,
			    .members = members,
			    .nmembers = 2};
	struct gs_meta_note note = {
		.offset = 4, .size = 4, .status = GS_STATUS_OPTIMIZED_OUT, .reason = ""};
	char *path;

	fresh();
	members[0].type = members[1].type = t.i32;
	begin(gs_make_type(made, &s), 8, 0);
	made->meta->sites[0].notes = gs_arena_memdup(&made->meta->arena, &note, sizeof(note));
	made->meta->sites[0].nnotes = 1;
	gs_make_bytes(made, 0, "\5\0\0\0\0\0\0", 8);
	path = report_save(made);
	expect(path, "--fields v", "v = {a = 5, b = <optimized out>}\n");
	expect(path, "--json --fields v",
	       "{\"values\":{\"v\":{\"a\":5,\"b\":null}},\"status\":{\"v.b\":\"optimized-out\"}}"
	       "\n");
	expect(path, "--csv --fields v,status", "v.a,v.b,status\r\n5,,v.b=optimized-out\r\n");
	expect(path, "--fields v.a --where 'v.a == 5'", "v.a = 5\n");
	expect(path, "--fields v.a --where 'v.b == 0'", "");
}

static void test_truncated(void)
{
	uint32_t schema;
	char *path;

	fresh();
	schema = gs_make_schema(made);
	gs_make_string(made, schema, "s", 200);
	gs_make_event(made, 2000, 0,
		      gs_make_site(made, gs_make_probe(made, "f"), schema, "f", "f.c", 1), 71, 71,
		      "srv");
	gs_make_bytes(made, 0, "ab", 2);
	gs_make_status(made, 0, GS_STATUS_TRUNCATED);
	path = report_save(made);
	expect(path, "--fields s", "s = \"ab\"...\n");
	expect(path, "--json --fields s",
	       "{\"values\":{\"s\":\"ab\"},\"status\":{\"s\":\"truncated\"}}\n");
	expect(path, "--csv --fields s,status", "s,status\r\nab,s=truncated\r\n");
}

/* Arrays of variable length: one JSON cell; the empty string is quoted, the absent one is not. */
static void test_cells(void)
{
	struct gs_type slice = {.kind = GS_KIND_ARRAY, .flags = GS_TYPE_COUNT_UNKNOWN, .stride = 4};
	uint32_t schema, site;
	char *path;

	fresh();
	slice.target = t.i32;
	schema = gs_make_schema(made);
	gs_make_variable(made, schema, "a[0:n]", gs_make_type(made, &slice), 80, 0);
	gs_make_string(made, schema, "s", 200);
	gs_make_item(made, schema, "pid", report_array(made, t.i32, 2, 4), 8, 0);
	site = gs_make_site(made, gs_make_probe(made, "f"), schema, "f", "f.c", 1);
	gs_make_event(made, 2000, 0, site, 71, 71, "srv");
	gs_make_bytes(made, 0, &(int32_t[3]){1, -2, 3}, 12);
	gs_make_bytes(made, 1, "", 0);
	gs_make_bytes(made, 2, &(int32_t[2]){8, 9}, 8);
	gs_make_event(made, 2001, 0, site, 71, 71, "srv");
	gs_make_status(made, 0, GS_STATUS_BAD_RANGE);
	gs_make_fault(made, 1, 16);
	gs_make_bytes(made, 2, &(int32_t[2]){8, 9}, 8);
	path = report_save(made);
	expect(path, "--csv --fields status,values",
	       "status,a[0:n],s,pid[0],pid[1]\r\n"
	       ",\"[1,-2,3]\",\"\",8,9\r\n"
	       "a[0:n]=bad-range;s=fault,,,8,9\r\n");
	expect(path, "--fields 'a[0:n]'", "a[0:n] = {1, -2, 3}\na[0:n] = <bad range>\n");
}

int main(void)
{
	TAP_RUN(test_char_arrays);
	TAP_RUN(test_long_array_of_chars);
	TAP_RUN(test_scalars);
	TAP_RUN(test_wide);
	TAP_RUN(test_arrays);
	TAP_RUN(test_cplusplus);
	TAP_RUN(test_absence);
	TAP_RUN(test_partial_absence);
	TAP_RUN(test_truncated);
	TAP_RUN(test_cells);
	return tap_done();
}
