/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Types from DWARF into the type table. What a type holds by value is imported before it; what its
 * pointers lead to afterwards, so that cycles end. Each import works in a table of its own, from
 * which the session's table takes what is new: the same type of many units is there once.
 */
#include "record/dwarf_find.h"
#include "record/dwarf_type.h"

#define TYPE_DEPTH_MAX 100
#define SCRATCH_MAX 200000u /* types in the module's own table before it is begun anew */

struct pointer_job {
	gs_type_id pointer;
	Dwarf_Die target;
};
struct gs_type_cache {
	struct gs_types *scratch;
	struct gs_map in_scratch; /* entry -> id + 2; 1: being imported */
	struct gs_map in_session; /* entry -> id */
	struct pointer_job *jobs;
	size_t njobs, jobs_cap;
};

struct gs_error *gs_type_import_die(struct gs_type_import *ti, Dwarf_Die *die, int depth,
				    gs_type_id *id);

/* ---- attributes ---- */

bool gs_die_number(Dwarf_Die *die, unsigned at, uint64_t *value)
{
	Dwarf_Attribute attr;
	Dwarf_Word word;
	Dwarf_Sword sword;

	if (!dwarf_attr_integrate(die, at, &attr))
		return false;
	switch (dwarf_whatform(&attr)) {
	case DW_FORM_sdata:
	case DW_FORM_implicit_const:
		if (dwarf_formsdata(&attr, &sword) != 0)
			return false;
		*value = (uint64_t)sword;
		return true;
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
		if (dwarf_formudata(&attr, &word) != 0)
			return false;
		*value = word;
		return true;
	default:
		return false;
	}
}

static const char *type_name(struct gs_type_import *ti, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	struct gs_buf b;

	if (!name || !*name)
		return NULL;
	if (gs_index_at(ti->m, gs_ref_of(ti->m, die)))
		name = gs_qualified_name(ti->m, die);
	gs_buf_init(&b);
	gs_escape(&b, name, strlen(name), GS_ESCAPE_PLAIN);
	name = gs_arena_strdup(&ti->m->arena, gs_buf_cstr(&b));
	gs_buf_deinit(&b);
	return name;
}

const char *gs_type_member_name(struct gs_type_import *ti, const char *name)
{
	struct gs_buf b;

	if (!name || !*name)
		return NULL;
	gs_buf_init(&b);
	gs_escape(&b, name, strlen(name), GS_ESCAPE_PLAIN);
	name = gs_arena_strdup(&ti->m->arena, gs_buf_cstr(&b));
	gs_buf_deinit(&b);
	return name;
}

static struct gs_error *add(struct gs_type_import *ti, const struct gs_type *type, gs_type_id *id)
{
	return gs_types_add(ti->types, type, id);
}

struct gs_error *gs_type_import_target(struct gs_type_import *ti, Dwarf_Die *die, int depth,
				       gs_type_id *id)
{
	Dwarf_Attribute attr;
	Dwarf_Die target;

	*id = GS_TYPE_VOID;
	if (!dwarf_attr_integrate(die, DW_AT_type, &attr))
		return NULL;
	if (!dwarf_formref_die(&attr, &target))
		return gs_error_new(GS_ERR_DAMAGED, "a reference to a type leads nowhere");
	return gs_type_import_die(ti, &target, depth + 1, id);
}

/* ---- base types ---- */

static bool contains(const char *name, const char *what)
{
	return name && strstr(name, what) != NULL;
}

static uint8_t float_format(const struct gs_module *m, const char *name, uint64_t size)
{
	bool is_x86 = m->info.machine == EM_X86_64 || m->info.machine == EM_386;

	if (contains(name, "bf16"))
		return GS_FLOAT_BFLOAT;
	if (contains(name, "loat128"))
		return GS_FLOAT_IEEE;
	if (is_x86 && (size == 10 || size == 12 || size == 16))
		return GS_FLOAT_X87;
	if ((m->info.machine == EM_PPC64 || m->info.machine == EM_PPC) && size == 16 &&
	    contains(name, "long double"))
		return GS_FLOAT_IBM;
	return GS_FLOAT_IEEE;
}

static struct gs_error *import_base(struct gs_type_import *ti, Dwarf_Die *die, gs_type_id *id)
{
	struct gs_type t = {.kind = GS_KIND_INT, .name = type_name(ti, die)};
	uint64_t encoding = 0;
	const char *name = t.name;

	gs_die_number(die, DW_AT_encoding, &encoding);
	gs_die_number(die, DW_AT_byte_size, &t.byte_size);
	switch (encoding) {
	case DW_ATE_boolean:
		t.kind = GS_KIND_BOOL;
		break;
	case DW_ATE_float:
		t.kind = GS_KIND_FLOAT;
		t.encoding = float_format(ti->m, name, t.byte_size);
		break;
	case DW_ATE_decimal_float:
		t.kind = GS_KIND_FLOAT;
		t.encoding = GS_FLOAT_DECIMAL;
		break;
	case DW_ATE_complex_float:
		t.kind = GS_KIND_COMPLEX;
		t.encoding = float_format(ti->m, name, t.byte_size / 2);
		break;
	case DW_ATE_signed:
		t.flags = GS_TYPE_SIGNED;
		break;
	case DW_ATE_signed_char:
		t.flags = GS_TYPE_SIGNED | GS_TYPE_CHAR;
		break;
	case DW_ATE_unsigned_char:
		t.flags = GS_TYPE_CHAR;
		break;
	case DW_ATE_UTF:
		t.flags = GS_TYPE_UTF;
		break;
	}
	if (t.kind == GS_KIND_INT && name && strcmp(name, "char") == 0)
		t.flags |= GS_TYPE_PLAIN_CHAR;
	if (t.kind == GS_KIND_INT && name && strcmp(name, "wchar_t") == 0)
		t.flags |= GS_TYPE_UTF;
	/* Sizes that no number has: an opaque type of that many bytes. */
	if (t.byte_size == 0 || t.byte_size > (t.kind == GS_KIND_COMPLEX ? 32u : 16u))
		t = (struct gs_type){
			.kind = GS_KIND_UNSPECIFIED, .name = name, .byte_size = t.byte_size};
	return add(ti, &t, id);
}

struct gs_error *gs_add_int_type(struct gs_module *m, unsigned size, gs_type_id *id)
{
	struct gs_type t = {.kind = GS_KIND_INT,
			    .flags = GS_TYPE_SIGNED,
			    .byte_size = size,
			    .name = size == 4 ? "int" : "long"};

	return gs_types_add(m->types, &t, id);
}

/* ---- pointers ---- */

struct gs_error *gs_type_import_pointer(struct gs_type_import *ti, Dwarf_Die *die, uint8_t kind,
					gs_type_id *id)
{
	struct gs_type_cache *cache = ti->m->type_cache;
	struct gs_type t = {.kind = kind, .byte_size = ti->m->info.pointer_size};
	Dwarf_Attribute attr;
	Dwarf_Die target;
	uint64_t *known = NULL;

	gs_die_number(die, DW_AT_byte_size, &t.byte_size);
	if (t.byte_size > 16)
		t.byte_size = ti->m->info.pointer_size;
	if (!dwarf_attr_integrate(die, DW_AT_type, &attr))
		return add(ti, &t, id);
	if (!dwarf_formref_die(&attr, &target))
		return gs_error_new(GS_ERR_DAMAGED, "a pointer's type leads nowhere");
	known = gs_map_get(&cache->in_scratch, &target.addr, sizeof(target.addr));
	if (known && *known > 1) {
		t.target = (gs_type_id)(*known - 2);
		return add(ti, &t, id);
	}
	GS_TRY(gs_types_reserve(ti->types, &t, id));
	*GS_PUSH(cache->jobs, cache->njobs, cache->jobs_cap) = (struct pointer_job){*id, target};
	return NULL;
}

/* A pointer to a member is two words when it leads to a function (Itanium C++ ABI, 2.3). */
static struct gs_error *import_member_pointer(struct gs_type_import *ti, Dwarf_Die *die, int depth,
					      gs_type_id *id)
{
	struct gs_type t = {.kind = GS_KIND_MEMBER_POINTER, .byte_size = ti->m->info.pointer_size};
	Dwarf_Die target;

	if (gs_die_link(die, DW_AT_type, &target) && dwarf_tag(&target) == DW_TAG_subroutine_type)
		t.byte_size *= 2;
	gs_die_number(die, DW_AT_byte_size, &t.byte_size);
	if (t.byte_size > 16)
		t.byte_size = 16;
	return add(ti, &t, id);
}

/* ---- functions, arrays, qualifiers ---- */

static struct gs_error *import_function(struct gs_type_import *ti, Dwarf_Die *die, int depth,
					gs_type_id *id)
{
	struct gs_type t = {.kind = GS_KIND_FUNCTION};
	struct gs_member *params GS_CLEANUP_FREE = NULL;
	size_t n = 0, cap = 0;
	Dwarf_Die child;

	if (gs_die_flag(die, DW_AT_prototyped))
		t.flags |= GS_TYPE_PROTOTYPED;
	GS_TRY(gs_type_import_target(ti, die, depth, &t.target));
	if (dwarf_child(die, &child) == 0) {
		do {
			gs_type_id type;

			if (dwarf_tag(&child) == DW_TAG_unspecified_parameters)
				t.flags |= GS_TYPE_VARARGS;
			if (dwarf_tag(&child) != DW_TAG_formal_parameter || n >= 256)
				continue;
			GS_TRY(gs_type_import_target(ti, &child, depth, &type));
			*GS_PUSH(params, n, cap) = (struct gs_member){.type = type};
		} while (dwarf_siblingof(&child, &child) == 0);
	}
	t.members = params;
	t.nmembers = (uint32_t)n;
	return add(ti, &t, id);
}

struct dimension {
	uint64_t count;
	bool is_unknown, is_run_time;
};

static struct dimension dimension_of(Dwarf_Die *subrange)
{
	struct dimension d = {0, true, false};
	uint64_t upper, lower = 0;

	if (gs_die_number(subrange, DW_AT_count, &d.count)) {
		d.is_unknown = false;
	} else if (gs_die_number(subrange, DW_AT_upper_bound, &upper)) {
		gs_die_number(subrange, DW_AT_lower_bound, &lower);
		/* An upper bound of -1, in whatever width: gcc's array without elements. */
		d.count = upper == UINT32_MAX && lower == 0 ? 0 : upper - lower + 1;
		d.is_unknown = false;
	} else {
		d.is_run_time = dwarf_hasattr_integrate(subrange, DW_AT_count) ||
				dwarf_hasattr_integrate(subrange, DW_AT_upper_bound);
	}
	if (d.count > UINT64_MAX / 16) {
		d.count = 0;
		d.is_unknown = true;
	}
	return d;
}

static bool is_run_time(const struct gs_type_import *ti, gs_type_id id)
{
	return gs_type_get(ti->types, gs_type_strip(ti->types, id))->flags &
		       GS_TYPE_RUN_TIME_COUNT &&
	       gs_type_get(ti->types, gs_type_strip(ti->types, id))->kind == GS_KIND_ARRAY;
}

static struct gs_error *import_array(struct gs_type_import *ti, Dwarf_Die *die, int depth,
				     gs_type_id *id)
{
	struct dimension dims[16];
	size_t n = 0;
	Dwarf_Die child;
	uint64_t stride, outer_stride = 0;
	gs_type_id element;

	GS_TRY(gs_type_import_target(ti, die, depth, &element));
	if (dwarf_child(die, &child) == 0)
		do
			if (dwarf_tag(&child) == DW_TAG_subrange_type && n < GS_ARRAY_SIZE(dims))
				dims[n++] = dimension_of(&child);
		while (dwarf_siblingof(&child, &child) == 0);
	if (n == 0)
		dims[n++] = (struct dimension){0, true, false};
	stride = gs_type_size(ti->types, element);
	if (n == 1 && gs_die_number(die, DW_AT_byte_stride, &outer_stride))
		stride = outer_stride;
	while (n--) {
		struct gs_type t = {.kind = GS_KIND_ARRAY,
				    .target = element,
				    .count = dims[n].count,
				    .stride = stride};

		/* Rows of a length that the run tells: how many there are is asked for likewise. */
		if (dims[n].is_run_time || is_run_time(ti, element)) {
			t.flags |= GS_TYPE_COUNT_UNKNOWN | GS_TYPE_RUN_TIME_COUNT;
			t.count = dims[n].count = 0;
		}
		if (dims[n].is_unknown)
			t.flags |= GS_TYPE_COUNT_UNKNOWN;
		if (gs_die_flag(die, DW_AT_GNU_vector))
			t.flags |= GS_TYPE_VECTOR;
		if (dims[n].count && stride > UINT64_MAX / dims[n].count)
			return gs_error_new(GS_ERR_DAMAGED, "an array larger than memory");
		t.byte_size = dims[n].count * stride;
		GS_TRY(add(ti, &t, &element));
		stride *= dims[n].count;
	}
	*id = element;
	return NULL;
}

static struct gs_error *import_wrapper(struct gs_type_import *ti, Dwarf_Die *die, uint8_t kind,
				       int depth, gs_type_id *id)
{
	struct gs_type t = {.kind = kind};

	if (kind == GS_KIND_TYPEDEF)
		t.name = type_name(ti, die);
	GS_TRY(gs_type_import_target(ti, die, depth, &t.target));
	t.byte_size = gs_type_size(ti->types, t.target);
	return add(ti, &t, id);
}

/* ---- by tag ---- */

static struct gs_error *import_new(struct gs_type_import *ti, Dwarf_Die *die, int depth,
				   gs_type_id *id)
{
	struct gs_type t = {0};

	switch (dwarf_tag(die)) {
	case DW_TAG_base_type:
		return import_base(ti, die, id);
	case DW_TAG_pointer_type:
		return gs_type_import_pointer(ti, die, GS_KIND_POINTER, id);
	case DW_TAG_reference_type:
		return gs_type_import_pointer(ti, die, GS_KIND_REFERENCE, id);
	case DW_TAG_rvalue_reference_type:
		return gs_type_import_pointer(ti, die, GS_KIND_RVALUE_REFERENCE, id);
	case DW_TAG_ptr_to_member_type:
		return import_member_pointer(ti, die, depth, id);
	case DW_TAG_typedef:
		return import_wrapper(ti, die, GS_KIND_TYPEDEF, depth, id);
	case DW_TAG_const_type:
		return import_wrapper(ti, die, GS_KIND_CONST, depth, id);
	case DW_TAG_volatile_type:
		return import_wrapper(ti, die, GS_KIND_VOLATILE, depth, id);
	case DW_TAG_restrict_type:
		return import_wrapper(ti, die, GS_KIND_RESTRICT, depth, id);
	case DW_TAG_atomic_type:
		return import_wrapper(ti, die, GS_KIND_ATOMIC, depth, id);
	case DW_TAG_subrange_type:
	case DW_TAG_immutable_type:
	case DW_TAG_packed_type:
		return gs_type_import_target(ti, die, depth, id);
	case DW_TAG_subroutine_type:
	case DW_TAG_subprogram:
		return import_function(ti, die, depth, id);
	case DW_TAG_array_type:
		return import_array(ti, die, depth, id);
	case DW_TAG_enumeration_type:
		return gs_type_import_enum(ti, die, type_name(ti, die), depth, id);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_interface_type:
	case DW_TAG_union_type:
		return gs_type_import_aggregate(ti, die, type_name(ti, die), depth, id);
	default:
		t.kind = GS_KIND_UNSPECIFIED;
		t.name = type_name(ti, die);
		gs_die_number(die, DW_AT_byte_size, &t.byte_size);
		if (dwarf_tag(die) == DW_TAG_unspecified_type && t.byte_size == 0)
			t.byte_size = ti->m->info.pointer_size;
		return add(ti, &t, id);
	}
}

struct gs_error *gs_type_import_die(struct gs_type_import *ti, Dwarf_Die *die, int depth,
				    gs_type_id *id)
{
	struct gs_map *map = &ti->m->type_cache->in_scratch;
	void *key = die->addr;
	uint64_t *known = gs_map_get(map, &key, sizeof(key));
	struct gs_error *err;

	if (known && *known > 1) {
		*id = (gs_type_id)(*known - 2);
		return NULL;
	}
	if (known && *known == 1)
		return gs_error_new(GS_ERR_DAMAGED, "type %s contains itself",
				    dwarf_diename(die) ? dwarf_diename(die) : "without name");
	if (depth > TYPE_DEPTH_MAX)
		return gs_error_new(GS_ERR_LIMIT, "a type is nested too deeply");
	*gs_map_put(map, &key, sizeof(key), 1, NULL) = 1;
	err = import_new(ti, die, depth, id);
	*gs_map_get(map, &key, sizeof(key)) = err ? 0 : *id + 2ull;
	return err;
}

/* ---- into the session's table ---- */

static struct gs_type_cache *cache_of(struct gs_module *m)
{
	struct gs_type_cache *c = m->type_cache;

	if (!c)
		c = m->type_cache = gs_calloc(1, sizeof(*c));
	if (c->scratch && gs_types_count(c->scratch) > SCRATCH_MAX) {
		gs_types_free(c->scratch);
		c->scratch = NULL;
		gs_map_deinit(&c->in_scratch);
		c->in_scratch = (struct gs_map){0};
	}
	if (!c->scratch)
		c->scratch = gs_types_new();
	return c;
}

static void finish_pointers(struct gs_type_import *ti)
{
	struct gs_type_cache *c = ti->m->type_cache;

	while (c->njobs) {
		struct pointer_job job = c->jobs[--c->njobs];
		gs_type_id target = GS_TYPE_VOID;
		/* A pointer is good whatever is wrong with what it leads to. */
		struct gs_error *err = gs_types_count(ti->types) < SCRATCH_MAX * 2
					       ? gs_type_import_die(ti, &job.target, 0, &target)
					       : NULL;

		gs_error_free(err);
		gs_types_set_target(ti->types, job.pointer, err ? GS_TYPE_VOID : target);
	}
}

struct gs_error *gs_type_of_die(struct gs_module *m, Dwarf_Die *type, gs_type_id *id)
{
	struct gs_type_cache *c = cache_of(m);
	struct gs_type_import ti = {m, c->scratch};
	void *key = type->addr;
	uint64_t *known = gs_map_get(&c->in_session, &key, sizeof(key));
	struct gs_error *err;
	gs_type_id scratch_id;

	if (known) {
		*id = (gs_type_id)*known;
		return NULL;
	}
	gs_index_need(m);
	err = gs_type_import_die(&ti, type, 0, &scratch_id);
	finish_pointers(&ti);
	if (!err)
		err = gs_types_import(m->types, c->scratch, scratch_id, id);
	if (!err)
		gs_map_put(&c->in_session, &key, sizeof(key), *id, NULL);
	return err;
}

struct gs_error *gs_type_of(struct gs_module *m, Dwarf_Die *die, gs_type_id *id)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;

	*id = GS_TYPE_VOID;
	if (!dwarf_attr_integrate(die, DW_AT_type, &attr))
		return NULL;
	if (!dwarf_formref_die(&attr, &type))
		return gs_error_new(GS_ERR_DAMAGED, "a reference to a type leads nowhere");
	return gs_type_of_die(m, &type, id);
}

struct gs_error *gs_function_type(struct gs_module *m, Dwarf_Die *function, gs_type_id *id)
{
	return gs_type_of_die(m, function, id);
}

void gs_type_cache_free(struct gs_module *m)
{
	struct gs_type_cache *c = m->type_cache;

	if (!c)
		return;
	gs_types_free(c->scratch);
	gs_map_deinit(&c->in_scratch);
	gs_map_deinit(&c->in_session);
	free(c->jobs);
	free(c);
}
