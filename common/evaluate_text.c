/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Strings in evaluation: comparison with literals, and the built-in functions.
 * Called by the walk in evaluate.c.
 *
 * Of a string that was cut, only what the captured part decides is known: "abc..." cannot equal
 * "abd", but whether it equals "abcdef" is not known, and then there is no result.
 */
#include "common/evaluate.h"

struct text {
	const uint8_t *data;
	size_t len;    /* up to the NUL */
	bool complete; /* the string ends here */
};

/* The string at PLACE. False: *absent says why there is none. */
static bool text_at(const struct gs_place *place, gs_type_id type, struct text *text,
		    struct gs_value *absent)
{
	struct gs_value all;
	uint64_t offset = (uint64_t)place->bit_offset / 8;
	const uint8_t *nul;

	/* Everything from here to the end of what was captured; none is a string that ends here. */
	gs_eval_bytes(place, type,
		      !place->out_of_range && place->bit_offset >= 0 && offset < place->region.len
			      ? place->region.len - offset
			      : 0,
		      &all);
	if (!gs_status_has_data(all.status) || place->bit_offset < 0 ||
	    offset > place->region.len) {
		gs_value_absent(absent, type,
				gs_status_has_data(all.status) ? GS_STATUS_NOT_COLLECTED
							       : all.status);
		absent->address = gs_status_has_data(all.status) ? 0 : all.address;
		absent->reason = all.reason;
		return false;
	}
	nul = all.len ? memchr(all.data, 0, all.len) : NULL;
	text->data = all.data;
	text->len = nul ? (size_t)(nul - all.data) : all.len;
	text->complete = nul || place->is_string;
	return true;
}

/*
 * The place of the string that E (array or pointer) is. A place inside an aggregate goes to the end
 * of the aggregate: an array is cut out of it first.
 */
static void place_of_text(evaluator *ev, const struct gs_expr *e, struct gs_place *place)
{
	const struct gs_expr *array = e;
	struct gs_value v;

	while (array->kind == GS_EXPR_UNARY && array->op == GS_OPR_ADDR &&
	       gs_type_get(ev->src->types, gs_type_strip(ev->src->types, array->a->type))->kind ==
		       GS_KIND_ARRAY)
		array = array->a;
	if (gs_type_get(ev->src->types, gs_type_strip(ev->src->types, array->type))->kind !=
	    GS_KIND_ARRAY) {
		gs_eval_pointed(ev, e, place);
		return;
	}
	gs_evaluate(ev, array, &v);
	/* An array that is there as a whole ends where it ends, with or without a NUL. */
	*place = (struct gs_place){.region = v,
				   .has_address = v.has_address,
				   .address = v.address,
				   .is_string = v.status == GS_STATUS_OK};
}

static bool eval_text(evaluator *ev, const struct gs_expr *e, struct text *text,
		      struct gs_value *absent)
{
	struct gs_place place;

	place_of_text(ev, e, &place);
	return text_at(&place, e->type, text, absent);
}

/* ---- questions: yes, no, or not known ---- */

enum answer { NO, YES, UNKNOWN };

static enum answer text_starts(const struct text *t, const struct gs_expr *literal)
{
	size_t n = t->len < literal->string_len ? t->len : literal->string_len;

	if (n && memcmp(t->data, literal->string, n) != 0)
		return NO;
	if (literal->string_len <= t->len)
		return YES;
	return t->complete ? NO : UNKNOWN;
}

static enum answer text_equals(const struct text *t, const struct gs_expr *literal)
{
	enum answer starts = text_starts(t, literal);

	if (starts != YES)
		return starts;
	if (t->len > literal->string_len)
		return NO;
	return t->complete ? YES : UNKNOWN;
}

static enum answer text_contains(const struct text *t, const struct gs_expr *literal)
{
	if (!literal->string_len ||
	    (t->len && memmem(t->data, t->len, literal->string, literal->string_len)))
		return YES;
	return t->complete ? NO : UNKNOWN;
}

static void put_answer(evaluator *ev, gs_type_id type, enum answer answer, bool negate,
		       struct gs_value *out)
{
	if (answer == UNKNOWN)
		gs_value_absent(out, type, GS_STATUS_NOT_COLLECTED);
	else
		gs_eval_bits(ev, type, (answer == YES) != negate, out);
}

bool gs_eval_is_text_comparison(const struct gs_expr *e)
{
	return (e->op == GS_OPR_EQ || e->op == GS_OPR_NE) &&
	       (e->a->kind == GS_EXPR_STRING || e->b->kind == GS_EXPR_STRING);
}

void gs_eval_text_comparison(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	bool swapped = e->a->kind == GS_EXPR_STRING;
	const struct gs_expr *literal = swapped ? e->a : e->b;
	struct text text;

	if (eval_text(ev, swapped ? e->b : e->a, &text, out))
		put_answer(ev, e->type, text_equals(&text, literal), e->op == GS_OPR_NE, out);
	else
		out->type = e->type;
}

/* ---- calls ---- */

/* str(p), str(p, n): the string up to its NUL, at most N bytes. */
static void call_str(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	struct gs_operand limit = {.bits = INT64_MAX};
	struct gs_place place;
	struct text text;
	bool cut;

	place_of_text(ev, e->args[0], &place);
	if ((e->nargs > 1 && !gs_eval_operand(ev, e->args[1], &limit, out)) ||
	    !text_at(&place, e->type, &text, out)) {
		out->type = e->type;
		return;
	}
	if ((int64_t)limit.bits < 0) {
		gs_value_absent(out, e->type, GS_STATUS_BAD_RANGE);
		return;
	}
	cut = text.len > limit.bits;
	gs_eval_bytes(&place, e->type, cut ? limit.bits : text.len, out);
	if (cut)
		out->status = GS_STATUS_TRUNCATED;
	else if (!text.complete)
		out->status = place.region.status == GS_STATUS_OK ? GS_STATUS_TRUNCATED
								  : place.region.status;
}

static void call_buf(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	struct gs_operand count;
	struct gs_place place;

	gs_eval_pointed(ev, e->args[0], &place);
	if (!gs_eval_operand(ev, e->args[1], &count, out))
		out->type = e->type;
	else if ((int64_t)count.bits < 0)
		gs_value_absent(out, e->type, GS_STATUS_BAD_RANGE);
	else
		gs_eval_bytes(&place, e->type, count.bits, out);
}

static void call_question(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	bool starts = strcmp(e->name, "starts_with") == 0;
	struct text text;

	if (eval_text(ev, e->args[0], &text, out))
		put_answer(ev, e->type,
			   starts ? text_starts(&text, e->args[1])
				  : text_contains(&text, e->args[1]),
			   false, out);
	else
		out->type = e->type;
}

static void call_container_of(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	struct gs_operand p;

	if (gs_eval_operand(ev, e->args[0], &p, out))
		gs_eval_bits(ev, e->type, p.bits - e->bit_offset / 8, out);
	else
		out->type = e->type;
}

void gs_eval_call(evaluator *ev, const struct gs_expr *e, struct gs_value *out)
{
	static const struct {
		const char *name;
		size_t nargs;
		void (*call)(evaluator *ev, const struct gs_expr *e, struct gs_value *out);
	} calls[] = {
		{"str", 1, call_str},
		{"buf", 2, call_buf},
		{"starts_with", 2, call_question},
		{"contains", 2, call_question},
		{"container_of", 1, call_container_of},
	};

	for (size_t i = 0; i < GS_ARRAY_SIZE(calls); i++)
		if (strcmp(e->name, calls[i].name) == 0 && e->nargs >= calls[i].nargs) {
			calls[i].call(ev, e, out);
			return;
		}
	/* list and $entry walk memory that is gone: they exist only as captured items. */
	gs_value_absent(out, e->type, GS_STATUS_NOT_COLLECTED);
}
