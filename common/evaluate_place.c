/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects of evaluation: members, elements, slices, and what captured pointers lead to.
 * Called by the walk in evaluate.c; the bytes come from the source's items and followed pointers.
 *
 * `&x', casts of pointers and pointer arithmetic do not lose sight of the bytes: *(&s.a[1] + 2) is
 * read from where s was captured. Reading outside of captured bytes is NOT_COLLECTED.
 */
#include "common/evaluate.h"

static const struct gs_type *type_of(evaluator *ev, gs_type_id id)
{
	return gs_type_get(ev->src->types, gs_type_strip(ev->src->types, id));
}

static bool is_address(unsigned kind)
{
	return kind == GS_KIND_POINTER || kind == GS_KIND_REFERENCE ||
	       kind == GS_KIND_RVALUE_REFERENCE || kind == GS_KIND_UNSPECIFIED;
}

uint64_t gs_eval_element_size(evaluator *ev, gs_type_id id)
{
	const struct gs_type *type = type_of(ev, id);
	unsigned kind;

	if (type->kind == GS_KIND_ARRAY)
		return type->stride;
	kind = type_of(ev, type->target)->kind;
	if (kind == GS_KIND_VOID || kind == GS_KIND_FUNCTION)
		return 1;
	return gs_value_type_size(ev->src, type->target);
}

/* ---- positions ---- */

static void place_of(const struct gs_value *v, struct gs_place *place)
{
	*place = (struct gs_place){
		.region = *v, .has_address = v->has_address, .address = v->address};
}

static void move_bits(struct gs_place *place, int64_t bits)
{
	if (__builtin_add_overflow(place->bit_offset, bits, &place->bit_offset))
		place->out_of_range = true;
}

/* By COUNT elements of SIZE bytes. */
static void move_elements(struct gs_place *place, int64_t count, uint64_t size)
{
	int64_t bytes, bits;

	if (size > INT64_MAX || __builtin_mul_overflow(count, (int64_t)size, &bytes) ||
	    __builtin_mul_overflow(bytes, (int64_t)8, &bits))
		place->out_of_range = true;
	else
		move_bits(place, bits);
}

static void set_absent(struct gs_place *place, const struct gs_value *absent)
{
	*place = (struct gs_place){.region = *absent};
}

/* ---- following pointers ---- */

static bool is_unknown_char_array(evaluator *ev, gs_type_id id)
{
	return gs_type_is_char_array(ev->src->types, id) &&
	       (type_of(ev, id)->flags & GS_TYPE_COUNT_UNKNOWN);
}

static void follow(evaluator *ev, const struct gs_value *pointer, struct gs_place *place)
{
	struct gs_value pointee = {.item = -1};
	uint64_t address;
	bool known = gs_value_scalar(ev->src, pointer, &address);

	if (!known || pointer->item < 0 || !ev->src->follow ||
	    !ev->src->follow(ev->src->ctx, pointer->item, pointer->item_offset, &pointee))
		gs_value_absent(&pointee, GS_TYPE_VOID, GS_STATUS_NOT_COLLECTED);
	if (!known && !gs_status_has_data(pointer->status))
		pointee = *pointer;
	*place = (struct gs_place){.region = pointee,
				   .has_address = known,
				   .address = known ? address : 0,
				   .is_string =
					   pointee.status == GS_STATUS_OK &&
					   gs_type_is_char_pointer(ev->src->types, pointer->type) &&
					   is_unknown_char_array(ev, pointee.type)};
}

static bool eval_count(evaluator *ev, const struct gs_expr *e, struct gs_place *place, int64_t *n)
{
	struct gs_operand o;
	struct gs_value absent;

	if (!gs_eval_operand(ev, e, &o, &absent)) {
		set_absent(place, &absent);
		return false;
	}
	/* An unsigned number beyond INT64_MAX is no index of anything. */
	if ((int64_t)o.bits < 0 && !gs_type_is_signed(ev->src->types, e->type))
		place->out_of_range = true;
	*n = (int64_t)o.bits;
	return true;
}

/* pointer + n, n + pointer, pointer - n: moves from where the pointer leads to. */
static void pointed_by_sum(evaluator *ev, const struct gs_expr *e, struct gs_place *place)
{
	bool swapped = gs_type_is_integral(ev->src->types, e->a->type);
	const struct gs_expr *pointer = swapped ? e->b : e->a, *count = swapped ? e->a : e->b;
	int64_t n;

	gs_eval_pointed(ev, pointer, place);
	if (!eval_count(ev, count, place, &n))
		return;
	if (e->op == GS_OPR_SUB && n == INT64_MIN)
		place->out_of_range = true;
	else
		move_elements(place, e->op == GS_OPR_SUB ? -n : n,
			      gs_eval_element_size(ev, pointer->type));
}

static void pointed_by_choice(evaluator *ev, const struct gs_expr *e, struct gs_place *place)
{
	struct gs_value absent;
	bool truth;

	if (gs_eval_truth(ev, e->a, &truth, &absent))
		gs_eval_pointed(ev, truth ? e->b : e->c, place);
	else
		set_absent(place, &absent);
}

void gs_eval_pointed(evaluator *ev, const struct gs_expr *e, struct gs_place *place)
{
	struct gs_value pointer;

	if (type_of(ev, e->type)->kind == GS_KIND_ARRAY) {
		gs_eval_place(ev, e, place);
	} else if (e->kind == GS_EXPR_UNARY && e->op == GS_OPR_ADDR) {
		gs_eval_place(ev, e->a, place);
	} else if (e->kind == GS_EXPR_CAST && (is_address(type_of(ev, e->a->type)->kind) ||
					       type_of(ev, e->a->type)->kind == GS_KIND_ARRAY)) {
		gs_eval_pointed(ev, e->a, place);
	} else if (e->kind == GS_EXPR_BINARY && (e->op == GS_OPR_ADD || e->op == GS_OPR_SUB)) {
		pointed_by_sum(ev, e, place);
	} else if (e->kind == GS_EXPR_COND) {
		pointed_by_choice(ev, e, place);
	} else if (e->kind == GS_EXPR_CALL && strcmp(e->name, "container_of") == 0 && e->nargs) {
		gs_eval_pointed(ev, e->args[0], place);
		move_bits(place, -(int64_t)e->bit_offset);
	} else {
		gs_evaluate(ev, e, &pointer);
		follow(ev, &pointer, place);
	}
}

/* ---- places ---- */

static void place_of_element(evaluator *ev, const struct gs_expr *e, struct gs_place *place)
{
	bool swapped = gs_type_is_integral(ev->src->types, e->a->type);
	const struct gs_expr *base = swapped ? e->b : e->a, *index = swapped ? e->a : e->b;
	const struct gs_type *array = type_of(ev, base->type);
	int64_t i;

	gs_eval_pointed(ev, base, place);
	if (!eval_count(ev, index, place, &i))
		return;
	if (array->kind == GS_KIND_ARRAY &&
	    (i < 0 || (!(array->flags & GS_TYPE_COUNT_UNKNOWN) && (uint64_t)i >= array->count)))
		place->out_of_range = true;
	move_elements(place, i, gs_eval_element_size(ev, base->type));
}

/* PLACE is the class that has the base. */
static void place_of_virtual_base(evaluator *ev, const struct gs_expr *e, struct gs_place *place)
{
	const struct gs_value *v = &place->region;
	uint64_t offset = v->item_offset + (uint64_t)place->bit_offset / 8;
	struct gs_value base;

	if (!gs_status_has_data(v->status))
		return;
	if (place->bit_offset < 0 || !ev->src->virtual_base || v->item < 0 ||
	    !ev->src->virtual_base(ev->src->ctx, v->item, offset, e->type, &base))
		gs_value_absent(&base, e->type, GS_STATUS_NOT_COLLECTED);
	place_of(&base, place);
}

void gs_eval_place(evaluator *ev, const struct gs_expr *e, struct gs_place *place)
{
	struct gs_value v;

	switch (e->kind) {
	case GS_EXPR_MEMBER:
		if (e->arrow)
			gs_eval_pointed(ev, e->a, place);
		else
			gs_eval_place(ev, e->a, place);
		move_bits(place, (int64_t)e->bit_offset);
		if (e->virtual_base)
			place_of_virtual_base(ev, e, place);
		return;
	case GS_EXPR_INDEX:
		place_of_element(ev, e, place);
		return;
	case GS_EXPR_UNARY:
		if (e->op == GS_OPR_DEREF) {
			gs_eval_pointed(ev, e->a, place);
			return;
		}
		break;
	default:
		break;
	}
	gs_evaluate(ev, e, &v);
	place_of(&v, place);
}

/* The NUL behind a complete string is not stored, but it is known. */
static bool is_terminator(evaluator *ev, const struct gs_place *place, gs_type_id type)
{
	return place->is_string && !place->out_of_range &&
	       place->bit_offset == (int64_t)place->region.len * 8 &&
	       gs_type_is_integral(ev->src->types, type) && gs_value_type_size(ev->src, type) == 1;
}

void gs_eval_read(evaluator *ev, const struct gs_place *place, gs_type_id type, uint32_t bit_size,
		  struct gs_value *out)
{
	struct gs_part part = {type, (uint64_t)place->bit_offset, bit_size};

	if (!gs_status_has_data(place->region.status)) {
		gs_value_part(ev->src, &place->region, &part, out);
	} else if (place->out_of_range) {
		gs_value_absent(out, type, GS_STATUS_BAD_RANGE);
	} else if (place->bit_offset < 0) {
		gs_value_absent(out, type, GS_STATUS_NOT_COLLECTED);
	} else if (is_terminator(ev, place, type)) {
		gs_eval_bits(ev, type, 0, out);
	} else {
		gs_value_part(ev->src, &place->region, &part, out);
		if (place->has_address && gs_status_has_data(out->status)) {
			out->has_address = true;
			out->address = place->address + part.bit_offset / 8;
		}
	}
}

void gs_eval_address_of(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	struct gs_place place;

	gs_eval_place(ev, e->a, &place);
	if (place.has_address) {
		/* Of `&a[n]' only the address counts: one past the end is fine. */
		gs_eval_bits(ev, e->type, place.address + (uint64_t)(place.bit_offset / 8), out);
	} else if (!gs_status_has_data(place.region.status)) {
		*out = place.region;
		out->type = e->type;
	} else {
		gs_value_absent(out, e->type, GS_STATUS_UNAVAILABLE);
		out->reason = "its address was not captured";
	}
}

/* ---- slices ---- */

void gs_eval_bytes(const struct gs_place *place, gs_type_id type, uint64_t count,
		   struct gs_value *out)
{
	const struct gs_value *region = &place->region;
	uint64_t offset = (uint64_t)place->bit_offset / 8, left;

	if (!gs_status_has_data(region->status)) {
		*out = *region;
		out->type = type;
		return;
	}
	if (place->out_of_range) {
		gs_value_absent(out, type, GS_STATUS_BAD_RANGE);
		return;
	}
	left = place->bit_offset >= 0 && offset < region->len ? region->len - offset : 0;
	if (place->bit_offset % 8 || region->in_bits || (count && !left)) {
		gs_value_absent(out, type, GS_STATUS_NOT_COLLECTED);
		return;
	}
	*out = (struct gs_value){
		.type = type,
		.status = count <= left				? GS_STATUS_OK
			  : region->status == GS_STATUS_PARTIAL ? GS_STATUS_PARTIAL
								: GS_STATUS_TRUNCATED,
		.data = left ? region->data + offset : region->data,
		.len = (size_t)(count < left ? count : left),
		.has_address = place->has_address,
		.address = place->has_address ? place->address + offset : 0,
		.item = region->item,
		.item_offset = region->item_offset + offset,
	};
}

/* Where a slice without an end stops: a fixed array's count, else what was captured. */
static int64_t default_end(evaluator *ev, const struct gs_expr *base, const struct gs_place *place,
			   uint64_t size)
{
	const struct gs_type *array = type_of(ev, base->type);
	int64_t bytes = place->bit_offset / 8, len = (int64_t)place->region.len;

	if (array->kind == GS_KIND_ARRAY && !(array->flags & GS_TYPE_COUNT_UNKNOWN))
		return array->count > INT64_MAX ? INT64_MAX : (int64_t)array->count;
	return size && size <= INT64_MAX && len > bytes ? (len - bytes) / (int64_t)size : 0;
}

/* a[lo:hi], and a@n as &a[0:n]. */
void gs_eval_slice(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	bool is_slice = e->kind == GS_EXPR_SLICE;
	const struct gs_type *array = type_of(ev, e->a->type);
	uint64_t size = gs_eval_element_size(ev, e->type), bytes = 0;
	const struct gs_expr *low = is_slice ? e->b : NULL, *high = is_slice ? e->c : e->b;
	struct gs_place place;
	int64_t lo = 0, hi;

	if (is_slice)
		gs_eval_pointed(ev, e->a, &place);
	else
		gs_eval_place(ev, e->a, &place);
	hi = default_end(ev, e->a, &place, size);
	if ((low && !eval_count(ev, low, &place, &lo)) ||
	    (high && !eval_count(ev, high, &place, &hi)) ||
	    !gs_status_has_data(place.region.status)) {
		gs_eval_bytes(&place, e->type, 0, out);
		return;
	}
	if (hi < lo || __builtin_mul_overflow((uint64_t)(hi - lo), size, &bytes) ||
	    (is_slice && array->kind == GS_KIND_ARRAY &&
	     (lo < 0 || (!(array->flags & GS_TYPE_COUNT_UNKNOWN) && (uint64_t)hi > array->count))))
		place.out_of_range = true;
	move_elements(&place, lo, size);
	gs_eval_bytes(&place, e->type, place.out_of_range ? 0 : bytes, out);
}
