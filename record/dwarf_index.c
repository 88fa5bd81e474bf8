/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The index of a module's debug information: one pass over its entries that keeps hashes and
 * numbers. Names, places and types are found through it; nothing is read from entries that nobody
 * asks for.
 */
#include "record/dwarf_internal.h"

/* ---- entries by number ---- */

static uint32_t file_of(struct gs_module *m, Dwarf_CU *cu)
{
	Dwarf *dw = dwarf_cu_getdwarf(cu);
	Dwarf_Half version = 0;
	uint8_t type = 0;
	bool is_types;

	/* Type units of DWARF 4 have a section of their own. */
	dwarf_cu_info(cu, &version, &type, NULL, NULL, NULL, NULL, NULL);
	is_types = version < 5 && type == DW_UT_type;
	for (size_t i = 1; i < m->nfiles; i++)
		if (m->files[i].dw == dw && m->files[i].is_types == is_types)
			return (uint32_t)i;
	if (m->nfiles == 0)
		(void)GS_PUSH(m->files, m->nfiles, m->files_cap);
	if (m->nfiles >= GS_REF_FILES_MAX)
		return 0;
	*GS_PUSH(m->files, m->nfiles, m->files_cap) = (struct gs_debug_file){dw, is_types};
	return (uint32_t)m->nfiles - 1;
}

gs_ref gs_ref_of(struct gs_module *m, Dwarf_Die *die)
{
	uint64_t offset = dwarf_dieoffset(die);

	if (!die->cu || offset >> GS_REF_FILE_SHIFT)
		return 0;
	return (uint64_t)file_of(m, die->cu) << GS_REF_FILE_SHIFT | offset;
}

bool gs_ref_die(const struct gs_module *m, gs_ref ref, Dwarf_Die *die)
{
	size_t file = ref >> GS_REF_FILE_SHIFT;
	Dwarf_Off offset = ref & ((1ull << GS_REF_FILE_SHIFT) - 1);

	if (file == 0 || file >= m->nfiles)
		return false;
	return m->files[file].is_types ? dwarf_offdie_types(m->files[file].dw, offset, die) != NULL
				       : dwarf_offdie(m->files[file].dw, offset, die) != NULL;
}

bool gs_die_flag(Dwarf_Die *die, unsigned at)
{
	Dwarf_Attribute attr;
	bool flag = false;

	return dwarf_attr(die, at, &attr) && dwarf_formflag(&attr, &flag) == 0 && flag;
}

bool gs_die_link(Dwarf_Die *die, unsigned at, Dwarf_Die *out)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, at, &attr) && dwarf_formref_die(&attr, out) != NULL;
}

static bool begins_cold_part(const struct gs_module *m, uint64_t addr)
{
	const struct gs_symbol *s = gs_symbol_at(m, addr);

	return s && s->addr == addr && strstr(s->name, ".cold");
}

bool gs_die_entry(const struct gs_module *m, Dwarf_Die *die, uint64_t *entry)
{
	Dwarf_Addr base, low, high, first = 0;
	ptrdiff_t offset = 0;
	bool any = false;

	if (dwarf_entrypc(die, &low) == 0) {
		*entry = low;
		return true;
	}
	while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
		if (!begins_cold_part(m, low)) {
			*entry = low;
			return true;
		}
		if (!any)
			first = low;
		any = true;
	}
	if (any)
		*entry = first;
	return any;
}

/* ---- the walk ---- */

struct walk {
	struct gs_module *m;
	struct gs_index *index;
};
struct place_in_tree {
	gs_ref parent; /* scope for names */
	gs_ref outer;  /* out-of-line function around it */
	bool in_function;
	int depth;
};

static void walk_children(struct walk *w, Dwarf_Die *die, struct place_in_tree at);

static const char *string_of(Dwarf_Die *die, unsigned at)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, at, &attr) ? dwarf_formstring(&attr) : NULL;
}

static void add_entry(struct walk *w, gs_ref ref, gs_ref parent, const char *name, uint8_t kind,
		      uint8_t flags)
{
	struct gs_index *x = w->index;
	struct gs_index_entry *e;

	if (!ref)
		return;
	e = GS_PUSH(x->entries, x->nentries, x->entries_cap);
	e->ref = ref;
	e->parent = parent;
	e->kind = kind;
	e->flags = flags;
	if (name)
		e->hash = (uint32_t)gs_hash(
			name, flags & GS_INDEX_LINKAGE ? strlen(name) : gs_name_base_len(name), 0);
}

static void add_ranges(struct walk *w, Dwarf_Die *die, gs_ref ref)
{
	struct gs_index *x = w->index;
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0)
		/* Functions that the linker dropped are left at 0 or at its tombstone. */
		if (high > low && gs_elf_is_executable(w->m, low))
			*GS_PUSH(x->ranges, x->nranges, x->ranges_cap) =
				(struct gs_code_range){low, high, ref};
}

static void add_instance(struct walk *w, Dwarf_Die *origin, gs_ref ref, gs_ref outer)
{
	struct gs_index *x = w->index;

	*GS_PUSH(x->instances, x->ninstances, x->instances_cap) =
		(struct gs_instance){gs_ref_of(w->m, origin), ref, outer};
}

static void walk_function(struct walk *w, Dwarf_Die *die, struct place_in_tree at)
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
			add_entry(w, ref, at.parent, name, GS_INDEX_FUNCTION, flags);
		linkage = string_of(die, DW_AT_linkage_name);
		if (linkage && name && strcmp(linkage, name) != 0)
			add_entry(w, ref, at.parent, linkage, GS_INDEX_FUNCTION,
				  flags | GS_INDEX_LINKAGE);
	}
	add_ranges(w, die, ref);
	at.parent = ref;
	at.outer = ref;
	at.in_function = true;
	walk_children(w, die, at);
}

static void walk_variable(struct walk *w, Dwarf_Die *die, struct place_in_tree at)
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
		add_entry(w, gs_ref_of(w->m, die), at.parent, name, GS_INDEX_VARIABLE, flags);
}

static void walk_type(struct walk *w, Dwarf_Die *die, int tag, struct place_in_tree at)
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
		add_entry(w, ref, at.parent, name, GS_INDEX_TYPE, 0);
	else if (dwarf_haschildren(die) > 0 && tag != DW_TAG_enumeration_type)
		add_entry(w, ref, at.parent, NULL, GS_INDEX_SCOPE, 0);
	if (tag == DW_TAG_typedef || tag == DW_TAG_base_type || tag == DW_TAG_unspecified_type)
		return;
	if (tag != DW_TAG_enumeration_type || gs_die_flag(die, DW_AT_enum_class))
		at.parent = ref;
	walk_children(w, die, at);
}

static void walk_die(struct walk *w, Dwarf_Die *die, struct place_in_tree at)
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
		add_entry(w, gs_ref_of(w->m, die), at.parent, NULL, GS_INDEX_SCOPE, 0);
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
			add_entry(w, gs_ref_of(w->m, die), at.parent, string_of(die, DW_AT_name),
				  GS_INDEX_ENUMERATOR, 0);
		break;
	}
}

static void walk_children(struct walk *w, Dwarf_Die *die, struct place_in_tree at)
{
	Dwarf_Die child;

	if (++at.depth > GS_DIE_DEPTH_MAX || dwarf_child(die, &child) != 0)
		return;
	do
		walk_die(w, &child, at);
	while (dwarf_siblingof(&child, &child) == 0);
}

/* ---- building ---- */

static int compare_entries(const void *pa, const void *pb)
{
	const struct gs_index_entry *a = pa, *b = pb;

	if (a->ref != b->ref)
		return a->ref < b->ref ? -1 : 1;
	return (a->flags & GS_INDEX_LINKAGE) - (b->flags & GS_INDEX_LINKAGE);
}

static int compare_instances(const void *pa, const void *pb)
{
	const struct gs_instance *a = pa, *b = pb;

	if (a->origin != b->origin)
		return a->origin < b->origin ? -1 : 1;
	return a->die < b->die ? -1 : a->die > b->die;
}

static int compare_ranges(const void *pa, const void *pb)
{
	const struct gs_code_range *a = pa, *b = pb;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return a->high < b->high ? -1 : a->high > b->high;
}

static void hash_entries(struct gs_index *x)
{
	x->nheads = 1024;
	while (x->nheads < x->nentries)
		x->nheads *= 2;
	x->heads = gs_calloc(x->nheads, sizeof(*x->heads));
	for (size_t i = x->nentries; i-- > 0;) {
		struct gs_index_entry *e = &x->entries[i];
		uint32_t *head = &x->heads[e->hash & (x->nheads - 1)];

		if (e->kind == GS_INDEX_SCOPE)
			continue;
		e->next = *head;
		*head = (uint32_t)i + 1;
	}
}

static void walk_unit(struct walk *w, Dwarf_Die *die, Dwarf_Die *sub, uint8_t type)
{
	struct gs_module *m = w->m;
	Dwarf_Die *top = type == DW_UT_skeleton && sub->cu ? sub : die;
	struct gs_unit *unit = GS_PUSH(m->units, m->nunits, m->units_cap);
	size_t before = w->index->nranges;

	unit->die = *top;
	unit->line_die = *die;
	unit->offset = dwarf_dieoffset(top);
	walk_children(w, top, (struct place_in_tree){0});
	unit->has_code = w->index->nranges != before;
}

static void walk_file(struct walk *w, Dwarf *dw)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, sub;
	uint8_t type;

	while (dwarf_get_units(dw, cu, &cu, NULL, &type, &die, &sub) == 0)
		walk_unit(w, &die, &sub, type);
}

void gs_index_need(struct gs_module *m)
{
	struct gs_index *x = &m->index;
	struct walk w = {m, x};

	if (m->is_indexed)
		return;
	m->is_indexed = true;
	if (!m->dw || !m->info.has_dwarf)
		return;
	walk_file(&w, m->dw);
	if (m->alt)
		walk_file(&w, m->alt);
	if (x->nentries)
		qsort(x->entries, x->nentries, sizeof(*x->entries), compare_entries);
	if (x->ninstances)
		qsort(x->instances, x->ninstances, sizeof(*x->instances), compare_instances);
	if (x->nranges)
		qsort(x->ranges, x->nranges, sizeof(*x->ranges), compare_ranges);
	hash_entries(x);
}

void gs_index_free(struct gs_module *m)
{
	for (size_t i = 0; i < m->nunits; i++) {
		if (m->units[i].lines) {
			free(m->units[i].lines->rows);
			free(m->units[i].lines->files);
			free(m->units[i].lines);
		}
	}
	free(m->index.entries);
	free(m->index.heads);
	free(m->index.instances);
	free(m->index.ranges);
	free(m->units);
	free(m->files);
	gs_map_deinit(&m->names);
}

/* ---- asking ---- */

const struct gs_index_entry *gs_index_at(const struct gs_module *m, gs_ref ref)
{
	const struct gs_index *x = &m->index;
	size_t low = 0, high = x->nentries;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (x->entries[mid].ref < ref)
			low = mid + 1;
		else
			high = mid;
	}
	return low < x->nentries && x->entries[low].ref == ref ? &x->entries[low] : NULL;
}

static const struct gs_index_entry *chain(const struct gs_module *m, uint32_t at, uint32_t hash)
{
	for (; at; at = m->index.entries[at - 1].next)
		if (m->index.entries[at - 1].hash == hash)
			return &m->index.entries[at - 1];
	return NULL;
}

const struct gs_index_entry *gs_index_first(const struct gs_module *m, const char *base, size_t len)
{
	uint32_t hash = (uint32_t)gs_hash(base, len, 0);

	return m->index.nheads ? chain(m, m->index.heads[hash & (m->index.nheads - 1)], hash)
			       : NULL;
}

const struct gs_index_entry *gs_index_next(const struct gs_module *m,
					   const struct gs_index_entry *e)
{
	return chain(m, e->next, e->hash);
}

const struct gs_instance *gs_index_instances(const struct gs_module *m, gs_ref origin, size_t *n)
{
	const struct gs_index *x = &m->index;
	size_t low = 0, high = x->ninstances, end;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (x->instances[mid].origin < origin)
			low = mid + 1;
		else
			high = mid;
	}
	for (end = low; end < x->ninstances && x->instances[end].origin == origin;)
		end++;
	*n = end - low;
	return &x->instances[low];
}

bool gs_index_function_at(const struct gs_module *m, uint64_t addr, Dwarf_Die *die)
{
	const struct gs_index *x = &m->index;
	size_t low = 0, high = x->nranges;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (x->ranges[mid].low <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	/* Ranges of identical code that was folded may overlap: the nearest that covers it. */
	for (size_t tries = 0; low-- > 0 && tries < 16; tries++)
		if (addr < x->ranges[low].high)
			return gs_ref_die(m, x->ranges[low].die, die);
	return false;
}

size_t gs_unit_of(const struct gs_module *m, Dwarf_Die *die)
{
	for (size_t i = 0; i < m->nunits; i++)
		if (m->units[i].die.cu == die->cu || m->units[i].line_die.cu == die->cu)
			return i;
	return SIZE_MAX;
}
