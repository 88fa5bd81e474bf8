/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The generator's own vocabulary: register roles, stack frame, and the steps that program.c strings
 * together. Private to bpf/.
 *
 * Register roles: r6 context (pt_regs), r7 the record being built, r8 this cpu's counters of the
 * probe, r9 the user address of the item in hand. r0..r5 are scratch; an expression leaves its
 * value in r0.
 *
 * The verifier explores both sides of every branch and merges two paths only where their states are
 * equal. So what differs between paths (lengths, statuses, offsets) is kept in the record, whose
 * contents the verifier does not track, and is bounded again after it is read back; then states
 * merge after every item, and the work stays linear in the number of items.
 */
#ifndef GS_BPF_GEN_H
#define GS_BPF_GEN_H

#include "bpf/emit.h"

#define GS_R_CTX BPF_REG_6
#define GS_R_RECORD BPF_REG_7
#define GS_R_COUNTERS BPF_REG_8
#define GS_R_ADDR BPF_REG_9

/* Stack frame, offsets from r10. */
enum {
	GS_FP_TIME = -8,
	GS_FP_PID_TGID = -16, /* u32 tid, u32 tgid */
	GS_FP_SITE = -24,     /* u32 id, u32 probe */
	GS_FP_BIAS = -32,
	GS_FP_KEY = -40,
	GS_FP_LOAD_ADDR = -48, /* of the LOAD in hand, for its fault */
	GS_FP_SCRATCH = -56,   /* 8 bytes read by a LOAD or a touch */
	GS_FP_LIMIT = -64,     /* of the item in hand: bytes wanted */
	GS_FP_CURSOR = -72,    /* first byte not known to be readable */
	GS_FP_DST = -80,       /* pointer to the item's place in the record */
	GS_FP_OFFSET = -88,    /* the same as an offset */
	GS_FP_RING = -96,      /* the ring, over a reservation */
	GS_FP_RETRIES = -104,
	GS_FP_LAST = -112,  /* the last read that caused a restart */
	GS_FP_FRAME = -128, /* struct gs_frame_key */
	GS_FP_END = -128,   /* the frame being saved, string buffer, then spill slots, below */
};

/* A string read writes up to two bytes past its limit to tell "exactly full" from "cut". */
#define GS_RECORD_SLACK 8u
#define GS_PAGE 4096u
/* The verifier walks the program again for each: no more reads than this may cause them, and each
 * hit starts over at most so often. Beyond, memory that is not resident is a fault. */
#define GS_MAX_RESTARTS 3
#define GS_MAX_RESTARTING_READS 24
#define GS_MAX_RESTARTS_OF_WALKS 8

struct gs_gen {
	struct gs_emit e;
	const struct gs_plan *plan;
	const struct gs_layout *layout;
	const struct gs_gen_options *opts;
	uint32_t *max_offset; /* of each variable item: the largest offset at which it can begin */

	/* Where an expression that fails goes, with r1 = status and r2 = fault address. */
	gs_label fail;
	bool in_condition; /* no record is held yet */
	gs_label restart;  /* reserve mode: drop the record, touch, capture again */
	unsigned nreads;   /* read points so far, for the restart */

	/* Spill slots: bit set = free. Slot i is at slot_base - 8 * (i + 1). */
	uint64_t free_slots;
	int slot_base;
	int text_buf; /* stack offset of the string buffer, 0 if none is needed */
	int walk_buf; /* of what a walk keeps */
	bool out_of_slots;

	/* Values of shared nodes within one unit (the condition, or an item). */
	uint16_t *uses;	   /* references within the unit; 0 outside */
	int16_t *memo;	   /* stack offset + 1 of the kept value, 0 if none */
	uint16_t *touched; /* nodes with uses or memo set, to reset */
	size_t ntouched;
	uint16_t *memo_log; /* nodes with a memo, oldest first */
	size_t nmemo;
};

bool gs_gen_has(const struct gs_gen *g, enum gs_feature feature);
/* A user read here may fault pages in. */
bool gs_gen_may_sleep(const struct gs_gen *g);
/* Sleeping is possible but only after the record was dropped. */
bool gs_gen_must_restart(const struct gs_gen *g);

/* ---- gen_expr.c ---- */
void gs_gen_unit_begin(struct gs_gen *g, uint16_t node, uint16_t also);
void gs_gen_unit_end(struct gs_gen *g);
/* Value of NODE in r0. Clobbers r0..r5. */
void gs_gen_value(struct gs_gen *g, uint16_t node);
/* Goes to LABEL if the truth of NODE is SENSE, else falls through. */
void gs_gen_jump(struct gs_gen *g, uint16_t node, gs_label label, bool sense);
/* Fails with a status; what follows stays reachable in the flow graph. */
void gs_gen_fail(struct gs_gen *g, unsigned status);
int gs_gen_slot_take(struct gs_gen *g); /* stack offset */
void gs_gen_slot_give(struct gs_gen *g, int off);
/* Scope of code that may not run: values kept inside are forgotten at its end. */
size_t gs_gen_scope_begin(const struct gs_gen *g);
void gs_gen_scope_end(struct gs_gen *g, size_t mark);

/* ---- gen_text.c ---- */
unsigned
gs_gen_text_buffer(const struct gs_plan *plan); /* bytes of stack that string operations need */
void gs_gen_text_jump(struct gs_gen *g, uint16_t node, gs_label label, bool sense);

/* ---- gen_read.c ---- */
/* r0 = element of MAP under the key at r10 + KEY_OFF, or goes to MISSING. */
void gs_gen_lookup(struct gs_gen *g, enum gs_map map, int key_off, gs_label missing);
/* dst = r7 + offset */
void gs_gen_record_at(struct gs_gen *g, uint8_t dst, uint32_t offset);
/* Stores to and loads from the record; r5 is used where the offset does not fit an instruction. */
void gs_gen_record_store(struct gs_gen *g, uint8_t width, uint32_t offset, uint8_t src);
void gs_gen_record_storei(struct gs_gen *g, uint8_t width, uint32_t offset, int32_t imm);
void gs_gen_record_load(struct gs_gen *g, uint8_t width, uint8_t dst, uint32_t offset);
/* One call of a read helper: r1 = r10 + stack_off, r2 = size, r3 = *(r10 + addr_off). r0: result.
 */
void gs_gen_read_to_stack(struct gs_gen *g, int helper, int stack_off, uint32_t size, int addr_off);
/*
 * Looks for the end of readable memory in [r9, r9 + *LIMIT), at most MOST bytes: *CURSOR is the
 * first byte that cannot be read, or r9 + *LIMIT. Faults pages in where that is allowed, and then
 * calls RETRY (may be NULL) after each page, which may leave by a jump.
 */
void gs_gen_scan(struct gs_gen *g, uint32_t most, void (*retry)(struct gs_gen *g, void *ctx),
		 void *ctx);
/* A user read failed and nothing may sleep while the record is held: starts over once per read. */
void gs_gen_restart_point(struct gs_gen *g);

/* ---- gen_frame.c ---- */
/* Bytes of stack that the plan's own frame takes. */
unsigned gs_gen_frame_bytes(const struct gs_gen *g);
/* Leaves for LABEL unless the plan's guard holds. */
void gs_gen_guard(struct gs_gen *g, gs_label label);
/* Makes the key of the call's frame; sp 0 when no frame of this call is there. */
void gs_gen_find_frame(struct gs_gen *g);
void gs_gen_drop_frame(struct gs_gen *g);
/* Saves all slots under the key (kind ENTRY). */
void gs_gen_save_frame(struct gs_gen *g);
/* r0 = slot SLOT, or GS_SAVED_TIME. */
void gs_gen_saved(struct gs_gen *g, int64_t slot);

/* ---- gen_item.c ---- */
void gs_gen_item(struct gs_gen *g, size_t item);

/* The item in hand. */
struct gs_gen_hand {
	const struct gs_plan_item *it;
	uint32_t status_off, slot;
	uint32_t index;
	gs_label fail, done, finish;
};
void gs_gen_set_status(struct gs_gen *g, const struct gs_gen_hand *m, unsigned status);
/* r9 = address; fails where it is null and that means that there is nothing. */
void gs_gen_address(struct gs_gen *g, const struct gs_gen_hand *m);
/* r0 = count, refused when negative. */
void gs_gen_count(struct gs_gen *g, const struct gs_gen_hand *m);
/* Where a variable item's bytes go: the record's length so far. Sets *DST and *OFFSET. */
void gs_gen_open_destination(struct gs_gen *g, const struct gs_gen_hand *m);
/* r0: bytes captured, at most the item's size. Sets length, offset and the record's new length. */
void gs_gen_close_destination(struct gs_gen *g, const struct gs_gen_hand *m);

/* ---- gen_walk.c ---- */
#define GS_GEN_WALK_BYTES 56u /* of stack, where a plan has walks */
void gs_gen_walk(struct gs_gen *g, const struct gs_gen_hand *m);

#endif
