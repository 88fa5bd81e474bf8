/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instruction builder: labels, fixups, and comments for the listing. Errors are sticky.
 * In the flow: the generator and the process-following programs emit through it.
 */
#ifndef GS_BPF_EMIT_H
#define GS_BPF_EMIT_H

#include <linux/bpf.h>

#include "bpf/program.h"
#include "common/mem.h"

struct gs_emit_label {
	const char *name; /* static text */
	int64_t at;	  /* instruction, or -1 while unbound */
	bool used;
};

struct gs_emit_fixup {
	size_t insn;
	unsigned label;
};

struct gs_emit_note {
	size_t insn;
	char *text;
};

struct gs_emit {
	struct bpf_insn *insns;
	size_t n, cap;
	struct gs_emit_label *labels;
	size_t nlabels, labels_cap;
	struct gs_emit_fixup *fixups;
	size_t nfixups, fixups_cap;
	struct gs_emit_note *notes;
	size_t nnotes, notes_cap;
	bool want_notes;
	uint64_t helpers[4]; /* bit per helper id */
};

typedef unsigned gs_label;

void gs_emit_init(struct gs_emit *e, bool want_notes);
void gs_emit_deinit(struct gs_emit *e);

gs_label gs_emit_label(struct gs_emit *e, const char *name);
void gs_emit_bind(struct gs_emit *e, gs_label label); /* here */
/* Something jumps to it: code that nothing reaches must not be emitted, the kernel refuses it. */
bool gs_emit_label_used(const struct gs_emit *e, gs_label label);
/* Comment above the next instruction of the listing. */
void gs_emit_note(struct gs_emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void gs_emit_raw(struct gs_emit *e, uint8_t code, uint8_t dst, uint8_t src, int16_t off,
		 int32_t imm);
void gs_emit_imm64(struct gs_emit *e, uint8_t dst, uint64_t v); /* shortest form */
void gs_emit_map(struct gs_emit *e, uint8_t dst, enum gs_map map);
void gs_emit_call(struct gs_emit *e, int helper);

/* 64-bit operations; OP is BPF_ADD and so on. */
static inline void gs_emit_mov(struct gs_emit *e, uint8_t dst, uint8_t src)
{
	gs_emit_raw(e, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}
static inline void gs_emit_movi(struct gs_emit *e, uint8_t dst, int32_t imm)
{
	gs_emit_raw(e, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm);
}
static inline void gs_emit_alu(struct gs_emit *e, uint8_t op, uint8_t dst, uint8_t src)
{
	gs_emit_raw(e, BPF_ALU64 | op | BPF_X, dst, src, 0, 0);
}
static inline void gs_emit_alui(struct gs_emit *e, uint8_t op, uint8_t dst, int32_t imm)
{
	gs_emit_raw(e, BPF_ALU64 | op | BPF_K, dst, 0, 0, imm);
}
static inline void gs_emit_neg(struct gs_emit *e, uint8_t dst)
{
	gs_emit_raw(e, BPF_ALU64 | BPF_NEG, dst, 0, 0, 0);
}

/* WIDTH is BPF_B, BPF_H, BPF_W or BPF_DW. */
static inline void gs_emit_load(struct gs_emit *e, uint8_t width, uint8_t dst, uint8_t base,
				int16_t off)
{
	gs_emit_raw(e, BPF_LDX | BPF_MEM | width, dst, base, off, 0);
}
static inline void gs_emit_store(struct gs_emit *e, uint8_t width, uint8_t base, int16_t off,
				 uint8_t src)
{
	gs_emit_raw(e, BPF_STX | BPF_MEM | width, base, src, off, 0);
}
static inline void gs_emit_storei(struct gs_emit *e, uint8_t width, uint8_t base, int16_t off,
				  int32_t imm)
{
	gs_emit_raw(e, BPF_ST | BPF_MEM | width, base, 0, off, imm);
}
/* *(u64 *)(base + off) += src, atomically */
static inline void gs_emit_atomic_add(struct gs_emit *e, uint8_t base, int16_t off, uint8_t src)
{
	gs_emit_raw(e, BPF_STX | 0xc0 | BPF_DW, base, src, off, BPF_ADD);
}

void gs_emit_goto(struct gs_emit *e, gs_label to);
/* if (dst OP src) goto to */
void gs_emit_if(struct gs_emit *e, uint8_t op, uint8_t dst, uint8_t src, gs_label to);
void gs_emit_ifi(struct gs_emit *e, uint8_t op, uint8_t dst, int32_t imm, gs_label to);
void gs_emit_exit(struct gs_emit *e);

/*
 * Resolves the labels and gives the instructions. GS_ERR_LIMIT when a jump does not reach (16-bit
 * offsets): the capture is too large for one program.
 */
struct gs_error *gs_emit_finish(struct gs_emit *e, struct gs_program *out, struct gs_buf *listing);

/* One instruction as text, as the kernel's verifier writes it. NEXT: the second half of a 64-bit
 * load. */
void gs_insn_print(struct gs_buf *out, const struct bpf_insn *insn, const struct bpf_insn *next);

#endif
