/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DWARF expressions as plan nodes, operation by operation: each case is a list of operations and
 * the value that DWARF says they have, computed by the plan's own arithmetic.
 */
#include "record/dwarf_internal.h"
#include "tests/lib/record_run.h"
#include "tests/tap.h"

static struct run_module module;
static struct gs_context *context;

static bool evaluate(const Dwarf_Op *ops, size_t n, uint64_t *value, const char **reason)
{
	struct gs_plan plan;
	struct run regs = {.regs = {.rax = 0xaaaa, .rdi = 0xffffffff80000001, .rsp = 0x7000}};
	struct gs_evaluation ev = {.c = context, .plan = &plan, .frame_die = &context->scopes[0]};
	bool good;

	gs_plan_init(&plan);
	good = gs_evaluate_ops(&ev, NULL, ops, n) && ev.depth &&
	       run_node(&regs, &plan, ev.stack[ev.depth - 1].node, value);
	*reason = ev.reason;
	gs_plan_deinit(&plan);
	return good;
}

#define OPS(...) ((const Dwarf_Op[]){__VA_ARGS__})
#define COUNT(...) (sizeof((const Dwarf_Op[]){__VA_ARGS__}) / sizeof(Dwarf_Op))
#define CHECK_EXPR(want, ...)                                                          \
	do {                                                                           \
		uint64_t v_ = 0;                                                       \
		const char *why_ = "";                                                 \
		bool ok_ = evaluate(OPS(__VA_ARGS__), COUNT(__VA_ARGS__), &v_, &why_); \
		CHECK(ok_);                                                            \
		CHECK_INT(v_, want);                                                   \
	} while (0)
#define CHECK_ABSENT(want, ...)                                                     \
	do {                                                                        \
		uint64_t v_ = 0;                                                    \
		const char *why_ = NULL;                                            \
		CHECK(!evaluate(OPS(__VA_ARGS__), COUNT(__VA_ARGS__), &v_, &why_)); \
		CHECK(why_ &&strstr(why_, want));                                   \
	} while (0)

#define LIT(n)                            \
	{                                 \
		DW_OP_lit0 + (n), 0, 0, 0 \
	}
#define CONSTS(n)                                   \
	{                                           \
		DW_OP_consts, (Dwarf_Word)(n), 0, 0 \
	}
#define OP(o)                      \
	{                          \
		DW_OP_##o, 0, 0, 0 \
	}
#define OPN(o, n)                                \
	{                                        \
		DW_OP_##o, (Dwarf_Word)(n), 0, 0 \
	}

static void test_arithmetic(void)
{
	CHECK_EXPR(7, LIT(3), LIT(4), OP(plus));
	CHECK_EXPR(-1, LIT(3), LIT(4), OP(minus));
	CHECK_EXPR(12, LIT(3), LIT(4), OP(mul));
	CHECK_EXPR(-3, CONSTS(-7), LIT(2), OP(div));
	/* The remainder of the generic type is unsigned. */
	CHECK_EXPR((long long)(((unsigned long long)-7) % 3), CONSTS(-7), LIT(3), OP(mod));
	CHECK_EXPR(9, LIT(4), OPN(plus_uconst, 5));
	CHECK_EXPR(7, CONSTS(-7), OP(abs));
	CHECK_EXPR(7, LIT(7), OP(abs));
	CHECK_EXPR(-7, LIT(7), OP(neg));
	CHECK_EXPR(~7ll, LIT(7), OP(not ));
	CHECK_EXPR(4, LIT(6), LIT(12), OP(and));
	CHECK_EXPR(14, LIT(6), LIT(12), OP(or));
	CHECK_EXPR(10, LIT(6), LIT(12), OP(xor));
}

static void test_shifts(void)
{
	CHECK_EXPR(24, LIT(3), LIT(3), OP(shl));
	CHECK_EXPR(1, CONSTS(-1), OPN(const1u, 63), OP(shr));
	CHECK_EXPR(-1, CONSTS(-2), LIT(1), OP(shra));
	CHECK_EXPR(0x80000001, OPN(breg5, 0), LIT(31), OP(shl), LIT(31), OP(shr),
		   OPN(const4u, 0xffffffff), OP(and));
}

static void test_comparisons_are_signed(void)
{
	CHECK_EXPR(1, CONSTS(-1), LIT(1), OP(lt));
	CHECK_EXPR(0, CONSTS(-1), LIT(1), OP(gt));
	CHECK_EXPR(1, LIT(2), LIT(2), OP(le));
	CHECK_EXPR(1, LIT(2), LIT(2), OP(ge));
	CHECK_EXPR(1, LIT(2), LIT(2), OP(eq));
	CHECK_EXPR(0, LIT(2), LIT(2), OP(ne));
}

static void test_stack_operations(void)
{
	CHECK_EXPR(9, LIT(3), OP(dup), OP(mul));
	CHECK_EXPR(3, LIT(3), LIT(4), OP(drop));
	CHECK_EXPR(3, LIT(3), LIT(4), OP(over));
	CHECK_EXPR(1, LIT(1), LIT(2), LIT(3), OPN(pick, 2));
	CHECK_EXPR(3, LIT(3), LIT(4), OP(swap));
	CHECK_EXPR(2, LIT(1), LIT(2), LIT(3), OP(rot));
	/* rot: the top goes below the next two. */
	CHECK_EXPR(3, LIT(1), LIT(2), LIT(3), OP(rot), OP(drop), OP(drop));
}

static void test_registers(void)
{
	CHECK_EXPR(0xaaaa, OPN(breg0, 0));
	CHECK_EXPR(0x7008, OPN(breg7, 8));
	CHECK_EXPR(0x6ff8, {DW_OP_bregx, 7, (Dwarf_Word)-8, 0});
	CHECK_ABSENT("in xmm1", {DW_OP_bregx, 18, 0, 0});
	CHECK_ABSENT("in st0", {DW_OP_bregx, 33, 0, 0});
}

static void test_what_has_no_counterpart_is_named(void)
{
	CHECK_ABSENT("DW_OP_entry_value", OP(entry_value));
	CHECK_ABSENT("DW_OP_implicit_pointer", OP(implicit_pointer));
	CHECK_ABSENT("DW_OP_xderef", LIT(1), LIT(1), OP(xderef));
	CHECK_ABSENT("push_object_address", OP(push_object_address));
	CHECK_ABSENT("DW_OP_convert", LIT(1), OPN(convert, 77));
	CHECK_ABSENT("0xe8", {0xe8, 0, 0, 0});
}

#define AT(where, o, n)                              \
	{                                            \
		DW_OP_##o, (Dwarf_Word)(n), 0, where \
	}

static void test_branches(void)
{
	/* rdi has its top bit set: below 0 is 11, else 22. */
	CHECK_EXPR(11, AT(0, breg5, 0), AT(3, lit0, 0), AT(4, lt, 0), AT(5, bra, 4),
		   AT(8, lit22, 0), AT(9, skip, 1), AT(12, lit11, 0));
	CHECK_EXPR(22, AT(0, breg0, 0), AT(3, lit0, 0), AT(4, lt, 0), AT(5, bra, 4),
		   AT(8, lit22, 0), AT(9, skip, 1), AT(12, lit11, 0));
	/* A loop with a constant count: 5 doublings of rax. */
	CHECK_EXPR(0xaaaall * 32, AT(0, breg0, 0), AT(3, lit5, 0), AT(4, swap, 0), AT(5, dup, 0),
		   AT(6, plus, 0), AT(7, swap, 0), AT(8, lit1, 0), AT(9, minus, 0), AT(10, dup, 0),
		   AT(11, bra, -10), AT(14, drop, 0));
	CHECK_ABSENT("a loop", AT(0, breg0, 0), AT(3, dup, 0), AT(4, bra, -4));
	CHECK_ABSENT("too long", AT(0, lit1, 0), AT(1, skip, -3));
	CHECK_ABSENT("damaged", AT(0, lit1, 0), AT(1, bra, -3));
	CHECK_ABSENT("damaged", AT(0, breg0, 0), AT(3, bra, 1), AT(6, lit1, 0), AT(7, drop, 0));
}

static void test_branches_are_bounded(void)
{
	Dwarf_Op ops[80];
	uint64_t value;
	const char *why;

	for (unsigned i = 0; i < 40; i++) {
		ops[2 * i] = (Dwarf_Op){DW_OP_breg0, 0, 0, i * 6};
		ops[2 * i + 1] = (Dwarf_Op){DW_OP_bra, 0, 0, i * 6 + 3};
	}
	CHECK(!evaluate(ops, GS_ARRAY_SIZE(ops), &value, &why));
	CHECK(why && strstr(why, "too many branches"));
}

static void test_damaged_expressions(void)
{
	CHECK_ABSENT("damaged", OP(plus));
	CHECK_ABSENT("damaged", LIT(1), OP(plus));
	CHECK_ABSENT("damaged", OP(deref));
	CHECK_ABSENT("damaged", LIT(1), OPN(pick, 200));
	CHECK_ABSENT("damaged", LIT(1), LIT(2), OP(rot));
	CHECK_ABSENT("16 bytes", LIT(1), OPN(deref_size, 16));
}

static void test_a_deep_expression_ends(void)
{
	Dwarf_Op ops[200];
	uint64_t value;
	const char *why;

	for (size_t i = 0; i < GS_ARRAY_SIZE(ops); i++)
		ops[i] = (Dwarf_Op){DW_OP_lit1, 0, 0, 0};
	CHECK(!evaluate(ops, GS_ARRAY_SIZE(ops), &value, &why));
	CHECK(strstr(why, "too deep") != NULL);
}

static void test_names_are_split_and_compared(void)
{
	struct gs_arena a;
	size_t len;
	struct gs_name_query *q;

	gs_arena_init(&a);
	q = gs_name_query_parse(&a, "ns::Box<std::pair<int, long>>::get(int) const");
	CHECK(strncmp(gs_name_query_base(q, &len), "get", 3) == 0 && len == 3);
	q = gs_name_query_parse(&a, "operator<<(std::ostream&, int)");
	CHECK(strncmp(gs_name_query_base(q, &len), "operator<<", 10) == 0 && len == 10);
	q = gs_name_query_parse(&a, "A::operator()(int) const");
	CHECK(strncmp(gs_name_query_base(q, &len), "operator()", 10) == 0 && len == 10);
	q = gs_name_query_parse(&a, "main::{lambda(int)#1}::operator()(int) const");
	CHECK(strncmp(gs_name_query_base(q, &len), "operator()", 10) == 0);
	q = gs_name_query_parse(&a, "(anonymous namespace)::f");
	CHECK(strcmp(gs_name_query_base(q, &len), "f") == 0);
	q = gs_name_query_parse(&a, "");
	CHECK_STR(gs_name_query_base(q, &len), "");
	CHECK_INT(gs_name_base_len("operator->"), 10);
	CHECK_INT(gs_name_base_len("f<int>"), 1);
	CHECK_INT(gs_name_base_len("operator< <int>"), 9);
	gs_arena_deinit(&a);
}

static void test_paths(void)
{
	struct gs_arena a;

	gs_arena_init(&a);
	CHECK_STR(gs_path_clean(&a, "/a/./b/../c.c"), "/a/c.c");
	CHECK_STR(gs_path_clean(&a, "../x.c"), "../x.c");
	CHECK_STR(gs_path_clean(&a, "../../x.c"), "../../x.c");
	CHECK_STR(gs_path_clean(&a, "a//b.c"), "a/b.c");
	CHECK_STR(gs_path_clean(&a, ""), "");
	CHECK(gs_path_has_suffix("/x/srv.c", "srv.c"));
	CHECK(gs_path_has_suffix("/x/srv.c", "x/srv.c"));
	CHECK(gs_path_has_suffix("/x/srv.c", "/x/srv.c"));
	CHECK(!gs_path_has_suffix("/x/srv.c", "rv.c"));
	CHECK(!gs_path_has_suffix("/x/srv.c", ""));
	gs_arena_deinit(&a);
}

int main(void)
{
	const char *path = run_have("gcc") ? run_compile("gcc", "-O0", "places.c") : NULL;
	struct gs_places p;

	TAP_RUN(test_names_are_split_and_compared);
	TAP_RUN(test_paths);
	gs_places_init(&p);
	if (!path || !run_open(path, &module) || gs_module_find_function(module.m, "scalars", &p) ||
	    p.nsites == 0) {
		tap_skip("record_expr", "no compiler");
		return tap_done();
	}
	context = p.sites[0].context;
	TAP_RUN(test_arithmetic);
	TAP_RUN(test_shifts);
	TAP_RUN(test_comparisons_are_signed);
	TAP_RUN(test_stack_operations);
	TAP_RUN(test_registers);
	TAP_RUN(test_what_has_no_counterpart_is_named);
	TAP_RUN(test_branches);
	TAP_RUN(test_branches_are_bounded);
	TAP_RUN(test_damaged_expressions);
	TAP_RUN(test_a_deep_expression_ends);
	gs_places_deinit(&p);
	run_close(&module);
	return tap_done();
}
