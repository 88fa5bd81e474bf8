/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the look-up of names shares with scopes and types.
 * Between dwarf_scope.c, dwarf_find.c, dwarf_location.c and dwarf_type.c.
 */
#ifndef GS_RECORD_DWARF_FIND_H
#define GS_RECORD_DWARF_FIND_H

#include "record/dwarf_internal.h"

/* FRAME: the scope for the frame base; NULL for what has a fixed address. */
struct gs_error *gs_variable_from_die(struct gs_module *m, Dwarf_Die *die, Dwarf_Die *frame,
				      uint32_t flags, struct gs_variable *var);
/* A variable, parameter or enumerator of the blocks around the pc. */
bool gs_scope_find(struct gs_context *c, const char *name, Dwarf_Die *found, size_t *scope);

bool gs_enumerator_value(Dwarf_Attribute *attr, Dwarf_Sword *value);
struct gs_error *gs_add_int_type(struct gs_module *m, unsigned size, gs_type_id *id);
struct gs_error *gs_function_type(struct gs_module *m, Dwarf_Die *function, gs_type_id *id);

#endif
