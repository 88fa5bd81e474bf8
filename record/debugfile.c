/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the debug information of a module: its own, a separate file by build-id or .gnu_debuglink,
 * the shared file of dwz, and the symbols of .gnu_debugdata. Every candidate must prove that it
 * belongs, by build-id or by checksum, and that it can be read; what is refused is said, and the
 * search goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/debugfile.h"

#define DEBUG_ROOT "/usr/lib/debug"

int gs_debugfile_open(struct gs_module *m, const char *path)
{
	return m->opener.open_file ? m->opener.open_file(m->opener.ctx, path) : -ENOENT;
}

const char *gs_debugfile_dir(struct gs_module *m, const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? gs_arena_strndup(&m->arena, path, (size_t)(slash - path)) : ".";
}

/* The directory that the file was installed to. */
static const char *installed_dir(struct gs_module *m)
{
	const char *dir = gs_debugfile_dir(m, m->info.path), *root = m->opener.root;
	size_t n = root ? strlen(root) : 0;

	return n && strncmp(dir, root, n) == 0 && (dir[n] == '/' || !dir[n]) ? dir + n : dir;
}

void gs_debugfile_problem(struct gs_module *m, const char *fmt, ...)
{
	struct gs_debug_state *d = m->debug;
	char text[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* The same file may be tried under several rules. */
	for (size_t i = 0; i < d->nproblems; i++)
		if (strcmp(d->problems[i], text) == 0)
			return;
	if (d->nproblems >= 32)
		return;
	*GS_PUSH(d->problems, d->nproblems, d->problems_cap) = gs_arena_strdup(&m->arena, text);
	m->info.debug_notes = d->problems;
	m->info.ndebug_notes = d->nproblems;
}

/* ---- proof ---- */

/* CRC-32 of IEEE 802.3, reflected: what .gnu_debuglink holds. */
uint32_t gs_debuglink_crc(const uint8_t *p, size_t n)
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

static bool crc_of_file(int fd, uint32_t *crc)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st) != 0 || st.st_size <= 0)
		return false;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	*crc = gs_debuglink_crc(p, (size_t)st.st_size);
	munmap(p, (size_t)st.st_size);
	return true;
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

static const char *id_text(struct gs_module *m, const uint8_t *id, size_t len)
{
	char *text = gs_arena_alloc(&m->arena, 2 * len + 1);

	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	text[2 * len] = 0;
	return text;
}

/* What a candidate has to show. */
struct proof {
	const uint8_t *id;
	size_t id_len; /* 0: the module has none */
	const uint32_t *crc;
};

/* NULL, or why the file is another's. */
static const char *disproof(struct gs_module *m, Elf *elf, int fd, const struct proof *p)
{
	uint8_t id[64];
	size_t len = build_id_of(elf, id, sizeof(id));
	uint32_t crc = 0;

	if (p->id_len && len) {
		if (len == p->id_len && memcmp(id, p->id, len) == 0)
			return NULL;
		return gs_arena_printf(&m->arena, "its build-id is %s, not %s", id_text(m, id, len),
				       id_text(m, p->id, p->id_len));
	}
	if (!p->crc)
		return p->id_len ? gs_arena_printf(&m->arena, "it has no build-id; %s is wanted",
						   id_text(m, p->id, p->id_len))
				 : "neither has a build-id";
	if (!crc_of_file(fd, &crc) || crc != *p->crc)
		return gs_arena_printf(&m->arena, "its checksum is %08x, not %08x", crc, *p->crc);
	return NULL;
}

/* ---- opening ---- */

/* NULL, or what is wrong with the file itself. */
static const char *damage(struct gs_module *m, Elf *elf, int fd)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Ehdr ehdr;
	struct stat st;
	size_t n = 0;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr) || fstat(fd, &st) != 0)
		return "it is not an ELF file, or cut short";
	if (ehdr.e_machine != m->info.machine)
		return "it is for another machine";
	if (elf_getshdrnum(elf, &n) != 0 || ehdr.e_shoff > (uint64_t)st.st_size ||
	    (uint64_t)ehdr.e_shnum * ehdr.e_shentsize > (uint64_t)st.st_size - ehdr.e_shoff)
		return "it is cut short";
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type != SHT_NOBITS &&
		    (shdr.sh_offset > (uint64_t)st.st_size ||
		     shdr.sh_size > (uint64_t)st.st_size - shdr.sh_offset))
			return "it is cut short";
	return NULL;
}

/*
 * libdw's handle for the debug sections, decompressed first where libdw could not; *image is what
 * stands for the file then. NULL with *why.
 */
static Dwarf *open_dwarf(struct gs_module *m, Elf *elf, struct gs_image *image, const char **why)
{
	struct gs_error *err = NULL;
	Dwarf_CU *cu = NULL;
	Dwarf *dw;

	if (gs_elf_has_zstd(elf))
		err = gs_image_decompressed(elf, image);
	if (err) {
		*why = gs_arena_strdup(&m->arena, gs_error_message(err));
		gs_error_free(err);
		return NULL;
	}
	dw = dwarf_begin_elf(image->elf ? image->elf : elf, DWARF_C_READ, NULL);
	if (dw && dwarf_get_units(dw, NULL, &cu, NULL, NULL, NULL, NULL) == 0)
		return dw;
	*why = dw ? "it holds no units that can be read" : dwarf_errmsg(-1);
	if (dw)
		dwarf_end(dw);
	gs_image_deinit(image, false);
	return NULL;
}

static bool has_debug_info(Elf *elf)
{
	return gs_elf_has_section(elf, ".debug_info") || gs_elf_has_section(elf, ".zdebug_info");
}

/* Takes FD over; a negative one is no candidate. */
static bool accept(struct gs_module *m, int fd, const char *path, const struct proof *proof)
{
	const char *why;
	Elf *elf;

	if (fd < 0)
		return false;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	why = damage(m, elf, fd);
	if (!why)
		why = disproof(m, elf, fd, proof);
	if (!why && !has_debug_info(elf))
		why = "it has no debug information";
	if (!why)
		m->dw = open_dwarf(m, elf, &m->debug->image, &why);
	if (m->dw) {
		m->debug_elf = elf;
		m->debug_fd = fd;
		m->info.debug_path = gs_arena_strdup(&m->arena, path);
		return true;
	}
	gs_debugfile_problem(m, "debug file %s is not used: %s", path, why);
	if (elf)
		elf_end(elf);
	close(fd);
	return false;
}

/* ---- candidates ---- */

static const char *build_id_path(struct gs_module *m, const char *root, const uint8_t *id,
				 size_t len)
{
	const char *text = id_text(m, id, len);

	return gs_arena_printf(&m->arena, "%s/%.2s/%s.debug", root, text, text + 2);
}

static bool try_path(struct gs_module *m, const char *path, const struct proof *proof)
{
	/* A link may lead back to the stripped file itself. */
	return strcmp(path, m->info.path) != 0 &&
	       accept(m, gs_debugfile_open(m, path), path, proof);
}

static bool try_build_id_tree(struct gs_module *m, const char *dir, const struct proof *proof)
{
	return proof->id_len >= 2 &&
	       try_path(m,
			build_id_path(m, gs_arena_printf(&m->arena, "%s/.build-id", dir), proof->id,
				      proof->id_len),
			proof);
}

/* The name and checksum in .gnu_debuglink; NULL without. */
static const char *debuglink(struct gs_module *m, uint32_t *crc)
{
	GElf_Shdr shdr;
	Elf_Data *data = gs_elf_section(m->elf, ".gnu_debuglink", &shdr);
	const char *name;
	size_t len;

	if (!data || data->d_size < 8)
		return NULL;
	name = data->d_buf;
	len = strnlen(name, data->d_size);
	if (!len || ((len + 4) & ~(size_t)3) + 4 > data->d_size || strchr(name, '/'))
		return NULL;
	*crc = (uint32_t)gs_load_uint((uint8_t *)data->d_buf + ((len + 4) & ~(size_t)3), 4,
				      m->info.big_endian);
	return name;
}

/* One of -D: a tree like /usr/lib/debug, a tree of build-ids, or a directory of debug files. */
static bool try_debug_dir(struct gs_module *m, const char *root, const char *link,
			  const struct proof *by_id, const struct proof *by_link)
{
	const char *base = strrchr(m->info.path, '/');
	const char *dir = installed_dir(m);

	base = base ? base + 1 : m->info.path;
	if (try_build_id_tree(m, root, by_id))
		return true;
	if (by_id->id_len >= 2 &&
	    try_path(m, build_id_path(m, root, by_id->id, by_id->id_len), by_id))
		return true;
	if (link &&
	    ((dir[0] == '/' &&
	      try_path(m, gs_arena_printf(&m->arena, "%s%s/%s", root, dir, link), by_link)) ||
	     try_path(m, gs_arena_printf(&m->arena, "%s/%s", root, link), by_link)))
		return true;
	return by_id->id_len &&
	       (try_path(m, gs_arena_printf(&m->arena, "%s/%s.debug", root, base), by_id) ||
		try_path(m, gs_arena_printf(&m->arena, "%s/%s", root, base), by_id));
}

static bool try_debuglink(struct gs_module *m, const char *link, const struct proof *proof)
{
	const char *dir = gs_debugfile_dir(m, m->info.path), *installed = installed_dir(m);

	return link &&
	       (try_path(m, gs_arena_printf(&m->arena, "%s/%s", dir, link), proof) ||
		try_path(m, gs_arena_printf(&m->arena, "%s/.debug/%s", dir, link), proof) ||
		(installed[0] == '/' &&
		 try_path(m, gs_arena_printf(&m->arena, DEBUG_ROOT "%s/%s", installed, link),
			  proof)));
}

static bool try_fetch(struct gs_module *m, const struct proof *proof)
{
	const char *path = "debuginfod";
	int fd;

	if (!m->opener.fetch || !proof->id_len)
		return false;
	fd = m->opener.fetch(m->opener.ctx, proof->id, proof->id_len, &path);
	return accept(m, fd, path, proof);
}

static bool find_separate(struct gs_module *m)
{
	uint32_t crc = 0;
	const char *link = debuglink(m, &crc);
	struct proof by_id = {m->info.build_id, m->info.build_id_len, NULL};
	struct proof by_link = {m->info.build_id, m->info.build_id_len, &crc};

	for (size_t i = 0; i < m->opener.ndebug_dirs; i++)
		if (try_debug_dir(m, m->opener.debug_dirs[i], link, &by_id, &by_link))
			return true;
	return try_build_id_tree(m, DEBUG_ROOT, &by_id) || try_debuglink(m, link, &by_link) ||
	       try_fetch(m, &by_id);
}

/* ---- the shared file of dwz ---- */

static bool accept_alt(struct gs_module *m, int fd, const char *path, const struct proof *proof)
{
	const char *why;
	Elf *elf;

	if (fd < 0)
		return false;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	why = damage(m, elf, fd);
	if (!why)
		why = disproof(m, elf, fd, proof);
	if (!why)
		m->alt = open_dwarf(m, elf, &m->debug->alt_image, &why);
	if (m->alt) {
		m->alt_elf = elf;
		m->alt_fd = fd;
		dwarf_setalt(m->dw, m->alt);
		return true;
	}
	gs_debugfile_problem(m, "shared debug file %s is not used: %s", path, why);
	if (elf)
		elf_end(elf);
	close(fd);
	return false;
}

static bool find_alt(struct gs_module *m, const char *name, const struct proof *proof)
{
	const char *own = m->info.debug_path ? m->info.debug_path : m->info.path;
	const char *base = strrchr(name, '/'), *path = name;

	base = base ? base + 1 : name;
	if (name[0] != '/')
		path = gs_arena_printf(&m->arena, "%s/%s", gs_debugfile_dir(m, own), name);
	if (accept_alt(m, gs_debugfile_open(m, path), path, proof))
		return true;
	for (size_t i = 0; i <= m->opener.ndebug_dirs; i++) {
		bool last = i == m->opener.ndebug_dirs;
		const char *root = last ? DEBUG_ROOT : m->opener.debug_dirs[i];
		const char *tries[] = {
			build_id_path(m, gs_arena_printf(&m->arena, "%s/.build-id", root),
				      proof->id, proof->id_len),
			build_id_path(m, root, proof->id, proof->id_len),
			gs_arena_printf(&m->arena, "%s/.dwz/%s", root, base),
			gs_arena_printf(&m->arena, "%s/%s", root, base),
		};

		for (size_t k = 0; k < GS_ARRAY_SIZE(tries); k++)
			if (accept_alt(m, gs_debugfile_open(m, tries[k]), tries[k], proof))
				return true;
	}
	path = "debuginfod";
	return m->opener.fetch &&
	       accept_alt(m, m->opener.fetch(m->opener.ctx, proof->id, proof->id_len, &path), path,
			  proof);
}

static void load_alt(struct gs_module *m)
{
	GElf_Shdr shdr;
	Elf_Data *data = gs_elf_section(m->debug_elf, ".gnu_debugaltlink", &shdr);
	struct proof proof = {0};
	const char *name;
	size_t len;

	if (!data || data->d_size < 4)
		return;
	name = data->d_buf;
	len = strnlen(name, data->d_size);
	if (!len || len + 3 > data->d_size || data->d_size - len - 1 > 64)
		return;
	proof.id = (const uint8_t *)name + len + 1;
	proof.id_len = data->d_size - len - 1;
	if (!find_alt(m, name, &proof))
		gs_debugfile_problem(m,
				     "the shared debug file %s (build-id %s) was not found: what "
				     "is in it is not known",
				     name, id_text(m, proof.id, proof.id_len));
}

/* ---- symbols alone ---- */

static bool has_symbol_table(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_SYMTAB)
			return true;
	return false;
}

static void load_minidebug(struct gs_module *m)
{
	GElf_Shdr shdr;
	Elf_Data *data = gs_elf_section(m->elf, ".gnu_debugdata", &shdr);
	struct gs_debug_state *d = m->debug;
	struct gs_error *err;
	size_t n = 0;

	if (!data || !data->d_size || has_symbol_table(m->elf))
		return;
	err = gs_xz_decompress(data->d_buf, data->d_size, &d->minidebug, &n);
	if (!err)
		d->minidebug_elf = elf_memory((char *)d->minidebug, n);
	if (err || !d->minidebug_elf)
		gs_debugfile_problem(m, "the symbols in .gnu_debugdata of %s cannot be read: %s",
				     m->info.path, err ? gs_error_message(err) : elf_errmsg(-1));
	gs_error_free(err);
}

/* ---- loading ---- */

static void load_dwarf(struct gs_module *m)
{
	const char *why = NULL;

	if (has_debug_info(m->elf)) {
		m->dw = open_dwarf(m, m->elf, &m->debug->image, &why);
		if (m->dw)
			m->debug_elf = m->elf;
		else
			gs_debugfile_problem(m, "debug information in %s: %s", m->info.path, why);
	}
	/* What was refused on the way to a good file is of no interest. */
	if (!m->dw && find_separate(m))
		m->info.ndebug_notes = m->debug->nproblems = 0;
	if (m->dw)
		load_alt(m);
	m->info.has_dwarf = m->dw != NULL;
}

void gs_debugfile_load(struct gs_module *m)
{
	struct gs_debug_state *d = m->debug;

	load_dwarf(m);
	if (!m->debug_elf)
		load_minidebug(m);
	if (m->dw || !d->nproblems)
		return;
	m->info.debug_problem = d->problems[0];
	for (size_t i = 1; i < d->nproblems; i++)
		m->info.debug_problem =
			gs_arena_printf(&m->arena, "%s; %s", m->info.debug_problem, d->problems[i]);
}

void gs_debugfile_close(struct gs_module *m)
{
	if (m->cfi_eh)
		dwarf_cfi_end(m->cfi_eh);
	if (m->dw)
		dwarf_end(m->dw);
	if (m->alt)
		dwarf_end(m->alt);
	gs_split_close(m);
	gs_image_deinit(&m->debug->image, false);
	gs_image_deinit(&m->debug->alt_image, false);
	if (m->alt_elf)
		elf_end(m->alt_elf);
	if (m->debug_elf && m->debug_elf != m->elf)
		elf_end(m->debug_elf);
	if (m->debug->minidebug_elf)
		elf_end(m->debug->minidebug_elf);
	if (m->debug_fd >= 0)
		close(m->debug_fd);
	if (m->alt_fd >= 0)
		close(m->alt_fd);
	free(m->debug->minidebug);
	free(m->debug->problems);
	free(m->debug);
}
