/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a function was given, by its caller: the return address tells which call led here, and that
 * call's debug information what it passed. Under dwarf_expr.c, for entry values that no register of
 * the function holds any more.
 */
#include "record/dwarf_internal.h"

#define TAIL_FUNCTIONS_MAX 64
#define SITE_DEPTH_MAX 64
#define CHUNK (1u << 20)
#define CALL_LEN 5 /* e8 and the distance */

/* How many calls are told apart in one value, by the number of frames between. */
static const uint8_t callers_max[] = {16, 4};

struct gs_call {
	uint64_t target, addr;
};

struct caller {
	struct gs_context *c; /* at the call */
	Dwarf_Die site;
};
struct gs_callers {
	struct caller callers[16];
	size_t n;
};

/* ---- the direct calls of the module ---- */

/* Bytes that look like one: what they are is asked of the decoder when it matters. */
static void scan(struct gs_module *m, uint64_t addr, const uint8_t *bytes, size_t n, size_t *cap)
{
	for (size_t i = 0; i + CALL_LEN <= n; i++) {
		uint64_t target;

		if (bytes[i] != 0xe8)
			continue;
		target = addr + i + CALL_LEN +
			 (uint64_t)(int32_t)gs_load_uint(bytes + i + 1, 4, false);
		if (m->info.machine == EM_386)
			target = (uint32_t)target;
		if (gs_elf_is_executable(m, target))
			*GS_PUSH(m->calls, m->ncalls, *cap) = (struct gs_call){target, addr + i};
	}
}

static int compare_calls(const void *pa, const void *pb)
{
	const struct gs_call *a = pa, *b = pb;

	if (a->target != b->target)
		return a->target < b->target ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void need_calls(struct gs_module *m)
{
	uint8_t *bytes GS_CLEANUP_FREE = NULL;
	size_t cap = 0;

	if (m->calls_looked_for)
		return;
	m->calls_looked_for = true;
	bytes = gs_malloc(CHUNK + CALL_LEN);
	for (size_t s = 0; s < m->nsegments; s++) {
		const struct gs_segment *seg = &m->segments[s];

		/* Chunks overlap by less than a call: none is cut, none is seen twice. */
		for (uint64_t at = 0; seg->executable && at < seg->filesz; at += CHUNK) {
			uint64_t left = seg->filesz - at;
			size_t want =
				left < CHUNK + CALL_LEN - 1 ? (size_t)left : CHUNK + CALL_LEN - 1;

			scan(m, seg->vaddr + at, bytes,
			     gs_module_read(m, seg->vaddr + at, bytes, want), &cap);
		}
	}
	if (m->ncalls)
		qsort(m->calls, m->ncalls, sizeof(*m->calls), compare_calls);
}

bool gs_call_to(struct gs_module *m, uint64_t target, size_t i, uint64_t *after)
{
	size_t low = 0, high;

	need_calls(m);
	high = m->ncalls;
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (m->calls[mid].target < target)
			low = mid + 1;
		else
			high = mid;
	}
	if (i >= m->ncalls - low || m->calls[low + i].target != target)
		return false;
	*after = m->calls[low + i].addr + CALL_LEN;
	return true;
}

/* ---- ranges ---- */

static bool range_with(Dwarf_Die *die, uint64_t addr, Dwarf_Addr *low, Dwarf_Addr *high)
{
	Dwarf_Addr base;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, low, high)) > 0)
		if (addr >= *low && addr < *high)
			return true;
	return false;
}

static bool is_call_at(struct gs_module *m, Dwarf_Die *function, uint64_t addr, uint64_t target)
{
	struct gs_code code = {0};
	Dwarf_Addr low, high;
	size_t i;
	bool found = false;

	if (range_with(function, addr, &low, &high)) {
		gs_code_decode(m, low, high, &code);
		i = gs_code_find(&code, addr);
		found = i != SIZE_MAX && code.insns[i].flow == GS_FLOW_CALL &&
			code.insns[i].len == CALL_LEN && code.insns[i].target == target;
	}
	gs_code_deinit(&code);
	return found;
}

/* ---- call sites ---- */

static bool address_of(Dwarf_Die *die, unsigned at, uint64_t *addr)
{
	Dwarf_Attribute attr;
	Dwarf_Addr a;

	if (!dwarf_attr(die, at, &attr) || dwarf_formaddr(&attr, &a) != 0)
		return false;
	*addr = a;
	return true;
}

/* Whether the site is the call or jump between the two addresses. */
static bool is_site_of(Dwarf_Die *die, uint64_t addr, uint64_t next)
{
	uint64_t a;

	if (dwarf_tag(die) == DW_TAG_GNU_call_site)
		return address_of(die, DW_AT_low_pc, &a) && a == next;
	return (address_of(die, DW_AT_call_return_pc, &a) && a == next) ||
	       (address_of(die, DW_AT_call_pc, &a) && a == addr);
}

static bool find_site(Dwarf_Die *parent, uint64_t addr, uint64_t next, unsigned depth,
		      Dwarf_Die *out)
{
	Dwarf_Die die;

	if (depth > SITE_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return false;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_call_site:
		case DW_TAG_GNU_call_site:
			if (is_site_of(&die, addr, next)) {
				*out = die;
				return true;
			}
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_inlined_subroutine:
			if (find_site(&die, addr, next, depth + 1, out))
				return true;
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* ---- tail calls ---- */

/*
 * A function that is left by a jump leaves its caller's return address to the next. When that one
 * can lead back here, the address belongs to a call whose arguments are not those of this time.
 */
struct tails {
	struct gs_module *m;
	Dwarf_Die functions[TAIL_FUNCTIONS_MAX]; /* [0] is asked about */
	size_t n;
};

static bool describes_tail_calls(Dwarf_Die *die)
{
	return gs_die_flag(die, DW_AT_call_all_calls) ||
	       gs_die_flag(die, DW_AT_call_all_tail_calls) ||
	       gs_die_flag(die, DW_AT_GNU_all_call_sites) ||
	       gs_die_flag(die, DW_AT_GNU_all_tail_call_sites);
}

/* False: it may lead back to the first function, or that cannot be excluded. */
static bool add_tail(struct tails *t, uint64_t target)
{
	Dwarf_Die die;
	Dwarf_Addr low, high;

	if (!gs_index_function_at(t->m, target, &die) || !range_with(&die, target, &low, &high))
		return false;
	for (size_t i = 0; i < t->n; i++)
		if (t->functions[i].addr == die.addr)
			return i != 0;
	if (t->n == TAIL_FUNCTIONS_MAX)
		return false;
	t->functions[t->n++] = die;
	return true;
}

static bool check_jump(struct tails *t, Dwarf_Die *die, uint64_t entry, const struct gs_insn *insn)
{
	Dwarf_Addr low, high;
	Dwarf_Die site;

	switch (insn->flow) {
	case GS_FLOW_BAD:
		return false;
	case GS_FLOW_JUMP_INDIRECT: /* of a switch, unless it is said to be a call */
		return describes_tail_calls(die) &&
		       !find_site(die, insn->addr, insn->addr + insn->len, 0, &site);
	case GS_FLOW_JUMP:
	case GS_FLOW_BRANCH:
		if (range_with(die, insn->target, &low, &high))
			return die->addr != t->functions[0].addr || insn->target != entry;
		return add_tail(t, insn->target);
	default:
		return true;
	}
}

static bool never_jumps_back(struct gs_module *m, Dwarf_Die *function, uint64_t entry)
{
	struct tails *t GS_CLEANUP_FREE = gs_calloc(1, sizeof(*t));
	bool good = true;

	t->m = m;
	t->functions[t->n++] = *function;
	for (size_t k = 0; k < t->n && good; k++) {
		Dwarf_Die die = t->functions[k];
		Dwarf_Addr base, low, high;
		ptrdiff_t at = 0;

		while (good && (at = dwarf_ranges(&die, at, &base, &low, &high)) > 0) {
			struct gs_code code = {0};

			good = high - low <= GS_FUNCTION_BYTES_MAX;
			if (good)
				gs_code_decode(m, low, high, &code);
			for (size_t i = 0; i < code.n && good; i++)
				good = check_jump(t, &die, entry, &code.insns[i]);
			gs_code_deinit(&code);
		}
	}
	return good;
}

/* ---- the callers of a function ---- */

static void add_caller(struct gs_module *m, struct gs_callers *all, const struct gs_call *call)
{
	struct caller *k = &all->callers[all->n];
	Dwarf_Die function;

	if (!gs_index_function_at(m, call->addr, &function) ||
	    !find_site(&function, call->addr, call->addr + CALL_LEN, 0, &k->site) ||
	    !is_call_at(m, &function, call->addr, call->target))
		return;
	k->c = gs_context_new(m, call->addr, &function);
	if (k->c)
		all->n++;
}

static const struct gs_callers *callers_of(struct gs_context *c)
{
	struct gs_module *m = c->m;
	uint64_t entry;
	size_t low = 0, high;

	if (c->callers)
		return c->callers;
	c->callers = gs_arena_alloc(&m->arena, sizeof(*c->callers));
	if (!m->decoder.is_open || !gs_die_entry(m, &c->scopes[0], &entry))
		return c->callers;
	need_calls(m);
	high = m->ncalls;
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (m->calls[mid].target < entry)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == m->ncalls || m->calls[low].target != entry ||
	    !never_jumps_back(m, &c->scopes[0], entry))
		return c->callers;
	for (; low < m->ncalls && m->calls[low].target == entry &&
	       c->callers->n < GS_ARRAY_SIZE(c->callers->callers);
	     low++)
		add_caller(m, c->callers, &m->calls[low]);
	return c->callers;
}

/* ---- what a call passes ---- */

static Dwarf_Die origin_of(Dwarf_Die die)
{
	Dwarf_Die next;

	for (unsigned i = 0; i < 8 && gs_die_link(&die, DW_AT_abstract_origin, &next); i++)
		die = next;
	return die;
}

static bool is_passed(Dwarf_Die *parameter, const struct gs_passed *what)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	Dwarf_Die die;

	if (what->parameter)
		return (gs_die_link(parameter, DW_AT_call_parameter, &die) ||
			gs_die_link(parameter, DW_AT_abstract_origin, &die)) &&
		       origin_of(die).addr == origin_of(*what->parameter).addr;
	if (!dwarf_attr(parameter, DW_AT_location, &attr) ||
	    dwarf_getlocation(&attr, &ops, &n) != 0 || n != 1)
		return false;
	if (ops[0].atom == DW_OP_regx)
		return ops[0].number == what->regno;
	return ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31 &&
	       ops[0].atom == DW_OP_reg0 + what->regno;
}

static bool passed_value(struct gs_evaluation *ev, const struct caller *k,
			 const struct gs_passed *what, uint16_t *node)
{
	struct gs_evaluation in = {.c = k->c,
				   .plan = ev->plan,
				   .callee = ev,
				   .nesting = ev->nesting + 1,
				   .frames = ev->frames + 1,
				   .frame_die = &k->c->scopes[0]};
	Dwarf_Die site = k->site, die;
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_child(&site, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);

		if ((tag != DW_TAG_call_site_parameter && tag != DW_TAG_GNU_call_site_parameter) ||
		    !is_passed(&die, what))
			continue;
		if ((!dwarf_attr(&die, DW_AT_call_value, &attr) &&
		     !dwarf_attr(&die, DW_AT_GNU_call_site_value, &attr)) ||
		    dwarf_getlocation(&attr, &ops, &n) != 0 ||
		    !gs_evaluate_ops(&in, &attr, ops, n) || !in.depth)
			return false;
		*node = in.stack[in.depth - 1].node;
		return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

bool gs_caller_value(struct gs_evaluation *ev, const struct gs_passed *what, uint16_t *node)
{
	unsigned word = ev->c->m->info.pointer_size;
	uint16_t returns, value, chain = GS_NODE_NONE;
	struct gs_place_value cfa;
	const struct gs_callers *all;

	if (ev->frames >= GS_ARRAY_SIZE(callers_max))
		return false;
	all = callers_of(ev->c);
	if (!all->n || !gs_frame_cfa(ev, &cfa))
		return false;
	returns = gs_plan_node(ev->plan, GS_OP_ADD, 8, cfa.node,
			       gs_plan_const(ev->plan, -(int64_t)word), 0);
	returns = gs_plan_node(ev->plan, GS_OP_LOAD, word, returns, GS_NODE_NONE, 0);
	for (size_t i = 0; i < all->n && i < callers_max[ev->frames]; i++) {
		const struct caller *k = &all->callers[i];
		uint16_t here;

		if (!passed_value(ev, k, what, &value))
			continue;
		/* Any other return address: not known. */
		if (chain == GS_NODE_NONE)
			chain = gs_plan_node(ev->plan, GS_OP_ABSENT, 8, GS_NODE_NONE, GS_NODE_NONE,
					     GS_STATUS_UNAVAILABLE);
		here = gs_plan_node(ev->plan, GS_OP_EQ, 8, returns,
				    gs_image_address(ev, k->c->pc + CALL_LEN), 0);
		chain = gs_plan_select(ev->plan, here, value, chain);
	}
	*node = chain;
	return chain != GS_NODE_NONE;
}
