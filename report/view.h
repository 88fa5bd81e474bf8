/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Views of schemas: what the report derives from a schema once, before the first of its events.
 * Made by session.c; keys serve the renderers, trees the expressions, children the value source.
 */
#ifndef GS_REPORT_VIEW_H
#define GS_REPORT_VIEW_H

#include "report/session.h"

/* In the session's arena. */
struct gs_view *gs_view_new(struct gs_file *f, const struct gs_meta_schema *schema);
/* The class at OFFSET of ITEM that has a virtual base of TYPE, and the whole object that it is in.
 */
struct gs_base_place {
	int32_t item, object_item;
	uint64_t offset, object_start, object_size;
	gs_type_id type;
};
/* The item that holds the base, or -1; *elsewhere: it is shown in another part of the object. */
int32_t gs_view_virtual_base(const struct gs_view *v, const struct gs_base_place *at,
			     bool *elsewhere);
/* The pointee captured for the pointer at OFFSET of ITEM, or -1. */
int32_t gs_view_child_at(const struct gs_view *v, uint32_t item, uint64_t offset);
/* One spelling for equal trees: (*p).x becomes p->x. In place. */
void gs_tree_normalise(struct gs_expr *e);

#endif
