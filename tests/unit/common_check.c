/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit tests of the type checker of expressions (common/check*.c).
 * Types, the implicit nodes that lowering and evaluation rely on, and errors; over common_scope.h.
 */
#include "tests/lib/common_scope.h"
#include "tests/tap.h"

static struct test_program t;

#define TYPE(text, want) CHECK_STR(test_type(&t, text), want)
#define TREE(text, want) CHECK_STR(test_tree(&t, text), want)
#define FAILS(text, want) CHECK_STR(test_type(&t, text), "error: " want)

static void test_conversions(void)
{
	TREE("c+1", "(+ <int>c 1)");
	TREE("uc*us", "(* <int>uc <int>us)");
	TREE("s<<uc", "(<< <int>s <int>uc)");
	TREE("l<<i", "(<< l i)");
	TREE("i+u", "(+ <unsigned int>i u)");
	TREE("l+u", "(+ l <long>u)");
	TREE("ul+l", "(+ ul <unsigned long>l)");
	TREE("l+ll", "(+ l ll)");
	TREE("b+b", "(+ <int>b <int>b)");
	TREE("f+1", "(+ f <float>1)");
	TREE("f+d", "(+ <double>f d)");
	TREE("-c", "(- <int>c)");
	TREE("~us", "(~ <int>us)");
	TREE("!c", "(! c)");
	TREE("c && d", "(&& c d)");
	TREE("c < u", "(< <unsigned int>c u)");
	TREE("i < ul", "(< <unsigned long>i ul)");
	TREE("i ? c : s", "(? i <int>c <int>s)");
	TREE("i ? u : f", "(? i <float>u f)");
	TYPE("l+u", "long");
	TYPE("u+i", "unsigned int");
	TYPE("c<<l", "int");
	TYPE("i<<l", "int");
	TYPE("d<f", "int");
	TYPE("ci+1", "int");
	TYPE("c", "char");
}

static void test_bit_fields(void)
{
	TREE("rr.flags", "(.flags/128:3 rr)");
	TREE("rr.flags-1", "(- <int>(.flags/128:3 rr) 1)");
	TREE("rr.sflags-1", "(- (.sflags/131:3 rr) 1)");
	TREE("rr.wide-1", "(- (.wide/160:32 rr) <unsigned int>1)");
	TREE("rr.off-1", "(- (.off/192:40 rr) <unsigned long>1)");
	TREE("rr.small-1", "(- <int>(.small/232:10 rr) 1)");
	TYPE("rr.flags > -1", "int");
	FAILS("&rr.flags", "there is no address to take: it is a bit-field");
	FAILS("sizeof rr.flags", "a bit-field has no size in bytes");
	FAILS("rr.flags@2", "what stands before `@' must be an object in memory");
}

static void test_enums(void)
{
	TYPE("e", "enum color");
	TYPE("RED", "enum color = 0");
	TYPE("e == GREEN", "int");
	TREE("e+1", "(+ e <unsigned int>1)");
	/* A constant of an enumeration is an int in C: RED > -1 is true, e > -1 is not. */
	TYPE("RED > -1", "int = 1");
	TYPE("RED - 1", "int = -1");
	TYPE("BIG + 1", "unsigned int = 2147483649");
	TYPE("(enum color)5", "enum color = 5");
}

static void test_members(void)
{
	TREE("r->len", "(->len/0 r)");
	TREE("r.len", "(->len/0 r)");
	TREE("rr->len", "(.len/0 rr)");
	TREE("r->next->next->name[2]", "(index (->name/320 (->next/256 (->next/256 r))) <long>2)");
	TREE("rr.fa", "(.fa/448 rr)");
	TREE("rr.link.prev", "(.prev/0 (.link/704 rr))");
	TREE("rref.len", "(.len/0 *rref)");
	TREE("$retval.uri", "(.uri/64 $retval)");
	TREE("der.own", "(.own/64 der)");
	TREE("der.Base::id", "(.Base::id/0 der)");
	TREE("der.Other::id", "(.Other::id/32 der)");
	TREE("pder->ns::Other::id", "(->ns::Other::id/32 pder)");
	TREE("pder->Derived::own", "(->Derived::own/64 pder)");
	FAILS("der.id", "several base classes of `Derived' have a member `id'");
	FAILS("der.own::id", "`own' is not a base class of `Derived'");
	FAILS("der.count", "`count' is a static member: it is not in the object");
	FAILS("r->lenn", "`struct req' has no member `lenn'");
	FAILS("op->x",
	      "`struct opaque' is only declared where this is looked up: its members are not "
	      "known");
	FAILS("i.x", "`.x' needs a struct, union or class, or a pointer to one, not `int'");
	FAILS("pp->x", "`->x' needs a struct, union or class, or a pointer to one, not `int **'");
}

static void test_this(void)
{
	FAILS("own", "no variable `own'");
	t.in_method = true;
	TREE("own", "(->own/64 this)");
	TREE("own+i", "(+ (->own/64 this) i)");
	FAILS("id", "several base classes of `Derived' have a member `id'");
	FAILS("nowhere", "no variable `nowhere'");
	t.in_method = false;
}

static void test_pointers(void)
{
	TREE("p+i", "(+ p <long>i)");
	TREE("2+p", "(+ p <long>2)");
	TREE("p-u", "(- p <long>u)");
	TREE("p-arr", "(- p &arr)");
	TYPE("p-arr", "long");
	TYPE("arr+1", "int *");
	TYPE("vp+1", "void *");
	TREE("*arr", "(index arr 0)");
	TREE("1[arr]", "(index arr <long>1)");
	TREE("regarr[i]", "(index regarr <long>i)");
	TREE("*regarr", "(index regarr 0)");
	TYPE("*pp", "int *");
	TYPE("&arr", "int (*)[10]");
	TYPE("&*p", "int *");
	TYPE("&ref", "int *");
	TYPE("&r->grid[1]", "int (*)[3]");
	TREE("fp == fn", "(== fp &fn)");
	TYPE("&fn", "int (*)(int)");
	TYPE("*fp", "int (int)");
	TREE("p == 0", "(== p <int *>0)");
	TREE("$rdi == p", "(== <int *>$rdi p)");
	TREE("p < wp", "(< p wp)");
	TREE("cp == vp", "(== cp vp)");
	TREE("arr == p", "(== &arr p)");
	TYPE("i ? p : 0", "int *");
	TYPE("i ? p : NULL", "int *");
	TYPE("i ? vp : p", "void *");
	TYPE("p && arr", "int");
	FAILS("p+p", "`+' cannot be applied to `int *' and `int *'");
	FAILS("p*2", "`*' cannot be applied to `int *' and `int'");
	FAILS("2-p", "`-' cannot be applied to `int' and `int *'");
	FAILS("p-cp", "the difference of `int *' and `const char *': pointers to different types");
	FAILS("p == 1.5", "`int *' cannot be compared with `double'");
	FAILS("*vp", "what a `void *' points to has no type");
	FAILS("vp[0]", "what a `void *' points to has no type");
	FAILS("*i", "`*' needs a pointer, not `int'");
	FAILS("op+1",
	      "the size of `struct opaque' is not known: it is only declared where this is looked "
	      "up");
	FAILS("fp+1", "`int (int)' is a function, not data");
	FAILS("&regarr", "there is no address to take: it is not in memory here");
	FAILS("&regreq.len", "there is no address to take: it is not in memory here");
	FAILS("&(i+1)", "there is no address to take: it is a value, not an object");
	FAILS("regarr+1", "`int [4]' is needed as an address here, but it is not in memory");
	FAILS("arr[d]", "an index must be an integer, not `double'");
	FAILS("i[i]", "`int' has no elements: an array or pointer is needed before `['");
	FAILS("i ? cp : p",
	      "the two values of `?:' are `const char *' and `int *': they have no common "
	      "type");
}

static void test_slices(void)
{
	TREE("arr[1:4]", "(slice arr <long>1 <long>4)");
	TYPE("arr[1:4]", "int [3]");
	TYPE("arr[2:]", "int [8]");
	TYPE("arr[:]", "int [10]");
	TYPE("arr[1+1:GREEN]", "int [3]");
	TYPE("arr[i:]", "int []");
	TYPE("arr[:u]", "int []");
	TREE("arr[:u]", "(slice arr 0 <long>u)");
	TYPE("p[-1:1]", "int [2]");
	TYPE("p[0:0]", "int [0]");
	TYPE("r->grid[0:1]", "int [1][3]");
	TYPE("arr[1:4][0]", "int");
	TYPE("*p@3", "int [3]");
	TYPE("*p@i", "int []");
	TYPE("rr@2", "struct req [2]");
	TYPE("arr[0]@2+0 == 1 ? 1 : 0",
	     "error: `int [2]' is needed as an address here, but it is not in "
	     "memory");
	FAILS("p[1:]", "where the slice of `int *' ends is not known");
	FAILS("dyn[1:]", "where the slice of `int []' ends is not known");
	FAILS("arr[3:1]", "the slice ends before it begins: 1 is less than 3");
	FAILS("p@0", "the number of elements after `@' must be at least 1");
	FAILS("regreq@2", "what stands before `@' must be an object in memory");
	FAILS("p[0:0x7fffffffffff]", "140737488355327 elements of `int' are more than can be read");
	FAILS("vp[0:4]", "what a `void *' points to has no type");
}

static void test_strings(void)
{
	TREE("cp == \"x\"", "(== cp \"x\")");
	TREE("\"x\" != name", "(!= name \"x\")");
	TREE("r->name == \"x\"", "(== (->name/320 r) \"x\")");
	TREE("ucp == \"x\"", "(== ucp \"x\")");
	TREE("str($rdi) == \"x\"", "(== (str <char *>$rdi) \"x\")");
	TREE("name[2:] == \"x\"", "(== (slice name <long>2 16) \"x\")");
	TYPE("sizeof \"abc\"", "unsigned long = 4");
	FAILS("i == \"x\"",
	      "`int' cannot be compared with a string: a char pointer or array is needed");
	FAILS("p == \"x\"",
	      "`int *' cannot be compared with a string: a char pointer or array is needed");
	FAILS("cp < \"x\"", "strings can only be compared with == and !=");
	FAILS("\"x\" == \"x\"", "two string literals are compared");
	FAILS("cp == \"a\\0b\"", "a string ends at its first NUL: this literal has one inside");
	FAILS("str(cp) == str(ucp)", "a string can only be compared with a string literal");
	CHECK(strncmp(test_type(&t, "\"x\""), "error: a string literal alone", 29) == 0);
	CHECK(strncmp(test_type(&t, "\"x\"+1"), "error: a string literal can only", 32) == 0);
	CHECK(strncmp(test_type(&t, "i ? \"x\" : cp"), "error: a string literal can only", 32) ==
	      0);
	CHECK(strncmp(test_type(&t, "$entry(\"x\")"), "error: a string literal can only", 32) == 0);
}

static void test_calls(void)
{
	TYPE("str(cp)", "char []");
	TYPE("str(cp, 10)", "char []");
	TREE("str(vp)", "(str <char *>vp)");
	TREE("str(name)", "(str name)");
	TREE("buf(p, i)", "(buf p <long>i)");
	TYPE("buf(p, i)", "unsigned char []");
	TYPE("buf(rr.name, 4)", "unsigned char [4]");
	TYPE("buf($rdi, sizeof rr)", "unsigned char [96]");
	TREE("contains(cp, \"x\")", "(contains cp \"x\")");
	TYPE("starts_with(name, \"x\")", "int");
	TREE("container_of(vp, struct req, link.prev)", "(container_of vp (.prev/0 link))");
	TYPE("container_of(vp, struct req, link)->len", "int");
	TYPE("container_of(p, struct req, grid[1][2])", "struct req *");
	TYPE("$list(r, next, 10)", "struct req []");
	TYPE("$list(r, next, i)[0].len", "int");
	FAILS("list(r, next, 10)",
	      "`list' is a variable of the program here, `int': it cannot be called");
	FAILS("$list(r, link.prev, 1)",
	      "the link to the next node is `struct link *', but the nodes are `struct req'");
	FAILS("$list(p, next, 1)", "list needs a pointer to its first node, not `int *'");
	FAILS("container_of(fp, struct req, len)",
	      "the pointer is `int (*)(int)', but the member is `int'");
	FAILS("container_of(vp, struct req, flags)", "`flags' is a bit-field: it has no address");
	FAILS("container_of(vp, int, x)",
	      "container_of needs a struct, union or class as its type, not `int'");
	FAILS("str(p)", "str needs a char pointer, a char array or an address, not `int *'");
	FAILS("str($w)", "`unsigned int' is too small to hold an address");
	FAILS("str(cp, 0)", "the limit of str must be at least 1");
	FAILS("buf(rr, 4)", "buf needs a pointer, an array or an address, not `struct req'");
}

static void test_entry(void)
{
	t.entries = 0;
	TREE("$entry(r->len) + 1", "(+ (entry (->len/0 r)) 1)");
	TYPE("$entry(name)", "char [16]");
	CHECK_INT(t.entries, 2);
	CHECK_INT(t.entry_depth, 0);
	FAILS("&$entry(i)", "there is no address to take: it is a value, not an object");
	FAILS("$entry($entry(i))", "$entry inside $entry");
	FAILS("$entry(nix)", "no variable `nix'");
	CHECK_INT(t.entry_depth, 0);
	FAILS("$nix", "no built-in `nix'");
}

static void test_casts_and_sizes(void)
{
	TYPE("(char)300", "char = 44");
	TYPE("(unsigned char)-1", "unsigned char = 255");
	TYPE("(_Bool)256", "_Bool = 1");
	TYPE("(bool)0.5", "_Bool = 1");
	TYPE("(Tint)1.9", "Tint = 1");
	TYPE("(uint16_t)-1", "uint16_t = 65535");
	TYPE("(struct req *)vp", "struct req *");
	TYPE("((struct req *)$rdi)->len", "int");
	TYPE("(long)p", "long");
	TYPE("(const char *)vp == \"x\"", "int");
	TYPE("(int (*)[4])p", "int (*)[4]");
	TYPE("(double)ld", "double");
	TYPE("(struct req)rr", "struct req");
	TYPE("sizeof(struct req)", "unsigned long = 96");
	TYPE("sizeof(Derived)", "unsigned long = 12");
	TYPE("sizeof(char *[3])", "unsigned long = 24");
	TYPE("sizeof(size_t)", "unsigned long = 8");
	TYPE("sizeof ref", "unsigned long = 4");
	TYPE("sizeof(nix)", "error: no variable `nix'");
	TYPE("sizeof c", "unsigned long = 1");
	TYPE("sizeof(c)", "unsigned long = 1");
	TYPE("sizeof arr[1:3]", "unsigned long = 8");
	FAILS("sizeof dyn", "the size of `int []' is not known");
	FAILS("sizeof(struct opaque)", "the size of `struct opaque' is not known");
	FAILS("sizeof fn", "the size of `int (int)' is not known");
	FAILS("(nix)i", "no type `nix'");
	FAILS("(int[3])p", "C has no cast to an array, `int [3]'");
	FAILS("(struct opaque)rr", "`struct req' cannot be cast to `struct opaque'");
	FAILS("(char *)1.5", "`double' cannot be cast to `char *'");
	FAILS("(float)p", "`int *' cannot be cast to `float'");
	FAILS("(void)i", "the result of a cast cannot be of the type `void'");
}

/* What cannot be computed exactly as the program would is refused, not approximated. */
static void test_refused(void)
{
	static const char *const texts[] = {
		"i128+1",  "i128 == 1", "!i128",	  "(long)i128", "ld+1",
		"ld == 1", "(float)ld", "(long double)d", "vec == vec", "-vec",
		"rr+1",	   "!rr",	"rr == rr",	  "mp+1",	"(int)rr"};

	for (size_t i = 0; i < GS_ARRAY_SIZE(texts); i++) {
		const char *got = test_type(&t, texts[i]);
		bool refused = strncmp(got, "error: ", 7) == 0 && strstr(got, "type `") != NULL;
		CHECK(refused);
		if (!refused)
			printf("# %s: %s\n", texts[i], got);
	}
	TYPE("i128", "__int128");
	TYPE("ld", "long double");
	TYPE("rr", "struct req");
	TYPE("vec[1]", "int");
	FAILS("~f", "the operand of `~' must be an integer, not `float'");
	FAILS("f%2", "`%' cannot be applied to `float' and `int'");
	FAILS("1<<f", "`<<' cannot be applied to `int' and `float'");
}

static void test_scopes(void)
{
	TYPE("f.c::v", "long int");
	TYPE("'f.c'::v", "long int");
	TYPE("main::v", "short int");
	TYPE("ns::T::x", "char");
	TYPE("::i", "int");
	TYPE("NULL", "void * = 0");
	TYPE("true+true", "int = 2");
	FAILS("f.c::w", "no name `w'");
}

static void test_scalar_root(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {{"ref", "*ref"},  {"arr", "&arr"}, {"p", "p"},
		     {"c", "c"},       {"rr", NULL},	{"name == \"x\"", "(== name \"x\")"},
		     {"regarr", NULL}, {"\"x\"", NULL}};

	for (size_t i = 0; i < GS_ARRAY_SIZE(cases); i++) {
		struct gs_expr *e;
		struct gs_error *err = gs_expr_parse(&t.arena, cases[i].text, 0, NULL, NULL, &e);
		CHECK(err == NULL);
		err = gs_expr_check_scalar(&e, "the condition", cases[i].text, &t.arena, &t.scope);
		CHECK((err != NULL) == (cases[i].want == NULL));
		if (!err)
			CHECK_STR(test_dump(&t, e), cases[i].want);
		gs_error_free(err);
	}
}

/* The same text and an equal tree before and after. */
static void test_print_after_check(void)
{
	static const char *const texts[] = {"c + 1",	"arr + 1", "*arr",	    "ref + 1",
					    "arr[1:]",	"arr[:i]", "r->len",	    "c == '\\377'",
					    "p == 0",	"l + u",   "name == \"x\"", "$entry(i)",
					    "i ? c : s"};

	for (size_t i = 0; i < GS_ARRAY_SIZE(texts); i++) {
		struct gs_error *err;
		struct gs_expr *e = test_check(&t, texts[i], &err), *plain;
		struct gs_buf buf = {0};
		CHECK(e != NULL);
		if (!e) {
			gs_error_free(err);
			continue;
		}
		gs_expr_print(&buf, e);
		CHECK_STR(gs_buf_cstr(&buf), texts[i]);
		gs_buf_deinit(&buf);
		CHECK(gs_expr_parse(&t.arena, texts[i], 0, NULL, NULL, &plain) == NULL);
		CHECK(gs_expr_equal(e, plain));
	}
}

static void test_spans(void)
{
	static const struct {
		const char *text;
		size_t start, len;
	} spans[] = {{"i + r->next->lenn", 13, 4}, {"1 + nix * 2", 4, 3}, {"arr[rr]", 4, 2},
		     {"(i + rr) * 2", 5, 2},	   {"(nix *)p", 0, 8},	  {"i == \"x\"", 0, 8}};

	for (size_t i = 0; i < GS_ARRAY_SIZE(spans); i++) {
		struct gs_error *err;
		size_t start = 0, len = 0;
		CHECK(test_check(&t, spans[i].text, &err) == NULL);
		CHECK_STR(gs_error_source(err, &start, &len), spans[i].text);
		CHECK_INT(start, spans[i].start);
		CHECK_INT(len, spans[i].len);
		gs_error_free(err);
	}
	struct gs_error *err;
	test_check(&t, "r->lne", &err);
	CHECK(strncmp(gs_error_hint_at(err, 0), "did you mean `len'", 18) == 0);
	gs_error_free(err);
}

static void test_ilp32(void)
{
	struct test_program small;

	test_program_init(&small, 4);
	CHECK_STR(test_type(&small, "sizeof(long)"), "unsigned int = 4");
	CHECK_STR(test_type(&small, "sizeof(long long)"), "unsigned int = 8");
	CHECK_STR(test_type(&small, "sizeof(char *)"), "unsigned int = 4");
	CHECK_STR(test_type(&small, "sizeof(uint64_t)"), "unsigned int = 8");
	CHECK_STR(test_type(&small, "5000000000"), "long long = 5000000000");
	CHECK_STR(test_type(&small, "5l"), "int = 5");
	CHECK_STR(test_type(&small, "0xffffffff"), "unsigned int = 4294967295");
	CHECK_STR(test_type(&small, "(void *)-1 == (void *)0xffffffffffffffff"), "int = 1");
	CHECK_STR(test_type(&small, "(long)0x1ffffffff"), "long = -1");
	CHECK_STR(test_tree(&small, "p + l"), "(+ p <int>l)");
	test_program_deinit(&small);
}

/* '\377' is -1 where char is signed, 255 where it is not. */
static void test_char_sign(void)
{
	struct test_program arm;

	TYPE("'\\377'", "int = -1");
	TYPE("(char)200", "char = -56");
	test_program_init(&arm, 8);
	arm.unsigned_char = true;
	CHECK_STR(test_type(&arm, "'\\377'"), "int = 255");
	CHECK_STR(test_type(&arm, "(char)200"), "char = 200");
	CHECK_STR(test_type(&arm, "(signed char)200"), "signed char = -56");
	test_program_deinit(&arm);
}

int main(void)
{
	test_program_init(&t, 8);
	TAP_RUN(test_conversions);
	TAP_RUN(test_bit_fields);
	TAP_RUN(test_enums);
	TAP_RUN(test_members);
	TAP_RUN(test_this);
	TAP_RUN(test_pointers);
	TAP_RUN(test_slices);
	TAP_RUN(test_strings);
	TAP_RUN(test_calls);
	TAP_RUN(test_entry);
	TAP_RUN(test_casts_and_sizes);
	TAP_RUN(test_refused);
	TAP_RUN(test_scopes);
	TAP_RUN(test_scalar_root);
	TAP_RUN(test_print_after_check);
	TAP_RUN(test_spans);
	TAP_RUN(test_ilp32);
	TAP_RUN(test_char_sign);
	test_program_deinit(&t);
	return tap_done();
}
