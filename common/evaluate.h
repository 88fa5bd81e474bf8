/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared steps of evaluation; private to common/evaluate*.c.
 * A checked tree and captured values go in, one value comes out.
 *
 *   evaluate.c          the walk, operators, lazy && || ?:
 *   evaluate_convert.c  casts, and arithmetic on 64-bit integers and doubles
 *   evaluate_place.c    objects: members, elements, slices, what pointers lead to
 *   evaluate_text.c     strings: comparison with literals, str, starts_with, contains
 */
#ifndef GS_COMMON_EVALUATE_H
#define GS_COMMON_EVALUATE_H

#include "common/value.h"
#include "common/value_part.h"

typedef const struct gs_evaluator evaluator;

/* A number as operators see it. */
struct gs_operand {
	bool is_real;
	uint64_t bits; /* extended to 64 by its type */
	double real;
};

/*
 * Where an object is: captured bytes and a position in them, which may be outside of them (then the
 * address can still be computed, the value not).
 */
struct gs_place {
	struct gs_value region;
	int64_t bit_offset;
	bool out_of_range; /* an index beyond a fixed array, or an offset that overflows */
	bool has_address;  /* address of the region's first byte; also where its bytes are absent */
	bool is_string;	   /* the region is the string of a char pointer: a NUL follows its bytes */
	uint64_t address;
};

/* ---- evaluate.c ---- */

/* Evaluates E as a number or pointer. False: *absent says why there is none. */
bool gs_eval_operand(evaluator *ev, const struct gs_expr *e, struct gs_operand *operand,
		     struct gs_value *absent);
/* False also when E has no truth value. */
bool gs_eval_truth(evaluator *ev, const struct gs_expr *e, bool *truth, struct gs_value *absent);
void gs_eval_bits(evaluator *ev, gs_type_id type, uint64_t bits, struct gs_value *out);
bool gs_eval_is_real(evaluator *ev, gs_type_id type);

/* ---- evaluate_convert.c ---- */

/* Cuts BITS to the size of TYPE and extends them by its sign. */
uint64_t gs_eval_extend(evaluator *ev, gs_type_id type, uint64_t bits);
/* A double as a value of float type TYPE has it. */
double gs_eval_round(evaluator *ev, gs_type_id type, double real);
void gs_eval_cast(evaluator *ev, const struct gs_expr *e, struct gs_value *out);
/* Arithmetic and bit operators on two operands whose common type is TYPE; the result has it too. */
void gs_eval_arithmetic(evaluator *ev, enum gs_expr_op op, gs_type_id type,
			const struct gs_operand *a, const struct gs_operand *b,
			struct gs_value *out);

/* ---- evaluate_place.c ---- */

/* The object that lvalue E designates. */
void gs_eval_place(evaluator *ev, const struct gs_expr *e, struct gs_place *place);
/* The object that pointer (or array) E leads to. */
void gs_eval_pointed(evaluator *ev, const struct gs_expr *e, struct gs_place *place);
void gs_eval_read(evaluator *ev, const struct gs_place *place, gs_type_id type, uint32_t bit_size,
		  struct gs_value *out);
void gs_eval_slice(evaluator *ev, const struct gs_expr *e, struct gs_value *out);
void gs_eval_address_of(evaluator *ev, const struct gs_expr *e, struct gs_value *out);
/* Bytes of what a pointer or array of type ID leads to; void and functions count as one byte. */
uint64_t gs_eval_element_size(evaluator *ev, gs_type_id id);
/* COUNT bytes at PLACE as TYPE; what is there is TRUNCATED when there is less. */
void gs_eval_bytes(const struct gs_place *place, gs_type_id type, uint64_t count,
		   struct gs_value *out);

/* ---- evaluate_text.c ---- */

/* Whether comparison E has a string literal on one side. */
bool gs_eval_is_text_comparison(const struct gs_expr *e);
void gs_eval_text_comparison(evaluator *ev, const struct gs_expr *e, struct gs_value *out);
void gs_eval_call(evaluator *ev, const struct gs_expr *e, struct gs_value *out);

#endif
