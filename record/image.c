/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sections as plain bytes whatever they are compressed with, and ELF files that exist only in
 * memory. What libdw cannot read itself reaches it this way: sections compressed with zstd, units
 * out of packages.
 */
#include <stdlib.h>
#ifdef GS_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef GS_HAVE_LZMA
#include <lzma.h>
#endif

#include "record/debugfile.h"

#define CHTYPE_ZSTD 2 /* ELFCOMPRESS_ZSTD: younger than the oldest elf.h */
#define XZ_BYTES_MAX (256u << 20)

const char *gs_image_features(void)
{
	return ""
#ifdef GS_HAVE_ZSTD
	       " zstd"
#endif
#ifdef GS_HAVE_LZMA
	       " lzma"
#endif
		;
}

/* ---- decompression ---- */

static struct gs_error *zstd_bytes(const char *name, const uint8_t *in, size_t n, uint64_t size,
				   struct gs_section_bytes *out)
{
#ifdef GS_HAVE_ZSTD
	uint8_t *bytes;
	size_t got;

	if (size > GS_SECTION_BYTES_MAX)
		return gs_error_new(GS_ERR_LIMIT, "section %s would have %llu bytes", name,
				    (unsigned long long)size);
	/* Not cleared: pages of a size that is a lie are never touched. */
	bytes = malloc(size ? size : 1);
	if (!bytes)
		return gs_error_new(GS_ERR_LIMIT, "section %s: no memory for %llu bytes", name,
				    (unsigned long long)size);
	got = ZSTD_decompress(bytes, size, in, n);
	if (ZSTD_isError(got) || got != size) {
		free(bytes);
		return gs_error_new(GS_ERR_DAMAGED, "section %s: its zstd data is damaged", name);
	}
	*out = (struct gs_section_bytes){bytes, size, bytes};
	return NULL;
#else
	return gs_error_new(GS_ERR_UNSUPPORTED,
			    "section %s is compressed with zstd, and this gs-record was built "
			    "without libzstd: decompress it with objcopy "
			    "--decompress-debug-sections",
			    name);
#endif
}

struct gs_error *gs_xz_decompress(const uint8_t *data, size_t size, uint8_t **out, size_t *n)
{
#ifdef GS_HAVE_LZMA
	lzma_stream s = LZMA_STREAM_INIT;
	struct gs_buf b = {0};
	lzma_ret ret = lzma_stream_decoder(&s, XZ_BYTES_MAX, 0);

	s.next_in = data;
	s.avail_in = size;
	while (ret == LZMA_OK && b.len < XZ_BYTES_MAX) {
		s.avail_out = 1u << 20;
		s.next_out = gs_buf_reserve(&b, s.avail_out);
		ret = lzma_code(&s, LZMA_FINISH);
		b.len += (1u << 20) - s.avail_out;
	}
	lzma_end(&s);
	if (ret != LZMA_STREAM_END) {
		gs_buf_deinit(&b);
		return gs_error_new(ret == LZMA_OK ? GS_ERR_LIMIT : GS_ERR_DAMAGED,
				    ret == LZMA_OK ? "it is too large" : "its data is damaged");
	}
	*out = b.data;
	*n = b.len;
	return NULL;
#else
	return gs_error_new(GS_ERR_UNSUPPORTED, "this gs-record was built without liblzma");
#endif
}

static bool is_zstd(Elf_Scn *scn, const GElf_Shdr *shdr)
{
	GElf_Chdr chdr;

	return (shdr->sh_flags & SHF_COMPRESSED) && gelf_getchdr(scn, &chdr) &&
	       chdr.ch_type == CHTYPE_ZSTD;
}

bool gs_elf_has_zstd(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &shdr) && is_zstd(scn, &shdr))
			return true;
	return false;
}

/* ---- sections ---- */

static struct gs_error *read_section(Elf *elf, Elf_Scn *scn, const char *name, bool is_gnu,
				     struct gs_section_bytes *out)
{
	size_t header = gelf_getclass(elf) == ELFCLASS64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	GElf_Shdr shdr;
	GElf_Chdr chdr;
	Elf_Data *data;

	if (!gelf_getshdr(scn, &shdr))
		return NULL;
	if (is_zstd(scn, &shdr)) {
		data = elf_rawdata(scn, NULL);
		if (!data || !gelf_getchdr(scn, &chdr) || data->d_size < header)
			return gs_error_new(GS_ERR_DAMAGED, "section %s is cut short", name);
		return zstd_bytes(name, (uint8_t *)data->d_buf + header, data->d_size - header,
				  chdr.ch_size, out);
	}
	/* libelf bounds the size by the best ratio that zlib has. */
	if (((shdr.sh_flags & SHF_COMPRESSED) && elf_compress(scn, 0, 0) < 0) ||
	    (is_gnu && elf_compress_gnu(scn, 0, 0) < 0))
		return gs_error_new(GS_ERR_DAMAGED, "section %s cannot be decompressed: %s", name,
				    elf_errmsg(-1));
	data = elf_getdata(scn, NULL);
	if (!data)
		return gs_error_new(GS_ERR_DAMAGED, "section %s: %s", name, elf_errmsg(-1));
	*out = (struct gs_section_bytes){data->d_buf, data->d_size, NULL};
	return NULL;
}

struct gs_error *gs_section_read(Elf *elf, const char *name, struct gs_section_bytes *out)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t names;

	*out = (struct gs_section_bytes){0};
	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *s =
			gelf_getshdr(scn, &shdr) ? elf_strptr(elf, names, shdr.sh_name) : NULL;
		bool is_gnu = s && strncmp(s, ".zdebug", 7) == 0;

		if (!s || shdr.sh_type == SHT_NOBITS)
			continue;
		if (is_gnu ? strcmp(s + 2, name + 1) == 0 : strcmp(s, name) == 0)
			return read_section(elf, scn, name, is_gnu, out);
	}
	return NULL;
}

void gs_section_free(struct gs_section_bytes *s)
{
	free(s->owned);
	*s = (struct gs_section_bytes){0};
}

/* ---- images ---- */

void gs_image_init(struct gs_image *img)
{
	*img = (struct gs_image){0};
	gs_buf_append(&img->names, "", 1);
	*GS_PUSH(img->sections, img->nsections, img->sections_cap) = (GElf_Shdr){0};
	memset(gs_buf_reserve(&img->bytes, sizeof(Elf64_Ehdr)), 0, sizeof(Elf64_Ehdr));
	img->bytes.len = sizeof(Elf64_Ehdr);
}

static void align(struct gs_buf *b)
{
	while (b->len % 16)
		gs_put_u8(b, 0);
}

void gs_image_add(struct gs_image *img, const char *name, const void *data, size_t size)
{
	GElf_Shdr *shdr = GS_PUSH(img->sections, img->nsections, img->sections_cap);

	align(&img->bytes);
	*shdr = (GElf_Shdr){.sh_name = (Elf64_Word)img->names.len,
			    .sh_type = SHT_PROGBITS,
			    .sh_offset = img->bytes.len,
			    .sh_size = size,
			    .sh_addralign = 1};
	gs_buf_append(&img->names, name, strlen(name) + 1);
	gs_buf_append(&img->bytes, data, size);
}

static void put_section(struct gs_buf *b, const GElf_Shdr *s, bool is_64)
{
	Elf32_Shdr narrow = {.sh_name = s->sh_name,
			     .sh_type = s->sh_type,
			     .sh_offset = (Elf32_Off)s->sh_offset,
			     .sh_size = (Elf32_Word)s->sh_size,
			     .sh_addralign = (Elf32_Word)s->sh_addralign};

	if (is_64)
		gs_buf_append(b, s, sizeof(*s));
	else
		gs_buf_append(b, &narrow, sizeof(narrow));
}

static void fill_header(struct gs_image *img, const GElf_Ehdr *like, size_t table, bool is_64)
{
	uint16_t n = (uint16_t)img->nsections, last = (uint16_t)(n - 1);
	Elf64_Ehdr wide = {.e_type = ET_REL,
			   .e_machine = like->e_machine,
			   .e_version = EV_CURRENT,
			   .e_shoff = table,
			   .e_ehsize = sizeof(wide),
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = n,
			   .e_shstrndx = last};
	Elf32_Ehdr narrow = {.e_type = ET_REL,
			     .e_machine = like->e_machine,
			     .e_version = EV_CURRENT,
			     .e_shoff = (Elf32_Off)table,
			     .e_ehsize = sizeof(narrow),
			     .e_shentsize = sizeof(Elf32_Shdr),
			     .e_shnum = n,
			     .e_shstrndx = last};

	memcpy(wide.e_ident, like->e_ident, EI_NIDENT);
	memcpy(narrow.e_ident, like->e_ident, EI_NIDENT);
	memcpy(img->bytes.data, is_64 ? (void *)&wide : (void *)&narrow,
	       is_64 ? sizeof(wide) : sizeof(narrow));
}

struct gs_error *gs_image_finish(struct gs_image *img, Elf *like)
{
	bool is_64 = gelf_getclass(like) == ELFCLASS64;
	GElf_Ehdr ehdr;
	size_t table;

	if (!gelf_getehdr(like, &ehdr) ||
	    ehdr.e_ident[EI_DATA] !=
		    (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ELFDATA2MSB : ELFDATA2LSB))
		return gs_error_new(GS_ERR_UNSUPPORTED, "it is of the other byte order");
	if (img->bytes.len > (is_64 ? GS_FILE_BYTES_MAX : UINT32_MAX / 2))
		return gs_error_new(GS_ERR_LIMIT, "it is too large when decompressed");
	gs_image_add(img, ".shstrtab", NULL, 0);
	img->sections[img->nsections - 1].sh_type = SHT_STRTAB;
	img->sections[img->nsections - 1].sh_size = img->names.len;
	gs_buf_append(&img->bytes, img->names.data, img->names.len);
	align(&img->bytes);
	table = img->bytes.len;
	for (size_t i = 0; i < img->nsections; i++)
		put_section(&img->bytes, &img->sections[i], is_64);
	fill_header(img, &ehdr, table, is_64);
	img->elf = elf_memory((char *)img->bytes.data, img->bytes.len);
	return img->elf ? NULL : gs_error_new(GS_ERR_DAMAGED, "%s", elf_errmsg(-1));
}

void gs_image_deinit(struct gs_image *img, bool keep_elf)
{
	if (img->elf && !keep_elf)
		elf_end(img->elf);
	gs_buf_deinit(&img->bytes);
	gs_buf_deinit(&img->names);
	free(img->sections);
	*img = (struct gs_image){0};
}

/* The plain name of a debug section, or NULL for another. */
static const char *debug_name(const char *s, char *out, size_t size)
{
	if (s && strncmp(s, ".zdebug_", 8) == 0)
		snprintf(out, size, ".%s", s + 2);
	else if (s && strncmp(s, ".debug_", 7) == 0)
		snprintf(out, size, "%s", s);
	else
		return NULL;
	return out;
}

/* A section that goes on: assemblers keep type units in sections of one name, which libdw does not.
 */
static bool append_same(struct gs_image *img, const char *name, const void *data, size_t size)
{
	GElf_Shdr *last = &img->sections[img->nsections - 1];

	if (strcmp((char *)img->names.data + last->sh_name, name) != 0)
		return false;
	gs_buf_append(&img->bytes, data, size);
	last->sh_size += size;
	return true;
}

static struct gs_error *add_decompressed(Elf *elf, Elf_Scn *scn, const char *own, const char *name,
					 struct gs_image *out)
{
	struct gs_section_bytes s = {0};

	GS_TRY(read_section(elf, scn, name, own[1] == 'z', &s));
	if (out->bytes.len + s.size > GS_FILE_BYTES_MAX) {
		gs_section_free(&s);
		return gs_error_new(GS_ERR_LIMIT, "it is too large when decompressed");
	}
	if (!append_same(out, name, s.data, s.size))
		gs_image_add(out, name, s.data, s.size);
	gs_section_free(&s);
	return NULL;
}

/* The plain name of a section that counts, or NULL. */
static const char *section_name(Elf *elf, Elf_Scn *scn, size_t names, const char **own, char *out,
				size_t size)
{
	GElf_Shdr shdr;

	if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
		return NULL;
	*own = elf_strptr(elf, names, shdr.sh_name);
	return debug_name(*own, out, size);
}

static bool has_name(const struct gs_image *img, const char *name)
{
	for (size_t i = 1; i < img->nsections; i++)
		if (strcmp((char *)img->names.data + img->sections[i].sh_name, name) == 0)
			return true;
	return false;
}

/* All sections of the name of FIRST, one after the other. */
static struct gs_error *add_all_of(Elf *elf, Elf_Scn *first, size_t names, struct gs_image *out)
{
	const char *own;
	char name[256], other[256];

	if (!section_name(elf, first, names, &own, name, sizeof(name)) || has_name(out, name))
		return NULL;
	for (Elf_Scn *scn = first; scn; scn = elf_nextscn(elf, scn))
		if (section_name(elf, scn, names, &own, other, sizeof(other)) &&
		    strcmp(name, other) == 0)
			GS_TRY(add_decompressed(elf, scn, own, name, out));
	return NULL;
}

bool gs_elf_is_in_pieces(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names, n = 0;
	const char *own;
	char name[256];

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((scn = elf_nextscn(elf, scn)))
		if (section_name(elf, scn, names, &own, name, sizeof(name)))
			n += strcmp(name, ".debug_info.dwo") == 0 ||
			     strcmp(name, ".debug_types.dwo") == 0;
	return n > 1;
}

struct gs_error *gs_image_decompressed(Elf *elf, struct gs_image *out)
{
	struct gs_error *err = NULL;
	Elf_Scn *scn = NULL;
	size_t names;

	gs_image_init(out);
	if (elf_getshdrstrndx(elf, &names) != 0)
		err = gs_error_new(GS_ERR_DAMAGED, "%s", elf_errmsg(-1));
	while (!err && (scn = elf_nextscn(elf, scn)) && out->nsections < 1000)
		err = add_all_of(elf, scn, names, out);
	if (!err)
		err = gs_image_finish(out, elf);
	if (err)
		gs_image_deinit(out, false);
	return err;
}
