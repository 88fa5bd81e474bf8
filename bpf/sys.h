/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of bpf(2) that the distribution's headers and libbpf may not have yet, and small
 * wrappers of what they do have. Private to bpf/.
 */
#ifndef GS_BPF_SYS_H
#define GS_BPF_SYS_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/program.h"

/* enum bpf_attach_type since Linux 6.6 and 6.13; numbers are ABI. */
#define GS_BPF_TRACE_UPROBE_MULTI 48
#define GS_BPF_TRACE_UPROBE_SESSION 57

/* The license string of every program that is loaded. */
#define GS_PROGRAM_LICENSE "Dual BSD/GPL"

struct gs_uprobe_multi {
	const char *path;
	const uint64_t *offsets;
	const uint64_t *ref_ctr_offsets; /* NULL: none */
	const uint64_t *cookies;	 /* NULL: none */
	uint32_t n;
	int32_t pid; /* 0: every process */
	bool at_return;
};

/* A link's descriptor, or -errno. ATTACH_TYPE: GS_BPF_TRACE_UPROBE_MULTI or _SESSION. */
int gs_sys_uprobe_multi(int prog_fd, unsigned attach_type, const struct gs_uprobe_multi *m);

struct gs_load {
	enum bpf_prog_type type;
	unsigned attach_type;
	uint32_t flags; /* BPF_F_SLEEPABLE */
	const char *name;
};
/*
 * Loads; map references (enum gs_map) are bound to MAP_FDS (NULL: there are none). The descriptor,
 * or -errno; *LOG (may be NULL) then gets the end of the verifier's log, caller frees.
 */
int gs_sys_load(const struct gs_load *load, const struct bpf_insn *insns, size_t n,
		const int *map_fds, char **log);

/* Task storage of values of SIZE bytes: a descriptor or -errno. */
int gs_sys_task_storage(uint32_t size);

/* A uprobe as a perf event of every process, not yet enabled: a descriptor or -errno. */
int gs_sys_perf_uprobe(const char *path, uint64_t offset, uint64_t ref_ctr_offset);

#endif
