/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Views of schemas: unique keys, captured expressions as trees, pointees by parent and offset.
 * Between the file's metadata and renderers, expressions and value source.
 */
#include "report/view.h"

#include "common/hash.h"

void gs_tree_normalise(struct gs_expr *e)
{
	if (!e)
		return;
	gs_tree_normalise(e->a);
	gs_tree_normalise(e->b);
	gs_tree_normalise(e->c);
	for (size_t i = 0; i < e->nargs; i++)
		gs_tree_normalise(e->args[i]);
	if (e->kind == GS_EXPR_MEMBER && !e->arrow && e->a->kind == GS_EXPR_UNARY &&
	    e->a->op == GS_OPR_DEREF) {
		e->arrow = true;
		e->a = e->a->a;
	}
}

/* The key of an item that has the same one as an earlier item gets #2, #3 ... */
static void make_keys(struct gs_view *v, struct gs_arena *arena)
{
	struct gs_map seen = {0};

	v->keys = gs_arena_alloc(arena, v->schema.nitems * sizeof(*v->keys) + 1);
	for (uint32_t i = 0; i < v->schema.nitems; i++) {
		const char *key = v->schema.items[i].key;
		uint64_t *times;
		bool fresh;

		if (v->schema.items[i].parent != GS_NONE)
			continue;
		times = gs_map_put(&seen, key, strlen(key), 1, &fresh);
		v->keys[i] = key;
		while (!fresh) {
			v->keys[i] = gs_arena_printf(arena, "%s#%u", key, (unsigned)++*times);
			/* A made-up key may exist as well. */
			gs_map_put(&seen, v->keys[i], strlen(v->keys[i]), 1, &fresh);
			times = gs_map_get(&seen, key, strlen(key));
		}
	}
	gs_map_deinit(&seen);
}

static void make_trees(struct gs_view *v, struct gs_arena *arena)
{
	v->trees = gs_arena_alloc(arena, v->schema.nitems * sizeof(*v->trees) + 1);
	for (uint32_t i = 0; i < v->schema.nitems; i++) {
		const struct gs_meta_item *item = &v->schema.items[i];
		struct gs_expr *e = NULL;

		if (item->parent != GS_NONE || !item->expr[0])
			continue;
		/* Text of another version's language stays reachable by its key. */
		gs_error_free(gs_expr_parse(arena, item->expr, 0, NULL, NULL, &e));
		gs_tree_normalise(e);
		v->trees[i] = e;
	}
}

static int by_place(const void *a, const void *b)
{
	const struct gs_view_child *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item;
}

static void make_children(struct gs_view *v, struct gs_arena *arena)
{
	v->children = gs_arena_alloc(arena, v->schema.nitems * sizeof(*v->children) + 1);
	for (uint32_t i = 0; i < v->schema.nitems; i++) {
		const struct gs_meta_item *item = &v->schema.items[i];

		if (item->parent != GS_NONE && !(item->flags & GS_SCHEMA_VIRTUAL_BASE))
			v->children[v->nchildren++] = (struct gs_view_child){
				.parent = item->parent, .item = i, .offset = item->parent_offset};
	}
	qsort(v->children, v->nchildren, sizeof(*v->children), by_place);
}

struct gs_view *gs_view_new(struct gs_file *f, const struct gs_meta_schema *schema)
{
	struct gs_arena *arena = &f->session->arena;
	struct gs_view *v = gs_arena_alloc(arena, sizeof(*v));

	v->serial = f->session->nviews++;
	v->file = f;
	v->schema = *schema;
	make_keys(v, arena);
	make_trees(v, arena);
	make_children(v, arena);
	return v;
}

int32_t gs_view_child_at(const struct gs_view *v, uint32_t item, uint64_t offset)
{
	size_t lo = 0, hi = v->nchildren;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct gs_view_child *c = &v->children[mid];

		if (c->parent < item || (c->parent == item && c->offset < offset))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == v->nchildren || v->children[lo].parent != item ||
	    v->children[lo].offset != offset)
		return -1;
	return (int32_t)v->children[lo].item;
}

/* A virtual base's virtual base belongs to the object that both are in. */
static bool is_in_object(const struct gs_view *v, const struct gs_meta_item *item,
			 const struct gs_base_place *at)
{
	uint32_t parent = item->parent;
	uint64_t offset = item->parent_offset;

	/* A parent comes before its children: this ends. */
	while (parent != GS_NONE && (v->schema.items[parent].flags & GS_SCHEMA_VIRTUAL_BASE)) {
		offset = v->schema.items[parent].parent_offset;
		parent = v->schema.items[parent].parent;
	}
	return (int32_t)parent == at->object_item && offset >= at->object_start &&
	       offset - at->object_start < at->object_size;
}

int32_t gs_view_virtual_base(const struct gs_view *v, const struct gs_base_place *at,
			     bool *elsewhere)
{
	*elsewhere = false;
	for (uint32_t i = 0; i < v->schema.nitems; i++) {
		const struct gs_meta_item *item = &v->schema.items[i];

		if (!(item->flags & GS_SCHEMA_VIRTUAL_BASE) || item->type != at->type)
			continue;
		if ((int32_t)item->parent == at->item && item->parent_offset == at->offset)
			return (int32_t)i;
		*elsewhere |= is_in_object(v, item, at);
	}
	return -1;
}
