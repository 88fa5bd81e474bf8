/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instructions by which a function is left: its `ret's, and jumps to other functions in their
 * place. Beside place.c, for %return; the entries are what place.c finds.
 *
 * A jump out of the function is a tail call when the return address is on top of the stack there.
 * An indirect one may also be a switch: the probe compares its target with the function's code.
 */
#include "record/place.h"

#include "format/meta.h"

#define RANGES_MAX 64

struct exits {
	struct gs_place_list *l;
	const struct gs_place_site *entry;
	uint32_t number; /* of the entry */
	Dwarf_Die *die;	 /* NULL: by symbol */
	uint64_t (*ranges)[2];
	size_t nranges;
	struct gs_code code;
	bool is_loop;
	size_t nfound;
};

/* ---- the code of the function ---- */

static void add_range(struct exits *x, uint64_t low, uint64_t high)
{
	if (x->nranges == RANGES_MAX || high <= low)
		return;
	if (high - low > GS_FUNCTION_BYTES_MAX)
		gs_place_note(x->l,
			      "%s is too long: what returns beyond its first %u bytes is not "
			      "recorded",
			      x->entry->func, GS_FUNCTION_BYTES_MAX);
	x->ranges[x->nranges][0] = low;
	x->ranges[x->nranges++][1] = high;
	gs_code_decode(x->l->m, low, high, &x->code);
}

/* The parts that the compiler moved out of a function that only symbols tell of. */
static void add_cold_symbols(struct exits *x, const char *name)
{
	struct gs_module *m = x->l->m;
	size_t len = strlen(name);

	for (size_t i = 0; i < m->nfunctions; i++) {
		const struct gs_symbol *s = &m->functions[i];

		if (strncmp(s->name, name, len) == 0 && strncmp(s->name + len, ".cold", 5) == 0)
			add_range(x, s->addr, s->addr + s->size);
	}
}

static void find_code(struct exits *x)
{
	struct gs_module *m = x->l->m;
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	const struct gs_symbol *s;

	x->ranges = gs_arena_alloc(&m->arena, RANGES_MAX * sizeof(*x->ranges));
	if (x->die) {
		while ((at = dwarf_ranges(x->die, at, &base, &low, &high)) > 0)
			add_range(x, low, high);
		return;
	}
	s = gs_symbol_at(m, x->entry->natural_addr);
	if (!s || !s->size)
		return;
	add_range(x, s->addr, s->addr + s->size);
	add_cold_symbols(x, s->name);
}

static bool is_inside(const struct exits *x, uint64_t addr)
{
	for (size_t i = 0; i < x->nranges; i++)
		if (addr >= x->ranges[i][0] && addr < x->ranges[i][1])
			return true;
	return false;
}

/* ---- jumps ---- */

/* 1: the return address is on top of the stack, as at a tail call; 0: it is not; -1: not known. */
static int is_at_bottom(const struct exits *x, uint64_t pc)
{
	bool is_64 = x->l->m->info.machine == EM_X86_64;
	unsigned regno;
	int64_t offset;

	if (!gs_cfi_rule(x->l->m, pc, &regno, &offset))
		return -1;
	return regno == (is_64 ? 7u : 4u) && offset == (is_64 ? 8 : 4);
}

static const char *target_name(struct exits *x, uint64_t target)
{
	struct gs_module *m = x->l->m;
	uint64_t offset, entry;
	Dwarf_Die die;
	const char *name;

	if (gs_index_function_at(m, target, &die) && gs_die_entry(m, &die, &entry) &&
	    entry == target)
		return gs_arena_strdup(&m->arena, gs_qualified_name(m, &die));
	name = gs_module_symbol_at(m, target, &offset);
	if (name && offset == 0)
		return gs_arena_strdup(&m->arena, name);
	return gs_arena_printf(&m->arena, "0x%llx", (unsigned long long)target);
}

/* The condition code of a jcc, or -1. */
static int condition_of(struct gs_module *m, const struct gs_insn *insn)
{
	uint8_t b[16];
	size_t i = 0, n = gs_module_read(m, insn->addr, b, insn->len < 16 ? insn->len : 16);

	while (i < n && (b[i] == 0x2e || b[i] == 0x3e || b[i] == 0xf2 || b[i] == 0x66))
		i++;
	if (i < n && (b[i] & 0xf0) == 0x70)
		return b[i] & 15;
	if (i + 1 < n && b[i] == 0x0f && (b[i + 1] & 0xf0) == 0x80)
		return b[i + 1] & 15;
	return -1;
}

static struct gs_exit_point *new_exit(struct exits *x, enum gs_exit_kind kind)
{
	struct gs_exit_point *e = gs_arena_alloc(&x->l->m->arena, sizeof(*e));

	*e = (struct gs_exit_point){
		.kind = kind, .condition = GS_EXIT_ALWAYS, .base = -1, .index = -1, .target = ""};
	return e;
}

static void add_exit(struct exits *x, uint64_t addr, const struct gs_exit_point *e)
{
	struct gs_module *m = x->l->m;
	size_t had = x->l->out->nsites;
	struct gs_place_site *s;

	gs_place_add(x->l, addr, addr, x->die ? gs_context_new(m, addr, x->die) : NULL,
		     x->entry->func);
	if (x->l->out->nsites == had)
		return;
	s = &x->l->out->sites[had];
	s->exit = e;
	s->flags |= e->kind == GS_EXIT_TAIL ? GS_SITE_TAIL_CALL : 0;
	s->entry = x->number;
	x->nfound++;
}

static void add_jump(struct exits *x, const struct gs_insn *insn)
{
	int condition = GS_EXIT_ALWAYS;
	struct gs_exit_point *e;

	/* A jump to its own first instruction begins a call anew, unless it is a loop. */
	if (is_inside(x, insn->target) && (insn->target != x->entry->natural_addr ||
					   x->entry->natural_addr == x->entry->link_addr))
		return;
	if (is_at_bottom(x, insn->addr) == 0) {
		if (!is_inside(x, insn->target))
			gs_place_note(x->l,
				      "%s goes on at 0x%llx, which no debug information or symbol "
				      "counts to it: what returns there is not recorded",
				      x->entry->func, (unsigned long long)insn->target);
		return;
	}
	if (insn->flow == GS_FLOW_BRANCH)
		condition = condition_of(x->l->m, insn);
	if (condition < 0) {
		gs_place_note(x->l, "%s is left at 0x%llx by an instruction that is not recorded",
			      x->entry->func, (unsigned long long)insn->addr);
		return;
	}
	e = new_exit(x, GS_EXIT_TAIL);
	e->condition = (uint8_t)condition;
	e->target = target_name(x, insn->target);
	add_exit(x, insn->addr, e);
}

/* DWARF's number (as plans have it, also for 32-bit code) of a register of capstone. */
static int register_of(unsigned reg)
{
	static const uint16_t wide[] = {X86_REG_RAX, X86_REG_RDX, X86_REG_RCX, X86_REG_RBX,
					X86_REG_RSI, X86_REG_RDI, X86_REG_RBP, X86_REG_RSP,
					X86_REG_R8,  X86_REG_R9,  X86_REG_R10, X86_REG_R11,
					X86_REG_R12, X86_REG_R13, X86_REG_R14, X86_REG_R15};
	static const uint16_t narrow[] = {X86_REG_EAX, X86_REG_EDX, X86_REG_ECX, X86_REG_EBX,
					  X86_REG_ESI, X86_REG_EDI, X86_REG_EBP, X86_REG_ESP};

	for (size_t i = 0; i < GS_ARRAY_SIZE(wide); i++)
		if (wide[i] == reg)
			return (int)i;
	for (size_t i = 0; i < GS_ARRAY_SIZE(narrow); i++)
		if (narrow[i] == reg)
			return (int)i;
	return -1;
}

static bool read_operand(const cs_insn *insn, struct gs_exit_point *e)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];

	if (insn->detail->x86.op_count != 1)
		return false;
	if (op->type == X86_OP_REG) {
		e->base = (int8_t)register_of(op->reg);
		return e->base >= 0;
	}
	if (op->type != X86_OP_MEM || op->mem.segment != X86_REG_INVALID)
		return false;
	e->is_memory = true;
	e->disp = op->mem.disp;
	e->scale = (uint8_t)op->mem.scale;
	if (op->mem.base == X86_REG_RIP) {
		e->is_image = true;
		e->disp += (int64_t)(insn->address + insn->size);
	} else if (op->mem.base != X86_REG_INVALID) {
		e->base = (int8_t)register_of(op->mem.base);
		if (e->base < 0)
			return false;
	}
	if (op->mem.index != X86_REG_INVALID) {
		e->index = (int8_t)register_of(op->mem.index);
		return e->index >= 0;
	}
	return true;
}

static bool decode_operand(struct gs_module *m, const struct gs_insn *insn, struct gs_exit_point *e)
{
	uint8_t bytes[16];
	size_t n = gs_module_read(m, insn->addr, bytes, insn->len < 16 ? insn->len : 16);
	cs_insn *decoded;
	bool good = false;

	if (cs_disasm(m->decoder.detail, bytes, n, insn->addr, 1, &decoded) == 1) {
		good = read_operand(decoded, e);
		cs_free(decoded, 1);
	}
	return good;
}

static void add_indirect(struct exits *x, const struct gs_insn *insn)
{
	struct gs_module *m = x->l->m;
	struct gs_exit_point *e;
	uint8_t first = 0;

	/* notrack: of a switch, says the compiler (and the kernel would not step it). */
	gs_module_read(m, insn->addr, &first, 1);
	if (first == 0x3e || is_at_bottom(x, insn->addr) == 0)
		return;
	e = new_exit(x, GS_EXIT_TAIL);
	e->is_indirect = true;
	e->target = "a function pointer";
	e->ranges = x->ranges;
	e->nranges = x->nranges;
	if (decode_operand(m, insn, e))
		add_exit(x, insn->addr, e);
	else
		gs_place_note(x->l, "%s may be left at 0x%llx, which is not recorded",
			      x->entry->func, (unsigned long long)insn->addr);
}

/* ---- one function ---- */

static void examine(struct exits *x, const struct gs_insn *insn)
{
	switch (insn->flow) {
	case GS_FLOW_RETURN:
		add_exit(x, insn->addr, new_exit(x, GS_EXIT_RET));
		return;
	case GS_FLOW_JUMP:
	case GS_FLOW_BRANCH:
		if (!insn->target) /* xbegin and the like */
			return;
		x->is_loop |= insn->target == x->entry->link_addr;
		add_jump(x, insn);
		return;
	case GS_FLOW_JUMP_INDIRECT:
		add_indirect(x, insn);
		return;
	case GS_FLOW_BAD:
		gs_place_note(x->l,
			      "%s has bytes at 0x%llx that are no instructions: a return behind "
			      "them may be missed",
			      x->entry->func, (unsigned long long)insn->addr);
		return;
	default:
		return;
	}
}

static const char *keep(struct gs_places *p, const char *s)
{
	return gs_arena_strdup(&p->arena, s ? s : "");
}

static struct gs_place_site *add_entry(struct gs_places *out, size_t *cap,
				       const struct gs_place_site *from)
{
	struct gs_place_site *s = GS_PUSH(out->entries, out->nentries, *cap);

	*s = *from;
	s->func = keep(out, from->func);
	s->inlined_in = keep(out, from->inlined_in);
	s->file = keep(out, from->file);
	s->insn = keep(out, from->insn);
	return s;
}

static void add_function(struct gs_place_list *l, size_t *cap, const struct gs_place_site *function,
			 bool uretprobe)
{
	struct gs_place_site entry = *add_entry(l->out, cap, function);
	struct exits x = {.l = l, .entry = &entry, .number = (uint32_t)(l->out->nentries - 1)};

	if (entry.context)
		x.die = &entry.context->scopes[0];
	find_code(&x);
	for (size_t i = 0; i < x.code.n && !uretprobe; i++)
		examine(&x, &x.code.insns[i]);
	/* The entry probe would run once a turn. */
	for (size_t i = 0; i < x.code.n && uretprobe; i++)
		x.is_loop |= x.code.insns[i].target == entry.link_addr &&
			     (x.code.insns[i].flow == GS_FLOW_JUMP ||
			      x.code.insns[i].flow == GS_FLOW_BRANCH);
	if (uretprobe) {
		size_t had = l->out->nsites;

		gs_place_add(l, entry.link_addr, entry.natural_addr, entry.context, entry.func);
		if (l->out->nsites > had) {
			l->out->sites[had].exit = new_exit(&x, GS_EXIT_URETPROBE);
			l->out->sites[had].entry = x.number;
			l->out->sites[had].flags |= GS_SITE_URETPROBE;
		}
	} else if (!x.code.n) {
		gs_place_note(l, "%s: where it ends is not known, so neither are its returns",
			      entry.func);
	} else if (!x.nfound) {
		gs_place_note(l, "%s has no instruction that returns", entry.func);
	}
	l->out->entries[x.number].is_loop = x.is_loop;
	gs_code_deinit(&x.code);
}

/* ---- what a changed return address would break ---- */

/* Names that a program needs to unwind or to end threads, or to load code that may. */
static const char *const unwinders[] = {"pthread_exit",
					"pthread_cancel",
					"thrd_exit",
					"_Unwind_RaiseException",
					"_Unwind_Resume",
					"__cxa_throw",
					"_Unwind_ForcedUnwind",
					"_Unwind_Backtrace",
					"backtrace",
					"dlopen",
					"dlmopen",
					"swapcontext",
					"makecontext",
					"setcontext",
					"prctl",
					"seccomp",
					"seccomp_load",
					"syscall",
					"clone"};

static const char *imported_unwinder(struct gs_module *m)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(m->elf, scn))) {
		GElf_Shdr shdr;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) ||
		    (shdr.sh_type != SHT_DYNSYM && shdr.sh_type != SHT_SYMTAB) ||
		    !shdr.sh_entsize || !(data = elf_getdata(scn, NULL)))
			continue;
		for (size_t i = 0; i < data->d_size / shdr.sh_entsize && i < INT32_MAX; i++) {
			GElf_Sym sym;
			const char *name;

			if (!gelf_getsym(data, (int)i, &sym) ||
			    !(name = elf_strptr(m->elf, shdr.sh_link, sym.st_name)))
				continue;
			for (size_t k = 0; k < GS_ARRAY_SIZE(unwinders); k++)
				if (strcmp(name, unwinders[k]) == 0)
					return unwinders[k];
		}
	}
	return NULL;
}

/* The C library has all of it, for those who ask for it. */
static bool is_libc(const struct gs_module *m)
{
	const char *soname = m->info.soname;

	return soname &&
	       (strncmp(soname, "libc.so.", 8) == 0 || strncmp(soname, "ld-linux", 8) == 0 ||
		strncmp(soname, "libm.so.", 8) == 0);
}

const char *gs_module_unwinds(struct gs_module *m)
{
	const char *name;

	if (is_libc(m))
		return NULL;
	if (gs_elf_has_section(m->elf, ".gcc_except_table"))
		return "it has exception tables";
	name = imported_unwinder(m);
	return name ? gs_arena_printf(&m->arena, "it uses %s", name) : NULL;
}

/* ---- functions that are left alone ---- */

static const char *const twice[] = {"setjmp",	    "_setjmp",	   "__setjmp",	    "sigsetjmp",
				    "__sigsetjmp",  "vfork",	   "__vfork",	    "getcontext",
				    "__getcontext", "swapcontext", "__swapcontext", "savectx"};

static const char *refusal(struct gs_module *m, const struct gs_place_site *s)
{
	const char *symbol = gs_module_symbol_at(m, s->natural_addr, NULL);
	const char *names[] = {s->func, symbol};

	for (size_t k = 0; k < 2; k++) {
		if (!names[k])
			continue;
		for (size_t i = 0; i < GS_ARRAY_SIZE(twice); i++)
			if (strcmp(names[k], twice[i]) == 0)
				return "it may return more than once";
		if (strncmp(names[k], "_Unwind_", 8) == 0)
			return "it unwinds the stack, and may not return";
	}
	if (gs_elf_has_section(m->elf, ".gopclntab") || gs_elf_has_section(m->elf, ".go.buildinfo"))
		return "Go moves its stacks";
	return NULL;
}

static struct gs_error *refuse(const struct gs_place_site *s, const char *why, bool uretprobe)
{
	struct gs_error *err = gs_error_new(GS_ERR_UNSUPPORTED,
					    "returns of `%s' are not recorded: %s", s->func, why);

	return uretprobe
		       ? gs_error_hint(err, "a uretprobe there would break the program")
		       : gs_error_hint(err, "--return=ret does it all the same; calls that cannot "
					    "be paired have no $duration");
}

struct gs_error *gs_module_find_returns(struct gs_module *m, const char *name,
					const struct gs_return_options *opts, struct gs_places *out)
{
	struct gs_place_list l = {.m = m, .out = out};
	struct gs_places functions;
	struct gs_error *err;
	size_t cap = 0, ninlined = 0;
	const char *why;

	gs_places_init(&functions);
	err = gs_module_find_function(m, name, &functions);
	for (size_t i = 0; !err && i < functions.nnotes; i++)
		gs_place_note(&l, "%s", functions.notes[i]);
	for (size_t i = 0; !err && i < functions.nsites; i++) {
		const struct gs_place_site *s = &functions.sites[i];

		if (s->flags & GS_SITE_INLINED) {
			ninlined++;
			continue;
		}
		why = opts->force && !opts->uretprobe ? NULL : refusal(m, s);
		if (why)
			err = refuse(s, why, opts->uretprobe);
		else
			add_function(&l, &cap, s, opts->uretprobe);
	}
	gs_places_deinit(&functions);
	if (err)
		return err;
	if (ninlined && !out->nentries)
		return gs_error_hint(
			gs_error_new(GS_ERR_NOT_FOUND,
				     "%s is only inlined (%zu instance%s): it has no return", name,
				     ninlined, ninlined == 1 ? "" : "s"),
			"probe the line of its `return'");
	if (ninlined)
		gs_place_note(&l, "%zu inlined instance%s no return, and %s left out", ninlined,
			      ninlined == 1 ? " has" : "s have", ninlined == 1 ? "is" : "are");
	if (!m->decoder.is_open && !opts->uretprobe)
		return gs_error_new(GS_ERR_UNSUPPORTED, "%s: its machine code is not decoded",
				    name);
	return gs_place_finish(&l, name);
}
