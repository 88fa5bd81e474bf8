/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a listing shows: head columns (a table), captured items, and expressions, in order.
 * Between the command line and the renderers; --fields and the defaults are the same structure.
 */
#ifndef GS_REPORT_FIELDS_H
#define GS_REPORT_FIELDS_H

#include "report/query.h"

enum gs_head_id {
	GS_HEAD_TS,
	GS_HEAD_CPU,
	GS_HEAD_PID,
	GS_HEAD_TID,
	GS_HEAD_COMM,
	GS_HEAD_PROBE,
	GS_HEAD_FUNC,
	GS_HEAD_SRC,
	GS_HEAD_ADDR,
	GS_HEAD_INLINED_IN,
	GS_HEAD_STATUS,
	GS_HEAD_COUNT
};

/* A row of the table: a number, or a string of which "" is absence; neither for `status'. */
struct gs_head {
	const char *name;
	int64_t (*number)(const struct gs_event *ev);
	const char *(*string)(const struct gs_event *ev);
};
extern const struct gs_head gs_heads[GS_HEAD_COUNT];

enum gs_field_kind { GS_FIELD_HEAD, GS_FIELD_ALL, GS_FIELD_VALUE };
struct gs_field {
	enum gs_field_kind kind;
	enum gs_head_id head;
	struct gs_query *query; /* VALUE: an item's key, or an expression */
};

/* A value of a view's events: an item, or an expression over it. */
struct gs_out {
	const char *key;
	int32_t item; /* -1: by query */
	struct gs_query *query;
	size_t field; /* of the list below */
};

struct gs_fields {
	struct gs_field *list;
	size_t n, cap;
	bool chosen;	 /* --fields was given */
	bool has_values; /* some field is not a head */
	struct gs_outs {
		bool made;
		bool overlap; /* `p' and `p.x' are both there: paths can come twice */
		struct gs_out *list;
		size_t n;
	} * outs; /* by serial of the view */
	size_t nouts, outs_cap;
};

/* TEXT NULL: the default. ADDR: with the address of the site. */
struct gs_error *gs_fields_init(struct gs_fields *f, const char *text, bool addr);
/* Compiles expressions; names that no probe has are an error. */
struct gs_error *gs_fields_bind(struct gs_fields *f, struct gs_session *s);
void gs_fields_deinit(struct gs_fields *f);
const struct gs_outs *gs_fields_outs(struct gs_fields *f, struct gs_view *v);
/* The value, absent ones with their status. */
void gs_out_value(const struct gs_out *o, struct gs_event *ev, struct gs_value *v);

#endif
