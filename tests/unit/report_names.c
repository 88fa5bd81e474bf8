/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names that come twice (bases of two namespaces, items that are parts of others, fields), columns
 * that clash, arrays without a length, and the zero of time without a session block.
 */
#include "format/block.h"
#include "tests/lib/report_sample.h"
#include "tests/tap.h"

static void check(const char *path, const char *args, const char *want)
{
	int status;
	char *err, *out = report_run(path, args, &status, &err);

	CHECK_INT(status, 0);
	CHECK_STR(out, want);
	free(out);
	free(err);
}

static gs_type_id make_struct(struct gs_make *m, const char *name, uint64_t size,
			      const struct gs_member *members, uint32_t n)
{
	struct gs_type t = {.kind = GS_KIND_STRUCT,
			    .name = name,
			    .byte_size = size,
			    .members = members,
			    .nmembers = n};

	return gs_make_type(m, &t);
}

static gs_type_id point(struct gs_make *m, const char *name, gs_type_id i32)
{
	const struct gs_member members[] = {{.name = "x", .type = i32},
					    {.name = "y", .type = i32, .bit_offset = 32}};

	return make_struct(m, name, 8, members, 2);
}

/* struct D : a::X, b::X { int X; struct { int k; }; } */
static void test_bases_of_one_name(void)
{
	static const int32_t bytes[] = {1, 2, 3, 4, 5, 6};
	struct gs_make *m = gs_make_new(NULL);
	gs_type_id i32 = gs_make_int(m, "int", 4, true);
	const struct gs_member inner[] = {{.name = "X#2", .type = i32}};
	const struct gs_member members[] = {
		{.name = "a::X", .type = point(m, "a::X", i32), .flags = GS_MEMBER_BASE},
		{.name = "b::X",
		 .type = point(m, "b::X", i32),
		 .flags = GS_MEMBER_BASE,
		 .bit_offset = 64},
		{.name = "X", .type = i32, .bit_offset = 128},
		{.type = make_struct(m, NULL, 4, inner, 1), .bit_offset = 160}};
	uint32_t schema = gs_make_schema(m);
	char *path;

	gs_make_item(m, schema, "d", make_struct(m, "D", 24, members, 4), 24, 0);
	gs_make_event(m, 2000, 0, gs_make_site(m, gs_make_probe(m, "f"), schema, "f", "f.c", 1), 1,
		      1, "t");
	gs_make_bytes(m, 0, bytes, sizeof(bytes));
	path = report_save(m);
	check(path, "--json --fields d",
	      "{\"values\":{\"d\":{\"X\":{\"x\":1,\"y\":2},\"X#2\":{\"x\":3,\"y\":4},\"X#3\":5,"
	      "\"X#2#2\":6}}}\n");
	check(path, "--csv --fields d",
	      "d.X.x,d.X.y,d.X#2.x,d.X#2.y,d.X#3,d.X#2#2\r\n1,2,3,4,5,6\r\n");
	check(path, "--fields d",
	      "d = {<a::X> = {x = 1, y = 2}, <b::X> = {x = 3, y = 4}, X = 5, {X#2 = 6}}\n");
}

/* struct f { int n; char s[]; } */
static void test_flexible_array(void)
{
	struct gs_make *m = gs_make_new(NULL);
	gs_type_id i32 = gs_make_int(m, "int", 4, true);
	const struct gs_member members[] = {
		{.name = "n", .type = i32},
		{.name = "s", .type = gs_make_char_array(m), .bit_offset = 32}};
	uint32_t schema = gs_make_schema(m);
	char *path, *out, *err;
	int status;

	gs_make_item(m, schema, "f", make_struct(m, "f", 4, members, 2), 4, 0);
	gs_make_event(m, 2000, 0, gs_make_site(m, gs_make_probe(m, "p"), schema, "f", "f.c", 1), 1,
		      1, "t");
	gs_make_uint(m, 0, 7);
	path = report_save(m);
	check(path, "--json --fields f",
	      "{\"values\":{\"f\":{\"n\":7,\"s\":null}},\"status\":{\"f.s\":\"not-collected\"}}\n");
	check(path, "--csv --fields f,status", "f.n,f.s,status\r\n7,,f.s=not-collected\r\n");
	check(path, "--fields f", "f = {n = 7, s = <not collected>}\n");
	out = report_run(path, "--fields f --where 'f.s == \"\"'", &status, &err);
	CHECK_STR(out, "");
	CHECK_STR(err,
		  "gs-report: --where f.s == \"\": 1 event in which it has no value is left out\n");
	free(out);
	free(err);
}

static void test_item_and_part_of_it(void)
{
	static const int32_t bytes[] = {1, 2};
	struct gs_make *m = gs_make_new(NULL);
	struct gs_sample_types t;
	uint32_t schema, p, a, b, req;
	uint8_t zeros[56] = {0};
	char *path;

	report_types(m, &t);
	schema = gs_make_schema(m);
	p = gs_make_item(m, schema, "p", point(m, "point", t.i32), 8, 0);
	a = gs_make_item(m, schema, "p.x", t.i32, 4, 0);
	req = gs_make_item(m, schema, "req", t.req, 56, 0);
	report_pointee(m, schema, req, 0, 0, 0);
	b = gs_make_item(m, schema, "req.uri", t.i32, 4, 0);
	gs_make_event(m, 2000, 0, gs_make_site(m, gs_make_probe(m, "f"), schema, "f", "f.c", 1), 1,
		      1, "t");
	gs_make_bytes(m, p, bytes, sizeof(bytes));
	gs_make_uint(m, a, 3);
	memset(zeros, 0x11, 8);
	gs_make_bytes(m, req, zeros, sizeof(zeros));
	gs_make_fault(m, req + 1, 0x1111);
	gs_make_fault(m, b, 0x10);
	path = report_save(m);
	check(path, "--csv --fields p,p.x", "p.x,p.y,p.x#2\r\n1,2,3\r\n");
	check(path, "--csv --fields 'req,status,req.uri'",
	      "req.uri,req.flags,req.b,req.c,req.bf,req.on,req.name,req.d,req.handler,status,"
	      "req.uri#2\r\n"
	      ",0,0,0,0,false,\"\",0,0x0,req.uri=fault;req.uri#2=fault,\r\n");
	check(path, "--json --fields 'req.uri,p,p.x,req'",
	      "{\"values\":{\"req.uri\":null,\"p\":{\"x\":1,\"y\":2},\"p.x\":3,\"req\":{\"uri\":"
	      "null,"
	      "\"flags\":0,\"b\":0,\"c\":0,\"bf\":0,\"on\":false,\"name\":\"\",\"d\":0,"
	      "\"handler\":\"0x0\"}},\"status\":{\"req.uri\":\"fault\"}}\n");
}

/* `p' is a structure at one probe and a number at the other; `addr' is only a name. */
static void test_clashes(void)
{
	struct gs_make *m = gs_make_new(NULL);
	gs_type_id i32 = gs_make_int(m, "int", 4, true);
	uint32_t one = gs_make_schema(m), other = gs_make_schema(m), sites[2];
	char *path;

	gs_make_item(m, one, "p", point(m, "point", i32), 8, 0);
	gs_make_item(m, one, "addr", i32, 4, 0);
	gs_make_item(m, one, "ts", i32, 4, 0);
	gs_make_item(m, other, "p", i32, 4, 0);
	gs_make_item(m, other, "addr", i32, 4, 0);
	sites[0] = gs_make_site(m, gs_make_probe(m, "a"), one, "f", "f.c", 1);
	sites[1] = gs_make_site(m, gs_make_probe(m, "b"), other, "g", "f.c", 2);
	gs_make_event(m, 2000, 0, sites[0], 1, 1, "t");
	gs_make_bytes(m, 0, "\1\0\0\0\2\0\0\0", 8);
	gs_make_uint(m, 1, 3);
	gs_make_uint(m, 2, 4);
	gs_make_event(m, 2001, 0, sites[1], 1, 1, "t");
	gs_make_uint(m, 0, 5);
	gs_make_uint(m, 1, 6);
	path = report_save(m);
	check(path, "--csv --fields ts,values,pid",
	      "ts,a:p.x,a:p.y,addr,a:ts,b:p,pid\r\n1000,1,2,3,4,,1\r\n1001,,,6,,5,1\r\n");
	check(path, "--csv --fields addr,values --probe b", "addr,p,b:addr\r\n0x1010,5,6\r\n");
	check(path, "--csv --fields p,p,values --probe b", "p,p#2,p#3,addr\r\n5,5,5,6\r\n");
	check(path, "--json --fields p,p,values --probe b",
	      "{\"values\":{\"p\":5,\"p#2\":5,\"p#3\":5,\"addr\":6}}\n");
}

static void test_fields_twice(void)
{
	char *path = report_save(report_sample()), *err, *out;
	int status;

	out = report_run(path, "--fields ts,len,ts", &status, &err);
	CHECK_INT(status, 1);
	CHECK_STR(err, "gs-report: --fields: `ts' is there twice\n");
	free(out);
	free(err);
}

static void test_negative_zero(void)
{
	struct gs_make *m = gs_make_new(NULL);
	struct gs_sample_types t;
	uint32_t schema;
	char *path;

	report_types(m, &t);
	schema = gs_make_schema(m);
	gs_make_item(m, schema, "d", t.f64, 8, 0);
	gs_make_event(m, 2000, 0, gs_make_site(m, gs_make_probe(m, "f"), schema, "f", "f.c", 1), 1,
		      1, "t");
	gs_make_uint(m, 0, 1ull << 63);
	path = report_save(m);
	check(path, "--json --fields d", "{\"values\":{\"d\":-0.0}}\n");
	check(path, "--csv --fields d", "d\r\n-0.0\r\n");
	check(path, "--fields d", "d = -0\n");
}

/* What could not be followed is null at its path, as in CSV. */
static void test_followed_scalar(void)
{
	struct gs_make *m = gs_make_new(NULL);
	gs_type_id i32 = gs_make_int(m, "int", 4, true);
	uint32_t schema = gs_make_schema(m);
	char *path;

	gs_make_item(m, schema, "p", report_pointer(m, i32), 8, 0);
	report_pointee(m, schema, 0, 0, i32, 4);
	gs_make_event(m, 2000, 0, gs_make_site(m, gs_make_probe(m, "f"), schema, "f", "f.c", 1), 1,
		      1, "t");
	gs_make_uint(m, 0, 0x10);
	gs_make_fault(m, 1, 0x10);
	path = report_save(m);
	check(path, "--json --fields p",
	      "{\"values\":{\"p\":{\"@\":\"0x10\",\"*\":null}},\"status\":{\"p.*\":\"fault\"}}\n");
	check(path, "--csv --fields p,status", "p.@,p.*,status\r\n0x10,,p.*=fault\r\n");
}

/* Strings that are not there, for whatever reason, are one column as strings that are. */
static void test_absent_strings_in_csv(void)
{
	static const struct gs_meta_note note = {
		.item = 0, .size = 8, .status = GS_STATUS_OPTIMIZED_OUT, .reason = ""};
	struct gs_make *m = gs_make_new(NULL);
	struct gs_sample_types t;
	uint8_t req[56] = {1};
	uint32_t schema, site;
	char *path;

	report_types(m, &t);
	schema = gs_make_schema(m);
	gs_make_item(m, schema, "req", t.req, 56, 0);
	report_pointee(m, schema, 0, 0, 0, 0);
	gs_make_item(m, schema, "len", t.i32, 4, 0);
	site = gs_make_site(m, gs_make_probe(m, "f"), schema, "f", "f.c", 1);
	m->meta->sites[site].notes = gs_arena_memdup(&m->meta->arena, &note, sizeof(note));
	m->meta->sites[site].nnotes = 1;
	gs_make_event(m, 2000, 0, site, 1, 1, "t");
	gs_make_bytes(m, 0, req, sizeof(req));
	gs_make_uint(m, 2, 7);
	path = report_save(m);
	check(path, "--csv --fields req,status,len",
	      "req.uri,req.flags,req.b,req.c,req.bf,req.on,req.name,req.d,req.handler,status,"
	      "len\r\n"
	      ",0,0,0,0,false,\"\",0,0x0,req.uri=optimized-out,7\r\n");
	path = report_save(report_sample());
	check(path, "--csv --fields p,len --probe handle --where 'len == 0'",
	      "p.@,p.uri,p.flags,p.b,p.c,p.bf,p.on,p.name,p.d,p.handler,len\r\n"
	      "0x0,,,,,,,,,,0\r\n");
}

static void flip_in_table(struct gs_make *m, enum gs_meta_table table)
{
	struct gs_block_header h = {0};
	size_t at = GS_SIGNATURE_LEN;

	while (gs_block_parse(m->file.data + at, m->file.len - at, &h) &&
	       h.type != GS_BLOCK_META + (unsigned)table)
		at += (size_t)h.header_len + h.stored_len;
	CHECK_INT(h.type, GS_BLOCK_META + (unsigned)table);
	m->file.data[at + h.header_len + 3] ^= 4;
}

/* A recording without an end has no copy of its session block. */
static void test_start_without_session(void)
{
	for (int clock = 0; clock < 2; clock++) {
		struct gs_make *m = report_sample();
		char *path, *out, *err;
		int status;

		gs_make_sync(m);
		flip_in_table(m, GS_META_SESSION);
		if (!clock)
			flip_in_table(m, GS_META_CLOCK);
		path = report_save_bytes(m);
		out = report_run(path, "--json --fields ts --limit 1", &status, &err);
		CHECK_INT(status, 2);
		CHECK_STR(out, clock ? "{\"ts\":1204}\n" : "{\"ts\":2204}\n");
		CHECK_INT(strstr(err, "when it began is not known") != NULL, !clock);
		free(out);
		free(err);
	}
}

int main(void)
{
	TAP_RUN(test_bases_of_one_name);
	TAP_RUN(test_flexible_array);
	TAP_RUN(test_item_and_part_of_it);
	TAP_RUN(test_clashes);
	TAP_RUN(test_fields_twice);
	TAP_RUN(test_negative_zero);
	TAP_RUN(test_followed_scalar);
	TAP_RUN(test_absent_strings_in_csv);
	TAP_RUN(test_start_without_session);
	return tap_done();
}
