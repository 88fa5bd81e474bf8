/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Generated programs in the interpreter: how strings, arrays and structures end, where memory is
 * missing or not resident, and what is then said.
 */
#include <stdlib.h>

#include "tests/lib/bpf_case.h"
#include "tests/tap.h"

static const uint32_t ways[] = {STAGED, SLEEPY, RESERVED, RESERVED_SLEEPY};
#define each_way(w) for (size_t w = 0; w < GS_ARRAY_SIZE(ways); w++)

static bool sleeps(uint32_t way)
{
	return way & GS_FEATURE_SLEEPABLE;
}

/* Two pages, both there, the second not, or not resident. */
struct pages {
	char bytes[3 * 4096];
};
#define PAGE_AT 0x10000ull
static struct pages pages;

enum second { THERE, MISSING, ABSENT };

static void map_pages(struct bpf_case *c, enum second second)
{
	interp_map(&c->in, PAGE_AT, pages.bytes, 4096);
	if (second != MISSING)
		interp_map(&c->in, PAGE_AT + 4096, pages.bytes + 4096, 8192)->absent =
			second == ABSENT;
}

/* ---- strings ---- */

struct string_case {
	uint32_t text_len; /* before the NUL; beyond the pages there is none */
	uint32_t page_offset;
	int64_t count; /* run-time limit, -2: none */
	enum second second;
	uint32_t limit;
	unsigned status;
	uint32_t len;
};

static void check_string(const struct string_case *t, uint32_t way)
{
	struct bpf_case *c = malloc(sizeof(*c));
	struct gs_plan_item *it;

	memset(&pages, 'x', sizeof(pages));
	for (uint32_t i = 0; i < t->text_len; i++)
		pages.bytes[t->page_offset + i] = (char)('a' + i % 26);
	pages.bytes[t->page_offset + t->text_len] = 0;
	case_init(c);
	map_pages(c, t->second);
	c->in.reg[RDI] = PAGE_AT + t->page_offset;
	c->in.reg[RCX] = (uint64_t)t->count;
	/* Between other items: it must leave both alone. */
	case_item(c, GS_ITEM_STRING, case_const(c, PAGE_AT), 3);
	it = case_item(c, GS_ITEM_STRING, case_reg(c, RDI), t->limit);
	it->count = t->count == -2 ? GS_NODE_NONE : case_reg(c, RCX);
	case_item(c, GS_ITEM_STRING, case_const(c, PAGE_AT), 5);
	CHECK(case_run(c, way));
	CHECK(c->recorded);
	if (c->recorded && (c->items[1].status != t->status ||
			    (gs_status_has_data(t->status) && c->items[1].len != t->len))) {
		printf("# way %x: %u bytes at +%u, second page %d, limit %u, count %lld: got %u, "
		       "%u "
		       "bytes; want %u, %u\n",
		       way, t->text_len, t->page_offset, t->second, t->limit, (long long)t->count,
		       c->items[1].status, c->items[1].len, t->status, t->len);
		CHECK(!"as it must end");
	} else if (c->recorded && c->items[1].data) {
		CHECK(memcmp(c->items[1].data, pages.bytes + t->page_offset, t->len) == 0);
	}
	if (t->status == GS_STATUS_FAULT)
		CHECK_INT(c->items[1].fault_address, PAGE_AT + t->page_offset);
	CHECK_INT(c->items[0].len, 3);
	CHECK_INT(c->items[2].len, 5);
	case_deinit(c);
	free(c);
}

static void test_strings(void)
{
	static const struct string_case cases[] = {
		{5, 100, -2, THERE, 20, GS_STATUS_OK, 5},
		{0, 100, -2, THERE, 20, GS_STATUS_OK, 0},
		{20, 100, -2, THERE, 20, GS_STATUS_OK, 20}, /* exactly full is not cut */
		{21, 100, -2, THERE, 20, GS_STATUS_TRUNCATED, 20},
		{500, 100, -2, THERE, 20, GS_STATUS_TRUNCATED, 20},
		{5, 4090, -2, MISSING, 20, GS_STATUS_OK, 5}, /* its NUL is the page's last byte */
		{8, 4090, -2, MISSING, 20, GS_STATUS_PARTIAL, 6},
		{8, 4095, -2, MISSING, 20, GS_STATUS_PARTIAL, 1},
		{8, 4096, -2, MISSING, 20, GS_STATUS_FAULT, 0},
		{20, 4076, -2, MISSING, 20, GS_STATUS_TRUNCATED, 20}, /* 20 bytes, then the end */
		{30, 4076, -2, MISSING, 20, GS_STATUS_TRUNCATED, 20},
		{20, 4075, -2, MISSING, 20, GS_STATUS_OK, 20},
		{30, 4075, -2, MISSING, 20, GS_STATUS_TRUNCATED, 20},
		{1, 4094, -2, MISSING, 1, GS_STATUS_OK, 1},
		{5, 4090, -2, ABSENT, 20, GS_STATUS_OK, 5},
		/* a run-time limit: what was asked for is all there */
		{50, 100, 7, THERE, 20, GS_STATUS_OK, 7},
		{5, 100, 7, THERE, 20, GS_STATUS_OK, 5},
		{7, 100, 7, THERE, 20, GS_STATUS_OK, 7},
		{50, 100, 20, THERE, 20, GS_STATUS_OK, 20},
		{50, 100, 21, THERE, 20, GS_STATUS_TRUNCATED, 20},
		{50, 100, INT64_MAX, THERE, 20, GS_STATUS_TRUNCATED, 20},
		{50, 100, 0, THERE, 20, GS_STATUS_OK, 0},
		{50, 100, -1, THERE, 20, GS_STATUS_BAD_RANGE, 0},
		{50, 100, INT64_MIN, THERE, 20, GS_STATUS_BAD_RANGE, 0},
		{50, 4086, 10, MISSING, 20, GS_STATUS_OK, 10}, /* not a byte more is needed */
		{50, 4087, 10, MISSING, 20, GS_STATUS_PARTIAL, 9},
		{50, 4096, 0, MISSING, 20, GS_STATUS_OK, 0},
		{50, 4096, 1, MISSING, 20, GS_STATUS_FAULT, 0},
		/* over several pages */
		{7000, 90, -2, THERE, 8000, GS_STATUS_OK, 7000},
		{7000, 90, -2, MISSING, 8000, GS_STATUS_PARTIAL, 4006},
	};
	/* A page that is not resident: its bytes where programs may sleep, else the end of memory.
	 */
	static const struct string_case asleep[] = {
		{8, 4090, -2, ABSENT, 20, GS_STATUS_OK, 8},
		{30, 4090, -2, ABSENT, 20, GS_STATUS_TRUNCATED, 20},
		{8, 4096, -2, ABSENT, 20, GS_STATUS_OK, 8},
		{7000, 90, -2, ABSENT, 8000, GS_STATUS_OK, 7000},
	};
	static const struct string_case awake[] = {
		{8, 4090, -2, ABSENT, 20, GS_STATUS_PARTIAL, 6},
		{8, 4096, -2, ABSENT, 20, GS_STATUS_FAULT, 0},
	};

	each_way(w)
	{
		for (size_t i = 0; i < GS_ARRAY_SIZE(cases); i++)
			check_string(&cases[i], ways[w]);
		for (size_t i = 0; i < GS_ARRAY_SIZE(asleep) && sleeps(ways[w]); i++)
			check_string(&asleep[i], ways[w]);
		for (size_t i = 0; i < GS_ARRAY_SIZE(awake) && !sleeps(ways[w]); i++)
			check_string(&awake[i], ways[w]);
	}
}

/* A page that the thread itself would not touch must not be waited for. */
static void test_string_touches_no_more_than_needed(void)
{
	struct bpf_case *c = malloc(sizeof(*c));

	memset(&pages, 'x', sizeof(pages));
	pages.bytes[4094] = 0;
	case_init(c);
	interp_map(&c->in, PAGE_AT, pages.bytes, 4096)->absent = true;
	interp_map(&c->in, PAGE_AT + 4096, pages.bytes + 4096, 8192)->absent = true;
	case_item(c, GS_ITEM_STRING, case_const(c, PAGE_AT + 4090), 20);
	CHECK(case_run(c, SLEEPY));
	CHECK_INT(c->items[0].len, 4);
	CHECK(c->in.memory[1].absent);
	CHECK(!c->in.memory[0].absent);
	case_deinit(c);
	free(c);
}

/* ---- arrays ---- */

struct array_case {
	uint32_t offset, stride, limit;
	int64_t count;
	enum second second;
	unsigned status;
	uint32_t len;
	uint64_t fault;
};

static void check_array(const struct array_case *t, uint32_t way)
{
	struct bpf_case *c = malloc(sizeof(*c));
	struct gs_plan_item *it;

	for (size_t i = 0; i < sizeof(pages.bytes); i++)
		pages.bytes[i] = (char)(i * 7 + i / 256);
	case_init(c);
	map_pages(c, t->second);
	c->in.reg[RDI] = PAGE_AT + t->offset;
	c->in.reg[RCX] = (uint64_t)t->count;
	it = case_item(c, GS_ITEM_ARRAY, case_reg(c, RDI), t->limit);
	it->stride = t->stride;
	it->count = case_reg(c, RCX);
	case_item(c, GS_ITEM_VALUE, case_const(c, 1), 1);
	CHECK(case_run(c, way));
	CHECK(c->recorded);
	if (c->items[0].status != t->status ||
	    (gs_status_has_data(t->status) && c->items[0].len != t->len)) {
		printf("# way %x: %lld of %u bytes at +%u: got %u, %u bytes; want %u, %u\n", way,
		       (long long)t->count, t->stride, t->offset, c->items[0].status,
		       c->items[0].len, t->status, t->len);
		CHECK(!"as it must end");
	} else if (c->items[0].data) {
		CHECK(memcmp(c->items[0].data, pages.bytes + t->offset, t->len) == 0);
	}
	if (t->status == GS_STATUS_FAULT)
		CHECK_INT(c->items[0].fault_address, t->fault);
	CHECK_INT(case_value(c, 1), 1);
	case_deinit(c);
	free(c);
}

static void test_arrays(void)
{
	static const struct array_case cases[] = {
		{100, 4, 400, 10, THERE, GS_STATUS_OK, 40, 0},
		{100, 4, 400, 100, THERE, GS_STATUS_OK, 400, 0},
		{100, 4, 400, 101, THERE, GS_STATUS_TRUNCATED, 400, 0},
		{100, 4, 400, INT64_MAX, THERE, GS_STATUS_TRUNCATED, 400, 0},
		{100, 4, 400, 0, THERE, GS_STATUS_OK, 0, 0},
		{4096, 4, 400, 0, MISSING, GS_STATUS_OK, 0, 0}, /* nothing is read */
		{100, 4, 400, -1, THERE, GS_STATUS_BAD_RANGE, 0, 0},
		{100, 4, 400, INT64_MIN, THERE, GS_STATUS_BAD_RANGE, 0, 0},
		{4092, 4, 400, 1, MISSING, GS_STATUS_OK, 4, 0},
		{4090, 4, 400, 3, MISSING, GS_STATUS_PARTIAL, 4, 0}, /* whole elements only */
		{4093, 4, 400, 3, MISSING, GS_STATUS_FAULT, 0, PAGE_AT + 4096},
		{4096, 4, 400, 3, MISSING, GS_STATUS_FAULT, 0, PAGE_AT + 4096},
		{4100, 4, 400, 3, MISSING, GS_STATUS_FAULT, 0, PAGE_AT + 4100},
		{10, 1, 9000, 9000, THERE, GS_STATUS_OK, 9000, 0},
		{10, 1, 9000, 9000, MISSING, GS_STATUS_PARTIAL, 4086, 0},
		{0, 3000, 9000, 3, MISSING, GS_STATUS_PARTIAL, 3000, 0},
	};
	static const struct array_case asleep[] = {
		{4090, 4, 400, 3, ABSENT, GS_STATUS_OK, 12, 0},
		{4096, 4, 400, 200, ABSENT, GS_STATUS_TRUNCATED, 400, 0},
	};

	each_way(w)
	{
		for (size_t i = 0; i < GS_ARRAY_SIZE(cases); i++)
			check_array(&cases[i], ways[w]);
		for (size_t i = 0; i < GS_ARRAY_SIZE(asleep) && sleeps(ways[w]); i++)
			check_array(&asleep[i], ways[w]);
	}
}

/* ---- fixed memory, pieces, null ---- */

static void test_memory(void)
{
	each_way(w)
	{
		struct bpf_case *c = malloc(sizeof(*c));

		memset(&pages, 'm', sizeof(pages));
		case_init(c);
		map_pages(c, MISSING);
		case_item(c, GS_ITEM_MEMORY, case_const(c, PAGE_AT), 24);
		case_item(c, GS_ITEM_MEMORY, case_const(c, PAGE_AT + 4090), 24);
		case_item(c, GS_ITEM_MEMORY, case_const(c, 0), 24)->flags = GS_ITEM_SKIP_NULL;
		case_item(c, GS_ITEM_MEMORY, case_const(c, 0), 24);
		case_item(c, GS_ITEM_STRING, case_const(c, 0), 24)->flags = GS_ITEM_SKIP_NULL;
		case_item(c, GS_ITEM_MEMORY, case_const(c, (int64_t)0xffffffff81000000), 1);
		CHECK(case_run(c, ways[w]));
		CHECK_INT(c->items[0].status, GS_STATUS_OK);
		CHECK_INT(c->items[0].len, 24);
		CHECK_INT(c->items[1].status, GS_STATUS_FAULT);
		CHECK_INT(c->items[1].fault_address, PAGE_AT + 4096);
		CHECK_INT(c->items[2].status, GS_STATUS_NOT_COLLECTED);
		CHECK_INT(c->items[3].status, GS_STATUS_FAULT);
		CHECK_INT(c->items[3].fault_address, 0);
		CHECK_INT(c->items[4].status, GS_STATUS_NOT_COLLECTED);
		CHECK_INT(c->items[5].status, GS_STATUS_FAULT);
		CHECK(c->items[5].fault_address == 0xffffffff81000000);
		case_deinit(c);
		free(c);
	}
}

static void test_not_resident(void)
{
	each_way(w)
	{
		struct bpf_case *c = malloc(sizeof(*c));
		unsigned want = sleeps(ways[w]) ? GS_STATUS_OK : GS_STATUS_FAULT;
		uint64_t v = 0x1122334455667788;

		case_init(c);
		interp_map(&c->in, 0x5000, &v, 8)->absent = true;
		interp_map(&c->in, 0x7000, &v, 8)->absent = true;
		case_item(c, GS_ITEM_MEMORY, case_const(c, 0x10), 8); /* a real fault between */
		case_item(c, GS_ITEM_MEMORY, case_const(c, 0x5000), 8);
		case_item(c, GS_ITEM_VALUE,
			  gs_plan_node(&c->plan, GS_OP_LOAD, 4, case_const(c, 0x7004), GS_NODE_NONE,
				       0),
			  8);
		CHECK(case_run(c, ways[w]));
		CHECK_INT(c->items[0].status, GS_STATUS_FAULT);
		CHECK_INT(c->items[1].status, want);
		CHECK_INT(c->items[2].status, want);
		if (want == GS_STATUS_OK) {
			CHECK(case_value(c, 1) == v);
			CHECK(case_value(c, 2) == 0x11223344);
		}
		CHECK_INT(c->in.counters.recorded, 1);
		case_deinit(c);
		free(c);
	}
}

static void piece(struct bpf_case *c, uint32_t offset, uint32_t size, uint16_t node, bool memory)
{
	*GS_PUSH(c->plan.pieces, c->plan.npieces, c->plan.pieces_cap) =
		(struct gs_plan_piece){offset, size, node, memory};
}

static void test_pieces(void)
{
	each_way(w)
	{
		static const uint8_t want[17] = {0xef, 0xcd, 0xab, 0, 0,   0x88, 0x77, 0x66, 0x55,
						 0x44, 0x33, 0x22, 0, 'p', 'q',	 'r',  0};
		struct bpf_case *c = malloc(sizeof(*c));
		struct gs_plan_item *it;

		case_init(c);
		interp_map(&c->in, 0x5000, "pqr", 3);
		c->in.reg[RDI] = 0x0000000089abcdef;
		c->in.reg[RSI] = 0x1122334455667788;
		piece(c, 0, 3, case_reg(c, RDI), false);
		piece(c, 5, 7, case_reg(c, RSI), false);
		piece(c, 13, 3, case_const(c, 0x5000), true);
		piece(c, 0, 8, case_const(c, 0x6000), true);
		it = case_item(c, GS_ITEM_PIECES, GS_NODE_NONE, 17);
		it->npieces = 3;
		it = case_item(c, GS_ITEM_PIECES, GS_NODE_NONE, 8);
		it->first_piece = 3;
		it->npieces = 1;
		CHECK(case_run(c, ways[w]));
		CHECK_INT(c->items[0].status, GS_STATUS_OK);
		CHECK(memcmp(c->items[0].data, want, sizeof(want)) == 0);
		CHECK_INT(c->items[1].status, GS_STATUS_FAULT);
		CHECK_INT(c->items[1].fault_address, 0x6000);
		case_deinit(c);
		free(c);
	}
}

/* ---- items that hang on others ---- */

static void test_parents_and_items(void)
{
	each_way(w)
	{
		static const char text[] = "0123456789";
		struct bpf_case *c = malloc(sizeof(*c));
		uint64_t object[2] = {0x5000, 0x6000};
		unsigned i;

		case_init(c);
		interp_map(&c->in, 0x4000, object, sizeof(object));
		interp_map(&c->in, 0x5000, text, sizeof(text));
		case_item(c, GS_ITEM_MEMORY, case_const(c, 0x4000), 16); /* 0 */
		case_item(c, GS_ITEM_STRING,
			  gs_plan_node(&c->plan, GS_OP_ITEM, 8, 0, GS_NODE_NONE, 0), 50); /* 1 */
		case_item(c, GS_ITEM_STRING,
			  gs_plan_node(&c->plan, GS_OP_ITEM, 8, 0, GS_NODE_NONE, 8), 50); /* 2 */
		for (i = 1; i <= 8; i++) /* 3..10: bytes of the string */
			case_item(c, GS_ITEM_VALUE,
				  gs_plan_node(&c->plan, GS_OP_ITEM, i, 1, GS_NODE_NONE, 1), 8);
		case_item(c, GS_ITEM_VALUE, /* 11: beyond its ten bytes */
			  gs_plan_node(&c->plan, GS_OP_ITEM, 4, 1, GS_NODE_NONE, 7), 8);
		case_item(c, GS_ITEM_VALUE, /* 12: of one that faulted */
			  gs_plan_node(&c->plan, GS_OP_ITEM, 4, 2, GS_NODE_NONE, 0), 8);
		case_item(c, GS_ITEM_VALUE, case_const(c, 1), 8)->parent = 2; /* 13 */
		case_item(c, GS_ITEM_VALUE, case_const(c, 1), 8)->parent = 1; /* 14 */
		c->plan.items[14].parent_need = 10;
		case_item(c, GS_ITEM_VALUE, case_const(c, 1), 8)->parent = 1; /* 15 */
		c->plan.items[15].parent_need = 11;
		case_item(c, GS_ITEM_VALUE, case_const(c, 1), 8)->parent = 0; /* 16 */
		c->plan.items[16].parent_need = 17;
		CHECK(case_run(c, ways[w]));
		CHECK_INT(c->items[1].len, 10);
		CHECK_INT(c->items[2].status, GS_STATUS_FAULT);
		for (i = 1; i <= 8; i++) {
			uint64_t want = 0;

			memcpy(&want, text + 1, i);
			CHECK_INT(case_value(c, 2 + i), want);
		}
		CHECK_INT(c->items[11].status, GS_STATUS_NOT_COLLECTED);
		CHECK_INT(c->items[12].status, GS_STATUS_FAULT);
		CHECK_INT(c->items[12].fault_address, 0x6000);
		CHECK_INT(c->items[13].status, GS_STATUS_NOT_COLLECTED);
		CHECK_INT(c->items[14].status, GS_STATUS_OK);
		CHECK_INT(c->items[15].status, GS_STATUS_NOT_COLLECTED);
		CHECK_INT(c->items[16].status, GS_STATUS_NOT_COLLECTED);
		case_deinit(c);
		free(c);
	}
}

/* ---- string comparisons ---- */

static void check_text(unsigned op, const char *text, const char *literal, size_t len, bool want)
{
	each_way(w)
	{
		struct bpf_case *c = malloc(sizeof(*c));
		size_t n = strlen(text) + 1;
		uint32_t at;

		case_init(c);
		/* The NUL is the last byte of memory. */
		interp_map(&c->in, 0x8000 - n, text, n);
		at = gs_plan_literal(&c->plan, "garbage", 7);
		at = gs_plan_literal(&c->plan, literal, len);
		c->in.reg[RDI] = 0x8000 - n;
		case_item(c, GS_ITEM_VALUE,
			  gs_plan_node(&c->plan, op, (unsigned)len, case_reg(c, RDI), GS_NODE_NONE,
				       at),
			  8);
		CHECK(case_run(c, ways[w]));
		CHECK_INT(c->items[0].status, GS_STATUS_OK);
		if (case_value(c, 0) != want) {
			printf("# op %u \"%s\" with \"%s\"\n", op, text, literal);
			CHECK(!"as strings compare");
		}
		case_deinit(c);
		free(c);
	}
}

static void test_text(void)
{
	static char longest[301], needle[256];

	memset(longest, 'a', 300);
	memset(needle, 'a', 255);
	check_text(GS_OP_STR_EQ, "hello", "hello", 5, true);
	check_text(GS_OP_STR_EQ, "hello", "hello", 6, true); /* with its NUL */
	check_text(GS_OP_STR_EQ, "hello!", "hello", 5, false);
	check_text(GS_OP_STR_EQ, "hell", "hello", 5, false);
	check_text(GS_OP_STR_EQ, "", "", 0, true);
	check_text(GS_OP_STR_EQ, "x", "", 0, false);
	check_text(GS_OP_STR_EQ, "0123456789abcdef", "0123456789abcdeF", 16, false);
	check_text(GS_OP_STR_EQ, needle, needle, 255, true);
	check_text(GS_OP_STR_EQ, longest, needle, 255, false);
	check_text(GS_OP_STR_PREFIX, "hello", "he", 2, true);
	check_text(GS_OP_STR_PREFIX, "hello", "hello", 5, true);
	check_text(GS_OP_STR_PREFIX, "hell", "hello", 5, false);
	check_text(GS_OP_STR_PREFIX, "hello", "", 0, true);
	check_text(GS_OP_STR_PREFIX, longest, needle, 255, true);
	check_text(GS_OP_STR_FIND, "hello", "ll", 2, true);
	check_text(GS_OP_STR_FIND, "hello", "hello", 5, true);
	check_text(GS_OP_STR_FIND, "hello", "o", 1, true);
	check_text(GS_OP_STR_FIND, "hello", "lo!", 3, false);
	check_text(GS_OP_STR_FIND, "", "a", 1, false);
	check_text(GS_OP_STR_FIND, "", "", 0, true);
	check_text(GS_OP_STR_FIND, "aaaaaaaaab", "aab", 3, true);
	check_text(GS_OP_STR_FIND, longest, needle, 255, true);
	longest[254] = 'b'; /* the 255th byte is looked at, the 256th is not */
	check_text(GS_OP_STR_FIND, longest, "b", 1, true);
	longest[254] = 'a';
	longest[255] = 'b';
	check_text(GS_OP_STR_FIND, longest, "b", 1, false);
}

/* A comparison of what cannot be read is a fault, not "different". */
static void test_text_faults(void)
{
	each_way(w)
	{
		struct bpf_case *c = malloc(sizeof(*c));
		uint32_t at;

		case_init(c);
		interp_map(&c->in, 0x7ffd, "abc", 3); /* no NUL before the end */
		at = gs_plan_literal(&c->plan, "abc", 3);
		c->in.reg[RDI] = 0x7ffd;
		for (unsigned op = GS_OP_STR_EQ; op <= GS_OP_STR_FIND; op++)
			case_item(c, GS_ITEM_VALUE,
				  gs_plan_node(&c->plan, op, 3, case_reg(c, RDI), GS_NODE_NONE, at),
				  8);
		CHECK(case_run(c, ways[w]));
		CHECK_INT(c->items[0].status, GS_STATUS_FAULT);
		CHECK_INT(c->items[1].status, GS_STATUS_OK); /* the prefix is all there */
		CHECK_INT(case_value(c, 1), 1);
		CHECK_INT(c->items[2].status, GS_STATUS_FAULT);
		case_deinit(c);
		free(c);
	}
}

int main(void)
{
	TAP_RUN(test_strings);
	TAP_RUN(test_string_touches_no_more_than_needed);
	TAP_RUN(test_arrays);
	TAP_RUN(test_memory);
	TAP_RUN(test_not_resident);
	TAP_RUN(test_pieces);
	TAP_RUN(test_parents_and_items);
	TAP_RUN(test_text);
	TAP_RUN(test_text_faults);
	return tap_done();
}
