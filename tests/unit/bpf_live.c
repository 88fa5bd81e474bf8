/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Generated programs in the running kernel, on this very program: values, faults, non-resident
 * pages, for every combination of fallbacks. Needs root.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/lib/bpf_live.h"
#include "tests/tap.h"

/* System V: arguments in rdi, rsi, rdx, rcx; DWARF numbers 5, 4, 1, 2. */
enum { RAX = 0, RDX = 1, RCX = 2, RSI = 4, RDI = 5, RSP = 7 };

static volatile unsigned long sink;

LIVE_TARGET static void target(const void *a, const void *b, long c, long d)
{
	sink += (unsigned long)a + (unsigned long)b + (unsigned long)(c ^ d);
	__asm__ volatile("" ::: "memory");
}

static __thread long tls_variable;

/* ---- values ---- */

static void values(uint32_t mask)
{
	static const struct {
		int a;
		long b;
		char text[24];
	} obj = {7, -9, "hello"};
	int array[5] = {1, 2, 3, 4, 5};
	struct live l;
	struct gs_plan *p = &l.plan;
	struct gs_plan_item *it;
	const struct live_event *ev;

	live_init(&l);
	live_item(p, GS_ITEM_VALUE, live_reg(p, RDX), 8);
	live_item(p, GS_ITEM_MEMORY, live_reg(p, RDI), sizeof(obj));
	live_item(p, GS_ITEM_STRING,
		  gs_plan_node(p, GS_OP_ADD, 8, live_reg(p, RDI), gs_plan_const(p, 16), 0), 20);
	it = live_item(p, GS_ITEM_ARRAY, live_reg(p, RSI), 4 * 16);
	it->stride = 4;
	it->count = live_reg(p, RCX);
	live_item(p, GS_ITEM_COMM, GS_NODE_NONE, 16);
	live_item(p, GS_ITEM_VALUE,
		  gs_plan_node(p, GS_OP_TLS_BASE, 8, GS_NODE_NONE, GS_NODE_NONE, 0), 8);
	live_item(p, GS_ITEM_MEMORY, gs_plan_const(p, 0x10), 4);
	p->condition = gs_plan_node(
		p, GS_OP_EQ, 8, gs_plan_node(p, GS_OP_LOAD, 4, live_reg(p, RDI), GS_NODE_NONE, 0),
		gs_plan_const(p, 7), 0);
	if (!live_start(&l, mask, target)) {
		CHECK(!"started");
		live_deinit(&l);
		return;
	}
	target(&obj, array, 0x1122334455667788, 5);
	target(&array[2], array, 1, 5);	   /* condition is false: 3 */
	target((void *)0x20, array, 1, 5); /* condition faults */
	live_drain(&l);
	CHECK_INT(l.nevents, 1);
	CHECK_INT(l.ndamaged, 0);
	if (l.nevents == 1) {
		struct gs_counters c = {0};
		unsigned long fs;

		ev = &l.events[0];
		CHECK_INT(ev->head.pid, getpid());
		CHECK_INT(ev->head.tid, gettid());
		CHECK(ev->head.time_ns > 0);
		CHECK(*(const uint64_t *)ev->items[0].data == 0x1122334455667788);
		CHECK(memcmp(ev->items[1].data, &obj, sizeof(obj)) == 0);
		CHECK_INT(ev->items[2].len, 5);
		CHECK(memcmp(ev->items[2].data, "hello", 5) == 0);
		CHECK_INT(ev->items[3].len, 20);
		CHECK(memcmp(ev->items[3].data, array, 20) == 0);
		CHECK(memcmp(ev->items[4].data, ev->head.comm, 16) == 0);
		__asm__("mov %%fs:0, %0" : "=r"(fs));
		tls_variable = 1;
		CHECK(*(const uint64_t *)ev->items[5].data == fs);
		CHECK_INT(ev->items[6].status, GS_STATUS_FAULT);
		CHECK_INT(ev->items[6].fault_address, 0x10);
		CHECK(!gs_tracer_counters(l.tracer, 0, &c));
		CHECK_INT(c.hits, 3);
		CHECK_INT(c.matched, 1);
		CHECK_INT(c.recorded, 1);
		CHECK_INT(c.faulted, 1);
		CHECK_INT(c.lost, 0);
	}
	live_deinit(&l);
}

static void test_values(void)
{
	values(~0u);
}

/* Every fallback alone and every pair of those that change the program. */
static void test_values_with_fallbacks(void)
{
	static const uint32_t off[] = {GS_FEATURE_MULTI, GS_FEATURE_SLEEPABLE, GS_FEATURE_COOKIE,
				       GS_FEATURE_TASK_STORAGE, GS_FEATURE_MULTI_PID};

	for (unsigned set = 1; set < 1u << GS_ARRAY_SIZE(off); set++) {
		uint32_t mask = ~0u;

		for (size_t i = 0; i < GS_ARRAY_SIZE(off); i++)
			if (set & 1u << i)
				mask &= ~off[i];
		values(mask);
	}
}

int main(void)
{
	const char *why = live_unable();

	if (why) {
		tap_skip("live", why);
		return tap_done();
	}
	TAP_RUN(test_values);
	TAP_RUN(test_values_with_fallbacks);
	return tap_done();
}
