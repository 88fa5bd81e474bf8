/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers of a group: kept, sorted, summed. Between the aggregate and its statistics.
 *
 * Keys sort as unsigned numbers: a non-negative integer is its own key, a negative one is the
 * complement of its magnitude (in a list of its own), a double has its bits made monotone.
 */
#include "report/values.h"

#include <math.h>

#define BUCKET_SHIFT 42 /* of a double's 52 bits of fraction 10 are kept */
#define NBUCKETS (1u << (64 - BUCKET_SHIFT))

static uint64_t key_of_real(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static double real_of_key(uint64_t key)
{
	uint64_t bits = key >> 63 ? key & ~(1ull << 63) : ~key;
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static double real_of(const struct gs_number *n)
{
	if (n->is_real)
		return n->real;
	return n->negative ? -(double)n->magnitude : (double)n->magnitude;
}

static bool less(const struct gs_number *a, const struct gs_number *b)
{
	if (a->is_real || b->is_real)
		return real_of(a) < real_of(b);
	if (a->negative != b->negative)
		return a->negative;
	return a->negative ? a->magnitude > b->magnitude : a->magnitude < b->magnitude;
}

static void count_rough(struct gs_values *v, double d)
{
	double delta = d - v->mean, sum = v->real_sum + d;

	v->buckets[key_of_real(d) >> BUCKET_SHIFT]++;
	v->count++;
	v->mean += delta / (double)v->count;
	v->squares += delta * (d - v->mean);
	v->real_carry +=
		fabs(v->real_sum) >= fabs(d) ? v->real_sum - sum + d : d - sum + v->real_sum;
	v->real_sum = sum;
}

static void each_real(const struct gs_values *v, void (*each)(struct gs_values *v, double d),
		      struct gs_values *ctx)
{
	for (size_t i = 0; i < v->nnegatives; i++)
		each(ctx, -(double)~v->negatives[i]);
	for (size_t i = 0; i < v->nothers; i++)
		each(ctx, (double)v->others[i]);
	for (size_t i = 0; i < v->nreals; i++)
		each(ctx, real_of_key(v->reals[i]));
}

static void become_rough(struct gs_values *v)
{
	v->buckets = gs_calloc(NBUCKETS, sizeof(*v->buckets));
	v->rough = true;
	each_real(v, count_rough, v);
	free(v->negatives);
	free(v->others);
	free(v->reals);
	v->negatives = v->others = v->reals = NULL;
}

static void keep_exactly(struct gs_values *v, const struct gs_number *n)
{
	if (n->is_real)
		*GS_PUSH(v->reals, v->nreals, v->reals_cap) = key_of_real(n->real);
	else if (n->negative)
		*GS_PUSH(v->negatives, v->nnegatives, v->negatives_cap) = ~n->magnitude;
	else
		*GS_PUSH(v->others, v->nothers, v->others_cap) = n->magnitude;
	v->count++;
}

void gs_values_add(struct gs_values *v, const struct gs_number *n, uint64_t keep)
{
	if (!v->count || less(n, &v->least))
		v->least = *n;
	if (!v->count || less(&v->most, n))
		v->most = *n;
	if (!n->is_real)
		v->sum += n->negative ? -(__int128)n->magnitude : (__int128)n->magnitude;
	if (!v->rough && v->count >= keep) {
		v->count = 0;
		become_rough(v);
	}
	if (v->rough) {
		v->nreals += n->is_real;
		count_rough(v, real_of(n));
	} else {
		keep_exactly(v, n);
	}
}

/* Least significant byte first; passes in which all bytes are equal are skipped. */
static void radix_sort(uint64_t *keys, size_t n)
{
	uint64_t *other = gs_malloc(n * sizeof(*other)), *from = keys, *to = other;

	for (unsigned shift = 0; shift < 64; shift += 8) {
		size_t start[256] = {0}, at = 0;
		uint64_t *swap = from;

		for (size_t i = 0; i < n; i++)
			start[(from[i] >> shift) & 255]++;
		if (start[(from[0] >> shift) & 255] == n)
			continue;
		for (size_t b = 0; b < 256; b++) {
			size_t count = start[b];

			start[b] = at;
			at += count;
		}
		for (size_t i = 0; i < n; i++)
			to[start[(from[i] >> shift) & 255]++] = from[i];
		from = to;
		to = swap;
	}
	if (from != keys)
		memcpy(keys, from, n * sizeof(*keys));
	free(other);
}

/* Integers beside doubles are compared as doubles. */
static void make_all_real(struct gs_values *v)
{
	for (size_t i = 0; i < v->nnegatives; i++)
		*GS_PUSH(v->reals, v->nreals, v->reals_cap) =
			key_of_real(-(double)~v->negatives[i]);
	for (size_t i = 0; i < v->nothers; i++)
		*GS_PUSH(v->reals, v->nreals, v->reals_cap) = key_of_real((double)v->others[i]);
	v->nnegatives = v->nothers = 0;
}

void gs_values_sort(struct gs_values *v)
{
	if (v->sorted || v->rough)
		return;
	if (v->nreals)
		make_all_real(v);
	if (v->nnegatives)
		radix_sort(v->negatives, v->nnegatives);
	if (v->nothers)
		radix_sort(v->others, v->nothers);
	if (v->nreals)
		radix_sort(v->reals, v->nreals);
	v->sorted = true;
}

/* Neumaier's compensated sum: the same on every host, and near to exact. */
static void add_to_sum(struct gs_values *acc, double d)
{
	double sum = acc->real_sum + d;

	acc->real_carry +=
		fabs(acc->real_sum) >= fabs(d) ? acc->real_sum - sum + d : d - sum + acc->real_sum;
	acc->real_sum = sum;
}

double gs_values_sum(const struct gs_values *v)
{
	struct gs_values acc = {0};

	if (!v->nreals)
		return (double)v->sum;
	if (v->rough)
		return v->real_sum + v->real_carry;
	each_real(v, add_to_sum, &acc);
	/* Infinities have no carry. */
	return isfinite(acc.real_sum) ? acc.real_sum + acc.real_carry : acc.real_sum;
}

double gs_values_mean(const struct gs_values *v)
{
	return gs_values_sum(v) / (double)v->count;
}

static void add_square(struct gs_values *acc, double d)
{
	add_to_sum(acc, (d - acc->mean) * (d - acc->mean));
}

double gs_values_stddev(const struct gs_values *v)
{
	struct gs_values acc = {.mean = gs_values_mean(v)};

	if (v->rough)
		return sqrt(v->squares / (double)v->count);
	each_real(v, add_square, &acc);
	return sqrt((acc.real_sum + acc.real_carry) / (double)v->count);
}

static double rough_at(const struct gs_values *v, uint64_t rank)
{
	uint64_t seen = 0;

	for (size_t b = 0; b < NBUCKETS; b++) {
		seen += v->buckets[b];
		/* The middle of the bucket: half of 2^-10 of the value off at most. */
		if (seen >= rank)
			return real_of_key((uint64_t)b << BUCKET_SHIFT |
					   1ull << (BUCKET_SHIFT - 1));
	}
	return real_of(&v->most);
}

void gs_values_percentile(const struct gs_values *v, uint32_t part, struct gs_number *n)
{
	uint64_t rank = (uint64_t)(((unsigned __int128)v->count * part + 99999) / 100000);

	if (rank == 0)
		rank = 1;
	*n = (struct gs_number){0};
	if (v->rough) {
		n->is_real = true;
		n->real = rough_at(v, rank);
	} else if (v->nreals) {
		n->is_real = true;
		n->real = real_of_key(v->reals[rank - 1]);
	} else if (rank <= v->nnegatives) {
		n->negative = true;
		n->magnitude = ~v->negatives[rank - 1];
	} else {
		n->magnitude = v->others[rank - 1 - v->nnegatives];
	}
}

void gs_values_extreme(const struct gs_values *v, bool most, struct gs_number *n)
{
	*n = most ? v->most : v->least;
}

void gs_values_deinit(struct gs_values *v)
{
	free(v->negatives);
	free(v->others);
	free(v->reals);
	free(v->buckets);
}
