/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decoded x86 instructions: boundaries, control flow, and what a probe on one costs.
 * Under place.c and dwarf_prologue.c; the only user of libcapstone in the recorder.
 */
#ifndef GS_RECORD_INSN_H
#define GS_RECORD_INSN_H

#include <capstone/capstone.h>

#include "common/mem.h"

struct gs_module;

struct gs_decoder {
	csh detail; /* Intel operand order, with operands */
	csh text;   /* AT&T, only to print */
	bool is_open, is_64;
};
/* False on a machine that is not x86. */
bool gs_decoder_open(struct gs_decoder *d, bool is_64);
void gs_decoder_close(struct gs_decoder *d);

enum gs_flow {
	GS_FLOW_NEXT,
	GS_FLOW_BRANCH, /* conditional, to target */
	GS_FLOW_JUMP,	/* to target */
	GS_FLOW_JUMP_INDIRECT,
	GS_FLOW_CALL, /* target 0: indirect */
	GS_FLOW_RETURN,
	GS_FLOW_STOP, /* ud2, hlt */
	GS_FLOW_BAD,  /* not an instruction: one byte */
};
struct gs_insn {
	uint64_t addr, target;
	uint8_t len, flow;
	bool is_nop;
};
struct gs_code {
	struct gs_insn *insns; /* ascending address */
	size_t n, cap;
};
/* Decodes [low, high) and appends. Capped at GS_FUNCTION_BYTES_MAX. */
void gs_code_decode(struct gs_module *m, uint64_t low, uint64_t high, struct gs_code *code);
void gs_code_deinit(struct gs_code *code);
/* Index of the instruction at ADDR, or SIZE_MAX. */
size_t gs_code_find(const struct gs_code *code, uint64_t addr);

enum gs_cost { GS_COST_EMULATED, GS_COST_STEPPED, GS_COST_NOP5, GS_COST_REFUSED };
/* What the kernel does with a probe on the instruction in BYTES (of LEN). */
enum gs_cost gs_insn_cost(const uint8_t *bytes, size_t len, bool is_64);
const char *gs_cost_name(enum gs_cost cost);
/* Disassembly in the arena; "(bad)" if it is none. */
const char *gs_insn_text(struct gs_module *m, uint64_t addr, struct gs_arena *arena);
/* Length of the instruction at ADDR, 0 if it is none. */
unsigned gs_insn_len(struct gs_module *m, uint64_t addr);
bool gs_insn_is_endbr(struct gs_module *m, uint64_t addr);

#endif
