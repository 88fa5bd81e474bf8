/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The units of a module: their headers, what their first entry says, which addresses they cover.
 * Enough to choose the units that a question touches; under dwarf_index.c.
 */
#include "record/dwarf_units.h"

#define UNITS_MAX (1u << 22)
#define OFFSET_MASK ((1ull << GS_REF_FILE_SHIFT) - 1)

/* ---- files ---- */

static struct gs_span span_of(Elf *elf, const char *name)
{
	char old[32];
	GElf_Shdr shdr;
	Elf_Data *data = gs_elf_section(elf, name, &shdr);

	if (!data) {
		snprintf(old, sizeof(old), ".z%s", name + 1);
		data = gs_elf_section(elf, old, &shdr);
	}
	return data && data->d_buf ? (struct gs_span){data->d_buf, data->d_size}
				   : (struct gs_span){0};
}

static struct gs_sections *sections_of(struct gs_module *m, Dwarf *dw)
{
	struct gs_sections *s = gs_arena_alloc(&m->arena, sizeof(*s));
	Elf *elf = dwarf_getelf(dw);
	const struct {
		const char *name;
		struct gs_span *span;
	} wanted[] = {{".debug_info", &s->info},	 {".debug_types", &s->types},
		      {".debug_abbrev", &s->abbrev},	 {".debug_str", &s->str},
		      {".debug_line_str", &s->line_str}, {".debug_str_offsets", &s->str_offsets},
		      {".debug_addr", &s->addr},	 {".debug_ranges", &s->ranges},
		      {".debug_rnglists", &s->rnglists}, {".debug_line", &s->line},
		      {".debug_aranges", &s->aranges}};

	/* libdw has decompressed them in place. */
	for (size_t i = 0; elf && i < GS_ARRAY_SIZE(wanted); i++)
		*wanted[i].span = span_of(elf, wanted[i].name);
	return s;
}

static uint32_t add_file(struct gs_module *m, Dwarf *dw, bool is_types, struct gs_sections *s,
			 uint32_t info_file)
{
	*GS_PUSH(m->files, m->nfiles, m->files_cap) =
		(struct gs_debug_file){dw, is_types, info_file, s};
	return (uint32_t)m->nfiles - 1;
}

/* ---- headers ---- */

static bool read_header(const uint8_t *p, size_t n, bool is_types, struct gs_unit *u, uint64_t *len)
{
	uint64_t length = 0, need;
	size_t at = 4;
	uint16_t version = 0;

	if (n < 12)
		return false;
	memcpy(&length, p, 4);
	u->offset_size = 4;
	if (length == UINT32_MAX) {
		memcpy(&length, p + 4, 8);
		u->offset_size = 8;
		at = 12;
	}
	if (length > n - at || length < 7)
		return false;
	*len = at + length;
	memcpy(&version, p + at, 2);
	at += 2;
	u->version = version;
	u->type = is_types ? DW_UT_type : DW_UT_compile;
	need = version >= 5 ? 2 : 1;
	if (*len < at + need + u->offset_size)
		return false;
	if (version >= 5) {
		u->type = p[at];
		u->address_size = p[at + 1];
		memcpy(&u->abbrev_offset, p + at + 2, u->offset_size);
	} else {
		memcpy(&u->abbrev_offset, p + at, u->offset_size);
		u->address_size = p[at + u->offset_size];
	}
	at += need + u->offset_size;
	if (u->type == DW_UT_type || u->type == DW_UT_split_type)
		at += 8 + u->offset_size;
	else if (version >= 5 && (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile))
		at += 8;
	u->is_readable = version >= 2 && version <= 5 && at < *len &&
			 (u->address_size == 4 || u->address_size == 8);
	u->first_die = at;
	return true;
}

static void take_unit_range(void *ctx, uint64_t low, uint64_t high)
{
	struct gs_module *m = ctx;

	*GS_PUSH(m->unit_ranges, m->nunit_ranges, m->unit_ranges_cap) =
		(struct gs_unit_range){low, high, m->nunits - 1, 0};
}

/* What the unit's own entry says. */
static void read_top(struct gs_module *m, struct gs_unit *u)
{
	const uint8_t *p = gs_unit_section(m, u)->p + (u->first_die & OFFSET_MASK);
	struct gs_scan_die d = {0};
	struct gs_abbrevs *t = gs_abbrevs_of(m, u);
	size_t before = m->nunit_ranges;

	if (!t || !gs_scan_die(m, u, &p, &d)) {
		u->is_readable = false;
		u->may_have_code = u->has_lines = true;
		return;
	}
	u->is_split = d.is_split || u->type == DW_UT_skeleton;
	u->low_pc = d.has_low ? d.low : 0;
	u->addr_base = d.addr_base;
	u->rnglists_base = d.rnglists_base;
	u->str_offsets_base = d.has_str_offsets_base ? d.str_offsets_base : 2 * u->offset_size;
	u->has_lines = d.has_stmt_list;
	u->stmt_list = d.stmt_list;
	/* Of a base address that is given by number too. */
	if (d.has_low_index)
		u->low_pc = gs_scan_address(m, u, d.low);
	gs_scan_ranges(m, u, &d, take_unit_range, m);
	u->covers_code = m->nunit_ranges != before;
	/* Without ranges of its own it has code only if its functions are described with some. */
	u->may_have_code = u->covers_code || t->has_code || u->is_split;
}

static void list_units(struct gs_module *m, uint32_t file)
{
	const struct gs_debug_file *f = &m->files[file];
	const struct gs_span *s = f->is_types ? &f->sections->types : &f->sections->info;
	uint64_t at = 0, len;

	while (at < s->n && at <= OFFSET_MASK && m->nunits < UNITS_MAX) {
		struct gs_unit *u = GS_PUSH(m->units, m->nunits, m->units_cap);

		if (!read_header(s->p + at, s->n - at, f->is_types, u, &len)) {
			m->nunits--;
			break;
		}
		u->ref = (uint64_t)file << GS_REF_FILE_SHIFT | at;
		u->end = u->ref + len;
		u->first_die += u->ref;
		at += len;
		if (u->is_readable && m->can_scan) {
			read_top(m, u);
		} else {
			u->is_readable = false;
			u->may_have_code = u->has_lines = true;
		}
	}
}

/* ---- which addresses ---- */

/* .debug_aranges: beside what the units say of themselves, for units that do not. */
static void read_aranges(struct gs_module *m, uint32_t file)
{
	struct gs_span s = m->files[file].sections->aranges;
	size_t at = 0;

	while (s.n - at >= 12) {
		uint64_t length = 0, unit = 0, low, high;
		size_t size, pos = at + 12, end;

		memcpy(&length, s.p + at, 4);
		if (length >= UINT32_MAX || length > s.n - at - 4 || length < 8)
			return;
		end = at + 4 + length;
		memcpy(&unit, s.p + at + 6, 4);
		size = s.p[at + 10];
		if ((size != 4 && size != 8) || s.p[at + 11] != 0)
			return;
		unit = gs_unit_of_ref(m, (uint64_t)file << GS_REF_FILE_SHIFT | unit);
		pos = at + (12 + 2 * size - 1) / (2 * size) * (2 * size);
		for (; unit != SIZE_MAX && pos + 2 * size <= end; pos += 2 * size) {
			low = high = 0;
			memcpy(&low, s.p + pos, size);
			memcpy(&high, s.p + pos + size, size);
			if (high && low + high > low && !m->units[unit].covers_code)
				*GS_PUSH(m->unit_ranges, m->nunit_ranges, m->unit_ranges_cap) =
					(struct gs_unit_range){low, low + high, unit, 0};
		}
		at = end;
	}
}

static int compare_unit_ranges(const void *pa, const void *pb)
{
	const struct gs_unit_range *a = pa, *b = pb;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	return a->unit < b->unit ? -1 : a->unit > b->unit;
}

/* Sorted, with the highest end of all before: overlaps are found without a tree. */
static void finish_ranges(struct gs_module *m)
{
	uint64_t reach = 0;

	if (m->nunit_ranges)
		qsort(m->unit_ranges, m->nunit_ranges, sizeof(*m->unit_ranges),
		      compare_unit_ranges);
	for (size_t i = 0; i < m->nunit_ranges; i++) {
		if (m->unit_ranges[i].high > reach)
			reach = m->unit_ranges[i].high;
		m->unit_ranges[i].reach = reach;
	}
}

void gs_units_at(struct gs_module *m, uint64_t addr,
		 void (*fn)(struct gs_module *m, size_t unit, void *ctx), void *ctx)
{
	size_t low = 0, high = m->nunit_ranges, last = SIZE_MAX;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (m->unit_ranges[mid].low <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	while (low-- > 0 && m->unit_ranges[low].reach > addr) {
		if (addr >= m->unit_ranges[low].high || m->unit_ranges[low].unit == last)
			continue;
		last = m->unit_ranges[low].unit;
		fn(m, last, ctx);
	}
	for (size_t i = 0; i < m->nuncovered; i++)
		fn(m, m->uncovered[i], ctx);
}

/* ---- all ---- */

void gs_units_need(struct gs_module *m)
{
	const uint16_t one = 1;
	uint32_t info, types = 0;

	if (m->units_listed)
		return;
	m->units_listed = true;
	(void)GS_PUSH(m->files, m->nfiles, m->files_cap); /* number 0 is none */
	if (!m->dw || !m->info.has_dwarf)
		return;
	m->can_scan = !m->info.big_endian && *(const uint8_t *)&one == 1;
	info = add_file(m, m->dw, false, sections_of(m, m->dw), 1);
	if (m->files[info].sections->types.n)
		types = add_file(m, m->dw, true, m->files[info].sections, info);
	if (m->alt)
		m->alt_file =
			add_file(m, m->alt, false, sections_of(m, m->alt), (uint32_t)m->nfiles);
	list_units(m, info);
	if (types)
		list_units(m, types);
	if (m->alt_file)
		list_units(m, m->alt_file);
	read_aranges(m, info);
	finish_ranges(m);
	for (size_t i = 0; i < m->nunits; i++)
		if (m->units[i].may_have_code && !m->units[i].covers_code)
			*GS_PUSH(m->uncovered, m->nuncovered, m->uncovered_cap) = i;
	m->links_units =
		m->can_scan && (m->alt || gs_abbrevs_link_units(m, m->files[info].sections));
}

static void free_lines(struct gs_unit *u)
{
	if (!u->lines)
		return;
	free(u->lines->rows);
	free(u->lines->files);
	free(u->lines);
}

void gs_units_free(struct gs_module *m)
{
	for (size_t i = 0; i < m->nunits; i++) {
		free_lines(&m->units[i]);
		free(m->units[i].entries);
		free(m->units[i].instances);
		free(m->units[i].ranges);
	}
	for (size_t i = 0; i < m->abbrevs.n; i++) {
		struct gs_abbrevs *t = (struct gs_abbrevs *)(uintptr_t)m->abbrevs.entries[i].value;

		free(t->list);
		free(t->attrs);
		free(t);
	}
	gs_map_deinit(&m->abbrevs);
	free(m->unit_ranges);
	free(m->split_refs);
	free(m->uncovered);
	free(m->units);
	free(m->files);
}

/* ---- by number ---- */

void gs_units_add_split(struct gs_module *m, gs_ref first, gs_ref end, size_t unit)
{
	size_t at = m->nsplit_refs;

	(void)GS_PUSH(m->split_refs, m->nsplit_refs, m->split_refs_cap);
	for (; at > 0 && m->split_refs[at - 1].low > first; at--)
		m->split_refs[at] = m->split_refs[at - 1];
	m->split_refs[at] = (struct gs_unit_range){first, end, unit, 0};
}

static size_t split_of_ref(const struct gs_module *m, gs_ref ref)
{
	size_t low = 0, high = m->nsplit_refs;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (m->split_refs[mid].low <= ref)
			low = mid + 1;
		else
			high = mid;
	}
	return low && ref < m->split_refs[low - 1].high ? m->split_refs[low - 1].unit : SIZE_MAX;
}

size_t gs_unit_of_ref(const struct gs_module *m, gs_ref ref)
{
	size_t low = 0, high = m->nunits;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (m->units[mid].ref <= ref)
			low = mid + 1;
		else
			high = mid;
	}
	if (low && ref < m->units[low - 1].end)
		return low - 1;
	return split_of_ref(m, ref);
}
