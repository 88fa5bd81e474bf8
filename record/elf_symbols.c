/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Symbols of a module: functions by name and by address, and which object a dynamic symbol is at
 * run time. Beside the DWARF: where it has no name for a place, and where it cannot know what the
 * dynamic linker did.
 */
#include "record/dwarf_internal.h"

/* ---- reading ---- */

static bool is_function_symbol(const struct gs_module *m, const GElf_Sym *sym)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return gs_elf_is_executable(m, sym->st_value);
	/* Labels of hand-written assembler. */
	return type == STT_NOTYPE && GELF_ST_BIND(sym->st_info) != STB_LOCAL &&
	       sym->st_shndx < SHN_LORESERVE && gs_elf_is_executable(m, sym->st_value);
}

static void add_symbol(struct gs_module *m, Elf *elf, const GElf_Shdr *shdr, const GElf_Sym *sym)
{
	const char *name = elf_strptr(elf, shdr->sh_link, sym->st_name);
	struct gs_symbol *s;

	if (!name || !*name || *name == '$' || !is_function_symbol(m, sym) ||
	    m->nfunctions >= GS_SYMBOLS_MAX)
		return;
	s = GS_PUSH(m->functions, m->nfunctions, m->functions_cap);
	*s = (struct gs_symbol){name,
				sym->st_value,
				sym->st_size,
				GELF_ST_TYPE(sym->st_info),
				GELF_ST_BIND(sym->st_info),
				GELF_ST_VISIBILITY(sym->st_other)};
}

void gs_elf_load_symbols(struct gs_module *m, Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &shdr) ||
		    (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM))
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 1; data && gelf_getsym(data, i, &sym); i++)
			add_symbol(m, elf, &shdr, &sym);
	}
}

/* Of several at one address, the one with a size and the plainest name comes first. */
static int compare_symbols(const void *pa, const void *pb)
{
	const struct gs_symbol *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if ((a->size == 0) != (b->size == 0))
		return a->size == 0 ? 1 : -1;
	if ((a->name[0] == '_') != (b->name[0] == '_'))
		return a->name[0] == '_' ? 1 : -1;
	return strcmp(a->name, b->name);
}

void gs_elf_finish_symbols(struct gs_module *m)
{
	size_t n = 0;

	if (m->nfunctions == 0)
		return;
	qsort(m->functions, m->nfunctions, sizeof(*m->functions), compare_symbols);
	for (size_t i = 0; i < m->nfunctions; i++) {
		const struct gs_symbol *s = &m->functions[i];

		/* The same symbol from .symtab and .dynsym. */
		if (n && m->functions[n - 1].addr == s->addr &&
		    strcmp(m->functions[n - 1].name, s->name) == 0)
			continue;
		m->functions[n++] = *s;
	}
	m->nfunctions = n;
	m->same_name = gs_calloc(n, sizeof(*m->same_name));
	for (size_t i = n; i-- > 0;) {
		bool fresh;
		uint64_t *last = gs_map_put(&m->by_name, m->functions[i].name,
					    strlen(m->functions[i].name), i, &fresh);

		m->same_name[i] = fresh ? UINT32_MAX : (uint32_t)*last;
		*last = i;
	}
}

/* ---- asking ---- */

const struct gs_symbol *gs_symbol_named(const struct gs_module *m, const char *name, size_t i)
{
	uint64_t *first = gs_map_get(&m->by_name, name, strlen(name));
	uint32_t at;

	if (!first)
		return NULL;
	for (at = (uint32_t)*first; i && at != UINT32_MAX; i--)
		at = m->same_name[at];
	return at == UINT32_MAX ? NULL : &m->functions[at];
}

const struct gs_symbol *gs_symbol_at(const struct gs_module *m, uint64_t addr)
{
	size_t low = 0, high = m->nfunctions;
	const struct gs_symbol *best = NULL;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (m->functions[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	/* The last that begins at or before the address; of nested or equal ones the first that
	 * covers it. */
	for (size_t i = low, tries = 0; i-- > 0 && tries < 64; tries++) {
		const struct gs_symbol *s = &m->functions[i];

		if (best && s->addr != best->addr)
			break;
		if (addr - s->addr < s->size || (s->size == 0 && !best))
			best = s;
	}
	return best;
}

const char *gs_module_symbol_at(const struct gs_module *m, uint64_t link_addr, uint64_t *offset)
{
	const struct gs_symbol *s = gs_symbol_at(m, link_addr);

	if (!s)
		return NULL;
	if (offset)
		*offset = link_addr - s->addr;
	return s->name;
}

void gs_module_each_symbol(const struct gs_module *m,
			   bool (*fn)(void *ctx, const char *name, uint64_t addr, uint64_t size),
			   void *ctx)
{
	for (size_t i = 0; i < m->nfunctions; i++)
		if (!fn(ctx, m->functions[i].name, m->functions[i].addr, m->functions[i].size))
			return;
}

/* ---- preemption ---- */

struct dynamic_symbol {
	bool found, is_defined;
	size_t index, section;
	uint64_t addr, size;
	unsigned visibility;
};

static bool name_equals(Elf *elf, size_t strings, size_t offset, const char *name)
{
	const char *s = elf_strptr(elf, strings, offset);

	return s && strcmp(s, name) == 0;
}

static void find_data_symbol(Elf *elf, uint32_t section_type, const char *name,
			     struct dynamic_symbol *out)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(elf, scn)) && !out->found) {
		Elf_Data *data;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != section_type)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 1; data && gelf_getsym(data, i, &sym); i++) {
			if (GELF_ST_BIND(sym.st_info) == STB_LOCAL ||
			    GELF_ST_TYPE(sym.st_info) == STT_FUNC ||
			    !name_equals(elf, shdr.sh_link, sym.st_name, name))
				continue;
			*out = (struct dynamic_symbol){true,
						       sym.st_shndx != SHN_UNDEF,
						       (size_t)i,
						       elf_ndxscn(scn),
						       sym.st_value,
						       sym.st_size,
						       GELF_ST_VISIBILITY(sym.st_other)};
			if (out->is_defined)
				return;
		}
	}
}

static bool is_glob_dat(const struct gs_module *m, unsigned type)
{
	return m->info.machine == EM_X86_64 ? type == R_X86_64_GLOB_DAT
	       : m->info.machine == EM_386  ? type == R_386_GLOB_DAT
					    : false;
}

/* The word that the dynamic linker fills with the symbol's run-time address. */
static bool find_slot(const struct gs_module *m, const struct dynamic_symbol *sym, uint64_t *slot)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(m->elf, scn))) {
		Elf_Data *data;
		GElf_Rela rela;
		GElf_Rel rel;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_link != sym->section ||
		    (shdr.sh_type != SHT_RELA && shdr.sh_type != SHT_REL))
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data; i++) {
			if (shdr.sh_type == SHT_REL) {
				if (!gelf_getrel(data, i, &rel))
					break;
				rela = (GElf_Rela){rel.r_offset, rel.r_info, 0};
			} else if (!gelf_getrela(data, i, &rela)) {
				break;
			}
			if (GELF_R_SYM(rela.r_info) != sym->index ||
			    !is_glob_dat(m, (unsigned)GELF_R_TYPE(rela.r_info)))
				continue;
			*slot = rela.r_offset;
			return true;
		}
	}
	return false;
}

enum gs_preemption gs_elf_preemption(const struct gs_module *m, const char *name, bool is_defined,
				     uint64_t *addr)
{
	struct dynamic_symbol sym = {0};

	find_data_symbol(m->elf, SHT_DYNSYM, name, &sym);
	if (is_defined) {
		/* What an executable defines is first in the search order; hidden and protected
		 * symbols, and names that are not exported, cannot be replaced. */
		if (!sym.found || !sym.is_defined || m->info.is_executable || m->is_symbolic ||
		    sym.visibility != STV_DEFAULT || sym.addr != *addr)
			return GS_PREEMPT_OWN;
	} else {
		/* A declaration: the object may be in this file all the same (a copy relocation, or
		 * a unit without DWARF). */
		if (!sym.found || !sym.is_defined)
			find_data_symbol(m->elf, SHT_SYMTAB, name, &sym);
		if (sym.found && sym.is_defined && sym.addr &&
		    (m->info.is_executable || sym.visibility != STV_DEFAULT)) {
			*addr = sym.addr;
			return GS_PREEMPT_OWN;
		}
	}
	if (sym.found && find_slot(m, &sym, addr))
		return GS_PREEMPT_SLOT;
	return GS_PREEMPT_UNKNOWN;
}
