/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program gs-report: opens the recordings, filters their events, and feeds a listing, an
 * aggregate or --info. Everything between the command line and the exit status.
 */
#include "report/report.h"

#include "common/text.h"
#include "report/info.h"
#include "report/notes.h"

struct run {
	struct gs_report_options *opts;
	struct gs_session session;
	struct gs_fields fields;
	struct gs_output out;
	struct gs_render render;
	struct gs_aggregation agg;
	uint64_t shown;
	FILE *err;
};

/* ---- filters ---- */

static bool is_among(uint32_t id, const uint32_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == id)
			return true;
	return n == 0;
}

static bool comm_matches(const struct gs_report_options *o, const char *comm)
{
	for (size_t i = 0; i < o->ncomms; i++)
		if (strcmp(o->comms[i], comm) == 0 || gs_glob_match(o->comms[i], comm))
			return true;
	return o->ncomms == 0;
}

/* Cheap tests first. */
static bool passes(struct run *run, struct gs_event *ev)
{
	const struct gs_report_options *o = run->opts;

	if ((o->has_from && ev->ts_ns < o->from_ns) || (o->has_to && ev->ts_ns > o->to_ns) ||
	    !is_among(ev->pid, o->pids, o->npids) || !is_among(ev->tid, o->tids, o->ntids) ||
	    !comm_matches(o, ev->comm))
		return false;
	for (size_t i = 0; i < o->nwhere; i++)
		if (!gs_query_true(o->where[i], ev))
			return false;
	return true;
}

static void limit_time(struct run *run)
{
	const struct gs_report_options *o = run->opts;

	if (!o->has_from && !o->has_to)
		return;
	for (size_t i = 0; i < run->session.nfiles; i++) {
		struct gs_file *f = run->session.files[i];

		gs_input_set_time(f->in, o->has_from ? gs_file_mono(f, o->from_ns) : 0,
				  o->has_to ? gs_file_mono(f, o->to_ns) : UINT64_MAX);
	}
}

/* ---- what is fed ---- */

static bool is_live(const struct gs_session *s)
{
	for (size_t i = 0; i < s->nfiles; i++)
		if (!gs_input_seekable(s->files[i]->in))
			return true;
	return false;
}

/* A pipe with a name: whether it has more to read is not known here. */
static bool live_path(const struct gs_session *s)
{
	for (size_t i = 0; i < s->nfiles; i++)
		if (!gs_input_seekable(s->files[i]->in) &&
		    strcmp(s->files[i]->path, "standard input") != 0)
			return true;
	return false;
}

static struct gs_error *list_events(struct run *run)
{
	bool live = is_live(&run->session), from_stdin = !live_path(&run->session), more;
	struct gs_event ev = {0};
	struct gs_error *err;

	while (run->shown < run->opts->limit) {
		if (live)
			gs_output_idle(&run->out, from_stdin);
		err = gs_session_next(&run->session, &ev, &more);
		if (err || !more)
			return err;
		if (!passes(run, &ev))
			continue;
		run->render.format->event(&run->render, &ev);
		run->shown++;
		if (!gs_output_room(&run->out))
			return NULL;
	}
	return NULL;
}

static struct gs_error *list(struct run *run)
{
	static const struct gs_renderer *const formats[] = {
		[GS_TABLE_TEXT] = &gs_text_renderer,
		[GS_TABLE_CSV] = &gs_csv_renderer,
		[GS_TABLE_JSON] = &gs_json_renderer,
	};
	struct gs_error *err;

	run->render = (struct gs_render){.format = formats[run->opts->format],
					 .session = &run->session,
					 .fields = &run->fields,
					 .out = &run->out,
					 .opts = run->opts->render};
	err = run->render.format->begin(&run->render);
	if (!err)
		err = list_events(run);
	run->render.format->end(&run->render);
	return err;
}

static bool aggregate_one(void *ctx, struct gs_event *ev)
{
	struct run *run = ctx;

	if (passes(run, ev))
		gs_aggregate_event(&run->agg, ev);
	return true;
}

static struct gs_error *aggregate(struct run *run)
{
	struct gs_error *err = gs_session_each(&run->session, aggregate_one, run);

	/* Also after an error: what could be read is reported. */
	gs_aggregate_report(&run->agg, &run->out.buf);
	gs_notes_query(run->err, run->agg.expr);
	for (size_t i = 0; i < run->agg.nby; i++)
		gs_notes_query(run->err, run->agg.by[i]);
	if (run->agg.not_numbers)
		fprintf(run->err, "gs-report: %llu values that are no numbers are left out%s\n",
			(unsigned long long)run->agg.not_numbers,
			run->agg.ngroups ? "" : " (--top counts values of any kind)");
	return err;
}

static struct gs_error *info(struct run *run)
{
	for (size_t i = 0; i < run->session.nfiles; i++) {
		if (i)
			gs_buf_putc(&run->out.buf, '\n');
		GS_TRY(gs_info_put(&run->out.buf, run->session.files[i]));
	}
	return NULL;
}

/* ---- preparation: everything that can be a usage error ---- */

static struct gs_error *prepare_aggregate(struct run *run)
{
	static const struct gs_aggregate *const kinds[] = {
		[GS_MODE_HIST] = &gs_aggregate_hist,
		[GS_MODE_STATS] = &gs_aggregate_stats,
		[GS_MODE_TOP] = &gs_aggregate_top,
	};
	static const char *const names[] = {
		[GS_MODE_HIST] = "--hist",
		[GS_MODE_STATS] = "--stats",
		[GS_MODE_TOP] = "--top",
	};
	struct gs_report_options *o = run->opts;
	struct gs_query **list = NULL;
	size_t n = 0, cap = 0;
	struct gs_error *err = gs_query_parse(names[o->mode], o->expr, &list, &n, &cap);

	if (n)
		run->agg.expr = list[0];
	for (size_t i = 1; i < n; i++)
		gs_query_free(list[i]);
	free(list);
	if (!err && n > 1)
		err = gs_error_new(GS_ERR_USAGE, "%s `%s': one expression is expected",
				   names[o->mode], o->expr);
	if (err)
		return err;
	run->agg.kind = kinds[o->mode];
	run->agg.by = o->by;
	run->agg.nby = o->nby;
	o->by = NULL;
	run->agg.format = o->format;
	run->agg.opts = o->render;
	run->agg.linear = o->linear;
	run->agg.limit = o->has_limit ? o->limit : o->mode == GS_MODE_TOP ? 10 : UINT64_MAX;
	run->agg.exact_always = true;
	for (size_t i = 0; i < run->session.nfiles; i++)
		run->agg.exact_always &= gs_input_seekable(run->session.files[i]->in);
	GS_TRY(gs_query_bind(run->agg.expr, &run->session));
	for (size_t i = 0; i < run->agg.nby; i++)
		GS_TRY(gs_query_bind(run->agg.by[i], &run->session));
	return NULL;
}

static struct gs_error *open_all(struct run *run)
{
	struct gs_report_options *o = run->opts;

	run->session.clock = o->clock;
	run->session.probe_globs = o->probes;
	run->session.nprobe_globs = o->nprobes;
	for (size_t i = 0; i < o->npaths; i++)
		GS_TRY(gs_session_add(&run->session, o->paths[i]));
	return NULL;
}

static struct gs_error *prepare(struct run *run)
{
	struct gs_report_options *o = run->opts;

	GS_TRY(gs_session_start(&run->session));
	for (size_t i = 0; i < o->nwhere; i++)
		GS_TRY(gs_query_bind(o->where[i], &run->session));
	GS_TRY(gs_fields_init(&run->fields, o->fields, o->addr));
	GS_TRY(gs_fields_bind(&run->fields, &run->session));
	if (o->mode != GS_MODE_LIST && o->mode != GS_MODE_INFO)
		GS_TRY(prepare_aggregate(run));
	return gs_output_open(&run->out, o->output, o->paths, o->npaths);
}

static struct gs_error *show(struct run *run)
{
	limit_time(run);
	switch (run->opts->mode) {
	case GS_MODE_LIST:
		return list(run);
	case GS_MODE_INFO:
		return info(run);
	default:
		return aggregate(run);
	}
}

/* ---- the whole ---- */

static int complain(struct run *run, struct gs_error *err, int status)
{
	gs_error_print(run->err, "gs-report", err);
	gs_error_free(err);
	return status;
}

static int status_of_open(const struct gs_error *err)
{
	return gs_error_code_of(err) == GS_ERR_INCOMPATIBLE ? GS_EXIT_INCOMPATIBLE
							    : GS_EXIT_UNREADABLE;
}

static int status_of_read(const struct gs_error *err)
{
	switch (gs_error_code_of(err)) {
	case GS_ERR_DAMAGED:
		return GS_EXIT_DAMAGED;
	case GS_ERR_INCOMPATIBLE:
		return GS_EXIT_INCOMPATIBLE;
	case GS_ERR_SYSTEM:
		return GS_EXIT_UNREADABLE;
	default:
		return GS_EXIT_USAGE;
	}
}

static int report_opened(struct run *run)
{
	struct gs_error *err = prepare(run), *closed;
	int status = GS_EXIT_OK;

	if (err)
		return complain(run, err, GS_EXIT_USAGE);
	gs_notes_before(run->err, &run->session);
	err = show(run);
	/* The numbers are out before what was found on the way is said. */
	closed = gs_output_close(&run->out);
	if (err)
		status = complain(run, err, status_of_read(err));
	for (size_t i = 0; i < run->opts->nwhere; i++)
		gs_notes_query(run->err, run->opts->where[i]);
	for (size_t i = 0; i < run->fields.n; i++)
		if (run->fields.list[i].query && run->fields.list[i].query->not_captured)
			gs_notes_query(run->err, run->fields.list[i].query);
	if (gs_notes_after(run->err, &run->session) && status == GS_EXIT_OK)
		status = GS_EXIT_DAMAGED;
	if (closed)
		status = complain(run, closed, GS_EXIT_USAGE);
	return status;
}

int gs_report_run(struct gs_report_options *o, FILE *err)
{
	struct run run = {.opts = o, .err = err, .out = {.fd = -1}};
	struct gs_error *failed;
	int status;

	gs_session_init(&run.session);
	failed = open_all(&run);
	if (failed)
		status = complain(&run, failed, status_of_open(failed));
	else
		status = report_opened(&run);
	gs_buf_deinit(&run.out.buf);
	if (run.agg.kind)
		gs_aggregate_deinit(&run.agg);
	else
		gs_query_free(run.agg.expr);
	gs_fields_deinit(&run.fields);
	gs_session_deinit(&run.session);
	return status;
}
