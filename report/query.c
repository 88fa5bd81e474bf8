/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expressions of the command line over captured items: parsed once, compiled per schema, evaluated
 * per event. Between the event sequence and filters, aggregates and selected fields.
 */
#include "report/query.h"

#include "common/text.h"
#include "report/output.h"
#include "report/query_scope.h"
#include "report/view.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static struct gs_query *query_new(const char *option, const char *source, size_t start, size_t end)
{
	struct gs_query *q = gs_calloc(1, sizeof(*q));

	while (start < end && is_blank(source[start]))
		start++;
	while (end > start && is_blank(source[end - 1]))
		end--;
	gs_arena_init(&q->arena);
	q->option = option;
	q->is_condition = strcmp(option, "--where") == 0;
	q->source = gs_strdup(source);
	q->start = start;
	q->text = gs_strndup(source + start, end - start);
	return q;
}

struct gs_error *gs_query_parse(const char *option, const char *argument, struct gs_query ***list,
				size_t *n, size_t *cap)
{
	size_t start = 0, len = strlen(argument);

	do {
		struct gs_arena arena = {0};
		struct gs_expr *e;
		size_t stop = 0;
		struct gs_error *err = gs_expr_parse(&arena, argument, start, NULL, &stop, &e);

		gs_arena_deinit(&arena);
		if (!err && stop < len && argument[stop] != ',')
			err = gs_error_at(
				gs_error_new(GS_ERR_USAGE, "unexpected `%c'", argument[stop]),
				argument, stop, 1);
		if (err)
			return gs_error_wrap(err, "%s", option);
		*list = gs_grow(*list, cap, *n + 1, sizeof(**list));
		(*list)[(*n)++] = query_new(option, argument, start, stop < len ? stop : len);
		start = stop + 1;
	} while (start <= len);
	return NULL;
}

void gs_query_free(struct gs_query *q)
{
	if (!q)
		return;
	gs_arena_deinit(&q->arena);
	gs_error_free(q->first_error);
	free(q->missing);
	free(q->bound);
	free(q->text);
	free(q->source);
	free(q);
}

/* ---- compiling for a view ---- */

/*
 * Bytes of an item that E looks at, when E is the item, or members and constant elements of it.
 * False: it is something else.
 */
static bool range_of(const struct gs_view *v, const struct gs_expr *e, struct gs_operand *op)
{
	const struct gs_types *types = v->file->meta->types;

	if (e->kind == GS_EXPR_NAME && gs_binding_is_item(e->binding)) {
		op->item = (uint32_t)e->binding;
		op->offset = 0;
		op->size = gs_type_size(types, v->schema.items[op->item].type);
		if (op->size == 0)
			op->size = UINT32_MAX;
		return true;
	}
	if (e->kind == GS_EXPR_MEMBER && !e->arrow && !e->virtual_base && range_of(v, e->a, op)) {
		op->offset += e->bit_offset / 8;
		op->size = e->bit_size ? (e->bit_offset % 8 + e->bit_size + 7) / 8
				       : gs_type_size(types, e->type);
		return true;
	}
	if (e->kind == GS_EXPR_INDEX && range_of(v, e->a, op)) {
		uint64_t size = gs_type_size(types, e->type);

		if (e->b->is_constant && size && e->b->number < UINT32_MAX / size) {
			op->offset += e->b->number * size;
			op->size = size;
		}
		return true;
	}
	return false;
}

static void collect(struct gs_query *q, const struct gs_view *v, const struct gs_expr *e,
		    struct gs_bound *b)
{
	struct gs_operand op = {0};

	if (!e)
		return;
	if (range_of(v, e, &op)) {
		struct gs_operand *more =
			gs_arena_alloc(&q->arena, (b->noperands + 1) * sizeof(*more));

		if (b->noperands)
			memcpy(more, b->operands, b->noperands * sizeof(*more));
		more[b->noperands++] = op;
		b->operands = more;
		if (e->kind == GS_EXPR_INDEX)
			collect(q, v, e->b, b);
		return;
	}
	collect(q, v, e->a, b);
	collect(q, v, e->b, b);
	collect(q, v, e->c, b);
	for (size_t i = 0; i < e->nargs; i++)
		collect(q, v, e->args[i], b);
}

static void keep_error(struct gs_query *q, struct gs_error *err, const char *missing)
{
	if (q->first_error) {
		gs_error_free(err);
		return;
	}
	q->first_error = err;
	if (missing)
		q->missing = gs_strdup(missing);
}

static void bind_view(struct gs_query *q, struct gs_view *v, struct gs_bound *b)
{
	struct gs_query_scope qs;
	struct gs_error *err;
	struct gs_expr *e;
	size_t stop;

	b->tried = true;
	gs_query_scope_init(&qs, v, &q->arena);
	err = gs_expr_parse(&q->arena, q->source, q->start, &qs.hooks, &stop, &e);
	if (!err) {
		gs_tree_normalise(e);
		err = q->is_condition ? gs_expr_check_scalar(&e, "the condition", q->source,
							     &q->arena, &qs.scope)
				      : gs_expr_check(e, q->source, &q->arena, &qs.scope);
	}
	if (err) {
		keep_error(q, err, qs.missing);
		return;
	}
	b->expr = e;
	collect(q, v, e, b);
}

static struct gs_bound *bound_of(struct gs_query *q, struct gs_view *v)
{
	if (v->serial >= q->nbound) {
		size_t n = v->serial + 1;

		q->bound = gs_grow(q->bound, &q->bound_cap, n, sizeof(*q->bound));
		memset(q->bound + q->nbound, 0, (n - q->nbound) * sizeof(*q->bound));
		q->nbound = n;
	}
	if (!q->bound[v->serial].tried)
		bind_view(q, v, &q->bound[v->serial]);
	return &q->bound[v->serial];
}

const struct gs_expr *gs_query_for(struct gs_query *q, struct gs_view *v)
{
	return bound_of(q, v)->expr;
}

/* With nothing near, what there is helps more than nothing. */
static void hint_captured(struct gs_error *err, const struct gs_session *s)
{
	struct gs_buf text = {0};
	unsigned n = 0;

	for (size_t i = 0; i < s->nfiles; i++)
		for (size_t k = 0; k < s->files[i]->nviews; k++) {
			const struct gs_view *v = s->files[i]->views[k];

			for (uint32_t j = 0; v && j < v->schema.nitems; j++)
				if (v->keys[j] && n < 12)
					gs_buf_printf(&text, "%s`%s'", n++ ? ", " : "", v->keys[j]);
		}
	if (n)
		gs_error_hint(err, "captured were %s%s", gs_buf_cstr(&text), n < 12 ? "" : " ...");
	gs_buf_deinit(&text);
}

static bool is_captured(const char *name, const struct gs_session *s)
{
	for (size_t i = 0; i < s->nfiles; i++)
		for (size_t k = 0; k < s->files[i]->nviews; k++) {
			const struct gs_view *v = s->files[i]->views[k];

			for (uint32_t j = 0; v && j < v->schema.nitems; j++)
				if (v->keys[j] && strcmp(v->keys[j], name) == 0)
					return true;
		}
	return false;
}

static struct gs_error *nothing_has_it(struct gs_query *q, struct gs_session *s)
{
	struct gs_nearest near = {.wanted = q->missing};
	struct gs_error *err = q->first_error;
	char *hint;

	q->first_error = NULL;
	if (q->missing) {
		for (size_t i = 0; i < s->nfiles; i++)
			for (size_t k = 0; k < s->files[i]->nviews; k++)
				gs_query_feed(&near, s->files[i]->views[k]);
		hint = gs_nearest_hint(&near);
		if (is_captured(q->missing, s))
			gs_error_hint(err,
				      "some probe captured `%s', but none all that is named here",
				      q->missing);
		else if (hint)
			gs_error_hint(err, "%s", hint);
		else
			hint_captured(err, s);
		free(hint);
		gs_nearest_deinit(&near);
	}
	return gs_error_wrap(err, "%s", q->option);
}

struct gs_error *gs_query_bind(struct gs_query *q, struct gs_session *s)
{
	bool any = false, bound = false;

	for (size_t i = 0; i < s->nfiles; i++)
		for (size_t k = 0; k < s->files[i]->nviews; k++) {
			struct gs_view *v = s->files[i]->views[k];

			if (!v || !v->selected)
				continue;
			any = true;
			bound |= gs_query_for(q, v) != NULL;
		}
	if (!any || bound)
		return NULL;
	return nothing_has_it(q, s);
}

/* ---- evaluating ---- */

const char *gs_event_place(const struct gs_event *ev)
{
	static _Thread_local struct gs_buf text;

	if (!ev->site)
		return "";
	if (!ev->site->file[0] || !ev->site->line)
		return ev->site->func;
	gs_buf_reset(&text);
	gs_buf_puts(&text, ev->site->file);
	gs_buf_putc(&text, ':');
	gs_put_decimal(&text, ev->site->line);
	return gs_buf_cstr(&text);
}

static bool noted(const struct gs_bound *b, const struct gs_event *ev)
{
	for (size_t i = 0; i < b->noperands; i++)
		if (gs_event_note(ev, b->operands[i].item, b->operands[i].offset,
				  b->operands[i].size))
			return true;
	return false;
}

bool gs_query_eval(struct gs_query *q, struct gs_event *ev, struct gs_value *out)
{
	struct gs_bound *b = bound_of(q, ev->view);
	struct gs_evaluator eval = {.src = &ev->source, .ctx = ev, .lookup = gs_query_lookup};

	if (!b->expr) {
		q->not_captured++;
		return false;
	}
	if (ev->site->nnotes && noted(b, ev)) {
		q->absent++;
		return false;
	}
	gs_evaluate(&eval, b->expr, out);
	if (gs_status_has_data(out->status))
		return true;
	q->absent++;
	return false;
}

bool gs_query_true(struct gs_query *q, struct gs_event *ev)
{
	struct gs_value v;
	uint64_t bits;
	double real;

	if (!gs_query_eval(q, ev, &v))
		return false;
	if (gs_value_scalar(&ev->source, &v, &bits))
		return bits != 0;
	if (gs_value_real(&ev->source, &v, &real))
		return real != 0;
	q->absent++;
	return false;
}
