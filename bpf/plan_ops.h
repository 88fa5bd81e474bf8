/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each operation of a plan is: its name, how many operands it has, and its value.
 * Used by the plan's builder (folding), its printer and the tests' oracle for generated programs.
 */
#ifndef GS_BPF_PLAN_OPS_H
#define GS_BPF_PLAN_OPS_H

#include "bpf/plan.h"

/* Node operands a, b, c that are used: 0 to 3; of an ITEM none (its a is an item). */
unsigned gs_plan_op_operands(unsigned op);
const char *gs_plan_op_name(unsigned op);

static inline bool gs_plan_op_is_unary(unsigned op)
{
	return op >= GS_OP_LOAD && op <= GS_OP_BOOL;
}
static inline bool gs_plan_op_is_binary(unsigned op)
{
	return op >= GS_OP_ADD && op <= GS_OP_SLE;
}
/* The value depends on the operands only. */
static inline bool gs_plan_op_is_pure(unsigned op)
{
	return op >= GS_OP_ZEXT && op <= GS_OP_SLE;
}

/* Value of a pure operation; *status (enum gs_status) is set when there is none. */
uint64_t gs_plan_op_apply(unsigned op, unsigned size, uint64_t a, uint64_t b, unsigned *status);

#endif
