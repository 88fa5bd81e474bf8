/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the sources that find and open debug information share: sections as bytes, ELF images made
 * in memory, the index of a package, and the split units of a module.
 * Under module.h; libdw sees plain ELF files whatever is on the disk.
 */
#ifndef GS_RECORD_DEBUGFILE_H
#define GS_RECORD_DEBUGFILE_H

#include "record/dwarf_internal.h"

/* Caps on what one section and one file may become when they are decompressed. */
#define GS_SECTION_BYTES_MAX (1ull << 30)
#define GS_FILE_BYTES_MAX (3ull << 29)

/* ---- image.c ---- */

struct gs_section_bytes {
	const uint8_t *data;
	size_t size;
	void *owned; /* to be freed, or NULL: the bytes are the ELF handle's */
};

/*
 * Section NAME (".debug_x"; the older ".zdebug_x" too), decompressed by zlib or zstd. Without one:
 * no error, data is NULL.
 */
struct gs_error *gs_section_read(Elf *elf, const char *name, struct gs_section_bytes *out);
void gs_section_free(struct gs_section_bytes *s);
/* Whether a section is compressed in a way that libdw may not know. */
bool gs_elf_has_zstd(Elf *elf);
/* Whether units are in several sections, of which libdw reads one. */
bool gs_elf_is_in_pieces(Elf *elf);

/* An ELF file without segments that is put together in memory. */
struct gs_image {
	Elf *elf;
	struct gs_buf bytes, names;
	GElf_Shdr *sections;
	size_t nsections, sections_cap;
};
void gs_image_init(struct gs_image *img);
void gs_image_add(struct gs_image *img, const char *name, const void *data, size_t size);
/* Headers as those of LIKE; img->elf is then open. */
struct gs_error *gs_image_finish(struct gs_image *img, Elf *like);
/* The bytes live longer than what reads them: after dwarf_end. KEEP_ELF: somebody else ended it. */
void gs_image_deinit(struct gs_image *img, bool keep_elf);
/* All debug sections of ELF, decompressed. */
struct gs_error *gs_image_decompressed(Elf *elf, struct gs_image *out);
/* LZMA (xz) as in .gnu_debugdata: at most 256 MiB, malloc'ed. */
struct gs_error *gs_xz_decompress(const uint8_t *data, size_t size, uint8_t **out, size_t *n);

/* ---- dwp.c: the index sections of a package ---- */

enum gs_dwp_column {
	GS_DWP_INFO,
	GS_DWP_TYPES,
	GS_DWP_ABBREV,
	GS_DWP_LINE,
	GS_DWP_LOC, /* .debug_loc.dwo or .debug_loclists.dwo */
	GS_DWP_STR_OFFSETS,
	GS_DWP_RNGLISTS,
	GS_DWP_NCOLUMNS,
};
struct gs_dwp_index {
	const uint8_t *signatures, *rows, *offsets, *sizes;
	uint32_t version, ncolumns, nunits, nslots;
	bool big_endian;
	uint32_t column[GS_DWP_NCOLUMNS]; /* + 1; 0: not there */
};
struct gs_dwp_slice {
	uint32_t offset, size;
};
/* Bounded by N; borrowed bytes. */
struct gs_error *gs_dwp_index_parse(const uint8_t *p, size_t n, bool big_endian,
				    struct gs_dwp_index *out);
/* The row of a unit's number or a type's signature, from 1; 0: not in it. */
uint32_t gs_dwp_index_find(const struct gs_dwp_index *x, uint64_t id);
/* The part of a section that belongs to row ROW (from 1); empty when it has none. */
struct gs_dwp_slice gs_dwp_index_slice(const struct gs_dwp_index *x, uint32_t row,
				       enum gs_dwp_column column);

struct gs_dwp;
/* NULL error and NULL package: the file is not one. ELF is borrowed. */
struct gs_error *gs_dwp_open(Elf *elf, struct gs_dwp **out);
void gs_dwp_close(struct gs_dwp *p);
/* An image of unit ID as if it had a file of its own; *found tells whether it is in the package. */
struct gs_error *gs_dwp_unit(struct gs_dwp *p, uint64_t id, bool *found, struct gs_image *out);

/* ---- split.c ---- */

void gs_split_close(struct gs_module *m);

/* ---- split_open.c ---- */

/*
 * Has libdw link SKELETON with the unit in ELF, or with none (NULL): afterwards its handles know.
 * False if libdw found no unit of that number. On true ELF belongs to libdw.
 */
bool gs_split_hand_over(Dwarf_CU *skeleton, Elf *elf);

/* ---- debugfile.c ---- */

struct gs_split;
struct gs_debug_state {
	struct gs_image image,
		alt_image;  /* what libdw reads in place of the files, when not empty */
	uint8_t *minidebug; /* what .gnu_debugdata held */
	Elf *minidebug_elf;
	struct gs_split *split;
	const char **problems;
	size_t nproblems, problems_cap;
};
/* CRC-32 of IEEE 802.3, as .gnu_debuglink has it. */
uint32_t gs_debuglink_crc(const uint8_t *p, size_t n);
int gs_debugfile_open(struct gs_module *m, const char *path);
/* Directory of a path, without the last slash; "." without one. */
const char *gs_debugfile_dir(struct gs_module *m, const char *path);
void gs_debugfile_problem(struct gs_module *m, const char *fmt, ...) GS_PRINTF(2, 3);

#endif
