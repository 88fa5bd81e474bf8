/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of types: adding with deduplication and checks, look-up by id.
 * In the flow: filled by the resolver or the file reader, read by every later stage.
 *
 * Types live in chunks that never move, so that pointers from gs_type_get stay valid while the
 * table grows. Hash slots hold id + 1; id 0 (void) is found like any other type.
 */
#include "common/type.h"

#include "common/hash.h"
#include "common/text.h"
#include "common/type_table.h"

/* Nesting by value. C++ library types reach about 20; recursion elsewhere relies on this cap. */
#define DEPTH_MAX 128
/* 2^56 bits: sums over DEPTH_MAX levels cannot overflow 64 bits. */
#define BIT_OFFSET_MAX ((uint64_t)1 << 56)

static bool is_pointer_like(unsigned kind)
{
	return kind == GS_KIND_POINTER || kind == GS_KIND_REFERENCE ||
	       kind == GS_KIND_RVALUE_REFERENCE || kind == GS_KIND_MEMBER_POINTER;
}

struct gs_types *gs_types_new(void)
{
	struct gs_types *t = gs_calloc(1, sizeof(*t));
	struct gs_type nothing = {.kind = GS_KIND_VOID};
	gs_type_id id;

	gs_error_free(gs_types_add(t, &nothing, &id));
	return t;
}

void gs_types_free(struct gs_types *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < GS_ARRAY_SIZE(t->chunks) && t->chunks[i]; i++)
		free(t->chunks[i]);
	free(t->slots);
	free(t->index);
	gs_arena_deinit(&t->arena);
	free(t);
}

uint32_t gs_types_count(const struct gs_types *t)
{
	return t->n;
}

const struct gs_type *gs_type_get(const struct gs_types *t, gs_type_id id)
{
	static const struct gs_type nothing = {.kind = GS_KIND_VOID};

	return id < t->n ? &gs_types_entry(t, id)->type : &nothing;
}

/* ---- equality of shape and ids, and its hash ---- */

static bool same_name(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_container(const struct gs_container *a, const struct gs_container *b)
{
	return a->kind == b->kind && a->form == b->form && a->flags == b->flags &&
	       a->data == b->data && a->length == b->length && a->capacity == b->capacity &&
	       a->payload == b->payload;
}

bool gs_types_same_shape(const struct gs_type *a, const struct gs_type *b)
{
	if (a->kind != b->kind || a->encoding != b->encoding || a->flags != b->flags ||
	    a->byte_size != b->byte_size || a->count != b->count || a->stride != b->stride ||
	    a->nmembers != b->nmembers || a->nenumerators != b->nenumerators ||
	    !same_container(&a->container, &b->container) || !same_name(a->name, b->name))
		return false;
	for (uint32_t i = 0; i < a->nmembers; i++) {
		const struct gs_member *m = &a->members[i], *n = &b->members[i];

		if (m->flags != n->flags || m->bit_offset != n->bit_offset ||
		    m->bit_size != n->bit_size || !same_name(m->name, n->name))
			return false;
	}
	for (uint32_t i = 0; i < a->nenumerators; i++)
		if (a->enumerators[i].value != b->enumerators[i].value ||
		    !same_name(a->enumerators[i].name, b->enumerators[i].name))
			return false;
	return true;
}

static bool same_type(const struct gs_type *a, const struct gs_type *b)
{
	if (a->target != b->target || a->containing != b->containing || !gs_types_same_shape(a, b))
		return false;
	for (uint32_t i = 0; i < a->nmembers; i++)
		if (a->members[i].type != b->members[i].type)
			return false;
	return true;
}

static uint64_t hash_name(const char *name, uint64_t seed)
{
	return name ? gs_hash(name, strlen(name), seed) : seed + 1;
}

uint64_t gs_types_hash_shape(const struct gs_type *type)
{
	uint64_t fields[] = {type->kind,      type->encoding,	  type->flags,
			     type->byte_size, type->count,	  type->stride,
			     type->nmembers,  type->nenumerators, type->container.kind};
	uint64_t h = hash_name(type->name, gs_hash(fields, sizeof(fields), 1));

	for (uint32_t i = 0; i < type->nmembers; i++) {
		const struct gs_member *m = &type->members[i];
		uint64_t words[] = {m->flags, m->bit_offset, m->bit_size};

		h = hash_name(m->name, gs_hash(words, sizeof(words), h));
	}
	for (uint32_t i = 0; i < type->nenumerators; i++)
		h = hash_name(type->enumerators[i].name,
			      h ^ (uint64_t)type->enumerators[i].value * 0x9e3779b97f4a7c15u);
	return h;
}

static uint64_t hash_type(const struct gs_type *type)
{
	uint32_t ids[] = {type->target, type->containing};
	uint64_t h = gs_hash(ids, sizeof(ids), gs_types_hash_shape(type));

	for (uint32_t i = 0; i < type->nmembers; i++)
		h = gs_hash(&type->members[i].type, sizeof(gs_type_id), h);
	return h;
}

/* ---- the slots ---- */

/* The slot that holds an equal type, or the free one where it belongs. */
static size_t find_slot(const struct gs_types *t, const struct gs_type *type, uint64_t hash)
{
	size_t mask = t->nslots - 1, i = hash & mask;

	for (; t->slots[i]; i = (i + 1) & mask) {
		const struct gs_types_entry *e = gs_types_entry(t, t->slots[i] - 1);

		if (e->hash == hash && same_type(&e->type, type))
			break;
	}
	return i;
}

static void rehash(struct gs_types *t)
{
	size_t mask;

	t->nslots = t->nslots ? t->nslots * 2 : 64;
	mask = t->nslots - 1;
	free(t->slots);
	t->slots = gs_calloc(t->nslots, sizeof(*t->slots));
	for (uint32_t id = 0; id < t->n; id++) {
		const struct gs_types_entry *e = gs_types_entry(t, id);
		size_t i = e->hash & mask;

		if (!e->hashed)
			continue;
		while (t->slots[i])
			i = (i + 1) & mask;
		t->slots[i] = id + 1;
	}
}

/* ---- checks ---- */

static bool good_name(const char *name)
{
	struct gs_buf out = {0};
	size_t n = name ? strlen(name) : 0;
	bool good = true;

	/* The common case without a copy. */
	for (size_t i = 0; i < n && good; i++)
		good = name[i] >= 0x20 && name[i] < 0x7f;
	if (good)
		return true;
	gs_escape(&out, name, n, GS_ESCAPE_PLAIN);
	good = out.len == n && memcmp(out.data, name, n) == 0;
	gs_buf_deinit(&out);
	return good;
}

static struct gs_error *damaged(const struct gs_type *type, const char *what)
{
	return gs_error_new(GS_ERR_DAMAGED, "type %s (kind %u): %s",
			    type->name && *type->name ? type->name : "without name", type->kind,
			    what);
}

static bool good_size(const struct gs_type *type)
{
	switch (type->kind) {
	case GS_KIND_BOOL:
	case GS_KIND_INT:
	case GS_KIND_FLOAT:
		return type->byte_size >= 1 && type->byte_size <= 16;
	case GS_KIND_COMPLEX:
		return type->byte_size >= 2 && type->byte_size <= 32;
	case GS_KIND_ENUM:
	case GS_KIND_POINTER:
	case GS_KIND_REFERENCE:
	case GS_KIND_RVALUE_REFERENCE:
	case GS_KIND_MEMBER_POINTER:
		return type->byte_size <= 16;
	default:
		return true;
	}
}

/* A reference by value: to an earlier type, not too deep, and of an object where that is needed. */
static struct gs_error *check_by_value(const struct gs_types *t, const struct gs_type *type,
				       gs_type_id id, uint8_t *depth)
{
	const struct gs_types_entry *e;

	if (id >= t->n)
		return damaged(type, "refers by value to a type that is not before it");
	e = gs_types_entry(t, id);
	if (e->depth >= DEPTH_MAX)
		return damaged(type, "is nested too deeply");
	if (e->depth + 1 > *depth)
		*depth = (uint8_t)(e->depth + 1);
	return NULL;
}

static struct gs_error *check_members(const struct gs_types *t, const struct gs_type *type,
				      uint8_t *depth)
{
	if (type->nmembers && !type->members)
		return damaged(type, "has no members where it says so");
	for (uint32_t i = 0; i < type->nmembers; i++) {
		const struct gs_member *m = &type->members[i];

		if (!good_name(m->name))
			return damaged(type, "has a member with control characters in its name");
		if (type->kind == GS_KIND_FUNCTION) {
			if (m->type >= GS_TYPE_MAX)
				return damaged(type, "has a parameter type out of range");
			continue;
		}
		if (!gs_kind_is_aggregate(type->kind))
			return damaged(type, "cannot have members");
		GS_TRY(check_by_value(t, type, m->type, depth));
		if (gs_type_get(t, gs_type_strip(t, m->type))->kind == GS_KIND_FUNCTION)
			return damaged(type, "has a function as a member");
		if (m->bit_offset > BIT_OFFSET_MAX || m->bit_size > 128)
			return damaged(type, "has a member out of range");
	}
	return NULL;
}

static struct gs_error *check_enumerators(const struct gs_type *type)
{
	if (type->nenumerators &&
	    ((type->kind != GS_KIND_ENUM && !gs_kind_is_aggregate(type->kind)) ||
	     !type->enumerators))
		return damaged(type, "cannot have enumerators");
	for (uint32_t i = 0; i < type->nenumerators; i++)
		if (!type->enumerators[i].name || !good_name(type->enumerators[i].name))
			return damaged(type, "has an enumerator without a proper name");
	return NULL;
}

static struct gs_error *check_type(const struct gs_types *t, const struct gs_type *type,
				   uint8_t *depth)
{
	*depth = 0;
	if (type->kind > GS_KIND_UNSPECIFIED)
		return damaged(type, "is of an unknown kind");
	if (!good_size(type))
		return damaged(type, "has an impossible size");
	if (!good_name(type->name))
		return damaged(type, "has control characters in its name");
	if (type->target >= GS_TYPE_MAX || type->containing >= GS_TYPE_MAX)
		return damaged(type, "has a target out of range");
	if (type->container.kind && !gs_kind_is_aggregate(type->kind))
		return damaged(type, "cannot be a container");
	GS_TRY(check_members(t, type, depth));
	GS_TRY(check_enumerators(type));
	switch (type->kind) {
	case GS_KIND_ENUM:
	case GS_KIND_ARRAY:
	case GS_KIND_TYPEDEF:
	case GS_KIND_CONST:
	case GS_KIND_VOLATILE:
	case GS_KIND_RESTRICT:
	case GS_KIND_ATOMIC:
		GS_TRY(check_by_value(t, type, type->target, depth));
	}
	if (type->kind == GS_KIND_ARRAY && (type->flags & GS_TYPE_COUNT_UNKNOWN) && type->count)
		return damaged(type, "is an array with a count both unknown and given");
	if (type->kind == GS_KIND_ARRAY &&
	    gs_type_get(t, gs_type_strip(t, type->target))->kind == GS_KIND_FUNCTION)
		return damaged(type, "is an array of functions");
	return NULL;
}

/* ---- adding ---- */

static const char *copy_name(struct gs_types *t, const char *name)
{
	return name && *name ? gs_arena_strdup(&t->arena, name) : NULL;
}

static void copy_into(struct gs_types *t, struct gs_type *to, const struct gs_type *from)
{
	struct gs_member *members = NULL;
	struct gs_enumerator *enums = NULL;

	*to = *from;
	to->name = copy_name(t, from->name);
	if (from->nmembers)
		members = gs_arena_memdup(&t->arena, from->members,
					  from->nmembers * sizeof(*members));
	for (uint32_t i = 0; i < from->nmembers; i++)
		members[i].name = copy_name(t, members[i].name);
	if (from->nenumerators)
		enums = gs_arena_memdup(&t->arena, from->enumerators,
					from->nenumerators * sizeof(*enums));
	for (uint32_t i = 0; i < from->nenumerators; i++)
		enums[i].name = gs_arena_strdup(&t->arena, enums[i].name);
	to->members = members;
	to->enumerators = enums;
}

static struct gs_error *append(struct gs_types *t, const struct gs_type *type, uint8_t depth,
			       gs_type_id *id)
{
	struct gs_types_chunk **chunk = &t->chunks[t->n / GS_TYPES_CHUNK];
	struct gs_types_entry *e;

	if (t->n >= GS_TYPE_MAX)
		return gs_error_new(GS_ERR_LIMIT, "more than %u types", GS_TYPE_MAX);
	if (!*chunk)
		*chunk = gs_calloc(1, sizeof(**chunk));
	e = &(*chunk)->entries[t->n % GS_TYPES_CHUNK];
	copy_into(t, &e->type, type);
	e->depth = depth;
	*id = t->n++;
	return NULL;
}

static void insert_hashed(struct gs_types *t, gs_type_id id)
{
	struct gs_types_entry *e = gs_types_entry(t, id);
	size_t slot;

	if (((size_t)t->nhashed + 1) * 2 > t->nslots)
		rehash(t);
	e->hash = hash_type(&e->type);
	slot = find_slot(t, &e->type, e->hash);
	if (t->slots[slot])
		return; /* an equal one is there already and stays the one that is found */
	t->slots[slot] = id + 1;
	e->hashed = true;
	t->nhashed++;
}

/* Forms that mean the same are made the same: "" is no name, a stride of 0 is the element's size.
 */
static void normalise(const struct gs_types *t, struct gs_type *type)
{
	if (type->name && !*type->name)
		type->name = NULL;
	if (type->kind == GS_KIND_ARRAY && !type->stride && type->target < t->n)
		type->stride = gs_type_size(t, type->target);
}

struct gs_error *gs_types_add(struct gs_types *t, const struct gs_type *given, gs_type_id *id)
{
	struct gs_type type = *given;
	uint8_t depth;
	gs_type_id added;

	normalise(t, &type);
	GS_TRY(check_type(t, &type, &depth));
	if (t->nslots) {
		size_t slot = find_slot(t, &type, hash_type(&type));

		if (t->slots[slot]) {
			*id = t->slots[slot] - 1;
			return NULL;
		}
	}
	GS_TRY(append(t, &type, depth, &added));
	insert_hashed(t, added);
	*id = added;
	return NULL;
}

struct gs_error *gs_types_reserve(struct gs_types *t, const struct gs_type *given, gs_type_id *id)
{
	struct gs_type type = *given;
	uint8_t depth;

	type.target = 0;
	if (!is_pointer_like(type.kind))
		return gs_error_new(GS_ERR_INTERNAL, "only pointers can be reserved, not kind %u",
				    type.kind);
	normalise(t, &type);
	GS_TRY(check_type(t, &type, &depth));
	GS_TRY(append(t, &type, depth, id));
	gs_types_entry(t, *id)->pending = true;
	return NULL;
}

void gs_types_set_target(struct gs_types *t, gs_type_id id, gs_type_id target)
{
	struct gs_types_entry *e = id < t->n ? gs_types_entry(t, id) : NULL;

	if (!e || !e->pending)
		return;
	e->type.target = target;
	e->pending = false;
	insert_hashed(t, id);
}

/* ---- questions ---- */

gs_type_id gs_type_strip(const struct gs_types *t, gs_type_id id)
{
	/* Ends: by-value targets have smaller ids. */
	for (;;) {
		const struct gs_type *type = gs_type_get(t, id);

		switch (type->kind) {
		case GS_KIND_TYPEDEF:
		case GS_KIND_CONST:
		case GS_KIND_VOLATILE:
		case GS_KIND_RESTRICT:
		case GS_KIND_ATOMIC:
			id = type->target;
			break;
		default:
			return id < t->n ? id : GS_TYPE_VOID;
		}
	}
}

static const struct gs_type *stripped(const struct gs_types *t, gs_type_id id)
{
	return gs_type_get(t, gs_type_strip(t, id));
}

bool gs_type_is_integral(const struct gs_types *t, gs_type_id id)
{
	unsigned kind = stripped(t, id)->kind;

	return kind == GS_KIND_BOOL || kind == GS_KIND_INT || kind == GS_KIND_ENUM;
}

bool gs_type_is_signed(const struct gs_types *t, gs_type_id id)
{
	const struct gs_type *type = stripped(t, id);

	if (type->kind == GS_KIND_ENUM && type->target)
		type = stripped(t, type->target);
	return (type->kind == GS_KIND_INT || type->kind == GS_KIND_ENUM) &&
	       (type->flags & GS_TYPE_SIGNED);
}

bool gs_type_is_pointer(const struct gs_types *t, gs_type_id id)
{
	return stripped(t, id)->kind == GS_KIND_POINTER;
}

static bool is_plain_char(const struct gs_types *t, gs_type_id id)
{
	const struct gs_type *type = stripped(t, id);

	return type->kind == GS_KIND_INT && (type->flags & GS_TYPE_PLAIN_CHAR);
}

bool gs_type_is_char_pointer(const struct gs_types *t, gs_type_id id)
{
	const struct gs_type *type = stripped(t, id);

	return type->kind == GS_KIND_POINTER && is_plain_char(t, type->target);
}

const char *gs_type_wide_prefix(const struct gs_types *t, gs_type_id id)
{
	static const char *const names[][2] = {
		{"wchar_t", "L"}, {"char16_t", "u"}, {"char32_t", "U"}, {"char8_t", "u8"}};

	/* Targets have smaller ids: this ends. */
	for (;;) {
		const struct gs_type *type = gs_type_get(t, id);

		for (size_t i = 0; type->name && i < GS_ARRAY_SIZE(names); i++)
			if (strcmp(type->name, names[i][0]) == 0)
				return names[i][1];
		if (type->kind < GS_KIND_TYPEDEF || type->kind > GS_KIND_ATOMIC ||
		    type->target >= id)
			return NULL;
		id = type->target;
	}
}

bool gs_type_is_wide_pointer(const struct gs_types *t, gs_type_id id, unsigned *size)
{
	const struct gs_type *type = stripped(t, id), *to = stripped(t, type->target);

	if (type->kind != GS_KIND_POINTER || to->kind != GS_KIND_INT || to->byte_size > 4 ||
	    to->byte_size == 3 || !gs_type_wide_prefix(t, type->target))
		return false;
	*size = (unsigned)to->byte_size;
	return true;
}

bool gs_type_is_char_array(const struct gs_types *t, gs_type_id id)
{
	const struct gs_type *type = stripped(t, id);

	return type->kind == GS_KIND_ARRAY && !(type->flags & GS_TYPE_VECTOR) &&
	       is_plain_char(t, type->target);
}

uint64_t gs_type_size(const struct gs_types *t, gs_type_id id)
{
	const struct gs_type *type = stripped(t, id);
	uint64_t size;

	if (type->kind == GS_KIND_ARRAY)
		return __builtin_mul_overflow(type->count, type->stride, &size) ? UINT64_MAX : size;
	if (type->kind == GS_KIND_ENUM && !type->byte_size && type->target)
		return gs_type_size(t, type->target);
	return type->byte_size;
}
