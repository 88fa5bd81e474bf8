/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What names mean in report expressions: captured items, their keys, enumerators, types and
 * built-ins. Between query.c and the shared checker and evaluator.
 */
#ifndef GS_REPORT_QUERY_SCOPE_H
#define GS_REPORT_QUERY_SCOPE_H

#include "common/text.h"
#include "report/query.h"

struct gs_query_scope {
	struct gs_scope scope;
	struct gs_parse_hooks hooks;
	struct gs_view *view;
	struct gs_arena *arena;
	const char *missing; /* first name that was not found */
};

void gs_query_scope_init(struct gs_query_scope *qs, struct gs_view *v, struct gs_arena *arena);
bool gs_binding_is_item(uint64_t binding);
/* gs_evaluator's lookup; CTX is the event. */
void gs_query_lookup(void *ctx, const struct gs_expr *e, struct gs_value *out);
/* Candidates for "did you mean". */
void gs_query_feed(struct gs_nearest *near, const struct gs_view *v);

#endif
