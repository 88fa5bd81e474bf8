/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collecting the sites of a place, shared by place.c (functions, offsets, addresses) and
 * place_line.c (lines). Last step of finding places: from addresses to probe-able instructions with
 * their contexts.
 */
#ifndef GS_RECORD_PLACE_H
#define GS_RECORD_PLACE_H

#include "record/dwarf_internal.h"

struct gs_place_list {
	struct gs_module *m;
	struct gs_places *out;
	size_t sites_cap, notes_cap;
	size_t nrefused;
};

void gs_place_note(struct gs_place_list *l, const char *fmt, ...) GS_PRINTF(2, 3);
/* Adds a site with the context (or NULL), or a note why the instruction cannot be probed. */
void gs_place_add(struct gs_place_list *l, uint64_t addr, uint64_t natural, struct gs_context *c,
		  const char *func);
/* Sorts, takes out duplicates, and turns an empty result into an error about WHAT. */
struct gs_error *gs_place_finish(struct gs_place_list *l, const char *what);
/* Moves sites and notes of FROM (whose arena is then empty of them) to INTO, in order. */
void gs_place_take(struct gs_module *m, struct gs_places *into, const struct gs_places *from);
/* Whether a jump or branch of the function leads to ADDR. */
bool gs_place_is_target(struct gs_module *m, Dwarf_Die *function, uint64_t addr);
/* The entry, or the instruction after an endbr64 there unless a branch leads to it. */
uint64_t gs_place_entry(struct gs_module *m, Dwarf_Die *function, uint64_t entry);

/* The definitions that NAME means: entries of the index with code or instances, at most MAX. */
size_t gs_place_definitions(struct gs_module *m, struct gs_arena *arena, const char *name,
			    gs_ref *refs, size_t max);
/* The same; of a name that DWARF does not have, the functions that its symbols are at (malloc). */
size_t gs_place_definitions_or_alias(struct gs_module *m, struct gs_arena *arena, const char *name,
				     gs_ref *refs, size_t max);
struct gs_error *gs_place_unknown_function(struct gs_module *m, const char *name);

/* ---- ifunc.c ---- */

struct gs_implementations {
	uint64_t *addrs; /* the caller frees it */
	size_t n, cap;
	bool is_complete; /* it returns nothing else */
};
/* What the resolver of the indirect function S can return. */
void gs_ifunc_implementations(struct gs_module *m, const struct gs_symbol *s,
			      struct gs_implementations *out);

#endif
