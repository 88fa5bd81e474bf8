/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Literals of the expression language: numbers, characters, strings, and quoted names.
 * Called by the lexer; what does not have an exact meaning is refused here, never rounded in
 * silence.
 */
#include <errno.h>
#include <locale.h>
#include <math.h>

#include "common/lex.h"

/* ---- numbers ---- */

#define NUMBER_MAX 128 /* bytes of a literal; more digits than any exact value has use for */

struct number {
	char digits[NUMBER_MAX + 1]; /* without separators */
	size_t n;
	bool hex, real;
};

/* The preprocessing number of C 6.4.8, except that `0xe+1' is a sum. */
static size_t scan_number(const struct gs_lexer *lex)
{
	const char *t = lex->text;
	size_t p = lex->pos;
	bool hex = p + 1 < lex->end && t[p] == '0' && (t[p + 1] | 0x20) == 'x';

	while (p < lex->end) {
		unsigned char c = (unsigned char)t[p], low = c | 0x20;
		bool more = p + 1 < lex->end;
		if (more && low == (hex ? 'p' : 'e') && (t[p + 1] == '+' || t[p + 1] == '-'))
			p += 2;
		else if (more && c == '\'' && gs_lex_name_part((unsigned char)t[p + 1]))
			p += 2;
		else if (c == '.' || (gs_lex_name_part(c) && c != '$'))
			p++;
		else
			break;
	}
	return p - lex->pos;
}

static struct gs_error *bad_number(const struct gs_lexer *lex, const struct gs_tok *tok,
				   const char *why)
{
	return gs_lex_error(lex, tok->start, tok->len, "`%.*s' is not a number: %s", (int)tok->len,
			    lex->text + tok->start, why);
}

static struct gs_error *read_digits(const struct gs_lexer *lex, const struct gs_tok *tok,
				    struct number *num)
{
	const char *s = lex->text + tok->start;

	for (size_t i = 0; i < tok->len; i++) {
		if (s[i] == '\'')
			continue;
		if (num->n == NUMBER_MAX)
			return gs_lex_error(lex, tok->start, tok->len,
					    "a number of more than %d digits", NUMBER_MAX);
		num->digits[num->n++] = s[i];
	}
	num->hex = num->n > 1 && num->digits[0] == '0' && (num->digits[1] | 0x20) == 'x';
	num->real = strpbrk(num->digits, num->hex ? ".pP" : ".eE") != NULL;
	/* 0b101 has no fraction or exponent; its `e' would be a wrong digit. */
	if (num->n > 1 && num->digits[0] == '0' && (num->digits[1] | 0x20) == 'b')
		num->real = false;
	return NULL;
}

/* u, l, ll and their combinations; false if anything else. */
static bool integer_suffix(const char *s, bool *is_unsigned, bool *is_long)
{
	if (*s == 'u' || *s == 'U') {
		*is_unsigned = true;
		s++;
	}
	if (*s == 'l' || *s == 'L') {
		*is_long = true;
		s += s[1] == s[0] ? 2 : 1;
	}
	if (!*is_unsigned && (*s == 'u' || *s == 'U')) {
		*is_unsigned = true;
		s++;
	}
	return *s == '\0';
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* C 6.4.4.1: the first type that holds the value, of the list that base and suffix give. */
static struct gs_error *integer_type(const struct gs_lexer *lex, struct gs_tok *tok, bool decimal,
				     bool is_unsigned, bool is_long)
{
	uint64_t v = tok->number;

	if (!is_unsigned && decimal && v > INT64_MAX)
		return gs_error_hint(bad_number(lex, tok, "it does not fit a signed 64-bit type"),
				     "write it with the suffix u");
	if (is_unsigned) {
		tok->is_unsigned = true;
		tok->width = v <= UINT32_MAX && !is_long ? 4 : 8;
		return NULL;
	}
	if (v <= INT32_MAX && !is_long) {
		tok->width = 4;
	} else if (v <= UINT32_MAX && !is_long && !decimal) {
		tok->width = 4;
		tok->is_unsigned = true;
	} else {
		tok->width = 8;
		tok->is_unsigned = v > INT64_MAX;
	}
	return NULL;
}

static struct gs_error *lex_integer(const struct gs_lexer *lex, struct gs_tok *tok,
				    const struct number *num)
{
	const char *s = num->digits;
	unsigned base = 10;
	bool is_unsigned = false, is_long = false;

	if (num->hex || (s[0] == '0' && (s[1] | 0x20) == 'b')) {
		base = num->hex ? 16 : 2;
		s += 2;
		if ((unsigned)digit_of(*s) >= base)
			return bad_number(lex, tok, "a digit is expected after the prefix");
	} else if (s[0] == '0') {
		base = 8;
	}
	for (; (gs_lex_digit((unsigned char)*s) || base == 16) && digit_of(*s) < 16; s++) {
		unsigned d = (unsigned)digit_of(*s);
		if (d >= base)
			return bad_number(lex, tok,
					  base == 8 ? "a digit over 7 in an octal number"
						    : "a digit over 1 in a binary number");
		if (__builtin_mul_overflow(tok->number, base, &tok->number) ||
		    __builtin_add_overflow(tok->number, d, &tok->number))
			return bad_number(lex, tok, "it does not fit 64 bits");
	}
	if (!integer_suffix(s, &is_unsigned, &is_long))
		return bad_number(lex, tok, "bad digit or suffix");
	tok->kind = GS_TOK_NUMBER;
	return integer_type(lex, tok, base == 10, is_unsigned, is_long);
}

/* Whether a digit other than 0 stands before the exponent. */
static bool has_nonzero_digit(const struct number *num)
{
	for (const char *s = num->digits + (num->hex ? 2 : 0); *s; s++) {
		if ((*s | 0x20) == (num->hex ? 'p' : 'e'))
			break;
		if (*s != '0' && *s != '.')
			return true;
	}
	return false;
}

static struct gs_error *lex_real(const struct gs_lexer *lex, struct gs_tok *tok, struct number *num)
{
	size_t n = num->n;
	char last = num->digits[n - 1], *end = NULL;
	bool is_float = (last == 'f' || last == 'F') && (!num->hex || strpbrk(num->digits, "pP"));
	bool is_long = last == 'l' || last == 'L';
	locale_t c_locale;
	long double exact;

	if (is_float || is_long)
		num->digits[--n] = '\0';
	/* The decimal point must not depend on the user's locale. */
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (c_locale == (locale_t)0)
		return gs_error_errno(errno, "locale C");
	/* strtof for `f': rounding twice would give another value. */
	if (is_float)
		tok->real = strtof_l(num->digits, &end, c_locale);
	else
		tok->real = strtod_l(num->digits, &end, c_locale);
	exact = is_long ? strtold_l(num->digits, NULL, c_locale) : (long double)tok->real;
	freelocale(c_locale);
	if (end != num->digits + n || (num->hex && !strpbrk(num->digits, "pP")))
		return bad_number(lex, tok, "bad digit, exponent or suffix");
	if (isinf(tok->real) || (tok->real == 0 && has_nonzero_digit(num)))
		return bad_number(lex, tok, "it is out of the range of its type");
	if (exact != (long double)tok->real)
		return bad_number(lex, tok, "long double literals must be exact as a double");
	tok->kind = GS_TOK_FLOAT;
	tok->is_float = is_float;
	return NULL;
}

struct gs_error *gs_lex_number(struct gs_lexer *lex, struct gs_tok *tok)
{
	struct number num = {.n = 0};

	tok->len = scan_number(lex);
	GS_TRY(read_digits(lex, tok, &num));
	return num.real ? lex_real(lex, tok, &num) : lex_integer(lex, tok, &num);
}

/* ---- characters and strings ---- */

static size_t put_utf8(uint32_t cp, char out[4])
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xc0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xe0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		out[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | cp >> 18);
	out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	out[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}

/* Up to MAX digits of BASE at s; the number of digits. The value saturates. */
static size_t read_base(const char *s, size_t left, unsigned base, size_t max, uint32_t *value)
{
	size_t n = 0;
	uint32_t v = 0;

	for (; n < left && n < max && (unsigned)digit_of(s[n]) < base &&
	       (gs_lex_digit((unsigned char)s[n]) || base == 16);
	     n++)
		v = v > UINT32_MAX / base - 1 ? UINT32_MAX : v * base + (unsigned)digit_of(s[n]);
	*value = v;
	return n;
}

/*
 * The escape sequence at s (a backslash): its length, the bytes in OUT, their number in *nout. 0 if
 * it is none, or its value does not fit a byte or is no code point.
 */
static size_t read_escape(const char *s, size_t left, char out[4], size_t *nout)
{
	static const char letters[] = "abfnrtve\\'\"?";
	static const char values[] = "\a\b\f\n\r\t\v\033\\'\"?";
	uint32_t v;
	size_t n;

	*nout = 1;
	if (left < 2)
		return 0;
	const char *at = s[1] ? strchr(letters, s[1]) : NULL;
	if (at) {
		out[0] = values[at - letters];
		return 2;
	}
	if (s[1] == 'u' || s[1] == 'U') {
		size_t want = s[1] == 'u' ? 4 : 8;
		n = read_base(s + 2, left - 2, 16, want, &v);
		if (n != want || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
			return 0;
		*nout = put_utf8(v, out);
		return n + 2;
	}
	bool hex = s[1] == 'x';
	size_t skip = hex ? 2 : 1;
	n = read_base(s + skip, left - skip, hex ? 16 : 8, hex ? SIZE_MAX : 3, &v);
	if (n == 0 || v > 0xff)
		return 0;
	out[0] = (char)v;
	return n + skip;
}

/* Offset of the closing quote, or 0 when there is none. */
static size_t find_close(const struct gs_lexer *lex, char quote)
{
	for (size_t p = lex->pos + 1; p < lex->end; p++) {
		if (lex->text[p] == '\\')
			p++;
		else if (lex->text[p] == quote)
			return p;
	}
	return 0;
}

struct gs_error *gs_lex_string(struct gs_lexer *lex, struct gs_tok *tok)
{
	size_t close = find_close(lex, '"'), n = 0;

	if (!close)
		return gs_lex_error(lex, lex->pos, lex->end - lex->pos,
				    "the closing quote \" is missing");
	char *out = gs_arena_alloc(lex->arena, close - lex->pos + 1);
	for (size_t p = lex->pos + 1; p < close;) {
		if (lex->text[p] != '\\') {
			out[n++] = lex->text[p++];
			continue;
		}
		char bytes[4];
		size_t nbytes, len = read_escape(lex->text + p, close - p, bytes, &nbytes);
		if (!len)
			return gs_lex_error(lex, p, 2, "unknown or out of range escape sequence");
		/* An escape is never shorter than the bytes that it stands for. */
		memcpy(out + n, bytes, nbytes);
		n += nbytes;
		p += len;
	}
	tok->kind = GS_TOK_STRING;
	tok->len = close + 1 - lex->pos;
	tok->string = out;
	tok->string_len = n;
	return NULL;
}

/* A quoted name: only \' and \\ are escapes there. */
static void quoted_name(struct gs_lexer *lex, struct gs_tok *tok, const char *s, size_t n)
{
	char *out = gs_arena_alloc(lex->arena, n + 1);
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\\' && i + 1 < n && (s[i + 1] == '\'' || s[i + 1] == '\\'))
			i++;
		out[len++] = s[i];
	}
	tok->kind = GS_TOK_QUOTED;
	tok->string = out;
	tok->string_len = len;
}

/*
 * 'x' and '\n' are characters; everything longer is a name, and so is 'f' before `::'.
 * The value of a character is its byte: what sign it has is the target's business (check.c).
 */
struct gs_error *gs_lex_quote(struct gs_lexer *lex, struct gs_tok *tok)
{
	size_t close = find_close(lex, '\''), nbytes = 1;
	char bytes[4];

	if (!close)
		return gs_lex_error(lex, lex->pos, lex->end - lex->pos,
				    "the closing quote ' is missing");
	const char *s = lex->text + lex->pos + 1;
	size_t n = close - lex->pos - 1;
	tok->len = n + 2;
	if (n == 0)
		return gs_lex_error(lex, tok->start, tok->len,
				    "there is nothing between the quotes");
	bool scope = close + 2 < lex->end && s[n + 1] == ':' && s[n + 2] == ':';
	bool one = n == 1;
	bytes[0] = s[0];
	if (s[0] == '\\')
		one = read_escape(s, n, bytes, &nbytes) == n && nbytes == 1;
	if (!one || scope) {
		if (memchr(s, '\0', n))
			return gs_lex_error(lex, tok->start, tok->len, "a name contains NUL");
		quoted_name(lex, tok, s, n);
		return NULL;
	}
	tok->kind = GS_TOK_CHAR;
	tok->number = (unsigned char)bytes[0];
	tok->width = 4;
	tok->string = gs_arena_memdup(lex->arena, bytes, 1);
	tok->string_len = 1;
	return NULL;
}
