/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of members as JSON and CSV have them: those of base classes, and names that come twice.
 * Between the type table and the walk over a value.
 */
#ifndef GS_REPORT_NAMES_H
#define GS_REPORT_NAMES_H

#include "common/hash.h"
#include "report/session.h"

#define GS_NO_NAME "(anonymous)" /* of an unnamed member that has no members itself */

/* The member's name; of a base class its own, unqualified. NULL: it has none. */
const char *gs_member_name(const struct gs_types *types, const struct gs_member *m);
/* Whether the members of this member appear in its parent. */
bool gs_member_is_flat(const struct gs_types *types, const struct gs_member *m);
/*
 * Whether an object of this aggregate (stripped) has a name twice: bases of two namespaces can be
 * called the same, and a member like a base. Kept by the file.
 */
bool gs_file_repeats_names(struct gs_file *f, gs_type_id type);
/* NAME, or NAME#2, #3 ... (in TEXT) when SEEN has it. */
const char *gs_name_apart(struct gs_map *seen, const char *name, struct gs_buf *text);

#endif
