/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Variables at places, read from a running program by the plan's nodes: at every level of
 * optimisation of gcc and clang each is exact, or absent with a reason.
 */
#include "tests/lib/record_run.h"
#include "tests/tap.h"

static const char *const compilers[] = {"gcc", "clang"};
static const char *const flags[] = {"-O0",
				    "-O1",
				    "-O2",
				    "-O3",
				    "-O0 -fno-pie -no-pie",
				    "-O2 -fcf-protection=full",
				    "-O0 -gdwarf-4",
				    "-O0 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables"};

struct point {
	int x, y;
};
struct odd {
	char c;
	short s;
	int i;
	int last;
};
struct two {
	long a, b;
};
struct big {
	long a[5];
	int tail;
};

struct expected {
	const char *function, *name;
	const void *bytes;
	size_t n;
	bool may_be_absent_unoptimised; /* in a vector register at entry */
};

#define E(f, v, type, ...)                                      \
	{                                                       \
		f, v, &(type){__VA_ARGS__}, sizeof(type), false \
	}
static const struct expected parameters[] = {
	E("scalars", "i", int, -1),
	E("scalars", "u", unsigned, 4000000000u),
	E("scalars", "c", char, 'c'),
	E("scalars", "sc", signed char, -100),
	E("scalars", "uc", unsigned char, 200),
	E("scalars", "s", short, -30000),
	E("scalars", "l", long, -(1L << 40)),
	E("scalars", "ull", unsigned long long, ~0ull - 5),
	E("scalars", "b", char, 1),
	E("structs", "p", struct point, 11, -12),
	E("structs", "t", struct two, 1L << 40, -2),
	E("more_structs", "g", struct big, {1, 2, 3, 4, 1L << 50}, -7),
	E("more_structs", "w", uint64_t, 0x1122334455667788),
	E("more_structs", "after", int, 42),
	E("floats", "after", int, 43),
	E("address_taken", "value", int, 1234),
	E("variadic", "n", int, 2),
};

static const struct gs_variable *variable_named(const struct gs_variable *vars, size_t n,
						const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(vars[i].name, name) == 0)
			return &vars[i];
	return NULL;
}

static unsigned found, absent;

static void check_bytes(const struct run *r, struct gs_context *c, const struct gs_variable *v,
			const void *want, size_t n, const char *what)
{
	uint8_t bytes[64] = {0};
	struct gs_location loc = {0};

	if (!run_bytes(r, c, v, bytes, n, &loc)) {
		absent++;
		if (loc.kind == GS_LOC_ABSENT && !loc.status) {
			tap_case_failed = 1;
			printf("# %s: %s is absent without a status\n", what, v->name);
		}
		return;
	}
	found++;
	if (memcmp(bytes, want, n) == 0)
		return;
	tap_case_failed = 1;
	printf("# %s: %s is wrong (%s):", what, v->name, loc.where ? loc.where : "");
	for (size_t i = 0; i < n; i++)
		printf(" %02x", bytes[i]);
	printf("\n");
}

static void check_parameters_at(const struct run *r, struct gs_context *c, const char *function,
				const char *what)
{
	const struct gs_variable *args;
	size_t n;

	gs_error_free(gs_context_args(c, &args, &n));
	for (size_t i = 0; i < GS_ARRAY_SIZE(parameters); i++) {
		const struct expected *e = &parameters[i];
		const struct gs_variable *v;

		if (strcmp(e->function, function) != 0)
			continue;
		v = variable_named(args, n, e->name);
		if (!v) {
			tap_case_failed = 1;
			printf("# %s: %s has no parameter %s\n", what, function, e->name);
			continue;
		}
		check_bytes(r, c, v, e->bytes, e->n, what);
	}
}

static void add_stops(struct run *r, struct gs_places *p)
{
	for (size_t i = 0; i < p->nsites; i++)
		run_stop_at(r, p->sites[i].link_addr);
}

/* Every function at its entry. */
static void check_entries(struct run_module *rm, const char *what)
{
	static const char *const names[] = {"scalars", "structs",	"more_structs",
					    "floats",  "address_taken", "variadic"};
	struct gs_places places[GS_ARRAY_SIZE(names)];
	struct run r;

	if (!run_start(&r, rm)) {
		CHECK(!"the program could not be run");
		return;
	}
	for (size_t i = 0; i < GS_ARRAY_SIZE(names); i++) {
		struct gs_error *err;

		gs_places_init(&places[i]);
		err = gs_module_find_function(rm->m, names[i], &places[i]);
		CHECK(!err);
		gs_error_free(err);
		add_stops(&r, &places[i]);
	}
	while (run_next(&r))
		for (size_t i = 0; i < GS_ARRAY_SIZE(names); i++)
			for (size_t k = 0; k < places[i].nsites; k++)
				if (places[i].sites[k].link_addr == r.at)
					check_parameters_at(&r, places[i].sites[k].context,
							    names[i], what);
	for (size_t i = 0; i < GS_ARRAY_SIZE(names); i++)
		gs_places_deinit(&places[i]);
	run_end(&r);
}

static void with_builds(void (*fn)(struct run_module *rm, const char *what), bool unoptimised_only)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(compilers); i++) {
		if (!run_have(compilers[i])) {
			printf("# %s is not here\n", compilers[i]);
			continue;
		}
		for (size_t k = 0; k < GS_ARRAY_SIZE(flags); k++) {
			struct run_module rm;
			char what[128];
			const char *path;

			if (unoptimised_only && strncmp(flags[k], "-O0", 3) != 0)
				continue;
			snprintf(what, sizeof(what), "%s %s", compilers[i], flags[k]);
			path = run_compile(compilers[i], flags[k], "places.c");
			if (!path || !run_open(path, &rm)) {
				CHECK(!"the fixture does not compile");
				continue;
			}
			fn(&rm, what);
			run_close(&rm);
		}
	}
}

static void test_parameters_at_entry_are_exact(void)
{
	found = absent = 0;
	with_builds(check_entries, false);
	printf("# %u values, %u absent\n", found, absent);
	CHECK(found > 10 * absent);
}

static void test_no_parameter_is_absent_without_optimisation(void)
{
	found = absent = 0;
	with_builds(check_entries, true);
	CHECK_INT(absent, 0);
}

/* From every instruction of the function: never a stale slot. */
static void check_every_instruction(struct run_module *rm, const char *what)
{
	static const char *const names[] = {"scalars", "structs", "address_taken"};

	for (size_t i = 0; i < GS_ARRAY_SIZE(names); i++) {
		struct gs_places p;
		struct run r;

		gs_places_init(&p);
		for (unsigned offset = 0; offset < 160; offset++)
			gs_error_free(gs_module_find_offset(rm->m, names[i], offset, &p));
		if (!run_start(&r, rm))
			break;
		add_stops(&r, &p);
		while (run_next(&r))
			for (size_t k = 0; k < p.nsites; k++)
				if (p.sites[k].link_addr == r.at && p.sites[k].context)
					check_parameters_at(&r, p.sites[k].context, names[i], what);
		run_end(&r);
		gs_places_deinit(&p);
	}
}

static void test_parameters_at_every_instruction_are_exact(void)
{
	found = absent = 0;
	with_builds(check_every_instruction, false);
	printf("# %u values, %u absent\n", found, absent);
	CHECK(found > absent);
}

static void check_line_variable(struct run_module *rm, const char *what, const char *mark,
				const char *name, int want)
{
	struct gs_places p;
	struct gs_variable v;
	struct run r;
	struct gs_error *err;

	gs_places_init(&p);
	err = gs_module_find_line(rm->m, "fixtures/places.c", run_line("places.c", mark), &p);
	if (err || !run_start(&r, rm)) {
		printf("# %s: line %s: %s\n", what, mark, err ? gs_error_message(err) : "");
		CHECK(!"the line was not found");
		gs_error_free(err);
		gs_places_deinit(&p);
		return;
	}
	add_stops(&r, &p);
	while (run_next(&r))
		for (size_t k = 0; k < p.nsites; k++) {
			if (p.sites[k].link_addr != r.at)
				continue;
			err = gs_context_find(p.sites[k].context, NULL, name, &v);
			if (!err)
				check_bytes(&r, p.sites[k].context, &v, &want, sizeof(want), what);
			else
				CHECK_STR(gs_error_message(err), "");
			gs_error_free(err);
		}
	run_end(&r);
	gs_places_deinit(&p);
}

static void check_lines(struct run_module *rm, const char *what)
{
	check_line_variable(rm, what, "inner", "a", 106);
	check_line_variable(rm, what, "inner", "inner", 5);
	check_line_variable(rm, what, "after", "a", 6);
	check_line_variable(rm, what, "inlined", "seven", 7);
	check_line_variable(rm, what, "inlined", "eight", 8);
	check_line_variable(rm, what, "scalars", "i", -1);
	check_line_variable(rm, what, "scalars", "defined_global", 77);
	check_line_variable(rm, what, "scalars", "file_static", 88);
	check_line_variable(rm, what, "scalars", "thread_local_int", 99);
}

static void test_locals_at_lines_are_exact(void)
{
	found = absent = 0;
	with_builds(check_lines, false);
	printf("# %u values, %u absent\n", found, absent);
	CHECK(found > 10 * absent);
}

static void check_names(struct run_module *rm, const char *what)
{
	struct gs_places p;
	struct gs_variable v;
	struct gs_error *err;

	gs_places_init(&p);
	err = gs_module_find_function(rm->m, "globals", &p);
	CHECK(!err && p.nsites == 1);
	gs_error_free(err);
	if (p.nsites && p.sites[0].context) {
		struct gs_context *c = p.sites[0].context;

		err = gs_context_find(c, NULL, "function_static", &v);
		CHECK(!err && (v.flags & GS_VAR_STATIC));
		gs_error_free(err);
		err = gs_context_find(c, "places.c", "file_static", &v);
		CHECK(!err && (v.flags & GS_VAR_STATIC));
		gs_error_free(err);
		err = gs_context_find(c, NULL, "tick", &v);
		CHECK(!err && (v.flags & GS_VAR_FUNCTION));
		CHECK_INT(gs_type_get(rm->types, v.type)->kind, GS_KIND_FUNCTION);
		gs_error_free(err);
		err = gs_context_find(c, NULL, "function_statik", &v);
		CHECK(err && gs_error_code_of(err) == GS_ERR_NOT_FOUND);
		gs_error_free(err);
	}
	gs_places_deinit(&p);
	gs_places_init(&p);
	err = gs_module_find_function(rm->m, "scalars", &p);
	CHECK(!err);
	gs_error_free(err);
	if (p.nsites && p.sites[0].context) {
		err = gs_context_find(p.sites[0].context, "globals", "function_static", &v);
		CHECK(!err && (v.flags & GS_VAR_STATIC));
		gs_error_free(err);
		/* A local of another function is not readable here. */
		err = gs_context_find(p.sites[0].context, "for_loop", "n", &v);
		CHECK(err != NULL);
		gs_error_free(err);
	}
	gs_places_deinit(&p);
}

static void test_names_by_scope_and_qualifier(void)
{
	with_builds(check_names, false);
}

int main(void)
{
	if (!run_have("gcc") && !run_have("clang")) {
		tap_skip("record_dwarf", "no compiler");
		return tap_done();
	}
	TAP_RUN(test_parameters_at_entry_are_exact);
	TAP_RUN(test_no_parameter_is_absent_without_optimisation);
	TAP_RUN(test_parameters_at_every_instruction_are_exact);
	TAP_RUN(test_locals_at_lines_are_exact);
	TAP_RUN(test_names_by_scope_and_qualifier);
	return tap_done();
}
