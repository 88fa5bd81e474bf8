/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pieces of the lexer that the parser of type names needs too: what a name is made of.
 * Private to common/: lex.c, lex_literal.c, parse*.c and expr_print.c.
 */
#ifndef GS_COMMON_LEX_H
#define GS_COMMON_LEX_H

#include "common/expr.h"

/* Bytes over 0x7f belong to names: C and C++ allow UTF-8 there, and DWARF has it so. */
static inline bool gs_lex_name_start(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}
static inline bool gs_lex_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}
/* `$' inside names is a GNU extension that compilers accept by default. */
static inline bool gs_lex_name_part(unsigned char c)
{
	return gs_lex_name_start(c) || gs_lex_digit(c) || c == '$';
}
static inline bool gs_lex_space(unsigned char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/* An error of the lexer with its span. */
struct gs_error *gs_lex_error(const struct gs_lexer *lex, size_t start, size_t len, const char *fmt,
			      ...) GS_PRINTF(4, 5);

/*
 * TEXT[POS] is `<': the offset after the matching `>' if what is between looks like template
 * arguments, else 0.
 */
size_t gs_lex_template(const char *text, size_t pos, size_t end);

/* Whether the N bytes end like a source file: `file.c', `x.tab.cc'. */
bool gs_lex_is_file(const char *s, size_t n);

/* Literals; lex->pos is at their first byte. (lex_literal.c) */
struct gs_error *gs_lex_number(struct gs_lexer *lex, struct gs_tok *tok);
struct gs_error *gs_lex_string(struct gs_lexer *lex, struct gs_tok *tok);
struct gs_error *gs_lex_quote(struct gs_lexer *lex, struct gs_tok *tok);

#endif
