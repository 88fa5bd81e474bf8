/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arguments that a function has lost, read by what its caller passed: at every instruction, after
 * every kind of call, each is what the program says it was given, or absent.
 */
#include "tests/lib/record_run.h"
#include "tests/tap.h"

static const char *const compilers[] = {"gcc", "clang"};
static const char *const flags[] = {"-O1", "-O2", "-O3", "-O2 -gdwarf-4", "-O2 -fno-pie -no-pie",
				    "-Os"};

struct given {
	long a;
	int b;
	const char *s;
};

static unsigned found, absent, by_caller;

static bool is_by_caller(const struct gs_plan *p)
{
	for (size_t i = 0; i < p->nnodes; i++)
		if (p->nodes[i].op == GS_OP_SELECT)
			return true;
	return false;
}

static void check_argument(const struct run *r, struct gs_context *c, const struct gs_variable *v,
			   const void *want, size_t n, const char *what)
{
	uint8_t bytes[8] = {0};
	struct gs_location loc = {0};
	struct gs_plan plan;

	if (!run_bytes(r, c, v, bytes, n, &loc)) {
		absent++;
		return;
	}
	found++;
	gs_plan_init(&plan);
	gs_error_free(gs_context_location(c, v, &plan, &loc));
	by_caller += is_by_caller(&plan);
	gs_plan_deinit(&plan);
	if (memcmp(bytes, want, n) == 0)
		return;
	tap_case_failed = 1;
	printf("# %s: %s at 0x%llx is %#llx\n", what, v->name, (unsigned long long)r->at,
	       (unsigned long long)gs_load_uint(bytes, n, false));
}

static void check_stop(const struct run *r, struct gs_context *c, const char *what)
{
	const struct gs_variable *args;
	struct gs_variable v;
	struct gs_location loc;
	struct given given;
	size_t n;
	struct gs_error *err = gs_context_find(c, NULL, "given", &v);

	CHECK(!err);
	if (err || !run_bytes(r, c, &v, &given, sizeof(given), &loc)) {
		gs_error_free(err);
		CHECK(!"the witness cannot be read");
		return;
	}
	gs_error_free(gs_context_args(c, &args, &n));
	CHECK_INT(n, 3);
	if (n != 3)
		return;
	check_argument(r, c, &args[0], &given.a, sizeof(given.a), what);
	check_argument(r, c, &args[1], &given.b, sizeof(given.b), what);
	check_argument(r, c, &args[2], &given.s, sizeof(given.s), what);
}

/* LIMIT: bytes of the function that are looked at; beyond, the next call's words are in place. */
static void check_function(struct run_module *rm, const char *name, unsigned limit,
			   const char *what)
{
	struct gs_places p;
	struct run r;

	gs_places_init(&p);
	for (unsigned offset = 0; offset < limit; offset++)
		gs_error_free(gs_module_find_offset(rm->m, name, offset, &p));
	CHECK(p.nsites > 1);
	if (run_start(&r, rm)) {
		for (size_t i = 0; i < p.nsites; i++)
			run_stop_at(&r, p.sites[i].link_addr);
		while (run_next(&r))
			for (size_t k = 0; k < p.nsites; k++)
				if (p.sites[k].link_addr == r.at && p.sites[k].context)
					check_stop(&r, p.sites[k].context, what);
		run_end(&r);
	}
	gs_places_deinit(&p);
}

/* From FLAGS[FIRST] on. */
static void with_builds(const char *function, unsigned limit, size_t first)
{
	found = absent = by_caller = 0;
	for (size_t i = 0; i < GS_ARRAY_SIZE(compilers); i++)
		for (size_t k = first; run_have(compilers[i]) && k < GS_ARRAY_SIZE(flags); k++) {
			struct run_module rm;
			char what[128];
			const char *path;

			snprintf(what, sizeof(what), "%s %s: %s", compilers[i], flags[k], function);
			path = run_compile(compilers[i], flags[k], "callers.c");
			if (!path || !run_open(path, &rm)) {
				CHECK(!"the fixture does not compile");
				continue;
			}
			check_function(&rm, function, limit, what);
			run_close(&rm);
		}
	printf("# %s: %u values, %u of them by the caller, %u absent\n", function, found, by_caller,
	       absent);
}

static void test_lost_arguments_are_those_of_the_call(void)
{
	with_builds("taken", 200, 0);
	CHECK(by_caller > 200);
	CHECK(by_caller > absent);
}

static void test_callers_registers_are_found_where_they_were_saved(void)
{
	with_builds("busy", 200, 0);
	CHECK(by_caller > 200);
	CHECK(by_caller > absent);
}

/* Up to the store of what the next is given: from -O2 on, hop and skip jump to each other. */
static void test_a_jump_leaves_another_calls_address(void)
{
	with_builds("hop", 20, 1);
	CHECK_INT(by_caller, 0);
	with_builds("skip", 20, 1);
	CHECK_INT(by_caller, 0);
}

int main(void)
{
	if (!run_have("gcc") && !run_have("clang")) {
		tap_skip("record_caller", "no compiler");
		return tap_done();
	}
	TAP_RUN(test_lost_arguments_are_those_of_the_call);
	TAP_RUN(test_callers_registers_are_found_where_they_were_saved);
	TAP_RUN(test_a_jump_leaves_another_calls_address);
	return tap_done();
}
