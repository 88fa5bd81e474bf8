/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ring buffers, one a cpu, read through the mappings that the kernel offers. Private to bpf/.
 */
#ifndef GS_BPF_RING_H
#define GS_BPF_RING_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/tracer.h"

struct gs_ring {
	int fd;
	int cpu;
	uint64_t bytes;
	unsigned long *consumer;       /* our position */
	const unsigned long *producer; /* the kernel's, read-only */
	const uint8_t *data;	       /* mapped twice in a row: no record is split */
};

struct gs_rings {
	struct gs_ring *ring;
	size_t n;
	uint64_t bytes; /* of each */
	int epoll;
	int outer; /* the array of maps that programs index by cpu */
};

/* TOTAL bytes over all rings, rounded up. */
struct gs_error *gs_rings_open(struct gs_rings *r, uint64_t total);
void gs_rings_close(struct gs_rings *r);
/*
 * Waits, then gives what was submitted when each ring's turn came: a producer that is faster than
 * the consumer cannot keep it at one ring. *n counts records.
 */
struct gs_error *gs_rings_poll(struct gs_rings *r, int timeout_ms, gs_record_fn record, void *ctx,
			       size_t *n);

#endif
