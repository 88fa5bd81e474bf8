/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One unit's entries into the index through libdw: of split units, and of those whose form the
 * scanner does not read. Beside dwarf_walk.c, which says what is of interest; a test compares both.
 */
#include "record/dwarf_units.h"

struct place_in_tree {
	gs_ref parent; /* scope for names */
	gs_ref outer;  /* out-of-line function around it */
	bool in_function;
	int depth;
};

static void walk_children(struct gs_walk *w, Dwarf_Die *die, struct place_in_tree at);

static const char *string_of(Dwarf_Die *die, unsigned at)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, at, &attr) ? dwarf_formstring(&attr) : NULL;
}

static void add_ranges(struct gs_walk *w, Dwarf_Die *die, gs_ref ref)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0)
		gs_walk_range(w, ref, low, high);
}

static void add_instance(struct gs_walk *w, Dwarf_Die *origin, gs_ref ref, gs_ref outer)
{
	*GS_PUSH(w->instances, w->ninstances, w->instances_cap) =
		(struct gs_instance){gs_ref_of(w->m, origin), ref, outer};
}

static void walk_function(struct gs_walk *w, Dwarf_Die *die, struct place_in_tree at)
{
	gs_ref ref = gs_ref_of(w->m, die);
	Dwarf_Die link;
	const char *name = string_of(die, DW_AT_name), *linkage;
	uint8_t flags = 0;

	if (gs_die_flag(die, DW_AT_declaration))
		flags |= GS_INDEX_DECLARATION;
	if (gs_die_flag(die, DW_AT_external))
		flags |= GS_INDEX_EXTERNAL;
	if (gs_die_link(die, DW_AT_abstract_origin, &link)) {
		add_instance(w, &link, ref, ref);
	} else {
		if (!name && gs_die_link(die, DW_AT_specification, &link))
			name = dwarf_diename(&link);
		/* Declarations outside of classes and namespaces are nothing but noise. */
		if (name && (!(flags & GS_INDEX_DECLARATION) || at.parent))
			gs_walk_entry(w, ref, at.parent, name, GS_INDEX_FUNCTION, flags);
		linkage = string_of(die, DW_AT_linkage_name);
		if (linkage && name && strcmp(linkage, name) != 0)
			gs_walk_entry(w, ref, at.parent, linkage, GS_INDEX_FUNCTION,
				      flags | GS_INDEX_LINKAGE);
	}
	add_ranges(w, die, ref);
	at.parent = ref;
	at.outer = ref;
	at.in_function = true;
	walk_children(w, die, at);
}

static void walk_variable(struct gs_walk *w, Dwarf_Die *die, struct place_in_tree at)
{
	const char *name = string_of(die, DW_AT_name);
	uint8_t flags = 0;
	Dwarf_Die link;

	if (at.in_function)
		return;
	if (!name && gs_die_link(die, DW_AT_specification, &link))
		name = dwarf_diename(&link);
	if (gs_die_flag(die, DW_AT_declaration))
		flags |= GS_INDEX_DECLARATION;
	if (gs_die_flag(die, DW_AT_external))
		flags |= GS_INDEX_EXTERNAL;
	if (name)
		gs_walk_entry(w, gs_ref_of(w->m, die), at.parent, name, GS_INDEX_VARIABLE, flags);
}

static void walk_type(struct gs_walk *w, Dwarf_Die *die, int tag, struct place_in_tree at)
{
	const char *name = string_of(die, DW_AT_name);
	gs_ref ref = gs_ref_of(w->m, die);
	bool is_declaration = gs_die_flag(die, DW_AT_declaration);
	Dwarf_Die link;

	if (!name && gs_die_link(die, DW_AT_specification, &link))
		name = dwarf_diename(&link);
	/* Types of functions are found through their scopes, unless they hold functions (lambdas).
	 */
	if (!is_declaration && name && !at.in_function)
		gs_walk_entry(w, ref, at.parent, name, GS_INDEX_TYPE, 0);
	else if (dwarf_haschildren(die) > 0 && tag != DW_TAG_enumeration_type)
		gs_walk_entry(w, ref, at.parent, NULL, GS_INDEX_SCOPE, 0);
	if (tag == DW_TAG_typedef || tag == DW_TAG_base_type || tag == DW_TAG_unspecified_type)
		return;
	if (tag != DW_TAG_enumeration_type || gs_die_flag(die, DW_AT_enum_class))
		at.parent = ref;
	walk_children(w, die, at);
}

static void walk_die(struct gs_walk *w, Dwarf_Die *die, struct place_in_tree at)
{
	int tag = dwarf_tag(die);
	Dwarf_Die link;

	switch (tag) {
	case DW_TAG_subprogram:
		walk_function(w, die, at);
		break;
	case DW_TAG_inlined_subroutine:
		if (gs_die_link(die, DW_AT_abstract_origin, &link))
			add_instance(w, &link, gs_ref_of(w->m, die), at.outer);
		walk_children(w, die, at);
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		walk_children(w, die, at);
		break;
	case DW_TAG_namespace:
	case DW_TAG_module:
		gs_walk_entry(w, gs_ref_of(w->m, die), at.parent, NULL, GS_INDEX_SCOPE, 0);
		at.parent = gs_ref_of(w->m, die);
		walk_children(w, die, at);
		break;
	case DW_TAG_variable:
	case DW_TAG_constant:
		walk_variable(w, die, at);
		break;
	case DW_TAG_member: /* static members, before DWARF 5 */
		if (gs_die_flag(die, DW_AT_declaration))
			walk_variable(w, die, at);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_typedef:
	case DW_TAG_base_type:
	case DW_TAG_unspecified_type:
		walk_type(w, die, tag, at);
		break;
	case DW_TAG_enumerator:
		if (!at.in_function)
			gs_walk_entry(w, gs_ref_of(w->m, die), at.parent,
				      string_of(die, DW_AT_name), GS_INDEX_ENUMERATOR, 0);
		break;
	}
}

static void walk_children(struct gs_walk *w, Dwarf_Die *die, struct place_in_tree at)
{
	Dwarf_Die child;

	if (++at.depth > GS_DIE_DEPTH_MAX || dwarf_child(die, &child) != 0)
		return;
	do
		walk_die(w, &child, at);
	while (dwarf_siblingof(&child, &child) == 0);
}

void gs_walk_libdw(struct gs_walk *w, Dwarf_Die *top)
{
	walk_children(w, top, (struct place_in_tree){0});
}
