/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values saved at a function's entry, and found again at another instruction of the same call.
 * In the flow: called by the generator before the condition, and for SAVED leaves.
 *
 * The map is an LRU hash: a frame whose function never returns (longjmp, an exception, a thread
 * that ends) is pushed out in time. So an element may be given to another key at any moment while
 * it is read; what was read counts only if the key is still there afterwards. Nobody but this very
 * thread inserts this key.
 */
#include "bpf/gen.h"
#include "common/status.h"

/* A status byte is one more than the status: the verifier would tell paths apart by a zero. */
#define STATUS_BIAS 1

unsigned gs_gen_frame_bytes(const struct gs_gen *g)
{
	return g->plan->kind == GS_PLAN_ENTRY ? gs_frame_size(g->opts->frame_slots) : 0;
}

void gs_gen_guard(struct gs_gen *g, gs_label label)
{
	if (g->plan->guard == GS_NODE_NONE)
		return;
	gs_emit_note(&g->e, "a hit only if n%u", g->plan->guard);
	g->fail = label;
	g->in_condition = true;
	gs_gen_unit_begin(g, g->plan->guard, GS_NODE_NONE);
	gs_gen_jump(g, g->plan->guard, label, false);
	gs_gen_unit_end(g);
	g->in_condition = false;
}

/* r0 = NODE; failures go to LABEL. */
static void early_value(struct gs_gen *g, uint16_t node, gs_label label)
{
	g->fail = label;
	g->in_condition = true;
	gs_gen_unit_begin(g, node, GS_NODE_NONE);
	gs_gen_value(g, node);
	gs_gen_unit_end(g);
	g->in_condition = false;
}

static void make_key(struct gs_gen *g)
{
	gs_label unknown = gs_emit_label(&g->e, "no_frame_address");
	gs_label made = gs_emit_label(&g->e, "frame_key");

	gs_emit_note(&g->e, "key of the call's frame");
	gs_emit_call(&g->e, BPF_FUNC_get_current_pid_tgid);
	gs_emit_alui(&g->e, BPF_RSH, BPF_REG_0, 32);
	gs_emit_store(&g->e, BPF_W, BPF_REG_10, GS_FP_FRAME, BPF_REG_0);
	early_value(g, g->plan->frame, unknown);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_FRAME + 8, BPF_REG_0);
	if (!gs_emit_label_used(&g->e, unknown))
		return;
	gs_emit_goto(&g->e, made);
	gs_emit_bind(&g->e, unknown);
	gs_emit_storei(&g->e, BPF_DW, BPF_REG_10, GS_FP_FRAME + 8, 0);
	gs_emit_bind(&g->e, made);
}

/* The frame at r0 is of this very call: what the callee leaves as it was is as it was. */
static void check_frame(struct gs_gen *g, gs_label found, gs_label none)
{
	int slot = gs_gen_slot_take(g);

	gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_0,
		     (int16_t)gs_frame_value(g->opts->frame_slots, 0));
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, (int16_t)slot, BPF_REG_1);
	early_value(g, g->plan->check, none);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, (int16_t)slot);
	gs_gen_slot_give(g, slot);
	gs_emit_if(&g->e, BPF_JEQ, BPF_REG_0, BPF_REG_1, found);
}

void gs_gen_find_frame(struct gs_gen *g)
{
	gs_label found = gs_emit_label(&g->e, "frame_found");
	gs_label none = gs_emit_label(&g->e, "no_frame");

	make_key(g);
	gs_gen_lookup(g, GS_MAP_FRAMES, GS_FP_FRAME, none);
	if (g->plan->check != GS_NODE_NONE)
		check_frame(g, found, none);
	else
		gs_emit_goto(&g->e, found);
	gs_emit_bind(&g->e, none);
	gs_emit_storei(&g->e, BPF_DW, BPF_REG_10, GS_FP_FRAME + 8, 0);
	gs_emit_bind(&g->e, found);
}

void gs_gen_drop_frame(struct gs_gen *g)
{
	gs_emit_map(&g->e, BPF_REG_1, GS_MAP_FRAMES);
	gs_emit_mov(&g->e, BPF_REG_2, BPF_REG_10);
	gs_emit_alui(&g->e, BPF_ADD, BPF_REG_2, GS_FP_FRAME);
	gs_emit_call(&g->e, BPF_FUNC_map_delete_elem);
}

static void save_slot(struct gs_gen *g, int base, uint32_t slot)
{
	gs_label fails = gs_emit_label(&g->e, "save_fails");
	gs_label next = gs_emit_label(&g->e, "next_slot");
	int16_t status = (int16_t)(base + (int)gs_frame_status(slot));
	int16_t value = (int16_t)(base + (int)gs_frame_value(g->opts->frame_slots, slot));

	gs_emit_note(&g->e, "s%u", slot);
	early_value(g, g->plan->saves[slot], fails);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, value, BPF_REG_0);
	gs_emit_storei(&g->e, BPF_B, BPF_REG_10, status, GS_STATUS_OK + STATUS_BIAS);
	if (!gs_emit_label_used(&g->e, fails))
		return;
	gs_emit_goto(&g->e, next);
	gs_emit_bind(&g->e, fails);
	gs_emit_alui(&g->e, BPF_ADD, BPF_REG_1, STATUS_BIAS);
	gs_emit_store(&g->e, BPF_B, BPF_REG_10, status, BPF_REG_1);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, value, BPF_REG_2);
	gs_emit_bind(&g->e, next);
}

void gs_gen_save_frame(struct gs_gen *g)
{
	gs_label saved = gs_emit_label(&g->e, "saved");
	int size = (int)gs_gen_frame_bytes(g), base = GS_FP_END - size;

	make_key(g);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, GS_FP_TIME);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, (int16_t)base, BPF_REG_1);
	for (int at = 8; at < size; at += 8)
		gs_emit_storei(&g->e, BPF_DW, BPF_REG_10, (int16_t)(base + at), 0);
	for (uint32_t i = 0; i < g->plan->nsaves; i++)
		save_slot(g, base, i);
	gs_emit_note(&g->e, "save the frame");
	gs_emit_map(&g->e, BPF_REG_1, GS_MAP_FRAMES);
	gs_emit_mov(&g->e, BPF_REG_2, BPF_REG_10);
	gs_emit_alui(&g->e, BPF_ADD, BPF_REG_2, GS_FP_FRAME);
	gs_emit_mov(&g->e, BPF_REG_3, BPF_REG_10);
	gs_emit_alui(&g->e, BPF_ADD, BPF_REG_3, base);
	gs_emit_movi(&g->e, BPF_REG_4, BPF_ANY);
	gs_emit_call(&g->e, BPF_FUNC_map_update_elem);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, saved);
	gs_gen_drop_frame(g); /* of an earlier call, which this one is not */
	gs_emit_bind(&g->e, saved);
}

void gs_gen_saved(struct gs_gen *g, int64_t slot)
{
	gs_label none = gs_emit_label(&g->e, "not_saved"), end = gs_emit_label(&g->e, "was_saved");
	bool time = slot == GS_SAVED_TIME;
	uint32_t at = time ? 0 : gs_frame_value(g->opts->frame_slots, (uint32_t)slot);

	gs_gen_lookup(g, GS_MAP_FRAMES, GS_FP_FRAME, none);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_0, (int16_t)at);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_SCRATCH, BPF_REG_1);
	if (!time) {
		gs_emit_load(&g->e, BPF_B, BPF_REG_1, BPF_REG_0,
			     (int16_t)gs_frame_status((uint32_t)slot));
		gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_LOAD_ADDR, BPF_REG_1);
	}
	gs_gen_lookup(g, GS_MAP_FRAMES, GS_FP_FRAME, none);
	if (!time) {
		gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, GS_FP_LOAD_ADDR);
		gs_emit_load(&g->e, BPF_DW, BPF_REG_2, BPF_REG_10, GS_FP_SCRATCH);
		gs_emit_alui(&g->e, BPF_SUB, BPF_REG_1, STATUS_BIAS);
		gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_1, GS_STATUS_OK, g->fail);
	}
	gs_emit_load(&g->e, BPF_DW, BPF_REG_0, BPF_REG_10, GS_FP_SCRATCH);
	gs_emit_goto(&g->e, end);
	gs_emit_bind(&g->e, none);
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_UNAVAILABLE);
	gs_emit_movi(&g->e, BPF_REG_2, 0);
	gs_emit_goto(&g->e, g->fail);
	gs_emit_bind(&g->e, end);
}
