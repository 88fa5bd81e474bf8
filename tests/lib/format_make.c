/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings made by hand: builds raw records as a probe program would, and has the real writer
 * write them.
 */
#include "tests/lib/format_make.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void must(struct gs_error *err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "format_make: %s: %s\n", what, gs_error_message(err));
	exit(99);
}

static void add_basics(struct gs_make *m, const struct gs_make_options *opts)
{
	uint8_t pointer_size = opts->pointer_size ? opts->pointer_size : 8;

	m->meta->has_session = true;
	m->meta->session = (struct gs_meta_session){
		.version = "0.1.0",
		.command = "gs-record -e p ./prog",
		.hostname = "host",
		.kernel = "6.1.0",
		.machine = opts->big_endian ? "s390x" : "x86_64",
		.target = "command",
		.start_mono_ns = 1000,
		.start_unix_ns = 1700000000000000000,
		.ncpus = 2,
		.string_limit = 200,
		.array_limit = 200,
		.page_size = 4096,
		.big_endian = opts->big_endian,
		.pointer_size = pointer_size,
	};
	*GS_PUSH(m->meta->modules, m->meta->nmodules, m->meta->modules_cap) =
		(struct gs_meta_module){.path = "/bin/prog",
					.big_endian = opts->big_endian,
					.pointer_size = pointer_size,
					.debug_path = ""};
	*GS_PUSH(m->meta->processes, m->meta->nprocesses, m->meta->processes_cap) =
		(struct gs_meta_process){
			.pid = 71, .ppid = 1, .time_ns = 900, .comm = "srv", .exe = "/bin/prog"};
	*GS_PUSH(m->meta->clocks, m->meta->nclocks, m->meta->clocks_cap) =
		(struct gs_meta_clock){1000, 1700000000000000000, 1000};
}

struct gs_make *gs_make_new(const struct gs_make_options *given)
{
	static const uint8_t file_id[16] = "format_make file";
	struct gs_make_options none = {0};
	const struct gs_make_options *opts = given ? given : &none;
	struct gs_make *m = gs_calloc(1, sizeof(*m));
	struct gs_writer_options wopts = {
		.no_index = opts->no_index,
		.repeat_bytes = opts->repeat_bytes,
		.file_id = file_id,
	};

	m->own_fd = opts->fd <= 0;
	m->fd = m->own_fd ? memfd_create("gs", MFD_CLOEXEC) : opts->fd;
	wopts.fd = m->fd;
	must(gs_writer_open(&wopts, &m->writer), "open");
	m->meta = gs_writer_meta(m->writer);
	add_basics(m, opts);
	return m;
}

void gs_make_free(struct gs_make *m)
{
	gs_writer_free(m->writer);
	gs_buf_deinit(&m->file);
	gs_buf_deinit(&m->records);
	gs_arena_deinit(&m->values);
	if (m->own_fd)
		close(m->fd);
	free(m);
}

/* ---- metadata ---- */

gs_type_id gs_make_type(struct gs_make *m, const struct gs_type *type)
{
	gs_type_id id;

	must(gs_types_add(m->meta->types, type, &id), "type");
	return id;
}

gs_type_id gs_make_int(struct gs_make *m, const char *name, unsigned size, bool is_signed)
{
	struct gs_type type = {.kind = GS_KIND_INT,
			       .name = name,
			       .byte_size = size,
			       .flags = is_signed ? GS_TYPE_SIGNED : 0};

	return gs_make_type(m, &type);
}

gs_type_id gs_make_char_array(struct gs_make *m)
{
	struct gs_type c = {.kind = GS_KIND_INT,
			    .name = "char",
			    .byte_size = 1,
			    .flags = GS_TYPE_SIGNED | GS_TYPE_CHAR | GS_TYPE_PLAIN_CHAR};
	struct gs_type array = {.kind = GS_KIND_ARRAY, .stride = 1, .flags = GS_TYPE_COUNT_UNKNOWN};

	array.target = gs_make_type(m, &c);
	return gs_make_type(m, &array);
}

uint32_t gs_make_probe(struct gs_make *m, const char *name)
{
	uint32_t id = (uint32_t)m->meta->nprobes;
	struct gs_meta_probe *p = GS_PUSH(m->meta->probes, m->meta->nprobes, m->meta->probes_cap);

	p->id = id;
	p->name = p->text = gs_arena_strdup(&m->meta->arena, name);
	return id;
}

uint32_t gs_make_schema(struct gs_make *m)
{
	uint32_t id = (uint32_t)m->meta->nschemas;

	GS_PUSH(m->meta->schemas, m->meta->nschemas, m->meta->schemas_cap)->id = id;
	return id;
}

static uint32_t add_item(struct gs_make *m, uint32_t schema, const struct gs_meta_item *item)
{
	struct gs_meta_schema *s = &m->meta->schemas[schema];
	struct gs_meta_item *items =
		gs_arena_alloc(&m->meta->arena, (s->nitems + 1) * sizeof(*items));

	if (s->nitems)
		memcpy(items, s->items, s->nitems * sizeof(*items));
	items[s->nitems] = *item;
	items[s->nitems].key = gs_arena_strdup(&m->meta->arena, item->key);
	items[s->nitems].expr = items[s->nitems].key;
	items[s->nitems].parent = GS_NONE;
	s->items = items;
	return s->nitems++;
}

uint32_t gs_make_item(struct gs_make *m, uint32_t schema, const char *key, gs_type_id type,
		      uint32_t size, uint32_t flags)
{
	return add_item(
		m, schema,
		&(struct gs_meta_item){.key = key, .type = type, .size = size, .flags = flags});
}

uint32_t gs_make_variable(struct gs_make *m, uint32_t schema, const char *key, gs_type_id type,
			  uint32_t max, uint32_t flags)
{
	return add_item(
		m, schema,
		&(struct gs_meta_item){
			.key = key, .type = type, .size = max, .flags = flags, .variable = true});
}

uint32_t gs_make_string(struct gs_make *m, uint32_t schema, const char *key, uint32_t max)
{
	return gs_make_variable(m, schema, key, gs_make_char_array(m), max, GS_SCHEMA_STRING);
}

uint32_t gs_make_site(struct gs_make *m, uint32_t probe, uint32_t schema, const char *func,
		      const char *file, uint32_t line)
{
	uint32_t id = (uint32_t)m->meta->nsites;

	*GS_PUSH(m->meta->sites, m->meta->nsites, m->meta->sites_cap) = (struct gs_meta_site){
		.id = id,
		.probe = probe,
		.schema = schema,
		.link_addr = 0x1000 + 16 * (uint64_t)id,
		.func = gs_arena_strdup(&m->meta->arena, func),
		.file = gs_arena_strdup(&m->meta->arena, file),
		.inlined_in = "",
		.line = line,
	};
	return id;
}

/* ---- events ---- */

static const struct gs_meta_schema *schema_of(const struct gs_make *m)
{
	return &m->meta->schemas[m->meta->sites[m->head.site].schema];
}

/* The raw record, as a probe program leaves it in the ring buffer. */
static void finish_event(struct gs_make *m)
{
	struct gs_layout layout;
	size_t start = m->records.len;
	uint8_t *base;

	if (!m->open)
		return;
	m->open = false;
	must(gs_schema_layout(schema_of(m), &layout), "layout");
	gs_buf_reserve(&m->records, layout.max_len + 8);
	base = m->records.data + start;
	memset(base, 0x5a, layout.fixed_len); /* what is not vouched for is garbage */
	m->records.len += layout.fixed_len;
	for (uint32_t i = 0; i < layout.nitems; i++) {
		const struct gs_event_item *item = &m->items[i];
		uint8_t *slot = base + layout.slot[i];

		base[gs_layout_status(i)] = item->status;
		if (item->status == GS_STATUS_FAULT)
			memcpy(slot, &item->fault_address, 8);
		if (!gs_status_has_data(item->status))
			continue;
		if (!layout.items[i].variable) {
			memset(slot, 0, layout.items[i].size);
			memcpy(slot, item->data, item->len);
			continue;
		}
		memcpy(slot, &item->len, 4);
		gs_buf_append(&m->records, item->data, item->len);
	}
	m->head.len = (uint32_t)(m->records.len - start);
	memcpy(m->records.data + start, &m->head, sizeof(m->head));
	while (m->records.len % 8)
		gs_buf_putc(&m->records, 0);
	gs_layout_deinit(&layout);
	gs_arena_deinit(&m->values);
}

void gs_make_event(struct gs_make *m, uint64_t time_ns, uint32_t cpu, uint32_t site, uint32_t pid,
		   uint32_t tid, const char *comm)
{
	finish_event(m);
	if (cpu != m->cpu || m->records.len > GS_BLOCK_MAX_RAW * 2)
		gs_make_flush(m);
	m->cpu = cpu;
	m->open = true;
	m->head = (struct gs_event_head){
		.time_ns = time_ns, .site = site, .pid = pid, .tid = tid, .cpu = cpu};
	memcpy(m->head.comm, comm, strnlen(comm, 16));
	for (uint32_t i = 0; i < schema_of(m)->nitems; i++)
		m->items[i] = (struct gs_event_item){.status = GS_STATUS_NOT_COLLECTED};
}

void gs_make_bytes(struct gs_make *m, uint32_t item, const void *p, size_t n)
{
	m->items[item] = (struct gs_event_item){.status = GS_STATUS_OK,
						.data = gs_arena_memdup(&m->values, p, n),
						.len = (uint32_t)n};
}

void gs_make_uint(struct gs_make *m, uint32_t item, uint64_t v)
{
	uint32_t size = schema_of(m)->items[item].size;
	uint8_t bytes[8];

	for (uint32_t i = 0; i < size && i < 8; i++)
		bytes[m->meta->session.big_endian ? size - 1 - i : i] = (uint8_t)(v >> (8 * i));
	gs_make_bytes(m, item, bytes, size < 8 ? size : 8);
}

void gs_make_status(struct gs_make *m, uint32_t item, uint8_t status)
{
	m->items[item].status = status;
}

void gs_make_fault(struct gs_make *m, uint32_t item, uint64_t address)
{
	m->items[item] =
		(struct gs_event_item){.status = GS_STATUS_FAULT, .fault_address = address};
}

/* ---- the file ---- */

void gs_make_flush(struct gs_make *m)
{
	uint64_t bad = 0;

	finish_event(m);
	must(gs_writer_events(m->writer, m->cpu, m->records.data, m->records.len, &bad), "events");
	gs_buf_reset(&m->records);
	if (bad) {
		fprintf(stderr, "format_make: %llu bad records\n", (unsigned long long)bad);
		exit(99);
	}
}

static void load_file(struct gs_make *m)
{
	size_t len = (size_t)gs_writer_bytes(m->writer);

	if (!m->own_fd)
		return;
	gs_buf_reset(&m->file);
	gs_buf_reserve(&m->file, len);
	m->file.len = len;
	if (pread(m->fd, m->file.data, len, 0) != (ssize_t)len)
		must(gs_error_new(GS_ERR_SYSTEM, "short read"), "memory file");
}

void gs_make_sync(struct gs_make *m)
{
	gs_make_flush(m);
	must(gs_writer_flush_meta(m->writer), "metadata");
	load_file(m);
}

void gs_make_end(struct gs_make *m, uint64_t lost)
{
	struct gs_meta_end end = {.time_ns = 1000000,
				  .lost = lost,
				  .reason = GS_END_TARGET_EXIT,
				  .has_status = 1,
				  .message = ""};

	gs_make_flush(m);
	must(gs_writer_end(m->writer, &end), "end");
	load_file(m);
}
