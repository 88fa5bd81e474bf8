/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recordings that are reported together: opened, described, and merged by wall clock.
 * First stage of gs-report, after the file reader.
 */
#include "report/session.h"

#include "common/text.h"
#include "report/view.h"

void gs_session_init(struct gs_session *s)
{
	*s = (struct gs_session){0};
	gs_arena_init(&s->arena);
}

static void file_free(struct gs_file *f)
{
	if (f->in)
		gs_input_free(f->in);
	free(f->views);
	free(f->bad_column);
	free(f->repeats);
	free(f);
}

void gs_session_deinit(struct gs_session *s)
{
	for (size_t i = 0; i < s->nfiles; i++)
		file_free(s->files[i]);
	free(s->files);
	gs_arena_deinit(&s->arena);
	*s = (struct gs_session){0};
}

static void session_take(struct gs_session *s, const char *path, struct gs_input *in)
{
	struct gs_file *f = gs_calloc(1, sizeof(*f));
	uint64_t start_unix_ns = 0;

	f->session = s;
	f->path = gs_arena_strdup(&s->arena, path);
	f->in = in;
	f->meta = gs_input_meta(in);
	f->no_start = !gs_meta_start(f->meta, &f->start_mono_ns, &start_unix_ns);
	f->to_unix_ns = (int64_t)(start_unix_ns - f->start_mono_ns);
	*GS_PUSH(s->files, s->nfiles, s->files_cap) = f;
}

struct gs_error *gs_session_add(struct gs_session *s, const char *path)
{
	struct gs_input_options opts = {0};
	struct gs_input *in;

	GS_TRY(gs_input_open(path, &opts, &in));
	session_take(s, strcmp(path, "-") == 0 ? "standard input" : path, in);
	return NULL;
}

struct gs_error *gs_session_add_memory(struct gs_session *s, const void *data, size_t len)
{
	struct gs_input_options opts = {0};
	struct gs_input *in;

	GS_TRY(gs_input_open_memory(data, len, &opts, &in));
	session_take(s, "memory", in);
	return NULL;
}

bool gs_session_selects(const struct gs_session *s, const char *probe)
{
	for (size_t i = 0; i < s->nprobe_globs; i++)
		if (strcmp(s->probe_globs[i], probe) == 0 ||
		    gs_glob_match(s->probe_globs[i], probe))
			return true;
	return s->nprobe_globs == 0;
}

struct gs_view *gs_file_view(struct gs_file *f, uint32_t schema)
{
	if (schema >= f->nviews) {
		f->views = gs_grow(f->views, &f->views_cap, schema + 1, sizeof(*f->views));
		memset(f->views + f->nviews, 0, (schema + 1 - f->nviews) * sizeof(*f->views));
		f->nviews = schema + 1;
	}
	if (!f->views[schema])
		f->views[schema] = gs_view_new(f, &f->meta->schemas[schema]);
	return f->views[schema];
}

static struct gs_error *check_probe_globs(const struct gs_session *s)
{
	for (size_t g = 0; g < s->nprobe_globs; g++) {
		struct gs_nearest near = {.wanted = s->probe_globs[g]};
		struct gs_error *err;
		bool found = false, any = false;
		char *hint;

		for (size_t i = 0; i < s->nfiles; i++)
			for (size_t p = 0; p < s->files[i]->meta->nprobes; p++) {
				const char *name = s->files[i]->meta->probes[p].name;

				any = true;
				found |= strcmp(s->probe_globs[g], name) == 0 ||
					 gs_glob_match(s->probe_globs[g], name);
				gs_nearest_feed(&near, name);
			}
		hint = gs_nearest_hint(&near);
		gs_nearest_deinit(&near);
		if (found || !any) {
			free(hint);
			continue;
		}
		err = gs_error_new(GS_ERR_USAGE, "no probe matches `%s'", s->probe_globs[g]);
		if (hint)
			gs_error_hint(err, "%s", hint);
		free(hint);
		return err;
	}
	return NULL;
}

struct gs_error *gs_session_start(struct gs_session *s)
{
	bool any = false;

	for (size_t i = 0; i < s->nfiles; i++) {
		struct gs_file *f = s->files[i];
		int64_t start = (int64_t)(f->start_mono_ns + (uint64_t)f->to_unix_ns);

		if (!f->no_start && (!any || start < s->start_unix_ns))
			s->start_unix_ns = start;
		any |= !f->no_start;
		for (uint32_t k = 0; k < f->meta->nschemas; k++)
			gs_file_view(f, k);
		for (size_t k = 0; k < f->meta->nsites; k++) {
			const struct gs_meta_site *site = &f->meta->sites[k];

			if (gs_session_selects(s, f->meta->probes[site->probe].name))
				f->views[site->schema]->selected = true;
		}
	}
	return check_probe_globs(s);
}

/* Differences of clocks of different files can exceed 64 bits only in hostile ones: they wrap. */
static int64_t clock_of(const struct gs_file *f, uint64_t mono_ns)
{
	const struct gs_session *s = f->session;
	uint64_t unix_ns = mono_ns + (uint64_t)f->to_unix_ns;

	if (s->clock == GS_CLOCK_MONO || f->no_start)
		return (int64_t)mono_ns;
	if (s->clock == GS_CLOCK_UNIX)
		return (int64_t)unix_ns;
	return (int64_t)(unix_ns - (uint64_t)s->start_unix_ns);
}

uint64_t gs_file_mono(const struct gs_file *f, int64_t t)
{
	__int128 v = t;

	if (f->no_start)
		return t < 0 ? 0 : (uint64_t)t;
	if (f->session->clock != GS_CLOCK_MONO)
		v -= f->to_unix_ns;
	if (f->session->clock == GS_CLOCK_REL)
		v += f->session->start_unix_ns;
	return v < 0 ? 0 : v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static bool follow(void *ctx, int32_t item, uint64_t offset, struct gs_value *pointee)
{
	struct gs_event *ev = ctx;
	int32_t child = item < 0 ? -1 : gs_view_child_at(ev->view, (uint32_t)item, offset);

	if (child < 0)
		return false;
	gs_event_item(ev, (uint32_t)child, pointee);
	return true;
}

static bool virtual_base(void *ctx, int32_t item, uint64_t offset, gs_type_id type,
			 struct gs_value *base)
{
	struct gs_event *ev = ctx;
	struct gs_base_place at = {.item = item, .offset = offset, .type = type};
	bool elsewhere;
	int32_t found = gs_view_virtual_base(ev->view, &at, &elsewhere);

	if (found < 0)
		return false;
	gs_event_item(ev, (uint32_t)found, base);
	return true;
}

static void event_site(struct gs_event *ev, struct gs_file *f, const struct gs_meta_site *site)
{
	const struct gs_meta_module *m =
		site->module < f->meta->nmodules ? &f->meta->modules[site->module] : NULL;

	ev->file = f;
	ev->site = site;
	ev->probe = &f->meta->probes[site->probe];
	ev->view = gs_file_view(f, site->schema);
	ev->source = (struct gs_value_source){
		.types = f->meta->types,
		.big_endian = m ? m->big_endian : f->meta->session.big_endian,
		.pointer_size =
			m && m->pointer_size ? m->pointer_size : f->meta->session.pointer_size,
		.ctx = ev,
		.follow = follow,
		.virtual_base = virtual_base,
	};
}

static void event_at(struct gs_event *ev, struct gs_file *f, struct gs_batch *b, uint32_t row)
{
	const struct gs_meta_site *site = &f->meta->sites[b->site[row]];

	/* Rows of a block are mostly of one site: what hangs on the site is kept. */
	if (ev->file != f || ev->site != site || !ev->batch)
		event_site(ev, f, site);
	/* Tables of a pipe grow, and may have moved. */
	ev->probe = &f->meta->probes[site->probe];
	ev->source.types = f->meta->types;
	ev->batch = b;
	ev->row = row;
	ev->schema_row = b->schema_row[row];
	ev->cpu = b->cpu;
	ev->pid = b->pid[row];
	ev->tid = b->tid[row];
	ev->comm = b->comms[b->comm[row]];
	ev->mono_ns = b->time[row];
	ev->ts_ns = clock_of(f, b->time[row]);
}

void gs_event_static(struct gs_view *view, struct gs_event *ev)
{
	struct gs_file *f = view->file;

	*ev = (struct gs_event){.file = f, .view = view, .comm = ""};
	for (size_t i = 0; i < f->meta->nsites && !ev->site; i++)
		if (f->meta->sites[i].schema == view->schema.id) {
			event_site(ev, f, &f->meta->sites[i]);
			ev->view = view;
		}
	if (!ev->site)
		ev->source = (struct gs_value_source){.types = f->meta->types,
						      .big_endian = f->meta->session.big_endian,
						      .pointer_size = f->meta->session.pointer_size,
						      .ctx = ev,
						      .follow = follow,
						      .virtual_base = virtual_base};
}

static struct gs_error *file_advance(struct gs_file *f)
{
	GS_TRY(gs_input_next(f->in, &f->batch, &f->row));
	f->ended = !f->batch;
	return NULL;
}

struct gs_error *gs_session_next(struct gs_session *s, struct gs_event *ev, bool *more)
{
	for (;;) {
		struct gs_file *best = NULL;
		uint64_t best_ns = 0;

		if (ev->file && ev->batch && ev->file->batch)
			ev->file->batch = NULL;
		for (size_t i = 0; i < s->nfiles; i++) {
			struct gs_file *f = s->files[i];
			uint64_t ns;

			if (!f->batch && !f->ended)
				GS_TRY(file_advance(f));
			if (f->ended)
				continue;
			/* Ordered as signed: a clock may be before 1970, and wraps must not. */
			ns = (f->batch->time[f->row] + (uint64_t)f->to_unix_ns) ^ (1ull << 63);
			if (!best || ns < best_ns) {
				best = f;
				best_ns = ns;
			}
		}
		*more = best != NULL;
		if (!best)
			return NULL;
		event_at(ev, best, best->batch, best->row);
		if (gs_session_selects(s, ev->probe->name))
			return NULL;
	}
}

struct gs_error *gs_session_each(struct gs_session *s, bool (*each)(void *ctx, struct gs_event *ev),
				 void *ctx)
{
	struct gs_event ev = {0};

	for (size_t i = 0; i < s->nfiles; i++) {
		struct gs_file *f = s->files[i];
		struct gs_batch *b;

		for (;;) {
			GS_TRY(gs_input_next_batch(f->in, &b));
			if (!b)
				break;
			for (uint32_t row = 0; row < b->nrows; row++) {
				event_at(&ev, f, b, row);
				if (gs_session_selects(s, ev.probe->name) && !each(ctx, &ev))
					return NULL;
			}
		}
		f->ended = true;
	}
	return NULL;
}

const struct gs_meta_note *gs_event_note(const struct gs_event *ev, uint32_t item, uint64_t offset,
					 uint64_t size)
{
	if (!ev->site)
		return NULL;
	for (uint32_t i = 0; i < ev->site->nnotes; i++) {
		const struct gs_meta_note *n = &ev->site->notes[i];

		if (n->item == item && n->size && offset < (uint64_t)n->offset + n->size &&
		    n->offset < offset + size)
			return n;
	}
	return NULL;
}

static const char *reason_of(const struct gs_event *ev, uint32_t item, uint8_t status)
{
	for (uint32_t i = 0; ev->site && i < ev->site->nnotes; i++) {
		const struct gs_meta_note *n = &ev->site->notes[i];

		if (n->item == item && !n->size && n->status == status && n->reason && n->reason[0])
			return n->reason;
	}
	return NULL;
}

static void bad_column(struct gs_event *ev, struct gs_error *err, struct gs_value *out)
{
	if (!ev->file->bad_columns++)
		ev->file->bad_column = gs_strdup(gs_error_message(err));
	gs_error_free(err);
	out->status = GS_STATUS_UNAVAILABLE;
	out->reason = "in a damaged column";
}

void gs_event_item(struct gs_event *ev, uint32_t item, struct gs_value *out)
{
	const struct gs_meta_item *mi = &ev->view->schema.items[item];
	const struct gs_column *col;
	struct gs_error *err;
	uint32_t row = ev->schema_row;

	*out = (struct gs_value){
		.type = mi->type, .status = GS_STATUS_NOT_COLLECTED, .item = (int32_t)item};
	if (!ev->batch)
		return;
	err = gs_batch_column(ev->batch, ev->view->schema.id, item, &col);
	if (err) {
		bad_column(ev, err, out);
		return;
	}
	out->status = col->status[row];
	if (gs_status_has_data(out->status)) {
		out->data =
			col->data + (col->offset ? col->offset[row] : row * (uint64_t)col->size);
		out->len = col->offset ? col->offset[row + 1] - col->offset[row] : col->size;
	} else if (out->status == GS_STATUS_UNAVAILABLE) {
		out->reason = reason_of(ev, item, out->status);
	}
	if (out->status == GS_STATUS_FAULT && col->fault_address) {
		out->address = col->fault_address[row];
		out->has_address = true;
	}
}

const struct gs_meta_symbol *gs_event_symbol(const struct gs_event *ev, uint64_t address)
{
	const struct gs_meta *m = ev->file->meta;
	size_t lo = 0, hi = m->nsymbols;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct gs_meta_symbol *s = &m->symbols[mid];

		if (s->pid < ev->pid || (s->pid == ev->pid && s->address < address))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == m->nsymbols || m->symbols[lo].pid != ev->pid || m->symbols[lo].address != address)
		return NULL;
	return &m->symbols[lo];
}
