/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture of linked memory: the nodes of a list or tree, one after the other, by a bounded loop.
 * In the flow: called by the generator for an item that is a walk.
 *
 * The verifier goes through the loop once for each step. Two steps must not look the same to it
 * (it would take the loop for endless) but in nothing except the step's number: so the number is in
 * a register where the loop begins, and what else changes is unknown to it: the address of the
 * node, and the length so far, which is kept in the record.
 *
 * Where the record must be dropped before memory is paged in, no step starts over: the verifier
 * would go through the whole program again from each of them. There a node that is not resident is
 * a fault.
 */
#include "bpf/gen.h"
#include "common/status.h"

/* Of the walk's stack, from walk_buf on. */
enum {
	W_STEP = 0,
	W_END = 8,
	W_PREV = 16, /* the node before; LIST: the first */
	W_LINKS = 24,
	W_NEXT = 48,
};

struct walk {
	struct gs_gen *g;
	const struct gs_gen_hand *m;
	const struct gs_plan_walk *w;
	gs_label ended, wanted, cut, fault, move;
};

static int at(const struct walk *k, int off)
{
	return k->g->walk_buf + off;
}

static void keep(const struct walk *k, int off, uint8_t reg)
{
	gs_emit_store(&k->g->e, BPF_DW, BPF_REG_10, (int16_t)at(k, off), reg);
}

static void fetch(const struct walk *k, uint8_t reg, int off)
{
	gs_emit_load(&k->g->e, BPF_DW, reg, BPF_REG_10, (int16_t)at(k, off));
}

/* The I-th address of those that were read. */
static void link_of(const struct walk *k, uint8_t reg, unsigned i)
{
	unsigned size = k->w->link_size;

	gs_emit_load(&k->g->e, size == 8 ? BPF_DW : BPF_W, reg, BPF_REG_10,
		     (int16_t)(at(k, W_LINKS) + (int)(i * size)));
}

/* N addresses from `next' of the node on. */
static void read_links(const struct walk *k, unsigned n)
{
	struct gs_gen *g = k->g;
	gs_label got = gs_emit_label(&g->e, "links_read");
	uint32_t size = n * k->w->link_size;

	gs_emit_mov(&g->e, BPF_REG_1, GS_R_ADDR);
	gs_emit_alui(&g->e, BPF_ADD, BPF_REG_1, (int32_t)k->w->next);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_CURSOR, BPF_REG_1);
	gs_gen_read_to_stack(g, BPF_FUNC_probe_read_user, at(k, W_LINKS), size, GS_FP_CURSOR);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, got);
	if (gs_gen_may_sleep(g)) {
		gs_gen_read_to_stack(g, BPF_FUNC_copy_from_user, at(k, W_LINKS), size,
				     GS_FP_CURSOR);
		gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, got);
	}
	gs_emit_goto(&g->e, k->fault);
	gs_emit_bind(&g->e, got);
}

/* One call: r1 = destination + length so far, r2 = stride, r3 = *CURSOR. */
static void read_node(const struct walk *k, int helper)
{
	struct gs_gen *g = k->g;
	const struct gs_plan_item *it = k->m->it;

	gs_gen_record_load(g, BPF_W, BPF_REG_0, k->m->slot);
	gs_emit_ifi(&g->e, BPF_JGT, BPF_REG_0, (int32_t)(it->size - it->stride), k->cut);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, GS_FP_DST);
	gs_emit_alu(&g->e, BPF_ADD, BPF_REG_1, BPF_REG_0);
	gs_emit_movi(&g->e, BPF_REG_2, (int32_t)it->stride);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_3, BPF_REG_10, GS_FP_CURSOR);
	gs_emit_call(&g->e, helper);
}

/* What is wanted of the node at r9, behind what was copied before it. */
static void copy_node(const struct walk *k)
{
	struct gs_gen *g = k->g;
	gs_label got = gs_emit_label(&g->e, "node_read");

	gs_gen_record_load(g, BPF_W, BPF_REG_0, k->m->slot);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, GS_FP_LIMIT);
	gs_emit_if(&g->e, BPF_JGE, BPF_REG_0, BPF_REG_1, k->wanted);
	gs_emit_mov(&g->e, BPF_REG_1, GS_R_ADDR);
	gs_emit_alui(&g->e, BPF_ADD, BPF_REG_1, (int32_t)k->w->payload);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_CURSOR, BPF_REG_1);
	read_node(k, BPF_FUNC_probe_read_user);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, got);
	if (gs_gen_may_sleep(g)) {
		read_node(k, BPF_FUNC_copy_from_user);
		gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, got);
	}
	gs_emit_goto(&g->e, k->fault);
	gs_emit_bind(&g->e, got);
	gs_gen_record_load(g, BPF_W, BPF_REG_0, k->m->slot);
	gs_emit_alui(&g->e, BPF_ADD, BPF_REG_0, (int32_t)k->m->it->stride);
	gs_gen_record_store(g, BPF_W, k->m->slot, BPF_REG_0);
}

/* r1 = the node after the one at r9 */
static void list_step(const struct walk *k)
{
	struct gs_gen *g = k->g;

	if (k->w->end != GS_NODE_NONE) {
		fetch(k, BPF_REG_1, W_END);
		gs_emit_if(&g->e, BPF_JEQ, GS_R_ADDR, BPF_REG_1, k->ended);
	}
	copy_node(k);
	read_links(k, 1);
	link_of(k, BPF_REG_1, 0);
	gs_emit_if(&g->e, BPF_JEQ, BPF_REG_1, GS_R_ADDR, k->ended);
	fetch(k, BPF_REG_2, W_PREV);
	gs_emit_if(&g->e, BPF_JEQ, BPF_REG_1, BPF_REG_2, k->ended);
}

/*
 * Where one came from tells where to go: from the parent to the left, from the left (or where there
 * is none) this node and then to the right, from the right back to the parent.
 */
static void tree_step(const struct walk *k)
{
	struct gs_gen *g = k->g;
	gs_label below = gs_emit_label(&g->e, "not_the_root");
	gs_label up = gs_emit_label(&g->e, "up");
	gs_label visit = gs_emit_label(&g->e, "visit");
	gs_label other = gs_emit_label(&g->e, "not_from_above");

	fetch(k, BPF_REG_1, W_END);
	gs_emit_if(&g->e, BPF_JEQ, GS_R_ADDR, BPF_REG_1, k->ended);
	read_links(k, 3);
	link_of(k, BPF_REG_2, 0);
	fetch(k, BPF_REG_4, W_PREV);
	gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_4, 0, below);
	keep(k, W_END, BPF_REG_2);
	gs_emit_mov(&g->e, BPF_REG_4, BPF_REG_2);
	gs_emit_bind(&g->e, below);
	link_of(k, BPF_REG_1, 1);
	gs_emit_if(&g->e, BPF_JNE, BPF_REG_4, BPF_REG_2, other);
	gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_1, 0, k->move);
	gs_emit_goto(&g->e, visit);
	gs_emit_bind(&g->e, other);
	gs_emit_if(&g->e, BPF_JNE, BPF_REG_4, BPF_REG_1, up);
	gs_emit_bind(&g->e, visit);
	copy_node(k);
	link_of(k, BPF_REG_1, 2);
	gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_1, 0, k->move);
	gs_emit_bind(&g->e, up);
	link_of(k, BPF_REG_1, 0);
}

static void emit_loop(const struct walk *k)
{
	struct gs_gen *g = k->g;
	gs_label step = gs_emit_label(&g->e, "step");

	gs_emit_movi(&g->e, BPF_REG_1, 0);
	gs_emit_bind(&g->e, step);
	keep(k, W_STEP, BPF_REG_1);
	gs_emit_ifi(&g->e, BPF_JEQ, GS_R_ADDR, 0, k->ended);
	if (k->w->form == GS_WALK_TREE)
		tree_step(k);
	else
		list_step(k);
	gs_emit_bind(&g->e, k->move);
	if (k->w->form == GS_WALK_TREE)
		keep(k, W_PREV, GS_R_ADDR);
	gs_emit_mov(&g->e, GS_R_ADDR, BPF_REG_1);
	fetch(k, BPF_REG_1, W_STEP);
	gs_emit_alui(&g->e, BPF_ADD, BPF_REG_1, 1);
	gs_emit_ifi(&g->e, BPF_JLT, BPF_REG_1, k->w->steps, step);
	gs_emit_goto(&g->e, k->cut);
}

/* LIMIT: the bytes that are wanted, at most one node more than there is room for. */
static void walk_limit(const struct walk *k)
{
	struct gs_gen *g = k->g;
	const struct gs_plan_item *it = k->m->it;
	int32_t beyond = (int32_t)(it->size / it->stride) + 1;
	gs_label within = gs_emit_label(&g->e, "within_limit");

	if (it->count == GS_NODE_NONE) {
		gs_emit_movi(&g->e, BPF_REG_0, beyond);
	} else {
		gs_gen_count(g, k->m);
		gs_emit_ifi(&g->e, BPF_JLE, BPF_REG_0, beyond, within);
		gs_emit_movi(&g->e, BPF_REG_0, beyond);
		gs_emit_bind(&g->e, within);
	}
	gs_emit_alui(&g->e, BPF_MUL, BPF_REG_0, (int32_t)it->stride);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_LIMIT, BPF_REG_0);
}

static void walk_begin(const struct walk *k)
{
	struct gs_gen *g = k->g;

	gs_gen_address(g, k->m);
	walk_limit(k);
	if (k->w->form == GS_WALK_LIST && k->w->end != GS_NODE_NONE)
		gs_gen_value(g, k->w->end);
	else
		gs_emit_movi(&g->e, BPF_REG_0, 0);
	keep(k, W_END, BPF_REG_0);
	if (k->w->form == GS_WALK_TREE)
		gs_emit_storei(&g->e, BPF_DW, BPF_REG_10, (int16_t)at(k, W_PREV), 0);
	else
		keep(k, W_PREV, GS_R_ADDR);
	gs_gen_open_destination(g, k->m);
	gs_gen_record_storei(g, BPF_W, k->m->slot, 0);
}

static void walk_end(const struct walk *k)
{
	struct gs_gen *g = k->g;

	gs_emit_bind(&g->e, k->fault);
	gs_gen_record_load(g, BPF_W, BPF_REG_0, k->m->slot);
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_FAULT);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_2, BPF_REG_10, GS_FP_CURSOR);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, k->m->fail);
	gs_gen_set_status(g, k->m, GS_STATUS_PARTIAL);
	gs_emit_goto(&g->e, k->m->finish);

	gs_emit_bind(&g->e, k->ended);
	if (k->w->exact) {
		gs_gen_record_load(g, BPF_W, BPF_REG_0, k->m->slot);
		gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, GS_FP_LIMIT);
		gs_emit_if(&g->e, BPF_JLT, BPF_REG_0, BPF_REG_1, k->cut);
		gs_emit_bind(&g->e, k->wanted);
	}
	gs_gen_set_status(g, k->m, GS_STATUS_OK);
	gs_emit_goto(&g->e, k->m->finish);

	if (!k->w->exact)
		gs_emit_bind(&g->e, k->wanted);
	gs_emit_bind(&g->e, k->cut);
	gs_gen_set_status(g, k->m, GS_STATUS_TRUNCATED);
	gs_emit_bind(&g->e, k->m->finish);
	gs_gen_record_load(g, BPF_W, BPF_REG_0, k->m->slot);
	gs_gen_close_destination(g, k->m);
}

void gs_gen_walk(struct gs_gen *g, const struct gs_gen_hand *m)
{
	struct walk k = {.g = g,
			 .m = m,
			 .w = &g->plan->walks[m->it->walk],
			 .ended = gs_emit_label(&g->e, "walk_ended"),
			 .wanted = gs_emit_label(&g->e, "all_wanted"),
			 .cut = gs_emit_label(&g->e, "walk_cut"),
			 .fault = gs_emit_label(&g->e, "walk_faults"),
			 .move = gs_emit_label(&g->e, "move")};

	walk_begin(&k);
	emit_loop(&k);
	walk_end(&k);
}
