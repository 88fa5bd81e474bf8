/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values: typed bytes with a status, and evaluation of checked expressions over them.
 * In the flow: format/ gives columns of captured bytes, report/ wraps them as values and renders or
 * aggregates them; tests use the same code to say what the probe should have computed.
 */
#ifndef GS_COMMON_VALUE_H
#define GS_COMMON_VALUE_H

#include "common/expr.h"
#include "common/status.h"
#include "common/type.h"

/*
 * An object, borrowed from a column or made by evaluation. `bits' is used for scalars made by
 * evaluation and for bit-fields (in_bits); else `data' points to `len' captured bytes (may be fewer
 * than the type's size when truncated).
 */
struct gs_value {
	gs_type_id type;
	uint8_t status;	  /* enum gs_status */
	bool in_bits;	  /* scalar in `bits' (or `real' for floats) rather than in data */
	bool has_address; /* `address' is where it was in the target */
	uint64_t bits;	  /* sign- or zero-extended to 64 by the type */
	double real;
	const uint8_t *data;
	size_t len;
	uint64_t address;   /* of the object in the target; with FAULT: the faulting address */
	const char *reason; /* UNAVAILABLE: "in xmm0"; may be NULL */
	/*
	 * Where followed pointers and strings come from: item index and byte offset of this value
	 * inside that item's captured bytes; -1 when it does not come from an item.
	 */
	int32_t item;
	uint64_t item_offset;
};

/* What the values of an event hang together by. Implemented by report/ over columns, by tests by
 * hand. */
struct gs_value_source {
	const struct gs_types *types;
	bool big_endian;
	uint8_t pointer_size;
	void *ctx;
	/* The captured pointee (string bytes, struct) of the pointer at offset OFFSET of item ITEM;
	 * false if none was planned. The value's own status tells whether it could be read. */
	bool (*follow)(void *ctx, int32_t item, uint64_t offset, struct gs_value *pointee);
	/* The captured virtual base TYPE of the class at OFFSET of ITEM; as `follow'. May be NULL.
	 */
	bool (*virtual_base)(void *ctx, int32_t item, uint64_t offset, gs_type_id type,
			     struct gs_value *base);
};

/* Integer or pointer or bool or enum as 64 bits (extended by its type). False if not ok or > 8
 * bytes. */
bool gs_value_scalar(const struct gs_value_source *src, const struct gs_value *v, uint64_t *bits);
/* FLOAT kinds as double (x87 and binary128 are rounded). */
bool gs_value_real(const struct gs_value_source *src, const struct gs_value *v, double *real);
enum gs_variant_state {
	GS_VARIANT_ACTIVE,
	GS_VARIANT_OTHER,   /* another variant is there */
	GS_VARIANT_UNKNOWN, /* the discriminant was not recorded */
};
/* Whether the VARIANT member I of an aggregate is there. */
enum gs_variant_state gs_value_variant(const struct gs_value_source *src, const struct gs_value *v,
				       uint32_t i);
/* Member I of an aggregate; sets status TRUNCATED-absent (NOT_COLLECTED) when beyond the bytes. */
void gs_value_member(const struct gs_value_source *src, const struct gs_value *v, uint32_t i,
		     struct gs_value *out);
/* Element I of an array. */
void gs_value_element(const struct gs_value_source *src, const struct gs_value *v, uint64_t i,
		      struct gs_value *out);
/* Elements that are there: of a fixed array its count, of a slice what was captured. */
uint64_t gs_value_count(const struct gs_value_source *src, const struct gs_value *v);
/* Enumerator names: "RD|WR" for flag enums, one name, or false when unknown (print the number). */
bool gs_enum_name(struct gs_buf *out, const struct gs_type *type, uint64_t bits);

/*
 * Evaluates a checked tree. LOOKUP gives the value of NAME and BUILTIN nodes (by their binding).
 * The result's status says why there is none. Semantics are C's with -fwrapv; division by zero,
 * INT_MIN/-1, and shifts out of range give their status. && || ?: evaluate only what they need.
 */
struct gs_evaluator {
	const struct gs_value_source *src;
	void *ctx;
	void (*lookup)(void *ctx, const struct gs_expr *e, struct gs_value *out);
};
void gs_evaluate(const struct gs_evaluator *ev, const struct gs_expr *e, struct gs_value *out);

#endif
