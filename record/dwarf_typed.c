/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Typed operations of DWARF expressions (DWARF 5, section 2.5.1): constants, conversions. Under
 * dwarf_expr.c. Floating-point numbers are carried as their bits; what would compute with them is
 * refused by name, for the plan has no such arithmetic.
 */
#include "record/dwarf_internal.h"

bool gs_typed_base(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *op,
		   const char *what, struct gs_place_value *out)
{
	Dwarf_Die die;
	Dwarf_Attribute at;
	Dwarf_Word encoding;
	const char *name;
	int size;

	if (!attr || dwarf_getlocation_die(attr, op, &die) != 0 ||
	    !dwarf_attr(&die, DW_AT_encoding, &at) || dwarf_formudata(&at, &encoding) != 0)
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "%s", what);
	name = dwarf_diename(&die) ? dwarf_diename(&die) : "an unknown type";
	size = dwarf_bytesize(&die);
	if (size < 1 || size > 8)
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "%s to %s of %d bytes", what, name,
				   size);
	out->is_signed = out->is_float = false;
	switch (encoding) {
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		out->is_signed = true;
		break;
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_boolean:
	case DW_ATE_address:
	case DW_ATE_UTF:
		break;
	case DW_ATE_float:
		out->is_float = true;
		break;
	default:
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "%s to %s", what, name);
	}
	out->size = (uint8_t)size;
	return true;
}

uint16_t gs_typed_extend(struct gs_evaluation *ev, const struct gs_place_value *type, uint16_t node)
{
	unsigned width = type->size ? type->size : ev->c->m->info.pointer_size;
	bool is_signed = type->size && type->is_signed;
	uint16_t shift;

	if (width >= 8)
		return node;
	if ((width & (width - 1)) == 0)
		return gs_plan_node(ev->plan, is_signed ? GS_OP_SEXT : GS_OP_ZEXT, width, node,
				    GS_NODE_NONE, 0);
	shift = gs_plan_const(ev->plan, 64 - 8 * (int64_t)width);
	node = gs_plan_node(ev->plan, GS_OP_SHL, 8, node, shift, 0);
	return gs_plan_node(ev->plan, is_signed ? GS_OP_SAR : GS_OP_SHR, 8, node, shift, 0);
}

bool gs_typed_convert(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *op,
		      bool reinterpret)
{
	struct gs_place_value type = {0}, *v;
	unsigned word = ev->c->m->info.pointer_size;

	if (!ev->depth)
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "a damaged location expression");
	v = &ev->stack[ev->depth - 1];
	if (op->number && !gs_typed_base(ev, attr, op, "DW_OP_convert", &type))
		return false;
	if (reinterpret && (type.size ? type.size : word) != (v->size ? v->size : word))
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "DW_OP_reinterpret to another size");
	if (!reinterpret && (type.is_float || v->is_float) &&
	    (type.is_float != v->is_float || type.size != v->size))
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE,
				   "DW_OP_convert of a floating-point number");
	type.node = gs_typed_extend(ev, &type, v->node);
	*v = type;
	return true;
}

bool gs_typed_constant(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *op,
		       struct gs_place_value *out)
{
	struct gs_place_value type = {0};
	Dwarf_Attribute value;
	Dwarf_Block block;
	uint64_t v = 0;

	if (!gs_typed_base(ev, attr, op, "DW_OP_const_type", &type))
		return false;
	if (dwarf_getlocation_attr(attr, op, &value) != 0 || dwarf_formblock(&value, &block) != 0 ||
	    block.length != type.size)
		return gs_no_value(ev, GS_STATUS_UNAVAILABLE, "DW_OP_const_type");
	for (unsigned i = 0; i < type.size; i++)
		v |= (uint64_t)block.data[ev->c->m->info.big_endian ? type.size - 1 - i : i]
		     << (8 * i);
	type.node = gs_typed_extend(ev, &type, gs_plan_const(ev->plan, (int64_t)v));
	*out = type;
	return true;
}
