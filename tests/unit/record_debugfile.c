/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pieces of finding debug information that need no compiler: the checksum of .gnu_debuglink, the
 * index of packages, compressed sections, and what hostile ones of them lead to.
 */
#include <stdlib.h>

#include "record/debugfile.h"
#include "tests/tap.h"

static void test_checksum(void)
{
	/* The check value of CRC-32/ISO-HDLC. */
	CHECK_INT(gs_debuglink_crc((const uint8_t *)"123456789", 9), 0xcbf43926);
	CHECK_INT(gs_debuglink_crc(NULL, 0), 0);
}

/* ---- packages ---- */

/* Two units in four slots; columns INFO, ABBREV and one of a number that does not exist. */
static void make_index(struct gs_buf *b, uint16_t version)
{
	static const uint64_t slots[4] = {0x1000000000000004, 0, 0, 0x3000000200000004};
	static const uint32_t rows[4] = {1, 0, 0, 2};
	static const uint32_t columns[3] = {1, 3, 77};

	gs_buf_reset(b);
	if (version == 5)
		gs_put_u16(b, 5), gs_put_u16(b, 0);
	else
		gs_put_u32(b, version);
	gs_put_u32(b, 3);
	gs_put_u32(b, 2);
	gs_put_u32(b, 4);
	for (int i = 0; i < 4; i++)
		gs_put_u64(b, slots[i]);
	for (int i = 0; i < 4; i++)
		gs_put_u32(b, rows[i]);
	for (int i = 0; i < 3; i++)
		gs_put_u32(b, columns[i]);
	for (uint32_t i = 0; i < 6; i++)
		gs_put_u32(b, 100 * i);
	for (uint32_t i = 0; i < 6; i++)
		gs_put_u32(b, 10 + i);
}

static void test_index_of_a_package(void)
{
	static const uint16_t versions[] = {2, 5};
	struct gs_dwp_index x;
	struct gs_buf b;

	gs_buf_init(&b);
	for (size_t i = 0; i < 2; i++) {
		struct gs_dwp_slice s;

		make_index(&b, versions[i]);
		CHECK(!gs_dwp_index_parse(b.data, b.len, false, &x));
		CHECK_INT(x.version, versions[i]);
		CHECK_INT(gs_dwp_index_find(&x, 0x1000000000000004), 1);
		/* Its first slot is taken: found by the second hash. */
		CHECK_INT(gs_dwp_index_find(&x, 0x3000000200000004), 2);
		CHECK_INT(gs_dwp_index_find(&x, 0x3000000200000005), 0);
		s = gs_dwp_index_slice(&x, 2, GS_DWP_INFO);
		CHECK(s.offset == 300 && s.size == 13);
		s = gs_dwp_index_slice(&x, 1, GS_DWP_ABBREV);
		CHECK(s.offset == 100 && s.size == 11);
		s = gs_dwp_index_slice(&x, 1, GS_DWP_LINE);
		CHECK(s.offset == 0 && s.size == 0);
		s = gs_dwp_index_slice(&x, 3, GS_DWP_INFO);
		CHECK(s.offset == 0 && s.size == 0);
	}
	gs_buf_deinit(&b);
}

static bool is_refused(const uint8_t *p, size_t n)
{
	struct gs_dwp_index x;
	struct gs_error *err = gs_dwp_index_parse(p, n, false, &x);
	bool refused = err != NULL;

	gs_error_free(err);
	return refused;
}

static void test_hostile_index(void)
{
	struct gs_dwp_index x;
	struct gs_buf b;

	gs_buf_init(&b);
	make_index(&b, 5);
	for (size_t n = 0; n < b.len; n++) {
		/* In memory of its own, so that a sanitizer sees a read beyond. */
		uint8_t *copy = malloc(n + 1);

		memcpy(copy, b.data, n);
		CHECK(is_refused(copy, n));
		free(copy);
	}
	for (size_t at = 0; at < b.len * 8; at++) {
		b.data[at / 8] ^= (uint8_t)(1u << at % 8);
		if (!is_refused(b.data, b.len)) {
			gs_error_free(gs_dwp_index_parse(b.data, b.len, false, &x));
			for (uint32_t row = 0; row < 5; row++)
				for (int c = 0; c < GS_DWP_NCOLUMNS; c++)
					gs_dwp_index_slice(&x, row, c);
			CHECK(gs_dwp_index_find(&x, 0x3000000200000004) <= 2);
		}
		b.data[at / 8] ^= (uint8_t)(1u << at % 8);
	}
	/* Every slot taken: a search for what is not there ends. */
	for (int i = 0; i < 4; i++)
		b.data[16 + 32 + 4 * i] = 1;
	CHECK(!gs_dwp_index_parse(b.data, b.len, false, &x));
	CHECK_INT(gs_dwp_index_find(&x, 0x42), 0);
	gs_buf_deinit(&b);
}

/* ---- compressed sections ---- */

/* An ELF image with one section .debug_x that says to be compressed. */
static Elf *compressed(struct gs_image *img, uint32_t type, uint64_t size, const void *data,
		       size_t n)
{
	static Elf64_Ehdr like = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					      ELFDATA2LSB, EV_CURRENT},
				  .e_type = ET_REL,
				  .e_machine = EM_X86_64,
				  .e_version = EV_CURRENT,
				  .e_ehsize = sizeof(like),
				  .e_shentsize = sizeof(Elf64_Shdr)};
	Elf64_Chdr chdr = {.ch_type = type, .ch_size = size, .ch_addralign = 1};
	Elf *model;
	struct gs_buf b;
	struct gs_error *err;

	elf_version(EV_CURRENT);
	model = elf_memory((char *)&like, sizeof(like));
	gs_buf_init(&b);
	gs_buf_append(&b, &chdr, sizeof(chdr));
	gs_buf_append(&b, data, n);
	gs_image_init(img);
	gs_image_add(img, ".debug_x", b.data, b.len);
	img->sections[1].sh_flags = SHF_COMPRESSED;
	err = gs_image_finish(img, model);
	CHECK(!err);
	gs_error_free(err);
	elf_end(model);
	gs_buf_deinit(&b);
	return img->elf;
}

static void check_section(uint32_t type, uint64_t size, const void *data, size_t n,
			  const char *want)
{
	struct gs_section_bytes s;
	struct gs_image img;
	struct gs_error *err;

	err = gs_section_read(compressed(&img, type, size, data, n), ".debug_x", &s);
	if (want)
		CHECK(!err && s.size == strlen(want) && memcmp(s.data, want, s.size) == 0);
	else
		CHECK(err && strstr(gs_error_message(err), ".debug_x"));
	gs_error_free(err);
	gs_section_free(&s);
	gs_image_deinit(&img, false);
}

static void test_compressed_sections(void)
{
	/* A zstd frame of one raw block "hello", and zlib's of a stored block. */
	static const uint8_t zstd[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 5,	  0x29,
				       0,    0,	   'h',	 'e',  'l',  'l', 'o'};
	static const uint8_t zlib[] = {0x78, 0x01, 1,	5,   0,	   0xfa, 0xff, 'h',
				       'e',  'l',  'l', 'o', 0x06, 0x2c, 0x02, 0x15};
	bool has = strstr(gs_image_features(), "zstd") != NULL;

	check_section(2, 5, zstd, sizeof(zstd), has ? "hello" : NULL);
	check_section(ELFCOMPRESS_ZLIB, 5, zlib, sizeof(zlib), "hello");
	/* Sizes that are lies, data that is cut. */
	check_section(2, 4, zstd, sizeof(zstd), NULL);
	check_section(2, 6, zstd, sizeof(zstd), NULL);
	check_section(2, UINT64_MAX, zstd, sizeof(zstd), NULL);
	check_section(2, 1ull << 40, zstd, sizeof(zstd), NULL);
	check_section(2, 1ull << 30, zstd, sizeof(zstd), NULL);
	check_section(ELFCOMPRESS_ZLIB, 1ull << 40, zlib, sizeof(zlib), NULL);
	check_section(77, 5, zstd, sizeof(zstd), NULL);
	for (size_t n = 0; n < sizeof(zstd); n++)
		check_section(2, 5, zstd, n, NULL);
}

static void test_xz(void)
{
	uint8_t *out = NULL;
	size_t n = 0;
	struct gs_error *err = gs_xz_decompress((const uint8_t *)"\xfd"
								 "7zXZ\0\0\4garbage",
						15, &out, &n);

	CHECK(err && !out);
	gs_error_free(err);
}

int main(void)
{
	TAP_RUN(test_checksum);
	TAP_RUN(test_index_of_a_package);
	TAP_RUN(test_hostile_index);
	TAP_RUN(test_compressed_sections);
	TAP_RUN(test_xz);
	return tap_done();
}
