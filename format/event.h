/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The raw event record: what a probe program puts into a ring buffer, and the one rule that says
 * where each captured item is in it. The generator (bpf/) stores by gs_layout, the drain and the
 * block encoder (record/, format/) decode by it. This is host memory layout, not the file format.
 *
 *   struct gs_event_head | status byte of each item, padded to 8 | slot of each item | variable
 * data
 *
 * Slots are 8-byte aligned. A fixed item of N bytes has a slot of N rounded up to 8 (at least 8). A
 * variable item (string, run-time sized array) has a slot of 8 bytes that holds its length (u32);
 * its bytes follow after all slots, in item order, without padding; an item without data has none.
 * When the status is FAULT the first 8 bytes of the slot are the faulting address. Bytes of a slot
 * that the status does not vouch for are undefined and never leave the drain.
 */
#ifndef GS_FORMAT_EVENT_H
#define GS_FORMAT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

enum gs_record_kind {
	GS_RECORD_EVENT = 0, /* a probe hit */
	GS_RECORD_FORK =
		1, /* struct gs_process_record: pid is the parent, other the child's tgid */
	GS_RECORD_EXEC = 2,
	GS_RECORD_EXIT = 3, /* of a whole thread group; code: wait status */
};

struct gs_event_head {
	uint64_t time_ns;  /* bpf_ktime_get_ns: CLOCK_MONOTONIC, taken when the program starts */
	uint32_t len;	   /* of the whole record */
	uint32_t site;	   /* EVENT: site id */
	uint32_t pid, tid; /* as the recorder's pid namespace numbers them; 0 where it cannot */
	uint32_t cpu;
	uint16_t kind;	/* enum gs_record_kind */
	uint16_t flags; /* reserved, 0 */
	char comm[16];	/* of the thread, NUL-padded */
};
_Static_assert(sizeof(struct gs_event_head) == 48, "shared with generated programs");

struct gs_process_record {
	struct gs_event_head head;
	uint32_t other;
	uint32_t code;
};

/* Caps of one event; the resolver refuses probes beyond them in the user's terms. */
#define GS_EVENT_MAX_LEN 60000u /* a task-storage value is less than 64 KiB */
#define GS_EVENT_MAX_ITEMS 1024u

struct gs_layout_item {
	bool variable;
	uint32_t size; /* fixed: bytes; variable: most bytes of data */
};

struct gs_layout {
	uint32_t nitems;
	uint32_t fixed_len; /* head, statuses and slots: where variable data begins */
	uint32_t max_len;
	uint32_t *slot; /* offset of each item's slot from the start of the record */
	struct gs_layout_item *items;
};

static inline uint32_t gs_layout_status(uint32_t item)
{
	return (uint32_t)sizeof(struct gs_event_head) + item;
}

/* GS_ERR_LIMIT beyond the caps. The items are copied. */
struct gs_error *gs_layout_init(struct gs_layout *l, const struct gs_layout_item *items, size_t n);
void gs_layout_deinit(struct gs_layout *l);

/* One item of a record in place. data is NULL when the status has none. */
struct gs_event_item {
	uint8_t status;
	const uint8_t *data;
	uint32_t len;
	uint64_t fault_address;
};
/*
 * Takes a record apart: fills items[0..nitems). GS_ERR_DAMAGED when lengths do not add up (a defect
 * of the generator, or shared memory that was tampered with): the record is then counted as lost.
 */
struct gs_error *gs_event_decode(const struct gs_layout *l, const void *record, size_t len,
				 struct gs_event_item *items);

#endif
