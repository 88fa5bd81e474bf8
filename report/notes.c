/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What must be said beside the numbers, on standard error: damage, losses, faults, an unclean end.
 * Before and after the report of the events.
 */
#include "report/notes.h"

#include <inttypes.h>

#include "common/text.h"

/* One line, with names of the file escaped. */
static void say(FILE *err, const struct gs_file *f, struct gs_buf *text)
{
	struct gs_buf line = {0};

	gs_buf_puts(&line, "gs-report: ");
	gs_escape(&line, f->path, strlen(f->path), GS_ESCAPE_PLAIN);
	gs_buf_puts(&line, ": ");
	gs_escape(&line, text->data, text->len, GS_ESCAPE_PLAIN);
	gs_buf_putc(&line, '\n');
	fwrite(line.data, 1, line.len, err);
	gs_buf_deinit(&line);
	gs_buf_reset(text);
}

/* 0 is unknown. */
static void put_instant(struct gs_buf *text, const char *what, const struct gs_file *f, uint64_t ns)
{
	if (ns)
		gs_buf_printf(text, "%s %.9f s", what,
			      (double)(int64_t)(ns - f->start_mono_ns) / 1e9);
}

static void put_gap(struct gs_buf *text, const struct gs_file *f, const struct gs_damage *d)
{
	if (d->rows == UINT64_MAX)
		gs_buf_puts(text, "; an unknown number of events is lost");
	else if (d->rows)
		gs_buf_printf(text, "; %" PRIu64 " event%s lost", d->rows,
			      d->rows == 1 ? " is" : "s are");
	if (d->seq_first == d->seq_last && d->seq_first)
		gs_buf_printf(text, "; block %" PRIu64 " is missing", d->seq_first);
	else if (d->seq_first || d->seq_last)
		gs_buf_printf(text, "; blocks %" PRIu64 " to %" PRIu64 " are missing", d->seq_first,
			      d->seq_last);
	put_instant(text, "; after", f, d->time_first);
	put_instant(text, d->time_first ? " and before" : "; before", f, d->time_last);
}

static void say_damages(FILE *err, struct gs_file *f)
{
	const struct gs_damage *list;
	size_t n = gs_input_damages(f->in, &list);
	struct gs_buf text = {0};

	for (; f->damages_said < n; f->damages_said++) {
		const struct gs_damage *d = &list[f->damages_said];

		gs_buf_printf(&text, "damaged at byte %" PRIu64 " (%" PRIu64 " bytes dropped): %s",
			      d->offset, d->length, d->message ? d->message : "");
		put_gap(&text, f, d);
		say(err, f, &text);
	}
	gs_buf_deinit(&text);
}

static const char *probe_name(const struct gs_meta *m, uint32_t probe)
{
	return probe < m->nprobes ? m->probes[probe].name : NULL;
}

static void say_counters(FILE *err, struct gs_file *f)
{
	const struct gs_meta *m = f->meta;
	struct gs_buf text = {0};

	for (size_t i = 0; i < m->ncounters; i++) {
		const struct gs_meta_counters *c = &m->counters[i];
		const char *name = probe_name(m, c->probe);

		if (c->lost && name)
			gs_buf_printf(&text,
				      "probe %s: %" PRIu64 " of %" PRIu64
				      " events were lost while recording",
				      name, c->lost, c->lost + c->recorded);
		else if (c->lost)
			gs_buf_printf(&text,
				      "%" PRIu64
				      " events of unknown probes were lost while recording",
				      c->lost);
		if (text.len)
			say(err, f, &text);
		if (c->faulted && name) {
			gs_buf_printf(&text,
				      "probe %s: %" PRIu64 " hit%s where memory could not be read",
				      name, c->faulted, c->faulted == 1 ? "" : "s");
			say(err, f, &text);
		}
	}
	gs_buf_deinit(&text);
}

static void say_end(FILE *err, struct gs_file *f)
{
	struct gs_buf text = {0};

	if (!f->meta->has_end)
		gs_buf_puts(&text, "the recording did not end cleanly (no end block): everything "
				   "up to there is reported");
	else if (f->meta->end.reason == GS_END_ERROR)
		gs_buf_printf(&text, "the recording was cut short: %s", f->meta->end.message);
	if (text.len)
		say(err, f, &text);
	gs_buf_deinit(&text);
}

static void say_start(FILE *err, struct gs_file *f)
{
	struct gs_buf text = {0};

	if (!f->no_start)
		return;
	gs_buf_puts(&text, "when it began is not known: all times are those of CLOCK_MONOTONIC");
	say(err, f, &text);
	gs_buf_deinit(&text);
}

void gs_notes_before(FILE *err, struct gs_session *s)
{
	for (size_t i = 0; i < s->nfiles; i++) {
		struct gs_file *f = s->files[i];

		say_damages(err, f);
		say_start(err, f);
		say_counters(err, f);
		if (gs_input_seekable(f->in))
			say_end(err, f);
	}
}

bool gs_notes_after(FILE *err, struct gs_session *s)
{
	bool damaged = false;

	for (size_t i = 0; i < s->nfiles; i++) {
		struct gs_file *f = s->files[i];
		struct gs_buf text = {0};

		say_damages(err, f);
		/* What a pipe says at its end could not be said before. */
		if (!gs_input_seekable(f->in) && f->ended) {
			say_counters(err, f);
			say_end(err, f);
		}
		if (gs_input_late(f->in)) {
			gs_buf_printf(&text,
				      "%" PRIu64 " events came later than the window and are "
				      "out of order",
				      gs_input_late(f->in));
			say(err, f, &text);
		}
		if (f->bad_columns) {
			gs_buf_printf(&text, "values of damaged columns are not shown: %s",
				      f->bad_column);
			say(err, f, &text);
		}
		damaged |= f->damages_said > 0 || f->bad_columns > 0;
		gs_buf_deinit(&text);
	}
	return damaged;
}

static void put_left_out(struct gs_buf *text, const struct gs_query *q, uint64_t n, const char *why)
{
	gs_buf_printf(text, "gs-report: %s ", q->option);
	gs_escape(text, q->text, strlen(q->text), GS_ESCAPE_PLAIN);
	gs_buf_printf(text, ": %" PRIu64 " event%s %s %s left out\n", n, n == 1 ? "" : "s", why,
		      n == 1 ? "is" : "are");
}

void gs_notes_query(FILE *err, const struct gs_query *q)
{
	struct gs_buf text = {0};

	if (q->not_captured)
		put_left_out(&text, q, q->not_captured, "of probes that did not capture it");
	if (q->absent)
		put_left_out(&text, q, q->absent, "in which it has no value");
	if (text.len)
		fwrite(text.data, 1, text.len, err);
	gs_buf_deinit(&text);
}

const char *gs_end_reason_text(unsigned reason)
{
	static const char *const texts[] = {
		[GS_END_TARGET_EXIT] = "the target ended",
		[GS_END_SIGNAL] = "stopped by a signal",
		[GS_END_DURATION] = "--duration was over",
		[GS_END_MAX_EVENTS] = "--max-events were recorded",
		[GS_END_MAX_SIZE] = "--max-size was reached",
		[GS_END_ERROR] = "an error",
	};

	return reason < GS_ARRAY_SIZE(texts) ? texts[reason] : "an unknown reason";
}
