/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of a hand-made plan in the interpreter, for each way that a record can be built.
 * In the flow: shared by the generator's unit tests.
 */
#ifndef GS_TESTS_BPF_CASE_H
#define GS_TESTS_BPF_CASE_H

#include "common/mem.h"
#include "tests/lib/bpf_interp.h"

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, RIP = 16 };

#define STAGED (GS_FEATURE_TASK_STORAGE | GS_FEATURE_COOKIE)
#define SLEEPY (STAGED | GS_FEATURE_SLEEPABLE)
#define RESERVED GS_FEATURE_COOKIE
#define RESERVED_SLEEPY (GS_FEATURE_COOKIE | GS_FEATURE_SLEEPABLE)

struct bpf_case {
	struct gs_plan plan;
	struct gs_layout layout;
	struct interp in;
	struct gs_event_item items[64];
	bool recorded; /* exactly one record, well-formed */
};

void case_init(struct bpf_case *c);
void case_deinit(struct bpf_case *c);
/* Generates with FEATURES, runs, decodes. False (after a message) when something is not as it must
 * be. */
bool case_run(struct bpf_case *c, uint32_t features);

uint16_t case_reg(struct bpf_case *c, int reg);
uint16_t case_const(struct bpf_case *c, int64_t v);
struct gs_plan_item *case_item(struct bpf_case *c, enum gs_plan_item_kind kind, uint16_t node,
			       uint32_t size);
/* Bytes of item I as an integer. */
uint64_t case_value(const struct bpf_case *c, unsigned i);

#endif
