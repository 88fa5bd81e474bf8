/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text listing: one line an event, values in GDB's notation.
 * An output format behind render.h.
 */
#include "common/text.h"
#include "report/render.h"
#include "report/text_value.h"

struct text {
	/* The last event's file and probe, and whether that probe has several sites. */
	const struct gs_file *file;
	uint32_t probe;
	size_t nsites;
	bool several;
	bool addr;
};

/* Whether the site must be named: its probe alone does not tell the place. */
static bool is_one_of_several(struct text *t, const struct gs_event *ev)
{
	const struct gs_meta *m = ev->file->meta;
	size_t sites = 0;

	if (t->file == ev->file && t->probe == ev->site->probe && t->nsites == m->nsites)
		return t->several;
	for (size_t i = 0; i < m->nsites && sites < 2; i++)
		sites += m->sites[i].probe == ev->site->probe;
	*t = (struct text){.file = ev->file,
			   .probe = ev->site->probe,
			   .nsites = m->nsites,
			   .several = sites > 1,
			   .addr = t->addr};
	return t->several;
}

static struct gs_error *text_begin(struct gs_render *r)
{
	struct text *t = gs_calloc(1, sizeof(*t));

	for (size_t i = 0; i < r->fields->n; i++)
		t->addr |= r->fields->list[i].kind == GS_FIELD_HEAD &&
			   r->fields->list[i].head == GS_HEAD_ADDR;
	r->state = t;
	return NULL;
}

static void put_escaped(struct gs_buf *out, const char *s)
{
	gs_escape(out, s, strlen(s), GS_ESCAPE_PLAIN);
}

static void put_place(struct gs_buf *out, const struct gs_event *ev)
{
	const struct gs_meta_site *s = ev->site;
	const char *src = gs_heads[GS_HEAD_SRC].string(ev);

	gs_buf_puts(out, " (");
	put_escaped(out, s->func[0] ? s->func : "?");
	gs_buf_putc(out, ' ');
	put_escaped(out, src[0] ? src : gs_heads[GS_HEAD_ADDR].string(ev));
	if (s->flags & GS_SITE_INLINED) {
		gs_buf_puts(out, ", inlined in ");
		put_escaped(out, s->inlined_in[0] ? s->inlined_in : "?");
	}
	gs_buf_putc(out, ')');
}

/* Time is right-aligned to what a day's recording needs; the rest follows at single spaces. */
static void put_time(struct gs_buf *out, int64_t ns)
{
	size_t at = out->len, n;

	gs_put_seconds(out, ns);
	n = out->len - at;
	if (n >= 15)
		return;
	gs_buf_reserve(out, 15);
	memmove(out->data + at + 15 - n, out->data + at, n);
	memset(out->data + at, ' ', 15 - n);
	out->len = at + 15;
}

static void put_default_heads(struct gs_render *r, struct gs_buf *out, const struct gs_event *ev)
{
	struct text *t = r->state;

	put_time(out, ev->ts_ns);
	gs_buf_puts(out, ev->cpu < 10 ? " [00" : ev->cpu < 100 ? " [0" : " [");
	gs_put_decimal(out, ev->cpu);
	gs_buf_puts(out, "] ");
	gs_put_decimal(out, ev->pid);
	gs_buf_putc(out, '/');
	gs_put_decimal(out, ev->tid);
	gs_buf_putc(out, ' ');
	put_escaped(out, ev->comm);
	gs_buf_putc(out, ' ');
	put_escaped(out, ev->probe->name);
	if (is_one_of_several(t, ev))
		put_place(out, ev);
	if (t->addr) {
		gs_buf_puts(out, " at ");
		gs_buf_puts(out, gs_heads[GS_HEAD_ADDR].string(ev));
	}
	gs_buf_putc(out, ':');
}

static void put_head(struct gs_buf *out, enum gs_head_id id, const struct gs_event *ev)
{
	const char *s;

	if (id == GS_HEAD_TS) {
		gs_put_seconds(out, ev->ts_ns);
	} else if (gs_heads[id].number) {
		gs_put_signed(out, gs_heads[id].number(ev));
	} else if (gs_heads[id].string) {
		s = gs_heads[id].string(ev);
		put_escaped(out, s[0] ? s : "-");
	}
}

static void put_values(struct gs_render *r, struct gs_buf *out, struct gs_event *ev, size_t field,
		       bool all)
{
	const struct gs_outs *outs = gs_fields_outs(r->fields, ev->view);
	const char *before = "";

	for (size_t i = 0; i < outs->n; i++) {
		const struct gs_out *o = &outs->list[i];
		struct gs_value v;

		if (!all && o->field != field)
			continue;
		gs_out_value(o, ev, &v);
		gs_buf_puts(out, before);
		put_escaped(out, o->key);
		gs_buf_append(out, " = ", 3);
		gs_text_put_value(out, ev, o->key, &v);
		before = ", ";
	}
}

static void text_event(struct gs_render *r, struct gs_event *ev)
{
	struct gs_buf *out = &r->out->buf;
	size_t start = out->len;

	if (!r->fields->chosen) {
		put_default_heads(r, out, ev);
		gs_buf_putc(out, ' ');
		put_values(r, out, ev, 0, true);
		if (out->data[out->len - 1] == ' ')
			out->len--;
	}
	for (size_t i = 0; i < r->fields->n && r->fields->chosen; i++) {
		const struct gs_field *f = &r->fields->list[i];
		size_t before;

		if (f->kind == GS_FIELD_HEAD && f->head == GS_HEAD_STATUS)
			continue;
		if (out->len > start)
			gs_buf_putc(out, ' ');
		before = out->len;
		if (f->kind == GS_FIELD_HEAD)
			put_head(out, f->head, ev);
		else
			put_values(r, out, ev, i, false);
		if (out->len == before && before > start)
			out->len--;
	}
	gs_buf_putc(out, '\n');
}

static void text_end(struct gs_render *r)
{
	free(r->state);
}

const struct gs_renderer gs_text_renderer = {"text", text_begin, text_event, text_end};
