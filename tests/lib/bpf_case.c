/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of a hand-made plan in the interpreter, for each way that a record can be built.
 * In the flow: shared by the generator's unit tests.
 */
#include "tests/lib/bpf_case.h"

#include <stdio.h>

void case_init(struct bpf_case *c)
{
	c->recorded = false;
	c->layout = (struct gs_layout){0};
	memset(c->items, 0, sizeof(c->items));
	gs_plan_init(&c->plan);
	interp_init(&c->in);
}

void case_deinit(struct bpf_case *c)
{
	gs_plan_deinit(&c->plan);
	gs_layout_deinit(&c->layout);
}

static bool said(struct gs_error *err)
{
	if (!err)
		return false;
	printf("# %s\n", gs_error_message(err));
	gs_error_free(err);
	return true;
}

/* As the consumer does: a reserved record is as long as its head says. */
static size_t used(const struct bpf_case *c)
{
	struct gs_event_head head;

	memcpy(&head, c->in.record, sizeof(head));
	return head.len < c->in.record_len ? head.len : c->in.record_len;
}

bool case_run(struct bpf_case *c, uint32_t features)
{
	struct gs_gen_options opts = {
		.features = features,
		.filter_pids = true,
		.site = c->in.site.id,
		.ring_bytes = 1 << 16,
		.tls_offset = INTERP_TLS_OFFSET,
	};
	struct gs_program program;
	bool ok;

	gs_layout_deinit(&c->layout);
	if (said(gs_plan_layout(&c->plan, &c->layout)) ||
	    said(gs_program_generate(&c->plan, &c->layout, &opts, &program, NULL)))
		return false;
	memset(&c->in.counters, 0, sizeof(c->in.counters));
	c->in.nrecords = c->in.ndiscarded = c->in.nsleeps = 0;
	ok = interp_run(&c->in, &program);
	gs_program_deinit(&program);
	if (!ok)
		printf("# program: %s\n", c->in.failure);
	if (c->in.slept_while_holding) {
		printf("# slept over a reservation\n");
		ok = false;
	}
	c->recorded = ok && c->in.nrecords == 1;
	if (c->recorded && said(gs_event_decode(&c->layout, c->in.record, used(c), c->items)))
		ok = c->recorded = false;
	return ok;
}

uint16_t case_reg(struct bpf_case *c, int reg)
{
	return gs_plan_node(&c->plan, GS_OP_REG, 8, GS_NODE_NONE, GS_NODE_NONE, reg);
}

uint16_t case_const(struct bpf_case *c, int64_t v)
{
	return gs_plan_const(&c->plan, v);
}

struct gs_plan_item *case_item(struct bpf_case *c, enum gs_plan_item_kind kind, uint16_t node,
			       uint32_t size)
{
	struct gs_plan_item *item = gs_plan_item(&c->plan);

	item->kind = (uint8_t)kind;
	item->node = node;
	item->size = size;
	item->variable = kind == GS_ITEM_STRING || kind == GS_ITEM_ARRAY;
	return item;
}

uint64_t case_value(const struct bpf_case *c, unsigned i)
{
	uint64_t v = 0;

	if (c->items[i].data)
		memcpy(&v, c->items[i].data, c->items[i].len < 8 ? c->items[i].len : 8);
	return v;
}
