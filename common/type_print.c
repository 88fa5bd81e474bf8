/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Types in C declaration syntax, for messages, --info and gs-record -V.
 * Between the type table and everything that names a type to a person.
 *
 * A declarator is built from the name outwards: a pointer goes before it, array bounds and
 * parameters behind it, and parentheses keep a pointer to an array or function apart from an array
 * of pointers.
 */
#include "common/type.h"

#include <inttypes.h>

/* Pointers may form cycles without a tag in a hostile table, and parameter lists nest. */
#define STEPS_MAX 256
#define LENGTH_MAX 4096

struct printer {
	const struct gs_types *types;
	unsigned steps;
};

static void print(struct printer *p, struct gs_buf *out, gs_type_id id, struct gs_buf *decl);

static const char *qualifier(unsigned kind)
{
	switch (kind) {
	case GS_KIND_CONST:
		return "const";
	case GS_KIND_VOLATILE:
		return "volatile";
	case GS_KIND_RESTRICT:
		return "restrict";
	case GS_KIND_ATOMIC:
		return "_Atomic";
	default:
		return NULL;
	}
}

static void prepend(struct gs_buf *b, const char *s)
{
	size_t n = strlen(s);

	gs_buf_reserve(b, n);
	memmove(b->data + n, b->data, b->len);
	memcpy(b->data, s, n);
	b->len += n;
}

/* Whether what the pointer leads to puts something behind the declarator. */
static bool binds_behind(const struct gs_types *t, gs_type_id id)
{
	const struct gs_type *type = gs_type_get(t, id);

	while (qualifier(type->kind))
		type = gs_type_get(t, type->target);
	return type->kind == GS_KIND_FUNCTION ||
	       (type->kind == GS_KIND_ARRAY && !(type->flags & GS_TYPE_VECTOR));
}

static void put_base(struct gs_buf *out, const struct gs_type *type)
{
	bool has_tag = !type->name || !(type->flags & GS_TYPE_NO_TAG);

	switch (has_tag ? type->kind : GS_KIND_INT) {
	case GS_KIND_VOID:
		gs_buf_puts(out, "void");
		return;
	case GS_KIND_STRUCT:
		gs_buf_puts(out, "struct ");
		break;
	case GS_KIND_UNION:
		gs_buf_puts(out, "union ");
		break;
	case GS_KIND_ENUM:
		gs_buf_puts(out, "enum ");
		break;
	case GS_KIND_CLASS:
		gs_buf_puts(out, type->name ? "" : "class ");
		break;
	}
	if (type->name)
		gs_buf_puts(out, type->name);
	else if (gs_kind_is_aggregate(type->kind) || type->kind == GS_KIND_ENUM)
		gs_buf_puts(out, "{...}");
	else
		gs_buf_printf(out, "<unnamed type of %" PRIu64 " bytes>", type->byte_size);
}

static void put_parameters(struct printer *p, struct gs_buf *decl, const struct gs_type *type)
{
	gs_buf_putc(decl, '(');
	for (uint32_t i = 0; i < type->nmembers; i++) {
		struct gs_buf none = {0};

		if (i)
			gs_buf_puts(decl, ", ");
		if (p->steps >= STEPS_MAX || decl->len > LENGTH_MAX) {
			gs_buf_puts(decl, "...");
			break;
		}
		print(p, decl, type->members[i].type, &none);
		gs_buf_deinit(&none);
	}
	if (type->flags & GS_TYPE_VARARGS)
		gs_buf_puts(decl, type->nmembers ? ", ..." : "...");
	else if (!type->nmembers && (type->flags & GS_TYPE_PROTOTYPED))
		gs_buf_puts(decl, "void");
	gs_buf_putc(decl, ')');
}

static void put_pointer(struct printer *p, struct gs_buf *decl, const struct gs_type *type,
			struct gs_buf *quals)
{
	if (quals->len) {
		if (decl->len)
			gs_buf_putc(quals, ' ');
		prepend(decl, gs_buf_cstr(quals));
		prepend(decl, " ");
		gs_buf_reset(quals);
	}
	if (type->kind == GS_KIND_MEMBER_POINTER) {
		struct gs_buf class_name = {0};
		const struct gs_type *class =
			gs_type_get(p->types, gs_type_strip(p->types, type->containing));

		gs_buf_printf(&class_name, "%s::*", class->name ? class->name : "{...}");
		prepend(decl, gs_buf_cstr(&class_name));
		gs_buf_deinit(&class_name);
	} else {
		prepend(decl, type->kind == GS_KIND_POINTER	? "*"
			      : type->kind == GS_KIND_REFERENCE ? "&"
								: "&&");
	}
	if (binds_behind(p->types, type->target)) {
		prepend(decl, "(");
		gs_buf_putc(decl, ')');
	}
}

static void put_array(struct gs_buf *decl, const struct gs_type *type)
{
	if (type->flags & GS_TYPE_COUNT_UNKNOWN)
		gs_buf_puts(decl, "[]");
	else
		gs_buf_printf(decl, "[%" PRIu64 "]", type->count);
}

/* What stands at the left: qualifiers, base type, then the declarator made so far. */
static void put_end(struct printer *p, struct gs_buf *out, const struct gs_type *type,
		    struct gs_buf *quals, const struct gs_buf *decl)
{
	if (quals->len)
		gs_buf_printf(out, "%s ", gs_buf_cstr(quals));
	if (type->kind == GS_KIND_ARRAY) {
		struct gs_buf none = {0};
		uint64_t bytes;

		print(p, out, type->target, &none);
		gs_buf_deinit(&none);
		if (__builtin_mul_overflow(type->count, type->stride, &bytes))
			bytes = UINT64_MAX;
		gs_buf_printf(out, " __attribute__((vector_size(%" PRIu64 ")))", bytes);
	} else {
		put_base(out, type);
	}
	if (decl->len)
		gs_buf_putc(out, ' ');
	gs_buf_append(out, decl->data, decl->len);
}

static void print(struct printer *p, struct gs_buf *out, gs_type_id id, struct gs_buf *decl)
{
	struct gs_buf quals = {0};

	for (;;) {
		const struct gs_type *type = gs_type_get(p->types, id);
		const char *q = qualifier(type->kind);

		if (p->steps++ >= STEPS_MAX || decl->len > LENGTH_MAX) {
			gs_buf_puts(out, "...");
			break;
		}
		if (q && quals.len && strstr(gs_buf_cstr(&quals), q)) {
			/* Of an array and of its elements: once is enough. */
		} else if (q) {
			gs_buf_printf(&quals, "%s%s", quals.len ? " " : "", q);
		} else if (type->kind == GS_KIND_FUNCTION) {
			put_parameters(p, decl, type);
		} else if (type->kind == GS_KIND_ARRAY && !(type->flags & GS_TYPE_VECTOR)) {
			put_array(decl, type);
		} else if (type->kind == GS_KIND_POINTER || type->kind == GS_KIND_REFERENCE ||
			   type->kind == GS_KIND_RVALUE_REFERENCE ||
			   type->kind == GS_KIND_MEMBER_POINTER) {
			put_pointer(p, decl, type, &quals);
		} else {
			put_end(p, out, type, &quals, decl);
			break;
		}
		id = type->target;
	}
	gs_buf_deinit(&quals);
}

void gs_type_print(struct gs_buf *out, const struct gs_types *t, gs_type_id id, const char *name)
{
	struct printer p = {.types = t};
	struct gs_buf decl = {0};

	if (name)
		gs_buf_puts(&decl, name);
	print(&p, out, id, &decl);
	gs_buf_deinit(&decl);
}
