/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of the index: units, the sections' bytes, the scanner that reads them without libdw,
 * and the searches that choose which units are read at all. Between dwarf_index.c, which answers
 * questions, and the sources that find the units which a question touches.
 */
#ifndef GS_RECORD_DWARF_UNITS_H
#define GS_RECORD_DWARF_UNITS_H

#include "record/dwarf_internal.h"

struct gs_span {
	const uint8_t *p;
	size_t n;
};

/* What one Dwarf handle holds, decompressed; empty where there is none. */
struct gs_sections {
	struct gs_span info, types, abbrev, str, line_str, str_offsets, addr, ranges, rnglists;
	struct gs_span line, aranges;
};

/* ---- dwarf_scan.c: bytes to attributes ---- */

struct gs_scan_attr {
	uint16_t at, form;
	int8_t size; /* in the entry; -1: varies */
	int64_t implicit;
};
/* What the index makes of an entry, by its tag. */
enum gs_scan_class {
	GS_SCAN_NOTHING, /* neither it nor its children */
	GS_SCAN_FUNCTION,
	GS_SCAN_INLINED,
	GS_SCAN_BLOCK,
	GS_SCAN_NAMESPACE,
	GS_SCAN_VARIABLE,
	GS_SCAN_MEMBER,
	GS_SCAN_AGGREGATE,
	GS_SCAN_ENUM,
	GS_SCAN_PLAIN_TYPE,
	GS_SCAN_ENUMERATOR,
};
struct gs_abbrev {
	uint16_t tag;
	bool is_known, has_children;
	uint8_t class;
	int32_t size;	 /* of all attributes; -1: varies */
	int32_t sibling; /* where DW_AT_sibling is; -1: nowhere, or that varies */
	uint32_t first, n;
};
struct gs_abbrevs {
	uint64_t offset;
	uint8_t address_size, offset_size, version;
	bool is_odd;		/* not made for a table: left to libdw */
	bool has_code;		/* a function with addresses may be described with it */
	struct gs_abbrev *list; /* by code */
	size_t nlist, list_cap;
	struct gs_scan_attr *attrs;
	size_t nattrs, attrs_cap;
};
struct gs_scan_die {
	const char *name, *linkage;
	gs_ref origin, specification; /* 0: none, or not by a reference that the scanner follows */
	uint64_t low, high, ranges, stmt_list, str_offsets_base, addr_base, rnglists_base;
	uint64_t sibling; /* offset in the section, or 0 */
	bool has_origin, has_specification;
	bool is_declaration, is_external, is_enum_class, is_split;
	bool has_low, has_high, high_is_length, has_ranges, ranges_is_index, has_stmt_list;
	bool has_low_index, has_high_index, has_str_offsets_base;
	bool name_unknown; /* a form that the scanner does not read */
};

/* The abbreviations of a unit; NULL when they cannot be scanned. Kept by the module. */
struct gs_abbrevs *gs_abbrevs_of(struct gs_module *m, struct gs_unit *u);
/* The entry at *p, which is advanced past its attributes; NULL at a null entry and at damage. */
const struct gs_abbrev *gs_scan_die(struct gs_module *m, const struct gs_unit *u, const uint8_t **p,
				    struct gs_scan_die *out);
/* Whether a link to another unit (ref_addr, an alternate file) names the origin or the declaration
 * of any entry of the file. */
bool gs_abbrevs_link_units(struct gs_module *m, const struct gs_sections *s);
/* Calls FN for each range of the entry that is not empty. */
void gs_scan_ranges(const struct gs_module *m, const struct gs_unit *u, const struct gs_scan_die *d,
		    void (*fn)(void *ctx, uint64_t low, uint64_t high), void *ctx);
/* An address by its number in .debug_addr; 0 when it is not there. */
uint64_t gs_scan_address(const struct gs_module *m, const struct gs_unit *u, uint64_t index);
/* The name that an entry has, or that its declaration or origin has. */
const char *gs_scan_name(struct gs_module *m, gs_ref ref, int depth);
const struct gs_span *gs_unit_section(const struct gs_module *m, const struct gs_unit *u);
const struct gs_sections *gs_unit_sections(const struct gs_module *m, const struct gs_unit *u);

/* ---- dwarf_walk.c, dwarf_walk_libdw.c: entries of one unit ---- */

/* What a walk finds, before it is kept with the unit. */
struct gs_walk {
	struct gs_module *m;
	struct gs_index_entry *entries; /* ascending ref */
	size_t nentries, entries_cap;
	struct gs_instance *instances;
	size_t ninstances, instances_cap;
	struct gs_code_range *ranges;
	size_t nranges, ranges_cap;
};
void gs_walk_entry(struct gs_walk *w, gs_ref ref, gs_ref parent, const char *name, uint8_t kind,
		   uint8_t flags);
void gs_walk_range(struct gs_walk *w, gs_ref ref, uint64_t low, uint64_t high);
/* False when the unit's abbreviations are not for the scanner: nothing was read. */
bool gs_walk_scan(struct gs_walk *w, struct gs_unit *u);
void gs_walk_libdw(struct gs_walk *w, Dwarf_Die *top);

/* ---- dwarf_units.c ---- */

/* Lists the units, by their headers. */
void gs_units_need(struct gs_module *m);
void gs_units_free(struct gs_module *m);
/* Index of the unit that holds the entry, or SIZE_MAX. */
size_t gs_unit_of_ref(const struct gs_module *m, gs_ref ref);
/* Remembers that the refs [first, end) are those of a split unit. */
void gs_units_add_split(struct gs_module *m, gs_ref first, gs_ref end, size_t unit);
/* Calls FN for each unit whose code may cover the address, or whose code is not known. */
void gs_units_at(struct gs_module *m, uint64_t addr,
		 void (*fn)(struct gs_module *m, size_t unit, void *ctx), void *ctx);

/* ---- dwarf_search.c ---- */

/* Calls FN for each unit that is not walked yet and may hold an entry of that (base) name. */
void gs_units_with_name(struct gs_module *m, const char *base, size_t len,
			void (*fn)(struct gs_module *m, size_t unit));
/* The same for those that may refer to an entry of another unit. */
void gs_units_with_link(struct gs_module *m, const gs_ref *refs, size_t n,
			void (*fn)(struct gs_module *m, size_t unit));
/* Whether searches of this module have cost as much as reading all of it would. */
bool gs_search_is_spent(const struct gs_module *m);

#endif
