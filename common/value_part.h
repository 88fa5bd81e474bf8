/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of values, for the files that take them apart together: value.c and evaluate*.c.
 * Between captured bytes and the evaluation of expressions over them.
 */
#ifndef GS_COMMON_VALUE_PART_H
#define GS_COMMON_VALUE_PART_H

#include "common/value.h"

struct gs_part {
	gs_type_id type;
	uint64_t bit_offset; /* as in struct gs_member */
	uint32_t bit_size;   /* 0: not a bit-field */
};

/* The part of V's bytes, with V's status where V is absent, NOT_COLLECTED where the bytes end
 * before. */
void gs_value_part(const struct gs_value_source *src, const struct gs_value *v,
		   const struct gs_part *part, struct gs_value *out);
void gs_value_absent(struct gs_value *out, gs_type_id type, unsigned status);
/* gs_type_size, with the source's pointer size for pointers that do not say theirs. */
uint64_t gs_value_type_size(const struct gs_value_source *src, gs_type_id id);

/* Cuts BITS to the size of TYPE and extends them by its sign. */
uint64_t gs_value_extend(const struct gs_value_source *src, gs_type_id type, uint64_t bits);

/*
 * mantissa * 2^exponent, rounded once (nearest, even) to PRECISION (at most 53) bits of which the
 * last is worth at least 2^exponent_min.
 */
double gs_round_binary(unsigned __int128 mantissa, int exponent, int precision, int exponent_min);

#endif
