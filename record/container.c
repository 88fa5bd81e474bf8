/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Containers of libstdc++ and of Rust's library: which structures they are, and where their content
 * is. Between the import of a type from DWARF and the type table; the rule that comes out is all
 * that later stages know of a library (common/container.h).
 *
 * A name only suggests: every member on the way to the content is looked for by its name, kind and
 * size, and where one is missing the type stays a plain structure.
 */
#include "common/container.h"

#include "record/dwarf_type.h"

#define ALIGN_DEPTH 16

/* A type that is looked at: its members are in the table, it is not yet. */
struct shape {
	struct gs_type_import *ti;
	Dwarf_Die *die;
	struct gs_type *t;
	unsigned word; /* bytes of a pointer */
};

/* ---- members by path ---- */

struct part {
	gs_type_id id;
	const struct gs_type *type; /* stripped */
	uint64_t offset;	    /* bytes */
};

static bool enter(const struct shape *s, const struct gs_type *in, const char *name, size_t len,
		  struct part *at)
{
	struct gs_member m;
	uint64_t bits;
	bool ambiguous;

	for (uint32_t i = 0; i < in->nmembers; i++) {
		const struct gs_member *own = &in->members[i];

		if (!(own->flags & GS_MEMBER_BASE) && own->name && strlen(own->name) == len &&
		    memcmp(own->name, name, len) == 0) {
			m = *own;
			bits = own->bit_offset;
			goto found;
		}
	}
	for (uint32_t i = 0; i < in->nmembers; i++) {
		if (!(in->members[i].flags & GS_MEMBER_BASE) ||
		    !gs_type_find_member(s->ti->types, in->members[i].type, name, len, &m, &bits,
					 &ambiguous) ||
		    ambiguous)
			continue;
		bits += in->members[i].bit_offset;
		goto found;
	}
	return false;
found:
	if (m.bit_size || (m.flags & (GS_MEMBER_STATIC | GS_MEMBER_VIRTUAL_BASE)))
		return false;
	at->id = m.type;
	at->type = gs_type_get(s->ti->types, gs_type_strip(s->ti->types, m.type));
	at->offset += bits / 8;
	return true;
}

/* "_M_impl._M_start": each name in the type of the one before, or in a base of it. */
static bool find(const struct shape *s, const char *path, struct part *out)
{
	const struct gs_type *in = s->t;
	struct part at = {0};

	for (;;) {
		size_t len = strcspn(path, ".");

		if (!enter(s, in, path, len, &at))
			return false;
		if (!path[len])
			break;
		path += len + 1;
		in = at.type;
	}
	if (at.offset > UINT32_MAX / 2)
		return false;
	*out = at;
	return true;
}

static bool find_pointer(const struct shape *s, const char *path, struct part *out)
{
	return find(s, path, out) && out->type->kind == GS_KIND_POINTER &&
	       out->type->byte_size == s->word;
}

static bool find_size(const struct shape *s, const char *path, struct part *out)
{
	return find(s, path, out) && out->type->kind == GS_KIND_INT &&
	       out->type->byte_size == s->word && !(out->type->flags & GS_TYPE_SIGNED);
}

/* ---- elements by template argument ---- */

/* The N-th type argument of a class template. */
static bool argument(Dwarf_Die *die, unsigned n, Dwarf_Die *param)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0)
		return false;
	do {
		if (dwarf_tag(&child) == DW_TAG_template_type_parameter && n-- == 0) {
			*param = child;
			return dwarf_hasattr(param, DW_AT_type);
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* The class of data member NAME. */
static bool member_class(Dwarf_Die *die, const char *name, Dwarf_Die *out)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0)
		return false;
	do {
		const char *own = dwarf_diename(&child);

		if (dwarf_tag(&child) != DW_TAG_member || !own || strcmp(own, name) != 0 ||
		    !gs_die_link(&child, DW_AT_type, out))
			continue;
		while (dwarf_tag(out) == DW_TAG_typedef)
			if (!gs_die_link(out, DW_AT_type, out))
				return false;
		return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

static uint64_t alignment(const struct shape *s, Dwarf_Die *die, unsigned depth);

static uint64_t members_alignment(const struct shape *s, Dwarf_Die *die, unsigned depth)
{
	uint64_t most = 1;
	Dwarf_Die child, type;

	if (dwarf_child(die, &child) != 0)
		return most;
	do {
		uint64_t align = 1;

		if (dwarf_tag(&child) != DW_TAG_member && dwarf_tag(&child) != DW_TAG_inheritance)
			continue;
		if (gs_die_flag(&child, DW_AT_external) || gs_die_flag(&child, DW_AT_declaration))
			continue;
		if (gs_die_link(&child, DW_AT_type, &type))
			align = alignment(s, &type, depth + 1);
		gs_die_number(&child, DW_AT_alignment, &align);
		if (!align)
			return 0;
		most = align > most ? align : most;
	} while (dwarf_siblingof(&child, &child) == 0);
	return most;
}

/* Of the type DIE by the ABI's rules; 0 when it cannot be told. */
static uint64_t alignment(const struct shape *s, Dwarf_Die *die, unsigned depth)
{
	uint64_t align = 0, size = 0;
	Dwarf_Die target;

	if (gs_die_number(die, DW_AT_alignment, &align) && align)
		return align;
	switch (dwarf_tag(die)) {
	case DW_TAG_typedef:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_array_type:
		if (depth >= ALIGN_DEPTH || !gs_die_link(die, DW_AT_type, &target))
			return 0;
		return alignment(s, &target, depth + 1);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		if (depth >= ALIGN_DEPTH || gs_die_flag(die, DW_AT_declaration))
			return 0;
		return members_alignment(s, die, depth);
	case DW_TAG_base_type:
	case DW_TAG_enumeration_type:
		/* i386 aligns 8-byte numbers in structures to 4. */
		if (!gs_die_number(die, DW_AT_byte_size, &size) || !size || size > 16 ||
		    (s->word == 4 && size > 4))
			return 0;
		return size;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_ptr_to_member_type:
		return s->word;
	default:
		return 0;
	}
}

/* The element by argument N of DIE, in nodes that begin with BASE bytes of links. */
static bool node_element(const struct shape *s, Dwarf_Die *die, unsigned n, uint64_t base,
			 struct gs_error **err)
{
	Dwarf_Die param, type;
	uint64_t align;

	if (!argument(die, n, &param) || !gs_die_link(&param, DW_AT_type, &type))
		return false;
	align = alignment(s, &type, 0);
	if (!align || (align & (align - 1)) || align > 4096)
		return false;
	s->t->container.payload = (uint32_t)((base + align - 1) / align * align);
	*err = gs_type_import_pointer(s->ti, &param, GS_KIND_POINTER, &s->t->target);
	return !*err;
}

/* ---- the kinds ---- */

typedef bool recogniser(const struct shape *s, struct gs_container *c, struct gs_error **err);

static bool in_array(const struct shape *s, struct gs_container *c, const struct part *data)
{
	c->data = (uint32_t)data->offset;
	s->t->target = gs_type_strip(s->ti->types, data->id);
	return true;
}

static bool is_string(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	struct part data, length;

	if (!find_pointer(s, "_M_dataplus._M_p", &data))
		return false;
	c->kind = GS_CONTAINER_STRING;
	c->form = GS_CONTENT_REP;
	c->flags = GS_CONTAINER_ENDED;
	if (find_size(s, "_M_string_length", &length)) {
		c->form = GS_CONTENT_COUNTED;
		c->length = (uint32_t)length.offset;
	} else if (s->t->byte_size != s->word) {
		return false;
	}
	return in_array(s, c, &data);
}

static bool is_view(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	struct part data, length;

	if (!find_pointer(s, "_M_str", &data) || !find_size(s, "_M_len", &length))
		return false;
	c->kind = GS_CONTAINER_STRING;
	c->form = GS_CONTENT_COUNTED;
	c->length = (uint32_t)length.offset;
	return in_array(s, c, &data);
}

static bool is_span(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	struct part data, length;

	if (!find_pointer(s, "_M_ptr", &data) ||
	    !find_size(s, "_M_extent._M_extent_value", &length))
		return false;
	c->kind = GS_CONTAINER_SEQUENCE;
	c->form = GS_CONTENT_COUNTED;
	c->length = (uint32_t)length.offset;
	return in_array(s, c, &data);
}

static bool is_vector(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	struct part data, end, capacity;

	if (!find_pointer(s, "_M_impl._M_start", &data) ||
	    !find_pointer(s, "_M_impl._M_finish", &end) ||
	    !find_pointer(s, "_M_impl._M_end_of_storage", &capacity))
		return false; /* also vector<bool>, whose ends are bit iterators */
	c->kind = GS_CONTAINER_SEQUENCE;
	c->form = GS_CONTENT_SPAN;
	c->flags = GS_CONTAINER_CAPACITY;
	c->length = (uint32_t)end.offset;
	c->capacity = (uint32_t)capacity.offset;
	return in_array(s, c, &data);
}

static bool is_list(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	struct part data, length;

	if (!find_pointer(s, "_M_impl._M_node._M_next", &data))
		return false;
	c->kind = GS_CONTAINER_SEQUENCE;
	c->form = GS_CONTENT_LIST;
	c->data = (uint32_t)data.offset;
	/* Without the number of nodes (the ABI before C++11) the end is not known. */
	if (!find_size(s, "_M_impl._M_node._M_size", &length))
		return false;
	c->flags = GS_CONTAINER_COUNTED | GS_CONTAINER_RING;
	c->length = (uint32_t)length.offset;
	return node_element(s, s->die, 0, 2 * s->word, err);
}

static bool is_forward_list(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	struct part data;

	if (!find_pointer(s, "_M_impl._M_head._M_next", &data))
		return false;
	c->kind = GS_CONTAINER_SEQUENCE;
	c->form = GS_CONTENT_LIST;
	c->data = (uint32_t)data.offset;
	return node_element(s, s->die, 0, s->word, err);
}

static bool tree(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	struct part root, length;
	Dwarf_Die impl;

	if (!find_pointer(s, "_M_t._M_impl._M_header._M_parent", &root) ||
	    !find_size(s, "_M_t._M_impl._M_node_count", &length) ||
	    !member_class(s->die, "_M_t", &impl))
		return false;
	c->form = GS_CONTENT_TREE;
	c->flags |= GS_CONTAINER_COUNTED;
	c->data = (uint32_t)root.offset;
	c->length = (uint32_t)length.offset;
	return node_element(s, &impl, 1, 4 * s->word, err);
}

static bool hash(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	struct part first, length;
	Dwarf_Die impl;

	if (!find_pointer(s, "_M_h._M_before_begin._M_nxt", &first) ||
	    !find_size(s, "_M_h._M_element_count", &length) || !member_class(s->die, "_M_h", &impl))
		return false;
	c->form = GS_CONTENT_LIST;
	c->flags |= GS_CONTAINER_COUNTED;
	c->data = (uint32_t)first.offset;
	c->length = (uint32_t)length.offset;
	return node_element(s, &impl, 1, s->word, err);
}

static bool is_map(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	c->kind = GS_CONTAINER_MAP;
	return tree(s, c, err);
}

static bool is_multimap(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	c->flags = GS_CONTAINER_MULTI;
	return is_map(s, c, err);
}

static bool is_set(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	c->kind = GS_CONTAINER_SET;
	return tree(s, c, err);
}

static bool is_hash_map(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	c->kind = GS_CONTAINER_MAP;
	return hash(s, c, err);
}

static bool is_hash_multimap(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	c->flags = GS_CONTAINER_MULTI;
	return is_hash_map(s, c, err);
}

static bool is_hash_set(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	c->kind = GS_CONTAINER_SET;
	return hash(s, c, err);
}

static bool point_at(const struct shape *s, gs_type_id id, struct gs_error **err)
{
	*err = gs_types_add(
		s->ti->types,
		&(struct gs_type){.kind = GS_KIND_POINTER, .target = id, .byte_size = s->word},
		&s->t->target);
	return !*err;
}

static bool is_optional(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	struct part value, engaged;

	if (!find(s, "_M_payload._M_payload._M_value", &value) ||
	    !find(s, "_M_payload._M_engaged", &engaged) || engaged.type->kind != GS_KIND_BOOL ||
	    engaged.type->byte_size != 1)
		return false;
	c->kind = GS_CONTAINER_OPTIONAL;
	c->data = (uint32_t)value.offset;
	c->length = (uint32_t)engaged.offset;
	return point_at(s, value.id, err);
}

static bool is_wrapped(const struct shape *s, const char *name, struct gs_container *c,
		       struct gs_error **err)
{
	struct part value;

	if (!find(s, name, &value))
		return false;
	c->kind = GS_CONTAINER_WRAPPER;
	c->data = (uint32_t)value.offset;
	return point_at(s, value.id, err);
}

static bool is_array(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	return is_wrapped(s, "_M_elems", c, err);
}

static bool is_adapter(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	return is_wrapped(s, "c", c, err);
}

/* The first element of a std::tuple: the bases hold them in reverse. */
static bool tuple_head(const struct shape *s, const struct gs_type *in, uint64_t offset,
		       unsigned depth, struct part *out)
{
	for (uint32_t i = 0; i < in->nmembers && depth < 8; i++) {
		const struct gs_member *m = &in->members[i];
		const struct gs_type *t =
			gs_type_get(s->ti->types, gs_type_strip(s->ti->types, m->type));
		const char *head = t->name ? strstr(t->name, "_Head_base<0") : NULL;
		struct part at = {.offset = offset + m->bit_offset / 8};

		if (!(m->flags & GS_MEMBER_BASE))
			continue;
		if (head) {
			*out = at;
			return enter(s, t, "_M_head_impl", 12, out);
		}
		if (t->name && strstr(t->name, "_Tuple_impl<0") &&
		    tuple_head(s, t, at.offset, depth + 1, out))
			return true;
	}
	return false;
}

static bool is_unique(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	struct part tuple, data;

	if (!find(s, "_M_t._M_t", &tuple) || !tuple_head(s, tuple.type, tuple.offset, 0, &data) ||
	    data.type->kind != GS_KIND_POINTER)
		return false;
	c->kind = GS_CONTAINER_POINTER;
	return in_array(s, c, &data);
}

static bool is_shared(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	struct part data, count;

	if (!find_pointer(s, "_M_ptr", &data) || !find_pointer(s, "_M_refcount._M_pi", &count))
		return false;
	c->kind = GS_CONTAINER_POINTER;
	return in_array(s, c, &data);
}

/* ---- Rust ---- */

/* The raw pointer at the bottom of a Vec's buffer. */
static bool rust_pointer(const struct shape *s, const char *path, struct part *out)
{
	static const char *const ways[] = {"buf.inner.ptr.pointer.pointer",
					   "buf.ptr.pointer.pointer", "buf.inner.ptr.pointer",
					   "buf.ptr.pointer"};

	for (size_t i = 0; i < GS_ARRAY_SIZE(ways); i++) {
		char way[80];

		snprintf(way, sizeof(way), "%s%s", path, ways[i]);
		if (find_pointer(s, way, out))
			return true;
	}
	return false;
}

static bool is_rust_string(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	struct part data, length;

	if (!rust_pointer(s, "vec.", &data) || !find_size(s, "vec.len", &length))
		return false;
	c->kind = GS_CONTAINER_STRING;
	c->form = GS_CONTENT_COUNTED;
	c->length = (uint32_t)length.offset;
	return in_array(s, c, &data);
}

static bool is_rust_vec(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	struct part data, length;
	Dwarf_Die param;

	if (!rust_pointer(s, "", &data) || !find_size(s, "len", &length) ||
	    !argument(s->die, 0, &param))
		return false;
	c->kind = GS_CONTAINER_SEQUENCE;
	c->form = GS_CONTENT_COUNTED;
	c->data = (uint32_t)data.offset;
	c->length = (uint32_t)length.offset;
	/* The buffer is one of bytes in newer versions: the argument says of what. */
	*err = gs_type_import_pointer(s->ti, &param, GS_KIND_POINTER, &s->t->target);
	return !*err;
}

static bool is_rust_slice(const struct shape *s, struct gs_container *c, struct gs_error **err)
{
	struct part data, length;

	if (!find_pointer(s, "data_ptr", &data) || !find_size(s, "length", &length))
		return false;
	c->kind = strcmp(s->t->name, "&str") == 0 || strcmp(s->t->name, "&mut str") == 0
			  ? GS_CONTAINER_STRING
			  : GS_CONTAINER_SEQUENCE;
	c->form = GS_CONTENT_COUNTED;
	c->length = (uint32_t)length.offset;
	return in_array(s, c, &data);
}

/* ---- by name ---- */

/* Inline namespaces of ABIs are taken off; a name ends where template arguments begin. */
static const struct {
	const char *name;
	recogniser *recognise;
} library[] = {
	{"std::basic_string", is_string},
	{"std::basic_string_view", is_view},
	{"std::span", is_span},
	{"std::vector", is_vector},
	{"std::array", is_array},
	{"std::list", is_list},
	{"std::forward_list", is_forward_list},
	{"std::map", is_map},
	{"std::multimap", is_multimap},
	{"std::set", is_set},
	{"std::multiset", is_set},
	{"std::unordered_map", is_hash_map},
	{"std::unordered_multimap", is_hash_multimap},
	{"std::unordered_set", is_hash_set},
	{"std::unordered_multiset", is_hash_set},
	{"std::optional", is_optional},
	{"std::stack", is_adapter},
	{"std::queue", is_adapter},
	{"std::priority_queue", is_adapter},
	{"std::unique_ptr", is_unique},
	{"std::shared_ptr", is_shared},
	{"std::weak_ptr", is_shared},
	{"alloc::string::String", is_rust_string},
	{"alloc::vec::Vec", is_rust_vec},
	{"&str", is_rust_slice},
	{"&mut str", is_rust_slice},
};

static recogniser *recogniser_of(const char *name)
{
	static const char abi[] = "std::__cxx11::";
	const char *rest = name;
	char plain[64] = "";

	if (strncmp(name, abi, sizeof(abi) - 1) == 0) {
		memcpy(plain, "std::", 5);
		rest = name + sizeof(abi) - 1;
	}
	if (strncmp(name, "&[", 2) == 0 || strncmp(name, "&mut [", 6) == 0)
		return is_rust_slice;
	size_t at = strlen(plain), len = strcspn(rest, "<");

	if (at + len >= sizeof(plain))
		return NULL;
	memcpy(plain + at, rest, len);
	plain[at + len] = '\0';
	for (size_t i = 0; i < GS_ARRAY_SIZE(library); i++)
		if (strcmp(library[i].name, plain) == 0)
			return library[i].recognise;
	return NULL;
}

struct gs_error *gs_type_recognise(struct gs_type_import *ti, Dwarf_Die *die, struct gs_type *t)
{
	struct shape s = {ti, die, t, ti->m->info.pointer_size};
	recogniser *recognise =
		t->name && t->byte_size && !ti->m->info.big_endian ? recogniser_of(t->name) : NULL;
	struct gs_container c = {0};
	struct gs_error *err = NULL;
	bool known;

	if (!recognise || ti->m->opener.raw_containers)
		return NULL;
	t->container = c;
	known = recognise(&s, &c, &err);
	if (err) {
		/* What its elements are cannot be told: it is shown as a structure. */
		gs_error_free(err);
		known = false;
	}
	c.payload = t->container.payload;
	t->container = known ? c : (struct gs_container){0};
	if (!known)
		t->target = GS_TYPE_VOID;
	return NULL;
}
