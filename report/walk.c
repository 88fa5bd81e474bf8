/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one walk over a value with parts: members, bases, elements, pointees.
 * The second half of the walk that feeds every renderer.
 */
#include "report/walk.h"

#include "report/names.h"
#include "report/output.h"
#include "report/view.h"

#define REPEATS_FROM 10	      /* gdb's `set print repeats' */
#define EXPAND_ELEMENTS 4096u /* longer arrays are one cell */
#define PARTS_MAX (1u << 18)  /* parts of one item: an event has less than 64 KiB */

static void push_name(struct gs_walk *w, const char *name)
{
	w->path[w->npath++] = (struct gs_path_part){.name = name};
}

static void push_index(struct gs_walk *w, uint64_t index)
{
	w->path[w->npath++] = (struct gs_path_part){.index = index};
}

void gs_walk_push(struct gs_walk *w, const char *name, uint64_t index)
{
	if (name)
		push_name(w, name);
	else
		push_index(w, index);
}

void gs_walk_path(struct gs_buf *out, const struct gs_walk *w)
{
	for (size_t i = 0; i < w->npath; i++) {
		if (!w->path[i].name) {
			gs_buf_putc(out, '[');
			gs_put_decimal(out, w->path[i].index);
			gs_buf_putc(out, ']');
			continue;
		}
		if (i)
			gs_buf_putc(out, '.');
		gs_buf_puts(out, w->path[i].name);
	}
}

void gs_walk_mark(struct gs_walk *w, const struct gs_value *v)
{
	if (w->ops->mark && v->status != GS_STATUS_OK)
		w->ops->mark(w, v);
}

void gs_walk_emit(struct gs_walk *w, const struct gs_leaf *leaf)
{
	if (leaf->kind != GS_LEAF_NULL)
		gs_walk_mark(w, leaf->value);
	w->ops->leaf(w, leaf);
}

/* A part of a value that is absent is absent for the same reason. */
static void absent_part(const struct gs_value *whole, gs_type_id type, struct gs_value *part)
{
	*part = (struct gs_value){.type = type,
				  .status = whole->status,
				  .address = whole->address,
				  .has_address = whole->has_address,
				  .reason = whole->reason,
				  .item = whole->item};
}

/* Where a part lies is kept even when it is not there: the pointees that hang on it are found by
 * it. */
static void member_of(struct gs_walk *w, const struct gs_value *v, const struct gs_type *t,
		      uint32_t i, struct gs_value *out)
{
	if (gs_status_has_data(v->status)) {
		gs_value_member(&w->event->source, v, i, out);
	} else {
		absent_part(v, t->members[i].type, out);
		out->item_offset = v->item_offset + t->members[i].bit_offset / 8;
	}
}

/* False: it was, or will be, met in another part of the object, and is shown there. */
static bool virtual_base_of(struct gs_walk *w, const struct gs_value *v, const struct gs_member *m,
			    struct gs_value *out)
{
	struct gs_base_place at = {.item = v->item,
				   .offset = v->item_offset,
				   .type = m->type,
				   .object_item = w->object_item,
				   .object_start = w->object_start,
				   .object_size = w->object_size};
	bool elsewhere = false;
	int32_t item = v->item < 0 ? -1 : gs_view_virtual_base(w->event->view, &at, &elsewhere);

	if (item >= 0) {
		gs_event_item(w->event, (uint32_t)item, out);
		return true;
	}
	absent_part(v, m->type, out);
	out->item = -1;
	if (gs_status_has_data(v->status)) {
		out->status = GS_STATUS_UNAVAILABLE;
		out->reason = "a virtual base";
	}
	return !elsewhere;
}

static void element_of(struct gs_walk *w, const struct gs_value *v, const struct gs_type *t,
		       uint64_t i, struct gs_value *out)
{
	if (gs_status_has_data(v->status)) {
		gs_value_element(&w->event->source, v, i, out);
	} else {
		absent_part(v, t->target, out);
		out->item_offset = v->item_offset + i * t->stride;
	}
}

/* An object of its own, not a base class of the one around it. */
static void walk_apart(struct gs_walk *w, const struct gs_value *v)
{
	int32_t item = w->object_item;
	uint64_t start = w->object_start, size = w->object_size;

	w->object_item = v->item;
	w->object_start = v->item_offset;
	w->object_size = gs_type_size(w->event->source.types, v->type);
	gs_walk_any(w, v);
	w->object_item = item;
	w->object_start = start;
	w->object_size = size;
}

/*
 * SEEN (may be NULL): the names that the object has so far, where one of them comes again.
 * Anonymous members share it with their parent, in which theirs appear.
 */
static bool walk_members(struct gs_walk *w, const struct gs_value *v, const struct gs_type *t,
			 struct gs_map *seen)
{
	const struct gs_types *types = w->event->source.types;
	bool any = false;

	for (uint32_t i = 0; i < t->nmembers && w->budget; i++) {
		const struct gs_member *m = &t->members[i];
		struct gs_buf numbered = {0};
		struct gs_value part;
		const char *name;

		if (m->flags & (GS_MEMBER_ARTIFICIAL | GS_MEMBER_STATIC))
			continue;
		/* Columns are there for every variant; else only the one that is there is shown. */
		if ((m->flags & GS_MEMBER_VARIANT) && !(w->flags & GS_WALK_EXPAND) &&
		    gs_status_has_data(v->status) &&
		    gs_value_variant(&w->event->source, v, i) == GS_VARIANT_OTHER)
			continue;
		w->budget--;
		if (!(m->flags & GS_MEMBER_VIRTUAL_BASE))
			member_of(w, v, t, i, &part);
		else if (!virtual_base_of(w, v, m, &part))
			continue;
		if ((w->flags & GS_WALK_FLATTEN) && gs_member_is_flat(types, m) &&
		    w->depth < GS_WALK_DEPTH) {
			w->depth++;
			any |= walk_members(
				w, &part, gs_type_get(types, gs_type_strip(types, m->type)), seen);
			w->depth--;
			continue;
		}
		any = true;
		name = gs_member_name(types, m);
		if (seen)
			name = gs_name_apart(seen, name ? name : GS_NO_NAME, &numbered);
		push_name(w, name ? name : GS_NO_NAME);
		w->ops->member(w, m, name);
		if (m->flags & GS_MEMBER_BASE)
			gs_walk_any(w, &part);
		else
			walk_apart(w, &part);
		w->npath--;
		gs_buf_deinit(&numbered);
	}
	return any;
}

static bool walk_object(struct gs_walk *w, const struct gs_value *v, gs_type_id type)
{
	const struct gs_types *types = w->event->source.types;
	struct gs_map seen = {0};
	bool repeats, any;

	type = gs_type_strip(types, type);
	repeats = (w->flags & GS_WALK_FLATTEN) && gs_file_repeats_names(w->event->file, type);
	any = walk_members(w, v, gs_type_get(types, type), repeats ? &seen : NULL);
	gs_map_deinit(&seen);
	return any;
}

static uint64_t run_of_equals(const struct gs_value *v, const struct gs_type *t, uint64_t i,
			      uint64_t n)
{
	uint64_t stride = t->stride, run = 1;

	if (!v->data || v->in_bits || !stride)
		return 1;
	while (i + run < n && (i + run + 1) * stride <= v->len &&
	       memcmp(v->data + i * stride, v->data + (i + run) * stride, stride) == 0)
		run++;
	return run;
}

/* Elements that can be shown: of those that are cut off only that they are is told. */
static uint64_t elements_there(struct gs_walk *w, const struct gs_value *v, const struct gs_type *t,
			       bool *cut)
{
	uint64_t n = t->count;

	if (gs_status_has_data(v->status))
		n = gs_value_count(&w->event->source, v);
	if (w->flags & GS_WALK_EXPAND)
		return t->count;
	if (!v->in_bits && !t->stride)
		n = 0;
	if (!v->in_bits && t->stride && n > v->len / t->stride)
		n = v->len / t->stride;
	*cut = (v->status == GS_STATUS_TRUNCATED || v->status == GS_STATUS_PARTIAL) ||
	       (!(t->flags & GS_TYPE_COUNT_UNKNOWN) && n < t->count);
	return n;
}

void gs_walk_elements(struct gs_walk *w, const struct gs_value *v, struct gs_node *node)
{
	const struct gs_type *t = node->type;
	uint64_t n = elements_there(w, v, t, &node->cut), shown = 0;

	for (uint64_t i = 0; i < n && w->budget;) {
		struct gs_value part;
		uint64_t run = 1;

		if ((w->flags & GS_WALK_REPEATS) && w->element_limit && shown >= w->element_limit) {
			node->cut = true;
			break;
		}
		if (w->flags & GS_WALK_REPEATS)
			run = run_of_equals(v, t, i, n);
		push_index(w, i);
		w->ops->element(w, i);
		element_of(w, v, t, i, &part);
		walk_apart(w, &part);
		w->npath--;
		node->any = true;
		if (run >= REPEATS_FROM)
			w->ops->repeats(w, run);
		shown += run >= REPEATS_FROM ? REPEATS_FROM : 1;
		i += run >= REPEATS_FROM ? run : 1;
	}
}

static void walk_aggregate(struct gs_walk *w, const struct gs_value *v, const struct gs_type *t)
{
	struct gs_node node = {.kind = t->kind == GS_KIND_ARRAY ? GS_NODE_ARRAY : GS_NODE_OBJECT,
			       .value = v,
			       .type = t};

	if (gs_status_has_data(v->status))
		gs_walk_mark(w, v);
	w->ops->open(w, &node);
	w->depth++;
	if (node.kind == GS_NODE_ARRAY)
		gs_walk_elements(w, v, &node);
	else
		node.any = walk_object(w, v, v->type);
	w->depth--;
	w->ops->close(w, &node);
}

/* The members of an object whose braces are those of its pointer. */
static void walk_members_apart(struct gs_walk *w, const struct gs_value *v)
{
	int32_t item = w->object_item;
	uint64_t start = w->object_start, size = w->object_size;

	w->object_item = v->item;
	w->object_start = v->item_offset;
	w->object_size = gs_type_size(w->event->source.types, v->type);
	walk_object(w, v, v->type);
	w->object_item = item;
	w->object_start = start;
	w->object_size = size;
}

/* The pointee's members beside the pointer's address; of a pointee without members, itself as `*'.
 */
static void walk_pointee(struct gs_walk *w, const struct gs_value *pointee)
{
	const struct gs_types *types = w->event->source.types;
	const struct gs_type *t = gs_type_get(types, gs_type_strip(types, pointee->type));

	if (!(w->flags & GS_WALK_FLATTEN)) {
		walk_apart(w, pointee);
		return;
	}
	if (gs_kind_is_aggregate(t->kind) && !t->container.kind) {
		if (!(w->flags & GS_WALK_EXPAND) && !gs_status_has_data(pointee->status)) {
			gs_walk_mark(w, pointee);
			return;
		}
		if (gs_status_has_data(pointee->status))
			gs_walk_mark(w, pointee);
		walk_members_apart(w, pointee);
		return;
	}
	push_name(w, "*");
	w->ops->member(w, NULL, "*");
	gs_walk_any(w, pointee);
	w->npath--;
}

/* A pointer with a planned pointee, or a reference. False: it is a leaf. */
static bool walk_followed(struct gs_walk *w, const struct gs_value *v, const struct gs_leaf *leaf)
{
	unsigned kind = leaf->type->kind;
	bool reference = kind == GS_KIND_REFERENCE || kind == GS_KIND_RVALUE_REFERENCE;
	bool expand = w->flags & GS_WALK_EXPAND;
	struct gs_value pointee;
	unsigned width;
	struct gs_node node = {.kind = reference ? GS_NODE_REFERENCE : GS_NODE_FOLLOWED,
			       .value = v,
			       .type = leaf->type,
			       .leaf = leaf};

	if ((kind != GS_KIND_POINTER && !reference) ||
	    (leaf->kind != GS_LEAF_POINTER && leaf->kind != GS_LEAF_ABSENT) ||
	    gs_type_is_char_pointer(w->event->source.types, v->type) ||
	    gs_type_is_wide_pointer(w->event->source.types, v->type, &width))
		return false; /* a leaf: what hangs on a char pointer is its string */
	if (!w->event->source.follow(w->event->source.ctx, v->item, v->item_offset, &pointee)) {
		if (!reference || leaf->kind != GS_LEAF_POINTER)
			return false;
		/* Its referent is what a reference is, and that was not captured. */
		absent_part(v, leaf->type->target, &pointee);
		pointee.status = GS_STATUS_NOT_COLLECTED;
		pointee.item = -1;
		if (expand) {
			gs_walk_emit(w,
				     &(struct gs_leaf){.kind = GS_LEAF_ABSENT, .value = &pointee});
			return true;
		}
	}
	/* What a pointer that the compiler dropped leads to can be known all the same. */
	if (leaf->kind == GS_LEAF_ABSENT && !expand && !gs_status_has_data(pointee.status))
		return false;
	if (leaf->kind == GS_LEAF_POINTER && leaf->bits == 0 && !reference && !expand)
		return false;
	if (leaf->kind == GS_LEAF_ABSENT && !gs_status_has_data(pointee.status)) {
		pointee.status = leaf->value->status;
		pointee.reason = leaf->value->reason;
	}
	if ((!reference && expand) || (leaf->kind == GS_LEAF_ABSENT && !expand)) {
		push_name(w, "@");
		gs_walk_mark(w, leaf->value);
		w->ops->open(w, &node);
		w->npath--;
	} else {
		w->ops->open(w, &node);
	}
	if (reference)
		walk_apart(w, &pointee);
	else
		walk_pointee(w, &pointee);
	w->ops->close(w, &node);
	return true;
}

static void walk_parts(struct gs_walk *w, const struct gs_value *v, const struct gs_type *t)
{
	bool unknown = t->kind == GS_KIND_ARRAY && ((t->flags & GS_TYPE_COUNT_UNKNOWN) ||
						    !t->count || t->count > EXPAND_ELEMENTS);

	if ((w->flags & GS_WALK_EXPAND) && unknown) {
		gs_walk_mark(w, v);
		w->ops->cell(w, v);
		return;
	}
	walk_aggregate(w, v, t);
}

/* Only types of a hostile file, or arrays of arrays beyond what an event can hold, come here. */
static void give_up(struct gs_walk *w, const struct gs_value *v)
{
	struct gs_value why;

	absent_part(v, GS_TYPE_VOID, &why);
	why.status = GS_STATUS_UNAVAILABLE;
	why.reason = w->budget > 1 ? "nested too deeply" : "too many parts";
	gs_walk_emit(w, &(struct gs_leaf){.kind = GS_LEAF_ABSENT, .value = &why});
}

void gs_walk_any(struct gs_walk *w, const struct gs_value *v)
{
	struct gs_leaf leaf;
	struct gs_value inner;

	if (w->budget)
		w->budget--;
	if (w->depth >= GS_WALK_DEPTH || !w->budget) {
		give_up(w, v);
		return;
	}
	v = gs_container_open(w->event, v, &inner);
	if (!gs_leaf_of(w->event, w->flags, v, &leaf)) {
		if (!gs_walk_container(w, v, leaf.type))
			walk_parts(w, v, leaf.type);
		return;
	}
	w->depth++;
	if (!walk_followed(w, v, &leaf)) {
		w->depth--;
		gs_walk_emit(w, &leaf);
		return;
	}
	w->depth--;
}

void gs_walk_value(struct gs_walk *w, const char *key, const struct gs_value *v)
{
	w->npath = 0;
	w->depth = 0;
	w->budget = PARTS_MAX;
	push_name(w, key);
	walk_apart(w, v);
	w->npath = 0;
}
