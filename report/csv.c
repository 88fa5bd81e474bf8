/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CSV (RFC 4180): the union of all reported probes' columns, decided before the first row, and
 * rows. An output format behind render.h.
 *
 * Columns come from walks over values that stand for all events of a schema; the walk of an event
 * visits the same leaves in the same order, so that leaf N of a view is column map[N].
 */
#include "report/csv_cell.h"

#include "common/text.h"
#include "report/names.h"
#include "report/render.h"

#define COLUMNS_MAX 16384u

/* What is listed of one probe's view: an item, or an expression. */
struct item {
	const char *key, *probe;
	char *type;
	size_t field;
	bool apart; /* its columns are named with the probe */
};

/* One leaf of an item, before names are final. */
struct leaf {
	char *path, *type;
	size_t item;
	unsigned again; /* so many leaves before it, of the same event, have the path too */
	uint32_t column;
};

/* The leaves of a probe with one of its views: a run of `leaves'. */
struct plan {
	const struct gs_file *file;
	uint32_t probe;
	const struct gs_view *view;
	size_t first, n, first_item;
	bool again; /* of some leaf */
};

struct column {
	char *name;
	size_t field;
};

struct csv {
	struct item *items;
	size_t nitems, items_cap;
	struct leaf *leaves;
	size_t nleaves, leaves_cap;
	struct plan *plans;
	size_t nplans, plans_cap, last_plan;
	struct column *columns; /* of values */
	size_t ncolumns, columns_cap;
	struct gs_csv_cells cells; /* of the current row, by column; then heads */
	bool overflow;
	uint64_t unplanned; /* events of probes that a pipe brought after the header */
	uint64_t misfits;   /* events whose leaves are not those of their plan */
};

/* ---- the columns ---- */

/* What the leaf callbacks of both walks know. */
struct visit {
	struct csv *csv;
	struct gs_render *render;
	const struct plan *plan;
	size_t next, end; /* leaves of the event's plan */
};

/* Types compare as they are printed: those of several files have nothing else in common. */
static char *print_type(const struct gs_types *types, gs_type_id type)
{
	struct gs_buf text = {0};

	gs_type_print(&text, types, gs_type_strip(types, type), NULL);
	return gs_buf_cstr(&text);
}

static void add_leaf(struct gs_walk *w, gs_type_id type)
{
	struct visit *visit = w->ctx;
	struct csv *c = visit->csv;
	struct gs_buf text = {0};
	struct leaf *leaf;

	if (c->nleaves >= COLUMNS_MAX) {
		c->overflow = true;
		w->budget = 1;
		return;
	}
	leaf = GS_PUSH(c->leaves, c->nleaves, c->leaves_cap);
	gs_walk_path(&text, w);
	*leaf = (struct leaf){.path = gs_buf_cstr(&text),
			      .type = print_type(w->event->source.types, type),
			      .item = c->nitems - 1};
}

static void plan_leaf(struct gs_walk *w, const struct gs_leaf *leaf)
{
	add_leaf(w, leaf->value->type);
}

static void plan_cell(struct gs_walk *w, const struct gs_value *v)
{
	add_leaf(w, v->type);
}

static void plan_open(struct gs_walk *w, const struct gs_node *node)
{
	if (node->kind == GS_NODE_FOLLOWED)
		add_leaf(w, node->value->type);
}

static void no_node(struct gs_walk *w, const struct gs_node *node)
{
}
static void no_member(struct gs_walk *w, const struct gs_member *m, const char *name)
{
}
static void no_number(struct gs_walk *w, uint64_t n)
{
}

static const struct gs_walk_ops plan_ops = {
	.leaf = plan_leaf,
	.open = plan_open,
	.close = no_node,
	.member = no_member,
	.element = no_number,
	.repeats = no_number,
	.cell = plan_cell,
};

static void walk_out(const struct gs_walk_ops *ops, struct visit *visit, struct gs_event *ev,
		     const struct gs_out *o)
{
	struct gs_value v;
	struct gs_walk w;

	w.ops = ops;
	w.ctx = visit;
	w.event = ev;
	w.flags = GS_WALK_FLATTEN | GS_WALK_EXPAND;
	w.element_limit = 0;
	gs_event_item(ev, (uint32_t)o->item, &v);
	gs_walk_value(&w, o->key, &v);
}

/* An expression is one column, whatever its type. */
static void plan_query(struct visit *visit, struct gs_event *ev, const struct gs_out *o)
{
	struct gs_walk w = {.event = ev, .ctx = visit, .npath = 1};

	w.path[0].name = o->key;
	add_leaf(&w, gs_query_for(o->query, ev->view)->type);
}

static void find_repeats(struct csv *c, struct plan *plan)
{
	struct gs_map seen = {0};

	for (size_t i = plan->first; i < plan->first + plan->n; i++) {
		struct leaf *leaf = &c->leaves[i];
		uint64_t *times = gs_map_put(&seen, leaf->path, strlen(leaf->path), 0, NULL);

		leaf->again = (unsigned)(*times)++;
		plan->again |= leaf->again > 0;
	}
	gs_map_deinit(&seen);
}

static void plan_view(struct gs_render *r, struct gs_file *f, uint32_t probe, struct gs_view *view)
{
	struct csv *c = r->state;
	struct plan *plan = GS_PUSH(c->plans, c->nplans, c->plans_cap);
	const struct gs_outs *outs = gs_fields_outs(r->fields, view);
	struct visit visit = {.csv = c, .render = r};
	struct gs_event ev;

	*plan = (struct plan){.file = f,
			      .probe = probe,
			      .view = view,
			      .first = c->nleaves,
			      .first_item = c->nitems};
	gs_event_static(view, &ev);
	for (size_t i = 0; i < outs->n; i++) {
		const struct gs_out *o = &outs->list[i];
		gs_type_id type = o->item >= 0 ? view->schema.items[o->item].type
					       : gs_query_for(o->query, view)->type;

		*GS_PUSH(c->items, c->nitems, c->items_cap) =
			(struct item){.key = o->key,
				      .probe = f->meta->probes[probe].name,
				      .type = print_type(ev.source.types, type),
				      .field = o->field};
		if (o->item >= 0)
			walk_out(&plan_ops, &visit, &ev, o);
		else
			plan_query(&visit, &ev, o);
	}
	plan->n = c->nleaves - plan->first;
	find_repeats(c, plan);
}

static bool is_planned(const struct csv *c, const struct gs_file *f, uint32_t probe,
		       const struct gs_view *view)
{
	for (size_t i = 0; i < c->nplans; i++)
		if (c->plans[i].file == f && c->plans[i].probe == probe && c->plans[i].view == view)
			return true;
	return false;
}

static void plan_file(struct gs_render *r, struct gs_file *f)
{
	for (uint32_t p = 0; p < f->meta->nprobes; p++) {
		if (!gs_session_selects(r->session, f->meta->probes[p].name))
			continue;
		for (size_t s = 0; s < f->meta->nsites; s++) {
			const struct gs_meta_site *site = &f->meta->sites[s];
			struct gs_view *view;

			if (site->probe != p)
				continue;
			view = gs_file_view(f, site->schema);
			if (!is_planned(r->state, f, p, view))
				plan_view(r, f, p, view);
		}
	}
}

/* The columns that a listing has by default are taken even where others were chosen. */
static bool is_head_name(const struct gs_render *r, const char *path)
{
	for (unsigned h = 0; h < GS_HEAD_COUNT; h++)
		if (h != GS_HEAD_ADDR && h != GS_HEAD_INLINED_IN &&
		    strcmp(path, gs_heads[h].name) == 0)
			return true;
	for (size_t i = 0; i < r->fields->n; i++)
		if (r->fields->list[i].kind == GS_FIELD_HEAD &&
		    strcmp(path, gs_heads[r->fields->list[i].head].name) == 0)
			return true;
	return false;
}

static bool differ(const struct item *a, const char *a_type, const struct item *b,
		   const char *b_type)
{
	return strcmp(a_type, b_type) != 0 && strcmp(a->probe, b->probe) != 0;
}

/* One leaf that clashes takes its whole item along: half of a structure apart would be hard to use.
 */
static void find_clashes(const struct gs_render *r, struct csv *c)
{
	struct gs_map keys = {0}, paths = {0};
	bool fresh;

	for (size_t i = 0; i < c->nleaves; i++) {
		struct leaf *leaf = &c->leaves[i];
		struct item *item = &c->items[leaf->item], *other;
		size_t at = (size_t)*gs_map_put(&paths, leaf->path, strlen(leaf->path), i, NULL);

		other = &c->items[c->leaves[at].item];
		if (is_head_name(r, leaf->path))
			item->apart = true;
		if (differ(other, c->leaves[at].type, item, leaf->type))
			item->apart = other->apart = true;
	}
	for (size_t i = 0; i < c->nitems; i++) {
		struct item *item = &c->items[i], *first;

		first = &c->items[*gs_map_put(&keys, item->key, strlen(item->key), i, &fresh)];
		first->apart |= item->apart || differ(first, first->type, item, item->type);
	}
	for (size_t i = 0; i < c->nitems; i++)
		c->items[i].apart =
			c->items[*gs_map_get(&keys, c->items[i].key, strlen(c->items[i].key))]
				.apart;
	gs_map_deinit(&keys);
	gs_map_deinit(&paths);
}

/* A name that is there already, as when `p' and `p.x' were captured, gets #2. */
static void number_columns(struct csv *c)
{
	struct gs_map seen = {0};

	for (size_t i = 0; i < c->ncolumns; i++) {
		struct gs_buf numbered = {0};
		const char *name = gs_name_apart(&seen, c->columns[i].name, &numbered);

		if (name != c->columns[i].name) {
			free(c->columns[i].name);
			c->columns[i].name = gs_strdup(name);
		}
		gs_buf_deinit(&numbered);
	}
	gs_map_deinit(&seen);
}

static void make_columns(const struct gs_render *r, struct csv *c)
{
	struct gs_map names = {0};

	find_clashes(r, c);
	for (size_t i = 0; i < c->nleaves; i++) {
		struct leaf *leaf = &c->leaves[i];
		const struct item *item = &c->items[leaf->item];
		char *name = item->apart ? gs_asprintf("%s:%s", item->probe, leaf->path)
					 : gs_strdup(leaf->path);
		char *key = gs_asprintf("%zu %u %s", item->field, leaf->again, name);
		bool fresh;

		leaf->column = (uint32_t)*gs_map_put(&names, key, strlen(key), c->ncolumns, &fresh);
		free(key);
		if (fresh)
			*GS_PUSH(c->columns, c->ncolumns, c->columns_cap) =
				(struct column){.name = name, .field = item->field};
		else
			free(name);
	}
	number_columns(c);
	gs_map_deinit(&names);
}

/* ---- writing lines ---- */

/* Calls EACH with every column of the output in order: a head, or column V of the values. */
static void put_line(struct gs_render *r,
		     void (*each)(struct gs_render *r, const struct gs_field *f, size_t v))
{
	struct csv *c = r->state;
	struct gs_buf *out = &r->out->buf;
	size_t n = 0;

	for (size_t i = 0; i < r->fields->n; i++) {
		const struct gs_field *f = &r->fields->list[i];

		if (f->kind == GS_FIELD_HEAD) {
			if (n++)
				gs_buf_putc(out, ',');
			each(r, f, 0);
			continue;
		}
		for (size_t v = 0; v < c->ncolumns; v++) {
			if (c->columns[v].field != i)
				continue;
			if (n++)
				gs_buf_putc(out, ',');
			each(r, f, v);
		}
	}
	gs_buf_append(out, "\r\n", 2);
}

static void put_title(struct gs_render *r, const struct gs_field *f, size_t v)
{
	const struct csv *c = r->state;
	const char *name = f->kind == GS_FIELD_HEAD ? gs_heads[f->head].name : c->columns[v].name;

	gs_csv_put_text(&r->out->buf, name, strlen(name), !r->opts.no_guard);
}

static struct gs_error *csv_begin(struct gs_render *r)
{
	struct csv *c = gs_calloc(1, sizeof(*c));

	r->state = c;
	for (size_t i = 0; i < r->session->nfiles; i++)
		plan_file(r, r->session->files[i]);
	if (c->overflow)
		return gs_error_hint(
			gs_error_new(GS_ERR_LIMIT, "more than %u columns in CSV", COLUMNS_MAX),
			"choose some with --probe or --fields, or use --json");
	make_columns(r, c);
	gs_csv_cells_init(&c->cells, c->ncolumns);
	put_line(r, put_title);
	return NULL;
}

/* ---- events ---- */

static bool next_cell(struct gs_walk *w)
{
	struct visit *visit = w->ctx;
	struct csv *c = visit->csv;

	if (visit->next >= visit->end)
		return false;
	gs_csv_cell_begin(&c->cells, c->leaves[visit->next++].column);
	return true;
}

static void event_leaf(struct gs_walk *w, const struct gs_leaf *leaf)
{
	struct visit *visit = w->ctx;

	if (next_cell(w))
		gs_csv_cell_leaf(&visit->csv->cells, w->event, leaf, !visit->render->opts.no_guard);
}

static void event_open(struct gs_walk *w, const struct gs_node *node)
{
	if (node->kind == GS_NODE_FOLLOWED)
		event_leaf(w, node->leaf);
}

/* Of a leaf whose path is also another's, the mark has the number that the column has. */
static unsigned times_before(const struct visit *visit, const struct gs_walk *w)
{
	struct gs_buf path = {0};
	unsigned again = 0;

	if (!visit->plan->again || visit->next >= visit->end)
		return 0;
	gs_walk_path(&path, w);
	if (strcmp(gs_buf_cstr(&path), visit->csv->leaves[visit->next].path) == 0)
		again = visit->csv->leaves[visit->next].again;
	gs_buf_deinit(&path);
	return again;
}

static void event_mark(struct gs_walk *w, const struct gs_value *v)
{
	struct visit *visit = w->ctx;

	gs_csv_mark(&visit->csv->cells, w, v, times_before(visit, w));
}

static void json_mark(void *ctx, struct gs_walk *w, const struct gs_value *v)
{
	gs_csv_mark(ctx, w, v, 0);
}

static void put_json(struct visit *visit, struct gs_event *ev, const char *key,
		     const struct gs_value *v)
{
	struct gs_csv_cells *cells = &visit->csv->cells;
	struct gs_buf text = {0};
	struct gs_json_value j = {.out = &text,
				  .quote_big = visit->render->opts.json_strings,
				  .mark = json_mark,
				  .mark_ctx = cells};

	if (!gs_status_has_data(v->status))
		return;
	gs_json_put_value(&j, ev, key, v);
	gs_csv_put_text(&cells->text, text.data, text.len, false);
	gs_buf_deinit(&text);
}

static void event_cell(struct gs_walk *w, const struct gs_value *v)
{
	struct gs_buf path = {0};
	struct gs_value part = *v;

	if (!next_cell(w))
		return;
	gs_walk_path(&path, w);
	/* That it is cut was marked by the walk; the JSON walk would say it again. */
	if (gs_status_has_data(part.status))
		part.status = GS_STATUS_OK;
	put_json(w->ctx, w->event, gs_buf_cstr(&path), &part);
	gs_buf_deinit(&path);
}

static const struct gs_walk_ops event_ops = {
	.leaf = event_leaf,
	.open = event_open,
	.close = no_node,
	.member = no_member,
	.element = no_number,
	.repeats = no_number,
	.cell = event_cell,
	.mark = event_mark,
};

static void put_query(struct visit *visit, struct gs_event *ev, const struct gs_out *o)
{
	struct gs_walk w = {.event = ev, .ctx = visit, .npath = 1};
	struct gs_leaf leaf;
	struct gs_value v;

	w.path[0].name = o->key;
	gs_out_value(o, ev, &v);
	if (!next_cell(&w))
		return;
	if (!gs_leaf_of(ev, 0, &v, &leaf)) {
		put_json(visit, ev, o->key, &v);
		return;
	}
	if (leaf.value->status != GS_STATUS_OK)
		gs_csv_mark(&visit->csv->cells, &w, leaf.value, 0);
	gs_csv_cell_leaf(&visit->csv->cells, ev, &leaf, !visit->render->opts.no_guard);
}

static const struct plan *plan_of(struct csv *c, const struct gs_event *ev)
{
	for (size_t i = 0; i < c->nplans; i++) {
		size_t at = (c->last_plan + i) % c->nplans;
		const struct plan *p = &c->plans[at];

		if (p->view == ev->view && p->probe == ev->site->probe && p->file == ev->file) {
			c->last_plan = at;
			return p;
		}
	}
	return NULL;
}

static void put_head(struct gs_render *r, const struct gs_event *ev, enum gs_head_id id)
{
	struct csv *c = r->state;
	struct gs_buf *out = &r->out->buf;
	const char *s;

	if (id == GS_HEAD_STATUS) {
		if (c->cells.status.len)
			gs_csv_put_text(out, c->cells.status.data, c->cells.status.len,
					!r->opts.no_guard);
	} else if (gs_heads[id].number) {
		gs_put_signed(out, gs_heads[id].number(ev));
	} else {
		s = gs_heads[id].string(ev);
		if (s[0] || id == GS_HEAD_COMM)
			gs_csv_put_text(out, s, strlen(s), !r->opts.no_guard);
	}
}

static _Thread_local const struct gs_event *line_event;

static void put_cell(struct gs_render *r, const struct gs_field *f, size_t v)
{
	struct csv *c = r->state;

	if (f->kind == GS_FIELD_HEAD)
		put_head(r, line_event, f->head);
	else
		gs_csv_cell_copy(&r->out->buf, &c->cells, v);
}

/*
 * Whether the walk of the plan's items up to this one came out at its last leaf. Values under
 * another's heading would be worse than none: the two walks are checked against each other.
 */
static bool fits(const struct visit *visit, size_t item)
{
	const struct leaf *leaves = visit->csv->leaves;

	return (visit->next == visit->end || leaves[visit->next].item > item) &&
	       (visit->next == visit->plan->first || leaves[visit->next - 1].item <= item);
}

static bool fill_cells(struct visit *visit, struct gs_event *ev)
{
	const struct gs_outs *outs = gs_fields_outs(visit->render->fields, ev->view);

	for (size_t i = 0; i < outs->n; i++) {
		if (outs->list[i].item >= 0)
			walk_out(&event_ops, visit, ev, &outs->list[i]);
		else
			put_query(visit, ev, &outs->list[i]);
		if (!fits(visit, visit->plan->first_item + i))
			return false;
	}
	gs_csv_cell_end(&visit->csv->cells);
	return true;
}

static void csv_event(struct gs_render *r, struct gs_event *ev)
{
	struct csv *c = r->state;
	const struct plan *plan = plan_of(c, ev);
	struct visit visit = {.csv = c, .render = r, .plan = plan};

	gs_csv_cells_reset(&c->cells);
	if (plan) {
		visit.next = plan->first;
		visit.end = plan->first + plan->n;
		if (!fill_cells(&visit, ev)) {
			c->misfits++;
			gs_csv_cells_reset(&c->cells);
		}
	} else {
		c->unplanned++;
	}
	line_event = ev;
	put_line(r, put_cell);
}

static void csv_end(struct gs_render *r)
{
	struct csv *c = r->state;

	if (c->unplanned)
		fprintf(stderr,
			"gs-report: %llu events of probes that came after the header are shown "
			"without their values: report the file, or use --json\n",
			(unsigned long long)c->unplanned);
	if (c->misfits)
		fprintf(stderr,
			"gs-report: %llu events do not fit the columns and are shown without their "
			"values: use --json\n",
			(unsigned long long)c->misfits);
	for (size_t i = 0; i < c->nleaves; i++) {
		free(c->leaves[i].path);
		free(c->leaves[i].type);
	}
	for (size_t i = 0; i < c->nitems; i++)
		free(c->items[i].type);
	for (size_t i = 0; i < c->ncolumns; i++)
		free(c->columns[i].name);
	free(c->items);
	gs_csv_cells_deinit(&c->cells);
	free(c->leaves);
	free(c->plans);
	free(c->columns);
	free(c);
}

const struct gs_renderer gs_csv_renderer = {"csv", csv_begin, csv_event, csv_end};
