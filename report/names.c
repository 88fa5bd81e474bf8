/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of members as JSON and CSV have them: those of base classes, and names that come twice.
 * Between the type table and the walk over a value.
 */
#include "report/names.h"

#include "report/walk.h"

#define NAMES_MAX 65536u /* of a type: with more, some are taken to be repeated */

/* The last component of a qualified name, outside template arguments. */
static const char *unqualified(const char *name)
{
	const char *last = name;
	int depth = 0;

	for (const char *p = name; *p; p++) {
		if (*p == '<' || *p == '(' || *p == '{')
			depth++;
		else if (*p == '>' || *p == ')' || *p == '}')
			depth--;
		else if (depth == 0 && p[0] == ':' && p[1] == ':')
			last = p + 2;
	}
	return last;
}

const char *gs_member_name(const struct gs_types *types, const struct gs_member *m)
{
	const struct gs_type *t;

	if (!(m->flags & GS_MEMBER_BASE))
		return m->name;
	t = gs_type_get(types, gs_type_strip(types, m->type));
	return t->name ? unqualified(t->name) : m->name;
}

bool gs_member_is_flat(const struct gs_types *types, const struct gs_member *m)
{
	return !gs_member_name(types, m) &&
	       gs_kind_is_aggregate(gs_type_get(types, gs_type_strip(types, m->type))->kind);
}

const char *gs_name_apart(struct gs_map *seen, const char *name, struct gs_buf *text)
{
	bool fresh;

	gs_map_put(seen, name, strlen(name), 1, &fresh);
	while (!fresh) {
		uint64_t *times = gs_map_get(seen, name, strlen(name));

		gs_buf_reset(text);
		gs_buf_printf(text, "%s#%u", name, (unsigned)++*times);
		/* A made-up name may exist as well. */
		gs_map_put(seen, gs_buf_cstr(text), text->len, 1, &fresh);
	}
	return text->len ? gs_buf_cstr(text) : name;
}

/* LEFT: members that may be looked at; anonymous types of a hostile file can fan out. */
static bool repeats(const struct gs_types *types, gs_type_id type, unsigned depth,
		    struct gs_map *seen, unsigned *left)
{
	const struct gs_type *t = gs_type_get(types, gs_type_strip(types, type));

	if (depth > GS_WALK_DEPTH)
		return true;
	for (uint32_t i = 0; i < t->nmembers; i++) {
		const struct gs_member *m = &t->members[i];
		const char *name = gs_member_name(types, m);
		bool fresh = true;

		if (m->flags & (GS_MEMBER_ARTIFICIAL | GS_MEMBER_STATIC))
			continue;
		if (!(*left)--)
			return true;
		if (gs_member_is_flat(types, m)) {
			if (repeats(types, m->type, depth + 1, seen, left))
				return true;
			continue;
		}
		name = name ? name : GS_NO_NAME;
		gs_map_put(seen, name, strlen(name), 1, &fresh);
		if (!fresh)
			return true;
	}
	return false;
}

bool gs_file_repeats_names(struct gs_file *f, gs_type_id type)
{
	enum { NOT_KNOWN, UNIQUE, REPEATED };

	if (type >= f->nrepeats) {
		size_t n = (size_t)type + 1;

		f->repeats = gs_grow(f->repeats, &f->repeats_cap, n, sizeof(*f->repeats));
		memset(f->repeats + f->nrepeats, NOT_KNOWN, n - f->nrepeats);
		f->nrepeats = n;
	}
	if (f->repeats[type] == NOT_KNOWN) {
		struct gs_map seen = {0};
		unsigned left = NAMES_MAX;

		f->repeats[type] =
			repeats(f->meta->types, type, 0, &seen, &left) ? REPEATED : UNIQUE;
		gs_map_deinit(&seen);
	}
	return f->repeats[type] == REPEATED;
}
