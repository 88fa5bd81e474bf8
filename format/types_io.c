/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The type table on disk: one row a type, ids from 1 (void, id 0, is not written).
 * Written by the resolver and the file writer, read by the session and by reports.
 */
#include "common/type.h"

#include "format/meta.h"
#include "format/row.h"

/* Caps of one type: generous for generated code, small beside the block. */
#define MAX_MEMBERS (1u << 16)
#define MAX_ENUMERATORS (1u << 18)

static void row_members(struct gs_row *row, struct gs_type *type)
{
	struct gs_member *list;

	gs_row_count(row, &type->nmembers, MAX_MEMBERS, 5);
	if (!row->out)
		type->members = gs_arena_alloc(row->arena, type->nmembers * sizeof(*list));
	list = (struct gs_member *)type->members;
	for (uint32_t i = 0; i < type->nmembers; i++) {
		gs_row_name(row, &list[i].name);
		gs_row_u32(row, &list[i].type);
		gs_row_u32(row, &list[i].flags);
		gs_row_u64(row, &list[i].bit_offset);
		gs_row_u32(row, &list[i].bit_size);
	}
}

static void row_enumerators(struct gs_row *row, struct gs_type *type)
{
	struct gs_enumerator *list;

	gs_row_count(row, &type->nenumerators, MAX_ENUMERATORS, 2);
	if (!row->out)
		type->enumerators = gs_arena_alloc(row->arena, type->nenumerators * sizeof(*list));
	list = (struct gs_enumerator *)type->enumerators;
	for (uint32_t i = 0; i < type->nenumerators; i++) {
		gs_row_str(row, &list[i].name);
		gs_row_i64(row, &list[i].value);
	}
}

/* Last, and only where there is one: rows of other types are as they always were. */
static void row_container(struct gs_row *row, struct gs_container *c)
{
	if (row->out && !c->kind)
		return;
	gs_row_u8(row, &c->kind);
	gs_row_u8(row, &c->form);
	gs_row_u8(row, &c->flags);
	gs_row_u32(row, &c->data);
	gs_row_u32(row, &c->length);
	gs_row_u32(row, &c->capacity);
	gs_row_u32(row, &c->payload);
}

void gs_row_type(struct gs_row *row, struct gs_type *type)
{
	gs_row_u8(row, &type->kind);
	gs_row_u8(row, &type->encoding);
	gs_row_u32(row, &type->flags);
	gs_row_name(row, &type->name);
	gs_row_u64(row, &type->byte_size);
	gs_row_u32(row, &type->target);
	gs_row_u32(row, &type->containing);
	gs_row_u64(row, &type->count);
	gs_row_u64(row, &type->stride);
	row_members(row, type);
	row_enumerators(row, type);
	row_container(row, &type->container);
}

/* ---- reading ---- */

/* Pointers whose target comes later in the table. */
struct pending {
	gs_type_id pointer, target;
};

struct types_reader {
	struct gs_types *types; /* ids as in the file */
	struct gs_arena scratch;
	size_t total; /* ids are below this */
	struct pending *pending;
	size_t npending, pending_cap;
};

static bool is_pointer_like(uint8_t kind)
{
	return kind == GS_KIND_POINTER || kind == GS_KIND_REFERENCE ||
	       kind == GS_KIND_RVALUE_REFERENCE || kind == GS_KIND_MEMBER_POINTER;
}

static struct gs_error *bad_type(size_t id, const char *what)
{
	return gs_error_new(GS_ERR_DAMAGED, "type table: type %zu %s", id, what);
}

static struct gs_error *check_ids(const struct types_reader *tr, size_t id,
				  const struct gs_type *type)
{
	if (type->target >= tr->total || type->containing >= tr->total)
		return bad_type(id, "refers to a type that does not exist");
	for (uint32_t i = 0; i < type->nmembers; i++)
		if (type->members[i].type >= tr->total)
			return bad_type(id, "has a member of a type that does not exist");
	return NULL;
}

static struct gs_error *add_pointer(struct types_reader *tr, size_t id, struct gs_type *type)
{
	gs_type_id got, target = type->target;
	struct pending *p;

	/* A target set late can make two pointers equal; both keep their ids. */
	if (target < id) {
		GS_TRY(gs_types_add(tr->types, type, &got));
		if (got == id)
			return NULL;
	}
	type->target = GS_TYPE_VOID;
	GS_TRY(gs_types_reserve(tr->types, type, &got));
	p = GS_PUSH(tr->pending, tr->npending, tr->pending_cap);
	*p = (struct pending){got, target};
	return got == id ? NULL : bad_type(id, "is out of order");
}

static struct gs_error *add_type(struct types_reader *tr, size_t id, struct gs_type *type)
{
	gs_type_id got;

	GS_TRY(check_ids(tr, id, type));
	if (is_pointer_like(type->kind))
		return add_pointer(tr, id, type);
	GS_TRY(gs_types_add(tr->types, type, &got));
	return got == id ? NULL : bad_type(id, "is there twice");
}

static struct gs_error *read_rows(struct types_reader *tr, struct gs_reader *r)
{
	for (size_t id = 1; id < tr->total; id++) {
		uint64_t len = gs_read_uleb(r);
		const uint8_t *p = len <= gs_reader_left(r) ? gs_read_bytes(r, len) : NULL;
		struct gs_row row = {.arena = &tr->scratch};
		struct gs_type type = {0};

		if (!p || r->bad)
			return bad_type(id, "is cut off");
		row.in = gs_reader_of(p, len);
		gs_row_type(&row, &type);
		if (row.in.bad)
			return bad_type(id, "is malformed");
		GS_TRY(add_type(tr, id, &type));
	}
	for (size_t i = 0; i < tr->npending; i++)
		gs_types_set_target(tr->types, tr->pending[i].pointer, tr->pending[i].target);
	return NULL;
}

static void push_map(struct gs_meta *m, gs_type_id id)
{
	*GS_PUSH(m->type_map, m->ntype_map, m->type_map_cap) = id;
}

/*
 * Puts the table that was read (owned) into META. The first one becomes META's; of later, longer
 * ones the new types are imported, because ids may have been taken meanwhile.
 */
static struct gs_error *commit(struct gs_meta *m, struct gs_types *types)
{
	size_t had = m->ntype_map, total = gs_types_count(types);
	struct gs_error *err = NULL;

	if (!had && (!m->types || gs_types_count(m->types) <= 1)) {
		gs_types_free(m->types);
		m->types = types;
		for (size_t id = 0; id < total; id++)
			push_map(m, (gs_type_id)id);
		return NULL;
	}
	for (size_t id = had; id < total && !err; id++) {
		gs_type_id got = GS_TYPE_VOID;

		err = gs_types_import(m->types, types, (gs_type_id)id, &got);
		push_map(m, got);
	}
	if (err)
		m->ntype_map = had;
	gs_types_free(types);
	return err;
}

static struct gs_error *skip_rows(struct gs_reader *r, size_t count)
{
	for (size_t i = 0; i < count && !r->bad; i++) {
		uint64_t len = gs_read_uleb(r);

		gs_read_bytes(r, len <= gs_reader_left(r) ? len : SIZE_MAX);
	}
	return r->bad ? gs_error_new(GS_ERR_DAMAGED, "type table: cut off") : NULL;
}

struct gs_error *gs_types_read(struct gs_reader *r, struct gs_meta *m, size_t first, size_t count)
{
	struct types_reader tr = {.total = count + 1};
	struct gs_error *err;

	if (first != 1)
		return gs_error_new(GS_ERR_DAMAGED, "type table: does not begin with type 1");
	if (tr.total <= m->ntype_map)
		return skip_rows(r, count); /* a copy of what is known */
	tr.types = gs_types_new();
	err = read_rows(&tr, r);
	if (err)
		gs_types_free(tr.types);
	else
		err = commit(m, tr.types);
	gs_arena_deinit(&tr.scratch);
	free(tr.pending);
	return err;
}
