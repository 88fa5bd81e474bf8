/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz target of the expression language: text through lexer, parser, checker and printer.
 * Probe text and report expressions come from people and their shells, but scripts pass them on
 * from anywhere.
 *
 * Properties beyond not crashing: a tree's canonical text parses to an equal tree and prints the
 * same; every error of the checker has its span in the text; a checked tree prints again.
 *
 * Build: clang -fsanitize=fuzzer,address,undefined with the sources of common/ and
 * tests/lib/common_scope.c; or with -DGS_FUZZ_MAIN a plain program that reads the files given to
 * it.
 */
#include <stdio.h>

#include "tests/lib/common_scope.h"

static void require(bool ok, const char *what, const char *text)
{
	if (ok)
		return;
	fprintf(stderr, "expr: %s: %s\n", what, text);
	abort();
}

static const char *print(struct test_program *t, const struct gs_expr *e)
{
	struct gs_buf buf = {0};
	const char *s;

	gs_expr_print(&buf, e);
	s = gs_arena_strdup(&t->arena, gs_buf_cstr(&buf));
	gs_buf_deinit(&buf);
	return s;
}

/* The canonical text may be longer than what was written, and so beyond a cap. */
static void check_round_trip(struct test_program *t, const struct gs_expr *e)
{
	const char *text = print(t, e);
	struct gs_expr *again;
	struct gs_error *err = gs_expr_parse(&t->arena, text, 0, NULL, NULL, &again);

	if (err && gs_error_code_of(err) != GS_ERR_LIMIT)
		gs_error_print(stderr, "expr", err);
	require(!err || gs_error_code_of(err) == GS_ERR_LIMIT, "does not parse again", text);
	if (!err) {
		require(gs_expr_equal(e, again), "parses to another tree", text);
		require(strcmp(print(t, again), text) == 0, "prints otherwise", text);
	}
	gs_error_free(err);
}

static void check_error(struct gs_error *err, const char *text)
{
	size_t start = 0, len = 0;

	if (!err)
		return;
	require(gs_error_source(err, &start, &len) != NULL, gs_error_message(err), text);
	require(start <= strlen(text) && len <= strlen(text) - start, "span outside", text);
	require(gs_error_code_of(err) != GS_ERR_INTERNAL, gs_error_message(err), text);
	gs_error_free(err);
}

static void run(const char *text, unsigned pointer_size)
{
	struct test_program t;
	struct gs_expr *e;
	struct gs_error *err;
	size_t stop;

	test_program_init(&t, pointer_size);
	t.in_method = pointer_size == 4;
	check_error(gs_expr_parse(&t.arena, text, 0, NULL, &stop, &e), text);
	err = gs_expr_parse(&t.arena, text, 0, NULL, NULL, &e);
	if (!err) {
		check_round_trip(&t, e);
		err = gs_expr_check_scalar(&e, "the condition", text, &t.arena, &t.scope);
		if (!err)
			test_dump(&t, e);
		gs_error_free(err);
		err = NULL;
		e = test_check(&t, text, &err);
		if (e)
			print(&t, e);
	}
	check_error(err, text);
	test_program_deinit(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = gs_strndup((const char *)data, size);

	run(text, 8);
	run(text, 4);
	free(text);
	return 0;
}

#ifdef GS_FUZZ_MAIN
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		static uint8_t data[1 << 16];
		FILE *f = fopen(argv[i], "rb");
		if (!f) {
			perror(argv[i]);
			return 1;
		}
		size_t n = fread(data, 1, sizeof(data), f);
		fclose(f);
		LLVMFuzzerTestOneInput(data, n);
	}
	return 0;
}
#endif
