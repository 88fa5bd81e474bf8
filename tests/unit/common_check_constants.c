/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit tests of constant folding (common/fold.c) with the compiler as the oracle.
 * Each expression is compiled as C (with -fwrapv) and checked as text: value, size and sign must
 * agree.
 */
#ifdef __clang__
#pragma clang diagnostic ignored "-Weverything"
#else
#pragma GCC diagnostic ignored "-Woverflow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Wshift-negative-value"
#pragma GCC diagnostic ignored "-Wtype-limits"
#endif
#include "tests/lib/common_scope.h"
#include "tests/tap.h"

#include <inttypes.h>

static struct test_program t;

static void same_int(const char *text, uint64_t value, size_t size, bool is_signed)
{
	struct gs_error *err;
	struct gs_expr *e = test_check(&t, text, &err);
	bool ok = e && e->is_constant && e->number == value &&
		  gs_type_size(t.types, e->type) == size &&
		  gs_type_is_signed(t.types, e->type) == is_signed;

	CHECK(ok);
	if (!ok)
		printf("# %s: want %" PRId64 " of %zu bytes, %ssigned; got %s\n", text,
		       (int64_t)value, size, is_signed ? "" : "un", test_type(&t, text));
	gs_error_free(err);
}

static void same_real(const char *text, double value, size_t size)
{
	struct gs_error *err;
	struct gs_expr *e = test_check(&t, text, &err);
	bool ok = e && e->is_constant && memcmp(&e->real, &value, sizeof(value)) == 0 &&
		  gs_type_size(t.types, e->type) == size;

	CHECK(ok);
	if (!ok)
		printf("# %s: want %.17g; got %s\n", text, value, test_type(&t, text));
	gs_error_free(err);
}

#define INT(e) same_int(#e, (uint64_t)(e), sizeof(e), (__typeof__(e))-1 < (__typeof__(e))1)
#define REAL(e) same_real(#e, (double)(e), sizeof(e))

static void test_arithmetic(void)
{
	INT(1 + 2 * 3 - 4);
	INT(2147483646 + 1);
	INT(4294967295u + 1u);
	INT(1 - 2u);
	INT(1l - 2u);
	INT(0u - 1l);
	INT(7 / 2);
	INT(-7 / 2);
	INT(-7 % 2);
	INT(7 % -2);
	INT(-7 / 2u);
	INT(-7l / 2u);
	INT(-7l % 2u);
	INT(-1 * 4294967295u);
	INT(-1 * 0x7fffffffffffffff);
	INT(0xffffffff * 0xffffffff);
	INT('a' + 'b');
	INT('\377' + 0u);
	INT(- -5);
	INT(-5u);
	INT(~5u);
	INT(~0l);
	INT(+(char)5);
}

static void test_shifts_and_bits(void)
{
	INT(1 << 30);
	INT(1u << 31);
	INT(1l << 62);
	INT((char)1 << 20l);
	INT(-8 >> 1);
	INT(-8l >> 1u);
	INT(0xffffffff >> 4);
	INT(0xff00 & 0x0ff0 | 1 ^ 3);
	INT(-1 & 0xffu);
	INT(-1l & 0xffu);
	INT(-1 ^ 1u);
	INT((unsigned char)~0 >> 4);
}

static void test_comparisons(void)
{
	INT(-1 < 0u);
	INT(-1l < 0u);
	INT(-1l < 0ul);
	INT(-1 > 4294967295u);
	INT(-1 == 4294967295u);
	INT(-1l == 4294967295u);
	INT((unsigned char)255 == (signed char)-1);
	INT((unsigned short)65535 == (short)-1);
	INT(1 < 2 == 1);
	INT(3 > 2 > 1);
	INT(1.5 > 1);
	INT(0.1f == 0.1);
	INT(!0 + !5 + !0.0);
	INT(1 && 0 || 2);
	INT(0.0 || 0.5);
	INT('\377' == -1);
	INT(16777217 == 16777217.f);
	INT(9007199254740993 == 9007199254740992.);
}

static void test_casts(void)
{
	INT((char)300);
	INT((unsigned char)300);
	INT((signed char)200);
	INT((short)70000);
	INT((unsigned short)-1);
	INT((int)0x100000001);
	INT((unsigned)-1);
	INT((long)-1);
	INT((long)4294967295u);
	INT((unsigned long)-1);
	INT((long)(unsigned char)-1 - 300);
	INT((_Bool)256);
	INT((_Bool)0.1);
	INT((int)-1.9);
	INT((unsigned char)255.9);
	INT((signed char)-128.9);
	INT((long)1e18);
	INT((unsigned long)1.8e19);
	INT((unsigned)-0.9);
	INT((long long)5 + (unsigned long long)6);
	INT(sizeof(int) - 5);
	INT(sizeof(long double));
	INT(sizeof(char) + sizeof(short) + sizeof(long) + sizeof(double));
}

static void test_conditionals(void)
{
	INT(1 ? 2 : 3u);
	INT(0 ? 2l : 3);
	INT(1 ? -1 : 0u);
	INT(1 ? -1l : 0u);
	INT(1 ? (char)1 : (char)2);
	REAL(1 ? 1 : 2.5);
	REAL(0 ? 1 : 2.5f);
}

static void test_floats(void)
{
	REAL(1.5 + 2);
	REAL(0.1 + 0.2);
	REAL(0.1f + 0.2f);
	REAL(0.1f + 0.2);
	REAL(1 / 3.);
	REAL(1 / 3.f);
	REAL(16777217 + 0.f);
	REAL(16777217l * 1.f);
	REAL(-0.0);
	REAL(0x1.8p3 - 1);
	REAL((float)0.1);
	REAL((float)9007199791611905);
	REAL((double)(float)16777217);
	REAL((float)18446744073709551615u);
	REAL(18446744073709551615u + 0.);
	REAL(1e308 * 10);
	REAL(1.0 / 0.0);
}

/* -fwrapv: signed arithmetic wraps. */
static void test_wrapping(void)
{
	CHECK_STR(test_type(&t, "2147483647 + 1"), "int = -2147483648");
	CHECK_STR(test_type(&t, "-(-2147483647 - 1)"), "int = -2147483648");
	CHECK_STR(test_type(&t, "-2147483647 - 2"), "int = 2147483647");
	CHECK_STR(test_type(&t, "65536 * 65536"), "int = 0");
	CHECK_STR(test_type(&t, "0xffffffffl * 0xffffffffl"), "long = -8589934591");
	CHECK_STR(test_type(&t, "9223372036854775807 + 1"), "long = -9223372036854775808");
	CHECK_STR(test_type(&t, "1 << 31"), "int = -2147483648");
	CHECK_STR(test_type(&t, "3 << 31"), "int = -2147483648");
}

/* What C gives no value stays for the run, which gives it a status. */
static void test_not_folded(void)
{
	static const char *const texts[] = {"1/0",
					    "1%0",
					    "1u/0",
					    "(-2147483647-1)/-1",
					    "(-2147483647-1)%-1",
					    "(-9223372036854775807-1)/-1l",
					    "1<<32",
					    "1<<-1",
					    "1l<<64",
					    "1>>32u",
					    "1ul>>-1l",
					    "(char)1<<32",
					    "(int)1e10",
					    "(unsigned char)256.0",
					    "(unsigned)-1.0",
					    "(long)1e19",
					    "(long)(0.0/0.0)",
					    "i*0",
					    "i && 0",
					    "1 ? 1/0 : 2"};

	for (size_t i = 0; i < GS_ARRAY_SIZE(texts); i++) {
		struct gs_error *err;
		struct gs_expr *e = test_check(&t, texts[i], &err);
		CHECK(e && !e->is_constant);
		if (!e || e->is_constant)
			printf("# %s: %s\n", texts[i], test_type(&t, texts[i]));
		gs_error_free(err);
	}
	CHECK_STR(test_type(&t, "0 && 1/0"), "int = 0");
	CHECK_STR(test_type(&t, "1 || i"), "int = 1");
	CHECK_STR(test_type(&t, "1 ? 2 : i"), "int = 2");
	CHECK_STR(test_type(&t, "(-2147483647-1)/-1l"), "long = 2147483648");
}

int main(void)
{
	test_program_init(&t, 8);
	TAP_RUN(test_arithmetic);
	TAP_RUN(test_shifts_and_bits);
	TAP_RUN(test_comparisons);
	TAP_RUN(test_casts);
	TAP_RUN(test_conditionals);
	TAP_RUN(test_floats);
	TAP_RUN(test_wrapping);
	TAP_RUN(test_not_folded);
	test_program_deinit(&t);
	return tap_done();
}
