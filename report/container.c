/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Containers by content: the elements, keys and texts that hang on a structure which its type says
 * is a container (common/container.h). A step of the walk that feeds every renderer.
 */
#include "common/bytes.h"
#include "common/text.h"
#include "common/value_part.h"
#include "report/walk.h"

#define INNER_MAX 8 /* wrappers in wrappers */

static const struct gs_type *stripped(const struct gs_event *ev, gs_type_id id)
{
	return gs_type_get(ev->source.types, gs_type_strip(ev->source.types, id));
}

static gs_type_id element_type(const struct gs_event *ev, const struct gs_type *t)
{
	return gs_type_get(ev->source.types, t->target)->target;
}

/* Bytes at OFFSET of V as a value of type ID. Where V is absent its place is kept all the same:
 * what hangs on it is found by it. */
static void part_at(const struct gs_event *ev, const struct gs_value *v, gs_type_id id,
		    uint64_t offset, struct gs_value *out)
{
	struct gs_part part = {.type = id, .bit_offset = 8 * offset};

	if (gs_status_has_data(v->status)) {
		gs_value_part(&ev->source, v, &part, out);
		return;
	}
	*out = *v;
	out->type = id;
	out->item_offset = v->item_offset + offset;
}

const struct gs_value *gs_container_open(struct gs_event *ev, const struct gs_value *v,
					 struct gs_value *inner)
{
	for (int i = 0; i < INNER_MAX; i++) {
		const struct gs_type *t = stripped(ev, v->type);
		const struct gs_container *c = &t->container;
		struct gs_value part;

		if (c->kind != GS_CONTAINER_POINTER && c->kind != GS_CONTAINER_WRAPPER)
			break;
		part_at(ev, v, c->kind == GS_CONTAINER_POINTER ? t->target : element_type(ev, t),
			c->data, &part);
		*inner = part;
		v = inner;
	}
	return v;
}

static bool content_of(struct gs_event *ev, const struct gs_value *v, const struct gs_container *c,
		       struct gs_value *content)
{
	return v->item >= 0 &&
	       ev->source.follow(ev->source.ctx, v->item, v->item_offset + c->data, content);
}

/* ---- text ---- */

bool gs_container_text(struct gs_event *ev, const struct gs_value *v, struct gs_leaf *leaf,
		       struct gs_value *other)
{
	const struct gs_container *c = &leaf->type->container;
	gs_type_id element;

	if (c->kind != GS_CONTAINER_STRING)
		return false;
	leaf->kind = GS_LEAF_ABSENT;
	if (!gs_status_has_data(v->status))
		return true;
	if (!content_of(ev, v, c, other)) {
		*other = *v;
		other->status = GS_STATUS_NOT_COLLECTED;
		other->reason = NULL;
	}
	leaf->value = other;
	if (!gs_status_has_data(other->status))
		return true;
	element = element_type(ev, leaf->type);
	leaf->kind = GS_LEAF_STRING;
	leaf->bytes = other->data;
	leaf->len = other->len;
	leaf->size = (uint8_t)gs_type_size(ev->source.types, element);
	leaf->prefix = gs_type_wide_prefix(ev->source.types, element);
	if (leaf->size != 1 && leaf->size != 2 && leaf->size != 4)
		leaf->kind = GS_LEAF_ABSENT; /* of a damaged file */
	return true;
}

/* ---- elements ---- */

static bool word_at(const struct gs_event *ev, const struct gs_value *v, uint64_t offset,
		    uint64_t *word)
{
	size_t size = ev->source.pointer_size;

	if (!v->data || v->in_bits || offset > v->len || v->len - offset < size || !size ||
	    size > 8)
		return false;
	*word = gs_load_uint(v->data + offset, size, ev->source.big_endian);
	return true;
}

/* How many elements there are, as the object itself says. */
static bool extent(const struct gs_event *ev, const struct gs_value *v,
		   const struct gs_container *c, uint32_t offset, uint64_t stride, uint64_t *n)
{
	uint64_t begin, end;

	if (c->form != GS_CONTENT_SPAN)
		return word_at(ev, v, offset, n);
	if (!word_at(ev, v, c->data, &begin) || !word_at(ev, v, offset, &end) || end < begin ||
	    !stride)
		return false;
	*n = (end - begin) / stride;
	return true;
}

static bool is_text(struct gs_event *ev, gs_type_id id)
{
	const struct gs_type *t = stripped(ev, id);

	return t->container.kind == GS_CONTAINER_STRING ||
	       gs_type_is_char_pointer(ev->source.types, id) ||
	       gs_type_is_char_array(ev->source.types, id);
}

/* The two data members of a map's element, or false. */
static bool pair_members(const struct gs_type *t, uint32_t index[2])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nmembers; i++) {
		if (t->members[i].flags & (GS_MEMBER_STATIC | GS_MEMBER_BASE))
			continue;
		if (n == 2)
			return false;
		index[n++] = i;
	}
	return n == 2;
}

static void measure(struct gs_event *ev, const struct gs_value *v, const struct gs_type *t,
		    const struct gs_value *content, struct gs_box *box)
{
	const struct gs_container *c = &t->container;
	const struct gs_type *element = stripped(ev, element_type(ev, t));
	uint64_t stride = gs_type_size(ev->source.types, element_type(ev, t));
	uint32_t index[2];

	*box = (struct gs_box){.rule = c};
	box->captured = stride ? content->len / stride : 0;
	if (c->form == GS_CONTENT_SPAN || c->form == GS_CONTENT_COUNTED ||
	    (c->flags & GS_CONTAINER_COUNTED))
		box->has_length = extent(ev, v, c, c->length, stride, &box->length);
	if (c->flags & GS_CONTAINER_CAPACITY)
		box->has_capacity = extent(ev, v, c, c->capacity, stride, &box->capacity);
	box->keyed = c->kind == GS_CONTAINER_MAP && !(c->flags & GS_CONTAINER_MULTI) &&
		     pair_members(element, index) && is_text(ev, element->members[index[0]].type);
}

static void walk_entry(struct gs_walk *w, const struct gs_node *node, const struct gs_value *pair,
		       const uint32_t index[2], uint64_t i)
{
	static const enum gs_entry_phase phases[] = {GS_ENTRY_KEY, GS_ENTRY_VALUE};
	const struct gs_type *t = stripped(w->event, pair->type);

	gs_walk_push(w, NULL, i);
	for (unsigned k = 0; k < 2; k++) {
		struct gs_value part;

		gs_value_member(&w->event->source, pair, index[k], &part);
		gs_walk_push(w, t->members[index[k]].name ? t->members[index[k]].name : "?", 0);
		w->ops->entry(w, node, i, phases[k]);
		gs_walk_any(w, &part);
		w->npath--;
	}
	w->npath--;
	w->ops->entry(w, node, i, GS_ENTRY_END);
}

static void walk_map(struct gs_walk *w, const struct gs_value *content, struct gs_node *node,
		     const uint32_t index[2])
{
	for (uint64_t i = 0; i < node->box->captured && w->budget; i++) {
		struct gs_value pair;

		if ((w->flags & GS_WALK_REPEATS) && w->element_limit && i >= w->element_limit) {
			node->cut = true;
			return;
		}
		gs_value_element(&w->event->source, content, i, &pair);
		walk_entry(w, node, &pair, index, i);
		node->any = true;
	}
}

static void emit_absent(struct gs_walk *w, const struct gs_value *why)
{
	gs_walk_emit(w, &(struct gs_leaf){.kind = GS_LEAF_ABSENT, .value = why});
}

static void walk_content(struct gs_walk *w, const struct gs_value *v, const struct gs_type *t,
			 const struct gs_value *content)
{
	struct gs_box box;
	struct gs_node node = {.kind = GS_NODE_CONTAINER, .value = v, .type = t, .box = &box};
	struct gs_node elements = {.kind = GS_NODE_ARRAY};
	uint32_t index[2];

	measure(w->event, v, t, content, &box);
	gs_walk_mark(w, content);
	w->ops->open(w, &node);
	w->depth++;
	elements.type = stripped(w->event, content->type);
	if (box.rule->kind == GS_CONTAINER_MAP &&
	    pair_members(stripped(w->event, elements.type->target), index)) {
		walk_map(w, content, &node, index);
	} else if (elements.type->kind == GS_KIND_ARRAY) {
		gs_walk_elements(w, content, &elements);
		node.any = elements.any;
		node.cut = elements.cut;
	}
	w->depth--;
	node.cut |=
		content->status != GS_STATUS_OK || (box.has_length && box.length > box.captured);
	w->ops->close(w, &node);
}

static void walk_optional(struct gs_walk *w, const struct gs_value *v, const struct gs_type *t)
{
	struct gs_box box = {.rule = &t->container};
	struct gs_node node = {.kind = GS_NODE_CONTAINER, .value = v, .type = t, .box = &box};
	struct gs_value value;

	if (v->in_bits && t->container.length < 8)
		box.captured = v->bits >> (8 * t->container.length) & 0xff;
	else if (v->data && t->container.length < v->len)
		box.captured = v->data[t->container.length];
	box.captured = box.captured != 0;
	w->ops->open(w, &node);
	w->depth++;
	if (box.captured) {
		part_at(w->event, v, element_type(w->event, t), t->container.data, &value);
		gs_walk_any(w, &value);
	}
	w->depth--;
	w->ops->close(w, &node);
}

bool gs_walk_container(struct gs_walk *w, const struct gs_value *v, const struct gs_type *t)
{
	struct gs_value content;

	if (t->container.kind == GS_CONTAINER_NONE || t->container.kind >= GS_CONTAINER_POINTER)
		return false;
	if (w->flags & GS_WALK_EXPAND) {
		if (!gs_status_has_data(v->status))
			gs_walk_mark(w, v);
		w->ops->cell(w, v);
		return true;
	}
	if (t->container.kind == GS_CONTAINER_OPTIONAL) {
		walk_optional(w, v, t);
		return true;
	}
	if (!content_of(w->event, v, &t->container, &content)) {
		content = *v;
		content.status = GS_STATUS_NOT_COLLECTED;
		content.reason = NULL;
	}
	if (gs_status_has_data(content.status))
		walk_content(w, v, t, &content);
	else
		emit_absent(w, &content);
	return true;
}
