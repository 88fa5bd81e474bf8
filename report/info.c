/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --info: one screen on what was recorded, where, when and how.
 * From metadata, and a count of the events that are there.
 */
#include "report/info.h"

#include <inttypes.h>
#include <time.h>

#include "common/text.h"
#include "report/notes.h"
#include "report/output.h"

static void put_label(struct gs_buf *out, const char *label)
{
	gs_buf_printf(out, "%-10s ", label);
}

static void put_escaped(struct gs_buf *out, const char *s)
{
	gs_escape(out, s ? s : "", s ? strlen(s) : 0, GS_ESCAPE_PLAIN);
}

static void put_field(struct gs_buf *out, const char *label, const char *value)
{
	put_label(out, label);
	put_escaped(out, value);
	gs_buf_putc(out, '\n');
}

/* UTC: the output does not depend on where it is read. */
static void put_date(struct gs_buf *out, uint64_t unix_ns)
{
	time_t t = (time_t)(unix_ns / 1000000000);
	struct tm tm;
	char text[64];

	if (!gmtime_r(&t, &tm) || !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm)) {
		gs_buf_puts(out, "?");
		return;
	}
	gs_buf_printf(out, "%s.%03" PRIu64 " UTC", text, unix_ns / 1000000 % 1000);
}

static void put_wait_status(struct gs_buf *out, uint32_t status)
{
	if ((status & 0x7f) == 0)
		gs_buf_printf(out, "; the command exited with status %u", (status >> 8) & 0xff);
	else
		gs_buf_printf(out, "; the command was killed by signal %u", status & 0x7f);
}

static void put_end(struct gs_buf *out, const struct gs_file *f)
{
	const struct gs_meta *m = f->meta;

	put_label(out, "ended");
	if (!m->has_end) {
		gs_buf_puts(out, "not cleanly: the file has no end block\n");
		return;
	}
	gs_buf_puts(out, gs_end_reason_text(m->end.reason));
	if (m->end.message && m->end.message[0]) {
		gs_buf_puts(out, ": ");
		put_escaped(out, m->end.message);
	}
	if (!f->no_start)
		gs_buf_printf(out, ", after %.6f s",
			      (double)(int64_t)(m->end.time_ns - f->start_mono_ns) / 1e9);
	if (m->end.has_status)
		put_wait_status(out, m->end.exit_status);
	gs_buf_putc(out, '\n');
}

static const struct gs_meta_counters *counters_of(const struct gs_meta *m, uint32_t probe)
{
	for (size_t i = 0; i < m->ncounters; i++)
		if (m->counters[i].probe == probe)
			return &m->counters[i];
	return NULL;
}

static void put_probe(struct gs_buf *out, const struct gs_meta *m, uint32_t p, uint64_t events)
{
	const struct gs_meta_counters *c = counters_of(m, p);
	size_t sites = 0;

	for (size_t i = 0; i < m->nsites; i++)
		sites += m->sites[i].probe == p;
	gs_buf_puts(out, "  ");
	put_escaped(out, m->probes[p].name);
	gs_buf_printf(out, ": %" PRIu64 " event%s at %zu site%s", events, events == 1 ? "" : "s",
		      sites, sites == 1 ? "" : "s");
	if (c) {
		gs_buf_printf(out, "; %" PRIu64 " hits", c->hits);
		if (c->matched != c->hits)
			gs_buf_printf(out, ", %" PRIu64 " matched", c->matched);
		if (c->skipped)
			gs_buf_printf(out, ", %" PRIu64 " skipped", c->skipped);
		gs_buf_printf(out, ", %" PRIu64 " lost", c->lost);
		if (c->faulted)
			gs_buf_printf(out, ", %" PRIu64 " with a fault", c->faulted);
	}
	gs_buf_puts(out, "\n    ");
	put_escaped(out, m->probes[p].text);
	gs_buf_putc(out, '\n');
}

static void put_module(struct gs_buf *out, const struct gs_meta_module *mod)
{
	char size[32];

	gs_buf_puts(out, "  ");
	put_escaped(out, mod->path);
	gs_buf_puts(out, "  build-id ");
	for (uint8_t i = 0; i < mod->build_id_len && i < sizeof(mod->build_id); i++)
		gs_buf_printf(out, "%02x", mod->build_id[i]);
	if (!mod->build_id_len)
		gs_buf_puts(out, "none");
	gs_buf_printf(out, "  %u-bit%s", 8u * mod->pointer_size,
		      mod->big_endian ? " big-endian" : "");
	if (mod->file_size)
		gs_buf_printf(out, "  %s", gs_human_size(mod->file_size, size));
	if (mod->debug_path && mod->debug_path[0]) {
		gs_buf_puts(out, "  debug ");
		put_escaped(out, mod->debug_path);
	}
	gs_buf_putc(out, '\n');
}

static void put_session(struct gs_buf *out, const struct gs_file *f)
{
	const struct gs_meta_session *s = &f->meta->session;

	put_field(out, "command", s->command);
	put_field(out, "target", s->target);
	put_label(out, "host");
	put_escaped(out, s->hostname);
	gs_buf_puts(out, ", ");
	put_escaped(out, s->kernel);
	gs_buf_puts(out, ", ");
	put_escaped(out, s->machine);
	gs_buf_printf(out, ", %u CPU%s\n", s->ncpus, s->ncpus == 1 ? "" : "s");
	put_field(out, "recorder", s->version);
	put_label(out, "started");
	put_date(out, s->start_unix_ns);
	gs_buf_putc(out, '\n');
}

static struct gs_error *count_events(struct gs_file *f, uint64_t **counts, size_t *n,
				     uint64_t *total)
{
	size_t cap = 0;

	for (;;) {
		struct gs_batch *b;

		GS_TRY(gs_input_next_batch(f->in, &b));
		if (!b)
			break;
		for (uint32_t row = 0; row < b->nrows; row++) {
			uint32_t probe = f->meta->sites[b->site[row]].probe;

			while (probe >= *n)
				*GS_PUSH(*counts, *n, cap) = 0;
			(*counts)[probe]++;
			++*total;
		}
	}
	f->ended = true;
	return NULL;
}

struct gs_error *gs_info_put(struct gs_buf *out, struct gs_file *f)
{
	const struct gs_meta *m = f->meta;
	uint64_t *counts = NULL, total = 0, lost = 0;
	size_t n = 0;
	char size[32];
	struct gs_error *err = count_events(f, &counts, &n, &total);

	for (size_t i = 0; i < m->ncounters; i++)
		lost += m->counters[i].lost;
	put_label(out, "file");
	put_escaped(out, f->path);
	gs_buf_printf(out, ", %s, %" PRIu64 " events", gs_human_size(gs_input_size(f->in), size),
		      total);
	if (total)
		gs_buf_printf(out, " (%.1f bytes each)",
			      (double)gs_input_size(f->in) / (double)total);
	gs_buf_printf(out, ", %" PRIu64 " lost\n", lost);
	if (m->has_session)
		put_session(out, f);
	put_end(out, f);
	gs_buf_puts(out, "probes\n");
	for (uint32_t p = 0; p < m->nprobes; p++)
		put_probe(out, m, p, p < n ? counts[p] : 0);
	gs_buf_puts(out, "modules\n");
	for (size_t i = 0; i < m->nmodules; i++)
		put_module(out, &m->modules[i]);
	free(counts);
	return err;
}
