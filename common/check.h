/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * State and shared steps of the type checker of expressions.
 * Private to common/check*.c and fold.c: an untyped tree and a scope go in, a typed tree comes out.
 *
 * Steps are in place: a slot is the pointer in the parent to the operand, so that a step can put an
 * implicit node between the two.
 */
#ifndef GS_COMMON_CHECK_H
#define GS_COMMON_CHECK_H

#include "common/expr.h"

struct gs_checker {
	const struct gs_scope *scope;
	struct gs_types *types;
	struct gs_arena *arena;
	const char *text;
	bool in_entry; /* inside $entry(...) */
};

/* ---- check.c ---- */

/* An error at the span of E. */
struct gs_error *gs_check_error(const struct gs_checker *c, const struct gs_expr *e,
				enum gs_error_code code, const char *fmt, ...) GS_PRINTF(4, 5);
/* A type in C syntax, in the arena. */
const char *gs_check_type_text(const struct gs_checker *c, gs_type_id id);
/* The type itself, typedefs and qualifiers taken off. */
const struct gs_type *gs_check_stripped(const struct gs_checker *c, gs_type_id id);
struct gs_error *gs_check_expr(struct gs_checker *c, struct gs_expr *e);

/* ---- check_type.c: types by name and by shape ---- */

struct gs_error *gs_check_int_type(struct gs_checker *c, unsigned size, bool is_signed,
				   gs_type_id *id);
struct gs_error *gs_check_float_type(struct gs_checker *c, unsigned size, gs_type_id *id);
/* C's `char' of the target: its sign is the ABI's. */
struct gs_error *gs_check_char_type(struct gs_checker *c, gs_type_id *id);
/* The integer types of the size of a pointer: ptrdiff_t, size_t. */
struct gs_error *gs_check_ptrdiff_type(struct gs_checker *c, gs_type_id *id);
struct gs_error *gs_check_size_type(struct gs_checker *c, gs_type_id *id);
struct gs_error *gs_check_pointer_to(struct gs_checker *c, gs_type_id target, gs_type_id *id);
/* Array of COUNT elements, or of an unknown number; STRIDE bytes from one to the next. */
struct gs_error *gs_check_array_of(struct gs_checker *c, gs_type_id element, uint64_t stride,
				   const uint64_t *count, gs_type_id *id);
/* A base type of C by its canonical name ("unsigned long"); *known is false for any other name. */
struct gs_error *gs_check_base_type(struct gs_checker *c, const char *name, gs_type_id *id,
				    bool *known);
/* size_t and the types of <stdint.h>: taken for types also where the program does not say so. */
bool gs_check_is_known_typedef(const char *name);
/* A type as written; E is for the span of errors. */
struct gs_error *gs_check_type_name(struct gs_checker *c, const struct gs_expr *e,
				    const struct gs_type_name *name, gs_type_id *id);

/* ---- check_convert.c: what C does to operands ---- */

enum gs_arith_class { GS_ARITH_NONE, GS_ARITH_INT, GS_ARITH_FLOAT };
struct gs_arith {
	enum gs_arith_class class;
	uint8_t size;
	bool is_signed;
};
struct gs_arith gs_check_arith(const struct gs_checker *c, gs_type_id id);
/* POINTER, or nullptr_t. */
bool gs_check_is_pointer(const struct gs_checker *c, gs_type_id id);
/* Whether the object E has an address in memory. */
bool gs_check_has_address(const struct gs_expr *e);
/* An implicit node over *SLOT. */
struct gs_expr *gs_check_wrap(struct gs_checker *c, enum gs_expr_kind kind, enum gs_expr_op op,
			      struct gs_expr *operand, gs_type_id type);
/* Checks an operand; a C++ reference becomes its referent. Arrays and strings stay what they are.
 */
struct gs_error *gs_check_operand(struct gs_checker *c, struct gs_expr **slot);
/* Arrays and functions become pointers; a string literal is an error. */
struct gs_error *gs_check_decay(struct gs_checker *c, struct gs_expr **slot);
/* Both: what C calls the value of an operand. */
struct gs_error *gs_check_value(struct gs_checker *c, struct gs_expr **slot);
/* And it must be a number or pointer that gs computes with; WHAT is for the message. */
struct gs_error *gs_check_scalar(struct gs_checker *c, struct gs_expr **slot, const char *what);
/* And an integer. */
struct gs_error *gs_check_integer(struct gs_checker *c, struct gs_expr **slot, const char *what);
/* An integer converted to ptrdiff_t (indices, counts, limits): of a checked operand, or with its
 * check. No node may be checked twice: that would be exponential in the depth of nested indices. */
struct gs_error *gs_check_to_index(struct gs_checker *c, struct gs_expr **slot, const char *what);
struct gs_error *gs_check_index(struct gs_checker *c, struct gs_expr **slot, const char *what);
/* The error for an operand that is no number (or pointer), with the reason for its type. */
struct gs_error *gs_check_not_scalar(struct gs_checker *c, const struct gs_expr *e,
				     const char *what);
/* Puts an implicit CAST to TYPE unless the representation is the same already. */
void gs_check_convert(struct gs_checker *c, struct gs_expr **slot, gs_type_id type);
/* C 6.3.1.1: the integer promotions of a checked arithmetic operand. */
struct gs_error *gs_check_promote(struct gs_checker *c, struct gs_expr **slot);
/* C 6.3.1.8: the usual arithmetic conversions of two checked arithmetic operands. */
struct gs_error *gs_check_usual(struct gs_checker *c, struct gs_expr **a, struct gs_expr **b,
				gs_type_id *type);

/* ---- check_access.c: objects ---- */

struct gs_error *gs_check_member(struct gs_checker *c, struct gs_expr *e);
struct gs_error *gs_check_indexing(struct gs_checker *c, struct gs_expr *e);
struct gs_error *gs_check_atsign(struct gs_checker *c, struct gs_expr *e);
struct gs_error *gs_check_deref(struct gs_checker *c, struct gs_expr *e);
struct gs_error *gs_check_address_of(struct gs_checker *c, struct gs_expr *e);
/* Bytes of what the pointer or array type ID leads to; E is for the span. void counts as 1 byte if
 * VOID_IS_BYTE (pointer arithmetic of GNU C), else it is an error. */
struct gs_error *gs_check_element(struct gs_checker *c, const struct gs_expr *e, gs_type_id id,
				  bool void_is_byte, gs_type_id *element, uint64_t *size);

/* ---- check_member.c ---- */

/* The member NAME (which may be Base::name) of aggregate ID, with errors at E. */
struct gs_error *gs_check_find_member(struct gs_checker *c, const struct gs_expr *e, gs_type_id id,
				      const char *name, struct gs_member *member,
				      uint64_t *bit_offset);
/* A static member NAME of class ID or of its bases: E becomes the variable. */
struct gs_error *gs_check_static_member(struct gs_checker *c, struct gs_expr *e, gs_type_id id,
					bool *found);
/* A name that the scope found. */
void gs_check_set_symbol(struct gs_checker *c, struct gs_expr *e, const struct gs_symbol *sym);
/* A designator (`link.next') in aggregate ID: sets the types of its nodes; its offset in bits. */
struct gs_error *gs_check_designator(struct gs_checker *c, struct gs_expr *e, gs_type_id id,
				     uint64_t *bit_offset);

/* ---- check_operator.c ---- */

struct gs_error *gs_check_unary(struct gs_checker *c, struct gs_expr *e);
struct gs_error *gs_check_binary(struct gs_checker *c, struct gs_expr *e);
struct gs_error *gs_check_cond(struct gs_checker *c, struct gs_expr *e);
struct gs_error *gs_check_cast(struct gs_checker *c, struct gs_expr *e);
struct gs_error *gs_check_sizeof(struct gs_checker *c, struct gs_expr *e);

/* ---- check_compare.c ---- */

struct gs_error *gs_check_compare(struct gs_checker *c, struct gs_expr *e);
/* Whether a value of type ID is text for comparison: an array of, or pointer to, a character type.
 */
bool gs_check_is_text(const struct gs_checker *c, gs_type_id id);
/* A string object of a library becomes the pointer to its characters, up to the first NUL. */
struct gs_error *gs_check_container_text(struct gs_checker *c, struct gs_expr **slot);
/* The literal operand of a comparison, starts_with or contains. */
struct gs_error *gs_check_literal(struct gs_checker *c, const struct gs_expr *literal);

/* ---- check_call.c ---- */

struct gs_error *gs_check_call(struct gs_checker *c, struct gs_expr *e);

/* ---- fold.c ---- */

/* BITS as a value of type ID: cut to its size, and extended to 64 bits by its sign. */
uint64_t gs_fold_extend(const struct gs_checker *c, gs_type_id id, uint64_t bits);
/* Sets is_constant and the value of a typed node whose operands are folded. */
void gs_fold(const struct gs_checker *c, struct gs_expr *e);

#endif
