/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where objects are: variables, members, elements and what pointers lead to, as addresses or parts.
 * Between checked expressions and plan nodes; lower.c computes with what is found here.
 *
 * A variable may live in memory, or in parts: registers, constants, pieces of memory, gaps. Members
 * and elements of the latter are found by their byte offset, so that a struct in two registers is
 * no special case.
 */
#include "record/resolver.h"

/* Plans number registers as DWARF does for AMD64, also those of 32-bit processes. */
#define STACK_POINTER 7

static struct gs_object absent_object(unsigned status, const char *reason)
{
	return (struct gs_object){.kind = GS_OBJECT_ABSENT,
				  .status = (uint8_t)status,
				  .reason = reason ? reason : ""};
}

static struct gs_object memory_object(uint16_t node)
{
	return (struct gs_object){.kind = GS_OBJECT_MEMORY, .node = node};
}

/* One part that is the whole object. */
static struct gs_object single_part(struct gs_lower *l, unsigned kind, uint32_t size, uint16_t node,
				    const void *bytes)
{
	struct gs_location_piece *part = gs_arena_alloc(&l->site->r->arena, sizeof(*part));

	*part = (struct gs_location_piece){
		.size = size, .kind = (uint8_t)kind, .node = node, .bytes = bytes};
	return (struct gs_object){.kind = GS_OBJECT_PARTS, .parts = part, .nparts = 1};
}

uint16_t gs_lower_absent(struct gs_lower *l, unsigned status, const char *reason)
{
	if (l->absent == GS_STATUS_OK) {
		l->absent = (uint8_t)status;
		l->absent_reason = reason ? reason : "";
	}
	return gs_plan_node(l->plan, GS_OP_ABSENT, 8, GS_NODE_NONE, GS_NODE_NONE, status);
}

/* ---- variables and built-ins ---- */

void gs_lower_location(struct gs_lower *l, const struct gs_location *loc, struct gs_object *obj)
{
	switch (loc->kind) {
	case GS_LOC_MEMORY:
		*obj = memory_object(loc->node);
		return;
	case GS_LOC_VALUE:
		*obj = single_part(l, GS_LOC_VALUE, 8, loc->node, NULL);
		return;
	case GS_LOC_BYTES:
		*obj = single_part(l, GS_LOC_BYTES, loc->nbytes, GS_NODE_NONE, loc->bytes);
		return;
	case GS_LOC_PIECES:
		*obj = (struct gs_object){
			.kind = GS_OBJECT_PARTS, .parts = loc->pieces, .nparts = loc->npieces};
		return;
	case GS_LOC_ABSENT:
		*obj = absent_object(loc->status, loc->reason);
		obj->pointee = loc->pointee;
		obj->pointee_offset = loc->pointee_offset;
		return;
	}
	*obj = absent_object(GS_STATUS_UNAVAILABLE, "its location is of an unknown kind");
}

static bool is_of_frame(const struct gs_variable *var)
{
	return !(var->flags & (GS_VAR_STATIC | GS_VAR_TLS | GS_VAR_CONSTANT | GS_VAR_FUNCTION)) &&
	       (var->flags & (GS_VAR_PARAM | GS_VAR_LOCAL));
}

static void variable_object(struct gs_lower *l, const struct gs_variable *var,
			    struct gs_object *obj)
{
	struct gs_location loc = {0};
	struct gs_error *err;

	if (var->flags & GS_VAR_CONSTANT) {
		*obj = single_part(l, GS_LOC_VALUE, 8, gs_plan_const(l->plan, var->constant), NULL);
		return;
	}
	if (is_of_frame(var) && l->site->place->exit &&
	    l->site->place->exit->kind == GS_EXIT_URETPROBE) {
		*obj = absent_object(GS_STATUS_UNAVAILABLE,
				     "the frame is gone at a uretprobe: $entry(...) keeps it");
		return;
	}
	if (!l->site->place->context) {
		*obj = absent_object(GS_STATUS_UNAVAILABLE, "no debug information here");
		return;
	}
	err = gs_context_location(l->site->place->context, var, l->plan, &loc);
	if (err) {
		/* One damaged location costs only its variable. */
		*obj = absent_object(GS_STATUS_UNAVAILABLE,
				     gs_arena_strdup(&l->site->r->arena, gs_error_message(err)));
		gs_error_free(err);
		return;
	}
	gs_lower_location(l, &loc, obj);
}

static uint16_t binary(struct gs_lower *l, enum gs_plan_op op, uint16_t a, uint16_t b)
{
	return gs_plan_node(l->plan, op, 8, a, b, 0);
}

static uint16_t register_node(struct gs_lower *l, unsigned number)
{
	return gs_plan_node(l->plan, GS_OP_REG, 8, GS_NODE_NONE, GS_NODE_NONE, number);
}

/* N-th word of the caller's stack above the return address, or that address itself with N 0. */
static uint16_t stack_word(struct gs_lower *l, unsigned n)
{
	unsigned size = l->site->pointer_size;
	uint16_t at = binary(l, GS_OP_ADD, register_node(l, STACK_POINTER),
			     gs_plan_const(l->plan, (int64_t)n * size));

	return gs_plan_node(l->plan, GS_OP_LOAD, size, at, GS_NODE_NONE, 0);
}

/* Integer arguments: System V AMD64 in six registers, then the stack; i386 on the stack. */
static uint16_t argument_node(struct gs_lower *l, unsigned n)
{
	static const uint8_t registers[] = {5, 4, 1, 2, 8, 9};

	if (l->site->pointer_size == 4)
		return stack_word(l, n + 1);
	if (n < GS_ARRAY_SIZE(registers))
		return register_node(l, registers[n]);
	return stack_word(l, n - (unsigned)GS_ARRAY_SIZE(registers) + 1);
}

static uint16_t register_part(struct gs_lower *l, const struct gs_operand *o)
{
	uint16_t node = register_node(l, o->number);

	if (o->shift)
		node = gs_plan_node(l->plan, GS_OP_SHR, 8, node, gs_plan_const(l->plan, o->shift),
				    0);
	return o->size == 8 ? node
			    : gs_plan_node(l->plan, GS_OP_ZEXT, o->size, node, GS_NODE_NONE, 0);
}

void gs_lower_operand(struct gs_lower *l, const struct gs_operand *o, struct gs_object *obj)
{
	uint16_t node = GS_NODE_NONE;

	switch (o->kind) {
	case GS_OPERAND_VARIABLE:
		variable_object(l, &o->var, obj);
		return;
	case GS_OPERAND_TEXT:
		*obj = single_part(l, GS_LOC_BYTES, (uint32_t)strlen(l->site->place->func) + 1,
				   GS_NODE_NONE, l->site->place->func);
		return;
	case GS_OPERAND_COMM:
		*obj = absent_object(GS_STATUS_UNAVAILABLE, "$comm is an item alone");
		return;
	case GS_OPERAND_REGISTER:
		node = register_part(l, o);
		break;
	case GS_OPERAND_VALUE:
		node = gs_plan_node(l->plan, GS_OP_BUILTIN, 8, GS_NODE_NONE, GS_NODE_NONE,
				    o->number);
		break;
	case GS_OPERAND_ARGUMENT:
		node = argument_node(l, o->number);
		break;
	case GS_OPERAND_RETVAL:
		gs_lower_retval(l, obj);
		return;
	case GS_OPERAND_DURATION:
		node = gs_lower_duration(l);
		break;
	case GS_OPERAND_CALLER:
		if (l->site->place->exit && l->site->place->exit->kind == GS_EXIT_URETPROBE) {
			node = register_node(l, 16);
			break;
		}
		if (!l->site->at_entry && !l->site->place->exit) {
			*obj = absent_object(GS_STATUS_UNAVAILABLE,
					     "the return address is known at a function's entry "
					     "and at its return");
			return;
		}
		node = stack_word(l, 0);
		break;
	}
	*obj = single_part(l, GS_LOC_VALUE, 8, node, NULL);
}

/* ---- parts of objects ---- */

struct gs_object gs_object_at(struct gs_lower *l, const struct gs_object *obj, uint64_t offset)
{
	struct gs_object part = *obj;

	part.bit_offset = part.bit_size = 0;
	if (offset)
		part.pointee = NULL;
	if (obj->kind == GS_OBJECT_MEMORY)
		part.node = gs_plan_node(l->plan, GS_OP_ADD, 8, obj->node,
					 gs_plan_const(l->plan, (int64_t)offset), 0);
	else if (obj->kind == GS_OBJECT_PARTS)
		part.offset = obj->offset + offset;
	return part;
}

static const struct gs_location_piece *part_at(const struct gs_object *obj, uint64_t at)
{
	for (size_t i = 0; i < obj->nparts; i++)
		if (at >= obj->parts[i].offset && at - obj->parts[i].offset < obj->parts[i].size)
			return &obj->parts[i];
	return NULL;
}

bool gs_object_pointee(struct gs_lower *l, const struct gs_object *obj, struct gs_object *out)
{
	const struct gs_variable *var = obj->kind == GS_OBJECT_ABSENT ? obj->pointee : NULL;
	int64_t offset = obj->pointee_offset;
	const struct gs_location_piece *part;

	if (obj->kind == GS_OBJECT_PARTS && (part = part_at(obj, obj->offset)) &&
	    part->kind == GS_LOC_ABSENT && part->offset == obj->offset) {
		var = part->pointee;
		offset = part->pointee_offset;
	}
	if (!var)
		return false;
	variable_object(l, var, out);
	if (offset < 0 && out->kind == GS_OBJECT_PARTS)
		*out = absent_object(GS_STATUS_UNAVAILABLE, "before the object that it points to");
	else
		*out = gs_object_at(l, out, (uint64_t)offset);
	return true;
}

/* One aligned power of two of bytes at an address. */
static uint16_t load_memory(struct gs_lower *l, uint16_t address, uint64_t offset, unsigned size)
{
	uint16_t at = gs_plan_node(l->plan, GS_OP_ADD, 8, address,
				   gs_plan_const(l->plan, (int64_t)offset), 0);

	return gs_plan_node(l->plan, GS_OP_LOAD, size, at, GS_NODE_NONE, 0);
}

static uint16_t load_bytes(struct gs_lower *l, const struct gs_location_piece *part, uint64_t at,
			   unsigned size)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < size; i++)
		v |= (uint64_t)part->bytes[at + i] << (8 * i);
	return gs_plan_const(l->plan, (int64_t)v);
}

/* The location gave no more than SIZE bytes, zero-extended. */
static bool is_narrow(const struct gs_plan *plan, uint16_t node, unsigned size)
{
	const struct gs_plan_node *n = node < plan->nnodes ? &plan->nodes[node] : NULL;

	return n && (n->op == GS_OP_ZEXT || n->op == GS_OP_LOAD) && n->size <= size;
}

/* SIZE (1, 2, 4, 8) bytes at AT, which are all in PART. */
static uint16_t load_part(struct gs_lower *l, const struct gs_location_piece *part, uint64_t at,
			  unsigned size)
{
	uint16_t node = part->node;

	at -= part->offset;
	switch (part->kind) {
	case GS_LOC_MEMORY:
		return load_memory(l, node, at, size);
	case GS_LOC_BYTES:
		return load_bytes(l, part, at, size);
	case GS_LOC_VALUE:
		if (at >= 8 || at + size > 8)
			return gs_lower_absent(l, GS_STATUS_UNAVAILABLE,
					       "it is wider than its register");
		if (!at && is_narrow(l->plan, node, size))
			return node;
		if (at)
			node = gs_plan_node(l->plan, GS_OP_SHR, 8, node,
					    gs_plan_const(l->plan, (int64_t)at * 8), 0);
		return size == 8 ? node
				 : gs_plan_node(l->plan, GS_OP_ZEXT, size, node, GS_NODE_NONE, 0);
	default:
		return gs_lower_absent(l, part->status, part->reason);
	}
}

/* At most SIZE bytes at AT that can be had in one go; *got is a power of two. */
static uint16_t load_some(struct gs_lower *l, const struct gs_object *obj, uint64_t at,
			  unsigned size, unsigned *got)
{
	const struct gs_location_piece *part = NULL;

	*got = size >= 8 ? 8 : size >= 4 ? 4 : size >= 2 ? 2 : 1;
	if (obj->kind == GS_OBJECT_MEMORY)
		return load_memory(l, obj->node, at, *got);
	part = part_at(obj, at + obj->offset);
	if (!part)
		return gs_lower_absent(l, GS_STATUS_OPTIMIZED_OUT, "");
	at += obj->offset;
	while (*got > 1 && part->offset + part->size - at < *got)
		*got /= 2;
	return load_part(l, part, at, *got);
}

uint16_t gs_object_bytes(struct gs_lower *l, const struct gs_object *obj, uint64_t offset,
			 unsigned size)
{
	uint16_t result = GS_NODE_NONE;

	if (obj->kind == GS_OBJECT_ABSENT)
		return gs_lower_absent(l, obj->status, obj->reason);
	for (unsigned done = 0, got; done < size; done += got) {
		uint16_t node = load_some(l, obj, offset + done, size - done, &got);

		if (done) {
			node = gs_plan_node(l->plan, GS_OP_SHL, 8, node,
					    gs_plan_const(l->plan, done * 8), 0);
			node = binary(l, GS_OP_OR, result, node);
		}
		result = node;
	}
	return result;
}

/* A bit-field: its bytes, shifted down and cut. At most 64 bits, which may lie in nine bytes. */
static uint16_t bit_field(struct gs_lower *l, const struct gs_object *obj, bool is_signed)
{
	uint64_t byte = obj->bit_offset / 8;
	unsigned shift = obj->bit_offset % 8, bits = obj->bit_size;
	unsigned nbytes = (shift + bits + 7) / 8;
	uint16_t node = gs_object_bytes(l, obj, byte, nbytes > 8 ? 8 : nbytes);

	if (shift)
		node = gs_plan_node(l->plan, GS_OP_SHR, 8, node, gs_plan_const(l->plan, shift), 0);
	if (nbytes > 8) {
		uint16_t high = gs_object_bytes(l, obj, byte + 8, 1);

		high = gs_plan_node(l->plan, GS_OP_SHL, 8, high, gs_plan_const(l->plan, 64 - shift),
				    0);
		node = binary(l, GS_OP_OR, node, high);
	}
	if (bits >= 64)
		return node;
	if (!is_signed)
		return binary(l, GS_OP_AND, node,
			      gs_plan_const(l->plan, (int64_t)((1ull << bits) - 1)));
	node = gs_plan_node(l->plan, GS_OP_SHL, 8, node, gs_plan_const(l->plan, 64 - bits), 0);
	return gs_plan_node(l->plan, GS_OP_SAR, 8, node, gs_plan_const(l->plan, 64 - bits), 0);
}

uint16_t gs_object_value(struct gs_lower *l, const struct gs_object *obj, gs_type_id id)
{
	uint64_t size = gs_type_size(l->types, id);
	const struct gs_type *type = gs_type_get(l->types, gs_type_strip(l->types, id));

	if (type->kind == GS_KIND_REFERENCE || type->kind == GS_KIND_RVALUE_REFERENCE ||
	    type->kind == GS_KIND_FUNCTION)
		size = l->site->pointer_size;
	if (obj->bit_size)
		return bit_field(l, obj, gs_type_is_signed(l->types, id));
	if (!size || size > 8)
		return gs_lower_absent(l, GS_STATUS_UNAVAILABLE, "it is wider than 64 bits");
	return gs_lower_extend(l, gs_object_bytes(l, obj, 0, (unsigned)size), id);
}

/* ---- lvalues ---- */

static bool is_pointer(const struct gs_lower *l, const struct gs_expr *e)
{
	return gs_type_get(l->types, gs_type_strip(l->types, e->type))->kind == GS_KIND_POINTER;
}

static bool known_pointer(struct gs_lower *l, const struct gs_expr *e, struct gs_object *obj);

/* `p + n' and `p - n', n a constant. */
static bool moved_pointer(struct gs_lower *l, const struct gs_expr *e, struct gs_object *obj)
{
	int64_t size, n;

	if (!is_pointer(l, e->a) || !e->b->is_constant || !known_pointer(l, e->a, obj))
		return false;
	size = (int64_t)gs_type_size(
		l->types, gs_type_get(l->types, gs_type_strip(l->types, e->a->type))->target);
	n = (int64_t)((uint64_t)e->b->number * (uint64_t)(size ? size : 1));
	if (e->op == GS_OPR_SUB)
		n = (int64_t)(0 - (uint64_t)n);
	if (obj->kind == GS_OBJECT_PARTS && (int64_t)obj->offset + n < 0)
		*obj = absent_object(GS_STATUS_UNAVAILABLE, "before the object that it points to");
	else
		*obj = gs_object_at(l, obj, (uint64_t)n);
	return true;
}

/* The object that the pointer E leads to, when E itself is one that the compiler dropped. */
static bool known_pointer(struct gs_lower *l, const struct gs_expr *e, struct gs_object *obj)
{
	struct gs_lower before = *l;
	struct gs_object pointer;
	struct gs_error *err;

	if (!is_pointer(l, e) || e->is_constant)
		return false;
	if (e->kind == GS_EXPR_BINARY && (e->op == GS_OPR_ADD || e->op == GS_OPR_SUB))
		return moved_pointer(l, e, obj);
	if (e->kind == GS_EXPR_CAST && e->a && is_pointer(l, e->a))
		return known_pointer(l, e->a, obj);
	if (!e->is_lvalue)
		return false;
	err = gs_lower_object(l, e, &pointer);
	l->absent = before.absent;
	l->absent_name = before.absent_name;
	l->absent_reason = before.absent_reason;
	l->absent_var = before.absent_var;
	if (err) {
		gs_error_free(err);
		return false;
	}
	return gs_object_pointee(l, &pointer, obj);
}

static struct gs_error *name_object(struct gs_lower *l, const struct gs_expr *e,
				    struct gs_object *obj)
{
	const struct gs_operand *o;

	if (!e->binding || e->binding > l->site->noperands)
		return gs_lower_error(l, e, GS_ERR_INTERNAL, "the name is bound to nothing");
	o = &l->site->operands[e->binding - 1];
	if (o->kind == GS_OPERAND_COMM)
		return gs_lower_error(l, e, GS_ERR_UNSUPPORTED,
				      "$comm is an item alone: it is recorded, not computed with");
	gs_lower_operand(l, o, obj);
	if (obj->kind == GS_OBJECT_ABSENT && l->absent == GS_STATUS_OK) {
		l->absent_name = o->name;
		l->absent_var = o->kind == GS_OPERAND_VARIABLE ? &o->var : NULL;
	}
	return NULL;
}

uint16_t gs_lower_virtual_base(struct gs_lower *l, uint16_t object, uint16_t table,
			       uint32_t distance)
{
	unsigned size = l->site->pointer_size;
	uint16_t at = binary(l, GS_OP_SUB, table, gs_plan_const(l->plan, distance));
	uint16_t offset = gs_plan_node(l->plan, GS_OP_LOAD, size, at, GS_NODE_NONE, 0);

	if (size < 8)
		offset = gs_plan_node(l->plan, GS_OP_SEXT, size, offset, GS_NODE_NONE, 0);
	return binary(l, GS_OP_ADD, object, offset);
}

static struct gs_error *member_object(struct gs_lower *l, const struct gs_expr *e,
				      struct gs_object *obj)
{
	uint64_t byte = e->bit_offset / 8;
	struct gs_object base;

	if (e->arrow && !known_pointer(l, e->a, &base)) {
		uint16_t pointer;

		GS_TRY(gs_lower_scalar(l, e->a, &pointer));
		base = memory_object(pointer);
	} else if (!e->arrow) {
		GS_TRY(gs_lower_object(l, e->a, &base));
	}
	*obj = gs_object_at(l, &base, byte);
	if (e->virtual_base) {
		if (obj->kind == GS_OBJECT_MEMORY)
			obj->node = gs_lower_virtual_base(
				l, obj->node, load_memory(l, obj->node, 0, l->site->pointer_size),
				e->virtual_base);
		else if (obj->kind == GS_OBJECT_PARTS)
			*obj = absent_object(GS_STATUS_UNAVAILABLE,
					     "a virtual base of an object that is in registers");
		return NULL;
	}
	obj->bit_size = e->bit_size;
	obj->bit_offset = e->bit_size ? e->bit_offset % 8 : 0;
	return NULL;
}

static uint64_t element_size(const struct gs_lower *l, gs_type_id id)
{
	const struct gs_type *type = gs_type_get(l->types, gs_type_strip(l->types, id));
	uint64_t size;

	if (type->kind == GS_KIND_ARRAY)
		return type->stride;
	size = gs_type_size(l->types, type->target);
	return size ? size : 1; /* void, as in GNU C */
}

static bool is_array(const struct gs_lower *l, gs_type_id id)
{
	return gs_type_get(l->types, gs_type_strip(l->types, id))->kind == GS_KIND_ARRAY;
}

static struct gs_error *index_object(struct gs_lower *l, const struct gs_expr *e,
				     struct gs_object *obj)
{
	uint64_t size = element_size(l, e->a->type);
	struct gs_object base;
	uint16_t index;

	if (is_array(l, e->a->type)) {
		GS_TRY(gs_lower_object(l, e->a, &base));
	} else if (!known_pointer(l, e->a, &base)) {
		uint16_t pointer;

		GS_TRY(gs_lower_scalar(l, e->a, &pointer));
		base = memory_object(pointer);
	}
	if (e->b->is_constant && !gs_lower_is_run_time_array(l->types, e->type)) {
		if (base.kind == GS_OBJECT_PARTS && (int64_t)e->b->number < 0)
			*obj = absent_object(GS_STATUS_BAD_RANGE, "the index is below 0");
		else
			*obj = gs_object_at(l, &base, e->b->number * size);
		return NULL;
	}
	GS_TRY(gs_lower_scalar(l, e->b, &index));
	if (base.kind == GS_OBJECT_PARTS) {
		*obj = absent_object(GS_STATUS_UNAVAILABLE,
				     "the array is in registers: only a constant index works");
		return NULL;
	}
	*obj = base;
	if (base.kind == GS_OBJECT_MEMORY) {
		uint16_t bytes = gs_plan_const(l->plan, (int64_t)size);

		if (gs_lower_is_run_time_array(l->types, e->type))
			GS_TRY(gs_lower_element_size(l, e->a, &bytes));
		bytes = binary(l, GS_OP_MUL, index, bytes);
		obj->node = gs_plan_node(l->plan, GS_OP_ADD, 8, base.node, bytes, 0);
	}
	return NULL;
}

static struct gs_error *deref_object(struct gs_lower *l, const struct gs_expr *e,
				     struct gs_object *obj)
{
	uint16_t pointer;

	/* *&x is x, wherever it is. */
	if (e->a->kind == GS_EXPR_UNARY && e->a->op == GS_OPR_ADDR)
		return gs_lower_object(l, e->a->a, obj);
	if (known_pointer(l, e->a, obj))
		return NULL;
	GS_TRY(gs_lower_scalar(l, e->a, &pointer));
	*obj = memory_object(pointer);
	return NULL;
}

struct gs_error *gs_lower_object(struct gs_lower *l, const struct gs_expr *e, struct gs_object *obj)
{
	switch (e->kind) {
	case GS_EXPR_NAME:
	case GS_EXPR_BUILTIN:
		return name_object(l, e, obj);
	case GS_EXPR_MEMBER:
		return member_object(l, e, obj);
	case GS_EXPR_INDEX:
		return index_object(l, e, obj);
	case GS_EXPR_CALL:
		if (gs_lower_is_entry(e))
			return gs_lower_entry_object(l, e, obj);
		break;
	case GS_EXPR_UNARY:
		if (e->op == GS_OPR_DEREF)
			return deref_object(l, e, obj);
		break;
	case GS_EXPR_CAST:
		/* A conversion that changes nothing but the name of the type. */
		if (e->is_lvalue && e->a)
			return gs_lower_object(l, e->a, obj);
		break;
	default:
		break;
	}
	return gs_lower_error(l, e, GS_ERR_UNSUPPORTED, "this has no place in memory or registers");
}

/* ---- ranges of elements ---- */

static struct gs_error *base_address(struct gs_lower *l, const struct gs_expr *e, bool as_array,
				     uint16_t *address)
{
	struct gs_object obj;

	if (!as_array && !known_pointer(l, e, &obj))
		return gs_lower_scalar(l, e, address);
	if (as_array)
		GS_TRY(gs_lower_object(l, e, &obj));
	if (obj.kind == GS_OBJECT_MEMORY)
		*address = obj.node;
	else if (obj.kind == GS_OBJECT_ABSENT)
		*address = gs_lower_absent(l, obj.status, obj.reason);
	else
		*address = gs_lower_absent(l, GS_STATUS_UNAVAILABLE,
					   "it is in registers, and has no elements in memory");
	return NULL;
}

static struct gs_error *end_of_slice(struct gs_lower *l, const struct gs_expr *e, uint16_t *end)
{
	const struct gs_type *type = gs_type_get(l->types, gs_type_strip(l->types, e->a->type));

	if (e->c)
		return gs_lower_scalar(l, e->c, end);
	if (type->kind != GS_KIND_ARRAY || (type->flags & GS_TYPE_COUNT_UNKNOWN))
		return gs_lower_error(
			l, e, GS_ERR_USAGE,
			"the end of the slice must be given: how long this is, is not "
			"known");
	*end = gs_plan_const(l->plan, (int64_t)type->count);
	return NULL;
}

static struct gs_error *slice_range(struct gs_lower *l, const struct gs_expr *e, uint16_t *address,
				    uint16_t *count)
{
	uint64_t size = element_size(l, e->a->type);
	uint16_t base, low = gs_plan_const(l->plan, 0), high;

	GS_TRY(base_address(l, e->a, is_array(l, e->a->type), &base));
	if (e->b)
		GS_TRY(gs_lower_scalar(l, e->b, &low));
	GS_TRY(end_of_slice(l, e, &high));
	*count = binary(l, GS_OP_SUB, high, low);
	*address = binary(l, GS_OP_ADD, base,
			  binary(l, GS_OP_MUL, low, gs_plan_const(l->plan, (int64_t)size)));
	return NULL;
}

struct gs_error *gs_lower_range(struct gs_lower *l, const struct gs_expr *e, uint16_t *address,
				uint16_t *count)
{
	*count = GS_NODE_NONE;
	if (e->kind == GS_EXPR_SLICE)
		return slice_range(l, e, address, count);
	if (e->kind == GS_EXPR_ATSIGN) {
		GS_TRY(base_address(l, e->a, true, address));
		return gs_lower_scalar(l, e->b, count);
	}
	GS_TRY(base_address(l, e->args[0], is_array(l, e->args[0]->type), address));
	return e->nargs > 1 ? gs_lower_scalar(l, e->args[1], count) : NULL;
}
