/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a function leaves its result: the classification of the System V ABI (AMD64 3.2.3; i386),
 * by type. Beside dwarf_location.c, for $retval at the exits of a function.
 *
 * What the type alone does not tell is absent: other languages' conventions, copies whose result
 * the compiler took away.
 */
#include "record/dwarf_internal.h"

#define RAX 0u
#define RDX 1u
#define DEPTH_MAX 32

enum class { CLASS_NONE, CLASS_INTEGER, CLASS_SSE, CLASS_X87, CLASS_COMPLEX_X87, CLASS_MEMORY };

struct classes {
	struct gs_types *types;
	enum class word[2];
	const char *unknown; /* why it cannot be said */
};

/* ---- AMD64: eightbytes ---- */

static void merge(struct classes *c, uint64_t offset, enum class class)
{
	enum class *w;

	if (offset >= 16) {
		c->word[0] = CLASS_MEMORY;
		return;
	}
	w = &c->word[offset / 8];
	if (*w == class || class == CLASS_NONE)
		return;
	if (*w == CLASS_NONE)
		*w = class;
	else if (*w == CLASS_MEMORY || class == CLASS_MEMORY)
		*w = CLASS_MEMORY;
	else if (*w == CLASS_INTEGER || class == CLASS_INTEGER)
		*w = CLASS_INTEGER;
	else
		*w = CLASS_MEMORY; /* x87 beside anything else */
	if (*w == CLASS_MEMORY)
		c->word[0] = CLASS_MEMORY;
}

static void merge_span(struct classes *c, uint64_t offset, uint64_t size, enum class class)
{
	for (uint64_t at = offset; at < offset + size; at = at / 8 * 8 + 8)
		merge(c, at, class);
}

static void classify(struct classes *c, gs_type_id id, uint64_t offset, unsigned depth);

static void classify_float(struct classes *c, const struct gs_type *t, uint64_t offset)
{
	bool is_complex = t->kind == GS_KIND_COMPLEX;

	if (t->encoding == GS_FLOAT_X87 && is_complex) {
		merge(c, offset, offset ? CLASS_MEMORY : CLASS_COMPLEX_X87);
	} else if (t->encoding == GS_FLOAT_X87) {
		/* Its second eightbyte belongs to it: anything beside it is in memory. */
		merge(c, offset, offset % 16 ? CLASS_MEMORY : CLASS_X87);
		merge(c, offset + 8, offset ? CLASS_MEMORY : CLASS_X87);
	} else {
		merge_span(c, offset, t->byte_size, CLASS_SSE);
	}
}

static uint64_t alignment(struct classes *c, const struct gs_type *t)
{
	if (t->kind == GS_KIND_COMPLEX)
		return t->byte_size / 2;
	return t->byte_size ? t->byte_size : 1;
}

static void classify_members(struct classes *c, const struct gs_type *t, uint64_t offset,
			     unsigned depth)
{
	for (uint32_t i = 0; i < t->nmembers; i++) {
		const struct gs_member *m = &t->members[i];

		if (m->flags & GS_MEMBER_STATIC)
			continue;
		if (m->flags & (GS_MEMBER_VIRTUAL_BASE | GS_MEMBER_ARTIFICIAL))
			c->word[0] = CLASS_MEMORY;
		else if (m->bit_size)
			merge_span(c, offset + m->bit_offset / 8,
				   (m->bit_offset % 8 + m->bit_size + 7) / 8, CLASS_INTEGER);
		else
			classify(c, m->type, offset + m->bit_offset / 8, depth + 1);
	}
}

static void classify_array(struct classes *c, const struct gs_type *t, uint64_t offset,
			   unsigned depth)
{
	if (t->flags & GS_TYPE_VECTOR) {
		merge_span(c, offset, t->count * t->stride, CLASS_SSE);
		return;
	}
	for (uint64_t i = 0; i < t->count && i < 17; i++)
		classify(c, t->target, offset + i * t->stride, depth + 1);
}

static void classify(struct classes *c, gs_type_id id, uint64_t offset, unsigned depth)
{
	const struct gs_type *t = gs_type_get(c->types, gs_type_strip(c->types, id));

	if (depth > DEPTH_MAX) {
		c->unknown = "its type is nested too deeply";
		return;
	}
	switch (t->kind) {
	case GS_KIND_STRUCT:
	case GS_KIND_UNION:
	case GS_KIND_CLASS:
		if (t->flags & GS_TYPE_INCOMPLETE)
			c->unknown = "a part of its type is only declared here";
		classify_members(c, t, offset, depth);
		return;
	case GS_KIND_ARRAY:
		classify_array(c, t, offset, depth);
		return;
	case GS_KIND_VOID:
		return;
	default:
		break;
	}
	/* Packed: AMD64 3.2.3, "unaligned fields". */
	if (offset % (alignment(c, t) > 16 ? 16 : alignment(c, t)))
		merge(c, 0, CLASS_MEMORY);
	if (t->kind == GS_KIND_FLOAT || t->kind == GS_KIND_COMPLEX)
		classify_float(c, t, offset);
	else
		merge_span(c, offset, t->byte_size ? t->byte_size : 8, CLASS_INTEGER);
}

/* ---- C++: what is passed by invisible reference ---- */

static bool is_user_provided(Dwarf_Die *die)
{
	return !gs_die_flag(die, DW_AT_artificial) && !dwarf_hasattr(die, DW_AT_defaulted);
}

/* A copy or move constructor: its parameter behind `this' is a reference to the class. */
static bool takes_itself(Dwarf_Die *method, Dwarf_Die *class)
{
	Dwarf_Die child, type;
	unsigned n = 0;

	if (dwarf_child(method, &child) != 0)
		return false;
	do {
		if (dwarf_tag(&child) != DW_TAG_formal_parameter || n++ != 1)
			continue;
		if (!gs_die_link(&child, DW_AT_type, &type) ||
		    (dwarf_tag(&type) != DW_TAG_reference_type &&
		     dwarf_tag(&type) != DW_TAG_rvalue_reference_type))
			return false;
		while (gs_die_link(&type, DW_AT_type, &type))
			if (type.addr == class->addr)
				return true;
		return false;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* By what is declared, for compilers that do not say it with DW_AT_calling_convention. */
static bool is_nontrivial(Dwarf_Die *class, unsigned depth)
{
	const char *name = dwarf_diename(class);
	Dwarf_Attribute attr;
	Dwarf_Word convention;
	Dwarf_Die child, type;

	if (dwarf_attr(class, DW_AT_calling_convention, &attr) &&
	    dwarf_formudata(&attr, &convention) == 0)
		return convention == DW_CC_pass_by_reference;
	if (depth > DEPTH_MAX || dwarf_child(class, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);
		const char *method = dwarf_diename(&child);

		if (tag == DW_TAG_subprogram) {
			if (dwarf_hasattr(&child, DW_AT_virtuality))
				return true;
			if (method && is_user_provided(&child) &&
			    (*method == '~' ||
			     (name && strcmp(method, name) == 0 && takes_itself(&child, class))))
				return true;
		} else if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
			   !dwarf_hasattr(&child, DW_AT_external)) {
			if (dwarf_hasattr(&child, DW_AT_virtuality))
				return true;
			if (gs_die_link(&child, DW_AT_type, &type) &&
			    (dwarf_tag(&type) == DW_TAG_structure_type ||
			     dwarf_tag(&type) == DW_TAG_class_type) &&
			    is_nontrivial(&type, depth + 1))
				return true;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* ---- the function ---- */

static bool is_aggregate(unsigned kind)
{
	return kind == GS_KIND_STRUCT || kind == GS_KIND_UNION || kind == GS_KIND_CLASS;
}

static bool is_of_c_family(struct gs_context *c)
{
	switch (dwarf_srclang(&c->cu)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_Fortran77:
	case DW_LANG_Fortran90:
	case DW_LANG_Fortran95:
	case DW_LANG_Fortran03:
	case DW_LANG_Fortran08:
	case 0x2b: /* C++17 and later, C17 */
	case 0x2c:
		return true;
	default:
		return false;
	}
}

/* The type's own entry, typedefs and qualifiers taken off. */
static bool return_type_die(struct gs_context *c, Dwarf_Die *out)
{
	Dwarf_Attribute attr;

	if (!dwarf_attr_integrate(&c->scopes[0], DW_AT_type, &attr) ||
	    !dwarf_formref_die(&attr, out))
		return false;
	for (unsigned i = 0; i < DEPTH_MAX; i++) {
		int tag = dwarf_tag(out);

		if (tag != DW_TAG_typedef && tag != DW_TAG_const_type &&
		    tag != DW_TAG_volatile_type && tag != DW_TAG_atomic_type)
			return true;
		if (!gs_die_link(out, DW_AT_type, out))
			return false;
	}
	return false;
}

/* The function's own convention, and what compilers do to functions that are local to a file. */
static const char *changed(struct gs_context *c)
{
	struct gs_module *m = c->m;
	const char *symbol;
	Dwarf_Attribute attr;
	Dwarf_Word convention;
	Dwarf_Addr entry;

	if (dwarf_attr_integrate(&c->scopes[0], DW_AT_calling_convention, &attr) &&
	    dwarf_formudata(&attr, &convention) == 0 && convention != DW_CC_normal &&
	    convention != DW_CC_program)
		return "the function has a calling convention of its own";
	symbol =
		gs_die_entry(m, &c->scopes[0], &entry) ? gs_module_symbol_at(m, entry, NULL) : NULL;
	if (symbol && strstr(symbol, ".isra"))
		return "the compiler changed what this copy (.isra) returns";
	if (symbol && strstr(symbol, ".part"))
		return "this is a part of the function (.part)";
	return gs_result_is_dropped(c);
}

/* ---- the location ---- */

static void absent(struct gs_location *out, const char *reason)
{
	*out = (struct gs_location){
		.kind = GS_LOC_ABSENT, .status = GS_STATUS_UNAVAILABLE, .reason = reason};
}

static uint16_t reg(struct gs_plan *plan, unsigned number)
{
	return gs_plan_node(plan, GS_OP_REG, 8, GS_NODE_NONE, GS_NODE_NONE, number);
}

static void in_memory(const struct gs_module *m, struct gs_plan *plan, struct gs_location *out)
{
	*out = (struct gs_location){.kind = GS_LOC_MEMORY, .node = reg(plan, RAX)};
	out->where = m->info.machine == EM_386 ? "memory at eax" : "memory at rax";
	if (m->info.machine == EM_386)
		out->node = gs_plan_node(plan, GS_OP_ZEXT, 4, out->node, GS_NODE_NONE, 0);
}

/* SIZE bytes in WORD-sized parts: registers, or what has no value. */
static void in_parts(struct gs_context *c, struct gs_plan *plan, const enum class *class,
		     uint64_t size, struct gs_location *out)
{
	static const char *const integer[] = {"rax", "rdx"}, *const vector[] = {"in xmm0",
										"in xmm1"};
	static const uint8_t numbers[] = {RAX, RDX};
	unsigned word = c->m->info.pointer_size, n = (unsigned)((size + word - 1) / word);
	unsigned nint = 0, nsse = 0;
	struct gs_location_piece *p = gs_arena_alloc(&c->m->arena, 2 * sizeof(*p));

	for (unsigned i = 0; i < n && i < 2; i++) {
		uint64_t left = size - i * word;

		p[i] = (struct gs_location_piece){.offset = i * word,
						  .size = (uint32_t)(left < word ? left : word),
						  .kind = GS_LOC_ABSENT,
						  .status = GS_STATUS_UNAVAILABLE,
						  .reason = "it has no value (padding)"};
		if (class[i] == CLASS_INTEGER) {
			p[i].kind = GS_LOC_VALUE;
			p[i].node = reg(plan, numbers[nint++]);
		} else if (class[i] == CLASS_SSE) {
			p[i].reason = vector[nsse++];
		}
	}
	*out = (struct gs_location){.kind = GS_LOC_PIECES, .pieces = p, .npieces = n};
	out->where = nint == 2 ? "rax, rdx" : nint ? integer[0] : vector[0];
	if (n == 1 && p[0].kind == GS_LOC_VALUE) {
		*out = (struct gs_location){
			.kind = GS_LOC_VALUE, .is_register = true, .node = p[0].node};
		out->where = word == 4 ? "eax" : "rax";
	} else if (nint == 0) {
		absent(out, p[0].reason);
	}
}

static void locate_386(struct gs_context *c, const struct gs_type *t, struct gs_plan *plan,
		       struct gs_location *out)
{
	static const enum class integer[] = {CLASS_INTEGER, CLASS_INTEGER};

	if (is_aggregate(t->kind) || t->kind == GS_KIND_ARRAY)
		t->kind == GS_KIND_ARRAY ? absent(out, "a vector") : in_memory(c->m, plan, out);
	else if (t->kind == GS_KIND_FLOAT)
		absent(out, t->byte_size == 2 ? "in xmm0" : "in st0");
	else if (t->kind == GS_KIND_COMPLEX && t->byte_size > 8)
		in_memory(c->m, plan, out);
	else if (t->byte_size <= 8)
		in_parts(c, plan, integer, t->byte_size, out);
	else
		in_memory(c->m, plan, out);
}

static void locate_64(struct gs_context *c, gs_type_id id, const struct gs_type *t, uint64_t size,
		      struct gs_plan *plan, struct gs_location *out)
{
	struct classes k = {.types = c->m->types};

	if (t->kind == GS_KIND_ARRAY && size > 16) {
		absent(out, "in a vector register");
		return;
	}
	if (size > 16 && t->kind != GS_KIND_COMPLEX) {
		in_memory(c->m, plan, out);
		return;
	}
	classify(&k, id, 0, 0);
	if (k.unknown)
		absent(out, k.unknown);
	else if (k.word[0] == CLASS_COMPLEX_X87)
		absent(out, "in st0 and st1");
	else if (k.word[0] == CLASS_MEMORY || k.word[1] == CLASS_MEMORY)
		in_memory(c->m, plan, out);
	else if (k.word[0] == CLASS_X87)
		absent(out, "in st0");
	else if (t->kind == GS_KIND_ARRAY || (t->kind == GS_KIND_FLOAT && size == 16))
		absent(out, "in xmm0");
	else if (k.word[0] == CLASS_NONE && k.word[1] == CLASS_NONE)
		absent(out, "it has no members, and no value");
	else
		in_parts(c, plan, k.word, size, out);
}

void gs_context_return_value(struct gs_context *c, struct gs_plan *plan, struct gs_location *out)
{
	gs_type_id id = gs_context_return_type(c);
	const struct gs_type *t = gs_type_get(c->m->types, gs_type_strip(c->m->types, id));
	uint64_t size = gs_type_size(c->m->types, id);
	const char *why = changed(c);
	Dwarf_Die die;

	if (t->kind == GS_KIND_REFERENCE || t->kind == GS_KIND_RVALUE_REFERENCE)
		size = c->m->info.pointer_size;
	if (why)
		absent(out, why);
	else if (t->kind == GS_KIND_VOID)
		absent(out, "the function returns nothing");
	else if ((t->flags & GS_TYPE_INCOMPLETE) || !size)
		absent(out, "its type is only declared here");
	else if (is_aggregate(t->kind) && !is_of_c_family(c))
		absent(out, "how this language returns it is not known");
	else if (is_aggregate(t->kind) && return_type_die(c, &die) && is_nontrivial(&die, 0))
		in_memory(c->m, plan, out);
	else if (c->m->info.machine == EM_X86_64)
		locate_64(c, id, t, size, plan, out);
	else if (c->m->info.machine == EM_386)
		locate_386(c, t, plan, out);
	else
		absent(out, "recording on this machine is not supported");
}
