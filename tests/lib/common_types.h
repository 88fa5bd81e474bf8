/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Building type tables by hand in tests.
 * In the flow: stands in for the DWARF importer.
 */
#ifndef GS_TESTS_LIB_COMMON_TYPES_H
#define GS_TESTS_LIB_COMMON_TYPES_H

#include "common/type.h"

/* The type, or GS_TYPE_VOID with a TAP comment when it was refused. */
gs_type_id t_add(struct gs_types *t, struct gs_type type);
gs_type_id t_int(struct gs_types *t, const char *name, unsigned size, uint32_t flags);
gs_type_id t_char(struct gs_types *t); /* plain, signed */
gs_type_id t_float(struct gs_types *t, const char *name, unsigned size);
gs_type_id t_pointer(struct gs_types *t, gs_type_id target);
gs_type_id t_array(struct gs_types *t, gs_type_id element, uint64_t count);
gs_type_id t_array_unknown(struct gs_types *t, gs_type_id element);
gs_type_id t_wrap(struct gs_types *t, unsigned kind, const char *name, gs_type_id target);
gs_type_id t_struct(struct gs_types *t, const char *name, uint64_t size,
		    const struct gs_member *members, uint32_t n);
/* struct NAME { int v; struct NAME *next; } */
gs_type_id t_node(struct gs_types *t, const char *name, const char *value_name);
/* gs_type_print in a static buffer. */
const char *t_text(const struct gs_types *t, gs_type_id id, const char *name);

#endif
