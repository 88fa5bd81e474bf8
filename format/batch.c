/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes event blocks: directory and common columns at once, columns of items on demand.
 * Between blocks whose checksums were right (input.c) and reports; believes nothing all the same.
 */
#include "format/batch.h"

#include "common/status.h"
#include "format/encode.h"
#include "format/wide.h"

#define PARTS 5 /* of an item */

struct entry {
	const uint8_t *data;
	uint32_t stored, encoded;
	uint8_t enc;
	bool big_endian, lz4, there;
};

struct item {
	struct entry parts[PARTS];
	struct gs_column column;
	bool decoded;
};

struct schema {
	uint32_t id, nrows, nitems;
	struct item *items;
};

struct batch {
	struct gs_batch pub; /* first: what callers see */
	const struct gs_meta *meta;
	uint64_t seq;
	struct gs_arena arena;
	struct entry common[GS_PART_THREAD + 1];
	struct schema *schemas; /* with rows here */
	size_t nschemas;
	struct gs_buf lz; /* scratch: a column after decompression */
	uint64_t *values; /* scratch: nrows integers */
};

/* Directory entry as read, before it is known what it belongs to. */
struct raw_entry {
	uint64_t owner, item;
	uint8_t part;
	struct entry e;
};

static struct gs_error *malformed(const char *what)
{
	return gs_error_new(GS_ERR_DAMAGED, "%s", what);
}

uint64_t gs_batch_seq(const struct gs_batch *b)
{
	return ((const struct batch *)b)->seq;
}

void gs_batch_free(struct gs_batch *pub)
{
	struct batch *b = (struct batch *)pub;

	if (!b)
		return;
	gs_arena_deinit(&b->arena);
	gs_buf_deinit(&b->lz);
	free(b);
}

/* ---- environment ---- */

void gs_batch_env_deinit(struct gs_batch_env *env)
{
	free(env->fixed_len);
	*env = (struct gs_batch_env){0};
}

static void env_update(struct gs_batch_env *env)
{
	while (env->n < env->meta->nschemas) {
		uint32_t *to = GS_PUSH(env->fixed_len, env->n, env->cap);
		struct gs_layout layout;
		struct gs_error *err = gs_schema_layout(&env->meta->schemas[env->n - 1], &layout);

		/* The table reader refuses such schemas; no row can have one. */
		*to = err ? UINT32_MAX : layout.fixed_len;
		if (err)
			gs_error_free(err);
		else
			gs_layout_deinit(&layout);
	}
}

/* ---- directory ---- */

static bool read_entry(struct gs_reader *r, struct raw_entry *raw)
{
	uint64_t stored, encoded;
	uint8_t enc, lz4;

	raw->owner = gs_read_uleb(r);
	raw->item = gs_read_uleb(r);
	raw->part = gs_read_u8(r);
	enc = gs_read_u8(r);
	lz4 = gs_read_u8(r);
	stored = gs_read_uleb(r);
	encoded = gs_read_uleb(r);
	if (r->bad || lz4 > 1 || encoded > GS_COLUMN_MAX_ENCODED || stored > encoded ||
	    (!lz4 && stored != encoded))
		return false;
	raw->e = (struct entry){
		.stored = (uint32_t)stored,
		.encoded = (uint32_t)encoded,
		.enc = enc & (uint8_t)~GS_ENC_BIG_ENDIAN,
		.big_endian = enc & GS_ENC_BIG_ENDIAN,
		.lz4 = lz4,
		.there = true,
	};
	return true;
}

static struct gs_error *read_directory(struct batch *b, struct gs_reader *r,
				       struct raw_entry **list, size_t *n)
{
	uint64_t count = gs_read_uleb(r);

	if (r->bad || count > gs_reader_left(r) / 7)
		return malformed("impossible number of columns");
	*list = gs_arena_alloc(&b->arena, count * sizeof(**list));
	*n = count;
	for (size_t i = 0; i < count; i++)
		if (!read_entry(r, &(*list)[i]))
			return malformed("malformed column directory");
	for (size_t i = 0; i < count; i++) {
		(*list)[i].e.data = gs_read_bytes(r, (*list)[i].e.stored);
		if (!(*list)[i].e.data)
			return malformed("columns are longer than the block");
	}
	return gs_reader_left(r) ? malformed("bytes behind the last column") : NULL;
}

/* ---- columns ---- */

/* The encoded bytes of a column, valid until the next call. */
static bool entry_bytes(struct batch *b, const struct entry *e, struct gs_reader *r)
{
	if (!e->lz4) {
		*r = gs_reader_of(e->data, e->stored);
		return true;
	}
	gs_buf_reset(&b->lz);
	gs_buf_reserve(&b->lz, e->encoded);
	*r = gs_reader_of(b->lz.data, e->encoded);
	return gs_block_decompress(e->data, e->stored, b->lz.data, e->encoded);
}

/* N integers of a column into the scratch array; N is at most the number of rows. */
static bool decode_ints(struct batch *b, const struct entry *e, size_t n, unsigned width)
{
	struct gs_reader r;

	return e->there && entry_bytes(b, e, &r) &&
	       gs_ints_decode(&r, (enum gs_encoding)e->enc, b->values, n, width);
}

static uint32_t *decode_u32(struct batch *b, const struct entry *e, size_t n)
{
	uint32_t *out;

	if (!decode_ints(b, e, n, 4))
		return NULL;
	out = gs_arena_alloc(&b->arena, n * sizeof(*out));
	for (size_t i = 0; i < n; i++)
		out[i] = (uint32_t)b->values[i];
	return out;
}

static struct gs_error *decode_time(struct batch *b, const struct gs_block_header *h)
{
	size_t n = b->pub.nrows;
	uint64_t *time = b->values;

	if (!decode_ints(b, &b->common[GS_PART_TIME], n, 8))
		return malformed("malformed time column");
	if (time[0] != h->time_first || time[n - 1] != h->time_last)
		return malformed("times disagree with the header");
	for (size_t i = 1; i < n; i++)
		if (time[i] < time[i - 1])
			return malformed("times are not in order");
	b->pub.time = gs_arena_memdup(&b->arena, time, n * sizeof(*time));
	return NULL;
}

struct thread {
	uint32_t pid, tid;
};

/* The dictionary of threads; their number, or 0 when it is malformed. */
static size_t read_threads(struct batch *b, struct gs_reader *r, struct thread **threads)
{
	uint64_t count = gs_read_uleb(r);
	char(*comms)[17];

	if (r->bad || count > b->pub.nrows || count > gs_reader_left(r) / 3)
		return 0;
	*threads = gs_arena_alloc(&b->arena, count * sizeof(**threads));
	comms = gs_arena_alloc(&b->arena, count * sizeof(*comms));
	for (size_t i = 0; i < count; i++) {
		uint64_t pid = gs_read_uleb(r), tid = gs_read_uleb(r), len = gs_read_uleb(r);
		const uint8_t *name = len <= 16 ? gs_read_bytes(r, len) : NULL;

		if (!name || pid > UINT32_MAX || tid > UINT32_MAX)
			return 0;
		(*threads)[i] = (struct thread){(uint32_t)pid, (uint32_t)tid};
		memcpy(comms[i], name, len);
	}
	b->pub.comms = (const char(*)[17])comms;
	b->pub.ncomms = (uint32_t)count;
	return count;
}

static struct gs_error *decode_threads(struct batch *b)
{
	const struct entry *e = &b->common[GS_PART_THREAD];
	size_t n = b->pub.nrows, count;
	struct thread *threads;
	uint32_t *pid, *tid, *comm;
	struct gs_reader r;

	if (!e->there || e->enc != GS_ENC_THREADS || !entry_bytes(b, e, &r))
		return malformed("malformed thread column");
	count = read_threads(b, &r, &threads);
	if (!count || !gs_pack_get(&r, b->values, n, 4) || gs_reader_left(&r))
		return malformed("malformed thread column");
	pid = gs_arena_alloc(&b->arena, 3 * n * sizeof(*pid));
	tid = pid + n;
	comm = tid + n;
	for (size_t i = 0; i < n; i++) {
		uint64_t place = b->values[i];

		if (place >= count)
			return malformed("a row has a thread that does not exist");
		pid[i] = threads[place].pid;
		tid[i] = threads[place].tid;
		comm[i] = (uint32_t)place;
	}
	b->pub.pid = pid;
	b->pub.tid = tid;
	b->pub.comm = comm;
	return NULL;
}

static struct schema *find_schema(const struct batch *b, uint64_t id)
{
	for (size_t i = 0; i < b->nschemas; i++)
		if (b->schemas[i].id == id)
			return &b->schemas[i];
	return NULL;
}

/* The schemas of the rows, how many rows each has, and each row's place among them. */
static struct gs_error *count_schemas(struct batch *b, uint32_t *counts)
{
	size_t n = b->pub.nrows;
	uint32_t *place = gs_arena_alloc(&b->arena, n * sizeof(*place));

	for (size_t i = 0; i < n; i++) {
		if (b->pub.site[i] >= b->meta->nsites)
			return malformed("a row has a site that is not in the file");
		place[i] = counts[b->meta->sites[b->pub.site[i]].schema]++;
		b->nschemas += place[i] == 0;
	}
	b->pub.schema_row = place;
	return NULL;
}

static struct gs_error *make_schemas(struct batch *b, const struct gs_batch_env *env,
				     uint64_t raw_len)
{
	size_t bytes = b->meta->nschemas * sizeof(uint32_t), k = 0;
	uint32_t *counts = gs_calloc(b->meta->nschemas, sizeof(*counts));
	struct gs_error *err = bytes ? count_schemas(b, counts) : malformed("there are no schemas");
	uint64_t least = 0;

	if (!err)
		b->schemas = gs_arena_alloc(&b->arena, b->nschemas * sizeof(*b->schemas));
	/* In the order of their first rows. */
	for (size_t i = 0; i < b->pub.nrows && !err; i++) {
		uint32_t id = b->meta->sites[b->pub.site[i]].schema;
		struct schema *s = &b->schemas[k];

		if (b->pub.schema_row[i])
			continue;
		least += (uint64_t)counts[id] * env->fixed_len[id];
		*s = (struct schema){id, counts[id], b->meta->schemas[id].nitems, NULL};
		k++;
	}
	free(counts);
	/* This bounds all that is decoded later: nothing can be larger than the records were. */
	if (!err && least > raw_len)
		err = malformed("more rows than its length allows");
	for (size_t i = 0; i < b->nschemas && !err; i++)
		b->schemas[i].items =
			gs_arena_alloc(&b->arena, b->schemas[i].nitems * sizeof(struct item));
	return err;
}

static struct gs_error *take_common(struct batch *b, const struct raw_entry *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct raw_entry *raw = &list[i];

		if (raw->owner != 0 || raw->part >= GS_PART_IGNORABLE)
			continue;
		if (raw->part > GS_PART_THREAD || raw->item)
			return malformed("it has a column of a newer version");
		if (b->common[raw->part].there)
			return malformed("it has a column twice");
		b->common[raw->part] = raw->e;
	}
	return NULL;
}

static struct gs_error *take_items(struct batch *b, const struct raw_entry *list, size_t n)
{
	struct schema *s = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct raw_entry *raw = &list[i];

		if (raw->owner == 0)
			continue;
		if (!s || s->id != raw->owner - 1)
			s = find_schema(b, raw->owner - 1);
		if (!s || raw->item >= s->nitems)
			return malformed("it has a column of an item without rows");
		if (raw->part >= GS_PART_IGNORABLE)
			continue;
		if (raw->part >= PARTS)
			return malformed("it has a column of a newer version");
		if (s->items[raw->item].parts[raw->part].there)
			return malformed("it has a column twice");
		s->items[raw->item].parts[raw->part] = raw->e;
	}
	return NULL;
}

static struct gs_error *decode_common(struct batch *b, const struct gs_batch_env *env,
				      const struct gs_block_header *h, const uint8_t *payload)
{
	struct gs_reader r;
	struct raw_entry *list = NULL;
	size_t n = 0;

	payload = gs_arena_memdup(&b->arena, payload, h->stored_len);
	r = gs_reader_of(payload, h->stored_len);
	b->values = gs_arena_alloc(&b->arena, h->rows * sizeof(*b->values));
	GS_TRY(read_directory(b, &r, &list, &n));
	GS_TRY(take_common(b, list, n));
	GS_TRY(decode_time(b, h));
	b->pub.site = decode_u32(b, &b->common[GS_PART_SITE], h->rows);
	if (!b->pub.site)
		return malformed("malformed site column");
	GS_TRY(decode_threads(b));
	GS_TRY(make_schemas(b, env, h->raw_len));
	return take_items(b, list, n);
}

struct gs_error *gs_batch_open(struct gs_batch_env *env, const struct gs_block_header *h,
			       const uint8_t *payload, struct gs_batch **out)
{
	struct batch *b = gs_calloc(1, sizeof(*b));
	struct gs_error *err;

	env_update(env);
	b->meta = env->meta;
	b->seq = h->seq;
	b->pub.nrows = h->rows;
	b->pub.cpu = h->cpu;
	err = decode_common(b, env, h, payload);
	if (err) {
		gs_batch_free(&b->pub);
		return err;
	}
	*out = &b->pub;
	return NULL;
}

/* ---- items ---- */

/* What of an item's rows is there. */
struct presence {
	uint32_t present, faults;
};

static bool decode_status(struct batch *b, struct item *item, uint32_t nrows, struct presence *p)
{
	uint8_t *status = gs_arena_alloc(&b->arena, nrows); /* zeroed: ok */
	const struct entry *e = &item->parts[GS_PART_STATUS];

	*p = (struct presence){nrows, 0};
	item->column.status = status;
	if (!e->there)
		return true;
	if (!decode_ints(b, e, nrows, 1))
		return false;
	p->present = 0;
	for (uint32_t i = 0; i < nrows; i++) {
		status[i] = (uint8_t)b->values[i];
		p->present += gs_status_has_data(status[i]);
		p->faults += status[i] == GS_STATUS_FAULT;
	}
	return true;
}

static bool decode_faults(struct batch *b, struct item *item, uint32_t nrows, uint32_t faults)
{
	const struct entry *e = &item->parts[GS_PART_FAULT];
	uint64_t *addresses;

	if (!faults || !e->there)
		return !faults && !e->there;
	if (!decode_ints(b, e, faults, 8))
		return false;
	addresses = gs_arena_alloc(&b->arena, nrows * sizeof(*addresses));
	for (uint32_t i = 0, k = 0; i < nrows; i++)
		if (item->column.status[i] == GS_STATUS_FAULT)
			addresses[i] = b->values[k++];
	item->column.fault_address = addresses;
	return true;
}

static void store(uint8_t *to, uint64_t v, unsigned width, bool big_endian)
{
	for (unsigned i = 0; i < width; i++)
		to[i] = (uint8_t)(v >> (8 * (big_endian ? width - 1 - i : i)));
}

/* Where each row's bytes begin, when they all have SIZE or none. */
static uint32_t *fixed_offsets(struct batch *b, const uint8_t *status, uint32_t nrows,
			       uint32_t size)
{
	uint32_t *offset = gs_arena_alloc(&b->arena, ((size_t)nrows + 1) * sizeof(*offset));

	for (uint32_t i = 0; i < nrows; i++)
		offset[i + 1] = offset[i] + (gs_status_has_data(status[i]) ? size : 0);
	return offset;
}

static bool decode_fixed(struct batch *b, struct item *item, uint32_t nrows, uint32_t present,
			 uint32_t size)
{
	const struct entry *e = &item->parts[GS_PART_DATA];
	struct gs_column *c = &item->column;
	struct gs_reader r;
	uint8_t *data;

	c->size = size;
	if (present != nrows)
		c->offset = fixed_offsets(b, c->status, nrows, size);
	c->data = (const uint8_t *)"";
	if (!present || !size || !e->there)
		return (!present || !size) && !e->there;
	data = gs_arena_alloc(&b->arena, (size_t)present * size);
	c->data = data;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return entry_bytes(b, e, &r) &&
		       gs_wide_decode(&r, e->enc, e->big_endian, data, present, size, b->values);
	if (!decode_ints(b, e, present, size))
		return false;
	for (uint32_t i = 0; i < present; i++)
		store(data + (size_t)i * size, b->values[i], size, e->big_endian);
	return true;
}

/* Offsets from the lengths of the present rows (in b->values); false: more than fits a block. */
static bool variable_offsets(struct batch *b, struct gs_column *c, uint32_t nrows, uint32_t limit)
{
	uint32_t *offset = gs_arena_alloc(&b->arena, ((size_t)nrows + 1) * sizeof(*offset));

	for (uint32_t i = 0, k = 0; i < nrows; i++) {
		uint64_t len = gs_status_has_data(c->status[i]) ? b->values[k++] : 0;

		if (len > limit || offset[i] + len > GS_BLOCK_MAX_RAW)
			return false;
		offset[i + 1] = offset[i] + (uint32_t)len;
	}
	c->offset = offset;
	return true;
}

static bool decode_plain(struct batch *b, struct item *item, uint32_t nrows, uint32_t present,
			 uint32_t limit)
{
	const struct entry *e = &item->parts[GS_PART_DATA];
	struct gs_column *c = &item->column;
	struct gs_reader r;
	uint32_t total;

	if (!decode_ints(b, &item->parts[GS_PART_LENGTH], present, 4) ||
	    !variable_offsets(b, c, nrows, limit))
		return false;
	total = c->offset[nrows];
	if (!total || !e->there)
		return !total && !e->there;
	if (e->enc != GS_ENC_RAW || !entry_bytes(b, e, &r) || gs_reader_left(&r) != total)
		return false;
	c->data = gs_arena_memdup(&b->arena, r.pos, total);
	return true;
}

struct string {
	const uint8_t *p;
	uint64_t len;
};

static bool read_strings(struct batch *b, struct gs_reader *r, struct string **strings,
			 uint64_t *count, uint32_t limit)
{
	*count = gs_read_uleb(r);
	if (r->bad || *count > gs_reader_left(r))
		return false;
	*strings = gs_arena_alloc(&b->arena, *count * sizeof(**strings));
	for (uint64_t i = 0; i < *count; i++) {
		uint64_t len = gs_read_uleb(r);
		const uint8_t *p = len <= limit ? gs_read_bytes(r, len) : NULL;

		if (!p)
			return false;
		(*strings)[i] = (struct string){p, len};
	}
	return true;
}

static bool decode_strings(struct batch *b, struct item *item, uint32_t nrows, uint32_t present,
			   uint32_t limit)
{
	const struct entry *e = &item->parts[GS_PART_STRINGS];
	struct gs_column *c = &item->column;
	struct string *strings;
	struct gs_reader r;
	uint64_t count, *places;
	uint8_t *data;

	if (e->enc != GS_ENC_STRINGS || !entry_bytes(b, e, &r) ||
	    !read_strings(b, &r, &strings, &count, limit) ||
	    !gs_pack_get(&r, b->values, present, 4) || gs_reader_left(&r))
		return false;
	places = gs_arena_memdup(&b->arena, b->values, present * sizeof(*places));
	for (uint32_t i = 0; i < present; i++) {
		if (places[i] >= count)
			return false;
		b->values[i] = strings[places[i]].len;
	}
	if (!variable_offsets(b, c, nrows, limit))
		return false;
	data = gs_arena_alloc(&b->arena, c->offset[nrows]);
	c->data = data;
	for (uint32_t i = 0; i < present; i++) {
		memcpy(data, strings[places[i]].p, strings[places[i]].len);
		data += strings[places[i]].len;
	}
	return true;
}

static bool decode_variable(struct batch *b, struct item *item, uint32_t nrows, uint32_t present,
			    uint32_t limit)
{
	bool strings = item->parts[GS_PART_STRINGS].there;
	bool plain = item->parts[GS_PART_LENGTH].there || item->parts[GS_PART_DATA].there;

	item->column.data = (const uint8_t *)"";
	if (!present)
		return !strings && !plain && variable_offsets(b, &item->column, nrows, limit);
	if (strings)
		return !plain && decode_strings(b, item, nrows, present, limit);
	return decode_plain(b, item, nrows, present, limit);
}

static bool decode_item(struct batch *b, struct item *item, uint32_t nrows,
			const struct gs_meta_item *meta)
{
	struct presence p;

	item->column = (struct gs_column){.nrows = nrows};
	if (!decode_status(b, item, nrows, &p) || !decode_faults(b, item, nrows, p.faults))
		return false;
	if (meta->variable)
		return decode_variable(b, item, nrows, p.present, meta->size);
	return !item->parts[GS_PART_STRINGS].there && !item->parts[GS_PART_LENGTH].there &&
	       decode_fixed(b, item, nrows, p.present, meta->size);
}

struct gs_error *gs_batch_column(struct gs_batch *pub, uint32_t schema, uint32_t index,
				 const struct gs_column **out)
{
	static const struct gs_column empty = {.data = (const uint8_t *)""};
	struct batch *b = (struct batch *)pub;
	struct schema *s = find_schema(b, schema);
	struct item *item;

	if (!s) { /* no row here has it */
		*out = &empty;
		return NULL;
	}
	if (index >= s->nitems)
		return gs_error_new(GS_ERR_INTERNAL, "schema %u has no item %u", schema, index);
	item = &s->items[index];
	if (!item->decoded &&
	    !decode_item(b, item, s->nrows, &b->meta->schemas[schema].items[index]))
		return gs_error_new(GS_ERR_DAMAGED, "event block %llu: malformed column of %s",
				    (unsigned long long)b->seq,
				    b->meta->schemas[schema].items[index].key);
	item->decoded = true;
	*out = &item->column;
	return NULL;
}
