/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which units may hold a name, or refer to an entry: told from bytes, before any of them is read.
 *
 * An entry names itself by an offset into a section of strings, by a number in its unit's table of
 * such offsets, or by the text itself. So a unit whose bytes hold neither the offset of the string,
 * nor its text, nor (its table) the offset cannot hold the entry. What is found by chance costs the
 * reading of one unit. Under dwarf_index.c.
 */
#include "record/dwarf_units.h"

#define OFFSET_MASK ((1ull << GS_REF_FILE_SHIFT) - 1)
/* More than these are looked for by a table of their bits, in one pass. */
#define SINGLE_PASSES_MAX 6
#define FILTER_BITS 16
/* Reading costs about as much as so many searches. */
#define SEARCHES_PER_WALK 8

struct needles {
	uint32_t *values; /* as the four bytes of an offset */
	size_t n, cap;
	uint64_t *filter; /* NULL: few */
};

/* ---- bytes ---- */

typedef uint8_t lanes __attribute__((vector_size(16)));

static lanes lanes_at(const uint8_t *p)
{
	lanes v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static lanes lanes_of(uint8_t byte)
{
	return (lanes){0} + byte;
}

/* The first place of the four bytes at B, or NULL. */
static const uint8_t *find_four(const uint8_t *p, const uint8_t *end, const uint8_t *b)
{
	const lanes b0 = lanes_of(b[0]), b1 = lanes_of(b[1]), b2 = lanes_of(b[2]),
		    b3 = lanes_of(b[3]);

	for (; end - p >= 19; p += 16) {
		lanes hit = (lanes)(lanes_at(p) == b0) & (lanes)(lanes_at(p + 1) == b1) &
			    (lanes)(lanes_at(p + 2) == b2) & (lanes)(lanes_at(p + 3) == b3);
		uint64_t halves[2];

		memcpy(halves, &hit, sizeof(hit));
		if (halves[0] | halves[1])
			break;
	}
	for (; end - p >= 4; p++)
		if (memcmp(p, b, 4) == 0)
			return p;
	return NULL;
}

static unsigned filter_bit(uint32_t value)
{
	return value * 2654435761u >> (32 - FILTER_BITS);
}

static void finish_needles(struct needles *k)
{
	if (k->n <= SINGLE_PASSES_MAX)
		return;
	k->filter = gs_calloc((1u << FILTER_BITS) / 64, sizeof(*k->filter));
	for (size_t i = 0; i < k->n; i++)
		k->filter[filter_bit(k->values[i]) / 64] |= 1ull << (filter_bit(k->values[i]) % 64);
}

static void free_needles(struct needles *k)
{
	free(k->values);
	free(k->filter);
}

/* By the filter alone: one that is not there after all costs little. */
static bool filter_hits(const struct needles *k, const uint8_t *p, const uint8_t *end)
{
	for (; end - p >= 4; p++) {
		uint32_t value;
		unsigned bit;

		memcpy(&value, p, 4);
		bit = filter_bit(value);
		if (!(k->filter[bit / 64] >> (bit % 64) & 1))
			continue;
		for (size_t i = 0; i < k->n; i++)
			if (k->values[i] == value)
				return true;
	}
	return false;
}

static bool needles_in(const struct needles *k, const uint8_t *p, const uint8_t *end)
{
	if (k->filter)
		return filter_hits(k, p, end);
	for (size_t i = 0; i < k->n; i++)
		if (find_four(p, end, (const uint8_t *)&k->values[i]))
			return true;
	return false;
}

/* ---- names ---- */

struct name_search {
	const char *base;
	size_t len;
	struct needles main, alt; /* what refers to it in the file and in the alternate one */
};

/* Whether the string, of which BASE is the beginning, is hashed as BASE. */
static bool is_hashed_so(const char *s, size_t len)
{
	return s[len] == 0 || gs_name_base_len(s) == len;
}

/* A string may be the end of a longer one: the linker merges them. */
static void find_strings(const struct name_search *q, struct gs_span s, struct needles *out)
{
	const uint8_t *p = s.p, *end, *hit;

	/* What is not terminated is no string. */
	while (s.n && s.p[s.n - 1])
		s.n--;
	if (!s.n)
		return;
	end = s.p + s.n;
	while (p < end && (hit = memmem(p, (size_t)(end - p), q->base, q->len))) {
		uint64_t offset = (uint64_t)(hit - s.p);

		if (is_hashed_so((const char *)hit, q->len))
			*GS_PUSH(out->values, out->n, out->cap) = (uint32_t)offset;
		p = hit + 1;
	}
}

static bool text_at(const struct name_search *q, const uint8_t *p, const uint8_t *end)
{
	return (size_t)(end - p) > q->len && memcmp(p, q->base, q->len) == 0 &&
	       memchr(p, 0, (size_t)(end - p)) && is_hashed_so((const char *)p, q->len);
}

/* The text itself: its first four bytes, or all of a shorter one with what may follow. */
static bool text_in(const struct name_search *q, const uint8_t *p, const uint8_t *end)
{
	static const char after[] = {0, '<', ' '};
	size_t n = q->len >= 4 ? 1 : sizeof(after);

	for (size_t i = 0; i < n; i++) {
		uint8_t bytes[4];
		const uint8_t *at = p;

		if (q->len < 3) { /* rare, and found everywhere */
			for (; (at = memchr(at, q->base[0], (size_t)(end - at))); at++)
				if (text_at(q, at, end))
					return true;
			return false;
		}
		memcpy(bytes, q->base, q->len < 4 ? q->len : 4);
		if (q->len == 3)
			bytes[3] = (uint8_t)after[i];
		for (; (at = find_four(at, end, bytes)); at++)
			if (text_at(q, at, end))
				return true;
	}
	return false;
}

static bool table_holds(const struct gs_sections *s, const struct gs_unit *u,
			const struct needles *k)
{
	const struct gs_span *t = &s->str_offsets;
	uint64_t base = u->str_offsets_base, end = t->n, length = 0;
	size_t header = u->offset_size == 8 ? 16 : 8;

	if (u->version < 5 || !t->n || base > t->n)
		return false;
	if (base >= header) {
		memcpy(&length, t->p + base - (header == 8 ? 8 : 12), u->offset_size);
		if (length >= 4 && length - 4 < end - base)
			end = base + length - 4;
	}
	return needles_in(k, t->p + base, t->p + end);
}

/* Of a split unit: whether its file holds the name at all. */
static bool split_holds(struct gs_module *m, size_t unit, const struct name_search *q)
{
	static const char *const names[] = {".debug_str.dwo", ".debug_info.dwo", ".debug_types.dwo",
					    ".debug_str"};
	Dwarf_Die die;
	GElf_Shdr shdr;
	Elf *elf;

	if (!gs_unit_die(m, unit, &die) || !(elf = dwarf_getelf(dwarf_cu_getdwarf(die.cu))))
		return true;
	for (size_t i = 0; i < GS_ARRAY_SIZE(names); i++) {
		Elf_Data *data = gs_elf_section(elf, names[i], &shdr);

		if (data && data->d_buf && memmem(data->d_buf, data->d_size, q->base, q->len))
			return true;
	}
	return false;
}

static bool unit_holds(struct gs_module *m, size_t unit, const struct name_search *q)
{
	const struct gs_unit *u = &m->units[unit];
	const struct gs_span *s;
	const struct needles *k;
	const uint8_t *p, *end;

	if (!u->is_readable)
		return true;
	if (u->is_split)
		return split_holds(m, unit, q);
	k = m->alt_file && u->ref >> GS_REF_FILE_SHIFT == m->alt_file ? &q->alt : &q->main;
	s = gs_unit_section(m, u);
	p = s->p + (u->first_die & OFFSET_MASK);
	end = s->p + (u->end & OFFSET_MASK);
	m->searched += (uint64_t)(end - p);
	return needles_in(k, p, end) || table_holds(gs_unit_sections(m, u), u, k) ||
	       text_in(q, p, end);
}

void gs_units_with_name(struct gs_module *m, const char *base, size_t len,
			void (*fn)(struct gs_module *m, size_t unit))
{
	struct name_search q = {.base = base, .len = len};
	const struct gs_sections *main = m->nfiles > 1 ? m->files[1].sections : NULL;

	if (!main || len == 0)
		return;
	if (m->can_scan) {
		find_strings(&q, main->str, &q.main);
		find_strings(&q, main->line_str, &q.main);
	}
	if (m->can_scan && m->alt_file) {
		find_strings(&q, m->files[m->alt_file].sections->str, &q.alt);
		for (size_t i = 0; i < q.alt.n; i++)
			*GS_PUSH(q.main.values, q.main.n, q.main.cap) = q.alt.values[i];
		find_strings(&q, m->files[m->alt_file].sections->line_str, &q.alt);
	}
	finish_needles(&q.main);
	finish_needles(&q.alt);
	for (size_t i = 0; i < m->nunits; i++)
		if (!m->units[i].is_walked && unit_holds(m, i, &q))
			fn(m, i);
	free_needles(&q.main);
	free_needles(&q.alt);
}

/* ---- links ---- */

void gs_units_with_link(struct gs_module *m, const gs_ref *refs, size_t n,
			void (*fn)(struct gs_module *m, size_t unit))
{
	struct needles k = {0};

	if (!m->links_units || n == 0)
		return;
	for (size_t i = 0; i < n; i++)
		*GS_PUSH(k.values, k.n, k.cap) = (uint32_t)refs[i];
	finish_needles(&k);
	for (size_t i = 0; i < m->nunits; i++) {
		const struct gs_unit *u = &m->units[i];
		const struct gs_span *s;

		if (u->is_walked || u->is_split)
			continue;
		if (!u->is_readable) {
			fn(m, i);
			continue;
		}
		s = gs_unit_section(m, u);
		m->searched += u->end - u->first_die;
		if (needles_in(&k, s->p + (u->first_die & OFFSET_MASK),
			       s->p + (u->end & OFFSET_MASK)))
			fn(m, i);
	}
	free_needles(&k);
}

bool gs_search_is_spent(const struct gs_module *m)
{
	uint64_t total = 1 << 20;

	for (size_t i = 1; i < m->nfiles; i++)
		if (m->files[i].sections && !m->files[i].is_types)
			total += m->files[i].sections->info.n + m->files[i].sections->types.n;
	return m->searched / SEARCHES_PER_WALK > total;
}
