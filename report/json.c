/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON Lines: one object an event, statuses beside the values.
 * An output format behind render.h.
 */
#include "common/text.h"
#include "report/json_value.h"
#include "report/render.h"

struct json {
	struct gs_buf statuses, reasons, path; /* of the current event */
	bool overlap;			       /* its items' paths can come twice */
};

static struct gs_error *json_begin(struct gs_render *r)
{
	r->state = gs_calloc(1, sizeof(struct json));
	return NULL;
}

static void put_key(struct gs_buf *out, const char *key)
{
	if (out->len && out->data[out->len - 1] != '{')
		gs_buf_putc(out, ',');
	gs_json_put_string(out, key);
	gs_buf_putc(out, ':');
}

/* Whether the members of an object have KEY. Quotes in keys and words are escaped. */
static bool has_key(const struct gs_buf *members, const char *key)
{
	struct gs_buf quoted = {0};
	const uint8_t *at = members->data, *end = at + members->len;
	bool found = false;

	gs_json_put_string(&quoted, key);
	gs_buf_putc(&quoted, ':');
	while (!found && at < end &&
	       (at = memmem(at, (size_t)(end - at), quoted.data, quoted.len))) {
		found = at == members->data || at[-1] == ',';
		at++;
	}
	gs_buf_deinit(&quoted);
	return found;
}

static void on_mark(void *ctx, struct gs_walk *w, const struct gs_value *v)
{
	struct json *j = ctx;

	gs_buf_reset(&j->path);
	gs_walk_path(&j->path, w);
	if (j->overlap && has_key(&j->statuses, gs_buf_cstr(&j->path)))
		return;
	put_key(&j->statuses, gs_buf_cstr(&j->path));
	gs_json_put_string(&j->statuses, gs_status_name(v->status));
	if (v->status != GS_STATUS_UNAVAILABLE || !v->reason || !v->reason[0])
		return;
	put_key(&j->reasons, gs_buf_cstr(&j->path));
	gs_json_put_string(&j->reasons, v->reason);
}

static void put_head(struct gs_buf *out, enum gs_head_id id, const struct gs_event *ev)
{
	const struct gs_head *head = &gs_heads[id];
	const char *s;

	put_key(out, head->name);
	if (head->number) {
		gs_put_signed(out, head->number(ev));
		return;
	}
	s = head->string(ev);
	if (s[0] || id == GS_HEAD_COMM || id == GS_HEAD_PROBE)
		gs_json_put_string(out, s);
	else
		gs_buf_puts(out, "null");
}

static void put_heads(struct gs_render *r, struct gs_buf *out, const struct gs_event *ev)
{
	for (size_t i = 0; i < r->fields->n; i++) {
		const struct gs_field *f = &r->fields->list[i];

		if (f->kind == GS_FIELD_HEAD && f->head != GS_HEAD_STATUS)
			put_head(out, f->head, ev);
		/* Said of the sites that it holds for, right after the place. */
		if (f->kind == GS_FIELD_HEAD && f->head == GS_HEAD_SRC && !r->fields->chosen &&
		    gs_heads[GS_HEAD_INLINED_IN].string(ev)[0])
			put_head(out, GS_HEAD_INLINED_IN, ev);
	}
}

static void put_side(struct gs_buf *out, const char *key, struct gs_buf *members)
{
	if (!members->len)
		return;
	put_key(out, key);
	gs_buf_putc(out, '{');
	gs_buf_append(out, members->data, members->len);
	gs_buf_putc(out, '}');
}

static void json_event(struct gs_render *r, struct gs_event *ev)
{
	struct json *j = r->state;
	struct gs_buf *out = &r->out->buf;
	const struct gs_outs *outs = gs_fields_outs(r->fields, ev->view);
	struct gs_json_value value = {
		.out = out, .quote_big = r->opts.json_strings, .mark = on_mark, .mark_ctx = j};

	j->overlap = outs->overlap;
	gs_buf_reset(&j->statuses);
	gs_buf_reset(&j->reasons);
	gs_buf_putc(out, '{');
	put_heads(r, out, ev);
	if (r->fields->has_values) {
		put_key(out, "values");
		gs_buf_putc(out, '{');
		for (size_t i = 0; i < outs->n; i++) {
			struct gs_value v;

			gs_out_value(&outs->list[i], ev, &v);
			put_key(out, outs->list[i].key);
			gs_json_put_value(&value, ev, outs->list[i].key, &v);
		}
		gs_buf_putc(out, '}');
		put_side(out, "status", &j->statuses);
		put_side(out, "reason", &j->reasons);
	}
	gs_buf_append(out, "}\n", 2);
}

static void json_end(struct gs_render *r)
{
	struct json *j = r->state;

	gs_buf_deinit(&j->statuses);
	gs_buf_deinit(&j->reasons);
	gs_buf_deinit(&j->path);
	free(j);
}

const struct gs_renderer gs_json_renderer = {"json", json_begin, json_event, json_end};
