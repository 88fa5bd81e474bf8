/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ELF files: what is said of those that cannot be used, separate debug files, dynamic symbols, and
 * damage: no byte of a file may lead to more than an error.
 */
#include <fcntl.h>
#include <unistd.h>

#include "record/dwarf_internal.h"
#include "tests/lib/record_run.h"
#include "tests/tap.h"

static int no_files(void *ctx, const char *path)
{
	return -2;
}

static struct gs_error *open_bytes(const void *bytes, size_t n, struct gs_types *types,
				   struct gs_module **m, int *fd)
{
	static const struct gs_opener opener = {.open_file = no_files};
	FILE *f = tmpfile();

	fwrite(bytes, 1, n, f);
	fflush(f);
	*fd = dup(fileno(f));
	fclose(f);
	return gs_module_open(*fd, "the-file", &opener, types, m);
}

static void check_refused(const void *bytes, size_t n, const char *what)
{
	struct gs_types *types = gs_types_new();
	struct gs_module *m = NULL;
	int fd;
	struct gs_error *err = open_bytes(bytes, n, types, &m, &fd);

	CHECK(err && strstr(gs_error_message(err), what) &&
	      strstr(gs_error_message(err), "the-file"));
	if (!err)
		gs_module_close(m);
	gs_error_free(err);
	gs_types_free(types);
	close(fd);
}

static void test_what_is_not_elf_is_refused(void)
{
	check_refused("", 0, "not an ELF file");
	check_refused("#!/bin/sh\n", 10, "not an ELF file");
	check_refused("\177ELF", 4, "not an ELF file");
	check_refused("!<arch>\n", 8, "not an ELF file");
}

static void test_information_about_a_module(void)
{
	struct run_module rm;
	const char *path = run_compile("gcc", "-O0 -Wl,--build-id=0x0123456789abcdef", "places.c");
	const struct gs_module_info *info;
	uint64_t offset = 0;
	struct gs_places p;
	uint8_t byte;

	if (!path || !run_open(path, &rm))
		return;
	info = gs_module_info(rm.m);
	CHECK_INT(info->build_id_len, 8);
	CHECK_INT(info->build_id[1], 0x23);
	CHECK(info->has_dwarf && info->has_symbols && info->is_executable);
	CHECK(info->is_pie_or_library && info->interpreter && !info->soname);
	CHECK(info->nneeded >= 1);
	CHECK(!info->debug_problem);
	gs_places_init(&p);
	CHECK(!gs_module_find_function(rm.m, "scalars", &p));
	CHECK(p.nsites && gs_module_file_offset(rm.m, p.sites[0].link_addr, &offset));
	CHECK_INT(gs_module_read(rm.m, p.nsites ? p.sites[0].natural_addr : 0, &byte, 1), 1);
	CHECK_STR(gs_module_symbol_at(rm.m, p.nsites ? p.sites[0].link_addr : 0, &offset),
		  "scalars");
	CHECK(!gs_module_file_offset(rm.m, 0xffffffffffff0000, &offset));
	CHECK_INT(gs_module_read(rm.m, 0xffffffffffff0000, &byte, 1), 0);
	gs_places_deinit(&p);
	run_close(&rm);
}

static bool shell(const char *fmt, const char *a, const char *b)
{
	char command[1024];

	snprintf(command, sizeof(command), fmt, a, b);
	return system(command) == 0;
}

static void test_separate_debug_file_must_prove_itself(void)
{
	struct run_module rm;
	const char *path = run_compile("gcc", "-O0 -Wl,--build-id=none", "places.c");

	if (!path || !run_have("objcopy"))
		return;
	CHECK(shell("cd $(dirname %s) && objcopy --only-keep-debug %s x.debug", path, path));
	CHECK(shell("cd $(dirname %s) && objcopy -g --add-gnu-debuglink=x.debug %s", path, path));
	CHECK(run_open(path, &rm));
	CHECK(gs_module_info(rm.m)->has_dwarf && gs_module_info(rm.m)->debug_path);
	run_close(&rm);
	/* Another file of that name: its checksum is not the one that was asked for. */
	CHECK(shell("cd $(dirname %s) && printf x >> x.debug && : %s", path, path));
	CHECK(run_open(path, &rm));
	CHECK(!gs_module_info(rm.m)->has_dwarf);
	run_close(&rm);
}

static void test_unreadable_debug_information_is_said(void)
{
	struct run_module rm;
	const char *path = run_compile("gcc", "-O0 -gsplit-dwarf", "places.c");

	if (path && shell("rm -f %s*.dwo; : %s", path, path) && run_open(path, &rm)) {
		const struct gs_module_info *info = gs_module_info(rm.m);
		struct gs_places p;

		gs_places_init(&p);
		CHECK(!gs_module_find_function(rm.m, "scalars", &p));
		CHECK(info->ndebug_notes == 1 && strstr(info->debug_notes[0], ".dwo"));
		gs_places_deinit(&p);
		run_close(&rm);
	}
	path = run_compile("gcc", "-O0", "places.c");
	if (path &&
	    shell("objcopy --compress-debug-sections=zstd %s 2>/dev/null || false; : %s", path,
		  path) &&
	    run_open(path, &rm)) {
		/* binutils without zstd leave the file as it was. */
		CHECK(gs_module_info(rm.m)->has_dwarf || gs_module_info(rm.m)->debug_problem);
		run_close(&rm);
	}
}

static void test_preemptible_symbols(void)
{
	struct run_module rm;
	const char *path = run_compile("gcc", "-O1 -shared -fPIC", "values.c");
	struct gs_variable v;
	struct gs_plan plan;
	struct gs_location loc;
	struct gs_places p;
	struct gs_error *err;

	if (!path || !run_open(path, &rm)) {
		CHECK(!"the fixture does not compile");
		return;
	}
	CHECK(!gs_module_info(rm.m)->is_executable);
	gs_places_init(&p);
	gs_plan_init(&plan);
	err = gs_module_find_function(rm.m, "main", &p);
	CHECK(!err && p.nsites && p.sites[0].context);
	gs_error_free(err);
	if (p.nsites && !gs_context_find(p.sites[0].context, NULL, "global_int", &v)) {
		CHECK(!gs_context_location(p.sites[0].context, &v, &plan, &loc));
		/* Through the GOT, or not at all: never the library's own copy. */
		CHECK(loc.kind == GS_LOC_ABSENT ||
		      (loc.kind == GS_LOC_MEMORY && plan.nodes[loc.node].op == GS_OP_LOAD));
	}
	gs_plan_deinit(&plan);
	gs_places_deinit(&p);
	run_close(&rm);
}

/* ---- damage ---- */

static bool on_function(void *ctx, const struct gs_function_row *row)
{
	return ++*(unsigned *)ctx < 50;
}

/* Everything that a session asks of a module. */
static void exercise(struct gs_module *m)
{
	static const char *const functions[] = {"scalars", "structs", "inlined_twice", "choices"};
	unsigned n = 0;
	struct gs_places p;

	gs_places_init(&p);
	for (size_t i = 0; i < GS_ARRAY_SIZE(functions); i++)
		gs_error_free(gs_module_find_function(m, functions[i], &p));
	gs_error_free(gs_module_find_line(m, "places.c", run_line("places.c", "inner"), &p));
	gs_error_free(gs_module_list_functions(m, "*", on_function, &n));
	for (size_t i = 0; i < p.nsites; i++) {
		const struct gs_variable *vars;
		size_t nvars;

		if (!p.sites[i].context)
			continue;
		for (int locals = 0; locals < 2; locals++) {
			gs_error_free(locals ? gs_context_locals(p.sites[i].context, &vars, &nvars)
					     : gs_context_args(p.sites[i].context, &vars, &nvars));
			for (size_t k = 0; k < nvars; k++) {
				struct gs_plan plan;
				struct gs_location loc;

				gs_plan_init(&plan);
				gs_error_free(gs_context_location(p.sites[i].context, &vars[k],
								  &plan, &loc));
				gs_context_readable_at(p.sites[i].context, &vars[k]);
				gs_plan_deinit(&plan);
			}
		}
	}
	gs_places_deinit(&p);
}

static void try_bytes(const uint8_t *bytes, size_t n)
{
	struct gs_types *types = gs_types_new();
	struct gs_module *m = NULL;
	int fd;
	struct gs_error *err = open_bytes(bytes, n, types, &m, &fd);

	if (!err) {
		exercise(m);
		gs_module_close(m);
	}
	gs_error_free(err);
	gs_types_free(types);
	close(fd);
}

static uint8_t *read_all(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes;

	fseek(f, 0, SEEK_END);
	*n = (size_t)ftell(f);
	rewind(f);
	bytes = gs_malloc(*n);
	if (fread(bytes, 1, *n, f) != *n)
		*n = 0;
	fclose(f);
	return bytes;
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void test_damaged_files_do_no_harm(void)
{
	const char *path = run_compile("gcc", "-O1", "places.c");
	uint32_t state = 1;
	size_t n;
	uint8_t *bytes, *copy;

	if (!path)
		return;
	bytes = read_all(path, &n);
	copy = gs_malloc(n);
	for (int i = 0; i < 300; i++) {
		memcpy(copy, bytes, n);
		for (int k = 0; k < 1 + i % 8; k++)
			copy[next_random(&state) % n] = (uint8_t)next_random(&state);
		try_bytes(copy, n);
	}
	for (int i = 0; i < 60; i++)
		try_bytes(bytes, n * (size_t)i / 60);
	/* The header and the program headers, byte by byte. */
	for (size_t i = 16; i < 16 + 400; i += 3) {
		memcpy(copy, bytes, n);
		copy[i] ^= 0xff;
		try_bytes(copy, n);
	}
	CHECK(n > 0);
	free(bytes);
	free(copy);
}

int main(void)
{
	TAP_RUN(test_what_is_not_elf_is_refused);
	if (!run_have("gcc")) {
		tap_skip("record_elf", "no compiler");
		return tap_done();
	}
	TAP_RUN(test_information_about_a_module);
	TAP_RUN(test_separate_debug_file_must_prove_itself);
	TAP_RUN(test_unreadable_debug_information_is_said);
	TAP_RUN(test_preemptible_symbols);
	TAP_RUN(test_damaged_files_do_no_harm);
	return tap_done();
}
