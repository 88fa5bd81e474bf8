/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /etc/ld.so.cache: from the name of a library to its path, as the dynamic loader finds it.
 * Used by the search for needed libraries.
 *
 * The layout is glibc's "glibc-ld.so.cache1.1": a header of 48 bytes (magic of 20; number of
 * entries; size of the strings; flags; offset of extensions; unused), entries of 24 bytes {flags,
 * key, value, os version, hwcap}, strings. Keys and values are offsets from the header. An older
 * cache may stand before it, which ends where the magic is found, aligned to 8.
 */
#include <elf.h>

#include "record/resolver.h"

#define MAGIC "glibc-ld.so.cache1.1"
#define HEADER_SIZE 48
#define ENTRY_SIZE 24
#define ENTRIES_MAX 1000000u

/* What ldconfig writes into an entry's flags for an ABI; 0 where gs does not know. */
static uint32_t abi_flags(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return 0x0303;
	case EM_386:
		return 0x0003;
	case EM_AARCH64:
		return 0x0a03;
	default:
		return 0;
	}
}

/* The NUL-terminated string at OFFSET, or NULL. */
static const char *string_at(const uint8_t *base, size_t len, uint32_t offset)
{
	if (offset >= len || !memchr(base + offset, 0, len - offset))
		return NULL;
	return (const char *)base + offset;
}

const char *gs_ld_cache_find(const void *data, size_t len, const char *name, uint16_t machine,
			     struct gs_arena *arena)
{
	const uint8_t *base = memmem(data, len, MAGIC, strlen(MAGIC));
	uint32_t wanted = abi_flags(machine), n;
	struct gs_reader r;

	if (!base || !wanted)
		return NULL;
	len -= (size_t)(base - (const uint8_t *)data);
	r = gs_reader_of(base, len);
	gs_read_bytes(&r, strlen(MAGIC));
	n = gs_read_u32(&r);
	gs_read_bytes(&r, HEADER_SIZE - strlen(MAGIC) - 4);
	if (r.bad || n > ENTRIES_MAX || n > gs_reader_left(&r) / ENTRY_SIZE)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t flags = gs_read_u32(&r), key = gs_read_u32(&r), value = gs_read_u32(&r);
		uint64_t hwcap;
		const char *soname, *path;

		gs_read_u32(&r);
		hwcap = gs_read_u64(&r);
		/* Entries for a certain CPU are not chosen: which one the loader takes is its own
		 * rule. */
		if (flags != wanted || hwcap)
			continue;
		soname = string_at(base, len, key);
		path = string_at(base, len, value);
		if (soname && path && strcmp(soname, name) == 0)
			return gs_arena_strdup(arena, path);
	}
	return NULL;
}
