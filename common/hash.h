/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hashing: CRC32C for the file's integrity, a fast hash and a string-keyed map for tables.
 * Used by format/, record/ and report/.
 */
#ifndef GS_COMMON_HASH_H
#define GS_COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli, RFC 3720 appendix B.4). Start with crc = 0; chainable. SSE4.2 when present.
 */
uint32_t gs_crc32c(uint32_t crc, const void *p, size_t n);

/* 64-bit non-cryptographic hash for tables in memory; never written to files. */
uint64_t gs_hash(const void *p, size_t n, uint64_t seed);

/*
 * Map from byte strings to uint64_t; open addressing; keys are copied. Zero-initialise.
 * Iteration order is insertion order (deterministic output).
 */
struct gs_map_entry {
	const char *key; /* NUL-terminated copy, but may contain NUL */
	size_t len;
	uint64_t value;
};
struct gs_map {
	struct gs_map_entry *entries;
	uint32_t *slots;
	size_t n, cap, nslots;
};
/* Pointer to the value of KEY, or NULL. Invalidated by the next insert. */
uint64_t *gs_map_get(const struct gs_map *m, const void *key, size_t len);
/* The same, inserting VALUE when the key is new; *fresh (may be NULL) tells. */
uint64_t *gs_map_put(struct gs_map *m, const void *key, size_t len, uint64_t value, _Bool *fresh);
void gs_map_deinit(struct gs_map *m);

#endif
