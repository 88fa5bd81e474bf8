/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expressions of a plan as instructions: values in r0, truth as jumps, failures with a status.
 * In the flow: called by the generator for the condition and for the nodes of each item.
 */
#include "bpf/gen.h"
#include "bpf/plan_ops.h"
#include "common/status.h"

/* pt_regs of x86-64 by DWARF register number (System V ABI, figure 3.36). */
static const int16_t reg_offset[GS_PLAN_REG_FLAGS + 1] = {80, 96, 88, 40, 104, 112, 32, 152, 72,
							  64, 56, 48, 24, 16,  8,   0,	128, 144};

static const struct gs_plan_node *node_at(const struct gs_gen *g, uint16_t i)
{
	return &g->plan->nodes[i];
}

/* ---- spill slots and kept values ---- */

int gs_gen_slot_take(struct gs_gen *g)
{
	int i;

	if (!g->free_slots) {
		g->out_of_slots = true;
		return g->slot_base - 8;
	}
	i = __builtin_ctzll(g->free_slots);
	g->free_slots &= ~(1ull << i);
	return g->slot_base - 8 * (i + 1);
}

void gs_gen_slot_give(struct gs_gen *g, int off)
{
	if (!g->out_of_slots)
		g->free_slots |= 1ull << ((g->slot_base - off) / 8 - 1);
}

static void count_uses(struct gs_gen *g, uint16_t i)
{
	const struct gs_plan_node *n = node_at(g, i);
	uint16_t operand[3] = {n->a, n->b, n->c};

	if (g->uses[i]++)
		return;
	g->touched[g->ntouched++] = i;
	for (unsigned k = 0; k < gs_plan_op_operands(n->op); k++)
		count_uses(g, operand[k]);
}

void gs_gen_unit_begin(struct gs_gen *g, uint16_t node, uint16_t also)
{
	if (node != GS_NODE_NONE)
		count_uses(g, node);
	if (also != GS_NODE_NONE)
		count_uses(g, also);
}

void gs_gen_unit_end(struct gs_gen *g)
{
	gs_gen_scope_end(g, 0);
	for (size_t i = 0; i < g->ntouched; i++)
		g->uses[g->touched[i]] = 0;
	g->ntouched = 0;
}

size_t gs_gen_scope_begin(const struct gs_gen *g)
{
	return g->nmemo;
}

void gs_gen_scope_end(struct gs_gen *g, size_t mark)
{
	while (g->nmemo > mark) {
		uint16_t i = g->memo_log[--g->nmemo];

		gs_gen_slot_give(g, g->memo[i] - 1);
		g->memo[i] = 0;
	}
}

/* Keeps r0 as the value of a node that is used again, if there is room: it must not be read twice
 * with different results, and need not be. */
static void keep(struct gs_gen *g, uint16_t i)
{
	if (g->uses[i] < 2 || __builtin_popcountll(g->free_slots) < 6)
		return;
	g->memo[i] = (int16_t)(gs_gen_slot_take(g) + 1);
	g->memo_log[g->nmemo++] = i;
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, (int16_t)(g->memo[i] - 1), BPF_REG_0);
}

/* ---- leaves ---- */

void gs_gen_fail(struct gs_gen *g, unsigned status)
{
	gs_emit_movi(&g->e, BPF_REG_1, (int32_t)status);
	gs_emit_movi(&g->e, BPF_REG_2, 0);
	/* Always taken; as a conditional jump it leaves what follows reachable, which check_cfg
	 * wants. */
	gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_1, 0, g->fail);
}

/* Leaves that any register can be loaded with, without disturbing the others. */
static bool is_simple(const struct gs_gen *g, uint16_t i)
{
	const struct gs_plan_node *n = node_at(g, i);

	switch (n->op) {
	case GS_OP_CONST:
	case GS_OP_REG:
	case GS_OP_BIAS:
		return true;
	case GS_OP_BUILTIN:
		return n->imm != GS_PLAN_CPU && n->imm != GS_PLAN_UID;
	default:
		return g->memo[i] != 0;
	}
}

static void simple_builtin(struct gs_gen *g, uint8_t dst, int64_t which)
{
	switch (which) {
	case GS_PLAN_PID:
		gs_emit_load(&g->e, BPF_W, dst, BPF_REG_10, GS_FP_PID_TGID + 4);
		break;
	case GS_PLAN_TID:
		gs_emit_load(&g->e, BPF_W, dst, BPF_REG_10, GS_FP_PID_TGID);
		break;
	case GS_PLAN_TIME:
		gs_emit_load(&g->e, BPF_DW, dst, BPF_REG_10, GS_FP_TIME);
		break;
	default:
		gs_emit_load(&g->e, BPF_W, dst, BPF_REG_10, GS_FP_SITE);
	}
}

static void simple(struct gs_gen *g, uint8_t dst, uint16_t i)
{
	const struct gs_plan_node *n = node_at(g, i);

	switch (n->op) {
	case GS_OP_CONST:
		gs_emit_imm64(&g->e, dst, (uint64_t)n->imm);
		break;
	case GS_OP_REG:
		gs_emit_load(&g->e, BPF_DW, dst, GS_R_CTX, reg_offset[n->imm]);
		break;
	case GS_OP_BIAS:
		gs_emit_load(&g->e, BPF_DW, dst, BPF_REG_10, GS_FP_BIAS);
		break;
	case GS_OP_BUILTIN:
		simple_builtin(g, dst, n->imm);
		break;
	default:
		gs_emit_load(&g->e, BPF_DW, dst, BPF_REG_10, (int16_t)(g->memo[i] - 1));
	}
}

static void call_builtin(struct gs_gen *g, int64_t which)
{
	if (which == GS_PLAN_CPU) {
		gs_emit_call(&g->e, BPF_FUNC_get_smp_processor_id);
		return;
	}
	gs_emit_call(&g->e, BPF_FUNC_get_current_uid_gid);
	gs_emit_alui(&g->e, BPF_LSH, BPF_REG_0, 32);
	gs_emit_alui(&g->e, BPF_RSH, BPF_REG_0, 32);
}

static void tls_base(struct gs_gen *g)
{
	if (!g->opts->tls_offset) {
		gs_gen_fail(g, GS_STATUS_UNAVAILABLE);
		return;
	}
	gs_emit_call(&g->e, BPF_FUNC_get_current_task);
	gs_emit_mov(&g->e, BPF_REG_3, BPF_REG_0);
	gs_emit_alui(&g->e, BPF_ADD, BPF_REG_3, (int32_t)g->opts->tls_offset);
	gs_emit_mov(&g->e, BPF_REG_1, BPF_REG_10);
	gs_emit_alui(&g->e, BPF_ADD, BPF_REG_1, GS_FP_SCRATCH);
	gs_emit_movi(&g->e, BPF_REG_2, 8);
	gs_emit_call(&g->e, BPF_FUNC_probe_read_kernel);
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_UNAVAILABLE);
	gs_emit_movi(&g->e, BPF_REG_2, 0);
	gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_0, 0, g->fail);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_0, BPF_REG_10, GS_FP_SCRATCH);
}

/* ---- values captured earlier ---- */

/* r0 = SIZE bytes at r5; any size up to 8, by powers of two. */
static void gather(struct gs_gen *g, unsigned size)
{
	static const struct {
		unsigned bytes;
		uint8_t width;
	} steps[] = {{8, BPF_DW}, {4, BPF_W}, {2, BPF_H}, {1, BPF_B}};
	unsigned done = 0;

	for (size_t i = 0; i < GS_ARRAY_SIZE(steps); i++) {
		if (size - done < steps[i].bytes)
			continue;
		gs_emit_load(&g->e, steps[i].width, done ? BPF_REG_1 : BPF_REG_0, BPF_REG_5,
			     (int16_t)done);
		if (done) {
			gs_emit_alui(&g->e, BPF_LSH, BPF_REG_1, (int32_t)(done * 8));
			gs_emit_alu(&g->e, BPF_OR, BPF_REG_0, BPF_REG_1);
		}
		done += steps[i].bytes;
	}
}

/* Fails with the item's own status unless it has data. */
static void require_data(struct gs_gen *g, uint16_t item)
{
	gs_label has = gs_emit_label(&g->e, "captured");

	gs_gen_record_load(g, BPF_B, BPF_REG_1, gs_layout_status(item));
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_1, GS_STATUS_OK, has);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_1, GS_STATUS_TRUNCATED, has);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_1, GS_STATUS_PARTIAL, has);
	gs_gen_record_load(g, BPF_DW, BPF_REG_2, g->layout->slot[item]);
	gs_emit_goto(&g->e, g->fail);
	gs_emit_bind(&g->e, has);
}

static void captured(struct gs_gen *g, const struct gs_plan_node *n)
{
	const struct gs_layout_item *item = &g->layout->items[n->a];
	uint32_t slot = g->layout->slot[n->a];

	require_data(g, n->a);
	if ((uint64_t)n->imm + n->size > item->size ||
	    g->plan->items[n->a].kind == GS_ITEM_ABSENT) {
		gs_gen_fail(g, GS_STATUS_NOT_COLLECTED);
		gs_emit_movi(&g->e, BPF_REG_0, 0);
		return;
	}
	if (!item->variable) {
		gs_gen_record_at(g, BPF_REG_5, slot + (uint32_t)n->imm);
		gather(g, n->size);
		return;
	}
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_NOT_COLLECTED);
	gs_emit_movi(&g->e, BPF_REG_2, 0);
	gs_gen_record_load(g, BPF_W, BPF_REG_3, slot);
	gs_emit_ifi(&g->e, BPF_JLT, BPF_REG_3, (int32_t)(n->imm + n->size), g->fail);
	gs_gen_record_load(g, BPF_W, BPF_REG_3, slot + 4);
	gs_emit_ifi(&g->e, BPF_JGT, BPF_REG_3, (int32_t)g->max_offset[n->a], g->fail);
	gs_emit_mov(&g->e, BPF_REG_5, GS_R_RECORD);
	gs_emit_alu(&g->e, BPF_ADD, BPF_REG_5, BPF_REG_3);
	gs_emit_alui(&g->e, BPF_ADD, BPF_REG_5, (int32_t)n->imm);
	gather(g, n->size);
}

/* ---- unary ---- */

static uint8_t width_of(unsigned size)
{
	return size == 1 ? BPF_B : size == 2 ? BPF_H : size == 4 ? BPF_W : BPF_DW;
}

static void load(struct gs_gen *g, const struct gs_plan_node *n)
{
	gs_label ok = gs_emit_label(&g->e, "loaded");

	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_LOAD_ADDR, BPF_REG_0);
	gs_gen_read_to_stack(g, BPF_FUNC_probe_read_user, GS_FP_SCRATCH, n->size, GS_FP_LOAD_ADDR);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, ok);
	if (gs_gen_may_sleep(g)) {
		gs_gen_read_to_stack(g, BPF_FUNC_copy_from_user, GS_FP_SCRATCH, n->size,
				     GS_FP_LOAD_ADDR);
		gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, ok);
	} else if (gs_gen_must_restart(g)) {
		gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, GS_FP_LOAD_ADDR);
		gs_emit_movi(&g->e, BPF_REG_2, n->size);
		gs_gen_restart_point(g);
	}
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_FAULT);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_2, BPF_REG_10, GS_FP_LOAD_ADDR);
	gs_emit_goto(&g->e, g->fail);
	gs_emit_bind(&g->e, ok);
	gs_emit_load(&g->e, width_of(n->size), BPF_REG_0, BPF_REG_10, GS_FP_SCRATCH);
}

static void extend(struct gs_gen *g, const struct gs_plan_node *n)
{
	int32_t drop = 64 - 8 * n->size;

	if (drop <= 0)
		return;
	gs_emit_alui(&g->e, BPF_LSH, BPF_REG_0, drop);
	gs_emit_alui(&g->e, n->op == GS_OP_SEXT ? BPF_ARSH : BPF_RSH, BPF_REG_0, drop);
}

static void unary(struct gs_gen *g, const struct gs_plan_node *n)
{
	gs_gen_value(g, n->a);
	switch (n->op) {
	case GS_OP_LOAD:
		load(g, n);
		break;
	case GS_OP_ZEXT:
	case GS_OP_SEXT:
		extend(g, n);
		break;
	case GS_OP_NEG:
		gs_emit_neg(&g->e, BPF_REG_0);
		break;
	default:
		gs_emit_alui(&g->e, BPF_XOR, BPF_REG_0, -1);
	}
}

/* ---- binary ---- */

/* r0 = a, r1 = b. The deeper operand first, so that chains of either shape need one slot. */
static unsigned depth_of(const struct gs_gen *g, uint16_t i, unsigned most)
{
	const struct gs_plan_node *n = node_at(g, i);
	uint16_t operand[3] = {n->a, n->b, n->c};
	unsigned depth = 0;

	if (most == 0 || is_simple(g, i))
		return 0;
	for (unsigned k = 0; k < gs_plan_op_operands(n->op); k++) {
		unsigned d = depth_of(g, operand[k], most - 1);

		depth = d > depth ? d : depth;
	}
	return depth + 1;
}

static void operands(struct gs_gen *g, const struct gs_plan_node *n)
{
	bool b_first;
	int slot;

	if (is_simple(g, n->b)) {
		gs_gen_value(g, n->a);
		simple(g, BPF_REG_1, n->b);
		return;
	}
	if (is_simple(g, n->a)) {
		gs_gen_value(g, n->b);
		gs_emit_mov(&g->e, BPF_REG_1, BPF_REG_0);
		simple(g, BPF_REG_0, n->a);
		return;
	}
	b_first = depth_of(g, n->b, 12) > depth_of(g, n->a, 12);
	gs_gen_value(g, b_first ? n->b : n->a);
	slot = gs_gen_slot_take(g);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, (int16_t)slot, BPF_REG_0);
	gs_gen_value(g, b_first ? n->a : n->b);
	if (!b_first)
		gs_emit_mov(&g->e, BPF_REG_1, BPF_REG_0);
	gs_emit_load(&g->e, BPF_DW, b_first ? BPF_REG_1 : BPF_REG_0, BPF_REG_10, (int16_t)slot);
	gs_gen_slot_give(g, slot);
}

static void shift(struct gs_gen *g, const struct gs_plan_node *n)
{
	static const uint8_t op[] = {BPF_LSH, BPF_RSH, BPF_ARSH};

	gs_emit_mov(&g->e, BPF_REG_3, BPF_REG_1);
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_BAD_SHIFT);
	gs_emit_movi(&g->e, BPF_REG_2, 0);
	gs_emit_ifi(&g->e, BPF_JGE, BPF_REG_3, n->size * 8, g->fail);
	gs_emit_alu(&g->e, op[n->op - GS_OP_SHL], BPF_REG_0, BPF_REG_3);
}

/* -reg if it is negative */
static void magnitude(struct gs_gen *g, uint8_t reg)
{
	gs_label positive = gs_emit_label(&g->e, "positive");

	gs_emit_ifi(&g->e, BPF_JSGE, reg, 0, positive);
	gs_emit_neg(&g->e, reg);
	gs_emit_bind(&g->e, positive);
}

/* The least value of the width by -1 has no quotient. r0 dividend, r3 divisor; r1, r2 set for a
 * failure. */
static void refuse_overflow(struct gs_gen *g, unsigned size)
{
	gs_label fine = gs_emit_label(&g->e, "divisible");
	uint64_t least = 1ull << (size * 8 - 1);

	gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_3, -1, fine);
	gs_emit_imm64(&g->e, BPF_REG_4, 0 - least);
	gs_emit_if(&g->e, BPF_JEQ, BPF_REG_0, BPF_REG_4, g->fail);
	gs_emit_bind(&g->e, fine);
}

/* BPF before cpu v4 divides unsigned only: signed division is by magnitudes, the sign put back. */
static void divide(struct gs_gen *g, const struct gs_plan_node *n)
{
	bool is_signed = n->op == GS_OP_SDIV || n->op == GS_OP_SMOD;
	bool is_mod = n->op == GS_OP_UMOD || n->op == GS_OP_SMOD;
	gs_label done = gs_emit_label(&g->e, "divided");

	gs_emit_mov(&g->e, BPF_REG_3, BPF_REG_1);
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_DIV_ZERO);
	gs_emit_movi(&g->e, BPF_REG_2, 0);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_3, 0, g->fail);
	if (is_signed) {
		refuse_overflow(g, n->size);
		gs_emit_mov(&g->e, BPF_REG_5, BPF_REG_0);
		if (!is_mod) /* a remainder has the sign of the dividend alone */
			gs_emit_alu(&g->e, BPF_XOR, BPF_REG_5, BPF_REG_3);
		magnitude(g, BPF_REG_0);
		magnitude(g, BPF_REG_3);
	}
	gs_emit_alu(&g->e, is_mod ? BPF_MOD : BPF_DIV, BPF_REG_0, BPF_REG_3);
	if (is_signed) {
		gs_emit_ifi(&g->e, BPF_JSGE, BPF_REG_5, 0, done);
		gs_emit_neg(&g->e, BPF_REG_0);
	}
	gs_emit_bind(&g->e, done);
}

static void arithmetic(struct gs_gen *g, const struct gs_plan_node *n)
{
	static const uint8_t op[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_AND, BPF_OR, BPF_XOR};
	const struct gs_plan_node *b = node_at(g, n->b);

	if (n->op <= GS_OP_XOR && b->op == GS_OP_CONST && b->imm == (int32_t)b->imm) {
		gs_gen_value(g, n->a);
		gs_emit_alui(&g->e, op[n->op - GS_OP_ADD], BPF_REG_0, (int32_t)b->imm);
		return;
	}
	operands(g, n);
	if (n->op <= GS_OP_XOR)
		gs_emit_alu(&g->e, op[n->op - GS_OP_ADD], BPF_REG_0, BPF_REG_1);
	else if (n->op <= GS_OP_SAR)
		shift(g, n);
	else
		divide(g, n);
}

/* ---- truth ---- */

static void compare_jump(struct gs_gen *g, const struct gs_plan_node *n, gs_label label, bool sense)
{
	static const struct {
		uint8_t yes, no;
	} jumps[] = {{BPF_JEQ, BPF_JNE}, {BPF_JNE, BPF_JEQ},   {BPF_JLT, BPF_JGE},
		     {BPF_JLE, BPF_JGT}, {BPF_JSLT, BPF_JSGE}, {BPF_JSLE, BPF_JSGT}};
	const struct gs_plan_node *b = node_at(g, n->b);
	uint8_t op = sense ? jumps[n->op - GS_OP_EQ].yes : jumps[n->op - GS_OP_EQ].no;

	if (b->op == GS_OP_CONST && b->imm == (int32_t)b->imm) {
		gs_gen_value(g, n->a);
		gs_emit_ifi(&g->e, op, BPF_REG_0, (int32_t)b->imm, label);
		return;
	}
	operands(g, n);
	gs_emit_if(&g->e, op, BPF_REG_0, BPF_REG_1, label);
}

/* && that must be false, or || that must be true, leaves at the first operand that decides; the
 * other two pass it by. */
static void control_jump(struct gs_gen *g, const struct gs_plan_node *n, gs_label label, bool sense)
{
	bool decides = n->op == GS_OP_LOR; /* the truth of a that decides the whole */
	gs_label past = gs_emit_label(&g->e, "decided");
	size_t mark;

	gs_gen_jump(g, n->a, sense == decides ? label : past, decides);
	mark = gs_gen_scope_begin(g);
	gs_gen_jump(g, n->b, label, sense);
	gs_gen_scope_end(g, mark);
	gs_emit_bind(&g->e, past);
}

void gs_gen_jump(struct gs_gen *g, uint16_t node, gs_label label, bool sense)
{
	const struct gs_plan_node *n = node_at(g, node);

	if (g->memo[node])
		goto by_value;
	switch (n->op) {
	case GS_OP_LAND:
	case GS_OP_LOR:
		control_jump(g, n, label, sense);
		return;
	case GS_OP_LNOT:
		gs_gen_jump(g, n->a, label, !sense);
		return;
	case GS_OP_BOOL:
		gs_gen_jump(g, n->a, label, sense);
		return;
	case GS_OP_STR_EQ:
	case GS_OP_STR_PREFIX:
	case GS_OP_STR_FIND:
		gs_gen_text_jump(g, node, label, sense);
		return;
	default:
		if (n->op >= GS_OP_EQ && n->op <= GS_OP_SLE) {
			compare_jump(g, n, label, sense);
			return;
		}
	}
by_value:
	gs_gen_value(g, node);
	gs_emit_ifi(&g->e, sense ? BPF_JNE : BPF_JEQ, BPF_REG_0, 0, label);
}

/* The truth of a node as 0 or 1. */
static void truth(struct gs_gen *g, uint16_t node)
{
	gs_label no = gs_emit_label(&g->e, "false"), end = gs_emit_label(&g->e, "bool");

	gs_gen_jump(g, node, no, false);
	gs_emit_movi(&g->e, BPF_REG_0, 1);
	gs_emit_goto(&g->e, end);
	gs_emit_bind(&g->e, no);
	gs_emit_movi(&g->e, BPF_REG_0, 0);
	gs_emit_bind(&g->e, end);
}

static void select_value(struct gs_gen *g, const struct gs_plan_node *n)
{
	gs_label other = gs_emit_label(&g->e, "else"), end = gs_emit_label(&g->e, "selected");
	size_t mark;

	gs_gen_jump(g, n->a, other, false);
	mark = gs_gen_scope_begin(g);
	gs_gen_value(g, n->b);
	gs_gen_scope_end(g, mark);
	gs_emit_goto(&g->e, end);
	gs_emit_bind(&g->e, other);
	gs_gen_value(g, n->c);
	gs_gen_scope_end(g, mark);
	gs_emit_bind(&g->e, end);
}

static bool is_truth(unsigned op)
{
	return op == GS_OP_LNOT || op == GS_OP_BOOL || (op >= GS_OP_EQ && op <= GS_OP_LOR) ||
	       (op >= GS_OP_STR_EQ && op <= GS_OP_STR_FIND);
}

static void compute(struct gs_gen *g, uint16_t node)
{
	const struct gs_plan_node *n = node_at(g, node);

	if (is_truth(n->op))
		truth(g, node);
	else if (gs_plan_op_is_unary(n->op))
		unary(g, n);
	else if (gs_plan_op_is_binary(n->op))
		arithmetic(g, n);
	else if (n->op == GS_OP_SELECT)
		select_value(g, n);
	else if (n->op == GS_OP_TLS_BASE)
		tls_base(g);
	else if (n->op == GS_OP_ITEM)
		captured(g, n);
	else if (n->op == GS_OP_BUILTIN)
		call_builtin(g, n->imm);
	else if (n->op == GS_OP_SAVED)
		gs_gen_saved(g, n->imm);
	else
		gs_gen_fail(g, (unsigned)n->imm);
}

void gs_gen_value(struct gs_gen *g, uint16_t node)
{
	if (is_simple(g, node)) {
		simple(g, BPF_REG_0, node);
		return;
	}
	compute(g, node);
	keep(g, node);
}
