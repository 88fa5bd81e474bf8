/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * State and shared steps of the parser of expressions.
 * Private to common/parse*.c: text goes in through the lexer, an untyped tree comes out.
 */
#ifndef GS_COMMON_PARSE_H
#define GS_COMMON_PARSE_H

#include "common/lex.h"

#define GS_PARSE_DEPTH_MAX 64
#define GS_PARSE_NODES_MAX 1024
#define GS_PARSE_BYTES_MAX 4096

struct gs_parser {
	struct gs_lexer lex;
	struct gs_tok tok; /* the current token: not consumed yet */
	size_t last_end;   /* where the last consumed token ended */
	const struct gs_parse_hooks *hooks;
	unsigned depth, nodes;
};

/* ---- parse.c ---- */

struct gs_error *gs_parse_advance(struct gs_parser *p);
bool gs_parse_at(const struct gs_parser *p, const char *op);
/* Consumes the operator OP, or fails with "expected `OP' AFTER". */
struct gs_error *gs_parse_expect(struct gs_parser *p, const char *op, const char *after);
/* "FMT, found `token'" at the current token. */
struct gs_error *gs_parse_unexpected(struct gs_parser *p, const char *fmt, ...) GS_PRINTF(2, 3);
/* A new node that starts at START; gs_parse_close sets its length. */
struct gs_error *gs_parse_node(struct gs_parser *p, enum gs_expr_kind kind, size_t start,
			       struct gs_expr **out);
void gs_parse_close(struct gs_parser *p, struct gs_expr *e);
/* A whole expression (down to ?:). */
struct gs_error *gs_parse_expression(struct gs_parser *p, struct gs_expr **out);
/* The operand of a prefix operator or cast. */
struct gs_error *gs_parse_unary(struct gs_parser *p, struct gs_expr **out);

/* ---- parse_primary.c ---- */

struct gs_error *gs_parse_primary(struct gs_parser *p, struct gs_expr **out);
/* Adjacent string literals as one STRING node. */
struct gs_error *gs_parse_strings(struct gs_parser *p, struct gs_expr **out);
/* A token that names something: NAME or QUOTED. */
bool gs_parse_at_name(const struct gs_parser *p);

/* ---- parse_call.c ---- */

/* A call of a built-in function, at its name; the next token is `('. */
struct gs_error *gs_parse_call(struct gs_parser *p, struct gs_expr **out);

/* ---- parse_type.c ---- */

/*
 * At the token after `(' of a cast or sizeof: if a type name and `)' stand here, and nothing else
 * can be meant, consumes both and gives the type; else consumes nothing and *out is NULL. IS_CAST:
 * an operand must follow, and helps to tell.
 */
struct gs_error *gs_parse_paren_type(struct gs_parser *p, bool is_cast, struct gs_type_name **out);
/* A type name where only a type name can stand. */
struct gs_error *gs_parse_type_name(struct gs_parser *p, struct gs_type_name **out);
/* A word that C reserves for types: it never names a variable. */
bool gs_parse_is_type_word(const struct gs_tok *tok);
/* Such a word, or sizeof: as a name it must be quoted. */
bool gs_parse_is_reserved(const char *word);

#endif
