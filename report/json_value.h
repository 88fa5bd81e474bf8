/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values as JSON, and as the plain scalars that CSV cells and table cells are made of.
 * Callbacks of the walk for the JSON listing, JSON cells of CSV, and aggregates.
 */
#ifndef GS_REPORT_JSON_VALUE_H
#define GS_REPORT_JSON_VALUE_H

#include "report/walk.h"

struct gs_json_value {
	struct gs_buf *out;
	bool quote_big; /* integers beyond 2^53 as strings */
	/* Told of each value that is not, or not wholly, there. May be NULL. */
	void (*mark)(void *ctx, struct gs_walk *w, const struct gs_value *v);
	void *mark_ctx;
	size_t key_at; /* where the key in hand begins */
};
/* Appends V. Paths given to `mark' begin with KEY. */
void gs_json_put_value(struct gs_json_value *j, struct gs_event *ev, const char *key,
		       const struct gs_value *v);
void gs_json_put_string(struct gs_buf *out, const char *s);

enum gs_scalar_kind {
	GS_SCALAR_NULL,
	GS_SCALAR_NUMBER, /* digits as written in JSON */
	GS_SCALAR_BIG,	  /* an integer of more than 64 bits: a number, a string in JSON */
	GS_SCALAR_WORD,	  /* true, false */
	GS_SCALAR_NAME,	  /* enumerators, NaN, addresses: text of ours or of the program's source */
	GS_SCALAR_STRING, /* captured bytes */
	GS_SCALAR_JSON,	  /* a complex number */
};
/* The text of a leaf, unescaped and unquoted, appended to OUT. */
enum gs_scalar_kind gs_leaf_scalar(struct gs_buf *out, const struct gs_event *ev,
				   const struct gs_leaf *leaf);

#endif
