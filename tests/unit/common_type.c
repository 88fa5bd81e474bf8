/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit tests of the type table: invariants, deduplication, printing, members, import.
 * In the flow: between DWARF or the file and everything that decodes bytes.
 */
#include "common/type.h"
#include "tests/lib/common_types.h"
#include "tests/tap.h"

static bool refused(struct gs_types *t, struct gs_type type)
{
	gs_type_id id = 12345;
	struct gs_error *err = gs_types_add(t, &type, &id);
	bool damaged = err && gs_error_code_of(err) == GS_ERR_DAMAGED && id == 12345;

	gs_error_free(err);
	return damaged;
}

static void test_equal_types_get_one_id(void)
{
	struct gs_types *t = gs_types_new();
	gs_type_id i = t_int(t, "int", 4, GS_TYPE_SIGNED), p = t_pointer(t, i), s, u;
	char name[] = "x";
	struct gs_member m[] = {{name, i, 0, 0, 0}, {"y", i, 0, 32, 0}};

	CHECK_INT(gs_types_count(t), 3);
	CHECK_INT(t_int(t, "int", 4, GS_TYPE_SIGNED), i);
	CHECK(t_int(t, "int", 4, 0) != i);
	CHECK_INT(t_pointer(t, i), p);
	s = t_struct(t, "s", 8, m, 2);
	name[0] = 'z'; /* the table has its own copy */
	u = t_struct(t, "s", 8, m, 2);
	CHECK(u != s);
	name[0] = 'x';
	CHECK_INT(t_struct(t, "s", 8, m, 2), s);
	CHECK_INT(t_wrap(t, GS_KIND_TYPEDEF, "", i), t_wrap(t, GS_KIND_TYPEDEF, NULL, i));
	for (unsigned n = 0; n < 5000; n++)
		CHECK_INT(t_array(t, i, n), t_array(t, i, n));
	gs_types_free(t);
}

static void test_reserved_pointers(void)
{
	struct gs_types *t = gs_types_new();
	gs_type_id node = t_node(t, "node", "v");
	const struct gs_type *type = gs_type_get(t, node);
	gs_type_id next = type->members[1].type;

	CHECK_INT(gs_type_get(t, next)->target, node);
	CHECK_INT(t_pointer(t, node), next); /* once set, it is found */
	gs_types_set_target(t, next, 1);
	CHECK_INT(gs_type_get(t, next)->target, node); /* set once */
	gs_types_free(t);
}

static void test_invariants(void)
{
	struct gs_types *t = gs_types_new();
	gs_type_id i = t_int(t, "int", 4, GS_TYPE_SIGNED);
	gs_type_id fn = t_add(t, (struct gs_type){.kind = GS_KIND_FUNCTION, .target = i});
	struct gs_member forward = {"m", 99, 0, 0, 0}, function = {"f", fn, 0, 0, 0};
	struct gs_member far = {"m", i, 0, UINT64_MAX, 0}, bad = {"a\nb", i, 0, 0, 0};
	struct gs_enumerator none = {NULL, 0};

	CHECK(refused(t, (struct gs_type){.kind = 21}));
	CHECK(refused(t, (struct gs_type){.kind = GS_KIND_INT, .byte_size = 17}));
	CHECK(refused(t, (struct gs_type){.kind = GS_KIND_INT}));
	CHECK(refused(t, (struct gs_type){.kind = GS_KIND_TYPEDEF, .target = 50}));
	CHECK(refused(t, (struct gs_type){.kind = GS_KIND_POINTER, .target = GS_TYPE_MAX}));
	CHECK(refused(
		t, (struct gs_type){.kind = GS_KIND_STRUCT, .members = &forward, .nmembers = 1}));
	CHECK(refused(
		t, (struct gs_type){.kind = GS_KIND_STRUCT, .members = &function, .nmembers = 1}));
	CHECK(refused(t, (struct gs_type){.kind = GS_KIND_STRUCT, .members = &far, .nmembers = 1}));
	CHECK(refused(t, (struct gs_type){.kind = GS_KIND_STRUCT, .members = &bad, .nmembers = 1}));
	CHECK(refused(t, (struct gs_type){.kind = GS_KIND_STRUCT, .nmembers = 1}));
	CHECK(refused(t, (struct gs_type){.kind = GS_KIND_ARRAY, .target = fn, .count = 1}));
	CHECK(refused(t, (struct gs_type){.kind = GS_KIND_ENUM,
					  .byte_size = 4,
					  .enumerators = &none,
					  .nenumerators = 1}));
	CHECK(refused(t, (struct gs_type){.kind = GS_KIND_STRUCT, .name = "\xe2\x80\xae"}));
	CHECK(refused(t, (struct gs_type){.kind = GS_KIND_STRUCT, .name = "\xff"}));
	CHECK_INT(gs_types_count(t), 3);
	/* Pointers and functions may point forwards. */
	CHECK(t_pointer(t, 500) != 0);
	CHECK_INT(gs_type_get(t, 500)->kind, GS_KIND_VOID);
	gs_types_free(t);
}

static void test_nesting_is_capped(void)
{
	struct gs_types *t = gs_types_new();
	gs_type_id id = t_int(t, "int", 4, GS_TYPE_SIGNED);
	struct gs_error *err = NULL;
	int depth = 0;

	while (!err && depth < 1000) {
		struct gs_type type = {.kind = GS_KIND_ARRAY, .target = id, .count = 1};

		err = gs_types_add(t, &type, &id);
		depth++;
	}
	CHECK(err && depth > 64 && depth < 256);
	gs_error_free(err);
	gs_types_free(t);
}

static void test_printing(void)
{
	struct gs_types *t = gs_types_new();
	gs_type_id i = t_int(t, "int", 4, GS_TYPE_SIGNED), c = t_char(t);
	gs_type_id pcc = t_pointer(t, t_wrap(t, GS_KIND_CONST, NULL, c));
	struct gs_member parameters[] = {{NULL, pcc, 0, 0, 0}, {NULL, i, 0, 0, 0}};
	gs_type_id fn = t_add(t, (struct gs_type){.kind = GS_KIND_FUNCTION,
						  .target = i,
						  .members = parameters,
						  .nmembers = 2,
						  .flags = GS_TYPE_VARARGS});
	gs_type_id pf = t_pointer(t, fn), apf = t_array(t, pf, 4),
		   s = t_struct(t, "req", 8, NULL, 0);
	gs_type_id nothing = t_add(t, (struct gs_type){.kind = GS_KIND_FUNCTION,
						       .target = apf,
						       .flags = GS_TYPE_PROTOTYPED});

	CHECK_STR(t_text(t, i, NULL), "int");
	CHECK_STR(t_text(t, i, "x"), "int x");
	CHECK_STR(t_text(t, pcc, "s"), "const char *s");
	CHECK_STR(t_text(t, t_wrap(t, GS_KIND_CONST, NULL, pcc), "s"), "const char * const s");
	CHECK_STR(t_text(t, t_wrap(t, GS_KIND_CONST, NULL, pcc), NULL), "const char * const");
	CHECK_STR(t_text(t, t_array(t, c, 16), NULL), "char [16]");
	CHECK_STR(t_text(t, t_array(t, t_array(t, c, 3), 2), "m"), "char m[2][3]");
	CHECK_STR(t_text(t, t_array_unknown(t, c), "m"), "char m[]");
	CHECK_STR(t_text(t, t_pointer(t, t_array(t, i, 4)), "name"), "int (*name)[4]");
	CHECK_STR(t_text(t, t_array(t, t_pointer(t, i), 4), "name"), "int *name[4]");
	CHECK_STR(t_text(t, pf, NULL), "int (*)(const char *, int, ...)");
	CHECK_STR(t_text(t, apf, "table"), "int (*table[4])(const char *, int, ...)");
	CHECK_STR(t_text(t, t_pointer(t, nothing), "f"),
		  "int (*(*f)(void)[4])(const char *, int, ...)");
	CHECK_STR(t_text(t, t_pointer(t, s), NULL), "struct req *");
	CHECK_STR(t_text(t, t_pointer(t, GS_TYPE_VOID), "p"), "void *p");
	CHECK_STR(t_text(t, t_struct(t, NULL, 1, NULL, 0), "x"), "struct {...} x");
	CHECK_STR(t_text(t, 9999, NULL), "void");
	gs_types_free(t);
}

static void test_printing_hostile_pointers_ends(void)
{
	struct gs_types *t = gs_types_new();
	gs_type_id self = gs_types_count(t);

	CHECK_INT(t_pointer(t, self), self); /* a pointer to itself */
	CHECK(strlen(t_text(t, self, "x")) < 5000);
	gs_types_free(t);
}

static void test_questions(void)
{
	struct gs_types *t = gs_types_new();
	gs_type_id i = t_int(t, "int", 4, GS_TYPE_SIGNED), c = t_char(t);
	gs_type_id uc = t_int(t, "unsigned char", 1, GS_TYPE_CHAR);
	gs_type_id td = t_wrap(t, GS_KIND_TYPEDEF, "T", t_wrap(t, GS_KIND_CONST, NULL, i));
	gs_type_id e = t_add(t, (struct gs_type){.kind = GS_KIND_ENUM, .target = i});
	gs_type_id big = t_array(t, t_array(t, i, (uint64_t)1 << 40), (uint64_t)1 << 40);

	CHECK_INT(gs_type_strip(t, td), i);
	CHECK(gs_type_is_integral(t, td) && gs_type_is_signed(t, td));
	CHECK(gs_type_is_signed(t, e));
	CHECK_INT(gs_type_size(t, e), 4);
	CHECK(gs_type_is_char_pointer(t, t_pointer(t, t_wrap(t, GS_KIND_CONST, NULL, c))));
	CHECK(!gs_type_is_char_pointer(t, t_pointer(t, uc)));
	CHECK(gs_type_is_char_array(t, t_array(t, c, 3)));
	CHECK(!gs_type_is_char_array(t, t_array(t, uc, 3)));
	CHECK_INT(gs_type_size(t, t_array(t, t_array(t, i, 3), 2)), 24);
	CHECK(gs_type_size(t, big) == UINT64_MAX);
	gs_types_free(t);
}

static void test_compatibility(void)
{
	struct gs_types *t = gs_types_new();
	gs_type_id ul = t_int(t, "long unsigned int", 8, 0), ul2 = t_int(t, "unsigned long", 8, 0);
	gs_type_id ull = t_int(t, "long long unsigned int", 8, 0);
	gs_type_id node = t_node(t, "node", "v"), other = t_node(t, "node", "v");

	CHECK(gs_type_equal(t, ul, ul2));
	CHECK(!gs_type_equal(t, ul, ull));
	CHECK(gs_type_equal(t, t_wrap(t, GS_KIND_TYPEDEF, "size_t", ul), ul2));
	CHECK(gs_type_equal(t, t_pointer(t, node), t_pointer(t, other)));
	CHECK(!gs_type_equal(t, t_pointer(t, node), t_pointer(t, ul)));
	CHECK(!gs_type_equal(t, t_array(t, ul, 2), t_array(t, ul, 3)));
	gs_types_free(t);
}

static bool find(struct gs_types *t, gs_type_id id, const char *name, uint64_t *bits,
		 bool *ambiguous)
{
	struct gs_member m;

	return gs_type_find_member(t, id, name, strlen(name), &m, bits, ambiguous);
}

static void test_members_of_anonymous_and_base(void)
{
	struct gs_types *t = gs_types_new();
	gs_type_id i = t_int(t, "int", 4, GS_TYPE_SIGNED);
	struct gs_member inner[] = {{"a", i, 0, 0, 0}, {"b", i, 0, 32, 0}};
	gs_type_id anonymous = t_struct(t, NULL, 8, inner, 2);
	struct gs_member base_members[] = {{"x", i, 0, 0, 0}, {"hidden", i, 0, 32, 0}};
	gs_type_id base = t_struct(t, "B", 8, base_members, 2);
	gs_type_id twin = t_struct(t, "C", 8, base_members, 1);
	struct gs_member members[] = {{"B", base, GS_MEMBER_BASE, 0, 0},
				      {"C", twin, GS_MEMBER_BASE, 64, 0},
				      {NULL, anonymous, 0, 128, 0},
				      {"hidden", i, 0, 192, 0}};
	gs_type_id derived = t_struct(t, "D", 28, members, 4);
	uint64_t bits = 0;
	bool ambiguous;

	CHECK(find(t, derived, "b", &bits, &ambiguous) && bits == 160 && !ambiguous);
	CHECK(find(t, derived, "hidden", &bits, &ambiguous) && bits == 192 && !ambiguous);
	CHECK(find(t, derived, "x", &bits, &ambiguous) && ambiguous);
	CHECK(find(t, derived, "C", &bits, &ambiguous) && bits == 64);
	CHECK(!find(t, derived, "nothing", &bits, &ambiguous));
	CHECK(!find(t, i, "x", &bits, &ambiguous));
	gs_types_free(t);
}

static void test_member_search_is_bounded(void)
{
	struct gs_types *t = gs_types_new();
	gs_type_id id = t_int(t, "int", 4, GS_TYPE_SIGNED);
	uint64_t bits;
	bool ambiguous;

	/* 2^60 paths of anonymous members. */
	for (int level = 0; level < 60; level++) {
		struct gs_member two[] = {{NULL, id, 0, 0, 0}, {NULL, id, 0, 0, 0}};

		id = t_struct(t, NULL, 4, two, 2);
	}
	CHECK(!find(t, id, "x", &bits, &ambiguous));
	gs_types_free(t);
}

/* ---- import ---- */

static gs_type_id import(struct gs_types *dst, const struct gs_types *src, gs_type_id id)
{
	gs_type_id out = GS_TYPE_VOID;
	struct gs_error *err = gs_types_import(dst, src, id, &out);

	if (err)
		printf("# %s\n", gs_error_message(err));
	gs_error_free(err);
	return out;
}

static void test_import_merges_cycles(void)
{
	struct gs_types *one = gs_types_new(), *two = gs_types_new(), *dst = gs_types_new();
	gs_type_id a, b;
	uint32_t n;

	t_float(two, "double", 8); /* other ids in the second unit */
	a = import(dst, one, t_node(one, "node", "v"));
	n = gs_types_count(dst);
	b = import(dst, two, t_node(two, "node", "v"));
	CHECK(a && a == b);
	CHECK_INT(gs_types_count(dst), n);
	/* Twice in one table, reached in one import. */
	gs_type_id x = t_node(two, "n2", "v"), y = t_node(two, "n2", "v");
	struct gs_member m[] = {{"a", t_pointer(two, x), 0, 0, 0},
				{"b", t_pointer(two, y), 0, 64, 0}};
	gs_type_id pair = import(dst, two, t_struct(two, "pair", 16, m, 2));
	const struct gs_type *type = gs_type_get(dst, pair);
	CHECK_INT(gs_type_get(dst, type->members[0].type)->target,
		  gs_type_get(dst, type->members[1].type)->target);
	gs_types_free(one);
	gs_types_free(two);
	gs_types_free(dst);
}

static void test_import_keeps_different_types_apart(void)
{
	struct gs_types *one = gs_types_new(), *two = gs_types_new(), *dst = gs_types_new();
	gs_type_id a = t_node(one, "node", "v"), b = t_node(two, "node", "w"), da, db;
	struct gs_member ma = {"p", t_pointer(one, t_pointer(one, a)), 0, 0, 0};
	struct gs_member mb = {"p", t_pointer(two, t_pointer(two, b)), 0, 0, 0};

	/* Equal in everything near; what differs is three pointers away. */
	da = import(dst, one, t_struct(one, "s", 8, &ma, 1));
	db = import(dst, two, t_struct(two, "s", 8, &mb, 1));
	CHECK(da && db && da != db);
	for (int i = 0; i < 2; i++) {
		const struct gs_type *s = gs_type_get(dst, i ? db : da);
		const struct gs_type *p = gs_type_get(dst, s->members[0].type);
		const struct gs_type *q = gs_type_get(dst, p->target);

		CHECK_STR(gs_type_get(dst, q->target)->members[0].name, i ? "w" : "v");
	}
	gs_types_free(one);
	gs_types_free(two);
	gs_types_free(dst);
}

/* struct a { struct b *b; }; struct b { struct a *a; int (*f)(struct b *); } */
static gs_type_id mutual(struct gs_types *t, const char *last)
{
	gs_type_id i = t_int(t, "int", 4, GS_TYPE_SIGNED), pa, pb, a, b, f;
	struct gs_type type = {.kind = GS_KIND_POINTER, .byte_size = 8};

	gs_error_free(gs_types_reserve(t, &type, &pa));
	gs_error_free(gs_types_reserve(t, &type, &pb));
	struct gs_member ma = {"b", pb, 0, 0, 0}, parameter = {NULL, pb, 0, 0, 0};
	a = t_struct(t, "a", 8, &ma, 1);
	f = t_add(t, (struct gs_type){.kind = GS_KIND_FUNCTION,
				      .target = i,
				      .members = &parameter,
				      .nmembers = 1});
	struct gs_member mb[] = {{"a", pa, 0, 0, 0}, {last, t_pointer(t, f), 0, 64, 0}};
	b = t_struct(t, "b", 16, mb, 2);
	gs_types_set_target(t, pa, a);
	gs_types_set_target(t, pb, b);
	return a;
}

static void test_import_mutual_recursion(void)
{
	struct gs_types *one = gs_types_new(), *two = gs_types_new(), *dst = gs_types_new();
	gs_type_id a = import(dst, one, mutual(one, "f")), b, c;
	uint32_t n = gs_types_count(dst);

	b = import(dst, two, mutual(two, "f"));
	CHECK(a && a == b);
	CHECK_INT(gs_types_count(dst), n);
	c = import(dst, two, mutual(two, "g"));
	CHECK(c && c != a);
	for (gs_type_id id = 0; id < gs_types_count(dst); id++) {
		const struct gs_type *type = gs_type_get(dst, id);

		for (uint32_t i = 0; type->kind != GS_KIND_FUNCTION && i < type->nmembers; i++)
			CHECK(type->members[i].type < id);
		CHECK(type->kind != GS_KIND_POINTER || type->target != GS_TYPE_VOID);
	}
	gs_types_free(one);
	gs_types_free(two);
	gs_types_free(dst);
}

static void test_import_refuses_what_contains_itself(void)
{
	struct gs_types *src = gs_types_new(), *dst = gs_types_new();
	gs_type_id self = gs_types_count(src), out = 77;
	struct gs_error *err;

	/* A function that returns itself: functions may point forwards. */
	CHECK_INT(t_add(src, (struct gs_type){.kind = GS_KIND_FUNCTION, .target = self}), self);
	err = gs_types_import(dst, src, self, &out);
	CHECK(err && gs_error_code_of(err) == GS_ERR_DAMAGED && out == 77);
	gs_error_free(err);
	err = gs_types_import(dst, src, t_pointer(src, 100000), &out);
	CHECK(err != NULL);
	gs_error_free(err);
	err = gs_types_import(dst, src, t_pointer(src, self), &out);
	CHECK(err != NULL);
	gs_error_free(err);
	gs_types_free(src);
	gs_types_free(dst);
}

/* The importer itself must not recurse along pointers. */
static void test_import_long_chain(void)
{
	struct gs_types *src = gs_types_new(), *dst = gs_types_new();
	gs_type_id id = t_int(src, "int", 4, GS_TYPE_SIGNED);
	uint32_t n;

	for (int i = 0; i < 50000; i++) {
		struct gs_member m = {"p", t_pointer(src, id), 0, 0, 0};
		char name[16];

		snprintf(name, sizeof(name), "s%d", i);
		id = t_struct(src, name, 8, &m, 1);
	}
	CHECK(import(dst, src, id) != 0);
	CHECK_INT(gs_types_count(dst), gs_types_count(src));
	n = gs_types_count(dst);
	import(dst, src, id - 2);
	CHECK(gs_types_count(dst) >= n);
	gs_types_free(src);
	gs_types_free(dst);
}

/* N structs that all reach each other; the one in the middle has a member called LAST. */
static gs_type_id web(struct gs_types *t, uint32_t n, const char *last)
{
	struct gs_type type = {.kind = GS_KIND_POINTER, .byte_size = 8};
	gs_type_id *p = gs_calloc(n, sizeof(*p)), id = 0;

	for (uint32_t i = 0; i < n; i++)
		gs_error_free(gs_types_reserve(t, &type, &p[i]));
	for (uint32_t i = 0; i < n; i++) {
		struct gs_member m[] = {{"a", p[(i + 1) % n], 0, 0, 0},
					{"b", p[i * 7919 % n], 0, 64, 0},
					{i == n / 2 ? last : "c", p[i * 31 % n], 0, 128, 0}};
		char name[16];

		snprintf(name, sizeof(name), "s%u", i);
		id = t_struct(t, name, 24, m, 3);
		gs_types_set_target(t, p[i], id);
	}
	free(p);
	return id;
}

/* Two programs' versions of one large graph that differ in one place: apart, and in no quadratic
 * time. */
static void test_import_large_web(void)
{
	struct gs_types *one = gs_types_new(), *two = gs_types_new(), *dst = gs_types_new();
	gs_type_id a = web(one, 5000, "c"), b = web(two, 5000, "other"), da, db;
	uint32_t n;

	da = import(dst, one, a);
	n = gs_types_count(dst);
	CHECK_INT(import(dst, one, a), da);
	CHECK_INT(gs_types_count(dst), n);
	db = import(dst, two, b);
	CHECK(db && da != db);
	CHECK_INT(gs_types_count(dst), 2 * (n - 1) + 1);
	gs_types_free(one);
	gs_types_free(two);
	gs_types_free(dst);
}

static void test_import_member_pointers(void)
{
	struct gs_types *one = gs_types_new(), *dst = gs_types_new();
	gs_type_id i = t_int(one, "int", 4, GS_TYPE_SIGNED), p, class, a, b;
	struct gs_type type = {
		.kind = GS_KIND_MEMBER_POINTER, .byte_size = 8, .containing = GS_TYPE_VOID};

	gs_error_free(gs_types_reserve(one, &type, &p));
	gs_types_set_target(one, p, i);
	struct gs_member m = {"m", p, 0, 0, 0};
	class = t_struct(one, "K", 8, &m, 1);
	type.target = i;
	type.containing = class;
	a = import(dst, one, t_add(one, type));
	CHECK_STR(t_text(dst, a, "x"), "int K::*x");
	b = import(dst, one, t_add(one, type));
	CHECK_INT(a, b);
	gs_types_free(one);
	gs_types_free(dst);
}

int main(void)
{
	TAP_RUN(test_equal_types_get_one_id);
	TAP_RUN(test_reserved_pointers);
	TAP_RUN(test_invariants);
	TAP_RUN(test_nesting_is_capped);
	TAP_RUN(test_printing);
	TAP_RUN(test_printing_hostile_pointers_ends);
	TAP_RUN(test_questions);
	TAP_RUN(test_compatibility);
	TAP_RUN(test_members_of_anonymous_and_base);
	TAP_RUN(test_member_search_is_bounded);
	TAP_RUN(test_import_merges_cycles);
	TAP_RUN(test_import_keeps_different_types_apart);
	TAP_RUN(test_import_mutual_recursion);
	TAP_RUN(test_import_refuses_what_contains_itself);
	TAP_RUN(test_import_long_chain);
	TAP_RUN(test_import_large_web);
	TAP_RUN(test_import_member_pointers);
	return tap_done();
}
