/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Structures, unions, classes and enumerations from DWARF: members, bit-fields in all their forms,
 * bases. The part of dwarf_type.c that knows about layouts.
 */
#include "record/dwarf_find.h"
#include "record/dwarf_type.h"

#define MEMBERS_MAX 65536

/* In C a tag is named with its keyword; gdb knows by the unit's language, and so does this. */
uint32_t gs_type_language_flags(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return 0;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b: /* DW_LANG_C_plus_plus_17, which older headers lack */
	case 0x2c: /* DW_LANG_C_plus_plus_20 */
	case DW_LANG_Rust:
	case DW_LANG_D:
		return GS_TYPE_NO_TAG;
	default:
		return 0;
	}
}

/* ---- enumerations ---- */

bool gs_enumerator_value(Dwarf_Attribute *attr, Dwarf_Sword *value)
{
	Dwarf_Word word;

	switch (dwarf_whatform(attr)) {
	case DW_FORM_sdata:
	case DW_FORM_implicit_const:
		return dwarf_formsdata(attr, value) == 0;
	default: /* data1 to data8: gcc means them unsigned */
		if (dwarf_formudata(attr, &word) != 0)
			return false;
		*value = (Dwarf_Sword)word;
		return true;
	}
}

/* As gdb: every value is zero or disjoint from the others, and none is negative; one single bit
 * each. */
static bool is_flag_enum(const struct gs_enumerator *e, size_t n)
{
	uint64_t seen = 0;
	size_t nflags = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t v = (uint64_t)e[i].value;

		if (e[i].value < 0)
			return false;
		if (v == 0)
			continue;
		if ((v & (v - 1)) || (seen & v))
			return false;
		seen |= v;
		nflags++;
	}
	return nflags > 0;
}

static bool find_definition(struct gs_module *m, Dwarf_Die *die, Dwarf_Die *out);

struct gs_error *gs_type_import_enum(struct gs_type_import *ti, Dwarf_Die *die, const char *name,
				     int depth, gs_type_id *id)
{
	Dwarf_Die definition;

	struct gs_type t = {.kind = GS_KIND_ENUM, .name = name};
	struct gs_enumerator *list GS_CLEANUP_FREE = NULL;
	size_t n = 0, cap = 0;
	Dwarf_Die child;
	bool has_negative = false;

	if ((gs_die_flag(die, DW_AT_declaration) || dwarf_hasattr(die, DW_AT_signature)) &&
	    find_definition(ti->m, die, &definition) && definition.addr != die->addr &&
	    dwarf_tag(&definition) == DW_TAG_enumeration_type)
		return gs_type_import_die(ti, &definition, depth + 1, id);
	gs_die_number(die, DW_AT_byte_size, &t.byte_size);
	if (gs_die_flag(die, DW_AT_declaration))
		t.flags |= GS_TYPE_INCOMPLETE;
	t.flags |= gs_type_language_flags(die);
	if (gs_die_flag(die, DW_AT_enum_class))
		t.flags |= GS_TYPE_ENUM_CLASS;
	GS_TRY(gs_type_import_target(ti, die, depth, &t.target));
	if (t.byte_size == 0 && t.target)
		t.byte_size = gs_type_size(ti->types, t.target);
	/* A declaration without its size must not be read as if it had one. */
	if (t.byte_size == 0 && (t.flags & GS_TYPE_INCOMPLETE))
		return gs_types_add(
			ti->types,
			&(struct gs_type){.kind = GS_KIND_STRUCT, .flags = t.flags, .name = name},
			id);
	if (t.byte_size == 0)
		t.byte_size = 4;
	if (dwarf_child(die, &child) == 0) {
		do {
			Dwarf_Attribute attr;
			Dwarf_Sword value;
			const char *label = gs_type_member_name(ti, dwarf_diename(&child));

			if (dwarf_tag(&child) != DW_TAG_enumerator || !label || n >= MEMBERS_MAX ||
			    !dwarf_attr(&child, DW_AT_const_value, &attr) ||
			    !gs_enumerator_value(&attr, &value))
				continue;
			has_negative |= value < 0;
			*GS_PUSH(list, n, cap) = (struct gs_enumerator){label, value};
		} while (dwarf_siblingof(&child, &child) == 0);
	}
	if (!t.target && has_negative)
		t.flags |= GS_TYPE_SIGNED;
	if (is_flag_enum(list, n))
		t.flags |= GS_TYPE_FLAG_ENUM;
	t.enumerators = list;
	t.nenumerators = (uint32_t)n;
	return gs_types_add(ti->types, &t, id);
}

/* ---- members ---- */

/* DW_AT_data_member_location: a constant, or (DWARF 2) "plus_uconst n" on the address of the
 * object. */
static bool member_offset(Dwarf_Die *die, uint64_t *bytes)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	*bytes = 0;
	if (!dwarf_attr(die, DW_AT_data_member_location, &attr))
		return true;
	if (gs_die_number(die, DW_AT_data_member_location, bytes))
		return true;
	if (dwarf_getlocation(&attr, &ops, &n) != 0 || n != 1 || ops[0].atom != DW_OP_plus_uconst)
		return false;
	*bytes = ops[0].number;
	return true;
}

/*
 * A virtual base is found through the virtual table at the class's first word: dup, deref, N,
 * minus, deref, plus (gcc and clang). N in bytes, or 0 for anything else.
 */
static uint64_t virtual_base_place(Dwarf_Die *die)
{
	static const uint8_t shape[] = {DW_OP_dup,   DW_OP_deref, 0,
					DW_OP_minus, DW_OP_deref, DW_OP_plus};
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	uint64_t bytes = 0;

	if (!dwarf_attr(die, DW_AT_data_member_location, &attr) ||
	    dwarf_getlocation(&attr, &ops, &n) != 0 || n != sizeof(shape))
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (shape[i] && ops[i].atom != shape[i])
			return 0;
		if (shape[i])
			continue;
		if (ops[i].atom >= DW_OP_lit0 && ops[i].atom <= DW_OP_lit31)
			bytes = ops[i].atom - DW_OP_lit0;
		else if (ops[i].atom >= DW_OP_const1u && ops[i].atom <= DW_OP_consts)
			bytes = ops[i].number;
		else
			return 0;
	}
	return bytes <= (1u << 20) ? bytes : 0;
}

static bool place_bit_field(struct gs_type_import *ti, Dwarf_Die *die, struct gs_member *m)
{
	uint64_t bits = 0, at = 0, bytes = 0, unit = 0;

	if (!gs_die_number(die, DW_AT_bit_size, &bits) || bits == 0 || bits > 128)
		return false;
	m->bit_size = (uint32_t)bits;
	if (gs_die_number(die, DW_AT_data_bit_offset, &at)) {
		m->bit_offset = at;
		return true;
	}
	if (!member_offset(die, &bytes) || bytes > (1u << 30))
		return false;
	m->bit_offset = bytes * 8;
	if (!gs_die_number(die, DW_AT_bit_offset, &at))
		return true;
	/* DWARF 2 and 3 count from the most significant bit of a unit of storage. */
	if (!gs_die_number(die, DW_AT_byte_size, &unit))
		unit = gs_type_size(ti->types, m->type);
	if (ti->m->info.big_endian)
		m->bit_offset += at;
	else
		m->bit_offset += unit * 8 - at - bits;
	return m->bit_offset < (1ull << 34);
}

static struct gs_error *import_member(struct gs_type_import *ti, Dwarf_Die *die, int depth,
				      struct gs_member *m)
{
	uint64_t bytes;

	*m = (struct gs_member){.name = gs_type_member_name(ti, dwarf_diename(die))};
	if (gs_die_flag(die, DW_AT_artificial))
		m->flags |= GS_MEMBER_ARTIFICIAL;
	GS_TRY(gs_type_import_target(ti, die, depth, &m->type));
	if (dwarf_tag(die) == DW_TAG_inheritance) {
		uint64_t virtuality = 0;

		m->flags |= GS_MEMBER_BASE;
		m->name = gs_type_get(ti->types, gs_type_strip(ti->types, m->type))->name;
		gs_die_number(die, DW_AT_virtuality, &virtuality);
		if (virtuality == DW_VIRTUALITY_virtual) {
			m->flags |= GS_MEMBER_VIRTUAL_BASE;
			m->bit_offset = virtual_base_place(die) * 8;
			return NULL;
		}
	}
	if (dwarf_hasattr(die, DW_AT_bit_size) && place_bit_field(ti, die, m))
		return NULL;
	if (!member_offset(die, &bytes) || bytes > UINT64_MAX / 8)
		return gs_error_new(GS_ERR_UNSUPPORTED, "member %s has a computed offset",
				    m->name ? m->name : "without name");
	m->bit_offset = bytes * 8;
	return NULL;
}

/* Virtual-table pointers are not marked artificial by gcc. */
static bool is_vtable_pointer(const char *name)
{
	return name && (strncmp(name, "_vptr.", 6) == 0 || strncmp(name, "_vptr$", 6) == 0);
}

static bool is_data_member(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	/* Static members have no storage here. */
	return tag == DW_TAG_inheritance ||
	       (tag == DW_TAG_member && !gs_die_flag(die, DW_AT_declaration) &&
		!gs_die_flag(die, DW_AT_external));
}

struct member_list {
	struct gs_member *list;
	size_t n, cap;
	struct gs_enumerator *values; /* of variants */
	size_t nvalues, values_cap;
};

static struct gs_error *no_variants(const char *why)
{
	return gs_error_new(GS_ERR_UNSUPPORTED, "a variant part %s", why);
}

/* The one member of a variant, and the discriminant's value for it. */
static struct gs_error *import_variant(struct gs_type_import *ti, Dwarf_Die *die, int depth,
				       struct member_list *to)
{
	Dwarf_Attribute attr;
	Dwarf_Sword value;
	Dwarf_Die child, member;
	unsigned n = 0;
	struct gs_member m;

	if (dwarf_hasattr(die, DW_AT_discr_list))
		return no_variants("with ranges");
	if (dwarf_child(die, &child) == 0)
		do {
			if (dwarf_tag(&child) == DW_TAG_member && n++ == 0)
				member = child;
		} while (dwarf_siblingof(&child, &child) == 0);
	if (n != 1 || to->n >= MEMBERS_MAX)
		return no_variants("whose variants are not one member each");
	GS_TRY(import_member(ti, &member, depth, &m));
	if (!m.name || m.bit_size)
		return no_variants("with variants that have no name");
	m.flags |= GS_MEMBER_VARIANT;
	*GS_PUSH(to->list, to->n, to->cap) = m;
	if (!dwarf_attr(die, DW_AT_discr_value, &attr))
		return NULL;
	if (!gs_enumerator_value(&attr, &value))
		return no_variants("with values of more than 64 bits");
	*GS_PUSH(to->values, to->nvalues, to->values_cap) = (struct gs_enumerator){m.name, value};
	return NULL;
}

/* Rust: what the aggregate holds, a discriminant tells. */
static struct gs_error *import_variants(struct gs_type_import *ti, Dwarf_Die *die, int depth,
					struct member_list *to)
{
	Dwarf_Die discriminant, child;
	struct gs_member m;

	if (gs_die_link(die, DW_AT_discr, &discriminant)) {
		GS_TRY(import_member(ti, &discriminant, depth, &m));
		if (gs_type_size(ti->types, m.type) > 8)
			return no_variants("told by more than 64 bits");
		m.name = "__discriminant";
		m.flags |= GS_MEMBER_DISCRIMINANT | GS_MEMBER_ARTIFICIAL;
		*GS_PUSH(to->list, to->n, to->cap) = m;
	}
	if (dwarf_child(die, &child) != 0)
		return NULL;
	do
		if (dwarf_tag(&child) == DW_TAG_variant)
			GS_TRY(import_variant(ti, &child, depth, to));
	while (dwarf_siblingof(&child, &child) == 0);
	return NULL;
}

static struct gs_error *import_children(struct gs_type_import *ti, Dwarf_Die *die, int depth,
					struct member_list *to)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0)
		return NULL;
	do {
		struct gs_member m;

		if (dwarf_tag(&child) == DW_TAG_variant_part)
			GS_TRY(import_variants(ti, &child, depth, to));
		if (!is_data_member(&child) || to->n >= MEMBERS_MAX)
			continue;
		GS_TRY(import_member(ti, &child, depth, &m));
		if (is_vtable_pointer(m.name))
			m.flags |= GS_MEMBER_ARTIFICIAL;
		*GS_PUSH(to->list, to->n, to->cap) = m;
	} while (dwarf_siblingof(&child, &child) == 0);
	return NULL;
}

static struct gs_error *import_members(struct gs_type_import *ti, Dwarf_Die *die, int depth,
				       struct gs_type *t)
{
	struct member_list got = {0};
	struct gs_error *err = import_children(ti, die, depth, &got);

	t->members = gs_arena_memdup(&ti->m->arena, got.list, got.n * sizeof(*got.list));
	t->nmembers = (uint32_t)got.n;
	if (got.nvalues)
		t->enumerators = gs_arena_memdup(&ti->m->arena, got.values,
						 got.nvalues * sizeof(*got.values));
	t->nenumerators = (uint32_t)got.nvalues;
	free(got.list);
	free(got.values);
	return err;
}

/* ---- declarations ---- */

static bool same_shape(Dwarf_Die *a, Dwarf_Die *b)
{
	uint64_t x = 0, y = 0;
	int line_a = 0, line_b = 0;

	gs_die_number(a, DW_AT_byte_size, &x);
	gs_die_number(b, DW_AT_byte_size, &y);
	dwarf_decl_line(a, &line_a);
	dwarf_decl_line(b, &line_b);
	return x == y && line_a == line_b;
}

/*
 * The definition of what is only declared here: in a type unit by its signature, else by name
 * anywhere in the module. Where units define different types of that name, none of them is certain.
 */
static bool find_definition(struct gs_module *m, Dwarf_Die *die, Dwarf_Die *out)
{
	const char *name = dwarf_diename(die), *qualified;
	const struct gs_index_entry *e;
	bool found = false;

	if (gs_die_link(die, DW_AT_signature, out))
		return true;
	if (!name)
		return false;
	qualified = gs_qualified_name(m, die);
	for (e = gs_index_first(m, name, gs_name_base_len(name)); e; e = gs_index_next(m, e)) {
		Dwarf_Die candidate;
		int tag;

		if (e->kind != GS_INDEX_TYPE || !gs_ref_die(m, e->ref, &candidate))
			continue;
		tag = dwarf_tag(&candidate);
		if ((tag == DW_TAG_union_type) != (dwarf_tag(die) == DW_TAG_union_type) ||
		    (tag == DW_TAG_enumeration_type) !=
			    (dwarf_tag(die) == DW_TAG_enumeration_type) ||
		    (tag != DW_TAG_enumeration_type && tag != DW_TAG_structure_type &&
		     tag != DW_TAG_class_type && tag != DW_TAG_union_type) ||
		    strcmp(gs_qualified_name(m, &candidate), qualified) != 0)
			continue;
		if (found && !same_shape(out, &candidate))
			return false;
		*out = candidate;
		found = true;
	}
	return found;
}

struct gs_error *gs_type_import_aggregate(struct gs_type_import *ti, Dwarf_Die *die,
					  const char *name, int depth, gs_type_id *id)
{
	struct gs_type t = {.name = name};
	Dwarf_Die definition;

	switch (dwarf_tag(die)) {
	case DW_TAG_union_type:
		t.kind = GS_KIND_UNION;
		break;
	case DW_TAG_class_type:
		t.kind = GS_KIND_CLASS;
		break;
	default:
		t.kind = GS_KIND_STRUCT;
	}
	t.flags = gs_type_language_flags(die);
	if (gs_die_flag(die, DW_AT_declaration) || dwarf_hasattr(die, DW_AT_signature)) {
		if (find_definition(ti->m, die, &definition) && definition.addr != die->addr)
			return gs_type_import_die(ti, &definition, depth + 1, id);
		t.flags |= GS_TYPE_INCOMPLETE;
		return gs_types_add(ti->types, &t, id);
	}
	gs_die_number(die, DW_AT_byte_size, &t.byte_size);
	GS_TRY(import_members(ti, die, depth, &t));
	GS_TRY(gs_type_recognise(ti, die, &t));
	return gs_types_add(ti->types, &t, id);
}
