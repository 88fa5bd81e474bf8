/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings for tests of reports, and running gs-report over them within the test.
 */
#include "tests/lib/report_sample.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "report/report.h"

/* The maker of recordings belongs to the format's tests and is compiled in here. */
#include "tests/lib/format_make.c"

gs_type_id report_pointer(struct gs_make *m, gs_type_id target)
{
	struct gs_type t = {.kind = GS_KIND_POINTER, .byte_size = 8, .target = target};

	return gs_make_type(m, &t);
}

gs_type_id report_array(struct gs_make *m, gs_type_id elem, uint64_t count, uint64_t stride)
{
	struct gs_type t = {.kind = GS_KIND_ARRAY,
			    .target = elem,
			    .count = count,
			    .stride = stride,
			    .byte_size = count * stride};

	return gs_make_type(m, &t);
}

static void make_flags(struct gs_make *m, struct gs_sample_types *t)
{
	static const struct gs_enumerator names[] = {{"RD", 1}, {"WR", 2}, {"EX", 4}};
	struct gs_type type = {.kind = GS_KIND_ENUM,
			       .name = "mode",
			       .byte_size = 4,
			       .flags = GS_TYPE_FLAG_ENUM,
			       .enumerators = names,
			       .nenumerators = 3};

	t->flags = gs_make_type(m, &type);
}

/* struct req { char *uri; enum mode flags; union { int b; unsigned char c; }; int bf : 3; bool on :
 * 1; char name[16]; double d; void (*handler)(int); } */
static void make_req(struct gs_make *m, struct gs_sample_types *t)
{
	struct gs_member either[] = {{.name = "b", .type = t->i32}, {.name = "c", .type = t->u8}};
	struct gs_type u = {
		.kind = GS_KIND_UNION, .byte_size = 4, .members = either, .nmembers = 2};
	struct gs_member members[] = {
		{.name = "uri", .type = t->char_ptr},
		{.name = "flags", .type = t->flags, .bit_offset = 64},
		{.name = NULL, .bit_offset = 96},
		{.name = "bf", .type = t->i32, .bit_offset = 128, .bit_size = 3},
		{.name = "on", .type = t->boolean, .bit_offset = 131, .bit_size = 1},
		{.name = "name", .bit_offset = 160},
		{.name = "d", .type = t->f64, .bit_offset = 320},
		{.name = "handler", .type = t->handler, .bit_offset = 384},
	};
	struct gs_type type = {.kind = GS_KIND_STRUCT,
			       .name = "req",
			       .byte_size = 56,
			       .members = members,
			       .nmembers = GS_ARRAY_SIZE(members)};

	members[2].type = gs_make_type(m, &u);
	members[5].type = report_array(m, t->plain_char, 16, 1);
	t->req = gs_make_type(m, &type);
	t->req_ptr = report_pointer(m, t->req);
}

void report_types(struct gs_make *m, struct gs_sample_types *t)
{
	struct gs_type c = {.kind = GS_KIND_INT,
			    .name = "char",
			    .byte_size = 1,
			    .flags = GS_TYPE_SIGNED | GS_TYPE_CHAR | GS_TYPE_PLAIN_CHAR};
	struct gs_type u8 = {.kind = GS_KIND_INT,
			     .name = "unsigned char",
			     .byte_size = 1,
			     .flags = GS_TYPE_CHAR};
	struct gs_type b = {.kind = GS_KIND_BOOL, .name = "_Bool", .byte_size = 1};
	struct gs_type f = {.kind = GS_KIND_FLOAT, .name = "double", .byte_size = 8};
	struct gs_member parameter = {0};
	struct gs_type fn = {.kind = GS_KIND_FUNCTION,
			     .flags = GS_TYPE_PROTOTYPED,
			     .members = &parameter,
			     .nmembers = 1};

	t->i32 = gs_make_int(m, "int", 4, true);
	t->u64 = gs_make_int(m, "unsigned long", 8, false);
	t->plain_char = gs_make_type(m, &c);
	t->u8 = gs_make_type(m, &u8);
	t->boolean = gs_make_type(m, &b);
	t->f64 = gs_make_type(m, &f);
	t->char_ptr = report_pointer(m, t->plain_char);
	parameter.type = t->i32;
	t->handler = report_pointer(m, gs_make_type(m, &fn));
	make_flags(m, t);
	make_req(m, t);
}

uint32_t report_pointee(struct gs_make *m, uint32_t schema, uint32_t item, uint64_t offset,
			gs_type_id type, uint32_t size)
{
	uint32_t child = size ? gs_make_item(m, schema, "", type, size, 0)
			      : gs_make_string(m, schema, "", 200);
	struct gs_meta_item *mi = &m->meta->schemas[schema].items[child];

	mi->expr = "";
	mi->parent = item;
	mi->parent_offset = offset;
	return child;
}

static void put_req(uint8_t to[56], unsigned flags, int b)
{
	double d = 0.1;
	uint64_t uri = 0x5000, handler = 0x401136;

	memset(to, 0, 56);
	memcpy(to, &uri, 8);
	memcpy(to + 8, &flags, 4);
	memcpy(to + 12, &b, 4);
	to[16] = 0x0f; /* bf = -1, on = true */
	memcpy(to + 20, "abc", 3);
	memcpy(to + 40, &d, 8);
	memcpy(to + 48, &handler, 8);
}

enum { LEN, URI, URI_S, REQ, REQ_S, P, P_REQ, P_S, FP, X };

static uint32_t make_handle(struct gs_make *m, const struct gs_sample_types *t)
{
	uint32_t s = gs_make_schema(m);

	gs_make_item(m, s, "len", t->i32, 4, 0);
	gs_make_item(m, s, "uri", t->char_ptr, 8, 0);
	report_pointee(m, s, URI, 0, 0, 0);
	gs_make_item(m, s, "req", t->req, 56, 0);
	report_pointee(m, s, REQ, 0, 0, 0);
	gs_make_item(m, s, "p", t->req_ptr, 8, 0);
	report_pointee(m, s, P, 0, t->req, 56);
	report_pointee(m, s, P_REQ, 0, 0, 0);
	gs_make_item(m, s, "fp", t->handler, 8, 0);
	gs_make_item(m, s, "x", t->i32, 4, 0);
	return s;
}

static void handle_event(struct gs_make *m, uint32_t site, uint64_t time, int len)
{
	uint8_t req[56];

	gs_make_event(m, time, 0, site, 71, 72, "srv");
	gs_make_uint(m, LEN, (uint64_t)len);
	gs_make_uint(m, URI, 0x4000);
	gs_make_bytes(m, URI_S, "/a\"\n", 4);
	put_req(req, 3, len);
	gs_make_bytes(m, REQ, req, sizeof(req));
	gs_make_bytes(m, REQ_S, "/b", 2);
	gs_make_uint(m, P, 0x7ffd10);
	put_req(req, 9, -1);
	gs_make_bytes(m, P_REQ, req, sizeof(req));
	gs_make_fault(m, P_S, 0x5000);
	gs_make_uint(m, FP, 0x401136);
	gs_make_status(m, X, GS_STATUS_OPTIMIZED_OUT);
}

struct gs_make *report_sample(void)
{
	struct gs_make *m = gs_make_new(NULL);
	struct gs_sample_types t;
	uint32_t handle, put, site, sites[2];

	report_types(m, &t);
	*GS_PUSH(m->meta->symbols, m->meta->nsymbols, m->meta->symbols_cap) =
		(struct gs_meta_symbol){.pid = 71, .address = 0x401136, .name = "on_req"};
	handle = make_handle(m, &t);
	site = gs_make_site(m, gs_make_probe(m, "handle"), handle, "handle", "srv.c", 31);
	put = gs_make_schema(m);
	gs_make_item(m, put, "len", t.u64, 8, 0);
	gs_make_item(m, put, "n", t.i32, 4, 0);
	sites[0] = gs_make_site(m, gs_make_probe(m, "put"), put, "put", "a.c", 7);
	sites[1] = gs_make_site(m, 1, put, "put", "a.c", 9);
	handle_event(m, site, 2204, 12);
	handle_event(m, site, 3204, -3);
	/* The second one could not be followed, the third has no pointers at all. */
	gs_make_uint(m, P, 0x10);
	gs_make_fault(m, P_REQ, 0x10);
	gs_make_fault(m, URI_S, 0x4000);
	handle_event(m, site, 4204, 0);
	gs_make_uint(m, URI, 0);
	gs_make_status(m, URI_S, GS_STATUS_NOT_COLLECTED);
	gs_make_uint(m, P, 0);
	gs_make_status(m, P_REQ, GS_STATUS_NOT_COLLECTED);
	gs_make_status(m, P_S, GS_STATUS_NOT_COLLECTED);
	for (int i = 0; i < 2; i++) {
		gs_make_event(m, 2500 + (uint64_t)i, 1, sites[i], 90, 90, "=cmd");
		gs_make_uint(m, 0, 1ull << 63);
		gs_make_uint(m, 1, (uint64_t)i);
	}
	return m;
}

/* ---- running ---- */

static char *saved[256];
static size_t nsaved;

static void remove_saved(void)
{
	for (size_t i = 0; i < nsaved; i++) {
		unlink(saved[i]);
		free(saved[i]);
	}
}

static char *temporary(void)
{
	const char *dir = getenv("TMPDIR");
	char *path = gs_asprintf("%s/gs-report-XXXXXX", dir ? dir : "/tmp");
	int fd = mkstemp(path);

	must(fd < 0 ? gs_error_errno(errno, "mkstemp") : NULL, path);
	close(fd);
	if (nsaved == 0)
		atexit(remove_saved);
	if (nsaved < GS_ARRAY_SIZE(saved))
		saved[nsaved++] = path;
	return path;
}

static void write_file(const char *path, const void *data, size_t len)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(data, 1, len, f) != len || fclose(f))
		must(gs_error_errno(errno, "write"), path);
}

char *report_save(struct gs_make *m)
{
	gs_make_end(m, 0);
	return report_save_bytes(m);
}

char *report_save_bytes(struct gs_make *m)
{
	char *path = temporary();

	write_file(path, m->file.data, m->file.len);
	gs_make_free(m);
	return path;
}

static char *read_file(const char *path)
{
	struct gs_buf text = {0};
	FILE *f = fopen(path, "r");
	int c;

	while (f && (c = getc(f)) != EOF)
		gs_buf_putc(&text, (char)c);
	if (f)
		fclose(f);
	return gs_buf_cstr(&text);
}

static size_t split(char *args, char **argv, size_t max)
{
	size_t n = 0;

	for (char *p = args; *p && n < max;) {
		char until = ' ';

		if (*p == ' ') {
			p++;
			continue;
		}
		if (*p == '\'') {
			until = '\'';
			p++;
		}
		argv[n++] = p;
		while (*p && *p != until)
			p++;
		if (*p)
			*p++ = '\0';
	}
	return n;
}

char *report_run(const char *path, const char *args, int *status, char **err)
{
	static char *out_path, *err_path;
	char *text = gs_strdup(args), *argv[64] = {"gs-report"};
	struct gs_report_options opts;
	struct gs_error *wrong;
	size_t n = 1 + split(text, argv + 1, 50);
	FILE *messages;

	if (!out_path) {
		out_path = temporary();
		err_path = temporary();
	}
	write_file(out_path, "", 0);
	argv[n++] = "-o";
	argv[n++] = out_path;
	if (path)
		argv[n++] = (char *)path;
	messages = fopen(err_path, "w");
	wrong = gs_report_options_parse(&opts, (int)n, argv);
	if (wrong) {
		gs_error_print(messages, "gs-report", wrong);
		gs_error_free(wrong);
		*status = GS_EXIT_USAGE;
	} else {
		*status = gs_report_run(&opts, messages);
	}
	gs_report_options_deinit(&opts);
	fclose(messages);
	free(text);
	if (err)
		*err = read_file(err_path);
	return read_file(out_path);
}
