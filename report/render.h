/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Output formats as a table of functions: text, CSV and JSON Lines differ only behind this.
 * Between the filtered event sequence and the output.
 */
#ifndef GS_REPORT_RENDER_H
#define GS_REPORT_RENDER_H

#include "report/fields.h"
#include "report/output.h"

struct gs_render_options {
	bool json_strings; /* integers beyond 2^53 as strings */
	bool no_guard;	   /* CSV without the formula guard */
};

struct gs_render {
	const struct gs_renderer *format;
	struct gs_session *session;
	struct gs_fields *fields;
	struct gs_output *out;
	struct gs_render_options opts;
	void *state; /* of the format */
};

struct gs_renderer {
	const char *name;
	struct gs_error *(*begin)(struct gs_render *r);
	/* Appends one event to r->out->buf. */
	void (*event)(struct gs_render *r, struct gs_event *ev);
	/* Frees the state; warnings about what could not be shown go to standard error. */
	void (*end)(struct gs_render *r);
};

extern const struct gs_renderer gs_text_renderer, gs_csv_renderer, gs_json_renderer;

#endif
