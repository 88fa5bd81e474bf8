/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit tests of the bottom of common/: memory, bytes, hashing, errors, status words.
 * In the flow: what every other stage stands on.
 */
#include "common/bytes.h"
#include "common/error.h"
#include "common/hash.h"
#include "common/status.h"
#include "tests/tap.h"

static void test_arena_keeps_what_it_gave(void)
{
	struct gs_arena a = {0};
	char *first = gs_arena_strdup(&a, "first"), *big, *rest[200];

	big = gs_arena_alloc(&a, 100000);
	memset(big, 'x', 100000);
	for (int i = 0; i < 200; i++)
		rest[i] = gs_arena_printf(&a, "%d-%0*d", i, i, 0);
	CHECK_STR(first, "first");
	CHECK(big[0] == 'x' && big[99999] == 'x');
	for (int i = 0; i < 200; i++)
		CHECK_INT(atoi(rest[i]), i);
	CHECK(((uintptr_t)gs_arena_alloc(&a, 1) & 15) == 0);
	CHECK(a.total >= 100000);
	CHECK_STR(gs_arena_strndup(&a, "abcdef", 3), "abc");
	gs_arena_deinit(&a);
}

static void test_buffer_grows(void)
{
	struct gs_buf b = {0};

	CHECK_STR(gs_buf_cstr(&b), "");
	gs_buf_append(&b, NULL, 0);
	for (int i = 0; i < 1000; i++)
		gs_buf_printf(&b, "%d,", i % 10);
	CHECK_INT(b.len, 2000);
	gs_buf_reset(&b);
	gs_buf_printf(&b, "%0500d", 7);
	CHECK_INT(strlen(gs_buf_cstr(&b)), 500);
	gs_buf_deinit(&b);
}

static void test_push_grows(void)
{
	int *v = NULL;
	size_t n = 0, cap = 0;

	for (int i = 0; i < 1000; i++)
		*GS_PUSH(v, n, cap) = i;
	CHECK_INT(n, 1000);
	CHECK_INT(v[999], 999);
	free(v);
}

static void test_reader_is_sticky(void)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5};
	struct gs_reader r = gs_reader_of(bytes, sizeof(bytes));

	CHECK_INT(gs_read_u16(&r), 0x0201);
	CHECK_INT(gs_read_u32(&r), 0);
	CHECK(r.bad);
	CHECK_INT(gs_reader_left(&r), 0);
	CHECK_INT(gs_read_u8(&r), 0);
	CHECK(gs_read_bytes(&r, 0) == NULL);
	r = gs_reader_of(bytes, sizeof(bytes));
	CHECK(gs_read_bytes(&r, SIZE_MAX) == NULL && r.bad);
}

static void test_leb_round_trip(void)
{
	static const int64_t values[] = {
		0,    1,     -1,    63,	       64,	  -64,	     -65,	8191,
		8192, -8192, -8193, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MIN + 1};

	for (size_t i = 0; i < GS_ARRAY_SIZE(values); i++) {
		struct gs_buf b = {0};
		struct gs_reader r;

		gs_put_sleb(&b, values[i]);
		gs_put_uleb(&b, (uint64_t)values[i]);
		r = gs_reader_of(b.data, b.len);
		CHECK(gs_read_sleb(&r) == values[i]);
		CHECK(gs_read_uleb(&r) == (uint64_t)values[i]);
		CHECK(!r.bad && gs_reader_left(&r) == 0);
		CHECK(gs_unzigzag(gs_zigzag(values[i])) == values[i]);
		gs_buf_deinit(&b);
	}
}

static bool uleb_is_bad(const uint8_t *p, size_t n)
{
	struct gs_reader r = gs_reader_of(p, n);

	gs_read_uleb(&r);
	return r.bad;
}

static bool sleb_is_bad(const uint8_t *p, size_t n)
{
	struct gs_reader r = gs_reader_of(p, n);

	gs_read_sleb(&r);
	return r.bad;
}

static void test_leb_beyond_64_bits_is_bad(void)
{
	static const uint8_t max[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
	static const uint8_t over[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
	static const uint8_t padded[] = {0x81, 0x80, 0x80, 0x80, 0x80, 0x80,
					 0x80, 0x80, 0x80, 0x80, 0x80, 0};
	static const uint8_t beyond[] = {0x81, 0x80, 0x80, 0x80, 0x80, 0x80,
					 0x80, 0x80, 0x80, 0x80, 0x80, 1};
	static const uint8_t cut[] = {0x80};

	CHECK(!uleb_is_bad(max, sizeof(max)));
	CHECK(uleb_is_bad(over, sizeof(over)));
	CHECK(!uleb_is_bad(padded, sizeof(padded)));
	CHECK(uleb_is_bad(beyond, sizeof(beyond)));
	CHECK(uleb_is_bad(cut, sizeof(cut)));
	CHECK(sleb_is_bad(over, sizeof(over)));
	CHECK(!sleb_is_bad(padded, sizeof(padded)));
	CHECK(sleb_is_bad(beyond, sizeof(beyond)));
	CHECK(sleb_is_bad(cut, sizeof(cut)));
}

static void test_strings_with_nul_are_bad(void)
{
	struct gs_arena a = {0};
	struct gs_buf b = {0};
	struct gs_reader r;

	gs_put_str(&b, "abc");
	gs_put_str(&b, NULL);
	gs_put_uleb(&b, 3);
	gs_buf_append(&b, "a\0b", 3);
	r = gs_reader_of(b.data, b.len);
	CHECK_STR(gs_read_str(&r, &a), "abc");
	CHECK_STR(gs_read_str(&r, &a), "");
	CHECK(!r.bad);
	CHECK_STR(gs_read_str(&r, &a), "");
	CHECK(r.bad);
	gs_buf_reset(&b);
	gs_put_uleb(&b, UINT64_MAX);
	r = gs_reader_of(b.data, b.len);
	CHECK_STR(gs_read_str(&r, &a), "");
	CHECK(r.bad);
	gs_buf_deinit(&b);
	gs_arena_deinit(&a);
}

static void test_loads_in_both_orders(void)
{
	static const uint8_t p[] = {0x80, 1, 2, 3, 4, 5, 6, 0xff};

	CHECK(gs_load_uint(p, 3, false) == 0x020180);
	CHECK(gs_load_uint(p, 3, true) == 0x800102);
	CHECK(gs_load_int(p, 1, false) == -128);
	CHECK(gs_load_int(p, 2, true) == -32767);
	CHECK(gs_load_int(p, 2, false) == 0x0180);
	CHECK(gs_load_uint(p, 8, false) == 0xff06050403020180u);
	CHECK(gs_load_int(p, 8, true) == (int64_t)0x80010203040506ffu);
}

static void test_crc32c(void)
{
	/* RFC 3720 B.4, and the usual check value. */
	uint8_t bytes[32] = {0}, up[32];
	uint32_t whole, parts;

	CHECK(gs_crc32c(0, "123456789", 9) == 0xe3069283u);
	CHECK(gs_crc32c(0, bytes, 32) == 0x8a9136aau);
	memset(bytes, 0xff, 32);
	CHECK(gs_crc32c(0, bytes, 32) == 0x62a8ab43u);
	for (int i = 0; i < 32; i++)
		up[i] = (uint8_t)i;
	CHECK(gs_crc32c(0, up, 32) == 0x46dd794eu);
	CHECK(gs_crc32c(0, NULL, 0) == 0);
	whole = gs_crc32c(0, up, 32);
	for (size_t cut = 0; cut <= 32; cut++) {
		parts = gs_crc32c(gs_crc32c(0, up, cut), up + cut, 32 - cut);
		CHECK(parts == whole);
	}
}

static void test_map(void)
{
	struct gs_map m = {0};
	_Bool fresh;

	CHECK(gs_map_get(&m, "x", 1) == NULL);
	for (uint32_t i = 0; i < 5000; i++) {
		gs_map_put(&m, &i, sizeof(i), i * 3, &fresh);
		CHECK(fresh);
	}
	for (uint32_t i = 0; i < 5000; i++) {
		CHECK(*gs_map_get(&m, &i, sizeof(i)) == i * 3);
		CHECK(memcmp(m.entries[i].key, &i, sizeof(i)) == 0);
	}
	CHECK(*gs_map_put(&m, "", 0, 9, &fresh) == 9 && fresh);
	CHECK(*gs_map_put(&m, "", 0, 8, &fresh) == 9 && !fresh);
	CHECK(gs_map_get(&m, "a\0b", 3) == NULL);
	gs_map_put(&m, "a\0b", 3, 1, NULL);
	CHECK(gs_map_get(&m, "a\0c", 3) == NULL && gs_map_get(&m, "a", 1) == NULL);
	gs_map_deinit(&m);
}

static void test_hash_tells_lengths_apart(void)
{
	static const uint8_t zero[32];

	for (size_t i = 0; i < 32; i++)
		for (size_t j = 0; j < i; j++)
			CHECK(gs_hash(zero, i, 0) != gs_hash(zero, j, 0));
}

static char *printed(const struct gs_error *err)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	gs_error_print(f, "gs", err);
	fclose(f);
	return text;
}

static void test_error_chain_and_caret(void)
{
	struct gs_error *err = gs_error_new(GS_ERR_NOT_FOUND, "no `%s'", "siz");
	char *text;
	size_t start, len;

	CHECK(gs_error_source(err, &start, &len) == NULL);
	err = gs_error_at(err, "f { r->siz }", 7, 3);
	err = gs_error_at(err, "other", 0, 1);
	err = gs_error_hint(err, "did you mean `size'?");
	err = gs_error_wrap(err, "probe %d", 1);
	CHECK_INT(gs_error_code_of(err), GS_ERR_NOT_FOUND);
	CHECK_STR(gs_error_message(err), "probe 1: no `siz'");
	CHECK_STR(gs_error_source(err, &start, &len), "f { r->siz }");
	CHECK(start == 7 && len == 3);
	CHECK_STR(gs_error_hint_at(err, 0), "did you mean `size'?");
	CHECK(gs_error_hint_at(err, 1) == NULL);
	text = printed(err);
	CHECK_STR(text, "gs: probe 1: no `siz'\n  f { r->siz }\n         ^~~\n"
			"  did you mean `size'?\n");
	free(text);
	gs_error_free(err);
	gs_error_free(NULL);
}

static void test_error_caret_in_odd_text(void)
{
	/* The second of two lines, behind characters of two and three bytes and an escaped one. */
	const char *source = "first\n\xc3\xa9\xe2\x82\xac\x1b x";
	struct gs_error *err = gs_error_at(gs_error_new(GS_ERR_USAGE, "bad\n\x1b[2J"), source,
					   strlen(source) - 1, 100);
	char *text = printed(err);

	CHECK_STR(text, "gs: bad\\n\\033[2J\n  \xc3\xa9\xe2\x82\xac\\033 x\n         ^\n");
	free(text);
	gs_error_free(err);
	/* A span behind the end points there. */
	err = gs_error_at(gs_error_new(GS_ERR_USAGE, "end"), "ab", 9, 9);
	text = printed(err);
	CHECK_STR(text, "gs: end\n  ab\n    ^\n");
	free(text);
	gs_error_free(err);
}

static void test_error_errno(void)
{
	struct gs_error *err = gs_error_errno(2, "open %s", "/x");

	CHECK_STR(gs_error_message(err), "open /x: No such file or directory");
	CHECK_INT(gs_error_code_of(err), GS_ERR_SYSTEM);
	gs_error_free(err);
}

static void test_status_words(void)
{
	for (unsigned i = 0; i < GS_STATUS_COUNT; i++)
		CHECK(strcmp(gs_status_name(i), "unknown") != 0);
	CHECK_STR(gs_status_name(GS_STATUS_PARTIAL), "truncated");
	CHECK_STR(gs_status_name(GS_STATUS_DIV_ZERO), "division-by-zero");
	CHECK_STR(gs_status_name(200), "unknown");
}

int main(void)
{
	TAP_RUN(test_arena_keeps_what_it_gave);
	TAP_RUN(test_buffer_grows);
	TAP_RUN(test_push_grows);
	TAP_RUN(test_reader_is_sticky);
	TAP_RUN(test_leb_round_trip);
	TAP_RUN(test_leb_beyond_64_bits_is_bad);
	TAP_RUN(test_strings_with_nul_are_bad);
	TAP_RUN(test_loads_in_both_orders);
	TAP_RUN(test_crc32c);
	TAP_RUN(test_map);
	TAP_RUN(test_hash_tells_lengths_apart);
	TAP_RUN(test_error_chain_and_caret);
	TAP_RUN(test_error_caret_in_odd_text);
	TAP_RUN(test_error_errno);
	TAP_RUN(test_status_words);
	return tap_done();
}
