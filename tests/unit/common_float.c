/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit tests of the shortest decimals of floating-point numbers.
 * In the flow: between captured floats and every renderer. The C library is the oracle.
 */
#include <locale.h>
#include <math.h>

#include "common/text.h"
#include "tests/tap.h"

static char text[128];

static const char *put(double v, size_t size)
{
	struct gs_buf b = {0};

	gs_put_float(&b, v, size);
	snprintf(text, sizeof(text), "%s", gs_buf_cstr(&b));
	gs_buf_deinit(&b);
	return text;
}

static void test_known(void)
{
	CHECK_STR(put(0, 8), "0");
	CHECK_STR(put(-0.0, 8), "-0");
	CHECK_STR(put(1.5, 8), "1.5");
	CHECK_STR(put(0.1, 8), "0.1");
	CHECK_STR(put(-2.5e-5, 8), "-2.5e-05");
	CHECK_STR(put(0.0001, 8), "0.0001");
	CHECK_STR(put(1e100, 8), "1e+100");
	CHECK_STR(put(1e15, 8), "1000000000000000");
	CHECK_STR(put(123456789012345680.0, 8), "1.2345678901234568e+17");
	CHECK_STR(put(9007199254740993.0, 8), "9007199254740992");
	CHECK_STR(put(5e-324, 8), "5e-324");
	CHECK_STR(put(1.7976931348623157e308, 8), "1.7976931348623157e+308");
	CHECK_STR(put(1e23, 8), "1e+23");
	CHECK_STR(put((double)INFINITY, 8), "inf");
	CHECK_STR(put((double)-INFINITY, 4), "-inf");
	CHECK_STR(put((double)NAN, 8), "nan");
}

static void test_width_decides(void)
{
	CHECK_STR(put((double)0.1f, 4), "0.1");
	CHECK_STR(put((double)0.1f, 8), "0.10000000149011612");
	CHECK_STR(put(16777216, 4), "16777216");
	CHECK_STR(put((double)3.4028235e38f, 4), "3.4028235e+38");
	CHECK_STR(put((double)1e-45f, 4), "1e-45");
	CHECK_STR(put(0.333251953125, 2), "0.3333");
	CHECK_STR(put(0x1p-24, 2), "6e-08");
	/* What the width cannot hold is not rounded to it. */
	CHECK_STR(put(0.1, 4), "0.1");
	CHECK_STR(put(0.123456789012345, 4), "0.123456789012345");
	CHECK_STR(put(1e30, 2), "1e+30");
}

static int significant(const char *s)
{
	int n = 0, zeros = 0;

	for (; *s && *s != 'e'; s++) {
		if (*s < '0' || *s > '9' || (*s == '0' && !n))
			continue;
		n++;
		zeros = *s == '0' ? zeros + 1 : 0;
	}
	return n - zeros;
}

static uint64_t random64(void)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* Reads back to the same number, and no shorter decimal that printf can make does. */
static void check_double(double v)
{
	char other[40];
	int digits = 1;

	put(v, 8);
	CHECK(strtod(text, NULL) == v);
	for (; digits < 17; digits++) {
		snprintf(other, sizeof(other), "%.*e", digits - 1, v);
		if (strtod(other, NULL) == v)
			break;
	}
	CHECK(significant(text) <= digits);
}

static void check_single(float v)
{
	char other[40];
	int digits = 1;

	put((double)v, 4);
	CHECK(strtof(text, NULL) == v);
	for (; digits < 9; digits++) {
		snprintf(other, sizeof(other), "%.*e", digits - 1, (double)v);
		if (strtof(other, NULL) == v)
			break;
	}
	CHECK(significant(text) <= digits);
}

static void test_random_doubles(void)
{
	for (int i = 0; i < 20000; i++) {
		uint64_t bits = random64();
		double v;

		if (i % 4 == 1)
			bits &= 0xfff0000000000000u; /* powers of two */
		if (i % 4 == 2)
			bits &= 0x800fffffffffffffu; /* subnormal */
		memcpy(&v, &bits, sizeof(v));
		if (i % 4 == 3)
			v = (double)(random64() % 2000000) / 1000;
		if (isfinite(v))
			check_double(v);
	}
}

static void test_random_singles(void)
{
	for (int i = 0; i < 20000; i++) {
		uint32_t bits = (uint32_t)random64();
		float v;

		if (i % 3 == 1)
			bits &= 0xff800000u;
		if (i % 3 == 2)
			bits &= 0x807fffffu;
		memcpy(&v, &bits, sizeof(v));
		if (isfinite(v))
			check_single(v);
	}
}

/* Every binary16 number, read back by scaling. */
static void test_all_halves(void)
{
	for (int exponent = 0; exponent < 31; exponent++)
		for (int mantissa = 0; mantissa < 1024; mantissa++) {
			double v = exponent ? ldexp(1024 + mantissa, exponent - 25)
					    : ldexp(mantissa, -24);
			double ulp = ldexp(1, (exponent ? exponent : 1) - 25), back;

			back = strtod(put(v, 2), NULL);
			CHECK(fabs(back - v) <= ulp / 2);
			CHECK(significant(text) <= 5);
		}
}

static const char *put80(uint64_t mantissa, uint16_t high)
{
	struct gs_buf b = {0};
	uint8_t bytes[10];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(mantissa >> (8 * i));
	bytes[8] = (uint8_t)high;
	bytes[9] = (uint8_t)(high >> 8);
	gs_put_float80(&b, bytes);
	snprintf(text, sizeof(text), "%s", gs_buf_cstr(&b));
	gs_buf_deinit(&b);
	return text;
}

static void test_x87(void)
{
	CHECK_STR(put80(0, 0x8000), "-0");
	CHECK_STR(put80(0x8000000000000000u, 0x3fff), "1");
	CHECK_STR(put80(0xcccccccccccccccdu, 0x3ffb), "0.1");
	CHECK_STR(put80(0xffffffffffffffffu, 0x7ffe), "1.189731495357231765e+4932");
	CHECK_STR(put80(1, 0), "4e-4951");
	CHECK_STR(put80(0x8000000000000000u, 0x7fff), "inf");
	CHECK_STR(put80(0x8000000000000000u, 0xffff), "-inf");
	CHECK_STR(put80(0xc000000000000000u, 0x7fff), "nan");
	CHECK_STR(put80(0x4000000000000000u, 0x3fff), "nan"); /* unnormal: refused by the cpu */
	CHECK_STR(put80(0, 0x7fff), "nan");		      /* pseudo-infinity */
}

static void test_x87_reads_back(void)
{
#ifdef __x86_64__
	for (int i = 0; i < 300; i++) {
		uint64_t m = random64() | (uint64_t)1 << 63;
		uint16_t high = (uint16_t)random64();
		uint8_t bytes[16] = {0};
		long double v;

		memcpy(bytes, &m, 8);
		memcpy(bytes + 8, &high, 2);
		memcpy(&v, bytes, sizeof(v));
		if (isfinite(v))
			CHECK(strtold(put80(m, high), NULL) == v);
	}
#endif
}

static const char *put128(uint64_t high, uint64_t low)
{
	struct gs_buf b = {0};
	uint8_t bytes[16];

	for (int i = 0; i < 8; i++) {
		bytes[i] = (uint8_t)(low >> (8 * i));
		bytes[8 + i] = (uint8_t)(high >> (8 * i));
	}
	gs_put_float128(&b, bytes);
	snprintf(text, sizeof(text), "%s", gs_buf_cstr(&b));
	gs_buf_deinit(&b);
	return text;
}

static void test_binary128(void)
{
	CHECK_STR(put128(0x3fff000000000000u, 0), "1");
	CHECK_STR(put128(0x3ffb999999999999u, 0x999999999999999au), "0.1");
	CHECK_STR(put128(0, 1), "6e-4966");
	CHECK_STR(put128(0x7ffeffffffffffffu, 0xffffffffffffffffu),
		  "1.189731495357231765085759326628007e+4932");
	CHECK_STR(put128(0xffff000000000000u, 0), "-inf");
	CHECK_STR(put128(0x7fff000000000000u, 1), "nan");
}

static void test_locale_does_not_matter(void)
{
	static const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "C.UTF-8"};

	for (size_t i = 0; i < GS_ARRAY_SIZE(names); i++)
		if (setlocale(LC_ALL, names[i]))
			CHECK_STR(put(1.5, 8), "1.5");
	setlocale(LC_ALL, "C");
}

int main(void)
{
	TAP_RUN(test_known);
	TAP_RUN(test_width_decides);
	TAP_RUN(test_random_doubles);
	TAP_RUN(test_random_singles);
	TAP_RUN(test_all_halves);
	TAP_RUN(test_x87);
	TAP_RUN(test_x87_reads_back);
	TAP_RUN(test_binary128);
	TAP_RUN(test_locale_does_not_matter);
	return tap_done();
}
