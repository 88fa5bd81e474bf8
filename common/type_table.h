/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of the type table, for the files type*.c that work on it together.
 * Between adding (type.c) and importing with deduplication (type_import.c).
 */
#ifndef GS_COMMON_TYPE_TABLE_H
#define GS_COMMON_TYPE_TABLE_H

#include "common/type.h"

#define GS_TYPES_CHUNK 256

struct gs_types_entry {
	struct gs_type type;
	uint64_t hash;
	uint8_t depth; /* of nesting by value */
	bool hashed;   /* found by gs_types_add */
	bool pending;  /* reserved, target not set yet */
};

struct gs_types_chunk {
	struct gs_types_entry entries[GS_TYPES_CHUNK];
};

struct gs_types {
	struct gs_types_chunk *chunks[GS_TYPE_MAX / GS_TYPES_CHUNK];
	uint32_t n;
	uint32_t *slots; /* id + 1 by hash of shape and ids */
	size_t nslots;
	uint32_t nhashed;
	struct gs_arena arena;
	/* For imports: id + 1 by hash of shape and neighbourhood; ids below nindexed are in it. */
	struct gs_types_index_slot {
		uint64_t hash;
		uint32_t id;
	} * index;
	size_t nindex_slots, nindex;
	uint32_t nindexed;
};

static inline struct gs_types_entry *gs_types_entry(const struct gs_types *t, gs_type_id id)
{
	return &t->chunks[id / GS_TYPES_CHUNK]->entries[id % GS_TYPES_CHUNK];
}

/* Everything but the ids: what can be compared between tables. */
bool gs_types_same_shape(const struct gs_type *a, const struct gs_type *b);
uint64_t gs_types_hash_shape(const struct gs_type *type);

#endif
