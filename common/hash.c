/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hashing: CRC32C for the file's integrity, a fast hash and a string-keyed map for tables.
 * Between the data file and its reader and writer; the map serves every stage.
 */
#include "common/hash.h"

#include <pthread.h>
#include <stdbool.h>

#include "common/bytes.h"
#include "common/mem.h"

#define CRC32C_POLY 0x82f63b78u /* reflected 0x1edc6f41 */

static uint32_t crc_table[8][256];
static bool crc_hardware;
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void crc_init(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? c >> 1 ^ CRC32C_POLY : c >> 1;
		crc_table[0][i] = c;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int k = 1; k < 8; k++)
			crc_table[k][i] =
				crc_table[k - 1][i] >> 8 ^ crc_table[0][crc_table[k - 1][i] & 0xff];
#ifdef __x86_64__
	__builtin_cpu_init();
	crc_hardware = __builtin_cpu_supports("sse4.2");
#endif
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const uint8_t *p,
							    size_t n)
{
	uint64_t c = crc;

	for (; n >= 8; n -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		c = __builtin_ia32_crc32di(c, word);
	}
	crc = (uint32_t)c;
	for (; n; n--)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}
#else
static uint32_t crc_sse42(uint32_t crc, const uint8_t *p, size_t n)
{
	return crc;
}
#endif

/* Slicing by 8: eight table look-ups a word, independent of each other. */
static uint32_t crc_soft(uint32_t crc, const uint8_t *p, size_t n)
{
	for (; n >= 8; n -= 8, p += 8) {
		uint64_t word = gs_load_uint(p, 8, false) ^ crc;

		crc = 0;
		for (int k = 0; k < 8; k++)
			crc ^= crc_table[7 - k][word >> (8 * k) & 0xff];
	}
	for (; n; n--)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *p++) & 0xff];
	return crc;
}

uint32_t gs_crc32c(uint32_t crc, const void *p, size_t n)
{
	pthread_once(&crc_once, crc_init);
	crc = ~crc;
	crc = crc_hardware ? crc_sse42(crc, p, n) : crc_soft(crc, p, n);
	return ~crc;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Multiply-and-fold over words; the length is part of the state so that padding cannot collide. */
uint64_t gs_hash(const void *p, size_t n, uint64_t seed)
{
	const uint8_t *b = p;
	uint64_t h = mix(seed ^ 0x9e3779b97f4a7c15u, n ^ 0xd6e8feb86659fd93u), word;

	for (; n >= 8; n -= 8, b += 8) {
		memcpy(&word, b, 8);
		h = mix(h ^ word ^ 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu);
	}
	if (n) {
		word = 0;
		memcpy(&word, b, n);
		h = mix(h ^ word ^ 0x8ebc6af09c88c6e3u, 0x589965cc75374cc3u);
	}
	return mix(h, 0x9fb21c651e98df25u ^ h >> 32);
}

/* ---- map: slots hold entry index + 1; at most half full ---- */

static size_t map_find(const struct gs_map *m, const void *key, size_t len)
{
	size_t mask = m->nslots - 1, i = gs_hash(key, len, 0) & mask;

	for (; m->slots[i]; i = (i + 1) & mask) {
		const struct gs_map_entry *e = &m->entries[m->slots[i] - 1];

		if (e->len == len && (!len || memcmp(e->key, key, len) == 0))
			break;
	}
	return i;
}

static void map_rehash(struct gs_map *m)
{
	m->nslots = m->nslots ? m->nslots * 2 : 16;
	free(m->slots);
	m->slots = gs_calloc(m->nslots, sizeof(*m->slots));
	for (size_t i = 0; i < m->n; i++)
		m->slots[map_find(m, m->entries[i].key, m->entries[i].len)] = (uint32_t)i + 1;
}

uint64_t *gs_map_get(const struct gs_map *m, const void *key, size_t len)
{
	size_t slot;

	if (!m->nslots)
		return NULL;
	slot = map_find(m, key, len);
	return m->slots[slot] ? &m->entries[m->slots[slot] - 1].value : NULL;
}

uint64_t *gs_map_put(struct gs_map *m, const void *key, size_t len, uint64_t value, _Bool *fresh)
{
	struct gs_map_entry *e;
	uint64_t *old = gs_map_get(m, key, len);
	char *copy;

	if (fresh)
		*fresh = !old;
	if (old)
		return old;
	if ((m->n + 1) * 2 > m->nslots)
		map_rehash(m);
	copy = gs_malloc(len + 1);
	if (len)
		memcpy(copy, key, len);
	copy[len] = '\0';
	e = GS_PUSH(m->entries, m->n, m->cap);
	*e = (struct gs_map_entry){copy, len, value};
	m->slots[map_find(m, copy, len)] = (uint32_t)m->n;
	return &e->value;
}

void gs_map_deinit(struct gs_map *m)
{
	for (size_t i = 0; i < m->n; i++)
		free((char *)m->entries[i].key);
	free(m->entries);
	free(m->slots);
	*m = (struct gs_map){0};
}
