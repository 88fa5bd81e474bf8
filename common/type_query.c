/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions about types that walk them: members by name, compatibility.
 * Between the type table and the expression checker, the lowering and the report.
 */
#include "common/type.h"

/* Anonymous members and bases nest; a hostile table can make the tree of paths exponential. */
#define VISIT_MAX 1000000
#define EQUAL_DEPTH_MAX 32

struct search {
	const struct gs_types *types;
	const char *name;
	size_t len;
	unsigned visits;
	bool ambiguous;
};

static bool find_in(struct search *s, gs_type_id id, uint64_t bits, uint32_t inherited,
		    struct gs_member *member, uint64_t *bit_offset);

static bool name_is(const struct search *s, const struct gs_member *m)
{
	return m->name && strlen(m->name) == s->len && memcmp(m->name, s->name, s->len) == 0;
}

static bool found(const struct gs_member *m, uint64_t bits, uint32_t inherited,
		  struct gs_member *member, uint64_t *bit_offset)
{
	*member = *m;
	member->flags |= inherited;
	*bit_offset = bits + m->bit_offset;
	return true;
}

/* A base class by its name, or by the end of its name after a scope. */
static bool base_is(const struct search *s, const struct gs_member *m)
{
	size_t n = m->name ? strlen(m->name) : 0;

	if (n < s->len || memcmp(m->name + n - s->len, s->name, s->len) != 0)
		return false;
	return n == s->len ||
	       (n > s->len + 2 && m->name[n - s->len - 1] == ':' && m->name[n - s->len - 2] == ':');
}

/* Own members, those of anonymous members, then base classes by name: these hide what bases have.
 */
static bool find_own(struct search *s, const struct gs_type *type, uint64_t bits,
		     uint32_t inherited, struct gs_member *member, uint64_t *bit_offset)
{
	for (uint32_t i = 0; i < type->nmembers && s->visits < VISIT_MAX; i++) {
		const struct gs_member *m = &type->members[i];

		s->visits++;
		if (m->flags & GS_MEMBER_BASE)
			continue;
		if (name_is(s, m))
			return found(m, bits, inherited, member, bit_offset);
		if (!m->name &&
		    find_in(s, m->type, bits + m->bit_offset, inherited, member, bit_offset))
			return true;
	}
	for (uint32_t i = 0; i < type->nmembers && s->visits < VISIT_MAX; i++)
		if ((type->members[i].flags & GS_MEMBER_BASE) && base_is(s, &type->members[i]))
			return found(&type->members[i], bits, inherited, member, bit_offset);
	return false;
}

static bool find_in(struct search *s, gs_type_id id, uint64_t bits, uint32_t inherited,
		    struct gs_member *member, uint64_t *bit_offset)
{
	const struct gs_type *type = gs_type_get(s->types, gs_type_strip(s->types, id));
	struct gs_member other;
	uint64_t other_bits;
	bool any = false;

	if (!gs_kind_is_aggregate(type->kind))
		return false;
	if (find_own(s, type, bits, inherited, member, bit_offset))
		return true;
	for (uint32_t i = 0; i < type->nmembers && s->visits < VISIT_MAX; i++) {
		const struct gs_member *m = &type->members[i];
		uint32_t flags = inherited | (m->flags & GS_MEMBER_VIRTUAL_BASE);

		uint64_t at = bits + m->bit_offset;

		/* There is one object of a virtual base's type: the type stands for the place. */
		if (m->flags & GS_MEMBER_VIRTUAL_BASE)
			at = (uint64_t)gs_type_strip(s->types, m->type) << 40;
		s->visits++;
		if (!(m->flags & GS_MEMBER_BASE) ||
		    !find_in(s, m->type, at, flags, &other, &other_bits))
			continue;
		/* Of a virtual base the same object may be met twice; its place is not known. */
		if (any && (other_bits != *bit_offset ||
			    !((other.flags & member->flags) & GS_MEMBER_VIRTUAL_BASE)))
			s->ambiguous = true;
		if (!any) {
			*member = other;
			*bit_offset = other_bits;
		}
		any = true;
	}
	return any;
}

bool gs_type_find_member(const struct gs_types *t, gs_type_id id, const char *name, size_t len,
			 struct gs_member *member, uint64_t *bit_offset, bool *ambiguous)
{
	struct search s = {.types = t, .name = name, .len = len};
	struct gs_member m;
	uint64_t bits;

	if (ambiguous)
		*ambiguous = false;
	if (!find_in(&s, id, 0, 0, &m, &bits))
		return false;
	if (member)
		*member = m;
	if (bit_offset)
		*bit_offset = bits;
	if (ambiguous)
		*ambiguous = s.ambiguous;
	return true;
}

static bool find_virtual_in(struct search *s, gs_type_id id, uint64_t bits, struct gs_member *base,
			    uint64_t *holder_bits)
{
	const struct gs_type *type = gs_type_get(s->types, gs_type_strip(s->types, id));

	for (uint32_t i = 0; i < type->nmembers && s->visits < VISIT_MAX; i++) {
		const struct gs_member *m = &type->members[i];

		s->visits++;
		if (!(m->flags & GS_MEMBER_BASE))
			continue;
		if (!(m->flags & GS_MEMBER_VIRTUAL_BASE)) {
			if (find_virtual_in(s, m->type, bits + m->bit_offset, base, holder_bits))
				return true;
		} else if (base_is(s, m) || gs_type_find_member(s->types, m->type, s->name, s->len,
								NULL, NULL, NULL)) {
			*base = *m;
			*holder_bits = bits;
			return true;
		}
	}
	return false;
}

bool gs_type_find_virtual_base(const struct gs_types *t, gs_type_id id, const char *name,
			       size_t len, struct gs_member *base, uint64_t *holder_bits)
{
	struct search s = {.types = t, .name = name, .len = len};

	return find_virtual_in(&s, id, 0, base, holder_bits);
}

/* ---- compatibility ---- */

/* "long unsigned int" (gcc) and "unsigned long" (clang) are one: the words as a set, or -1. */
static int integer_words(const char *name)
{
	static const struct {
		const char *word;
		int value;
	} words[] = {{"int", 0},    {"signed", 0}, {"long", 1},
		     {"short", 16}, {"char", 32},  {"unsigned", 64}};
	int sum = 0;

	while (name && *name) {
		size_t n = strcspn(name, " "), i = 0;

		while (i < GS_ARRAY_SIZE(words) &&
		       (strlen(words[i].word) != n || memcmp(words[i].word, name, n) != 0))
			i++;
		if (i == GS_ARRAY_SIZE(words))
			return -1;
		sum += words[i].value;
		name += n + (name[n] == ' ');
	}
	return name ? sum : -1;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool scalar_equal(const struct gs_type *a, const struct gs_type *b)
{
	if (a->flags != b->flags || a->byte_size != b->byte_size || a->encoding != b->encoding)
		return false;
	if (same_text(a->name, b->name))
		return true;
	return integer_words(a->name) >= 0 && integer_words(a->name) == integer_words(b->name);
}

static bool equal_at(const struct gs_types *t, gs_type_id a, gs_type_id b, int depth);

static bool members_equal(const struct gs_types *t, const struct gs_type *a,
			  const struct gs_type *b, int depth)
{
	if (a->nmembers != b->nmembers || a->byte_size != b->byte_size)
		return false;
	for (uint32_t i = 0; i < a->nmembers; i++) {
		const struct gs_member *m = &a->members[i], *n = &b->members[i];

		if (m->bit_offset != n->bit_offset || m->bit_size != n->bit_size ||
		    (a->kind != GS_KIND_FUNCTION && !same_text(m->name, n->name)) ||
		    !equal_at(t, m->type, n->type, depth + 1))
			return false;
	}
	return true;
}

static bool enumerators_equal(const struct gs_type *a, const struct gs_type *b)
{
	if (a->nenumerators != b->nenumerators || a->byte_size != b->byte_size)
		return false;
	for (uint32_t i = 0; i < a->nenumerators; i++)
		if (a->enumerators[i].value != b->enumerators[i].value ||
		    !same_text(a->enumerators[i].name, b->enumerators[i].name))
			return false;
	return true;
}

/* STRUCT and CLASS are two keywords for one thing. */
static unsigned kind_class(unsigned kind)
{
	return kind == GS_KIND_CLASS ? GS_KIND_STRUCT : kind;
}

static bool equal_at(const struct gs_types *t, gs_type_id a_id, gs_type_id b_id, int depth)
{
	const struct gs_type *a = gs_type_get(t, a_id = gs_type_strip(t, a_id));
	const struct gs_type *b = gs_type_get(t, b_id = gs_type_strip(t, b_id));

	if (a_id == b_id)
		return true;
	if (kind_class(a->kind) != kind_class(b->kind) || depth > EQUAL_DEPTH_MAX)
		return false;
	switch (a->kind) {
	case GS_KIND_STRUCT:
	case GS_KIND_CLASS:
	case GS_KIND_UNION:
		if (a->name || b->name)
			return same_text(a->name, b->name);
		return members_equal(t, a, b, depth);
	case GS_KIND_ENUM:
		return a->name || b->name ? same_text(a->name, b->name) : enumerators_equal(a, b);
	case GS_KIND_ARRAY:
		return a->count == b->count && a->stride == b->stride && a->flags == b->flags &&
		       equal_at(t, a->target, b->target, depth + 1);
	case GS_KIND_MEMBER_POINTER:
		return equal_at(t, a->containing, b->containing, depth + 1) &&
		       equal_at(t, a->target, b->target, depth + 1);
	case GS_KIND_POINTER:
	case GS_KIND_REFERENCE:
	case GS_KIND_RVALUE_REFERENCE:
		return a->byte_size == b->byte_size && equal_at(t, a->target, b->target, depth + 1);
	case GS_KIND_FUNCTION:
		return a->flags == b->flags && members_equal(t, a, b, depth) &&
		       equal_at(t, a->target, b->target, depth + 1);
	default:
		return scalar_equal(a, b);
	}
}

bool gs_type_equal(const struct gs_types *t, gs_type_id a, gs_type_id b)
{
	return equal_at(t, a, b, 0);
}
