/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From ring buffers to chunks.
 * The recorder's hot path: between the tracer's poll and the writer thread's queue.
 */
#include "record/drain.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/status.h"

#define GIVE_UP_TRIES 50 /* of 20 ms, without the writer having finished a chunk */
#define HELD_MAX ((size_t)8 << 20)

struct spans {
	struct gs_layout layout;
	struct gs_code_pointer *list;
	size_t n, cap;
};

struct held {
	uint64_t time_ns;
	size_t offset;
	uint32_t cpu;
};

struct gs_drain {
	struct gs_drain_options opts;
	struct gs_chunk **chunks; /* by processor */
	uint32_t self;		  /* the recorder: left out */
	bool gave_up;		  /* the user insists, and the writer is stuck */
	/* Code pointers: by site the index + 1 of its spans. */
	uint32_t *site_spans;
	struct spans *spans;
	size_t nspans, spans_cap;
	struct gs_event_item items[GS_EVENT_MAX_ITEMS];
	/* --max-events */
	struct gs_buf held; /* records, each after its processor (8 bytes) */
	struct held *order;
	size_t norder, order_cap;
	uint64_t released;
};

struct gs_drain *gs_drain_new(const struct gs_drain_options *opts)
{
	struct gs_drain *d = gs_calloc(1, sizeof(*d));

	d->opts = *opts;
	d->self = (uint32_t)getpid();
	d->chunks = gs_calloc(opts->ncpus, sizeof(*d->chunks));
	d->site_spans = gs_calloc(opts->tally->max_sites, sizeof(*d->site_spans));
	gs_buf_init(&d->held);
	return d;
}

void gs_drain_free(struct gs_drain *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->nspans; i++) {
		gs_layout_deinit(&d->spans[i].layout);
		free(d->spans[i].list);
	}
	free(d->spans);
	free(d->site_spans);
	free(d->chunks);
	free(d->order);
	gs_buf_deinit(&d->held);
	free(d);
}

/* ---- sites ---- */

/* The spans of the code pointers of SCHEMA, or 0 when it has none; else index + 1. */
static struct gs_error *add_spans(struct gs_drain *d, const struct gs_resolution *res,
				  uint32_t schema, uint32_t *index)
{
	struct spans s = {0};

	for (size_t i = 0; i < res->ncode_pointers; i++) {
		if (res->code_pointers[i].schema == schema)
			*GS_PUSH(s.list, s.n, s.cap) = res->code_pointers[i];
	}
	*index = 0;
	if (!s.n)
		return NULL;
	GS_TRY(gs_schema_layout(&res->meta.schemas[schema], &s.layout));
	*GS_PUSH(d->spans, d->nspans, d->spans_cap) = s;
	*index = (uint32_t)d->nspans;
	return NULL;
}

struct gs_error *gs_drain_add(struct gs_drain *d, const struct gs_resolution *res,
			      const struct gs_bases *bases)
{
	GS_CLEANUP_FREE uint32_t *by_schema = gs_calloc(res->meta.nschemas + 1, sizeof(*by_schema));
	struct gs_tally *t = d->opts.tally;

	if (bases->sites + res->meta.nsites > t->max_sites)
		return gs_error_new(GS_ERR_LIMIT,
				    "more than %u sites in all: raise --max-sites, or probe less",
				    t->max_sites);
	for (uint32_t i = 0; i < res->meta.nschemas; i++)
		GS_TRY(add_spans(d, res, i, &by_schema[i]));
	for (size_t i = 0; i < res->meta.nsites; i++) {
		const struct gs_meta_site *site = &res->meta.sites[i];
		uint32_t id = site->id + bases->sites;

		t->site_probe[id] = bases->probes ? bases->probes[site->probe] : site->probe;
		d->site_spans[id] = by_schema[site->schema];
	}
	t->nsites = bases->sites + (uint32_t)res->meta.nsites;
	return NULL;
}

/* ---- chunks ---- */

static void flush_cpu(struct gs_drain *d, uint32_t cpu)
{
	if (d->chunks[cpu]) {
		gs_output_give(d->opts.output, d->chunks[cpu]);
		d->chunks[cpu] = NULL;
	}
}

static void flush_all(struct gs_drain *d)
{
	for (uint32_t cpu = 0; cpu < d->opts.ncpus; cpu++)
		flush_cpu(d, cpu);
}

/*
 * An empty chunk. While the writer has none the rings fill, and the kernel counts what they cannot
 * take, probe by probe; so waiting costs nothing that giving up would save.
 */
static struct gs_chunk *new_chunk(struct gs_drain *d, uint32_t cpu)
{
	struct gs_chunk *c = gs_output_take(d->opts.output, cpu, 0);

	if (c)
		return c;
	flush_all(d); /* half-full chunks of other processors must not starve this one */
	for (int tries = 0; !c && !d->gave_up && !gs_output_failed(d->opts.output); tries++) {
		c = gs_output_take(d->opts.output, cpu, 20);
		d->gave_up = !c && tries >= GIVE_UP_TRIES && d->opts.give_up &&
			     d->opts.give_up(d->opts.ctx);
	}
	return c;
}

static void append(struct gs_drain *d, uint32_t cpu, const struct gs_event_head *head)
{
	size_t padded = (head->len + 7u) & ~(size_t)7;
	struct gs_chunk *c = d->chunks[cpu];

	if (c && c->len + padded > c->cap) {
		flush_cpu(d, cpu);
		c = NULL;
	}
	if (!c)
		c = d->chunks[cpu] = new_chunk(d, cpu);
	if (!c) {
		gs_tally_add(&gs_tally_site(d->opts.tally, head->site)->lost, 1);
		return;
	}
	memcpy(c->data + c->len, head, head->len);
	memset(c->data + c->len + head->len, 0, padded - head->len);
	c->len += padded;
	if (head->time_ns < c->oldest_ns)
		c->oldest_ns = head->time_ns;
}

/* ---- the first N by time ---- */

static int held_order(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void hold(struct gs_drain *d, uint32_t cpu, const struct gs_event_head *head)
{
	size_t padded = (head->len + 7u) & ~(size_t)7;
	struct held *h = GS_PUSH(d->order, d->norder, d->order_cap);
	uint8_t *to;

	*h = (struct held){head->time_ns, d->held.len, cpu};
	to = gs_buf_reserve(&d->held, padded);
	memcpy(to, head, head->len);
	memset(to + head->len, 0, padded - head->len);
	d->held.len += padded;
}

static const struct gs_event_head *held_record(const struct gs_drain *d, const struct held *h)
{
	return (const void *)(d->held.data + h->offset);
}

static void release_one(struct gs_drain *d, const struct held *h)
{
	const struct gs_event_head *head = held_record(d, h);

	if (d->released >= d->opts.max_events) {
		gs_tally_add(&gs_tally_site(d->opts.tally, head->site)->beyond, 1);
		return;
	}
	d->released++;
	append(d, h->cpu, head);
}

/* By place in the buffer. */
static int offset_order(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Moves the records of order[first..) to the front. Offsets ascend: none is overwritten unread. */
static void keep_rest(struct gs_drain *d, size_t first)
{
	size_t n = d->norder - first, to = 0;

	memmove(d->order, d->order + first, n * sizeof(*d->order));
	d->norder = n;
	if (n)
		qsort(d->order, n, sizeof(*d->order), offset_order);
	for (size_t i = 0; i < n; i++) {
		size_t padded = (held_record(d, &d->order[i])->len + 7u) & ~(size_t)7;

		memmove(d->held.data + to, d->held.data + d->order[i].offset, padded);
		d->order[i].offset = to;
		to += padded;
	}
	d->held.len = to;
}

/* Releases what is older than HORIZON, in order. */
static void release(struct gs_drain *d, uint64_t horizon_ns)
{
	size_t i = 0;

	if (!d->norder)
		return;
	qsort(d->order, d->norder, sizeof(*d->order), held_order);
	for (; i < d->norder && d->order[i].time_ns <= horizon_ns; i++)
		release_one(d, &d->order[i]);
	if (i)
		keep_rest(d, i);
}

/* ---- records ---- */

static void note_pointers(struct gs_drain *d, const struct spans *s,
			  const struct gs_event_head *head)
{
	GS_CLEANUP_ERROR struct gs_error *err =
		gs_event_decode(&s->layout, head, head->len, d->items);

	for (size_t i = 0; !err && i < s->n; i++) {
		const struct gs_code_pointer *p = &s->list[i];
		const struct gs_event_item *item = &d->items[p->item];

		if (!gs_status_has_data(item->status) || !item->data ||
		    (uint64_t)p->offset + p->size > item->len || p->size > 8)
			continue;
		gs_processes_pointer(d->opts.processes, (int32_t)head->pid,
				     gs_load_uint(item->data + p->offset, p->size, false));
	}
}

static void event(struct gs_drain *d, uint32_t cpu, const struct gs_event_head *head)
{
	struct gs_tally *t = d->opts.tally;
	uint32_t spans;

	if (head->site >= t->nsites) { /* no program of ours wrote that */
		gs_tally_add(&t->rows[t->nprobes].lost, 1);
		return;
	}
	gs_tally_add(&gs_tally_site(t, head->site)->seen, 1);
	if (head->pid == d->self) { /* its own calls would go on for ever */
		gs_tally_add(&gs_tally_site(t, head->site)->beyond, 1);
		return;
	}
	if (head->pid)
		gs_processes_event(d->opts.processes, (int32_t)head->pid, head->time_ns);
	spans = d->site_spans[head->site];
	if (spans && head->pid)
		note_pointers(d, &d->spans[spans - 1], head);
	if (d->opts.max_events)
		hold(d, cpu, head);
	else
		append(d, cpu, head);
}

int gs_drain_record(void *ctx, int cpu, const void *data, size_t len)
{
	struct gs_drain *d = ctx;
	const struct gs_event_head *head = data;
	uint32_t index = cpu >= 0 && (uint32_t)cpu < d->opts.ncpus ? (uint32_t)cpu : 0;

	if (len < sizeof(*head) || head->len < sizeof(*head) || head->len > len ||
	    head->len > GS_EVENT_MAX_LEN) {
		gs_tally_add(&d->opts.tally->rows[d->opts.tally->nprobes].lost, 1);
		return 0;
	}
	if (head->kind == GS_RECORD_EVENT)
		event(d, index, head);
	else if (head->kind <= GS_RECORD_EXIT && head->len >= sizeof(struct gs_process_record))
		gs_processes_record(d->opts.processes, data);
	return 0;
}

void gs_drain_tick(struct gs_drain *d, uint64_t now_ns, uint64_t polled_ns)
{
	if (d->opts.max_events)
		release(d, polled_ns - GS_DRAIN_HOLD_NS);
	for (uint32_t cpu = 0; cpu < d->opts.ncpus; cpu++) {
		const struct gs_chunk *c = d->chunks[cpu];

		/* Times are taken before the record is there: one may be newer than now. */
		if (c && c->oldest_ns <= now_ns && now_ns - c->oldest_ns >= GS_DRAIN_AGE_NS)
			flush_cpu(d, cpu);
	}
}

void gs_drain_finish(struct gs_drain *d)
{
	if (d->opts.max_events)
		release(d, UINT64_MAX);
	flush_all(d);
}

bool gs_drain_full(const struct gs_drain *d)
{
	return d->opts.max_events && d->released >= d->opts.max_events;
}

bool gs_drain_congested(const struct gs_drain *d)
{
	return d->held.len > HELD_MAX;
}
