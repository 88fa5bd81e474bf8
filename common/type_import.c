/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Importing types from one table into another, deduplicated through pointer cycles.
 * In the flow: the resolver's table of one compile unit goes into the session's table.
 *
 * Two types are one when nothing that can be reached from them differs: same shape, and each pair
 * of types that they refer to at the same place is again one (coinductive equality, hence pairs
 * under comparison are assumed equal). Candidates come from an index by a hash of the shape and of
 * the nearest neighbours, so that a comparison is rarely in vain. Where a comparison would be too
 * large, types are not merged: twice the same type is only space, two types in one would be wrong
 * values.
 */
#include "common/type.h"

#include "common/hash.h"
#include "common/type_table.h"

#define PAIRS_MAX (1u << 22) /* of one comparison */
#define RECURSION_MAX 512    /* by value and through function types */
#define PEEK_STEPS 6

/* A type in either table: bit 31 tells. GS_TYPE_MAX leaves the bit free. */
#define IN_DST 0x80000000u
typedef uint32_t ref;

/* Pairs of a type of src (high half) and a ref. */
struct pair_set {
	uint64_t *slots; /* pair + 1 */
	size_t nslots;
	uint64_t *list; /* in the order of insertion: also a queue */
	size_t n, cap;
};

/* A pointer in dst whose target (and class, for a pointer to member) is still to be imported. */
struct job {
	gs_type_id dst_pointer, src_pointer;
};

struct import {
	struct gs_types *dst;
	const struct gs_types *src;
	uint32_t *map;	       /* src id -> dst id + 1 */
	uint8_t *busy;	       /* src id: being imported, further up in the recursion */
	struct gs_map origin;  /* pending dst pointer -> src pointer */
	struct pair_set pairs; /* under comparison, assumed equal */
	uint32_t *from;	       /* for each of them, the pair that asked for it */
	size_t nfrom, cap_from;
	struct pair_set different; /* known to differ: a comparison that meets one is over */
	struct job *jobs;
	size_t njobs, cap_jobs;
};

/* ---- the index ---- */

static bool leads_on(unsigned kind)
{
	switch (kind) {
	case GS_KIND_POINTER:
	case GS_KIND_REFERENCE:
	case GS_KIND_RVALUE_REFERENCE:
	case GS_KIND_FUNCTION:
	case GS_KIND_ARRAY:
	case GS_KIND_TYPEDEF:
	case GS_KIND_CONST:
	case GS_KIND_VOLATILE:
	case GS_KIND_RESTRICT:
	case GS_KIND_ATOMIC:
		return true;
	default:
		return false;
	}
}

static uint64_t hash_peek(const struct gs_types *t, gs_type_id id, uint64_t h)
{
	for (int i = 0; i < PEEK_STEPS; i++) {
		const struct gs_type *type = gs_type_get(t, id);
		uint64_t words[] = {type->kind, type->byte_size, type->flags, type->nmembers};

		h = gs_hash(words, sizeof(words), h);
		if (type->name)
			h = gs_hash(type->name, strlen(type->name), h);
		if (!leads_on(type->kind))
			break;
		id = type->target;
	}
	return h;
}

static uint64_t hash_near(const struct gs_types *t, gs_type_id id)
{
	const struct gs_type *type = gs_type_get(t, id);
	uint64_t h = hash_peek(t, type->target, gs_types_hash_shape(type));

	for (uint32_t i = 0; i < type->nmembers; i++)
		h = hash_peek(t, type->members[i].type, h);
	return h;
}

static void index_place(struct gs_types *t, uint64_t hash, gs_type_id id)
{
	size_t mask = t->nindex_slots - 1, i = hash & mask;

	while (t->index[i].id)
		i = (i + 1) & mask;
	t->index[i] = (struct gs_types_index_slot){hash, id + 1};
}

static void index_put(struct gs_types *t, uint64_t hash, gs_type_id id)
{
	struct gs_types_index_slot *old = t->index;
	size_t nold = t->nindex_slots;

	if ((t->nindex + 1) * 2 > t->nindex_slots) {
		t->nindex_slots = nold ? nold * 2 : 64;
		t->index = gs_calloc(t->nindex_slots, sizeof(*t->index));
		for (size_t i = 0; i < nold; i++)
			if (old[i].id)
				index_place(t, old[i].hash, old[i].id - 1);
		free(old);
	}
	index_place(t, hash, id);
	t->nindex++;
}

/* Types that were added without import are indexed when the next import starts. */
static void index_rest(struct gs_types *t)
{
	for (; t->nindexed < t->n; t->nindexed++)
		index_put(t, hash_near(t, t->nindexed), t->nindexed);
}

/* ---- comparison ---- */

static size_t pairs_slot(const struct pair_set *s, uint64_t pair)
{
	size_t mask = s->nslots - 1, i = gs_hash(&pair, sizeof(pair), 0) & mask;

	while (s->slots[i] && s->slots[i] != pair + 1)
		i = (i + 1) & mask;
	return i;
}

static bool pairs_has(const struct pair_set *s, uint64_t pair)
{
	return s->nslots && s->slots[pairs_slot(s, pair)];
}

/* False if it was there. */
static bool pairs_add(struct pair_set *s, uint64_t pair)
{
	size_t i;

	if ((s->n + 1) * 2 > s->nslots) {
		s->nslots = s->nslots ? s->nslots * 2 : 64;
		free(s->slots);
		s->slots = gs_calloc(s->nslots, sizeof(*s->slots));
		for (size_t k = 0; k < s->n; k++)
			s->slots[pairs_slot(s, s->list[k])] = s->list[k] + 1;
	}
	i = pairs_slot(s, pair);
	if (s->slots[i])
		return false;
	s->slots[i] = pair + 1;
	*GS_PUSH(s->list, s->n, s->cap) = pair;
	return true;
}

static void pairs_reset(struct pair_set *s)
{
	s->n = 0;
	if (s->nslots > 1024) {
		free(s->slots);
		s->slots = NULL;
		s->nslots = 0;
	} else if (s->nslots) {
		memset(s->slots, 0, s->nslots * sizeof(*s->slots));
	}
}

/* A pointer that waits for its target stands for the pointer that it is a copy of. */
static ref resolve(const struct import *im, ref r)
{
	gs_type_id id = r & ~IN_DST;
	uint64_t *src;

	if (!(r & IN_DST) || id >= im->dst->n || !gs_types_entry(im->dst, id)->pending)
		return r;
	src = gs_map_get(&im->origin, &id, sizeof(id));
	return src ? (ref)*src : r;
}

static const struct gs_type *type_at(const struct import *im, ref r)
{
	return gs_type_get(r & IN_DST ? im->dst : im->src, r & ~IN_DST);
}

/* Notes that A and B must be equal too, because pair FROM is to be. False: they are not. */
static bool require(struct import *im, size_t from, ref side, gs_type_id a, gs_type_id b)
{
	ref other = resolve(im, b | side);
	uint64_t pair = (uint64_t)a << 32 | other;

	if (!(other & IN_DST) && other == a)
		return true;
	if (pairs_has(&im->different, pair))
		return false;
	if (pairs_add(&im->pairs, pair))
		*GS_PUSH(im->from, im->nfrom, im->cap_from) = (uint32_t)from;
	return im->pairs.n <= PAIRS_MAX;
}

static bool compare_pair(struct import *im, size_t i)
{
	ref a = (ref)(im->pairs.list[i] >> 32), b = (ref)im->pairs.list[i], side = b & IN_DST;
	const struct gs_type *x = type_at(im, a), *y = type_at(im, b);

	/* Pending and without origin: someone else reserved it, nothing is known about its target.
	 */
	if (side && (b & ~IN_DST) < im->dst->n && gs_types_entry(im->dst, b & ~IN_DST)->pending)
		return false;
	if (!gs_types_same_shape(x, y) || !require(im, i, side, x->target, y->target) ||
	    !require(im, i, side, x->containing, y->containing))
		return false;
	for (uint32_t k = 0; k < x->nmembers; k++)
		if (!require(im, i, side, x->members[k].type, y->members[k].type))
			return false;
	return true;
}

/*
 * Pair I differs, and so does every pair that led to it. To keep them makes it unlikely that the
 * comparison of the next type of the same large graph goes all the way again.
 */
static void note_different(struct import *im, size_t i)
{
	if (im->pairs.n > PAIRS_MAX)
		return;
	while (pairs_add(&im->different, im->pairs.list[i]) && i)
		i = im->from[i];
}

/* A is always of src; B of dst, or of src where a pending pointer was resolved. */
static bool is_same(struct import *im, gs_type_id src_id, gs_type_id dst_id)
{
	pairs_reset(&im->pairs);
	im->nfrom = 0;
	if (!require(im, 0, IN_DST, src_id, dst_id))
		return false;
	for (size_t i = 0; i < im->pairs.n; i++)
		if (!compare_pair(im, i)) {
			note_different(im, i);
			return false;
		}
	/* All pairs that were assumed equal are now proved. */
	for (size_t i = 0; i < im->pairs.n; i++) {
		gs_type_id a = (gs_type_id)(im->pairs.list[i] >> 32);
		ref b = (ref)im->pairs.list[i];

		if ((b & IN_DST) && a < im->src->n && !im->map[a])
			im->map[a] = (b & ~IN_DST) + 1;
	}
	im->map[src_id] = dst_id + 1;
	return true;
}

static bool find_same(struct import *im, gs_type_id id, uint64_t hash)
{
	const struct gs_types *dst = im->dst;
	size_t mask = dst->nindex_slots - 1;

	for (size_t i = hash & mask; dst->index[i].id; i = (i + 1) & mask)
		if (dst->index[i].hash == hash && is_same(im, id, dst->index[i].id - 1))
			return true;
	return false;
}

/* ---- copying ---- */

static struct gs_error *import_one(struct import *im, gs_type_id id, int depth);

static struct gs_error *map_ref(struct import *im, gs_type_id *id, int depth)
{
	if (*id >= im->src->n)
		return gs_error_new(GS_ERR_DAMAGED, "a type refers to type %u of %u", *id,
				    im->src->n);
	GS_TRY(import_one(im, *id, depth + 1));
	*id = im->map[*id] - 1;
	return NULL;
}

static struct gs_error *copy_pointer(struct import *im, gs_type_id id, gs_type_id *out)
{
	struct gs_type type = *gs_type_get(im->src, id);

	if (type.target >= im->src->n || type.containing >= im->src->n)
		return gs_error_new(GS_ERR_DAMAGED, "a pointer refers to a type beyond %u",
				    im->src->n);
	if (im->map[type.target] && im->map[type.containing]) {
		type.target = im->map[type.target] - 1;
		type.containing = im->map[type.containing] - 1;
		return gs_types_add(im->dst, &type, out);
	}
	type.containing = GS_TYPE_VOID;
	GS_TRY(gs_types_reserve(im->dst, &type, out));
	gs_map_put(&im->origin, out, sizeof(*out), id, NULL);
	*GS_PUSH(im->jobs, im->njobs, im->cap_jobs) = (struct job){*out, id};
	return NULL;
}

static struct gs_error *finish_pointer(struct import *im, struct job job)
{
	const struct gs_type *type = gs_type_get(im->src, job.src_pointer);
	struct gs_error *err = import_one(im, type->containing, 0);

	if (!err)
		err = import_one(im, type->target, 0);
	if (!err)
		gs_types_entry(im->dst, job.dst_pointer)->type.containing =
			im->map[type->containing] - 1;
	/* After a failure nothing may stay reserved: the pointer is one to void. */
	gs_types_set_target(im->dst, job.dst_pointer, err ? 0 : im->map[type->target] - 1);
	return err;
}

static struct gs_error *copy_other(struct import *im, struct gs_type *type, int depth,
				   gs_type_id *out)
{
	struct gs_member *members GS_CLEANUP_FREE = NULL;

	GS_TRY(map_ref(im, &type->target, depth));
	if (type->nmembers) {
		members = gs_calloc(type->nmembers, sizeof(*members));
		memcpy(members, type->members, type->nmembers * sizeof(*members));
	}
	for (uint32_t i = 0; i < type->nmembers; i++)
		GS_TRY(map_ref(im, &members[i].type, depth));
	type->members = members;
	return gs_types_add(im->dst, type, out);
}

static struct gs_error *import_one(struct import *im, gs_type_id id, int depth)
{
	struct gs_type type = *gs_type_get(im->src, id);
	uint32_t before = im->dst->n;
	uint64_t hash;
	gs_type_id out;

	if (im->map[id])
		return NULL;
	if (im->busy[id] || depth > RECURSION_MAX)
		return gs_error_new(GS_ERR_DAMAGED, "type %u contains itself", id);
	hash = hash_near(im->src, id);
	if (find_same(im, id, hash))
		return NULL;
	im->busy[id] = 1;
	if (type.kind == GS_KIND_POINTER || type.kind == GS_KIND_REFERENCE ||
	    type.kind == GS_KIND_RVALUE_REFERENCE || type.kind == GS_KIND_MEMBER_POINTER)
		GS_TRY(copy_pointer(im, id, &out));
	else
		GS_TRY(copy_other(im, &type, depth, &out));
	im->busy[id] = 0;
	im->map[id] = out + 1;
	if (out >= before)
		index_put(im->dst, hash, out);
	return NULL;
}

static struct gs_error *import_all(struct import *im, gs_type_id id)
{
	struct gs_error *err = import_one(im, id, 0);

	/* Last in, first out: what one pointer leads to is complete before the next is looked at.
	 */
	while (im->njobs) {
		struct job job = im->jobs[--im->njobs];

		if (err)
			gs_types_set_target(im->dst, job.dst_pointer, GS_TYPE_VOID);
		else
			err = finish_pointer(im, job);
	}
	return err;
}

struct gs_error *gs_types_import(struct gs_types *dst, const struct gs_types *src, gs_type_id id,
				 gs_type_id *out)
{
	struct import im = {.dst = dst, .src = src};
	struct gs_error *err;

	if (id >= src->n)
		return gs_error_new(GS_ERR_DAMAGED, "there is no type %u", id);
	if (dst == src) {
		*out = id;
		return NULL;
	}
	index_rest(dst);
	im.map = gs_calloc(src->n, sizeof(*im.map));
	im.busy = gs_calloc(src->n, 1);
	im.map[GS_TYPE_VOID] = GS_TYPE_VOID + 1;
	err = import_all(&im, id);
	dst->nindexed = dst->n;
	if (!err)
		*out = im.map[id] - 1;
	free(im.map);
	free(im.busy);
	free(im.jobs);
	free(im.pairs.slots);
	free(im.pairs.list);
	free(im.from);
	free(im.different.slots);
	free(im.different.list);
	gs_map_deinit(&im.origin);
	return err;
}
