/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The content of containers: the item that holds it, and how it is read by the rule of the
 * container's type (common/container.h). Between the expansion (items.c) and the plan
 * (items_plan.c).
 */
#include "record/resolver.h"

#define CONTENT_DEPTH 3 /* containers in containers */
/* Elements take at most so many bytes; those of containers in containers fewer. */
#define CONTENT_BYTES 8192u
#define NESTED_BYTES 1024u
/* Of a tree each node is met up to three times, and the way down to the first comes before. */
#define TREE_STEPS(nodes) (3 * (nodes) + 48)

static bool is_linked(const struct gs_container *c)
{
	return c->form == GS_CONTENT_LIST || c->form == GS_CONTENT_TREE;
}

static uint64_t most_elements(struct gs_resolver *r, const struct gs_container *c, uint64_t size,
			      uint32_t nesting)
{
	uint64_t bytes = nesting ? NESTED_BYTES : CONTENT_BYTES, n = r->req->array_limit;

	if (c->kind == GS_CONTAINER_STRING)
		return r->req->string_limit;
	if (is_linked(c) && n > GS_LIST_NODES)
		n = GS_LIST_NODES;
	if (n > bytes / size)
		n = bytes / size ? bytes / size : 1;
	return n;
}

bool gs_content_item(struct gs_resolver *r, gs_type_id id, uint32_t parent, uint64_t offset,
		     uint32_t nesting, struct gs_meta_item *item, struct gs_shape *shape)
{
	const struct gs_type *type = gs_type_get(r->types, gs_type_strip(r->types, id));
	const struct gs_container *c = &type->container;
	gs_type_id element = gs_type_get(r->types, type->target)->target;
	uint64_t size = gs_type_size(r->types, element), n;

	if (nesting >= CONTENT_DEPTH || !size || size > CONTENT_BYTES)
		return false;
	n = most_elements(r, c, size, nesting);
	if (!n)
		return false;
	*item = (struct gs_meta_item){.key = "",
				      .expr = "",
				      .type = element,
				      .variable = true,
				      .size = (uint32_t)(n * size),
				      .flags =
					      c->kind == GS_CONTAINER_STRING ? GS_SCHEMA_STRING : 0,
				      .parent = parent,
				      .parent_offset = offset + c->data};
	*shape = (struct gs_shape){.kind = GS_SHAPE_CONTENT,
				   .stride = (uint32_t)size,
				   .container = gs_type_strip(r->types, id),
				   .nesting = nesting};
	return true;
}

uint16_t gs_content_walk(struct gs_plan *plan, const struct gs_plan_walk *walk)
{
	*GS_PUSH(plan->walks, plan->nwalks, plan->walks_cap) = *walk;
	return (uint16_t)(plan->nwalks - 1);
}

struct content {
	struct gs_plan *plan;
	uint32_t parent;
	uint64_t offset; /* of the container in the parent */
	unsigned word;
};

/* A word of the container. */
static uint16_t field(const struct content *k, uint32_t offset)
{
	return gs_plan_node(k->plan, GS_OP_ITEM, k->word, (uint16_t)k->parent, GS_NODE_NONE,
			    (int64_t)(k->offset + offset));
}

static uint16_t load(const struct content *k, uint16_t address)
{
	return gs_plan_node(k->plan, GS_OP_LOAD, k->word, address, GS_NODE_NONE, 0);
}

/* A number of elements; of 32 bits it is never negative. */
static uint16_t count_of(const struct content *k, const struct gs_container *c, uint32_t stride)
{
	uint16_t bytes;

	switch (c->form) {
	case GS_CONTENT_SPAN:
		bytes = gs_plan_node(k->plan, GS_OP_SUB, 8, field(k, c->length), field(k, c->data),
				     0);
		return gs_plan_node(k->plan, GS_OP_SDIV, 8, bytes, gs_plan_const(k->plan, stride),
				    0);
	case GS_CONTENT_REP:
		return load(k, gs_plan_node(k->plan, GS_OP_SUB, 8, field(k, c->data),
					    gs_plan_const(k->plan, 3 * (int64_t)k->word), 0));
	case GS_CONTENT_COUNTED:
		return field(k, c->length);
	default:
		return c->flags & GS_CONTAINER_COUNTED ? field(k, c->length) : GS_NODE_NONE;
	}
}

/* The end of std::list is the node in the object itself, whose address only its neighbours know. */
static uint16_t end_of(const struct content *k, const struct gs_container *c)
{
	if (!(c->flags & GS_CONTAINER_RING))
		return GS_NODE_NONE;
	return load(k, field(k, c->data + k->word));
}

void gs_content_plan(struct gs_lower *l, const struct gs_meta_item *schema,
		     const struct gs_shape *shape, struct gs_plan_item *item)
{
	const struct gs_container *c = &gs_type_get(l->types, shape->container)->container;
	struct content k = {l->plan, schema->parent, schema->parent_offset - c->data,
			    l->site->pointer_size};
	uint32_t nodes = schema->size / shape->stride;
	bool tree = c->form == GS_CONTENT_TREE;
	struct gs_plan_walk walk = {.form = tree ? GS_WALK_TREE : GS_WALK_LIST,
				    .link_size = (uint8_t)k.word,
				    .exact = c->flags & GS_CONTAINER_COUNTED,
				    .next = tree ? k.word : 0,
				    .payload = c->payload,
				    .steps = (uint16_t)(tree ? TREE_STEPS(nodes) : nodes + 1)};

	item->kind = is_linked(c) ? GS_ITEM_WALK : GS_ITEM_ARRAY;
	item->stride = shape->stride;
	item->node = field(&k, c->data);
	item->count = count_of(&k, c, shape->stride);
	if (!is_linked(c))
		return;
	walk.end = end_of(&k, c);
	item->walk = gs_content_walk(l->plan, &walk);
}
