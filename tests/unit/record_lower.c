/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expressions as plans: each is checked, lowered, and evaluated over made-up registers and memory;
 * C's own answer is what must come out. Second half of the front end, without any binary.
 */
#include "bpf/plan_ops.h"
#include "record/resolver.h"
#include "tests/lib/fake_module.h"
#include "tests/tap.h"

/* ---- the machine that plans run on ---- */

static uint64_t regs[17];
static uint8_t memory[4096]; /* at BIAS + 0x5000 */
#define BIAS 0x100000u
#define BASE (BIAS + 0x5000u)

static uint64_t eval(const struct gs_plan *p, uint16_t i, unsigned *status)
{
	const struct gs_plan_node *n = &p->nodes[i];
	uint64_t a = 0, b = 0;

	switch (n->op) {
	case GS_OP_CONST:
		return (uint64_t)n->imm;
	case GS_OP_REG:
		return regs[n->imm];
	case GS_OP_BIAS:
		return BIAS;
	case GS_OP_BUILTIN:
		return 1000 + (uint64_t)n->imm;
	case GS_OP_ABSENT:
		*status = (unsigned)n->imm;
		return 0;
	case GS_OP_LAND:
		a = eval(p, n->a, status);
		return !*status && a && eval(p, n->b, status);
	case GS_OP_LOR:
		a = eval(p, n->a, status);
		return !*status && (a || eval(p, n->b, status));
	case GS_OP_SELECT:
		a = eval(p, n->a, status);
		return *status ? 0 : eval(p, a ? n->b : n->c, status);
	case GS_OP_LOAD:
		a = eval(p, n->a, status) - BASE;
		if (*status || a > sizeof(memory) - n->size) {
			*status = *status ? *status : GS_STATUS_FAULT;
			return 0;
		}
		return gs_load_uint(memory + a, n->size, false);
	case GS_OP_STR_EQ:
	case GS_OP_STR_PREFIX:
	case GS_OP_STR_FIND:
		a = eval(p, n->a, status) - BASE;
		if (*status || a >= sizeof(memory)) {
			*status = *status ? *status : GS_STATUS_FAULT;
			return 0;
		} else {
			GS_CLEANUP_FREE char *lit =
				gs_strndup((const char *)p->data + n->imm, n->size);
			const char *s = (const char *)memory + a;

			return n->op == GS_OP_STR_EQ	   ? strcmp(s, lit) == 0
			       : n->op == GS_OP_STR_PREFIX ? strncmp(s, lit, n->size) == 0
							   : strstr(s, lit) != NULL;
		}
	default:
		a = eval(p, n->a, status);
		if (gs_plan_op_operands(n->op) > 1 && !*status)
			b = eval(p, n->b, status);
		return *status ? 0 : gs_plan_op_apply(n->op, n->size, a, b, status);
	}
}

/* ---- the program: types and variables ---- */

static struct gs_resolver resolver;
static struct gs_resolution resolution;
static struct gs_resolve_request request = {.string_limit = 200, .array_limit = 200};
static struct gs_loaded loaded;
static struct gs_place_site place = {
	.link_addr = 0x1000, .natural_addr = 0x1000, .func = "f", .context = &fake_contexts[0]};
static struct gs_types *types;

static gs_type_id add(struct gs_type t)
{
	gs_type_id id = 0;
	struct gs_error *err = gs_types_add(types, &t, &id);

	CHECK(err == NULL);
	gs_error_free(err);
	return id;
}
static gs_type_id integer(const char *name, unsigned size, uint32_t flags)
{
	return add((struct gs_type){
		.kind = GS_KIND_INT, .name = name, .byte_size = size, .flags = flags});
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
				    .stride = gs_type_size(types, of)});
}
static gs_type_id floating(const char *name, unsigned size)
{
	return add((struct gs_type){.kind = GS_KIND_FLOAT, .name = name, .byte_size = size});
}

static void in_memory(const char *name, gs_type_id type, unsigned offset, const void *value)
{
	struct fake_var *v = &fake_vars[fake_nvars++];

	*v = (struct fake_var){.var = {.name = name, .type = type, .flags = GS_VAR_LOCAL},
			       .address = 0x5000 + offset};
	v->loc[0].kind = v->loc[1].kind = GS_LOC_MEMORY;
	memcpy(memory + offset, value, gs_type_size(types, type));
}
static void in_register(const char *name, gs_type_id type, unsigned reg, uint64_t value)
{
	struct fake_var *v = &fake_vars[fake_nvars++];

	*v = (struct fake_var){.var = {.name = name, .type = type, .flags = GS_VAR_PARAM},
			       .reg = (uint8_t)(reg + 1)};
	v->loc[0].kind = v->loc[1].kind = GS_LOC_VALUE;
	regs[reg] = value;
}

static struct gs_location_piece pair_pieces[] = {
	{.offset = 0, .size = 8, .kind = GS_LOC_VALUE, .node = 8},
	{.offset = 8, .size = 4, .kind = GS_LOC_VALUE, .node = 9},
	{.offset = 12,
	 .size = 4,
	 .kind = GS_LOC_ABSENT,
	 .status = GS_STATUS_UNAVAILABLE,
	 .reason = "in xmm0"},
};

static gs_type_id make_record(gs_type_id i32, gs_type_id u32, gs_type_id i64, gs_type_id str)
{
	struct gs_member members[] = {
		{.name = "a", .type = i32, .bit_offset = 0},
		{.name = "b3", .type = i32, .bit_offset = 32, .bit_size = 3},
		{.name = "u5", .type = u32, .bit_offset = 35, .bit_size = 5},
		{.name = "w", .type = i64, .bit_offset = 64 + 3, .bit_size = 61},
		{.name = "s", .type = str, .bit_offset = 128},
	};

	return add((struct gs_type){.kind = GS_KIND_STRUCT,
				    .name = "rec",
				    .byte_size = 24,
				    .members = members,
				    .nmembers = 5});
}

static void add_variables(void)
{
	gs_type_id i8 = integer("signed char", 1, GS_TYPE_SIGNED | GS_TYPE_CHAR);
	gs_type_id u8 = integer("unsigned char", 1, GS_TYPE_CHAR);
	gs_type_id i16 = integer("short", 2, GS_TYPE_SIGNED);
	gs_type_id i32 = integer("int", 4, GS_TYPE_SIGNED), u32 = integer("unsigned int", 4, 0);
	gs_type_id i64 = integer("long", 8, GS_TYPE_SIGNED), u64 = integer("unsigned long", 8, 0);
	gs_type_id ch = integer("char", 1, GS_TYPE_SIGNED | GS_TYPE_CHAR | GS_TYPE_PLAIN_CHAR);
	gs_type_id rec = make_record(i32, u32, i64, pointer(ch));
	struct gs_member two[] = {{.name = "lo", .type = u64},
				  {.name = "hi", .type = i32, .bit_offset = 64},
				  {.name = "x", .type = i32, .bit_offset = 96}};
	gs_type_id pair = add((struct gs_type){.kind = GS_KIND_STRUCT,
					       .name = "pair",
					       .byte_size = 16,
					       .members = two,
					       .nmembers = 3});
	static const uint8_t record_bytes[24] = {0xfe, 0xff, 0xff, 0xff, 0x8d, 0, 0, 0,
						 0x05, 0,    0,	   0,	 0,    0, 0, 0x80,
						 0x00, 0x52, 0x10, 0,	 0,    0, 0, 0};
	static const int table[4] = {10, -20, 30, 40};
	static const char text[8] = "hello";
	static const float f = 0.1f, nan_f = __builtin_nanf("");
	static const double d = -2.5;

	in_register("i", i32, 5, 0xdeadbeef00000000u | 7);
	in_register("n", i32, 4, 0xffffffffu); /* -1 with clean upper bits */
	in_register("u", u32, 1, 0x80000000fffffff0u);
	in_register("l", i64, 2, (uint64_t)INT64_MIN);
	in_register("c", i8, 3, 0x1280);
	in_register("uc", u8, 0, 0xff);
	in_register("sh", i16, 10, 0x8000);
	in_register("p", pointer(i32), 11, BASE + 64);
	in_register("r", pointer(rec), 12, BASE);
	in_register("null", pointer(rec), 13, 0);
	in_memory("rec", rec, 0, record_bytes);
	in_memory("tab", array(i32, 4), 64, table);
	in_memory("text", array(ch, 8), 96, text);
	memory[0x200] = 'h', memory[0x201] = 'i';
	in_memory("f", floating("float", 4), 128, &f);
	in_memory("nan", floating("float", 4), 132, &nan_f);
	in_memory("d", floating("double", 8), 136, &d);
	in_register("s", pointer(ch), 14, BASE + 96);
	fake_vars[fake_nvars] =
		(struct fake_var){.var = {.name = "pair", .type = pair, .flags = GS_VAR_LOCAL}};
	fake_vars[fake_nvars].loc[0] =
		(struct gs_location){.kind = GS_LOC_PIECES, .pieces = pair_pieces, .npieces = 3};
	fake_vars[fake_nvars].loc[1] = fake_vars[fake_nvars].loc[0];
	fake_nvars++;
	regs[8] = 0x1122334455667788;
	regs[9] = 0xffffffff;
	fake_vars[fake_nvars++] = (struct fake_var){
		.var = {.name = "gone", .type = i32, .flags = GS_VAR_LOCAL},
		.loc = {{.kind = GS_LOC_ABSENT, .status = GS_STATUS_OPTIMIZED_OUT, .reason = ""},
			{.kind = GS_LOC_ABSENT, .status = GS_STATUS_OPTIMIZED_OUT, .reason = ""}}};
}

static void set_up(void)
{
	static struct gs_file_source none;

	types = gs_types_new();
	resolver = (struct gs_resolver){
		.req = &request, .files = &none, .types = types, .out = &resolution};
	gs_module_open(-1, "prog", NULL, types, &loaded.m);
	loaded.path = "prog";
	add_variables();
}

/* The value, or the status as a negative number far from any value. */
#define FAILED(status) (INT64_MIN + 1000 + (int64_t)(status))

static int64_t lowered(const char *text, bool condition)
{
	struct gs_site site;
	struct gs_plan plan;
	struct gs_lower l = {.site = &site, .types = types, .plan = &plan, .text = text};
	struct gs_expr *e;
	uint16_t node;
	unsigned status = 0;
	uint64_t v = 0;
	struct gs_error *err;

	gs_site_init(&site, &resolver, &loaded, &place);
	gs_plan_init(&plan);
	plan.condition = GS_NODE_NONE;
	err = gs_site_check(&site, text, 0, strlen(text), condition, &e);
	if (!err)
		err = condition ? gs_lower_condition(&l, e, &node) : gs_lower_scalar(&l, e, &node);
	if (err) {
		printf("# %s: %s\n", text, gs_error_message(err));
		gs_error_free(err);
		v = (uint64_t)FAILED(99);
	} else {
		v = eval(&plan, node, &status);
		if (status)
			v = (uint64_t)FAILED(status);
		plan.condition = condition ? node : GS_NODE_NONE;
		err = gs_plan_check(&plan);
		CHECK(err == NULL);
		gs_error_free(err);
	}
	gs_plan_deinit(&plan);
	gs_site_deinit(&site);
	return (int64_t)v;
}

static void value(const char *text, int64_t want)
{
	int64_t got = lowered(text, false);

	if (got != want)
		printf("# %s\n", text);
	CHECK_INT(got, want);
}

static void truth(const char *text, bool want)
{
	int64_t got = lowered(text, true);

	if (got != want)
		printf("# if %s\n", text);
	CHECK_INT(got, want);
}

static void test_widths(void)
{
	int i = 7, n = -1;
	unsigned u = 0xfffffff0;
	signed char c = -128;
	short sh = -32768;
	unsigned char uc = 255;
	long l = INT64_MIN;

	value("i", i);
	value("n", n);
	value("u", u);
	value("c", c);
	value("sh", sh);
	value("uc", uc);
	value("u + 32", u + 32);
	value("u * u", (int64_t)(u * u));
	value("i - u", (int64_t)(i - u));
	value("n / 2", n / 2);
	value("n % 2", n % 2);
	value("u / 16", u / 16);
	value("-u", (int64_t)(-u));
	value("~uc", ~uc);
	value("-c", -c);
	value("(unsigned char)n", (unsigned char)n);
	value("(signed char)200", (signed char)200);
	value("(short)u", (short)u);
	value("(long)n", n);
	value("(unsigned long)n", (int64_t)(unsigned long)n);
	value("(unsigned)n", (unsigned)n);
	value("c >> 1", c >> 1);
	value("u >> 4", u >> 4);
	value("u << 4", (int64_t)(u << 4));
	value("i << 31", (int64_t)INT32_MIN);
	value("l - 1", INT64_MAX);
	value("l >> 63", l >> 63);
	value("(_Bool)256", 1);
	value("(_Bool)u", 1);
	value("n > u", (unsigned)n > u);
	value("n < i", 1);
	value("l < n", 1);
	value("uc == 255", 1);
	value("i ? n : u", (int64_t)(i ? (unsigned)n : u));
	value("sizeof(rec) + sizeof u", 28);
	value("!i || (n && i)", 1);
	value("i & 3 | 8 ^ 1", (i & 3) | (8 ^ 1));
}

static void test_failures(void)
{
	value("i / (i - 7)", FAILED(GS_STATUS_DIV_ZERO));
	value("(int)0x80000000 / n", FAILED(GS_STATUS_DIV_ZERO));
	value("l / n", FAILED(GS_STATUS_DIV_ZERO));
	value("i << 32", FAILED(GS_STATUS_BAD_SHIFT));
	value("i << n", FAILED(GS_STATUS_BAD_SHIFT));
	value("l >> 64", FAILED(GS_STATUS_BAD_SHIFT));
	value("null->a", FAILED(GS_STATUS_FAULT));
	value("gone + 1", FAILED(GS_STATUS_OPTIMIZED_OUT));
	value("i || gone", 1);
	value("&i", FAILED(GS_STATUS_UNAVAILABLE));
	value("null && null->a", 0);
}

static void test_objects(void)
{
	value("tab[1]", -20);
	value("tab[i - 5]", 30);
	value("*tab", 10);
	value("p[3]", 40);
	value("*(p + 2)", 30);
	value("&tab[3] - p", 3);
	value("(char *)&tab[3] - (char *)p", 12);
	value("&tab[1]", BASE + 68);
	value("r->a", -2);
	value("rec.a", -2);
	value("(*r).a", -2);
	value("rec.b3", -3);
	value("r->u5", 0x11);
	value("r->w", (int64_t)0xf000000000000000);
	value("pair.lo", 0x1122334455667788);
	value("pair.hi", -1);
	value("pair.x", FAILED(GS_STATUS_UNAVAILABLE));
	value("*(int *)((char *)p + 4)", -20);
	value("*r->s", 'h');
	value("text[1]", 'e');
	value("s[4]", 'o');
	value("$rdi", (int64_t)(0xdeadbeef00000000u | 7));
	value("$edi", 7);
	value("$bl", 0x80);
	value("$bh", 0x12);
	value("$arg2", 0xffffffffu);
	value("$pid", 1000 + GS_PLAN_PID);
}

static void test_text(void)
{
	truth("s == \"hello\"", true);
	truth("s != \"hello\"", false);
	truth("s == \"hell\"", false);
	truth("\"hello\" == text", true);
	truth("starts_with(s, \"he\")", true);
	truth("starts_with(text, \"lo\")", false);
	truth("contains(s, \"ll\")", true);
	truth("str(s, 4) == \"hell\"", true);
	truth("str(s, 3) == \"hell\"", false);
	truth("text[0:2] == \"he\"", true);
	truth("$func == \"f\"", true);
	truth("$func == \"ff\"", false);
	truth("starts_with($func, \"f\")", true);
	truth("contains($func, \"g\")", false);
}

static void test_floats(void)
{
	float f = 0.1f;
	double d = -2.5;

	truth("f > 0.1", f > 0.1);
	truth("f >= 0.1", f >= 0.1);
	truth("f < 0.1", f < 0.1);
	truth("f <= 0.1", f <= 0.1);
	truth("f == 0.1", f == 0.1);
	truth("f != 0.1", f != 0.1);
	truth("f == 0.1f", f == 0.1f);
	truth("f > 0", true);
	truth("0.05 < f", true);
	truth("d < -2", d < -2);
	truth("d <= -2.5", d <= -2.5);
	truth("d > -2.5000001", d > -2.5000001);
	truth("d == -2.5", true);
	truth("f > f", false);
	truth("nan == nan", false);
	truth("nan != nan", true);
	truth("nan < 1", false);
	truth("nan >= 1", false);
	truth("d", true);
	truth("!d", false);
	truth("i > 6.5", true);
	truth("i >= 7.0", true);
	truth("i < 7.5", true);
	truth("i == 7.5", false);
	truth("n < -0.5", true);
	truth("n > -1.5", true);
	truth("u > 4e9", true);
	truth("n < 1e30", true);
}

static void test_refusals(void)
{
	CHECK_INT(lowered("d + 1 > 2", true), FAILED(99));
	CHECK_INT(lowered("(int)d", false), FAILED(99));
	CHECK_INT(lowered("$comm == \"x\"", true), FAILED(99));
	CHECK_INT(lowered("rec", true), FAILED(99));
	CHECK_INT(lowered("text == \"hello\\0\"", true), FAILED(99));
	CHECK_INT(lowered("$retval", false), FAILED(99));
	CHECK_INT(lowered("$nosuch", false), FAILED(99));
	CHECK_INT(lowered("nosuch", false), FAILED(99));
}

int main(void)
{
	set_up();
	TAP_RUN(test_widths);
	TAP_RUN(test_failures);
	TAP_RUN(test_objects);
	TAP_RUN(test_text);
	TAP_RUN(test_floats);
	TAP_RUN(test_refusals);
	gs_types_free(types);
	gs_arena_deinit(&resolver.arena);
	return tap_done();
}
