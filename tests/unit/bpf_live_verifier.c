/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's verifier takes what the generator makes, large plans too, at a cost that is linear
 * in the plan. Needs root.
 */
#include <bpf/bpf.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf/plan_ops.h"
#include "bpf/tracer_impl.h"
#include "common/mem.h"
#include "tests/lib/bpf_live.h"
#include "tests/tap.h"

enum { RDX = 1, RCX = 2, RSI = 4, RDI = 5, RSP = 7 };

static struct gs_tracer *tracer;

static uint16_t binary(struct gs_plan *p, enum gs_plan_op op, uint16_t a, uint16_t b)
{
	return gs_plan_node(p, op, 8, a, b, 0);
}

static uint16_t load_at(struct gs_plan *p, uint16_t base, int64_t off, unsigned size)
{
	return gs_plan_node(p, GS_OP_LOAD, size, binary(p, GS_OP_ADD, base, gs_plan_const(p, off)),
			    GS_NODE_NONE, 0);
}

static uint32_t verified(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.verified_insns;
}

/* Loads with each way of building the record; the verifier's work, or 0 after a message. */
static uint32_t load_as(struct gs_plan *p, uint32_t features)
{
	struct gs_layout layout;
	struct gs_program program;
	struct gs_gen_options opts = {
		.features = features, .filter_pids = true, .ring_bytes = 1 << 20, .tls_offset = 64};
	struct gs_load load = {BPF_PROG_TYPE_KPROBE,
			       features & GS_FEATURE_MULTI ? GS_BPF_TRACE_UPROBE_MULTI : 0,
			       features & GS_FEATURE_SLEEPABLE ? BPF_F_SLEEPABLE : 0, "gs_test"};
	struct gs_error *err = gs_plan_layout(p, &layout);
	int map_fd[GS_MAP_COUNT], fd;
	char *log = NULL;
	uint32_t n;

	if (!err)
		err = gs_program_generate(p, &layout, &opts, &program, NULL);
	if (err) {
		printf("# %s\n", gs_error_message(err));
		gs_error_free(err);
		return 0;
	}
	memcpy(map_fd, tracer->map_fd, sizeof(map_fd));
	map_fd[GS_MAP_STAGING] = gs_sys_task_storage(GS_EVENT_MAX_LEN + 8);
	fd = gs_sys_load(&load, program.insns, program.n, map_fd, &log);
	n = fd < 0 ? 0 : verified(fd);
	if (fd < 0)
		printf("# not loaded: %s\n%s\n", strerror(-fd), log ? log : "");
	printf("# features %x: %zu instructions, %u verified\n", features, program.n, n);
	close(map_fd[GS_MAP_STAGING]);
	if (fd >= 0)
		close(fd);
	free(log);
	gs_program_deinit(&program);
	gs_layout_deinit(&layout);
	return n;
}

static void loads_within(struct gs_plan *p, uint32_t most)
{
	uint32_t f = tracer->features;

	CHECK(load_as(p, f) - 1 < most);
	CHECK(load_as(p, f & ~(uint32_t)GS_FEATURE_SLEEPABLE) - 1 < most);
	CHECK(load_as(p, f & ~(uint32_t)(GS_FEATURE_SLEEPABLE | GS_FEATURE_TASK_STORAGE)) - 1 <
	      most);
	CHECK(load_as(p, f & ~(uint32_t)GS_FEATURE_TASK_STORAGE) - 1 < 400000);
	gs_plan_deinit(p);
}

/* Forty strings, structs and arrays behind pointers, and a condition of ten terms. */
static void test_forty_items(void)
{
	struct gs_plan p;
	uint16_t any = GS_NODE_NONE;

	gs_plan_init(&p);
	for (int i = 0; i < 10; i++) {
		uint16_t term = binary(&p, i % 2 ? GS_OP_SLT : GS_OP_EQ,
				       load_at(&p, load_at(&p, live_reg(&p, RDI), 8 * i, 8), 4, 4),
				       gs_plan_const(&p, i));

		any = i ? binary(&p, i % 3 ? GS_OP_LAND : GS_OP_LOR, any, term) : term;
	}
	p.condition = any;
	for (int i = 0; i < 40; i++) {
		uint16_t at = load_at(&p, live_reg(&p, RSP), 8 * i, 8);
		struct gs_plan_item *it;

		if (i % 4 == 0)
			live_item(&p, GS_ITEM_STRING, at, 200);
		else if (i % 4 == 1)
			live_item(&p, GS_ITEM_MEMORY, at, 120)->flags = GS_ITEM_SKIP_NULL;
		else if (i % 4 == 2)
			live_item(&p, GS_ITEM_VALUE, at, 8);
		if (i % 4 != 3)
			continue;
		it = live_item(&p, GS_ITEM_ARRAY, at, 1600);
		it->stride = 8;
		it->count = live_reg(&p, RCX);
		it->parent = (uint16_t)(i - 3);
	}
	loads_within(&p, 60000);
}

static void test_many_values(void)
{
	struct gs_plan p;

	gs_plan_init(&p);
	for (int i = 0; i < 900; i++)
		live_item(&p, GS_ITEM_VALUE, load_at(&p, live_reg(&p, RSP), 8 * i, 8), 8);
	loads_within(&p, 120000);
}

/* Loops: their steps are what the verifier goes through. */
static void test_walks(void)
{
	struct gs_plan p;

	gs_plan_init(&p);
	for (int i = 0; i < 8; i++) {
		uint16_t at = load_at(&p, live_reg(&p, RDI), 8 * i, 8);
		struct gs_plan_item *it = live_item(&p, GS_ITEM_WALK, at, 32 * 40);

		it->stride = 40;
		it->variable = true;
		it->walk = (uint16_t)i;
		it->count = live_reg(&p, RCX);
		*GS_PUSH(p.walks, p.nwalks, p.walks_cap) =
			(struct gs_plan_walk){.form = i % 2 ? GS_WALK_TREE : GS_WALK_LIST,
					      .link_size = 8,
					      .exact = i % 4 < 2,
					      .next = 8,
					      .payload = 32,
					      .end = i % 2 ? GS_NODE_NONE : load_at(&p, at, 8, 8),
					      .steps = i % 2 ? 144 : 33};
	}
	loads_within(&p, 250000);
}

static void test_largest_items(void)
{
	struct gs_plan p;

	gs_plan_init(&p);
	live_item(&p, GS_ITEM_STRING, live_reg(&p, RDI), 59880);
	loads_within(&p, 20000);
	gs_plan_init(&p);
	live_item(&p, GS_ITEM_MEMORY, live_reg(&p, RDI), 59880);
	loads_within(&p, 20000);
	gs_plan_init(&p);
	struct gs_plan_item *it = live_item(&p, GS_ITEM_ARRAY, live_reg(&p, RDI), 59890);
	it->stride = 10;
	it->count = live_reg(&p, RCX);
	loads_within(&p, 20000);
}

static void test_every_operation(void)
{
	for (unsigned op = GS_OP_LOAD; op < GS_OP_COUNT; op++) {
		struct gs_plan p;
		uint16_t a, b, n;

		/* A leaf that needs a second program at the entry: the live tests of returns. */
		if (op == GS_OP_SAVED)
			continue;
		gs_plan_init(&p);
		gs_plan_literal(&p, "needle in the hay", 17);
		a = load_at(&p, live_reg(&p, RDI), 0, 8);
		b = load_at(&p, live_reg(&p, RSI), 8, 8);
		if (op == GS_OP_SELECT)
			n = gs_plan_select(&p, a, b, live_reg(&p, RDX));
		else if (op >= GS_OP_STR_EQ)
			n = gs_plan_node(&p, op, 17, a, GS_NODE_NONE, 0);
		else
			n = gs_plan_node(&p, op, 4, a,
					 gs_plan_op_operands(op) > 1 ? b : GS_NODE_NONE, 0);
		p.condition = n;
		live_item(&p, GS_ITEM_VALUE, n, 8);
		loads_within(&p, 60000);
	}
}

static void test_leaves(void)
{
	struct gs_plan p;

	gs_plan_init(&p);
	for (int i = 0; i <= GS_PLAN_SITE; i++)
		live_item(&p, GS_ITEM_VALUE,
			  gs_plan_node(&p, GS_OP_BUILTIN, 8, GS_NODE_NONE, GS_NODE_NONE, i), 8);
	for (int i = 0; i <= 16; i++)
		live_item(&p, GS_ITEM_VALUE, live_reg(&p, i), 8);
	live_item(&p, GS_ITEM_VALUE, gs_plan_node(&p, GS_OP_BIAS, 8, GS_NODE_NONE, GS_NODE_NONE, 0),
		  3);
	live_item(&p, GS_ITEM_VALUE,
		  gs_plan_node(&p, GS_OP_ABSENT, 8, GS_NODE_NONE, GS_NODE_NONE, 1), 8);
	live_item(&p, GS_ITEM_VALUE,
		  binary(&p, GS_OP_ADD, live_reg(&p, 0),
			 gs_plan_node(&p, GS_OP_ABSENT, 8, GS_NODE_NONE, GS_NODE_NONE, 1)),
		  8);
	live_item(&p, GS_ITEM_STRING, live_reg(&p, RDI), 30)->count = live_reg(&p, RCX);
	live_item(&p, GS_ITEM_STRING, live_reg(&p, RDI), 30);
	for (unsigned size = 1; size <= 8; size++)
		for (uint16_t from = 0; from < 2; from++)
			live_item(&p, GS_ITEM_VALUE,
				  gs_plan_node(&p, GS_OP_ITEM, size,
					       (uint16_t)(from ? p.nitems - 1 : 26), GS_NODE_NONE,
					       0),
				  8);
	loads_within(&p, 20000);
}

int main(void)
{
	const char *why = live_unable();
	struct gs_tracer_options opts = {.feature_mask = ~0u,
					 .buffer_bytes = 1 << 20,
					 .max_sites = 1,
					 .nprobes = 1,
					 .filter_pids = true};
	struct gs_error *err;

	if (why) {
		tap_skip("live", why);
		return tap_done();
	}
	err = gs_tracer_open(&opts, &tracer);
	if (err) {
		printf("# %s\nnot ok 1 - open\n1..1\n", gs_error_message(err));
		return 1;
	}
	TAP_RUN(test_forty_items);
	TAP_RUN(test_many_values);
	TAP_RUN(test_walks);
	TAP_RUN(test_largest_items);
	TAP_RUN(test_every_operation);
	TAP_RUN(test_leaves);
	gs_tracer_close(tracer);
	return tap_done();
}
