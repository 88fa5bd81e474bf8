/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz target: probe text. Whatever is typed is parsed or refused with a span inside the text;
 * items and condition of what was parsed go through the expression parser and the canonical printer
 * too.
 */
#include <assert.h>

#include "record/probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_expression(struct gs_arena *arena, const char *text, size_t start)
{
	struct gs_expr *e;
	struct gs_buf printed = {0};
	size_t stop;
	struct gs_error *err = gs_expr_parse(arena, text, start, NULL, &stop, &e);

	if (!err) {
		assert(stop <= strlen(text));
		gs_expr_print(&printed, e);
	}
	gs_buf_deinit(&printed);
	gs_error_free(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_arena arena = {0};
	GS_CLEANUP_FREE char *text = gs_strndup((const char *)data, size);
	struct gs_probe_spec spec;
	struct gs_error *err = gs_probe_parse(&arena, text, &spec);
	size_t start = 0, len = 0, n = strlen(text);

	if (err) {
		const char *source = gs_error_source(err, &start, &len);

		assert(!source || (start <= n && len <= n + 1 - start));
		gs_error_free(err);
	} else {
		assert(spec.place && spec.place_start + spec.place_len <= n);
		assert(spec.condition_start + spec.condition_len <= n);
		for (size_t i = 0; i < spec.nitems; i++) {
			assert(spec.items[i].len && spec.items[i].start + spec.items[i].len <= n);
			if (spec.items[i].word == GS_WORD_NONE)
				check_expression(&arena, spec.text, spec.items[i].start);
		}
		if (spec.condition_len)
			check_expression(&arena, spec.text, spec.condition_start);
	}
	gs_arena_deinit(&arena);
	return 0;
}
