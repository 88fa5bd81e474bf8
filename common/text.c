/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text rules that must be the same everywhere: globs, nearest names, human sizes, 128-bit numbers.
 * Between the command line or probe text and messages, and between values and renderers.
 */
#include "common/text.h"

#include <stdio.h>
#include <strings.h>

/* ---- 128-bit integers ---- */

void gs_put_u128(struct gs_buf *out, unsigned __int128 v)
{
	char digits[40];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + (int)(v % 10));
		v /= 10;
	} while (v);
	gs_buf_append(out, digits + i, sizeof(digits) - i);
}

void gs_put_i128(struct gs_buf *out, __int128 v)
{
	if (v < 0)
		gs_buf_putc(out, '-');
	gs_put_u128(out, v < 0 ? -(unsigned __int128)v : (unsigned __int128)v);
}

/* ---- globs ---- */

/* One character at S and its length; a byte that is not UTF-8 is a character of its own. */
static uint32_t next_char(const char *s, size_t *len)
{
	uint32_t c;

	*len = gs_utf8_decode((const uint8_t *)s, strlen(s), &c);
	if (*len)
		return c;
	*len = 1;
	return 0x110000u + (uint8_t)*s;
}

/* A literal or a bound of a range inside [ ]. */
static uint32_t set_char(const char **p)
{
	size_t len;
	uint32_t c;

	if (**p == '\\' && (*p)[1])
		++*p;
	c = next_char(*p, &len);
	*p += len;
	return c;
}

/* P is behind `['. The end behind `]', or NULL when there is none and `[' stands for itself. */
static const char *match_set(const char *p, uint32_t c, bool *matched)
{
	bool negated = *p == '!' || *p == '^', in = false;
	const char *first = p += negated;

	while (*p && (*p != ']' || p == first)) {
		uint32_t low = set_char(&p), high = low;

		if (*p == '-' && p[1] && p[1] != ']') {
			p++;
			high = set_char(&p);
		}
		in |= c >= low && c <= high;
	}
	if (*p != ']')
		return NULL;
	*matched = in != negated;
	return p + 1;
}

/* Matches one character of S by the pattern element at *P (not `*'), and moves both on. */
static bool match_one(const char **p, const char **s)
{
	size_t len, plen;
	uint32_t c = next_char(*s, &len);
	const char *end;
	bool matched;

	if (**p == '[' && (end = match_set(*p + 1, c, &matched))) {
		*p = end;
	} else if (**p == '?') {
		++*p;
		matched = true;
	} else {
		const char *literal = *p + (**p == '\\' && (*p)[1]);

		matched = *literal && next_char(literal, &plen) == c;
		*p = literal + (matched ? plen : 0);
	}
	*s += len;
	return matched;
}

bool gs_glob_match(const char *pattern, const char *s)
{
	const char *p = pattern, *star = NULL, *retry = NULL;
	size_t len;

	/* Only the last star needs to be tried again: no exponential patterns. */
	while (*s) {
		if (*p == '*') {
			star = ++p;
			retry = s;
			continue;
		}
		if (*p && match_one(&p, &s))
			continue;
		if (!star)
			return false;
		next_char(retry, &len);
		p = star;
		s = retry += len;
	}
	while (*p == '*')
		p++;
	return !*p;
}

/* ---- nearest names ---- */

#define NEAR_LEN_MAX 96

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

/* Edits (insert, delete, replace, swap of neighbours) from A to B; both within NEAR_LEN_MAX. */
static unsigned edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned row[3][NEAR_LEN_MAX + 1];

	for (size_t j = 0; j <= nb; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *now = row[i % 3], *before = row[(i + 2) % 3], *swap = row[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			now[j] = min3(before[j] + 1, now[j - 1] + 1,
				      before[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    swap[j - 2] + 1 < now[j])
				now[j] = swap[j - 2] + 1;
		}
	}
	return row[na % 3][nb];
}

/* What could be meant: few edits for the length, another case, or the last part of a scoped name.
 */
static bool distance_of(const char *wanted, const char *candidate, unsigned *distance)
{
	size_t nw = strlen(wanted), nc = strlen(candidate);
	unsigned limit = nw <= 2 ? 1 : nw <= 5 ? 2 : nw <= 11 ? 3 : 4;

	if (!nw || !nc || nw > NEAR_LEN_MAX)
		return false;
	if (strcasecmp(wanted, candidate) == 0) {
		*distance = 1;
		return true;
	}
	if (nc > nw + 2 && strcmp(candidate + nc - nw, wanted) == 0 &&
	    candidate[nc - nw - 1] == ':') {
		*distance = 1;
		return true;
	}
	if (nc > NEAR_LEN_MAX || (nc > nw ? nc - nw : nw - nc) > limit)
		return false;
	*distance = edit_distance(wanted, nw, candidate, nc);
	/* At least one character in common, else every short name is near. */
	return *distance <= limit && *distance < (nw > nc ? nw : nc);
}

void gs_nearest_feed(struct gs_nearest *near, const char *candidate)
{
	const size_t max = GS_ARRAY_SIZE(near->best);
	unsigned distance;
	size_t at;

	if (!near->wanted || !candidate || !distance_of(near->wanted, candidate, &distance))
		return;
	for (size_t i = 0; i < near->n; i++)
		if (strcmp(near->best[i].name, candidate) == 0)
			return;
	/* Equally near ones stay in the order in which they came. */
	for (at = near->n; at && near->best[at - 1].distance > distance; at--)
		;
	if (at == max)
		return;
	if (near->n == max)
		free(near->best[--near->n].name);
	memmove(&near->best[at + 1], &near->best[at], (near->n - at) * sizeof(near->best[0]));
	near->best[at].name = gs_strdup(candidate);
	near->best[at].distance = distance;
	near->n++;
}

char *gs_nearest_hint(struct gs_nearest *near)
{
	struct gs_buf out = {0};

	if (!near->n)
		return NULL;
	gs_buf_puts(&out, "did you mean ");
	for (size_t i = 0; i < near->n; i++)
		gs_buf_printf(&out, "%s`%s'", i ? ", " : "", near->best[i].name);
	gs_buf_putc(&out, '?');
	return gs_buf_cstr(&out);
}

void gs_nearest_deinit(struct gs_nearest *near)
{
	for (size_t i = 0; i < near->n; i++)
		free(near->best[i].name);
	near->n = 0;
}

/* ---- sizes and durations ---- */

char *gs_human_size(uint64_t bytes, char *buf)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	size_t u = 0;
	uint64_t unit = 1024, tenths = 0;

	if (bytes < 1024) {
		snprintf(buf, 32, "%u B", (unsigned)bytes);
		return buf;
	}
	for (;; u++, unit <<= 10) {
		tenths = (uint64_t)(((unsigned __int128)bytes * 10 + unit / 2) / unit);
		if (tenths < 10240 || u + 1 == GS_ARRAY_SIZE(units))
			break;
	}
	snprintf(buf, 32, "%llu.%u %s", (unsigned long long)(tenths / 10), (unsigned)(tenths % 10),
		 units[u]);
	return buf;
}

/* Digits with at most nine decimals as billionths: no floats, no locale, nothing rounded. */
static bool parse_decimal(const char **s, unsigned __int128 *billionths)
{
	unsigned __int128 v = 0;
	const char *p = *s;
	unsigned digits = 0, decimals = 0;
	bool point;

	for (; *p >= '0' && *p <= '9'; p++, digits++) {
		v = v * 10 + (unsigned)(*p - '0');
		if (v > UINT64_MAX)
			return false;
	}
	point = *p == '.' && digits;
	for (p += point; point && *p >= '0' && *p <= '9'; p++) {
		if (decimals < 9) {
			v = v * 10 + (unsigned)(*p - '0');
			decimals++;
		} else if (*p != '0') {
			return false;
		}
	}
	if (!digits || p[-1] == '.')
		return false;
	for (; decimals < 9; decimals++)
		v *= 10;
	*billionths = v;
	*s = p;
	return true;
}

static bool scale(unsigned __int128 billionths, uint64_t unit, uint64_t *out)
{
	unsigned __int128 v;

	if (__builtin_mul_overflow(billionths, (unsigned __int128)unit, &v))
		return false;
	v = (v + 500000000) / 1000000000;
	if (v > UINT64_MAX)
		return false;
	*out = (uint64_t)v;
	return true;
}

bool gs_parse_size(const char *s, uint64_t *bytes)
{
	static const char suffixes[] = "KMGT";
	unsigned __int128 number;
	uint64_t unit = 1;
	const char *suffix;

	if (!parse_decimal(&s, &number))
		return false;
	while (*s == ' ')
		s++;
	if (*s) {
		suffix = strchr(suffixes, *s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
		if (suffix) {
			unit <<= 10 * (suffix - suffixes + 1);
			s++;
		}
		/* K, KB and KiB are the same here: powers of 1024. */
		if (strcasecmp(s, "iB") == 0 && suffix)
			s += 2;
		else if (strcasecmp(s, "B") == 0)
			s++;
	}
	return !*s && scale(number, unit, bytes);
}

bool gs_parse_duration(const char *s, uint64_t *ns)
{
	static const struct {
		const char *suffix;
		uint64_t unit_ns;
	} units[] = {
		{"", 1000000000},
		{"s", 1000000000},
		{"ms", 1000000},
		{"us", 1000},
		{"ns", 1},
		{"m", 60 * 1000000000ull},
		{"min", 60 * 1000000000ull},
		{"h", 3600 * 1000000000ull},
		{"d", 86400 * 1000000000ull},
	};
	unsigned __int128 number;

	if (!parse_decimal(&s, &number))
		return false;
	while (*s == ' ')
		s++;
	for (size_t i = 0; i < GS_ARRAY_SIZE(units); i++)
		if (strcmp(s, units[i].suffix) == 0)
			return scale(number, units[i].unit_ns, ns);
	return false;
}
