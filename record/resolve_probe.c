/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One probe, from its place to rows of sites, schemas and plans.
 * The middle of the resolver: search, checker, expansion and lowering are called from here.
 *
 * Each site is checked for itself: scopes, types and locations differ between copies of a function.
 * What holds at no site is an error; what holds at some is absent at the others, and said.
 */
#include "record/resolver.h"

#define CODE_BYTES 64

struct work {
	struct gs_resolver *r;
	const struct gs_probe_spec *spec;
	uint32_t probe;
	struct gs_loaded *module;
	struct gs_places places;
	struct site_work {
		struct gs_site site;
		struct gs_want *wants;
		size_t nwants, wants_cap;
		struct gs_expr *condition; /* NULL: not declared here */
		bool condition_absent;
	} * sites; /* as many as places.sites */
	struct entry_work {
		struct gs_site site;
		struct gs_plan plan;
		bool is_used;
		uint32_t number; /* in the resolution, once it is there */
	} * entries;		 /* as many as places.entries */
	const struct gs_probe_item *items;
	size_t nitems;
	size_t *index; /* of item I of the probe in the wants of site S: index[S * nitems + I] */
};

/* ---- what this version does not record ---- */

static struct gs_error *refuse(const struct gs_probe_spec *spec)
{
	const char *what = spec->where == GS_WHERE_MARKER ? "static markers (sdt:)"
			   : spec->has_wildcard		  ? "names with wildcards"
							  : NULL;
	struct gs_error *err;

	if (!what)
		return NULL;
	err = gs_error_at(gs_error_new(GS_ERR_UNSUPPORTED, "this version does not record %s", what),
			  spec->text, spec->place_start, spec->place_len);
	if (spec->has_wildcard)
		gs_error_hint(err, "gs-record -F 'GLOB' lists the functions that match");
	return err;
}

/* ---- items of one site ---- */

static struct gs_want *add_want(struct site_work *sw)
{
	return GS_PUSH(sw->wants, sw->nwants, sw->wants_cap);
}

static const char *canonical_name(struct gs_resolver *r, const char *name)
{
	struct gs_expr e = {.kind = GS_EXPR_NAME, .name = name};
	struct gs_buf buf = {0};
	const char *s;

	gs_expr_print(&buf, &e);
	s = gs_arena_strdup(&r->arena, gs_buf_cstr(&buf));
	gs_buf_deinit(&buf);
	return s;
}

static const char *canonical_text(struct gs_resolver *r, const struct gs_expr *e)
{
	struct gs_buf buf = {0};
	const char *s;

	gs_expr_print(&buf, e);
	s = gs_arena_strdup(&r->arena, gs_buf_cstr(&buf));
	gs_buf_deinit(&buf);
	return s;
}

static void add_variables(struct work *w, struct site_work *sw, const struct gs_variable *vars,
			  size_t n, uint32_t flag)
{
	for (size_t i = 0; i < n; i++) {
		struct gs_want *want;

		if (!vars[i].name || !*vars[i].name)
			continue;
		want = add_want(sw);
		want->key = gs_arena_strdup(&w->r->arena, vars[i].name);
		want->expr = canonical_name(w->r, want->key);
		want->type = vars[i].type;
		want->flags = flag;
		want->from_word = true;
		want->operand = (struct gs_operand){
			.kind = GS_OPERAND_VARIABLE, .name = want->key, .var = vars[i]};
	}
}

static struct gs_error *add_registers(struct work *w, struct site_work *sw)
{
	struct gs_operand o;

	for (unsigned i = 0; gs_site_register(&sw->site, i, &o); i++) {
		struct gs_want *want = add_want(sw);

		want->key = o.name;
		want->expr = gs_arena_printf(&w->r->arena, "$%s", o.name);
		want->flags = GS_SCHEMA_REG;
		want->from_word = true;
		want->operand = o;
		GS_TRY(gs_site_operand_type(&sw->site, &o, &want->type));
	}
	return NULL;
}

static void warn_no_variables(struct work *w, const char *word)
{
	const struct gs_module_info *info = gs_module_info(w->module->m);

	if (info->debug_problem)
		gs_resolver_warn(w->r, "%s: %s: nothing is recorded for %s", w->module->path,
				 info->debug_problem, word);
	else
		gs_resolver_warn(
			w->r,
			"%s `%s': nothing is recorded for %s ($arg1 ... and registers such "
			"as $rdi can be)",
			info->has_dwarf ? "the debug information does not cover"
					: "there is no debug information for",
			w->spec->place, word);
}

/* $retval, unless there is none, and $duration. */
static struct gs_error *add_result(struct work *w, struct site_work *sw)
{
	static const struct {
		const char *key;
		enum gs_operand_kind kind;
		uint32_t flags;
	} results[] = {{"$retval", GS_OPERAND_RETVAL, 0},
		       {"$duration", GS_OPERAND_DURATION, GS_SCHEMA_DURATION}};

	for (size_t i = 0; i < GS_ARRAY_SIZE(results); i++) {
		struct gs_operand o = {.kind = results[i].kind, .name = results[i].key};
		struct gs_want *want;
		gs_type_id type;

		GS_TRY(gs_site_operand_type(&sw->site, &o, &type));
		if (type == GS_TYPE_VOID)
			continue;
		want = add_want(sw);
		want->key = want->expr = results[i].key;
		want->type = type;
		want->flags = results[i].flags;
		want->from_word = true;
		want->operand = o;
	}
	return NULL;
}

static struct gs_error *add_word(struct work *w, struct site_work *sw, enum gs_item_word word)
{
	struct gs_context *context = sw->site.place->context;
	const struct gs_variable *vars = NULL;
	struct gs_error *err;
	size_t n = 0;

	if (word == GS_WORD_REGS)
		return add_registers(w, sw);
	if (word == GS_WORD_RESULT)
		return add_result(w, sw);
	if (!context) {
		warn_no_variables(w, word == GS_WORD_ARGS ? "$args" : "$locals");
		return NULL;
	}
	err = word == GS_WORD_ARGS ? gs_context_args(context, &vars, &n)
				   : gs_context_locals(context, &vars, &n);
	if (err) {
		/* Damaged scopes cost the variables, not the probe. */
		gs_resolver_warn(w->r, "%s", gs_error_message(err));
		gs_error_free(err);
		return NULL;
	}
	add_variables(w, sw, vars, n, word == GS_WORD_ARGS ? GS_SCHEMA_ARG : GS_SCHEMA_LOCAL);
	return NULL;
}

/* ---- written items ---- */

static bool is_call(const struct gs_expr *e, const char *name)
{
	return e->kind == GS_EXPR_CALL && strcmp(e->name, name) == 0;
}

static const struct gs_type *stripped(const struct gs_resolver *r, gs_type_id id)
{
	return gs_type_get(r->types, gs_type_strip(r->types, id));
}

static void set_string_form(struct gs_resolver *r, struct gs_want *want)
{
	const struct gs_expr *e = want->tree;
	const struct gs_type *of = stripped(r, e->args[0]->type);

	want->form = GS_WANT_STRING;
	want->limit = r->req->string_limit;
	if (e->nargs > 1 && e->args[1]->is_constant && (int64_t)e->args[1]->number > 0)
		want->limit = e->args[1]->number;
	if (of->kind == GS_KIND_ARRAY && !(of->flags & GS_TYPE_COUNT_UNKNOWN) && of->count &&
	    of->count < want->limit)
		want->limit = of->count;
	if (want->limit > GS_EVENT_MAX_LEN)
		want->limit = GS_EVENT_MAX_LEN;
	if (!want->limit)
		want->limit = 1;
}

static void set_range_form(struct gs_resolver *r, struct gs_want *want)
{
	const struct gs_type *type = stripped(r, want->type);
	const struct gs_type *element = stripped(r, type->target);
	bool known = !(type->flags & GS_TYPE_COUNT_UNKNOWN);

	want->form = GS_WANT_RANGE;
	want->limit = r->req->array_limit;
	if ((element->flags & GS_TYPE_CHAR) && r->req->string_limit > want->limit)
		want->limit = r->req->string_limit;
	/* buf(p, 4096) says itself how much is wanted. */
	if (known && is_call(want->tree, "buf"))
		want->limit = type->count;
	else if (known && type->count < want->limit)
		want->limit = type->count;
	if (!want->limit)
		want->limit = 1;
}

/* Each node is a step of the program: their number is bounded where the probe is built. */
static struct gs_error *set_list_form(struct work *w, struct gs_want *want)
{
	const struct gs_expr *most = want->tree->args[2];

	want->form = GS_WANT_LIST;
	want->limit = GS_LIST_NODES;
	if (!most->is_constant)
		return NULL;
	if (most->number > GS_LIST_NODES_MAX)
		return gs_error_at(gs_error_new(GS_ERR_LIMIT, "list(...) goes to at most %u nodes",
						GS_LIST_NODES_MAX),
				   w->spec->text, most->start, most->len);
	want->limit = most->number;
	return NULL;
}

static struct gs_error *set_form(struct work *w, struct gs_want *want)
{
	const struct gs_expr *e = want->tree;

	want->form = GS_WANT_OBJECT;
	if (is_call(e, "str"))
		set_string_form(w->r, want);
	else if (e->kind == GS_EXPR_SLICE || e->kind == GS_EXPR_ATSIGN || is_call(e, "buf"))
		set_range_form(w->r, want);
	else if (e->kind == GS_EXPR_BUILTIN && strcmp(e->name, "comm") == 0)
		want->form = GS_WANT_COMM;
	else if (is_call(e, "list"))
		return set_list_form(w, want);
	return NULL;
}

static struct gs_error *check_item(struct work *w, struct site_work *sw,
				   const struct gs_probe_item *item, struct gs_want *want)
{
	*want = (struct gs_want){.key = item->name ? item->name : item->text,
				 .start = item->start,
				 .len = item->len};
	GS_TRY(gs_site_check(&sw->site, w->spec->text, item->start, item->len, false, &want->tree));
	want->expr = canonical_text(w->r, want->tree);
	want->type = want->tree->type;
	if (want->tree->kind == GS_EXPR_BUILTIN && strcmp(want->tree->name, "duration") == 0)
		want->flags |= GS_SCHEMA_DURATION;
	if (gs_lower_is_entry(want->tree))
		want->flags |= GS_SCHEMA_AT_ENTRY;
	return set_form(w, want);
}

/* The item at the sites where it is not declared: as at site FROM, but absent. */
static void copy_elsewhere(struct work *w, size_t i, size_t from, const bool *good,
			   const char *problem)
{
	const struct gs_want *model = &w->sites[from].wants[w->index[from * w->nitems + i]];

	for (size_t s = 0; s < w->places.nsites; s++) {
		struct gs_want *want = &w->sites[s].wants[w->index[s * w->nitems + i]];

		if (good[s])
			continue;
		*want = *model;
		want->is_elsewhere = true;
		want->problem = problem;
	}
}

static struct gs_error *check_at_all_sites(struct work *w, size_t i)
{
	const struct gs_probe_item *item = &w->items[i];
	GS_CLEANUP_FREE bool *good = gs_calloc(w->places.nsites, sizeof(*good));
	struct gs_error *first = NULL;
	size_t ngood = 0, from = 0;

	for (size_t s = 0; s < w->places.nsites; s++) {
		struct site_work *sw = &w->sites[s];
		struct gs_want want;
		struct gs_error *err = check_item(w, sw, item, &want);

		w->index[s * w->nitems + i] = sw->nwants;
		*add_want(sw) = want;
		good[s] = !err;
		if (!err && ngood++ == 0)
			from = s;
		if (err && first)
			gs_error_free(err);
		else if (err)
			first = err;
	}
	if (!ngood)
		return first;
	if (first) {
		const char *problem = gs_arena_strdup(&w->r->arena, gs_error_message(first));

		gs_resolver_warn(w->r, "`%s' is not known at %zu of %zu sites of `%s': %s",
				 item->text, w->places.nsites - ngood, w->places.nsites,
				 w->spec->place, problem);
		copy_elsewhere(w, i, from, good, problem);
		gs_error_free(first);
	}
	return NULL;
}

static struct gs_error *make_wants(struct work *w)
{
	for (size_t i = 0; i < w->nitems; i++) {
		if (w->items[i].word == GS_WORD_NONE) {
			GS_TRY(check_at_all_sites(w, i));
			continue;
		}
		for (size_t s = 0; s < w->places.nsites; s++)
			GS_TRY(add_word(w, &w->sites[s], w->items[i].word));
	}
	return NULL;
}

/* ---- the condition ---- */

static struct gs_error *check_condition(struct work *w)
{
	const struct gs_probe_spec *spec = w->spec;
	struct gs_error *first = NULL;
	size_t ngood = 0;

	if (!spec->condition_len)
		return NULL;
	for (size_t s = 0; s < w->places.nsites; s++) {
		struct gs_error *err =
			gs_site_check(&w->sites[s].site, spec->text, spec->condition_start,
				      spec->condition_len, true, &w->sites[s].condition);

		ngood += !err;
		if (err) {
			w->sites[s].condition = NULL;
			w->sites[s].condition_absent = true;
		}
		if (err && first)
			gs_error_free(err);
		else if (err)
			first = err;
	}
	if (!ngood)
		return first;
	if (first)
		gs_resolver_warn(w->r,
				 "the condition has no meaning at %zu of %zu sites of `%s', which "
				 "record nothing: %s",
				 w->places.nsites - ngood, w->places.nsites, spec->place,
				 gs_error_message(first));
	gs_error_free(first);
	return NULL;
}

/* ---- absences, in words ---- */

struct absence {
	size_t n;
	uint8_t status;
	const char *name, *reason, *readable;
};

static void count_absence(struct work *w, struct absence *a, const struct gs_site *site,
			  uint8_t status, const char *name, const char *reason,
			  const struct gs_variable *var)
{
	if (a->n++)
		return;
	a->status = status;
	a->name = name;
	a->reason = reason;
	if (var && site->place->context) {
		const char *at = gs_context_readable_at(site->place->context, var);

		a->readable = at ? gs_arena_strdup(&w->r->arena, at) : NULL;
	}
}

static const char *absence_text(struct work *w, const struct absence *a)
{
	const char *why = a->reason && *a->reason ? a->reason : NULL;
	const char *what =
		a->status == GS_STATUS_OPTIMIZED_OUT ? "is optimized out" : "cannot be read";

	return gs_arena_printf(&w->r->arena, "%s%s%s%s%s%s", what, why ? " (" : "", why ? why : "",
			       why ? ")" : "", a->readable ? "; it is readable at " : "",
			       a->readable ? a->readable : "");
}

static const char *sites_text(struct work *w, size_t n)
{
	if (w->places.nsites == 1)
		return gs_arena_printf(&w->r->arena, "at `%s'", w->spec->place);
	if (n == w->places.nsites)
		return gs_arena_printf(&w->r->arena, "at all %zu sites of `%s'", n, w->spec->place);
	return gs_arena_printf(&w->r->arena, "at %zu of %zu sites of `%s'", n, w->places.nsites,
			       w->spec->place);
}

static void warn_item(struct work *w, size_t i)
{
	struct absence a = {0};

	for (size_t s = 0; s < w->places.nsites; s++) {
		const struct gs_want *want = &w->sites[s].wants[w->index[s * w->nitems + i]];

		if (want->status && !want->is_elsewhere)
			count_absence(w, &a, &w->sites[s].site, want->status, want->absent_name,
				      want->reason, want->absent_var);
	}
	if (a.n)
		gs_resolver_warn(w->r, "%s `%s' %s", sites_text(w, a.n),
				 a.name ? a.name : w->items[i].text, absence_text(w, &a));
}

/* $args and $locals: the names that are absent at the first site that lacks any, in one line. */
static void warn_words(struct work *w)
{
	size_t nsites = 0, named = 0, nabsent = 0;
	struct gs_buf names = {0};

	for (size_t s = 0; s < w->places.nsites; s++) {
		const struct site_work *sw = &w->sites[s];
		bool any = false;

		for (size_t i = 0; i < sw->nwants; i++) {
			const struct gs_want *want = &sw->wants[i];

			if (!want->from_word || !want->status)
				continue;
			any = true;
			if (nsites)
				continue;
			nabsent++;
			if (named++ < 8)
				gs_buf_printf(&names, "%s%s (%s)", named > 1 ? ", " : "", want->key,
					      want->reason && *want->reason
						      ? want->reason
						      : gs_status_name(want->status));
		}
		nsites += any;
	}
	if (nsites)
		gs_resolver_warn(w->r, "%s some variables have no value: %s%s",
				 sites_text(w, nsites), gs_buf_cstr(&names),
				 nabsent > 8 ? ", ..." : "");
	gs_buf_deinit(&names);
}

/* ---- plans and rows ---- */

static struct gs_error *lower_condition(struct work *w, struct site_work *sw, struct gs_lower *l,
					struct absence *absent)
{
	uint16_t node;

	if (!w->spec->condition_len)
		return NULL;
	if (!sw->condition) {
		l->plan->condition = gs_plan_node(l->plan, GS_OP_ABSENT, 8, GS_NODE_NONE,
						  GS_NODE_NONE, GS_STATUS_UNAVAILABLE);
		return NULL;
	}
	GS_TRY(gs_lower_condition(l, sw->condition, &node));
	l->plan->condition = node;
	if (l->absent != GS_STATUS_OK) {
		sw->condition_absent = true;
		count_absence(w, absent, &sw->site, l->absent, l->absent_name, l->absent_reason,
			      l->absent_var);
	}
	return NULL;
}

static struct gs_error *judge_condition(struct work *w, const struct absence *absent)
{
	const struct gs_probe_spec *spec = w->spec;
	size_t n = 0;
	struct gs_error *err;

	for (size_t s = 0; s < w->places.nsites; s++)
		n += w->sites[s].condition_absent;
	if (!absent->n)
		return NULL;
	if (n < w->places.nsites) {
		gs_resolver_warn(w->r, "the condition is never true %s: `%s' %s", sites_text(w, n),
				 absent->name ? absent->name : "an operand",
				 absence_text(w, absent));
		return NULL;
	}
	err = gs_error_new(GS_ERR_NOT_FOUND, "the condition can never be true: `%s' %s",
			   absent->name ? absent->name : "an operand", absence_text(w, absent));
	return gs_error_at(err, spec->text, spec->condition_start, spec->condition_len);
}

/* The row of the entry that the site's frames come from; its plan is there when all sites are. */
static uint32_t entry_of(struct work *w, const struct site_work *sw)
{
	const struct gs_place_site *place = sw->site.place;
	struct gs_resolution *out = w->r->out;
	struct entry_work *e;
	uint64_t offset = 0;

	if (!place->exit)
		return GS_NONE;
	e = &w->entries[place->entry];
	if (e->is_used)
		return e->number;
	e->is_used = true;
	e->number = (uint32_t)out->nentries;
	place = e->site.place;
	gs_module_file_offset(w->module->m, place->link_addr, &offset);
	*GS_PUSH(out->entries, out->nentries, w->r->entries_cap) =
		(struct gs_resolved_entry){.probe = w->probe,
					   .module = gs_tables_module(w->r, w->module),
					   .link_addr = place->link_addr,
					   .file_offset = offset};
	return e->number;
}

/* Once nothing more is saved there. */
static void add_entry_plans(struct work *w)
{
	for (size_t i = 0; i < w->places.nentries; i++) {
		struct entry_work *e = &w->entries[i];

		if (!e->is_used)
			continue;
		w->r->out->entries[e->number].plan = gs_tables_plan(w->r, &e->plan);
		gs_plan_init(&e->plan); /* it was taken over */
	}
}

static void add_site_row(struct work *w, struct site_work *sw, uint32_t schema, uint32_t plan,
			 struct gs_notes *notes)
{
	struct gs_resolver *r = w->r;
	struct gs_meta *meta = &r->out->meta;
	const struct gs_place_site *place = sw->site.place;
	uint8_t code[CODE_BYTES];
	size_t n = meta->nsites,
	       ncode = gs_module_read(w->module->m, place->link_addr, code, sizeof(code));
	struct gs_meta_site *row;
	uint64_t offset = 0;

	uint32_t entry = entry_of(w, sw);

	gs_module_file_offset(w->module->m, place->link_addr, &offset);
	*GS_PUSH(r->out->sites, n, r->sites_cap) =
		(struct gs_resolved_site){.plan = plan, .file_offset = offset, .entry = entry};
	for (size_t i = 0; i < notes->n; i++)
		notes->notes[i].reason = gs_arena_strdup(&r->arena, notes->notes[i].reason);
	row = GS_PUSH(meta->sites, meta->nsites, meta->sites_cap);
	*row = (struct gs_meta_site){
		.id = (uint32_t)(meta->nsites - 1),
		.probe = w->probe,
		.schema = schema,
		.module = gs_tables_module(r, w->module),
		.link_addr = place->link_addr,
		.func = gs_arena_strdup(&r->arena, place->func ? place->func : ""),
		.inlined_in =
			gs_arena_strdup(&r->arena, place->inlined_in ? place->inlined_in : ""),
		.file = gs_arena_strdup(&r->arena, place->file ? place->file : ""),
		.line = place->line,
		.flags = place->flags,
		.code = gs_arena_memdup(&r->arena, code, ncode),
		.code_len = (uint32_t)ncode,
		.code_addr = place->link_addr,
		.notes = gs_arena_memdup(&r->arena, notes->notes, notes->n * sizeof(*notes->notes)),
		.nnotes = (uint32_t)notes->n};
}

static void warn_left_out(struct work *w, const struct gs_expansion *x)
{
	if (x->strings_left_out)
		gs_resolver_warn(
			w->r,
			"`%s': not all strings of structs and arrays are recorded (limit of a "
			"probe); the others show their address",
			w->spec->place);
	if (x->followed_left_out)
		gs_resolver_warn(w->r,
				 "`%s': not all pointers are followed to --depth (limit of a "
				 "probe); the others show their address",
				 w->spec->place);
}

/* Condition, items, checks; the plan is the caller's to free or hand on. */
static struct gs_error *fill_plan(struct work *w, struct site_work *sw, struct gs_plan *plan,
				  const struct gs_expansion *x, struct gs_notes *notes,
				  struct absence *absent)
{
	struct gs_lower l = {
		.site = &sw->site, .types = w->r->types, .plan = plan, .text = w->spec->text};
	struct gs_error *err;

	if (sw->site.entry)
		gs_lower_frame(&l);
	GS_TRY(lower_condition(w, sw, &l, absent));
	GS_TRY(gs_items_plan(&l, sw->wants, x, notes));
	err = plan->nnodes >= GS_PLAN_MAX_NODES
		      ? gs_error_new(GS_ERR_LIMIT,
				     "the items and condition of the probe are too many for one "
				     "program")
		      : gs_plan_check(plan);
	return err ? gs_error_at(err, w->spec->text, 0, strlen(w->spec->text)) : NULL;
}

static struct gs_error *plan_site(struct work *w, struct site_work *sw, struct absence *absent)
{
	struct gs_expansion x = {0};
	struct gs_notes notes = {0};
	struct gs_plan plan;
	struct gs_error *err;

	GS_TRY(gs_items_expand(w->r, w->spec->text, sw->wants, sw->nwants, &x));
	gs_plan_init(&plan);
	plan.condition = GS_NODE_NONE;
	err = fill_plan(w, sw, &plan, &x, &notes, absent);
	if (err) {
		gs_plan_deinit(&plan);
	} else {
		warn_left_out(w, &x);
		add_site_row(w, sw, gs_tables_schema(w->r, x.items, x.n),
			     gs_tables_plan(w->r, &plan), &notes);
		if (w->r->req->explain)
			gs_explain_site(w->r, &sw->site, (uint32_t)w->r->out->meta.nsites - 1,
					sw->wants, sw->nwants);
	}
	free(notes.notes);
	gs_items_deinit(&x);
	return err;
}

static void init_sites(struct work *w)
{
	for (size_t i = 0; i < w->places.nentries; i++) {
		struct entry_work *e = &w->entries[i];

		gs_site_init(&e->site, w->r, w->module, &w->places.entries[i]);
		gs_site_assume_entry(&e->site);
		gs_lower_entry_init(&e->plan, &e->site);
	}
	for (size_t s = 0; s < w->places.nsites; s++) {
		struct gs_site *site = &w->sites[s].site;

		gs_site_init(site, w->r, w->module, &w->places.sites[s]);
		/* A stripped program has no symbol to tell the entry by; the place does. */
		if (w->spec->where == GS_WHERE_FUNCTION && !w->spec->is_return)
			gs_site_assume_entry(site);
		if (!site->place->exit)
			continue;
		site->at_entry = false;
		site->entry = &w->entries[site->place->entry].site;
		site->entry_plan = &w->entries[site->place->entry].plan;
	}
}

static struct gs_error *resolve_sites(struct work *w)
{
	struct absence absent = {0};

	init_sites(w);
	GS_TRY(make_wants(w));
	GS_TRY(check_condition(w));
	for (size_t s = 0; s < w->places.nsites; s++)
		GS_TRY(plan_site(w, &w->sites[s], &absent));
	for (size_t i = 0; i < w->places.nentries; i++) {
		struct gs_error *err = gs_plan_check(&w->entries[i].plan);

		if (err)
			return gs_error_at(err, w->spec->text, 0, strlen(w->spec->text));
	}
	add_entry_plans(w);
	GS_TRY(judge_condition(w, &absent));
	for (size_t i = 0; i < w->nitems; i++)
		if (w->items[i].word == GS_WORD_NONE)
			warn_item(w, i);
	warn_words(w);
	return NULL;
}

static void default_items(struct work *w)
{
	static const struct gs_probe_item args = {.word = GS_WORD_ARGS, .text = "$args"};
	static const struct gs_probe_item both[] = {{.word = GS_WORD_ARGS, .text = "$args"},
						    {.word = GS_WORD_LOCALS, .text = "$locals"}};

	static const struct gs_probe_item result = {.word = GS_WORD_RESULT, .text = "$retval"};

	w->items = w->spec->items;
	w->nitems = w->spec->nitems;
	if (w->spec->has_braces)
		return;
	if (w->spec->is_return) {
		w->items = &result;
		w->nitems = 1;
		return;
	}
	w->items = w->spec->where == GS_WHERE_FUNCTION ? &args : both;
	w->nitems = w->spec->where == GS_WHERE_FUNCTION ? 1 : 2;
}

static struct gs_error *add_pending(struct work *w)
{
	*GS_PUSH(w->r->out->pending, w->r->out->npending, w->r->pending_cap) =
		(struct gs_pending_probe){.probe = w->probe, .module = w->spec->module};
	return NULL;
}

static struct gs_error *resolve_found(struct work *w)
{
	struct gs_error *err;

	for (size_t i = 0; i < w->places.nnotes; i++)
		gs_resolver_warn(w->r, "`%s': %s", w->spec->place, w->places.notes[i]);
	w->r->pointer_size = gs_module_info(w->module->m)->pointer_size;
	default_items(w);
	w->sites = gs_calloc(w->places.nsites, sizeof(*w->sites));
	w->entries = gs_calloc(w->places.nentries, sizeof(*w->entries));
	w->index = gs_calloc(w->places.nsites * w->nitems, sizeof(*w->index));
	if (w->r->req->explain)
		gs_explain_probe(w->r, w->spec, w->module);
	err = resolve_sites(w);
	for (size_t s = 0; s < w->places.nsites; s++) {
		gs_site_deinit(&w->sites[s].site);
		free(w->sites[s].wants);
	}
	for (size_t i = 0; i < w->places.nentries; i++) {
		gs_site_deinit(&w->entries[i].site);
		gs_plan_deinit(&w->entries[i].plan);
	}
	free(w->sites);
	free(w->entries);
	free(w->index);
	return err;
}

struct gs_error *gs_resolve_probe(struct gs_resolver *r, uint32_t probe,
				  const struct gs_probe_spec *spec)
{
	struct work w = {.r = r, .probe = probe, .spec = spec};
	struct gs_error *err = refuse(spec);

	if (err)
		return err;
	gs_places_init(&w.places);
	err = gs_resolve_place(r, spec, &w.module, &w.places);
	if (!err)
		err = w.module ? resolve_found(&w) : add_pending(&w);
	gs_places_deinit(&w.places);
	return err;
}
