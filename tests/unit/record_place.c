/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Places: how often a line fires, entries, offsets, addresses, and what is said about those that
 * are not.
 */
#include "record/insn.h"
#include "tests/lib/record_run.h"
#include "tests/tap.h"

static const char *const compilers[] = {"gcc", "clang"};
static const char *const flags[] = {"-O0", "-O1", "-O2", "-O3"};

/* Hits of all sites of a place in one run. */
static int count_hits(struct run_module *rm, struct gs_places *p)
{
	struct run r;
	int n = 0;

	if (!run_start(&r, rm))
		return -1;
	for (size_t i = 0; i < p->nsites; i++)
		run_stop_at(&r, p->sites[i].link_addr);
	while (run_next(&r))
		n++;
	run_end(&r);
	return n;
}

static int line_hits(struct run_module *rm, const char *mark)
{
	struct gs_places p;
	struct gs_error *err;
	int n;

	gs_places_init(&p);
	err = gs_module_find_line(rm->m, "places.c", run_line("places.c", mark), &p);
	n = err ? -1 : count_hits(rm, &p);
	if (err)
		printf("# %s: %s\n", mark, gs_error_message(err));
	gs_error_free(err);
	gs_places_deinit(&p);
	return n;
}

static bool build(const char *cc, const char *opt, struct run_module *rm)
{
	const char *path = run_have(cc) ? run_compile(cc, opt, "places.c") : NULL;

	return path && run_open(path, rm);
}

#define CHECK_HITS(mark, want)                                                                 \
	do {                                                                                   \
		int got_ = line_hits(&rm, mark);                                               \
		if (got_ != (want)) {                                                          \
			tap_case_failed = 1;                                                   \
			printf("# %s %s: line %s: %d hits, want %d\n", compilers[i], flags[k], \
			       mark, got_, want);                                              \
		}                                                                              \
	} while (0)

static void test_lines_fire_once_for_each_execution(void)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(compilers); i++)
		for (size_t k = 0; k < GS_ARRAY_SIZE(flags); k++) {
			struct run_module rm;

			if (!build(compilers[i], flags[k], &rm))
				continue;
			CHECK_HITS("for_body", 5);
			CHECK_HITS("while_body", 4);
			CHECK_HITS("do_body", 3);
			/* clang makes a table of the values, and one call, of the cases. */
			if (i == 0 || k == 0) {
				CHECK_HITS("case_one", 1);
				CHECK_HITS("case_three", 2);
				CHECK_HITS("default", 2);
			}
			CHECK_HITS("inner", 1);
			CHECK_HITS("inlined", 2);
			CHECK_HITS("one_line", 1);
			run_close(&rm);
		}
}

static void test_loop_heads_fire_once_for_each_round(void)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(compilers); i++) {
		size_t k = 0;
		struct run_module rm;

		if (!build(compilers[i], flags[k], &rm))
			continue;
		CHECK_HITS("for_head", 6);
		CHECK_HITS("while_head", 5);
		run_close(&rm);
	}
}

static void test_functions_fire_once_for_each_call(void)
{
	static const struct {
		const char *name;
		int calls;
	} calls[] = {{"for_loop", 1}, {"do_loop", 1}, {"inlined_twice", 2}, {"scalars", 1}};

	for (size_t i = 0; i < GS_ARRAY_SIZE(compilers); i++)
		for (size_t k = 0; k < GS_ARRAY_SIZE(flags); k++) {
			struct run_module rm;

			if (!build(compilers[i], flags[k], &rm))
				continue;
			for (size_t c = 0; c < GS_ARRAY_SIZE(calls); c++) {
				struct gs_places p;
				struct gs_error *err;

				gs_places_init(&p);
				err = gs_module_find_function(rm.m, calls[c].name, &p);
				CHECK(!err);
				CHECK_INT(err ? -1 : count_hits(&rm, &p), calls[c].calls);
				gs_error_free(err);
				gs_places_deinit(&p);
			}
			run_close(&rm);
		}
}

static void test_offsets_and_addresses_are_boundaries(void)
{
	struct run_module rm;
	struct gs_places p;
	struct gs_error *err;
	unsigned good = 0, bad = 0;
	uint64_t entry;

	if (!build("gcc", "-O0 -fcf-protection=none", &rm))
		return;
	gs_places_init(&p);
	gs_error_free(gs_module_find_function(rm.m, "scalars", &p));
	entry = p.nsites ? p.sites[0].link_addr : 0;
	CHECK(p.nsites == 1 && strncmp(p.sites[0].insn, "push", 4) == 0);
	CHECK_STR(p.sites[0].cost, "emulated");
	gs_places_deinit(&p);
	for (unsigned offset = 0; offset < 16; offset++) {
		gs_places_init(&p);
		err = gs_module_find_offset(rm.m, "scalars", offset, &p);
		if (err) {
			bad++;
			CHECK_INT(gs_error_code_of(err), GS_ERR_NOT_FOUND);
			CHECK(gs_error_hint_at(err, 0) != NULL);
		} else {
			good++;
		}
		gs_error_free(err);
		gs_places_deinit(&p);
	}
	CHECK(good >= 3 && bad >= 8);
	gs_places_init(&p);
	err = gs_module_find_address(rm.m, entry + 2, &p); /* inside mov %rsp,%rbp */
	CHECK(err != NULL);
	gs_error_free(err);
	err = gs_module_find_address(rm.m, entry + 1, &p);
	CHECK(!err && p.nsites == 1 && p.sites[0].context);
	gs_error_free(err);
	err = gs_module_find_address(rm.m, 8, &p);
	CHECK(err && gs_error_code_of(err) == GS_ERR_NOT_FOUND);
	gs_error_free(err);
	gs_places_deinit(&p);
	gs_places_init(&p);
	err = gs_module_find_offset(rm.m, "scalars", 1 << 20, &p);
	CHECK(err && strstr(gs_error_message(err), "beyond"));
	gs_error_free(err);
	gs_places_deinit(&p);
	run_close(&rm);
}

static void test_entry_is_after_endbr64(void)
{
	struct run_module rm;
	struct gs_places p;

	if (!build("gcc", "-O2 -fcf-protection=full", &rm))
		return;
	gs_places_init(&p);
	gs_error_free(gs_module_find_function(rm.m, "scalars", &p));
	CHECK(p.nsites == 1 && p.sites[0].link_addr == p.sites[0].natural_addr + 4);
	gs_places_deinit(&p);
	run_close(&rm);
}

static void test_what_is_not_there_is_said(void)
{
	struct run_module rm;
	struct gs_places p;
	struct gs_error *err;

	if (!build("gcc", "-O0", &rm))
		return;
	gs_places_init(&p);
	err = gs_module_find_function(rm.m, "scalarz", &p);
	CHECK(err && gs_error_hint_at(err, 0) && strstr(gs_error_hint_at(err, 0), "scalars"));
	gs_error_free(err);
	err = gs_module_find_line(rm.m, "places.c", 3, &p);
	CHECK(err && gs_error_hint_at(err, 0) && strstr(gs_error_hint_at(err, 0), "line"));
	gs_error_free(err);
	err = gs_module_find_line(rm.m, "place.c", 3, &p);
	CHECK(err && strstr(gs_error_message(err), "no source file"));
	gs_error_free(err);
	/* A suffix counts only at a component. */
	err = gs_module_find_line(rm.m, "laces.c", run_line("places.c", "one_line"), &p);
	CHECK(err != NULL);
	gs_error_free(err);
	err = gs_module_find_line(rm.m, "./x/../fixtures/places.c",
				  run_line("places.c", "one_line"), &p);
	CHECK(!err);
	gs_error_free(err);
	gs_places_deinit(&p);
	gs_places_init(&p);
	err = gs_module_find_function_line(rm.m, "for_loop", 3, &p);
	CHECK(!err && p.nsites == 1 && p.sites[0].line == run_line("places.c", "for_body"));
	gs_error_free(err);
	gs_places_deinit(&p);
	run_close(&rm);
}

static bool count_row(void *ctx, const struct gs_function_row *row)
{
	++*(size_t *)ctx;
	return true;
}

static bool count_line(void *ctx, const struct gs_line_row *row)
{
	*(size_t *)ctx += row->nsites;
	return true;
}

static void test_listings(void)
{
	struct run_module rm;
	size_t n = 0;

	if (!build("gcc", "-O0", &rm))
		return;
	gs_error_free(gs_module_list_functions(rm.m, "*_loop", count_row, &n));
	CHECK_INT(n, 3);
	n = 0;
	gs_error_free(gs_module_list_lines(rm.m, "for_loop", NULL, count_line, &n));
	CHECK(n >= 4 && n <= 6);
	n = 0;
	gs_error_free(gs_module_list_lines(rm.m, NULL, "places.c", count_line, &n));
	CHECK(n > 60);
	run_close(&rm);
}

static void test_symbols_without_debug_information(void)
{
	struct run_module rm;
	struct gs_places p;
	struct gs_error *err;

	if (!build("gcc", "-O1 -g0", &rm))
		return;
	gs_places_init(&p);
	err = gs_module_find_function(rm.m, "scalars", &p);
	CHECK(!err && p.nsites == 1 && !p.sites[0].context);
	CHECK_STR(p.nsites ? p.sites[0].func : "", "scalars");
	gs_error_free(err);
	err = gs_module_find_line(rm.m, "places.c", 10, &p);
	CHECK(err && strstr(gs_error_message(err), "no debug information"));
	gs_error_free(err);
	gs_places_deinit(&p);
	run_close(&rm);
}

static void test_instructions_that_the_kernel_refuses(void)
{
	static const struct {
		uint8_t bytes[8], len;
		enum gs_cost cost;
	} cases[] = {
		{{0x55}, 1, GS_COST_EMULATED},			      /* push %rbp */
		{{0x41, 0x54}, 2, GS_COST_EMULATED},		      /* push %r12 */
		{{0x90}, 1, GS_COST_EMULATED},			      /* nop */
		{{0x66, 0x90}, 2, GS_COST_EMULATED},		      /* xchg %ax,%ax */
		{{0x0f, 0x1f, 0x44, 0, 0}, 5, GS_COST_NOP5},	      /* nopl 0(%rax,%rax) */
		{{0xe8, 1, 2, 3, 4}, 5, GS_COST_EMULATED},	      /* call */
		{{0x0f, 0x84, 1, 2, 3, 4}, 6, GS_COST_EMULATED},      /* je */
		{{0xf3, 0x0f, 0x1e, 0xfa}, 4, GS_COST_STEPPED},	      /* endbr64 */
		{{0x48, 0x89, 0xe5}, 3, GS_COST_STEPPED},	      /* mov %rsp,%rbp */
		{{0xc3}, 1, GS_COST_STEPPED},			      /* ret */
		{{0xcc}, 1, GS_COST_REFUSED},			      /* int3 */
		{{0x0f, 0x05}, 2, GS_COST_REFUSED},		      /* syscall */
		{{0x0f, 0x0b}, 2, GS_COST_STEPPED},		      /* ud2 */
		{{0x66, 0x0f, 0x38, 0x00, 0xc1}, 5, GS_COST_STEPPED}, /* pshufb */
		{{0xc5, 0xf9, 0xef, 0xc0},
		 4,
		 GS_COST_REFUSED},			  /* vpxor: its opcode is that of out */
		{{0xc5, 0xf8, 0x77}, 3, GS_COST_STEPPED}, /* vzeroupper */
		{{0x8e, 0xd0}, 2, GS_COST_REFUSED},	  /* mov %eax,%ss */
		{{0xf4}, 1, GS_COST_REFUSED},		  /* hlt */
		{{0xf0, 0xff, 0x07}, 3, GS_COST_REFUSED}, /* lock incl (%rdi) */
		{{0x2e, 0x0f, 0x1f, 0x40, 0}, 5, GS_COST_REFUSED}, /* cs nopl */
		{{0x3e, 0xff, 0xe0}, 3, GS_COST_REFUSED},	   /* notrack jmp *%rax */
	};

	for (size_t i = 0; i < GS_ARRAY_SIZE(cases); i++)
		CHECK_INT(gs_insn_cost(cases[i].bytes, cases[i].len, true), cases[i].cost);
}

int main(void)
{
	TAP_RUN(test_instructions_that_the_kernel_refuses);
	if (!run_have("gcc")) {
		tap_skip("record_place", "no compiler");
		return tap_done();
	}
	TAP_RUN(test_lines_fire_once_for_each_execution);
	TAP_RUN(test_loop_heads_fire_once_for_each_round);
	TAP_RUN(test_functions_fire_once_for_each_call);
	TAP_RUN(test_offsets_and_addresses_are_boundaries);
	TAP_RUN(test_entry_is_after_endbr64);
	TAP_RUN(test_what_is_not_there_is_said);
	TAP_RUN(test_listings);
	TAP_RUN(test_symbols_without_debug_information);
	return tap_done();
}
