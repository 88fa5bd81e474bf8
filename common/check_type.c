/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Types of the checker: C's base types, pointers, arrays, and types by name.
 * Called by all of check*.c; new types go to the scope's table, which finds equal ones again.
 *
 * Sizes are those of LP64 or, with pointers of 4 bytes, ILP32. Names are C's own spelling.
 */
#include <inttypes.h>

#include "common/check.h"

static bool is_lp64(const struct gs_checker *c)
{
	return c->scope->pointer_size != 4;
}

static struct gs_error *add(struct gs_checker *c, const struct gs_type *type, gs_type_id *id)
{
	return gs_types_add(c->types, type, id);
}

static struct gs_error *add_int(struct gs_checker *c, const char *name, unsigned size,
				uint32_t flags, gs_type_id *id)
{
	return add(c,
		   &(struct gs_type){
			   .kind = GS_KIND_INT, .name = name, .byte_size = size, .flags = flags},
		   id);
}

struct gs_error *gs_check_int_type(struct gs_checker *c, unsigned size, bool is_signed,
				   gs_type_id *id)
{
	static const char *const names[2][4] = {
		{"unsigned char", "unsigned short", "unsigned int", "unsigned long"},
		{"signed char", "short", "int", "long"}};
	unsigned log = (unsigned)__builtin_ctz(size);
	const char *name = names[is_signed][log];

	if (size == 8 && !is_lp64(c))
		name = is_signed ? "long long" : "unsigned long long";
	return add_int(c, name, size,
		       (is_signed ? GS_TYPE_SIGNED : 0u) | (size == 1 ? GS_TYPE_CHAR : 0u), id);
}

struct gs_error *gs_check_float_type(struct gs_checker *c, unsigned size, gs_type_id *id)
{
	return add(c,
		   &(struct gs_type){.kind = GS_KIND_FLOAT,
				     .name = size == 4 ? "float" : "double",
				     .byte_size = size,
				     .encoding = GS_FLOAT_IEEE},
		   id);
}

/* The program's own type NAME if it has the KIND, for what depends on its ABI. */
static bool find_own(struct gs_checker *c, const char *name, unsigned kind, gs_type_id *id)
{
	gs_type_id found;
	struct gs_error *err = c->scope->find_type(c->scope->ctx, name, &found);

	if (err) {
		gs_error_free(err);
		return false;
	}
	if (gs_check_stripped(c, found)->kind != kind)
		return false;
	*id = found;
	return true;
}

struct gs_error *gs_check_char_type(struct gs_checker *c, gs_type_id *id)
{
	gs_type_id own;

	if (find_own(c, "char", GS_KIND_INT, &own) &&
	    (gs_check_stripped(c, own)->flags & GS_TYPE_PLAIN_CHAR)) {
		*id = own;
		return NULL;
	}
	/* Signed, as in the ABIs of x86. */
	return add_int(c, "char", 1, GS_TYPE_SIGNED | GS_TYPE_CHAR | GS_TYPE_PLAIN_CHAR, id);
}

struct gs_error *gs_check_ptrdiff_type(struct gs_checker *c, gs_type_id *id)
{
	return gs_check_int_type(c, is_lp64(c) ? 8 : 4, true, id);
}

struct gs_error *gs_check_size_type(struct gs_checker *c, gs_type_id *id)
{
	return gs_check_int_type(c, is_lp64(c) ? 8 : 4, false, id);
}

struct gs_error *gs_check_pointer_to(struct gs_checker *c, gs_type_id target, gs_type_id *id)
{
	return add(c,
		   &(struct gs_type){.kind = GS_KIND_POINTER,
				     .target = target,
				     .byte_size = is_lp64(c) ? 8 : 4},
		   id);
}

struct gs_error *gs_check_array_of(struct gs_checker *c, gs_type_id element, uint64_t stride,
				   const uint64_t *count, gs_type_id *id)
{
	struct gs_type type = {.kind = GS_KIND_ARRAY, .target = element, .stride = stride};

	if (count)
		type.count = *count;
	else
		type.flags = GS_TYPE_COUNT_UNKNOWN;
	return add(c, &type, id);
}

/* ---- by name ---- */

/* The integer types of C but `char', with their sizes by data model. */
static const struct base {
	const char *name;
	uint8_t lp64, ilp32;
	bool is_signed;
} bases[] = {
	{"signed char", 1, 1, true}, {"unsigned char", 1, 1, false},
	{"short", 2, 2, true},	     {"unsigned short", 2, 2, false},
	{"int", 4, 4, true},	     {"unsigned int", 4, 4, false},
	{"long", 8, 4, true},	     {"unsigned long", 8, 4, false},
	{"long long", 8, 8, true},   {"unsigned long long", 8, 8, false},
	{"__int128", 16, 16, true},  {"unsigned __int128", 16, 16, false},
};

static const struct base *find_base(const char *name)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(bases); i++)
		if (strcmp(bases[i].name, name) == 0)
			return &bases[i];
	return NULL;
}

static struct gs_error *long_double(struct gs_checker *c, gs_type_id *id)
{
	/* What it is differs by ABI: the program's own is asked for first. */
	if (find_own(c, "long double", GS_KIND_FLOAT, id))
		return NULL;
	return add(c,
		   &(struct gs_type){.kind = GS_KIND_FLOAT,
				     .name = "long double",
				     .byte_size = is_lp64(c) ? 16 : 12,
				     .encoding = GS_FLOAT_X87},
		   id);
}

static struct gs_error *bool_type(struct gs_checker *c, gs_type_id *id)
{
	return add(c, &(struct gs_type){.kind = GS_KIND_BOOL, .name = "_Bool", .byte_size = 1}, id);
}

struct gs_error *gs_check_base_type(struct gs_checker *c, const char *name, gs_type_id *id,
				    bool *known)
{
	const struct base *b = find_base(name);

	*known = true;
	if (b)
		return add_int(c, name, is_lp64(c) ? b->lp64 : b->ilp32,
			       (b->is_signed ? GS_TYPE_SIGNED : 0u) |
				       (b->lp64 == 1 ? GS_TYPE_CHAR : 0u),
			       id);
	if (strcmp(name, "char") == 0)
		return gs_check_char_type(c, id);
	if (strcmp(name, "float") == 0 || strcmp(name, "double") == 0)
		return gs_check_float_type(c, name[0] == 'f' ? 4 : 8, id);
	if (strcmp(name, "long double") == 0)
		return long_double(c, id);
	if (strcmp(name, "_Bool") == 0)
		return bool_type(c, id);
	*known = strcmp(name, "void") == 0;
	*id = GS_TYPE_VOID;
	return NULL;
}

/* Typedefs that every C program may use, for programs whose debug information lacks them. */
static const struct {
	const char *name, *lp64, *ilp32;
} typedefs[] = {
	{"int8_t", "signed char", "signed char"},
	{"uint8_t", "unsigned char", "unsigned char"},
	{"int16_t", "short", "short"},
	{"uint16_t", "unsigned short", "unsigned short"},
	{"int32_t", "int", "int"},
	{"uint32_t", "unsigned int", "unsigned int"},
	{"int64_t", "long", "long long"},
	{"uint64_t", "unsigned long", "unsigned long long"},
	{"intmax_t", "long", "long long"},
	{"uintmax_t", "unsigned long", "unsigned long long"},
	{"intptr_t", "long", "int"},
	{"uintptr_t", "unsigned long", "unsigned int"},
	{"ptrdiff_t", "long", "int"},
	{"size_t", "unsigned long", "unsigned int"},
	{"ssize_t", "long", "int"},
};

bool gs_check_is_known_typedef(const char *name)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(typedefs); i++)
		if (strcmp(typedefs[i].name, name) == 0)
			return true;
	return false;
}

static struct gs_error *find_typedef(struct gs_checker *c, const char *name, gs_type_id *id,
				     bool *known)
{
	struct gs_type type = {.kind = GS_KIND_TYPEDEF, .name = name};

	for (size_t i = 0; i < GS_ARRAY_SIZE(typedefs); i++) {
		if (strcmp(typedefs[i].name, name) != 0)
			continue;
		GS_TRY(gs_check_base_type(c, is_lp64(c) ? typedefs[i].lp64 : typedefs[i].ilp32,
					  &type.target, known));
		return add(c, &type, id);
	}
	*known = false;
	return NULL;
}

static struct gs_error *find_base_or_named(struct gs_checker *c, const struct gs_expr *e,
					   const char *name, gs_type_id *id)
{
	bool known;
	struct gs_error *err, *other;

	GS_TRY(gs_check_base_type(c, name, id, &known));
	if (known)
		return NULL;
	err = c->scope->find_type(c->scope->ctx, name, id);
	if (!err)
		return NULL;
	if (gs_error_code_of(err) != GS_ERR_NOT_FOUND)
		return gs_error_at(err, c->text, e->start, e->len);
	other = find_typedef(c, name, id, &known);
	if (!other && !known)
		return gs_error_at(err, c->text, e->start, e->len);
	gs_error_free(err);
	return other;
}

static struct gs_error *add_dimensions(struct gs_checker *c, const struct gs_expr *e,
				       const struct gs_type_name *name, gs_type_id *id)
{
	for (uint32_t i = name->ndims; i-- > 0;) {
		uint64_t size = gs_type_size(c->types, *id), total;
		const struct gs_type *type = gs_check_stripped(c, *id);

		if (!size || type->kind == GS_KIND_VOID || type->kind == GS_KIND_FUNCTION)
			return gs_check_error(c, e, GS_ERR_USAGE,
					      "an array of `%s', whose size is not known",
					      gs_check_type_text(c, *id));
		if (__builtin_mul_overflow(size, name->dims[i], &total) || total > INT64_MAX)
			return gs_check_error(c, e, GS_ERR_LIMIT,
					      "an array of %" PRIu64 " `%s' is too large",
					      name->dims[i], gs_check_type_text(c, *id));
		GS_TRY(gs_check_array_of(c, *id, size, &name->dims[i], id));
	}
	return NULL;
}

static struct gs_error *add_pointers(struct gs_checker *c, uint32_t n, gs_type_id *id)
{
	while (n--)
		GS_TRY(gs_check_pointer_to(c, *id, id));
	return NULL;
}

struct gs_error *gs_check_type_name(struct gs_checker *c, const struct gs_expr *e,
				    const struct gs_type_name *name, gs_type_id *out)
{
	gs_type_id id;

	GS_TRY(find_base_or_named(c, e, name->base, &id));
	if (name->is_const)
		GS_TRY(add(c, &(struct gs_type){.kind = GS_KIND_CONST, .target = id}, &id));
	GS_TRY(add_pointers(c, name->npointers, &id));
	GS_TRY(add_dimensions(c, e, name, &id));
	GS_TRY(add_pointers(c, name->nouter, &id));
	*out = id;
	return NULL;
}
