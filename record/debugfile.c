/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the debug information of a module: its own, a separate file by build-id or .gnu_debuglink,
 * and the shared file of dwz. Every candidate must prove that it belongs: by build-id or by
 * checksum.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/dwarf_internal.h"

#define DEBUG_ROOT "/usr/lib/debug"

static int open_file(struct gs_module *m, const char *path)
{
	return m->opener.open_file ? m->opener.open_file(m->opener.ctx, path) : -ENOENT;
}

/* The directory part of the module's path, without the last slash. */
static const char *directory_of(struct gs_module *m)
{
	const char *slash = strrchr(m->info.path, '/');

	return slash ? gs_arena_strndup(&m->arena, m->info.path, (size_t)(slash - m->info.path))
		     : ".";
}

/* ---- proof ---- */

/* CRC-32 of IEEE 802.3, reflected: what .gnu_debuglink holds. */
static uint32_t debuglink_crc(const uint8_t *p, size_t n)
{
	static uint32_t table[256];
	uint32_t crc = 0xffffffff;

	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;

			for (int k = 0; k < 8; k++)
				c = (c >> 1) ^ (c & 1 ? 0xedb88320u : 0);
			table[i] = c;
		}
	for (size_t i = 0; i < n; i++)
		crc = table[(crc ^ p[i]) & 0xff] ^ (crc >> 8);
	return ~crc;
}

static bool crc_matches(int fd, uint32_t want)
{
	struct stat st;
	void *p;
	bool same;

	if (fstat(fd, &st) != 0 || st.st_size <= 0)
		return false;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	same = debuglink_crc(p, (size_t)st.st_size) == want;
	munmap(p, (size_t)st.st_size);
	return same;
}

/* The build-id of a file's note sections. */
static size_t build_id_of(Elf *elf, uint8_t *id, size_t max)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;
		GElf_Nhdr nhdr;
		size_t pos = 0, name, desc;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_NOTE)
			continue;
		data = elf_getdata(scn, NULL);
		while (data && (pos = gelf_getnote(data, pos, &nhdr, &name, &desc)) > 0) {
			if (nhdr.n_type != NT_GNU_BUILD_ID || nhdr.n_namesz != 4 ||
			    nhdr.n_descsz > max ||
			    memcmp((char *)data->d_buf + name, "GNU", 4) != 0)
				continue;
			memcpy(id, (char *)data->d_buf + desc, nhdr.n_descsz);
			return nhdr.n_descsz;
		}
	}
	return 0;
}

static bool has_build_id(Elf *elf, const uint8_t *want, size_t len)
{
	uint8_t id[64];

	return len && build_id_of(elf, id, sizeof(id)) == len && memcmp(id, want, len) == 0;
}

/* ---- candidates ---- */

static bool accept(struct gs_module *m, int fd, const char *path, const uint32_t *crc)
{
	Elf *elf;
	GElf_Ehdr ehdr;
	bool good;

	if (fd < 0)
		return false;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	good = elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &ehdr) &&
	       ehdr.e_machine == m->info.machine && gs_elf_has_section(elf, ".debug_info");
	if (good && m->info.build_id_len)
		good = has_build_id(elf, m->info.build_id, m->info.build_id_len) ||
		       (crc && crc_matches(fd, *crc));
	else if (good)
		good = crc && crc_matches(fd, *crc);
	if (!good) {
		if (elf)
			elf_end(elf);
		close(fd);
		return false;
	}
	m->debug_elf = elf;
	m->debug_fd = fd;
	m->info.debug_path = gs_arena_strdup(&m->arena, path);
	return true;
}

static const char *build_id_path(struct gs_module *m, const uint8_t *id, size_t len,
				 const char *suffix)
{
	struct gs_buf b;
	const char *path;

	gs_buf_init(&b);
	gs_buf_printf(&b, DEBUG_ROOT "/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < len; i++)
		gs_buf_printf(&b, "%02x", id[i]);
	gs_buf_puts(&b, suffix);
	path = gs_arena_strdup(&m->arena, gs_buf_cstr(&b));
	gs_buf_deinit(&b);
	return path;
}

static bool try_build_id(struct gs_module *m)
{
	const char *path;

	if (m->info.build_id_len < 2)
		return false;
	path = build_id_path(m, m->info.build_id, m->info.build_id_len, ".debug");
	return accept(m, open_file(m, path), path, NULL);
}

static bool try_debuglink(struct gs_module *m)
{
	GElf_Shdr shdr;
	Elf_Data *data = gs_elf_section(m->elf, ".gnu_debuglink", &shdr);
	const char *name, *dir = directory_of(m);
	size_t len;
	uint32_t crc;

	if (!data || data->d_size < 8)
		return false;
	name = data->d_buf;
	len = strnlen(name, data->d_size);
	if (((len + 4) & ~(size_t)3) + 4 > data->d_size || strchr(name, '/'))
		return false;
	crc = (uint32_t)gs_load_uint((uint8_t *)data->d_buf + ((len + 4) & ~(size_t)3), 4,
				     m->info.big_endian);
	for (size_t i = 0; i < 3; i++) {
		const char *path =
			i == 0	 ? gs_arena_printf(&m->arena, "%s/%s", dir, name)
			: i == 1 ? gs_arena_printf(&m->arena, "%s/.debug/%s", dir, name)
				 : gs_arena_printf(&m->arena, DEBUG_ROOT "%s/%s", dir, name);

		if (accept(m, open_file(m, path), path, &crc))
			return true;
	}
	return false;
}

/* ---- the shared file of dwz ---- */

static bool accept_alt(struct gs_module *m, const char *path, const uint8_t *id, size_t len)
{
	int fd = open_file(m, path);
	Elf *elf;

	if (fd < 0)
		return false;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && has_build_id(elf, id, len))
		m->alt = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!m->alt) {
		if (elf)
			elf_end(elf);
		close(fd);
		return false;
	}
	m->alt_elf = elf;
	m->alt_fd = fd;
	dwarf_setalt(m->dw, m->alt);
	return true;
}

static void load_alt(struct gs_module *m)
{
	GElf_Shdr shdr;
	Elf_Data *data = gs_elf_section(m->debug_elf, ".gnu_debugaltlink", &shdr);
	const char *name, *own = m->info.debug_path ? m->info.debug_path : m->info.path, *slash;
	const uint8_t *id;
	size_t len, id_len;

	if (!data || data->d_size < 3)
		return;
	name = data->d_buf;
	len = strnlen(name, data->d_size);
	if (len + 2 >= data->d_size)
		return;
	id = (const uint8_t *)name + len + 1;
	id_len = data->d_size - len - 1;
	slash = strrchr(own, '/');
	if (name[0] != '/' && slash)
		name = gs_arena_printf(&m->arena, "%.*s/%s", (int)(slash - own), own, name);
	if (accept_alt(m, name, id, id_len))
		return;
	if (accept_alt(m, build_id_path(m, id, id_len, ".debug"), id, id_len))
		return;
	m->info.debug_problem =
		gs_arena_printf(&m->arena, "the shared debug file %s was not found", name);
}

/* ---- loading ---- */

static const char *compression_problem(struct gs_module *m)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Chdr chdr;

	while ((scn = elf_nextscn(m->debug_elf, scn)))
		if (gelf_getshdr(scn, &shdr) && (shdr.sh_flags & SHF_COMPRESSED) &&
		    gelf_getchdr(scn, &chdr) && chdr.ch_type != ELFCOMPRESS_ZLIB)
			return "its sections are compressed in a way that libdw cannot read "
			       "(zstd): "
			       "decompress it with objcopy --decompress-debug-sections";
	return "it holds no units that can be read";
}

static void check_units(struct gs_module *m)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, sub;
	uint8_t type;
	size_t n = 0, missing = 0;

	while (dwarf_get_units(m->dw, cu, &cu, NULL, &type, &die, &sub) == 0) {
		n++;
		if (type == DW_UT_skeleton && !sub.cu)
			missing++;
	}
	if (n == 0)
		m->info.debug_problem =
			gs_arena_printf(&m->arena, "debug information in %s: %s",
					m->info.debug_path ? m->info.debug_path : m->info.path,
					compression_problem(m));
	else if (missing)
		m->info.debug_problem = gs_arena_printf(
			&m->arena, "split debug information: %zu of %zu .dwo files were not found",
			missing, n);
	m->info.has_dwarf = n != 0;
}

void gs_debugfile_load(struct gs_module *m)
{
	if (gs_elf_has_section(m->elf, ".debug_info") || gs_elf_has_section(m->elf, ".zdebug_info"))
		m->debug_elf = m->elf;
	else if (!try_build_id(m) && !try_debuglink(m))
		return;
	m->dw = dwarf_begin_elf(m->debug_elf, DWARF_C_READ, NULL);
	if (!m->dw) {
		m->info.debug_problem = gs_arena_printf(
			&m->arena, "debug information in %s: %s",
			m->info.debug_path ? m->info.debug_path : m->info.path, dwarf_errmsg(-1));
		return;
	}
	load_alt(m);
	check_units(m);
}

void gs_debugfile_close(struct gs_module *m)
{
	if (m->cfi_eh)
		dwarf_cfi_end(m->cfi_eh);
	if (m->dw)
		dwarf_end(m->dw);
	if (m->alt)
		dwarf_end(m->alt);
	if (m->alt_elf)
		elf_end(m->alt_elf);
	if (m->debug_elf && m->debug_elf != m->elf)
		elf_end(m->debug_elf);
	if (m->debug_fd >= 0)
		close(m->debug_fd);
	if (m->alt_fd >= 0)
		close(m->alt_fd);
}
