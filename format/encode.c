/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encodings of integer columns: packed groups, differences, runs, dictionaries, lanes.
 * Between arrays of values and the bytes of a column, before LZ4.
 */
#include "format/encode.h"

#define GROUP 128
#define DICT_MAX 1024
#define DICT_SLOTS (4 * DICT_MAX)

static uint64_t width_mask(unsigned width)
{
	return width >= 8 ? UINT64_MAX : ((uint64_t)1 << (8 * width)) - 1;
}

static int64_t extend(uint64_t v, unsigned width)
{
	unsigned unused = 64 - 8 * width;

	return (int64_t)(v << unused) >> unused;
}

static unsigned bit_length(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* ---- PACK ---- */

/* Offsets of a group, and how many of them need each number of bits. */
struct group {
	uint64_t offset[GROUP];
	unsigned n, lengths[65], longest;
};

/*
 * The width with the smallest total: every value in WIDTH bits, and for each that does not fit a
 * place byte and its upper bits.
 */
static unsigned best_width(const struct group *g)
{
	unsigned best = g->longest, over = 0;
	size_t best_cost = (size_t)best * g->n, extra = 0;

	for (unsigned w = g->longest; w-- > 0;) {
		over += g->lengths[w + 1];
		extra = 0;
		if (over > GROUP / 4)
			break;
		for (unsigned l = w + 1; l <= g->longest; l++)
			extra += g->lengths[l] * (8 + 8 * ((l - w + 6) / 7));
		if ((size_t)w * g->n + extra < best_cost) {
			best_cost = (size_t)w * g->n + extra;
			best = w;
		}
	}
	return best;
}

static void put_bits(struct gs_buf *out, const struct group *g, unsigned width)
{
	size_t bytes = ((size_t)g->n * width + 7) / 8;
	uint8_t *p = gs_buf_reserve(out, bytes + 16);
	uint64_t mask = width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
	unsigned __int128 acc = 0;
	unsigned have = 0;

	out->len += bytes;
	for (unsigned i = 0; i < g->n; i++) {
		acc |= (unsigned __int128)(g->offset[i] & mask) << have;
		for (have += width; have >= 32; have -= 32, acc >>= 32) {
			uint32_t word = (uint32_t)acc;

			p[0] = (uint8_t)word;
			p[1] = (uint8_t)(word >> 8);
			p[2] = (uint8_t)(word >> 16);
			p[3] = (uint8_t)(word >> 24);
			p += 4;
		}
	}
	for (; have > 0; have = have > 8 ? have - 8 : 0, acc >>= 8)
		*p++ = (uint8_t)acc;
}

static void put_group(struct gs_buf *out, const uint64_t *v, unsigned n, unsigned width)
{
	struct group g = {.n = n};
	int64_t base = extend(v[0], width);
	unsigned bits, over = 0;

	for (unsigned i = 1; i < n; i++)
		base = extend(v[i], width) < base ? extend(v[i], width) : base;
	for (unsigned i = 0; i < n; i++) {
		unsigned len;

		g.offset[i] = (uint64_t)extend(v[i], width) - (uint64_t)base;
		len = bit_length(g.offset[i]);
		g.lengths[len]++;
		g.longest = len > g.longest ? len : g.longest;
	}
	bits = best_width(&g);
	for (unsigned l = bits + 1; l <= g.longest; l++)
		over += g.lengths[l];
	gs_put_sleb(out, base);
	gs_put_u8(out, (uint8_t)bits);
	gs_put_u8(out, (uint8_t)over);
	put_bits(out, &g, bits);
	for (unsigned i = 0; over && i < n; i++) {
		if (bits < 64 && g.offset[i] >> bits) {
			gs_put_u8(out, (uint8_t)i);
			gs_put_uleb(out, g.offset[i] >> bits);
		}
	}
}

void gs_pack_put(struct gs_buf *out, const uint64_t *v, size_t n, unsigned width)
{
	for (size_t i = 0; i < n; i += GROUP)
		put_group(out, v + i, (unsigned)(n - i < GROUP ? n - i : GROUP), width);
}

static void get_bits(const uint8_t *p, size_t bytes, uint64_t *v, unsigned n, unsigned width)
{
	uint64_t mask = width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
	const uint8_t *end = p + bytes;
	unsigned __int128 acc = 0;
	unsigned have = 0;

	for (unsigned i = 0; i < n; i++) {
		while (have < width) {
			if (end - p >= 8 && have <= 64) {
				acc |= (unsigned __int128)gs_load_uint(p, 8, false) << have;
				have += 64;
				p += 8;
			} else {
				acc |= (unsigned __int128)*p++ << have;
				have += 8;
			}
		}
		v[i] = (uint64_t)acc & mask;
		acc >>= width;
		have -= width;
	}
}

static bool get_exceptions(struct gs_reader *r, uint64_t *v, unsigned n, unsigned width,
			   unsigned over)
{
	int last = -1;

	for (; over; over--) {
		unsigned place = gs_read_u8(r);
		uint64_t high = gs_read_uleb(r);

		if (r->bad || place >= n || (int)place <= last || width >= 64)
			return false;
		v[place] |= high << width;
		if (high << width >> width != high)
			return false;
		last = (int)place;
	}
	return true;
}

static bool get_group(struct gs_reader *r, uint64_t *v, unsigned n, unsigned width)
{
	uint64_t base = (uint64_t)gs_read_sleb(r), mask = width_mask(width);
	unsigned bits = gs_read_u8(r), over = gs_read_u8(r);
	size_t bytes = ((size_t)n * bits + 7) / 8;
	const uint8_t *p;

	if (bits > 64 || over > n)
		return false;
	p = gs_read_bytes(r, bytes);
	if (!p)
		return false;
	get_bits(p, bytes, v, n, bits);
	if (over && !get_exceptions(r, v, n, bits, over))
		return false;
	for (unsigned i = 0; i < n; i++)
		v[i] = (v[i] + base) & mask;
	return !r->bad;
}

bool gs_pack_get(struct gs_reader *r, uint64_t *v, size_t n, unsigned width)
{
	for (size_t i = 0; i < n; i += GROUP)
		if (!get_group(r, v + i, (unsigned)(n - i < GROUP ? n - i : GROUP), width))
			return false;
	return true;
}

/* ---- writing ---- */

static void put_le(struct gs_buf *out, uint64_t v, unsigned width)
{
	uint8_t *p = gs_buf_reserve(out, 8);

	for (unsigned i = 0; i < width; i++)
		p[i] = (uint8_t)(v >> (8 * i));
	out->len += width;
}

static void put_raw(struct gs_buf *out, const struct gs_ints *ints)
{
	uint8_t *p = gs_buf_reserve(out, ints->n * ints->width);

	for (size_t i = 0; i < ints->n; i++, p += ints->width)
		for (unsigned k = 0; k < ints->width; k++)
			p[k] = (uint8_t)(ints->v[i] >> (8 * k));
	out->len += ints->n * ints->width;
}

static bool put_constant(struct gs_buf *out, const struct gs_ints *ints)
{
	for (size_t i = 1; i < ints->n; i++)
		if (ints->v[i] != ints->v[0])
			return false;
	put_le(out, ints->v[0], ints->width);
	return true;
}

static void put_delta(struct gs_buf *out, const struct gs_ints *ints)
{
	uint64_t deltas[GROUP];
	size_t n;

	gs_put_sleb(out, extend(ints->v[0], ints->width));
	for (size_t i = 1; i < ints->n; i += n) {
		n = ints->n - i < GROUP ? ints->n - i : GROUP;
		for (size_t k = 0; k < n; k++)
			deltas[k] = ints->v[i + k] - ints->v[i + k - 1];
		put_group(out, deltas, (unsigned)n, ints->width);
	}
}

static void put_varint(struct gs_buf *out, const struct gs_ints *ints)
{
	uint64_t last = 0;

	for (size_t i = 0; i < ints->n; i++) {
		gs_put_uleb(out, gs_zigzag(extend(ints->v[i] - last, ints->width)));
		last = ints->v[i];
	}
}

static bool put_runs(struct gs_buf *out, const struct gs_ints *ints)
{
	size_t limit = out->len + ints->n * ints->width;

	for (size_t i = 0, end; i < ints->n; i = end) {
		for (end = i + 1; end < ints->n && ints->v[end] == ints->v[i]; end++)
			;
		gs_put_uleb(out, end - i);
		gs_put_sleb(out, extend(ints->v[i], ints->width));
		if (out->len >= limit)
			return false;
	}
	return true;
}

struct dict {
	uint64_t values[DICT_MAX];
	uint16_t slots[DICT_SLOTS]; /* entry + 1 */
	unsigned n;
};

/* The entry of V, or -1 when the dictionary is full. */
static int dict_find(struct dict *d, uint64_t v)
{
	size_t slot = (v * 0x9e3779b97f4a7c15u) >> 52 & (DICT_SLOTS - 1);

	for (; d->slots[slot]; slot = (slot + 1) & (DICT_SLOTS - 1))
		if (d->values[d->slots[slot] - 1] == v)
			return d->slots[slot] - 1;
	if (d->n == DICT_MAX)
		return -1;
	d->values[d->n++] = v;
	d->slots[slot] = (uint16_t)d->n;
	return (int)d->n - 1;
}

static bool put_dictionary(struct gs_buf *out, const struct gs_ints *ints)
{
	struct dict d;
	uint64_t *places = gs_malloc(ints->n * sizeof(*places));
	bool fits = true;

	d.n = 0;
	memset(d.slots, 0, sizeof(d.slots));
	for (size_t i = 0; i < ints->n && fits; i++) {
		int place = dict_find(&d, ints->v[i]);

		fits = place >= 0 && d.n <= ints->n / 2 + 1;
		places[i] = (uint64_t)place;
	}
	if (fits) {
		gs_put_uleb(out, d.n);
		for (unsigned i = 0; i < d.n; i++)
			gs_put_sleb(out, extend(d.values[i], ints->width));
		gs_pack_put(out, places, ints->n, 4);
	}
	free(places);
	return fits;
}

static void put_lanes(struct gs_buf *out, const struct gs_ints *ints)
{
	uint8_t *p = gs_buf_reserve(out, ints->n * ints->width);

	for (unsigned lane = 0; lane < ints->width; lane++)
		for (size_t i = 0; i < ints->n; i++)
			*p++ = (uint8_t)(ints->v[i] >> (8 * lane));
	out->len += ints->n * ints->width;
}

bool gs_ints_encode(struct gs_buf *out, const struct gs_ints *ints, enum gs_encoding enc)
{
	size_t start = out->len, raw = ints->n * ints->width;
	bool can = true;

	switch (enc) {
	case GS_ENC_RAW:
		put_raw(out, ints);
		return true;
	case GS_ENC_LANES:
		put_lanes(out, ints);
		return true;
	case GS_ENC_CONSTANT:
		return put_constant(out, ints);
	case GS_ENC_PACK:
		gs_pack_put(out, ints->v, ints->n, ints->width);
		break;
	case GS_ENC_DELTA:
		put_delta(out, ints);
		break;
	case GS_ENC_VARINT:
		put_varint(out, ints);
		break;
	case GS_ENC_RUNS:
		can = put_runs(out, ints);
		break;
	case GS_ENC_DICTIONARY:
		can = put_dictionary(out, ints);
		break;
	default:
		can = false;
	}
	if (can && out->len - start < raw)
		return true;
	out->len = start;
	return false;
}

/* ---- reading ---- */

static bool get_raw(struct gs_reader *r, uint64_t *v, size_t n, unsigned width)
{
	const uint8_t *p = gs_read_bytes(r, n * width);

	for (size_t i = 0; p && i < n; i++)
		v[i] = gs_load_uint(p + i * width, width, false);
	return p != NULL;
}

static bool get_constant(struct gs_reader *r, uint64_t *v, size_t n, unsigned width)
{
	const uint8_t *p = gs_read_bytes(r, width);

	for (size_t i = 0; p && i < n; i++)
		v[i] = gs_load_uint(p, width, false);
	return p != NULL;
}

static bool get_delta(struct gs_reader *r, uint64_t *v, size_t n, unsigned width)
{
	uint64_t mask = width_mask(width);

	v[0] = (uint64_t)gs_read_sleb(r) & mask;
	if (r->bad || !gs_pack_get(r, v + 1, n - 1, width))
		return false;
	for (size_t i = 1; i < n; i++)
		v[i] = (v[i] + v[i - 1]) & mask;
	return true;
}

static bool get_varint(struct gs_reader *r, uint64_t *v, size_t n, unsigned width)
{
	uint64_t mask = width_mask(width), last = 0;

	for (size_t i = 0; i < n; i++) {
		last = (last + (uint64_t)gs_unzigzag(gs_read_uleb(r))) & mask;
		v[i] = last;
	}
	return !r->bad;
}

static bool get_runs(struct gs_reader *r, uint64_t *v, size_t n, unsigned width)
{
	for (size_t i = 0; i < n;) {
		uint64_t len = gs_read_uleb(r);
		uint64_t value = (uint64_t)gs_read_sleb(r) & width_mask(width);

		if (r->bad || !len || len > n - i)
			return false;
		for (; len; len--)
			v[i++] = value;
	}
	return true;
}

static bool get_dictionary(struct gs_reader *r, uint64_t *v, size_t n, unsigned width)
{
	uint64_t count = gs_read_uleb(r), *values;
	bool good = count && count <= gs_reader_left(r);

	if (!good)
		return false;
	values = gs_malloc(count * sizeof(*values));
	for (size_t i = 0; i < count; i++)
		values[i] = (uint64_t)gs_read_sleb(r) & width_mask(width);
	good = !r->bad && gs_pack_get(r, v, n, 4);
	for (size_t i = 0; i < n && good; i++) {
		good = v[i] < count;
		v[i] = good ? values[v[i]] : 0;
	}
	free(values);
	return good;
}

static bool get_lanes(struct gs_reader *r, uint64_t *v, size_t n, unsigned width)
{
	const uint8_t *p = gs_read_bytes(r, n * width);

	if (!p)
		return false;
	memset(v, 0, n * sizeof(*v));
	for (unsigned lane = 0; lane < width; lane++)
		for (size_t i = 0; i < n; i++)
			v[i] |= (uint64_t)*p++ << (8 * lane);
	return true;
}

static bool get_any(struct gs_reader *r, enum gs_encoding enc, uint64_t *v, size_t n,
		    unsigned width)
{
	switch (enc) {
	case GS_ENC_RAW:
		return get_raw(r, v, n, width);
	case GS_ENC_CONSTANT:
		return get_constant(r, v, n, width);
	case GS_ENC_PACK:
		return gs_pack_get(r, v, n, width);
	case GS_ENC_DELTA:
		return get_delta(r, v, n, width);
	case GS_ENC_VARINT:
		return get_varint(r, v, n, width);
	case GS_ENC_RUNS:
		return get_runs(r, v, n, width);
	case GS_ENC_DICTIONARY:
		return get_dictionary(r, v, n, width);
	case GS_ENC_LANES:
		return get_lanes(r, v, n, width);
	default:
		return false;
	}
}

bool gs_ints_decode(struct gs_reader *r, enum gs_encoding enc, uint64_t *v, size_t n,
		    unsigned width)
{
	return n && get_any(r, enc, v, n, width) && !r->bad && gs_reader_left(r) == 0;
}
