/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From probe texts to the resolver's answer over a module made by hand: expansion of items, sharing
 * of schemas and plans, absences, errors; and the resolver as a process.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/resolver.h"
#include "tests/lib/fake_module.h"
#include "tests/tap.h"

static struct gs_resolve_request request;
static struct gs_resolution answer;

/* ---- the program ---- */

static struct {
	gs_type_id i32, u64, str, rec, node, fn, bytes, pair, cpp_ref;
} t;

static gs_type_id add(struct gs_type type)
{
	gs_type_id id = 0;
	struct gs_error *err = gs_types_add(fake_types, &type, &id);

	CHECK(err == NULL);
	gs_error_free(err);
	return id;
}
static gs_type_id pointer(gs_type_id to)
{
	return add((struct gs_type){.kind = GS_KIND_POINTER, .target = to, .byte_size = 8});
}
static gs_type_id array(gs_type_id of, uint64_t n)
{
	return add((struct gs_type){.kind = GS_KIND_ARRAY,
				    .target = of,
				    .count = n,
				    .stride = gs_type_size(fake_types, of)});
}
static gs_type_id aggregate(const char *name, uint64_t size, struct gs_member *m, uint32_t n)
{
	return add((struct gs_type){.kind = GS_KIND_STRUCT,
				    .name = name,
				    .byte_size = size,
				    .members = m,
				    .nmembers = n});
}

static struct fake_var *variable(const char *name, gs_type_id type, uint32_t flags)
{
	struct fake_var *v = &fake_vars[fake_nvars++];

	*v = (struct fake_var){.var = {.name = name, .type = type, .flags = flags},
			       .address = 0x5000 + fake_nvars * 0x100};
	v->loc[0].kind = v->loc[1].kind = GS_LOC_MEMORY;
	return v;
}

static void make_types(void)
{
	gs_type_id ch =
		add((struct gs_type){.kind = GS_KIND_INT,
				     .name = "char",
				     .byte_size = 1,
				     .flags = GS_TYPE_SIGNED | GS_TYPE_CHAR | GS_TYPE_PLAIN_CHAR});
	gs_type_id next, opaque;

	t.i32 = add((struct gs_type){
		.kind = GS_KIND_INT, .name = "int", .byte_size = 4, .flags = GS_TYPE_SIGNED});
	t.u64 = add((struct gs_type){.kind = GS_KIND_INT, .name = "unsigned long", .byte_size = 8});
	t.str = pointer(ch);
	t.fn = pointer(add((struct gs_type){.kind = GS_KIND_FUNCTION, .target = t.i32}));
	t.bytes = array(ch, 1000);
	opaque = aggregate("inner", 4, (struct gs_member[]){{.name = "z", .type = t.i32}}, 1);
	t.rec = aggregate(
		"rec", 40,
		(struct gs_member[]){{.name = "n", .type = t.i32},
				     {.name = "s", .type = t.str, .bit_offset = 64},
				     {.name = "f", .type = t.fn, .bit_offset = 128},
				     {.name = "o", .type = pointer(opaque), .bit_offset = 192},
				     {.name = "q", .type = t.str, .bit_offset = 256}},
		5);
	CHECK(gs_types_reserve(fake_types,
			       &(struct gs_type){.kind = GS_KIND_POINTER, .byte_size = 8},
			       &next) == NULL);
	t.node = aggregate("node", 16,
			   (struct gs_member[]){{.name = "v", .type = t.i32},
						{.name = "next", .type = next, .bit_offset = 64}},
			   2);
	gs_types_set_target(fake_types, next, t.node);
	t.pair = aggregate("pair", 16,
			   (struct gs_member[]){{.name = "a", .type = t.str},
						{.name = "b", .type = t.str, .bit_offset = 64}},
			   2);
	t.cpp_ref =
		add((struct gs_type){.kind = GS_KIND_REFERENCE, .target = t.node, .byte_size = 8});
}

static void make_variables(void)
{
	static struct gs_location_piece pieces[] = {{.size = 8, .kind = GS_LOC_VALUE, .node = 5},
						    {.offset = 8,
						     .size = 8,
						     .kind = GS_LOC_ABSENT,
						     .status = GS_STATUS_UNAVAILABLE,
						     .reason = "in xmm0"}};
	struct fake_var *v;

	make_types();
	v = variable("s", t.str, GS_VAR_PARAM);
	v->loc[0].kind = GS_LOC_VALUE; /* another home at each site */
	v->reg = 6;
	variable("n", t.i32, GS_VAR_PARAM);
	variable("r", pointer(t.rec), 0);
	variable("list", pointer(t.node), 0);
	variable("big", t.bytes, 0);
	variable("matrix", array(array(t.i32, 30), 30), 0);
	variable("ref", t.cpp_ref, 0);
	variable("count", t.u64, 0);
	variable("huge", array(t.rec, 1000), 0);
	variable("wide",
		 aggregate("wide", 70000,
			   (struct gs_member[]){{.name = "a", .type = array(t.i32, 17500)}}, 1),
		 0);
	v = variable("pair", t.pair, 0);
	v->loc[0] = (struct gs_location){.kind = GS_LOC_PIECES, .pieces = pieces, .npieces = 2};
	v = variable("gone", t.i32, GS_VAR_LOCAL);
	v->loc[0] = (struct gs_location){
		.kind = GS_LOC_ABSENT, .status = GS_STATUS_OPTIMIZED_OUT, .reason = ""};
	v = variable("never", t.i32, 0);
	v->loc[0] = v->loc[1] = (struct gs_location){
		.kind = GS_LOC_ABSENT, .status = GS_STATUS_UNAVAILABLE, .reason = "in xmm3"};
	v = variable("only_first", t.i32, 0);
	v->hidden[1] = true;
}

/* ---- running ---- */

static int open_file(void *ctx, const char *name, struct gs_arena *arena, uint32_t *ticket,
		     const char **path)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (strcmp(name, "prog") != 0) {
		close(fd);
		return -ENOENT;
	}
	/* The types exist once the module is open, which follows. */
	if (ticket)
		*ticket = 0;
	if (path)
		*path = NULL;
	return fd;
}

static const struct gs_file_source source = {.open = open_file};

static void defaults(void)
{
	request.executable = "prog";
	request.string_limit = request.array_limit = 200;
	request.max_sites = 100;
}

static void run_request(void)
{
	struct gs_buf bytes = {0};
	struct gs_reader in;
	uint32_t *tickets = NULL;
	struct gs_error *err;

	gs_resolution_deinit(&answer);
	fake_nvars = 0;
	fake_on_open = make_variables;
	gs_resolver_run(&request, &source, &bytes);
	in = gs_reader_of(bytes.data, bytes.len);
	err = gs_resolution_read(&in, 1, &answer, &tickets);
	if (err)
		printf("# %s\n", gs_error_message(err));
	CHECK(err == NULL);
	gs_error_free(err);
	for (size_t i = 0; i < answer.nerrors; i++)
		printf("# error: %s\n", gs_error_message(answer.errors[i]));
	free(tickets);
	gs_buf_deinit(&bytes);
}

static void run(const char *probe)
{
	static const char *probes[1];

	probes[0] = probe;
	request.probes = probes;
	request.nprobes = 1;
	run_request();
}

static const struct gs_meta_schema *schema_of(size_t site)
{
	return &answer.meta.schemas[answer.meta.sites[site].schema];
}
static const struct gs_plan *plan_of(size_t site)
{
	return &answer.plans[answer.sites[site].plan];
}
static bool warned(const char *what)
{
	for (size_t i = 0; i < answer.nwarnings; i++)
		if (strstr(answer.warnings[i], what))
			return true;
	for (size_t i = 0; i < answer.nwarnings; i++)
		printf("# warning: %s\n", answer.warnings[i]);
	return false;
}
static bool failed(const char *what)
{
	return answer.nerrors == 1 && strstr(gs_error_message(answer.errors[0]), what);
}

/* ---- tests ---- */

static void test_default_args(void)
{
	defaults();
	run("f");
	CHECK_INT(answer.meta.nsites, 2);
	CHECK_INT(answer.meta.nschemas, 1);
	/* `s' is in a register at one site and in memory at the other: one schema, two plans. */
	CHECK_INT(answer.nplans, 2);
	CHECK_INT(schema_of(0)->nitems, 3);
	CHECK_STR(schema_of(0)->items[0].key, "s");
	CHECK(schema_of(0)->items[1].flags & GS_SCHEMA_STRING);
	CHECK_STR(schema_of(0)->items[2].key, "n");
	CHECK_INT(schema_of(0)->items[0].flags, GS_SCHEMA_ARG);
	CHECK_INT(plan_of(0)->items[0].kind, GS_ITEM_VALUE);
	CHECK_INT(plan_of(1)->items[0].kind, GS_ITEM_MEMORY);
	CHECK_STR(answer.meta.sites[1].inlined_in, "outer");
	CHECK_STR(answer.meta.sites[0].file, "prog.c");
	CHECK_STR(answer.meta.probes[0].name, "f");
}

static void test_string_members(void)
{
	defaults();
	run("n = g { *r, r }");
	CHECK_INT(answer.meta.nsites, 1);
	CHECK_STR(answer.meta.probes[0].name, "n");
	CHECK_INT(schema_of(0)->nitems, 4);
	CHECK_STR(schema_of(0)->items[0].expr, "*r");
	CHECK_INT(schema_of(0)->items[0].size, 40);
	CHECK_INT(schema_of(0)->items[2].parent, 0);
	CHECK_INT(schema_of(0)->items[2].parent_offset, 8);
	CHECK_INT(schema_of(0)->items[3].parent_offset, 32);
	CHECK_INT(plan_of(0)->items[3].parent_need, 40);
	CHECK_INT(plan_of(0)->items[3].kind, GS_ITEM_STRING);
	/* A function pointer in the struct is named later. */
	CHECK_INT(answer.ncode_pointers, 1);
	if (answer.ncode_pointers == 1)
		CHECK_INT(answer.code_pointers[0].offset, 16);
	CHECK_INT(answer.nsymbols, 2);
}

static const struct gs_type *target_of(const struct gs_types *types, gs_type_id id)
{
	const struct gs_type *type = gs_type_get(types, gs_type_strip(types, id));

	return gs_type_get(types, gs_type_strip(types, type->target));
}

static void test_types_are_reduced(void)
{
	const struct gs_types *types;

	defaults();
	run("g { r }");
	types = answer.meta.types;
	CHECK_STR(target_of(types, schema_of(0)->items[0].type)->name, "rec");
	CHECK(target_of(types, schema_of(0)->items[0].type)->flags & GS_TYPE_INCOMPLETE);
	run("g { *r }");
	types = answer.meta.types;
	CHECK_INT(gs_type_get(types, schema_of(0)->items[0].type)->nmembers, 5);
	CHECK(target_of(types, gs_type_get(types, schema_of(0)->items[0].type)->members[3].type)
		      ->flags &
	      GS_TYPE_INCOMPLETE);
	run("g { *list }");
	types = answer.meta.types;
	/* What is held by value is whole behind pointers too. */
	CHECK_INT(target_of(types, gs_type_get(types, schema_of(0)->items[0].type)->members[1].type)
			  ->nmembers,
		  2);
}

static void test_depth(void)
{
	defaults();
	request.depth = 2;
	run("g { list }");
	CHECK_INT(schema_of(0)->nitems, 3);
	CHECK_INT(schema_of(0)->items[1].parent, 0);
	CHECK_INT(schema_of(0)->items[2].parent, 1);
	CHECK_INT(schema_of(0)->items[2].parent_offset, 8);
	CHECK_INT(plan_of(0)->items[2].kind, GS_ITEM_MEMORY);
	CHECK_INT(plan_of(0)->items[2].flags, GS_ITEM_SKIP_NULL);
	request.depth = 0;
	run("g { list }");
	CHECK_INT(schema_of(0)->nitems, 1);
	/* A reference is its referent, whatever the depth. */
	run("g { ref }");
	CHECK_INT(schema_of(0)->nitems, 2);
	CHECK_INT(schema_of(0)->items[1].size, 16);
}

static void test_limits(void)
{
	defaults();
	run("g { big, matrix }");
	CHECK_INT(schema_of(0)->nitems, 2);
	CHECK(schema_of(0)->items[0].variable);
	CHECK_INT(schema_of(0)->items[0].size, 200);
	CHECK_INT(schema_of(0)->items[1].size, 6 * 30 * 4);
	CHECK_INT(plan_of(0)->items[1].stride, 120);
	/* All elements are counted, so that the program says that some are missing. */
	CHECK_INT(plan_of(0)->nodes[plan_of(0)->items[1].count].imm, 30);
	request.string_limit = 2000;
	run("g { big }");
	CHECK(!schema_of(0)->items[0].variable);
	CHECK_INT(schema_of(0)->items[0].size, 1000);
	defaults();
	run("g { wide }");
	CHECK(failed("`wide' needs up to 70000 bytes"));
	run("g { huge }");
	CHECK_INT(schema_of(0)->items[0].size, 200 * 40);
	CHECK(warned("not all strings"));
	CHECK_INT(answer.nerrors, 0);
}

static void test_ranges(void)
{
	defaults();
	run("g { big[2:n], *r@n, matrix[1:3], str(s, 10), b = buf(s, n) }");
	CHECK_INT(answer.nerrors, 0);
	if (answer.nerrors)
		return;
	CHECK_INT(plan_of(0)->items[0].kind, GS_ITEM_ARRAY);
	CHECK_INT(plan_of(0)->items[0].stride, 1);
	CHECK_INT(plan_of(0)->items[1].stride, 40);
	CHECK_INT(schema_of(0)->items[2].size, 240);
	CHECK_INT(plan_of(0)->items[3].kind, GS_ITEM_STRING);
	CHECK_INT(schema_of(0)->items[3].size, 10);
	CHECK_STR(schema_of(0)->items[4].key, "b");
}

static void test_pieces(void)
{
	defaults();
	run("f { pair }");
	CHECK_INT(answer.meta.nschemas, 1);
	CHECK_INT(plan_of(0)->items[0].kind, GS_ITEM_PIECES);
	CHECK_INT(plan_of(0)->npieces, 1);
	CHECK_INT(answer.meta.sites[0].nnotes, 1);
	if (answer.meta.sites[0].nnotes) {
		CHECK_INT(answer.meta.sites[0].notes[0].offset, 8);
		CHECK_INT(answer.meta.sites[0].notes[0].size, 8);
		CHECK_STR(answer.meta.sites[0].notes[0].reason, "in xmm0");
	}
	/* The string of the member that is there, and none of the one that is not. */
	CHECK_INT(plan_of(0)->items[1].kind, GS_ITEM_STRING);
	CHECK_INT(plan_of(0)->items[2].kind, GS_ITEM_ABSENT);
	CHECK_INT(plan_of(1)->items[2].kind, GS_ITEM_STRING);
}

static void test_absence(void)
{
	defaults();
	run("f { gone }");
	CHECK_INT(answer.nerrors, 0);
	CHECK(warned(
		"at 1 of 2 sites of `f' `gone' is optimized out; it is readable at prog.c:12"));
	CHECK_INT(plan_of(0)->items[0].kind, GS_ITEM_ABSENT);
	CHECK_INT(answer.meta.nschemas, 1);
	run("f { never }");
	CHECK_INT(answer.nerrors, 0);
	CHECK(warned("at all 2 sites of `f' `never' cannot be read (in xmm3)"));
	run("f { $locals }");
	CHECK(warned("some variables have no value: gone (optimized-out)"));
	run("f { only_first }");
	CHECK_INT(answer.nerrors, 0);
	CHECK(warned("not known at 1 of 2 sites"));
	CHECK_INT(answer.meta.nschemas, 1);
	CHECK_INT(plan_of(1)->items[0].status, GS_STATUS_UNAVAILABLE);
	run("f { nosuch }");
	CHECK(failed("no variable `nosuch'"));
}

static void test_conditions(void)
{
	defaults();
	run("f { n } if gone > 1");
	CHECK_INT(answer.nerrors, 0);
	CHECK(warned("the condition is never true at 1 of 2 sites"));
	run("f { n } if never > 1");
	CHECK(failed("can never be true: `never' cannot be read (in xmm3)"));
	run("f { n } if nosuch");
	CHECK(failed("no variable"));
	run("g { n } if n > 3 && s == \"x\"");
	CHECK_INT(answer.nerrors, 0);
	CHECK(plan_of(0)->condition != GS_NODE_NONE);
	run("g { n } if r");
	CHECK_INT(answer.nerrors, 0);
	run("g { n } if *r");
	CHECK(failed("condition cannot be of the type"));
}

static const struct gs_plan_node *node_of(const struct gs_plan *p, uint16_t i)
{
	return &p->nodes[i];
}

static void test_returns(void)
{
	const struct gs_plan *plan, *entry;

	defaults();
	run("r%return");
	CHECK_INT(answer.nerrors, 0);
	CHECK_INT(answer.meta.nsites, 2);
	CHECK_INT(answer.nentries, 1);
	CHECK_INT(answer.meta.probes[0].kind, GS_PROBE_RETURN);
	CHECK_INT(answer.sites[0].entry, 0);
	CHECK_INT(answer.sites[1].entry, 0);
	CHECK_INT(answer.entries[0].link_addr, 0x2000);
	/* The function returns nothing: no $retval. */
	CHECK_INT(answer.meta.schemas[0].nitems, 1);
	CHECK_STR(answer.meta.schemas[0].items[0].key, "$duration");
	CHECK_INT(answer.meta.schemas[0].items[0].flags, GS_SCHEMA_DURATION);
	run("r%return { $retval }");
	CHECK(failed("returns nothing"));

	run("r%return { $entry(n), $entry(n + 1), $entry(n), m = $entry(4) } if $duration > 5");
	CHECK_INT(answer.nerrors, 0);
	plan = plan_of(0);
	entry = &answer.plans[answer.entries[0].plan];
	CHECK_INT(entry->kind, GS_PLAN_ENTRY);
	CHECK_INT(entry->nsaves, 3); /* with the sum of the preserved registers */
	CHECK_INT(plan->kind, GS_PLAN_CAPTURE);
	CHECK(plan->takes_frame && !plan->at_return);
	CHECK(plan->condition != GS_NODE_NONE);
	CHECK_INT(node_of(plan, node_of(plan, plan->items[0].node)->a)->op, GS_OP_SAVED);
	CHECK_INT(plan->items[0].node, plan->items[2].node);
	CHECK_INT(node_of(plan, plan->items[3].node)->op, GS_OP_CONST);
	CHECK_INT(node_of(plan, plan->frame)->op, GS_OP_REG);
	CHECK_INT(answer.meta.schemas[0].items[0].flags & GS_SCHEMA_AT_ENTRY, GS_SCHEMA_AT_ENTRY);

	run("f { $duration }");
	CHECK(failed("only known at the return"));
	run("f { $entry(n) }");
	CHECK(failed("only known at the return"));
	run("r%return { $entry($retval) }");
	CHECK(failed("only known at the return"));
	run("r%return { $entry(nosuch) }");
	CHECK(failed("no variable"));
}

static void test_refused(void)
{
	static const char *const probes[] = {"f%return",   "sdt:a:b", "f*",
					     "nofunction", "x!f",     "f {"};

	defaults();
	request.probes = probes;
	request.nprobes = 6;
	run_request();
	/* All errors of all probes, in order. */
	CHECK_INT(answer.nerrors, 6);
	CHECK(strstr(gs_error_message(answer.errors[0]), "no function `f'"));
	CHECK(strstr(gs_error_message(answer.errors[1]), "markers"));
	CHECK(strstr(gs_error_message(answer.errors[2]), "wildcards"));
	CHECK(strstr(gs_error_message(answer.errors[3]), "nofunction"));
	CHECK(strstr(gs_error_message(answer.errors[4]), "no module `x'"));
	for (size_t i = 0; i < answer.nerrors; i++) {
		size_t start, len;

		CHECK(gs_error_source(answer.errors[i], &start, &len) != NULL);
	}
	request.allow_pending = true;
	run("x!f { n }");
	CHECK_INT(answer.nerrors, 0);
	CHECK_INT(answer.npending, 1);
	CHECK_INT(answer.meta.nsites, 0);
	request.allow_pending = false;
}

static void test_explain(void)
{
	defaults();
	request.explain = true;
	run("f { n, gone } if n > 1");
	CHECK(answer.explanation != NULL);
	if (answer.explanation) {
		CHECK(strstr(answer.explanation, "site 1 at 0x1010 in f, inlined in outer"));
		CHECK(strstr(answer.explanation, "push rbp (emulated)"));
		CHECK(strstr(answer.explanation,
			     "gone: int, optimized-out; readable at prog.c:12"));
		CHECK(strstr(answer.explanation, "plan 0 (site"));
	}
	request.explain = false;
	request.listing = GS_LIST_FUNCTIONS;
	request.listing_arg = "*";
	request.nprobes = 0;
	run_request();
	CHECK_STR(answer.explanation, "f  prog.c:10  (inlined: 1)\n");
	request.listing = GS_LIST_VARIABLES;
	request.listing_arg = "g";
	run_request();
	CHECK(answer.explanation && strstr(answer.explanation, "    char *s"));
	request.listing = GS_LIST_NONE;
}

/* Every prefix and every changed byte of an answer is refused or read, never trusted. */
static void test_hostile_answer(void)
{
	static const char *const probes[] = {"f { *r, big[0:n], pair } if s == \"x\""};
	struct gs_buf bytes = {0};

	defaults();
	request.probes = probes;
	request.nprobes = 1;
	fake_nvars = 0;
	fake_on_open = make_variables;
	gs_resolver_run(&request, &source, &bytes);
	for (size_t i = 0; i < bytes.len; i++) {
		uint8_t flip[3] = {0xff, 0x01, 0x80};

		for (int k = 0; k < 4; k++) {
			GS_CLEANUP_FREE uint8_t *copy = gs_malloc(bytes.len);
			struct gs_resolution r;
			uint32_t *tickets = NULL;
			struct gs_reader in;
			struct gs_error *err;

			memcpy(copy, bytes.data, bytes.len);
			if (k < 3)
				copy[i] ^= flip[k];
			in = gs_reader_of(copy, k < 3 ? bytes.len : i);
			err = gs_resolution_read(&in, 1, &r, &tickets);
			if (k == 3)
				CHECK(err != NULL);
			if (!err)
				gs_resolution_deinit(&r);
			gs_error_free(err);
			free(tickets);
		}
	}
	gs_buf_deinit(&bytes);
}

static void crash(void)
{
	raise(SIGSEGV);
}

static void spend_time(void)
{
	raise(SIGXCPU);
}

#ifndef __SANITIZE_ADDRESS__ /* which reserves more than the limit for itself */
static void *free_later[16];

/* Memory that nobody has: as a file can ask for it that says that it is large. */
static void grow(void)
{
	for (int i = 0; i < 16; i++)
		free_later[i] = gs_malloc((size_t)1 << 30);
}
#endif

static void try_to_write(void)
{
	int fd = open("/tmp/gs-resolver-wrote", O_CREAT | O_WRONLY, 0600);

	/* The file may be made where everybody may; nothing can be put into it. */
	signal(SIGXFSZ, SIG_IGN);
	if (fd >= 0 && write(fd, "x", 1) == 1)
		raise(SIGUSR1);
	unlink("/tmp/gs-resolver-wrote");
	if (geteuid() == 0 || setuid(0) == 0)
		raise(SIGUSR2);
	make_variables();
}

static struct gs_error *in_process(const char *probe, void (*on_open)(void))
{
	static const char *probes[1];

	probes[0] = probe;
	defaults();
	request.executable = "/proc/self/exe";
	request.probes = probes;
	request.nprobes = 1;
	fake_nvars = 0;
	fake_on_open = on_open;
	gs_resolution_deinit(&answer);
	return gs_resolve(&request, &answer);
}

static void test_process(void)
{
	struct gs_error *err = in_process("f { s, n }", try_to_write);
	struct stat mine, theirs;

	if (err)
		printf("# %s\n", gs_error_message(err));
	CHECK(err == NULL);
	CHECK_INT(answer.nerrors, 0);
	CHECK_INT(answer.meta.nmodules, 1);
	CHECK(answer.module_fds && fstat(answer.module_fds[0], &theirs) == 0 &&
	      stat("/proc/self/exe", &mine) == 0 && mine.st_ino == theirs.st_ino);
	/* The path is the file's own, not the way to it. */
	CHECK(answer.meta.nmodules && strstr(answer.meta.modules[0].path, "/proc") == NULL);
	gs_error_free(err);

	err = in_process("f", crash);
	CHECK(err && strstr(gs_error_message(err), "resolver crashed"));
	gs_error_free(err);
	err = in_process("f", spend_time);
	CHECK(err && strstr(gs_error_message(err), "processor time"));
	gs_error_free(err);
#ifndef __SANITIZE_ADDRESS__
	err = in_process("f", grow);
	CHECK(err && strstr(gs_error_message(err), "lack of memory"));
	gs_error_free(err);
#endif
	CHECK(waitpid(-1, NULL, WNOHANG) == -1);
}

static void test_opens(void)
{
	struct gs_error *err;

	request.nprobes = 1;
	err = in_process("f", make_variables);
	gs_error_free(err);
	request.executable = "/etc/passwd";
	gs_resolution_deinit(&answer);
	err = gs_resolve(&request, &answer);
	CHECK(!err && failed("/etc/passwd is not an ELF file"));
	gs_error_free(err);
	request.executable = "/tmp";
	gs_resolution_deinit(&answer);
	err = gs_resolve(&request, &answer);
	CHECK(!err && failed("/tmp is not a regular file"));
	gs_error_free(err);
	request.executable = "/nonexistent";
	gs_resolution_deinit(&answer);
	err = gs_resolve(&request, &answer);
	CHECK(!err && failed("/nonexistent does not exist"));
	gs_error_free(err);
}

static void test_loader_cache(void)
{
	struct gs_arena arena = {0};
	struct gs_buf b = {0};
	static const char strings[] = "libx.so.1\0/opt/libx.so.1\0/opt/32/libx.so.1";
	uint32_t base = 48 + 2 * 24;

	gs_buf_puts(&b, "glibc-ld.so.cache1.1");
	gs_put_u32(&b, 2);
	gs_put_u32(&b, sizeof(strings));
	while (b.len < 48)
		gs_put_u8(&b, 0);
	for (uint32_t i = 0; i < 2; i++) {
		gs_put_u32(&b, i ? 0x0303 : 0x0003);
		gs_put_u32(&b, base);
		gs_put_u32(&b, base + (i ? 10 : 25));
		gs_put_u32(&b, 0);
		gs_put_u64(&b, 0);
	}
	gs_buf_append(&b, strings, sizeof(strings));
	CHECK_STR(gs_ld_cache_find(b.data, b.len, "libx.so.1", 62, &arena), "/opt/libx.so.1");
	CHECK_STR(gs_ld_cache_find(b.data, b.len, "libx.so.1", 3, &arena), "/opt/32/libx.so.1");
	CHECK(!gs_ld_cache_find(b.data, b.len, "libx.so", 62, &arena));
	for (size_t n = 0; n < b.len; n++) {
		GS_CLEANUP_FREE uint8_t *cut = gs_malloc(n);

		if (n)
			memcpy(cut, b.data, n);
		gs_ld_cache_find(cut, n, "libx.so.1", 62, &arena);
	}
	gs_buf_deinit(&b);
	gs_arena_deinit(&arena);
}

int main(void)
{
	TAP_RUN(test_default_args);
	TAP_RUN(test_string_members);
	TAP_RUN(test_types_are_reduced);
	TAP_RUN(test_depth);
	TAP_RUN(test_limits);
	TAP_RUN(test_ranges);
	TAP_RUN(test_pieces);
	TAP_RUN(test_absence);
	TAP_RUN(test_conditions);
	TAP_RUN(test_returns);
	TAP_RUN(test_refused);
	TAP_RUN(test_explain);
	TAP_RUN(test_hostile_answer);
	TAP_RUN(test_process);
	TAP_RUN(test_opens);
	TAP_RUN(test_loader_cache);
	gs_resolution_deinit(&answer);
	return tap_done();
}
