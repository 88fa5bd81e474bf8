/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a recording: signature, index or scan, all metadata; gives event blocks in file order.
 * Between scan.c (where blocks are) and merge.c or reports (rows).
 */
#include "format/input.h"

#include "common/hash.h"
#include "format/input_state.h"

#define WINDOW_NS ((uint64_t)500 * 1000 * 1000)
/* A table that refers to another one which is only there in a later copy becomes readable one pass
 * later. */
#define META_PASSES (GS_META_TABLES + 1)

const struct gs_meta *gs_input_meta(const struct gs_input *in)
{
	return &in->meta;
}

bool gs_input_seekable(const struct gs_input *in)
{
	return in->src.seekable;
}

uint64_t gs_input_size(const struct gs_input *in)
{
	return in->src.size;
}

size_t gs_input_damages(const struct gs_input *in, const struct gs_damage **list)
{
	*list = in->damages.list;
	return in->damages.n;
}

uint64_t gs_input_late(const struct gs_input *in)
{
	return in->late;
}

void gs_input_set_time(struct gs_input *in, uint64_t from_ns, uint64_t to_ns)
{
	in->from_ns = from_ns;
	in->to_ns = to_ns;
}

void gs_input_free(struct gs_input *in)
{
	if (!in)
		return;
	gs_batch_free(in->current);
	for (size_t i = 0; i < in->nheap; i++)
		gs_batch_free(in->heap[i].batch);
	free(in->heap);
	free(in->blocks);
	gs_batch_env_deinit(&in->env);
	gs_damages_deinit(&in->damages);
	gs_meta_deinit(&in->meta);
	gs_source_close(&in->src);
	free(in);
}

/* ---- damage of known blocks ---- */

static void bad_block(struct gs_input *in, const struct gs_index_entry *b, const char *wrong)
{
	struct gs_damage *d =
		gs_damages_add(&in->damages, b->offset, b->length, "%s block %llu %s",
			       gs_block_type_name(b->type), (unsigned long long)b->seq, wrong);

	d->seq_first = d->seq_last = b->seq;
	d->time_first = b->time_first;
	d->time_last = b->time_last;
	d->rows = b->type == GS_BLOCK_EVENTS ? b->rows : 0;
}

static void undecodable(struct gs_input *in, const struct gs_index_entry *b,
			const struct gs_error *err)
{
	char *text = gs_asprintf("cannot be decoded: %s", gs_error_message(err));

	bad_block(in, b, text);
	free(text);
}

static struct gs_index_entry entry_of(const struct gs_block *b)
{
	return (struct gs_index_entry){
		.offset = b->offset,
		.length = (uint64_t)b->h.header_len + b->h.stored_len,
		.seq = b->h.seq,
		.time_first = b->h.time_first,
		.time_last = b->h.time_last,
		.flags = b->h.flags,
		.rows = b->h.rows,
		.cpu = b->h.cpu,
		.type = b->h.type,
	};
}

/* Reads the header of a listed block again; *wrong says why it is not that block. */
static struct gs_error *read_header(struct gs_input *in, const struct gs_index_entry *e,
				    struct gs_block *b, const char **wrong)
{
	const uint8_t *p;
	size_t got;

	b->offset = e->offset;
	GS_TRY(gs_source_at(&in->src, e->offset,
			    e->length < GS_HEADER_MAX ? e->length : GS_HEADER_MAX, &p, &got));
	if (!gs_block_parse(p, got, &b->h) ||
	    memcmp(b->h.file_id, in->scan.file_id, GS_FILE_ID_LEN) != 0)
		*wrong = "has a damaged header";
	else if (b->h.incompat)
		return gs_error_new(
			GS_ERR_INCOMPATIBLE,
			"written by a newer version of gs: incompatible features 0x%llx",
			(unsigned long long)b->h.incompat);
	else if (b->h.seq != e->seq || b->h.type != e->type || b->h.rows != e->rows ||
		 b->h.cpu != e->cpu || b->h.time_first != e->time_first ||
		 b->h.time_last != e->time_last || b->h.flags != e->flags ||
		 (uint64_t)b->h.header_len + b->h.stored_len != e->length)
		*wrong = "is not what the index says";
	else
		*wrong = gs_block_check(&b->h);
	return NULL;
}

/* ---- metadata ---- */

static struct gs_error *unpack(const struct gs_block *b, const uint8_t *payload, struct gs_buf *raw)
{
	gs_buf_reset(raw);
	gs_buf_reserve(raw, b->h.raw_len);
	raw->len = b->h.raw_len;
	if (!(b->h.flags & GS_BLOCK_LZ4))
		memcpy(raw->data, payload, raw->len);
	else if (!gs_block_decompress(payload, b->h.stored_len, raw->data, raw->len))
		return gs_error_new(GS_ERR_DAMAGED, "does not decompress");
	return NULL;
}

/* Takes in a metadata block whose payload is good. GS_ERR_DAMAGED: not (yet) usable. */
static struct gs_error *take_meta(struct gs_input *in, const struct gs_block *b,
				  const uint8_t *payload)
{
	struct gs_buf raw = {0};
	struct gs_error *err = unpack(b, payload, &raw);

	if (!err) {
		struct gs_reader r = gs_reader_of(raw.data, raw.len);

		err = gs_meta_read(&r, &in->meta, (enum gs_meta_table)(b->h.type - GS_BLOCK_META));
		if (!err && gs_reader_left(&r))
			err = gs_error_new(GS_ERR_DAMAGED, "has bytes behind its last row");
	}
	gs_buf_deinit(&raw);
	return err;
}

/* One metadata block of the list. *keep: try it again when more tables are there. */
static struct gs_error *load_meta(struct gs_input *in, const struct gs_index_entry *e, bool last,
				  bool *keep)
{
	GS_CLEANUP_ERROR struct gs_error *bad = NULL;
	const uint8_t *payload = NULL;
	const char *wrong = NULL;
	struct gs_block b;

	*keep = false;
	GS_TRY(read_header(in, e, &b, &wrong));
	if (!wrong)
		GS_TRY(gs_scan_payload(&in->src, &b, &payload, &wrong));
	if (!payload) {
		bad_block(in, e, wrong);
		return NULL;
	}
	in->any_block = true;
	/* The index and unknown types only had to be intact. */
	if (gs_block_is_meta(b.h.type))
		bad = take_meta(in, &b, payload);
	*keep = bad && !last;
	if (bad && last)
		undecodable(in, e, bad);
	return NULL;
}

/*
 * All metadata, wherever it is. A block can need rows of a damaged one: it waits until a copy has
 * brought them.
 */
static struct gs_error *load_all_meta(struct gs_input *in, struct gs_index_entry *list, size_t n)
{
	size_t before = 0;

	for (int pass = 1; n && pass <= META_PASSES; pass++) {
		bool last = pass == META_PASSES || n == before;
		size_t kept = 0;

		before = n;
		for (size_t i = 0; i < n; i++) {
			bool keep;

			GS_TRY(load_meta(in, &list[i], last, &keep));
			if (keep)
				list[kept++] = list[i];
		}
		n = kept;
	}
	return NULL;
}

/* ---- opening ---- */

struct lists {
	struct gs_index_entry *other; /* blocks that are not events */
	size_t n, cap;
};

static void sort_out(struct gs_input *in, struct lists *lists, const struct gs_index_entry *e)
{
	if (e->type != GS_BLOCK_EVENTS) {
		*GS_PUSH(lists->other, lists->n, lists->cap) = *e;
		return;
	}
	*GS_PUSH(in->blocks, in->nblocks, in->blocks_cap) = *e;
	in->rows_seen += e->rows;
	in->any_block = true;
}

static struct gs_error *find_blocks(struct gs_input *in, bool no_index, struct lists *lists)
{
	struct gs_index_entry *entries = NULL;
	struct gs_block b;
	bool found = true;
	size_t n = 0;

	if (!no_index)
		GS_TRY(gs_scan_index(&in->scan, &entries, &n));
	for (size_t i = 0; i < n && entries; i++)
		sort_out(in, lists, &entries[i]);
	free(entries);
	if (entries)
		return NULL;
	while (found) {
		struct gs_index_entry e;

		GS_TRY(gs_scan_next(&in->scan, &b, &found));
		e = entry_of(&b);
		if (found)
			sort_out(in, lists, &e);
	}
	return NULL;
}

/*
 * The end block counts all events of the file: that says how many are in the parts that could not
 * be read, and shows losses that left no other trace.
 */
static void check_total(struct gs_input *in)
{
	uint64_t known = in->rows_seen + in->scan.rows_dropped, unknown = 0;
	struct gs_damage *d = NULL;

	if (!in->meta.has_end)
		return;
	for (size_t i = 0; i < in->damages.n; i++) {
		if (in->damages.list[i].rows != UINT64_MAX)
			continue;
		unknown++;
		d = &in->damages.list[i];
	}
	if (unknown > 1 && known != in->meta.end.events)
		return;
	if (unknown == 0 && known != in->meta.end.events) {
		d = gs_damages_add(&in->damages, in->src.size, 0,
				   "the end block counts %llu events, but the file has %llu",
				   (unsigned long long)in->meta.end.events,
				   (unsigned long long)known);
	}
	for (size_t i = 0; i < in->damages.n; i++)
		if (in->damages.list[i].rows == UINT64_MAX)
			in->damages.list[i].rows = 0;
	if (d && in->meta.end.events > known)
		d->rows = in->meta.end.events - known;
}

static struct gs_error *open_seekable(struct gs_input *in, bool no_index)
{
	struct lists lists = {0};
	struct gs_error *err = find_blocks(in, no_index, &lists);

	if (!err)
		err = load_all_meta(in, lists.other, lists.n);
	free(lists.other);
	if (!err)
		check_total(in);
	return err;
}

static struct gs_error *no_blocks(struct gs_input *in)
{
	const uint8_t *p;
	size_t got;

	if (!in->src.seekable)
		return gs_error_new(GS_ERR_DAMAGED,
				    "not a recording of gs-record: no block could be read");
	GS_TRY(gs_source_at(&in->src, 0, GS_SIGNATURE_LEN, &p, &got));
	if (got == GS_SIGNATURE_LEN && memcmp(p, gs_signature, got) == 0)
		return gs_error_new(GS_ERR_DAMAGED,
				    "a recording of gs-record without any readable block");
	return gs_error_new(GS_ERR_DAMAGED, "not a recording of gs-record: %s",
			    gs_scan_looks_like(p, got));
}

/* Metadata of a pipe up to the first event block, which is held for the iteration. */
static struct gs_error *open_pipe(struct gs_input *in)
{
	struct gs_batch *none;

	in->opening = true;
	while (!in->has_held && !in->ended)
		GS_TRY(gs_input_read_block(in, &none));
	in->opening = false;
	return NULL;
}

static struct gs_error *input_start(struct gs_input *in, const struct gs_input_options *opts)
{
	in->window_ns = opts && opts->window_ns ? opts->window_ns : WINDOW_NS;
	in->to_ns = UINT64_MAX;
	gs_meta_init(&in->meta);
	in->env.meta = &in->meta;
	in->scan = (struct gs_scan){.src = &in->src, .damages = &in->damages};
	GS_TRY(gs_scan_signature(&in->scan));
	if (in->src.seekable)
		GS_TRY(open_seekable(in, opts && opts->no_index));
	else
		GS_TRY(open_pipe(in));
	return in->any_block ? NULL : no_blocks(in);
}

static struct gs_error *input_finish(struct gs_input *in, struct gs_error *err,
				     struct gs_input **out)
{
	if (err)
		gs_input_free(in);
	else
		*out = in;
	return err;
}

struct gs_error *gs_input_open(const char *path, const struct gs_input_options *opts,
			       struct gs_input **out)
{
	struct gs_input *in = gs_calloc(1, sizeof(*in));
	struct gs_error *err = gs_source_open(&in->src, path);

	if (!err)
		err = input_start(in, opts);
	if (err)
		err = gs_error_wrap(err, "%s", strcmp(path, "-") ? path : "standard input");
	return input_finish(in, err, out);
}

struct gs_error *gs_input_open_memory(const void *data, size_t len,
				      const struct gs_input_options *opts, struct gs_input **out)
{
	struct gs_input *in = gs_calloc(1, sizeof(*in));

	gs_source_memory(&in->src, data, len);
	return input_finish(in, input_start(in, opts), out);
}

/* ---- event blocks ---- */

static struct gs_error *decode(struct gs_input *in, const struct gs_index_entry *e,
			       const struct gs_block *b, const uint8_t *payload,
			       struct gs_batch **out)
{
	GS_CLEANUP_ERROR struct gs_error *err = gs_batch_open(&in->env, &b->h, payload, out);

	if (err) {
		*out = NULL;
		undecodable(in, e, err);
	}
	return NULL;
}

struct gs_error *gs_input_open_block(struct gs_input *in, const struct gs_index_entry *e,
				     struct gs_batch **out)
{
	const uint8_t *payload = NULL;
	const char *wrong = NULL;
	struct gs_block b;

	*out = NULL;
	GS_TRY(read_header(in, e, &b, &wrong));
	if (!wrong)
		GS_TRY(gs_scan_payload(&in->src, &b, &payload, &wrong));
	if (payload)
		return decode(in, e, &b, payload, out);
	bad_block(in, e, wrong);
	return NULL;
}

static struct gs_error *pipe_events(struct gs_input *in, const struct gs_block *b,
				    struct gs_batch **out)
{
	struct gs_index_entry e = entry_of(b);
	const uint8_t *payload;
	const char *wrong;

	in->rows_seen += b->h.rows;
	GS_TRY(gs_scan_payload(&in->src, b, &payload, &wrong));
	if (!payload) {
		bad_block(in, &e, wrong);
		return NULL;
	}
	if (b->h.time_last > in->newest)
		in->newest = b->h.time_last;
	return decode(in, &e, b, payload, out);
}

static struct gs_error *pipe_other(struct gs_input *in, const struct gs_block *b)
{
	GS_CLEANUP_ERROR struct gs_error *bad = NULL;
	struct gs_index_entry e = entry_of(b);
	const uint8_t *payload;
	const char *wrong;

	GS_TRY(gs_scan_payload(&in->src, b, &payload, &wrong));
	if (!payload) {
		bad_block(in, &e, wrong);
		return NULL;
	}
	in->any_block = true;
	if (gs_block_is_meta(b->h.type))
		bad = take_meta(in, b, payload);
	if (bad)
		undecodable(in, &e, bad);
	return NULL;
}

struct gs_error *gs_input_read_block(struct gs_input *in, struct gs_batch **out)
{
	struct gs_block b;
	bool found;

	*out = NULL;
	if (in->has_held) {
		in->has_held = false;
		return pipe_events(in, &in->held, out);
	}
	GS_TRY(gs_scan_next(&in->scan, &b, &found));
	if (!found) {
		in->ended = true;
		check_total(in);
		return NULL;
	}
	if (b.h.type != GS_BLOCK_EVENTS)
		return pipe_other(in, &b);
	in->any_block = true;
	if (in->opening) {
		in->held = b;
		in->has_held = true;
		return NULL;
	}
	return pipe_events(in, &b, out);
}

struct gs_error *gs_input_next_batch(struct gs_input *in, struct gs_batch **batch)
{
	gs_batch_free(in->current);
	in->current = NULL;
	*batch = NULL;
	while (!in->current) {
		const struct gs_index_entry *e;

		if (!in->src.seekable) {
			if (in->ended)
				return NULL;
			GS_TRY(gs_input_read_block(in, &in->current));
			continue;
		}
		if (in->next_block == in->nblocks)
			return NULL;
		e = &in->blocks[in->next_block++];
		if (e->time_last >= in->from_ns && e->time_first <= in->to_ns)
			GS_TRY(gs_input_open_block(in, e, &in->current));
	}
	*batch = in->current;
	return NULL;
}
