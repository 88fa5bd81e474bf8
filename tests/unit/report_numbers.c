/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Aggregates against an independent computation over the same values; and outputs of hostile data,
 * taken apart by strict parsers of others.
 */
#include <math.h>
#include <stdio.h>

#include "report/values.h"
#include "tests/lib/report_sample.h"
#include "tests/tap.h"

static void expect(const char *path, const char *args, const char *want)
{
	int status;
	char *err, *out = report_run(path, args, &status, &err);

	CHECK_INT(status, 0);
	CHECK_STR(out, want);
	free(out);
	free(err);
}

static char *of_ints(const int32_t *v, size_t n)
{
	struct gs_make *m = gs_make_new(NULL);
	struct gs_sample_types t;
	uint32_t schema = gs_make_schema(m), site;

	report_types(m, &t);
	gs_make_item(m, schema, "v", t.i32, 4, 0);
	site = gs_make_site(m, gs_make_probe(m, "f"), schema, "f", "f.c", 1);
	for (size_t i = 0; i < n; i++) {
		gs_make_event(m, 2000 + i, 0, site, 71, 71 + (uint32_t)(i % 2), "srv");
		gs_make_uint(m, 0, (uint32_t)v[i]);
	}
	return report_save(m);
}

static void test_hist(void)
{
	static const int32_t v[] = {0, 1, 1, 2, 3, 4, 7, 8, -1, -2, -3, -4, INT32_MAX, INT32_MIN};
	char *path = of_ints(v, GS_ARRAY_SIZE(v));

	expect(path, "--csv --hist v --where 'v > -5 && v < 9'",
	       "low,high,count\r\n-7,-3,1\r\n-3,-1,2\r\n-1,0,1\r\n0,1,1\r\n1,2,2\r\n2,4,2\r\n"
	       "4,8,2\r\n8,16,1\r\n");
	expect(path, "--csv --hist v --linear 3 --where 'v > -5 && v < 9'",
	       "low,high,count\r\n-6,-3,1\r\n-3,0,3\r\n0,3,4\r\n3,6,2\r\n6,9,2\r\n");
	expect(path, "--json --hist v --where 'v == 2147483647'",
	       "{\"low\":1073741824,\"high\":2147483648,\"count\":1}\n");
	expect(path, "--json --hist v --where 'v < -5'",
	       "{\"low\":-4294967295,\"high\":-2147483647,\"count\":1}\n");
	expect(path, "--hist v --where 'v >= 0 && v < 4'",
	       "v: count 5, min 0, max 3, mean 1.4\n"
	       "  [0, 1)            1 |@@@@@@@@@@@@@@@@@@@@                    |\n"
	       "  [1, 2)            2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
	       "  [2, 4)            2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n");
	expect(path, "--csv --hist 'v * 0.25' --where 'v >= 0 && v < 9'",
	       "low,high,count\r\n0,0,1\r\n0.25,0.5,2\r\n0.5,1,2\r\n1,2,2\r\n2,4,1\r\n");
	/* Mostly empty: the gap is left out. */
	expect(path, "--csv --hist v --linear 1 --where 'v == 0 || v > 1000000'",
	       "low,high,count\r\n0,1,1\r\n2147483647,2147483648,1\r\n");
}

static void test_stats(void)
{
	int32_t v[1000];
	char *path;

	/* A permutation of 1..1000: every percentile is known. */
	for (int i = 0; i < 1000; i++)
		v[i] = (i * 7 + 3) % 1000 + 1;
	path = of_ints(v, 1000);
	expect(path, "--csv --stats v",
	       "count,sum,min,mean,stddev,p50,p90,p95,p99,p99.9,max\r\n"
	       "1000,500500,1,500.5,288.6749902572095,500,900,950,990,999,1000\r\n");
	expect(path, "--json --stats v --where 'v <= 3' --by '$tid'",
	       "{\"$tid\":71,\"count\":1,\"sum\":2,\"min\":2,\"mean\":2,\"stddev\":0,\"p50\":2,"
	       "\"p90\":2,\"p95\":2,\"p99\":2,\"p99.9\":2,\"max\":2}\n"
	       "{\"$tid\":72,\"count\":2,\"sum\":4,\"min\":1,\"mean\":2,\"stddev\":1,\"p50\":1,"
	       "\"p90\":3,\"p95\":3,\"p99\":3,\"p99.9\":3,\"max\":3}\n");
	expect(path, "--csv --stats v --where 'v > 5000'",
	       "count,sum,min,mean,stddev,p50,p90,p95,p99,p99.9,max\r\n");
}

static void test_top(void)
{
	static const int32_t v[] = {5, 5, 5, 9, 9, -1, -1, 10, 2};

	char *path = of_ints(v, GS_ARRAY_SIZE(v));

	expect(path, "--csv --top v --limit 4",
	       "value,count,share\r\n5,3,0.3333333333333333\r\n-1,2,0.2222222222222222\r\n"
	       "9,2,0.2222222222222222\r\n2,1,0.1111111111111111\r\n");
	expect(path, "--json --top 'v > 5' --by '$tid'",
	       "{\"$tid\":71,\"value\":0,\"count\":4,\"share\":0.8}\n"
	       "{\"$tid\":71,\"value\":1,\"count\":1,\"share\":0.2}\n"
	       "{\"$tid\":72,\"value\":0,\"count\":2,\"share\":0.5}\n"
	       "{\"$tid\":72,\"value\":1,\"count\":2,\"share\":0.5}\n");
}

/* ---- the kept values themselves ---- */

static struct gs_number integer(__int128 v)
{
	return (struct gs_number){.negative = v < 0, .magnitude = (uint64_t)(v < 0 ? -v : v)};
}

static void test_values_of_both_signs(void)
{
	struct gs_values v = {0};
	struct gs_number n;

	n = integer(INT64_MIN);
	gs_values_add(&v, &n, UINT64_MAX);
	n = integer(UINT64_MAX);
	gs_values_add(&v, &n, UINT64_MAX);
	n = integer(-1);
	gs_values_add(&v, &n, UINT64_MAX);
	gs_values_sort(&v);
	gs_values_percentile(&v, 0, &n);
	CHECK(n.negative && n.magnitude == 1ull << 63);
	gs_values_percentile(&v, 50000, &n);
	CHECK(n.negative && n.magnitude == 1);
	gs_values_percentile(&v, 99900, &n);
	CHECK(!n.negative && n.magnitude == UINT64_MAX);
	CHECK(v.sum == (__int128)UINT64_MAX + INT64_MIN - 1);
	gs_values_deinit(&v);
}

/* Beyond the cap percentiles are within the error that is said. */
static void test_rough_values(void)
{
	struct gs_values v = {0};
	struct gs_number n = {0};
	static const uint32_t parts[] = {50000, 90000, 99900};

	for (uint64_t i = 0; i < 20u << 20; i++) {
		n = integer((__int128)(i & ((1u << 20) - 1)) + 1);
		gs_values_add(&v, &n, 100000);
	}
	CHECK(v.rough);
	CHECK_INT(v.count, 20u << 20);
	for (size_t i = 0; i < GS_ARRAY_SIZE(parts); i++) {
		double exact = ceil(1048576 * (parts[i] / 1e5));

		gs_values_percentile(&v, parts[i], &n);
		CHECK(fabs(n.real - exact) <= exact / 1000);
	}
	CHECK(fabs(gs_values_mean(&v) - 524288.5) < 1);
	CHECK(fabs(gs_values_stddev(&v) - 1048576 / sqrt(12)) < 1);
	gs_values_deinit(&v);
}

/* ---- parsers of others ---- */

static const char check_json[] =
	"import json,sys\n"
	"for line in open(sys.argv[1], encoding='utf-8', errors='strict', newline='\\n'):\n"
	"    o = json.loads(line, parse_constant=lambda c: 1/0)\n"
	"    assert list(o) == ['ts','cpu','pid','tid','comm','probe','func','src','values'], o\n"
	"    assert len(o['values']) == 2\n"
	"    assert all(ord(c) >= 32 and ord(c) != 127 for c in line[:-1])\n";
static const char check_csv[] =
	"import csv,sys\n"
	"rows = list(csv.reader(open(sys.argv[1], encoding='utf-8', newline=''), strict=True))\n"
	"assert len(rows) == 65, len(rows)\n"
	"assert all(len(r) == 11 for r in rows)\n"
	"assert all(c not in '\\x1b\\x00\\x7f\\r' for r in rows for f in r for c in f)\n"
	"assert not any(f[:1] in ('=','+','@','\\t') for r in rows for f in r)\n";
static const char check_text[] =
	"import sys\n"
	"text = open(sys.argv[1], encoding='utf-8', newline='').read()\n"
	"assert text.count('\\n') == 64\n"
	"assert all(c == '\\n' or ord(c) >= 32 and not 127 <= ord(c) < 160 for c in text)\n"
	"assert not any(0x202a <= ord(c) <= 0x202e for c in text)\n";

static bool python_agrees(const char *path, const char *args, const char *program)
{
	char script[] = "/tmp/gs-check-XXXXXX", data[] = "/tmp/gs-data-XXXXXX", *command, *out;
	int fd = mkstemp(script), other = mkstemp(data), status;
	FILE *f = fdopen(fd, "w"), *d = fdopen(other, "w");
	bool ok;

	fputs(program, f);
	fclose(f);
	out = report_run(path, args, &status, NULL);
	fputs(out, d);
	fclose(d);
	free(out);
	command = gs_asprintf("python3 %s %s", script, data);
	ok = system(command) == 0;
	free(command);
	remove(script);
	remove(data);
	return ok;
}

static void test_hostile(void)
{
	struct gs_make *m = gs_make_new(NULL);
	struct gs_sample_types t;
	uint32_t schema = gs_make_schema(m), site;
	uint64_t random = 88172645463325252ull;
	char *path;

	report_types(m, &t);
	gs_make_item(m, schema, "=\"a,b\";\xe2\x80\xae", t.i32, 4, 0);
	gs_make_string(m, schema, "s", 200);
	site = gs_make_site(m, gs_make_probe(m, "@p\"<>,"), schema, "=f\"", "+x.c", 3);
	for (int i = 0; i < 64; i++) {
		static const char first[] = "=+-@\t\r,\"\n' \033\x9b\xe2";
		char s[100];

		gs_make_event(m, 2000 + (uint64_t)i, 0, site, 71, 71,
			      i % 2 ? "=\033[2J" : "\xff\"");
		gs_make_uint(m, 0, (uint64_t)i);
		for (size_t k = 0; k < sizeof(s); k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			s[k] = (char)random;
		}
		s[0] = first[i % (int)(sizeof(first) - 1)];
		gs_make_bytes(m, 1, s, (size_t)(i + 1));
	}
	path = report_save(m);
	CHECK(python_agrees(path, "--json", check_json));
	CHECK(python_agrees(path, "--csv", check_csv));
	CHECK(python_agrees(path, "", check_text));
}

int main(void)
{
	TAP_RUN(test_hist);
	TAP_RUN(test_stats);
	TAP_RUN(test_top);
	TAP_RUN(test_values_of_both_signs);
	TAP_RUN(test_rough_values);
	if (system("python3 -c '' 2>/dev/null") == 0)
		TAP_RUN(test_hostile);
	else
		tap_skip("test_hostile", "no python3");
	return tap_done();
}
