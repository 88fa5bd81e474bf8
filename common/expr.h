/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one expression language: C expressions in probes ({ req->uri }, if n > 3) and in reports
 * (--where, --hist) are lexed, parsed and type-checked here; record/ lowers the checked tree to a
 * capture plan, report/ evaluates it over captured values.
 *
 *   text -> gs_expr_parse -> tree -> gs_expr_check(scope) -> typed tree -> lowered | evaluated
 *
 * All trees live in an arena and are immutable after checking. Offsets in nodes are bytes in the
 * text that was parsed, so that every later error has its caret.
 */
#ifndef GS_COMMON_EXPR_H
#define GS_COMMON_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "common/type.h"

/* ---- tokens (also used by the probe front end for items after the place) ---- */

enum gs_tok_kind {
	GS_TOK_END,
	GS_TOK_NAME,   /* identifier, with C++ scopes (a::b) and template arguments as far as
			  unambiguous */
	GS_TOK_DOLLAR, /* $name: text includes the $ */
	GS_TOK_NUMBER, /* integer literal, any C base and suffix, also 0b and ' separators */
	GS_TOK_FLOAT,  /* floating literal, decimal and hexadecimal */
	GS_TOK_CHAR,   /* 'x' */
	GS_TOK_STRING, /* "x" */
	GS_TOK_QUOTED, /* 'quoted name' of more than one character that is not an escape: a name */
	GS_TOK_PUNCT,  /* operator; `op' tells */
};

struct gs_tok {
	enum gs_tok_kind kind;
	size_t start, len;  /* in the text */
	char op[4];	    /* PUNCT: "->", ">>", "&&", "." ... NUL-terminated */
	uint64_t number;    /* NUMBER, CHAR */
	bool is_unsigned;   /* NUMBER: u suffix, or hex/octal that does not fit signed */
	uint8_t width;	    /* NUMBER: 4 or 8 by C's rules (LP64) and suffix */
	double real;	    /* FLOAT */
	bool is_float;	    /* FLOAT: f suffix */
	const char *string; /* STRING, NAME, DOLLAR, QUOTED: decoded bytes in the arena */
	size_t string_len;
};

struct gs_lexer {
	const char *text; /* whole source, for errors */
	size_t pos, end;
	struct gs_arena *arena;
};
/* Next token; lexical faults (bad escape, unterminated string, number too large) are errors with
 * span. */
struct gs_error *gs_lex_next(struct gs_lexer *lex, struct gs_tok *tok);

/* ---- tree ---- */

enum gs_expr_kind {
	GS_EXPR_NUMBER,	 /* number, type by C's rules */
	GS_EXPR_FLOAT,	 /* real */
	GS_EXPR_STRING,	 /* string, string_len: only where a comparison or built-in takes it */
	GS_EXPR_NAME,	 /* variable; qualifier may be set (file or function) */
	GS_EXPR_BUILTIN, /* $pid, $rdi, $retval ...: name without $ */
	GS_EXPR_MEMBER,	 /* a . name ; arrow: a -> name */
	GS_EXPR_INDEX,	 /* a [ b ] */
	GS_EXPR_SLICE,	 /* a [ b : c ], b and c may be NULL */
	GS_EXPR_ATSIGN,	 /* a @ b : b elements starting at lvalue a (gdb: *p@n) */
	GS_EXPR_UNARY,	 /* op a : + - ~ ! * & */
	GS_EXPR_BINARY,	 /* a op b : arithmetic, bit, shift, comparison, && || */
	GS_EXPR_COND,	 /* a ? b : c */
	GS_EXPR_CAST,	 /* (type) a */
	GS_EXPR_SIZEOF,	 /* number after checking */
	GS_EXPR_CALL,	 /* built-in function: name, args */
};

enum gs_expr_op {
	GS_OPR_NONE,
	GS_OPR_POS,
	GS_OPR_NEG,
	GS_OPR_BITNOT,
	GS_OPR_NOT,
	GS_OPR_DEREF,
	GS_OPR_ADDR,
	GS_OPR_MUL,
	GS_OPR_DIV,
	GS_OPR_MOD,
	GS_OPR_ADD,
	GS_OPR_SUB,
	GS_OPR_SHL,
	GS_OPR_SHR,
	GS_OPR_LT,
	GS_OPR_LE,
	GS_OPR_GT,
	GS_OPR_GE,
	GS_OPR_EQ,
	GS_OPR_NE,
	GS_OPR_AND,
	GS_OPR_XOR,
	GS_OPR_OR,
	GS_OPR_LAND,
	GS_OPR_LOR,
};

/* A type as written: `struct req **', `unsigned long', `u64 [4]'. */
struct gs_type_name {
	const char *base;   /* "struct req", "unsigned long" (canonical order), "ns::T<int>" */
	uint32_t npointers; /* number of * */
	uint32_t nouter;    /* number of * in `T (*)[4]': pointers to the array */
	uint64_t dims[4];   /* array dimensions, outermost first */
	uint32_t ndims;
	bool is_const;
};

/*
 * What the parser leaves in the fields of each kind, beyond the obvious:
 *  NUMBER, FLOAT  type_name is the literal's type ("int", "unsigned int", "long", "unsigned long",
 * "float", "double"); a character literal is an "int" with its byte in string, string_len = 1. NAME
 * `a::b::c' has qualifier `a::b' and name `c' (a function's static or a C++ name: the scope tells);
 * `file.c::f::v' has `file.c' and `f::v'; `::v' (global scope) has qualifier "". CALL name is
 * "str", "buf", "starts_with", "contains", "container_of", "list" or "entry"
 *                 ($entry). `$str(p)' is str(p) even where a variable is called str; qualifier is
 * then "$". container_of(p, T, m): args p, m; type_name T. list(head, next, n): args head, next, n.
 *                 m and next are designators (NAME, or MEMBER `.' and INDEX over it): not
 * evaluated.
 */
struct gs_expr {
	enum gs_expr_kind kind;
	enum gs_expr_op op;
	size_t start, len; /* span in the text */
	struct gs_expr *a, *b, *c;
	struct gs_expr **args; /* CALL */
	size_t nargs;
	const char *name;      /* NAME, BUILTIN, MEMBER, CALL */
	const char *qualifier; /* NAME: `file.c' or `function' before ::, or NULL */
	bool arrow;	       /* MEMBER */
	uint64_t number;
	double real;
	const char *string;
	size_t string_len;
	struct gs_type_name *type_name; /* CAST, SIZEOF of a type, container_of's second argument */

	/* Set by gs_expr_check: */
	gs_type_id type;     /* void * sized things included; arrays are not decayed here */
	bool is_lvalue;	     /* has an address or a register home */
	bool is_register;    /* no address: & is refused; arrays there do not decay */
	bool implicit;	     /* made by the checker: not in the text, skipped by print and equal */
	bool is_constant;    /* `number' (extended to 64 bits by the type) or `real' is the value */
	uint64_t binding;    /* NAME, BUILTIN: what the scope gave */
	uint64_t bit_offset; /* MEMBER: from the start of the (pointed-to) aggregate */
	uint32_t bit_size;   /* MEMBER: bit-field width, or 0 */
	/*
	 * MEMBER made by the checker: not 0 for a virtual base of the class at bit_offset; the
	 * distance in bytes before the address point of that class's virtual table.
	 */
	uint32_t virtual_base;

	/*
	 * Implicit conversions are explicit CAST nodes (without type_name) after checking: operands
	 * of arithmetic have one common type, comparisons too; integer promotions are done; array
	 * operands used as pointers are wrapped in an ADDR node of pointer type. Pointer arithmetic
	 * is left as ADD/SUB with a pointer operand: the lowering multiplies by the element size.
	 */
};

/*
 * is_type: whether NAME is a type in the program, to tell `(T)*p' from `(a)*p'; may be NULL (then
 * only C's keywords, struct/union/enum tags and `(NAME *...)' are casts).
 */
struct gs_parse_hooks {
	bool (*is_type)(void *ctx, const char *name, size_t len);
	void *ctx;
};

/*
 * Parses an expression of `text' from byte `start' on. With `stop' set, ends before a top-level
 * `,',
 * `}' or end and gives the offset there; without, everything must be consumed. Precedence and
 * associativity are C's; `@' binds tighter than `*' multiplication, looser than unary, as in gdb.
 * Caps: 64 nesting levels, 1024 nodes, 4096 bytes.
 */
struct gs_error *gs_expr_parse(struct gs_arena *arena, const char *text, size_t start,
			       const struct gs_parse_hooks *hooks, size_t *stop,
			       struct gs_expr **out);

/* ---- scope: where names come from ---- */

struct gs_symbol {
	gs_type_id type;
	bool is_constant; /* an enumerator: `value' */
	bool is_register; /* no address: & is refused */
	int64_t value;
	uint64_t binding; /* opaque to the checker */
};

struct gs_scope {
	struct gs_types *types; /* new pointer and array types are added here */
	uint8_t pointer_size;	/* of the target */
	bool has_lengths; /* it can tell the sizes of RUN_TIME_COUNT arrays: sizeof is no constant
			   */
	void *ctx;
	/*
	 * All may return GS_ERR_NOT_FOUND errors with their own hints; the checker adds the span.
	 * Then the checker tries `this->name', so a scope whose `this' has such a member must not
	 * offer a global of that name before it; and last NULL, nullptr, true and false.
	 */
	struct gs_error *(*find_name)(void *ctx, const char *qualifier, const char *name,
				      struct gs_symbol *sym);
	struct gs_error *(*find_builtin)(void *ctx, const char *name, struct gs_symbol *sym);
	/*
	 * NAME is "struct req", "union u", "enum e", "class c", a typedef or a C++ type
	 * ("ns::T<int>"); of C's base types only "char" and "long double", whose form is the ABI's,
	 * with a fallback to that of x86. The checker knows size_t and the types of <stdint.h>
	 * where the program does not.
	 */
	struct gs_error *(*find_type)(void *ctx, const char *name, gs_type_id *id);
	/*
	 * A hook for the report: called on every node before it is checked; when it knows the whole
	 * tree (an item captured by equal expression) it sets type and binding (and bit_size, if
	 * the item is a bit-field: it promotes by it), kind becomes NAME, and true is returned. May
	 * be NULL.
	 */
	bool (*find_tree)(void *ctx, struct gs_expr *e);
	/*
	 * Called with true before the operand of $entry(...) is checked and with false after it, so
	 * that its names can be looked up where the function begins. May be NULL.
	 */
	void (*in_entry)(void *ctx, bool inside);
};

/*
 * Resolves and types the tree in place, by C's rules (integer promotions, usual arithmetic
 * conversions, LP64 or ILP32 by pointer_size), folds constants. Errors have spans; for a mismatch
 * both types in C syntax; for a missing member the nearest ones. A string literal may only be
 * compared (== !=) with a char pointer or char array, or be an argument of
 * str/starts_with/contains.
 */
struct gs_error *gs_expr_check(struct gs_expr *e, const char *text, struct gs_arena *arena,
			       const struct gs_scope *scope);

/*
 * As gs_expr_check, for a place that needs one number or pointer (a condition, --hist): *e becomes
 * the referent of a C++ reference, an array its address; anything else is an error that names WHAT
 * ("the condition") and shows the type. A condition is true when the value is not 0.
 */
struct gs_error *gs_expr_check_scalar(struct gs_expr **e, const char *what, const char *text,
				      struct gs_arena *arena, const struct gs_scope *scope);

/* Same tree (names, operators, literals; not spans, not redundant parentheses). */
bool gs_expr_equal(const struct gs_expr *a, const struct gs_expr *b);
/* Canonical text: minimal parentheses, single spaces. For keys, messages and --dry-run. */
void gs_expr_print(struct gs_buf *out, const struct gs_expr *e);

#endif
