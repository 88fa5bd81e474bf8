/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The closing lines: losses, faults, probes that never fired and why, and the totals.
 * Last step of the recorder.
 */
#include <inttypes.h>
#include <string.h>

#include "common/text.h"
#include "record/session_state.h"

static const char *probe_name(const struct gs_session *s, uint32_t probe)
{
	return s->res.meta.probes[probe].name;
}

static void say_losses(struct gs_session *s, uint32_t p, const struct gs_meta_counters *c)
{
	uint64_t here = s->tally.rows[p].lost;
	char size[32];

	if (c->lost > here)
		gs_voice_always(&s->voice,
				"probe `%s': %" PRIu64
				" event%s lost in the kernel: the ring buffers were "
				"full (%s in all; raise --buffer-size, or probe less)",
				probe_name(s, p), c->lost - here, gs_plural(c->lost - here),
				gs_human_size(gs_tracer_ring_bytes(s->tracer), size));
	if (here)
		gs_voice_always(&s->voice, "probe `%s': %" PRIu64 " event%s could not be written",
				probe_name(s, p), here, gs_plural(here));
}

/* Nobody came there: who could have. */
static const char *who(const struct gs_session *s)
{
	switch (s->target.kind) {
	case GS_TARGET_COMMAND:
		return s->opts->no_follow ? "the command did not come"
					  : "neither the command nor its "
					    "children came";
	case GS_TARGET_PIDS:
		return s->opts->no_follow ? "the processes did not come"
					  : "neither the processes nor "
					    "their children came";
	default:
		return "no process came";
	}
}

static void say_never(struct gs_session *s, uint32_t p)
{
	const char *module = gs_late_module(s->late, p);
	const char *name = probe_name(s, p);

	if (module)
		gs_voice_say(&s->voice, "probe `%s' was never armed: `%s' was not mapped", name,
			     module);
	else if (!s->sites_of[p])
		gs_voice_say(&s->voice, "probe `%s' was never armed: it has no site", name);
	else if (s->refused[p] == s->sites_of[p])
		gs_voice_say(&s->voice, "probe `%s' never fired: the kernel refused all its sites",
			     name);
	else
		gs_voice_say(&s->voice, "probe `%s' never fired: %s to it while recording%s", name,
			     who(s), s->opts->no_follow ? " (--no-follow left children out)" : "");
}

static void say_probe(struct gs_session *s, uint32_t p)
{
	struct gs_meta_counters c;

	gs_session_probe_counters(s, p, &c);
	say_losses(s, p, &c);
	if (c.faulted)
		gs_voice_say(&s->voice,
			     "probe `%s': its condition could not be evaluated in %" PRIu64
			     " of %" PRIu64 " hit%s (they are not recorded)",
			     probe_name(s, p), c.faulted, c.hits, gs_plural(c.hits));
	if (c.unpaired)
		gs_voice_say(
			&s->voice,
			"probe `%s': of %" PRIu64 " hit%s the call's entry was not seen (it began "
			"before the recording, or its stack was moved): what is saved there is "
			"absent",
			probe_name(s, p), c.unpaired, gs_plural(c.unpaired));
	if (c.hits <= c.skipped && !s->tally.rows[p].beyond && !c.recorded && !c.lost)
		say_never(s, p);
	else if (!c.matched && !c.faulted && c.hits > c.skipped)
		gs_voice_say(&s->voice,
			     "probe `%s': its condition was true in none of %" PRIu64 " hit%s",
			     probe_name(s, p), c.hits - c.skipped, gs_plural(c.hits - c.skipped));
	if (c.skipped)
		gs_voice_detail(&s->voice,
				"probe `%s': %" PRIu64 " hit%s left out (after the limit, or while "
				"recording was switched off)",
				probe_name(s, p), c.skipped, gs_plural(c.skipped));
}

static void say_others(struct gs_session *s)
{
	uint64_t none = s->tally.rows[s->tally.nprobes].lost;
	uint64_t filter = gs_tracer_filter_lost(s->tracer);
	uint64_t deeper = gs_tracer_deeper(s->tracer) + s->deeper;
	uint64_t rows = gs_processes_dropped(s->processes);
	uint64_t no_room = gs_tracer_process_lost(s->tracer);

	if (s->still_run)
		gs_voice_say(&s->voice,
			     "%u process%s that the command started still run%s: the recording "
			     "ended with the command (go on with -p PID)",
			     s->still_run, s->still_run == 1 ? "" : "es",
			     s->still_run == 1 ? "s" : "");
	if (none)
		gs_voice_always(&s->voice, "%" PRIu64 " damaged record%s left out, counted as lost",
				none, gs_plural(none));
	if (filter)
		gs_voice_always(&s->voice,
				"%" PRIu64 " process%s could not be followed: too many at a time",
				filter, filter == 1 ? "" : "es");
	if (deeper)
		gs_voice_always(&s->voice,
				"%" PRIu64 " process%s could not be followed: into a pid namespace "
				"below that of gs-record (run it in the initial one)",
				deeper, deeper == 1 ? "" : "es");
	if (rows)
		gs_voice_say(&s->voice,
			     "%" PRIu64 " row%s about processes left out: there were too many",
			     rows, gs_plural(rows));
	if (no_room)
		gs_voice_say(&s->voice,
			     "%" PRIu64 " start%s or end%s of processes left out: the ring buffers "
			     "were full",
			     no_room, gs_plural(no_room), gs_plural(no_room));
}

void gs_session_closing(struct gs_session *s, const struct gs_output_summary *summary)
{
	uint64_t lost = gs_session_lost(s);
	uint32_t n = s->tally.nprobes;
	bool is_stdout = !strcmp(s->opts->output, "-");
	char size[32];

	for (uint32_t p = 0; p < n; p++)
		say_probe(s, p);
	say_others(s);
	(lost ? gs_voice_always : gs_voice_say)(
		&s->voice, "%" PRIu64 " event%s from %u probe%s (%" PRIu64 " lost), %s in %s",
		summary->events, gs_plural(summary->events), n, gs_plural(n), lost,
		gs_human_size(summary->bytes, size),
		is_stdout ? "standard output" : s->opts->output);
}
