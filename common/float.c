/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Floating-point numbers of every binary format as their shortest decimal.
 * Between captured values and every renderer.
 *
 * Method: free-format conversion after Steele and White, with the scaling and the rounding range of
 * Burger and Dybvig, "Printing floating-point numbers quickly and accurately" (1996), in exact
 * integers. No libc conversion takes part: the host's long double may be narrower than the
 * target's, and printf depends on the locale.
 */
#include "common/text.h"

#include <math.h>

/* binary128 and x87 need 16384 + 113 bits and some room for the factor 10. */
#define BIG_WORDS 540

struct big {
	uint32_t n; /* words used; the top one is not 0 */
	uint32_t w[BIG_WORDS];
};

/* value = mantissa * 2^exponent */
struct number {
	unsigned __int128 mantissa;
	int exponent;
	bool narrow_below; /* a power of two: the neighbour below is at half the distance */
};

struct digits {
	char d[48];
	int n, point; /* value = 0.d1d2... * 10^point */
};

static void big_set(struct big *b, unsigned __int128 v)
{
	for (b->n = 0; v; v >>= 32)
		b->w[b->n++] = (uint32_t)v;
}

static void big_mul(struct big *b, uint32_t factor)
{
	uint64_t carry = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		carry += (uint64_t)b->w[i] * factor;
		b->w[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry)
		b->w[b->n++] = (uint32_t)carry;
}

static void big_shift(struct big *b, unsigned bits)
{
	unsigned words = bits / 32;

	if (!b->n)
		return;
	if (bits % 32)
		big_mul(b, 1u << bits % 32);
	memmove(b->w + words, b->w, b->n * sizeof(b->w[0]));
	memset(b->w, 0, words * sizeof(b->w[0]));
	b->n += words;
}

static void big_mul_pow10(struct big *b, unsigned power)
{
	static const uint32_t small[] = {1,	 10,	  100,	    1000,     10000,
					 100000, 1000000, 10000000, 100000000};

	for (; power >= 9; power -= 9)
		big_mul(b, 1000000000);
	if (power)
		big_mul(b, small[power]);
}

static int big_cmp(const struct big *a, const struct big *b)
{
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	for (uint32_t i = a->n; i-- > 0;)
		if (a->w[i] != b->w[i])
			return a->w[i] < b->w[i] ? -1 : 1;
	return 0;
}

/* Sign of a + b - c without making the sum: the range is tested once a digit. */
static int big_cmp_sum(const struct big *a, const struct big *b, const struct big *c)
{
	uint32_t most = a->n > b->n ? a->n : b->n;
	int64_t diff = 0;

	if (most + 1 < c->n)
		return -1;
	if (most > c->n)
		return 1;
	/* From the top: DIFF is the difference so far in units of the current word. */
	for (uint32_t i = c->n > most ? c->n : most; i-- > 0;) {
		diff = diff * ((int64_t)1 << 32) + (i < a->n ? a->w[i] : 0) +
		       (i < b->n ? b->w[i] : 0) - (i < c->n ? c->w[i] : 0);
		if (diff > 1)
			return 1;
		if (diff < -1)
			return -1;
	}
	return diff < 0 ? -1 : diff > 0;
}

static void big_sub(struct big *a, const struct big *b)
{
	uint64_t borrow = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		uint64_t v = (uint64_t)a->w[i] - (i < b->n ? b->w[i] : 0) - borrow;

		a->w[i] = (uint32_t)v;
		borrow = v >> 63;
	}
	while (a->n && !a->w[a->n - 1])
		a->n--;
}

static int bit_length(unsigned __int128 v)
{
	uint64_t high = (uint64_t)(v >> 64);

	return high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)v);
}

/* r/s is the value, low/s and high/s half the distances to the neighbours below and above. */
struct fraction {
	struct big r, s, low, high;
};

static void fraction_init(struct fraction *f, const struct number *x)
{
	unsigned up = x->exponent > 0 ? (unsigned)x->exponent : 0;
	unsigned down = x->exponent < 0 ? (unsigned)-x->exponent : 0;

	big_set(&f->r, x->mantissa);
	big_shift(&f->r, up + 1 + x->narrow_below);
	big_set(&f->s, 1);
	big_shift(&f->s, down + 1 + x->narrow_below);
	big_set(&f->low, 1);
	big_shift(&f->low, up);
	big_set(&f->high, 1);
	big_shift(&f->high, up + x->narrow_below);
}

/* Scales so that the first digit comes out next; gives the decimal point. */
static int fraction_scale(struct fraction *f, const struct number *x, bool even)
{
	int bits = bit_length(x->mantissa) + x->exponent - 1;
	/* Never above the true value, and at most one below it. */
	int k = (int)ceil(bits * 0.30102999566398114 - 1e-9), cmp;

	if (k >= 0) {
		big_mul_pow10(&f->s, (unsigned)k);
	} else {
		big_mul_pow10(&f->r, (unsigned)-k);
		big_mul_pow10(&f->low, (unsigned)-k);
		big_mul_pow10(&f->high, (unsigned)-k);
	}
	cmp = big_cmp_sum(&f->r, &f->high, &f->s);
	if (cmp > 0 || (even && cmp == 0))
		return k + 1;
	big_mul(&f->r, 10);
	big_mul(&f->low, 10);
	big_mul(&f->high, 10);
	return k;
}

static void shortest(struct digits *out, const struct number *x)
{
	bool even = !(x->mantissa & 1), low_done, high_done;
	struct fraction f;

	fraction_init(&f, x);
	out->point = fraction_scale(&f, x, even);
	out->n = 0;
	for (;;) {
		int d = 0, cmp;

		while (big_cmp(&f.r, &f.s) >= 0) {
			big_sub(&f.r, &f.s);
			d++;
		}
		cmp = big_cmp(&f.r, &f.low);
		low_done = cmp < 0 || (even && cmp == 0);
		cmp = big_cmp_sum(&f.r, &f.high, &f.s);
		high_done = cmp > 0 || (even && cmp == 0);
		if (low_done && high_done)
			d += big_cmp_sum(&f.r, &f.r, &f.s) >= 0;
		else
			d += high_done;
		out->d[out->n++] = (char)('0' + d);
		if (low_done || high_done || out->n == (int)sizeof(out->d))
			break;
		big_mul(&f.r, 10);
		big_mul(&f.low, 10);
		big_mul(&f.high, 10);
	}
}

/* As printf's %g with PRECISION digits chooses between plain and exponent form. */
static void put_digits(struct gs_buf *out, const struct digits *x, int precision)
{
	int exponent = x->point - 1;

	if (exponent < -4 || exponent >= precision) {
		gs_buf_putc(out, x->d[0]);
		if (x->n > 1) {
			gs_buf_putc(out, '.');
			gs_buf_append(out, x->d + 1, (size_t)x->n - 1);
		}
		gs_buf_printf(out, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
		return;
	}
	if (x->point <= 0) {
		gs_buf_puts(out, "0.");
		for (int i = x->point; i < 0; i++)
			gs_buf_putc(out, '0');
		gs_buf_append(out, x->d, (size_t)x->n);
		return;
	}
	for (int i = 0; i < x->point || i < x->n; i++) {
		if (i == x->point)
			gs_buf_putc(out, '.');
		gs_buf_putc(out, i < x->n ? x->d[i] : '0');
	}
}

/* The decimal digits that always suffice: 1 + ceil(p * log10(2)). */
static void put_number(struct gs_buf *out, bool negative, const struct number *x, int precision)
{
	struct digits digits;

	if (negative)
		gs_buf_putc(out, '-');
	if (!x->mantissa) {
		gs_buf_putc(out, '0');
		return;
	}
	shortest(&digits, x);
	put_digits(out, &digits, precision);
}

static void put_special(struct gs_buf *out, bool negative, bool infinite)
{
	gs_buf_puts(out, !infinite ? "nan" : negative ? "-inf" : "inf");
}

struct layout {
	int mantissa_bits; /* with the hidden one */
	int exponent_min;  /* of the last mantissa bit, for subnormal numbers */
	int exponent_max;  /* of the last mantissa bit, for the largest numbers */
	int precision;
};

static const struct layout half = {11, -24, 5, 5};
static const struct layout single = {24, -149, 104, 9};
static const struct layout twice = {53, -1074, 971, 17};

static struct number number_of(double v)
{
	uint64_t bits;
	int exponent;

	memcpy(&bits, &v, sizeof(bits));
	exponent = (int)(bits >> 52 & 0x7ff);
	bits &= ((uint64_t)1 << 52) - 1;
	return (struct number){exponent ? bits | (uint64_t)1 << 52 : bits,
			       (exponent ? exponent : 1) - 1075, false};
}

/* Brings X into the layout; false if the value does not fit there exactly. */
static bool fit(struct number *x, const struct layout *layout)
{
	int spare;

	while (!(x->mantissa & 1)) {
		x->mantissa >>= 1;
		x->exponent++;
	}
	spare = layout->mantissa_bits - bit_length(x->mantissa);
	if (spare < 0 || x->exponent < layout->exponent_min)
		return false;
	if (spare > x->exponent - layout->exponent_min)
		spare = x->exponent - layout->exponent_min;
	x->narrow_below = x->mantissa == 1 && x->exponent - spare > layout->exponent_min;
	x->mantissa <<= spare;
	x->exponent -= spare;
	return x->exponent <= layout->exponent_max;
}

/* Integers, the most frequent floats: every digit counts, so the shortest is the integer itself. */
static bool put_integer(struct gs_buf *out, double v, size_t size)
{
	double limit = size == 2 ? 2048 : size == 4 ? 16777216 : 1e15;
	char digits[24];
	size_t i = sizeof(digits);
	uint64_t n;

	if (!(fabs(v) < limit) || v != (double)(int64_t)v)
		return false;
	if (signbit(v))
		gs_buf_putc(out, '-');
	n = (uint64_t)fabs(v);
	do {
		digits[--i] = (char)('0' + n % 10);
	} while (n /= 10);
	gs_buf_append(out, digits + i, sizeof(digits) - i);
	return true;
}

void gs_put_float(struct gs_buf *out, double v, size_t size)
{
	const struct layout *layout = size == 2 ? &half : size == 4 ? &single : &twice;
	struct number x;

	if (!isfinite(v)) {
		put_special(out, v < 0, isinf(v));
		return;
	}
	if (put_integer(out, v, size))
		return;
	/* A value that its stated width cannot hold is shown in the width that can. */
	x = number_of(v);
	if (!fit(&x, layout)) {
		x = number_of(v);
		layout = fit(&x, &single) ? &single : &twice;
		x = number_of(v);
		fit(&x, layout);
	}
	put_number(out, signbit(v), &x, layout->precision);
}

void gs_put_float80(struct gs_buf *out, const uint8_t b[10])
{
	uint64_t mantissa = 0;
	bool negative = b[9] & 0x80;
	int exponent = (b[9] & 0x7f) << 8 | b[8];
	struct number x;

	for (int i = 7; i >= 0; i--)
		mantissa = mantissa << 8 | b[i];
	/* The processor knows infinity only with the integer bit, and no number without it. */
	if (exponent == 0x7fff || (exponent && !(mantissa >> 63))) {
		put_special(out, negative, exponent == 0x7fff && mantissa == (uint64_t)1 << 63);
		return;
	}
	x = (struct number){mantissa, (exponent ? exponent : 1) - 16383 - 63,
			    exponent > 1 && mantissa == (uint64_t)1 << 63};
	put_number(out, negative, &x, 21);
}

void gs_put_float128(struct gs_buf *out, const uint8_t b[16])
{
	unsigned __int128 mantissa = 0, hidden = (unsigned __int128)1 << 112;
	bool negative = b[15] & 0x80;
	int exponent = (b[15] & 0x7f) << 8 | b[14];
	struct number x;

	for (int i = 13; i >= 0; i--)
		mantissa = mantissa << 8 | b[i];
	if (exponent == 0x7fff) {
		put_special(out, negative, !mantissa);
		return;
	}
	x = (struct number){exponent ? mantissa | hidden : mantissa,
			    (exponent ? exponent : 1) - 16383 - 112, exponent > 1 && !mantissa};
	put_number(out, negative, &x, 36);
}
