/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit tests of the parser of expressions and of their canonical text (common/parse*.c,
 * expr_print.c). Precedence, what is a cast, names with scopes, where an item ends, caps, errors
 * with their spans.
 */
#include "common/expr.h"
#include "tests/tap.h"

static struct gs_arena arena;

static bool is_type(void *ctx, const char *name, size_t len)
{
	return len && name[0] == 'T';
}

static const struct gs_parse_hooks hooks = {.is_type = is_type};

static const char *message(struct gs_error *err)
{
	size_t start = 0, len = 0;
	const char *source = gs_error_source(err, &start, &len);
	const char *s = gs_arena_printf(&arena, "%s @%zu+%zu", gs_error_message(err), start, len);

	CHECK(source != NULL);
	gs_error_free(err);
	return s;
}

/* Canonical text of TEXT, or the error as "message @start+len". */
static const char *canon_with(const char *text, const struct gs_parse_hooks *h)
{
	struct gs_buf buf = {0};
	struct gs_expr *e, *again;
	struct gs_error *err = gs_expr_parse(&arena, text, 0, h, NULL, &e);

	if (err)
		return message(err);
	gs_expr_print(&buf, e);
	const char *s = gs_arena_strdup(&arena, gs_buf_cstr(&buf));
	gs_buf_deinit(&buf);
	/* The canonical text means the same. */
	err = gs_expr_parse(&arena, s, 0, h, NULL, &again);
	CHECK(err == NULL);
	if (err)
		return message(err);
	CHECK(gs_expr_equal(e, again));
	return s;
}

static const char *canon(const char *text)
{
	return canon_with(text, NULL);
}

static void test_precedence(void)
{
	CHECK_STR(canon("a+b*c"), "a + b * c");
	CHECK_STR(canon("(a+b)*c"), "(a + b) * c");
	CHECK_STR(canon("a-(b-c)"), "a - (b - c)");
	CHECK_STR(canon("(a-b)-c"), "a - b - c");
	CHECK_STR(canon("a||b&&c|d^e&f==g<h<<i+j%k"),
		  "a || b && c | d ^ e & f == g < h << i + j % k");
	CHECK_STR(canon("((((((((((a||b)&&c)|d)^e)&f)==g)<h)<<i)+j)%k)"),
		  "(((((((((a || b) && c) | d) ^ e) & f) == g) < h) << i) + j) % k");
	CHECK_STR(canon("a?b:c?d:e"), "a ? b : c ? d : e");
	CHECK_STR(canon("(a?b:c)?d:e"), "(a ? b : c) ? d : e");
	CHECK_STR(canon("a?b?c:d:e"), "a ? b ? c : d : e");
	CHECK_STR(canon("!~-+*&a"), "!~-+*&a");
	CHECK_STR(canon("- -a - -b"), "- -a - -b");
	CHECK_STR(canon("*a.b->c[1]"), "*a.b->c[1]");
	CHECK_STR(canon("(*a).b"), "(*a).b");
	CHECK_STR(canon("x.Base::b"), "x.Base::b");
	CHECK_STR(canon("(x).c::b"), "(x).c::b");
	CHECK_STR(canon("x->y. c::b"), "(x->y).c::b");
	CHECK_STR(canon("-a[0]"), "-a[0]");
	CHECK_STR(canon("(-a)[0]"), "(-a)[0]");
}

static void test_slices_and_at(void)
{
	CHECK_STR(canon("*p@n"), "*p@n");
	CHECK_STR(canon("*(p@n)"), "*(p@n)");
	CHECK_STR(canon("*p@n*2"), "*p@n * 2");
	CHECK_STR(canon("*p@(n+1)"), "*p@(n + 1)");
	CHECK_STR(canon("a[1:2]"), "a[1:2]");
	CHECK_STR(canon("a[:n]"), "a[:n]");
	CHECK_STR(canon("a[n:]"), "a[n:]");
	CHECK_STR(canon("a[:]"), "a[:]");
	CHECK_STR(canon("a[x?y:z:w]"), "a[x ? y : z:w]");
	CHECK_STR(canon("a[x: ::g]"), "a[x: ::g]");
	CHECK_STR(canon("a[b[c[:d]:]]"), "a[b[c[:d]:]]");
}

static void test_casts(void)
{
	CHECK_STR(canon("(int)x"), "(int)x");
	CHECK_STR(canon("(long unsigned int)-x"), "(unsigned long)-x");
	CHECK_STR(canon("(int long unsigned long)x"), "(unsigned long long)x");
	CHECK_STR(canon("(char signed)x"), "(signed char)x");
	CHECK_STR(canon("(signed)x"), "(int)x");
	CHECK_STR(canon("(bool)x"), "(_Bool)x");
	CHECK_STR(canon("(double long)x"), "(long double)x");
	CHECK_STR(canon("(unsigned __int128)x"), "(unsigned __int128)x");
	CHECK_STR(canon("(const volatile char *const *)x"), "(const char **)x");
	CHECK_STR(canon("(char const*)x"), "(const char *)x");
	CHECK_STR(canon("(struct a **)x->y"), "(struct a **)x->y");
	CHECK_STR(canon("((struct a *)x)->y"), "((struct a *)x)->y");
	CHECK_STR(canon("(enum ns::e)1"), "(enum ns::e)1");
	CHECK_STR(canon("(struct T<int> *)p"), "(struct T<int> *)p");
	CHECK_STR(canon("(T<A<int>, 4>*)p"), "(T<A<int>, 4> *)p");
	CHECK_STR(canon("(int (*)[4])p"), "(int (*)[4])p");
	CHECK_STR(canon("(char *[2][3])p"), "(char *[2][3])p");
	/* By shape alone. */
	CHECK_STR(canon("(a *)p"), "(a *)p");
	CHECK_STR(canon("(a)b"), "(a)b");
	CHECK_STR(canon("(a)(b)"), "(a)b");
	CHECK_STR(canon("(a)!b"), "(a)!b");
	/* Values, unless somebody knows better. */
	CHECK_STR(canon("(T)*p"), "T * p");
	CHECK_STR(canon_with("(T)*p", &hooks), "(T)(*p)");
	CHECK_STR(canon_with("(T)-1", &hooks), "(T)(-1)");
	CHECK_STR(canon_with("(a)-1", &hooks), "a - 1");
	CHECK_STR(canon_with("(T)", &hooks), "T");
	CHECK_STR(canon_with("(T)[1]", &hooks), "T[1]");
	CHECK_STR(canon("(a*b)"), "a * b");
	CHECK_STR(canon("(a<b)"), "a < b");
	CHECK_STR(canon("(a<b>c)"), "a < b > c");
	CHECK_STR(canon("(a[1+2])"), "a[1 + 2]");
	CHECK_STR(canon("(a[1][2][3][4][5])"), "a[1][2][3][4][5]");
	CHECK_STR(canon("(a.b)*c"), "a.b * c");
	CHECK_STR(canon("sizeof(int)*2"), "sizeof(int) * 2");
	CHECK_STR(canon("sizeof(a)+sizeof a"), "sizeof(a) + sizeof(a)");
	CHECK_STR(canon("sizeof(struct a [3])"), "sizeof(struct a [3])");
	CHECK_STR(canon_with("sizeof(T)", &hooks), "sizeof(T)");
	CHECK_STR(canon("(short double)x"), "`short double' is not a type of C @1+12");
	CHECK_STR(canon("(long long long)x"), "`long long long' is not a type of C @1+14");
	CHECK_STR(canon("(int"),
		  "`)' is expected after the type, found the end of the expression @4+0");
	CHECK_STR(canon("(struct)x"), "a tag is expected after `struct', found `)' @7+1");
	CHECK_STR(canon("int"), "a value is expected, found the type word `int' @0+3");
}

static const struct gs_expr *parsed(const char *text)
{
	static const struct gs_expr none = {.name = "", .qualifier = ""};
	struct gs_expr *e;
	struct gs_error *err = gs_expr_parse(&arena, text, 0, NULL, NULL, &e);

	CHECK(err == NULL);
	gs_error_free(err);
	return err ? &none : e;
}

static void test_scopes(void)
{
	static const char *const names[][3] = {
		{"file.c::v", "file.c", "v"},
		{"file.c::f::v", "file.c", "f::v"},
		{"'src/a file.c'::v", "src/a file.c", "v"},
		{"'f(int)'::v", "f(int)", "v"},
		{"'f'::v", "f", "v"},
		{"f::v", "f", "v"},
		{"a::b::c", "a::b", "c"},
		{"T<a::b>::c", "T<a::b>", "c"},
		{"::v", "", "v"},
	};

	for (size_t i = 0; i < GS_ARRAY_SIZE(names); i++) {
		const struct gs_expr *e = parsed(names[i][0]);
		CHECK_STR(e->qualifier, names[i][1]);
		CHECK_STR(e->name, names[i][2]);
		CHECK_STR(canon(names[i][0]),
			  names[i][0][0] == '\'' && names[i][0][2] == '\'' ? "f::v" : names[i][0]);
	}
	CHECK(parsed("'a::b(int)'")->qualifier == NULL);
	CHECK_STR(parsed("'a::b(int)'")->name, "a::b(int)");
	CHECK_STR(canon("x.Base::m"), "x.Base::m");
	CHECK_STR(canon("p->'odd name'"), "p->'odd name'");
}

/* Texts whose canonical form once read differently (found by tests/fuzz/expr.c). */
static void test_round_trips(void)
{
	CHECK_STR(canon("3 .x"), "(3).x");
	CHECK_STR(canon("'a::b'"), "'a::b'");
	CHECK_STR(canon("'f'::a::b"), "'f'::a::b");
	CHECK_STR(canon("'q'::long"), "q::long");
	CHECK_STR(canon("'q'::'odd name'"), "'q'::'odd name'");
	CHECK_STR(canon("'int' + 'sizeof'"), "'int' + 'sizeof'");
	CHECK_STR(canon("(a)(-b)"), "(a)(-b)");
	CHECK_STR(canon("(int)(-b)"), "(int)-b");
	CHECK_STR(canon("a.c"), "a.c");
}

static void test_literals(void)
{
	CHECK_STR(canon("1+2u+3l+4ul+0x10"), "1 + 2u + 3l + 4ul + 16");
	CHECK_STR(canon("0xffffffff"), "4294967295u");
	CHECK_STR(canon("5000000000"), "5000000000");
	CHECK_STR(canon("1.5+2.f+1e30"), "1.5 + 2.0f + 1e+30");
	CHECK_STR(canon("'a'+'\\n'+'\\''"), "'a' + '\\012' + '\\''");
	CHECK_STR(canon("s == \"a\" \"b\\n\""), "s == \"ab\\n\"");
	CHECK(gs_expr_equal(parsed("a==16"), parsed("a == 0x10")));
	CHECK(!gs_expr_equal(parsed("a==16"), parsed("a == 16u")));
	CHECK(!gs_expr_equal(parsed("a"), parsed("$a")));
	CHECK(gs_expr_equal(parsed("(a.b)"), parsed("a->b")));
	CHECK(!gs_expr_equal(parsed("a+b"), parsed("b+a")));
	CHECK(!gs_expr_equal(parsed("f::v"), parsed("v")));
	CHECK(!gs_expr_equal(parsed("a[1:]"), parsed("a[1:2]")));
}

static void test_calls(void)
{
	CHECK_STR(canon("str(p)"), "str(p)");
	CHECK_STR(canon("str(p,n+1)"), "str(p, n + 1)");
	CHECK_STR(canon("$str(p)"), "$str(p)");
	CHECK(gs_expr_equal(parsed("$str(p)"), parsed("str (p)")));
	CHECK_STR(canon("buf(p,4)"), "buf(p, 4)");
	CHECK_STR(canon("$entry(a->b)-$entry(c)"), "$entry(a->b) - $entry(c)");
	CHECK_STR(canon("starts_with(s,\"x\")"), "starts_with(s, \"x\")");
	CHECK_STR(canon("container_of(p,struct a,b.c[2].d)"),
		  "container_of(p, struct a, b.c[2].d)");
	CHECK_STR(canon("container_of(p,T<int>,b)->x"), "container_of(p, T<int>, b)->x");
	CHECK_STR(canon("list(h,link.next,10)"), "list(h, link.next, 10)");
	/* Without `(' they are names like any other. */
	CHECK_STR(canon("str+list"), "str + list");
	CHECK_STR(canon("str()"), "the arguments of `str' do not fit, found `)' @4+1");
	CHECK_STR(canon("str(p,1,2)"), "the arguments of `str' do not fit, found `,' @7+1");
	CHECK_STR(canon("contains(s,x)"), "a string literal is expected, found `x' @11+1");
	CHECK_STR(canon("f(1)"),
		  "`f' is not a built-in function, and functions of the program are not "
		  "called @0+1");
	CHECK_STR(canon("p->f(1)"),
		  "functions of the program are not called: gs only reads it @4+1");
	CHECK_STR(canon("entry(x)"),
		  "`entry' is not a built-in function, and functions of the program "
		  "are not called @0+5");
}

static void test_errors(void)
{
	CHECK_STR(canon(""), "an expression is expected, found the end of the expression @0+0");
	CHECK_STR(canon("a b"), "an operator is expected, found `b' @2+1");
	CHECK_STR(canon("a +"), "a value is expected, found the end of the expression @3+0");
	CHECK_STR(canon("a)"),
		  "an operator is expected: there is nothing to close, found `)' @1+1");
	CHECK_STR(canon("(a"),
		  "`)' is expected to close the parenthesis, found the end of the expression @2+0");
	CHECK_STR(canon("a[1"),
		  "`]' is expected after the index, found the end of the expression @3+0");
	CHECK_STR(canon("a ? b"),
		  "`:' is expected between the two values of `?:', found the end of "
		  "the expression @5+0");
	CHECK_STR(canon("a = 1"), "`=' would change the program: gs only reads it @2+1");
	CHECK_STR(canon("a += 1"), "`+=' would change the program: gs only reads it @2+2");
	CHECK_STR(canon("a <<= 1"), "`<<=' would change the program: gs only reads it @2+3");
	CHECK_STR(canon("a++"), "`++' would change the program: gs only reads it @1+2");
	CHECK_STR(canon("--a"), "`--' would change the program: gs only reads it @0+2");
	CHECK_STR(canon("a.1"), "an operator is expected, found `.1' @1+2");
	CHECK_STR(canon("a->"), "the name of a member is expected after `->', found the end of the "
				"expression @3+0");
}

static void test_stop(void)
{
	const char *text = "p { a[1:2] , b?c:d}";
	struct gs_expr *e;
	size_t stop;

	CHECK(gs_expr_parse(&arena, text, 4, NULL, &stop, &e) == NULL);
	CHECK_INT(stop, 11);
	CHECK_INT(e->start, 4);
	CHECK_INT(e->len, 6);
	CHECK(gs_expr_parse(&arena, text, 12, NULL, &stop, &e) == NULL);
	CHECK_INT(stop, 18);
	CHECK_INT(e->start, 13);
	struct gs_error *err = gs_expr_parse(&arena, "{}", 1, NULL, &stop, &e);
	CHECK_STR(gs_error_message(err), "an expression is expected, found `}'");
	gs_error_free(err);
	err = gs_expr_parse(&arena, "{a b}", 1, NULL, &stop, &e);
	CHECK_STR(gs_error_message(err), "an operator is expected, `,' or `}', found `b'");
	gs_error_free(err);
}

/* N times PREFIX, `x', N times SUFFIX. */
static const char *repeated(const char *prefix, size_t n, const char *suffix)
{
	struct gs_buf buf = {0};

	for (size_t i = 0; i < n; i++)
		gs_buf_puts(&buf, prefix);
	gs_buf_putc(&buf, 'x');
	for (size_t i = 0; i < n; i++)
		gs_buf_puts(&buf, suffix);
	const char *s = gs_arena_strdup(&arena, gs_buf_cstr(&buf));
	gs_buf_deinit(&buf);
	return s;
}

static enum gs_error_code code_of(const char *text)
{
	struct gs_expr *e;
	struct gs_error *err = gs_expr_parse(&arena, text, 0, NULL, NULL, &e);
	enum gs_error_code code = err ? gs_error_code_of(err) : GS_ERR_INTERNAL;

	gs_error_free(err);
	return code;
}

static void test_caps(void)
{
	CHECK_STR(canon(repeated("(", 63, ")")), "x");
	CHECK_INT(code_of(repeated("(", 64, ")")), GS_ERR_LIMIT);
	CHECK_INT(code_of(repeated("-~", 32, "")), GS_ERR_LIMIT);
	CHECK_INT(code_of(repeated("x?x:", 64, "")), GS_ERR_LIMIT);
	CHECK_INT(code_of(repeated("x[", 64, "]")), GS_ERR_LIMIT);
	/* Long chains are no nesting: 500 terms are fine, 600 have too many nodes. */
	CHECK_INT(code_of(repeated("x+", 500, "")), GS_ERR_INTERNAL);
	CHECK_INT(code_of(repeated("x+", 600, "")), GS_ERR_LIMIT);
	CHECK_INT(code_of(repeated("", 1000, ".y")), GS_ERR_INTERNAL);
	CHECK_INT(code_of(repeated("     ", 900, "")), GS_ERR_LIMIT);
	CHECK_INT(code_of(repeated("", 1, "+0000000000")), GS_ERR_INTERNAL);
}

int main(void)
{
	TAP_RUN(test_precedence);
	TAP_RUN(test_slices_and_at);
	TAP_RUN(test_casts);
	TAP_RUN(test_scopes);
	TAP_RUN(test_round_trips);
	TAP_RUN(test_literals);
	TAP_RUN(test_calls);
	TAP_RUN(test_errors);
	TAP_RUN(test_stop);
	TAP_RUN(test_caps);
	gs_arena_deinit(&arena);
	return tap_done();
}
