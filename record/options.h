/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line of gs-record as plain data. Made by main.c, read by the session.
 * What contradicts itself is refused here, before anything is opened or started.
 */
#ifndef GS_RECORD_OPTIONS_H
#define GS_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "record/resolve.h"

#define GS_DEFAULT_STRING_LIMIT 200
#define GS_DEFAULT_ARRAY_LIMIT 200
#define GS_DEFAULT_MAX_SITES 20000

struct gs_record_options {
	struct gs_arena arena;
	const char *output;  /* "-" is standard output */
	const char *binary;  /* -x, or NULL */
	const char **probes; /* -e and the lines of -f, in order */
	size_t nprobes, probes_cap;
	int32_t *pids; /* without duplicates */
	size_t npids, pids_cap;
	char **command; /* NULL-terminated tail of argv; NULL without one */
	enum gs_listing listing;
	const char *listing_arg;
	const char *user;
	const char **debug_dirs; /* -D, in order */
	size_t ndebug_dirs, debug_dirs_cap;
	const char *sysroot;			    /* or NULL */
	uint64_t duration_ns, max_events, max_size; /* 0: no limit */
	uint64_t buffer_bytes;			    /* all rings; 0: default for this machine */
	uint32_t string_limit, array_limit, depth, max_sites;
	bool raw_containers;
	uint32_t feature_mask; /* of bpf/program.h; all but in tests */
	enum gs_return_method return_method;
	bool dry_run, verbose, quiet, no_follow, system_wide, help, version;
};

/* ARGV is permuted; strings are borrowed from it. Errors are GS_ERR_USAGE, or what reading -f gave.
 */
struct gs_error *gs_record_options_parse(int argc, char **argv, struct gs_record_options *out);
void gs_record_options_deinit(struct gs_record_options *o);
void gs_record_options_help(FILE *out);

#endif
