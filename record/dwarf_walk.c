/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One unit's entries into the index: what has a name at file scope, what has code, what is a copy
 * of what. From the scanner's attributes; dwarf_walk_libdw.c does the same through libdw. Under
 * dwarf_index.c, which decides which units are walked.
 */
#include "record/dwarf_units.h"

/* ---- what was found ---- */

void gs_walk_entry(struct gs_walk *w, gs_ref ref, gs_ref parent, const char *name, uint8_t kind,
		   uint8_t flags)
{
	struct gs_index_entry *e;

	if (!ref)
		return;
	e = GS_PUSH(w->entries, w->nentries, w->entries_cap);
	e->ref = ref;
	e->parent = parent;
	e->kind = kind;
	e->flags = flags;
	if (name)
		e->hash = (uint32_t)gs_hash(
			name, flags & GS_INDEX_LINKAGE ? strlen(name) : gs_name_base_len(name), 0);
}

void gs_walk_range(struct gs_walk *w, gs_ref ref, uint64_t low, uint64_t high)
{
	/* Functions that the linker dropped are left at 0 or at its tombstone. */
	if (high > low && gs_elf_is_executable(w->m, low))
		*GS_PUSH(w->ranges, w->nranges, w->ranges_cap) =
			(struct gs_code_range){low, high, ref};
}

/* ---- the scanner's walk ---- */

struct level {
	gs_ref parent; /* scope for names */
	gs_ref outer;  /* out-of-line function around it */
	bool in_function;
};
struct scan {
	struct gs_walk *w;
	struct gs_module *m;
	const struct gs_unit *u;
	struct level levels[GS_DIE_DEPTH_MAX + 2];
	unsigned depth;
};

static void add_instance(struct scan *s, gs_ref origin, gs_ref ref, gs_ref outer)
{
	*GS_PUSH(s->w->instances, s->w->ninstances, s->w->instances_cap) =
		(struct gs_instance){origin, ref, outer};
}

struct range_sink {
	struct gs_walk *w;
	gs_ref ref;
};

static void take_range(void *ctx, uint64_t low, uint64_t high)
{
	struct range_sink *sink = ctx;

	gs_walk_range(sink->w, sink->ref, low, high);
}

static const char *own_or_declared_name(struct scan *s, const struct gs_scan_die *d)
{
	return d->name || !d->has_specification ? d->name : gs_scan_name(s->m, d->specification, 0);
}

static uint8_t flags_of(const struct gs_scan_die *d)
{
	return (uint8_t)((d->is_declaration ? GS_INDEX_DECLARATION : 0) |
			 (d->is_external ? GS_INDEX_EXTERNAL : 0));
}

static void add_function(struct scan *s, gs_ref ref, const struct gs_scan_die *d, struct level *at)
{
	struct range_sink sink = {s->w, ref};
	uint8_t flags = flags_of(d);
	const char *name;

	if (d->has_origin) {
		add_instance(s, d->origin, ref, ref);
	} else {
		name = own_or_declared_name(s, d);
		/* Declarations outside of classes and namespaces are nothing but noise. */
		if (name && (!d->is_declaration || at->parent))
			gs_walk_entry(s->w, ref, at->parent, name, GS_INDEX_FUNCTION, flags);
		if (d->linkage && name && strcmp(d->linkage, name) != 0)
			gs_walk_entry(s->w, ref, at->parent, d->linkage, GS_INDEX_FUNCTION,
				      flags | GS_INDEX_LINKAGE);
	}
	if ((d->has_low && d->has_high) || d->has_ranges)
		gs_scan_ranges(s->m, s->u, d, take_range, &sink);
	*at = (struct level){ref, ref, true};
}

static void add_variable(struct scan *s, gs_ref ref, const struct gs_scan_die *d,
			 const struct level *at)
{
	const char *name;

	if (at->in_function)
		return;
	name = own_or_declared_name(s, d);
	if (name)
		gs_walk_entry(s->w, ref, at->parent, name, GS_INDEX_VARIABLE, flags_of(d));
}

/* Whether its children are walked. */
static bool add_type(struct scan *s, gs_ref ref, const struct gs_abbrev *a,
		     const struct gs_scan_die *d, struct level *at)
{
	const char *name = own_or_declared_name(s, d);

	/* Types of functions are found through their scopes, unless they hold functions (lambdas).
	 */
	if (!d->is_declaration && name && !at->in_function)
		gs_walk_entry(s->w, ref, at->parent, name, GS_INDEX_TYPE, 0);
	else if (a->has_children && a->class != GS_SCAN_ENUM)
		gs_walk_entry(s->w, ref, at->parent, NULL, GS_INDEX_SCOPE, 0);
	if (a->class == GS_SCAN_PLAIN_TYPE)
		return false;
	if (a->class != GS_SCAN_ENUM || d->is_enum_class)
		at->parent = ref;
	return true;
}

/* Whether its children are walked, as AT says. */
static bool add_die(struct scan *s, gs_ref ref, const struct gs_abbrev *a,
		    const struct gs_scan_die *d, struct level *at)
{
	switch (a->class) {
	case GS_SCAN_FUNCTION:
		add_function(s, ref, d, at);
		return true;
	case GS_SCAN_INLINED:
		if (d->has_origin)
			add_instance(s, d->origin, ref, at->outer);
		return true;
	case GS_SCAN_BLOCK:
		return true;
	case GS_SCAN_NAMESPACE:
		gs_walk_entry(s->w, ref, at->parent, NULL, GS_INDEX_SCOPE, 0);
		at->parent = ref;
		return true;
	case GS_SCAN_MEMBER: /* static members, before DWARF 5 */
		if (!d->is_declaration)
			return false;
		/* fall through */
	case GS_SCAN_VARIABLE:
		add_variable(s, ref, d, at);
		return false;
	case GS_SCAN_AGGREGATE:
	case GS_SCAN_ENUM:
	case GS_SCAN_PLAIN_TYPE:
		return add_type(s, ref, a, d, at);
	case GS_SCAN_ENUMERATOR:
		if (!at->in_function)
			gs_walk_entry(s->w, ref, at->parent, d->name, GS_INDEX_ENUMERATOR, 0);
		return false;
	default:
		return false;
	}
}

/* Past an entry whose children are not walked, by its sibling where that is told. */
static const uint8_t *after(const struct gs_scan_die *d, const uint8_t *base, const uint8_t *p,
			    const uint8_t *end, unsigned *skipping)
{
	if (d->sibling > (uint64_t)(p - base) && d->sibling < (uint64_t)(end - base))
		return base + d->sibling;
	++*skipping;
	return p;
}

bool gs_walk_scan(struct gs_walk *w, struct gs_unit *u)
{
	const struct gs_span *section = gs_unit_section(w->m, u);
	const uint64_t mask = (1ull << GS_REF_FILE_SHIFT) - 1;
	const gs_ref file = u->ref & ~mask;
	const uint8_t *base = section->p, *p = base + (u->first_die & mask);
	const uint8_t *end = base + (u->end & mask);
	struct scan *s GS_CLEANUP_FREE = NULL;
	const struct gs_abbrev *a;
	struct gs_scan_die d = {0};
	unsigned skipping = 0; /* levels of children that are passed over */

	if (!gs_abbrevs_of(w->m, u))
		return false;
	a = gs_scan_die(w->m, u, &p, &d);
	if (!a || !a->has_children)
		return a != NULL;
	s = gs_calloc(1, sizeof(*s));
	s->w = w;
	s->m = w->m;
	s->u = u;
	s->depth = 1;
	while (p < end && s->depth) {
		gs_ref ref = file | (uint64_t)(p - base);
		struct level at = s->levels[s->depth];

		if (*p == 0) {
			p++;
			if (skipping)
				skipping--;
			else
				s->depth--;
			continue;
		}
		a = gs_scan_die(w->m, u, &p, &d);
		if (!a)
			break;
		if (skipping || !add_die(s, ref, a, &d, &at)) {
			if (a->has_children)
				p = after(&d, base, p, end, &skipping);
		} else if (a->has_children && s->depth < GS_DIE_DEPTH_MAX) {
			s->levels[++s->depth] = at;
		} else if (a->has_children) {
			skipping++;
		}
	}
	return true;
}
