/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue, pool and thread of the writer.
 * The only thread that touches the file writer while a recording runs.
 */
#include "record/output.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "record/output_file.h"

#define GIVE_UP_TRIES 20 /* of 50 ms, without anything written */
#define CHUNK_MIN 65536u /* a record has at most GS_EVENT_MAX_LEN bytes */

enum entry_kind { ENTRY_EVENTS, ENTRY_ROWS, ENTRY_RESOLUTION };

struct entry {
	struct entry *next;
	enum entry_kind kind;
	struct gs_chunk *chunk;
	struct gs_meta *rows;
	struct gs_resolution *res;
	struct gs_bases bases;
	uint32_t *probes;
};

struct gs_output {
	struct gs_output_file file;
	struct gs_writer *writer;
	struct gs_tally *tally;
	uint64_t max_size;
	pthread_t thread;
	bool started;
	/* Under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t work, room; /* for the thread, for the drain */
	struct entry *first, **last;
	struct gs_chunk *free_chunks;
	uint32_t nchunks, max_chunks;
	size_t chunk_size;
	bool closing, done;
	/* Set by the thread. */
	struct gs_error *error;
	_Atomic bool failed, full;
};

/* Names the file in what the writer reports. */
static struct gs_error *name_file(const struct gs_output *o, struct gs_error *err)
{
	if (!strcmp(o->file.path, "-"))
		return gs_error_wrap(err, "standard output");
	return gs_error_wrap(err, "`%s'", o->file.path);
}

/* ---- opening ---- */

static void size_pool(struct gs_output *o, uint32_t ncpus)
{
	size_t size = GS_BLOCK_MAX_RAW;

	while (size > CHUNK_MIN && 2 * size * ncpus > GS_OUTPUT_POOL_BYTES)
		size /= 2;
	o->chunk_size = size;
	o->max_chunks = GS_OUTPUT_POOL_BYTES / size;
}

static void output_free(struct gs_output *o)
{
	while (o->free_chunks) {
		struct gs_chunk *c = o->free_chunks;

		o->free_chunks = c->next;
		free(c->data);
		free(c);
	}
	pthread_mutex_destroy(&o->lock);
	pthread_cond_destroy(&o->work);
	pthread_cond_destroy(&o->room);
	if (o->writer)
		gs_writer_free(o->writer);
	free(o);
}

struct gs_error *gs_output_open(const struct gs_output_options *opts, struct gs_output **out)
{
	struct gs_output *o = gs_calloc(1, sizeof(*o));
	struct gs_writer_options wopts = {0};
	pthread_condattr_t attr;
	struct gs_error *err;

	o->tally = opts->tally;
	o->max_size = opts->max_size;
	o->last = &o->first;
	size_pool(o, opts->ncpus);
	pthread_mutex_init(&o->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&o->work, &attr);
	pthread_cond_init(&o->room, &attr);
	pthread_condattr_destroy(&attr);
	err = gs_output_file_open(opts->path, &o->file);
	if (!err) {
		wopts.fd = o->file.fd;
		wopts.no_index = !o->file.created;
		err = gs_writer_open(&wopts, &o->writer);
		if (err) {
			err = name_file(o, err);
			gs_output_file_discard(&o->file);
		}
	}
	if (err) {
		output_free(o);
		return err;
	}
	*out = o;
	return NULL;
}

struct gs_meta *gs_output_meta(struct gs_output *o)
{
	return gs_writer_meta(o->writer);
}

/* ---- the thread ---- */

/* The first failure ends the recording. The writer has taken back what it wrote of the block. */
static void fail(struct gs_output *o, struct gs_error *err)
{
	if (o->failed) {
		gs_error_free(err);
		return;
	}
	o->error = name_file(o, err);
	o->failed = true;
}

/* Counts every record of a chunk that will not be written. */
static void drop(struct gs_output *o, const struct gs_chunk *c)
{
	size_t at = 0;

	while (at + sizeof(struct gs_event_head) <= c->len) {
		const struct gs_event_head *head = (const void *)(c->data + at);
		struct gs_tally_row *row = gs_tally_site(o->tally, head->site);

		gs_tally_add(o->failed ? &row->lost : &row->beyond, 1);
		at += (head->len + 7u) & ~7u;
	}
}

static void write_chunk(struct gs_output *o, struct gs_chunk *c)
{
	uint64_t bad = 0;
	struct gs_error *err;

	if (o->failed || o->full) {
		drop(o, c);
		return;
	}
	err = gs_writer_events(o->writer, c->cpu, c->data, c->len, &bad);
	if (err) {
		fail(o, err);
		drop(o, c);
		return;
	}
	gs_tally_add(&o->tally->rows[o->tally->nprobes].lost, bad);
	if (o->max_size && gs_writer_bytes(o->writer) >= o->max_size)
		o->full = true;
}

static void write_entry(struct gs_output *o, struct entry *e)
{
	struct gs_meta *meta = gs_writer_meta(o->writer);
	struct gs_error *err = NULL;

	if (e->kind == ENTRY_EVENTS) {
		write_chunk(o, e->chunk);
		return;
	}
	if (e->kind == ENTRY_ROWS) {
		gs_merge_rows(meta, e->rows);
		if (e->rows->ncounters)
			gs_writer_touch(o->writer, GS_META_COUNTERS);
	} else {
		err = gs_merge_resolution(meta, e->res, &e->bases);
	}
	if (!err && !o->failed)
		err = gs_writer_flush_meta(o->writer);
	if (err)
		fail(o, err);
}

static void recycle(struct gs_output *o, struct gs_chunk *c)
{
	c->next = o->free_chunks;
	o->free_chunks = c;
	pthread_cond_signal(&o->room);
}

static void entry_free(struct entry *e)
{
	if (e->rows) {
		gs_meta_deinit(e->rows);
		free(e->rows);
	}
	if (e->res) {
		gs_resolution_deinit(e->res);
		free(e->res);
	}
	free(e->probes);
	free(e);
}

static void *writer_main(void *arg)
{
	struct gs_output *o = arg;

	pthread_mutex_lock(&o->lock);
	for (;;) {
		struct entry *e = o->first;

		if (!e && o->closing)
			break;
		if (!e) {
			pthread_cond_wait(&o->work, &o->lock);
			continue;
		}
		o->first = e->next;
		if (!o->first)
			o->last = &o->first;
		pthread_mutex_unlock(&o->lock);
		write_entry(o, e);
		pthread_mutex_lock(&o->lock);
		if (e->chunk)
			recycle(o, e->chunk);
		entry_free(e);
	}
	o->done = true;
	pthread_cond_signal(&o->room);
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

struct gs_error *gs_output_start(struct gs_output *o)
{
	struct gs_error *write_err = gs_writer_flush_meta(o->writer);
	sigset_t all, old;
	int err;

	if (write_err)
		return name_file(o, write_err);
	/* Signals are for the main thread: they interrupt its wait for events. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&o->thread, NULL, writer_main, o);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return gs_error_errno(err, "cannot start the writer thread");
	o->started = true;
	return NULL;
}

/* ---- the drain's side ---- */

static struct timespec deadline(int ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (ms % 1000) * 1000000l;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

/* With the lock held. */
static struct gs_chunk *pool_get(struct gs_output *o)
{
	struct gs_chunk *c = o->free_chunks;

	if (c) {
		o->free_chunks = c->next;
		return c;
	}
	if (o->nchunks == o->max_chunks)
		return NULL;
	o->nchunks++;
	c = gs_calloc(1, sizeof(*c));
	c->cap = o->chunk_size;
	c->data = gs_malloc(c->cap);
	return c;
}

struct gs_chunk *gs_output_take(struct gs_output *o, uint32_t cpu, int wait_ms)
{
	struct timespec until = deadline(wait_ms);
	struct gs_chunk *c;

	pthread_mutex_lock(&o->lock);
	while (!(c = pool_get(o)) && wait_ms && !o->failed) {
		if (pthread_cond_timedwait(&o->room, &o->lock, &until) == ETIMEDOUT)
			wait_ms = 0;
	}
	pthread_mutex_unlock(&o->lock);
	if (c) {
		c->cpu = cpu;
		c->len = 0;
		c->oldest_ns = UINT64_MAX;
	}
	return c;
}

static void enqueue(struct gs_output *o, struct entry *e)
{
	pthread_mutex_lock(&o->lock);
	*o->last = e;
	o->last = &e->next;
	pthread_cond_signal(&o->work);
	pthread_mutex_unlock(&o->lock);
}

void gs_output_give(struct gs_output *o, struct gs_chunk *chunk)
{
	struct entry *e;

	if (!chunk->len) {
		pthread_mutex_lock(&o->lock);
		recycle(o, chunk);
		pthread_mutex_unlock(&o->lock);
		return;
	}
	e = gs_calloc(1, sizeof(*e));
	e->kind = ENTRY_EVENTS;
	e->chunk = chunk;
	enqueue(o, e);
}

void gs_output_rows(struct gs_output *o, struct gs_meta *rows)
{
	struct entry *e = gs_calloc(1, sizeof(*e));

	e->kind = ENTRY_ROWS;
	e->rows = rows;
	enqueue(o, e);
}

void gs_output_resolution(struct gs_output *o, struct gs_resolution *res,
			  const struct gs_bases *bases, size_t nprobes)
{
	struct entry *e = gs_calloc(1, sizeof(*e));

	e->kind = ENTRY_RESOLUTION;
	e->res = res;
	e->bases = *bases;
	e->probes = gs_calloc(nprobes, sizeof(*e->probes));
	memcpy(e->probes, bases->probes, nprobes * sizeof(*e->probes));
	e->bases.probes = e->probes;
	enqueue(o, e);
}

bool gs_output_failed(const struct gs_output *o)
{
	return o->failed;
}

bool gs_output_full(const struct gs_output *o)
{
	return o->full;
}

/* ---- ending ---- */

/* True once the thread has written all; false when GIVE_UP said so first. */
static bool wait_done(struct gs_output *o, const struct gs_output_end *end)
{
	bool done;
	int tries = 0;

	pthread_mutex_lock(&o->lock);
	o->closing = true;
	pthread_cond_signal(&o->work);
	while (!(done = o->done)) {
		struct timespec until = deadline(50);

		/* Chunks that are finished signal too, and begin the patience anew. */
		if (pthread_cond_timedwait(&o->room, &o->lock, &until) == 0)
			tries = 0;
		if (!o->done && ++tries >= GIVE_UP_TRIES && end && end->give_up(end->ctx))
			break;
	}
	pthread_mutex_unlock(&o->lock);
	return done;
}

static void stop_thread(struct gs_output *o)
{
	if (!o->started)
		return;
	wait_done(o, NULL);
	pthread_join(o->thread, NULL);
	o->started = false;
}

void gs_output_discard(struct gs_output *o)
{
	stop_thread(o);
	gs_output_file_discard(&o->file);
	gs_error_free(o->error);
	output_free(o);
}

static void write_end(struct gs_output *o, const struct gs_output_end *end)
{
	struct gs_meta_end block = {0};
	struct gs_error *err;

	end->fill(end->ctx, gs_writer_meta(o->writer), &block);
	block.events = gs_writer_rows(o->writer);
	if (o->failed) {
		block.reason = GS_END_ERROR;
		block.message = gs_arena_strdup(&gs_writer_meta(o->writer)->arena,
						gs_error_message(o->error));
	}
	gs_writer_touch(o->writer, GS_META_COUNTERS);
	err = gs_writer_end(o->writer, &block);
	if (err)
		fail(o, err);
}

struct gs_error *gs_output_finish(struct gs_output *o, const struct gs_output_end *end,
				  struct gs_output_summary *summary)
{
	struct gs_error *err, *close_err;

	summary->stuck = !wait_done(o, end);
	if (summary->stuck) {
		summary->events = summary->bytes = 0;
		return name_file(o, gs_error_new(GS_ERR_SYSTEM,
						 "it takes no data: what was not written is lost"));
	}
	pthread_join(o->thread, NULL);
	write_end(o, end);
	summary->events = gs_writer_rows(o->writer);
	summary->bytes = gs_writer_bytes(o->writer);
	err = o->error;
	close_err = gs_output_file_close(&o->file);
	if (err)
		gs_error_free(close_err);
	else
		err = close_err;
	output_free(o);
	return err;
}
