/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Floats as text: gdb's digits for the text listing, shortest round-trip for JSON and CSV.
 * Between captured bytes of a float and every renderer.
 */
#include "report/float_text.h"

#include <math.h>

#include "common/bytes.h"
#include "common/text.h"
#include "report/output.h"

/* A finite float is mantissa * 2^exponent. */
struct parts {
	bool negative, finite, nan;
	bool invalid; /* an x87 number that the processor does not know; it is a NaN too */
	unsigned __int128 mantissa; /* NaN: the fraction bits */
	int exponent;
	int precision; /* bits of the significand, with the implied one */
};

static struct parts take_apart(unsigned __int128 bits, int exponent_bits, int fraction_bits,
			       bool explicit_one)
{
	int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
	int exponent = (int)(bits >> fraction_bits) & top;
	struct parts p = {.negative = (bits >> (fraction_bits + exponent_bits)) & 1,
			  .finite = exponent != top,
			  .mantissa = bits & (((unsigned __int128)1 << fraction_bits) - 1),
			  .precision = fraction_bits + !explicit_one};
	unsigned __int128 payload = p.mantissa;

	if (explicit_one)
		payload &= ~((unsigned __int128)1 << (fraction_bits - 1));
	/* With an exponent the integer bit must be set: unnormals and pseudo-infinities are no
	 * numbers. */
	p.invalid = explicit_one && exponent && !(p.mantissa >> (fraction_bits - 1));
	p.finite = p.finite && !p.invalid;
	p.nan = !p.finite && (payload || p.invalid);
	if (p.finite && exponent && !explicit_one)
		p.mantissa |= (unsigned __int128)1 << fraction_bits;
	p.exponent = (exponent ? exponent : 1) - bias - (fraction_bits - explicit_one);
	return p;
}

/* SIZE bytes of the given format, in the target's order. */
static bool parts_of(const struct gs_type *t, const uint8_t *bytes, size_t size, bool big,
		     struct parts *p)
{
	unsigned __int128 bits;
	size_t used = t->encoding == GS_FLOAT_X87 && size > 10 ? 10 : size;
	size_t high = used > 8 ? used - 8 : 0;

	if (big)
		bytes += t->encoding == GS_FLOAT_X87 ? size - used : 0;
	bits = gs_load_uint(bytes + (big ? high : 0), used - high, big);
	bits |= (unsigned __int128)gs_load_uint(bytes + (big ? 0 : 8), high, big) << 64;
	if (t->encoding == GS_FLOAT_X87 && used == 10)
		*p = take_apart(bits, 15, 64, true);
	else if (t->encoding == GS_FLOAT_BFLOAT && size == 2)
		*p = take_apart(bits, 8, 7, false);
	else if (size == 2)
		*p = take_apart(bits, 5, 10, false);
	else if (size == 4)
		*p = take_apart(bits, 8, 23, false);
	else if (size == 8)
		*p = take_apart(bits, 11, 52, false);
	else if (size == 16)
		*p = take_apart(bits, 15, 112, false);
	else
		return false;
	return true;
}

/* ---- exact decimal digits, for formats wider than double ---- */

#define LIMBS 1400 /* of nine digits: 113 bits times 5^16494 has 11 563 digits */

struct decimal {
	uint32_t limb[LIMBS]; /* least significant first, base 10^9 */
	size_t n;
};

static void decimal_multiply(struct decimal *d, uint32_t factor)
{
	uint64_t carry = 0;

	for (size_t i = 0; i < d->n; i++) {
		carry += (uint64_t)d->limb[i] * factor;
		d->limb[i] = (uint32_t)(carry % 1000000000);
		carry /= 1000000000;
	}
	for (; carry && d->n < LIMBS; carry /= 1000000000)
		d->limb[d->n++] = (uint32_t)(carry % 1000000000);
}

/* All digits of the value without its power of ten, which is *scale. Caller frees. */
static char *exact_digits(const struct parts *p, int *scale)
{
	struct decimal *d = gs_calloc(1, sizeof(*d));
	unsigned __int128 m = p->mantissa;
	struct gs_buf text = {0};
	int e = p->exponent;

	for (; m; m /= 1000000000)
		d->limb[d->n++] = (uint32_t)(m % 1000000000);
	for (int left = e; left > 0; left -= 29)
		decimal_multiply(d, 1u << (left > 29 ? 29 : left));
	for (int left = -e; left > 0; left--) {
		bool many = left >= 13;

		decimal_multiply(d, many ? 1220703125 : 5);
		left -= many ? 12 : 0;
	}
	*scale = e < 0 ? e : 0;
	for (size_t i = d->n; i-- > 0;)
		gs_buf_printf(&text, i + 1 == d->n ? "%u" : "%09u", d->limb[i]);
	free(d);
	return gs_buf_cstr(&text);
}

/* Rounds to N digits, ties to even; true when a carry made it one digit longer (and it was cut). */
static bool round_digits(char *digits, size_t n)
{
	size_t len = strlen(digits);
	bool up, odd;

	if (len <= n)
		return false;
	odd = (digits[n - 1] - '0') & 1;
	up = digits[n] > '5' ||
	     (digits[n] == '5' && (odd || strspn(digits + n + 1, "0") < len - n - 1));
	digits[n] = '\0';
	if (!up)
		return false;
	for (size_t i = n; i-- > 0;) {
		if (digits[i] != '9') {
			digits[i]++;
			return false;
		}
		digits[i] = '0';
	}
	digits[0] = '1';
	return true;
}

/* As printf's %.*g. */
static void put_general(struct gs_buf *out, char *digits, int exponent, int precision)
{
	size_t n = strlen(digits);

	while (n > 1 && digits[n - 1] == '0')
		digits[--n] = '\0';
	if (exponent < -4 || exponent >= precision) {
		gs_buf_printf(out, "%c%s%s", digits[0], n > 1 ? "." : "", digits + 1);
		gs_buf_printf(out, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
	} else if (exponent < 0) {
		gs_buf_puts(out, "0.");
		for (int i = -1; i > exponent; i--)
			gs_buf_putc(out, '0');
		gs_buf_puts(out, digits);
	} else {
		for (size_t i = 0; i <= (size_t)exponent || i < n; i++) {
			if (i == (size_t)exponent + 1)
				gs_buf_putc(out, '.');
			gs_buf_putc(out, i < n ? digits[i] : '0');
		}
	}
}

static void put_wide(struct gs_buf *out, const struct parts *p, int precision)
{
	int scale, exponent;
	char *digits;

	if (!p->mantissa) {
		gs_buf_putc(out, '0');
		return;
	}
	digits = exact_digits(p, &scale);
	exponent = (int)strlen(digits) - 1 + scale;
	exponent += round_digits(digits, (size_t)precision);
	put_general(out, digits, exponent, precision);
	free(digits);
}

static void put_parts(struct gs_buf *out, const struct parts *p)
{
	int digits = (int)(2 + p->precision * 0.30103);
	uint64_t high = (uint64_t)(p->mantissa >> 64);

	if (p->negative && !p->invalid)
		gs_buf_putc(out, '-');
	if (p->invalid)
		gs_buf_puts(out, "<invalid float value>");
	else if (p->nan && high)
		gs_buf_printf(out, "nan(0x%llx%016llx)", (unsigned long long)high,
			      (unsigned long long)p->mantissa);
	else if (p->nan)
		gs_buf_printf(out, "nan(0x%llx)", (unsigned long long)p->mantissa);
	else if (!p->finite)
		gs_buf_puts(out, "inf");
	else if (p->precision <= 53)
		gs_buf_printf(out, "%.*g", digits, ldexp((double)p->mantissa, p->exponent));
	else
		put_wide(out, p, digits);
}

static struct parts parts_of_double(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return take_apart(bits, 11, 52, false);
}

void gs_text_put_float(struct gs_buf *out, const struct gs_leaf *leaf, bool big_endian)
{
	size_t size = leaf->kind == GS_LEAF_COMPLEX ? leaf->size / 2u : leaf->size;
	struct parts p;

	if (leaf->value->in_bits) {
		p = parts_of_double(leaf->value->real);
		p.precision = leaf->size == 4 ? 24 : 53;
		put_parts(out, &p);
		return;
	}
	if (!parts_of(leaf->type, leaf->bytes, size, big_endian, &p)) {
		gs_buf_puts(out, "<a float of an unknown format>");
		return;
	}
	put_parts(out, &p);
	if (leaf->kind != GS_LEAF_COMPLEX)
		return;
	gs_buf_puts(out, " + ");
	if (parts_of(leaf->type, leaf->bytes + size, size, big_endian, &p))
		put_parts(out, &p);
	gs_buf_putc(out, 'i');
}

static void put_shortest_wide(struct gs_buf *out, const struct gs_type *t, const uint8_t *bytes,
			      size_t size, bool big)
{
	uint8_t le[16];
	size_t used = t->encoding == GS_FLOAT_X87 ? 10 : 16;

	for (size_t i = 0; i < used; i++)
		le[i] = big ? bytes[size - 1 - i] : bytes[i];
	if (t->encoding == GS_FLOAT_X87)
		gs_put_float80(out, le);
	else
		gs_put_float128(out, le);
}

bool gs_put_shortest(struct gs_buf *out, const struct gs_leaf *leaf, unsigned part, bool big_endian)
{
	size_t size = leaf->kind == GS_LEAF_COMPLEX ? leaf->size / 2u : leaf->size;
	const uint8_t *bytes = leaf->bytes ? leaf->bytes + part * size : NULL;
	size_t width = leaf->type->encoding == GS_FLOAT_BFLOAT ? 4 : size;
	struct parts p;

	if (leaf->value->in_bits) {
		p = parts_of_double(leaf->value->real);
		width = leaf->size == 4 ? 4 : 8;
	} else if (!parts_of(leaf->type, bytes, size, big_endian, &p)) {
		gs_buf_puts(out, "NaN");
		return false;
	}
	if (!p.finite) {
		gs_buf_puts(out, p.nan ? "NaN" : p.negative ? "-Infinity" : "Infinity");
		return false;
	}
	if (!p.mantissa) {
		/* Without the point many a reader takes it for an integer, which has no sign of
		 * zero. */
		gs_buf_puts(out, p.negative ? "-0.0" : "0");
		return true;
	}
	if (p.precision > 53) {
		put_shortest_wide(out, leaf->type, bytes, size, big_endian);
		return true;
	}
	gs_put_float(out, (p.negative ? -1 : 1) * ldexp((double)p.mantissa, p.exponent), width);
	return true;
}
