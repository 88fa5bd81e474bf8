/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small program for tests of expressions: variables, types and built-ins without any binary.
 * Stands where record/ and report/ give their scopes to the checker.
 *
 *   enum color { RED, GREEN = 5, BIG = 0x80000000u };       (underlying unsigned int)
 *   struct link { struct link *prev; };
 *   struct req { int len; char *uri; unsigned flags : 3; int sflags : 3; unsigned wide : 32;
 *                unsigned long off : 40; long small : 10; struct req *next; char name[16];
 *                union { int ia; float fa; }; int grid[2][3]; struct link link; int flex[]; };
 *   class Base { int id; };  class Other { int id; };
 *   class Derived : Base, Other { int own; static int count; };
 *   struct opaque;
 *
 * Variables: c sc uc s us i u l ul ll b e f d ld i128 (by type), ci (const int), r rr (struct req
 * *, struct req), cp ucp wp vp p pp (char, unsigned char, int, void, int, int *), arr int[10], name
 * char[16], dyn int[] (unknown count), regarr and regreq (in registers), ref (int &), rref (struct
 * req &), fn (a function), fp (a pointer to it), op (struct opaque *), der pder, vec (GNU vector),
 * mp, list (a variable that hides list()), contains (a function), f.c::v (long), main::v (short),
 * ns::T::x (char). `$rdi' is an unsigned long, `$pid' an int, `$w' an unsigned int, `$retval' a
 * struct req.
 */
#ifndef GS_TESTS_COMMON_SCOPE_H
#define GS_TESTS_COMMON_SCOPE_H

#include "common/expr.h"

struct test_program {
	struct gs_types *types;
	struct gs_scope scope;
	struct gs_arena arena;
	int entry_depth, entries; /* calls of in_entry */
	bool in_method;		  /* `this' is a Derived * */
	bool unsigned_char;
};

void test_program_init(struct test_program *t, unsigned pointer_size);
void test_program_deinit(struct test_program *t);

/* Parses and checks TEXT; NULL and *err (owned) on failure. Names that begin with `T' are types. */
struct gs_expr *test_check(struct test_program *t, const char *text, struct gs_error **err);

/*
 * The checked tree with implicit nodes shown, in the arena: `(+ <int>c 1)'. <T> is an implicit
 * cast, & an implicit decay, * an implicit dereference of a reference.
 */
const char *test_dump(struct test_program *t, const struct gs_expr *e);

/* What the checker makes of TEXT, in the arena: "type" / "type = constant" / "error: message". */
const char *test_type(struct test_program *t, const char *text);
/* The dump of TEXT, or "error: message". */
const char *test_tree(struct test_program *t, const char *text);

#endif
