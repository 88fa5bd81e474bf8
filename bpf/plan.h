/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The capture plan: what a probe program reads, as plain data. It holds locations, sizes and
 * limits, never types or names. record/ builds it from DWARF and expressions; bpf/ compiles it;
 * tests write it by hand.
 *
 * A plan is a forest of nodes (64-bit values), an optional condition, and items (what is captured,
 * in order). Sites with equal plans share one program.
 *
 * Evaluation of a node gives a 64-bit value or fails with a status (FAULT with address, DIV_ZERO,
 * BAD_SHIFT, or a static one from ABSENT). A condition that fails does not match, and is counted.
 */
#ifndef GS_BPF_PLAN_H
#define GS_BPF_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/status.h"

#define GS_NODE_NONE 0xffffu
#define GS_PLAN_MAX_NODES 16384u

/* Append only within a protocol version: plans cross from the resolver process to the recorder. */
enum gs_plan_op {
	/* leaves */
	GS_OP_CONST, /* imm */
	GS_OP_REG,   /* imm: DWARF register number (x86-64: 0..15 general, 16 rip, and 17 eflags);
		      * whole 64 bits */
	GS_OP_BIAS,  /* run-time address minus link-time address of the site's module */
	GS_OP_TLS_BASE, /* thread pointer (x86-64: fs base) */
	GS_OP_BUILTIN,	/* imm: enum gs_plan_builtin */
	GS_OP_ITEM,	/* `size' bytes at offset imm of item a, captured earlier; fails with that
			 * item's     status if it has no data, NOT_COLLECTED if it is too short;
			 * zero-extended */
	GS_OP_ABSENT,	/* always fails with status imm */
	/* unary on a */
	GS_OP_LOAD, /* `size' 1, 2, 4, 8 bytes of user memory at address a; zero-extended */
	GS_OP_ZEXT, /* low `size' bytes of a, zero-extended */
	GS_OP_SEXT, /* low `size' bytes of a, sign-extended */
	GS_OP_NEG,
	GS_OP_NOT,  /* bitwise */
	GS_OP_LNOT, /* a == 0 */
	GS_OP_BOOL, /* a != 0 */
	/* binary on a, b: 64-bit, wrapping; the builder adds ZEXT/SEXT for narrower types */
	GS_OP_ADD,
	GS_OP_SUB,
	GS_OP_MUL,
	GS_OP_AND,
	GS_OP_OR,
	GS_OP_XOR,
	GS_OP_SHL,  /* shifts fail with BAD_SHIFT when b (unsigned) is not below size * 8 */
	GS_OP_SHR,  /* logical; the operand was zero-extended to 64 bits */
	GS_OP_SAR,  /* arithmetic; the operand was sign-extended to 64 bits */
	GS_OP_UDIV, /* divisions fail with DIV_ZERO when b is 0 */
	GS_OP_UMOD,
	GS_OP_SDIV, /* C's truncation; `size' gives the width whose INT_MIN / -1 fails */
	GS_OP_SMOD,
	GS_OP_EQ, /* comparisons give 0 or 1 */
	GS_OP_NE,
	GS_OP_ULT,
	GS_OP_ULE,
	GS_OP_SLT,
	GS_OP_SLE,
	/* control: the operand that is not needed is not evaluated */
	GS_OP_LAND,   /* a && b, 0 or 1 */
	GS_OP_LOR,    /* a || b, 0 or 1 */
	GS_OP_SELECT, /* a ? b : c */
	/* strings at user address a against plan data [imm, imm + size), size <= 255; 0 or 1 */
	/* (a literal ends at its first NUL, if it has one) */
	GS_OP_STR_EQ,	  /* the C string equals the literal (its NUL included in the comparison) */
	GS_OP_STR_PREFIX, /* begins with */
	GS_OP_STR_FIND,	  /* contains, within the first 255 bytes */
	/* leaf: what the function's entry saved, found by the plan's `frame' */
	GS_OP_SAVED, /* imm: slot, fails with the status that it has there; or GS_SAVED_TIME. Fails
		      * with UNAVAILABLE when no entry of this call was seen */
	GS_OP_COUNT
};

#define GS_SAVED_TIME (-1)    /* imm of SAVED: when the call began, ns of CLOCK_MONOTONIC */
#define GS_PLAN_MAX_SAVES 16u /* a frame is put together on a program's stack */
#define GS_PLAN_REG_FLAGS 17  /* beyond DWARF's 0 to 16: eflags */

enum gs_plan_builtin {
	GS_PLAN_PID, /* thread-group id, recorder's namespace */
	GS_PLAN_TID,
	GS_PLAN_CPU,
	GS_PLAN_TIME, /* ns, CLOCK_MONOTONIC: the event's own time */
	GS_PLAN_UID,  /* real uid, initial namespace */
	GS_PLAN_SITE, /* site id */
};

struct gs_plan_node {
	uint8_t op; /* enum gs_plan_op */
	uint8_t size;
	uint16_t a, b, c; /* operands: smaller node indices (ITEM: a is the item) */
	int64_t imm;
};

enum gs_plan_item_kind {
	GS_ITEM_ABSENT, /* statically not there: `status' */
	GS_ITEM_VALUE,	/* low `size' (1..8) bytes of node */
	GS_ITEM_MEMORY, /* `size' bytes of user memory at address node */
	GS_ITEM_PIECES, /* composite of `size' bytes: pieces[first_piece, +npieces) */
	GS_ITEM_STRING, /* variable: C string at address node, at most `size' bytes without the NUL;
			 * count (or NONE): a run-time limit, also at most that. Cut by `size' is
			 * TRUNCATED; cut by count is OK (it is what was asked for); count < 0:
			 * BAD_RANGE */
	GS_ITEM_ARRAY, /* variable: count elements of `stride' bytes at address node, at most `size'
			* bytes in all (a multiple of stride); beyond: TRUNCATED; count < 0:
			* BAD_RANGE */
	GS_ITEM_COMM,  /* 16 bytes: the thread's comm */
	GS_ITEM_WALK,  /* variable: `stride' bytes of each node of linked memory, walks[walk], from
			* address node on, at most `size' bytes in all (a multiple of stride). count
			* as the walk says; count < 0: BAD_RANGE. A node that faults ends it:
			* PARTIAL,  or FAULT when it is the first */
};

enum gs_plan_item_flags {
	GS_ITEM_SKIP_NULL = 1 << 0, /* address 0: NOT_COLLECTED without trying */
};

struct gs_plan_item {
	uint8_t kind;
	uint8_t status; /* ABSENT */
	uint8_t flags;
	bool variable; /* slot class; also for ABSENT, equal at all sites of a schema */
	uint16_t node;
	uint16_t count;
	uint16_t parent;      /* item or NONE: NOT_COLLECTED unless the parent has data ... */
	uint32_t parent_need; /* ... of at least this many bytes */
	uint32_t size;
	uint32_t stride;
	uint16_t first_piece, npieces;
	uint16_t walk; /* WALK; else 0 */
};

enum gs_plan_walk_form {
	/* Each node holds the address of the next at `next'. Ends at 0, at `end', where a node
	 * leads to itself, and back at the first. */
	GS_WALK_LIST,
	/* Each node holds three addresses from `next' on: parent, left, right. In order, from the
	 * root (node) whose parent ends it. */
	GS_WALK_TREE,
};

struct gs_plan_walk {
	uint8_t form;
	uint8_t link_size; /* of an address in a node: 4 or 8 */
	/* count (not NONE) is how many nodes there are: all of them read is OK, fewer TRUNCATED.
	 * Else it is how many are wanted: an end before is OK, more of them is TRUNCATED. */
	bool exact;
	uint32_t next, payload; /* offsets in a node: the link, and what is copied */
	uint16_t end;		/* LIST: node or NONE */
	uint16_t steps;		/* at most so many nodes are gone to */
};

/* Bytes [offset, offset + size) of a composite; bytes without a piece are zero (the site's note
 * says which are absent). One failing piece fails the item. */
struct gs_plan_piece {
	uint32_t offset, size;
	uint16_t node;
	bool memory; /* node is an address; else its low bytes are the value (size <= 8) */
};

/* What a program does with its hit. */
enum gs_plan_kind {
	GS_PLAN_CAPTURE, /* an event */
	GS_PLAN_ENTRY,	 /* saves `saves' under { process, group of the site, stack pointer } */
};

/*
 * Values that outlive their instruction: a program at a function's entry (kind ENTRY) saves nodes
 * as a frame, programs of other sites of the same group find it again by the stack pointer at that
 * entry. A frame whose function never returned is overwritten by the next call at the same place of
 * the same stack, so a stale one is never taken for another call's.
 */
struct gs_plan {
	uint8_t kind;	  /* enum gs_plan_kind */
	bool at_return;	  /* a uretprobe: the ip is the caller's, the function's is asked for */
	bool takes_frame; /* the call is over: its frame is dropped */
	uint16_t guard;	  /* node or NONE: 0 or a failure is no hit */
	uint16_t frame;	  /* node or NONE: stack pointer at the entry; with SAVED nodes */
	uint16_t check;	  /* node or NONE: must equal slot 0, or the frame is another call's */
	uint16_t saves[GS_PLAN_MAX_SAVES];
	uint32_t nsaves;
	struct gs_plan_node *nodes;
	size_t nnodes, nodes_cap;
	struct gs_plan_item *items;
	size_t nitems, items_cap;
	struct gs_plan_piece *pieces;
	size_t npieces, pieces_cap;
	struct gs_plan_walk *walks;
	size_t nwalks, walks_cap;
	uint8_t *data; /* literals */
	size_t data_len;
	uint16_t condition; /* node or NONE */
};

void gs_plan_init(struct gs_plan *p);
void gs_plan_deinit(struct gs_plan *p);
/* Appends (or finds an equal) node; sticky limit: GS_NODE_NONE once the plan is full. Constant
 * operands are folded. */
uint16_t gs_plan_node(struct gs_plan *p, enum gs_plan_op op, unsigned size, uint16_t a, uint16_t b,
		      int64_t imm);
uint16_t gs_plan_select(struct gs_plan *p, uint16_t a, uint16_t b, uint16_t c);
static inline uint16_t gs_plan_const(struct gs_plan *p, int64_t v)
{
	return gs_plan_node(p, GS_OP_CONST, 8, GS_NODE_NONE, GS_NODE_NONE, v);
}
/* The slot that saves NODE, or GS_PLAN_MAX_SAVES when there is no room. */
unsigned gs_plan_save(struct gs_plan *p, uint16_t node);
/* Offset of a copy of the literal in the plan's data. */
uint32_t gs_plan_literal(struct gs_plan *p, const void *bytes, size_t n);
/* A new zeroed item with node, count and parent NONE. */
struct gs_plan_item *gs_plan_item(struct gs_plan *p);

/* The layout of the plan's items, in order: what gs_program_generate wants beside the plan. */
struct gs_layout;
struct gs_error *gs_plan_layout(const struct gs_plan *p, struct gs_layout *out);

/* Indices, sizes and kinds are consistent and within the caps of the generator: called on
 * everything that comes from the resolver. GS_ERR_LIMIT or GS_ERR_DAMAGED, in the user's terms. */
struct gs_error *gs_plan_check(const struct gs_plan *p);
bool gs_plan_equal(const struct gs_plan *a, const struct gs_plan *b);
void gs_plan_write(struct gs_buf *out, const struct gs_plan *p);
struct gs_error *gs_plan_read(struct gs_reader *r, struct gs_plan *p); /* checked */
/* Readable, deterministic, one line a node and item, for --dry-run and tests: "i0 = mem 8 @ rdi +
 * 16". */
void gs_plan_print(struct gs_buf *out, const struct gs_plan *p);

#endif
