/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small program for tests of expressions: its types, its variables, and trees as text.
 * See common_scope.h for what is in it.
 */
#include "tests/lib/common_scope.h"

#include <inttypes.h>

#define FIELDS(...) ((const struct gs_member[]){__VA_ARGS__})

static gs_type_id add(struct test_program *t, struct gs_type type)
{
	gs_type_id id = 0;
	struct gs_error *err = gs_types_add(t->types, &type, &id);

	if (err) {
		gs_error_print(stderr, "common_scope", err);
		abort();
	}
	return id;
}

static gs_type_id add_int(struct test_program *t, const char *name, unsigned size, unsigned flags)
{
	return add(t,
		   (struct gs_type){
			   .kind = GS_KIND_INT, .name = name, .byte_size = size, .flags = flags});
}

static gs_type_id add_float(struct test_program *t, const char *name, unsigned size,
			    unsigned format)
{
	return add(t, (struct gs_type){.kind = GS_KIND_FLOAT,
				       .name = name,
				       .byte_size = size,
				       .encoding = (uint8_t)format});
}

static gs_type_id to(struct test_program *t, unsigned kind, gs_type_id target)
{
	return add(t, (struct gs_type){
			      .kind = (uint8_t)kind,
			      .target = target,
			      .byte_size = kind >= GS_KIND_TYPEDEF ? 0 : t->scope.pointer_size});
}

static gs_type_id pointer(struct test_program *t, gs_type_id target)
{
	return to(t, GS_KIND_POINTER, target);
}

static gs_type_id array(struct test_program *t, gs_type_id element, unsigned count, unsigned flags)
{
	return add(t, (struct gs_type){.kind = GS_KIND_ARRAY,
				       .target = element,
				       .count = count,
				       .flags = flags});
}

/* ---- types ---- */

static gs_type_id add_link(struct test_program *t)
{
	gs_type_id ptr = 0, link;
	struct gs_type type = {.kind = GS_KIND_POINTER, .byte_size = t->scope.pointer_size};

	gs_error_free(gs_types_reserve(t->types, &type, &ptr));
	link = add(t, (struct gs_type){.kind = GS_KIND_STRUCT,
				       .name = "link",
				       .byte_size = 8,
				       .members = FIELDS({.name = "prev", .type = ptr}),
				       .nmembers = 1});
	gs_types_set_target(t->types, ptr, link);
	return link;
}

static gs_type_id add_req(struct test_program *t)
{
	gs_type_id i = add_int(t, "int", 4, GS_TYPE_SIGNED), u = add_int(t, "unsigned int", 4, 0);
	gs_type_id l = add_int(t, "long int", 8, GS_TYPE_SIGNED);
	gs_type_id ul = add_int(t, "long unsigned int", 8, 0);
	gs_type_id c = add_int(t, "char", 1, GS_TYPE_SIGNED | GS_TYPE_CHAR | GS_TYPE_PLAIN_CHAR);
	gs_type_id f = add_float(t, "float", 4, GS_FLOAT_IEEE), req, next = 0;
	struct gs_type type = {.kind = GS_KIND_POINTER, .byte_size = t->scope.pointer_size};
	gs_type_id both = add(t, (struct gs_type){.kind = GS_KIND_UNION,
						  .byte_size = 4,
						  .members = FIELDS({.name = "ia", .type = i},
								    {.name = "fa", .type = f}),
						  .nmembers = 2});

	gs_error_free(gs_types_reserve(t->types, &type, &next));
	const struct gs_member members[] = {
		{.name = "len", .type = i},
		{.name = "uri", .type = pointer(t, c), .bit_offset = 64},
		{.name = "flags", .type = u, .bit_offset = 128, .bit_size = 3},
		{.name = "sflags", .type = i, .bit_offset = 131, .bit_size = 3},
		{.name = "wide", .type = u, .bit_offset = 160, .bit_size = 32},
		{.name = "off", .type = ul, .bit_offset = 192, .bit_size = 40},
		{.name = "small", .type = l, .bit_offset = 232, .bit_size = 10},
		{.name = "next", .type = next, .bit_offset = 256},
		{.name = "name", .type = array(t, c, 16, 0), .bit_offset = 320},
		{.type = both, .bit_offset = 448},
		{.name = "grid", .type = array(t, array(t, i, 3, 0), 2, 0), .bit_offset = 480},
		{.name = "link", .type = add_link(t), .bit_offset = 704},
		{.name = "flex", .type = array(t, i, 0, GS_TYPE_COUNT_UNKNOWN), .bit_offset = 768},
	};
	req = add(t, (struct gs_type){.kind = GS_KIND_STRUCT,
				      .name = "req",
				      .byte_size = 96,
				      .members = members,
				      .nmembers = GS_ARRAY_SIZE(members)});
	gs_types_set_target(t->types, next, req);
	return req;
}

static gs_type_id add_class(struct test_program *t, const char *name,
			    const struct gs_member *members, unsigned n, unsigned size)
{
	return add(t, (struct gs_type){.kind = GS_KIND_CLASS,
				       .name = name,
				       .byte_size = size,
				       .members = members,
				       .nmembers = n});
}

static gs_type_id add_derived(struct test_program *t)
{
	gs_type_id i = add_int(t, "int", 4, GS_TYPE_SIGNED);
	gs_type_id base = add_class(t, "Base", FIELDS({.name = "id", .type = i}), 1, 4);
	gs_type_id other = add_class(t, "ns::Other", FIELDS({.name = "id", .type = i}), 1, 4);

	return add_class(
		t, "Derived",
		FIELDS({.name = "Base", .type = base, .flags = GS_MEMBER_BASE},
		       {.name = "Other", .type = other, .flags = GS_MEMBER_BASE, .bit_offset = 32},
		       {.name = "own", .type = i, .bit_offset = 64},
		       {.name = "count", .type = i, .flags = GS_MEMBER_STATIC}),
		4, 12);
}

static gs_type_id add_color(struct test_program *t)
{
	const struct gs_enumerator e[] = {{"RED", 0}, {"GREEN", 5}, {"BIG", 0x80000000}};

	return add(t, (struct gs_type){.kind = GS_KIND_ENUM,
				       .name = "color",
				       .byte_size = 4,
				       .target = add_int(t, "unsigned int", 4, 0),
				       .enumerators = e,
				       .nenumerators = 3});
}

static gs_type_id add_function(struct test_program *t)
{
	gs_type_id i = add_int(t, "int", 4, GS_TYPE_SIGNED);

	return add(t, (struct gs_type){.kind = GS_KIND_FUNCTION,
				       .target = i,
				       .flags = GS_TYPE_PROTOTYPED,
				       .members = FIELDS({.type = i}),
				       .nmembers = 1});
}

static gs_type_id add_char(struct test_program *t)
{
	return add_int(t, "char", 1,
		       (t->unsigned_char ? 0u : GS_TYPE_SIGNED) | GS_TYPE_CHAR |
			       GS_TYPE_PLAIN_CHAR);
}

static gs_type_id add_opaque(struct test_program *t)
{
	return add(t, (struct gs_type){.kind = GS_KIND_STRUCT,
				       .name = "opaque",
				       .flags = GS_TYPE_INCOMPLETE});
}

/* ---- variables ---- */

static gs_type_id number_named(struct test_program *t, const char *n)
{
	static const struct {
		const char *name, *type;
		unsigned size, flags;
	} ints[] = {
		{"sc", "signed char", 1, GS_TYPE_SIGNED | GS_TYPE_CHAR},
		{"uc", "unsigned char", 1, GS_TYPE_CHAR},
		{"s", "short int", 2, GS_TYPE_SIGNED},
		{"us", "short unsigned int", 2, 0},
		{"i", "int", 4, GS_TYPE_SIGNED},
		{"u", "unsigned int", 4, 0},
		{"l", "long int", 8, GS_TYPE_SIGNED},
		{"ul", "long unsigned int", 8, 0},
		{"ll", "long long int", 8, GS_TYPE_SIGNED},
		{"i128", "__int128", 16, GS_TYPE_SIGNED},
		{"list", "int", 4, GS_TYPE_SIGNED},
	};

	for (size_t k = 0; k < GS_ARRAY_SIZE(ints); k++)
		if (strcmp(n, ints[k].name) == 0)
			return add_int(t, ints[k].type, ints[k].size, ints[k].flags);
	if (strcmp(n, "c") == 0)
		return add_char(t);
	if (strcmp(n, "b") == 0)
		return add(t,
			   (struct gs_type){.kind = GS_KIND_BOOL, .name = "_Bool", .byte_size = 1});
	if (strcmp(n, "f") == 0)
		return add_float(t, "float", 4, GS_FLOAT_IEEE);
	if (strcmp(n, "d") == 0)
		return add_float(t, "double", 8, GS_FLOAT_IEEE);
	if (strcmp(n, "ld") == 0)
		return add_float(t, "long double", 16, GS_FLOAT_X87);
	return GS_TYPE_VOID;
}

static gs_type_id object_named(struct test_program *t, const char *n)
{
	gs_type_id i = add_int(t, "int", 4, GS_TYPE_SIGNED);
	const struct {
		const char *name;
		gs_type_id type;
	} objects[] = {
		{"e", add_color(t)},
		{"ci", to(t, GS_KIND_CONST, i)},
		{"rr", add_req(t)},
		{"regreq", add_req(t)},
		{"r", pointer(t, add_req(t))},
		{"cp", pointer(t, to(t, GS_KIND_CONST, add_char(t)))},
		{"ucp", pointer(t, number_named(t, "uc"))},
		{"p", pointer(t, i)},
		{"wp", pointer(t, i)},
		{"vp", pointer(t, GS_TYPE_VOID)},
		{"pp", pointer(t, pointer(t, i))},
		{"arr", array(t, i, 10, 0)},
		{"regarr", array(t, i, 4, 0)},
		{"name", array(t, add_char(t), 16, 0)},
		{"dyn", array(t, i, 0, GS_TYPE_COUNT_UNKNOWN)},
		{"vec", array(t, i, 4, GS_TYPE_VECTOR)},
		{"ref", to(t, GS_KIND_REFERENCE, i)},
		{"rref", to(t, GS_KIND_REFERENCE, add_req(t))},
		{"fn", add_function(t)},
		{"contains", add_function(t)},
		{"fp", pointer(t, add_function(t))},
		{"op", pointer(t, add_opaque(t))},
		{"der", add_derived(t)},
		{"pder", pointer(t, add_derived(t))},
		{"mp", add(t, (struct gs_type){.kind = GS_KIND_MEMBER_POINTER,
					       .byte_size = 8,
					       .target = i,
					       .containing = add_derived(t)})},
	};

	for (size_t k = 0; k < GS_ARRAY_SIZE(objects); k++)
		if (strcmp(n, objects[k].name) == 0)
			return objects[k].type;
	return GS_TYPE_VOID;
}

static struct gs_error *not_found(const char *what, const char *name)
{
	return gs_error_new(GS_ERR_NOT_FOUND, "no %s `%s'", what, name);
}

static struct gs_error *find_qualified(struct test_program *t, const char *q, const char *n,
				       struct gs_symbol *sym)
{
	if (strcmp(q, "f.c") == 0 && strcmp(n, "v") == 0)
		sym->type = number_named(t, "l");
	else if (strcmp(q, "main") == 0 && strcmp(n, "v") == 0)
		sym->type = number_named(t, "s");
	else if (strcmp(q, "ns::T") == 0 && strcmp(n, "x") == 0)
		sym->type = add_char(t);
	else
		return not_found("name", n);
	return NULL;
}

static struct gs_error *find_name(void *ctx, const char *q, const char *n, struct gs_symbol *sym)
{
	struct test_program *t = ctx;
	static const char *const colors[] = {"RED", "GREEN", "BIG"};
	static const int64_t values[] = {0, 5, 0x80000000};

	if (q && *q)
		return find_qualified(t, q, n, sym);
	if (strcmp(n, "this") == 0 && t->in_method) {
		sym->type = pointer(t, add_derived(t));
		return NULL;
	}
	for (int k = 0; k < 3; k++) {
		if (strcmp(n, colors[k]) != 0)
			continue;
		sym->type = add_color(t);
		sym->is_constant = true;
		sym->value = values[k];
		return NULL;
	}
	sym->type = number_named(t, n);
	if (!sym->type)
		sym->type = object_named(t, n);
	sym->is_register = strncmp(n, "reg", 3) == 0;
	return sym->type ? NULL : not_found("variable", n);
}

static struct gs_error *find_builtin(void *ctx, const char *n, struct gs_symbol *sym)
{
	struct test_program *t = ctx;

	if (strcmp(n, "rdi") == 0)
		sym->type = number_named(t, "ul");
	else if (strcmp(n, "pid") == 0)
		sym->type = number_named(t, "i");
	else if (strcmp(n, "w") == 0)
		sym->type = number_named(t, "u");
	else if (strcmp(n, "retval") == 0)
		sym->type = add_req(t);
	else
		return not_found("built-in", n);
	return NULL;
}

static struct gs_error *find_type(void *ctx, const char *n, gs_type_id *id)
{
	struct test_program *t = ctx;

	if (strcmp(n, "struct req") == 0)
		*id = add_req(t);
	else if (strcmp(n, "struct link") == 0)
		*id = add_link(t);
	else if (strcmp(n, "struct opaque") == 0)
		*id = add_opaque(t);
	else if (strcmp(n, "enum color") == 0)
		*id = add_color(t);
	else if (strcmp(n, "Derived") == 0 || strcmp(n, "class Derived") == 0)
		*id = add_derived(t);
	else if (strcmp(n, "TV<int>") == 0)
		*id = add_class(t, n, FIELDS({.name = "x", .type = add_color(t)}), 1, 4);
	else if (strcmp(n, "char") == 0)
		*id = add_char(t);
	else if (strcmp(n, "Tint") == 0)
		*id = add(t, (struct gs_type){.kind = GS_KIND_TYPEDEF,
					      .name = n,
					      .target = number_named(t, "i")});
	else
		return not_found("type", n);
	return NULL;
}

static void in_entry(void *ctx, bool inside)
{
	struct test_program *t = ctx;

	t->entry_depth += inside ? 1 : -1;
	t->entries += inside;
}

void test_program_init(struct test_program *t, unsigned pointer_size)
{
	*t = (struct test_program){.types = gs_types_new()};
	t->scope = (struct gs_scope){.types = t->types,
				     .pointer_size = (uint8_t)pointer_size,
				     .ctx = t,
				     .find_name = find_name,
				     .find_builtin = find_builtin,
				     .find_type = find_type,
				     .in_entry = in_entry};
}

void test_program_deinit(struct test_program *t)
{
	gs_types_free(t->types);
	gs_arena_deinit(&t->arena);
}

/* ---- trees as text ---- */

static bool is_type(void *ctx, const char *name, size_t len)
{
	return len && name[0] == 'T';
}

struct gs_expr *test_check(struct test_program *t, const char *text, struct gs_error **err)
{
	static const struct gs_parse_hooks hooks = {.is_type = is_type};
	struct gs_expr *e = NULL;

	*err = gs_expr_parse(&t->arena, text, 0, &hooks, NULL, &e);
	if (!*err)
		*err = gs_expr_check(e, text, &t->arena, &t->scope);
	return *err ? NULL : e;
}

static void dump(struct test_program *t, struct gs_buf *out, const struct gs_expr *e);

static void dump_children(struct test_program *t, struct gs_buf *out, const struct gs_expr *e)
{
	const struct gs_expr *children[] = {e->a, e->b, e->c};

	for (int k = 0; k < 3; k++) {
		if (!children[k])
			continue;
		gs_buf_putc(out, ' ');
		dump(t, out, children[k]);
	}
	for (size_t k = 0; k < e->nargs; k++) {
		gs_buf_putc(out, ' ');
		dump(t, out, e->args[k]);
	}
	gs_buf_putc(out, ')');
}

static void dump_implicit(struct test_program *t, struct gs_buf *out, const struct gs_expr *e)
{
	if (e->kind == GS_EXPR_CAST) {
		gs_buf_putc(out, '<');
		gs_type_print(out, t->types, e->type, NULL);
		gs_buf_putc(out, '>');
	} else {
		gs_buf_putc(out, e->op == GS_OPR_ADDR ? '&' : '*');
	}
	dump(t, out, e->a);
}

static void dump(struct test_program *t, struct gs_buf *out, const struct gs_expr *e)
{
	static const char *const ops[] = {
		"",   "+", "-",	 "~", "!",  "*",  "&",	"*", "/", "%", "+",  "-", "<<",
		">>", "<", "<=", ">", ">=", "==", "!=", "&", "^", "|", "&&", "||"};
	static const char *const kinds[] = {[GS_EXPR_INDEX] = "index",
					    [GS_EXPR_SLICE] = "slice",
					    [GS_EXPR_ATSIGN] = "@",
					    [GS_EXPR_COND] = "?"};

	if (e->implicit && e->a) {
		dump_implicit(t, out, e);
		return;
	}
	switch (e->kind) {
	case GS_EXPR_MEMBER:
		gs_buf_printf(out, "(%s%s/%" PRIu64, e->arrow ? "->" : ".", e->name, e->bit_offset);
		if (e->bit_size)
			gs_buf_printf(out, ":%u", e->bit_size);
		break;
	case GS_EXPR_UNARY:
	case GS_EXPR_BINARY:
		gs_buf_printf(out, "(%s", ops[e->op]);
		break;
	case GS_EXPR_CAST:
		gs_buf_puts(out, "(cast ");
		gs_type_print(out, t->types, e->type, NULL);
		break;
	case GS_EXPR_CALL:
		gs_buf_printf(out, "(%s", e->name);
		break;
	case GS_EXPR_INDEX:
	case GS_EXPR_SLICE:
	case GS_EXPR_ATSIGN:
	case GS_EXPR_COND:
		gs_buf_printf(out, "(%s", kinds[e->kind]);
		break;
	case GS_EXPR_NUMBER:
		gs_buf_printf(out, "%" PRId64, (int64_t)e->number);
		return;
	default:
		gs_expr_print(out, e);
		return;
	}
	dump_children(t, out, e);
}

static const char *keep(struct test_program *t, struct gs_buf *buf)
{
	const char *s = gs_arena_strdup(&t->arena, gs_buf_cstr(buf));

	gs_buf_deinit(buf);
	return s;
}

const char *test_dump(struct test_program *t, const struct gs_expr *e)
{
	struct gs_buf buf = {0};

	dump(t, &buf, e);
	return keep(t, &buf);
}

static const char *failure(struct test_program *t, struct gs_error *err)
{
	const char *s = gs_arena_printf(&t->arena, "error: %s", gs_error_message(err));

	gs_error_free(err);
	return s;
}

const char *test_tree(struct test_program *t, const char *text)
{
	struct gs_error *err;
	struct gs_expr *e = test_check(t, text, &err);

	return e ? test_dump(t, e) : failure(t, err);
}

const char *test_type(struct test_program *t, const char *text)
{
	struct gs_error *err;
	struct gs_expr *e = test_check(t, text, &err);
	struct gs_buf buf = {0};

	if (!e)
		return failure(t, err);
	gs_type_print(&buf, t->types, e->type, NULL);
	if (e->is_constant &&
	    gs_type_get(t->types, gs_type_strip(t->types, e->type))->kind == GS_KIND_FLOAT)
		gs_buf_printf(&buf, " = %.17g", e->real);
	else if (e->is_constant && gs_type_is_signed(t->types, e->type))
		gs_buf_printf(&buf, " = %" PRId64, (int64_t)e->number);
	else if (e->is_constant)
		gs_buf_printf(&buf, " = %" PRIu64, e->number);
	return keep(t, &buf);
}
