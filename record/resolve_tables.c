/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sharing: equal plans and equal schemas are one, and the file's type table holds only what schemas
 * reach. After all sites are resolved; the last step before the answer is sent.
 *
 * Types come from the session's table, which holds everything that was looked at. What items hold
 * by value is copied whole. An aggregate that is only pointed to is kept as a declaration: its name
 * is all that a report shows, and a program's types hang together by pointers.
 */
#include "common/hash.h"
#include "record/resolver.h"

#define SYMBOLS_MAX 500000u

uint32_t gs_tables_module(struct gs_resolver *r, struct gs_loaded *module)
{
	const struct gs_module_info *info = gs_module_info(module->m);
	struct gs_meta *meta = &r->out->meta;
	struct gs_meta_module *row;
	size_t n = meta->nmodules;

	if (module->id != GS_NONE)
		return module->id;
	module->id = (uint32_t)n;
	row = GS_PUSH(meta->modules, meta->nmodules, meta->modules_cap);
	*row = (struct gs_meta_module){.id = module->id,
				       .path = module->path,
				       .build_id_len = info->build_id_len,
				       .machine = info->machine,
				       .big_endian = info->big_endian,
				       .pointer_size = info->pointer_size,
				       .file_size = info->file_size,
				       .debug_path = info->debug_path ? info->debug_path : ""};
	memcpy(row->build_id, info->build_id, sizeof(row->build_id));
	*GS_PUSH(r->tickets, n, r->tickets_cap) = module->ticket;
	return module->id;
}

static uint64_t plan_hash(const struct gs_plan *plan)
{
	struct gs_buf bytes = {0};
	uint64_t hash;

	gs_plan_write(&bytes, plan);
	hash = gs_hash(bytes.data, bytes.len, 0);
	gs_buf_deinit(&bytes);
	return hash;
}

static void mark_used(bool *used, uint16_t node)
{
	if (node != GS_NODE_NONE)
		used[node] = true;
}

static void renumber(const uint16_t *to, uint16_t *node)
{
	if (*node != GS_NODE_NONE)
		*node = to[*node];
}

static bool has_operand(const struct gs_plan_node *n)
{
	return n->op != GS_OP_ITEM; /* whose `a' is an item */
}

/* Locations are lowered before it is known what of them is needed: nodes that nothing uses would
 * only make plans of equal meaning differ. */
static void drop_unused(struct gs_plan *p)
{
	GS_CLEANUP_FREE bool *used = gs_calloc(p->nnodes + 1, sizeof(*used));
	GS_CLEANUP_FREE uint16_t *to = gs_calloc(p->nnodes + 1, sizeof(*to));
	size_t n = 0;

	mark_used(used, p->condition);
	mark_used(used, p->guard);
	mark_used(used, p->frame);
	mark_used(used, p->check);
	for (uint32_t i = 0; i < p->nsaves; i++)
		mark_used(used, p->saves[i]);
	for (size_t i = 0; i < p->nitems; i++) {
		mark_used(used, p->items[i].node);
		mark_used(used, p->items[i].count);
	}
	for (size_t i = 0; i < p->npieces; i++)
		mark_used(used, p->pieces[i].node);
	for (size_t i = 0; i < p->nwalks; i++)
		mark_used(used, p->walks[i].end);
	for (size_t i = p->nnodes; i-- > 0;) {
		if (!used[i] || !has_operand(&p->nodes[i]))
			continue;
		mark_used(used, p->nodes[i].a);
		mark_used(used, p->nodes[i].b);
		mark_used(used, p->nodes[i].c);
	}
	for (size_t i = 0; i < p->nnodes; i++) {
		struct gs_plan_node *node = &p->nodes[i];

		if (!used[i])
			continue;
		to[i] = (uint16_t)n;
		if (has_operand(node)) {
			renumber(to, &node->a);
			renumber(to, &node->b);
			renumber(to, &node->c);
		}
		p->nodes[n++] = *node;
	}
	p->nnodes = n;
	renumber(to, &p->condition);
	renumber(to, &p->guard);
	renumber(to, &p->frame);
	renumber(to, &p->check);
	for (uint32_t i = 0; i < p->nsaves; i++)
		renumber(to, &p->saves[i]);
	for (size_t i = 0; i < p->nitems; i++) {
		renumber(to, &p->items[i].node);
		renumber(to, &p->items[i].count);
	}
	for (size_t i = 0; i < p->npieces; i++)
		renumber(to, &p->pieces[i].node);
	for (size_t i = 0; i < p->nwalks; i++)
		renumber(to, &p->walks[i].end);
}

uint32_t gs_tables_plan(struct gs_resolver *r, struct gs_plan *plan)
{
	size_t n = r->out->nplans;
	uint64_t hash;

	drop_unused(plan);
	hash = plan_hash(plan);
	for (size_t i = 0; i < n; i++) {
		if (r->plan_hashes[i] == hash && gs_plan_equal(&r->out->plans[i], plan)) {
			gs_plan_deinit(plan);
			return (uint32_t)i;
		}
	}
	for (size_t i = 0; i < plan->nnodes; i++)
		r->out->want_tls |= plan->nodes[i].op == GS_OP_TLS_BASE;
	*GS_PUSH(r->plan_hashes, n, r->hashes_cap) = hash;
	*GS_PUSH(r->out->plans, r->out->nplans, r->plans_cap) = *plan;
	return (uint32_t)(r->out->nplans - 1);
}

static bool same_items(const struct gs_meta_schema *s, const struct gs_meta_item *items, size_t n)
{
	if (s->nitems != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct gs_meta_item *a = &s->items[i], *b = &items[i];

		if (strcmp(a->key, b->key) != 0 || strcmp(a->expr, b->expr) != 0 ||
		    a->type != b->type || a->variable != b->variable || a->size != b->size ||
		    a->flags != b->flags || a->parent != b->parent ||
		    a->parent_offset != b->parent_offset)
			return false;
	}
	return true;
}

uint32_t gs_tables_schema(struct gs_resolver *r, const struct gs_meta_item *items, size_t n)
{
	struct gs_meta *meta = &r->out->meta;
	struct gs_meta_schema *row;

	for (size_t i = 0; i < meta->nschemas; i++)
		if (same_items(&meta->schemas[i], items, n))
			return (uint32_t)i;
	row = GS_PUSH(meta->schemas, meta->nschemas, meta->schemas_cap);
	row->id = (uint32_t)(meta->nschemas - 1);
	row->nitems = (uint32_t)n;
	row->items = gs_arena_memdup(&r->arena, items, n * sizeof(*items));
	return row->id;
}

/* ---- types ---- */

struct reducer {
	struct gs_types *src, *dst;
	uint32_t *map; /* id + 1 */
	uint8_t *held; /* aggregates that some item holds by value */
	struct pending {
		gs_type_id dst, target;
	} * pending;
	size_t npending, pending_cap;
};

static bool is_pointer_kind(unsigned kind)
{
	return kind == GS_KIND_POINTER || kind == GS_KIND_REFERENCE ||
	       kind == GS_KIND_RVALUE_REFERENCE || kind == GS_KIND_MEMBER_POINTER;
}

static void mark_held(struct reducer *d, gs_type_id id)
{
	const struct gs_type *type = gs_type_get(d->src, id);

	if (d->held[id] || is_pointer_kind(type->kind) || type->kind == GS_KIND_FUNCTION)
		return;
	d->held[id] = 1;
	if (type->target)
		mark_held(d, type->target);
	for (uint32_t i = 0; i < type->nmembers; i++)
		mark_held(d, type->members[i].type);
}

static struct gs_error *reduce(struct reducer *d, gs_type_id id, gs_type_id *out);

static struct gs_error *reduce_pointer(struct reducer *d, const struct gs_type *type,
				       gs_type_id *out)
{
	struct gs_type copy = *type;

	if (type->kind == GS_KIND_MEMBER_POINTER)
		GS_TRY(reduce(d, type->containing, &copy.containing));
	if (d->map[type->target]) {
		copy.target = d->map[type->target] - 1;
		return gs_types_add(d->dst, &copy, out);
	}
	copy.target = GS_TYPE_VOID;
	GS_TRY(gs_types_reserve(d->dst, &copy, out));
	*GS_PUSH(d->pending, d->npending, d->pending_cap) = (struct pending){*out, type->target};
	return NULL;
}

static struct gs_error *reduce_whole(struct reducer *d, const struct gs_type *type, gs_type_id *out)
{
	GS_CLEANUP_FREE struct gs_member *members = NULL;
	struct gs_type copy = *type;

	if (type->target)
		GS_TRY(reduce(d, type->target, &copy.target));
	if (type->nmembers) {
		members = gs_calloc(type->nmembers, sizeof(*members));
		memcpy(members, type->members, type->nmembers * sizeof(*members));
	}
	for (uint32_t i = 0; i < type->nmembers; i++)
		GS_TRY(reduce(d, type->members[i].type, &members[i].type));
	copy.members = members;
	return gs_types_add(d->dst, &copy, out);
}

static struct gs_error *reduce(struct reducer *d, gs_type_id id, gs_type_id *out)
{
	const struct gs_type *type = gs_type_get(d->src, id);
	struct gs_type declaration = {
		.kind = type->kind, .name = type->name, .flags = GS_TYPE_INCOMPLETE};

	if (id == GS_TYPE_VOID || d->map[id]) {
		*out = id == GS_TYPE_VOID ? id : d->map[id] - 1;
		return NULL;
	}
	if (is_pointer_kind(type->kind))
		GS_TRY(reduce_pointer(d, type, out));
	else if (gs_kind_is_aggregate(type->kind) && !d->held[id])
		GS_TRY(gs_types_add(d->dst, &declaration, out));
	else
		GS_TRY(reduce_whole(d, type, out));
	d->map[id] = *out + 1;
	return NULL;
}

static struct gs_error *reduce_items(struct reducer *d, struct gs_meta *meta)
{
	for (size_t s = 0; s < meta->nschemas; s++)
		for (uint32_t i = 0; i < meta->schemas[s].nitems; i++)
			mark_held(d, meta->schemas[s].items[i].type);
	for (size_t s = 0; s < meta->nschemas; s++) {
		for (uint32_t i = 0; i < meta->schemas[s].nitems; i++) {
			gs_type_id *type = &meta->schemas[s].items[i].type;

			GS_TRY(reduce(d, *type, type));
		}
	}
	/* Pointers that are met on the way are appended: the list is the queue. */
	for (size_t i = 0; i < d->npending; i++) {
		gs_type_id target;

		GS_TRY(reduce(d, d->pending[i].target, &target));
		gs_types_set_target(d->dst, d->pending[i].dst, target);
	}
	return NULL;
}

static struct gs_error *reduce_types(struct gs_resolver *r)
{
	struct reducer d = {.src = r->types, .dst = r->out->meta.types};
	size_t n = gs_types_count(r->types);
	struct gs_error *err;

	d.map = gs_calloc(n + 1, sizeof(*d.map));
	d.held = gs_calloc(n + 1, 1);
	err = reduce_items(&d, &r->out->meta);
	free(d.map);
	free(d.held);
	free(d.pending);
	return err;
}

/* ---- code addresses in items ---- */

struct code_walk {
	struct gs_resolver *r;
	uint32_t schema, item;
	uint64_t size;
	unsigned depth;
};

static bool is_code_pointer(const struct gs_types *types, const struct gs_type *type)
{
	return type->kind == GS_KIND_POINTER &&
	       gs_type_get(types, gs_type_strip(types, type->target))->kind == GS_KIND_FUNCTION;
}

static void find_code(struct code_walk *w, gs_type_id id, uint64_t offset)
{
	const struct gs_types *types = w->r->out->meta.types;
	const struct gs_type *type = gs_type_get(types, gs_type_strip(types, id));
	uint64_t count = type->count;

	if (w->depth >= 32 || w->r->out->ncode_pointers >= 4096)
		return;
	w->depth++;
	if (is_code_pointer(types, type) && offset + type->byte_size <= w->size) {
		*GS_PUSH(w->r->out->code_pointers, w->r->out->ncode_pointers, w->r->code_cap) =
			(struct gs_code_pointer){w->schema, w->item, (uint32_t)offset,
						 (uint32_t)type->byte_size};
	} else if (gs_kind_is_aggregate(type->kind)) {
		for (uint32_t i = 0; i < type->nmembers; i++)
			if (!type->members[i].bit_size &&
			    !(type->members[i].flags & GS_MEMBER_STATIC))
				find_code(w, type->members[i].type,
					  offset + type->members[i].bit_offset / 8);
	} else if (type->kind == GS_KIND_ARRAY && type->stride) {
		const struct gs_type *element =
			gs_type_get(types, gs_type_strip(types, type->target));

		if (type->flags & GS_TYPE_COUNT_UNKNOWN)
			count = w->size / type->stride;
		/* Arrays of plain numbers have none. */
		for (uint64_t i = 0;
		     i < count && offset + i * type->stride < w->size &&
		     (element->kind == GS_KIND_POINTER || element->kind == GS_KIND_ARRAY ||
		      gs_kind_is_aggregate(element->kind));
		     i++)
			find_code(w, type->target, offset + i * type->stride);
	}
	w->depth--;
}

struct symbol_walk {
	struct gs_resolver *r;
	uint32_t module;
};

static bool add_symbol(void *ctx, const char *name, uint64_t addr, uint64_t size)
{
	struct symbol_walk *w = ctx;
	struct gs_resolution *out = w->r->out;

	*GS_PUSH(out->symbols, out->nsymbols, w->r->symbols_cap) = (struct gs_module_symbol){
		w->module, addr, size, gs_arena_strdup(&w->r->arena, name)};
	return out->nsymbols < SYMBOLS_MAX;
}

static void add_symbols(struct gs_resolver *r)
{
	for (struct gs_loaded *m = r->loaded; m; m = m->next) {
		struct symbol_walk w = {r, m->id};

		if (m->id != GS_NONE)
			gs_module_each_symbol(m->m, add_symbol, &w);
	}
}

/* ---- source names ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Sites show the base name of their source, unless two sources of the recording share it. */
static void shorten_sources(struct gs_resolver *r)
{
	struct gs_meta *meta = &r->out->meta;
	struct gs_map paths = {0};

	for (size_t i = 0; i < meta->nsites; i++) {
		const char *base = base_name(meta->sites[i].file);
		uint64_t *first = gs_map_put(&paths, base, strlen(base), i, NULL);

		/* UINT64_MAX: more than one path has this base name. */
		if (*first != UINT64_MAX &&
		    strcmp(meta->sites[*first].file, meta->sites[i].file) != 0)
			*first = UINT64_MAX;
	}
	for (size_t i = meta->nsites; i-- > 0;) {
		const char *base = base_name(meta->sites[i].file);

		if (*gs_map_get(&paths, base, strlen(base)) != UINT64_MAX)
			meta->sites[i].file = base;
	}
	gs_map_deinit(&paths);
}

struct gs_error *gs_tables_finish(struct gs_resolver *r)
{
	struct gs_meta *meta = &r->out->meta;

	GS_TRY(reduce_types(r));
	for (size_t s = 0; s < meta->nschemas; s++) {
		for (uint32_t i = 0; i < meta->schemas[s].nitems; i++) {
			const struct gs_meta_item *item = &meta->schemas[s].items[i];
			struct code_walk w = {r, (uint32_t)s, i, item->size, 0};

			find_code(&w, item->type, 0);
		}
	}
	if (r->out->ncode_pointers)
		add_symbols(r);
	shorten_sources(r);
	return NULL;
}
