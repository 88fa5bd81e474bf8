/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TAP output for unit tests: one program a test file, one function a case.
 *
 *   static void test_x(void) { CHECK(a == b); CHECK_STR(s, "x"); CHECK_INT(n, 3); }
 *   int main(void) { TAP_RUN(test_x); return tap_done(); }
 */
#ifndef GS_TESTS_TAP_H
#define GS_TESTS_TAP_H

#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed, tap_case_failed;

#define CHECK(cond)                                                                   \
	do {                                                                          \
		if (!(cond)) {                                                        \
			tap_case_failed = 1;                                          \
			printf("# %s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
		}                                                                     \
	} while (0)
#define CHECK_STR(got, want)                                                                    \
	do {                                                                                    \
		const char *g_ = (got), *w_ = (want);                                           \
		if (!g_ || !w_ || strcmp(g_, w_) != 0) {                                        \
			tap_case_failed = 1;                                                    \
			printf("# %s:%d: %s\n#   got:  %s\n#   want: %s\n", __FILE__, __LINE__, \
			       #got, g_ ? g_ : "(null)", w_ ? w_ : "(null)");                   \
		}                                                                               \
	} while (0)
#define CHECK_INT(got, want)                                                                       \
	do {                                                                                       \
		long long g_ = (long long)(got), w_ = (long long)(want);                           \
		if (g_ != w_) {                                                                    \
			tap_case_failed = 1;                                                       \
			printf("# %s:%d: %s: got %lld, want %lld\n", __FILE__, __LINE__, #got, g_, \
			       w_);                                                                \
		}                                                                                  \
	} while (0)

#define TAP_RUN(fn) tap_run(#fn, fn)
static inline void tap_run(const char *name, void (*fn)(void))
{
	tap_case_failed = 0;
	fn();
	tap_failed += tap_case_failed;
	printf("%sok %d - %s\n", tap_case_failed ? "not " : "", ++tap_count, name);
	fflush(stdout);
}
static inline void tap_skip(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, name, why);
}
static inline int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

#endif
