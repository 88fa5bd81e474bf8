/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What names mean in report expressions: captured items by equal tree, their keys, enumerators,
 * types of the file, and the built-ins of an event. Between query.c and the shared checker and
 * evaluator.
 */
#include "report/query_scope.h"

#include "report/view.h"

#define BUILTIN_BINDING (1ull << 32)

enum builtin { B_PID, B_TID, B_CPU, B_COMM, B_TIME, B_FUNC, B_SITE, B_PROBE };
static const struct {
	const char *name;
	enum builtin id;
	bool is_text, is_time;
} builtins[] = {
	{"pid", B_PID, false, false},  {"tid", B_TID, false, false},
	{"cpu", B_CPU, false, false},  {"comm", B_COMM, true, false},
	{"time", B_TIME, false, true}, {"func", B_FUNC, true, false},
	{"site", B_SITE, true, false}, {"probe", B_PROBE, true, false},
};

bool gs_binding_is_item(uint64_t binding)
{
	return binding < BUILTIN_BINDING;
}

/* ---- names ---- */

static bool bind_item(struct gs_view *v, uint32_t item, struct gs_symbol *sym)
{
	*sym = (struct gs_symbol){.type = v->schema.items[item].type, .binding = item};
	return true;
}

static bool find_item(struct gs_view *v, const char *qualifier, const char *name,
		      struct gs_symbol *sym)
{
	for (uint32_t i = 0; i < v->schema.nitems && !qualifier; i++)
		if (v->keys[i] && strcmp(v->keys[i], name) == 0)
			return bind_item(v, i, sym);
	/* A static captured with its scope, asked for without. */
	for (uint32_t i = 0; i < v->schema.nitems; i++) {
		const struct gs_expr *e = v->trees[i];

		if (e && e->kind == GS_EXPR_NAME && strcmp(e->name, name) == 0 &&
		    (!qualifier || (e->qualifier && strcmp(e->qualifier, qualifier) == 0)))
			return bind_item(v, i, sym);
	}
	return false;
}

static struct gs_error *find_enumerator(struct gs_view *v, const char *name, struct gs_symbol *sym,
					bool *found)
{
	const struct gs_types *types = v->file->meta->types;

	*found = false;
	for (gs_type_id id = 0; id < gs_types_count(types); id++) {
		const struct gs_type *t = gs_type_get(types, id);

		for (uint32_t i = 0; t->kind == GS_KIND_ENUM && i < t->nenumerators; i++) {
			if (strcmp(t->enumerators[i].name, name) != 0)
				continue;
			if (*found && sym->value != t->enumerators[i].value)
				return gs_error_new(GS_ERR_USAGE,
						    "`%s' has different values in several "
						    "enumerations",
						    name);
			*sym = (struct gs_symbol){
				.type = id, .is_constant = true, .value = t->enumerators[i].value};
			*found = true;
		}
	}
	return NULL;
}

static struct gs_error *find_name(void *ctx, const char *qualifier, const char *name,
				  struct gs_symbol *sym)
{
	struct gs_query_scope *qs = ctx;
	bool found;

	if (find_item(qs->view, qualifier, name, sym))
		return NULL;
	GS_TRY(find_enumerator(qs->view, name, sym, &found));
	if (found && !qualifier)
		return NULL;
	/* The checker asks for C++'s `this' on its own account. */
	if (!qs->missing && strcmp(name, "this") != 0)
		qs->missing = gs_arena_strdup(qs->arena, name);
	return gs_error_new(GS_ERR_NOT_FOUND, "`%s' was not captured", name);
}

/* ---- trees ---- */

static bool find_equal(struct gs_view *v, const struct gs_expr *e, uint32_t *item)
{
	for (uint32_t i = 0; i < v->schema.nitems; i++)
		if (v->trees[i] && gs_expr_equal(v->trees[i], e)) {
			*item = i;
			return true;
		}
	return false;
}

/* p->x where only *p was captured: the item's member. */
static void through_captured_pointee(struct gs_query_scope *qs, struct gs_expr *e)
{
	struct gs_expr star = {.kind = GS_EXPR_UNARY,
			       .op = GS_OPR_DEREF,
			       .a = e->a,
			       .start = e->a->start,
			       .len = e->a->len};
	uint32_t item;

	if (find_equal(qs->view, e->a, &item) || !find_equal(qs->view, &star, &item))
		return;
	e->arrow = false;
	e->a = gs_arena_memdup(qs->arena, &star, sizeof(star));
}

static bool find_tree(void *ctx, struct gs_expr *e)
{
	struct gs_query_scope *qs = ctx;
	uint32_t item;

	if (e->kind == GS_EXPR_NUMBER || e->kind == GS_EXPR_FLOAT || e->kind == GS_EXPR_STRING)
		return false;
	if (find_equal(qs->view, e, &item)) {
		e->kind = GS_EXPR_NAME;
		e->type = qs->view->schema.items[item].type;
		e->binding = item;
		e->is_lvalue = true;
		return true;
	}
	if (e->kind == GS_EXPR_MEMBER && e->arrow)
		through_captured_pointee(qs, e);
	return false;
}

/* ---- types ---- */

static bool type_named(const struct gs_types *types, const char *name, gs_type_id *id)
{
	static const struct {
		const char *word;
		unsigned kind;
	} tags[] = {{"struct ", GS_KIND_STRUCT},
		    {"class ", GS_KIND_CLASS},
		    {"union ", GS_KIND_UNION},
		    {"enum ", GS_KIND_ENUM}};
	unsigned kind = 0;

	for (size_t i = 0; i < GS_ARRAY_SIZE(tags) && !kind; i++)
		if (strncmp(name, tags[i].word, strlen(tags[i].word)) == 0) {
			kind = tags[i].kind;
			name += strlen(tags[i].word);
		}
	for (gs_type_id i = 0; i < gs_types_count(types); i++) {
		const struct gs_type *t = gs_type_get(types, i);
		unsigned k = t->kind == GS_KIND_CLASS && kind == GS_KIND_STRUCT ? GS_KIND_STRUCT
										: t->kind;

		if (t->name && strcmp(t->name, name) == 0 && (!kind || k == kind) &&
		    !(t->flags & GS_TYPE_INCOMPLETE)) {
			*id = i;
			return true;
		}
	}
	return false;
}

static struct gs_error *find_type(void *ctx, const char *name, gs_type_id *id)
{
	struct gs_query_scope *qs = ctx;

	if (type_named(qs->view->file->meta->types, name, id))
		return NULL;
	return gs_error_new(GS_ERR_NOT_FOUND, "the recording has no type `%s'", name);
}

static bool is_type(void *ctx, const char *name, size_t len)
{
	struct gs_query_scope *qs = ctx;
	char *text = gs_strndup(name, len);
	struct gs_symbol sym;
	gs_type_id id;
	bool yes = !find_item(qs->view, NULL, text, &sym) &&
		   type_named(qs->view->file->meta->types, text, &id);

	free(text);
	return yes;
}

/* ---- built-ins ---- */

static struct gs_error *builtin_type(struct gs_types *types, bool is_text, bool is_time,
				     gs_type_id *id)
{
	struct gs_type t = {.kind = GS_KIND_INT, .name = "unsigned int", .byte_size = 4};
	gs_type_id plain_char;

	if (is_time) {
		t.name = "long";
		t.flags = GS_TYPE_SIGNED;
		t.byte_size = 8;
	} else if (is_text) {
		t.name = "char";
		t.flags = GS_TYPE_SIGNED | GS_TYPE_CHAR | GS_TYPE_PLAIN_CHAR;
		t.byte_size = 1;
		GS_TRY(gs_types_add(types, &t, &plain_char));
		t = (struct gs_type){.kind = GS_KIND_ARRAY,
				     .flags = GS_TYPE_COUNT_UNKNOWN,
				     .target = plain_char,
				     .stride = 1};
	}
	return gs_types_add(types, &t, id);
}

static struct gs_error *find_builtin(void *ctx, const char *name, struct gs_symbol *sym)
{
	struct gs_query_scope *qs = ctx;

	for (size_t i = 0; i < GS_ARRAY_SIZE(builtins); i++) {
		if (strcmp(builtins[i].name, name) != 0)
			continue;
		*sym = (struct gs_symbol){.is_register = true,
					  .binding = BUILTIN_BINDING + builtins[i].id};
		return builtin_type(qs->scope.types, builtins[i].is_text, builtins[i].is_time,
				    &sym->type);
	}
	if (!qs->missing)
		qs->missing = gs_arena_printf(qs->arena, "$%s", name);
	return gs_error_new(GS_ERR_NOT_FOUND, "`$%s' was not captured", name);
}

static void text_value(struct gs_value *out, const char *s)
{
	out->data = (const uint8_t *)s;
	out->len = strlen(s);
}

static void number_value(struct gs_value *out, uint64_t bits)
{
	out->in_bits = true;
	out->bits = bits;
}

void gs_query_lookup(void *ctx, const struct gs_expr *e, struct gs_value *out)
{
	struct gs_event *ev = ctx;

	if (gs_binding_is_item(e->binding)) {
		gs_event_item(ev, (uint32_t)e->binding, out);
		return;
	}
	*out = (struct gs_value){.type = e->type, .item = -1};
	switch ((enum builtin)(e->binding - BUILTIN_BINDING)) {
	case B_PID:
		number_value(out, ev->pid);
		break;
	case B_TID:
		number_value(out, ev->tid);
		break;
	case B_CPU:
		number_value(out, ev->cpu);
		break;
	case B_TIME:
		number_value(out, (uint64_t)ev->ts_ns);
		break;
	case B_COMM:
		text_value(out, ev->comm);
		break;
	case B_FUNC:
		text_value(out, ev->site->func);
		break;
	case B_SITE:
		text_value(out, gs_event_place(ev));
		break;
	case B_PROBE:
		text_value(out, ev->probe->name);
		break;
	}
}

void gs_query_feed(struct gs_nearest *near, const struct gs_view *v)
{
	for (uint32_t i = 0; v && i < v->schema.nitems; i++)
		if (v->keys[i])
			gs_nearest_feed(near, v->keys[i]);
	for (size_t i = 0; near->wanted[0] == '$' && i < GS_ARRAY_SIZE(builtins); i++) {
		char name[16];

		snprintf(name, sizeof(name), "$%s", builtins[i].name);
		gs_nearest_feed(near, name);
	}
}

void gs_query_scope_init(struct gs_query_scope *qs, struct gs_view *v, struct gs_arena *arena)
{
	const struct gs_meta *m = v->file->meta;
	uint8_t size = m->session.pointer_size;

	for (size_t i = 0; i < m->nsites; i++)
		if (m->sites[i].schema == v->schema.id && m->sites[i].module < m->nmodules &&
		    m->modules[m->sites[i].module].pointer_size)
			size = m->modules[m->sites[i].module].pointer_size;
	*qs = (struct gs_query_scope){
		.scope = {.types = m->types,
			  .pointer_size = size ? size : 8,
			  .ctx = qs,
			  .find_name = find_name,
			  .find_builtin = find_builtin,
			  .find_type = find_type,
			  .find_tree = find_tree},
		.hooks = {.is_type = is_type, .ctx = qs},
		.view = v,
		.arena = arena,
	};
}
