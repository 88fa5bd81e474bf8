/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The generator: capture plan in, eBPF instructions out. No kernel is needed: the instructions
 * refer to maps by enum gs_map, and are bound to descriptors when loaded. tests/ runs them in an
 * interpreter.
 */
#ifndef GS_BPF_PROGRAM_H
#define GS_BPF_PROGRAM_H

#include <linux/bpf.h>

#include "bpf/plan.h"
#include "format/event.h"

enum gs_map {
	GS_MAP_RINGS,	 /* array of ring buffers, by cpu */
	GS_MAP_SITES,	 /* array of struct gs_site_slot, by cookie */
	GS_MAP_COUNTERS, /* per-cpu array of struct gs_counters, by probe */
	GS_MAP_CONTROL,	 /* array[1] of struct gs_control */
	GS_MAP_PIDS,	 /* hash: tgid -> enum gs_pid_state; the set of processes to record */
	GS_MAP_STAGING,	 /* task storage: the record being built */
	GS_MAP_FRAMES,	 /* LRU hash: struct gs_frame_key -> what a function's entry saved */
	GS_MAP_COUNT
};

enum gs_pid_state {
	GS_PID_RECORDED = 1,
	GS_PID_AWAITS_EXEC = 2, /* until then it runs the recorder's code */
};

struct gs_site_slot {
	uint32_t id;
	uint32_t probe;
	uint64_t link_addr; /* of the probed instruction: bias = ip - link_addr */
	uint32_t group;	    /* whose frames it saves or finds */
	uint32_t reserved;
};

/*
 * Of a saved frame. By process, not by thread: stacks of one process never overlap, so that what
 * runs on a stack may be moved to another thread. Ids are those of the first pid namespace.
 */
struct gs_frame_key {
	uint32_t tgid, group;
	uint64_t sp; /* at the function's entry; 0: none */
};
/* A frame: u64 time, a status byte a slot, padded to 8, a u64 a slot (its fault address). */
static inline uint32_t gs_frame_status(uint32_t slot)
{
	return 8 + slot;
}
static inline uint32_t gs_frame_value(uint32_t nslots, uint32_t slot)
{
	return 8 + (nslots + 7) / 8 * 8 + 8 * slot;
}
static inline uint32_t gs_frame_size(uint32_t nslots)
{
	return gs_frame_value(nslots, nslots);
}

/* Per probe; summed over cpus. Atomic adds: programs are preemptible. */
struct gs_counters {
	uint64_t hits;	   /* the program ran in a process of the set */
	uint64_t matched;  /* the condition was true (or there is none) */
	uint64_t recorded; /* reached a ring buffer */
	uint64_t skipped;  /* switched off, or over a limit */
	uint64_t lost;	   /* no room in the ring, no staging */
	uint64_t faulted;  /* the condition could not be evaluated */
	uint64_t unpaired; /* no entry of the call was seen, which its values need */
};

struct gs_control {
	uint32_t enabled; /* 0: hits are counted as skipped */
	uint32_t reserved;
	uint64_t filter_lost;  /* pid set insertions that failed */
	uint64_t process_lost; /* fork, exec and exit records that found no room */
	uint64_t deeper; /* children in a pid namespace below, whose hits cannot be told apart */
};

/* What the running kernel offers; a bit cleared by the test-only mask takes the fallback. */
enum gs_feature {
	GS_FEATURE_MULTI = 1 << 0,	  /* uprobe_multi links; else perf-event uprobes */
	GS_FEATURE_SLEEPABLE = 1 << 1,	  /* uprobe programs may fault pages in */
	GS_FEATURE_COOKIE = 1 << 2,	  /* attach cookies; else one program a site */
	GS_FEATURE_TASK_STORAGE = 1 << 3, /* staging; else a reserved record of the maximum size */
	GS_FEATURE_MULTI_PID = 1 << 4,	  /* uprobe_multi pid filter matches the whole process */
	GS_FEATURE_SESSION = 1 << 5,	  /* entry/return sessions (reserved for returns) */
	GS_FEATURE_NS_PID = 1 << 6,	  /* bpf_get_ns_current_pid_tgid is needed and there */
};

struct gs_gen_options {
	uint32_t features;	 /* enum gs_feature */
	bool filter_pids;	 /* only thread groups in GS_MAP_PIDS */
	uint32_t site;		 /* without COOKIE: the site index patched in */
	uint32_t ring_bytes;	 /* size of one ring: wake-up when half full */
	uint64_t ns_dev, ns_ino; /* with NS_PID: /proc/self/ns/pid */
	uint32_t tls_offset;	 /* byte offset of thread.fsbase in task_struct, 0 if unknown */
	uint32_t frame_slots;	 /* of the frames in GS_MAP_FRAMES: at least those of every plan */
};

struct gs_program {
	struct bpf_insn *insns; /* map references: BPF_PSEUDO_MAP_FD with imm = enum gs_map */
	size_t n;
	uint64_t helpers; /* bit per helper id below 64 that is called, for diagnosis */
};

/*
 * Compiles. GS_ERR_LIMIT, in the user's terms (never a verifier log), when the plan is too large
 * for one program. With LISTING the instructions as text, with labels and a comment per plan step.
 */
struct gs_error *gs_program_generate(const struct gs_plan *plan, const struct gs_layout *layout,
				     const struct gs_gen_options *opts, struct gs_program *out,
				     struct gs_buf *listing);
void gs_program_deinit(struct gs_program *p);

#endif
