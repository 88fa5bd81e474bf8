/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the session says about itself in the file: session block, clock, counters.
 * Before the first event, every second, and at the end.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "record/session_state.h"

static uint64_t clock_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t gs_session_now(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

/* The best of some tries: the one with the least time between the two monotonic readings. */
static struct gs_meta_clock snapshot(void)
{
	struct gs_meta_clock best = {0};
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = gs_session_now();
		uint64_t unix_ns = clock_now(CLOCK_REALTIME), boot_ns = clock_now(CLOCK_BOOTTIME);
		uint64_t after = gs_session_now();

		if (after - before < least) {
			least = after - before;
			best = (struct gs_meta_clock){before + least / 2, unix_ns, boot_ns};
		}
	}
	return best;
}

void gs_session_clock(struct gs_meta *rows)
{
	*GS_PUSH(rows->clocks, rows->nclocks, rows->clocks_cap) = snapshot();
}

/* Quoted so that a shell reads the same words again. */
static void put_quoted(struct gs_buf *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-./:,=+@%";

	if (*word && !word[strspn(word, plain)]) {
		gs_buf_puts(out, word);
		return;
	}
	gs_buf_putc(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			gs_buf_puts(out, "'\\''");
		else
			gs_buf_putc(out, *word);
	}
	gs_buf_putc(out, '\'');
}

static const char *command_line(const struct gs_session *s, struct gs_arena *arena)
{
	struct gs_buf text;
	const char *copy;

	gs_buf_init(&text);
	for (int i = 0; i < s->argc; i++) {
		if (i)
			gs_buf_putc(&text, ' ');
		put_quoted(&text, s->argv[i]);
	}
	copy = gs_arena_strdup(arena, gs_buf_cstr(&text));
	gs_buf_deinit(&text);
	return copy;
}

/* Fills the writer's tables; the moment is ts 0. */
struct gs_error *gs_session_describe(struct gs_session *s)
{
	struct gs_meta *meta = gs_output_meta(s->output);
	struct gs_bases none = {0};
	struct gs_meta_clock now;
	struct utsname un;

	GS_TRY(gs_merge_resolution(meta, &s->res, &none));
	uname(&un);
	now = snapshot();
	meta->has_session = true;
	meta->session = (struct gs_meta_session){
		.version = GS_VERSION,
		.command = command_line(s, &meta->arena),
		.hostname = gs_arena_strdup(&meta->arena, un.nodename),
		.kernel = gs_arena_printf(&meta->arena, "%s %s %s", un.sysname, un.release,
					  un.version),
		.machine = gs_arena_strdup(&meta->arena, un.machine),
		.target = gs_target_describe(s->opts, &meta->arena),
		.start_mono_ns = now.mono_ns,
		.start_unix_ns = now.unix_ns,
		.ncpus = s->ncpus,
		.string_limit = s->opts->string_limit,
		.array_limit = s->opts->array_limit,
		.depth = s->opts->depth,
		.buffer_bytes = gs_tracer_ring_bytes(s->tracer),
		.recorder_pid = (uint32_t)getpid(),
		.page_size = (uint32_t)sysconf(_SC_PAGESIZE),
		.big_endian = meta->nmodules ? meta->modules[0].big_endian : 0,
		.pointer_size = meta->nmodules ? meta->modules[0].pointer_size : 8,
	};
	*GS_PUSH(meta->clocks, meta->nclocks, meta->clocks_cap) = now;
	s->start_ns = now.mono_ns;
	return NULL;
}

/* ---- counters ---- */

/*
 * The kernel's counts, moved by what happened to its records here: what was lost or left out is not
 * recorded. What the kernel says it recorded and no ring gave is lost too; that no such thing is
 * left is checked at the end.
 */
void gs_session_probe_counters(struct gs_session *s, uint32_t probe, struct gs_meta_counters *out)
{
	const struct gs_counters *b = &s->before[probe];
	const struct gs_tally_row *t = &s->tally.rows[probe];
	uint64_t lost = t->lost, beyond = t->beyond;
	struct gs_counters k = *b;
	struct gs_error *err = gs_tracer_counters(s->tracer, probe, &k);

	gs_error_free(err);
	*out = (struct gs_meta_counters){
		.probe = probe,
		.hits = k.hits - b->hits,
		.matched = k.matched - b->matched,
		.recorded = k.recorded - b->recorded,
		.skipped = k.skipped - b->skipped + beyond,
		.lost = k.lost - b->lost + lost,
		.faulted = k.faulted - b->faulted,
		.unpaired = k.unpaired - b->unpaired,
	};
	out->recorded -= lost + beyond < out->recorded ? lost + beyond : out->recorded;
}

static uint64_t lost_by_none(struct gs_session *s)
{
	return s->tally.rows[s->tally.nprobes].lost + gs_tracer_filter_lost(s->tracer) +
	       gs_tracer_deeper(s->tracer) + s->deeper;
}

void gs_session_counters(struct gs_session *s, struct gs_meta *rows, uint64_t now_ns)
{
	struct gs_meta_counters *c;
	uint64_t none = lost_by_none(s);

	for (uint32_t p = 0; p < s->tally.nprobes; p++) {
		c = GS_PUSH(rows->counters, rows->ncounters, rows->counters_cap);
		gs_session_probe_counters(s, p, c);
		c->time_ns = now_ns;
	}
	if (none) {
		c = GS_PUSH(rows->counters, rows->ncounters, rows->counters_cap);
		*c = (struct gs_meta_counters){.probe = GS_NONE, .lost = none, .time_ns = now_ns};
	}
}

uint64_t gs_session_lost(struct gs_session *s)
{
	uint64_t lost = lost_by_none(s);
	struct gs_meta_counters c;

	for (uint32_t p = 0; p < s->tally.nprobes; p++) {
		gs_session_probe_counters(s, p, &c);
		lost += c.lost;
	}
	return lost;
}
