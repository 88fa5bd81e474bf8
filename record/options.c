/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The option table of gs-record and the rules between its options.
 * First step of the recorder: nothing is opened (but files of probes) and nothing is started here.
 */
#include "record/options.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "bpf/tracer.h"
#include "common/option.h"
#include "common/text.h"
#include "record/probe.h"

enum {
	OPT_OUTPUT,
	OPT_BINARY,
	OPT_PROBE,
	OPT_PROBE_FILE,
	OPT_PID,
	OPT_USER,
	OPT_DEBUG_DIR,
	OPT_SYSROOT,
	OPT_NO_FOLLOW,
	OPT_SYSTEM_WIDE,
	OPT_LINES,
	OPT_VARIABLES,
	OPT_FUNCTIONS,
	OPT_DRY_RUN,
	OPT_DURATION,
	OPT_MAX_EVENTS,
	OPT_MAX_SIZE,
	OPT_BUFFER_SIZE,
	OPT_STRING_LIMIT,
	OPT_ARRAY_LIMIT,
	OPT_RAW_CONTAINERS,
	OPT_DEPTH,
	OPT_MAX_SITES,
	OPT_RETURN,
	OPT_VERBOSE,
	OPT_QUIET,
	OPT_HELP,
	OPT_VERSION,
};

static const struct gs_option table[] = {
	{'e', "probe", "PROBE", "What to record",
	 "a probe; may be given several times (see gs-probe(7))", OPT_PROBE},
	{'f', "probe-file", "FILE", "What to record", "read probes from FILE, one a line",
	 OPT_PROBE_FILE},
	{'p', "pid", "PID[,PID]", "Where", "record these processes and their descendants", OPT_PID},
	{'x', "binary", "FILE", "Where",
	 "look names up in FILE; without command or -p, record every process that maps it",
	 OPT_BINARY},
	{0, "user", "NAME", "Where", "run the command as this user", OPT_USER},
	{0, "no-follow", NULL, "Where",
	 "leave children out: only the command or the processes themselves", OPT_NO_FOLLOW},
	{0, "system-wide", NULL, "Where", "accept that many other processes pay for a probe too",
	 OPT_SYSTEM_WIDE},
	{'D', "debug-dir", "DIR", "Where",
	 "look for debug files in DIR too; may be given several times", OPT_DEBUG_DIR},
	{0, "sysroot", "DIR", "Where",
	 "the programs, libraries and debug files are those below DIR", OPT_SYSROOT},
	{'L', "lines", "PLACE", "Ask instead of recording (no root)",
	 "list the lines of a function or file that can be probed", OPT_LINES},
	{'V', "variables", "PLACE", "Ask instead of recording (no root)",
	 "list the variables that can be read at a place", OPT_VARIABLES},
	{'F', "functions", "GLOB", "Ask instead of recording (no root)", "list functions by name",
	 OPT_FUNCTIONS},
	{0, "dry-run", NULL, "Ask instead of recording (no root)",
	 "explain sites, variables, cost and plan, attach nothing", OPT_DRY_RUN},
	{'o', "output", "FILE", "Output", "write FILE (default gs.data); - is standard output",
	 OPT_OUTPUT},
	{0, "duration", "TIME", "Limits", "stop after TIME (2s, 500ms, 1m)", OPT_DURATION},
	{0, "max-events", "N", "Limits", "keep exactly the first N events, then stop",
	 OPT_MAX_EVENTS},
	{0, "max-size", "SIZE", "Limits", "stop when the file has SIZE bytes (10M, 1G)",
	 OPT_MAX_SIZE},
	{0, "buffer-size", "SIZE", "Limits", "ring buffers of all processors together",
	 OPT_BUFFER_SIZE},
	{0, "string-limit", "N", "Limits", "most bytes of a string (default 200)",
	 OPT_STRING_LIMIT},
	{0, "array-limit", "N", "Limits", "most elements of an array (default 200)",
	 OPT_ARRAY_LIMIT},
	{0, "raw-containers", NULL, "Limits", "containers of libraries as the structures they are",
	 OPT_RAW_CONTAINERS},
	{0, "depth", "N", "Limits", "follow pointers N levels deep (default 0)", OPT_DEPTH},
	{0, "return", "METHOD", "How", "ret or uretprobe: how %return is probed (see gs-record(1))",
	 OPT_RETURN},
	{0, "max-sites", "N", "Limits", "refuse probes with more sites in all (default 20000)",
	 OPT_MAX_SITES},
	{'v', "verbose", NULL, "Messages", "say more; with --dry-run print the BPF program too",
	 OPT_VERBOSE},
	{'q', "quiet", NULL, "Messages", "say nothing but errors and losses", OPT_QUIET},
	{'h', "help", NULL, "Messages", "print this help", OPT_HELP},
	{0, "version", NULL, "Messages", "print the version", OPT_VERSION},
};

static const char usage[] =
	"gs-record [-o FILE] [-x BINARY] -e PROBE... -- COMMAND [ARG...]\n"
	"gs-record [-o FILE] -p PID[,PID...] -e PROBE...\n"
	"gs-record [-o FILE] -x BINARY -e PROBE...\n"
	"gs-record -L PLACE | -V PLACE | -F GLOB [-x BINARY | -p PID | COMMAND]";

static const char footer[] =
	"Exit status: 0 recorded; 1 nothing was written (usage, probe, attach); 2 cut short by an\n"
	"error, the file is valid. The manual page gs-record(1) tells the rest.";

void gs_record_options_help(FILE *out)
{
	gs_options_help(out, usage, table, GS_ARRAY_SIZE(table), footer);
}

/* Strictly decimal digits, so that "1e6", "-1" and "" are told apart from numbers. */
static bool parse_number(const char *s, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || v > (UINT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	if (v > max)
		return false;
	*out = v;
	return true;
}

static struct gs_error *set_number(const char *name, const char *value, uint64_t min, uint64_t max,
				   uint64_t *out)
{
	uint64_t v;

	if (!parse_number(value, max, &v) || v < min)
		return gs_error_new(GS_ERR_USAGE, "--%s: `%s' is not a number from %llu to %llu",
				    name, value, (unsigned long long)min, (unsigned long long)max);
	*out = v;
	return NULL;
}

static struct gs_error *set_u32(const char *name, const char *value, uint32_t min, uint32_t max,
				uint32_t *out)
{
	uint64_t v;

	GS_TRY(set_number(name, value, min, max, &v));
	*out = (uint32_t)v;
	return NULL;
}

static struct gs_error *set_size(const char *name, const char *value, uint64_t min, uint64_t max,
				 uint64_t *out)
{
	uint64_t v;
	char low[32], high[32];

	if (!gs_parse_size(value, &v))
		return gs_error_new(GS_ERR_USAGE, "--%s: `%s' is not a size (4096, 512K, 10M, 1G)",
				    name, value);
	if (v < min || v > max)
		return gs_error_new(GS_ERR_USAGE, "--%s: `%s' is not from %s to %s", name, value,
				    gs_human_size(min, low), gs_human_size(max, high));
	*out = v;
	return NULL;
}

static struct gs_error *add_pid(struct gs_record_options *o, const char *word)
{
	uint64_t v;

	if (!parse_number(word, INT32_MAX, &v) || !v)
		return gs_error_new(GS_ERR_USAGE, "-p: `%s' is not a process id", word);
	for (size_t i = 0; i < o->npids; i++) {
		if (o->pids[i] == (int32_t)v)
			return NULL;
	}
	*GS_PUSH(o->pids, o->npids, o->pids_cap) = (int32_t)v;
	return NULL;
}

static struct gs_error *add_pids(struct gs_record_options *o, const char *list)
{
	for (;;) {
		size_t n = strcspn(list, ",");

		GS_TRY(add_pid(o, gs_arena_strndup(&o->arena, list, n)));
		if (!list[n])
			return NULL;
		list += n + 1;
	}
}

static struct gs_error *add_probe_file(struct gs_record_options *o, const char *path)
{
	const char **texts;
	size_t n;

	GS_TRY(gs_probe_file_read(&o->arena, path, &texts, &n));
	if (!n)
		return gs_error_new(GS_ERR_USAGE, "-f: there is no probe in `%s'", path);
	for (size_t i = 0; i < n; i++)
		*GS_PUSH(o->probes, o->nprobes, o->probes_cap) = texts[i];
	return NULL;
}

static struct gs_error *is_directory(const char *option, const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return gs_error_errno(errno, "%s: cannot open `%s'", option, path);
	if (!S_ISDIR(st.st_mode))
		return gs_error_new(GS_ERR_USAGE, "%s: `%s' is not a directory", option, path);
	return NULL;
}

static struct gs_error *add_debug_dir(struct gs_record_options *o, const char *path)
{
	char *real;

	GS_TRY(is_directory("-D", path));
	real = realpath(path, NULL);
	*GS_PUSH(o->debug_dirs, o->ndebug_dirs, o->debug_dirs_cap) =
		gs_arena_strdup(&o->arena, real ? real : path);
	free(real);
	return NULL;
}

static struct gs_error *set_listing(struct gs_record_options *o, enum gs_listing listing,
				    const char *value)
{
	if (o->listing != GS_LIST_NONE)
		return gs_error_new(GS_ERR_USAGE, "only one of -L, -V and -F can be given, once");
	o->listing = listing;
	o->listing_arg = value;
	return NULL;
}

static struct gs_error *set_limit(struct gs_record_options *o, int id, const char *value)
{
	switch (id) {
	case OPT_DURATION:
		if (!gs_parse_duration(value, &o->duration_ns) || !o->duration_ns)
			return gs_error_new(GS_ERR_USAGE,
					    "--duration: `%s' is not a time (2s, 500ms, 1m)",
					    value);
		return NULL;
	case OPT_MAX_EVENTS:
		return set_number("max-events", value, 1, INT64_MAX, &o->max_events);
	case OPT_MAX_SIZE:
		return set_size("max-size", value, 4096, INT64_MAX, &o->max_size);
	case OPT_BUFFER_SIZE:
		return set_size("buffer-size", value, 65536, 1ull << 34, &o->buffer_bytes);
	case OPT_STRING_LIMIT:
		return set_u32("string-limit", value, 0, 32768, &o->string_limit);
	case OPT_ARRAY_LIMIT:
		return set_u32("array-limit", value, 1, 32768, &o->array_limit);
	case OPT_DEPTH:
		return set_u32("depth", value, 0, 16, &o->depth);
	default:
		return set_u32("max-sites", value, 1, 1u << 20, &o->max_sites);
	}
}

static struct gs_error *set_return(struct gs_record_options *o, const char *value)
{
	if (strcmp(value, "ret") == 0)
		o->return_method = GS_RETURN_RET;
	else if (strcmp(value, "uretprobe") == 0)
		o->return_method = GS_RETURN_URETPROBE;
	else
		return gs_error_new(GS_ERR_USAGE, "--return: `%s' is neither ret nor uretprobe",
				    value);
	return NULL;
}

static struct gs_error *set_option(void *ctx, int id, const char *value)
{
	struct gs_record_options *o = ctx;

	switch (id) {
	case OPT_RAW_CONTAINERS:
		o->raw_containers = true;
		return NULL;
	case OPT_OUTPUT:
		if (!*value)
			return gs_error_new(GS_ERR_USAGE, "-o: the name of the file is empty");
		o->output = value;
		return NULL;
	case OPT_BINARY:
		if (o->binary)
			return gs_error_new(
				GS_ERR_USAGE,
				"-x: given twice (`%s' and `%s'); name other modules as "
				"MODULE!PLACE in the probe",
				o->binary, value);
		o->binary = value;
		return NULL;
	case OPT_PROBE:
		*GS_PUSH(o->probes, o->nprobes, o->probes_cap) = value;
		return NULL;
	case OPT_PROBE_FILE:
		return add_probe_file(o, value);
	case OPT_PID:
		return add_pids(o, value);
	case OPT_USER:
		o->user = value;
		return NULL;
	case OPT_DEBUG_DIR:
		return add_debug_dir(o, value);
	case OPT_SYSROOT:
		o->sysroot = value;
		return is_directory("--sysroot", value);
	case OPT_LINES:
		return set_listing(o, GS_LIST_LINES, value);
	case OPT_VARIABLES:
		return set_listing(o, GS_LIST_VARIABLES, value);
	case OPT_FUNCTIONS:
		return set_listing(o, GS_LIST_FUNCTIONS, value);
	case OPT_RETURN:
		return set_return(o, value);
	case OPT_NO_FOLLOW:
		o->no_follow = true;
		return NULL;
	case OPT_SYSTEM_WIDE:
		o->system_wide = true;
		return NULL;
	case OPT_DRY_RUN:
		o->dry_run = true;
		return NULL;
	case OPT_VERBOSE:
		o->verbose = true;
		return NULL;
	case OPT_QUIET:
		o->quiet = true;
		return NULL;
	case OPT_HELP:
		o->help = true;
		return NULL;
	case OPT_VERSION:
		o->version = true;
		return NULL;
	default:
		return set_limit(o, id, value);
	}
}

/* What contradicts itself or lacks something; the message says what to give. */
static struct gs_error *check_together(const struct gs_record_options *o)
{
	if (o->command && o->npids)
		return gs_error_new(GS_ERR_USAGE, "give a command (`%s') or -p, not both",
				    o->command[0]);
	if (!o->command && !o->npids && !o->binary)
		return gs_error_new(GS_ERR_USAGE,
				    "nothing to look at: give a command, -p PID or -x BINARY");
	if (o->listing != GS_LIST_NONE && o->nprobes)
		return gs_error_new(GS_ERR_USAGE,
				    "-L, -V and -F list, they do not record: leave -e out");
	if (o->listing == GS_LIST_NONE && !o->nprobes)
		return gs_error_new(GS_ERR_USAGE, "no probe: give -e PROBE (see gs-probe(7))");
	if (o->user && !o->command)
		return gs_error_new(GS_ERR_USAGE, "--user needs a command to run as `%s'", o->user);
	if (o->no_follow && !o->command && !o->npids)
		return gs_error_new(GS_ERR_USAGE, "--no-follow needs a command or -p");
	if (o->quiet && o->verbose)
		return gs_error_new(GS_ERR_USAGE, "give -q or -v, not both");
	return NULL;
}

struct gs_error *gs_record_options_parse(int argc, char **argv, struct gs_record_options *out)
{
	struct gs_record_options o = {
		.output = "gs.data",
		.string_limit = GS_DEFAULT_STRING_LIMIT,
		.array_limit = GS_DEFAULT_ARRAY_LIMIT,
		.max_sites = GS_DEFAULT_MAX_SITES,
		.feature_mask = ~0u,
	};
	const char *off = getenv("GS_FEATURES_OFF");
	struct gs_error *err;
	int rest = argc;

	gs_arena_init(&o.arena);
	err = gs_options_parse(table, GS_ARRAY_SIZE(table), argc, argv, true, set_option, &o,
			       &rest);
	if (!err && rest < argc)
		o.command = argv + rest;
	if (!err && !o.help && !o.version)
		err = check_together(&o);
	if (!err && off && *off)
		err = gs_features_parse(off, &o.feature_mask);
	if (err) {
		gs_record_options_deinit(&o);
		return err;
	}
	*out = o;
	return NULL;
}

void gs_record_options_deinit(struct gs_record_options *o)
{
	free(o->probes);
	free(o->debug_dirs);
	free(o->pids);
	gs_arena_deinit(&o->arena);
}
