/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers of a group: kept, sorted, summed. Integers of either sign and 64 bits, and doubles,
 * keep their exact values. Serves --stats.
 */
#ifndef GS_REPORT_VALUES_H
#define GS_REPORT_VALUES_H

#include "report/aggregate.h"

/* Beyond so many values of a pipe buckets of 1/1024 of an octave are counted instead (512 MiB). */
#define GS_VALUES_MAX (64u << 20)

struct gs_values {
	/* Keys in the order of the values: see values.c. */
	uint64_t *negatives, *others, *reals;
	size_t nnegatives, negatives_cap, nothers, others_cap, nreals, reals_cap;
	__int128 sum; /* of the integers */
	bool sorted;
	bool rough;	   /* percentiles by buckets */
	uint64_t *buckets; /* by the high bits of a real's key */
	uint64_t count;
	double real_sum, real_carry; /* rough: running, compensated; else unused */
	double squares, mean;	     /* rough: Welford */
	struct gs_number least, most;
};

/* KEEP: most values that are kept. */
void gs_values_add(struct gs_values *v, const struct gs_number *n, uint64_t keep);
void gs_values_sort(struct gs_values *v);
double gs_values_sum(const struct gs_values *v);
double gs_values_mean(const struct gs_values *v);
/* Of the population: the root of the mean squared deviation. */
double gs_values_stddev(const struct gs_values *v);
/* Nearest rank: the ceil(count * PART / 100000)-th smallest. After sorting. */
void gs_values_percentile(const struct gs_values *v, uint32_t part, struct gs_number *n);
void gs_values_extreme(const struct gs_values *v, bool most, struct gs_number *n);
void gs_values_deinit(struct gs_values *v);

#endif
