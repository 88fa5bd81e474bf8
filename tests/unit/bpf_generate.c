/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Generated programs in the interpreter: every operation against its definition, and the ways in
 * which memory can end.
 */
#include <stdint.h>
#include <stdlib.h>

#include "bpf/plan_ops.h"
#include "tests/lib/bpf_case.h"
#include "tests/tap.h"

static const uint32_t ways[] = {STAGED, SLEEPY, RESERVED, RESERVED_SLEEPY};
#define each_way(w) for (size_t w = 0; w < GS_ARRAY_SIZE(ways); w++)

/* ---- operations ---- */

static const uint64_t interesting[] = {
	0,
	1,
	2,
	3,
	7,
	31,
	32,
	63,
	64,
	65,
	255,
	0x7f,
	0x80,
	(uint64_t)-1,
	(uint64_t)-2,
	(uint64_t)-7,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	0x100000000,
	INT64_MAX,
	(uint64_t)INT64_MIN,
	(uint64_t)INT32_MIN,
	(uint64_t)INT64_MIN + 1,
	(uint64_t)-128,
	0x123456789abcdef0,
	1000003,
};

/* In registers, and behind loads, so that both operand shapes are generated. */
static void check_op(unsigned op, unsigned size, uint64_t a, uint64_t b, unsigned shape)
{
	struct bpf_case *c = malloc(sizeof(*c));
	unsigned status = GS_STATUS_OK;
	uint64_t want = gs_plan_op_apply(op, size, a, b, &status);
	uint16_t x, y, n;

	case_init(c);
	c->in.reg[RDI] = a;
	c->in.reg[RSI] = b;
	c->in.reg[RDX] = 0x1000;
	c->in.reg[RCX] = 0x2000;
	interp_map(&c->in, 0x1000, &a, 8);
	interp_map(&c->in, 0x2000, &b, 8);
	x = shape & 1 ? gs_plan_node(&c->plan, GS_OP_LOAD, 8, case_reg(c, RDX), GS_NODE_NONE, 0)
		      : case_reg(c, RDI);
	y = shape & 2	? gs_plan_node(&c->plan, GS_OP_LOAD, 8, case_reg(c, RCX), GS_NODE_NONE, 0)
	    : shape & 4 ? case_const(c, (int64_t)b)
			: case_reg(c, RSI);
	n = gs_plan_node(&c->plan, op, size, x, gs_plan_op_is_binary(op) ? y : GS_NODE_NONE, 0);
	case_item(c, GS_ITEM_VALUE, n, 8);
	CHECK(case_run(c, SLEEPY));
	if (c->items[0].status != status || (!status && case_value(c, 0) != want)) {
		printf("# %s size %u shape %u: %llx, %llx: got %llx (%u), want %llx (%u)\n",
		       gs_plan_op_name(op), size, shape, (unsigned long long)a,
		       (unsigned long long)b, (unsigned long long)case_value(c, 0),
		       c->items[0].status, (unsigned long long)want, status);
		CHECK(!"as defined");
	}
	case_deinit(c);
	free(c);
}

static void check_op_sizes(unsigned op, unsigned size, unsigned shape)
{
	size_t step = shape ? 4 : 1; /* the table is walked whole once an operation and width */

	for (size_t i = 0; i < GS_ARRAY_SIZE(interesting); i += step)
		for (size_t k = 0; k < GS_ARRAY_SIZE(interesting); k++)
			if (gs_plan_op_is_binary(op) || k == 0)
				check_op(op, size, interesting[i], interesting[k], shape);
}

static void test_every_operation(void)
{
	static const unsigned sizes[] = {1, 2, 4, 8};

	for (unsigned op = GS_OP_ZEXT; op <= GS_OP_SLE; op++) {
		bool sized = op == GS_OP_ZEXT || op == GS_OP_SEXT ||
			     (op >= GS_OP_SHL && op <= GS_OP_SMOD);

		for (size_t s = sized ? 0 : 3; s < GS_ARRAY_SIZE(sizes); s++)
			check_op_sizes(op, sizes[s], 0);
		for (unsigned shape = 1; shape < 5; shape++)
			check_op_sizes(op, 8, shape);
	}
}

/* ---- control ---- */

/* An operand that would fault must not be looked at when the other one decides. */
static void test_short_circuit(void)
{
	static const struct {
		unsigned op;
		uint64_t a, value;
		unsigned status;
	} cases[] = {
		{GS_OP_LAND, 0, 0, GS_STATUS_OK},
		{GS_OP_LAND, 1, 0, GS_STATUS_FAULT},
		{GS_OP_LOR, 1, 1, GS_STATUS_OK},
		{GS_OP_LOR, 0, 0, GS_STATUS_FAULT},
	};

	for (size_t i = 0; i < GS_ARRAY_SIZE(cases); i++) {
		struct bpf_case *c = malloc(sizeof(*c));
		uint16_t bad;

		case_init(c);
		c->in.reg[RDI] = cases[i].a;
		c->in.reg[RSI] = 0x10;
		bad = gs_plan_node(&c->plan, GS_OP_LOAD, 4, case_reg(c, RSI), GS_NODE_NONE, 0);
		case_item(c, GS_ITEM_VALUE,
			  gs_plan_node(&c->plan, cases[i].op, 8, case_reg(c, RDI), bad, 0), 8);
		case_item(c, GS_ITEM_VALUE,
			  gs_plan_select(&c->plan, case_reg(c, RDI), bad, case_const(c, 77)), 8);
		CHECK(case_run(c, SLEEPY));
		CHECK_INT(c->items[0].status, cases[i].status);
		if (cases[i].status == GS_STATUS_OK)
			CHECK_INT(case_value(c, 0), cases[i].value);
		else
			CHECK_INT(c->items[0].fault_address, 0x10);
		CHECK_INT(c->items[1].status, cases[i].a ? GS_STATUS_FAULT : GS_STATUS_OK);
		if (!cases[i].a)
			CHECK_INT(case_value(c, 1), 77);
		case_deinit(c);
		free(c);
	}
}

/* A condition: counted, and cheap when it is false. */
static void test_conditions(void)
{
	each_way(w)
	{
		for (uint64_t v = 0; v < 4; v++) {
			struct bpf_case *c = malloc(sizeof(*c));
			uint16_t eq, loaded;

			case_init(c);
			c->in.reg[RDI] = v;
			c->in.reg[RSI] = v == 3 ? 0x1000 : 0x10;
			loaded = gs_plan_node(&c->plan, GS_OP_LOAD, 4, case_reg(c, RSI),
					      GS_NODE_NONE, 0);
			eq = gs_plan_node(&c->plan, GS_OP_EQ, 8, case_reg(c, RDI), case_const(c, 1),
					  0);
			/* rdi == 1 || (rdi >= 2 && *rsi == 9): true, or a fault at 2, or true at 3
			 */
			c->plan.condition = gs_plan_node(
				&c->plan, GS_OP_LOR, 8, eq,
				gs_plan_node(&c->plan, GS_OP_LAND, 8,
					     gs_plan_node(&c->plan, GS_OP_ULE, 8, case_const(c, 2),
							  case_reg(c, RDI), 0),
					     gs_plan_node(&c->plan, GS_OP_EQ, 8, loaded,
							  case_const(c, 9), 0),
					     0),
				0);
			interp_map(&c->in, 0x1000, &(int){9}, 4);
			case_item(c, GS_ITEM_VALUE, case_reg(c, RDI), 8);
			CHECK(case_run(c, ways[w]));
			CHECK_INT(c->in.counters.hits, 1);
			CHECK_INT(c->in.counters.matched, v == 1 || v == 3);
			CHECK_INT(c->in.counters.recorded, v == 1 || v == 3);
			CHECK_INT(c->in.counters.faulted, v == 2);
			CHECK_INT(c->in.nrecords, v == 1 || v == 3);
			if (v == 0)
				CHECK(c->in.ninsns < 60);
			case_deinit(c);
			free(c);
		}
	}
}

/* ---- head, leaves, accounting ---- */

static void test_head_and_leaves(void)
{
	each_way(w)
	{
		static const uint64_t want[] = {100, 101, INTERP_CPU, INTERP_TIME, INTERP_UID, 5};
		struct bpf_case *c = malloc(sizeof(*c));
		struct gs_event_head head;

		case_init(c);
		c->in.site.link_addr = 0x1234;
		c->in.reg[RIP] = 0x555555551234;
		for (int i = 0; i <= GS_PLAN_SITE; i++)
			case_item(c, GS_ITEM_VALUE,
				  gs_plan_node(&c->plan, GS_OP_BUILTIN, 8, GS_NODE_NONE,
					       GS_NODE_NONE, i),
				  8);
		case_item(c, GS_ITEM_VALUE,
			  gs_plan_node(&c->plan, GS_OP_BIAS, 8, GS_NODE_NONE, GS_NODE_NONE, 0), 8);
		case_item(c, GS_ITEM_VALUE,
			  gs_plan_node(&c->plan, GS_OP_TLS_BASE, 8, GS_NODE_NONE, GS_NODE_NONE, 0),
			  8);
		case_item(c, GS_ITEM_COMM, GS_NODE_NONE, 16);
		case_item(c, GS_ITEM_ABSENT, GS_NODE_NONE, 4)->status = GS_STATUS_OPTIMIZED_OUT;
		for (int i = 0; i <= 16; i++) {
			if (i != RIP)
				c->in.reg[i] = 0x1000u + (unsigned)i;
			case_item(c, GS_ITEM_VALUE, case_reg(c, i), 8);
		}
		CHECK(case_run(c, ways[w]));
		for (unsigned i = 0; i < GS_ARRAY_SIZE(want); i++)
			CHECK_INT(case_value(c, i), want[i]);
		CHECK_INT(case_value(c, 6), 0x555555550000);
		CHECK_INT(case_value(c, 7), INTERP_FSBASE);
		CHECK_STR((const char *)c->items[8].data, INTERP_COMM);
		CHECK_INT(c->items[9].status, GS_STATUS_OPTIMIZED_OUT);
		CHECK(!c->items[9].data);
		for (unsigned i = 0; i < 16; i++)
			CHECK_INT(case_value(c, 10 + i), 0x1000 + i);
		memcpy(&head, c->in.record, sizeof(head));
		CHECK_INT(head.time_ns, INTERP_TIME);
		CHECK_INT(head.site, 5);
		CHECK_INT(head.pid, 100);
		CHECK_INT(head.tid, 101);
		CHECK_INT(head.cpu, INTERP_CPU);
		CHECK_INT(head.kind, GS_RECORD_EVENT);
		CHECK_INT(head.flags, 0);
		CHECK_STR(head.comm, INTERP_COMM);
		case_deinit(c);
		free(c);
	}
}

static void test_accounting(void)
{
	each_way(w)
	{
		struct bpf_case *c = malloc(sizeof(*c));

		case_init(c);
		case_item(c, GS_ITEM_VALUE, case_reg(c, RDI), 8);
		c->in.in_set = false;
		CHECK(case_run(c, ways[w]));
		CHECK_INT(c->in.counters.hits, 0);
		c->in.in_set = true;
		c->in.control.enabled = 0;
		CHECK(case_run(c, ways[w]));
		CHECK_INT(c->in.counters.hits, 1);
		CHECK_INT(c->in.counters.skipped, 1);
		CHECK_INT(c->in.counters.matched, 0);
		c->in.control.enabled = 1;
		c->in.ring_full = true;
		CHECK(case_run(c, ways[w]));
		CHECK_INT(c->in.counters.matched, 1);
		CHECK_INT(c->in.counters.lost, 1);
		CHECK_INT(c->in.counters.recorded, 0);
		c->in.ring_full = false;
		CHECK(case_run(c, ways[w]));
		CHECK_INT(c->in.counters.recorded, 1);
		CHECK_INT(c->in.flags, BPF_RB_NO_WAKEUP);
		c->in.queued = 40000; /* over half of 64 KiB */
		CHECK(case_run(c, ways[w]));
		CHECK_INT(c->in.flags, BPF_RB_FORCE_WAKEUP);
		if (ways[w] & GS_FEATURE_TASK_STORAGE) {
			c->in.no_staging = true;
			CHECK(case_run(c, ways[w]));
			CHECK_INT(c->in.counters.lost, 1);
		}
		case_deinit(c);
		free(c);
	}
}

int main(void)
{
	TAP_RUN(test_every_operation);
	TAP_RUN(test_short_circuit);
	TAP_RUN(test_conditions);
	TAP_RUN(test_head_and_leaves);
	TAP_RUN(test_accounting);
	return tap_done();
}
