/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command as a child process: made stopped before exec, so that probes are armed first, then
 * let go. Used by the session. When the recorder dies before letting it go, it ends without having
 * run.
 */
#ifndef GS_RECORD_CHILD_H
#define GS_RECORD_CHILD_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "common/error.h"

struct gs_child {
	pid_t pid;
	int go_fd;     /* a byte lets it run; closing it makes it end */
	int result_fd; /* errno of a failed exec, or end of file */
	bool ended;
	int status; /* wait status once ended */
};

struct gs_child_options {
	const char *file; /* found by the lookup: the environment's PATH is not asked again */
	char **argv;
	const char *user;	    /* or NULL */
	bool stdout_to_stderr;	    /* standard output belongs to the data */
	const struct rlimit *files; /* the limit of descriptors that the command had; or NULL */
};

/* *out is untouched on failure. */
struct gs_error *gs_child_start(const struct gs_child_options *opts, struct gs_child *out);
/* Lets it exec; waits until it did. On failure it has been reaped. */
struct gs_error *gs_child_release(struct gs_child *c, const char *name);
/* Reaps without waiting; true once it has ended. */
bool gs_child_ended(struct gs_child *c);
/* Before release: it ends without running. */
void gs_child_abort(struct gs_child *c);

#endif
