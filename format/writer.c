/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file writer: blocks in the order that gs-file(5) wants, each with one write(2).
 * Between the recorder's drain (raw records, metadata) and the file or pipe.
 */
#include "format/writer.h"

#include <errno.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/hash.h"
#include "format/block.h"
#include "format/index.h"
#include "format/rows.h"

#define REPEAT_BYTES ((uint64_t)64 << 20)
/* About a million blocks. Beyond, the recorder's memory is worth more than a quick start of the
 * report. */
#define INDEX_MAX ((size_t)16 << 20)

struct record {
	uint64_t time;
	const struct gs_event_head *head;
};

struct gs_writer {
	int fd;
	bool truncatable; /* a regular file: half a block can be taken back */
	off_t base;	  /* where the signature is */
	uint8_t file_id[GS_FILE_ID_LEN];
	uint64_t repeat_bytes, repeated_at;
	uint64_t bytes, events, seq;
	bool ended;

	struct gs_meta meta;
	size_t written[GS_META_TABLES]; /* rows that are in the file */
	bool touched[GS_META_TABLES];

	struct gs_rows *rows;
	struct record *order;
	size_t order_cap;
	struct gs_buf payload, block;

	bool with_index;
	struct gs_buf index;
	uint64_t index_count, index_time;
};

/* ---- bytes ---- */

static struct gs_error *write_all(struct gs_writer *w, const uint8_t *p, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = write(w->fd, p + done, n - done);

		if (got > 0) {
			done += (size_t)got;
		} else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			struct pollfd pfd = {.fd = w->fd, .events = POLLOUT};

			poll(&pfd, 1, -1);
		} else if (got < 0 && errno == EINTR) {
			continue;
		} else {
			int err = got < 0 ? errno : ENOSPC;

			/* What is in the file stays whole: a block that was cut off is taken back.
			 */
			if (done && w->truncatable &&
			    (ftruncate(w->fd, w->base + (off_t)w->bytes) ||
			     lseek(w->fd, w->base + (off_t)w->bytes, SEEK_SET) < 0))
				w->truncatable = false;
			return gs_error_errno(err, "cannot write the recording");
		}
	}
	w->bytes += n;
	return NULL;
}

static void note_index(struct gs_writer *w, const struct gs_block_header *h)
{
	if (!w->with_index)
		return;
	gs_index_put(&w->index, h, &w->index_time);
	w->index_count++;
	if (w->index.len > INDEX_MAX) {
		w->with_index = false;
		gs_buf_deinit(&w->index);
	}
}

/* Type, flags, lengths, rows, cpu and times are the caller's. */
static struct gs_error *write_block(struct gs_writer *w, struct gs_block_header *h,
				    const struct gs_buf *payload)
{
	memcpy(h->file_id, w->file_id, GS_FILE_ID_LEN);
	h->stored_len = (uint32_t)payload->len;
	h->seq = w->seq;
	h->payload_crc = gs_crc32c(0, payload->data, payload->len);
	gs_buf_reset(&w->block);
	gs_block_put_header(&w->block, h);
	gs_buf_append(&w->block, payload->data, payload->len);
	GS_TRY(write_all(w, w->block.data, w->block.len));
	w->seq++;
	note_index(w, h);
	return NULL;
}

/* A block that is not events: compressed as a whole. */
static struct gs_error *write_packed(struct gs_writer *w, struct gs_block_header *h,
				     const struct gs_buf *raw)
{
	struct gs_buf packed = {0};
	struct gs_error *err;

	if (raw->len > GS_BLOCK_MAX_META)
		return gs_error_new(GS_ERR_LIMIT, "the %s table takes %zu bytes; the most is %u",
				    gs_block_type_name(h->type), raw->len, GS_BLOCK_MAX_META);
	h->raw_len = (uint32_t)raw->len;
	if (gs_block_compress(&packed, raw->data, raw->len))
		h->flags |= GS_BLOCK_LZ4;
	err = write_block(w, h, h->flags & GS_BLOCK_LZ4 ? &packed : raw);
	gs_buf_deinit(&packed);
	return err;
}

/* ---- open and close ---- */

static struct gs_error *make_file_id(struct gs_writer *w, const uint8_t *given)
{
	if (given)
		memcpy(w->file_id, given, GS_FILE_ID_LEN);
	else if (getrandom(w->file_id, GS_FILE_ID_LEN, 0) != GS_FILE_ID_LEN)
		return gs_error_errno(errno, "cannot get random bytes for the file id");
	return NULL;
}

struct gs_error *gs_writer_open(const struct gs_writer_options *opts, struct gs_writer **out)
{
	struct gs_writer *w = gs_calloc(1, sizeof(*w));
	struct gs_error *err;
	struct stat st;

	w->fd = opts->fd;
	w->with_index = !opts->no_index;
	w->repeat_bytes = opts->repeat_bytes ? opts->repeat_bytes : REPEAT_BYTES;
	w->seq = 1;
	w->base = lseek(w->fd, 0, SEEK_CUR);
	w->truncatable = w->base >= 0 && fstat(w->fd, &st) == 0 && S_ISREG(st.st_mode);
	gs_meta_init(&w->meta);
	w->written[GS_META_TYPES] = 1; /* void */
	w->rows = gs_rows_new(&w->meta);
	err = make_file_id(w, opts->file_id);
	if (!err)
		err = write_all(w, gs_signature, GS_SIGNATURE_LEN);
	if (err) {
		gs_writer_free(w);
		return err;
	}
	*out = w;
	return NULL;
}

void gs_writer_free(struct gs_writer *w)
{
	if (!w)
		return;
	gs_rows_free(w->rows);
	gs_meta_deinit(&w->meta);
	gs_buf_deinit(&w->payload);
	gs_buf_deinit(&w->block);
	gs_buf_deinit(&w->index);
	free(w->order);
	free(w);
}

uint64_t gs_writer_bytes(const struct gs_writer *w)
{
	return w->bytes;
}

uint64_t gs_writer_rows(const struct gs_writer *w)
{
	return w->events;
}

/* ---- metadata ---- */

/* In the order of references: what a row refers to is there before it. */
static const enum gs_meta_table table_order[] = {
	GS_META_SESSION, GS_META_TYPES,	   GS_META_MODULES,   GS_META_PROBES,
	GS_META_SCHEMAS, GS_META_SITES,	   GS_META_PROCESSES, GS_META_MAPS,
	GS_META_CLOCK,	 GS_META_COUNTERS, GS_META_SYMBOLS,
};

struct gs_meta *gs_writer_meta(struct gs_writer *w)
{
	return &w->meta;
}

void gs_writer_touch(struct gs_writer *w, enum gs_meta_table table)
{
	w->touched[table] = true;
}

static struct gs_error *write_table(struct gs_writer *w, enum gs_meta_table table, size_t first,
				    uint32_t flags)
{
	size_t total = gs_meta_count(&w->meta, table);

	while (first < total) {
		struct gs_block_header h = {.type = (uint16_t)(GS_BLOCK_META + table),
					    .flags = flags};
		size_t next;

		gs_buf_reset(&w->payload);
		next = gs_meta_write_some(&w->payload, &w->meta, table, first, GS_META_BLOCK);
		h.rows = (uint32_t)(next - first);
		GS_TRY(write_packed(w, &h, &w->payload));
		first = next;
	}
	return NULL;
}

struct gs_error *gs_writer_flush_meta(struct gs_writer *w)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(table_order); i++) {
		enum gs_meta_table table = table_order[i];
		size_t total = gs_meta_count(&w->meta, table), first = w->written[table];
		bool whole = w->touched[table] || table == GS_META_TYPES ||
			     table == GS_META_COUNTERS || table == GS_META_SYMBOLS;

		if (total == w->written[table] && !w->touched[table])
			continue;
		GS_TRY(write_table(w, table, whole ? 0 : first, 0));
		w->written[table] = total;
		w->touched[table] = false;
	}
	return NULL;
}

static struct gs_error *repeat_meta(struct gs_writer *w)
{
	GS_TRY(gs_writer_flush_meta(w));
	for (size_t i = 0; i < GS_ARRAY_SIZE(table_order); i++)
		if (table_order[i] != GS_META_TYPES || w->written[GS_META_TYPES] > 1)
			GS_TRY(write_table(w, table_order[i], 0, GS_BLOCK_REPEAT));
	w->repeated_at = w->bytes;
	return NULL;
}

/* ---- events ---- */

/* Equal times keep the order of the ring buffer, which is the order in memory. */
static int record_order(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->head < y->head ? -1 : x->head > y->head;
}

/* Lists the records that can be rows, by time. */
static size_t collect(struct gs_writer *w, const uint8_t *p, size_t len, uint64_t *bad)
{
	size_t n = 0, next;
	bool sorted = true;

	for (size_t at = 0; at < len; at = next) {
		const struct gs_event_head *head = (const void *)(p + at);

		if (len - at < sizeof(*head) || head->len < sizeof(*head) || head->len > len - at) {
			++*bad; /* and where the next one begins is unknown */
			break;
		}
		next = at + ((head->len + 7u) & ~(size_t)7);
		if (head->kind != GS_RECORD_EVENT || head->site >= w->meta.nsites) {
			++*bad;
			continue;
		}
		w->order = gs_grow(w->order, &w->order_cap, n + 1, sizeof(*w->order));
		w->order[n] = (struct record){head->time_ns, head};
		sorted = sorted && (!n || w->order[n - 1].time <= head->time_ns);
		n++;
	}
	if (!sorted)
		qsort(w->order, n, sizeof(*w->order), record_order);
	return n;
}

static struct gs_error *write_rows(struct gs_writer *w, uint32_t cpu)
{
	struct gs_block_header h = {.type = GS_BLOCK_EVENTS, .cpu = cpu};
	uint32_t n = gs_rows_count(w->rows);

	if (!n)
		return NULL;
	if (w->bytes - w->repeated_at + GS_BLOCK_MAX_RAW > w->repeat_bytes)
		GS_TRY(repeat_meta(w));
	gs_buf_reset(&w->payload);
	gs_rows_finish(w->rows, &h, &w->payload);
	GS_TRY(write_block(w, &h, &w->payload));
	w->events += n;
	return NULL;
}

struct gs_error *gs_writer_events(struct gs_writer *w, uint32_t cpu, const void *records,
				  size_t len, uint64_t *bad)
{
	size_t n = collect(w, records, len, bad), raw = 0;

	if (!n)
		return NULL;
	GS_TRY(gs_writer_flush_meta(w));
	gs_rows_reset(w->rows);
	for (size_t i = 0; i < n; i++) {
		const struct gs_event_head *head = w->order[i].head;

		if (raw + head->len > GS_BLOCK_MAX_RAW) {
			GS_TRY(write_rows(w, cpu));
			gs_rows_reset(w->rows);
			raw = 0;
		}
		if (gs_rows_add(w->rows, head))
			raw += head->len;
		else
			++*bad;
	}
	return write_rows(w, cpu);
}

/* ---- end ---- */

static struct gs_error *write_index(struct gs_writer *w)
{
	struct gs_block_header index = {.type = GS_BLOCK_INDEX};
	struct gs_block_header trailer = {.type = GS_BLOCK_TRAILER, .raw_len = 8};
	uint64_t at = w->bytes;

	if (!w->with_index)
		return NULL;
	gs_buf_reset(&w->payload);
	gs_put_uleb(&w->payload, w->index_count);
	gs_buf_append(&w->payload, w->index.data, w->index.len);
	w->with_index = false; /* the index does not list itself */
	GS_TRY(write_packed(w, &index, &w->payload));
	gs_buf_reset(&w->payload);
	gs_put_u64(&w->payload, at);
	return write_block(w, &trailer, &w->payload);
}

struct gs_error *gs_writer_end(struct gs_writer *w, const struct gs_meta_end *end)
{
	if (w->ended)
		return gs_error_new(GS_ERR_INTERNAL, "the recording was ended twice");
	w->meta.end = *end;
	w->meta.end.events = w->events;
	w->meta.has_end = true;
	w->ended = true;
	GS_TRY(repeat_meta(w));
	GS_TRY(write_table(w, GS_META_END, 0, 0));
	GS_TRY(write_table(w, GS_META_END, 0, GS_BLOCK_REPEAT));
	return write_index(w);
}
