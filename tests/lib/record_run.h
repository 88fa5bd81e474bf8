/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small program under ptrace, stopped at link-time addresses, and the nodes of a plan evaluated
 * there: what a probe would have read, without a kernel that probes.
 */
#ifndef GS_TESTS_RECORD_RUN_H
#define GS_TESTS_RECORD_RUN_H

#include <sys/types.h>
#include <sys/user.h>

#include "record/module.h"

/* Compiles tests/fixtures/SOURCE into a temporary directory; its path, or NULL. Kept until exit. */
const char *run_compile(const char *cc, const char *flags, const char *source);
bool run_have(const char *program);
/* 1-based line of the fixture that has the comment "LINE: mark", or 0. */
unsigned run_line(const char *source, const char *mark);

struct run_module {
	struct gs_module *m;
	struct gs_types *types;
	int fd;
	const char *path;
};
bool run_open(const char *path, struct run_module *out);
void run_close(struct run_module *rm);

struct run {
	pid_t pid;
	uint64_t bias;
	struct user_regs_struct regs;
	struct {
		uint64_t addr; /* run-time */
		long word;
	} stops[256];
	size_t nstops;
	uint64_t at;   /* link-time address of the stop; 0: ended */
	uint64_t skip; /* stop to step over first */
};
bool run_start(struct run *r, const struct run_module *rm);
void run_stop_at(struct run *r, uint64_t link_addr);
/* To the next stop; false when the program has ended. */
bool run_next(struct run *r);
void run_end(struct run *r);

bool run_read(const struct run *r, uint64_t addr, void *buf, size_t n);
/* Value of a node; false when it has none. */
bool run_node(const struct run *r, const struct gs_plan *p, uint16_t node, uint64_t *value);
/* Bytes of a variable at the stop: N is the size wanted. False when absent; *loc tells why. */
bool run_bytes(const struct run *r, struct gs_context *c, const struct gs_variable *v, void *buf,
	       size_t n, struct gs_location *loc);

#endif
