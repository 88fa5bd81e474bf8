/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DWARF expressions (DWARF 5, section 2.5) become nodes of a capture plan: the stack machine is run
 * here, at resolve time, over nodes instead of numbers. What has no exact counterpart says what it
 * was.
 */
#include "record/dwarf_internal.h"

#include <stdarg.h>

#define NESTING_MAX 8
#define STEPS_MAX 4096
#define FORKS_MAX 16

bool gs_no_value(struct gs_evaluation *ev, uint8_t status, const char *fmt, ...)
{
	va_list ap;
	char text[256];

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ev->status = status;
	ev->reason = gs_arena_strdup(&ev->c->m->arena, text);
	return false;
}

static bool unavailable(struct gs_evaluation *ev, const char *what)
{
	return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "%s", what);
}

/* ---- the stack ---- */

static bool push(struct gs_evaluation *ev, struct gs_place_value v)
{
	if (ev->depth == GS_ARRAY_SIZE(ev->stack))
		return unavailable(ev, "a location expression that is too deep");
	ev->stack[ev->depth++] = v;
	return true;
}

static bool push_node(struct gs_evaluation *ev, uint16_t node)
{
	return push(ev, (struct gs_place_value){.node = node});
}

static bool need(struct gs_evaluation *ev, unsigned n)
{
	if (ev->depth < n)
		return unavailable(ev, "a damaged location expression");
	return true;
}

static uint16_t node2(struct gs_evaluation *ev, enum gs_plan_op op, unsigned size, uint16_t a,
		      uint16_t b)
{
	return gs_plan_node(ev->plan, op, size, a, b, 0);
}

static uint16_t node1(struct gs_evaluation *ev, enum gs_plan_op op, unsigned size, uint16_t a)
{
	return gs_plan_node(ev->plan, op, size, a, GS_NODE_NONE, 0);
}

/* Bytes of the type: the generic type has the size of an address. */
static unsigned width_of(const struct gs_evaluation *ev, const struct gs_place_value *v)
{
	return v->size ? v->size : ev->c->m->info.pointer_size;
}

/* Values are kept extended to 64 bits by their type; after arithmetic that has to be made true
 * again. */
static uint16_t extend(struct gs_evaluation *ev, const struct gs_place_value *type, uint16_t node)
{
	return gs_typed_extend(ev, type, node);
}

/* ---- memory ---- */

static bool is_own_frame(const struct gs_evaluation *ev, const struct gs_place_value *v)
{
	/* Above are the return address and what the caller put there. */
	return v->is_cfa && v->cfa_offset < -(int64_t)ev->c->m->info.pointer_size;
}

/* Any number of bytes up to eight, by powers of two; all targets are little-endian. */
static uint16_t load_bytes(struct gs_evaluation *ev, uint16_t address, unsigned size)
{
	unsigned done = 0;
	uint16_t result = GS_NODE_NONE, part;

	while (done < size) {
		unsigned n = size - done >= 8 ? 8 : size - done >= 4 ? 4 : size - done >= 2 ? 2 : 1;

		part = node2(ev, GS_OP_ADD, 8, address, gs_plan_const(ev->plan, done));
		part = node1(ev, GS_OP_LOAD, n, part);
		if (done)
			part = node2(ev, GS_OP_SHL, 8, part, gs_plan_const(ev->plan, done * 8));
		result = done ? node2(ev, GS_OP_OR, 8, result, part) : part;
		done += n;
	}
	return result;
}

static bool load(struct gs_evaluation *ev, unsigned size, struct gs_place_value *result)
{
	struct gs_place_value addr;
	uint16_t node = GS_NODE_NONE;

	if (!need(ev, 1))
		return false;
	addr = ev->stack[--ev->depth];
	if (ev->callee)
		return unavailable(ev, "memory that may have changed since the call");
	if (ev->at_entry)
		return unavailable(ev, "memory that may have changed since the entry");
	if (size < 1 || size > 8)
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "DW_OP_deref of %u bytes", size);
	if (ev->is_param && is_own_frame(ev, &addr)) {
		switch (gs_prologue_read(ev, addr.cfa_offset, size, &node)) {
		case GS_SPILL_ABSENT:
			return false;
		case GS_SPILL_PARTS:
			return unavailable(ev, "not yet in its slot in the frame");
		case GS_SPILL_VALUE:
			result->node = extend(ev, result, node);
			return push(ev, *result);
		case GS_SPILL_MEMORY:
			break;
		}
	}
	result->node = extend(ev, result, load_bytes(ev, addr.node, size));
	return push(ev, *result);
}

uint16_t gs_image_address(struct gs_evaluation *ev, uint64_t addr)
{
	uint16_t node = gs_plan_const(ev->plan, (int64_t)addr);

	if (!ev->c->m->info.is_pie_or_library)
		return node;
	return node2(ev, GS_OP_ADD, 8,
		     gs_plan_node(ev->plan, GS_OP_BIAS, 8, GS_NODE_NONE, GS_NODE_NONE, 0), node);
}

static bool thread_local_address(struct gs_evaluation *ev)
{
	struct gs_place_value v = {0};

	if (!need(ev, 1) || !gs_thread_local_address(ev, ev->stack[ev->depth - 1].node, &v.node))
		return false;
	v.node = extend(ev, &v, v.node);
	ev->stack[ev->depth - 1] = v;
	return true;
}

/* ---- arithmetic ---- */

static bool shift(struct gs_evaluation *ev, unsigned atom, const struct gs_place_value *a,
		  const struct gs_place_value *b, uint16_t *node)
{
	unsigned width = width_of(ev, a);
	uint16_t x = a->node;

	if (atom == DW_OP_shl) {
		*node = node2(ev, GS_OP_SHL, width, x, b->node);
		return true;
	}
	/* The operand is taken for unsigned or signed by the operation, whatever its type. */
	if (width < 8)
		x = extend(ev,
			   &(struct gs_place_value){.size = (uint8_t)width,
						    .is_signed = atom == DW_OP_shra},
			   x);
	*node = node2(ev, atom == DW_OP_shr ? GS_OP_SHR : GS_OP_SAR, width, x, b->node);
	return true;
}

static uint16_t divide(struct gs_evaluation *ev, unsigned atom, const struct gs_place_value *a,
		       const struct gs_place_value *b)
{
	unsigned width = width_of(ev, a);
	/* Of the generic type, division is signed and the remainder unsigned (section 2.5.1.4). */
	bool is_signed = a->size ? a->is_signed : atom == DW_OP_div;
	uint16_t x = a->node, y = b->node;
	enum gs_plan_op op = atom == DW_OP_div ? (is_signed ? GS_OP_SDIV : GS_OP_UDIV)
					       : (is_signed ? GS_OP_SMOD : GS_OP_UMOD);

	if (!a->size && is_signed && width < 8) {
		x = node1(ev, GS_OP_SEXT, width, x);
		y = node1(ev, GS_OP_SEXT, width, y);
	}
	return node2(ev, op, width, x, y);
}

static uint16_t compare(struct gs_evaluation *ev, unsigned atom, struct gs_place_value a,
			struct gs_place_value b)
{
	unsigned width = width_of(ev, &a);
	bool is_signed = a.size ? a.is_signed : true;
	enum gs_plan_op lt = is_signed ? GS_OP_SLT : GS_OP_ULT;
	enum gs_plan_op le = is_signed ? GS_OP_SLE : GS_OP_ULE;

	if (!a.size && width < 8) {
		a.node = node1(ev, GS_OP_SEXT, width, a.node);
		b.node = node1(ev, GS_OP_SEXT, width, b.node);
	}
	switch (atom) {
	case DW_OP_eq:
		return node2(ev, GS_OP_EQ, 8, a.node, b.node);
	case DW_OP_ne:
		return node2(ev, GS_OP_NE, 8, a.node, b.node);
	case DW_OP_lt:
		return node2(ev, lt, 8, a.node, b.node);
	case DW_OP_le:
		return node2(ev, le, 8, a.node, b.node);
	case DW_OP_gt:
		return node2(ev, lt, 8, b.node, a.node);
	default:
		return node2(ev, le, 8, b.node, a.node);
	}
}

static bool plan_op_of(unsigned atom, enum gs_plan_op *op)
{
	switch (atom) {
	case DW_OP_plus:
		*op = GS_OP_ADD;
		return true;
	case DW_OP_minus:
		*op = GS_OP_SUB;
		return true;
	case DW_OP_mul:
		*op = GS_OP_MUL;
		return true;
	case DW_OP_and:
		*op = GS_OP_AND;
		return true;
	case DW_OP_or:
		*op = GS_OP_OR;
		return true;
	case DW_OP_xor:
		*op = GS_OP_XOR;
		return true;
	default:
		return false;
	}
}

static bool binary(struct gs_evaluation *ev, unsigned atom)
{
	struct gs_place_value a, b, r;
	enum gs_plan_op op;

	if (!need(ev, 2))
		return false;
	b = ev->stack[--ev->depth];
	a = ev->stack[--ev->depth];
	if (a.is_float || b.is_float)
		return unavailable(ev, "arithmetic on floating-point numbers");
	r = (struct gs_place_value){.size = a.size, .is_signed = a.is_signed};
	if (atom >= DW_OP_eq && atom <= DW_OP_ne) {
		r = (struct gs_place_value){.node = compare(ev, atom, a, b)};
		return push(ev, r);
	}
	if (atom == DW_OP_div || atom == DW_OP_mod)
		r.node = divide(ev, atom, &a, &b);
	else if (plan_op_of(atom, &op))
		r.node = node2(ev, op, 8, a.node, b.node);
	else
		shift(ev, atom, &a, &b, &r.node);
	r.node = extend(ev, &r, r.node);
	return push(ev, r);
}

static bool unary(struct gs_evaluation *ev, const Dwarf_Op *op)
{
	struct gs_place_value *v;
	uint16_t negated;

	if (!need(ev, 1))
		return false;
	v = &ev->stack[ev->depth - 1];
	if (v->is_float)
		return unavailable(ev, "arithmetic on floating-point numbers");
	switch (op->atom) {
	case DW_OP_plus_uconst:
		v->cfa_offset += (int64_t)op->number;
		v->node = node2(ev, GS_OP_ADD, 8, v->node,
				gs_plan_const(ev->plan, (int64_t)op->number));
		break;
	case DW_OP_neg:
		v->node = node1(ev, GS_OP_NEG, 8, v->node);
		v->is_cfa = false;
		break;
	case DW_OP_not:
		v->node = node1(ev, GS_OP_NOT, 8, v->node);
		v->is_cfa = false;
		break;
	default: /* DW_OP_abs: of a signed value, also of the generic type */
		v->node = extend(ev,
				 &(struct gs_place_value){.size = (uint8_t)width_of(ev, v),
							  .is_signed = true},
				 v->node);
		negated = node1(ev, GS_OP_NEG, 8, v->node);
		v->node = gs_plan_select(
			ev->plan, node2(ev, GS_OP_SLT, 8, v->node, gs_plan_const(ev->plan, 0)),
			negated, v->node);
		v->is_cfa = false;
	}
	v->node = extend(ev, v, v->node);
	return true;
}

/* ---- stack operations ---- */

static bool reorder(struct gs_evaluation *ev, const Dwarf_Op *op)
{
	unsigned index = op->atom == DW_OP_pick ? (unsigned)op->number : op->atom == DW_OP_over;
	struct gs_place_value *top, saved;

	if (op->atom == DW_OP_pick && op->number > GS_ARRAY_SIZE(ev->stack))
		return unavailable(ev, "a damaged location expression");
	if (op->atom == DW_OP_dup || op->atom == DW_OP_over || op->atom == DW_OP_pick)
		return need(ev, index + 1) && push(ev, ev->stack[ev->depth - 1 - index]);
	if (op->atom == DW_OP_drop) {
		if (!need(ev, 1))
			return false;
		ev->depth--;
		return true;
	}
	if (!need(ev, op->atom == DW_OP_swap ? 2 : 3))
		return false;
	top = &ev->stack[ev->depth - 1];
	saved = top[0];
	top[0] = top[-1];
	if (op->atom == DW_OP_swap) {
		top[-1] = saved;
	} else { /* rot: the top becomes the third */
		top[-1] = top[-2];
		top[-2] = saved;
	}
	return true;
}

/* ---- registers and frames ---- */

static bool push_register_offset(struct gs_evaluation *ev, unsigned regno, int64_t offset)
{
	uint16_t reg;
	struct gs_place_value v = {0};

	if (!gs_register_node(ev, regno, &reg))
		return false;
	v.node = extend(ev, &v, node2(ev, GS_OP_ADD, 8, reg, gs_plan_const(ev->plan, offset)));
	return push(ev, v);
}

static bool push_frame(struct gs_evaluation *ev, const Dwarf_Op *op)
{
	struct gs_place_value v;
	bool good;

	if (ev->nesting > NESTING_MAX)
		return unavailable(ev, "a location expression that refers to itself");
	if (op->atom == DW_OP_fbreg && !ev->frame_die)
		return unavailable(ev, "no frame here");
	good = op->atom == DW_OP_fbreg ? gs_frame_base(ev, &v) : gs_frame_cfa(ev, &v);
	if (!good)
		return false;
	if (op->atom == DW_OP_fbreg) {
		v.cfa_offset += (int64_t)op->number;
		v.node = node2(ev, GS_OP_ADD, 8, v.node,
			       gs_plan_const(ev->plan, (int64_t)op->number));
		v.size = 0;
		v.node = extend(ev, &v, v.node);
	}
	return push(ev, v);
}

static bool push_typed_register(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	struct gs_place_value type = {0};
	uint16_t reg;

	if (!gs_register_node(ev, (unsigned)op->number, &reg) ||
	    !gs_typed_base(ev, attr, op, "DW_OP_regval_type", &type))
		return false;
	type.node = extend(ev, &type, reg);
	return push(ev, type);
}

/* The value at the function's entry: known only while a register still holds it, or where it was
 * kept. */
static bool push_entry_value(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	struct gs_evaluation in = *ev;
	Dwarf_Attribute inner;
	Dwarf_Op *ops;
	size_t n;
	uint16_t node;
	bool good;

	if (!attr || dwarf_getlocation_attr(attr, op, &inner) != 0 ||
	    dwarf_getlocation(&inner, &ops, &n) != 0 || n == 0)
		return unavailable(ev, "DW_OP_entry_value");
	in.at_entry = true;
	in.nesting++;
	in.depth = 0;
	if (in.nesting > NESTING_MAX)
		return unavailable(ev, "a location expression that refers to itself");
	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		good = gs_register_node(&in, ops[0].atom - DW_OP_reg0, &node) &&
		       push_node(&in, node);
	else if (n == 1 && ops[0].atom == DW_OP_regx)
		good = gs_register_node(&in, (unsigned)ops[0].number, &node) &&
		       push_node(&in, node);
	else
		good = gs_evaluate_ops(&in, &inner, ops, n);
	ev->steps = in.steps;
	if (good && in.depth)
		return push(ev, in.stack[in.depth - 1]);
	return gs_no_value(ev, in.status ? in.status : GS_STATUS_UNAVAILABLE, "%s",
			   in.reason ? in.reason : "DW_OP_entry_value");
}

/* A parameter that the function no longer takes: what its caller would have passed. */
static bool push_parameter(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	Dwarf_Die die;
	uint16_t node;

	if (attr && dwarf_getlocation_die(attr, op, &die) == 0 &&
	    gs_caller_value(ev, &(struct gs_passed){.parameter = &die}, &node))
		return push_node(ev, node);
	return unavailable(ev, "DW_OP_GNU_parameter_ref");
}

static bool push_indexed(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	Dwarf_Attribute value;
	Dwarf_Addr addr;
	Dwarf_Word word;

	if (!attr || dwarf_getlocation_attr(attr, op, &value) != 0)
		return unavailable(ev, "an address that the debug information does not hold");
	if (op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index) {
		if (dwarf_formaddr(&value, &addr) != 0)
			return unavailable(ev, "DW_OP_addrx");
		return push_node(ev, gs_image_address(ev, addr));
	}
	if (dwarf_formaddr(&value, &addr) == 0)
		word = addr;
	else if (dwarf_formudata(&value, &word) != 0)
		return unavailable(ev, "DW_OP_constx");
	return push_node(ev, gs_plan_const(ev->plan, (int64_t)word));
}

/* ---- other entries' locations ---- */

static bool call(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	Dwarf_Die die;
	Dwarf_Attribute at;
	Dwarf_Op *ops;
	size_t n;
	bool good;

	if (!attr || dwarf_getlocation_die(attr, op, &die) != 0)
		return unavailable(ev, "DW_OP_call");
	/* An entry without a location: the call has no effect. */
	if (!dwarf_attr_integrate(&die, DW_AT_location, &at))
		return true;
	if (dwarf_getlocation_addr(&at, ev->c->pc, &ops, &n, 1) != 1)
		return unavailable(ev, "DW_OP_call");
	if (++ev->nesting > NESTING_MAX)
		return unavailable(ev, "a location expression that refers to itself");
	good = gs_evaluate_ops(ev, &at, ops, n);
	ev->nesting--;
	return good;
}

/* The value of another variable, of the size of an address (lengths of arrays, by gcc). */
static bool push_variable(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	struct gs_evaluation in = *ev;
	Dwarf_Die die, type;
	Dwarf_Attribute at;
	Dwarf_Op *ops;
	size_t n;
	uint16_t node;
	int size = 0;
	bool is_value, good;

	if (!attr || dwarf_getlocation_die(attr, op, &die) != 0 ||
	    !dwarf_attr_integrate(&die, DW_AT_location, &at) ||
	    dwarf_getlocation_addr(&at, ev->c->pc, &ops, &n, 1) != 1 || n == 0 ||
	    ++in.nesting > NESTING_MAX)
		return unavailable(ev, "DW_OP_GNU_variable_value: the variable has no value here");
	in.depth = 0;
	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return gs_register_node(ev, ops[0].atom - DW_OP_reg0, &node) && push_node(ev, node);
	is_value = ops[n - 1].atom == DW_OP_stack_value;
	if (dwarf_attr_integrate(&die, DW_AT_type, &at) && dwarf_formref_die(&at, &type) &&
	    dwarf_peel_type(&type, &type) == 0)
		size = dwarf_bytesize(&type);
	dwarf_attr_integrate(&die, DW_AT_location, &at);
	good = gs_evaluate_ops(&in, &at, ops, is_value ? n - 1 : n) && in.depth &&
	       (is_value ||
		(size > 0 && size <= 8 && load(&in, (unsigned)size, &(struct gs_place_value){0})));
	ev->steps = in.steps;
	if (!good)
		return gs_no_value(ev, in.status ? in.status : GS_STATUS_UNAVAILABLE, "%s",
				   in.reason ? in.reason : "DW_OP_GNU_variable_value");
	return push_node(ev, in.stack[in.depth - 1].node);
}

/* ---- one operation ---- */

static bool step_rest(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	struct gs_place_value type = {0};

	switch (op->atom) {
	case DW_OP_regval_type:
	case DW_OP_GNU_regval_type:
		return push_typed_register(ev, attr, op);
	case DW_OP_deref_type:
	case DW_OP_GNU_deref_type:
		return gs_typed_base(ev, attr, op, "DW_OP_deref_type", &type) &&
		       load(ev, (unsigned)op->number, &type);
	case DW_OP_const_type:
	case DW_OP_GNU_const_type:
		return gs_typed_constant(ev, attr, op, &type) && push(ev, type);
	case DW_OP_convert:
	case DW_OP_GNU_convert:
		return gs_typed_convert(ev, attr, op, false);
	case DW_OP_reinterpret:
	case DW_OP_GNU_reinterpret:
		return gs_typed_convert(ev, attr, op, true);
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return push_entry_value(ev, attr, op);
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address:
		return thread_local_address(ev);
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		return unavailable(ev, "DW_OP_implicit_pointer: the pointer was optimised out");
	case DW_OP_call2:
	case DW_OP_call4:
	case DW_OP_call_ref:
		return call(ev, attr, op);
	case DW_OP_xderef:
	case DW_OP_xderef_size:
	case DW_OP_xderef_type:
		return unavailable(ev, "DW_OP_xderef: memory of another address space");
	case DW_OP_push_object_address:
		return unavailable(ev, "DW_OP_push_object_address: no object is being described");
	case DW_OP_GNU_parameter_ref:
		return push_parameter(ev, attr, op);
	case DW_OP_GNU_variable_value:
		return push_variable(ev, attr, op);
	case DW_OP_GNU_uninit: /* only says that nothing may have been stored there yet */
		return true;
	default:
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "DWARF operation 0x%x", op->atom);
	}
}

static bool step(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	unsigned atom = op->atom;
	struct gs_place_value generic = {0};

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return push_node(ev, gs_plan_const(ev->plan, atom - DW_OP_lit0));
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return push_register_offset(ev, atom - DW_OP_breg0, (int64_t)op->number);
	if (atom >= DW_OP_const1u && atom <= DW_OP_consts) {
		generic.node = gs_plan_const(ev->plan, (int64_t)op->number);
		generic.node = extend(ev, &generic, generic.node);
		return push(ev, generic);
	}
	switch (atom) {
	case DW_OP_nop:
		return true;
	case DW_OP_addr:
		return push_node(ev, gs_image_address(ev, op->number));
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		return push_indexed(ev, attr, op);
	case DW_OP_bregx:
		return push_register_offset(ev, (unsigned)op->number, (int64_t)op->number2);
	case DW_OP_fbreg:
	case DW_OP_call_frame_cfa:
		return push_frame(ev, op);
	case DW_OP_deref:
		return load(ev, ev->c->m->info.pointer_size, &generic);
	case DW_OP_deref_size:
		return load(ev, (unsigned)op->number, &generic);
	case DW_OP_dup:
	case DW_OP_drop:
	case DW_OP_over:
	case DW_OP_pick:
	case DW_OP_swap:
	case DW_OP_rot:
		return reorder(ev, op);
	case DW_OP_plus_uconst:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_abs:
		return unary(ev, op);
	}
	if ((atom >= DW_OP_and && atom <= DW_OP_xor) || (atom >= DW_OP_eq && atom <= DW_OP_ne))
		return binary(ev, atom);
	return step_rest(ev, attr, op);
}

/* ---- control ---- */

struct code {
	Dwarf_Attribute *attr;
	const Dwarf_Op *ops;
	size_t n;
};

static bool run(struct gs_evaluation *ev, const struct code *code, size_t at);

/* Where a branch leads: an operation, or the end. */
static bool target_of(const struct code *code, size_t at, size_t *to)
{
	uint64_t want = code->ops[at].offset + 3 + (uint64_t)(int16_t)code->ops[at].number;

	for (*to = 0; *to < code->n; ++*to)
		if (code->ops[*to].offset == want)
			return true;
	return want > code->ops[code->n - 1].offset;
}

/* Both ways, each to the end of the expression; the plan chooses between the two results. */
static bool both_ways(struct gs_evaluation *ev, const struct code *code, size_t next, size_t to,
		      uint16_t condition)
{
	struct gs_evaluation *other GS_CLEANUP_FREE = NULL;
	struct gs_place_value *a, *b;

	if (++ev->forks > FORKS_MAX)
		return unavailable(ev, "a location expression with too many branches");
	other = gs_malloc(sizeof(*other));
	*other = *ev;
	if (!run(ev, code, next))
		return false;
	other->steps = ev->steps;
	other->forks = ev->forks;
	if (!run(other, code, to)) {
		ev->status = other->status;
		ev->reason = other->reason;
		return false;
	}
	ev->steps = other->steps;
	ev->forks = other->forks;
	if (!ev->depth || !other->depth)
		return unavailable(ev, "a damaged location expression");
	a = &ev->stack[ev->depth - 1];
	b = &other->stack[other->depth - 1];
	if (a->size != b->size || a->is_signed != b->is_signed || a->is_float != b->is_float)
		return unavailable(ev, "a location expression with results of two types");
	a->node = gs_plan_select(ev->plan, condition, b->node, a->node);
	a->is_cfa = false;
	return true;
}

static bool run(struct gs_evaluation *ev, const struct code *code, size_t at)
{
	while (at < code->n) {
		unsigned atom = code->ops[at].atom;
		uint16_t condition;
		size_t to;

		if (++ev->steps > STEPS_MAX)
			return unavailable(ev, "a location expression that is too long");
		if (atom != DW_OP_bra && atom != DW_OP_skip) {
			if (!step(ev, code->attr, &code->ops[at++]))
				return false;
			continue;
		}
		if (!target_of(code, at, &to))
			return unavailable(ev, "a damaged location expression");
		if (atom == DW_OP_skip) {
			at = to;
			continue;
		}
		if (!need(ev, 1))
			return false;
		condition = ev->stack[--ev->depth].node;
		if (condition < ev->plan->nnodes && ev->plan->nodes[condition].op == GS_OP_CONST) {
			at = ev->plan->nodes[condition].imm ? to : at + 1;
			continue;
		}
		if (to <= at)
			return unavailable(ev, "DW_OP_bra: a loop that only the values end");
		return both_ways(ev, code, at + 1, to, condition);
	}
	return true;
}

bool gs_evaluate_ops(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *ops,
		     size_t nops)
{
	struct code code = {attr, ops, nops};

	if (nops && !run(ev, &code, 0))
		return false;
	if (ev->depth && ev->stack[ev->depth - 1].node == GS_NODE_NONE)
		return unavailable(ev, "the capture plan is full");
	return true;
}
