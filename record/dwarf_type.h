/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of importing a type, shared by dwarf_type.c (all kinds) and dwarf_aggregate.c
 * (structures, unions, classes and enumerations).
 */
#ifndef GS_RECORD_DWARF_TYPE_H
#define GS_RECORD_DWARF_TYPE_H

#include "record/dwarf_internal.h"

struct gs_type_import {
	struct gs_module *m;
	struct gs_types *types; /* the module's own table */
};

struct gs_error *gs_type_import_die(struct gs_type_import *ti, Dwarf_Die *die, int depth,
				    gs_type_id *id);
/* What DW_AT_type leads to; void without. */
struct gs_error *gs_type_import_target(struct gs_type_import *ti, Dwarf_Die *die, int depth,
				       gs_type_id *id);
/* A pointer (or reference) to what DW_AT_type of DIE leads to, imported later. */
struct gs_error *gs_type_import_pointer(struct gs_type_import *ti, Dwarf_Die *die, uint8_t kind,
					gs_type_id *id);
struct gs_error *gs_type_import_enum(struct gs_type_import *ti, Dwarf_Die *die, const char *name,
				     int depth, gs_type_id *id);
struct gs_error *gs_type_import_aggregate(struct gs_type_import *ti, Dwarf_Die *die,
					  const char *name, int depth, gs_type_id *id);
/* container.c: adds the rule of a library container to its type *T, and the pointer to its element.
 * A layout that is not the expected one leaves T as it is. */
struct gs_error *gs_type_recognise(struct gs_type_import *ti, Dwarf_Die *die, struct gs_type *t);
/* A constant attribute, of the entry or of what it completes; false for expressions and references.
 */
bool gs_die_number(Dwarf_Die *die, unsigned at, uint64_t *value);
/* GS_TYPE_NO_TAG where the unit's language names types without their keyword. */
uint32_t gs_type_language_flags(Dwarf_Die *die);
/* As the table wants it: control characters escaped; NULL for none. */
const char *gs_type_member_name(struct gs_type_import *ti, const char *name);

#endif
