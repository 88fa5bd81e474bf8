/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The raw event record: where each captured item is, and how a record is taken apart again.
 * In the flow: bpf/ stores by this layout, the drain of record/ decodes by it.
 */
#include "format/event.h"

#include "common/mem.h"
#include "common/status.h"

static uint32_t round8(uint32_t n)
{
	return (n + 7u) & ~7u;
}

static struct gs_error *too_long(uint64_t len)
{
	struct gs_error *err = gs_error_new(
		GS_ERR_LIMIT, "one event of this probe can take %llu bytes; the most is %u",
		(unsigned long long)len, GS_EVENT_MAX_LEN);

	return gs_error_hint(err,
			     "capture fewer or smaller items, or lower the string or array limit");
}

struct gs_error *gs_layout_init(struct gs_layout *l, const struct gs_layout_item *items, size_t n)
{
	uint64_t fixed, variable = 0;
	uint32_t *slot;

	if (n > GS_EVENT_MAX_ITEMS)
		return gs_error_new(GS_ERR_LIMIT, "a probe captures %zu items; the most is %u", n,
				    GS_EVENT_MAX_ITEMS);
	slot = gs_calloc(n, sizeof(*slot));
	fixed = round8((uint32_t)(sizeof(struct gs_event_head) + n));
	for (size_t i = 0; i < n; i++) {
		uint32_t size = items[i].size;

		slot[i] = (uint32_t)fixed;
		if (size > GS_EVENT_MAX_LEN) {
			free(slot);
			return too_long(size);
		}
		fixed += items[i].variable || size <= 8 ? 8 : round8(size);
		variable += items[i].variable ? size : 0;
		if (fixed + variable > GS_EVENT_MAX_LEN) {
			free(slot);
			return too_long(fixed + variable);
		}
	}
	*l = (struct gs_layout){
		.nitems = (uint32_t)n,
		.fixed_len = (uint32_t)fixed,
		.max_len = (uint32_t)(fixed + variable),
		.slot = slot,
		.items = gs_calloc(n, sizeof(*items)),
	};
	if (n)
		memcpy(l->items, items, n * sizeof(*items));
	return NULL;
}

void gs_layout_deinit(struct gs_layout *l)
{
	free(l->slot);
	free(l->items);
	*l = (struct gs_layout){0};
}

static struct gs_error *damaged(const char *what)
{
	return gs_error_new(GS_ERR_DAMAGED, "event record: %s", what);
}

struct gs_error *gs_event_decode(const struct gs_layout *l, const void *record, size_t len,
				 struct gs_event_item *items)
{
	const uint8_t *base = record;
	struct gs_event_head head;
	size_t next = l->fixed_len;

	if (len < l->fixed_len || len > l->max_len)
		return damaged("its length is not one of this probe");
	memcpy(&head, base, sizeof(head));
	if (head.len != len)
		return damaged("it disagrees with the ring buffer about its length");
	for (uint32_t i = 0; i < l->nitems; i++) {
		const uint8_t *slot = base + l->slot[i];
		uint8_t status = base[gs_layout_status(i)];
		struct gs_event_item item = {.status = status};

		if (status >= GS_STATUS_COUNT)
			return damaged("an item has an unknown status");
		if (status == GS_STATUS_FAULT)
			memcpy(&item.fault_address, slot, sizeof(item.fault_address));
		if (gs_status_has_data(status) && !l->items[i].variable) {
			item.data = slot;
			item.len = l->items[i].size;
		} else if (gs_status_has_data(status)) {
			memcpy(&item.len, slot, sizeof(item.len));
			if (item.len > l->items[i].size || item.len > len - next)
				return damaged("an item is longer than its limit");
			item.data = base + next;
			next += item.len;
		}
		items[i] = item;
	}
	if (next != len)
		return damaged("there are bytes that belong to no item");
	return NULL;
}
