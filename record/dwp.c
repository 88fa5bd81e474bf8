/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packages of split units (.dwp): from the number of a unit to a file of its own in memory.
 * Used by split.c where a package stands beside the program.
 *
 * A package holds the sections of many .dwo files one after the other; .debug_cu_index and
 * .debug_tu_index tell which part of each belongs to which unit (DWARF 5, 7.3.5; the GNU forerunner
 * is version 2 with other column numbers). Offsets inside a unit count from its own part, so that
 * the parts alone are again a .dwo file.
 */
#include <stdlib.h>

#include "record/debugfile.h"

#define COLUMNS_MAX 64u

/* ---- the index ---- */

static uint32_t word(const struct gs_dwp_index *x, const uint8_t *p)
{
	return (uint32_t)gs_load_uint(p, 4, x->big_endian);
}

/* Section numbers of versions 2 and 5 (table 7.1 of DWARF 5; GCC's DebugFissionDWP). */
static int column_kind(uint32_t version, uint32_t number)
{
	static const int v2[] = {-1,	      GS_DWP_INFO, GS_DWP_TYPES,       GS_DWP_ABBREV,
				 GS_DWP_LINE, GS_DWP_LOC,  GS_DWP_STR_OFFSETS, -1,
				 -1};
	static const int v5[] = {-1,	     GS_DWP_INFO,	 -1, GS_DWP_ABBREV,  GS_DWP_LINE,
				 GS_DWP_LOC, GS_DWP_STR_OFFSETS, -1, GS_DWP_RNGLISTS};

	if (number >= GS_ARRAY_SIZE(v2))
		return -1;
	return version == 5 ? v5[number] : v2[number];
}

static struct gs_error *damaged(const char *what)
{
	return gs_error_new(GS_ERR_DAMAGED, "the index of the package is damaged: %s", what);
}

struct gs_error *gs_dwp_index_parse(const uint8_t *p, size_t n, bool big_endian,
				    struct gs_dwp_index *out)
{
	struct gs_dwp_index x = {.big_endian = big_endian};
	uint64_t need;

	if (n < 16)
		return damaged("it is cut short");
	x.version = (uint32_t)gs_load_uint(p, 2, big_endian);
	if (x.version != 5)
		x.version = word(&x, p);
	if (x.version != 2 && x.version != 5)
		return gs_error_new(GS_ERR_UNSUPPORTED, "the package has an index of version %u",
				    x.version);
	x.ncolumns = word(&x, p + 4);
	x.nunits = word(&x, p + 8);
	x.nslots = word(&x, p + 12);
	if (x.ncolumns > COLUMNS_MAX || (x.nslots & (x.nslots - 1)) || x.nunits > x.nslots)
		return damaged("its sizes contradict each other");
	need = 16 + (uint64_t)x.nslots * 12 + (uint64_t)x.ncolumns * 4 +
	       (uint64_t)x.nunits * x.ncolumns * 8;
	if (need > n)
		return damaged("it is cut short");
	x.signatures = p + 16;
	x.rows = x.signatures + (size_t)x.nslots * 8;
	x.offsets = x.rows + (size_t)x.nslots * 4 + (size_t)x.ncolumns * 4;
	x.sizes = x.offsets + (size_t)x.nunits * x.ncolumns * 4;
	for (uint32_t i = 0; i < x.ncolumns; i++) {
		int kind =
			column_kind(x.version, word(&x, x.offsets - (size_t)(x.ncolumns - i) * 4));

		if (kind >= 0)
			x.column[kind] = i + 1;
	}
	*out = x;
	return NULL;
}

uint32_t gs_dwp_index_find(const struct gs_dwp_index *x, uint64_t id)
{
	uint32_t mask = x->nslots - 1, at = (uint32_t)id & mask;
	uint32_t step = ((uint32_t)(id >> 32) & mask) | 1;

	for (uint32_t i = 0; i < x->nslots; i++, at = (at + step) & mask) {
		uint32_t row = word(x, x->rows + (size_t)at * 4);

		if (!row)
			return 0;
		if (gs_load_uint(x->signatures + (size_t)at * 8, 8, x->big_endian) == id)
			return row <= x->nunits ? row : 0;
	}
	return 0;
}

struct gs_dwp_slice gs_dwp_index_slice(const struct gs_dwp_index *x, uint32_t row,
				       enum gs_dwp_column column)
{
	size_t at;

	if (!x->column[column] || row == 0 || row > x->nunits)
		return (struct gs_dwp_slice){0};
	at = ((size_t)(row - 1) * x->ncolumns + x->column[column] - 1) * 4;
	return (struct gs_dwp_slice){word(x, x->offsets + at), word(x, x->sizes + at)};
}

/* ---- the package ---- */

struct gs_dwp {
	Elf *elf;
	bool big_endian;
	struct gs_dwp_index cu, tu; /* nslots 0 without */
	struct gs_section_bytes cu_bytes, tu_bytes, str, parts[GS_DWP_NCOLUMNS];
	bool is_read;
};

static const char *const names[GS_DWP_NCOLUMNS] = {
	".debug_info.dwo", ".debug_types.dwo",	     ".debug_abbrev.dwo",  ".debug_line.dwo",
	".debug_loc.dwo",  ".debug_str_offsets.dwo", ".debug_rnglists.dwo"};

static const char *section_name(const struct gs_dwp *p, enum gs_dwp_column column)
{
	return column == GS_DWP_LOC && p->cu.version == 5 ? ".debug_loclists.dwo" : names[column];
}

static struct gs_error *open_index(struct gs_dwp *p)
{
	GS_TRY(gs_section_read(p->elf, ".debug_cu_index", &p->cu_bytes));
	if (!p->cu_bytes.data)
		return NULL;
	GS_TRY(gs_dwp_index_parse(p->cu_bytes.data, p->cu_bytes.size, p->big_endian, &p->cu));
	GS_TRY(gs_section_read(p->elf, ".debug_tu_index", &p->tu_bytes));
	if (p->tu_bytes.data)
		return gs_dwp_index_parse(p->tu_bytes.data, p->tu_bytes.size, p->big_endian,
					  &p->tu);
	return NULL;
}

struct gs_error *gs_dwp_open(Elf *elf, struct gs_dwp **out)
{
	struct gs_dwp *p = gs_calloc(1, sizeof(*p));
	struct gs_error *err;
	GElf_Ehdr ehdr;

	p->elf = elf;
	p->big_endian = gelf_getehdr(elf, &ehdr) && ehdr.e_ident[EI_DATA] == ELFDATA2MSB;
	err = open_index(p);
	*out = NULL;
	if (err || !p->cu_bytes.data)
		gs_dwp_close(p);
	else
		*out = p;
	return err;
}

void gs_dwp_close(struct gs_dwp *p)
{
	if (!p)
		return;
	gs_section_free(&p->cu_bytes);
	gs_section_free(&p->tu_bytes);
	gs_section_free(&p->str);
	for (size_t i = 0; i < GS_DWP_NCOLUMNS; i++)
		gs_section_free(&p->parts[i]);
	free(p);
}

/* Decompressed once, when the first unit is asked for. */
static struct gs_error *read_parts(struct gs_dwp *p)
{
	if (p->is_read)
		return NULL;
	GS_TRY(gs_section_read(p->elf, ".debug_str.dwo", &p->str));
	for (size_t i = 0; i < GS_DWP_NCOLUMNS; i++)
		GS_TRY(gs_section_read(p->elf, section_name(p, i), &p->parts[i]));
	p->is_read = true;
	return NULL;
}

static struct gs_error *part_of(const struct gs_dwp *p, const struct gs_dwp_index *x, uint32_t row,
				enum gs_dwp_column column, const uint8_t **data, size_t *size)
{
	struct gs_dwp_slice s = gs_dwp_index_slice(x, row, column);
	const struct gs_section_bytes *all = &p->parts[column];

	if (s.size && (s.offset > all->size || s.size > all->size - s.offset))
		return damaged("a unit reaches beyond its section");
	*data = all->data + (s.size ? s.offset : 0);
	*size = s.size;
	return NULL;
}

/*
 * The offsets of the unit's strings, and the strings alone that they lead to: the section of all
 * strings may be large, and is not copied for every unit.
 */
static void add_strings(const struct gs_dwp *p, const uint8_t *offsets, size_t n,
			struct gs_image *img)
{
	size_t width = 4, at = 0;
	struct gs_buf strings = {0}, table = {0};

	gs_buf_append(&table, offsets, n);
	if (p->cu.version == 5 && n >= 8) {
		width = gs_load_uint(offsets, 4, p->big_endian) == 0xffffffff ? 8 : 4;
		at = width == 8 ? 16 : 8;
	}
	for (; at + width <= n; at += width) {
		uint64_t from = gs_load_uint(offsets + at, width, p->big_endian), to = strings.len;
		size_t left = from < p->str.size ? p->str.size - from : 0;

		gs_buf_append(&strings, p->str.data + (left ? from : 0),
			      left ? strnlen((const char *)p->str.data + from, left) : 0);
		gs_put_u8(&strings, 0);
		/* An image is of this machine's byte order. */
		memcpy(table.data + at, &to, width);
		if (strings.len > GS_SECTION_BYTES_MAX / 2)
			break;
	}
	gs_image_add(img, names[GS_DWP_STR_OFFSETS], table.data, table.len);
	gs_image_add(img, ".debug_str.dwo", strings.data, strings.len);
	gs_buf_deinit(&table);
	gs_buf_deinit(&strings);
}

/* Type units read their abbreviations and strings from where the unit itself has them, or not at
 * all: a package keeps one copy of each, with the tables of the file that it came from. */
static bool same_tables(const struct gs_dwp *p, uint32_t cu_row, uint32_t tu_row)
{
	static const enum gs_dwp_column shared[] = {GS_DWP_ABBREV, GS_DWP_STR_OFFSETS};

	for (size_t i = 0; i < GS_ARRAY_SIZE(shared); i++) {
		struct gs_dwp_slice a = gs_dwp_index_slice(&p->cu, cu_row, shared[i]);
		struct gs_dwp_slice b = gs_dwp_index_slice(&p->tu, tu_row, shared[i]);

		if (a.offset != b.offset || a.size != b.size)
			return false;
	}
	return true;
}

static struct gs_error *add_units(const struct gs_dwp *p, uint32_t row, struct gs_image *img)
{
	struct gs_buf info = {0}, types = {0};
	enum gs_dwp_column column = p->cu.version == 5 ? GS_DWP_INFO : GS_DWP_TYPES;
	const uint8_t *data;
	size_t size;
	struct gs_error *err = part_of(p, &p->cu, row, GS_DWP_INFO, &data, &size);

	if (!err)
		gs_buf_append(&info, data, size);
	for (uint32_t t = 1; !err && t <= p->tu.nunits; t++) {
		if (!same_tables(p, row, t))
			continue;
		err = part_of(p, &p->tu, t, column, &data, &size);
		if (!err)
			gs_buf_append(column == GS_DWP_INFO ? &info : &types, data, size);
	}
	if (!err) {
		gs_image_add(img, names[GS_DWP_INFO], info.data, info.len);
		if (types.len)
			gs_image_add(img, names[GS_DWP_TYPES], types.data, types.len);
	}
	gs_buf_deinit(&info);
	gs_buf_deinit(&types);
	return err;
}

static struct gs_error *build_unit(struct gs_dwp *p, uint32_t row, struct gs_image *img)
{
	static const enum gs_dwp_column plain[] = {GS_DWP_ABBREV, GS_DWP_LINE, GS_DWP_LOC,
						   GS_DWP_RNGLISTS};
	const uint8_t *data;
	size_t size;

	GS_TRY(add_units(p, row, img));
	for (size_t i = 0; i < GS_ARRAY_SIZE(plain); i++) {
		GS_TRY(part_of(p, &p->cu, row, plain[i], &data, &size));
		if (size)
			gs_image_add(img, section_name(p, plain[i]), data, size);
	}
	GS_TRY(part_of(p, &p->cu, row, GS_DWP_STR_OFFSETS, &data, &size));
	add_strings(p, data, size, img);
	return gs_image_finish(img, p->elf);
}

struct gs_error *gs_dwp_unit(struct gs_dwp *p, uint64_t id, bool *found, struct gs_image *out)
{
	uint32_t row = gs_dwp_index_find(&p->cu, id);
	struct gs_error *err;

	*found = row != 0;
	if (!row)
		return NULL;
	GS_TRY(read_parts(p));
	gs_image_init(out);
	err = build_unit(p, row, out);
	if (err)
		gs_image_deinit(out, false);
	return err;
}
