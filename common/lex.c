/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lexer of the expression language: text to tokens.
 * First stage of every probe item, condition and report expression; the parser comes next.
 *
 * A name is more than a C identifier: `a::b', `T<int>::x' and `file.c::v' are single tokens,
 * because their pieces mean nothing alone. `file.c::v' is told from the C++ member access
 * `obj.Base::v' by the extension of a source file.
 */
#include "common/lex.h"

#include <stdarg.h>

struct gs_error *gs_lex_error(const struct gs_lexer *lex, size_t start, size_t len, const char *fmt,
			      ...)
{
	GS_CLEANUP_FREE char *message = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&message, fmt, ap) < 0)
		message = NULL;
	va_end(ap);
	return gs_error_at(gs_error_new(GS_ERR_USAGE, "%s", message ? message : fmt), lex->text,
			   start, len);
}

bool gs_lex_is_file(const char *s, size_t n)
{
	static const char *const extensions[] = {
		"c",   "h",   "cc", "cpp", "cxx", "c++", "C", "hh", "hpp", "hxx", "H",	"inc",
		"inl", "ipp", "rs", "go",  "s",	  "S",	 "m", "mm", "y",   "l",	  "def"};
	const char *dot = memrchr(s, '.', n);

	if (!dot || dot == s)
		return false;
	size_t len = (size_t)(s + n - dot - 1);
	for (size_t i = 0; i < GS_ARRAY_SIZE(extensions); i++)
		if (strlen(extensions[i]) == len && memcmp(extensions[i], dot + 1, len) == 0)
			return true;
	return false;
}

size_t gs_lex_template(const char *text, size_t pos, size_t end)
{
	unsigned angles = 0, others = 0;

	for (; pos < end; pos++) {
		unsigned char c = (unsigned char)text[pos];
		if (c == '<' && ++angles > 32)
			return 0;
		/* `->' is an operator: this was a comparison. */
		if (c == '>' && text[pos - 1] == '-')
			return 0;
		if (c == '>' && !others && --angles == 0)
			return pos + 1;
		if (c == '(' || c == '[')
			others++;
		if ((c == ')' || c == ']') && others-- == 0)
			return 0;
		if (!gs_lex_name_part(c) && (!c || !strchr(" <>()[]:,*&-+.", c)))
			return 0;
	}
	return 0;
}

static size_t skip_identifier(const char *text, size_t pos, size_t end)
{
	while (pos < end && gs_lex_name_part((unsigned char)text[pos]))
		pos++;
	return pos;
}

/* At `::' followed by an identifier. */
static bool at_scope(const struct gs_lexer *lex, size_t pos)
{
	return pos + 2 < lex->end && lex->text[pos] == ':' && lex->text[pos + 1] == ':' &&
	       gs_lex_name_start((unsigned char)lex->text[pos + 2]);
}

/* `file.c' of `file.c::v': the end of the file name, or POS. */
static size_t skip_file(const struct gs_lexer *lex, size_t pos)
{
	size_t p = skip_identifier(lex->text, pos, lex->end);

	while (p + 1 < lex->end && lex->text[p] == '.' &&
	       gs_lex_name_part((unsigned char)lex->text[p + 1]))
		p = skip_identifier(lex->text, p + 1, lex->end);
	return at_scope(lex, p) && gs_lex_is_file(lex->text + pos, p - pos) ? p : pos;
}

static void lex_name(struct gs_lexer *lex, struct gs_tok *tok)
{
	size_t pos = skip_file(lex, lex->pos);

	if (pos == lex->pos)
		pos = skip_identifier(lex->text, pos, lex->end);
	for (;;) {
		size_t after = pos;
		if (pos < lex->end && lex->text[pos] == '<')
			after = gs_lex_template(lex->text, pos, lex->end);
		if (!after || !at_scope(lex, after))
			break;
		pos = skip_identifier(lex->text, after + 2, lex->end);
	}
	tok->kind = GS_TOK_NAME;
	tok->len = pos - lex->pos;
}

static struct gs_error *lex_dollar(struct gs_lexer *lex, struct gs_tok *tok)
{
	size_t pos = skip_identifier(lex->text, lex->pos + 1, lex->end);

	if (pos == lex->pos + 1)
		return gs_lex_error(lex, lex->pos, 1, "a name is expected after `$'");
	tok->kind = GS_TOK_DOLLAR;
	tok->len = pos - lex->pos;
	return NULL;
}

static struct gs_error *lex_punct(struct gs_lexer *lex, struct gs_tok *tok)
{
	static const char *const operators[] = {
		"<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&",
		"||",  "::",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=", "+",  "-",  "*",
		"/",   "%",   "&",   "|",  "^",	 "~",  "!",  "<",  ">",	 "=",  "?",  ":",  ".",
		",",   ";",   "(",   ")",  "[",	 "]",  "{",  "}",  "@",	 "#"};
	const char *at = lex->text + lex->pos;
	size_t left = lex->end - lex->pos;

	for (size_t i = 0; i < GS_ARRAY_SIZE(operators); i++) {
		size_t n = strlen(operators[i]);
		if (n <= left && memcmp(at, operators[i], n) == 0) {
			tok->kind = GS_TOK_PUNCT;
			tok->len = n;
			memcpy(tok->op, operators[i], n + 1);
			return NULL;
		}
	}
	if ((unsigned char)*at < 0x20 || *at == 0x7f)
		return gs_lex_error(lex, lex->pos, 1, "unexpected control character \\x%02x",
				    (unsigned char)*at);
	return gs_lex_error(lex, lex->pos, 1, "unexpected character `%c'", *at);
}

static struct gs_error *lex_token(struct gs_lexer *lex, struct gs_tok *tok)
{
	unsigned char c = (unsigned char)lex->text[lex->pos];
	bool fraction = c == '.' && lex->pos + 1 < lex->end &&
			gs_lex_digit((unsigned char)lex->text[lex->pos + 1]);

	if (gs_lex_digit(c) || fraction)
		return gs_lex_number(lex, tok);
	if (c == '"')
		return gs_lex_string(lex, tok);
	if (c == '\'')
		return gs_lex_quote(lex, tok);
	if (c == '$')
		GS_TRY(lex_dollar(lex, tok));
	else if (gs_lex_name_start(c))
		lex_name(lex, tok);
	else
		return lex_punct(lex, tok);
	tok->string = gs_arena_strndup(lex->arena, lex->text + tok->start, tok->len);
	tok->string_len = tok->len;
	return NULL;
}

struct gs_error *gs_lex_next(struct gs_lexer *lex, struct gs_tok *tok)
{
	struct gs_tok t = {.kind = GS_TOK_END};

	while (lex->pos < lex->end && gs_lex_space((unsigned char)lex->text[lex->pos]))
		lex->pos++;
	t.start = lex->pos;
	if (lex->pos < lex->end)
		GS_TRY(lex_token(lex, &t));
	lex->pos = t.start + t.len;
	*tok = t;
	return NULL;
}
