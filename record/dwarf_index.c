/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The index of a module's debug information: what has which name, which code, which copies. Names,
 * places and types are found through it; it holds hashes and numbers, and only of the units that a
 * question touches: dwarf_search.c and dwarf_units.c choose them, dwarf_walk.c reads them.
 *
 * When searching has cost as much as reading everything would, everything is read.
 */
#include "record/dwarf_units.h"

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
	*GS_PUSH(m->files, m->nfiles, m->files_cap) =
		(struct gs_debug_file){.dw = dw, .is_types = is_types};
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

/* ---- walking units ---- */

bool gs_unit_line_die(struct gs_module *m, size_t unit, Dwarf_Die *die)
{
	return gs_ref_die(m, m->units[unit].first_die, die);
}

bool gs_unit_die(struct gs_module *m, size_t unit, Dwarf_Die *die)
{
	Dwarf_Die sub = {0};
	uint8_t type = 0;
	Dwarf_Half version;

	if (!gs_unit_line_die(m, unit, die))
		return false;
	if (m->units[unit].is_split || !m->units[unit].is_readable) {
		gs_split_link(m, die->cu);
		if (dwarf_cu_info(die->cu, &version, &type, NULL, &sub, NULL, NULL, NULL) == 0 &&
		    type == DW_UT_skeleton && sub.cu)
			*die = sub;
	}
	return true;
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
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	return a->die < b->die ? -1 : a->die > b->die;
}

static void link_entries(struct gs_index *x, struct gs_unit *u)
{
	for (size_t i = 0; i < u->nentries; i++) {
		struct gs_index_entry *e = &u->entries[i], **head;

		if (e->kind == GS_INDEX_SCOPE)
			continue;
		head = &x->heads[e->hash & (x->nheads - 1)];
		e->chain = *head;
		*head = e;
	}
}

static void hash_entries(struct gs_module *m, struct gs_unit *fresh)
{
	struct gs_index *x = &m->index;

	x->nentries += fresh->nentries;
	if (x->nentries <= x->nheads) {
		link_entries(x, fresh);
		return;
	}
	for (x->nheads = x->nheads ? x->nheads : 4096; x->nheads < 2 * x->nentries;)
		x->nheads *= 2;
	free(x->heads);
	x->heads = gs_calloc(x->nheads, sizeof(*x->heads));
	for (size_t i = 0; i < m->nunits; i++)
		link_entries(x, &m->units[i]);
}

/* The refs of a split unit lead back to it. */
static void note_split(struct gs_module *m, size_t unit, Dwarf_Die *top)
{
	Dwarf_Off first, next;
	size_t header;
	gs_ref ref = gs_ref_of(m, top);

	first = dwarf_dieoffset(top) - dwarf_cuoffset(top);
	if (ref &&
	    dwarf_nextcu(dwarf_cu_getdwarf(top->cu), first, &next, &header, NULL, NULL, NULL) == 0)
		gs_units_add_split(m, ref - dwarf_cuoffset(top), ref - dwarf_dieoffset(top) + next,
				   unit);
}

static void walk_through_libdw(struct gs_walk *w, size_t unit)
{
	Dwarf_Die top;

	if (!gs_unit_die(w->m, unit, &top))
		return;
	if (dwarf_cu_getdwarf(top.cu) != w->m->files[w->m->units[unit].ref >> GS_REF_FILE_SHIFT].dw)
		note_split(w->m, unit, &top);
	gs_walk_libdw(w, &top);
}

static void *kept(void *array, size_t n, size_t size)
{
	return n ? gs_realloc(array, n, size) : (free(array), NULL);
}

static void walk_unit(struct gs_module *m, size_t unit)
{
	struct gs_unit *u = &m->units[unit];
	struct gs_walk w = {.m = m};

	if (u->is_walked)
		return;
	u->is_walked = true;
	if (m->index.mode == GS_INDEX_LIBDW || !u->is_readable || u->is_split ||
	    !gs_walk_scan(&w, u))
		walk_through_libdw(&w, unit);
	if (w.ninstances)
		qsort(w.instances, w.ninstances, sizeof(*w.instances), compare_instances);
	if (w.nranges)
		qsort(w.ranges, w.nranges, sizeof(*w.ranges), compare_ranges);
	u->entries = kept(w.entries, w.nentries, sizeof(*w.entries));
	u->instances = kept(w.instances, w.ninstances, sizeof(*w.instances));
	u->ranges = kept(w.ranges, w.nranges, sizeof(*w.ranges));
	u->nentries = w.nentries;
	u->ninstances = w.ninstances;
	u->nranges = w.nranges;
	hash_entries(m, u);
}

void gs_index_whole(struct gs_module *m)
{
	gs_units_need(m);
	if (m->index.is_whole)
		return;
	m->index.is_whole = true;
	for (size_t i = 0; i < m->nunits; i++)
		walk_unit(m, i);
}

void gs_index_need(struct gs_module *m)
{
	gs_units_need(m);
	if (m->index.mode != GS_INDEX_LAZY || gs_search_is_spent(m))
		gs_index_whole(m);
}

struct gs_instances {
	size_t n, cap;
	struct gs_instance *list;
};

void gs_index_free(struct gs_module *m)
{
	struct gs_map *map = &m->index.instances;

	for (size_t i = 0; i < map->n; i++) {
		struct gs_instances *found = (void *)(uintptr_t)map->entries[i].value;

		free(found->list);
		free(found);
	}
	gs_map_deinit(map);
	gs_map_deinit(&m->index.names);
	free(m->index.heads);
	gs_units_free(m);
	gs_map_deinit(&m->names);
}

/* ---- by number, by name ---- */

const struct gs_index_entry *gs_index_at(struct gs_module *m, gs_ref ref)
{
	const struct gs_unit *u;
	size_t unit, low = 0, high;

	gs_index_need(m);
	unit = gs_unit_of_ref(m, ref);
	if (unit == SIZE_MAX)
		return NULL;
	walk_unit(m, unit);
	u = &m->units[unit];
	for (high = u->nentries; low < high;) {
		size_t mid = (low + high) / 2;

		if (u->entries[mid].ref < ref)
			low = mid + 1;
		else
			high = mid;
	}
	return low < u->nentries && u->entries[low].ref == ref ? &u->entries[low] : NULL;
}

static int compare_entries(const void *pa, const void *pb)
{
	const struct gs_index_entry *a = *(struct gs_index_entry *const *)pa,
				    *b = *(struct gs_index_entry *const *)pb;

	if (a->ref != b->ref)
		return a->ref < b->ref ? -1 : 1;
	return (a->flags & GS_INDEX_LINKAGE) - (b->flags & GS_INDEX_LINKAGE);
}

/* Those of the hash that are known so far, ascending; the caller frees. */
static struct gs_index_entry **of_hash(const struct gs_index *x, uint32_t hash, size_t *n)
{
	struct gs_index_entry **list = NULL, *e = NULL;
	size_t cap = 0;

	*n = 0;
	if (x->nheads)
		e = x->heads[hash & (x->nheads - 1)];
	for (; e; e = e->chain)
		if (e->hash == hash)
			*GS_PUSH(list, *n, cap) = e;
	if (*n)
		qsort(list, *n, sizeof(struct gs_index_entry *), compare_entries);
	return list;
}

/*
 * Entries of that name are in units that hold the name, and, where entries refer to those of other
 * units, in units that complete what is declared there.
 */
static void find_name(struct gs_module *m, const char *base, size_t len, uint32_t hash)
{
	size_t before = 0, n;
	bool fresh;

	gs_map_put(&m->index.names, base, len, 0, &fresh);
	if (!fresh || m->index.is_whole)
		return;
	gs_units_with_name(m, base, len, walk_unit);
	while (m->links_units) {
		struct gs_index_entry **list GS_CLEANUP_FREE = of_hash(&m->index, hash, &n);
		gs_ref *refs GS_CLEANUP_FREE = gs_calloc(n + 1, sizeof(*refs));

		if (n == before)
			return;
		before = n;
		for (size_t i = 0; i < n; i++)
			refs[i] = list[i]->ref;
		gs_units_with_link(m, refs, n, walk_unit);
	}
}

const struct gs_index_entry *gs_index_first(struct gs_module *m, const char *base, size_t len)
{
	uint32_t hash = (uint32_t)gs_hash(base, len, 0);
	struct gs_index_entry **list GS_CLEANUP_FREE = NULL;
	size_t n;

	gs_index_need(m);
	find_name(m, base, len, hash);
	list = of_hash(&m->index, hash, &n);
	for (size_t i = 0; i < n; i++)
		list[i]->same = i + 1 < n ? list[i + 1] : NULL;
	return n ? list[0] : NULL;
}

const struct gs_index_entry *gs_index_next(struct gs_module *m, const struct gs_index_entry *e)
{
	return e->same;
}

void gs_index_each(struct gs_module *m, void (*fn)(void *ctx, const struct gs_index_entry *e),
		   void *ctx)
{
	gs_index_whole(m);
	for (size_t i = 0; i < m->nunits; i++)
		for (size_t k = 0; k < m->units[i].nentries; k++)
			fn(ctx, &m->units[i].entries[k]);
}

const char *gs_index_name(struct gs_module *m, const struct gs_index_entry *e)
{
	size_t unit = gs_unit_of_ref(m, e->ref);
	const char *name = NULL;
	Dwarf_Die die;

	if (unit != SIZE_MAX && m->units[unit].is_readable && !m->units[unit].is_split)
		name = gs_scan_name(m, e->ref, 0);
	if (!name && gs_ref_die(m, e->ref, &die))
		name = dwarf_diename(&die);
	return name;
}

/* ---- instances ---- */

static void take_instances(const struct gs_unit *u, gs_ref origin, struct gs_instances *out)
{
	size_t low = 0, high = u->ninstances;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (u->instances[mid].origin < origin)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < u->ninstances && u->instances[low].origin == origin; low++)
		*GS_PUSH(out->list, out->n, out->cap) = u->instances[low];
}

static void find_instances(struct gs_module *m, gs_ref origin, struct gs_instances *out)
{
	size_t unit = gs_unit_of_ref(m, origin);

	if (unit != SIZE_MAX)
		walk_unit(m, unit);
	if (!m->index.is_whole)
		gs_units_with_link(m, &origin, 1, walk_unit);
	/* Without links of that kind they are in the unit of the origin. */
	if (unit != SIZE_MAX && !m->links_units) {
		take_instances(&m->units[unit], origin, out);
		return;
	}
	for (size_t i = 0; i < m->nunits; i++)
		take_instances(&m->units[i], origin, out);
}

const struct gs_instance *gs_index_instances(struct gs_module *m, gs_ref origin, size_t *n)
{
	struct gs_instances *found;
	uint64_t *known;
	bool fresh;

	gs_index_need(m);
	known = gs_map_put(&m->index.instances, &origin, sizeof(origin), 0, &fresh);
	if (fresh) {
		found = gs_calloc(1, sizeof(*found));
		*known = (uintptr_t)found;
		find_instances(m, origin, found);
	} else {
		found = (struct gs_instances *)(uintptr_t)*known;
	}
	*n = found->n;
	return found->list;
}

/* ---- by address ---- */

/* Ranges of identical code that was folded may overlap: the nearest that covers it. */
static void nearest_in(const struct gs_unit *u, uint64_t addr, struct gs_code_range *best)
{
	size_t low = 0, high = u->nranges;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (u->ranges[mid].low <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t tries = 0; low-- > 0 && tries < 16; tries++) {
		const struct gs_code_range *r = &u->ranges[low];

		if (addr >= r->high)
			continue;
		if (!best->die || compare_ranges(best, r) < 0)
			*best = *r;
		return;
	}
}

struct at_address {
	uint64_t addr;
	struct gs_code_range best;
};

static void ask_unit(struct gs_module *m, size_t unit, void *ctx)
{
	struct at_address *at = ctx;

	walk_unit(m, unit);
	nearest_in(&m->units[unit], at->addr, &at->best);
}

bool gs_index_function_at(struct gs_module *m, uint64_t addr, Dwarf_Die *die)
{
	struct at_address at = {.addr = addr};

	gs_index_need(m);
	gs_units_at(m, addr, ask_unit, &at);
	return at.best.die && gs_ref_die(m, at.best.die, die);
}

size_t gs_unit_of(struct gs_module *m, Dwarf_Die *die)
{
	gs_index_need(m);
	return die->cu ? gs_unit_of_ref(m, gs_ref_of(m, die)) : SIZE_MAX;
}
