/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is captured for each item, by type and limits alone: the item itself, strings of its char
 * pointers, what other pointers lead to. Between the checked items of a probe and its schema;
 * items_plan.c says how each part is read at one site.
 *
 * The expansion does not look at locations, so that sites where a variable lives in different
 * homes, or nowhere, have one schema. Children of what may be absent are planned all the same, and
 * have no data then.
 */
#include <inttypes.h>

#include "record/resolver.h"

/* Caps per probe that keep a record and its program small; what is beyond shows its address alone.
 */
#define STRINGS_MAX 96
#define FOLLOWED_MAX 64
#define WALKS_MAX 8	/* each some 20 000 steps of the verifier */
#define ELEMENTS_MAX 32 /* of a container: those whose own strings and pointees are captured */
#define WALK_DEPTH_MAX 32
/* Room that is kept for the record's head and the rounding of its slots. */
#define RECORD_MAX (GS_EVENT_MAX_LEN - 64)
#define RANGE_BYTES_MAX 32768

static const struct gs_type *stripped(const struct gs_types *types, gs_type_id id)
{
	return gs_type_get(types, gs_type_strip(types, id));
}

static bool is_reference(const struct gs_type *type)
{
	return type->kind == GS_KIND_REFERENCE || type->kind == GS_KIND_RVALUE_REFERENCE;
}

/* ---- sizes ---- */

static uint64_t slot_bytes(bool variable, uint64_t size)
{
	/* A status byte with its padding, the slot, and the data of variable items behind the
	 * slots. */
	return 8 + (variable ? 8 + size : (size + 7) / 8 * 8);
}

/* Elements of all dimensions of one element of an array. */
static uint64_t inner_elements(const struct gs_types *types, gs_type_id id)
{
	const struct gs_type *type = stripped(types, id);
	uint64_t n = 1;

	while (type->kind == GS_KIND_ARRAY && !(type->flags & GS_TYPE_VECTOR) && n < (1u << 20)) {
		n *= type->count ? type->count : 1;
		type = stripped(types, type->target);
	}
	return n;
}

bool gs_items_array_limit(struct gs_resolver *r, gs_type_id id, uint64_t *count)
{
	const struct gs_type *type = stripped(r->types, id);
	uint64_t limit = r->req->array_limit, inner;

	if (type->kind != GS_KIND_ARRAY || (type->flags & (GS_TYPE_COUNT_UNKNOWN | GS_TYPE_VECTOR)))
		return false;
	if (gs_type_is_char_array(r->types, id) && r->req->string_limit > limit)
		limit = r->req->string_limit;
	inner = inner_elements(r->types, type->target);
	limit = limit / inner ? limit / inner : 1;
	if (type->count <= limit)
		return false;
	*count = limit;
	return true;
}

/* `element []', which is shown by its captured length. */
static struct gs_error *open_array(struct gs_resolver *r, gs_type_id element, uint64_t stride,
				   gs_type_id *id)
{
	return gs_types_add(r->types,
			    &(struct gs_type){.kind = GS_KIND_ARRAY,
					      .flags = GS_TYPE_COUNT_UNKNOWN,
					      .target = element,
					      .stride = stride},
			    id);
}

/* ---- adding items ---- */

static struct gs_meta_item *add_item(struct gs_expansion *x, const struct gs_meta_item *item,
				     const struct gs_shape *shape)
{
	struct gs_meta_item *added = GS_PUSH(x->items, x->n, x->items_cap);
	size_t n = x->n - 1;

	*added = *item;
	*GS_PUSH(x->shapes, n, x->shapes_cap) = *shape;
	x->bytes += slot_bytes(item->variable, item->size);
	return added;
}

static bool has_room(const struct gs_expansion *x, bool variable, uint64_t size)
{
	return x->n < GS_EVENT_MAX_ITEMS - 1 && size <= RECORD_MAX &&
	       x->bytes + slot_bytes(variable, size) <= RECORD_MAX;
}

/* A pointer to characters of whatever width; *size: bytes of one. */
static bool is_text_pointer(const struct gs_types *types, gs_type_id id, unsigned *size)
{
	*size = 1;
	return gs_type_is_char_pointer(types, id) || gs_type_is_wide_pointer(types, id, size);
}

/* The string that a char pointer at OFFSET of item PARENT leads to. */
static struct gs_error *add_string(struct gs_resolver *r, struct gs_expansion *x, uint32_t parent,
				   uint64_t offset, gs_type_id pointer)
{
	gs_type_id type;
	unsigned size;

	/* --string-limit 0: addresses alone. */
	if (!r->req->string_limit)
		return NULL;
	is_text_pointer(r->types, pointer, &size);
	GS_TRY(open_array(r, stripped(r->types, pointer)->target, size, &type));
	add_item(x,
		 &(struct gs_meta_item){.key = "",
					.expr = "",
					.type = type,
					.variable = true,
					.size = r->req->string_limit * size,
					.flags = GS_SCHEMA_STRING,
					.parent = parent,
					.parent_offset = offset},
		 &(struct gs_shape){.kind = GS_SHAPE_STRING, .stride = size});
	return NULL;
}

/* ---- top-level items ---- */

struct root {
	gs_type_id type;
	uint64_t size, stride, count; /* count: of all elements, when they are not all captured */
	bool variable;
	uint32_t flags;
};

static struct gs_error *type_problem(const struct gs_resolver *r, const struct gs_want *want,
				     const char *what)
{
	struct gs_buf text = {0};
	struct gs_error *err;

	gs_type_print(&text, r->types, want->type, NULL);
	err = gs_error_new(GS_ERR_UNSUPPORTED, "`%s' has the type `%s', %s", want->key,
			   gs_buf_cstr(&text), what);
	gs_buf_deinit(&text);
	return err;
}

/* An array whose length the run tells: up to the limit of arrays or strings. */
static struct gs_error *variable_root(struct gs_resolver *r, const struct gs_want *want,
				      struct root *root)
{
	const struct gs_type *type = stripped(r->types, want->type);
	uint64_t limit = r->req->array_limit, inner = inner_elements(r->types, type->target);

	if (gs_type_is_char_array(r->types, want->type) && r->req->string_limit > limit)
		limit = r->req->string_limit;
	limit = limit / inner ? limit / inner : 1;
	if (limit > RANGE_BYTES_MAX / type->stride)
		limit = RANGE_BYTES_MAX / type->stride ? RANGE_BYTES_MAX / type->stride : 1;
	root->variable = true;
	root->stride = type->stride;
	root->size = limit * type->stride;
	return open_array(r, type->target, type->stride, &root->type);
}

static struct gs_error *object_root(struct gs_resolver *r, const struct gs_want *want,
				    struct root *root)
{
	const struct gs_type *type = stripped(r->types, want->type);
	unsigned pointer_size = r->pointer_size;
	uint64_t count;

	root->type = want->type;
	root->size = gs_type_size(r->types, want->type);
	if (is_reference(type))
		root->size = type->byte_size ? type->byte_size : pointer_size;
	if (type->kind == GS_KIND_FUNCTION) {
		root->size = pointer_size;
		return gs_types_add(r->types,
				    &(struct gs_type){.kind = GS_KIND_POINTER,
						      .target = want->type,
						      .byte_size = pointer_size},
				    &root->type);
	}
	if (type->kind == GS_KIND_VOID)
		return type_problem(r, want, "and nothing to record");
	if (type->flags & GS_TYPE_INCOMPLETE)
		return type_problem(r, want, "which is only declared in this program");
	if (gs_lower_is_run_time_array(r->types, want->type) &&
	    !gs_lower_is_run_time_array(r->types, type->target) && type->stride)
		return variable_root(r, want, root);
	if (gs_lower_is_run_time_array(r->types, want->type))
		return gs_error_hint(type_problem(r, want, "of which only a row is recorded"),
				     "record its rows: %s[0], %s[1] ...", want->expr, want->expr);
	if ((type->flags & GS_TYPE_COUNT_UNKNOWN) && !want->from_word)
		return gs_error_hint(type_problem(r, want, "and its length is not known"),
				     "write a slice: %s[0:n]", want->expr);
	if (gs_items_array_limit(r, want->type, &count)) {
		root->variable = true;
		root->stride = type->stride;
		root->size = count * type->stride;
		root->count = type->count;
		return open_array(r, type->target, type->stride, &root->type);
	}
	return NULL;
}

static struct gs_error *range_root(struct gs_resolver *r, const struct gs_want *want,
				   struct root *root)
{
	const struct gs_type *type = stripped(r->types, want->type);
	uint64_t limit = want->limit, stride = type->stride ? type->stride : 1;

	root->variable = true;
	root->stride = stride;
	if (limit > RANGE_BYTES_MAX / stride)
		limit = RANGE_BYTES_MAX / stride ? RANGE_BYTES_MAX / stride : 1;
	root->size = limit * stride;
	return open_array(r, type->target, stride, &root->type);
}

static struct gs_error *make_root(struct gs_resolver *r, const struct gs_want *want,
				  struct root *root)
{
	*root = (struct root){.type = want->type};
	switch (want->form) {
	case GS_WANT_OBJECT:
		return object_root(r, want, root);
	case GS_WANT_RANGE:
		return range_root(r, want, root);
	case GS_WANT_STRING:
		root->variable = true;
		root->size = want->limit;
		root->flags = GS_SCHEMA_STRING;
		return open_array(r, stripped(r->types, want->type)->target, 1, &root->type);
	case GS_WANT_LIST:
		return range_root(r, want, root);
	case GS_WANT_COMM:
		root->size = 16;
		root->flags = GS_SCHEMA_COMM;
		return NULL;
	}
	return NULL;
}

static struct gs_error *too_large(const struct gs_expansion *x, const struct gs_want *want,
				  uint64_t size)
{
	struct gs_error *err =
		gs_error_new(GS_ERR_LIMIT,
			     "`%s' needs up to %" PRIu64 " bytes and the items before it %" PRIu64
			     ": an event holds at most %u",
			     want->key, size, x->bytes, RECORD_MAX);

	return gs_error_hint(err, "record a member or a slice of it, or lower --string-limit and "
				  "--array-limit");
}

static struct gs_error *add_root(struct gs_resolver *r, const struct gs_want *want, uint32_t index,
				 struct gs_expansion *x)
{
	struct root root;
	uint32_t item = (uint32_t)x->n;
	unsigned width;

	GS_TRY(make_root(r, want, &root));
	if (root.size == 0) {
		/* An array without elements or an empty struct: nothing to read, nothing to show.
		 */
		root.size = root.stride = 1;
		root.variable = true;
	}
	if (!has_room(x, root.variable, root.size))
		return too_large(x, want, root.size);
	add_item(x,
		 &(struct gs_meta_item){.key = want->key,
					.expr = want->expr,
					.type = root.type,
					.variable = root.variable,
					.size = (uint32_t)root.size,
					.flags = want->flags | root.flags,
					.parent = GS_NONE},
		 &(struct gs_shape){.kind = GS_SHAPE_ROOT,
				    .want = index,
				    .stride = (uint32_t)root.stride,
				    .count = root.count > UINT32_MAX ? UINT32_MAX
								     : (uint32_t)root.count});
	if (want->form == GS_WANT_OBJECT && is_text_pointer(r->types, want->type, &width)) {
		if (!has_room(x, true, (uint64_t)r->req->string_limit * width))
			return too_large(x, want, (uint64_t)r->req->string_limit * width);
		return add_string(r, x, item, 0, want->type);
	}
	return NULL;
}

/* ---- what pointers lead to ---- */

bool gs_items_pointee(struct gs_types *types, gs_type_id pointer, gs_type_id *target)
{
	const struct gs_type *type = stripped(types, pointer), *to = stripped(types, type->target);

	if (type->kind != GS_KIND_POINTER && !is_reference(type))
		return false;
	if (to->kind == GS_KIND_VOID || to->kind == GS_KIND_FUNCTION ||
	    to->kind == GS_KIND_UNSPECIFIED || (to->flags & GS_TYPE_INCOMPLETE))
		return false;
	*target = type->target;
	return gs_type_size(types, type->target) > 0;
}

struct walk {
	struct gs_resolver *r;
	struct gs_expansion *x;
	uint32_t item;	/* whose bytes are walked */
	uint32_t size;	/* of them */
	size_t object;	/* number of items where the object began that bases are parts of */
	unsigned level; /* pointers that may still be followed */
	unsigned nesting;
	unsigned contents; /* containers around it */
	unsigned owned;	   /* owning pointers that may still be followed without being asked for */
};

#define OWNED_DEPTH 2

static struct gs_error *walk(const struct walk *w, gs_type_id id, uint64_t offset);

static struct gs_error *follow(const struct walk *w, gs_type_id pointer, uint64_t offset)
{
	const struct gs_type *type = stripped(w->r->types, pointer);
	bool reference = is_reference(type);
	struct walk next = *w;
	gs_type_id target;
	uint64_t size, count;

	if ((!w->level && !reference) || w->nesting >= WALK_DEPTH_MAX ||
	    !gs_items_pointee(w->r->types, pointer, &target))
		return NULL;
	size = gs_type_size(w->r->types, target);
	if (gs_items_array_limit(w->r, target, &count) || w->x->nfollowed >= FOLLOWED_MAX ||
	    !has_room(w->x, false, size)) {
		w->x->followed_left_out = true;
		return NULL;
	}
	w->x->nfollowed++;
	next.item = (uint32_t)w->x->n;
	next.size = (uint32_t)size;
	next.level = reference ? w->level : w->level - 1;
	next.object = w->x->n + 1;
	next.nesting++;
	add_item(w->x,
		 &(struct gs_meta_item){.key = "",
					.expr = "",
					.type = target,
					.size = (uint32_t)size,
					.parent = w->item,
					.parent_offset = offset},
		 &(struct gs_shape){.kind = GS_SHAPE_POINTEE});
	return walk(&next, target, 0);
}

static struct gs_error *walk_string(const struct walk *w, gs_type_id pointer, uint64_t offset)
{
	struct gs_expansion *x = w->x;
	unsigned width;

	is_text_pointer(w->r->types, pointer, &width);
	/* A top-level char pointer has its string already. */
	if (x->shapes[w->item].kind == GS_SHAPE_ROOT && x->items[w->item].type == pointer)
		return NULL;
	if (x->nstrings >= STRINGS_MAX ||
	    !has_room(x, true, (uint64_t)w->r->req->string_limit * width)) {
		x->strings_left_out = true;
		return NULL;
	}
	x->nstrings++;
	return add_string(w->r, x, w->item, offset, pointer);
}

static struct gs_error *walk_content(const struct walk *w, gs_type_id id,
				     const struct gs_type *type, uint64_t offset)
{
	struct gs_expansion *x = w->x;
	struct gs_meta_item item;
	struct gs_shape shape;
	bool linked = type->container.form >= GS_CONTENT_LIST;

	if (!gs_content_item(w->r, id, w->item, offset, w->contents, &item, &shape))
		return NULL;
	if (x->nstrings >= STRINGS_MAX || (linked && x->nwalks >= WALKS_MAX) ||
	    !has_room(x, true, item.size)) {
		x->strings_left_out = true;
		return NULL;
	}
	GS_TRY(open_array(w->r, item.type, shape.stride, &item.type));
	x->nstrings++;
	x->nwalks += linked;
	shape.level = w->level;
	add_item(x, &item, &shape);
	return NULL;
}

/* Containers are walked by what they mean, not by what they are made of. */
static struct gs_error *walk_container(const struct walk *w, gs_type_id id,
				       const struct gs_type *type, uint64_t offset)
{
	const struct gs_type *pointer = gs_type_get(w->r->types, type->target);
	struct walk inner = *w;

	inner.nesting++;
	offset += type->container.data;
	switch (type->container.kind) {
	case GS_CONTAINER_POINTER:
		/* What a weak pointer leads to may be gone. */
		if (!inner.level && inner.owned &&
		    !strstr(type->name ? type->name : "", "weak_ptr"))
			inner.level = 1;
		inner.owned -= inner.owned > 0;
		return walk(&inner, type->target, offset);
	case GS_CONTAINER_WRAPPER:
	case GS_CONTAINER_OPTIONAL:
		return walk(&inner, pointer->target, offset);
	default:
		return walk_content(w, id, type, offset - type->container.data);
	}
}

/* Whether a walk would find anything: large arrays of numbers are not walked. */
static bool has_pointers(const struct walk *w, gs_type_id id, unsigned depth)
{
	const struct gs_type *type = stripped(w->r->types, id);
	unsigned width;

	if (type->kind == GS_KIND_POINTER)
		return w->level || is_text_pointer(w->r->types, id, &width);
	if (is_reference(type))
		return true;
	if (depth >= WALK_DEPTH_MAX)
		return false;
	if (type->kind == GS_KIND_ARRAY)
		return has_pointers(w, type->target, depth + 1);
	if (!gs_kind_is_aggregate(type->kind))
		return false;
	if (type->container.kind && type->container.kind < GS_CONTAINER_WRAPPER &&
	    type->container.kind != GS_CONTAINER_OPTIONAL)
		return true;
	for (uint32_t i = 0; i < type->nmembers; i++)
		if ((type->members[i].flags & GS_MEMBER_VIRTUAL_BASE) ||
		    has_pointers(w, type->members[i].type, depth + 1))
			return true;
	return false;
}

/* The virtual bases of one object that were met: each is there once. */
static bool has_virtual_base(const struct walk *w, gs_type_id type)
{
	for (size_t i = w->object; i < w->x->n; i++)
		if ((w->x->items[i].flags & GS_SCHEMA_VIRTUAL_BASE) && w->x->items[i].type == type)
			return true;
	return false;
}

/* Where a virtual base is, the run tells: it is an item of its own. */
static struct gs_error *walk_virtual_base(const struct walk *w, const struct gs_member *m,
					  uint64_t offset)
{
	uint64_t size = gs_type_size(w->r->types, m->type);
	struct walk next = *w;

	if (!m->bit_offset || has_virtual_base(w, m->type))
		return NULL;
	if (w->x->nfollowed >= FOLLOWED_MAX || !has_room(w->x, false, size) || !size) {
		w->x->followed_left_out = true;
		return NULL;
	}
	w->x->nfollowed++;
	next.item = (uint32_t)w->x->n;
	next.size = (uint32_t)size;
	add_item(w->x,
		 &(struct gs_meta_item){.key = "",
					.expr = "",
					.type = m->type,
					.size = (uint32_t)size,
					.flags = GS_SCHEMA_VIRTUAL_BASE,
					.parent = w->item,
					.parent_offset = offset},
		 &(struct gs_shape){.kind = GS_SHAPE_VIRTUAL_BASE,
				    .distance = (uint32_t)(m->bit_offset / 8)});
	return walk(&next, m->type, 0);
}

static struct gs_error *walk_members(const struct walk *w, const struct gs_type *type,
				     uint64_t offset)
{
	struct walk inner = *w;

	inner.nesting++;
	for (uint32_t i = 0; i < type->nmembers; i++) {
		const struct gs_member *m = &type->members[i];

		if (m->bit_size || (m->bit_offset & 7) ||
		    (m->flags & (GS_MEMBER_STATIC | GS_MEMBER_ARTIFICIAL)))
			continue;
		if (m->flags & GS_MEMBER_VIRTUAL_BASE) {
			GS_TRY(walk_virtual_base(&inner, m, offset));
			continue;
		}
		inner.object = m->flags & GS_MEMBER_BASE ? w->object : w->x->n;
		GS_TRY(walk(&inner, m->type, offset + m->bit_offset / 8));
	}
	return NULL;
}

static struct gs_error *walk_elements(const struct walk *w, const struct gs_type *type,
				      uint64_t offset)
{
	struct walk inner = *w;
	uint64_t count = type->count;

	if (!type->stride || (type->flags & GS_TYPE_VECTOR))
		return NULL;
	if (type->flags & GS_TYPE_COUNT_UNKNOWN)
		count = offset == 0 && w->x->items[w->item].variable ? w->size / type->stride : 0;
	inner.nesting++;
	for (uint64_t i = 0; i < count; i++) {
		inner.object = w->x->n;
		if (offset + (i + 1) * type->stride > w->size)
			return NULL;
		if (w->x->nstrings >= STRINGS_MAX || w->x->nfollowed >= FOLLOWED_MAX) {
			w->x->strings_left_out = true;
			return NULL;
		}
		if (w->contents && i >= ELEMENTS_MAX) {
			w->x->strings_left_out = true;
			return NULL;
		}
		GS_TRY(walk(&inner, type->target, offset + i * type->stride));
	}
	return NULL;
}

static struct gs_error *walk(const struct walk *w, gs_type_id id, uint64_t offset)
{
	const struct gs_type *type = stripped(w->r->types, id);

	unsigned width;

	if (w->nesting >= WALK_DEPTH_MAX || !has_pointers(w, id, 0))
		return NULL;
	if (is_text_pointer(w->r->types, id, &width))
		return walk_string(w, id, offset);
	if (type->kind == GS_KIND_POINTER || is_reference(type))
		return follow(w, id, offset);
	if (type->kind == GS_KIND_ARRAY)
		return walk_elements(w, type, offset);
	if (type->container.kind && type->container.kind < GS_CONTAINER_KINDS)
		return walk_container(w, id, type, offset);
	if (gs_kind_is_aggregate(type->kind))
		return walk_members(w, type, offset);
	return NULL;
}

/* A variable of $args or $locals that is too large or of no recordable type costs only itself. */
static struct gs_error *left_out(struct gs_resolver *r, const struct gs_want *want,
				 const char *text, struct gs_error *err)
{
	if (!err || !want->from_word)
		return err && want->len ? gs_error_at(err, text, want->start, want->len) : err;
	gs_resolver_warn(r, "left out: %s", gs_error_message(err));
	gs_error_free(err);
	return NULL;
}

static bool may_have_children(const struct gs_want *want)
{
	return want->form <= GS_WANT_RANGE || want->form == GS_WANT_LIST;
}

struct gs_error *gs_items_expand(struct gs_resolver *r, const char *text,
				 const struct gs_want *wants, size_t n, struct gs_expansion *out)
{
	struct gs_expansion x = {0};
	struct gs_error *err = NULL;
	size_t nroots;

	/* What was asked for comes first: children take the room that is left. */
	for (size_t i = 0; i < n && !err; i++)
		err = left_out(r, &wants[i], text, add_root(r, &wants[i], (uint32_t)i, &x));
	nroots = x.n;
	for (size_t i = 0; i < nroots && !err; i++) {
		struct walk w = {.r = r,
				 .x = &x,
				 .object = x.n,
				 .item = (uint32_t)i,
				 .size = x.items[i].size,
				 .level = r->req->depth,
				 .owned = OWNED_DEPTH};

		if (x.shapes[i].kind == GS_SHAPE_ROOT &&
		    may_have_children(&wants[x.shapes[i].want]))
			err = walk(&w, x.items[i].type, 0);
	}
	/* Elements after all containers: those of the first must not take the room of the rest. */
	for (size_t i = nroots; i < x.n && !err; i++) {
		struct walk w = {.r = r,
				 .x = &x,
				 .object = x.n,
				 .item = (uint32_t)i,
				 .size = x.items[i].size,
				 .level = x.shapes[i].level,
				 .owned = OWNED_DEPTH,
				 .contents = x.shapes[i].nesting + 1};

		if (x.shapes[i].kind == GS_SHAPE_CONTENT)
			err = walk(&w, x.items[i].type, 0);
	}
	if (err) {
		gs_items_deinit(&x);
		return err;
	}
	*out = x;
	return NULL;
}

void gs_items_deinit(struct gs_expansion *x)
{
	free(x->items);
	free(x->shapes);
	*x = (struct gs_expansion){0};
}
