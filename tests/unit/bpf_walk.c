/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks over lists and trees in the interpreter: order, ends, rings, cycles, limits, and memory
 * that is missing in the middle.
 */
#include <stdlib.h>

#include "tests/lib/bpf_case.h"
#include "tests/tap.h"

static const uint32_t ways[] = {STAGED, SLEEPY, RESERVED, RESERVED_SLEEPY};
#define each_way(w) for (size_t w = 0; w < GS_ARRAY_SIZE(ways); w++)

#define AT 0x10000ull
#define NNODES 64

/* A list uses `next', a tree all links; the payload is behind them. */
struct node {
	uint64_t colour, parent, left, right;
	uint32_t value, rest;
};
static struct node nodes[NNODES];

static uint64_t address(unsigned i)
{
	return AT + i * sizeof(struct node);
}

static void make_list(unsigned n)
{
	memset(nodes, 0, sizeof(nodes));
	for (unsigned i = 0; i < n; i++) {
		nodes[i].parent = i + 1 < n ? address(i + 1) : 0;
		nodes[i].value = 100 + i;
	}
}

/* Nodes [from, to) as a balanced tree; node 0 is the header, as in libstdc++. */
static unsigned make_subtree(unsigned from, unsigned to, unsigned parent)
{
	unsigned middle = from + (to - from) / 2;

	if (from >= to)
		return 0;
	nodes[middle] = (struct node){.parent = address(parent), .value = 100 + middle};
	if (from < middle)
		nodes[middle].left = address(make_subtree(from, middle, middle));
	if (middle + 1 < to)
		nodes[middle].right = address(make_subtree(middle + 1, to, middle));
	return middle;
}

struct want {
	unsigned status, n, first;
};

struct shape {
	enum gs_plan_walk_form form;
	bool exact;
	int64_t count; /* -1: none */
	uint32_t most;
	uint64_t start, end;
	uint32_t mapped; /* bytes of the nodes that are there */
};

static bool run(const struct shape *s, uint32_t way, const struct want *want)
{
	struct bpf_case *c = malloc(sizeof(*c));
	struct gs_plan_item *it;
	bool good;

	case_init(c);
	interp_map(&c->in, AT, nodes, s->mapped ? s->mapped : sizeof(nodes));
	c->in.reg[RDI] = s->start;
	c->in.reg[RCX] = (uint64_t)s->count;
	c->in.reg[RSI] = s->end;
	*GS_PUSH(c->plan.walks, c->plan.nwalks, c->plan.walks_cap) = (struct gs_plan_walk){
		.form = (uint8_t)s->form,
		.link_size = 8,
		.exact = s->exact,
		.next = 8,
		.payload = 32,
		.end = s->end ? case_reg(c, RSI) : GS_NODE_NONE,
		.steps = (uint16_t)(s->form == GS_WALK_TREE ? 3 * s->most + 48 : s->most + 1)};
	it = case_item(c, GS_ITEM_WALK, case_reg(c, RDI), 4 * s->most);
	it->stride = 4;
	it->variable = true;
	it->count = s->count == -1 ? GS_NODE_NONE : case_reg(c, RCX);
	good = case_run(c, way) && c->recorded && c->items[0].status == want->status &&
	       c->items[0].len == 4 * want->n;
	for (unsigned i = 0; good && i < want->n; i++) {
		uint32_t v;

		memcpy(&v, c->items[0].data + 4 * i, 4);
		good = v == want->first + i;
	}
	if (!good)
		printf("# way %x: status %u, %u bytes\n", way, c->items[0].status, c->items[0].len);
	case_deinit(c);
	free(c);
	return good;
}

static void test_list_ends(void)
{
	struct shape s = {.form = GS_WALK_LIST, .count = -1, .most = 8, .start = AT};

	each_way(w)
	{
		make_list(5);
		CHECK(run(&s, ways[w], &(struct want){GS_STATUS_OK, 5, 100}));
		make_list(8);
		CHECK(run(&s, ways[w], &(struct want){GS_STATUS_OK, 8, 100}));
		make_list(9);
		CHECK(run(&s, ways[w], &(struct want){GS_STATUS_TRUNCATED, 8, 100}));
	}
}

static void test_list_is_empty(void)
{
	struct shape s = {.form = GS_WALK_LIST, .count = -1, .most = 8};

	each_way(w) CHECK(run(&s, ways[w], &(struct want){GS_STATUS_OK, 0, 0}));
}

static void test_list_counts(void)
{
	struct shape wanted = {.form = GS_WALK_LIST, .count = 3, .most = 8, .start = AT};
	struct shape exact = wanted;

	exact.exact = true;
	each_way(w)
	{
		make_list(5);
		CHECK(run(&wanted, ways[w], &(struct want){GS_STATUS_TRUNCATED, 3, 100}));
		CHECK(run(&exact, ways[w], &(struct want){GS_STATUS_OK, 3, 100}));
		make_list(2); /* the object says three */
		CHECK(run(&wanted, ways[w], &(struct want){GS_STATUS_OK, 2, 100}));
		CHECK(run(&exact, ways[w], &(struct want){GS_STATUS_TRUNCATED, 2, 100}));
	}
	exact.count = INT64_MIN;
	each_way(w) CHECK(run(&exact, ways[w], &(struct want){GS_STATUS_BAD_RANGE, 0, 0}));
	exact.count = INT64_MAX;
	each_way(w) CHECK(run(&exact, ways[w], &(struct want){GS_STATUS_TRUNCATED, 2, 100}));
}

static void test_list_turns(void)
{
	struct shape s = {.form = GS_WALK_LIST, .count = -1, .most = 8, .start = AT};

	each_way(w)
	{
		make_list(4);
		nodes[3].parent = AT; /* a ring */
		CHECK(run(&s, ways[w], &(struct want){GS_STATUS_OK, 4, 100}));
		nodes[3].parent = address(3); /* itself */
		CHECK(run(&s, ways[w], &(struct want){GS_STATUS_OK, 4, 100}));
		nodes[0].parent = AT;
		CHECK(run(&s, ways[w], &(struct want){GS_STATUS_OK, 1, 100}));
		s.end = address(2);
		make_list(4);
		CHECK(run(&s, ways[w], &(struct want){GS_STATUS_OK, 2, 100}));
		s.end = 0;
	}
	/* A loop that does not lead to the head goes to the limit. */
	make_list(2);
	nodes[1].parent = address(1) + 0; /* itself: an end */
	nodes[2] = nodes[1];
	nodes[1].parent = address(2);
	nodes[2].parent = address(1);
	s.most = 2;
	each_way(w) CHECK(run(&s, ways[w], &(struct want){GS_STATUS_TRUNCATED, 2, 100}));
}

static void test_list_faults(void)
{
	struct shape s = {.form = GS_WALK_LIST, .count = -1, .most = 8, .start = AT};

	make_list(5);
	nodes[2].parent = 0x10;
	each_way(w) CHECK(run(&s, ways[w], &(struct want){GS_STATUS_PARTIAL, 3, 100}));
	s.start = 0x10;
	each_way(w) CHECK(run(&s, ways[w], &(struct want){GS_STATUS_FAULT, 0, 0}));
}

static void test_trees(void)
{
	struct shape s = {.form = GS_WALK_TREE, .exact = true, .most = 16};

	for (unsigned n = 0; n < 40; n++) {
		unsigned root;

		memset(nodes, 0, sizeof(nodes));
		root = make_subtree(1, n + 1, 0);
		s.start = n ? address(root) : 0;
		s.count = n;
		CHECK(run(&s, ways[n % 4],
			  &(struct want){n > 16 ? GS_STATUS_TRUNCATED : GS_STATUS_OK,
					 n > 16 ? 16 : n, 101}));
	}
}

/* All to one side: as deep as it can be. */
static void test_degenerate_trees(void)
{
	struct shape s = {.form = GS_WALK_TREE, .exact = true, .most = 16, .count = 10};

	for (int left = 0; left < 2; left++) {
		memset(nodes, 0, sizeof(nodes));
		for (unsigned i = 1; i <= 10; i++) {
			unsigned down = left ? i - 1 : i + 1, up = left ? i + 1 : i - 1;

			nodes[i].value = 100 + i;
			nodes[i].parent = address(up > 10 ? 0 : up);
			if (down >= 1 && down <= 10 && left)
				nodes[i].left = address(down);
			else if (down >= 1 && down <= 10)
				nodes[i].right = address(down);
		}
		s.start = address(left ? 10 : 1);
		each_way(w) CHECK(run(&s, ways[w], &(struct want){GS_STATUS_OK, 10, 101}));
	}
}

static void test_broken_trees(void)
{
	struct shape s = {
		.form = GS_WALK_TREE, .exact = true, .most = 16, .count = 3, .start = address(2)};

	memset(nodes, 0, sizeof(nodes));
	make_subtree(1, 4, 0);
	nodes[2].right = address(2); /* its own child */
	/* Two of its nodes are met, and never a third. */
	each_way(w) CHECK(run(&s, ways[w], &(struct want){GS_STATUS_TRUNCATED, 2, 101}));
	nodes[2].right = 0x10;
	each_way(w) CHECK(run(&s, ways[w], &(struct want){GS_STATUS_PARTIAL, 2, 101}));
	s.start = 0x10;
	each_way(w) CHECK(run(&s, ways[w], &(struct want){GS_STATUS_FAULT, 0, 0}));
}

static struct gs_plan_walk *walk_plan(struct gs_plan *p)
{
	struct gs_plan_item *it;

	gs_plan_init(p);
	*GS_PUSH(p->walks, p->nwalks, p->walks_cap) = (struct gs_plan_walk){
		.link_size = 4, .next = 8, .payload = 16, .end = GS_NODE_NONE, .steps = 9};
	it = gs_plan_item(p);
	it->kind = GS_ITEM_WALK;
	it->variable = true;
	it->size = 64;
	it->stride = 8;
	it->node = gs_plan_node(p, GS_OP_REG, 8, GS_NODE_NONE, GS_NODE_NONE, RDI);
	return p->walks;
}

static bool accepted(const struct gs_plan *p)
{
	struct gs_error *err = gs_plan_check(p);
	bool good = !err;

	gs_error_free(err);
	return good;
}

static void test_plan(void)
{
	struct gs_plan p, q;
	struct gs_buf bytes = {0}, text = {0};
	struct gs_plan_walk *w = walk_plan(&p);
	struct gs_reader r;

	CHECK(accepted(&p));
	gs_plan_write(&bytes, &p);
	r = gs_reader_of(bytes.data, bytes.len);
	CHECK(gs_plan_read(&r, &q) == NULL && gs_plan_equal(&p, &q));
	gs_plan_print(&text, &q);
	CHECK_STR(gs_buf_cstr(&text),
		  "i0 = list 64 @ rdi, +16 of each, stride 8, next +8 (4 bytes), 9 steps\n");
	w->payload = 17;
	CHECK(!gs_plan_equal(&p, &q));
	gs_plan_deinit(&q);
	w->steps = 0;
	CHECK(!accepted(&p));
	w->steps = 9;
	w->link_size = 3;
	CHECK(!accepted(&p));
	w->link_size = 8;
	w->end = 7;
	CHECK(!accepted(&p));
	w->end = GS_NODE_NONE;
	w->exact = true; /* of how many? */
	CHECK(!accepted(&p));
	w->exact = false;
	p.items[0].walk = 1;
	CHECK(!accepted(&p));
	gs_plan_deinit(&p);
	gs_buf_deinit(&bytes);
	gs_buf_deinit(&text);
}

int main(void)
{
	TAP_RUN(test_list_ends);
	TAP_RUN(test_list_is_empty);
	TAP_RUN(test_list_counts);
	TAP_RUN(test_list_turns);
	TAP_RUN(test_list_faults);
	TAP_RUN(test_trees);
	TAP_RUN(test_degenerate_trees);
	TAP_RUN(test_broken_trees);
	TAP_RUN(test_plan);
	return tap_done();
}
