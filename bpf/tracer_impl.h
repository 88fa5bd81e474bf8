/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tracer's state, shared by its parts: session, attachment, process following. Private to bpf/.
 */
#ifndef GS_BPF_TRACER_IMPL_H
#define GS_BPF_TRACER_IMPL_H

#include "bpf/features.h"
#include "bpf/kernel_types.h"
#include "bpf/ring.h"
#include "bpf/sys.h"
#include "bpf/tracer.h"

struct gs_tracer {
	struct gs_tracer_options opts;
	struct gs_pid_namespace ns;
	uint32_t features;
	struct gs_kernel_types types; /* with follow or want_tls */
	struct gs_rings rings;
	int map_fd[GS_MAP_COUNT];   /* RINGS belongs to rings; STAGING and FRAMES are the newest, -1
				       if none */
	struct gs_control *control; /* mapped */
	uint32_t staging_size;
	uint32_t frame_slots; /* of the frames in FRAMES, the newest */
	int ncpus;	      /* possible */
	int *links; /* uprobe links, perf events and tracepoint links: closing one detaches it */
	size_t nlinks, links_cap;
};

/* Takes the descriptor over. */
void gs_tracer_keep(struct gs_tracer *t, int fd);
/* Closes many links at once, each in its own thread: one takes some 25 ms of waiting. */
void gs_close_links(const int *fds, size_t n);

/* Attaches the programs that keep the process set: exec, and with follow fork and exit. */
struct gs_error *gs_follow_start(struct gs_tracer *t);

/* A load failed with ERR (negative errno); LOG is the end of the verifier's log or NULL. */
struct gs_error *gs_load_error(int err, const char *what, const char *log);

#endif
