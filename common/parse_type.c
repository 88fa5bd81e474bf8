/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Type names of the expression language: (struct req *), unsigned long, T<int>, char (*)[16].
 * Called for casts, sizeof and container_of; check_type.c finds the types that they name.
 *
 * `(a)*p' is a product or a cast. It is a cast when `a' can only be a type by its shape, when an
 * operand follows that no operator could continue, or when the caller's hook says that `a' is a
 * type.
 */
#include "common/check.h"
#include "common/parse.h"

/* ---- words ---- */

enum {
	W_CHAR,
	W_SHORT,
	W_INT,
	W_LONG,
	W_SIGNED,
	W_UNSIGNED,
	W_FLOAT,
	W_DOUBLE,
	W_BOOL,
	W_VOID,
	W_INT128,
	W_BASE_COUNT,
	W_TAG = W_BASE_COUNT,
	W_CONST,
	W_QUALIFIER,
};

static const struct word {
	const char *text;
	int word;
} words[] = {
	{"char", W_CHAR},
	{"short", W_SHORT},
	{"int", W_INT},
	{"long", W_LONG},
	{"signed", W_SIGNED},
	{"__signed__", W_SIGNED},
	{"unsigned", W_UNSIGNED},
	{"float", W_FLOAT},
	{"double", W_DOUBLE},
	{"_Bool", W_BOOL},
	{"bool", W_BOOL},
	{"void", W_VOID},
	{"__int128", W_INT128},
	{"struct", W_TAG},
	{"union", W_TAG},
	{"enum", W_TAG},
	{"class", W_TAG},
	{"const", W_CONST},
	{"__const", W_CONST},
	{"volatile", W_QUALIFIER},
	{"restrict", W_QUALIFIER},
	{"_Atomic", W_QUALIFIER},
	{"__restrict", W_QUALIFIER},
};

static int find_word(const char *s)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(words); i++)
		if (strcmp(words[i].text, s) == 0)
			return words[i].word;
	return -1;
}

static int word_of(const struct gs_tok *t)
{
	return t->kind == GS_TOK_NAME ? find_word(t->string) : -1;
}

bool gs_parse_is_reserved(const char *word)
{
	return find_word(word) >= 0 || strcmp(word, "sizeof") == 0;
}

bool gs_parse_is_type_word(const struct gs_tok *tok)
{
	return word_of(tok) >= 0;
}

/*
 * The canonical name of a set of base words (C 6.7.2), or NULL when they do not make a type. `int'
 * adds nothing to short, long, signed and unsigned.
 */
static const char *canonical_base(const unsigned char n[W_BASE_COUNT])
{
	static const struct {
		const char *name;
		unsigned char n[W_BASE_COUNT]; /* without signed, and int where it adds nothing */
	} bases[] = {
		{"char", {[W_CHAR] = 1}},
		{"unsigned char", {[W_CHAR] = 1, [W_UNSIGNED] = 1}},
		{"short", {[W_SHORT] = 1}},
		{"unsigned short", {[W_SHORT] = 1, [W_UNSIGNED] = 1}},
		{"int", {0}},
		{"unsigned int", {[W_UNSIGNED] = 1}},
		{"long", {[W_LONG] = 1}},
		{"unsigned long", {[W_LONG] = 1, [W_UNSIGNED] = 1}},
		{"long long", {[W_LONG] = 2}},
		{"unsigned long long", {[W_LONG] = 2, [W_UNSIGNED] = 1}},
		{"__int128", {[W_INT128] = 1}},
		{"unsigned __int128", {[W_INT128] = 1, [W_UNSIGNED] = 1}},
		{"float", {[W_FLOAT] = 1}},
		{"double", {[W_DOUBLE] = 1}},
		{"long double", {[W_DOUBLE] = 1, [W_LONG] = 1}},
		{"_Bool", {[W_BOOL] = 1}},
		{"void", {[W_VOID] = 1}},
	};
	unsigned char want[W_BASE_COUNT];
	bool plain = !n[W_FLOAT] && !n[W_DOUBLE] && !n[W_BOOL] && !n[W_VOID];

	memcpy(want, n, sizeof(want));
	if (n[W_SIGNED] > 1 || n[W_INT] > 1 || (n[W_SIGNED] && n[W_UNSIGNED]) ||
	    (n[W_INT] && (n[W_CHAR] || n[W_INT128])) || (!plain && (n[W_INT] || n[W_SIGNED])))
		return NULL;
	/* `signed char' is a type of its own; elsewhere signed says nothing new. */
	if (n[W_SIGNED] && n[W_CHAR])
		return n[W_CHAR] == 1 && !n[W_SHORT] && !n[W_LONG] ? "signed char" : NULL;
	want[W_SIGNED] = want[W_INT] = 0;
	for (size_t i = 0; i < GS_ARRAY_SIZE(bases); i++)
		if (memcmp(bases[i].n, want, sizeof(want)) == 0)
			return bases[i].name;
	return NULL;
}

/* ---- base ---- */

/* How sure it is that a type was meant. */
enum surety { NO_TYPE, A_NAME, SURE };

struct type_parse {
	struct gs_type_name *name;
	enum surety surety;
	unsigned char counts[W_BASE_COUNT];
	unsigned nwords;
	size_t start;
};

/* `struct' and its tag. */
static struct gs_error *parse_tag(struct gs_parser *p, struct type_parse *t)
{
	const char *keyword = p->tok.string;

	t->surety = SURE;
	GS_TRY(gs_parse_advance(p));
	if (!gs_parse_at_name(p) || word_of(&p->tok) >= 0)
		return gs_parse_unexpected(p, "a tag is expected after `%s'", keyword);
	const char *tag = p->tok.string;
	size_t after = p->tok.start + p->tok.len;
	if (after < p->lex.end && p->lex.text[after] == '<') {
		size_t close = gs_lex_template(p->lex.text, after, p->lex.end);
		if (close) {
			tag = gs_arena_strndup(p->lex.arena, p->lex.text + p->tok.start,
					       close - p->tok.start);
			p->lex.pos = close;
			p->tok.len = close - p->tok.start;
		}
	}
	t->name->base = gs_arena_printf(p->lex.arena, "%s %s", keyword, tag);
	return gs_parse_advance(p);
}

/*
 * A typedef's or C++ type's name. Template arguments are taken when `>' is followed by what only a
 * type can have there: `(a<b>)', `(a<b>*)' are no comparisons.
 */
static struct gs_error *parse_named(struct gs_parser *p, struct type_parse *t)
{
	const struct gs_parse_hooks *h = p->hooks;
	size_t after = p->tok.start + p->tok.len;

	t->surety = A_NAME;
	t->name->base = p->tok.string;
	if (p->tok.kind == GS_TOK_NAME && after < p->lex.end && p->lex.text[after] == '<') {
		size_t close = gs_lex_template(p->lex.text, after, p->lex.end);
		size_t next = close;
		while (close && next < p->lex.end &&
		       (gs_lex_space((unsigned char)p->lex.text[next]) || p->lex.text[next] == '*'))
			next++;
		if (close && next < p->lex.end && strchr("),", p->lex.text[next])) {
			t->name->base = gs_arena_strndup(p->lex.arena, p->lex.text + p->tok.start,
							 close - p->tok.start);
			t->surety = SURE;
			p->lex.pos = close;
			p->tok.len = close - p->tok.start;
		}
	}
	if (gs_check_is_known_typedef(t->name->base) ||
	    (t->surety != SURE && h && h->is_type &&
	     h->is_type(h->ctx, t->name->base, strlen(t->name->base))))
		t->surety = SURE;
	return gs_parse_advance(p);
}

static struct gs_error *bad_words(struct gs_parser *p, const struct type_parse *t)
{
	return gs_error_at(gs_error_new(GS_ERR_USAGE, "`%.*s' is not a type of C",
					(int)(p->last_end - t->start), p->lex.text + t->start),
			   p->lex.text, t->start, p->last_end - t->start);
}

/* Specifiers and qualifiers in any order. */
static struct gs_error *parse_specifiers(struct gs_parser *p, struct type_parse *t)
{
	for (;;) {
		int w = word_of(&p->tok);
		if (w == W_CONST)
			t->name->is_const = true;
		if (w == W_CONST || w == W_QUALIFIER) {
			t->surety = SURE;
			GS_TRY(gs_parse_advance(p));
		} else if (w == W_TAG && !t->name->base && !t->nwords) {
			GS_TRY(parse_tag(p, t));
		} else if (w >= 0 && w < W_BASE_COUNT && !t->name->base) {
			t->surety = SURE;
			t->nwords++;
			if (t->counts[w] < 3)
				t->counts[w]++;
			GS_TRY(gs_parse_advance(p));
		} else if (w < 0 && gs_parse_at_name(p) && !t->name->base && !t->nwords) {
			bool was_sure = t->surety == SURE;
			GS_TRY(parse_named(p, t));
			if (was_sure)
				t->surety = SURE;
		} else {
			break;
		}
	}
	if (t->nwords) {
		t->name->base = canonical_base(t->counts);
		if (!t->name->base)
			return bad_words(p, t);
	}
	if (!t->name->base && t->surety == SURE)
		return gs_parse_unexpected(p, "a type is expected");
	return NULL;
}

/* ---- declarator: * const *, (*), [N] ---- */

static struct gs_error *parse_stars(struct gs_parser *p, uint32_t *n)
{
	for (;;) {
		int w = word_of(&p->tok);
		if (gs_parse_at(p, "*"))
			++*n;
		else if (!*n || (w != W_CONST && w != W_QUALIFIER))
			return NULL;
		GS_TRY(gs_parse_advance(p));
	}
}

/* Where it is not sure yet that this is a type, anything unfitting only says that it is none. */
static struct gs_error *parse_dims(struct gs_parser *p, struct type_parse *t)
{
	while (gs_parse_at(p, "[")) {
		bool sure = t->surety == SURE;
		GS_TRY(gs_parse_advance(p));
		if (p->tok.kind != GS_TOK_NUMBER)
			return sure ? gs_parse_unexpected(p, "a number is expected as the array's "
							     "dimension")
				    : NULL;
		if (t->name->ndims == GS_ARRAY_SIZE(t->name->dims))
			return sure ? gs_parse_unexpected(
					      p, "an array has at most %zu dimensions here",
					      GS_ARRAY_SIZE(t->name->dims))
				    : NULL;
		t->name->dims[t->name->ndims++] = p->tok.number;
		GS_TRY(gs_parse_advance(p));
		if (!gs_parse_at(p, "]") && !sure)
			return NULL;
		GS_TRY(gs_parse_expect(p, "]", "after the array's dimension"));
	}
	return NULL;
}

/* `(*)' or `(**)' before dimensions. `*' before `)' ends no value, so it makes sure. */
static struct gs_error *parse_outer(struct gs_parser *p, struct type_parse *t)
{
	struct gs_parser saved = *p;

	GS_TRY(gs_parse_advance(p));
	GS_TRY(parse_stars(p, &t->name->nouter));
	if (!t->name->nouter || !gs_parse_at(p, ")")) {
		*p = saved;
		t->name->nouter = 0;
		return NULL;
	}
	t->surety = SURE;
	GS_TRY(gs_parse_advance(p));
	if (gs_parse_at(p, "("))
		return gs_error_hint(
			gs_parse_unexpected(p, "the type of a function cannot be written here"),
			"a function pointer is shown with its own type without a cast");
	if (!gs_parse_at(p, "["))
		return gs_parse_unexpected(p, "an array's dimension is expected after `(*)'");
	return NULL;
}

static struct gs_error *parse_declarator(struct gs_parser *p, struct type_parse *t)
{
	GS_TRY(parse_stars(p, &t->name->npointers));
	if (t->name->npointers && (gs_parse_at(p, ")") || gs_parse_at(p, ",")))
		t->surety = SURE;
	if (gs_parse_at(p, "("))
		GS_TRY(parse_outer(p, t));
	return parse_dims(p, t);
}

static struct gs_error *parse_type(struct gs_parser *p, struct type_parse *t)
{
	*t = (struct type_parse){.start = p->tok.start};
	t->name = gs_arena_alloc(p->lex.arena, sizeof(*t->name));
	GS_TRY(parse_specifiers(p, t));
	return t->name->base ? parse_declarator(p, t) : NULL;
}

struct gs_error *gs_parse_type_name(struct gs_parser *p, struct gs_type_name **out)
{
	struct type_parse t;

	if (!gs_parse_at_name(p))
		return gs_parse_unexpected(p, "a type is expected");
	GS_TRY(parse_type(p, &t));
	*out = t.name;
	return NULL;
}

/* ---- is it one? ---- */

/* What can begin an operand after `(T)', and after `(a)' can continue nothing. */
static bool begins_operand_only(const struct gs_parser *p)
{
	switch (p->tok.kind) {
	case GS_TOK_END:
		return false;
	case GS_TOK_PUNCT:
		return gs_parse_at(p, "(") || gs_parse_at(p, "!") || gs_parse_at(p, "~");
	default:
		return true;
	}
}

static bool begins_operand(const struct gs_parser *p)
{
	static const char *const signs[] = {"*", "&", "+", "-", "::"};

	for (size_t i = 0; i < GS_ARRAY_SIZE(signs); i++)
		if (gs_parse_at(p, signs[i]))
			return true;
	return begins_operand_only(p);
}

/* After the type name: whether all of it stands. Consumes the `)'. */
static struct gs_error *accept_type(struct gs_parser *p, const struct type_parse *t, bool by_shape,
				    bool is_cast, bool *yes)
{
	*yes = false;
	if (!t->name->base)
		return NULL;
	if (!gs_parse_at(p, ")"))
		return by_shape ? gs_parse_expect(p, ")", "after the type") : NULL;
	GS_TRY(gs_parse_advance(p));
	if (by_shape || !is_cast)
		*yes = t->surety == SURE;
	else
		*yes = t->surety == SURE ? begins_operand(p) : begins_operand_only(p);
	return NULL;
}

struct gs_error *gs_parse_paren_type(struct gs_parser *p, bool is_cast, struct gs_type_name **out)
{
	/* A word of C's own at the start leaves no doubt, and its errors are about the type. */
	bool by_shape = gs_parse_is_type_word(&p->tok), yes;
	struct gs_parser saved = *p;
	struct type_parse t;

	*out = NULL;
	if (!gs_parse_at_name(p))
		return NULL;
	GS_TRY(parse_type(p, &t));
	GS_TRY(accept_type(p, &t, by_shape, is_cast, &yes));
	if (yes)
		*out = t.name;
	else
		*p = saved;
	return NULL;
}
