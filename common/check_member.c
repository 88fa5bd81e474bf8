/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Members by name: in anonymous members and base classes, with the base named or not, and
 * designators. Called by the checks of `.', `->', container_of and list.
 */
#include "common/check.h"
#include "common/text.h"

#define FEED_MAX 4096 /* candidates for a suggestion: enough for any real struct */
#define LISTED_MAX 8  /* members that an error lists when no name is near */

/* ---- the name is not there ---- */

struct feed {
	struct gs_checker *c;
	struct gs_nearest near;
	struct gs_buf list;
	unsigned fed, depth;
};

static void feed_members(struct feed *f, gs_type_id id)
{
	const struct gs_type *type = gs_check_stripped(f->c, id);

	if (!gs_kind_is_aggregate(type->kind) || f->depth > 16)
		return;
	f->depth++;
	for (uint32_t i = 0; i < type->nmembers && f->fed < FEED_MAX; i++) {
		const struct gs_member *m = &type->members[i];
		f->fed++;
		if (!m->name || (m->flags & GS_MEMBER_BASE)) {
			feed_members(f, m->type);
		} else if (!(m->flags & (GS_MEMBER_ARTIFICIAL | GS_MEMBER_STATIC))) {
			gs_nearest_feed(&f->near, m->name);
			if (f->fed <= LISTED_MAX)
				gs_buf_printf(&f->list, "%s`%s'", f->list.len ? ", " : "", m->name);
		}
	}
	f->depth--;
}

static struct gs_error *no_member(struct gs_checker *c, const struct gs_expr *e, gs_type_id id,
				  const char *name)
{
	struct feed f = {.c = c, .near.wanted = name};
	const struct gs_type *type = gs_check_stripped(c, id);
	const char *text = gs_check_type_text(c, id);

	if (!type->nmembers && ((type->flags & GS_TYPE_INCOMPLETE) || !type->byte_size))
		return gs_check_error(
			c, e, GS_ERR_NOT_FOUND,
			"`%s' is only declared where this is looked up: its members are "
			"not known",
			text);
	struct gs_error *err =
		gs_check_error(c, e, GS_ERR_NOT_FOUND, "`%s' has no member `%s'", text, name);
	feed_members(&f, id);
	GS_CLEANUP_FREE char *hint = gs_nearest_hint(&f.near);
	if (hint)
		err = gs_error_hint(err, "%s", hint);
	else if (f.list.len)
		err = gs_error_hint(err, "it has %s%s", gs_buf_cstr(&f.list),
				    f.fed > LISTED_MAX ? ", ..." : "");
	gs_nearest_deinit(&f.near);
	gs_buf_deinit(&f.list);
	return err;
}

/* ---- look-up ---- */

static struct gs_error *find_plain(struct gs_checker *c, const struct gs_expr *e, gs_type_id id,
				   const char *name, struct gs_member *member, uint64_t *bit_offset)
{
	bool ambiguous;

	if (!gs_type_find_member(c->types, id, name, strlen(name), member, bit_offset, &ambiguous))
		return no_member(c, e, id, name);
	if (ambiguous)
		return gs_error_hint(gs_check_error(c, e, GS_ERR_USAGE,
						    "several base classes of `%s' have a member "
						    "`%s'",
						    gs_check_type_text(c, id), name),
				     "name the base: x.Base::%s", name);
	if (member->flags & GS_MEMBER_STATIC)
		return gs_error_hint(gs_check_error(c, e, GS_ERR_USAGE,
						    "`%s' is a static member: it is not in the "
						    "object",
						    name),
				     "it is read as a variable: Class::%s", name);
	if (member->flags & GS_MEMBER_VARIANT)
		return gs_error_hint(gs_check_error(c, e, GS_ERR_UNSUPPORTED,
						    "`%s' is a variant: whether it is there, only "
						    "the whole value tells",
						    name),
				     "record the whole enumeration");
	if (member->flags & GS_MEMBER_VIRTUAL_BASE)
		return gs_check_error(
			c, e, GS_ERR_UNSUPPORTED,
			"`%s' is in a virtual base class: where, only the object itself "
			"tells",
			name);
	return NULL;
}

/* The last `::' outside template arguments, or NULL. */
static const char *last_scope(const char *s)
{
	const char *found = NULL;
	unsigned depth = 0;

	for (; *s; s++) {
		if (*s == '<' || *s == '(')
			depth++;
		else if (depth && (*s == '>' || *s == ')'))
			depth--;
		else if (!depth && s[0] == ':' && s[1] == ':')
			found = s++;
	}
	return found;
}

/* Whether NAME, scoped or not, is the aggregate's own name. */
static bool is_own_name(const struct gs_checker *c, gs_type_id id, const char *name)
{
	const struct gs_type *type = gs_check_stripped(c, id);
	const char *last = type->name ? last_scope(type->name) : NULL;

	return type->name &&
	       (strcmp(type->name, name) == 0 || (last && strcmp(last + 2, name) == 0));
}

/* The span of a member's name, which ends the node that names it; of the whole where it was quoted.
 */
static struct gs_expr name_span(const struct gs_checker *c, const struct gs_expr *e)
{
	size_t n = strlen(e->name ? e->name : "");
	struct gs_expr at = *e;

	if (n && n <= e->len && memcmp(c->text + e->start + e->len - n, e->name, n) == 0) {
		at.start = e->start + e->len - n;
		at.len = n;
	}
	return at;
}

/* x.Base::name, and x.A::B::name for a base of a base. */
struct gs_error *gs_check_find_member(struct gs_checker *c, const struct gs_expr *e, gs_type_id id,
				      const char *name, struct gs_member *member,
				      uint64_t *bit_offset)
{
	const struct gs_expr at = name_span(c, e);
	const char *scope = last_scope(name);
	struct gs_member base;
	uint64_t base_bits, bits;

	e = &at;
	if (!scope)
		return find_plain(c, e, id, name, member, bit_offset);
	const char *prefix = gs_arena_strndup(c->arena, name, (size_t)(scope - name));
	if (is_own_name(c, id, prefix))
		return find_plain(c, e, id, scope + 2, member, bit_offset);
	/* The base may be recorded with or without the scopes of its own name. */
	const char *unscoped = last_scope(prefix);
	if (unscoped &&
	    !gs_type_find_member(c->types, id, prefix, strlen(prefix), NULL, NULL, NULL))
		prefix = unscoped + 2;
	GS_TRY(find_plain(c, e, id, prefix, &base, &base_bits));
	if (!(base.flags & GS_MEMBER_BASE))
		return gs_check_error(c, e, GS_ERR_USAGE, "`%s' is not a base class of `%s'",
				      prefix, gs_check_type_text(c, id));
	GS_TRY(find_plain(c, e, base.type, scope + 2, member, &bits));
	*bit_offset = base_bits + bits;
	return NULL;
}

/* ---- static members ---- */

static bool find_static(struct gs_checker *c, struct gs_expr *e, gs_type_id id, unsigned depth)
{
	const struct gs_type *type = gs_check_stripped(c, id);
	struct gs_symbol sym = {0};
	struct gs_error *err;

	if (!gs_kind_is_aggregate(type->kind) || !type->name || depth > 16)
		return false;
	err = c->scope->find_name(c->scope->ctx, type->name, e->name, &sym);
	if (!err) {
		gs_check_set_symbol(c, e, &sym);
		return true;
	}
	gs_error_free(err);
	for (uint32_t i = 0; i < type->nmembers; i++)
		if ((type->members[i].flags & GS_MEMBER_BASE) &&
		    find_static(c, e, type->members[i].type, depth + 1))
			return true;
	return false;
}

struct gs_error *gs_check_static_member(struct gs_checker *c, struct gs_expr *e, gs_type_id id,
					bool *found)
{
	*found = !strstr(e->name, "::") && find_static(c, e, id, 0);
	if (*found) {
		e->kind = GS_EXPR_NAME;
		e->a = NULL;
		e->qualifier = NULL;
	}
	return NULL;
}

/* ---- designators ---- */

static struct gs_error *designate_member(struct gs_checker *c, struct gs_expr *e, gs_type_id id,
					 uint64_t *bit_offset)
{
	struct gs_member member;
	uint64_t bits;

	if (!gs_kind_is_aggregate(gs_check_stripped(c, id)->kind))
		return gs_check_error(c, e, GS_ERR_USAGE, "`%s' has no members to name `%s'",
				      gs_check_type_text(c, id), e->name);
	GS_TRY(gs_check_find_member(c, e, id, e->name, &member, &bits));
	if (member.bit_size)
		return gs_check_error(c, e, GS_ERR_USAGE, "`%s' is a bit-field: it has no address",
				      e->name);
	e->type = member.type;
	*bit_offset += bits;
	return NULL;
}

static struct gs_error *designate_index(struct gs_checker *c, struct gs_expr *e, gs_type_id id,
					uint64_t *bit_offset)
{
	const struct gs_type *type = gs_check_stripped(c, id);

	if (type->kind != GS_KIND_ARRAY)
		return gs_check_error(c, e, GS_ERR_USAGE, "`%s' is not an array",
				      gs_check_type_text(c, id));
	GS_TRY(gs_check_index(c, &e->b, "an index"));
	uint64_t bytes;
	if (__builtin_mul_overflow(e->b->number, type->stride, &bytes) || bytes > UINT32_MAX)
		return gs_check_error(c, e, GS_ERR_USAGE, "the index is out of range");
	e->type = type->target;
	*bit_offset += bytes * 8;
	return NULL;
}

/* The chain is left-deep: its innermost node is the first name. */
struct gs_error *gs_check_designator(struct gs_checker *c, struct gs_expr *e, gs_type_id id,
				     uint64_t *bit_offset)
{
	if (e->kind == GS_EXPR_NAME) {
		*bit_offset = 0;
		return designate_member(c, e, id, bit_offset);
	}
	GS_TRY(gs_check_designator(c, e->a, id, bit_offset));
	return e->kind == GS_EXPR_INDEX ? designate_index(c, e, e->a->type, bit_offset)
					: designate_member(c, e, e->a->type, bit_offset);
}
