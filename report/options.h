/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line of gs-report as data. First thing that main makes; everything else reads it.
 */
#ifndef GS_REPORT_OPTIONS_H
#define GS_REPORT_OPTIONS_H

#include "common/option.h"
#include "report/aggregate.h"
#include "report/render.h"

enum gs_mode { GS_MODE_LIST, GS_MODE_HIST, GS_MODE_STATS, GS_MODE_TOP, GS_MODE_INFO };

struct gs_report_options {
	enum gs_mode mode;
	enum gs_table_format format;
	bool help, version;
	const char *expr; /* of --hist, --stats, --top */
	double linear;
	struct gs_query **by, **where; /* owned until taken (set to NULL) */
	size_t nby, by_cap, nwhere, where_cap;
	char **probes, **comms; /* globs */
	size_t nprobes, probes_cap, ncomms, comms_cap;
	uint32_t *pids, *tids;
	size_t npids, pids_cap, ntids, tids_cap;
	bool has_from, has_to;
	int64_t from_ns, to_ns; /* by the chosen clock */
	const char *fields, *output;
	bool has_limit, addr;
	uint64_t limit;
	enum gs_clock clock;
	struct gs_render_options render;
	char **paths; /* in argv, or the default */
	size_t npaths;
};

extern const struct gs_option gs_report_option_table[];
extern const size_t gs_report_noptions;

/* Borrows from ARGV. */
struct gs_error *gs_report_options_parse(struct gs_report_options *o, int argc, char **argv);
void gs_report_options_deinit(struct gs_report_options *o);
void gs_report_help(FILE *out);

#endif
