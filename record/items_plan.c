/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the items of a schema are read at one site: plan items, and notes for what is not there.
 * After the expansion (items.c), by the locations that the lowering finds; the last step to a plan.
 */
#include "record/resolver.h"

/* The most that a program puts together from parts (bpf/plan.c refuses more). */
#define COMPOSITE_MAX 4096

struct planner {
	struct gs_lower *l;
	struct gs_want *wants;
	const struct gs_expansion *x;
	struct gs_notes *notes;
	uint32_t index; /* of the item being planned */
	struct gs_object
		*objects; /* of the items, as far as they are roots or dropped pointers' targets */
};

static void note(struct planner *p, uint32_t offset, uint32_t size, unsigned status,
		 const char *reason)
{
	*GS_PUSH(p->notes->notes, p->notes->n, p->notes->cap) =
		(struct gs_meta_note){.item = p->index,
				      .offset = offset,
				      .size = size,
				      .status = (uint8_t)status,
				      .reason = reason ? reason : ""};
}

static struct gs_plan_item *item_of(struct planner *p)
{
	return &p->l->plan->items[p->index];
}

static void set_absent(struct planner *p, struct gs_want *want, unsigned status, const char *reason)
{
	struct gs_plan_item *item = item_of(p);

	item->kind = GS_ITEM_ABSENT;
	item->status = (uint8_t)status;
	note(p, 0, 0, status, reason);
	if (!want)
		return;
	want->status = (uint8_t)status;
	want->reason = reason ? reason : "";
}

/* ---- objects in parts ---- */

static void push_piece(struct planner *p, uint32_t offset, uint32_t size, uint16_t node,
		       bool memory)
{
	struct gs_plan *plan = p->l->plan;

	*GS_PUSH(plan->pieces, plan->npieces, plan->pieces_cap) =
		(struct gs_plan_piece){offset, size, node, memory};
	item_of(p)->npieces++;
}

/* Bytes [from, to) of the object, which are in PART of its location. */
static void plan_part(struct planner *p, const struct gs_object *obj,
		      const struct gs_location_piece *part, uint64_t from, uint64_t to)
{
	uint64_t inside = from + obj->offset - part->offset;

	if (part->kind == GS_LOC_MEMORY) {
		uint16_t at = gs_plan_node(p->l->plan, GS_OP_ADD, 8, part->node,
					   gs_plan_const(p->l->plan, (int64_t)inside), 0);

		push_piece(p, (uint32_t)from, (uint32_t)(to - from), at, true);
		return;
	}
	while (from < to) {
		unsigned size = to - from > 8 ? 8 : (unsigned)(to - from);
		uint16_t node = gs_object_bytes(p->l, obj, from, size);

		push_piece(p, (uint32_t)from, size, node, false);
		from += size;
	}
}

static bool part_is_there(const struct gs_location_piece *part, uint64_t inside, uint64_t n)
{
	if (part->kind == GS_LOC_VALUE)
		return inside + n <= 8;
	return part->kind == GS_LOC_MEMORY || part->kind == GS_LOC_BYTES;
}

/* The part at AT, or NULL and the offset where the next one begins (at most END). */
static const struct gs_location_piece *next_part(const struct gs_object *obj, uint64_t at,
						 uint64_t end, uint64_t *until)
{
	const struct gs_location_piece *found = NULL;

	*until = end;
	for (size_t i = 0; i < obj->nparts; i++) {
		const struct gs_location_piece *part = &obj->parts[i];
		uint64_t part_end = (uint64_t)part->offset + part->size;

		if (at >= part->offset && at < part_end) {
			found = part;
			*until = part_end < end ? part_end : end;
			return found;
		}
		if (part->offset > at && part->offset < *until)
			*until = part->offset;
	}
	return found;
}

static void plan_parts(struct planner *p, struct gs_want *want, const struct gs_object *obj)
{
	struct gs_plan_item *item = item_of(p);
	uint64_t size = item->size;
	size_t nnotes = p->notes->n;

	item->kind = GS_ITEM_PIECES;
	item->first_piece = (uint16_t)p->l->plan->npieces;
	for (uint64_t at = 0, until; at < size; at = until) {
		const struct gs_location_piece *part =
			next_part(obj, at + obj->offset, size + obj->offset, &until);

		until -= obj->offset;
		if (part && part_is_there(part, at + obj->offset - part->offset, until - at))
			plan_part(p, obj, part, at, until);
		else
			note(p, (uint32_t)at, (uint32_t)(until - at),
			     part && part->kind == GS_LOC_ABSENT ? part->status
			     : part				 ? GS_STATUS_UNAVAILABLE
								 : GS_STATUS_OPTIMIZED_OUT,
			     part && part->kind == GS_LOC_ABSENT ? part->reason : "");
	}
	item = item_of(p);
	if (item->npieces == 0) {
		struct gs_meta_note first = p->notes->notes[nnotes];

		/* Nothing is there: one status for the whole. */
		p->notes->n = nnotes;
		item->first_piece = 0;
		set_absent(p, want, first.status, first.reason);
	}
}

/* ---- top-level items ---- */

static void plan_value(struct planner *p, struct gs_want *want, uint16_t node)
{
	struct gs_plan_item *item = item_of(p);

	if (p->l->absent != GS_STATUS_OK) {
		set_absent(p, want, p->l->absent, p->l->absent_reason);
		return;
	}
	item->kind = GS_ITEM_VALUE;
	item->node = node;
}

/* Elements at an address; COUNT of them, of which those that fit are captured. */
static void plan_array(struct planner *p, struct gs_want *want, uint16_t address, uint16_t count,
		       uint32_t stride)
{
	struct gs_plan_item *item = item_of(p);

	if (p->l->absent != GS_STATUS_OK) {
		set_absent(p, want, p->l->absent, p->l->absent_reason);
		return;
	}
	item->kind = GS_ITEM_ARRAY;
	item->node = address;
	item->count = count;
	item->stride = stride;
}

/* The single part that holds the object whole, when it is a register or a constant of at most 8
 * bytes. */
static bool is_small_value(const struct gs_object *obj, uint64_t size)
{
	for (size_t i = 0; i < obj->nparts; i++) {
		const struct gs_location_piece *part = &obj->parts[i];
		uint64_t end = (uint64_t)part->offset + part->size;

		if (obj->offset >= part->offset && obj->offset + size <= end)
			return size <= 8 && part_is_there(part, obj->offset - part->offset, size);
	}
	return false;
}

static bool has_unknown_length(const struct planner *p, const struct gs_want *want)
{
	return (gs_type_get(p->l->types, gs_type_strip(p->l->types, want->type))->flags &
		GS_TYPE_COUNT_UNKNOWN) != 0;
}

static void plan_variable_length(struct planner *p, struct gs_want *want, uint16_t address)
{
	uint16_t count = GS_NODE_NONE;
	struct gs_error *err = gs_lower_length(p->l, want, &count);

	if (err) {
		set_absent(p, want, GS_STATUS_UNAVAILABLE,
			   gs_arena_strdup(&p->l->site->r->arena, gs_error_message(err)));
		gs_error_free(err);
		return;
	}
	plan_array(p, want, address, count, p->x->shapes[p->index].stride);
}

static void plan_located(struct planner *p, struct gs_want *want, const struct gs_object *obj)
{
	const struct gs_shape *shape = &p->x->shapes[p->index];
	struct gs_plan_item *item = item_of(p);

	if (obj->kind == GS_OBJECT_ABSENT) {
		set_absent(p, want, obj->status, obj->reason);
	} else if (obj->kind == GS_OBJECT_MEMORY && item->variable &&
		   gs_lower_is_run_time_array(p->l->types, want->type)) {
		plan_variable_length(p, want, obj->node);
	} else if (has_unknown_length(p, want)) {
		set_absent(p, want, GS_STATUS_NOT_COLLECTED, "its length is not known here");
	} else if (obj->bit_size) {
		plan_value(p, want, gs_object_value(p->l, obj, want->type));
	} else if (item->variable && obj->kind == GS_OBJECT_MEMORY) {
		plan_array(p, want, obj->node, gs_plan_const(p->l->plan, shape->count),
			   shape->stride);
	} else if (item->variable) {
		set_absent(p, want, GS_STATUS_UNAVAILABLE,
			   shape->count ? "an array beyond the limit that is not in memory"
					: "it has no bytes");
	} else if (obj->kind == GS_OBJECT_MEMORY) {
		if (p->l->absent != GS_STATUS_OK) {
			set_absent(p, want, p->l->absent, p->l->absent_reason);
			return;
		}
		item->kind = GS_ITEM_MEMORY;
		item->node = obj->node;
	} else if (item->size > COMPOSITE_MAX) {
		set_absent(p, want, GS_STATUS_UNAVAILABLE,
			   "too large to be put together from parts");
	} else if (is_small_value(obj, item->size)) {
		plan_value(p, want, gs_object_bytes(p->l, obj, 0, item->size));
	} else {
		plan_parts(p, want, obj);
	}
}

static void plan_object(struct planner *p, struct gs_want *want, const struct gs_object *obj)
{
	p->objects[p->index] = *obj;
	plan_located(p, want, obj);
}

static struct gs_error *constant_float(struct planner *p, struct gs_want *want)
{
	double v = want->tree->real;
	float narrow = (float)v;
	uint64_t bits = 0;

	if (item_of(p)->size == 4)
		memcpy(&bits, &narrow, 4);
	else
		memcpy(&bits, &v, 8);
	plan_value(p, want, gs_plan_const(p->l->plan, (int64_t)bits));
	return NULL;
}

static struct gs_error *plan_tree(struct planner *p, struct gs_want *want)
{
	const struct gs_expr *e = want->tree;
	unsigned kind = gs_type_get(p->l->types, gs_type_strip(p->l->types, e->type))->kind;
	struct gs_object obj;
	uint16_t node;

	if (e->is_constant && kind == GS_KIND_FLOAT)
		return constant_float(p, want);
	if (e->is_lvalue && !e->is_constant && kind != GS_KIND_FUNCTION) {
		GS_TRY(gs_lower_object(p->l, e, &obj));
		plan_object(p, want, &obj);
		return NULL;
	}
	if ((e->kind == GS_EXPR_BUILTIN || gs_lower_is_entry(e)) && !e->is_constant) {
		GS_TRY(gs_lower_object(p->l, e, &obj));
		plan_object(p, want, &obj);
		return NULL;
	}
	GS_TRY(gs_lower_scalar(p->l, e, &node));
	plan_value(p, want, node);
	return NULL;
}

static struct gs_error *plan_list(struct planner *p, struct gs_want *want)
{
	const struct gs_expr *e = want->tree;
	uint32_t nodes = item_of(p)->size / p->x->shapes[p->index].stride;
	struct gs_plan_walk walk = {.form = GS_WALK_LIST,
				    .link_size = p->l->site->pointer_size,
				    .next = (uint32_t)(e->bit_offset / 8),
				    .end = GS_NODE_NONE,
				    .steps = (uint16_t)(nodes + 1)};
	uint16_t address, count;

	GS_TRY(gs_lower_scalar(p->l, e->args[0], &address));
	GS_TRY(gs_lower_scalar(p->l, e->args[2], &count));
	plan_array(p, want, address, count, p->x->shapes[p->index].stride);
	if (item_of(p)->kind == GS_ITEM_ABSENT)
		return NULL;
	item_of(p)->kind = GS_ITEM_WALK;
	item_of(p)->walk = gs_content_walk(p->l->plan, &walk);
	return NULL;
}

static struct gs_error *plan_range(struct planner *p, struct gs_want *want)
{
	uint16_t address, count;

	if (want->form == GS_WANT_LIST)
		return plan_list(p, want);
	GS_TRY(gs_lower_range(p->l, want->tree, &address, &count));
	if (want->form == GS_WANT_RANGE) {
		plan_array(p, want, address, count, p->x->shapes[p->index].stride);
		return NULL;
	}
	if (p->l->absent != GS_STATUS_OK) {
		set_absent(p, want, p->l->absent, p->l->absent_reason);
		return NULL;
	}
	item_of(p)->kind = GS_ITEM_STRING;
	item_of(p)->flags = GS_ITEM_SKIP_NULL;
	item_of(p)->node = address;
	item_of(p)->count = count;
	return NULL;
}

static struct gs_error *plan_root(struct planner *p)
{
	struct gs_want *want = &p->wants[p->x->shapes[p->index].want];
	struct gs_lower *l = p->l;
	struct gs_object obj;
	struct gs_error *err = NULL;

	l->absent = GS_STATUS_OK;
	l->absent_name = l->absent_reason = NULL;
	l->absent_var = NULL;
	if (want->is_elsewhere) {
		set_absent(p, want, GS_STATUS_UNAVAILABLE, want->problem);
	} else if (want->form == GS_WANT_COMM) {
		item_of(p)->kind = GS_ITEM_COMM;
	} else if (!want->tree) {
		gs_lower_operand(l, &want->operand, &obj);
		plan_object(p, want, &obj);
		if (want->status && want->operand.kind == GS_OPERAND_VARIABLE) {
			want->absent_name = want->operand.name;
			want->absent_var = &want->operand.var;
		}
	} else {
		err = want->form == GS_WANT_OBJECT ? plan_tree(p, want) : plan_range(p, want);
		want->absent_name = l->absent_name;
		want->absent_var = l->absent_var;
	}
	return err;
}

/* ---- children ---- */

/* Whether bytes [offset, offset + size) of the parent are there at this site. */
static bool parent_has(const struct gs_plan *plan, uint32_t parent, uint64_t offset, uint64_t size)
{
	const struct gs_plan_item *item = &plan->items[parent];
	uint64_t covered = 0;

	if (item->kind == GS_ITEM_ABSENT || offset + size > item->size)
		return false;
	if (item->kind != GS_ITEM_PIECES)
		return true;
	for (uint16_t i = 0; i < item->npieces; i++) {
		const struct gs_plan_piece *piece = &plan->pieces[item->first_piece + i];
		uint64_t from = piece->offset > offset ? piece->offset : offset;
		uint64_t to = (uint64_t)piece->offset + piece->size;

		if (to > offset + size)
			to = offset + size;
		if (to > from)
			covered += to - from;
	}
	return covered == size;
}

static void plan_content(struct planner *p)
{
	const struct gs_meta_item *schema = &p->x->items[p->index];
	const struct gs_shape *shape = &p->x->shapes[p->index];
	const struct gs_type *type = gs_type_get(p->l->types, shape->container);
	uint64_t offset = schema->parent_offset - type->container.data;
	struct gs_plan_item *item = item_of(p);

	item->parent_need = (uint32_t)(offset + type->byte_size);
	if (!parent_has(p->l->plan, schema->parent, offset, type->byte_size)) {
		item->kind = GS_ITEM_ABSENT;
		item->status = GS_STATUS_NOT_COLLECTED;
		return;
	}
	gs_content_plan(p->l, schema, shape, item);
}

/* No helper of the kernel ends at a wide NUL: as many characters as the limit allows. */
static void plan_wide(struct planner *p)
{
	const struct gs_shape *shape = &p->x->shapes[p->index];
	struct gs_plan_item *item = item_of(p);

	if (shape->kind != GS_SHAPE_STRING || shape->stride <= 1)
		return;
	item->kind = GS_ITEM_ARRAY;
	item->stride = shape->stride;
	item->count = gs_plan_const(p->l->plan, p->x->items[p->index].size / shape->stride);
}

/* What a pointer leads to that the compiler dropped: found without it. */
static void plan_dropped(struct planner *p, const struct gs_object *obj)
{
	struct gs_plan_item *item = item_of(p);
	bool is_string = p->x->shapes[p->index].kind == GS_SHAPE_STRING;

	p->objects[p->index] = *obj;
	if (obj->kind == GS_OBJECT_ABSENT) {
		set_absent(p, NULL, obj->status, obj->reason);
	} else if (obj->kind == GS_OBJECT_MEMORY) {
		item->kind = is_string ? GS_ITEM_STRING : GS_ITEM_MEMORY;
		item->node = obj->node;
		plan_wide(p);
	} else if (is_string) {
		set_absent(p, NULL, GS_STATUS_UNAVAILABLE, "text that is not in memory");
	} else if (item->size > COMPOSITE_MAX) {
		set_absent(p, NULL, GS_STATUS_UNAVAILABLE,
			   "too large to be put together from parts");
	} else {
		plan_parts(p, NULL, obj);
	}
}

static bool is_dropped_pointer(struct planner *p, const struct gs_meta_item *child,
			       struct gs_object *target)
{
	struct gs_object pointer = p->objects[child->parent];

	if (pointer.kind == GS_OBJECT_MEMORY)
		return false;
	pointer = gs_object_at(p->l, &pointer, child->parent_offset);
	return gs_object_pointee(p->l, &pointer, target);
}

/* From the address that the parent was read at, by the virtual table that was captured there. */
static void plan_virtual_base(struct planner *p, const struct gs_meta_item *schema,
			      const struct gs_shape *shape)
{
	struct gs_plan *plan = p->l->plan;
	const struct gs_plan_item *parent = &plan->items[schema->parent];
	struct gs_plan_item *item = item_of(p);
	uint16_t object, table;

	if (parent->kind != GS_ITEM_MEMORY && parent->kind != GS_ITEM_ARRAY) {
		item->kind = GS_ITEM_ABSENT;
		item->status = GS_STATUS_NOT_COLLECTED;
		return;
	}
	object = gs_plan_node(plan, GS_OP_ADD, 8, parent->node,
			      gs_plan_const(plan, (int64_t)schema->parent_offset), 0);
	table = gs_plan_node(plan, GS_OP_ITEM, p->l->site->pointer_size, (uint16_t)schema->parent,
			     GS_NODE_NONE, (int64_t)schema->parent_offset);
	item->kind = GS_ITEM_MEMORY;
	item->node = gs_lower_virtual_base(p->l, object, table, shape->distance);
}

static void plan_child(struct planner *p)
{
	struct gs_object target;
	const struct gs_meta_item *schema = &p->x->items[p->index];
	const struct gs_shape *shape = &p->x->shapes[p->index];
	struct gs_plan *plan = p->l->plan;
	unsigned size = p->l->site->pointer_size;
	struct gs_plan_item *item = item_of(p);

	if (shape->kind != GS_SHAPE_CONTENT && shape->kind != GS_SHAPE_VIRTUAL_BASE &&
	    is_dropped_pointer(p, schema, &target)) {
		plan_dropped(p, &target);
		return;
	}
	item->parent = (uint16_t)schema->parent;
	if (shape->kind == GS_SHAPE_CONTENT) {
		plan_content(p);
		return;
	}
	item->parent_need = (uint32_t)(schema->parent_offset + size);
	if (!parent_has(plan, schema->parent, schema->parent_offset, size)) {
		item->kind = GS_ITEM_ABSENT;
		item->status = GS_STATUS_NOT_COLLECTED;
		return;
	}
	if (shape->kind == GS_SHAPE_VIRTUAL_BASE) {
		plan_virtual_base(p, schema, shape);
		return;
	}
	item->kind = shape->kind == GS_SHAPE_STRING ? GS_ITEM_STRING : GS_ITEM_MEMORY;
	plan_wide(p);
	item->flags = GS_ITEM_SKIP_NULL;
	item->node = gs_plan_node(plan, GS_OP_ITEM, size, (uint16_t)schema->parent, GS_NODE_NONE,
				  (int64_t)schema->parent_offset);
}

struct gs_error *gs_items_plan(struct gs_lower *l, struct gs_want *wants,
			       const struct gs_expansion *x, struct gs_notes *notes)
{
	struct planner p = {.l = l, .wants = wants, .x = x, .notes = notes};

	/* All zero: in memory. */
	p.objects = gs_arena_alloc(&l->site->r->arena, (x->n + 1) * sizeof(*p.objects));

	for (p.index = 0; p.index < x->n; p.index++) {
		struct gs_plan_item *item = gs_plan_item(l->plan);

		item->size = x->items[p.index].size;
		item->variable = x->items[p.index].variable;
		if (x->shapes[p.index].kind == GS_SHAPE_ROOT)
			GS_TRY(plan_root(&p));
		else
			plan_child(&p);
	}
	return NULL;
}
