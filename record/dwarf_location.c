/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a variable is at a pc: memory, value, pieces, known bytes, or nowhere and why.
 * The answer of the resolver's DWARF side to the front end, as nodes of its plan.
 */
#include "record/dwarf_find.h"

#define PIECES_MAX 256
#define FRAME_OBJECT_MAX 256

struct query {
	struct gs_context *c;
	struct gs_module *m;
	struct gs_plan *plan;
	struct gs_known_variable *known;
	uint64_t size; /* of the object; 0: unknown */
	bool is_param; /* lives in one frame slot, which the prologue fills */
	Dwarf_Attribute attr;
	struct gs_location_piece *pieces;
	size_t npieces;
};

static void set_absent(struct gs_location *out, uint8_t status, const char *reason)
{
	*out = (struct gs_location){.kind = GS_LOC_ABSENT,
				    .status = status,
				    .reason = reason ? reason : "",
				    .where = ""};
}

static struct gs_evaluation evaluation(struct query *q)
{
	return (struct gs_evaluation){
		.c = q->c, .plan = q->plan, .is_param = q->is_param, .frame_die = &q->c->scopes[0]};
}

/* ---- words for --dry-run ---- */

static const char *where_text(struct query *q, const Dwarf_Op *ops, size_t n)
{
	struct gs_arena *a = &q->m->arena;
	unsigned atom = n ? ops[0].atom : 0;

	if (n == 1 && atom >= DW_OP_reg0 && atom <= DW_OP_reg31)
		return gs_arena_strdup(a, gs_register_name(q->m, atom - DW_OP_reg0));
	if (n == 1 && atom == DW_OP_regx)
		return gs_arena_strdup(a, gs_register_name(q->m, (unsigned)ops[0].number));
	if (n == 1 && atom == DW_OP_addr)
		return gs_arena_printf(a, q->m->info.is_pie_or_library ? "0x%llx + bias" : "0x%llx",
				       (unsigned long long)ops[0].number);
	if (n == 1 && atom == DW_OP_fbreg)
		return gs_arena_printf(a, "[frame%+lld]", (long long)ops[0].number);
	if (n == 1 && atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return gs_arena_printf(a, "[%s%+lld]", gs_register_name(q->m, atom - DW_OP_breg0),
				       (long long)ops[0].number);
	if (n && ops[n - 1].atom == DW_OP_stack_value)
		return "computed";
	return "[computed]";
}

/* ---- parameters in frame slots before the prologue has filled them ---- */

static struct gs_location_piece *add_piece(struct query *q, uint32_t offset, uint32_t size)
{
	struct gs_location_piece *p = q->npieces < PIECES_MAX ? &q->pieces[q->npieces++] : NULL;

	if (p)
		*p = (struct gs_location_piece){
			.offset = offset, .size = size, .node = GS_NODE_NONE};
	return p;
}

static bool add_absent_piece(struct query *q, uint32_t offset, uint32_t size, uint8_t status,
			     const char *reason)
{
	struct gs_location_piece *p = add_piece(q, offset, size);

	if (!p)
		return false;
	p->kind = GS_LOC_ABSENT;
	p->status = status;
	p->reason = reason ? reason : "";
	return true;
}

static bool slot_part(struct query *q, struct gs_evaluation *ev, const struct gs_place_value *addr,
		      uint32_t offset, uint32_t size)
{
	struct gs_location_piece *p;
	uint16_t node = GS_NODE_NONE;
	enum gs_spill_kind kind = gs_prologue_read(ev, addr->cfa_offset + offset, size, &node);

	if (kind == GS_SPILL_PARTS && size > 1)
		return slot_part(q, ev, addr, offset, size / 2) &&
		       slot_part(q, ev, addr, offset + size / 2, size - size / 2);
	if (kind == GS_SPILL_ABSENT || kind == GS_SPILL_PARTS)
		return add_absent_piece(q, offset, size, ev->status, ev->reason);
	p = add_piece(q, offset, size);
	if (!p)
		return false;
	p->kind = kind == GS_SPILL_MEMORY ? GS_LOC_MEMORY : GS_LOC_VALUE;
	p->node = kind == GS_SPILL_VALUE ? node
					 : gs_plan_node(q->plan, GS_OP_ADD, 8, addr->node,
							gs_plan_const(q->plan, offset), 0);
	return true;
}

static bool all_of_kind(const struct query *q, uint8_t kind)
{
	for (size_t i = 0; i < q->npieces; i++)
		if (q->pieces[i].kind != kind)
			return false;
	return q->npieces != 0;
}

static void slot_location(struct query *q, struct gs_evaluation *ev,
			  const struct gs_place_value *addr, struct gs_location *out)
{
	for (uint32_t at = 0; at < q->size; at += 8) {
		uint32_t n = q->size - at < 8 ? (uint32_t)(q->size - at) : 8;

		if (!slot_part(q, ev, addr, at, n)) {
			set_absent(out, GS_STATUS_UNAVAILABLE, "in too many parts");
			return;
		}
	}
	if (all_of_kind(q, GS_LOC_MEMORY)) {
		*out = (struct gs_location){.kind = GS_LOC_MEMORY, .node = addr->node};
	} else if (all_of_kind(q, GS_LOC_ABSENT)) {
		set_absent(out, q->pieces[0].status, q->pieces[0].reason);
	} else if (q->npieces == 1) {
		*out = (struct gs_location){.kind = GS_LOC_VALUE,
					    .is_register = true,
					    .node = q->pieces[0].node,
					    .where = ev->where};
	} else {
		*out = (struct gs_location){.kind = GS_LOC_PIECES,
					    .pieces = q->pieces,
					    .npieces = q->npieces,
					    .where = "registers, before the prologue stores them"};
	}
}

static bool is_unfilled_slot(const struct query *q, const struct gs_place_value *addr)
{
	return q->is_param && addr->is_cfa && q->size &&
	       addr->cfa_offset < -(int64_t)q->m->info.pointer_size;
}

/* ---- one simple location ---- */

static void from_evaluation(struct gs_evaluation *ev, struct gs_location *out)
{
	set_absent(out, ev->status ? ev->status : GS_STATUS_UNAVAILABLE, ev->reason);
}

static void register_location(struct query *q, unsigned regno, uint64_t size,
			      struct gs_location *out)
{
	struct gs_evaluation ev = evaluation(q);
	uint16_t node;

	if (!gs_register_node(&ev, regno, &node)) {
		from_evaluation(&ev, out);
	} else if (size > q->m->info.pointer_size) {
		set_absent(out, GS_STATUS_UNAVAILABLE,
			   gs_arena_printf(&q->m->arena, "in %s and what follows it",
					   gs_register_name(q->m, regno)));
	} else {
		*out = (struct gs_location){
			.kind = GS_LOC_VALUE, .is_register = true, .node = node};
	}
}

static void implicit_location(struct query *q, const Dwarf_Op *op, struct gs_location *out)
{
	Dwarf_Block block;

	if (dwarf_getlocation_implicit_value(&q->attr, op, &block) != 0) {
		set_absent(out, GS_STATUS_UNAVAILABLE, "DW_OP_implicit_value");
		return;
	}
	*out = (struct gs_location){
		.kind = GS_LOC_BYTES, .bytes = block.data, .nbytes = (uint32_t)block.length};
}

/* The compiler dropped the pointer, and tells what it would lead to. */
static void implicit_pointer(struct query *q, const Dwarf_Op *op, struct gs_location *out)
{
	struct gs_variable *var;
	Dwarf_Die die;
	struct gs_error *err;

	set_absent(out, GS_STATUS_UNAVAILABLE, "a pointer that was optimised out");
	if (dwarf_getlocation_die(&q->attr, op, &die) != 0)
		return;
	var = gs_arena_alloc(&q->m->arena, sizeof(*var));
	err = gs_variable_from_die(q->m, &die, &q->known->frame,
				   dwarf_tag(&die) == DW_TAG_formal_parameter ? GS_VAR_PARAM : 0,
				   var);
	if (err) {
		gs_error_free(err);
		return;
	}
	out->pointee = var;
	out->pointee_offset = (int64_t)op->number2;
	out->reason =
		gs_arena_printf(&q->m->arena, "a pointer that was optimised out, to %s%s%s",
				*var->name ? "`" : "a constant", var->name, *var->name ? "'" : "");
}

static void computed_location(struct query *q, const Dwarf_Op *ops, size_t n, uint64_t size,
			      struct gs_location *out)
{
	struct gs_evaluation ev = evaluation(q);
	bool is_value = ops[n - 1].atom == DW_OP_stack_value;
	const struct gs_place_value *top;

	if (!gs_evaluate_ops(&ev, &q->attr, ops, is_value ? n - 1 : n)) {
		from_evaluation(&ev, out);
		return;
	}
	if (ev.depth == 0) {
		set_absent(out, GS_STATUS_UNAVAILABLE, "an empty location expression");
		return;
	}
	top = &ev.stack[ev.depth - 1];
	if (is_value && size > (top->size ? top->size : q->m->info.pointer_size))
		set_absent(out, GS_STATUS_UNAVAILABLE, "a computed value smaller than its type");
	else if (is_value)
		*out = (struct gs_location){.kind = GS_LOC_VALUE, .node = top->node};
	else if (is_unfilled_slot(q, top) && q->size <= FRAME_OBJECT_MAX && q->npieces == 0)
		slot_location(q, &ev, top, out);
	else
		*out = (struct gs_location){.kind = GS_LOC_MEMORY, .node = top->node};
}

/* SIZE: of what is located, 0 when unknown. */
static void simple_location(struct query *q, const Dwarf_Op *ops, size_t n, uint64_t size,
			    struct gs_location *out)
{
	unsigned atom = n ? ops[0].atom : 0;

	if (n == 0)
		set_absent(out, GS_STATUS_OPTIMIZED_OUT, "");
	else if (n == 1 && atom >= DW_OP_reg0 && atom <= DW_OP_reg31)
		register_location(q, atom - DW_OP_reg0, size, out);
	else if (n == 1 && atom == DW_OP_regx)
		register_location(q, (unsigned)ops[0].number, size, out);
	else if (n == 1 && (atom == DW_OP_implicit_pointer || atom == DW_OP_GNU_implicit_pointer))
		implicit_pointer(q, &ops[0], out);
	else if (atom == DW_OP_implicit_value)
		implicit_location(q, &ops[0], out);
	else
		computed_location(q, ops, n, size, out);
}

/* ---- pieces ---- */

static bool is_piece(const Dwarf_Op *op)
{
	return op->atom == DW_OP_piece || op->atom == DW_OP_bit_piece;
}

/* Size in bytes; false for parts that do not lie on bytes. */
static bool piece_size(const Dwarf_Op *op, uint64_t *size)
{
	if (op->atom == DW_OP_piece) {
		*size = op->number;
		return true;
	}
	*size = op->number / 8;
	return op->number % 8 == 0 && op->number2 == 0;
}

static bool add_located_piece(struct query *q, const struct gs_location *l, uint32_t offset,
			      uint32_t size)
{
	struct gs_location_piece *p;

	if (l->kind == GS_LOC_ABSENT) {
		if (!add_absent_piece(q, offset, size, l->status, l->reason))
			return false;
		q->pieces[q->npieces - 1].pointee = l->pointee;
		q->pieces[q->npieces - 1].pointee_offset = l->pointee_offset;
		return true;
	}
	if (l->kind == GS_LOC_VALUE && size > 8)
		return add_absent_piece(q, offset, size, GS_STATUS_UNAVAILABLE,
					"a part larger than a register");
	if (l->kind == GS_LOC_BYTES && l->nbytes < size)
		return add_absent_piece(q, offset, size, GS_STATUS_UNAVAILABLE,
					"a constant smaller than its part");
	p = add_piece(q, offset, size);
	if (!p)
		return false;
	p->kind = (uint8_t)l->kind;
	p->node = l->node;
	p->bytes = l->bytes;
	return true;
}

static bool has_pointee(const struct query *q)
{
	for (size_t i = 0; i < q->npieces; i++)
		if (q->pieces[i].pointee)
			return true;
	return false;
}

static void piece_location(struct query *q, const Dwarf_Op *ops, size_t n, struct gs_location *out)
{
	uint64_t offset = 0, size;
	size_t first = 0;
	bool good = true;
	bool is_param = q->is_param;

	q->is_param = false; /* what is in pieces has no slot that the prologue fills */
	for (size_t i = 0; i < n && good; i++) {
		struct gs_location part = {0};

		if (!is_piece(&ops[i]))
			continue;
		if (!piece_size(&ops[i], &size) || size == 0 || size > UINT32_MAX ||
		    offset > UINT32_MAX) {
			set_absent(out, GS_STATUS_UNAVAILABLE, "DW_OP_bit_piece");
			return;
		}
		/* What lies beyond the object is padding of the last register. */
		if (q->size && offset + size > q->size)
			size = q->size > offset ? q->size - offset : 0;
		simple_location(q, ops + first, i - first, 0, &part);
		if (size)
			good = add_located_piece(q, &part, (uint32_t)offset, (uint32_t)size);
		offset += size;
		first = i + 1;
	}
	if (good && q->size > offset)
		good = add_absent_piece(q, (uint32_t)offset, (uint32_t)(q->size - offset),
					GS_STATUS_OPTIMIZED_OUT, "");
	q->is_param = is_param;
	if (!good)
		set_absent(out, GS_STATUS_UNAVAILABLE, "in too many parts");
	else if (all_of_kind(q, GS_LOC_ABSENT) && !has_pointee(q))
		set_absent(out, q->pieces[0].status, q->pieces[0].reason);
	else
		*out = (struct gs_location){
			.kind = GS_LOC_PIECES, .pieces = q->pieces, .npieces = q->npieces};
}

static void located(struct query *q, const Dwarf_Op *ops, size_t n, struct gs_location *out)
{
	q->pieces = gs_arena_alloc(&q->m->arena, PIECES_MAX * sizeof(*q->pieces));
	for (size_t i = 0; i < n; i++)
		if (is_piece(&ops[i])) {
			piece_location(q, ops, n, out);
			out->where = "pieces";
			return;
		}
	simple_location(q, ops, n, q->size, out);
	if (out->kind == GS_LOC_BYTES && q->size && out->nbytes < q->size)
		set_absent(out, GS_STATUS_UNAVAILABLE, "a constant smaller than its type");
	if (!out->where || !*out->where)
		out->where = where_text(q, ops, n);
}

/* ---- constants ---- */

static void constant_location(struct query *q, Dwarf_Attribute *attr, struct gs_location *out)
{
	Dwarf_Block block;
	Dwarf_Word word;
	Dwarf_Sword sword;
	uint8_t *bytes;
	const char *text;
	uint64_t size = q->size ? q->size : 8;

	out->kind = GS_LOC_BYTES;
	out->where = "constant";
	out->nbytes = (uint32_t)size;
	if ((text = dwarf_formstring(attr))) {
		out->bytes = (const uint8_t *)text;
		out->nbytes = (uint32_t)strlen(text) + 1;
		return;
	}
	if (dwarf_formblock(attr, &block) == 0) {
		out->bytes = block.data;
		out->nbytes = (uint32_t)block.length;
		if (block.length < size)
			set_absent(out, GS_STATUS_UNAVAILABLE, "a constant smaller than its type");
		return;
	}
	if (dwarf_whatform(attr) == DW_FORM_sdata ||
	    dwarf_whatform(attr) == DW_FORM_implicit_const) {
		if (dwarf_formsdata(attr, &sword) != 0) {
			set_absent(out, GS_STATUS_UNAVAILABLE, "a constant of an unknown form");
			return;
		}
		word = (Dwarf_Word)sword;
	} else if (dwarf_formudata(attr, &word) != 0) {
		set_absent(out, GS_STATUS_UNAVAILABLE, "a constant of an unknown form");
		return;
	}
	if (size > 16) {
		set_absent(out, GS_STATUS_UNAVAILABLE, "a constant smaller than its type");
		return;
	}
	bytes = gs_arena_alloc(&q->m->arena, 16);
	for (unsigned i = 0; i < size; i++) {
		unsigned at = q->m->info.big_endian ? (unsigned)size - 1 - i : i;

		bytes[at] = i < 8 ? (uint8_t)(word >> (8 * i))
			    : (Dwarf_Sword)word < 0 && dwarf_whatform(attr) == DW_FORM_sdata ? 0xff
											     : 0;
	}
	out->bytes = bytes;
}

static void enumerator_location(struct query *q, const struct gs_variable *var,
				struct gs_location *out)
{
	uint8_t *bytes = gs_arena_alloc(&q->m->arena, 8);

	for (unsigned i = 0; i < 8; i++) {
		uint64_t n = q->size < 8 && q->size ? q->size : 8;

		if (i < n)
			bytes[q->m->info.big_endian ? n - 1 - i : i] =
				(uint8_t)((uint64_t)var->constant >> (8 * i));
	}
	*out = (struct gs_location){.kind = GS_LOC_BYTES,
				    .bytes = bytes,
				    .nbytes = (uint32_t)(q->size && q->size < 8 ? q->size : 8),
				    .where = "constant"};
}

/* ---- fixed addresses ---- */

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	return name ? name : dwarf_diename(die);
}

static uint16_t image_address(struct query *q, uint64_t addr)
{
	uint16_t node = gs_plan_const(q->plan, (int64_t)addr);

	if (!q->m->info.is_pie_or_library)
		return node;
	return gs_plan_node(q->plan, GS_OP_ADD, 8,
			    gs_plan_node(q->plan, GS_OP_BIAS, 8, GS_NODE_NONE, GS_NODE_NONE, 0),
			    node, 0);
}

/* The object NAME by what the dynamic linker does with it. False: it is the module's own at ADDR.
 */
static bool dynamic_location(struct query *q, const char *name, bool is_defined, uint64_t addr,
			     struct gs_location *out)
{
	struct gs_arena *a = &q->m->arena;

	switch (gs_elf_preemption(q->m, name, is_defined, &addr)) {
	case GS_PREEMPT_OWN:
		if (is_defined)
			return false;
		*out = (struct gs_location){
			.kind = GS_LOC_MEMORY,
			.node = image_address(q, addr),
			.where = gs_arena_printf(a, "0x%llx by symbol", (unsigned long long)addr)};
		return true;
	case GS_PREEMPT_SLOT:
		*out = (struct gs_location){
			.kind = GS_LOC_MEMORY,
			.node = gs_plan_node(q->plan, GS_OP_LOAD, q->m->info.pointer_size,
					     image_address(q, addr), GS_NODE_NONE, 0),
			.where = gs_arena_printf(a, "[0x%llx + bias] (GOT)",
						 (unsigned long long)addr)};
		return true;
	default:
		set_absent(out, GS_STATUS_UNAVAILABLE,
			   is_defined ? "preemptible: another module may define it"
				      : "defined in another module");
		return true;
	}
}

static bool is_external(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	bool flag = false;

	return dwarf_attr_integrate(die, DW_AT_external, &attr) &&
	       dwarf_formflag(&attr, &flag) == 0 && flag;
}

static bool fixed_address(struct query *q, uint64_t *addr)
{
	Dwarf_Op *ops;
	size_t n;
	Dwarf_Attribute value;

	if (dwarf_getlocation(&q->attr, &ops, &n) != 0 || n != 1)
		return false;
	if (ops[0].atom == DW_OP_addr) {
		*addr = ops[0].number;
		return true;
	}
	return (ops[0].atom == DW_OP_addrx || ops[0].atom == DW_OP_GNU_addr_index) &&
	       dwarf_getlocation_attr(&q->attr, &ops[0], &value) == 0 &&
	       dwarf_formaddr(&value, addr) == 0;
}

static void function_location(struct query *q, Dwarf_Die *die, struct gs_location *out)
{
	Dwarf_Addr entry;
	Dwarf_Die copy;
	size_t n;
	const struct gs_instance *i = gs_index_instances(q->m, gs_ref_of(q->m, die), &n);

	if (!gs_die_entry(q->m, die, &entry)) {
		for (; n; n--, i++)
			if (i->die == i->outer && gs_ref_die(q->m, i->die, &copy) &&
			    gs_die_entry(q->m, &copy, &entry))
				break;
		if (!n) {
			set_absent(out, GS_STATUS_OPTIMIZED_OUT, "the function was inlined");
			return;
		}
	}
	*out = (struct gs_location){
		.kind = GS_LOC_MEMORY,
		.node = image_address(q, entry),
		.where = gs_arena_printf(&q->m->arena, "0x%llx", (unsigned long long)entry)};
}

/* ---- the question ---- */

static bool is_location_list(Dwarf_Attribute *attr)
{
	switch (dwarf_whatform(attr)) {
	case DW_FORM_exprloc:
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
		return false;
	default:
		return true;
	}
}

static bool is_thread_local(Dwarf_Attribute *attr)
{
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_getlocation(attr, &ops, &n) != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (ops[i].atom == DW_OP_form_tls_address ||
		    ops[i].atom == DW_OP_GNU_push_tls_address)
			return true;
	return false;
}

static bool needs_frame(Dwarf_Attribute *attr)
{
	Dwarf_Op *ops;
	size_t n;

	return is_location_list(attr) || dwarf_getlocation(attr, &ops, &n) != 0 || n == 0 ||
	       (ops[0].atom != DW_OP_addr && ops[0].atom != DW_OP_addrx &&
		ops[0].atom != DW_OP_GNU_addr_index);
}

static bool is_register_relative(const Dwarf_Op *ops, size_t n, unsigned *regno)
{
	if (!n)
		return false;
	*regno = ops[0].atom == DW_OP_bregx ? (unsigned)ops[0].number
					    : ops[0].atom - (unsigned)DW_OP_breg0;
	return ops[0].atom == DW_OP_bregx ||
	       (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31);
}

/*
 * Link-time optimisation leaves a variable's entry without location in the unit of its source, and
 * puts the location in a unit of its own making, in a copy that refers to the entry.
 */
static bool optimised_copy(struct query *q, Dwarf_Die *die, Dwarf_Die *copy)
{
	Dwarf_Die original = *die, unit, link;
	Dwarf_CU *cu = NULL;

	if (gs_die_flag(die, DW_AT_declaration) && !gs_definition_of(q->m, die, &original))
		return false;
	while (q->m->dw && dwarf_get_units(q->m->dw, cu, &cu, NULL, NULL, &unit, NULL) == 0) {
		const char *name = dwarf_diename(&unit);

		if (!name || strcmp(name, "<artificial>") != 0 || dwarf_child(&unit, copy) != 0)
			continue;
		do
			if (dwarf_tag(copy) == DW_TAG_variable &&
			    gs_die_link(copy, DW_AT_abstract_origin, &link) &&
			    link.addr == original.addr && dwarf_hasattr(copy, DW_AT_location))
				return true;
		while (dwarf_siblingof(copy, copy) == 0);
	}
	return false;
}

static void find_location(struct query *q, const struct gs_variable *var, struct gs_location *out)
{
	Dwarf_Die *die = &q->known->die, copy;
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	uint64_t addr;
	unsigned regno;
	int got;

	if (var->flags & GS_VAR_FUNCTION) {
		function_location(q, die, out);
	} else if (dwarf_attr_integrate(die, DW_AT_const_value, &attr)) {
		constant_location(q, &attr, out);
	} else if (!dwarf_attr_integrate(die, DW_AT_location, &q->attr) &&
		   !(is_external(die) && optimised_copy(q, die, &copy) &&
		     dwarf_attr(&copy, DW_AT_location, &q->attr))) {
		if (is_external(die) && linkage_name(die))
			dynamic_location(q, linkage_name(die), false, 0, out);
		else
			set_absent(out, GS_STATUS_OPTIMIZED_OUT, "");
	} else {
		if (is_external(die) && fixed_address(q, &addr) && linkage_name(die) &&
		    dynamic_location(q, linkage_name(die), true, addr, out))
			return;
		q->is_param = q->known->is_param && !is_location_list(&q->attr) &&
			      q->known->frame.addr == q->c->scopes[0].addr;
		got = dwarf_getlocation_addr(&q->attr, q->c->pc, &ops, &n, 1);
		if (got == 0)
			set_absent(out, GS_STATUS_OPTIMIZED_OUT, "");
		else if (got < 0)
			set_absent(out, GS_STATUS_UNAVAILABLE,
				   gs_arena_printf(&q->m->arena, "damaged DWARF: %s",
						   dwarf_errmsg(-1)));
		else if (!is_location_list(&q->attr) && is_register_relative(ops, n, &regno) &&
			 !gs_frame_is_set_up(q->c, regno))
			set_absent(out, GS_STATUS_UNAVAILABLE, "not yet in its slot in the frame");
		else
			located(q, ops, n, out);
	}
}

/* A context without function: a variable with a fixed address can be located all the same. */
struct gs_error *gs_context_location(struct gs_context *c, const struct gs_variable *var,
				     struct gs_plan *plan, struct gs_location *out)
{
	struct gs_module *m = c->m;
	struct query q = {.c = c, .m = m, .plan = plan};
	struct gs_known_variable known; /* a copy: the table grows when others are met */

	*out = (struct gs_location){.kind = GS_LOC_ABSENT, .reason = "", .where = ""};
	q.size = gs_type_size(m->types, var->type);
	if (q.size > UINT32_MAX)
		q.size = 0;
	if (m->info.machine != EM_X86_64 && m->info.machine != EM_386) {
		set_absent(out, GS_STATUS_UNAVAILABLE,
			   "recording is supported on x86-64 and i386 only");
		return NULL;
	}
	if (var->handle == 0 || var->handle > m->nvariables) {
		if (var->flags & GS_VAR_CONSTANT)
			enumerator_location(&q, var, out);
		else
			return gs_error_new(GS_ERR_INTERNAL, "variable %s has no entry", var->name);
		return NULL;
	}
	known = m->variables[var->handle - 1];
	q.known = &known;
	find_location(&q, var, out);
	if (out->node == GS_NODE_NONE && (out->kind == GS_LOC_MEMORY || out->kind == GS_LOC_VALUE))
		set_absent(out, GS_STATUS_UNAVAILABLE, "the capture plan is full");
	if (!out->reason)
		out->reason = "";
	if (!out->where)
		out->where = "";
	return NULL;
}

/* ---- where else ---- */

static bool is_plain(const Dwarf_Op *ops, size_t n)
{
	for (size_t i = 0; i < n; i++)
		switch (ops[i].atom) {
		case DW_OP_entry_value:
		case DW_OP_GNU_entry_value:
		case DW_OP_implicit_pointer:
		case DW_OP_GNU_implicit_pointer:
		case DW_OP_GNU_parameter_ref:
		case DW_OP_reg17 ... DW_OP_reg31:
			return false;
		}
	return n != 0;
}

static const char *place_text(struct gs_context *c, uint64_t addr)
{
	const char *file = "";
	uint32_t line = gs_line_at(c->m, &c->cu, addr, &file);
	const char *slash = strrchr(file, '/');

	if (!line)
		return gs_arena_printf(&c->m->arena, "*0x%llx", (unsigned long long)addr);
	return gs_arena_printf(&c->m->arena, "%s:%u (*0x%llx)", slash ? slash + 1 : file, line,
			       (unsigned long long)addr);
}

const char *gs_context_readable_at(struct gs_context *c, const struct gs_variable *var)
{
	struct gs_module *m = c->m;
	Dwarf_Attribute attr;
	Dwarf_Addr base, start, end, entry;
	Dwarf_Op *ops;
	size_t n;
	ptrdiff_t at = 0;
	uint64_t best = 0, best_distance = UINT64_MAX;

	if (var->handle == 0 || var->handle > m->nvariables ||
	    !dwarf_attr_integrate(&m->variables[var->handle - 1].die, DW_AT_location, &attr))
		return NULL;
	if (!is_location_list(&attr)) {
		if (!needs_frame(&attr) || is_thread_local(&attr) ||
		    !gs_die_entry(c->m, &c->scopes[0], &entry))
			return NULL;
		best = gs_prologue_end(m, &c->scopes[0], entry);
		return best > c->pc ? place_text(c, best) : NULL;
	}
	while ((at = dwarf_getlocations(&attr, at, &base, &start, &end, &ops, &n)) > 0) {
		uint64_t distance = start > c->pc ? start - c->pc : c->pc - start;

		if (end <= start || !is_plain(ops, n) || (c->pc >= start && c->pc < end) ||
		    dwarf_haspc(&c->scopes[0], start) <= 0 || distance >= best_distance)
			continue;
		best = start;
		best_distance = distance;
	}
	return best ? place_text(c, best) : NULL;
}
