/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The place of a probe: [MODULE!] FUNCTION | FUNCTION+N | FUNCTION:+N | FILE:LINE | *ADDRESS |
 * sdt:P:M. Between the probe's text and the question that is put to a module.
 *
 * Names of C++ and Rust hold nearly every character that the grammar also uses. So a place is
 * scanned once, and each byte is classed: `plain' bytes are the grammar's, `name' bytes (inside
 * brackets, after `operator', in quotes) belong to a name whatever they are. Separators and
 * wildcards count only where they are plain.
 */
#include "record/probe_place.h"

#include <errno.h>
#include <stdarg.h>

#define PLACE_MAX 4096

struct gs_error *gs_probe_error(const char *text, size_t start, size_t len, const char *fmt, ...)
{
	GS_CLEANUP_FREE char *message = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&message, fmt, ap) < 0)
		message = NULL;
	va_end(ap);
	return gs_error_at(gs_error_new(GS_ERR_USAGE, "%s", message ? message : fmt), text, start,
			   len);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

size_t gs_probe_skip_blanks(const char *text, size_t pos)
{
	while (is_blank(text[pos]))
		pos++;
	return pos;
}

bool gs_probe_is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
	       c == '$' || (unsigned char)c >= 0x80;
}

bool gs_probe_at_word(const char *text, size_t pos, const char *word)
{
	size_t n = strlen(word);

	return strncmp(text + pos, word, n) == 0 && !gs_probe_is_name_byte(text[pos + n]);
}

/* ---- scanning: where the place ends, and which bytes belong to names ---- */

struct scan {
	const char *text;
	size_t start, pos;
	bool name[PLACE_MAX]; /* by offset from start: the byte is a name's, whatever it is */
};

static struct gs_error *take(struct scan *s, size_t n, bool name)
{
	if (s->pos + n - s->start > PLACE_MAX)
		return gs_probe_error(s->text, s->start, 1, "the place is longer than %d bytes",
				      PLACE_MAX);
	for (size_t i = 0; i < n; i++)
		s->name[s->pos + i - s->start] = name;
	s->pos += n;
	return NULL;
}

static struct gs_error *take_quoted(struct scan *s)
{
	const char *close = strchr(s->text + s->pos + 1, '\'');

	if (!close)
		return gs_probe_error(s->text, s->pos, strlen(s->text + s->pos),
				      "the quoted name is not closed");
	if (close == s->text + s->pos + 1)
		return gs_probe_error(s->text, s->pos, 2, "the quoted name is empty");
	return take(s, (size_t)(close + 1 - s->text) - s->pos, true);
}

/* At the word `operator' of C++, not at a part of a longer identifier. */
static bool at_operator(const struct scan *s)
{
	return (s->pos == s->start || !gs_probe_is_name_byte(s->text[s->pos - 1])) &&
	       gs_probe_at_word(s->text, s->pos, "operator");
}

/* Length of the operator symbol at P, or 0. */
static size_t symbol_length(const char *p)
{
	static const char *const symbols[] = {"<=>", "->*",  "<<=", ">>=", "()", "[]", "->", "<<",
					      ">>",  "<=",   ">=",  "==",  "!=", "&&", "||", "++",
					      "--",  "+=",   "-=",  "*=",  "/=", "%=", "&=", "|=",
					      "^=",  "\"\"", "+",   "-",   "*",	 "/",  "%",  "&",
					      "|",   "^",    "~",   "!",   "=",	 "<",  ">",  ","};

	for (size_t i = 0; i < GS_ARRAY_SIZE(symbols); i++)
		if (strncmp(p, symbols[i], strlen(symbols[i])) == 0)
			return strlen(symbols[i]);
	return 0;
}

static struct gs_error *take_nested(struct scan *s, unsigned depth);

/* A conversion operator's type: `operator unsigned long', `operator ns::T<int> const*', `operator
 * new[]'. */
static struct gs_error *take_conversion(struct scan *s, unsigned depth)
{
	for (;;) {
		const char *p = s->text + s->pos;

		if (gs_probe_is_name_byte(*p) || *p == '*' || *p == '&')
			GS_TRY(take(s, 1, true));
		else if (p[0] == ':' && p[1] == ':')
			GS_TRY(take(s, 2, true));
		else if (*p == '<' || *p == '[')
			GS_TRY(take_nested(s, depth));
		else if (is_blank(*p) && gs_probe_is_name_byte(p[1]) &&
			 !gs_probe_at_word(s->text, s->pos + 1, "if"))
			GS_TRY(take(s, 1, true));
		else
			return NULL;
	}
}

static struct gs_error *take_operator(struct scan *s, unsigned depth)
{
	size_t blanks, n;

	GS_TRY(take(s, strlen("operator"), true));
	blanks = gs_probe_skip_blanks(s->text, s->pos) - s->pos;
	n = symbol_length(s->text + s->pos + blanks);
	if (n) {
		bool literal = s->text[s->pos + blanks] == '"';

		GS_TRY(take(s, blanks + n, true));
		/* operator""_km, also written operator"" _km. */
		if (literal && is_blank(s->text[s->pos]) &&
		    gs_probe_is_name_byte(s->text[s->pos + 1]))
			GS_TRY(take(s, 1, true));
		return NULL;
	}
	if (!gs_probe_is_name_byte(s->text[s->pos + blanks]))
		return NULL;
	GS_TRY(take(s, blanks, true));
	return take_conversion(s, depth);
}

static char closer(char open)
{
	return open == '(' ? ')' : open == '<' ? '>' : open == '[' ? ']' : '}';
}

/* From an opening bracket to its partner: all of it is name. */
static struct gs_error *take_nested(struct scan *s, unsigned depth)
{
	size_t start = s->pos;
	char close = closer(s->text[s->pos]);

	if (depth > 32)
		return gs_probe_error(s->text, start, 1, "brackets are nested too deeply");
	GS_TRY(take(s, 1, true));
	while (s->text[s->pos] != close) {
		char c = s->text[s->pos];
		bool arrow = c == '-' && s->text[s->pos + 1] == '>';

		if (!c)
			return gs_probe_error(s->text, start, 1,
					      "`%c' of the name is not closed by `%c'",
					      s->text[start], close);
		if (at_operator(s))
			GS_TRY(take_operator(s, depth + 1));
		else if (c == '(' || c == '[' || c == '{' || (c == '<' && close != ']'))
			GS_TRY(take_nested(s, depth + 1));
		else
			GS_TRY(take(s, arrow ? 2 : 1, true));
	}
	return take(s, 1, true);
}

/* After a parameter list: ` const', ` volatile', ` &', ` &&', ` noexcept', ` [clone .cold]'. */
static struct gs_error *take_suffix(struct scan *s, bool *taken)
{
	static const char *const words[] = {"const", "volatile", "noexcept"};
	size_t pos = gs_probe_skip_blanks(s->text, s->pos);

	*taken = true;
	for (size_t i = 0; i < GS_ARRAY_SIZE(words); i++)
		if (gs_probe_at_word(s->text, pos, words[i]))
			return take(s, pos - s->pos + strlen(words[i]), true);
	if (s->text[pos] == '&')
		return take(s, pos - s->pos + (s->text[pos + 1] == '&' ? 2 : 1), true);
	if (strncmp(s->text + pos, "[clone", 6) == 0) {
		GS_TRY(take(s, pos - s->pos, true));
		return take_nested(s, 0);
	}
	*taken = false;
	return NULL;
}

/* At a blank outside names: does the place go on behind it? */
static bool goes_on(const struct scan *s, size_t next)
{
	char c = s->text[next], last = s->text[s->pos - 1];

	return (c == '+' || c == ':' || c == '!' || c == '%') || last == '+' || last == ':' ||
	       last == '!' || (last == '*' && s->pos - 1 == s->start && is_digit(c));
}

static struct gs_error *scan_place(struct scan *s)
{
	bool taken = true;

	for (;;) {
		char c = s->text[s->pos];
		size_t next = gs_probe_skip_blanks(s->text, s->pos);
		bool first = s->pos == s->start;
		/* A quote opens a name at the beginning and after a separator. */
		bool opens =
			first || strchr("!:", s->text[s->pos - 1]) || is_blank(s->text[s->pos - 1]);

		if (!first && s->text[s->pos - 1] == ')' && s->name[s->pos - 1 - s->start]) {
			GS_TRY(take_suffix(s, &taken));
			while (taken)
				GS_TRY(take_suffix(s, &taken));
			c = s->text[s->pos];
			next = gs_probe_skip_blanks(s->text, s->pos);
		}
		if (!c)
			return NULL;
		if (c == '\'' && opens) {
			GS_TRY(take_quoted(s));
		} else if (at_operator(s)) {
			GS_TRY(take_operator(s, 0));
		} else if (c == '{') {
			if (s->pos < s->start + 2 || strncmp(s->text + s->pos - 2, "::", 2) != 0)
				return NULL;
			GS_TRY(take_nested(s, 0));
		} else if (c == '(' || c == '<' || c == '[') {
			GS_TRY(take_nested(s, 0));
		} else if (is_blank(c)) {
			if (first || !goes_on(s, next) || gs_probe_at_word(s->text, next, "if"))
				return NULL;
			GS_TRY(take(s, next - s->pos, false));
		} else {
			GS_TRY(take(s, 1, false));
		}
	}
}

/* ---- taking the place apart ---- */

struct parts {
	const struct scan *s;
	struct gs_arena *arena;
	struct gs_probe_spec *spec;
	size_t start, end; /* what is not taken yet */
};

static bool plain(const struct parts *p, size_t i, char c)
{
	return p->s->text[i] == c && !p->s->name[i - p->s->start];
}

static void trim(const char *text, size_t *start, size_t *end)
{
	while (*start < *end && is_blank(text[*start]))
		++*start;
	while (*end > *start && is_blank(text[*end - 1]))
		--*end;
}

/* The name in [start, end), without the quotes around it. */
static struct gs_error *name_of(const struct parts *p, size_t start, size_t end, const char *what,
				const char **out)
{
	const char *text = p->s->text;

	trim(text, &start, &end);
	if (start == end)
		return gs_probe_error(text, start, 1, "%s is missing here", what);
	if (text[start] == '\'' && end - start >= 2 && text[end - 1] == '\'') {
		start++;
		end--;
	}
	*out = gs_arena_strndup(p->arena, text + start, end - start);
	return NULL;
}

/* A C integer literal that fills [start, end). */
static struct gs_error *number_of(const struct parts *p, size_t start, size_t end, const char *what,
				  uint64_t *out)
{
	const char *text = p->s->text;
	struct gs_lexer lex = {.text = text, .arena = p->arena};
	struct gs_tok tok;

	trim(text, &start, &end);
	lex.pos = start;
	lex.end = end;
	if (start == end)
		return gs_probe_error(text, start, 1, "%s is expected here", what);
	if (!is_digit(text[start]))
		return gs_probe_error(text, start, end - start, "%s is expected here, not `%.*s'",
				      what, (int)(end - start), text + start);
	GS_TRY(gs_lex_next(&lex, &tok));
	if (tok.kind != GS_TOK_NUMBER || tok.start + tok.len != end)
		return gs_probe_error(text, start, end - start, "%s is expected here, not `%.*s'",
				      what, (int)(end - start), text + start);
	*out = tok.number;
	return NULL;
}

static struct gs_error *take_return(struct parts *p)
{
	for (size_t i = p->start; i < p->end; i++) {
		if (!plain(p, i, '%'))
			continue;
		if (p->end - i != strlen("%return") ||
		    strncmp(p->s->text + i, "%return", p->end - i) != 0)
			return gs_probe_error(p->s->text, i, p->end - i,
					      "only `%%return' can follow a place");
		p->spec->is_return = true;
		p->end = i;
		return NULL;
	}
	return NULL;
}

static struct gs_error *take_module(struct parts *p)
{
	for (size_t i = p->start; i < p->end; i++) {
		if (!plain(p, i, '!'))
			continue;
		GS_TRY(name_of(p, p->start, i, "the module before `!'", &p->spec->module));
		p->start = gs_probe_skip_blanks(p->s->text, i + 1);
		if (p->start > p->end)
			p->start = p->end;
		return NULL;
	}
	return NULL;
}

static struct gs_error *take_marker(struct parts *p)
{
	size_t provider = p->start + strlen("sdt:"), i = provider;

	p->spec->where = GS_WHERE_MARKER;
	while (i < p->end && !plain(p, i, ':'))
		i++;
	if (i == p->end)
		return gs_probe_error(p->s->text, p->start, p->end - p->start,
				      "a marker is written sdt:PROVIDER:MARKER");
	GS_TRY(name_of(p, provider, i, "the provider of the marker", &p->spec->file));
	return name_of(p, i + 1, p->end, "the name of the marker", &p->spec->function);
}

/* The last plain `:' that is not one of `::'; false if there is none. */
static bool find_colon(const struct parts *p, size_t *at)
{
	for (size_t i = p->end; i > p->start; i--) {
		if (!plain(p, i - 1, ':'))
			continue;
		if (i - 1 > p->start && p->s->text[i - 2] == ':')
			i--;
		else if (p->s->text[i] != ':' || i == p->end) {
			*at = i - 1;
			return true;
		}
	}
	return false;
}

static bool find_plus(const struct parts *p, size_t *at)
{
	for (size_t i = p->end; i > p->start; i--) {
		if (plain(p, i - 1, '+')) {
			*at = i - 1;
			return true;
		}
	}
	return false;
}

static struct gs_error *take_line(struct parts *p, size_t colon)
{
	size_t after = gs_probe_skip_blanks(p->s->text, colon + 1);

	if (after < p->end && p->s->text[after] == '+') {
		p->spec->where = GS_WHERE_FUNCTION_LINE;
		GS_TRY(name_of(p, p->start, colon, "the function", &p->spec->function));
		return number_of(p, after + 1, p->end, "the number of lines", &p->spec->number);
	}
	p->spec->where = GS_WHERE_LINE;
	GS_TRY(name_of(p, p->start, colon, "the source file", &p->spec->file));
	GS_TRY(number_of(p, colon + 1, p->end, "a line number", &p->spec->number));
	if (p->spec->number == 0 || p->spec->number > UINT32_MAX)
		return gs_probe_error(p->s->text, colon + 1, p->end - colon - 1,
				      "there is no such line: lines count from 1");
	return NULL;
}

static struct gs_error *take_where(struct parts *p)
{
	struct gs_probe_spec *spec = p->spec;
	const char *text = p->s->text;
	size_t at, after = gs_probe_skip_blanks(text, p->start + 1);

	if (p->start >= p->end)
		return gs_probe_error(
			text, p->start, 1,
			"a place is expected here: a function, FILE:LINE or *ADDRESS");
	if (plain(p, p->start, '*') && is_digit(text[after])) {
		spec->where = GS_WHERE_ADDRESS;
		return number_of(p, p->start + 1, p->end, "an address alone", &spec->number);
	}
	if (p->end - p->start > 4 && strncmp(text + p->start, "sdt:", 4) == 0 &&
	    text[p->start + 4] != ':')
		return take_marker(p);
	if (find_colon(p, &at))
		return take_line(p, at);
	if (find_plus(p, &at)) {
		spec->where = GS_WHERE_OFFSET;
		GS_TRY(name_of(p, p->start, at, "the function", &spec->function));
		return number_of(p, at + 1, p->end, "an offset in bytes", &spec->number);
	}
	spec->where = GS_WHERE_FUNCTION;
	return name_of(p, p->start, p->end, "the function", &spec->function);
}

static bool has_wildcard(const struct parts *p)
{
	for (size_t i = p->start; i < p->end; i++)
		if (plain(p, i, '*') || plain(p, i, '?'))
			return true;
	return false;
}

static struct gs_error *take_apart(struct parts *p)
{
	struct gs_probe_spec *spec = p->spec;
	const char *text = p->s->text;

	GS_TRY(take_return(p));
	GS_TRY(take_module(p));
	trim(text, &p->start, &p->end);
	GS_TRY(take_where(p));
	if (spec->where != GS_WHERE_ADDRESS && spec->where != GS_WHERE_LINE)
		spec->has_wildcard = has_wildcard(p);
	if (spec->is_return && spec->where != GS_WHERE_FUNCTION)
		return gs_probe_error(
			text, spec->place_start, spec->place_len,
			"%%return is of a function, not of an address, line or marker");
	if (spec->has_wildcard && spec->where != GS_WHERE_FUNCTION &&
	    spec->where != GS_WHERE_MARKER)
		return gs_probe_error(text, p->start, p->end - p->start,
				      "wildcards are for function and marker names alone");
	return NULL;
}

struct gs_error *gs_probe_parse_place(struct gs_arena *arena, const char *text, size_t pos,
				      struct gs_probe_spec *spec, size_t *end)
{
	struct scan s = {.text = text, .start = pos, .pos = pos};
	struct parts p = {.s = &s, .arena = arena, .spec = spec, .start = pos};

	GS_TRY(scan_place(&s));
	p.end = s.pos;
	trim(text, &p.start, &p.end);
	if (p.start == p.end)
		return gs_probe_error(
			text, pos, 1,
			"a place is expected here: a function, FILE:LINE or *ADDRESS");
	spec->place_start = p.start;
	spec->place_len = p.end - p.start;
	spec->place = gs_arena_strndup(arena, text + p.start, p.end - p.start);
	*end = s.pos;
	return take_apart(&p);
}
