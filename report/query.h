/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expressions of the command line over captured items: --where, --hist, --stats, --top, --by,
 * --fields. One text, compiled once for every schema (types differ), evaluated for every event.
 */
#ifndef GS_REPORT_QUERY_H
#define GS_REPORT_QUERY_H

#include "report/session.h"

struct gs_query {
	const char *option; /* "--where", for messages */
	char *text;	    /* as written */
	char *source; /* the option's whole argument, and where TEXT starts in it: for carets */
	size_t start;
	bool is_condition; /* --where: one number or pointer is needed */
	struct gs_arena arena;
	struct gs_bound {
		bool tried;
		struct gs_expr *expr; /* NULL: the schema does not have it */
		struct gs_operand {
			uint32_t item;
			uint64_t offset, size; /* bytes of the item that the expression looks at */
		} * operands;
		size_t noperands;
	} * bound; /* by serial of the view */
	size_t nbound, bound_cap;
	struct gs_error *first_error;  /* why the first schema did not have it */
	char *missing;		       /* the name that was not found */
	uint64_t not_captured, absent; /* events */
};

/* Splits ARGUMENT at its top-level commas; syntax errors have carets. Appends to *list. */
struct gs_error *gs_query_parse(const char *option, const char *argument, struct gs_query ***list,
				size_t *n, size_t *cap);
void gs_query_free(struct gs_query *q);

/*
 * Compiles for all selected views that are known. GS_ERR_USAGE when there are views and none of
 * them has what the expression names.
 */
struct gs_error *gs_query_bind(struct gs_query *q, struct gs_session *s);
/* The compiled tree for a view, or NULL. */
const struct gs_expr *gs_query_for(struct gs_query *q, struct gs_view *v);

/* False, and counted, when the event does not have it. The value borrows from the event. */
bool gs_query_eval(struct gs_query *q, struct gs_event *ev, struct gs_value *out);
/* The same as a condition. */
bool gs_query_true(struct gs_query *q, struct gs_event *ev);

/* "srv.c:31", or the function where no line is known, or ""; in a buffer of the event's thread. */
const char *gs_event_place(const struct gs_event *ev);

#endif
