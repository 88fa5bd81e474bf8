/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit tests of values: scalars, bit-fields in both byte orders, floats, parts that are not there.
 * In the flow: between columns of bytes and rendering.
 */
#include "common/value.h"

#include <math.h>

#include "tests/lib/common_types.h"
#include "tests/tap.h"

static struct gs_types *t;

static struct gs_value_source source(bool big_endian)
{
	return (struct gs_value_source){.types = t, .big_endian = big_endian, .pointer_size = 8};
}

static struct gs_value value(gs_type_id type, const void *data, size_t len)
{
	return (struct gs_value){.type = type, .data = data, .len = len, .item = -1};
}

static void test_scalars(void)
{
	static const uint8_t b[] = {0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0x80};
	struct gs_value_source le = source(false), be = source(true);
	struct gs_value v = value(t_int(t, "int", 4, GS_TYPE_SIGNED), b, 4);
	uint64_t bits = 7;

	CHECK(gs_value_scalar(&le, &v, &bits) && (int64_t)bits == -2);
	CHECK(gs_value_scalar(&be, &v, &bits) && (int64_t)bits == -16777217);
	v.type = t_int(t, "unsigned", 4, 0);
	CHECK(gs_value_scalar(&le, &v, &bits) && bits == 0xfffffffe);
	v = value(t_pointer(t, GS_TYPE_VOID), b, 8);
	CHECK(gs_value_scalar(&le, &v, &bits) && bits == 0x80000000fffffffe);
	bits = 7;
	v.len = 7;
	CHECK(!gs_value_scalar(&le, &v, &bits));
	v.len = 8;
	v.status = GS_STATUS_TRUNCATED;
	CHECK(!gs_value_scalar(&le, &v, &bits));
	v = value(t_int(t, "__int128", 16, GS_TYPE_SIGNED), b, 16);
	CHECK(!gs_value_scalar(&le, &v, &bits));
	v = value(t_float(t, "float", 4), b, 4);
	CHECK(!gs_value_scalar(&le, &v, &bits));
	CHECK_INT(bits, 7);
}

/* Every position and width, against a reference that goes bit by bit. */
static void test_bit_fields_everywhere(void)
{
	static const uint8_t bytes[16] = {0xa5, 0x3c, 0x99, 0xe7, 0x18, 0xf0, 0x0f, 0x81,
					  0x7e, 0xc3, 0x42, 0xbd, 0x66, 0x5a, 0x24, 0xdb};
	gs_type_id u = t_int(t, "unsigned long", 8, 0), s = t_int(t, "long", 8, GS_TYPE_SIGNED);

	for (unsigned size = 1; size <= 64; size++)
		for (unsigned at = 0; at + size <= 128; at++)
			for (int big = 0; big < 2; big++) {
				struct gs_member m[] = {{"u", u, 0, at, size},
							{"s", s, 0, at, size}};
				struct gs_value_source src = source(big);
				uint64_t want = 0, got = 1;
				struct gs_value whole, part;

				for (unsigned k = 0; k < size; k++) {
					unsigned bit = at + k;
					unsigned one = big ? bytes[bit / 8] >> (7 - bit % 8) & 1
							   : bytes[bit / 8] >> bit % 8 & 1;

					want |= (uint64_t)one << (big ? size - 1 - k : k);
				}
				whole = value(t_struct(t, NULL, 16, m, 2), bytes, 16);
				gs_value_member(&src, &whole, 0, &part);
				CHECK(gs_value_scalar(&src, &part, &got) && got == want);
				if (size < 64 && want >> (size - 1))
					want |= UINT64_MAX << size;
				gs_value_member(&src, &whole, 1, &part);
				CHECK(gs_value_scalar(&src, &part, &got) && got == want);
				/* One byte too few: no value rather than a wrong one. */
				whole.len = (at + size + 7) / 8 - 1;
				gs_value_member(&src, &whole, 0, &part);
				CHECK_INT(part.status, GS_STATUS_NOT_COLLECTED);
			}
}

static double real(gs_type_id type, const void *bytes, size_t n, bool big_endian)
{
	struct gs_value_source src = source(big_endian);
	struct gs_value v = value(type, bytes, n);
	double d = -12345;

	gs_value_real(&src, &v, &d);
	return d;
}

static gs_type_id float_type(unsigned size, unsigned encoding)
{
	return t_add(t, (struct gs_type){.kind = GS_KIND_FLOAT,
					 .byte_size = size,
					 .encoding = (uint8_t)encoding});
}

static void test_float_formats(void)
{
	static const uint8_t single[] = {0, 0, 0xc0, 0x3f},
			     twice[] = {0x3f, 0xf8, 0, 0, 0, 0, 0, 0};
	static const uint8_t half[] = {1, 0}, bfloat[] = {0xc0, 0xbf};
	static const uint8_t tenth80[16] = {0xcd, 0xcc, 0xcc, 0xcc, 0xcc,
					    0xcc, 0xcc, 0xcc, 0xfb, 0x3f};
	static const uint8_t tenth128[16] = {0x3f, 0xfb, 0x99, 0x99, 0x99, 0x99, 0x99, 0x99,
					     0x99, 0x99, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a};
	static const uint8_t infinite80[10] = {0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0xff};
	static const uint8_t unnormal80[10] = {0, 0, 0, 0, 0, 0, 0, 0x40, 0xff, 0x3f};
	static const uint8_t tiny128[16] = {1};

	CHECK(real(float_type(4, GS_FLOAT_IEEE), single, 4, false) == 1.5);
	CHECK(real(float_type(8, GS_FLOAT_IEEE), twice, 8, true) == 1.5);
	CHECK(real(float_type(2, GS_FLOAT_IEEE), half, 2, false) == 0x1p-24);
	CHECK(real(float_type(2, GS_FLOAT_BFLOAT), bfloat, 2, false) == -1.5);
	CHECK(real(float_type(16, GS_FLOAT_X87), tenth80, 16, false) == 0.1);
	CHECK(real(float_type(12, GS_FLOAT_X87), infinite80, 10, false) == -12345);
	CHECK(real(float_type(10, GS_FLOAT_X87), infinite80, 10, false) == (double)-INFINITY);
	CHECK(isnan(real(float_type(10, GS_FLOAT_X87), unnormal80, 10, false)));
	CHECK(real(float_type(16, GS_FLOAT_IEEE), tenth128, 16, true) == 0.1);
	CHECK(real(float_type(16, GS_FLOAT_IEEE), tiny128, 16, false) == 0);
	CHECK(real(float_type(8, GS_FLOAT_DECIMAL), twice, 8, false) == -12345);
	CHECK(real(float_type(16, GS_FLOAT_IBM), tenth128, 16, false) == -12345);
}

/* 1 + 2^-53 + 2^-63: just above the middle of two doubles, must go up; its half, in the subnormals
 * too. */
static void test_float_rounding_is_done_once(void)
{
	uint8_t x[10] = {1, 4, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f};
	uint8_t tie[10] = {0, 4, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f};

	CHECK(real(float_type(10, GS_FLOAT_X87), x, 10, false) == 1 + 0x1p-52);
	CHECK(real(float_type(10, GS_FLOAT_X87), tie, 10, false) == 1);
#ifdef __x86_64__
	for (int shift = 0; shift < 60; shift++) {
		long double v = ldexpl(0x1.80000000000004p0L + 0x1p-62L, -1022 - shift);

		memcpy(x, &v, 10);
		CHECK(real(float_type(10, GS_FLOAT_X87), x, 10, false) == (double)v);
	}
#endif
}

static void test_parts_beyond_the_bytes(void)
{
	static const uint8_t bytes[32] = {1, 0, 0, 0, 2, 0, 0, 0, 'a', 'b', 'c'};
	gs_type_id i = t_int(t, "int", 4, GS_TYPE_SIGNED), c = t_char(t);
	struct gs_member m[] = {{"n", i, 0, 0, 0},
				{"k", i, 0, 32, 0},
				{"s", t_array(t, c, 8), 0, 64, 0},
				{"last", i, 0, 128, 0},
				{"static", i, GS_MEMBER_STATIC, 0, 0},
				{"virtual", i, GS_MEMBER_BASE | GS_MEMBER_VIRTUAL_BASE, 0, 0},
				{"more", t_array_unknown(t, i), 0, 160, 0}};
	struct gs_value_source src = source(false);
	struct gs_value v = value(t_struct(t, "s", 20, m, 7), bytes, 11), part;
	uint64_t bits;

	v.status = GS_STATUS_TRUNCATED;
	v.has_address = true;
	v.address = 0x1000;
	v.item = 3;
	v.item_offset = 8;
	gs_value_member(&src, &v, 1, &part);
	CHECK(gs_value_scalar(&src, &part, &bits) && bits == 2);
	CHECK(part.has_address && part.address == 0x1004 && part.item_offset == 12);
	gs_value_member(&src, &v, 2, &part);
	CHECK(part.status == GS_STATUS_TRUNCATED && part.len == 3);
	CHECK_INT(gs_value_count(&src, &part), 3);
	gs_value_element(&src, &part, 2, &part);
	CHECK(gs_value_scalar(&src, &part, &bits) && bits == 'c');
	gs_value_member(&src, &v, 3, &part);
	CHECK_INT(part.status, GS_STATUS_NOT_COLLECTED);
	gs_value_member(&src, &v, 4, &part);
	CHECK_INT(part.status, GS_STATUS_NOT_COLLECTED);
	gs_value_member(&src, &v, 5, &part);
	CHECK_INT(part.status, GS_STATUS_UNAVAILABLE);
	v.len = 20;
	gs_value_member(&src, &v, 6, &part);
	/* A flexible array is there, and was not captured: not an empty one. */
	CHECK(part.status == GS_STATUS_NOT_COLLECTED && gs_value_count(&src, &part) == 0);
	v.status = GS_STATUS_FAULT;
	v.address = 0x10;
	gs_value_member(&src, &v, 0, &part);
	CHECK(part.status == GS_STATUS_FAULT && part.address == 0x10);
	gs_value_member(&src, &v, 99, &part);
	CHECK_INT(part.status, GS_STATUS_NOT_COLLECTED);
}

static void test_elements(void)
{
	static const uint8_t bytes[24] = {0, 1, 2, 3, 4, 5, 6, 7};
	gs_type_id c = t_char(t), row = t_array(t, c, 3), grid = t_array(t, row, 2);
	struct gs_value_source src = source(false);
	struct gs_value v = value(grid, bytes, 6), part;
	gs_type_id empty = t_array(t, t_struct(t, NULL, 0, NULL, 0), (uint64_t)1 << 60);
	uint64_t bits;

	gs_value_element(&src, &v, 1, &part);
	CHECK(part.type == row && part.len == 3);
	gs_value_element(&src, &part, 2, &part);
	CHECK(gs_value_scalar(&src, &part, &bits) && bits == 5);
	gs_value_element(&src, &v, 2, &part);
	CHECK_INT(part.status, GS_STATUS_BAD_RANGE);
	gs_value_element(&src, &v, UINT64_MAX, &part);
	CHECK_INT(part.status, GS_STATUS_BAD_RANGE);
	v = value(t_array_unknown(t, row), bytes, 8);
	CHECK_INT(gs_value_count(&src, &v), 2);
	gs_value_element(&src, &v, 5, &part);
	CHECK_INT(part.status, GS_STATUS_NOT_COLLECTED);
	gs_value_element(&src, &v, UINT64_MAX / 3, &part);
	CHECK_INT(part.status, GS_STATUS_BAD_RANGE);
	v = value(empty, bytes, 0);
	CHECK(gs_value_count(&src, &v) <= 65536);
}

static const char *enum_name(const struct gs_type *type, uint64_t bits)
{
	static char text[64];
	struct gs_buf b = {0};
	bool known = gs_enum_name(&b, type, bits);

	snprintf(text, sizeof(text), "%s%s", gs_buf_cstr(&b), known ? "" : "?");
	gs_buf_deinit(&b);
	return text;
}

/* As Rust lays out enum E { A(u16) = 3, B(u8) = -1 (as a byte), C(u16): any other }. */
static void test_variants(void)
{
	static const struct {
		uint8_t bytes[4];
		unsigned active;
	} cases[] = {{{3, 0, 7, 1}, 1}, {{0xff, 9, 0, 0}, 2}, {{0, 0, 5, 0}, 3}, {{4, 0, 5, 0}, 3}};
	gs_type_id u8 = t_int(t, "u8", 1, 0), u16 = t_int(t, "u16", 2, 0), id;
	struct gs_member m[] = {
		{"__discriminant", u8, GS_MEMBER_DISCRIMINANT | GS_MEMBER_ARTIFICIAL, 0, 0},
		{"A", u16, GS_MEMBER_VARIANT, 16, 0},
		{"B", u8, GS_MEMBER_VARIANT, 8, 0},
		{"C", u16, GS_MEMBER_VARIANT, 16, 0}};
	struct gs_enumerator e[] = {{"A", 3}, {"B", -1}};
	struct gs_type type = {.kind = GS_KIND_STRUCT,
			       .name = "E",
			       .byte_size = 4,
			       .members = m,
			       .nmembers = 4,
			       .enumerators = e,
			       .nenumerators = 2};
	struct gs_value_source src = source(false);
	struct gs_value v, part;
	uint64_t bits;

	CHECK(!gs_types_add(t, &type, &id));
	for (size_t i = 0; i < GS_ARRAY_SIZE(cases); i++) {
		v = value(id, cases[i].bytes, 4);
		for (unsigned k = 1; k <= 3; k++) {
			CHECK_INT(gs_value_variant(&src, &v, k),
				  k == cases[i].active ? GS_VARIANT_ACTIVE : GS_VARIANT_OTHER);
			gs_value_member(&src, &v, k, &part);
			CHECK_INT(part.status,
				  k == cases[i].active ? GS_STATUS_OK : GS_STATUS_NOT_COLLECTED);
		}
	}
	v = value(id, cases[0].bytes, 4);
	gs_value_member(&src, &v, 1, &part);
	CHECK(gs_value_scalar(&src, &part, &bits) && bits == 0x107);
	/* Without the byte that tells, none is known to be there. */
	v.len = 0;
	CHECK_INT(gs_value_variant(&src, &v, 1), GS_VARIANT_UNKNOWN);
	/* A hostile table: the discriminant is a variant too. */
	m[0].flags |= GS_MEMBER_VARIANT;
	type.name = "Hostile";
	CHECK(!gs_types_add(t, &type, &id));
	v = value(id, cases[0].bytes, 4);
	gs_value_member(&src, &v, 0, &part);
	gs_value_member(&src, &v, 1, &part);
	CHECK_INT(part.status, GS_STATUS_OK);
}

static void test_enumerators(void)
{
	static const struct gs_enumerator flags[] = {
		{"ns::RD", 1}, {"WR", 2}, {"RW", 3}, {"TOP", (int64_t)0xffffffff80000000}};
	struct gs_type type = {.kind = GS_KIND_ENUM,
			       .byte_size = 4,
			       .enumerators = flags,
			       .nenumerators = 4,
			       .flags = GS_TYPE_FLAG_ENUM};

	CHECK_STR(enum_name(&type, 1), "RD");
	CHECK_STR(enum_name(&type, 3), "RW");
	CHECK_STR(enum_name(&type, 0x80000002), "WR|TOP");
	CHECK_STR(enum_name(&type, 0x80000000), "TOP");
	CHECK_STR(enum_name(&type, 0xffffffff80000000), "TOP");
	CHECK_STR(enum_name(&type, 5), "?");
	CHECK_STR(enum_name(&type, 0), "?");
	type.flags = 0;
	CHECK_STR(enum_name(&type, 0x80000002), "?");
}

int main(void)
{
	t = gs_types_new();
	TAP_RUN(test_scalars);
	TAP_RUN(test_bit_fields_everywhere);
	TAP_RUN(test_float_formats);
	TAP_RUN(test_float_rounding_is_done_once);
	TAP_RUN(test_parts_beyond_the_bytes);
	TAP_RUN(test_elements);
	TAP_RUN(test_variants);
	TAP_RUN(test_enumerators);
	gs_types_free(t);
	return tap_done();
}
