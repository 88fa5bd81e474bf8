/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The probe language as text: places with names of C, C++ and Rust, items, conditions, errors with
 * their spans. First stage of the recorder.
 */
#include "record/probe.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/tap.h"

static struct gs_arena arena;
static struct gs_probe_spec spec;

static bool parses(const char *text)
{
	struct gs_error *err = gs_probe_parse(&arena, text, &spec);

	if (err)
		printf("# %s: %s\n", text, gs_error_message(err));
	gs_error_free(err);
	return !err;
}

/* The message contains WHAT, and the span is SPANNED. */
static void check_error(const char *text, const char *what, const char *spanned)
{
	struct gs_error *err = gs_probe_parse(&arena, text, &spec);
	size_t start = 0, len = 0;
	const char *source;

	CHECK(err != NULL);
	if (!err) {
		printf("# parsed: %s\n", text);
		return;
	}
	if (!strstr(gs_error_message(err), what)) {
		printf("# %s: %s\n", text, gs_error_message(err));
		CHECK(strstr(gs_error_message(err), what));
	}
	source = gs_error_source(err, &start, &len);
	CHECK(source != NULL);
	if (source && spanned) {
		GS_CLEANUP_FREE char *got = gs_strndup(source + start, len);

		CHECK_STR(got, spanned);
	}
	gs_error_free(err);
}

static void test_functions(void)
{
	static const char *const names[] = {
		"main",
		"ns::Class::method",
		"operator==(P const&, P const&)",
		"P::operator<(P const&) const",
		"operator<<",
		"std::vector<int, A<(1>0)> >::push_back(int&&)",
		"main::{lambda(int)#1}::operator()(int) const",
		"<T as Trait>::m",
		"<fn() -> u8 as core::ops::Fn>::call",
		"core::ptr::drop_in_place<alloc::vec::Vec<u8>>",
		"app::main::{{closure}}",
		"operator new[]",
		"C::operator unsigned long",
		"C::operator bool() const",
		"operator\"\" _km",
		"f(int) [clone .cold]",
		"f(char const*, ...) const &",
		"T::operator->*",
		"(anonymous namespace)::f",
		"f[abi:cxx11](int)",
		"~Widget",
		"W::~W()",
	};

	for (size_t i = 0; i < GS_ARRAY_SIZE(names); i++) {
		char text[200];

		snprintf(text, sizeof(text), "%s { x } if n > 3", names[i]);
		CHECK(parses(text));
		CHECK_INT(spec.where, GS_WHERE_FUNCTION);
		CHECK_STR(spec.function, names[i]);
		CHECK_STR(spec.place, names[i]);
		CHECK(!spec.has_wildcard);
		CHECK_INT(spec.nitems, 1);
		CHECK(spec.condition_len == strlen("n > 3"));
	}
}

static void test_places(void)
{
	CHECK(parses("srv.c:31"));
	CHECK_INT(spec.where, GS_WHERE_LINE);
	CHECK_STR(spec.file, "srv.c");
	CHECK_INT(spec.number, 31);
	CHECK(parses("libx.so!dir/c++/a b.c:7") == false);
	CHECK(parses("libx.so!'dir/c++/a b.c':7"));
	CHECK_STR(spec.module, "libx.so");
	CHECK_STR(spec.file, "dir/c++/a b.c");
	CHECK(parses("/usr/lib/libstdc++.so.6!foo+0x10"));
	CHECK_STR(spec.module, "/usr/lib/libstdc++.so.6");
	CHECK_INT(spec.where, GS_WHERE_OFFSET);
	CHECK_STR(spec.function, "foo");
	CHECK_INT(spec.number, 16);
	CHECK(parses("ns::f(int):+12"));
	CHECK_INT(spec.where, GS_WHERE_FUNCTION_LINE);
	CHECK_STR(spec.function, "ns::f(int)");
	CHECK_INT(spec.number, 12);
	CHECK(parses("operator+(A, B)+010"));
	CHECK_INT(spec.where, GS_WHERE_OFFSET);
	CHECK_STR(spec.function, "operator+(A, B)");
	CHECK_INT(spec.number, 8);
	CHECK(parses("*0x401136"));
	CHECK_INT(spec.where, GS_WHERE_ADDRESS);
	CHECK(spec.number == 0x401136);
	CHECK(!spec.has_wildcard);
	CHECK(parses("libc!*4096 { $rdi }"));
	CHECK_INT(spec.where, GS_WHERE_ADDRESS);
	CHECK_INT(spec.number, 4096);
	CHECK(parses("sdt:python:function__entry"));
	CHECK_INT(spec.where, GS_WHERE_MARKER);
	CHECK_STR(spec.file, "python");
	CHECK_STR(spec.function, "function__entry");
	CHECK(parses("f + 4"));
	CHECK_INT(spec.number, 4);
	CHECK_STR(spec.function, "f");
	CHECK_STR(spec.place, "f + 4");
}

static void test_return_and_wildcards(void)
{
	CHECK(parses("serve%return { $retval }"));
	CHECK(spec.is_return);
	CHECK_STR(spec.function, "serve");
	CHECK_STR(spec.place, "serve%return");
	CHECK(parses("operator%(A, B)%return"));
	CHECK(spec.is_return);
	CHECK_STR(spec.function, "operator%(A, B)");
	CHECK(parses("str*"));
	CHECK(spec.has_wildcard);
	CHECK(parses("*alloc"));
	CHECK(spec.has_wildcard);
	CHECK_INT(spec.where, GS_WHERE_FUNCTION);
	CHECK(parses("'str*'"));
	CHECK(!spec.has_wildcard);
	CHECK_STR(spec.function, "str*");
	CHECK(parses("operator*(V, V)"));
	CHECK(!spec.has_wildcard);
	CHECK(parses("f(int*)"));
	CHECK(!spec.has_wildcard);
	check_error("a.c:3%return", "%return is of a function", NULL);
	check_error("f%exit", "%return", "%exit");
}

static void test_names(void)
{
	CHECK(parses("big = malloc { n } if n >= 4096"));
	CHECK_STR(spec.name, "big");
	CHECK_STR(spec.function, "malloc");
	CHECK(parses("operator=(A const&)"));
	CHECK(spec.name == NULL);
	CHECK_STR(spec.function, "operator=(A const&)");
	CHECK(parses("operator==(A, B)"));
	CHECK(spec.name == NULL);
	CHECK(parses("x=y"));
	CHECK_STR(spec.name, "x");
	CHECK_STR(spec.function, "y");
}

static void test_items(void)
{
	CHECK(parses("f { a, b = req->uri[0], $args , c == d ? \"},\" : '}', x[1:n+(2)] }"));
	CHECK_INT(spec.nitems, 5);
	CHECK_STR(spec.items[0].text, "a");
	CHECK(spec.items[0].name == NULL);
	CHECK_STR(spec.items[1].name, "b");
	CHECK_STR(spec.items[1].text, "req->uri[0]");
	CHECK(memcmp(spec.text + spec.items[1].start, "req->uri[0]", spec.items[1].len) == 0);
	CHECK_INT(spec.items[2].word, GS_WORD_ARGS);
	CHECK_STR(spec.items[3].text, "c == d ? \"},\" : '}'");
	CHECK_STR(spec.items[4].text, "x[1:n+(2)]");
	CHECK(parses("f{$regs}if x"));
	CHECK_INT(spec.items[0].word, GS_WORD_REGS);
	CHECK_INT(spec.condition_len, 1);
	CHECK(parses("f{$args.x}"));
	CHECK_INT(spec.items[0].word, GS_WORD_NONE);
	CHECK(parses("f if x == \"if\""));
	CHECK(!spec.has_braces);
	CHECK_INT(spec.condition_len, strlen("x == \"if\""));
}

static void test_errors(void)
{
	check_error("", "place is expected", NULL);
	check_error("  ", "place is expected", NULL);
	check_error("f { }", "no item between the braces", "{ }");
	check_error("f { a, }", "item is expected", "}");
	check_error("f { a", "not closed", NULL);
	check_error("f { a } g", "only `if CONDITION'", "g");
	check_error("f g", "is expected here", "g");
	check_error("f if", "condition is expected", NULL);
	check_error("f(int", "not closed by", "(");
	check_error("'f", "not closed", "'f");
	check_error("a.c:", "line number is expected", NULL);
	check_error("a.c:x", "not `x'", "x");
	check_error("a.c:0", "count from 1", NULL);
	check_error("*0x10+4", "an address alone", "0x10+4");
	check_error("f+g", "offset in bytes", "g");
	check_error("!f", "module before", NULL);
	check_error("m!", "place is expected", NULL);
	check_error("f { x = $args }", "several items", "x = $args");
	check_error("sdt:x", "PROVIDER:MARKER", NULL);
	check_error("f { \"abc }", "", NULL);
}

/* Nothing that is cut off may crash or be taken for a whole. */
static void test_prefixes(void)
{
	static const char text[] =
		"n = lib!main::{lambda(int)#1}::operator()(int) const%return { a, $args, s = "
		"str(p, 3) } if x == \"y\"";

	for (size_t n = 0; n < sizeof(text); n++) {
		GS_CLEANUP_FREE char *cut = gs_strndup(text, n);
		struct gs_error *err = gs_probe_parse(&arena, cut, &spec);

		gs_error_free(err);
	}
	CHECK(parses(text));
	CHECK_STR(spec.function, "main::{lambda(int)#1}::operator()(int) const");
	CHECK(spec.is_return);
	CHECK_INT(spec.nitems, 3);
}

static void test_file(void)
{
	char path[] = "/tmp/gs-probe-XXXXXX";
	static const char content[] = "# comment \\\nf { a }\n\n  \ng \\\n  { b }\r\n#x\nh";
	int fd = mkstemp(path);
	const char **texts = NULL;
	size_t n = 0;

	CHECK(fd >= 0 && write(fd, content, sizeof(content) - 1) == (ssize_t)sizeof(content) - 1);
	close(fd);
	CHECK(gs_probe_file_read(&arena, path, &texts, &n) == NULL);
	unlink(path);
	CHECK_INT(n, 3);
	if (n == 3) {
		CHECK_STR(texts[0], "f { a }");
		CHECK_STR(texts[1], "g    { b }");
		CHECK_STR(texts[2], "h");
	}
	struct gs_error *err = gs_probe_file_read(&arena, "/nonexistent/x", &texts, &n);

	CHECK(err && strstr(gs_error_message(err), "/nonexistent/x"));
	gs_error_free(err);
}

int main(void)
{
	TAP_RUN(test_functions);
	TAP_RUN(test_places);
	TAP_RUN(test_return_and_wildcards);
	TAP_RUN(test_names);
	TAP_RUN(test_items);
	TAP_RUN(test_errors);
	TAP_RUN(test_prefixes);
	TAP_RUN(test_file);
	gs_arena_deinit(&arena);
	return tap_done();
}
