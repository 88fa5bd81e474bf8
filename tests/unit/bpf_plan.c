/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture plans: folding while they are built, checks of what a stranger sends, the message and the
 * text; and the layout and decoding of records.
 */
#include <stdlib.h>

#include "bpf/program.h"
#include "bpf/tracer.h"
#include "common/mem.h"
#include "tests/tap.h"

enum { RSI = 4, RDI = 5 };
#define NONE GS_NODE_NONE

static uint16_t reg(struct gs_plan *p, int r)
{
	return gs_plan_node(p, GS_OP_REG, 8, NONE, NONE, r);
}

static uint16_t binary(struct gs_plan *p, enum gs_plan_op op, uint16_t a, uint16_t b)
{
	return gs_plan_node(p, op, 8, a, b, 0);
}

/* The node, after all nodes are made: building moves them. */
static const struct gs_plan_node *at(const struct gs_plan *p, uint16_t n)
{
	return &p->nodes[n];
}

/* ---- building ---- */

static void test_folding(void)
{
	struct gs_plan p;
	uint16_t n, m;

	gs_plan_init(&p);
	n = binary(&p, GS_OP_ADD, binary(&p, GS_OP_ADD, reg(&p, RDI), gs_plan_const(&p, 8)),
		   gs_plan_const(&p, 16));
	CHECK_INT(p.nodes[n].op, GS_OP_ADD);
	CHECK_INT(p.nodes[p.nodes[n].a].op, GS_OP_REG);
	CHECK_INT(p.nodes[p.nodes[n].b].imm, 24);
	CHECK_INT(binary(&p, GS_OP_SUB, n, gs_plan_const(&p, 24)), reg(&p, RDI));
	CHECK_INT(binary(&p, GS_OP_ADD, gs_plan_const(&p, 24), reg(&p, RDI)), n);
	n = binary(&p, GS_OP_MUL, gs_plan_const(&p, 6), gs_plan_const(&p, -7));
	CHECK_INT(at(&p, n)->imm, -42);
	n = binary(&p, GS_OP_UDIV, gs_plan_const(&p, 6), gs_plan_const(&p, 0));
	CHECK_INT(p.nodes[n].op, GS_OP_ABSENT);
	CHECK_INT(p.nodes[n].imm, GS_STATUS_DIV_ZERO);
	n = gs_plan_node(&p, GS_OP_SHL, 4, gs_plan_const(&p, 1), gs_plan_const(&p, 32), 0);
	CHECK_INT(p.nodes[n].imm, GS_STATUS_BAD_SHIFT);
	n = gs_plan_node(&p, GS_OP_SEXT, 1, gs_plan_const(&p, 0x80), NONE, 0);
	CHECK_INT(p.nodes[n].imm, -128);
	/* What is not needed is not kept, what may fail is. */
	n = gs_plan_node(&p, GS_OP_LOAD, 8, reg(&p, RDI), NONE, 0);
	m = binary(&p, GS_OP_LAND, gs_plan_const(&p, 0), n);
	CHECK_INT(at(&p, m)->op, GS_OP_CONST);
	m = binary(&p, GS_OP_LAND, gs_plan_const(&p, 1), n);
	CHECK_INT(at(&p, m)->op, GS_OP_BOOL);
	m = binary(&p, GS_OP_LAND, n, gs_plan_const(&p, 0));
	CHECK_INT(at(&p, m)->op, GS_OP_LAND);
	CHECK_INT(gs_plan_select(&p, gs_plan_const(&p, 0), n, reg(&p, RSI)), reg(&p, RSI));
	gs_plan_deinit(&p);
}

static void test_full_plan_is_sticky(void)
{
	struct gs_plan p;
	uint16_t n = 0;

	gs_plan_init(&p);
	for (size_t i = 0; i < GS_PLAN_MAX_NODES; i++)
		n = gs_plan_const(&p, (int64_t)i);
	CHECK_INT(n, GS_PLAN_MAX_NODES - 1);
	CHECK_INT(gs_plan_const(&p, -1), NONE);
	CHECK_INT(gs_plan_node(&p, GS_OP_LOAD, 8, NONE, NONE, 0), NONE);
	CHECK_INT(binary(&p, GS_OP_ADD, 0, NONE), NONE);
	CHECK_INT(gs_plan_select(&p, 0, NONE, 0), NONE);
	gs_plan_deinit(&p);
}

/* ---- checks ---- */

static void refused(struct gs_plan *p, enum gs_error_code code)
{
	struct gs_error *err = gs_plan_check(p);

	CHECK(err && gs_error_code_of(err) == code);
	gs_error_free(err);
}

static struct gs_plan_item *item(struct gs_plan *p, unsigned kind, uint16_t node, uint32_t size)
{
	struct gs_plan_item *it = gs_plan_item(p);

	it->kind = (uint8_t)kind;
	it->node = node;
	it->size = size;
	it->variable = kind == GS_ITEM_STRING || kind == GS_ITEM_ARRAY;
	return it;
}

static void test_checks(void)
{
	static const struct gs_plan_node bad[] = {
		{GS_OP_COUNT, 8, NONE, NONE, NONE, 0},
		{GS_OP_LOAD, 3, 0, NONE, NONE, 0},
		{GS_OP_LOAD, 8, 1, NONE, NONE, 0}, /* itself */
		{GS_OP_LOAD, 8, NONE, NONE, NONE, 0},
		{GS_OP_REG, 8, NONE, NONE, NONE, 18},
		{GS_OP_REG, 8, NONE, NONE, NONE, -1},
		{GS_OP_BUILTIN, 8, NONE, NONE, NONE, 99},
		{GS_OP_ABSENT, 8, NONE, NONE, NONE, GS_STATUS_OK},
		{GS_OP_ABSENT, 8, NONE, NONE, NONE, 200},
		{GS_OP_ITEM, 8, 5, NONE, NONE, 0},
		{GS_OP_SEXT, 0, 0, NONE, NONE, 0},
		{GS_OP_SHL, 9, 0, 0, NONE, 0},
		{GS_OP_STR_EQ, 5, 0, NONE, NONE, 0}, /* no such data */
		{GS_OP_STR_EQ, 1, 0, NONE, NONE, -1},
	};

	for (size_t i = 0; i < GS_ARRAY_SIZE(bad); i++) {
		struct gs_plan p;

		gs_plan_init(&p);
		gs_plan_const(&p, 1);
		*GS_PUSH(p.nodes, p.nnodes, p.nodes_cap) = bad[i];
		refused(&p, GS_ERR_DAMAGED);
		gs_plan_deinit(&p);
	}
}

/* Each change makes a good plan bad. */
static void test_item_checks(void)
{
	for (int i = 0;; i++) {
		struct gs_plan p;
		struct gs_plan_item *it;

		gs_plan_init(&p);
		item(&p, GS_ITEM_VALUE, reg(&p, RDI), 8);
		it = item(&p, GS_ITEM_ARRAY, reg(&p, RDI), 80);
		it->stride = 4;
		it->count = reg(&p, RSI);
		it->parent = 0;
		item(&p, GS_ITEM_VALUE, gs_plan_node(&p, GS_OP_ITEM, 4, 1, NONE, 0), 4);
		CHECK(!gs_plan_check(&p));
		it = p.items;
		switch (i) {
		case 0:
			it[0].size = 9;
			break;
		case 1:
			it[0].size = 0;
			break;
		case 2:
			it[0].node = NONE;
			break;
		case 3:
			it[0].variable = true;
			break;
		case 4:
			it[1].variable = false;
			break;
		case 5:
			it[1].stride = 0;
			break;
		case 6:
			it[1].stride = 3;
			break;
		case 7:
			it[1].count = NONE;
			break;
		case 8:
			it[1].parent = 1;
			break;
		case 9:
			it[1].size = GS_EVENT_MAX_LEN + 4;
			break;
		case 10:
			it[0].node = it[2].node;
			break; /* an item that comes later */
		case 11:
			p.condition = it[2].node;
			break; /* items do not exist yet */
		case 12:
			p.condition = 4000;
			break;
		case 13:
			it[0].kind = 77;
			break;
		case 14:
			it[0].kind = GS_ITEM_ABSENT;
			break; /* without a status */
		case 15:
			it[0].kind = GS_ITEM_COMM;
			break; /* not of 16 bytes */
		case 16:
			it[0].kind = GS_ITEM_PIECES;
			it[0].npieces = 1;
			break;
		default:
			gs_plan_deinit(&p);
			return;
		}
		refused(&p, GS_ERR_DAMAGED);
		gs_plan_deinit(&p);
	}
}

/* A small plan that would be a large program: shared nodes doubled thirty times. */
static void test_explosion_is_refused(void)
{
	struct gs_plan p;
	uint16_t n;

	gs_plan_init(&p);
	n = reg(&p, RDI);
	for (int i = 0; i < 30; i++)
		n = binary(&p, GS_OP_MUL, n, n);
	refused(&p, GS_ERR_LIMIT);
	gs_plan_deinit(&p);
	gs_plan_init(&p);
	n = reg(&p, RDI);
	for (int i = 0; i < 1000; i++)
		n = gs_plan_node(&p, GS_OP_NOT, 8, n, NONE, 0);
	refused(&p, GS_ERR_LIMIT);
	gs_plan_deinit(&p);
}

/* ---- message and text ---- */

static void sample(struct gs_plan *p)
{
	struct gs_plan_item *it;
	uint16_t obj, null, ne, eq, at;

	/* One statement a node: their numbers must not depend on the order of arguments. */
	gs_plan_init(p);
	obj = reg(p, 7);
	null = gs_plan_const(p, -24);
	obj = binary(p, GS_OP_ADD, obj, null);
	obj = gs_plan_node(p, GS_OP_LOAD, 8, obj, NONE, 0);
	null = gs_plan_const(p, 0);
	ne = binary(p, GS_OP_NE, obj, null);
	eq = gs_plan_node(p, GS_OP_STR_EQ, 3, obj, NONE, gs_plan_literal(p, "a\"\n", 3));
	p->condition = binary(p, GS_OP_LAND, ne, eq);
	at = reg(p, RDI);
	null = gs_plan_const(p, 16);
	at = binary(p, GS_OP_ADD, at, null);
	item(p, GS_ITEM_MEMORY, at, 8);
	item(p, GS_ITEM_STRING, obj, 200)->flags = GS_ITEM_SKIP_NULL;
	it = item(p, GS_ITEM_ARRAY, reg(p, RSI), 40);
	it->stride = 4;
	it->count = gs_plan_node(p, GS_OP_ITEM, 4, 0, NONE, 4);
	it->parent = 0;
	it->parent_need = 8;
	item(p, GS_ITEM_ABSENT, NONE, 4)->status = GS_STATUS_OPTIMIZED_OUT;
	*GS_PUSH(p->pieces, p->npieces, p->pieces_cap) =
		(struct gs_plan_piece){0, 8, reg(p, RDI), false};
	it = item(p, GS_ITEM_PIECES, NONE, 16);
	it->npieces = 1;
	item(p, GS_ITEM_COMM, NONE, 16);
}

static void test_print(void)
{
	struct gs_plan p;
	struct gs_buf b;

	sample(&p);
	gs_buf_init(&b);
	gs_plan_print(&b, &p);
	CHECK_STR(gs_buf_cstr(&b),
		  "n2 = rsp + -24\n"
		  "n3 = load64 n2\n"
		  "n5 = n3 != 0\n"
		  "n6 = str_eq n3 \"a\\x22\\x0a\"\n"
		  "n7 = n5 && n6\n"
		  "n10 = rdi + 16\n"
		  "if n7\n"
		  "i0 = mem 8 @ rdi + 16\n"
		  "i1 = string 200 @ n3, unless null\n"
		  "i2 = array 40 @ rsi, stride 4, count i0[4, +4], if i0 has 8 bytes\n"
		  "i3 = <optimized-out>\n"
		  "i4 = pieces 16 [0, +8] = rdi\n"
		  "i5 = comm\n");
	gs_buf_deinit(&b);
	gs_plan_deinit(&p);
}

static void test_message(void)
{
	struct gs_plan p, q;
	struct gs_buf b;
	struct gs_reader r;

	sample(&p);
	gs_buf_init(&b);
	gs_plan_write(&b, &p);
	r = gs_reader_of(b.data, b.len);
	CHECK(!gs_plan_read(&r, &q));
	CHECK_INT(gs_reader_left(&r), 0);
	CHECK(gs_plan_equal(&p, &q));
	q.items[1].size++;
	CHECK(!gs_plan_equal(&p, &q));
	gs_plan_deinit(&q);
	for (size_t n = 0; n < b.len; n++) { /* every prefix is refused, quietly */
		struct gs_error *err;

		r = gs_reader_of(b.data, n);
		err = gs_plan_read(&r, &q);
		CHECK(err != NULL);
		gs_error_free(err);
	}
	for (size_t bit = 0; bit < b.len * 8;
	     bit++) { /* every flipped bit: refused, or a valid plan */
		b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		r = gs_reader_of(b.data, b.len);
		struct gs_error *err = gs_plan_read(&r, &q);

		if (!err) {
			CHECK(!gs_plan_check(&q));
			CHECK(!gs_plan_equal(&p, &q));
			gs_plan_deinit(&q);
		}
		gs_error_free(err);
		b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	gs_buf_deinit(&b);
	gs_plan_deinit(&p);
}

/* ---- programs that are too large ---- */

static void test_limits_in_the_users_terms(void)
{
	struct gs_plan p;
	struct gs_layout l;
	struct gs_program prog;
	struct gs_gen_options opts = {.features = GS_FEATURE_TASK_STORAGE | GS_FEATURE_COOKIE};
	struct gs_error *err;

	/* Jumps over a condition of twenty long searches do not reach. */
	gs_plan_init(&p);
	p.condition = reg(&p, RDI);
	for (int i = 0; i < 20; i++) {
		char text[40];
		int n = snprintf(text, sizeof(text), "needle %d", i);

		p.condition = binary(&p, GS_OP_LAND, p.condition,
				     gs_plan_node(&p, GS_OP_STR_FIND, (unsigned)n, reg(&p, RSI),
						  NONE, gs_plan_literal(&p, text, (size_t)n)));
	}
	CHECK(!gs_plan_layout(&p, &l));
	err = gs_program_generate(&p, &l, &opts, &prog, NULL);
	CHECK(err && gs_error_code_of(err) == GS_ERR_LIMIT);
	CHECK_STR(err ? gs_error_message(err) : NULL,
		  "this probe captures too much for one program");
	gs_error_free(err);
	gs_layout_deinit(&l);
	gs_plan_deinit(&p);
}

/* ---- listing ---- */

static void test_listing(void)
{
	struct gs_plan p;
	struct gs_layout l;
	struct gs_program prog;
	struct gs_gen_options opts = {.features = GS_FEATURE_TASK_STORAGE | GS_FEATURE_COOKIE};
	struct gs_buf b;

	sample(&p);
	gs_buf_init(&b);
	CHECK(!gs_plan_layout(&p, &l));
	CHECK(!gs_program_generate(&p, &l, &opts, &prog, &b));
	CHECK(strstr(gs_buf_cstr(&b), "call get_attach_cookie") != NULL);
	CHECK(strstr(gs_buf_cstr(&b), "; condition n7") != NULL);
	CHECK(strstr(gs_buf_cstr(&b), "call probe_read_user_str") != NULL);
	CHECK(strstr(gs_buf_cstr(&b), "helper#") == NULL);
	CHECK(strstr(gs_buf_cstr(&b), "(null)") == NULL);
	gs_program_deinit(&prog);
	gs_layout_deinit(&l);
	gs_buf_deinit(&b);
	gs_plan_deinit(&p);
}

/* ---- layout and decoding ---- */

static void test_layout(void)
{
	static const struct gs_layout_item items[] = {{false, 1}, {false, 8}, {false, 9},
						      {true, 5},  {false, 0}, {true, 100}};
	struct gs_layout l;

	CHECK(!gs_layout_init(&l, items, GS_ARRAY_SIZE(items)));
	CHECK_INT(l.slot[0], 56); /* 48 + 6 statuses, to 8 */
	CHECK_INT(l.slot[1], 64);
	CHECK_INT(l.slot[2], 72);
	CHECK_INT(l.slot[3], 88);
	CHECK_INT(l.slot[4], 96);
	CHECK_INT(l.slot[5], 104);
	CHECK_INT(l.fixed_len, 112);
	CHECK_INT(l.max_len, 217);
	gs_layout_deinit(&l);
	CHECK(!gs_layout_init(&l, NULL, 0));
	CHECK_INT(l.max_len, 48);
	gs_layout_deinit(&l);
}

static void layout_refused(const struct gs_layout_item *items, size_t n)
{
	struct gs_layout l;
	struct gs_error *err = gs_layout_init(&l, items, n);

	CHECK(err && gs_error_code_of(err) == GS_ERR_LIMIT);
	gs_error_free(err);
}

static void test_layout_limits(void)
{
	struct gs_layout_item *many = calloc(GS_EVENT_MAX_ITEMS + 1, sizeof(*many));
	struct gs_layout l;

	layout_refused((struct gs_layout_item[]){{true, UINT32_MAX}}, 1);
	layout_refused((struct gs_layout_item[]){{false, UINT32_MAX}}, 1);
	layout_refused((struct gs_layout_item[]){{false, 40000}, {true, 20000}}, 2);
	layout_refused(many, GS_EVENT_MAX_ITEMS + 1);
	CHECK(!gs_layout_init(&l, many, GS_EVENT_MAX_ITEMS));
	gs_layout_deinit(&l);
	CHECK(!gs_layout_init(&l, (struct gs_layout_item[]){{true, GS_EVENT_MAX_LEN - 64}}, 1));
	CHECK_INT(l.max_len, GS_EVENT_MAX_LEN);
	gs_layout_deinit(&l);
	free(many);
}

/* Records that the generator would never make. */
static void test_decode_damage(void)
{
	static const struct gs_layout_item items[] = {{false, 4}, {true, 10}, {true, 10}};
	struct gs_event_head head = {.len = 80 + 7};
	struct gs_event_item out[3];
	struct gs_layout l;
	uint8_t good[128] = {0}, bad[128];
	uint32_t len1 = 4, len2 = 3;

	CHECK(!gs_layout_init(&l, items, 3));
	CHECK_INT(l.fixed_len, 80);
	memcpy(good, &head, sizeof(head));
	memcpy(good + l.slot[0], "abcd", 4);
	memcpy(good + l.slot[1], &len1, 4);
	memcpy(good + l.slot[2], &len2, 4);
	memcpy(good + 80, "stringabc", 7);
	CHECK(!gs_event_decode(&l, good, 87, out));
	CHECK_INT(out[1].len, 4);
	CHECK(memcmp(out[1].data, "stri", 4) == 0);
	CHECK(memcmp(out[2].data, "nga", 3) == 0);
	for (int i = 0; i < 7; i++) {
		size_t len = 87;
		struct gs_error *err;

		memcpy(bad, good, sizeof(bad));
		switch (i) {
		case 0:
			len = 86;
			break;
		case 1:
			len = 40;
			break;
		case 2:
			bad[gs_layout_status(0)] = GS_STATUS_COUNT;
			break;
		case 3:
			bad[l.slot[1]] = 11;
			break;
		case 4:
			bad[l.slot[1] + 3] = 0xff;
			break;
		case 5:
			bad[l.slot[2]] = 2;
			break; /* a byte too many */
		default:
			bad[gs_layout_status(2)] = GS_STATUS_FAULT; /* so are its three */
		}
		err = gs_event_decode(&l, bad, len, out);
		CHECK(err && gs_error_code_of(err) == GS_ERR_DAMAGED);
		gs_error_free(err);
	}
	gs_layout_deinit(&l);
}

/* ---- features ---- */

static uint32_t parse(const char *text)
{
	uint32_t mask = 1;
	struct gs_error *err = gs_features_parse(text, &mask);

	if (err)
		mask = 0;
	gs_error_free(err);
	return mask;
}

static void test_features(void)
{
	CHECK_INT(parse(""), ~0u);
	CHECK_INT(parse(NULL), ~0u);
	CHECK_INT(parse("no-multi"), ~(uint32_t)GS_FEATURE_MULTI);
	CHECK_INT(parse("no-multi-pid,no-task-storage"),
		  ~(uint32_t)(GS_FEATURE_MULTI_PID | GS_FEATURE_TASK_STORAGE));
	CHECK_INT(parse("multi"), 0);
	CHECK_INT(parse("no-"), 0);
}

int main(void)
{
	TAP_RUN(test_folding);
	TAP_RUN(test_full_plan_is_sticky);
	TAP_RUN(test_checks);
	TAP_RUN(test_item_checks);
	TAP_RUN(test_explosion_is_refused);
	TAP_RUN(test_print);
	TAP_RUN(test_message);
	TAP_RUN(test_limits_in_the_users_terms);
	TAP_RUN(test_listing);
	TAP_RUN(test_layout);
	TAP_RUN(test_layout_limits);
	TAP_RUN(test_decode_damage);
	TAP_RUN(test_features);
	return tap_done();
}
