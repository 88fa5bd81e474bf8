/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit tests of evaluation: text to value, over items captured by hand.
 * In the flow: what --where and --hist do with an event, and what a probe should have computed.
 */
#include "common/value.h"

#include <inttypes.h>

#include "common/text.h"
#include "tests/lib/common_types.h"
#include "tests/tap.h"

/* The event: variables with their bytes, and what their pointers lead to. */
struct item {
	const char *name;
	gs_type_id type;
	uint8_t status;
	const void *data;
	size_t len;
};
struct pointee {
	int32_t item;
	uint64_t offset;
	gs_type_id type;
	uint8_t status;
	const void *data;
	size_t len;
};

static struct gs_types *types;
static struct item items[32];
static size_t nitems;
static struct pointee pointees[8];
static size_t npointees;
static struct gs_arena arena;
static gs_type_id T_int, T_node;

struct node {
	int32_t n;
	uint32_t bits; /* lo: 3, hi: 29 (signed) */
	uint64_t uri;  /* char * */
	char name[8];
	int32_t a[4];
	uint64_t next; /* struct node * */
};

static const struct node first = {-5, 0xffffffe5, 0x1000, "abcdefgh", {10, 20, 30, 40}, 0x2000};
static const struct node second = {7, 0, 0x1100, "x", {1, 2, 3, 4}, 0};

static void add_item(const char *name, gs_type_id type, const void *data, size_t len)
{
	items[nitems++] = (struct item){name, type, GS_STATUS_OK, data, len};
}

static void add_absent(const char *name, gs_type_id type, uint8_t status)
{
	items[nitems++] = (struct item){name, type, status, NULL, 0};
}

static int32_t item_of(const char *name)
{
	for (size_t i = 0; i < nitems; i++)
		if (strcmp(items[i].name, name) == 0)
			return (int32_t)i;
	return -1;
}

static void add_pointee(const char *name, uint64_t offset, gs_type_id type, uint8_t status,
			const void *data, size_t len)
{
	pointees[npointees++] = (struct pointee){item_of(name), offset, type, status, data, len};
}

static gs_type_id node_type(void)
{
	gs_type_id unsigned_type = t_int(types, "unsigned int", 4, 0), next;
	gs_type_id name = t_array(types, t_char(types), 8), uri = t_pointer(types, t_char(types));
	struct gs_type pointer = {.kind = GS_KIND_POINTER, .byte_size = 8};

	gs_error_free(gs_types_reserve(types, &pointer, &next));
	struct gs_member m[] = {
		{"n", T_int, 0, 0, 0},	   {"lo", unsigned_type, 0, 32, 3},
		{"hi", T_int, 0, 35, 29},  {"uri", uri, 0, 64, 0},
		{"name", name, 0, 128, 0}, {"a", t_array(types, T_int, 4), 0, 192, 0},
		{"next", next, 0, 320, 0}};
	T_node = t_struct(types, "node", sizeof(struct node), m, 7);
	gs_types_set_target(types, next, T_node);
	return T_node;
}

static void set_up(void)
{
	static const int32_t one = 1, zero = 0, minus = -1, least = INT32_MIN;
	static const int64_t big = INT64_MAX, long_least = INT64_MIN;
	static const uint32_t ones = 0xffffffff;
	static const uint8_t byte = 200;
	static const float f = 0.1f;
	static const double d = 0.5, huge = 1e300;
	static const uint64_t p = 0x3000;
	static const uint8_t wide[16] = {5, 0, 0, 0, 0, 0, 0, 0, 9};
	gs_type_id text;

	types = gs_types_new();
	T_int = t_int(types, "int", 4, GS_TYPE_SIGNED);
	node_type();
	text = t_array_unknown(types, t_char(types));
	add_item("one", T_int, &one, 4);
	add_item("zero", T_int, &zero, 4);
	add_item("minus", T_int, &minus, 4);
	add_item("least", T_int, &least, 4);
	add_item("big", t_int(types, "long", 8, GS_TYPE_SIGNED), &big, 8);
	add_item("lleast", t_int(types, "long", 8, GS_TYPE_SIGNED), &long_least, 8);
	add_item("ones", t_int(types, "unsigned int", 4, 0), &ones, 4);
	add_item("byte", t_int(types, "unsigned char", 1, GS_TYPE_CHAR), &byte, 1);
	add_item("f", t_float(types, "float", 4), &f, 4);
	add_item("d", t_float(types, "double", 8), &d, 8);
	add_item("huge", t_float(types, "double", 8), &huge, 8);
	add_item("wide", t_int(types, "__int128", 16, GS_TYPE_SIGNED), wide, 16);
	add_item("node", T_node, &first, sizeof(first));
	add_item("p", t_pointer(types, T_node), &p, 8);
	add_item("lost", t_pointer(types, T_node), &p, 8);
	add_item("s", t_pointer(types, t_char(types)), &p, 8);
	add_item("cut", t_pointer(types, t_char(types)), &p, 8);
	add_item("empty", t_pointer(types, t_char(types)), &p, 8);
	add_item("bad", t_pointer(types, t_char(types)), &p, 8);
	add_absent("gone", T_int, GS_STATUS_OPTIMIZED_OUT);
	add_absent("fault", T_int, GS_STATUS_FAULT);
	add_pointee("node", 8, text, GS_STATUS_OK, "/index", 6);
	add_pointee("p", 0, T_node, GS_STATUS_OK, &second, sizeof(second));
	add_pointee("s", 0, text, GS_STATUS_OK, "hello", 5);
	add_pointee("cut", 0, text, GS_STATUS_TRUNCATED, "abc", 3);
	add_pointee("empty", 0, text, GS_STATUS_OK, "", 0);
	add_pointee("bad", 0, text, GS_STATUS_FAULT, NULL, 0);
	for (size_t i = 0; i < npointees; i++)
		CHECK(pointees[i].item >= 0);
}

/* ---- the evaluator's side ---- */

static bool follow(void *ctx, int32_t item, uint64_t offset, struct gs_value *out)
{
	for (size_t i = 0; i < npointees; i++)
		if (pointees[i].item == item && pointees[i].offset == offset) {
			*out = (struct gs_value){.type = pointees[i].type,
						 .status = pointees[i].status,
						 .data = pointees[i].data,
						 .len = pointees[i].len,
						 .item = -1};
			return true;
		}
	return false;
}

static void lookup(void *ctx, const struct gs_expr *e, struct gs_value *out)
{
	const struct item *item = &items[e->binding];

	*out = (struct gs_value){.type = item->type,
				 .status = item->status,
				 .data = item->data,
				 .len = item->len,
				 .item = (int32_t)e->binding,
				 .has_address = strcmp(item->name, "node") == 0,
				 .address = 0x7000};
}

static struct gs_error *find_name(void *ctx, const char *qualifier, const char *name,
				  struct gs_symbol *sym)
{
	int32_t i = item_of(name);

	if (i < 0)
		return gs_error_new(GS_ERR_NOT_FOUND, "no %s", name);
	*sym = (struct gs_symbol){.type = items[i].type, .binding = (uint64_t)i};
	return NULL;
}

static struct gs_error *find_builtin(void *ctx, const char *name, struct gs_symbol *sym)
{
	return gs_error_new(GS_ERR_NOT_FOUND, "no $%s", name);
}

static struct gs_error *find_type(void *ctx, const char *name, gs_type_id *id)
{
	if (strcmp(name, "struct node") != 0)
		return gs_error_new(GS_ERR_NOT_FOUND, "no type %s", name);
	*id = T_node;
	return NULL;
}

static void print_value(const struct gs_value_source *src, const struct gs_value *v, char *out,
			size_t size)
{
	struct gs_buf b = {0};
	uint64_t bits;
	double real;

	if (gs_value_scalar(src, v, &bits)) {
		gs_buf_printf(&b, "%" PRId64, (int64_t)bits);
	} else if (gs_value_real(src, v, &real)) {
		gs_put_float(&b, real, 8);
	} else {
		if (gs_status_has_data(v->status) && gs_type_is_char_array(src->types, v->type))
			gs_buf_printf(&b, "\"%.*s\" ", (int)v->len, (const char *)v->data);
		gs_buf_puts(&b, gs_status_name(v->status));
	}
	snprintf(out, size, "%s", gs_buf_cstr(&b));
	gs_buf_deinit(&b);
}

static const char *eval(const char *text)
{
	static char out[256];
	struct gs_scope scope = {.types = types,
				 .pointer_size = 8,
				 .find_name = find_name,
				 .find_builtin = find_builtin,
				 .find_type = find_type};
	struct gs_value_source src = {.types = types, .pointer_size = 8, .follow = follow};
	struct gs_evaluator ev = {.src = &src, .lookup = lookup};
	struct gs_expr *e = NULL;
	struct gs_value v;
	struct gs_error *err = gs_expr_parse(&arena, text, 0, NULL, NULL, &e);

	if (!err)
		err = gs_expr_check(e, text, &arena, &scope);
	if (err) {
		snprintf(out, sizeof(out), "error: %s", gs_error_message(err));
		gs_error_free(err);
		return out;
	}
	gs_evaluate(&ev, e, &v);
	print_value(&src, &v, out, sizeof(out));
	return out;
}

#define IS(text, want) CHECK_STR(eval(text), want)

/* ---- cases ---- */

static void test_arithmetic_is_of_the_width(void)
{
	IS("one + 2 * 3", "7");
	IS("least - 1", "2147483647");
	IS("big + 1", "-9223372036854775808");
	IS("ones + 1", "0");
	IS("ones + 1l", "4294967296");
	IS("minus < ones", "0"); /* usual conversions: unsigned */
	IS("minus < big", "1");
	IS("byte + byte", "400");
	IS("-least", "-2147483648");
	IS("~zero", "-1");
	IS("~ones", "0");
	IS("!zero + !one", "1");
	IS("minus >> 1", "-1");
	IS("ones >> 1", "2147483647");
	IS("one << 31", "-2147483648");
	IS("byte << 24", "-939524096");
	IS("6 & 3 | 8 ^ one", "11");
	IS("-7 / 2 + zero", "-3");
	IS("minus % 2", "-1");
}

static void test_no_result_is_a_status(void)
{
	IS("one / zero", "division-by-zero");
	IS("one % zero", "division-by-zero");
	IS("least / minus", "division-by-zero");
	IS("least % minus", "division-by-zero");
	IS("lleast / minus", "division-by-zero");
	IS("(long)least / minus", "2147483648");
	IS("one << 32", "bad-shift");
	IS("one << minus", "bad-shift");
	IS("big >> 64", "bad-shift");
	IS("big >> 63", "0");
	IS("one << byte", "bad-shift");
	IS("gone + 1", "optimized-out");
	IS("fault == 0", "fault");
	IS("1 + one / zero", "division-by-zero");
}

static void test_laziness(void)
{
	IS("zero && gone", "0");
	IS("one || gone", "1");
	IS("one && gone", "optimized-out");
	IS("gone && zero", "optimized-out");
	IS("gone || one", "optimized-out");
	IS("one ? 5 : gone", "5");
	IS("zero ? 5 : gone", "optimized-out");
	IS("gone ? 1 : 1", "optimized-out");
	IS("zero != 0 && one / zero > 1", "0");
	IS("d && f", "1");
}

static void test_casts(void)
{
	IS("(char)byte", "-56");
	IS("(unsigned char)minus", "255");
	IS("(unsigned short)least", "0");
	IS("(long)ones", "4294967295");
	IS("(int)big", "-1");
	IS("(_Bool)byte", "1");
	IS("(_Bool)d", "1");
	IS("(int)d", "0");
	IS("(int)-huge", "bad-range");
	IS("(unsigned char)(f * 10000)", "bad-range");
	IS("(long)9.2e18", "9200000000000000000");
	IS("(unsigned long)1.8e19 > big", "1");
	IS("(double)big", "9.223372036854776e+18");
	IS("(float)16777217", "16777216");
	IS("(float)(zero + 16777217)", "16777216");
	IS("(int)wide",
	   "error: the operand of a cast has the type `__int128': 128-bit integers are "
	   "captured, but not computed with");
}

static void test_floats(void)
{
	IS("d + 1", "1.5");
	IS("f == 0.1", "0");
	IS("f == 0.1f", "1");
	IS("f * f", "0.010000000707805157"); /* rounded to float */
	IS("d / zero", "inf");
	IS("d / zero - d / zero == d", "0");
	IS("(d / zero - d / zero) != (d / zero - d / zero)", "1"); /* NaN */
	IS("d < 1", "1");
	IS("-d", "-0.5");
	IS("!d", "0");
}

static void test_members(void)
{
	IS("node.n", "-5");
	IS("node.lo", "5");
	IS("node.hi", "-4");
	IS("node.hi + node.n", "-9");
	IS("p->n", "7");
	IS("(*p).a[1]", "2");
	IS("p->a[one]", "2");
	IS("lost->n", "not-collected");
	IS("p->next->n", "not-collected");
	IS("node.name", "\"abcdefgh\" ok");
}

static void test_elements_and_pointers(void)
{
	IS("node.a[3]", "40");
	IS("node.a[zero + 4]", "bad-range");
	IS("node.a[minus]", "bad-range");
	IS("*node.a", "10");
	IS("*(node.a + 2)", "30");
	IS("*(&node.a[3] - 1)", "30");
	IS("(&node)->n", "-5");
	IS("((struct node *)&node)->n", "-5");
	IS("*(unsigned char *)&node.n", "251");
	IS("((short *)node.a)[2]", "20");
	IS("&node.a[1] - &node.a[0]", "1");
	IS("&node.a[1] == node.a + 1", "1");
	IS("(long)&node.a[1]", "28700");
	IS("(long)&p->a[0]", "12312");
	IS("(long)&lost->n", "12288");
	IS("p + 1 == (struct node *)(0x3000 + sizeof(struct node))", "1");
	IS("p[1].n", "not-collected");
	IS("&one != 0", "unavailable");
	IS("*(&one)", "1");
}

static void test_wide_integers_by_halves(void)
{
	IS("*(long *)&wide", "5");
	IS("((long *)&wide)[1]", "9");
}

static void test_slices(void)
{
	IS("node.name[1:4]", "\"bcd\" ok");
	IS("node.name[one:one]", "\"\" ok");
	IS("node.name[:2] == \"ab\"", "1");
	IS("node.name[zero + 3:one]", "bad-range");
	IS("node.name[zero:one + 8]", "bad-range");
	IS("s[1:3]", "\"el\" ok");
	IS("s[one:9]", "\"ello\" truncated");
	IS("node.name[gone:3]", "optimized-out");
	IS("(node.a[1] @ 2)[1]", "30");
	IS("*s @ 3 == \"hel\"", "1");
}

static void test_text_comparison(void)
{
	IS("s == \"hello\"", "1");
	IS("s != \"hello\"", "0");
	IS("s == \"hell\"", "0");
	IS("s == \"hello!\"", "0");
	IS("\"hello\" == s", "1");
	IS("node.uri == \"/index\"", "1");
	IS("node.name == \"abcdefgh\"", "1"); /* no NUL in the array */
	IS("node.name == \"abcdefg\"", "0");
	IS("p->name == \"x\"", "1");
	IS("empty == \"\"", "1");
	IS("s == \"\"", "0");
	IS("bad == \"x\"", "fault");
	IS("lost->uri == \"x\"", "not-collected");
	IS("&node.name[6] == \"ghi\"", "0");
}

static void test_cut_strings_answer_only_what_they_know(void)
{
	IS("cut == \"abd\"", "0");
	IS("cut == \"ab\"", "0");
	IS("cut == \"abcdef\"", "not-collected");
	IS("cut == \"abc\"", "not-collected");
	IS("cut != \"abx\"", "1");
	IS("starts_with(cut, \"ab\")", "1");
	IS("starts_with(cut, \"abcd\")", "not-collected");
	IS("starts_with(cut, \"x\")", "0");
	IS("contains(cut, \"bc\")", "1");
	IS("contains(cut, \"x\")", "not-collected");
}

static void test_text_functions(void)
{
	IS("starts_with(s, \"he\")", "1");
	IS("starts_with(s, \"hello there\")", "0");
	IS("contains(s, \"ll\")", "1");
	IS("contains(s, \"lll\")", "0");
	IS("contains(node.name, \"gh\")", "1");
	IS("str(s)", "\"hello\" ok");
	IS("str(s, 2)", "\"he\" truncated");
	IS("str(s, 5)", "\"hello\" ok");
	IS("str(cut)", "\"abc\" truncated");
	IS("str(bad)", "fault");
	IS("str(s + 1) == \"ello\"", "1");
	IS("str(p->name)", "\"x\" ok");
	IS("buf(s, 3)[1]", "101");
	IS("sizeof(buf(s, 3))", "3");
}

static void test_characters_of_a_string(void)
{
	IS("s[0] == 'h'", "1");
	IS("*s == 'h'", "1");
	IS("s[5]", "0"); /* the NUL is known, though not stored */
	IS("s[6]", "not-collected");
	IS("*empty == 0", "1");
	IS("cut[3]", "not-collected");
	IS("s[minus]", "not-collected");
}

static void test_container_of(void)
{
	IS("container_of(&node.a, struct node, a)->n", "-5");
	IS("(long)container_of(&node.a, struct node, a)", "28672");
}

static void test_truncated_pointer_is_not_followed(void)
{
	IS("((struct node *)(long)p)->n", "7");
	IS("((struct node *)(long)(short)p)->n", "7"); /* 0x3000 survives the cast */
	IS("((struct node *)(long)(char)(long)p)->n", "not-collected");
}

int main(void)
{
	set_up();
	TAP_RUN(test_arithmetic_is_of_the_width);
	TAP_RUN(test_no_result_is_a_status);
	TAP_RUN(test_laziness);
	TAP_RUN(test_casts);
	TAP_RUN(test_floats);
	TAP_RUN(test_members);
	TAP_RUN(test_elements_and_pointers);
	TAP_RUN(test_wide_integers_by_halves);
	TAP_RUN(test_slices);
	TAP_RUN(test_text_comparison);
	TAP_RUN(test_cut_strings_answer_only_what_they_know);
	TAP_RUN(test_text_functions);
	TAP_RUN(test_characters_of_a_string);
	TAP_RUN(test_container_of);
	TAP_RUN(test_truncated_pointer_is_not_followed);
	gs_types_free(types);
	gs_arena_deinit(&arena);
	return tap_done();
}
