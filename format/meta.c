/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Metadata tables: layout of each row, writing, reading with all checks.
 * Written by the resolver and the file writer; read by the session (from the resolver) and by
 * reports.
 *
 * A table on disk: first row's index, number of rows, then each row behind its length. The rows'
 * fields are described once, by the row_ functions, for both directions.
 */
#include "format/meta.h"

#include "format/row.h"

#define MAX_CODE 256
#define MAX_NOTES (1u << 16)
#define MAX_STRINGS ((size_t)512 << 20) /* bytes of all strings and arrays of one file */

/* ---- rows ---- */

static void row_session(struct gs_row *row, void *p)
{
	struct gs_meta_session *s = p;

	gs_row_str(row, &s->version);
	gs_row_str(row, &s->command);
	gs_row_str(row, &s->hostname);
	gs_row_str(row, &s->kernel);
	gs_row_str(row, &s->machine);
	gs_row_str(row, &s->target);
	gs_row_u64(row, &s->start_mono_ns);
	gs_row_u64(row, &s->start_unix_ns);
	gs_row_u32(row, &s->ncpus);
	gs_row_u32(row, &s->string_limit);
	gs_row_u32(row, &s->array_limit);
	gs_row_u32(row, &s->depth);
	gs_row_u64(row, &s->buffer_bytes);
	gs_row_u32(row, &s->recorder_pid);
	gs_row_u32(row, &s->page_size);
	gs_row_u8(row, &s->big_endian);
	gs_row_u8(row, &s->pointer_size);
}

static void row_module(struct gs_row *row, void *p)
{
	struct gs_meta_module *m = p;
	uint32_t id_len = m->build_id_len;
	const uint8_t *id = m->build_id;

	gs_row_str(row, &m->path);
	gs_row_bytes(row, &id, &id_len, sizeof(m->build_id));
	if (!row->out && id_len) {
		memcpy(m->build_id, id, id_len);
		m->build_id_len = (uint8_t)id_len;
	}
	gs_row_u16(row, &m->machine);
	gs_row_u8(row, &m->big_endian);
	gs_row_u8(row, &m->pointer_size);
	gs_row_u64(row, &m->file_size);
	gs_row_str(row, &m->debug_path);
}

static void row_probe(struct gs_row *row, void *p)
{
	struct gs_meta_probe *probe = p;

	gs_row_str(row, &probe->name);
	gs_row_str(row, &probe->text);
	gs_row_u8(row, &probe->kind);
}

static void row_item(struct gs_row *row, struct gs_meta_item *item)
{
	gs_row_str(row, &item->key);
	gs_row_str(row, &item->expr);
	gs_row_u32(row, &item->type);
	gs_row_bool(row, &item->variable);
	gs_row_u32(row, &item->size);
	gs_row_u32(row, &item->flags);
	gs_row_u32(row, &item->parent);
	gs_row_u64(row, &item->parent_offset);
}

static void row_schema(struct gs_row *row, void *p)
{
	struct gs_meta_schema *s = p;

	gs_row_count(row, &s->nitems, GS_EVENT_MAX_ITEMS, 8);
	if (!row->out)
		s->items = gs_arena_alloc(row->arena, s->nitems * sizeof(*s->items));
	for (uint32_t i = 0; i < s->nitems; i++)
		row_item(row, &s->items[i]);
}

static void row_notes(struct gs_row *row, struct gs_meta_site *s)
{
	gs_row_count(row, &s->nnotes, MAX_NOTES, 5);
	if (!row->out)
		s->notes = gs_arena_alloc(row->arena, s->nnotes * sizeof(*s->notes));
	for (uint32_t i = 0; i < s->nnotes; i++) {
		gs_row_u32(row, &s->notes[i].item);
		gs_row_u32(row, &s->notes[i].offset);
		gs_row_u32(row, &s->notes[i].size);
		gs_row_u8(row, &s->notes[i].status);
		gs_row_str(row, &s->notes[i].reason);
	}
}

static void row_site(struct gs_row *row, void *p)
{
	struct gs_meta_site *s = p;

	gs_row_u32(row, &s->probe);
	gs_row_u32(row, &s->schema);
	gs_row_u32(row, &s->module);
	gs_row_u64(row, &s->link_addr);
	gs_row_str(row, &s->func);
	gs_row_str(row, &s->inlined_in);
	gs_row_str(row, &s->file);
	gs_row_u32(row, &s->line);
	gs_row_u32(row, &s->flags);
	gs_row_u64(row, &s->code_addr);
	gs_row_bytes(row, &s->code, &s->code_len, MAX_CODE);
	row_notes(row, s);
}

static void row_process(struct gs_row *row, void *p)
{
	struct gs_meta_process *proc = p;

	gs_row_u32(row, &proc->pid);
	gs_row_u32(row, &proc->ppid);
	gs_row_u32(row, &proc->inner_pid);
	gs_row_u8(row, &proc->event);
	gs_row_u64(row, &proc->time_ns);
	gs_row_u32(row, &proc->exit_code);
	gs_row_str(row, &proc->comm);
	gs_row_str(row, &proc->exe);
}

static void row_map(struct gs_row *row, void *p)
{
	struct gs_meta_map *map = p;

	gs_row_u32(row, &map->pid);
	gs_row_u64(row, &map->time_ns);
	gs_row_u64(row, &map->start);
	gs_row_u64(row, &map->end);
	gs_row_u64(row, &map->pgoff);
	gs_row_u32(row, &map->module);
	gs_row_str(row, &map->path);
}

static void row_clock(struct gs_row *row, void *p)
{
	struct gs_meta_clock *c = p;

	gs_row_u64(row, &c->mono_ns);
	gs_row_u64(row, &c->unix_ns);
	gs_row_u64(row, &c->boot_ns);
}

static void row_counters(struct gs_row *row, void *p)
{
	struct gs_meta_counters *c = p;

	gs_row_u32(row, &c->probe);
	gs_row_u64(row, &c->hits);
	gs_row_u64(row, &c->matched);
	gs_row_u64(row, &c->recorded);
	gs_row_u64(row, &c->skipped);
	gs_row_u64(row, &c->lost);
	gs_row_u64(row, &c->faulted);
	gs_row_u64(row, &c->time_ns);
	if (!row->out || c->unpaired) /* a row that ends before it reads as 0 */
		gs_row_u64(row, &c->unpaired);
}

static void row_symbol(struct gs_row *row, void *p)
{
	struct gs_meta_symbol *s = p;

	gs_row_u32(row, &s->pid);
	gs_row_u64(row, &s->address);
	gs_row_u64(row, &s->offset);
	gs_row_str(row, &s->name);
}

static void row_end(struct gs_row *row, void *p)
{
	struct gs_meta_end *e = p;

	gs_row_u64(row, &e->time_ns);
	gs_row_u64(row, &e->events);
	gs_row_u64(row, &e->lost);
	gs_row_u8(row, &e->reason);
	gs_row_u8(row, &e->has_status);
	gs_row_u32(row, &e->exit_status);
	gs_row_str(row, &e->message);
}

/* ---- checks of references, after a row was read ---- */

static const char *check_schema(struct gs_meta *m, void *p)
{
	struct gs_meta_schema *s = p;
	struct gs_layout layout;
	struct gs_error *err;

	for (uint32_t i = 0; i < s->nitems; i++) {
		struct gs_meta_item *item = &s->items[i];

		if (item->type != GS_TYPE_VOID && item->type >= m->ntype_map)
			return "has an item of a type that does not exist";
		if (item->type != GS_TYPE_VOID)
			item->type = m->type_map[item->type];
		if (item->parent != GS_NONE && item->parent >= i)
			return "has an item whose parent is not before it";
	}
	err = gs_schema_layout(s, &layout);
	if (err) {
		gs_error_free(err);
		return "is too large for one event";
	}
	gs_layout_deinit(&layout);
	return NULL;
}

static const char *check_site(struct gs_meta *m, void *p)
{
	const struct gs_meta_site *s = p;

	if (s->probe >= m->nprobes)
		return "refers to a probe that does not exist";
	if (s->schema >= m->nschemas)
		return "refers to a schema that does not exist";
	if (s->module != GS_NONE && s->module >= m->nmodules)
		return "refers to a module that does not exist";
	for (uint32_t i = 0; i < s->nnotes; i++)
		if (s->notes[i].item >= m->schemas[s->schema].nitems)
			return "has a note on an item that does not exist";
	return NULL;
}

static const char *check_map(struct gs_meta *m, void *p)
{
	const struct gs_meta_map *map = p;

	return map->module != GS_NONE && map->module >= m->nmodules
		       ? "refers to a module that does not exist"
		       : NULL;
}

static const char *check_counters(struct gs_meta *m, void *p)
{
	const struct gs_meta_counters *c = p;

	return c->probe != GS_NONE && c->probe >= m->nprobes
		       ? "refers to a probe that does not exist"
		       : NULL;
}

/* ---- the tables ---- */

struct table {
	const char *name;
	void (*row)(struct gs_row *row, void *p);
	const char *(*check)(struct gs_meta *m, void *p);
	size_t size; /* of a row in memory */
	size_t array, n,
		cap; /* offsets in struct gs_meta; SESSION and END: array is the row, n the flag */
	size_t max;  /* rows */
	bool single, has_id; /* has_id: begins with its index */
};

#define TABLE(NAME, field, rows)                                                           \
	.name = NAME, .size = sizeof(*((struct gs_meta *)0)->field),                       \
	.array = offsetof(struct gs_meta, field), .n = offsetof(struct gs_meta, n##field), \
	.cap = offsetof(struct gs_meta, field##_cap), .max = (rows)
#define SINGLE(NAME, field)                                                                   \
	.name = NAME, .size = sizeof(((struct gs_meta *)0)->field),                           \
	.array = offsetof(struct gs_meta, field), .n = offsetof(struct gs_meta, has_##field), \
	.max = 1, .single = true

static const struct table tables[GS_META_TABLES] = {
	[GS_META_SESSION] = {SINGLE("session", session), .row = row_session},
	[GS_META_MODULES] = {TABLE("modules", modules, 1u << 16), .row = row_module,
			     .has_id = true},
	[GS_META_TYPES] = {.name = "types", .max = GS_TYPE_MAX},
	[GS_META_PROBES] = {TABLE("probes", probes, 1u << 16), .row = row_probe, .has_id = true},
	[GS_META_SCHEMAS] = {TABLE("schemas", schemas, 1u << 16), .row = row_schema,
			     .check = check_schema, .has_id = true},
	[GS_META_SITES] = {TABLE("sites", sites, 1u << 20), .row = row_site, .check = check_site,
			   .has_id = true},
	[GS_META_PROCESSES] = {TABLE("processes", processes, 1u << 21), .row = row_process},
	[GS_META_MAPS] = {TABLE("maps", maps, 1u << 21), .row = row_map, .check = check_map},
	[GS_META_CLOCK] = {TABLE("clock", clocks, 1u << 20), .row = row_clock},
	[GS_META_COUNTERS] = {TABLE("counters", counters, (1u << 16) + 1), .row = row_counters,
			      .check = check_counters},
	[GS_META_SYMBOLS] = {TABLE("symbols", symbols, 1u << 21), .row = row_symbol},
	[GS_META_END] = {SINGLE("end", end), .row = row_end},
};

union any_row {
	struct gs_meta_session session;
	struct gs_meta_module module;
	struct gs_meta_probe probe;
	struct gs_meta_schema schema;
	struct gs_meta_site site;
	struct gs_meta_process process;
	struct gs_meta_map map;
	struct gs_meta_clock clock;
	struct gs_meta_counters counters;
	struct gs_meta_symbol symbol;
	struct gs_meta_end end;
};

static void *at(const struct gs_meta *m, size_t offset)
{
	return (char *)m + offset;
}

static void *table_row(const struct gs_meta *m, const struct table *t, size_t i)
{
	return t->single ? at(m, t->array) : *(char **)at(m, t->array) + i * t->size;
}

bool gs_meta_start(const struct gs_meta *m, uint64_t *mono_ns, uint64_t *unix_ns)
{
	if (m->has_session) {
		*mono_ns = m->session.start_mono_ns;
		*unix_ns = m->session.start_unix_ns;
		return true;
	}
	if (!m->nclocks)
		return false;
	*mono_ns = m->clocks[0].mono_ns;
	*unix_ns = m->clocks[0].unix_ns;
	return true;
}

const char *gs_meta_table_name(enum gs_meta_table table)
{
	return (unsigned)table < GS_META_TABLES ? tables[table].name : "unknown";
}

size_t gs_meta_count(const struct gs_meta *m, enum gs_meta_table table)
{
	const struct table *t = &tables[table];

	if (table == GS_META_TYPES)
		return m->types ? gs_types_count(m->types) : 0;
	return t->single ? *(bool *)at(m, t->n) : *(size_t *)at(m, t->n);
}

void gs_meta_init(struct gs_meta *m)
{
	*m = (struct gs_meta){0};
	m->types = gs_types_new();
}

void gs_meta_deinit(struct gs_meta *m)
{
	gs_types_free(m->types);
	for (size_t i = 0; i < GS_META_TABLES; i++)
		if (i != GS_META_TYPES && !tables[i].single)
			free(*(void **)at(m, tables[i].array));
	free(m->type_map);
	gs_arena_deinit(&m->arena);
	*m = (struct gs_meta){0};
}

struct gs_error *gs_schema_layout(const struct gs_meta_schema *s, struct gs_layout *out)
{
	struct gs_layout_item *items = gs_calloc(s->nitems, sizeof(*items));
	struct gs_error *err;

	for (uint32_t i = 0; i < s->nitems; i++)
		items[i] = (struct gs_layout_item){s->items[i].variable, s->items[i].size};
	err = gs_layout_init(out, items, s->nitems);
	free(items);
	return err;
}

/* ---- writing ---- */

static void put_row(struct gs_row *row, const struct gs_meta *m, enum gs_meta_table table, size_t i)
{
	gs_buf_reset(row->out);
	if (table == GS_META_TYPES)
		gs_row_type(row, (struct gs_type *)gs_type_get(m->types, (gs_type_id)i));
	else
		tables[table].row(row, table_row(m, &tables[table], i));
}

size_t gs_meta_write_some(struct gs_buf *out, const struct gs_meta *m, enum gs_meta_table table,
			  size_t first, size_t limit)
{
	size_t total = gs_meta_count(m, table), i;
	struct gs_buf rows = {0}, one = {0};
	struct gs_row row = {.out = &one};

	if (table == GS_META_TYPES) {
		first = 1; /* void is there without saying so */
		limit = SIZE_MAX;
	}
	for (i = first; i < total && rows.len < limit; i++) {
		put_row(&row, m, table, i);
		gs_put_uleb(&rows, one.len);
		gs_buf_append(&rows, one.data, one.len);
	}
	gs_put_uleb(out, first);
	gs_put_uleb(out, i > first ? i - first : 0);
	gs_buf_append(out, rows.data, rows.len);
	gs_buf_deinit(&one);
	gs_buf_deinit(&rows);
	return i;
}

void gs_meta_write(struct gs_buf *out, const struct gs_meta *m, enum gs_meta_table table,
		   size_t first)
{
	gs_meta_write_some(out, m, table, first, SIZE_MAX);
}

/* ---- reading ---- */

static struct gs_error *bad_row(const struct table *t, size_t i, const char *what)
{
	return gs_error_new(GS_ERR_DAMAGED, "%s table: row %zu %s", t->name, i, what);
}

/* Counters: the newest of each probe. */
static void store_counters(struct gs_meta *m, const struct gs_meta_counters *c)
{
	struct gs_meta_counters *old = NULL;

	for (size_t i = 0; i < m->ncounters && !old; i++)
		if (m->counters[i].probe == c->probe)
			old = &m->counters[i];
	if (!old)
		old = GS_PUSH(m->counters, m->ncounters, m->counters_cap);
	else if (old->time_ns > c->time_ns)
		return;
	*old = *c;
}

static int symbol_order(const struct gs_meta_symbol *a, const struct gs_meta_symbol *b)
{
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static int symbol_compare(const void *a, const void *b)
{
	return symbol_order(a, b);
}

/*
 * Merges the rows that were appended behind SORTED with the sorted ones; of equal keys the newer
 * row, which is the later one, stays.
 */
static void settle_symbols(struct gs_meta *m, size_t sorted)
{
	size_t total = m->nsymbols, added = total - sorted, n = 0, i = 0, j = sorted;
	struct gs_meta_symbol *list = m->symbols, *merged;

	if (!added)
		return;
	qsort(list + sorted, added, sizeof(*list), symbol_compare);
	merged = gs_calloc(total, sizeof(*merged));
	while (i < sorted || j < total) {
		int order = i == sorted ? 1 : j == total ? -1 : symbol_order(&list[i], &list[j]);

		i += order == 0;
		merged[n] = order < 0 ? list[i++] : list[j++];
		if (n && symbol_order(&merged[n - 1], &merged[n]) == 0)
			merged[n - 1] = merged[n];
		else
			n++;
	}
	free(m->symbols);
	m->symbols = merged;
	m->nsymbols = n;
	m->symbols_cap = total;
}

struct table_reader {
	struct gs_meta *m;
	enum gs_meta_table table;
	const struct table *t;
	size_t had;		 /* rows before */
	struct gs_arena scratch; /* SYMBOLS: most rows are known already */
};

static void store_symbol(struct gs_meta *m, const struct gs_meta_symbol *s, size_t sorted)
{
	const struct gs_meta_symbol *old =
		sorted ? bsearch(s, m->symbols, sorted, sizeof(*s), symbol_compare) : NULL;
	struct gs_meta_symbol *to;

	if (old && old->offset == s->offset && !strcmp(old->name, s->name))
		return;
	to = GS_PUSH(m->symbols, m->nsymbols, m->symbols_cap);
	*to = *s;
	to->name = gs_arena_strdup(&m->arena, s->name);
}

static void store_row(struct table_reader *tr, size_t i, union any_row *any)
{
	const struct table *t = tr->t;
	size_t *n = at(tr->m, t->n);
	void **array = at(tr->m, t->array);

	if (t->has_id)
		memcpy(any, &(uint32_t){(uint32_t)i}, sizeof(uint32_t));
	if (t->single) {
		memcpy(array, any, t->size);
		*(bool *)at(tr->m, t->n) = true;
	} else if (tr->table == GS_META_COUNTERS) {
		store_counters(tr->m, &any->counters);
	} else if (tr->table == GS_META_SYMBOLS) {
		store_symbol(tr->m, &any->symbol, tr->had);
	} else {
		*array = gs_grow(*array, at(tr->m, t->cap), *n + 1, t->size);
		memcpy((char *)*array + *n * t->size, any, t->size);
		++*n;
	}
}

/* Tables whose rows are found by a key of their own are read whole each time; of the others only
 * new rows. */
static bool is_keyed(enum gs_meta_table table)
{
	return table == GS_META_COUNTERS || table == GS_META_SYMBOLS;
}

static struct gs_error *read_row(struct table_reader *tr, struct gs_reader *r, size_t i)
{
	uint64_t len = gs_read_uleb(r);
	const uint8_t *p = len <= gs_reader_left(r) ? gs_read_bytes(r, len) : NULL;
	struct gs_row row = {.arena = &tr->m->arena};
	const char *wrong = NULL;
	union any_row any;

	if (!p || r->bad)
		return bad_row(tr->t, i, "is cut off");
	if (!len)
		return bad_row(tr->t, i, "is empty");
	if (!is_keyed(tr->table) && i < tr->had)
		return NULL;
	if (tr->table == GS_META_SYMBOLS)
		row.arena = &tr->scratch;
	memset(&any, 0, sizeof(any));
	row.in = gs_reader_of(p, len);
	tr->t->row(&row, &any);
	if (row.in.bad)
		return bad_row(tr->t, i, "is malformed");
	if (tr->t->check)
		wrong = tr->t->check(tr->m, &any);
	if (wrong)
		return bad_row(tr->t, i, wrong);
	if (tr->m->arena.total > MAX_STRINGS)
		return gs_error_new(GS_ERR_LIMIT, "%s table: more than %zu MiB of metadata",
				    tr->t->name, MAX_STRINGS >> 20);
	store_row(tr, i, &any);
	return NULL;
}

/* Counters are changed in place: a copy brings them back when a later row is bad. */
static struct gs_error *read_counters(struct table_reader *tr, struct gs_reader *r, size_t count)
{
	struct gs_meta *m = tr->m;
	size_t size = tr->had * sizeof(*m->counters);
	struct gs_meta_counters *before = gs_malloc(size);
	struct gs_error *err = NULL;

	if (size)
		memcpy(before, m->counters, size);
	for (size_t i = 0; i < count && !err; i++)
		err = read_row(tr, r, i);
	if (err) {
		if (size)
			memcpy(m->counters, before, size);
		m->ncounters = tr->had;
	}
	free(before);
	return err;
}

static struct gs_error *read_rows(struct table_reader *tr, struct gs_reader *r, size_t first,
				  size_t count)
{
	struct gs_error *err = NULL;

	for (size_t i = first; i < first + count && !err; i++)
		err = read_row(tr, r, i);
	if (!err && tr->table == GS_META_SYMBOLS && tr->m->nsymbols > tr->t->max)
		err = gs_error_new(GS_ERR_LIMIT, "more than %zu symbols", tr->t->max);
	if (err && !tr->t->single)
		*(size_t *)at(tr->m, tr->t->n) = tr->had;
	else if (tr->table == GS_META_SYMBOLS)
		settle_symbols(tr->m, tr->had);
	gs_arena_deinit(&tr->scratch);
	return err;
}

struct gs_error *gs_meta_read(struct gs_reader *r, struct gs_meta *m, enum gs_meta_table table)
{
	struct table_reader tr = {.m = m, .table = table, .t = &tables[table]};
	uint64_t first = gs_read_uleb(r), count = gs_read_uleb(r);

	tr.had = gs_meta_count(m, table);
	if (r->bad || count > gs_reader_left(r) || first > tr.t->max || count > tr.t->max - first)
		return gs_error_new(GS_ERR_DAMAGED, "%s table: impossible row count", tr.t->name);
	if (table == GS_META_TYPES)
		return gs_types_read(r, m, first, count);
	if (table == GS_META_COUNTERS)
		return read_counters(&tr, r, count);
	if (table != GS_META_SYMBOLS && first > tr.had)
		return gs_error_new(GS_ERR_DAMAGED, "%s table: rows %zu to %zu are missing",
				    tr.t->name, tr.had, (size_t)first - 1);
	return read_rows(&tr, r, first, count);
}
