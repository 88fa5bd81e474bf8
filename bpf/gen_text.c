/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * String comparisons: a user string, read onto the stack, against a literal of the plan.
 * In the flow: the str_* operations of the generator's expressions.
 */
#include "bpf/gen.h"
#include "common/status.h"

/* Of a user string only so much is looked at by "contains" (bpf/plan.h). */
#define FIND_BYTES 255u
/* Odd, so that every power of it is invertible and no byte of the window is lost from the hash. */
#define HASH_BASE 1000003

static const uint8_t *literal_of(const struct gs_plan *plan, const struct gs_plan_node *n,
				 uint32_t *len)
{
	const uint8_t *text = plan->data + n->imm;
	const uint8_t *end = n->size ? memchr(text, 0, n->size) : NULL;

	*len = end ? (uint32_t)(end - text) : n->size;
	return text;
}

/* Bytes to ask for: the literal, a NUL, and for equality one more to see that there is a NUL. */
static uint32_t wanted(const struct gs_plan_node *n, uint32_t len)
{
	if (n->op == GS_OP_STR_FIND)
		return FIND_BYTES + 1;
	return n->op == GS_OP_STR_EQ ? len + 2 : len + 1;
}

unsigned gs_gen_text_buffer(const struct gs_plan *plan)
{
	uint32_t most = 0;

	for (size_t i = 0; i < plan->nnodes; i++) {
		const struct gs_plan_node *n = &plan->nodes[i];
		uint32_t len, need;

		if (n->op != GS_OP_STR_EQ && n->op != GS_OP_STR_PREFIX && n->op != GS_OP_STR_FIND)
			continue;
		literal_of(plan, n, &len);
		need = (wanted(n, len) + 7) & ~7u;
		most = need > most ? need : most;
	}
	return most;
}

static void read_text(struct gs_gen *g, uint32_t size, int addr_slot, gs_label got)
{
	gs_gen_read_to_stack(g, BPF_FUNC_probe_read_user_str, g->text_buf, size, addr_slot);
	gs_emit_ifi(&g->e, BPF_JSGT, BPF_REG_0, 0, got);
}

/* Touches the byte at *SLOT + r2's page rule: the start of the string, then the start of the next
 * page. */
static void touch(struct gs_gen *g, int slot, gs_label unreadable)
{
	gs_gen_read_to_stack(g, BPF_FUNC_copy_from_user, GS_FP_SCRATCH, 1, slot);
	gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_0, 0, unreadable);
}

/* Reads the string; r0 is its length with NUL. Leaves by a failure when it cannot be read. */
static void fetch(struct gs_gen *g, const struct gs_plan_node *n, uint32_t len, int addr)
{
	gs_label got = gs_emit_label(&g->e, "text");
	gs_label fault = gs_emit_label(&g->e, "text_faults");
	uint32_t size = wanted(n, len);

	read_text(g, size, addr, got);
	if (gs_gen_may_sleep(g)) {
		int page = gs_gen_slot_take(g);

		touch(g, addr, fault);
		read_text(g, size, addr, got);
		gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, (int16_t)addr);
		gs_emit_alui(&g->e, BPF_AND, BPF_REG_1, -(int32_t)GS_PAGE);
		gs_emit_alui(&g->e, BPF_ADD, BPF_REG_1, GS_PAGE);
		gs_emit_store(&g->e, BPF_DW, BPF_REG_10, (int16_t)page, BPF_REG_1);
		touch(g, page, fault);
		read_text(g, size, addr, got);
		gs_gen_slot_give(g, page);
	} else if (gs_gen_must_restart(g)) {
		gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, (int16_t)addr);
		gs_emit_movi(&g->e, BPF_REG_2, (int32_t)size);
		gs_gen_restart_point(g);
	}
	gs_emit_bind(&g->e, fault);
	if (n->op == GS_OP_STR_PREFIX && len) {
		/* The prefix may be the last thing before the end of memory. */
		gs_gen_read_to_stack(g, BPF_FUNC_probe_read_user, g->text_buf, len, addr);
		gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, got);
	}
	gs_emit_movi(&g->e, BPF_REG_1, GS_STATUS_FAULT);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_2, BPF_REG_10, (int16_t)addr);
	gs_emit_goto(&g->e, g->fail);
	gs_emit_bind(&g->e, got);
}

/* Goes to DIFFER unless the buffer begins with TEXT: the widest aligned comparisons that fit. */
static void compare(struct gs_gen *g, const uint8_t *text, uint32_t len, gs_label differ)
{
	static const struct {
		uint32_t bytes;
		uint8_t width;
	} steps[] = {{8, BPF_DW}, {4, BPF_W}, {2, BPF_H}, {1, BPF_B}};
	uint32_t at = 0;

	for (size_t i = 0; i < GS_ARRAY_SIZE(steps); i++) {
		for (; len - at >= steps[i].bytes; at += steps[i].bytes) {
			uint64_t v = 0;

			memcpy(&v, text + at, steps[i].bytes);
			gs_emit_load(&g->e, steps[i].width, BPF_REG_1, BPF_REG_10,
				     (int16_t)(g->text_buf + (int)at));
			gs_emit_imm64(&g->e, BPF_REG_2, v);
			gs_emit_if(&g->e, BPF_JNE, BPF_REG_1, BPF_REG_2, differ);
		}
	}
}

static uint64_t hash_of(const uint8_t *text, uint32_t len)
{
	uint64_t h = 0;

	for (uint32_t i = 0; i < len; i++)
		h = h * HASH_BASE + text[i];
	return h;
}

static uint64_t power(uint32_t n)
{
	uint64_t p = 1;

	while (n--)
		p *= HASH_BASE;
	return p;
}

/*
 * A rolling hash over the bytes on the stack: straight-line, and linear for any literal. A match of
 * the hash is only a candidate (such hashes have collisions): r0 is its position, and it is read
 * again and compared. Bytes behind the NUL are stale, so the walk ends there.
 */
static void find_candidate(struct gs_gen *g, const uint8_t *text, uint32_t len, gs_label candidate,
			   gs_label absent)
{
	gs_emit_imm64(&g->e, BPF_REG_2, hash_of(text, len));
	gs_emit_imm64(&g->e, BPF_REG_3, power(len));
	gs_emit_movi(&g->e, BPF_REG_4, 0);
	for (uint32_t i = 0; i < FIND_BYTES; i++) {
		gs_emit_load(&g->e, BPF_B, BPF_REG_1, BPF_REG_10, (int16_t)(g->text_buf + (int)i));
		gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_1, 0, absent);
		gs_emit_alui(&g->e, BPF_MUL, BPF_REG_4, HASH_BASE);
		gs_emit_alu(&g->e, BPF_ADD, BPF_REG_4, BPF_REG_1);
		if (i >= len) {
			gs_emit_load(&g->e, BPF_B, BPF_REG_5, BPF_REG_10,
				     (int16_t)(g->text_buf + (int)(i - len)));
			gs_emit_alu(&g->e, BPF_MUL, BPF_REG_5, BPF_REG_3);
			gs_emit_alu(&g->e, BPF_SUB, BPF_REG_4, BPF_REG_5);
		}
		if (i + 1 >= len) {
			gs_emit_movi(&g->e, BPF_REG_0, (int32_t)(i + 1 - len));
			gs_emit_if(&g->e, BPF_JEQ, BPF_REG_4, BPF_REG_2, candidate);
		}
	}
	gs_emit_goto(&g->e, absent);
}

static void find(struct gs_gen *g, const uint8_t *text, uint32_t len, int addr, gs_label absent)
{
	gs_label candidate = gs_emit_label(&g->e, "candidate");
	gs_label differ = gs_emit_label(&g->e, "collision");
	gs_label found = gs_emit_label(&g->e, "found");

	if (!len)
		return; /* the empty text is in every string that can be read */
	find_candidate(g, text, len, candidate, absent);
	gs_emit_bind(&g->e, candidate);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, (int16_t)addr);
	gs_emit_alu(&g->e, BPF_ADD, BPF_REG_1, BPF_REG_0);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, (int16_t)addr, BPF_REG_1);
	gs_gen_read_to_stack(g, BPF_FUNC_probe_read_user, g->text_buf, len, addr);
	gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_0, 0, differ);
	compare(g, text, len, differ);
	gs_emit_goto(&g->e, found);
	gs_emit_bind(&g->e, differ);
	gs_gen_fail(g, GS_STATUS_UNAVAILABLE);
	gs_emit_bind(&g->e, found);
}

void gs_gen_text_jump(struct gs_gen *g, uint16_t node, gs_label label, bool sense)
{
	const struct gs_plan_node *n = &g->plan->nodes[node];
	gs_label no = gs_emit_label(&g->e, "text_differs");
	int addr = gs_gen_slot_take(g);
	const uint8_t *text;
	uint32_t len;

	text = literal_of(g->plan, n, &len);
	gs_gen_value(g, n->a);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, (int16_t)addr, BPF_REG_0);
	fetch(g, n, len, addr);
	if (n->op == GS_OP_STR_FIND) {
		find(g, text, len, addr, sense ? no : label);
	} else {
		if (n->op == GS_OP_STR_EQ)
			gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_0, (int32_t)len + 1,
				    sense ? no : label);
		compare(g, text, len, sense ? no : label);
	}
	if (sense)
		gs_emit_goto(&g->e, label);
	gs_emit_bind(&g->e, no);
	gs_gen_slot_give(g, addr);
}
