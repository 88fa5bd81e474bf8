/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a listing shows: head columns (a table), captured items, and expressions, in order.
 * Between the command line and the renderers.
 */
#include "report/fields.h"

#include "report/names.h"

/* ---- the table of head columns ---- */

static int64_t head_ts(const struct gs_event *ev)
{
	return ev->ts_ns;
}
static int64_t head_cpu(const struct gs_event *ev)
{
	return ev->cpu;
}
static int64_t head_pid(const struct gs_event *ev)
{
	return ev->pid;
}
static int64_t head_tid(const struct gs_event *ev)
{
	return ev->tid;
}
static const char *head_comm(const struct gs_event *ev)
{
	return ev->comm;
}
static const char *head_probe(const struct gs_event *ev)
{
	return ev->probe->name;
}
static const char *head_func(const struct gs_event *ev)
{
	return ev->site->func;
}
static const char *head_src(const struct gs_event *ev)
{
	return ev->site->file[0] && ev->site->line ? gs_event_place(ev) : "";
}
static const char *head_addr(const struct gs_event *ev)
{
	static _Thread_local char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)ev->site->link_addr);
	return text;
}
static const char *head_inlined_in(const struct gs_event *ev)
{
	return ev->site->flags & GS_SITE_INLINED ? ev->site->inlined_in : "";
}

const struct gs_head gs_heads[GS_HEAD_COUNT] = {
	[GS_HEAD_TS] = {"ts", head_ts, NULL},
	[GS_HEAD_CPU] = {"cpu", head_cpu, NULL},
	[GS_HEAD_PID] = {"pid", head_pid, NULL},
	[GS_HEAD_TID] = {"tid", head_tid, NULL},
	[GS_HEAD_COMM] = {"comm", NULL, head_comm},
	[GS_HEAD_PROBE] = {"probe", NULL, head_probe},
	[GS_HEAD_FUNC] = {"func", NULL, head_func},
	[GS_HEAD_SRC] = {"src", NULL, head_src},
	[GS_HEAD_ADDR] = {"addr", NULL, head_addr},
	[GS_HEAD_INLINED_IN] = {"inlined_in", NULL, head_inlined_in},
	[GS_HEAD_STATUS] = {"status", NULL, NULL},
};

/* ---- the list ---- */

static void add(struct gs_fields *f, enum gs_field_kind kind, enum gs_head_id head,
		struct gs_query *query)
{
	struct gs_field *field = GS_PUSH(f->list, f->n, f->cap);

	*field = (struct gs_field){.kind = kind, .head = head, .query = query};
	f->has_values |= kind != GS_FIELD_HEAD;
}

static struct gs_error *add_once(struct gs_fields *f, enum gs_field_kind kind, enum gs_head_id head,
				 const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->list[i].kind == kind && f->list[i].head == head)
			return gs_error_new(GS_ERR_USAGE, "--fields: `%s' is there twice", name);
	add(f, kind, head, NULL);
	return NULL;
}

/* Takes Q, when there is no error. */
static struct gs_error *add_query(struct gs_fields *f, struct gs_query *q)
{
	for (unsigned h = 0; h < GS_HEAD_COUNT; h++)
		if (strcmp(q->text, gs_heads[h].name) == 0) {
			GS_TRY(add_once(f, GS_FIELD_HEAD, (enum gs_head_id)h, q->text));
			gs_query_free(q);
			return NULL;
		}
	if (strcmp(q->text, "values") == 0) {
		GS_TRY(add_once(f, GS_FIELD_ALL, 0, q->text));
		gs_query_free(q);
		return NULL;
	}
	add(f, GS_FIELD_VALUE, 0, q);
	return NULL;
}

struct gs_error *gs_fields_init(struct gs_fields *f, const char *text, bool addr)
{
	struct gs_query **list = NULL;
	struct gs_error *err;
	size_t n = 0, cap = 0;

	*f = (struct gs_fields){.chosen = text != NULL};
	if (!text) {
		for (unsigned h = 0; h < GS_HEAD_COUNT; h++)
			if (h != GS_HEAD_INLINED_IN && (h != GS_HEAD_ADDR || addr))
				add(f, GS_FIELD_HEAD, (enum gs_head_id)h, NULL);
		add(f, GS_FIELD_ALL, 0, NULL);
		return NULL;
	}
	err = gs_query_parse("--fields", text, &list, &n, &cap);
	for (size_t i = 0; i < n; i++) {
		if (!err)
			err = add_query(f, list[i]);
		if (err)
			gs_query_free(list[i]);
	}
	free(list);
	return err;
}

/* An item whose key is the field as written; keys need not be expressions of this schema. */
static int32_t item_of_key(const struct gs_view *v, const char *key)
{
	for (uint32_t i = 0; i < v->schema.nitems; i++)
		if (v->keys[i] && strcmp(v->keys[i], key) == 0)
			return (int32_t)i;
	return -1;
}

struct gs_error *gs_fields_bind(struct gs_fields *f, struct gs_session *s)
{
	for (size_t i = 0; i < f->n; i++) {
		bool found = false;

		if (f->list[i].kind != GS_FIELD_VALUE)
			continue;
		for (size_t k = 0; k < s->nfiles; k++)
			for (size_t j = 0; j < s->files[k]->nviews; j++)
				found |= s->files[k]->views[j] &&
					 item_of_key(s->files[k]->views[j],
						     f->list[i].query->text) >= 0;
		if (!found)
			GS_TRY(gs_query_bind(f->list[i].query, s));
	}
	return NULL;
}

void gs_fields_deinit(struct gs_fields *f)
{
	for (size_t i = 0; i < f->n; i++)
		gs_query_free(f->list[i].query);
	for (size_t i = 0; i < f->nouts; i++)
		free(f->outs[i].list);
	free(f->outs);
	free(f->list);
	*f = (struct gs_fields){0};
}

static bool is_part_of(const char *key, const char *whole)
{
	size_t n = strlen(whole);

	return strncmp(key, whole, n) == 0 && (key[n] == '.' || key[n] == '[');
}

/* Keys that are there twice are told apart; paths that may be are known to the renderers. */
static void finish_outs(struct gs_outs *outs, struct gs_arena *arena)
{
	struct gs_map seen = {0};

	for (size_t i = 0; i < outs->n; i++) {
		struct gs_buf numbered = {0};
		const char *key = gs_name_apart(&seen, outs->list[i].key, &numbered);

		if (key != outs->list[i].key)
			outs->list[i].key = gs_arena_strdup(arena, key);
		gs_buf_deinit(&numbered);
	}
	for (size_t i = 0; i < outs->n; i++)
		for (size_t k = 0; k < outs->n; k++)
			outs->overlap |= is_part_of(outs->list[i].key, outs->list[k].key);
	gs_map_deinit(&seen);
}

static void make_outs(struct gs_fields *f, struct gs_view *v, struct gs_outs *outs)
{
	size_t cap = 0;

	outs->made = true;
	for (size_t i = 0; i < f->n; i++) {
		struct gs_query *q = f->list[i].query;
		int32_t item = -1;

		if (f->list[i].kind == GS_FIELD_ALL)
			for (uint32_t k = 0; k < v->schema.nitems; k++)
				if (v->keys[k])
					*GS_PUSH(outs->list, outs->n, cap) = (struct gs_out){
						.key = v->keys[k], .item = (int32_t)k, .field = i};
		if (f->list[i].kind != GS_FIELD_VALUE)
			continue;
		item = item_of_key(v, q->text);
		if (item >= 0 || gs_query_for(q, v))
			*GS_PUSH(outs->list, outs->n, cap) = (struct gs_out){
				.key = q->text, .item = item, .query = q, .field = i};
	}
	finish_outs(outs, &v->file->session->arena);
}

const struct gs_outs *gs_fields_outs(struct gs_fields *f, struct gs_view *v)
{
	if (v->serial >= f->nouts) {
		size_t n = v->serial + 1;

		f->outs = gs_grow(f->outs, &f->outs_cap, n, sizeof(*f->outs));
		memset(f->outs + f->nouts, 0, (n - f->nouts) * sizeof(*f->outs));
		f->nouts = n;
	}
	if (!f->outs[v->serial].made)
		make_outs(f, v, &f->outs[v->serial]);
	return &f->outs[v->serial];
}

void gs_out_value(const struct gs_out *o, struct gs_event *ev, struct gs_value *v)
{
	if (o->item >= 0) {
		gs_event_item(ev, (uint32_t)o->item, v);
		return;
	}
	*v = (struct gs_value){.item = -1, .status = GS_STATUS_NOT_COLLECTED};
	gs_query_eval(o->query, ev, v);
	/* An absent operand may have left no type; the renderers want one. */
	if (v->type == GS_TYPE_VOID)
		v->type = gs_query_for(o->query, ev->view)->type;
}
