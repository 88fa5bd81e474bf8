/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries of a unit from its bytes: abbreviations, forms, names, ranges. Under dwarf_walk.c and
 * dwarf_units.c, for little-endian files; ten times as fast as asking libdw attribute by attribute.
 *
 * Every read is bounded by the section. What is not read here (a form of a later standard, codes of
 * abbreviations that are not small numbers) makes the unit one for libdw.
 */
#include "record/dwarf_units.h"

#define CODES_MAX (1u << 20)
#define UNKNOWN_SIZE (-1)

/* ---- numbers ---- */

static uint64_t load(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, p, n);
	return v;
}

/* False at the end of the bytes. */
static bool take(const uint8_t **p, const uint8_t *end, size_t n, uint64_t *v)
{
	if ((size_t)(end - *p) < n)
		return false;
	*v = load(*p, n);
	*p += n;
	return true;
}

static bool take_uleb(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
	uint64_t out = 0;

	for (unsigned shift = 0; *p < end; shift += 7) {
		uint8_t byte = *(*p)++;

		if (shift < 64)
			out |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*v = out;
			return true;
		}
	}
	return false;
}

static bool take_sleb(const uint8_t **p, const uint8_t *end, int64_t *v)
{
	uint64_t out = 0;

	for (unsigned shift = 0; *p < end; shift += 7) {
		uint8_t byte = *(*p)++;

		if (shift < 64)
			out |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if ((byte & 0x40) && shift + 7 < 64)
			out |= ~0ull << (shift + 7);
		*v = (int64_t)out;
		return true;
	}
	return false;
}

static bool skip_string(const uint8_t **p, const uint8_t *end)
{
	const uint8_t *nul = memchr(*p, 0, (size_t)(end - *p));

	if (nul)
		*p = nul + 1;
	return nul != NULL;
}

/* The string at an offset of a section, or NULL if it is not terminated there. */
static const char *string_in(struct gs_span s, uint64_t offset)
{
	if (offset >= s.n || (s.p[s.n - 1] != 0 && !memchr(s.p + offset, 0, s.n - offset)))
		return NULL;
	return (const char *)s.p + offset;
}

/* ---- units and their sections ---- */

const struct gs_sections *gs_unit_sections(const struct gs_module *m, const struct gs_unit *u)
{
	return m->files[u->ref >> GS_REF_FILE_SHIFT].sections;
}

const struct gs_span *gs_unit_section(const struct gs_module *m, const struct gs_unit *u)
{
	const struct gs_debug_file *f = &m->files[u->ref >> GS_REF_FILE_SHIFT];

	return f->is_types ? &f->sections->types : &f->sections->info;
}

/* ---- abbreviations ---- */

static int form_size(unsigned form, const struct gs_abbrevs *t)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return t->address_size;
	case DW_FORM_ref_addr:
		return t->version < 3 ? t->address_size : t->offset_size;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return t->offset_size;
	default:
		return UNKNOWN_SIZE;
	}
}

static bool is_readable_form(uint64_t form)
{
	switch (form) {
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_block:
	case DW_FORM_exprloc:
	case DW_FORM_string:
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_str_index:
	case DW_FORM_GNU_addr_index:
		return true;
	default:
		return false;
	}
}

static uint8_t class_of(uint64_t tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
		return GS_SCAN_FUNCTION;
	case DW_TAG_inlined_subroutine:
		return GS_SCAN_INLINED;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return GS_SCAN_BLOCK;
	case DW_TAG_namespace:
	case DW_TAG_module:
		return GS_SCAN_NAMESPACE;
	case DW_TAG_variable:
	case DW_TAG_constant:
		return GS_SCAN_VARIABLE;
	case DW_TAG_member:
		return GS_SCAN_MEMBER;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return GS_SCAN_AGGREGATE;
	case DW_TAG_enumeration_type:
		return GS_SCAN_ENUM;
	case DW_TAG_typedef:
	case DW_TAG_base_type:
	case DW_TAG_unspecified_type:
		return GS_SCAN_PLAIN_TYPE;
	case DW_TAG_enumerator:
		return GS_SCAN_ENUMERATOR;
	default:
		return GS_SCAN_NOTHING;
	}
}

/* The attributes of one abbreviation; false at damage, or what only libdw may know how to read. */
static bool read_attrs(struct gs_abbrevs *t, struct gs_abbrev *a, const uint8_t **p,
		       const uint8_t *end)
{
	for (;;) {
		struct gs_scan_attr *attr;
		uint64_t at, form;
		int64_t implicit = 0;
		int size;

		if (!take_uleb(p, end, &at) || !take_uleb(p, end, &form) ||
		    (form == DW_FORM_implicit_const && !take_sleb(p, end, &implicit)))
			return false;
		if (at == 0 && form == 0)
			return true;
		if (at > UINT16_MAX || form > UINT16_MAX)
			return false;
		size = form_size((unsigned)form, t);
		if (size == UNKNOWN_SIZE && !is_readable_form(form))
			return false;
		if (at == DW_AT_sibling && form == DW_FORM_ref4)
			a->sibling = a->size;
		if (a->tag == DW_TAG_subprogram &&
		    (at == DW_AT_low_pc || at == DW_AT_ranges || at == DW_AT_entry_pc))
			t->has_code = true;
		attr = GS_PUSH(t->attrs, t->nattrs, t->attrs_cap);
		*attr = (struct gs_scan_attr){(uint16_t)at, (uint16_t)form, (int8_t)size, implicit};
		a->size = size == UNKNOWN_SIZE || a->size < 0 || a->size > (1 << 20)
				  ? UNKNOWN_SIZE
				  : a->size + size;
		a->n++;
	}
}

static bool read_table(struct gs_abbrevs *t, struct gs_span s)
{
	const uint8_t *p = s.p + t->offset, *end = s.p + s.n;
	uint64_t code, tag, children;

	for (;;) {
		struct gs_abbrev *a;

		if (!take_uleb(&p, end, &code))
			return false;
		if (code == 0)
			return true;
		if (!take_uleb(&p, end, &tag) || !take(&p, end, 1, &children) || code > CODES_MAX ||
		    code > t->nlist + 4096)
			return false;
		if (code >= t->nlist) {
			t->list = gs_grow(t->list, &t->list_cap, code + 1, sizeof(*t->list));
			memset(t->list + t->nlist, 0, (code + 1 - t->nlist) * sizeof(*t->list));
			t->nlist = code + 1;
		}
		a = &t->list[code];
		if (a->is_known)
			return false;
		*a = (struct gs_abbrev){.tag = tag > UINT16_MAX ? 0 : (uint16_t)tag,
					.is_known = true,
					.has_children = children != 0,
					.class = class_of(tag),
					.sibling = -1,
					.first = (uint32_t)t->nattrs};
		if (!read_attrs(t, a, &p, end))
			return false;
	}
}

struct abbrevs_key {
	const void *section;
	uint64_t offset;
	uint8_t sizes[8];
};

struct gs_abbrevs *gs_abbrevs_of(struct gs_module *m, struct gs_unit *u)
{
	const struct gs_sections *s = gs_unit_sections(m, u);
	struct abbrevs_key key = {
		s, u->abbrev_offset, {u->address_size, u->offset_size, u->version < 3}};
	uint64_t *known;
	bool fresh;
	struct gs_abbrevs *t;

	if (u->abbrevs)
		return u->abbrevs->is_odd ? NULL : u->abbrevs;
	known = gs_map_put(&m->abbrevs, &key, sizeof(key), 0, &fresh);
	if (fresh) {
		t = gs_calloc(1, sizeof(*t));
		*known = (uintptr_t)t;
		t->offset = u->abbrev_offset;
		t->address_size = u->address_size;
		t->offset_size = u->offset_size;
		t->version = (uint8_t)u->version;
		/* As much as most tables need, at once: there is one for nearly every unit. */
		t->list = gs_grow(NULL, &t->list_cap, 96, sizeof(*t->list));
		t->attrs = gs_grow(NULL, &t->attrs_cap, 512, sizeof(*t->attrs));
		t->is_odd = u->abbrev_offset >= s->abbrev.n || !read_table(t, s->abbrev);
	}
	u->abbrevs = (struct gs_abbrevs *)(uintptr_t)*known;
	return u->abbrevs->is_odd ? NULL : u->abbrevs;
}

static bool links_units(uint64_t at, uint64_t form)
{
	return (at == DW_AT_abstract_origin || at == DW_AT_specification) &&
	       (form == DW_FORM_ref_addr || form == DW_FORM_GNU_ref_alt ||
		form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8 || form == DW_FORM_ref_sig8 ||
		form == DW_FORM_indirect);
}

bool gs_abbrevs_link_units(struct gs_module *m, const struct gs_sections *s)
{
	const uint8_t *p = s->abbrev.p, *end = s->abbrev.n ? p + s->abbrev.n : p;
	uint64_t code, tag, at, form;
	int64_t implicit;

	while (p < end) {
		if (!take_uleb(&p, end, &code))
			return true;
		if (code == 0)
			continue; /* of a table, or padding */
		if (!take_uleb(&p, end, &tag) || p == end)
			return true;
		p++;
		do {
			if (!take_uleb(&p, end, &at) || !take_uleb(&p, end, &form) ||
			    (form == DW_FORM_implicit_const && !take_sleb(&p, end, &implicit)))
				return true;
			if (links_units(at, form))
				return true;
		} while (at || form);
	}
	return false;
}

/* ---- attributes ---- */

/* Past a value of a size that varies. */
static bool skip_value(unsigned form, const uint8_t **p, const uint8_t *end)
{
	uint64_t n;

	switch (form) {
	case DW_FORM_string:
		return skip_string(p, end);
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
		if (!take(p, end, form == DW_FORM_block1 ? 1 : form == DW_FORM_block2 ? 2 : 4, &n))
			return false;
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		if (!take_uleb(p, end, &n))
			return false;
		break;
	default:
		return take_uleb(p, end, &n);
	}
	if (n > (uint64_t)(end - *p))
		return false;
	*p += n;
	return true;
}

static uint64_t number_of(const struct gs_scan_attr *a, const uint8_t *p, const uint8_t *end)
{
	uint64_t v = 0;
	int64_t s = 0;

	switch (a->form) {
	case DW_FORM_flag_present:
		return 1;
	case DW_FORM_implicit_const:
		return (uint64_t)a->implicit;
	case DW_FORM_sdata:
		take_sleb(&p, end, &s);
		return (uint64_t)s;
	default:
		if (a->size >= 0)
			return a->size <= 8 ? load(p, (size_t)a->size) : 0;
		take_uleb(&p, end, &v);
		return v;
	}
}

static bool is_address_index(unsigned form)
{
	return form == DW_FORM_addrx || (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4) ||
	       form == DW_FORM_GNU_addr_index;
}

static const char *indexed_string(const struct gs_sections *s, const struct gs_unit *u,
				  uint64_t index)
{
	uint64_t offset = u->str_offsets_base;

	if (offset > s->str_offsets.n || index >= (s->str_offsets.n - offset) / u->offset_size)
		return NULL;
	return string_in(s->str,
			 load(s->str_offsets.p + offset + index * u->offset_size, u->offset_size));
}

static const struct gs_sections *alternate(const struct gs_module *m)
{
	return m->alt_file ? m->files[m->alt_file].sections : NULL;
}

static const char *text_of(struct gs_module *m, const struct gs_unit *u,
			   const struct gs_scan_attr *a, const uint8_t *p, const uint8_t *end,
			   bool *unknown)
{
	const struct gs_sections *s = gs_unit_sections(m, u), *alt = alternate(m);

	switch (a->form) {
	case DW_FORM_string:
		return (const char *)p;
	case DW_FORM_strp:
		return string_in(s->str, number_of(a, p, end));
	case DW_FORM_line_strp:
		return string_in(s->line_str, number_of(a, p, end));
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
		return indexed_string(s, u, number_of(a, p, end));
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return alt ? string_in(alt->str, number_of(a, p, end)) : NULL;
	default:
		*unknown = true;
		return NULL;
	}
}

static gs_ref make_ref(uint64_t file, uint64_t offset)
{
	return offset >> GS_REF_FILE_SHIFT ? 0 : file << GS_REF_FILE_SHIFT | offset;
}

static gs_ref link_of(const struct gs_module *m, const struct gs_unit *u,
		      const struct gs_scan_attr *a, const uint8_t *p, const uint8_t *end)
{
	uint64_t file = u->ref >> GS_REF_FILE_SHIFT, v = number_of(a, p, end);
	uint64_t unit = u->ref & ((1ull << GS_REF_FILE_SHIFT) - 1);

	switch (a->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return v >= u->end - u->ref ? 0 : make_ref(file, unit + v);
	case DW_FORM_ref_addr: /* from .debug_types into .debug_info */
		return make_ref(m->files[file].is_types ? m->files[file].info_file : file, v);
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		return m->alt_file ? make_ref(m->alt_file, v) : 0;
	default:
		return 0;
	}
}

static void read_attribute(struct gs_module *m, const struct gs_unit *u,
			   const struct gs_scan_attr *a, const uint8_t *p, const uint8_t *end,
			   struct gs_scan_die *d)
{
	switch (a->at) {
	case DW_AT_name:
		d->name = text_of(m, u, a, p, end, &d->name_unknown);
		break;
	case DW_AT_linkage_name:
		d->linkage = text_of(m, u, a, p, end, &d->name_unknown);
		break;
	case DW_AT_abstract_origin:
		d->has_origin = true;
		d->origin = link_of(m, u, a, p, end);
		break;
	case DW_AT_specification:
		d->has_specification = true;
		d->specification = link_of(m, u, a, p, end);
		break;
	case DW_AT_declaration:
		d->is_declaration = number_of(a, p, end) != 0;
		break;
	case DW_AT_external:
		d->is_external = number_of(a, p, end) != 0;
		break;
	case DW_AT_enum_class:
		d->is_enum_class = number_of(a, p, end) != 0;
		break;
	case DW_AT_low_pc:
		d->has_low = true;
		d->has_low_index = is_address_index(a->form);
		d->low = number_of(a, p, end);
		break;
	case DW_AT_high_pc:
		d->has_high = true;
		d->has_high_index = is_address_index(a->form);
		d->high_is_length = a->form != DW_FORM_addr && !d->has_high_index;
		d->high = number_of(a, p, end);
		break;
	case DW_AT_ranges:
		d->has_ranges = true;
		d->ranges_is_index = a->form == DW_FORM_rnglistx;
		d->ranges = number_of(a, p, end);
		break;
	case DW_AT_sibling:
		d->sibling = link_of(m, u, a, p, end) & ((1ull << GS_REF_FILE_SHIFT) - 1);
		break;
	case DW_AT_stmt_list:
		d->has_stmt_list = true;
		d->stmt_list = number_of(a, p, end);
		break;
	case DW_AT_str_offsets_base:
		d->has_str_offsets_base = true;
		d->str_offsets_base = number_of(a, p, end);
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		d->addr_base = number_of(a, p, end);
		break;
	case DW_AT_rnglists_base:
		d->rnglists_base = number_of(a, p, end);
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		d->is_split = true;
		break;
	}
}

/* Past the attributes of what is not of interest; where its sibling is, for what has children. */
static bool skip_die(const struct gs_unit *u, const struct gs_abbrev *a, const uint8_t **p,
		     const uint8_t *end, struct gs_scan_die *d)
{
	const struct gs_scan_attr *at = u->abbrevs->attrs + a->first;

	d->sibling = 0;
	if (a->sibling >= 0 && (size_t)(end - *p) >= (size_t)a->sibling + 4)
		d->sibling =
			(u->ref & ((1ull << GS_REF_FILE_SHIFT) - 1)) + load(*p + a->sibling, 4);
	if (a->size >= 0) {
		if ((size_t)(end - *p) < (size_t)a->size)
			return false;
		*p += a->size;
		return true;
	}
	for (uint32_t i = 0; i < a->n; i++, at++) {
		if (at->size < 0 ? !skip_value(at->form, p, end)
				 : (size_t)(end - *p) < (size_t)at->size)
			return false;
		if (at->size > 0)
			*p += at->size;
	}
	return true;
}

const struct gs_abbrev *gs_scan_die(struct gs_module *m, const struct gs_unit *u, const uint8_t **p,
				    struct gs_scan_die *d)
{
	const struct gs_span *section = gs_unit_section(m, u);
	const uint8_t *end = section->p + (u->end & ((1ull << GS_REF_FILE_SHIFT) - 1));
	const struct gs_abbrev *a;
	const struct gs_scan_attr *at;
	uint64_t code;

	if (!take_uleb(p, end, &code) || code == 0 || code >= u->abbrevs->nlist)
		return NULL;
	a = &u->abbrevs->list[code];
	if (!a->is_known)
		return NULL;
	if (a->class == GS_SCAN_NOTHING && a->tag != DW_TAG_compile_unit &&
	    a->tag != DW_TAG_partial_unit && a->tag != DW_TAG_type_unit &&
	    a->tag != DW_TAG_skeleton_unit)
		return skip_die(u, a, p, end, d) ? a : NULL;
	*d = (struct gs_scan_die){0};
	at = u->abbrevs->attrs + a->first;
	for (uint32_t i = 0; i < a->n; i++, at++) {
		const uint8_t *value = *p;

		if (at->size < 0 ? !skip_value(at->form, p, end)
				 : (size_t)(end - *p) < (size_t)at->size)
			return NULL;
		if (at->size > 0)
			*p += at->size;
		read_attribute(m, u, at, value, end, d);
	}
	return a;
}

const char *gs_scan_name(struct gs_module *m, gs_ref ref, int depth)
{
	size_t unit = gs_unit_of_ref(m, ref);
	struct gs_scan_die d = {0}; /* of what is of no interest no attributes are read */
	struct gs_unit *u;
	const uint8_t *p;

	if (!ref || unit == SIZE_MAX || depth > 16)
		return NULL;
	u = &m->units[unit];
	if (ref < u->first_die || !gs_abbrevs_of(m, u))
		return NULL;
	p = gs_unit_section(m, u)->p + (ref & ((1ull << GS_REF_FILE_SHIFT) - 1));
	if (!gs_scan_die(m, u, &p, &d))
		return NULL;
	if (d.name)
		return d.name;
	return gs_scan_name(m, d.has_specification ? d.specification : d.origin, depth + 1);
}

/* ---- ranges ---- */

struct range_reader {
	const struct gs_module *m;
	const struct gs_unit *u;
	const struct gs_sections *s;
	uint64_t base;
	void (*fn)(void *ctx, uint64_t low, uint64_t high);
	void *ctx;
};

static uint64_t indexed_address(const struct range_reader *r, uint64_t index)
{
	uint64_t n = r->s->addr.n, base = r->u->addr_base;

	if (base > n || index >= (n - base) / r->u->address_size)
		return 0;
	return load(r->s->addr.p + base + index * r->u->address_size, r->u->address_size);
}

static void give(const struct range_reader *r, uint64_t low, uint64_t high)
{
	if (low < high)
		r->fn(r->ctx, low, high);
}

static void read_ranges(struct range_reader *r, uint64_t offset)
{
	const uint8_t *p, *end;
	size_t size = r->u->address_size;
	uint64_t low, high, max = size == 8 ? UINT64_MAX : UINT32_MAX;

	if (offset >= r->s->ranges.n)
		return;
	p = r->s->ranges.p + offset;
	end = r->s->ranges.p + r->s->ranges.n;
	while (take(&p, end, size, &low) && take(&p, end, size, &high) && (low || high)) {
		if (low == max)
			r->base = high;
		else
			give(r, r->base + low, r->base + high);
	}
}

static bool read_list_entry(struct range_reader *r, const uint8_t **p, const uint8_t *end)
{
	size_t size = r->u->address_size;
	uint64_t kind, a = 0, b = 0;

	if (!take(p, end, 1, &kind))
		return false;
	switch (kind) {
	case DW_RLE_base_addressx:
		if (!take_uleb(p, end, &a))
			return false;
		r->base = indexed_address(r, a);
		return true;
	case DW_RLE_startx_endx:
	case DW_RLE_startx_length:
		if (!take_uleb(p, end, &a) || !take_uleb(p, end, &b))
			return false;
		a = indexed_address(r, a);
		give(r, a, kind == DW_RLE_startx_endx ? indexed_address(r, b) : a + b);
		return true;
	case DW_RLE_offset_pair:
		if (!take_uleb(p, end, &a) || !take_uleb(p, end, &b))
			return false;
		give(r, r->base + a, r->base + b);
		return true;
	case DW_RLE_base_address:
		return take(p, end, size, &r->base);
	case DW_RLE_start_end:
		if (!take(p, end, size, &a) || !take(p, end, size, &b))
			return false;
		give(r, a, b);
		return true;
	case DW_RLE_start_length:
		if (!take(p, end, size, &a) || !take_uleb(p, end, &b))
			return false;
		give(r, a, a + b);
		return true;
	default: /* the end of the list, or of another standard */
		return false;
	}
}

static void read_rnglist(struct range_reader *r, uint64_t offset, bool is_index)
{
	const struct gs_span *s = &r->s->rnglists;
	const uint8_t *p, *end;
	uint64_t base = r->u->rnglists_base;

	if (is_index) {
		if (base > s->n || offset >= (s->n - base) / r->u->offset_size)
			return;
		offset = base + load(s->p + base + offset * r->u->offset_size, r->u->offset_size);
	}
	if (offset >= s->n)
		return;
	p = s->p + offset;
	end = s->p + s->n;
	while (read_list_entry(r, &p, end))
		;
}

uint64_t gs_scan_address(const struct gs_module *m, const struct gs_unit *u, uint64_t index)
{
	struct range_reader r = {.m = m, .u = u, .s = gs_unit_sections(m, u)};

	return indexed_address(&r, index);
}

void gs_scan_ranges(const struct gs_module *m, const struct gs_unit *u, const struct gs_scan_die *d,
		    void (*fn)(void *ctx, uint64_t low, uint64_t high), void *ctx)
{
	struct range_reader r = {m, u, gs_unit_sections(m, u), u->low_pc, fn, ctx};
	uint64_t low = d->has_low_index ? indexed_address(&r, d->low) : d->low, high;

	if (d->has_low && d->has_high) {
		high = d->has_high_index ? indexed_address(&r, d->high) : d->high;
		give(&r, low, d->high_is_length ? low + high : high);
	} else if (d->has_ranges && u->version < 5) {
		read_ranges(&r, d->ranges);
	} else if (d->has_ranges) {
		read_rnglist(&r, d->ranges, d->ranges_is_index);
	}
}
