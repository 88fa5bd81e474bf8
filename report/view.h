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
/* The pointee captured for the pointer at OFFSET of ITEM, or -1. */
int32_t gs_view_child_at(const struct gs_view *v, uint32_t item, uint64_t offset);
/* One spelling for equal trees: (*p).x becomes p->x. In place. */
void gs_tree_normalise(struct gs_expr *e);

#endif
