/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Live sessions for the tests of bpf/: the test program itself is the target.
 * In the flow: a plan by hand, a site in this program, and what came out of the ring buffers.
 */
#ifndef GS_TESTS_BPF_LIVE_H
#define GS_TESTS_BPF_LIVE_H

#include "bpf/tracer.h"

#define LIVE_MAX_ITEMS 64

/* A function to probe: called where it is, never a copy of it. */
#ifdef __clang__
#define LIVE_TARGET __attribute__((noinline))
#else
#define LIVE_TARGET __attribute__((noinline, noclone, noipa))
#endif

struct live_event {
	struct gs_event_head head;
	struct gs_process_record process; /* of the other kinds */
	struct gs_event_item items[LIVE_MAX_ITEMS];
	uint8_t *bytes; /* owned; items point into it */
};

struct live {
	struct gs_plan plan;
	struct gs_layout layout;
	struct gs_tracer *tracer;
	struct live_event *events;
	size_t nevents, events_cap;
	size_t ndamaged;
	bool keep; /* keep events, else count only */
	size_t counted;
	int exe;
};

/* NULL when live tests can run, else why not. */
const char *live_unable(void);

void live_init(struct live *l);
void live_deinit(struct live *l);
/* Plan is ready: opens, attaches at FUNCTION (of this program), enables. False after a message. */
bool live_start(struct live *l, uint32_t feature_mask, void *function);
bool live_start_with(struct live *l, const struct gs_tracer_options *opts, void *function);
/* Gives what is there. */
void live_drain(struct live *l);
/* File offset of an address of this program's text. */
uint64_t live_offset(const void *address);

/* Register by DWARF number, and what is built on it. */
uint16_t live_reg(struct gs_plan *p, int reg);
struct gs_plan_item *live_item(struct gs_plan *p, enum gs_plan_item_kind kind, uint16_t node,
			       uint32_t size);

#endif
