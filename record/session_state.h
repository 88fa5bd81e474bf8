/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a session, for the files session*.c that work on it together.
 * In the order of the flow: target, resolution, tracer, child, output, drain.
 */
#ifndef GS_RECORD_SESSION_STATE_H
#define GS_RECORD_SESSION_STATE_H

#include "bpf/tracer.h"
#include "record/child.h"
#include "record/drain.h"
#include "record/late.h"
#include "record/output.h"
#include "record/process.h"
#include "record/session.h"
#include "record/target.h"
#include "record/voice.h"

struct gs_session {
	const struct gs_record_options *opts;
	int argc;
	char **argv;
	struct gs_voice voice;

	struct gs_target target;
	bool has_target;
	struct gs_resolve_request request;
	struct gs_resolution res;
	bool has_res;

	struct gs_tracer *tracer;
	uint64_t buffer_bytes;
	uint32_t ncpus;
	int32_t kernel_pid;    /* the kernel filters for it; 0: the set of processes does */
	struct gs_bases bases; /* where the next resolution's ids begin */
	uint32_t *sites_of;    /* by probe: sites, and those that the kernel refused */
	uint32_t *refused;
	struct gs_counters *before; /* by probe: what was counted before recording was enabled */

	struct rlimit files; /* of the user, for the command */
	bool has_files;
	struct gs_child child;
	bool has_child;
	int *pidfds; /* of -p */

	struct gs_tally tally;
	bool has_tally;
	struct gs_processes *processes;
	struct gs_output *output;
	struct gs_drain *drain;
	struct gs_late *late;
	uint64_t process_lost; /* records about processes that found no room */
	uint64_t late_next_ns;

	uint64_t start_ns, polled_ns, second_ns, clock_ns;
	enum gs_end_reason reason;
	uint32_t deeper;	/* children of -p that are numbered in a pid namespace below ours */
	uint32_t still_run;	/* that the command started, when it had ended */
	struct gs_error *error; /* what cut it short */
	bool leave;		/* a thread still runs on this: it ends with the process */
};

uint64_t gs_session_now(void);

/* session_attach.c: sites of a resolution into the kernel, refused ones said; and late ones. */
struct gs_error *gs_session_attach(struct gs_session *s, const struct gs_resolution *res,
				   const struct gs_bases *bases);
struct gs_error *gs_session_crowd(struct gs_session *s);
void gs_session_late(struct gs_session *s, uint64_t now_ns);

/* session_meta.c: rows of the file that the session makes. */
struct gs_error *gs_session_describe(struct gs_session *s);
void gs_session_counters(struct gs_session *s, struct gs_meta *rows, uint64_t now_ns);
void gs_session_clock(struct gs_meta *rows);
/* One probe's counters with what the recorder itself lost or left out. */
void gs_session_probe_counters(struct gs_session *s, uint32_t probe, struct gs_meta_counters *out);
uint64_t gs_session_lost(struct gs_session *s); /* of all probes, and of none */

/* session_close.c: what is said at the end. */
void gs_session_closing(struct gs_session *s, const struct gs_output_summary *summary);

#endif
