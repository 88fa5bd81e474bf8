/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Types from DWARF, of every version and of both compilers, against what the compiler itself says.
 */
#include "tests/lib/record_run.h"
#include "tests/tap.h"

static const char *const compilers[] = {"gcc", "clang"};
static const char *const flags[] = {"-O0 -gdwarf-5", "-O0 -gdwarf-4", "-O0 -gdwarf-3",
				    "-O0 -gdwarf-2", "-O0 -gdwarf-4 -fdebug-types-section"};

static gs_type_id type_of(struct run_module *rm, const char *name)
{
	struct gs_variable v = {0};
	struct gs_error *err = gs_module_find_global(rm->m, name, &v);

	if (err)
		printf("# %s: %s\n", name, gs_error_message(err));
	gs_error_free(err);
	return v.type;
}

static void check_text(struct run_module *rm, const char *name, const char *want)
{
	struct gs_buf b;

	gs_buf_init(&b);
	gs_type_print(&b, rm->types, type_of(rm, name), name);
	CHECK_STR(gs_buf_cstr(&b), want);
	gs_buf_deinit(&b);
}

static const struct gs_type *stripped(struct run_module *rm, const char *name)
{
	return gs_type_get(rm->types, gs_type_strip(rm->types, type_of(rm, name)));
}

static void check_bit_field(struct run_module *rm, const char *of, const char *name,
			    uint64_t bit_offset, uint32_t bit_size)
{
	struct gs_member m;
	uint64_t at = 0;
	gs_type_id id = gs_type_strip(rm->types, type_of(rm, of));

	if (!gs_type_find_member(rm->types, id, name, strlen(name), &m, &at, NULL)) {
		CHECK(!"the member is not there");
		return;
	}
	CHECK_INT(at, bit_offset);
	CHECK_INT(m.bit_size, bit_size);
}

static void check_scalars(struct run_module *rm)
{
	CHECK_INT(stripped(rm, "c")->flags, GS_TYPE_CHAR | GS_TYPE_SIGNED | GS_TYPE_PLAIN_CHAR);
	CHECK_INT(stripped(rm, "sc")->flags, GS_TYPE_CHAR | GS_TYPE_SIGNED);
	CHECK_INT(stripped(rm, "uc")->flags, GS_TYPE_CHAR);
	CHECK_INT(stripped(rm, "b")->kind, GS_KIND_BOOL);
	CHECK_INT(stripped(rm, "ll")->byte_size, 8);
	CHECK(stripped(rm, "ll")->flags & GS_TYPE_SIGNED);
	CHECK(!(stripped(rm, "ul")->flags & GS_TYPE_SIGNED));
	CHECK_INT(stripped(rm, "wide")->byte_size, 16);
	CHECK_INT(stripped(rm, "ld")->encoding, GS_FLOAT_X87);
	CHECK_INT(stripped(rm, "d")->encoding, GS_FLOAT_IEEE);
	CHECK_INT(stripped(rm, "dc")->kind, GS_KIND_COMPLEX);
	CHECK_INT(stripped(rm, "dc")->byte_size, 16);
}

static void check_aggregates(struct run_module *rm)
{
	const struct gs_type *t = stripped(rm, "node");

	CHECK_INT(t->kind, GS_KIND_STRUCT);
	CHECK_INT(t->nmembers, 3);
	CHECK_INT(t->byte_size, 24);
	if (t->nmembers == 3) {
		gs_type_id next = gs_type_strip(rm->types, t->members[0].type);
		gs_type_id later = gs_type_strip(rm->types, t->members[1].type);

		CHECK_STR(gs_type_get(rm->types, gs_type_get(rm->types, next)->target)->name,
			  "node");
		later = gs_type_strip(rm->types, gs_type_get(rm->types, later)->target);
		CHECK_INT(gs_type_size(rm->types, later), 32);
	}
	check_bit_field(rm, "fields", "a", 0, 3);
	check_bit_field(rm, "fields", "b", 3, 5);
	check_bit_field(rm, "fields", "c", 8, 33);
	check_bit_field(rm, "fields", "d", 41, 2);
	check_bit_field(rm, "fields", "e", 43, 1);
	check_bit_field(rm, "fields", "f", 64, 17);
	check_bit_field(rm, "fields", "inner", 96, 0);
	check_bit_field(rm, "fields", "f32", 128, 0);
	check_bit_field(rm, "packed", "l", 8, 0);
	check_bit_field(rm, "packed", "bits", 72, 30);
	t = gs_type_get(rm->types, stripped(rm, "opaque")->target);
	CHECK(t->flags & GS_TYPE_INCOMPLETE);
}

static void check_enums(struct run_module *rm)
{
	const struct gs_type *t = stripped(rm, "plain");

	CHECK_INT(t->kind, GS_KIND_ENUM);
	CHECK_INT(t->nenumerators, 3);
	CHECK_INT(t->nenumerators ? t->enumerators[0].value : 0, -2);
	CHECK(gs_type_is_signed(rm->types, type_of(rm, "plain")));
	CHECK(!(t->flags & GS_TYPE_FLAG_ENUM));
	t = stripped(rm, "flag");
	CHECK(t->flags & GS_TYPE_FLAG_ENUM);
	t = stripped(rm, "huge");
	CHECK_INT(t->nenumerators ? t->enumerators[0].value : 0, -1);
	/* DWARF 2 has no underlying types, and clang then writes the value as -1. */
	if (t->target)
		CHECK(!gs_type_is_signed(rm->types, type_of(rm, "huge")));
}

static void check_derived(struct run_module *rm)
{
	const struct gs_type *t = stripped(rm, "vector");

	check_text(rm, "matrix", "int matrix[2][3][4]");
	check_text(rm, "nodes", "struct node *nodes[5]");
	check_text(rm, "pointer_to_array", "int (*pointer_to_array)[7]");
	check_text(rm, "function_pointer", "int (*function_pointer)(struct fields, double)");
	check_text(rm, "nothing", "void *nothing");
	CHECK(gs_type_is_char_array(rm->types, type_of(rm, "text")));
	CHECK_INT(gs_type_size(rm->types, type_of(rm, "matrix")), 96);
	CHECK_INT(stripped(rm, "matrix")->stride, 48);
	CHECK(t->flags & GS_TYPE_VECTOR);
	CHECK_INT(t->count, 4);
	t = gs_type_get(rm->types, stripped(rm, "flexible")->target);
	CHECK_INT(t->nmembers, 2);
	if (t->nmembers == 2)
		CHECK(gs_type_get(rm->types, t->members[1].type)->flags & GS_TYPE_COUNT_UNKNOWN);
}

static void test_types_of_every_dwarf_version(void)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(compilers); i++)
		for (size_t k = 0; k < GS_ARRAY_SIZE(flags); k++) {
			struct run_module rm;
			const char *path = run_have(compilers[i])
						   ? run_compile(compilers[i], flags[k], "types.c")
						   : NULL;

			if (!path || !run_open(path, &rm))
				continue;
			check_scalars(&rm);
			check_aggregates(&rm);
			check_enums(&rm);
			check_derived(&rm);
			if (tap_case_failed)
				printf("# with %s %s\n", compilers[i], flags[k]);
			run_close(&rm);
		}
}

static void test_types_by_name(void)
{
	struct run_module rm;
	const char *path = run_compile("gcc", "-O0", "types.c");
	gs_type_id a, b;
	struct gs_error *err;

	if (!path || !run_open(path, &rm))
		return;
	CHECK(!gs_module_find_type(rm.m, NULL, "struct node", &a));
	CHECK(!gs_module_find_type(rm.m, NULL, "struct node", &b));
	CHECK_INT(a, b);
	CHECK_INT(gs_type_strip(rm.types, type_of(&rm, "node")), a);
	CHECK(!gs_module_find_type(rm.m, NULL, "later_t", &a));
	CHECK(!gs_module_find_type(rm.m, NULL, "enum flag", &b));
	/* A tag is not a type name of C. */
	err = gs_module_find_type(rm.m, NULL, "node", &a);
	CHECK(err != NULL);
	gs_error_free(err);
	err = gs_module_find_type(rm.m, NULL, "union node", &a);
	CHECK(err != NULL);
	gs_error_free(err);
	run_close(&rm);
}

static void test_the_table_does_not_grow_with_repetition(void)
{
	struct run_module rm;
	const char *path = run_compile("gcc", "-O0", "types.c");
	uint32_t n;

	if (!path || !run_open(path, &rm))
		return;
	type_of(&rm, "node");
	n = gs_types_count(rm.types);
	for (int i = 0; i < 10; i++)
		type_of(&rm, "node");
	CHECK_INT(gs_types_count(rm.types), n);
	CHECK(n < 40);
	run_close(&rm);
}

int main(void)
{
	if (!run_have("gcc")) {
		tap_skip("record_type", "no compiler");
		return tap_done();
	}
	TAP_RUN(test_types_of_every_dwarf_version);
	TAP_RUN(test_types_by_name);
	TAP_RUN(test_the_table_does_not_grow_with_repetition);
	return tap_done();
}
