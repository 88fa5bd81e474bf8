/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Metadata tables: everything comes back, appended fields and repeated copies are harmless,
 * references are verified.
 */
#include "format/meta.h"

#include "tests/tap.h"

static gs_type_id add(struct gs_types *t, struct gs_type type)
{
	gs_type_id id = 0;
	struct gs_error *err = gs_types_add(t, &type, &id);

	CHECK(!err);
	gs_error_free(err);
	return id;
}

static struct gs_error *copy(struct gs_meta *to, const struct gs_meta *from,
			     enum gs_meta_table table, size_t first)
{
	struct gs_buf buf = {0};
	struct gs_reader r;
	struct gs_error *err;

	gs_meta_write(&buf, from, table, first);
	r = gs_reader_of(buf.data, buf.len);
	err = gs_meta_read(&r, to, table);
	if (!err) {
		CHECK(!r.bad);
		CHECK_INT(gs_reader_left(&r), 0);
	}
	gs_buf_deinit(&buf);
	return err;
}

static void copy_ok(struct gs_meta *to, const struct gs_meta *from, enum gs_meta_table table)
{
	struct gs_error *err = copy(to, from, table, 0);

	CHECK(!err);
	if (err)
		printf("# %s\n", gs_error_message(err));
	gs_error_free(err);
}

static void add_list_type(struct gs_types *t)
{
	gs_type_id i, p = 0, e;
	struct gs_enumerator names[] = {{"RD", 1}, {"WR", -2}};

	i = add(t, (struct gs_type){.kind = GS_KIND_INT,
				    .name = "int",
				    .byte_size = 4,
				    .flags = GS_TYPE_SIGNED});
	CHECK(!gs_types_reserve(t, &(struct gs_type){.kind = GS_KIND_POINTER, .byte_size = 8}, &p));
	struct gs_member members[] = {{"next", p, 0, 0, 0}, {NULL, i, 0, 64, 3}};
	gs_types_set_target(t, p,
			    add(t, (struct gs_type){.kind = GS_KIND_STRUCT,
						    .name = "node",
						    .byte_size = 16,
						    .members = members,
						    .nmembers = 2}));
	e = add(t, (struct gs_type){.kind = GS_KIND_ENUM,
				    .byte_size = 4,
				    .target = i,
				    .enumerators = names,
				    .nenumerators = 2});
	add(t, (struct gs_type){.kind = GS_KIND_ARRAY, .target = e, .count = 3, .stride = 4});
}

static void test_types(void)
{
	struct gs_meta a, b;
	const struct gs_type *node;

	gs_meta_init(&a);
	gs_meta_init(&b);
	add_list_type(a.types);
	copy_ok(&b, &a, GS_META_TYPES);
	CHECK_INT(gs_types_count(b.types), gs_types_count(a.types));
	node = gs_type_get(b.types, 3);
	CHECK_STR(node->name, "node");
	CHECK_INT(gs_type_get(b.types, node->members[0].type)->target, 3);
	CHECK(node->members[1].name == NULL);
	CHECK_INT(node->members[1].bit_size, 3);
	CHECK_INT(gs_type_get(b.types, 4)->enumerators[1].value, -2);
	CHECK_INT(gs_type_get(b.types, 5)->count, 3);
	gs_meta_deinit(&a);
	gs_meta_deinit(&b);
}

/* A report adds types of its own while a pipe still brings new ones. */
static void test_types_interleaved(void)
{
	struct gs_meta a, b;
	gs_type_id u, s;

	gs_meta_init(&a);
	gs_meta_init(&b);
	add_list_type(a.types);
	copy_ok(&b, &a, GS_META_TYPES);
	add(b.types, (struct gs_type){.kind = GS_KIND_POINTER, .byte_size = 8, .target = 1});
	u = add(a.types, (struct gs_type){.kind = GS_KIND_INT, .name = "u8", .byte_size = 1});
	struct gs_member member = {"c", u, 0, 0, 0};
	s = add(a.types, (struct gs_type){.kind = GS_KIND_STRUCT,
					  .name = "late",
					  .byte_size = 1,
					  .members = &member,
					  .nmembers = 1});
	copy_ok(&b, &a, GS_META_TYPES);
	copy_ok(&b, &a, GS_META_TYPES);
	CHECK_INT(b.ntype_map, s + 1);
	CHECK(b.type_map[s] != s);
	CHECK_STR(gs_type_get(b.types, b.type_map[s])->name, "late");
	CHECK_STR(gs_type_get(b.types, gs_type_get(b.types, b.type_map[s])->members[0].type)->name,
		  "u8");

	struct gs_meta_item item = {
		.key = "k", .expr = "k", .type = s, .size = 1, .parent = GS_NONE};
	*GS_PUSH(a.schemas, a.nschemas, a.schemas_cap) =
		(struct gs_meta_schema){.items = &item, .nitems = 1};
	copy_ok(&b, &a, GS_META_SCHEMAS);
	CHECK_INT(b.schemas[0].items[0].type, b.type_map[s]);
	gs_meta_deinit(&a);
	gs_meta_deinit(&b);
}

static void fill(struct gs_meta *m)
{
	static struct gs_meta_item items[2] = {
		{.key = "n", .expr = "n", .size = 4, .parent = GS_NONE},
		{.key = "s",
		 .expr = "",
		 .variable = true,
		 .size = 200,
		 .parent = 0,
		 .parent_offset = 8,
		 .flags = GS_SCHEMA_STRING}};
	static struct gs_meta_note note = {1, 0, 0, 4, "in xmm0"};

	m->has_session = true;
	m->session = (struct gs_meta_session){.version = "1",
					      .command = "a\nb",
					      .ncpus = 4,
					      .start_mono_ns = UINT64_MAX,
					      .pointer_size = 8};
	*GS_PUSH(m->modules, m->nmodules, m->modules_cap) = (struct gs_meta_module){
		.path = "/bin/\xff", .build_id = {1, 2, 3}, .build_id_len = 3, .machine = 62};
	*GS_PUSH(m->probes, m->nprobes, m->probes_cap) =
		(struct gs_meta_probe){.name = "p", .text = "p=f", .kind = GS_PROBE_RETURN};
	*GS_PUSH(m->schemas, m->nschemas, m->schemas_cap) =
		(struct gs_meta_schema){.items = items, .nitems = 2};
	*GS_PUSH(m->sites, m->nsites, m->sites_cap) =
		(struct gs_meta_site){.func = "f",
				      .file = "f.c",
				      .line = 7,
				      .link_addr = 0x401000,
				      .code = (const uint8_t *)"\x55",
				      .code_len = 1,
				      .notes = &note,
				      .nnotes = 1};
	*GS_PUSH(m->processes, m->nprocesses, m->processes_cap) =
		(struct gs_meta_process){.pid = 7, .comm = "c", .exe = "/c", .event = 2};
	*GS_PUSH(m->maps, m->nmaps, m->maps_cap) =
		(struct gs_meta_map){.pid = 7, .start = 4096, .module = GS_NONE, .path = "[heap]"};
	*GS_PUSH(m->clocks, m->nclocks, m->clocks_cap) = (struct gs_meta_clock){1, 2, 3};
	*GS_PUSH(m->counters, m->ncounters, m->counters_cap) =
		(struct gs_meta_counters){.probe = 0, .hits = 9, .time_ns = 5};
	*GS_PUSH(m->symbols, m->nsymbols, m->symbols_cap) =
		(struct gs_meta_symbol){7, 0x4000, "main", 3};
	m->has_end = true;
	m->end = (struct gs_meta_end){.events = 3, .reason = GS_END_SIGNAL, .message = "m"};
}

static void test_all_tables(void)
{
	struct gs_meta a, b;

	gs_meta_init(&a);
	gs_meta_init(&b);
	fill(&a);
	for (int twice = 0; twice < 2; twice++)
		for (int i = 0; i < GS_META_TABLES; i++)
			copy_ok(&b, &a, (enum gs_meta_table)i);
	for (int i = 0; i < GS_META_TABLES; i++)
		CHECK_INT(gs_meta_count(&b, i), gs_meta_count(&a, i));
	CHECK_STR(b.session.command, "a\nb");
	CHECK_STR(b.session.hostname, "");
	CHECK(b.session.start_mono_ns == UINT64_MAX);
	CHECK_STR(b.modules[0].path, "/bin/\\377");
	CHECK_INT(b.modules[0].build_id[2], 3);
	CHECK_INT(b.modules[0].build_id_len, 3);
	CHECK_INT(b.schemas[0].items[1].parent_offset, 8);
	CHECK(b.schemas[0].items[0].parent == GS_NONE);
	CHECK_INT(b.sites[0].code[0], 0x55);
	CHECK_STR(b.sites[0].notes[0].reason, "in xmm0");
	CHECK_STR(b.processes[0].exe, "/c");
	CHECK(b.maps[0].module == GS_NONE);
	CHECK_INT(b.clocks[0].boot_ns, 3);
	CHECK_INT(b.counters[0].hits, 9);
	CHECK_STR(b.symbols[0].name, "main");
	CHECK_INT(b.end.reason, GS_END_SIGNAL);
	gs_meta_deinit(&a);
	gs_meta_deinit(&b);
}

static void test_newest_counters_and_symbols(void)
{
	struct gs_meta a, b;

	gs_meta_init(&a);
	gs_meta_init(&b);
	fill(&a);
	copy_ok(&b, &a, GS_META_PROBES);
	copy_ok(&b, &a, GS_META_COUNTERS);
	copy_ok(&b, &a, GS_META_SYMBOLS);
	a.counters[0].hits = 10;
	a.counters[0].time_ns = 6;
	*GS_PUSH(a.symbols, a.nsymbols, a.symbols_cap) =
		(struct gs_meta_symbol){6, 0x4000, "other", 0};
	copy_ok(&b, &a, GS_META_COUNTERS);
	copy_ok(&b, &a, GS_META_SYMBOLS);
	CHECK_INT(b.ncounters, 1);
	CHECK_INT(b.counters[0].hits, 10);
	CHECK_INT(b.nsymbols, 2);
	CHECK_STR(b.symbols[0].name, "other");
	a.counters[0].hits = 1;
	a.counters[0].time_ns = 1;
	copy_ok(&b, &a, GS_META_COUNTERS);
	CHECK_INT(b.counters[0].hits, 10);
	gs_meta_deinit(&a);
	gs_meta_deinit(&b);
}

static void refuse(const struct gs_meta *a, enum gs_meta_table table, const char *part)
{
	struct gs_meta b;
	struct gs_error *err;

	gs_meta_init(&b);
	err = copy(&b, a, table, 0);
	CHECK(err && gs_error_code_of(err) == GS_ERR_DAMAGED);
	CHECK(err && strstr(gs_error_message(err), part));
	CHECK_INT(gs_meta_count(&b, table), 0);
	gs_error_free(err);
	gs_meta_deinit(&b);
}

static void test_references(void)
{
	struct gs_meta a;

	gs_meta_init(&a);
	fill(&a);
	refuse(&a, GS_META_SITES, "a probe that does not exist");
	refuse(&a, GS_META_COUNTERS, "a probe that does not exist");
	a.schemas[0].items[0].type = 99;
	refuse(&a, GS_META_SCHEMAS, "a type that does not exist");
	a.schemas[0].items[0].type = 0;
	a.maps[0].module = 5;
	refuse(&a, GS_META_MAPS, "a module that does not exist");
	gs_meta_deinit(&a);
}

/* Every prefix of every table: an error, never a crash, and nothing is left behind. */
static void test_prefixes(void)
{
	struct gs_meta a, b;
	struct gs_buf buf = {0};

	gs_meta_init(&a);
	gs_meta_init(&b);
	fill(&a);
	add_list_type(a.types);
	for (int i = 0; i < GS_META_TABLES; i++)
		copy_ok(&b, &a, (enum gs_meta_table)i);
	for (int i = 0; i < GS_META_TABLES; i++) {
		gs_buf_reset(&buf);
		gs_meta_write(&buf, &a, (enum gs_meta_table)i, 0);
		for (size_t n = 0; n < buf.len; n++) {
			struct gs_meta c;
			uint8_t *p = gs_malloc(n);
			struct gs_reader r = gs_reader_of(p, n);
			struct gs_error *err;

			memcpy(p, buf.data, n);
			gs_meta_init(&c);
			err = gs_meta_read(&r, &c, (enum gs_meta_table)i);
			CHECK(err);
			CHECK_INT(gs_meta_count(&c, i), i == GS_META_TYPES);
			gs_error_free(err);
			gs_meta_deinit(&c);
			free(p);
		}
	}
	gs_buf_deinit(&buf);
	gs_meta_deinit(&a);
	gs_meta_deinit(&b);
}

/* A later version appends a field; an earlier one lacked the last. */
static void test_other_versions(void)
{
	static const uint8_t longer[] = {0, 1, 7, 1, 'n', 1, 't', 3, 9, 9};
	static const uint8_t shorter[] = {1, 1, 2, 1, 'm'};
	struct gs_reader r = gs_reader_of(longer, sizeof(longer));
	struct gs_meta m;

	gs_meta_init(&m);
	CHECK(!gs_meta_read(&r, &m, GS_META_PROBES));
	r = gs_reader_of(shorter, sizeof(shorter));
	CHECK(!gs_meta_read(&r, &m, GS_META_PROBES));
	CHECK_INT(m.nprobes, 2);
	CHECK_INT(m.probes[0].kind, GS_PROBE_RETURN);
	CHECK_STR(m.probes[1].name, "m");
	CHECK_STR(m.probes[1].text, "");
	CHECK_INT(m.probes[1].id, 1);
	gs_meta_deinit(&m);
}

int main(void)
{
	TAP_RUN(test_types);
	TAP_RUN(test_types_interleaved);
	TAP_RUN(test_all_tables);
	TAP_RUN(test_newest_counters_and_symbols);
	TAP_RUN(test_references);
	TAP_RUN(test_prefixes);
	TAP_RUN(test_other_versions);
	return tap_done();
}
