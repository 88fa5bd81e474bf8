/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture of one item into the record: its bytes, its status, and why there are none.
 * In the flow: called by the generator for each item of the plan, in order.
 */
#include "bpf/gen.h"
#include "common/status.h"

void gs_gen_set_status(struct gs_gen *g, const struct gs_gen_hand *m, unsigned status)
{
	gs_gen_record_storei(g, BPF_B, m->status_off, (int32_t)status);
}

/* if (r9 == 0) not collected */
static void skip_null(struct gs_gen *g, const struct gs_gen_hand *m)
{
	if (!(m->it->flags & GS_ITEM_SKIP_NULL))
		return;
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_NOT_COLLECTED);
	gs_emit_movi(&g->e, BPF_REG_2, 0);
	gs_emit_ifi(&g->e, BPF_JEQ, GS_R_ADDR, 0, m->fail);
}

static void require_parent(struct gs_gen *g, const struct gs_gen_hand *m)
{
	const struct gs_plan_item *it = m->it;
	const struct gs_layout_item *parent;
	gs_label has;

	if (it->parent == GS_NODE_NONE)
		return;
	parent = &g->layout->items[it->parent];
	has = gs_emit_label(&g->e, "parent_has_data");
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_NOT_COLLECTED);
	gs_emit_movi(&g->e, BPF_REG_2, 0);
	gs_gen_record_load(g, BPF_B, BPF_REG_3, gs_layout_status(it->parent));
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_3, GS_STATUS_OK, has);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_3, GS_STATUS_TRUNCATED, has);
	gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_3, GS_STATUS_PARTIAL, m->fail);
	gs_emit_bind(&g->e, has);
	if (it->parent_need > parent->size) {
		gs_gen_fail(g, GS_STATUS_NOT_COLLECTED);
	} else if (parent->variable && it->parent_need) {
		gs_gen_record_load(g, BPF_W, BPF_REG_3, g->layout->slot[it->parent]);
		gs_emit_ifi(&g->e, BPF_JLT, BPF_REG_3, (int32_t)it->parent_need, m->fail);
	}
}

/* ---- fixed items ---- */

/* r1 = r7 + offset, r2 = size, r3 = r9 */
static void read_fixed(struct gs_gen *g, int helper, uint32_t offset, uint32_t size)
{
	gs_gen_record_at(g, BPF_REG_1, offset);
	gs_emit_movi(&g->e, BPF_REG_2, (int32_t)size);
	gs_emit_mov(&g->e, BPF_REG_3, GS_R_ADDR);
	gs_emit_call(&g->e, helper);
}

/* SIZE bytes at r9 into the record, whole or a fault at the first byte that cannot be read. */
static void read_memory(struct gs_gen *g, const struct gs_gen_hand *m, uint32_t offset,
			uint32_t size)
{
	gs_label ok = gs_emit_label(&g->e, "read");

	read_fixed(g, BPF_FUNC_probe_read_user, offset, size);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, ok);
	if (gs_gen_may_sleep(g)) {
		read_fixed(g, BPF_FUNC_copy_from_user, offset, size);
		gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, ok);
	} else if (gs_gen_must_restart(g)) {
		gs_emit_mov(&g->e, BPF_REG_1, GS_R_ADDR);
		gs_emit_movi(&g->e, BPF_REG_2, (int32_t)size);
		gs_gen_restart_point(g);
	}
	if (size > 1) {
		gs_label inside = gs_emit_label(&g->e, "fault_address");

		gs_emit_imm64(&g->e, BPF_REG_1, size);
		gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_LIMIT, BPF_REG_1);
		gs_gen_scan(g, size, NULL, NULL);
		/* Everything is readable by now: a race; the start is as good as any. */
		gs_emit_load(&g->e, BPF_DW, BPF_REG_2, BPF_REG_10, GS_FP_CURSOR);
		gs_emit_mov(&g->e, BPF_REG_3, BPF_REG_2);
		gs_emit_alu(&g->e, BPF_SUB, BPF_REG_3, GS_R_ADDR);
		gs_emit_ifi(&g->e, BPF_JLT, BPF_REG_3, (int32_t)size, inside);
		gs_emit_mov(&g->e, BPF_REG_2, GS_R_ADDR);
		gs_emit_bind(&g->e, inside);
	} else {
		gs_emit_mov(&g->e, BPF_REG_2, GS_R_ADDR);
	}
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_FAULT);
	gs_emit_goto(&g->e, m->fail);
	gs_emit_bind(&g->e, ok);
}

static void address_of(struct gs_gen *g, uint16_t node)
{
	gs_gen_value(g, node);
	gs_emit_mov(&g->e, GS_R_ADDR, BPF_REG_0);
}

void gs_gen_address(struct gs_gen *g, const struct gs_gen_hand *m)
{
	address_of(g, m->it->node);
	skip_null(g, m);
}

static void memory_item(struct gs_gen *g, const struct gs_gen_hand *m)
{
	address_of(g, m->it->node);
	skip_null(g, m);
	read_memory(g, m, m->slot, m->it->size);
}

/* The low SIZE bytes of r0 to the record, whatever their number. */
static void scatter(struct gs_gen *g, uint32_t offset, unsigned size)
{
	static const struct {
		unsigned bytes;
		uint8_t width;
	} steps[] = {{8, BPF_DW}, {4, BPF_W}, {2, BPF_H}, {1, BPF_B}};

	for (size_t i = 0; i < GS_ARRAY_SIZE(steps); i++) {
		if (size < steps[i].bytes)
			continue;
		gs_gen_record_store(g, steps[i].width, offset, BPF_REG_0);
		if (size > steps[i].bytes)
			gs_emit_alui(&g->e, BPF_RSH, BPF_REG_0, (int32_t)(steps[i].bytes * 8));
		offset += steps[i].bytes;
		size -= steps[i].bytes;
	}
}

static void pieces_item(struct gs_gen *g, const struct gs_gen_hand *m)
{
	const struct gs_plan_piece *pieces = g->plan->pieces + m->it->first_piece;

	for (uint32_t at = 0; at < m->it->size; at += 8)
		gs_gen_record_storei(g, BPF_DW, m->slot + at, 0);
	for (unsigned i = 0; i < m->it->npieces; i++) {
		gs_emit_note(&g->e, "piece [%u, +%u]", pieces[i].offset, pieces[i].size);
		gs_gen_unit_begin(g, pieces[i].node, GS_NODE_NONE);
		if (pieces[i].memory) {
			address_of(g, pieces[i].node);
			read_memory(g, m, m->slot + pieces[i].offset, pieces[i].size);
		} else {
			gs_gen_value(g, pieces[i].node);
			scatter(g, m->slot + pieces[i].offset, pieces[i].size);
		}
		gs_gen_unit_end(g);
	}
}

static void comm_item(struct gs_gen *g, const struct gs_gen_hand *m)
{
	gs_gen_record_at(g, BPF_REG_1, m->slot);
	gs_emit_movi(&g->e, BPF_REG_2, 16);
	gs_emit_call(&g->e, BPF_FUNC_get_current_comm);
}

/* ---- variable items ---- */

/* Where the item's bytes go: the record's length so far, kept in its head. */
void gs_gen_open_destination(struct gs_gen *g, const struct gs_gen_hand *m)
{
	gs_gen_record_load(g, BPF_W, BPF_REG_4, offsetof(struct gs_event_head, len));
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_UNAVAILABLE);
	gs_emit_movi(&g->e, BPF_REG_2, 0);
	/* Never taken; the verifier needs the bound. */
	gs_emit_ifi(&g->e, BPF_JGT, BPF_REG_4, (int32_t)g->max_offset[m->index], m->fail);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_OFFSET, BPF_REG_4);
	gs_emit_alu(&g->e, BPF_ADD, BPF_REG_4, GS_R_RECORD);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_DST, BPF_REG_4);
}

/* r0: bytes captured, at most the item's size. Sets length, offset and the record's new length. */
void gs_gen_close_destination(struct gs_gen *g, const struct gs_gen_hand *m)
{
	gs_gen_record_store(g, BPF_W, m->slot, BPF_REG_0);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, GS_FP_OFFSET);
	gs_gen_record_store(g, BPF_W, m->slot + 4, BPF_REG_1);
	gs_emit_alu(&g->e, BPF_ADD, BPF_REG_1, BPF_REG_0);
	gs_gen_record_store(g, BPF_W, offsetof(struct gs_event_head, len), BPF_REG_1);
}

/* r1 = destination, r2 = *LIMIT bounded by MOST, r3 = r9 */
static void read_limit(struct gs_gen *g, const struct gs_gen_hand *m, int helper, uint32_t most)
{
	gs_emit_load(&g->e, BPF_DW, BPF_REG_2, BPF_REG_10, GS_FP_LIMIT);
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_UNAVAILABLE);
	gs_emit_ifi(&g->e, BPF_JGT, BPF_REG_2, (int32_t)most, m->fail);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, GS_FP_DST);
	gs_emit_mov(&g->e, BPF_REG_3, GS_R_ADDR);
	gs_emit_call(&g->e, helper);
}

/* A fault at the cursor when r0, the bytes that can be kept, is 0; else they are read, as PARTIAL.
 */
static void read_before_cursor(struct gs_gen *g, const struct gs_gen_hand *m)
{
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_FAULT);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_2, BPF_REG_10, GS_FP_CURSOR);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, m->fail);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_LIMIT, BPF_REG_0);
	read_limit(g, m, BPF_FUNC_probe_read_user, m->it->size);
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_FAULT);
	gs_emit_mov(&g->e, BPF_REG_2, GS_R_ADDR);
	gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_0, 0, m->fail);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_0, BPF_REG_10, GS_FP_LIMIT);
}

/* r0 = count, refused when negative. */
void gs_gen_count(struct gs_gen *g, const struct gs_gen_hand *m)
{
	gs_gen_value(g, m->it->count);
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_BAD_RANGE);
	gs_emit_movi(&g->e, BPF_REG_2, 0);
	gs_emit_ifi(&g->e, BPF_JSLT, BPF_REG_0, 0, m->fail);
}

static void array_item(struct gs_gen *g, const struct gs_gen_hand *m)
{
	gs_label within = gs_emit_label(&g->e, "within_limit");
	gs_label read = gs_emit_label(&g->e, "array_read");
	int32_t stride = (int32_t)m->it->stride;
	int32_t most = (int32_t)(m->it->size / m->it->stride);

	address_of(g, m->it->node);
	skip_null(g, m);
	gs_gen_count(g, m);
	gs_gen_set_status(g, m, GS_STATUS_OK);
	gs_emit_ifi(&g->e, BPF_JLE, BPF_REG_0, most, within);
	gs_emit_movi(&g->e, BPF_REG_0, most);
	gs_gen_set_status(g, m, GS_STATUS_TRUNCATED);
	gs_emit_bind(&g->e, within);
	gs_emit_alui(&g->e, BPF_MUL, BPF_REG_0, stride);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_LIMIT, BPF_REG_0);
	gs_gen_open_destination(g, m);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_0, BPF_REG_10, GS_FP_LIMIT);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, m->finish); /* nothing to read: no fault */

	read_limit(g, m, BPF_FUNC_probe_read_user, m->it->size);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, read);
	if (gs_gen_may_sleep(g)) {
		read_limit(g, m, BPF_FUNC_copy_from_user, m->it->size);
		gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, read);
	} else if (gs_gen_must_restart(g)) {
		gs_emit_mov(&g->e, BPF_REG_1, GS_R_ADDR);
		gs_emit_load(&g->e, BPF_DW, BPF_REG_2, BPF_REG_10, GS_FP_LIMIT);
		gs_gen_restart_point(g);
	}
	gs_gen_scan(g, m->it->size, NULL, NULL);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_0, BPF_REG_10, GS_FP_CURSOR);
	gs_emit_alu(&g->e, BPF_SUB, BPF_REG_0, GS_R_ADDR);
	gs_emit_alui(&g->e, BPF_DIV, BPF_REG_0, stride); /* whole elements only */
	gs_emit_alui(&g->e, BPF_MUL, BPF_REG_0, stride);
	read_before_cursor(g, m);
	gs_gen_set_status(g, m, GS_STATUS_PARTIAL);
	gs_emit_goto(&g->e, m->finish);

	gs_emit_bind(&g->e, read);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_0, BPF_REG_10, GS_FP_LIMIT);
	gs_emit_bind(&g->e, m->finish);
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_UNAVAILABLE);
	gs_emit_movi(&g->e, BPF_REG_2, 0);
	gs_emit_ifi(&g->e, BPF_JGT, BPF_REG_0, (int32_t)m->it->size, m->fail);
	gs_gen_close_destination(g, m);
}

/* What a string needs to try again from within the scan. */
struct string {
	const struct gs_gen_hand *m;
	uint32_t extra; /* bytes asked for beyond the limit: the NUL, and one more to tell "cut" */
	gs_label got;
};

static void try_string(struct gs_gen *g, void *ctx)
{
	struct string *s = ctx;

	read_limit(g, s->m, BPF_FUNC_probe_read_user_str, s->m->it->size + s->extra);
	gs_emit_ifi(&g->e, BPF_JSGT, BPF_REG_0, 0, s->got);
}

/* LIMIT: bytes to ask the kernel for. With a run-time limit one more than it: a longer string then
 * looks like one of exactly that length, which is what was asked for. */
static void string_limit(struct gs_gen *g, struct string *s)
{
	const struct gs_plan_item *it = s->m->it;
	gs_label within = gs_emit_label(&g->e, "within_limit");

	if (it->count == GS_NODE_NONE) {
		s->extra = 2;
		gs_emit_imm64(&g->e, BPF_REG_0, it->size + s->extra);
	} else {
		s->extra = 2;
		gs_gen_count(g, s->m);
		gs_emit_alui(&g->e, BPF_ADD, BPF_REG_0, 1);
		gs_emit_ifi(&g->e, BPF_JLE, BPF_REG_0, (int32_t)it->size + 1, within);
		gs_emit_movi(&g->e, BPF_REG_0, (int32_t)it->size + 2);
		gs_emit_bind(&g->e, within);
	}
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_LIMIT, BPF_REG_0);
}

/*
 * No NUL before the cursor, and nothing readable there. What is before it is the string as far as
 * it goes: all that was asked for, or PARTIAL.
 */
static void string_without_end(struct gs_gen *g, const struct string *s)
{
	const struct gs_gen_hand *m = s->m;
	gs_label partial = gs_emit_label(&g->e, "partial");
	gs_label asked = gs_emit_label(&g->e, "asked_for");
	gs_label keep = gs_emit_label(&g->e, "before_fault");

	gs_emit_load(&g->e, BPF_DW, BPF_REG_0, BPF_REG_10, GS_FP_CURSOR);
	gs_emit_alu(&g->e, BPF_SUB, BPF_REG_0, GS_R_ADDR);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_2, BPF_REG_10, GS_FP_LIMIT);
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_FAULT);
	gs_emit_mov(&g->e, BPF_REG_3, BPF_REG_2);
	gs_emit_mov(&g->e, BPF_REG_2, GS_R_ADDR);
	/* All is readable and yet the read failed: it changed under us. */
	gs_emit_if(&g->e, BPF_JGE, BPF_REG_0, BPF_REG_3, m->fail);
	/* LIMIT is size + 2, or a run-time limit + 1. */
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_3, (int32_t)m->it->size + 2, asked);
	gs_emit_alui(&g->e, BPF_SUB, BPF_REG_3, 1);
	gs_emit_if(&g->e, BPF_JLT, BPF_REG_0, BPF_REG_3, partial);
	gs_gen_set_status(g, m, GS_STATUS_OK);
	gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_0, 0, keep);
	gs_emit_goto(&g->e, m->finish); /* str(p, 0) reads nothing */
	gs_emit_bind(&g->e, asked);
	gs_emit_ifi(&g->e, BPF_JLT, BPF_REG_0, (int32_t)m->it->size, partial);
	gs_emit_movi(&g->e, BPF_REG_0, (int32_t)m->it->size);
	gs_gen_set_status(g, m, GS_STATUS_TRUNCATED);
	gs_emit_goto(&g->e, keep);
	gs_emit_bind(&g->e, partial);
	gs_gen_set_status(g, m, GS_STATUS_PARTIAL);
	gs_emit_bind(&g->e, keep);
	read_before_cursor(g, m);
	gs_emit_goto(&g->e, m->finish);
}

static void string_item(struct gs_gen *g, const struct gs_gen_hand *m)
{
	struct string s = {m, 0, gs_emit_label(&g->e, "string_read")};
	int32_t size = (int32_t)m->it->size;

	address_of(g, m->it->node);
	skip_null(g, m);
	string_limit(g, &s);
	gs_gen_open_destination(g, m);
	try_string(g, &s);
	if (gs_gen_must_restart(g)) {
		gs_emit_mov(&g->e, BPF_REG_1, GS_R_ADDR);
		gs_emit_load(&g->e, BPF_DW, BPF_REG_2, BPF_REG_10, GS_FP_LIMIT);
		gs_gen_restart_point(g);
	}
	gs_gen_scan(g, m->it->size + s.extra, try_string, &s);
	string_without_end(g, &s);

	gs_emit_bind(&g->e, s.got);
	gs_gen_set_status(g, m, GS_STATUS_OK);
	gs_emit_alui(&g->e, BPF_SUB, BPF_REG_0, 1); /* the NUL */
	gs_emit_ifi(&g->e, BPF_JLE, BPF_REG_0, size, m->finish);
	gs_emit_movi(&g->e, BPF_REG_0, size);
	gs_gen_set_status(g, m, GS_STATUS_TRUNCATED);
	gs_emit_bind(&g->e, m->finish);
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_UNAVAILABLE);
	gs_emit_movi(&g->e, BPF_REG_2, 0);
	gs_emit_ifi(&g->e, BPF_JGT, BPF_REG_0, size, m->fail);
	gs_gen_close_destination(g, m);
}

/* ---- one item ---- */

static void capture(struct gs_gen *g, const struct gs_gen_hand *m)
{
	switch (m->it->kind) {
	case GS_ITEM_VALUE:
		gs_gen_value(g, m->it->node);
		gs_gen_record_store(g, BPF_DW, m->slot, BPF_REG_0);
		gs_gen_set_status(g, m, GS_STATUS_OK);
		break;
	case GS_ITEM_MEMORY:
		memory_item(g, m);
		gs_gen_set_status(g, m, GS_STATUS_OK);
		break;
	case GS_ITEM_PIECES:
		pieces_item(g, m);
		gs_gen_set_status(g, m, GS_STATUS_OK);
		break;
	case GS_ITEM_COMM:
		comm_item(g, m);
		gs_gen_set_status(g, m, GS_STATUS_OK);
		break;
	case GS_ITEM_ARRAY:
		array_item(g, m);
		break;
	case GS_ITEM_WALK:
		gs_gen_walk(g, m);
		break;
	default:
		string_item(g, m);
	}
}

void gs_gen_item(struct gs_gen *g, size_t index)
{
	const struct gs_plan_item *it = &g->plan->items[index];
	struct gs_gen_hand m = {.it = it,
				.index = (uint32_t)index,
				.status_off = gs_layout_status((uint32_t)index),
				.slot = g->layout->slot[index]};
	bool own_units = it->kind == GS_ITEM_PIECES;

	if (it->kind == GS_ITEM_ABSENT) {
		gs_emit_note(&g->e, "i%zu: %s", index, gs_status_name(it->status));
		gs_gen_set_status(g, &m, it->status);
		return;
	}
	gs_emit_note(&g->e, "i%zu", index);
	m.fail = gs_emit_label(&g->e, "item_fails");
	m.done = gs_emit_label(&g->e, "next_item");
	m.finish = gs_emit_label(&g->e, "item_ends");
	g->fail = m.fail;
	require_parent(g, &m);
	if (!own_units)
		gs_gen_unit_begin(g, it->kind == GS_ITEM_COMM ? GS_NODE_NONE : it->node,
				  it->kind == GS_ITEM_ARRAY || it->kind == GS_ITEM_STRING ||
						  it->kind == GS_ITEM_WALK
					  ? it->count
					  : GS_NODE_NONE);
	capture(g, &m);
	if (!own_units)
		gs_gen_unit_end(g);
	if (gs_emit_label_used(&g->e, m.fail)) {
		gs_emit_goto(&g->e, m.done);
		gs_emit_bind(&g->e, m.fail);
		gs_gen_record_store(g, BPF_B, m.status_off, BPF_REG_1);
		gs_gen_record_store(g, BPF_DW, m.slot, BPF_REG_2);
	}
	gs_emit_bind(&g->e, m.done);
}
