/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Places that are functions, offsets in functions, or addresses: the instructions to probe.
 * Answers the probe front end; lines are in place_line.c.
 */
#include <stdarg.h>

#include "record/place.h"
#include "format/meta.h"

void gs_places_init(struct gs_places *p)
{
	*p = (struct gs_places){0};
	gs_arena_init(&p->arena);
}

void gs_places_deinit(struct gs_places *p)
{
	free(p->sites);
	free(p->entries);
	free(p->notes);
	gs_arena_deinit(&p->arena);
	*p = (struct gs_places){0};
}

/* ---- collecting ---- */

void gs_place_note(struct gs_place_list *l, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < l->out->nnotes; i++)
		if (strcmp(l->out->notes[i], text) == 0)
			return;
	*GS_PUSH(l->out->notes, l->out->nnotes, l->notes_cap) =
		gs_arena_strdup(&l->out->arena, text);
}

static const char *keep(struct gs_place_list *l, const char *s)
{
	return s ? gs_arena_strdup(&l->out->arena, s) : "";
}

static void describe(struct gs_place_list *l, struct gs_place_site *s, const char *func)
{
	struct gs_module *m = l->m;
	struct gs_context *c = s->context;
	const char *file = "", *symbol;

	s->file = s->inlined_in = "";
	if (c) {
		s->func = keep(l, gs_qualified_name(m, gs_context_function(c)));
		if (dwarf_tag(gs_context_function(c)) == DW_TAG_inlined_subroutine) {
			s->inlined_in = keep(l, gs_qualified_name(m, &c->scopes[0]));
			s->flags |= GS_SITE_INLINED;
		}
		s->line = gs_line_at(m, &c->cu, s->link_addr, &file);
		s->file = keep(l, file);
		return;
	}
	symbol = func ? func : gs_module_symbol_at(m, s->link_addr, NULL);
	s->func = keep(l, symbol);
}

void gs_place_add(struct gs_place_list *l, uint64_t addr, uint64_t natural, struct gs_context *c,
		  const char *func)
{
	struct gs_module *m = l->m;
	struct gs_place_site *s;
	uint8_t bytes[16];
	unsigned len = gs_insn_len(m, addr);
	enum gs_cost cost = GS_COST_STEPPED;

	if (l->out->nsites >= GS_SITES_MAX)
		return;
	if (m->decoder.is_open) {
		if (len && gs_module_read(m, addr, bytes, len) == len)
			cost = gs_insn_cost(bytes, len, m->decoder.is_64);
		else
			cost = GS_COST_REFUSED;
	}
	if (cost == GS_COST_REFUSED) {
		l->nrefused++;
		gs_place_note(l, "0x%llx cannot be probed: `%s' is not stepped out of line",
			      (unsigned long long)addr, gs_insn_text(m, addr, &l->out->arena));
		return;
	}
	if (cost == GS_COST_NOP5 && !gs_red_zone_is_free(m, addr)) {
		l->nrefused++;
		gs_place_note(l,
			      "0x%llx is not probed: newer kernels make a call of a probe on a nop "
			      "of 5 bytes, which would overwrite what this function may keep below "
			      "the stack pointer",
			      (unsigned long long)addr);
		return;
	}
	s = GS_PUSH(l->out->sites, l->out->nsites, l->sites_cap);
	s->link_addr = addr;
	s->natural_addr = natural;
	s->context = c;
	if (addr != natural)
		s->flags |= GS_SITE_MOVED;
	s->insn = m->decoder.is_open ? gs_insn_text(m, addr, &l->out->arena) : "";
	s->cost = m->decoder.is_open ? gs_cost_name(cost) : "";
	describe(l, s, func);
}

static int compare_sites(const void *pa, const void *pb)
{
	const struct gs_place_site *a = pa, *b = pb;

	if (a->link_addr != b->link_addr)
		return a->link_addr < b->link_addr ? -1 : 1;
	/* Of two contexts at one address, the one with DWARF, and of these the outer one. */
	if (!a->context != !b->context)
		return a->context ? -1 : 1;
	return (int)(a->flags & GS_SITE_INLINED) - (int)(b->flags & GS_SITE_INLINED);
}

struct gs_error *gs_place_finish(struct gs_place_list *l, const char *what)
{
	struct gs_places *p = l->out;
	size_t n = 0;

	if (p->nsites)
		qsort(p->sites, p->nsites, sizeof(*p->sites), compare_sites);
	for (size_t i = 0; i < p->nsites; i++)
		if (n == 0 || p->sites[n - 1].link_addr != p->sites[i].link_addr)
			p->sites[n++] = p->sites[i];
	p->nsites = n;
	if (n)
		return NULL;
	if (l->nrefused)
		return gs_error_hint(
			gs_error_new(GS_ERR_UNSUPPORTED, "%s: no instruction that can be probed",
				     what),
			"%s", p->nnotes ? p->notes[0] : "probe a line or an offset after it");
	return gs_error_new(GS_ERR_NOT_FOUND, "%s has no code in %s", what, l->m->info.path);
}

void gs_place_take(struct gs_module *m, struct gs_places *into, const struct gs_places *from)
{
	struct gs_place_list l = {.m = m, .out = into, .sites_cap = into->nsites};

	l.notes_cap = into->nnotes;
	for (size_t i = 0; i < from->nnotes; i++)
		gs_place_note(&l, "%s", from->notes[i]);
	for (size_t i = 0; i < from->nsites; i++) {
		struct gs_place_site *s = GS_PUSH(into->sites, into->nsites, l.sites_cap);

		*s = from->sites[i];
		s->func = keep(&l, s->func);
		s->inlined_in = keep(&l, s->inlined_in);
		s->file = keep(&l, s->file);
		s->insn = keep(&l, s->insn);
	}
	gs_error_free(gs_place_finish(&l, ""));
}

/* ---- entries ---- */

static bool range_around(struct gs_module *m, uint64_t addr, uint64_t *low, uint64_t *high);

bool gs_place_is_target(struct gs_module *m, Dwarf_Die *function, uint64_t addr)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	struct gs_code code = {0};
	bool found = false;

	while (function && (at = dwarf_ranges(function, at, &base, &low, &high)) > 0)
		gs_code_decode(m, low, high, &code);
	if (!function && range_around(m, addr, &low, &high))
		gs_code_decode(m, low, high, &code);
	for (size_t i = 0; i < code.n && !found; i++)
		found = (code.insns[i].flow == GS_FLOW_BRANCH ||
			 code.insns[i].flow == GS_FLOW_JUMP) &&
			code.insns[i].target == addr;
	gs_code_deinit(&code);
	return found;
}

/* Length of a vector instruction that the kernel refuses and that changes nothing but a vector
 * register; 0 if it is another. */
static unsigned refused_vector_len(struct gs_module *m, uint64_t addr)
{
	uint8_t bytes[16];
	unsigned len = gs_insn_len(m, addr);
	cs_insn *insn;
	bool is_vector;

	if (!len || gs_module_read(m, addr, bytes, len) != len ||
	    gs_insn_cost(bytes, len, m->decoder.is_64) != GS_COST_REFUSED ||
	    cs_disasm(m->decoder.detail, bytes, len, addr, 1, &insn) != 1)
		return 0;
	is_vector = insn->mnemonic[0] == 'v' && insn->detail->x86.op_count >= 2 &&
		    insn->detail->x86.operands[0].type == X86_OP_REG &&
		    insn->detail->x86.operands[0].size >= 16;
	cs_free(insn, 1);
	return is_vector ? len : 0;
}

uint64_t gs_place_entry(struct gs_module *m, Dwarf_Die *function, uint64_t entry)
{
	uint64_t addr = entry;
	unsigned len = gs_insn_is_endbr(m, entry) ? 4 : refused_vector_len(m, addr);

	for (unsigned i = 0; i < 4 && len; i++) {
		if (gs_place_is_target(m, function, addr + len))
			break;
		addr += len;
		len = refused_vector_len(m, addr);
	}
	return addr;
}

static void add_copy(struct gs_place_list *l, Dwarf_Die *die)
{
	Dwarf_Addr entry;
	const struct gs_symbol *symbol;
	uint64_t addr;

	if (!gs_die_entry(l->m, die, &entry) || !gs_elf_is_executable(l->m, entry))
		return;
	symbol = gs_symbol_at(l->m, entry);
	if (symbol && symbol->addr == entry && strstr(symbol->name, ".part.")) {
		gs_place_note(
			l, "%s at 0x%llx was left out: a part of %s that its inlined copies call",
			symbol->name, (unsigned long long)entry, gs_qualified_name(l->m, die));
		return;
	}
	addr = gs_place_entry(l->m, die, entry);
	gs_place_add(l, addr, entry, gs_context_new(l->m, addr, die), NULL);
}

/* The row of the line table that begins at ADDR, the first of several; NULL if none does. */
static const struct gs_row *row_at(const struct gs_unit_lines *t, uint64_t addr)
{
	size_t low = 0, high = t->nrows;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (t->rows[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < t->nrows && t->rows[low].addr == addr ? &t->rows[low] : NULL;
}

static bool is_same_source(const struct gs_row *a, const struct gs_row *b)
{
	return a && b && a->line == b->line && a->column == b->column && a->file == b->file;
}

/* The last row that begins in [low, high). */
static const struct gs_row *last_row(const struct gs_unit_lines *t, uint64_t low, uint64_t high)
{
	const struct gs_row *row = row_at(t, low), *last = row;

	for (; row && row < t->rows + t->nrows && row->addr < high; row++)
		last = row;
	return last;
}

/*
 * LLVM keeps one entry for the copies of an instance in an unrolled loop, with a range for each:
 * what begins and ends with the same source places as the first is a copy.
 */
static void add_unrolled(struct gs_place_list *l, Dwarf_Die *die, uint64_t entry)
{
	struct gs_module *m = l->m;
	size_t unit = gs_unit_of(m, die);
	const struct gs_unit_lines *t = unit == SIZE_MAX ? NULL : gs_lines_of_unit(m, unit);
	const struct gs_row *first = t && !t->has_markers ? row_at(t, entry) : NULL, *last = NULL;
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while (first && !last && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		if (low == entry)
			last = last_row(t, low, high);
	for (at = 0; last && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;)
		if (low != entry && is_same_source(row_at(t, low), first) &&
		    is_same_source(last_row(t, low, high), last))
			gs_place_add(l, low, low, gs_context_new(m, low, die), NULL);
}

static void add_inlined(struct gs_place_list *l, Dwarf_Die *die)
{
	Dwarf_Addr entry;

	if (!gs_die_entry(l->m, die, &entry) || !gs_elf_is_executable(l->m, entry))
		return;
	gs_place_add(l, entry, entry, gs_context_new(l->m, entry, die), NULL);
	add_unrolled(l, die, entry);
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
			       dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr)
		       ? dwarf_formstring(&attr)
		       : NULL;
}

/*
 * A definition without code of its own: the compiler found another function with the same code and
 * made this one's symbol a second name of it.
 */
static void add_folded(struct gs_place_list *l, Dwarf_Die *definition)
{
	struct gs_module *m = l->m;
	const char *symbol = linkage_name(definition);
	const struct gs_symbol *s;
	Dwarf_Addr entry;

	for (size_t i = 0; symbol && (s = gs_symbol_named(m, symbol, i)); i++) {
		Dwarf_Die die;
		const char *own;
		uint64_t addr;

		if (s->type == STT_GNU_IFUNC || !gs_index_function_at(m, s->addr, &die) ||
		    !gs_die_entry(m, &die, &entry) || entry != s->addr)
			continue;
		own = linkage_name(&die);
		if (own && strcmp(own, symbol) == 0) /* itself, found by another entry */
			continue;
		gs_place_note(l, "%s has the same code as %s: their calls are not told apart",
			      gs_qualified_name(m, definition), gs_qualified_name(m, &die));
		addr = gs_place_entry(m, &die, entry);
		gs_place_add(l, addr, entry, gs_context_new(m, addr, &die), NULL);
	}
}

/* ---- copies that go on to another ---- */

#define COPIES_MAX 32

/* Of a complete object's constructor or destructor, or of the one that deletes (Itanium C++ ABI).
 */
static bool is_complete_structor(const struct gs_symbol *s, uint64_t entry)
{
	return s && s->addr == entry &&
	       (strstr(s->name, "D0Ev") || strstr(s->name, "D1Ev") || strstr(s->name, "C1E"));
}

/*
 * Whether each execution of the copy at ENTRY is one of another copy too: it only jumps there, or
 * it is a constructor or destructor that calls the one for base objects.
 */
static bool is_wrapper(struct gs_module *m, Dwarf_Die *die, uint64_t entry, const uint64_t *entries,
		       size_t n)
{
	const struct gs_symbol *symbol = gs_symbol_at(m, entry);
	bool calls_count = is_complete_structor(symbol, entry), is_straight = true, found = false;
	struct gs_code code = {0};
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		gs_code_decode(m, low, high, &code);
	for (size_t i = 0; i < code.n && !found; i++) {
		const struct gs_insn *insn = &code.insns[i];
		bool counts = (insn->flow == GS_FLOW_JUMP && (is_straight || calls_count)) ||
			      (insn->flow == GS_FLOW_CALL && calls_count);

		for (size_t k = 0; k < n && counts && !found; k++)
			found = entries[k] != entry && entries[k] == insn->target;
		is_straight &= insn->flow == GS_FLOW_NEXT;
	}
	gs_code_deinit(&code);
	return found;
}

/*
 * Whether both are copies of one function in the source. By where it is declared: gcc declares a
 * constructor once for each of its kinds.
 */
static bool is_same_function(Dwarf_Die *a, Dwarf_Die *b)
{
	int line[2] = {0}, column[2] = {0};
	const char *file[2] = {gs_decl_file(a), gs_decl_file(b)};

	if (!file[0] || !file[1] || strcmp(file[0], file[1]) != 0)
		return false;
	if (dwarf_decl_line(a, &line[0]) != 0 || dwarf_decl_line(b, &line[1]) != 0)
		return false;
	dwarf_decl_column(a, &column[0]);
	dwarf_decl_column(b, &column[1]);
	return line[0] == line[1] && column[0] == column[1];
}

struct copies {
	const gs_ref *refs; /* the definitions of the name */
	size_t nrefs;
	uint64_t entries[COPIES_MAX + 1];
	size_t n;
};

static void collect_copies(struct gs_module *m, Dwarf_Die *definition, struct copies *c)
{
	Dwarf_Die die;

	c->n = 0;
	for (size_t r = 0; r < c->nrefs && r < COPIES_MAX; r++) {
		size_t n;
		const struct gs_instance *i = gs_index_instances(m, c->refs[r], &n);

		if (!gs_ref_die(m, c->refs[r], &die) || !is_same_function(&die, definition))
			continue;
		if (c->n < COPIES_MAX && gs_die_entry(m, &die, &c->entries[c->n]))
			c->n++;
		for (; n && c->n < COPIES_MAX; n--, i++)
			if (gs_ref_die(m, i->die, &die) && dwarf_tag(&die) == DW_TAG_subprogram &&
			    gs_die_entry(m, &die, &c->entries[c->n]))
				c->n++;
	}
}

static void add_own_copy(struct gs_place_list *l, Dwarf_Die *die, const struct copies *c)
{
	uint64_t entry;

	if (c->n > 1 && gs_die_entry(l->m, die, &entry) &&
	    is_wrapper(l->m, die, entry, c->entries, c->n))
		gs_place_note(l, "%s at 0x%llx was left out: it goes on to another copy of it",
			      gs_qualified_name(l->m, die), (unsigned long long)entry);
	else
		add_copy(l, die);
}

static void add_definition(struct gs_place_list *l, gs_ref ref, struct copies *copies)
{
	Dwarf_Die definition, die;
	size_t n;
	const struct gs_instance *i = gs_index_instances(l->m, ref, &n);
	uint64_t entry;
	bool has_code;

	if (!gs_ref_die(l->m, ref, &definition))
		return;
	collect_copies(l->m, &definition, copies);
	add_own_copy(l, &definition, copies);
	has_code = gs_die_entry(l->m, &definition, &entry);
	for (; n; n--, i++) {
		if (!gs_ref_die(l->m, i->die, &die))
			continue;
		if (dwarf_tag(&die) == DW_TAG_subprogram) {
			has_code = true;
			add_own_copy(l, &die, copies);
		} else {
			add_inlined(l, &die);
		}
	}
	if (!has_code)
		add_folded(l, &definition);
}

size_t gs_place_definitions(struct gs_module *m, struct gs_arena *arena, const char *name,
			    gs_ref *refs, size_t max)
{
	struct gs_name_query *q = gs_name_query_parse(arena, name);
	const struct gs_index_entry *e;
	size_t len, n = 0;
	const char *base = gs_name_query_base(q, &len);

	gs_index_need(m);
	for (e = gs_index_first(m, base, len); e && n < max; e = gs_index_next(m, e)) {
		Dwarf_Die die;

		if (e->kind == GS_INDEX_FUNCTION && !(e->flags & GS_INDEX_LINKAGE) &&
		    gs_ref_die(m, e->ref, &die) && gs_name_query_matches(m, q, &die))
			refs[n++] = e->ref;
	}
	/* A linkage name is whole. */
	for (e = gs_index_first(m, name, strlen(name)); e && n < max && *name == '_';
	     e = gs_index_next(m, e)) {
		Dwarf_Die die;
		Dwarf_Attribute attr;
		const char *have;

		if (e->kind != GS_INDEX_FUNCTION || !(e->flags & GS_INDEX_LINKAGE) ||
		    !gs_ref_die(m, e->ref, &die) || !dwarf_attr(&die, DW_AT_linkage_name, &attr))
			continue;
		have = dwarf_formstring(&attr);
		if (have && strcmp(have, name) == 0)
			refs[n++] = e->ref;
	}
	return n;
}

size_t gs_place_definitions_or_alias(struct gs_module *m, struct gs_arena *arena, const char *name,
				     gs_ref *refs, size_t max)
{
	size_t n = gs_place_definitions(m, arena, name, refs, max);
	const struct gs_symbol *s;

	if (n)
		return n;
	for (size_t i = 0; n < max && (s = gs_symbol_named(m, name, i)); i++) {
		Dwarf_Die die;
		Dwarf_Addr entry;

		/* Not of a part that was moved out (f.cold): its lines are the function's. */
		if (gs_index_function_at(m, s->addr, &die) && gs_die_entry(m, &die, &entry) &&
		    entry == s->addr)
			refs[n++] = gs_ref_of(m, &die);
	}
	return n;
}

/* ---- symbols ---- */

/* Names of function symbols at ADDR, but those of the indirect function's own implementations. */
static void put_aliases(struct gs_module *m, struct gs_buf *b, uint64_t addr, const char *name)
{
	for (size_t i = 0; i < m->nfunctions && b->len < 200; i++) {
		const struct gs_symbol *s = &m->functions[i];

		if (s->addr == addr && !strstr(s->name, name) && s->bind != STB_LOCAL)
			gs_buf_printf(b, "%s%s", b->len ? ", " : "", s->name);
	}
}

static void add_symbol(struct gs_place_list *l, const char *name, uint64_t at)
{
	struct gs_module *m = l->m;
	Dwarf_Die die;
	Dwarf_Addr entry;
	/* A copy of a function that was moved out of it (f.cold) has no arguments of its own. */
	bool has_die =
		gs_index_function_at(m, at, &die) && gs_die_entry(m, &die, &entry) && entry == at;
	uint64_t addr = gs_place_entry(m, has_die ? &die : NULL, at);

	gs_place_add(l, addr, at, has_die ? gs_context_new(m, addr, &die) : NULL, name);
}

/*
 * The resolver runs once, its implementations at each call: the one that fits the processor. All
 * are probed, as only one of them is used.
 */
static void add_ifunc(struct gs_place_list *l, const struct gs_symbol *s)
{
	struct gs_implementations found;
	struct gs_buf aliases;
	size_t before = l->out->nsites;

	gs_buf_init(&aliases);
	gs_ifunc_implementations(l->m, s, &found);
	for (size_t i = 0; i < found.n; i++) {
		const struct gs_symbol *to = gs_symbol_at(l->m, found.addrs[i]);

		put_aliases(l->m, &aliases, found.addrs[i], s->name);
		add_symbol(l, to ? to->name : s->name, found.addrs[i]);
	}
	if (!found.n) {
		l->nrefused++;
		gs_place_note(l,
			      "%s is an indirect function, and what its resolver chooses from is "
			      "not known: it was left out, as the resolver runs only once",
			      s->name);
	} else {
		gs_place_note(l,
			      "%s is an indirect function: of its %zu implementations %zu are "
			      "probed; the processor decides which one is used%s%s%s",
			      s->name, found.n, l->out->nsites - before,
			      aliases.len ? "; calls by other names count too: " : "",
			      aliases.len ? gs_buf_cstr(&aliases) : "",
			      found.is_complete ? ""
						: "; its resolver may choose another that is not "
						  "known (as in the vDSO), and is then not seen");
	}
	gs_buf_deinit(&aliases);
	free(found.addrs);
}

/* Functions by symbol: aliases of what DWARF has under another name, and what it does not have at
 * all. */
static void add_symbols(struct gs_place_list *l, const char *name, bool only_without_dwarf)
{
	const struct gs_symbol *s;
	Dwarf_Die die;

	for (size_t i = 0; (s = gs_symbol_named(l->m, name, i)); i++)
		if (s->type == STT_GNU_IFUNC)
			add_ifunc(l, s);
		else if (!only_without_dwarf || !gs_index_function_at(l->m, s->addr, &die))
			add_symbol(l, s->name, s->addr);
}

struct gs_error *gs_place_unknown_function(struct gs_module *m, const char *name)
{
	struct gs_nearest near = {.wanted = name};
	struct gs_error *err =
		gs_error_new(GS_ERR_NOT_FOUND, "no function `%s' in %s", name, m->info.path);
	char *hint;

	gs_module_feed_functions(m, &near);
	hint = gs_nearest_hint(&near);
	if (hint)
		err = gs_error_hint(err, "%s", hint);
	if (m->info.debug_problem)
		err = gs_error_hint(err, "%s", m->info.debug_problem);
	else if (!m->info.has_symbols && !m->info.has_dwarf)
		err = gs_error_hint(err, "the file has neither symbols nor debug information");
	free(hint);
	gs_nearest_deinit(&near);
	return err;
}

#define DEFINITIONS_MAX 4096

struct gs_error *gs_module_find_function(struct gs_module *m, const char *name,
					 struct gs_places *out)
{
	struct gs_place_list l = {.m = m, .out = out};
	gs_ref *refs GS_CLEANUP_FREE = gs_calloc(DEFINITIONS_MAX, sizeof(*refs));
	size_t n = gs_place_definitions(m, &m->arena, name, refs, DEFINITIONS_MAX);

	struct copies copies = {.refs = refs, .nrefs = n};

	for (size_t i = 0; i < n; i++)
		add_definition(&l, refs[i], &copies);
	add_symbols(&l, name, out->nsites != 0);
	if (n == 0 && out->nsites == 0 && l.nrefused == 0)
		return gs_place_unknown_function(m, name);
	return gs_place_finish(&l, name);
}

/* ---- instructions ---- */

/* The instruction boundaries nearest to ADDR, as hints. */
static struct gs_error *not_a_boundary(struct gs_error *err, const struct gs_code *code,
				       uint64_t addr, uint64_t base)
{
	for (size_t i = 0; i < code->n; i++) {
		const struct gs_insn *insn = &code->insns[i];

		if (insn->addr < addr && addr < insn->addr + insn->len)
			return base ? gs_error_hint(
					      err, "instructions begin at +0x%llx and +0x%llx",
					      (unsigned long long)(insn->addr - base),
					      (unsigned long long)(insn->addr + insn->len - base))
				    : gs_error_hint(err, "instructions begin at 0x%llx and 0x%llx",
						    (unsigned long long)insn->addr,
						    (unsigned long long)(insn->addr + insn->len));
	}
	return err;
}

static bool range_around(struct gs_module *m, uint64_t addr, uint64_t *low, uint64_t *high)
{
	Dwarf_Die die;
	Dwarf_Addr base, l, h;
	ptrdiff_t at = 0;
	const struct gs_symbol *s;

	gs_index_need(m);
	if (gs_index_function_at(m, addr, &die))
		while ((at = dwarf_ranges(&die, at, &base, &l, &h)) > 0)
			if (addr >= l && addr < h) {
				*low = l;
				*high = h;
				return true;
			}
	s = gs_symbol_at(m, addr);
	if (!s || s->size == 0 || addr - s->addr >= s->size)
		return false;
	*low = s->addr;
	*high = s->addr + s->size;
	return true;
}

/* BASE: what offsets in hints count from; 0: addresses. */
static struct gs_error *check_boundary(struct gs_place_list *l, uint64_t addr, uint64_t base,
				       const char *what)
{
	struct gs_code code = {0};
	uint64_t low, high;
	struct gs_error *err = NULL;

	if (!gs_elf_is_executable(l->m, addr))
		return gs_error_new(GS_ERR_NOT_FOUND, "%s is not code of %s", what,
				    l->m->info.path);
	if (!range_around(l->m, addr, &low, &high)) {
		gs_place_note(l,
			      "0x%llx is in no known function: whether an instruction begins "
			      "there was not checked",
			      (unsigned long long)addr);
		return NULL;
	}
	if (!l->m->decoder.is_open)
		return NULL;
	gs_code_decode(l->m, low, high, &code);
	if (gs_code_find(&code, addr) == SIZE_MAX)
		err = not_a_boundary(gs_error_new(GS_ERR_NOT_FOUND,
						  "%s is not the beginning of an instruction",
						  what),
				     &code, addr, base);
	gs_code_deinit(&code);
	return err;
}

struct gs_error *gs_module_find_address(struct gs_module *m, uint64_t link_addr,
					struct gs_places *out)
{
	struct gs_place_list l = {.m = m, .out = out};
	char what[32];

	snprintf(what, sizeof(what), "*0x%llx", (unsigned long long)link_addr);
	GS_TRY(check_boundary(&l, link_addr, 0, what));
	gs_place_add(&l, link_addr, link_addr, gs_context_new(m, link_addr, NULL), NULL);
	return gs_place_finish(&l, what);
}

/* One address in an out-of-line copy whose entry is ENTRY. */
static struct gs_error *add_offset(struct gs_place_list *l, uint64_t entry, uint64_t offset,
				   const char *what)
{
	uint64_t addr = entry + offset, low, high;

	if (!range_around(l->m, entry, &low, &high))
		high = entry + 1;
	if (addr < entry || addr >= high)
		return gs_error_new(GS_ERR_NOT_FOUND, "%s is beyond the function's end at +0x%llx",
				    what, (unsigned long long)(high - entry));
	GS_TRY(check_boundary(l, addr, entry, what));
	gs_place_add(l, addr, addr, gs_context_new(l->m, addr, NULL), NULL);
	return NULL;
}

struct gs_error *gs_module_find_offset(struct gs_module *m, const char *function, uint64_t offset,
				       struct gs_places *out)
{
	struct gs_places entries;
	struct gs_place_list l = {.m = m, .out = out};
	struct gs_error *err, *first = NULL;
	const char *what =
		gs_arena_printf(&m->arena, "%s+0x%llx", function, (unsigned long long)offset);

	gs_places_init(&entries);
	err = gs_module_find_function(m, function, &entries);
	for (size_t i = 0; !err && i < entries.nsites; i++) {
		struct gs_error *bad;

		if (entries.sites[i].flags & GS_SITE_INLINED)
			continue;
		bad = add_offset(&l, entries.sites[i].natural_addr, offset, what);
		if (!first)
			first = bad;
		else
			gs_error_free(bad);
	}
	gs_places_deinit(&entries);
	if (err)
		return err;
	/* Copies of a function differ: an offset that is good in one of them is enough. */
	if (out->nsites == 0 && first)
		return first;
	gs_error_free(first);
	return gs_place_finish(&l, what);
}
