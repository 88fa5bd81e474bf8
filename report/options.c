/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line of gs-report: the table of options, and what each sets.
 * Before the recordings are opened.
 */
#include "report/options.h"

#include <math.h>

#include "common/text.h"

enum option {
	O_TEXT,
	O_CSV,
	O_JSON,
	O_HIST,
	O_STATS,
	O_TOP,
	O_INFO,
	O_LINEAR,
	O_BY,
	O_WHERE,
	O_PROBE,
	O_PID,
	O_TID,
	O_COMM,
	O_TIME,
	O_FIELDS,
	O_LIMIT,
	O_OUTPUT,
	O_CLOCK,
	O_ADDR,
	O_JSON_STRINGS,
	O_NO_GUARD,
	O_HELP,
	O_VERSION,
};

#define OUTPUT "What is shown"
#define SELECT "Which events"
#define FORMAT "How it is shown"
#define OTHER "Other"

const struct gs_option gs_report_option_table[] = {
	{0, "hist", "EXPR", OUTPUT, "histogram of EXPR in powers of two, as bars", O_HIST},
	{0, "linear", "WIDTH", OUTPUT, "with --hist: buckets of WIDTH instead", O_LINEAR},
	{0, "stats", "EXPR", OUTPUT, "count, sum, min, mean, stddev, percentiles and max of EXPR",
	 O_STATS},
	{0, "top", "EXPR", OUTPUT, "most frequent values of EXPR", O_TOP},
	{0, "by", "EXPR,...", OUTPUT, "one result for each value of the EXPRs", O_BY},
	{0, "info", NULL, OUTPUT, "what was recorded: when, where, probes, losses, modules",
	 O_INFO},
	{0, "where", "EXPR", SELECT, "events for which EXPR is true; all of several", O_WHERE},
	{0, "probe", "GLOB", SELECT, "events of probes so named; any of several", O_PROBE},
	{0, "pid", "N,...", SELECT, "events of these processes", O_PID},
	{0, "tid", "N,...", SELECT, "events of these threads", O_TID},
	{0, "comm", "GLOB", SELECT, "events of threads so named; any of several", O_COMM},
	{0, "time", "A,B", SELECT, "events from A to B by the chosen clock, in seconds or as 10ms",
	 O_TIME},
	{0, "limit", "N", SELECT, "at most N events, rows of --top, or groups; 0: all", O_LIMIT},
	{0, "text", NULL, FORMAT, "text, values in GDB's notation (the default)", O_TEXT},
	{0, "csv", NULL, FORMAT, "CSV (RFC 4180)", O_CSV},
	{0, "json", NULL, FORMAT, "JSON Lines", O_JSON},
	{0, "fields", "LIST", FORMAT, "columns, items and expressions to show, in order", O_FIELDS},
	{0, "clock", "CLOCK", FORMAT, "rel (from the start, the default), mono, or unix", O_CLOCK},
	{0, "addr", NULL, FORMAT, "with the address of the site", O_ADDR},
	{0, "json-strings", NULL, FORMAT, "integers beyond 2^53 as strings in JSON",
	 O_JSON_STRINGS},
	{0, "no-guard", NULL, FORMAT, "no ' before strings that a spreadsheet takes for formulas",
	 O_NO_GUARD},
	{'o', "output", "FILE", FORMAT, "write to FILE instead of standard output", O_OUTPUT},
	{'h', "help", NULL, OTHER, "this text", O_HELP},
	{'V', "version", NULL, OTHER, "the version", O_VERSION},
};
const size_t gs_report_noptions = GS_ARRAY_SIZE(gs_report_option_table);

void gs_report_help(FILE *out)
{
	gs_options_help(
		out,
		"usage: gs-report [OPTION...] [FILE...]\n"
		"Reports what gs-record recorded in FILE (default: gs.data; - is standard "
		"input).\n",
		gs_report_option_table, gs_report_noptions,
		"Exit status: 0; 1 usage; 2 the file is damaged and what could be read was\n"
		"reported; 3 unreadable; 4 written by a newer, incompatible version.\n"
		"See gs-report(1).\n");
}

/* ---- values of options ---- */

static struct gs_error *usage(const char *option, const char *value, const char *want)
{
	return gs_error_new(GS_ERR_USAGE, "%s `%s': %s", option, value, want);
}

static bool parse_u64(const char **s, uint64_t *v)
{
	uint64_t n = 0;

	if (**s < '0' || **s > '9')
		return false;
	for (; **s >= '0' && **s <= '9'; (*s)++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(**s - '0'), &n))
			return false;
	*v = n;
	return true;
}

static struct gs_error *set_ids(const char *option, const char *value, uint32_t **list, size_t *n,
				size_t *cap)
{
	const char *s = value;

	for (;;) {
		uint64_t id;

		if (!parse_u64(&s, &id) || id > UINT32_MAX || (*s && *s != ','))
			return usage(option, value, "a number is expected, or several as 1,2,3");
		*GS_PUSH(*list, *n, *cap) = (uint32_t)id;
		if (!*s++)
			return NULL;
	}
}

static bool parse_instant(const char *s, size_t len, int64_t *ns)
{
	bool negative = len && s[0] == '-';
	char *text = gs_strndup(s + negative, len - negative);
	const char *digits = text;
	uint64_t whole, v = 0;
	bool ok;

	/* Seconds since 1970 with nine digits need more than a double holds. */
	ok = parse_u64(&digits, &whole) && whole < INT64_MAX / 1000000000;
	if (ok && (*digits == '.' || !*digits)) {
		uint64_t unit = 100000000;

		v = whole * 1000000000;
		for (digits += *digits == '.'; *digits >= '0' && *digits <= '9'; digits++) {
			v += (uint64_t)(*digits - '0') * unit;
			unit /= 10;
		}
		if (*digits == 's')
			digits++;
		ok = !*digits;
	} else {
		ok = false;
	}
	if (!ok)
		ok = gs_parse_duration(text, &v) && v <= INT64_MAX;
	*ns = negative ? -(int64_t)v : (int64_t)v;
	free(text);
	return ok;
}

static struct gs_error *set_time(struct gs_report_options *o, const char *value)
{
	const char *comma = strchr(value, ',');
	size_t first = comma ? (size_t)(comma - value) : strlen(value);

	o->has_from = first > 0;
	o->has_to = comma && comma[1];
	if (!comma || (o->has_from && !parse_instant(value, first, &o->from_ns)) ||
	    (o->has_to && !parse_instant(comma + 1, strlen(comma + 1), &o->to_ns)))
		return usage("--time", value, "A,B is expected, as 1.5,2 or 10ms,20ms or 1.5,");
	if (o->has_from && o->has_to && o->from_ns > o->to_ns)
		return usage("--time", value, "the end is before the start");
	return NULL;
}

static struct gs_error *set_clock(struct gs_report_options *o, const char *value)
{
	if (strcmp(value, "rel") == 0)
		o->clock = GS_CLOCK_REL;
	else if (strcmp(value, "mono") == 0)
		o->clock = GS_CLOCK_MONO;
	else if (strcmp(value, "unix") == 0)
		o->clock = GS_CLOCK_UNIX;
	else
		return usage("--clock", value, "rel, mono or unix is expected");
	return NULL;
}

static struct gs_error *set_linear(struct gs_report_options *o, const char *value)
{
	char *end;

	o->linear = strtod(value, &end);
	if (*end || end == value || !isfinite(o->linear) || o->linear <= 0)
		return usage("--linear", value, "a width above 0 is expected");
	return NULL;
}

static struct gs_error *set_mode(struct gs_report_options *o, enum gs_mode mode, const char *expr)
{
	if (o->mode != GS_MODE_LIST)
		return gs_error_new(GS_ERR_USAGE, "only one of --hist, --stats, --top and --info "
						  "can be given");
	o->mode = mode;
	o->expr = expr;
	return NULL;
}

static struct gs_error *set_where(struct gs_report_options *o, const char *value)
{
	size_t before = o->nwhere;

	GS_TRY(gs_query_parse("--where", value, &o->where, &o->nwhere, &o->where_cap));
	if (o->nwhere > before + 1)
		return usage("--where", value, "one expression is expected; && joins several");
	return NULL;
}

static struct gs_error *set_limit(struct gs_report_options *o, const char *value)
{
	const char *s = value;

	if (!parse_u64(&s, &o->limit) || *s)
		return usage("--limit", value, "a number is expected");
	o->has_limit = true;
	if (o->limit == 0)
		o->limit = UINT64_MAX;
	return NULL;
}

static struct gs_error *set(void *ctx, int id, const char *value)
{
	struct gs_report_options *o = ctx;

	switch ((enum option)id) {
	case O_TEXT:
		o->format = GS_TABLE_TEXT;
		break;
	case O_CSV:
		o->format = GS_TABLE_CSV;
		break;
	case O_JSON:
		o->format = GS_TABLE_JSON;
		break;
	case O_HIST:
		return set_mode(o, GS_MODE_HIST, value);
	case O_STATS:
		return set_mode(o, GS_MODE_STATS, value);
	case O_TOP:
		return set_mode(o, GS_MODE_TOP, value);
	case O_INFO:
		return set_mode(o, GS_MODE_INFO, NULL);
	case O_LINEAR:
		return set_linear(o, value);
	case O_BY:
		return gs_query_parse("--by", value, &o->by, &o->nby, &o->by_cap);
	case O_WHERE:
		return set_where(o, value);
	case O_PROBE:
		*GS_PUSH(o->probes, o->nprobes, o->probes_cap) = (char *)value;
		break;
	case O_COMM:
		*GS_PUSH(o->comms, o->ncomms, o->comms_cap) = (char *)value;
		break;
	case O_PID:
		return set_ids("--pid", value, &o->pids, &o->npids, &o->pids_cap);
	case O_TID:
		return set_ids("--tid", value, &o->tids, &o->ntids, &o->tids_cap);
	case O_TIME:
		return set_time(o, value);
	case O_FIELDS:
		o->fields = value;
		break;
	case O_LIMIT:
		return set_limit(o, value);
	case O_OUTPUT:
		o->output = value;
		break;
	case O_CLOCK:
		return set_clock(o, value);
	case O_ADDR:
		o->addr = true;
		break;
	case O_JSON_STRINGS:
		o->render.json_strings = true;
		break;
	case O_NO_GUARD:
		o->render.no_guard = true;
		break;
	case O_HELP:
		o->help = true;
		break;
	case O_VERSION:
		o->version = true;
		break;
	}
	return NULL;
}

static struct gs_error *check(const struct gs_report_options *o)
{
	size_t pipes = 0;

	if (o->linear > 0 && o->mode != GS_MODE_HIST)
		return gs_error_new(GS_ERR_USAGE, "--linear needs --hist");
	if (o->nby && (o->mode == GS_MODE_LIST || o->mode == GS_MODE_INFO))
		return gs_error_new(GS_ERR_USAGE, "--by needs --hist, --stats or --top");
	if (o->fields && o->mode != GS_MODE_LIST)
		return gs_error_new(GS_ERR_USAGE, "--fields is for listings of events");
	for (size_t i = 0; i < o->npaths; i++)
		pipes += strcmp(o->paths[i], "-") == 0;
	if (pipes > 1)
		return gs_error_new(GS_ERR_USAGE, "standard input can be read once");
	return NULL;
}

struct gs_error *gs_report_options_parse(struct gs_report_options *o, int argc, char **argv)
{
	static char *by_default[] = {"gs.data"};
	int rest;

	*o = (struct gs_report_options){.limit = UINT64_MAX};
	GS_TRY(gs_options_parse(gs_report_option_table, gs_report_noptions, argc, argv, false, set,
				o, &rest));
	o->paths = argv + rest;
	o->npaths = (size_t)(argc - rest);
	if (!o->npaths) {
		o->paths = by_default;
		o->npaths = 1;
	}
	return check(o);
}

void gs_report_options_deinit(struct gs_report_options *o)
{
	for (size_t i = 0; i < o->nwhere; i++)
		gs_query_free(o->where[i]);
	for (size_t i = 0; o->by && i < o->nby; i++)
		gs_query_free(o->by[i]);
	free(o->where);
	free(o->by);
	free(o->probes);
	free(o->comms);
	free(o->pids);
	free(o->tids);
}
