/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows in time order: a k-way merge over blocks.
 * Last stage of reading. A block is opened when its first time is reached, and let go after its
 * last row, so that only the blocks that overlap in time are in memory; of a pipe, those within the
 * window.
 */
#include "format/input_state.h"

/* Blocks that overlap in one moment. More than CPUs times two means a file that nobody recorded. */
#define OPEN_MAX 8192

/* ---- heap of cursors ---- */

static bool before(const struct gs_cursor *a, const struct gs_cursor *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu;
	return a->seq < b->seq;
}

static void sift_down(struct gs_input *in)
{
	struct gs_cursor *heap = in->heap, top = heap[0];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < in->nheap) {
		if (child + 1 < in->nheap && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &top))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = top;
}

static void push(struct gs_input *in, struct gs_batch *batch)
{
	struct gs_cursor c = {batch, batch->time[0], gs_batch_seq(batch), batch->cpu, 0};
	size_t at = in->nheap;

	in->heap = gs_grow(in->heap, &in->heap_cap, at + 1, sizeof(*in->heap));
	in->nheap++;
	for (; at && before(&c, &in->heap[(at - 1) / 2]); at = (at - 1) / 2)
		in->heap[at] = in->heap[(at - 1) / 2];
	in->heap[at] = c;
}

/* Past the row that was given out; its batch is not needed any more when that was the last one. */
static void advance(struct gs_input *in)
{
	struct gs_cursor *top = in->heap;

	if (!in->returned)
		return;
	in->returned = false;
	if (++top->row < top->batch->nrows) {
		top->time = top->batch->time[top->row];
	} else {
		gs_batch_free(top->batch);
		*top = in->heap[--in->nheap];
	}
	if (in->nheap > 1)
		sift_down(in);
}

/* ---- seekable input ---- */

static int block_order(const void *a, const void *b)
{
	const struct gs_index_entry *x = a, *y = b;

	if (x->time_first != y->time_first)
		return x->time_first < y->time_first ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void start(struct gs_input *in)
{
	if (in->merging)
		return;
	in->merging = true;
	if (in->nblocks)
		qsort(in->blocks, in->nblocks, sizeof(*in->blocks), block_order);
	in->next_block = 0;
}

/* Opens all blocks that can hold the next row. */
static struct gs_error *fill_seekable(struct gs_input *in)
{
	while (in->next_block < in->nblocks) {
		const struct gs_index_entry *e = &in->blocks[in->next_block];
		struct gs_batch *batch;

		if (in->nheap && e->time_first > in->heap[0].time)
			break;
		in->next_block++;
		if (e->time_last < in->from_ns || e->time_first > in->to_ns)
			continue;
		GS_TRY(gs_input_open_block(in, e, &batch));
		if (!batch)
			continue;
		push(in, batch);
		if (in->nheap > OPEN_MAX)
			return gs_error_new(GS_ERR_DAMAGED,
					    "more than %d event blocks of the file overlap in time",
					    OPEN_MAX);
	}
	return NULL;
}

/* ---- pipes ---- */

static bool wait_for_more(struct gs_input *in)
{
	uint64_t ms = in->window_ns / 1000000;

	return in->has_held || gs_source_wait(&in->src, in->scan.offset, ms < 1 ? 1 : (int)ms);
}

/* Reads on until the oldest row is older than the window, or nothing more comes for as long. */
static struct gs_error *fill_pipe(struct gs_input *in)
{
	while (!in->ended) {
		struct gs_batch *batch;

		if (in->nheap > OPEN_MAX)
			break;
		if (in->nheap && (in->heap[0].time <= in->flush_until ||
				  in->newest - in->heap[0].time > in->window_ns))
			break;
		if (in->nheap && !wait_for_more(in)) {
			in->flush_until = in->newest;
			break;
		}
		GS_TRY(gs_input_read_block(in, &batch));
		if (batch)
			push(in, batch);
	}
	return NULL;
}

struct gs_error *gs_input_next(struct gs_input *in, struct gs_batch **batch, uint32_t *row)
{
	*batch = NULL;
	start(in);
	advance(in);
	GS_TRY(in->src.seekable ? fill_seekable(in) : fill_pipe(in));
	if (!in->nheap)
		return NULL;
	if (in->heap[0].time < in->last_time)
		in->late++;
	else
		in->last_time = in->heap[0].time;
	in->returned = true;
	*batch = in->heap[0].batch;
	*row = in->heap[0].row;
	return NULL;
}
