/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small BPF interpreter with fake user memory, fake maps and helpers.
 * In the flow: runs generated programs for the unit tests of bpf/, with no kernel.
 */
#ifndef GS_TESTS_BPF_INTERP_H
#define GS_TESTS_BPF_INTERP_H

#include "bpf/program.h"

/* User memory: what is in no region faults; what is not resident faults until something may sleep.
 */
struct interp_memory {
	uint64_t addr;
	size_t len;
	const void *bytes;
	bool absent; /* not resident */
};

struct interp {
	/* Set by the test. */
	uint64_t reg[17]; /* by DWARF number */
	struct interp_memory memory[8];
	size_t nmemory;
	struct gs_site_slot site;
	struct gs_control control;
	uint32_t pid, tid;
	bool in_set;	 /* of recorded processes */
	bool no_staging; /* task storage or ring has no room */
	bool ring_full;
	uint64_t queued; /* bytes in the ring */
	/* Results. */
	struct gs_counters counters;
	size_t record_len;
	size_t nrecords, ndiscarded;
	uint64_t flags; /* of the last submission */
	size_t nsleeps;
	size_t ninsns;
	bool slept_while_holding; /* a reservation was open over a call that may sleep */
	char failure[160];	  /* what the program did wrong: "" is fine */
	/* Private. */
	uint32_t staging_size;
	bool holding;
	uint64_t stack[64], ctx[21];
	/* Large, and not cleared: last. */
	uint8_t record[65536]; /* a result */
	uint8_t staging[65536];
};

#define INTERP_TIME 0x1122334455ull
#define INTERP_CPU 3u
#define INTERP_UID 1000u
#define INTERP_FSBASE 0x7fabcdef0000ull
#define INTERP_COMM "interp"
#define INTERP_TLS_OFFSET 0x40u

void interp_init(struct interp *in);
struct interp_memory *interp_map(struct interp *in, uint64_t addr, const void *bytes, size_t len);
/* Runs to the exit; false (and failure) when the program did what the kernel would not allow. */
bool interp_run(struct interp *in, const struct gs_program *p);

#endif
