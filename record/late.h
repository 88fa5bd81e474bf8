/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Modules that are mapped later: probes that wait for one are resolved when a recorded process maps
 * it, in a thread of their own, so that the rings are emptied meanwhile. Beside the session's loop,
 * which attaches what comes out.
 */
#ifndef GS_RECORD_LATE_H
#define GS_RECORD_LATE_H

#include "record/resolve.h"
#include "record/voice.h"

struct gs_late;

struct gs_late_options {
	const struct gs_resolve_request
		*request;			/* the session's; borrowed, like all its strings */
	const struct gs_resolution *resolution; /* its answer: what is pending is copied */
	const struct gs_voice *voice;
};
/* NULL when nothing is pending. */
struct gs_late *gs_late_new(const struct gs_late_options *opts);
/* False when a resolver still runs: nothing is freed then, and the request must live until the
 * process ends. */
bool gs_late_free(struct gs_late *l);

/* Something still waits for its module or is being resolved. */
bool gs_late_waiting(const struct gs_late *l);

/* Looks at the maps of one process: cheap when they hold nothing that is waited for. */
void gs_late_look(struct gs_late *l, int32_t pid);

struct gs_late_ready {
	struct gs_resolution *resolution; /* owned by the taker: gs_resolution_deinit, free */
	uint32_t *probes; /* session's probe id by the resolution's; owned by the taker */
	size_t nprobes;
	const char *module; /* path as mapped; valid while the late object lives */
};
/* What became ready since the last call; false when nothing did. Failures are said and forgotten.
 */
bool gs_late_take(struct gs_late *l, struct gs_late_ready *out);

/* The module that probe PROBE still waits for, or NULL. */
const char *gs_late_module(const struct gs_late *l, uint32_t probe);

#endif
