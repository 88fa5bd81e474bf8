/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit tests of the lexer of expressions (common/lex.c, lex_literal.c).
 * Literals with their C types, and what is one name.
 */
#include "common/expr.h"
#include "tests/tap.h"

static struct gs_arena arena;

/* The only token of TEXT; kind END on an error or when more follows. */
static struct gs_tok one(const char *text)
{
	struct gs_lexer lex = {text, 0, strlen(text), &arena};
	struct gs_tok tok = {.kind = GS_TOK_END}, after;
	struct gs_error *err = gs_lex_next(&lex, &tok);

	if (!err)
		err = gs_lex_next(&lex, &after);
	if (err || after.kind != GS_TOK_END)
		tok.kind = GS_TOK_END;
	gs_error_free(err);
	return tok;
}

static const char *fault(const char *text)
{
	struct gs_lexer lex = {text, 0, strlen(text), &arena};
	struct gs_tok tok;
	struct gs_error *err = gs_lex_next(&lex, &tok);
	const char *s = err ? gs_arena_strdup(&arena, gs_error_message(err)) : "no error";

	gs_error_free(err);
	return s;
}

/* Value, width and sign as the compiler sees the same literal. */
#define NUMBER(literal)                                                   \
	do {                                                              \
		struct gs_tok t_ = one(#literal);                         \
		CHECK_INT(t_.kind, GS_TOK_NUMBER);                        \
		CHECK(t_.number == (uint64_t)(literal));                  \
		CHECK_INT(t_.width, sizeof(literal));                     \
		CHECK_INT(t_.is_unsigned, ((__typeof__(literal))-1 > 0)); \
	} while (0)

static void test_integers(void)
{
	NUMBER(0);
	NUMBER(00);
	NUMBER(017);
	NUMBER(42);
	NUMBER(0x1F);
	NUMBER(0XabcdefL);
	NUMBER(0b1011);
	NUMBER(2147483647);
	NUMBER(2147483648);
	NUMBER(0x7fffffff);
	NUMBER(0x80000000);
	NUMBER(0xffffffff);
	NUMBER(0x100000000);
	NUMBER(037777777777);
	NUMBER(4294967295);
	NUMBER(4294967295u);
	NUMBER(4294967296U);
	NUMBER(1l);
	NUMBER(1uL);
	NUMBER(1LLU);
	NUMBER(1ull);
	NUMBER(9223372036854775807);
	NUMBER(0x7fffffffffffffff);
	NUMBER(0x8000000000000000);
	NUMBER(18446744073709551615u);
	NUMBER(0xffffffffffffffff);
	CHECK_INT(one("1'000'000").number, 1000000);
}

static void test_bad_numbers(void)
{
	static const char *const bad[] = {"08",	   "0b12",  "0x",   "0xg", "1lul",
					  "1lL",   "1u8",   "12ab", "0b",  "1e",
					  "1.5.2", "0x1.8", "1e5x", "1uu", "5m"};

	for (size_t i = 0; i < GS_ARRAY_SIZE(bad); i++) {
		CHECK(strstr(fault(bad[i]), "is not a number") != NULL);
		if (!strstr(fault(bad[i]), "is not a number"))
			printf("# %s: %s\n", bad[i], fault(bad[i]));
	}
	CHECK_STR(fault("18446744073709551616"),
		  "`18446744073709551616' is not a number: it does not fit 64 bits");
	/* C has no type for it; compilers guess. */
	CHECK_STR(fault("9223372036854775808"),
		  "`9223372036854775808' is not a number: it does not fit a signed 64-bit type");
}

static void test_floats(void)
{
	CHECK(one("1.5").real == 1.5 && one("1.5").kind == GS_TOK_FLOAT);
	CHECK(one(".5").real == .5);
	CHECK(one("5.").real == 5.);
	CHECK(one("1e-3").real == 1e-3);
	CHECK(one("1E+3").real == 1e3);
	CHECK(one("0x1.8p3").real == 12);
	CHECK(one("0x.8p-1").real == 0.25);
	CHECK(one("0.1f").real == (double)0.1f && one("0.1f").is_float);
	/* Straight to float: by way of double it would be the neighbour. */
	CHECK(one("1.00000017881393432617187499f").real == (double)1.00000017881393432617187499f);
	CHECK(one("1.5L").real == 1.5);
	CHECK(strstr(fault("0.1L"), "exact as a double") != NULL);
	CHECK(strstr(fault("1e999"), "out of the range") != NULL);
	CHECK(strstr(fault("1e-999"), "out of the range") != NULL);
	CHECK(strstr(fault("1e39f"), "out of the range") != NULL);
	CHECK(one("0e9").real == 0);
	/* 0xe+1 is a sum: `e' is a digit there. */
	CHECK_INT(one("0xe").number, 14);
}

static void test_characters(void)
{
	CHECK_INT(one("'a'").number, 'a');
	CHECK_INT(one("'a'").kind, GS_TOK_CHAR);
	CHECK_INT(one("'\\n'").number, '\n');
	CHECK_INT(one("'\\''").number, '\'');
	CHECK_INT(one("'\\\\'").number, '\\');
	CHECK_INT(one("'\"'").number, '"');
	CHECK_INT(one("'\\0'").number, 0);
	CHECK_INT(one("'\\101'").number, 'A');
	CHECK_INT(one("'\\x41'").number, 'A');
	CHECK_INT(one("'\\xff'").number, 255);
	CHECK_STR(fault("''"), "there is nothing between the quotes");
	CHECK_STR(fault("'a"), "the closing quote ' is missing");
}

static void test_quoted_names(void)
{
	CHECK_INT(one("'ab'").kind, GS_TOK_QUOTED);
	CHECK_STR(one("'file.c'").string, "file.c");
	CHECK_STR(one("'operator<(P const&)'").string, "operator<(P const&)");
	CHECK_STR(one("'foo<\\'a>'").string, "foo<'a>");
	/* More than an escape is a name again. */
	CHECK_INT(one("'\\nx'").kind, GS_TOK_QUOTED);
	CHECK_STR(one("'\\nx'").string, "\\nx");
	/* One character before a scope. */
	struct gs_lexer lex = {"'f'::v", 0, 6, &arena};
	struct gs_tok tok;
	gs_error_free(gs_lex_next(&lex, &tok));
	CHECK_INT(tok.kind, GS_TOK_QUOTED);
	CHECK_STR(tok.string, "f");
}

static void test_strings(void)
{
	struct gs_tok t = one("\"a\\tb\\0c\\\"\\x41\\u00e9\\U0001f600\"");
	static const char want[] = "a\tb\0c\"A\xc3\xa9\xf0\x9f\x98\x80";

	CHECK_INT(t.kind, GS_TOK_STRING);
	CHECK_INT(t.string_len, sizeof(want) - 1);
	CHECK(memcmp(t.string, want, sizeof(want) - 1) == 0);
	CHECK_INT(one("\"\"").string_len, 0);
	CHECK_STR(fault("\"abc"), "the closing quote \" is missing");
	CHECK_STR(fault("\"abc\\\""), "the closing quote \" is missing");
	CHECK_STR(fault("\"\\q\""), "unknown or out of range escape sequence");
	CHECK_STR(fault("\"\\x141\""), "unknown or out of range escape sequence");
	CHECK_STR(fault("\"\\ud800\""), "unknown or out of range escape sequence");
	CHECK_STR(fault("\"\\400\""), "unknown or out of range escape sequence");
}

static void test_names(void)
{
	static const char *const names[] = {"a",
					    "_x9",
					    "a$b",
					    "caf\xc3\xa9",
					    "a::b",
					    "a::b::c",
					    "T<int>::x",
					    "T<int, A<3>>::x",
					    "file.c::v",
					    "x.tab.cc::f::v",
					    "f<(1)>::g<2>::h"};

	for (size_t i = 0; i < GS_ARRAY_SIZE(names); i++) {
		CHECK_INT(one(names[i]).kind, GS_TOK_NAME);
		CHECK_STR(one(names[i]).string, names[i]);
	}
	CHECK_INT(one("$pid").kind, GS_TOK_DOLLAR);
	CHECK_STR(one("$pid").string, "$pid");
	/* Several tokens: a comparison, a member, a member named with its base. */
	CHECK_INT(one("a<b>c").kind, GS_TOK_END);
	CHECK_INT(one("a.b").kind, GS_TOK_END);
	CHECK_INT(one("obj.Base::v").kind, GS_TOK_END);
	CHECK_INT(one("a->c<d>::e").kind, GS_TOK_END);
	CHECK_STR(fault("$"), "a name is expected after `$'");
	CHECK_STR(fault("`"), "unexpected character ``'");
	CHECK_STR(fault("\x01"), "unexpected control character \\x01");
}

static void test_operators(void)
{
	struct gs_lexer lex = {"a->b>>=c>>d->*e&&f&g ::h", 0, 24, &arena};
	static const char *const want[] = {"->", ">>=", ">>", "->", "*", "&&", "&", "::"};
	struct gs_tok tok;
	size_t n = 0;

	for (;;) {
		struct gs_error *err = gs_lex_next(&lex, &tok);
		CHECK(err == NULL);
		gs_error_free(err);
		if (err || tok.kind == GS_TOK_END)
			break;
		if (tok.kind == GS_TOK_PUNCT && n < GS_ARRAY_SIZE(want))
			CHECK_STR(tok.op, want[n++]);
	}
	CHECK_INT(n, GS_ARRAY_SIZE(want));
}

int main(void)
{
	TAP_RUN(test_integers);
	TAP_RUN(test_bad_numbers);
	TAP_RUN(test_floats);
	TAP_RUN(test_characters);
	TAP_RUN(test_quoted_names);
	TAP_RUN(test_strings);
	TAP_RUN(test_names);
	TAP_RUN(test_operators);
	gs_arena_deinit(&arena);
	return tap_done();
}
