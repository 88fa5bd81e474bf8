/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Command-line options as a table: parsing, --help and (later) completion come from the same rows,
 * and a test compares them with the man page. Used by record/main.c and report/main.c.
 */
#ifndef GS_COMMON_OPTION_H
#define GS_COMMON_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

struct gs_option {
	char short_name;       /* 0 for none */
	const char *long_name; /* NULL for none */
	const char *argument;  /* metavariable ("FILE"), NULL for a flag */
	const char *group;     /* heading in --help; rows of a group are adjacent */
	const char *help;      /* one line */
	int id;		       /* given to the callback */
};

/*
 * Parses argv[1..argc). Calls SET for each option (value NULL for flags) in order; stops at "--" or
 * at the first non-option when STOP_AT_POSITIONAL, else collects positionals. *rest is the index in
 * argv of the first remaining argument; with !STOP_AT_POSITIONAL argv is permuted so that
 * positionals are last. Unambiguous prefixes of long names are accepted; an unknown option names
 * its nearest match.
 */
struct gs_error *gs_options_parse(const struct gs_option *table, size_t n, int argc, char **argv,
				  bool stop_at_positional,
				  struct gs_error *(*set)(void *ctx, int id, const char *value),
				  void *ctx, int *rest);

/* usage lines, then the table by groups, aligned, wrapped at 80 columns. */
void gs_options_help(FILE *out, const char *usage, const struct gs_option *table, size_t n,
		     const char *footer);

#endif
