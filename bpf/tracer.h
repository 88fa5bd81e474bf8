/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tracing session in the kernel: features, maps, programs, links, ring buffers. Takes plans and
 * sites from record/, gives raw records to its drain. Everything is held by descriptors of this
 * process, so that nothing is left after any kind of exit.
 */
#ifndef GS_BPF_TRACER_H
#define GS_BPF_TRACER_H

#include "bpf/program.h"

struct gs_tracer;

struct gs_tracer_options {
	uint32_t feature_mask; /* features allowed: ~0u, tests clear bits */
	uint64_t buffer_bytes; /* all rings together; rounded up to a power of two pages each */
	uint32_t max_sites;    /* capacity of the site table, later attachments included */
	uint32_t max_entries;  /* the same for sites that save frames: ids from max_sites on */
	uint32_t nprobes;
	bool filter_pids; /* record only processes in the set */
	bool follow;	  /* children of processes in the set join it; exec and exit are reported */
	bool at_exec;	  /* gs_tracer_pid_add_at_exec is used */
	bool want_tls;	  /* some plan reads the thread pointer */
};

/*
 * Probes features, creates the maps. Errors name the missing privilege (CAP_BPF and CAP_PERFMON, or
 * root) or kernel feature (option name, first kernel that has it) and what to do.
 */
struct gs_error *gs_tracer_open(const struct gs_tracer_options *opts, struct gs_tracer **out);
uint32_t gs_tracer_features(const struct gs_tracer *t);

struct gs_trace_site {
	uint32_t id;	/* index in the site table, < max_sites + max_entries; unique */
	uint32_t probe; /* < nprobes */
	uint32_t plan;	/* index in the plans given with it: kind and at_return say how */
	uint32_t group; /* whose frames it saves or finds: the id of the saving site; or 0 */
	int fd;		/* the module's file; borrowed */
	uint64_t file_offset;
	uint64_t link_addr;
	uint64_t ref_ctr_offset; /* marker semaphore, 0 if none */
	int32_t pid; /* > 0: only this process, by the kernel's filter (needs no children) */
};

/* A site that the kernel refused. */
struct gs_attach_failure {
	uint32_t site;
	int err; /* errno */
};

/*
 * Compiles the plans (each with its layout), groups sites by plan, file and pid, loads and
 * attaches; may be called again for modules that are mapped later. Disabled until gs_tracer_enable.
 * A site that the kernel refuses
 * (-EOPNOTSUPP and the like) is left out and listed in *failures (caller frees); other errors fail
 * it all.
 */
struct gs_error *gs_tracer_attach(struct gs_tracer *t, const struct gs_plan *plans,
				  const struct gs_layout *layouts, size_t nplans,
				  const struct gs_trace_site *sites, size_t nsites,
				  struct gs_attach_failure **failures, size_t *nfailures);

/* The kernel has what uretprobes need (a trial load; false without privileges). */
bool gs_tracer_may_uretprobe(uint32_t feature_mask);

/* Starts and stops recording; cheap (one map write). */
struct gs_error *gs_tracer_enable(struct gs_tracer *t, bool on);
/* The process set. PID is a thread-group id of the caller's pid namespace. */
struct gs_error *gs_tracer_pid_add(struct gs_tracer *t, int32_t pid);
/* One that is recorded from its next exec on: what it runs before is not what was asked for. */
struct gs_error *gs_tracer_pid_add_at_exec(struct gs_tracer *t, int32_t pid);
struct gs_error *gs_tracer_pid_remove(struct gs_tracer *t, int32_t pid);
bool gs_tracer_pid_has(struct gs_tracer *t, int32_t pid);
bool gs_tracer_pid_awaits_exec(struct gs_tracer *t, int32_t pid);
/* Each process in the set; with follow those that have ended have left it. FN may be NULL. Returns
 * how many. */
uint32_t gs_tracer_pid_each(struct gs_tracer *t, void (*fn)(void *ctx, int32_t pid), void *ctx);

/*
 * Waits at most timeout_ms (woken early when a ring is half full), then gives every record that is
 * there to RECORD, ring by ring, in submission order. DATA is aligned to 8 and valid during the
 * call. A negative result of the callback stops the drain and is returned as GS_ERR_SYSTEM.
 */
typedef int (*gs_record_fn)(void *ctx, int cpu, const void *data, size_t len);
struct gs_error *gs_tracer_poll(struct gs_tracer *t, int timeout_ms, gs_record_fn record, void *ctx,
				size_t *nrecords);

/* Totals over cpus since the start. */
struct gs_error *gs_tracer_counters(struct gs_tracer *t, uint32_t probe, struct gs_counters *out);
uint64_t gs_tracer_filter_lost(struct gs_tracer *t);
/* Children that began a pid namespace below ours: they are not recorded. */
uint64_t gs_tracer_deeper(struct gs_tracer *t);
uint64_t gs_tracer_process_lost(struct gs_tracer *t); /* fork, exec and exit records without room */
uint64_t gs_tracer_ring_bytes(const struct gs_tracer *t); /* all rings */

/* Detaches everything (links closed in parallel); records that are in the rings can still be
 * polled. */
void gs_tracer_detach(struct gs_tracer *t);
void gs_tracer_close(struct gs_tracer *t);

/* One line each for --dry-run -v and --version: name, there or not, what is used instead. */
void gs_features_print(struct gs_buf *out, uint32_t features);
/* "no-multi,no-sleepable,..." of the test-only environment variable GS_FEATURES_OFF, to a mask. */
struct gs_error *gs_features_parse(const char *text, uint32_t *mask);

#endif
