/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The index at the end of a file.
 * A short cut for scan.c past reading every header; never needed.
 */
#include "format/index.h"

void gs_index_put(struct gs_buf *body, const struct gs_block_header *h, uint64_t *last_first)
{
	gs_put_uleb(body, h->type);
	gs_put_uleb(body, h->flags);
	gs_put_uleb(body, (uint64_t)GS_HEADER_LEN + h->stored_len);
	gs_put_uleb(body, h->rows);
	gs_put_uleb(body, h->cpu);
	gs_put_sleb(body, (int64_t)(h->time_first - *last_first));
	gs_put_uleb(body, h->time_last - h->time_first);
	*last_first = h->time_first;
}

static bool read_entry(struct gs_reader *r, struct gs_index_entry *e)
{
	uint64_t type = gs_read_uleb(r), flags = gs_read_uleb(r), length = gs_read_uleb(r);
	uint64_t rows = gs_read_uleb(r), cpu = gs_read_uleb(r);

	e->time_first += (uint64_t)gs_read_sleb(r);
	e->time_last = e->time_first + gs_read_uleb(r);
	if (r->bad || type > UINT16_MAX || flags > UINT32_MAX || rows > UINT32_MAX ||
	    cpu > UINT32_MAX || e->time_last < e->time_first || length < GS_HEADER_LEN ||
	    length > GS_HEADER_MAX + (uint64_t)GS_BLOCK_MAX_META)
		return false;
	e->type = (uint16_t)type;
	e->flags = (uint32_t)flags;
	e->rows = (uint32_t)rows;
	e->cpu = (uint32_t)cpu;
	e->length = length;
	return true;
}

struct gs_error *gs_index_read(struct gs_reader *r, uint64_t end, struct gs_index_entry **entries,
			       size_t *n)
{
	uint64_t count = gs_read_uleb(r);
	struct gs_index_entry e = {.offset = GS_SIGNATURE_LEN, .seq = 1}, *list;
	bool good = true;

	if (r->bad || count > gs_reader_left(r) / 7)
		return gs_error_new(GS_ERR_DAMAGED, "index: impossible number of blocks");
	list = gs_calloc(count, sizeof(*list));
	for (uint64_t i = 0; i < count && good; i++) {
		good = read_entry(r, &e) && e.length <= end - e.offset;
		list[i] = e;
		e.offset += e.length;
		e.seq++;
	}
	if (!good || e.offset != end || gs_reader_left(r)) {
		free(list);
		return gs_error_new(GS_ERR_DAMAGED, "index: does not describe the file");
	}
	*entries = list;
	*n = count;
	return NULL;
}
