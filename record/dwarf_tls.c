/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses of thread-local variables: by a constant distance from the thread pointer, or through
 * the vector of blocks that the C library keeps for each thread. Under dwarf_expr.c. What the
 * dynamic linker has decided for this process is read from the words that it relocated.
 */
#include "record/dwarf_internal.h"

/* glibc on x86-64: the vector's address is the word after the thread pointer's own; its entries
 * are {block, to be freed}, the one before the first holds how many there are. */
#define VECTOR_AT 8
#define ENTRY_BYTES_SHIFT 4
#define COUNT_AT (-16)
#define FREED_AT 8
#define DESCRIPTION_GENERATION_AT 16

/* A relocated word (or two) of the module that tells where thread-locals are. */
struct tls_word {
	enum { TLS_NONE, TLS_DISTANCE, TLS_INDEX, TLS_DESCRIPTOR } kind;
	uint64_t slot;
	uint64_t about; /* the offset in the module's block that it is about */
	bool is_this;	/* made for the very symbol, which may be another module's */
};

struct tls_search {
	const struct gs_module *m;
	uint64_t offset;
	bool preemptible;
	struct tls_word best;
};

static uint16_t node1(struct gs_evaluation *ev, enum gs_plan_op op, uint16_t a)
{
	return gs_plan_node(ev->plan, op, 8, a, GS_NODE_NONE, 0);
}

static uint16_t node2(struct gs_evaluation *ev, enum gs_plan_op op, uint16_t a, uint16_t b)
{
	return gs_plan_node(ev->plan, op, 8, a, b, 0);
}

static uint16_t load_at(struct gs_evaluation *ev, uint16_t base, int64_t offset)
{
	return node1(ev, GS_OP_LOAD, node2(ev, GS_OP_ADD, base, gs_plan_const(ev->plan, offset)));
}

static uint16_t thread_pointer(struct gs_evaluation *ev)
{
	return gs_plan_node(ev->plan, GS_OP_TLS_BASE, 8, GS_NODE_NONE, GS_NODE_NONE, 0);
}

/* ---- what the dynamic linker was asked for ---- */

static bool symbol_of(Elf *elf, const GElf_Shdr *shdr, size_t index, GElf_Sym *sym)
{
	Elf_Scn *scn = elf_getscn(elf, shdr->sh_link);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;

	return data && gelf_getsym(data, (int)index, sym);
}

static bool is_own(const GElf_Sym *sym)
{
	return GELF_ST_BIND(sym->st_info) == STB_LOCAL ||
	       GELF_ST_VISIBILITY(sym->st_other) != STV_DEFAULT;
}

static void consider(struct tls_search *s, const GElf_Shdr *shdr, const GElf_Rela *rela)
{
	unsigned type = (unsigned)GELF_R_TYPE(rela->r_info);
	size_t index = GELF_R_SYM(rela->r_info);
	struct tls_word w = {.slot = rela->r_offset, .about = (uint64_t)rela->r_addend};
	GElf_Sym sym = {0};

	w.kind = type == R_X86_64_TPOFF64    ? TLS_DISTANCE
		 : type == R_X86_64_DTPMOD64 ? TLS_INDEX
		 : type == R_X86_64_TLSDESC  ? TLS_DESCRIPTOR
					     : TLS_NONE;
	if (w.kind == TLS_NONE)
		return;
	if (index) {
		if (!symbol_of(s->m->elf, shdr, index, &sym))
			return;
		w.about += sym.st_value;
		w.is_this = sym.st_shndx != SHN_UNDEF && w.about == s->offset;
		if (!w.is_this && (!is_own(&sym) || sym.st_shndx == SHN_UNDEF))
			return;
	}
	/* Another module may define what is preemptible: only its own words tell. */
	if (s->preemptible && !w.is_this)
		return;
	if (s->best.kind == TLS_NONE || (w.is_this && !s->best.is_this))
		s->best = w;
}

/* Whether the module exports a symbol for the variable that another may define instead. */
static bool is_preemptible(const struct gs_module *m, uint64_t offset)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	if (m->is_symbolic)
		return false;
	while ((scn = elf_nextscn(m->elf, scn))) {
		Elf_Data *data;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_DYNSYM)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 1; data && gelf_getsym(data, i, &sym); i++)
			if (GELF_ST_TYPE(sym.st_info) == STT_TLS && sym.st_shndx != SHN_UNDEF &&
			    sym.st_value == offset && !is_own(&sym))
				return true;
	}
	return false;
}

static struct tls_word find_word(const struct gs_module *m, uint64_t offset)
{
	struct tls_search s = {.m = m, .offset = offset, .preemptible = is_preemptible(m, offset)};
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(m->elf, scn))) {
		Elf_Data *data;
		GElf_Rela rela;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_RELA)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getrela(data, i, &rela); i++)
			consider(&s, &shdr, &rela);
	}
	return s.best;
}

/* ---- addresses ---- */

static bool is_glibc(const struct gs_module *m)
{
	for (size_t i = 0; i < m->info.nneeded; i++)
		if (strcmp(m->info.needed[i], "libc.so.6") == 0 ||
		    strcmp(m->info.needed[i], "ld-linux-x86-64.so.2") == 0)
			return true;
	return m->info.soname && strcmp(m->info.soname, "libc.so.6") == 0;
}

bool gs_module_has_thread_locals(const struct gs_module *m)
{
	return m->has_tls;
}

void gs_module_set_initial(struct gs_module *m)
{
	m->is_initial = true;
}

/*
 * Offset in the block of module number ID, in this thread. A thread that has not used the module's
 * variables may have no block yet: no entry (the vector is shorter), or one
 * that is 0 (since before the module was loaded) or all ones.
 *
 * Numbers are given again after dlclose(3), and a thread's vector is renewed only when it next uses
 * such a variable: until then the entry is the closed module's. It is this module's where the
 * vector is not older than GENERATION, which the linker keeps with the module's description; or
 * (NONE) where the module came with the program, whose blocks are made with the thread and never
 * freed.
 */
static uint16_t in_block(struct gs_evaluation *ev, uint16_t id, uint16_t offset,
			 uint16_t generation)
{
	struct gs_plan *plan = ev->plan;
	uint16_t vector = load_at(ev, thread_pointer(ev), VECTOR_AT);
	uint16_t absent = gs_plan_node(plan, GS_OP_ABSENT, 8, GS_NODE_NONE, GS_NODE_NONE,
				       GS_STATUS_NOT_COLLECTED);
	uint16_t entry = node2(ev, GS_OP_ADD, vector,
			       node2(ev, GS_OP_SHL, id, gs_plan_const(plan, ENTRY_BYTES_SHIFT)));
	uint16_t block = node1(ev, GS_OP_LOAD, entry);
	uint16_t there =
		node2(ev, GS_OP_ULT, /* neither 0 nor all ones */
		      node2(ev, GS_OP_SUB, block, gs_plan_const(plan, 1)), gs_plan_const(plan, -2));

	uint16_t is_own =
		generation == GS_NODE_NONE
			? node2(ev, GS_OP_EQ, load_at(ev, entry, FREED_AT), gs_plan_const(plan, 0))
			: node2(ev, GS_OP_ULE, generation, node1(ev, GS_OP_LOAD, vector));

	there = node2(ev, GS_OP_LAND, is_own, there);
	there = node2(ev, GS_OP_LAND, node2(ev, GS_OP_ULE, id, load_at(ev, vector, COUNT_AT)),
		      there);
	there = node2(ev, GS_OP_LAND, node2(ev, GS_OP_NE, id, gs_plan_const(plan, 0)), there);
	return gs_plan_select(plan, there, node2(ev, GS_OP_ADD, block, offset), absent);
}

/* A descriptor's second word: a distance from the thread pointer, which is below it, or the address
 * of {module, offset, generation} on the heap. */
static uint16_t by_descriptor(struct gs_evaluation *ev, uint64_t slot, uint16_t beyond)
{
	uint16_t word = load_at(ev, gs_image_address(ev, slot), 8);
	uint16_t is_distance = node2(ev, GS_OP_SLT, word, gs_plan_const(ev->plan, 0));
	uint16_t direct = node2(ev, GS_OP_ADD, thread_pointer(ev), word);
	uint16_t block = in_block(ev, load_at(ev, word, 0), load_at(ev, word, 8),
				  load_at(ev, word, DESCRIPTION_GENERATION_AT));

	return node2(ev, GS_OP_ADD, gs_plan_select(ev->plan, is_distance, direct, block), beyond);
}

static bool library_address(struct gs_evaluation *ev, uint64_t offset, uint16_t *node)
{
	struct tls_word w;
	uint16_t base, beyond;

	if (ev->c->m->info.machine != EM_X86_64)
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "thread-local of a library");
	w = find_word(ev->c->m, offset);
	base = gs_image_address(ev, w.slot);
	beyond = gs_plan_const(ev->plan, (int64_t)(offset - w.about));
	if (w.kind == TLS_DISTANCE) {
		*node = node2(ev, GS_OP_ADD, thread_pointer(ev), load_at(ev, base, 0));
		*node = node2(ev, GS_OP_ADD, *node, beyond);
		return true;
	}
	if (w.kind == TLS_NONE)
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE,
				   "thread-local, and the module has no word that tells where");
	if (!is_glibc(ev->c->m))
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE,
				   "thread-local of a library that does not use glibc");
	if (w.kind == TLS_INDEX && !ev->c->m->is_initial)
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE,
				   "thread-local of a library that is loaded at run time: this "
				   "thread's block may still be that of one that was closed");
	if (w.kind == TLS_DESCRIPTOR)
		*node = by_descriptor(ev, w.slot, beyond);
	else if (w.is_this) /* the word after the module's is the offset there */
		*node = in_block(ev, load_at(ev, base, 0), load_at(ev, base, 8), GS_NODE_NONE);
	else
		*node = in_block(ev, load_at(ev, base, 0), gs_plan_const(ev->plan, (int64_t)offset),
				 GS_NODE_NONE);
	return true;
}

/* x86's TLS variant II: the executable's block ends at the thread pointer. */
static bool executable_address(struct gs_evaluation *ev, uint16_t offset, uint16_t *node)
{
	const struct gs_module *m = ev->c->m;
	uint64_t block;

	if (!m->has_tls || m->tls_align == 0 || (m->tls_align & (m->tls_align - 1)) ||
	    (m->tls_vaddr & (m->tls_align - 1)))
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "thread-local");
	block = (m->tls_size + m->tls_align - 1) & ~(m->tls_align - 1);
	*node = node2(ev, GS_OP_ADD, thread_pointer(ev), gs_plan_const(ev->plan, -(int64_t)block));
	*node = node2(ev, GS_OP_ADD, *node, offset);
	return true;
}

bool gs_thread_local_address(struct gs_evaluation *ev, uint16_t offset, uint16_t *node)
{
	const struct gs_plan *plan = ev->plan;

	if (ev->c->m->info.is_executable)
		return executable_address(ev, offset, node);
	if (offset >= plan->nnodes || plan->nodes[offset].op != GS_OP_CONST)
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "thread-local, at a computed offset");
	return library_address(ev, (uint64_t)plan->nodes[offset].imm, node);
}
