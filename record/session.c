/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The session: every stage of the recorder in its order, and everything undone in the other.
 *
 *   target -> resolve -> tracer -> child (stopped) -> attach -> file -> enable -> release the child
 *          -> poll until something ends it -> detach -> empty the rings -> end block -> closing
 * lines
 *
 * Until the child is released nothing has happened: every failure before removes all traces and is
 * exit status 1.
 */
#include "record/session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/output_file.h"
#include "record/proc.h"
#include "record/broker.h"
#include "record/session_state.h"
#include "record/signals.h"

#define POLL_MS 50
#define LATE_POLL_MS 10 /* while a module is waited for: its first calls are missed */
#define EXEC_NAP_NS 20000
#define EXEC_SPINS 2000
#define EXEC_TRIES 2500
#define SECOND_NS 1000000000u
#define CLOCK_EVERY_NS (60u * (uint64_t)SECOND_NS)
#define RING_MIN_BYTES (32u << 20) /* all rings */
#define RING_CPU_BYTES (2u << 20)
#define RING_MAX_BYTES (256u << 20)

/* ---- before anything runs ---- */

static struct gs_error *resolve(struct gs_session *s)
{
	const struct gs_record_options *o = s->opts;

	GS_TRY(gs_target_init(o, &s->target));
	s->has_target = true;
	for (size_t i = 0; i < s->target.nnotes; i++)
		gs_voice_say(&s->voice, "%s", s->target.notes[i]);
	s->request = (struct gs_resolve_request){
		.probes = o->probes,
		.nprobes = o->nprobes,
		.executable = s->target.executable,
		.display = s->target.display,
		.maps = s->target.maps,
		.nmaps = s->target.nmaps,
		.library_dirs = s->target.library_dirs,
		.nlibrary_dirs = s->target.nlibrary_dirs,
		.debug_dirs = o->debug_dirs,
		.ndebug_dirs = o->ndebug_dirs,
		.root = s->target.root,
		.debuginfod = gs_debuginfod_wanted(),
		.quiet = o->quiet,
		.string_limit = o->string_limit,
		.array_limit = o->array_limit,
		.depth = o->depth,
		.raw_containers = o->raw_containers,
		.return_method = o->return_method,
		.may_uretprobe = o->return_method == GS_RETURN_AUTO &&
				 gs_tracer_may_uretprobe(o->feature_mask),
		.max_sites = o->max_sites,
		.explain = o->dry_run,
		.verbose = o->verbose,
		.listing = o->listing,
		.listing_arg = o->listing_arg,
		.allow_pending = s->target.kind != GS_TARGET_SYSTEM,
	};
	if (o->command && !o->binary)
		s->request.elsewhere = "if the command starts the program that has it, name that "
				       "program with -x FILE";
	GS_TRY(gs_resolve(&s->request, &s->res));
	s->has_res = true;
	/* Each probe was held to it; all of them together are what is paid for. */
	if (!s->res.nerrors && s->res.meta.nsites > o->max_sites)
		return gs_error_new(
			GS_ERR_LIMIT,
			"the probes have %zu sites in all, more than %u: probe less, or raise "
			"--max-sites",
			s->res.meta.nsites, o->max_sites);
	return NULL;
}

/* Warnings and errors of the resolver; true when there were errors. */
static bool say_resolution(struct gs_session *s)
{
	for (size_t i = 0; i < s->res.nwarnings; i++)
		gs_voice_say(&s->voice, "%s", s->res.warnings[i]);
	for (size_t i = 0; i < s->res.nerrors; i++)
		gs_error_print(stderr, "gs-record", s->res.errors[i]);
	for (size_t i = 0; !s->res.nerrors && i < s->res.npending; i++)
		gs_voice_say(&s->voice, "probe `%s' waits until `%s' is mapped",
			     s->res.meta.probes[s->res.pending[i].probe].name,
			     s->res.pending[i].module);
	return s->res.nerrors != 0;
}

static uint64_t default_buffer(uint32_t ncpus)
{
	uint64_t bytes = (uint64_t)ncpus * RING_CPU_BYTES;

	if (bytes < RING_MIN_BYTES)
		return RING_MIN_BYTES;
	return bytes > RING_MAX_BYTES ? RING_MAX_BYTES : bytes;
}

static void say_features(const struct gs_session *s)
{
	struct gs_buf text;
	char *line, *next;

	gs_buf_init(&text);
	gs_features_print(&text, gs_tracer_features(s->tracer));
	for (line = gs_buf_cstr(&text); *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = 0;
		gs_voice_detail(&s->voice, "%s", line);
	}
	gs_buf_deinit(&text);
}

/* CapEff of this process; all bits when it cannot be read: then the kernel has the word. */
static uint64_t capabilities(void)
{
	uint64_t caps = UINT64_MAX;
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "CapEff:", 7))
			caps = strtoull(line + 7, NULL, 16);
	}
	if (f)
		fclose(f);
	return caps;
}

/* In a container even root may lack them: the set decides, not the user. */
static struct gs_error *check_privileges(void)
{
	uint64_t caps = capabilities();
	bool admin = caps >> 21 & 1, perfmon = caps >> 38 & 1, bpf = caps >> 39 & 1;

	if (admin || (perfmon && bpf))
		return NULL;
	return gs_error_new(
		GS_ERR_USAGE,
		"recording needs privileges that are missing (%s%s%s): run gs-record as root, "
		"with sudo",
		bpf ? "" : "CAP_BPF", !bpf && !perfmon ? ", " : "", perfmon ? "" : "CAP_PERFMON");
}

static struct gs_error *open_tracer(struct gs_session *s)
{
	const struct gs_record_options *o = s->opts;
	uint32_t nprobes = (uint32_t)o->nprobes;
	bool set = s->target.kind != GS_TARGET_SYSTEM;
	struct gs_tracer_options topts = {
		.feature_mask = o->feature_mask,
		.nprobes = nprobes,
		.filter_pids = set,
		.follow = set && !o->no_follow,
		.at_exec = o->command,
		.want_tls = s->res.want_tls,
	};
	uint32_t features;

	s->ncpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	topts.buffer_bytes = o->buffer_bytes ? o->buffer_bytes : default_buffer(s->ncpus);
	topts.max_sites = (uint32_t)s->res.meta.nsites + (s->res.npending ? o->max_sites : 0);
	if (!topts.max_sites)
		topts.max_sites = 1;
	topts.max_entries = (uint32_t)s->res.nentries + (s->res.npending ? o->max_sites : 0);
	/* Later modules may need the thread pointer; whether they do is not known yet. */
	topts.want_tls |= s->res.npending != 0;
	GS_TRY(check_privileges());
	GS_TRY(gs_tracer_open(&topts, &s->tracer));
	say_features(s);
	gs_tally_init(&s->tally, nprobes, topts.max_sites);
	s->has_tally = true;
	s->sites_of = gs_calloc(nprobes, sizeof(*s->sites_of));
	s->refused = gs_calloc(nprobes, sizeof(*s->refused));
	s->before = gs_calloc(nprobes, sizeof(*s->before));
	features = gs_tracer_features(s->tracer);
	/* Elsewhere the kernel's filter is for a single thread: the set of processes does it then.
	 */
	if (o->no_follow && (o->command || o->npids == 1) && features & GS_FEATURE_MULTI &&
	    features & GS_FEATURE_MULTI_PID)
		s->kernel_pid = o->command ? -1 : o->pids[0];
	return NULL;
}

static struct gs_error *start_child(struct gs_session *s)
{
	struct gs_child_options copts = {
		.file = s->target.command_file,
		.argv = s->opts->command,
		.user = s->opts->user,
		.stdout_to_stderr = !strcmp(s->opts->output, "-"),
		.files = s->has_files ? &s->files : NULL,
	};

	GS_TRY(gs_child_start(&copts, &s->child));
	s->has_child = true;
	if (s->kernel_pid)
		s->kernel_pid = s->child.pid;
	return gs_tracer_pid_add_at_exec(s->tracer, s->child.pid);
}

struct adding {
	struct gs_session *s;
	struct gs_error *err;
	bool any, first;
};

/* In a pid namespace of its own the recorder cannot tell apart who is numbered in one below. */
static bool can_tell(const struct gs_session *s, int32_t pid)
{
	return !(gs_tracer_features(s->tracer) & GS_FEATURE_NS_PID) ||
	       gs_proc_in_our_namespace(pid);
}

static void add_descendant(void *ctx, int32_t pid)
{
	struct adding *a = ctx;

	if (a->err || gs_tracer_pid_has(a->s->tracer, pid))
		return;
	if (!can_tell(a->s, pid)) {
		a->s->deeper += a->first;
		return;
	}
	a->err = gs_tracer_pid_add(a->s->tracer, pid);
	a->any = true;
}

/* Children that were there before: scanned again until a scan finds no new one, since they fork
 * meanwhile. */
static struct gs_error *add_processes(struct gs_session *s)
{
	const struct gs_record_options *o = s->opts;
	struct adding a = {.s = s, .any = true};

	s->pidfds = gs_calloc(o->npids, sizeof(*s->pidfds));
	for (size_t i = 0; i < o->npids; i++)
		s->pidfds[i] = -1;
	for (size_t i = 0; i < o->npids; i++) {
		s->pidfds[i] = (int)syscall(SYS_pidfd_open, o->pids[i], 0);
		if (s->pidfds[i] < 0 && errno == ESRCH)
			return gs_error_new(GS_ERR_NOT_FOUND, "-p: process %d has ended",
					    o->pids[i]);
		if (!can_tell(s, o->pids[i]))
			return gs_error_new(GS_ERR_UNSUPPORTED,
					    "-p: process %d is in a pid namespace below that of "
					    "gs-record: run gs-record in the initial one, or give "
					    "-x BINARY alone",
					    o->pids[i]);
		GS_TRY(gs_tracer_pid_add(s->tracer, o->pids[i]));
	}
	for (int i = 0; !o->no_follow && a.any && i < 10; i++) {
		a.any = false;
		a.first = !i;
		gs_target_descendants(o->pids, o->npids, add_descendant, &a);
		if (a.err)
			return a.err;
	}
	return NULL;
}

static bool give_up(void *ctx)
{
	return gs_signals_insist();
}

static struct gs_error *open_output(struct gs_session *s)
{
	struct gs_output_options oopts = {s->opts->output, s->opts->max_size, s->ncpus, &s->tally};
	struct gs_drain_options dopts = {
		.tally = &s->tally,
		.ncpus = s->ncpus,
		.max_events = s->opts->max_events,
		.give_up = give_up,
	};

	GS_TRY(gs_output_open(&oopts, &s->output));
	s->processes = gs_processes_new();
	gs_processes_add(s->processes, &s->res, 0);
	dopts.output = s->output;
	dopts.processes = s->processes;
	s->drain = gs_drain_new(&dopts);
	GS_TRY(gs_drain_add(s->drain, &s->res, &s->bases));
	GS_TRY(gs_session_describe(s));
	s->bases.modules = (uint32_t)s->res.meta.nmodules;
	s->bases.schemas = (uint32_t)s->res.meta.nschemas;
	s->bases.sites = (uint32_t)s->res.meta.nsites;
	s->bases.entries = (uint32_t)s->res.nentries;
	return gs_output_start(s->output);
}

static void start_process(void *ctx, int32_t pid)
{
	struct gs_session *s = ctx;

	gs_processes_start(s->processes, pid, s->start_ns);
}

/* There is no command yet that could have what is meant for it. */
static bool interrupted(void)
{
	struct gs_signals_taken taken;

	while (gs_signals_take(&taken)) {
		if (taken.request)
			return true;
	}
	return false;
}

/* A probe takes a descriptor or two where the kernel has no links of many; 1024 are soon used up.
 */
static void raise_limit(struct gs_session *s)
{
	struct rlimit raised;

	if (getrlimit(RLIMIT_NOFILE, &s->files))
		return;
	raised = (struct rlimit){s->files.rlim_max, s->files.rlim_max};
	s->has_files = setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

static void nap(uint64_t ns)
{
	struct timespec t = {.tv_nsec = (long)ns};

	nanosleep(&t, NULL); /* a signal ends it early: it is looked at next */
}

/*
 * The command may be gone at the next poll. That it was let go is known before its program is
 * mapped: maps that are read before its exec is over are of no use.
 */
static void read_first_maps(struct gs_session *s)
{
	for (int i = 0; i < EXEC_TRIES && gs_tracer_pid_awaits_exec(s->tracer, s->child.pid); i++) {
		if (i > EXEC_SPINS) /* a short program runs no longer than a nap */
			nap(EXEC_NAP_NS);
	}
	gs_processes_map(s->processes, s->child.pid);
}

static struct gs_error *arm(struct gs_session *s)
{
	struct gs_late_options lopts = {&s->request, &s->res, &s->voice};
	struct gs_error *err;

	gs_signals_install();
	raise_limit(s);
	GS_TRY(open_tracer(s));
	s->late = gs_late_new(&lopts);
	GS_TRY(gs_session_crowd(s));
	gs_output_file_keep_from_command(s->opts->output);
	if (s->opts->command)
		GS_TRY(start_child(s));
	GS_TRY(gs_session_attach(s, &s->res, &s->bases));
	if (s->opts->npids)
		GS_TRY(add_processes(s));
	GS_TRY(open_output(s));
	if (interrupted())
		return gs_error_new(GS_ERR_USAGE, "interrupted before recording began");
	for (uint32_t p = 0; p < s->tally.nprobes; p++)
		GS_TRY(gs_tracer_counters(s->tracer, p, &s->before[p]));
	GS_TRY(gs_tracer_enable(s->tracer, true));
	if (s->opts->npids)
		gs_tracer_pid_each(s->tracer, start_process, s);
	if (!s->has_child)
		return NULL;
	err = gs_child_release(&s->child, s->opts->command[0]);
	if (!err)
		read_first_maps(s);
	return err;
}

/* ---- recording ---- */

static bool processes_ended(const struct gs_session *s)
{
	size_t ended = 0;

	for (size_t i = 0; i < s->opts->npids; i++) {
		struct pollfd p = {.fd = s->pidfds[i], .events = POLLIN};

		/* Kernels before 5.3 have no pidfd: then the number has to do. */
		ended += s->pidfds[i] >= 0 ? poll(&p, 1, 0) > 0
					   : kill(s->opts->pids[i], 0) < 0 && errno == ESRCH;
	}
	return s->opts->npids && ended == s->opts->npids;
}

static void pass_on(const struct gs_session *s, const struct gs_signals_taken *taken)
{
	/* From the terminal the whole foreground group has it: the command too, if it is still in
	 * it. */
	if (!taken->from_terminal || getpgid(s->child.pid) != getpgrp())
		kill(s->child.pid, taken->signal);
}

/* True when a signal ends the recording; else it was passed to the command, whose end will. */
static bool signalled(struct gs_session *s)
{
	struct gs_signals_taken taken;

	while (!gs_signals_insist() && gs_signals_take(&taken)) {
		if (s->has_child)
			pass_on(s, &taken);
		else if (taken.request)
			return true;
	}
	return gs_signals_insist();
}

/* True when the recording is over, with its reason. */
static bool over(struct gs_session *s, uint64_t now)
{
	enum gs_end_reason reason;

	if (gs_output_failed(s->output) || s->error)
		reason = GS_END_ERROR;
	else if (gs_drain_full(s->drain))
		reason = GS_END_MAX_EVENTS;
	else if (gs_output_full(s->output))
		reason = GS_END_MAX_SIZE;
	else if (signalled(s))
		reason = GS_END_SIGNAL;
	else if ((s->has_child && gs_child_ended(&s->child)) || processes_ended(s))
		reason = GS_END_TARGET_EXIT;
	else if (s->opts->duration_ns && now - s->start_ns >= s->opts->duration_ns)
		reason = GS_END_DURATION;
	else
		return false;
	s->reason = reason;
	if (reason == GS_END_TARGET_EXIT && s->has_child && !s->opts->no_follow)
		s->still_run = gs_tracer_pid_each(s->tracer, NULL, NULL);
	return true;
}

/* The next poll must not sleep past the end of --duration. */
static int poll_timeout(const struct gs_session *s, uint64_t now)
{
	uint64_t left, spent = now - s->start_ns;
	int ms = gs_late_waiting(s->late) ? LATE_POLL_MS : POLL_MS;

	if (!s->opts->duration_ns)
		return ms;
	left = s->opts->duration_ns > spent ? s->opts->duration_ns - spent : 0;
	return left / 1000000 < (uint64_t)ms ? (int)(left / 1000000) + 1 : ms;
}

/* Before events are looked at: a lost exec makes old maps wrong. */
static void check_process_records(struct gs_session *s)
{
	uint64_t lost = gs_tracer_process_lost(s->tracer);

	if (lost != s->process_lost)
		gs_processes_forget(s->processes);
	s->process_lost = lost;
}

static void poll_once(struct gs_session *s, int timeout_ms)
{
	uint64_t now = gs_session_now();
	size_t n;

	if (gs_drain_congested(s->drain) && now - s->polled_ns < GS_DRAIN_HOLD_NS) {
		nap(GS_DRAIN_HOLD_NS - (now - s->polled_ns));
		return;
	}
	check_process_records(s);
	s->error = gs_tracer_poll(s->tracer, timeout_ms, gs_drain_record, s->drain, &n);
	s->polled_ns = now;
}

/* Rows of metadata: processes as they come, counters and symbols each second. */
static void tell(struct gs_session *s, uint64_t now, bool last)
{
	bool second = last || now - s->second_ns >= SECOND_NS;
	bool clock = last || now - s->clock_ns >= CLOCK_EVERY_NS;
	struct gs_meta *rows = gs_processes_rows(s->processes, second);

	if ((second || clock) && !rows) {
		rows = gs_calloc(1, sizeof(*rows));
		gs_meta_init(rows);
	}
	if (second) {
		s->second_ns = now;
		if (!last)
			gs_session_counters(s, rows, now);
	}
	if (clock) {
		s->clock_ns = now;
		gs_session_clock(rows);
	}
	if (rows)
		gs_output_rows(s->output, rows);
}

static void say_strangers(struct gs_session *s)
{
	const char *path;
	int32_t pid;

	while ((path = gs_processes_stranger(s->processes, &pid)))
		gs_voice_say(&s->voice,
			     "process %d maps another file as `%s', which has no probes: it was "
			     "replaced, or is seen under another root",
			     pid, path);
}

static void record(struct gs_session *s)
{
	uint64_t now = gs_session_now();

	s->clock_ns = s->second_ns = now;
	gs_voice_detail(&s->voice, "recording (%s)",
			s->has_child ? "until the command ends" : "an interrupt ends it");
	do {
		poll_once(s, poll_timeout(s, now));
		now = gs_session_now();
		gs_drain_tick(s->drain, now, s->polled_ns);
		gs_session_late(s, now);
		say_strangers(s);
		tell(s, now, false);
	} while (!over(s, now));
}

/* ---- the end ---- */

static void empty_rings(struct gs_session *s)
{
	struct gs_error *err = NULL;
	size_t n;

	do {
		n = 0;
		err = gs_tracer_poll(s->tracer, 0, gs_drain_record, s->drain, &n);
	} while (!err && n);
	if (err && !s->error)
		s->error = err;
	else
		gs_error_free(err);
}

/* What the kernel says it recorded and no ring gave is counted as lost: it must never be. */
static void balance(struct gs_session *s)
{
	struct gs_counters k;

	for (uint32_t p = 0; p < s->tally.nprobes; p++) {
		uint64_t seen = s->tally.rows[p].seen, got;
		struct gs_error *err = gs_tracer_counters(s->tracer, p, &k);

		got = err ? 0 : k.recorded - s->before[p].recorded;
		gs_error_free(err);
		if (got > seen)
			gs_tally_add(&s->tally.rows[p].lost, got - seen);
	}
}

static void fill_end(void *ctx, struct gs_meta *meta, struct gs_meta_end *end)
{
	struct gs_session *s = ctx;
	uint64_t now = gs_session_now();
	struct gs_meta rows;

	gs_meta_init(&rows);
	gs_session_counters(s, &rows, now);
	gs_merge_rows(meta, &rows);
	gs_meta_deinit(&rows);
	*end = (struct gs_meta_end){
		.time_ns = now,
		.lost = gs_session_lost(s),
		.reason = (uint8_t)s->reason,
		.has_status = s->has_child && s->child.ended,
		.exit_status = (uint32_t)s->child.status,
		.message = "",
	};
	if (s->error)
		end->message = gs_arena_strdup(&meta->arena, gs_error_message(s->error));
}

static enum gs_exit finish(struct gs_session *s)
{
	struct gs_output_end end = {fill_end, give_up, s};
	struct gs_output_summary summary;
	struct gs_error *err;

	gs_error_free(gs_tracer_enable(s->tracer, false));
	gs_tracer_detach(s->tracer);
	empty_rings(s);
	gs_drain_finish(s->drain);
	balance(s);
	tell(s, gs_session_now(), true);
	err = gs_output_finish(s->output, &end, &summary);
	s->output = NULL;
	s->leave = summary.stuck;
	gs_session_closing(s, &summary);
	if (s->error) {
		gs_error_free(err);
		err = s->error;
		s->error = NULL;
	}
	if (!err)
		return GS_EXIT_RECORDED;
	gs_voice_error(&s->voice, gs_error_wrap(err, "recording was cut short"));
	return GS_EXIT_CUT;
}

static void undo(struct gs_session *s)
{
	if (s->has_child)
		gs_child_abort(&s->child);
	if (s->output)
		gs_output_discard(s->output);
	if (!gs_late_free(s->late) || s->leave)
		return;
	gs_drain_free(s->drain);
	gs_processes_free(s->processes);
	if (s->tracer)
		gs_tracer_close(s->tracer);
	if (s->has_tally)
		gs_tally_deinit(&s->tally);
	for (size_t i = 0; s->pidfds && i < s->opts->npids; i++) {
		if (s->pidfds[i] >= 0)
			close(s->pidfds[i]);
	}
	free(s->pidfds);
	free(s->sites_of);
	free(s->refused);
	free(s->before);
	if (s->has_res)
		gs_resolution_deinit(&s->res);
	if (s->has_target)
		gs_target_deinit(&s->target);
}

static enum gs_exit run(struct gs_session *s)
{
	struct gs_error *err = resolve(s);

	if (err) {
		gs_voice_error(&s->voice, err);
		return GS_EXIT_NOTHING;
	}
	if (say_resolution(s))
		return GS_EXIT_NOTHING;
	if (s->opts->dry_run || s->opts->listing != GS_LIST_NONE) {
		fputs(s->res.explanation ? s->res.explanation : "", stdout);
		if (fflush(stdout) == 0)
			return GS_EXIT_RECORDED;
		gs_voice_error(&s->voice, gs_error_errno(errno, "cannot write to standard output"));
		return GS_EXIT_NOTHING;
	}
	err = arm(s);
	if (err) {
		gs_voice_error(&s->voice, err);
		return GS_EXIT_NOTHING;
	}
	record(s);
	return finish(s);
}

enum gs_exit gs_session_run(const struct gs_record_options *opts, int argc, char **argv)
{
	struct gs_session s = {.opts = opts, .argc = argc, .argv = argv};
	enum gs_exit status;

	s.voice = (struct gs_voice){.quiet = opts->quiet, .verbose = opts->verbose};
	status = run(&s);
	undo(&s);
	return status;
}
