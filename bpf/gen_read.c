/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps that touch memory: places in the record, reads of user memory, and where readable memory
 * ends. In the flow: used by the generator's items and expressions.
 */
#include "bpf/gen.h"

bool gs_gen_has(const struct gs_gen *g, enum gs_feature feature)
{
	return g->opts->features & feature;
}

bool gs_gen_may_sleep(const struct gs_gen *g)
{
	return gs_gen_has(g, GS_FEATURE_SLEEPABLE) &&
	       (g->in_condition || gs_gen_has(g, GS_FEATURE_TASK_STORAGE));
}

bool gs_gen_must_restart(const struct gs_gen *g)
{
	return gs_gen_has(g, GS_FEATURE_SLEEPABLE) && !gs_gen_may_sleep(g);
}

void gs_gen_lookup(struct gs_gen *g, enum gs_map map, int key_off, gs_label missing)
{
	gs_emit_map(&g->e, BPF_REG_1, map);
	gs_emit_mov(&g->e, BPF_REG_2, BPF_REG_10);
	gs_emit_alui(&g->e, BPF_ADD, BPF_REG_2, key_off);
	gs_emit_call(&g->e, BPF_FUNC_map_lookup_elem);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, missing);
}

void gs_gen_record_at(struct gs_gen *g, uint8_t dst, uint32_t offset)
{
	gs_emit_mov(&g->e, dst, GS_R_RECORD);
	if (offset)
		gs_emit_alui(&g->e, BPF_ADD, dst, (int32_t)offset);
}

/* Offsets in instructions have 16 bits, signed; a record may be longer. */
static uint8_t record_base(struct gs_gen *g, uint32_t *offset)
{
	if (*offset <= INT16_MAX - 8)
		return GS_R_RECORD;
	gs_gen_record_at(g, BPF_REG_5, *offset);
	*offset = 0;
	return BPF_REG_5;
}

void gs_gen_record_store(struct gs_gen *g, uint8_t width, uint32_t offset, uint8_t src)
{
	uint8_t base = record_base(g, &offset);

	gs_emit_store(&g->e, width, base, (int16_t)offset, src);
}

void gs_gen_record_storei(struct gs_gen *g, uint8_t width, uint32_t offset, int32_t imm)
{
	uint8_t base = record_base(g, &offset);

	gs_emit_storei(&g->e, width, base, (int16_t)offset, imm);
}

void gs_gen_record_load(struct gs_gen *g, uint8_t width, uint8_t dst, uint32_t offset)
{
	uint8_t base = record_base(g, &offset);

	gs_emit_load(&g->e, width, dst, base, (int16_t)offset);
}

void gs_gen_read_to_stack(struct gs_gen *g, int helper, int stack_off, uint32_t size, int addr_off)
{
	gs_emit_mov(&g->e, BPF_REG_1, BPF_REG_10);
	gs_emit_alui(&g->e, BPF_ADD, BPF_REG_1, stack_off);
	gs_emit_movi(&g->e, BPF_REG_2, (int32_t)size);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_3, BPF_REG_10, (int16_t)addr_off);
	gs_emit_call(&g->e, helper);
}

static void touch_cursor(struct gs_gen *g, gs_label unreadable)
{
	int helper = gs_gen_may_sleep(g) ? BPF_FUNC_copy_from_user : BPF_FUNC_probe_read_user;

	gs_gen_read_to_stack(g, helper, GS_FP_SCRATCH, 1, GS_FP_CURSOR);
	gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_0, 0, unreadable);
}

void gs_gen_scan(struct gs_gen *g, uint32_t most, void (*retry)(struct gs_gen *g, void *ctx),
		 void *ctx)
{
	gs_label end = gs_emit_label(&g->e, "end_of_memory");
	gs_label whole = gs_emit_label(&g->e, "all_readable");
	unsigned pages = (most + GS_PAGE - 2) / GS_PAGE + 1;

	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_CURSOR, GS_R_ADDR);
	for (unsigned i = 0; i < pages; i++) {
		touch_cursor(g, end);
		if (retry && gs_gen_may_sleep(g))
			retry(g, ctx);
		gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, GS_FP_CURSOR);
		gs_emit_alui(&g->e, BPF_AND, BPF_REG_1, -(int32_t)GS_PAGE);
		gs_emit_alui(&g->e, BPF_ADD, BPF_REG_1, GS_PAGE);
		gs_emit_load(&g->e, BPF_DW, BPF_REG_2, BPF_REG_10, GS_FP_LIMIT);
		gs_emit_alu(&g->e, BPF_ADD, BPF_REG_2, GS_R_ADDR);
		if (i + 1 < pages) {
			gs_emit_if(&g->e, BPF_JGE, BPF_REG_1, BPF_REG_2, whole);
			gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_CURSOR, BPF_REG_1);
		}
	}
	gs_emit_bind(&g->e, whole);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_CURSOR, BPF_REG_2);
	gs_emit_bind(&g->e, end);
}

/*
 * r1: address, r2: bytes of the read that failed. Reads are numbered in the order they run, so a
 * read that comes after the last restart's is new, and any other was tried after its pages were
 * touched: its fault is real. The verifier follows each restart through the whole program: so they
 * are few.
 */
void gs_gen_restart_point(struct gs_gen *g)
{
	gs_label real = gs_emit_label(&g->e, "real_fault");
	int32_t number = (int32_t)++g->nreads;

	/* A walk alone makes the program so long that it is not gone through again so often. */
	if (number > (g->plan->nwalks ? GS_MAX_RESTARTS_OF_WALKS - (int32_t)g->plan->nwalks
				      : GS_MAX_RESTARTING_READS))
		return;
	gs_emit_load(&g->e, BPF_H, BPF_REG_3, BPF_REG_10, GS_FP_LAST);
	gs_emit_ifi(&g->e, BPF_JGE, BPF_REG_3, number, real);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_3, BPF_REG_10, GS_FP_RETRIES);
	gs_emit_ifi(&g->e, BPF_JGE, BPF_REG_3, GS_MAX_RESTARTS, real);
	gs_emit_movi(&g->e, BPF_REG_3, number);
	gs_emit_goto(&g->e, g->restart);
	gs_emit_bind(&g->e, real);
}
