/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ELF file of a module: header, segments, dynamic section, notes; opening and closing.
 * First step of resolving: everything else asks a module that was opened here.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/debugfile.h"
#include "record/flow_function.h"

bool gs_elf_has_section(Elf *elf, const char *name)
{
	GElf_Shdr shdr;

	return gs_elf_section(elf, name, &shdr) != NULL;
}

Elf_Data *gs_elf_section(Elf *elf, const char *name, GElf_Shdr *shdr)
{
	size_t names;
	Elf_Scn *scn = NULL;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *s;

		if (!gelf_getshdr(scn, shdr))
			continue;
		s = elf_strptr(elf, names, shdr->sh_name);
		if (s && strcmp(s, name) == 0)
			return shdr->sh_type == SHT_NOBITS ? NULL : elf_getdata(scn, NULL);
	}
	return NULL;
}

static void read_note_segment(struct gs_module *m, const GElf_Phdr *phdr)
{
	Elf_Data *data;
	GElf_Nhdr nhdr;
	size_t pos = 0, name, desc;

	if (phdr->p_offset > m->info.file_size ||
	    phdr->p_filesz > m->info.file_size - phdr->p_offset)
		return;
	data = elf_getdata_rawchunk(m->elf, (int64_t)phdr->p_offset, phdr->p_filesz,
				    phdr->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	while (data && (pos = gelf_getnote(data, pos, &nhdr, &name, &desc)) > 0) {
		if (nhdr.n_type != NT_GNU_BUILD_ID || nhdr.n_namesz != 4 ||
		    memcmp((char *)data->d_buf + name, "GNU", 4) != 0)
			continue;
		if (nhdr.n_descsz == 0 || nhdr.n_descsz > sizeof(m->info.build_id))
			continue;
		memcpy(m->info.build_id, (char *)data->d_buf + desc, nhdr.n_descsz);
		m->info.build_id_len = (uint8_t)nhdr.n_descsz;
	}
}

static void add_segment(struct gs_module *m, const GElf_Phdr *phdr)
{
	struct gs_segment *s = GS_PUSH(m->segments, m->nsegments, m->segments_cap);

	*s = (struct gs_segment){phdr->p_vaddr, phdr->p_offset, phdr->p_filesz, phdr->p_memsz,
				 (phdr->p_flags & PF_X) != 0};
	/* A file that was cut short has no bytes there. */
	if (s->offset > m->info.file_size)
		s->filesz = 0;
	else if (s->filesz > m->info.file_size - s->offset)
		s->filesz = m->info.file_size - s->offset;
}

static void read_interpreter(struct gs_module *m, const GElf_Phdr *phdr)
{
	char *path;

	if (phdr->p_filesz == 0 || phdr->p_filesz > 4096)
		return;
	path = gs_arena_alloc(&m->arena, phdr->p_filesz + 1);
	if (pread(m->fd, path, phdr->p_filesz, (off_t)phdr->p_offset) > 0)
		m->info.interpreter = path;
}

static void read_segments(struct gs_module *m)
{
	size_t n;
	GElf_Phdr phdr;

	if (elf_getphdrnum(m->elf, &n) != 0)
		return;
	for (size_t i = 0; i < n && i < 65536; i++) {
		if (!gelf_getphdr(m->elf, (int)i, &phdr))
			continue;
		if (phdr.p_type == PT_LOAD) {
			add_segment(m, &phdr);
		} else if (phdr.p_type == PT_INTERP) {
			read_interpreter(m, &phdr);
		} else if (phdr.p_type == PT_NOTE) {
			read_note_segment(m, &phdr);
		} else if (phdr.p_type == PT_TLS) {
			m->has_tls = true;
			m->tls_size = phdr.p_memsz;
			m->tls_align = phdr.p_align ? phdr.p_align : 1;
			m->tls_vaddr = phdr.p_vaddr;
		}
	}
}

struct dynamic {
	uint64_t strtab, strsz, soname, runpath;
	bool has_soname, has_runpath, is_pie;
	uint64_t needed[256];
	size_t nneeded;
};

static void read_dynamic_entry(struct gs_module *m, struct dynamic *d, const GElf_Dyn *dyn)
{
	switch (dyn->d_tag) {
	case DT_STRTAB:
		d->strtab = dyn->d_un.d_ptr;
		break;
	case DT_STRSZ:
		d->strsz = dyn->d_un.d_val;
		break;
	case DT_SONAME:
		d->soname = dyn->d_un.d_val;
		d->has_soname = true;
		break;
	case DT_RPATH:
	case DT_RUNPATH:
		d->runpath = dyn->d_un.d_val;
		d->has_runpath = true;
		break;
	case DT_NEEDED:
		if (d->nneeded < GS_ARRAY_SIZE(d->needed))
			d->needed[d->nneeded++] = dyn->d_un.d_val;
		break;
	case DT_SYMBOLIC:
		m->is_symbolic = true;
		break;
	case DT_FLAGS:
		m->is_symbolic |= (dyn->d_un.d_val & DF_SYMBOLIC) != 0;
		break;
	case DT_FLAGS_1:
		d->is_pie = (dyn->d_un.d_val & DF_1_PIE) != 0;
		break;
	}
}

/* Strings of the dynamic section, found by address: section headers may have been stripped. */
static const char *dynamic_string(struct gs_module *m, const struct dynamic *d, uint64_t offset)
{
	char text[4097];
	size_t n, max = sizeof(text) - 1;

	if (offset >= d->strsz)
		return NULL;
	if (max > d->strsz - offset)
		max = d->strsz - offset;
	n = gs_module_read(m, d->strtab + offset, text, max);
	text[n] = 0;
	return text[0] ? gs_arena_strdup(&m->arena, text) : NULL;
}

static bool read_dynamic(struct gs_module *m)
{
	struct dynamic d = {0};
	GElf_Phdr phdr;
	size_t n = 0;

	elf_getphdrnum(m->elf, &n);
	for (size_t i = 0; i < n && i < 65536; i++) {
		Elf_Data *data;
		GElf_Dyn dyn;

		if (!gelf_getphdr(m->elf, (int)i, &phdr) || phdr.p_type != PT_DYNAMIC)
			continue;
		data = elf_getdata_rawchunk(m->elf, (int64_t)phdr.p_offset, phdr.p_filesz,
					    ELF_T_DYN);
		for (int k = 0; data && gelf_getdyn(data, k, &dyn) && dyn.d_tag != DT_NULL; k++)
			read_dynamic_entry(m, &d, &dyn);
	}
	if (d.has_soname)
		m->info.soname = dynamic_string(m, &d, d.soname);
	if (d.has_runpath)
		m->info.runpath = dynamic_string(m, &d, d.runpath);
	for (size_t i = 0; i < d.nneeded; i++) {
		const char *name = dynamic_string(m, &d, d.needed[i]);

		if (name)
			*GS_PUSH(m->needed, m->nneeded, m->needed_cap) = name;
	}
	m->info.needed = m->needed;
	m->info.nneeded = m->nneeded;
	return d.is_pie;
}

static struct gs_error *check_header(struct gs_module *m)
{
	const char *path = m->info.path;
	GElf_Ehdr ehdr;

	if (!m->elf || elf_kind(m->elf) != ELF_K_ELF)
		return gs_error_new(GS_ERR_UNSUPPORTED, "%s is not an ELF file", path);
	if (!gelf_getehdr(m->elf, &ehdr))
		return gs_error_new(GS_ERR_DAMAGED, "%s: the ELF header is damaged: %s", path,
				    elf_errmsg(-1));
	if (ehdr.e_type != ET_EXEC && ehdr.e_type != ET_DYN)
		return gs_error_new(GS_ERR_UNSUPPORTED,
				    "%s is neither an executable nor a shared library", path);
	m->info.machine = ehdr.e_machine;
	m->info.big_endian = ehdr.e_ident[EI_DATA] == ELFDATA2MSB;
	m->info.pointer_size = ehdr.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	m->info.is_pie_or_library = ehdr.e_type == ET_DYN;
	return NULL;
}

struct gs_error *gs_elf_open(struct gs_module *m)
{
	const char *path = m->info.path;
	struct stat st;
	bool is_pie;

	if (fstat(m->fd, &st) != 0)
		return gs_error_errno(errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return gs_error_new(GS_ERR_UNSUPPORTED, "%s is not a regular file", path);
	m->info.file_size = (uint64_t)st.st_size;
	elf_version(EV_CURRENT);
	m->elf = elf_begin(m->fd, ELF_C_READ_MMAP, NULL);
	GS_TRY(check_header(m));
	read_segments(m);
	if (m->nsegments == 0)
		return gs_error_new(GS_ERR_DAMAGED, "%s has no loadable segments", path);
	is_pie = read_dynamic(m);
	m->info.is_executable = !m->info.is_pie_or_library || is_pie || m->info.interpreter;
	/* A shared library may have an interpreter (libc.so.6 has): its name tells. */
	if (m->info.is_pie_or_library && !is_pie && m->info.soname)
		m->info.is_executable = false;
	return NULL;
}

struct gs_error *gs_module_open(int fd, const char *path, const struct gs_opener *opener,
				struct gs_types *types, struct gs_module **out)
{
	struct gs_module *m = gs_calloc(1, sizeof(*m));
	struct gs_error *err;

	gs_arena_init(&m->arena);
	m->fd = fd;
	m->debug_fd = m->alt_fd = -1;
	m->debug = gs_calloc(1, sizeof(*m->debug));
	m->types = types;
	if (opener)
		m->opener = *opener;
	m->info.path = gs_arena_strdup(&m->arena, path);
	err = gs_elf_open(m);
	if (err) {
		gs_module_close(m);
		return err;
	}
	if (m->info.machine == EM_X86_64 || m->info.machine == EM_386)
		gs_decoder_open(&m->decoder, m->info.machine == EM_X86_64);
	gs_elf_load_symbols(m, m->elf);
	gs_debugfile_load(m);
	if (m->debug_elf && m->debug_elf != m->elf)
		gs_elf_load_symbols(m, m->debug_elf);
	if (m->debug->minidebug_elf)
		gs_elf_load_symbols(m, m->debug->minidebug_elf);
	gs_elf_finish_symbols(m);
	m->info.has_symbols = m->nfunctions != 0;
	*out = m;
	return NULL;
}

void gs_module_close(struct gs_module *m)
{
	if (!m)
		return;
	gs_function_flow_free(m);
	gs_index_free(m);
	free(m->calls);
	gs_type_cache_free(m);
	gs_debugfile_close(m);
	gs_decoder_close(&m->decoder);
	gs_map_deinit(&m->by_name);
	gs_map_deinit(&m->variable_numbers);
	if (m->elf)
		elf_end(m->elf);
	free(m->segments);
	free(m->needed);
	free(m->functions);
	free(m->same_name);
	free(m->variables);
	gs_arena_deinit(&m->arena);
	free(m);
}

const struct gs_module_info *gs_module_info(const struct gs_module *m)
{
	return &m->info;
}

bool gs_module_file_offset(const struct gs_module *m, uint64_t link_addr, uint64_t *offset)
{
	for (size_t i = 0; i < m->nsegments; i++) {
		const struct gs_segment *s = &m->segments[i];

		if (s->executable && link_addr >= s->vaddr && link_addr - s->vaddr < s->filesz) {
			*offset = s->offset + (link_addr - s->vaddr);
			return true;
		}
	}
	return false;
}

bool gs_elf_is_executable(const struct gs_module *m, uint64_t addr)
{
	uint64_t offset;

	return gs_module_file_offset(m, addr, &offset);
}

size_t gs_module_read(const struct gs_module *m, uint64_t link_addr, void *buf, size_t n)
{
	for (size_t i = 0; i < m->nsegments; i++) {
		const struct gs_segment *s = &m->segments[i];
		ssize_t got;

		if (link_addr < s->vaddr || link_addr - s->vaddr >= s->filesz)
			continue;
		if (n > s->filesz - (link_addr - s->vaddr))
			n = s->filesz - (link_addr - s->vaddr);
		got = pread(m->fd, buf, n, (off_t)(s->offset + (link_addr - s->vaddr)));
		return got > 0 ? (size_t)got : 0;
	}
	return 0;
}
