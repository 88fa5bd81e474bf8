/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --dry-run: every stage in words: module, sites, instructions and their cost, variables and where
 * they are, plan. Beside the flow: written while probes are resolved, printed by the recorder.
 * Deterministic.
 */
#include <inttypes.h>

#include "bpf/program.h"
#include "record/resolver.h"

static void put_type(struct gs_resolver *r, gs_type_id type)
{
	gs_type_print(&r->explanation, r->types, type, NULL);
}

static void put_module(struct gs_resolver *r, const struct gs_loaded *module)
{
	const struct gs_module_info *info = gs_module_info(module->m);
	struct gs_buf *out = &r->explanation;

	gs_buf_printf(out, "  module %s\n", module->path);
	if (info->build_id_len) {
		gs_buf_puts(out, "    build-id ");
		for (unsigned i = 0; i < info->build_id_len; i++)
			gs_buf_printf(out, "%02x", info->build_id[i]);
		gs_buf_putc(out, '\n');
	}
	if (info->debug_problem)
		gs_buf_printf(out, "    debug information: none: %s\n", info->debug_problem);
	else if (!info->has_dwarf)
		gs_buf_puts(out, "    debug information: none\n");
	else if (info->debug_path)
		gs_buf_printf(out, "    debug information: %s\n", info->debug_path);
}

void gs_explain_probe(struct gs_resolver *r, const struct gs_probe_spec *spec,
		      const struct gs_loaded *module)
{
	struct gs_buf *out = &r->explanation;

	if (out->len)
		gs_buf_putc(out, '\n');
	gs_buf_puts(out, "probe ");
	gs_escape(out, spec->text, strlen(spec->text), GS_ESCAPE_PLAIN);
	gs_buf_putc(out, '\n');
	put_module(r, module);
}

static void put_site_head(struct gs_buf *out, const struct gs_place_site *p, uint32_t id)
{
	gs_buf_printf(out, "  site %u at 0x%" PRIx64, id, p->link_addr);
	if (p->func && *p->func)
		gs_buf_printf(out, " in %s", p->func);
	if (p->inlined_in && *p->inlined_in)
		gs_buf_printf(out, ", inlined in %s", p->inlined_in);
	if (p->file && *p->file)
		gs_buf_printf(out, ", %s:%u", p->file, p->line);
	gs_buf_putc(out, '\n');
	gs_buf_printf(out, "    instruction: %s (%s)", p->insn ? p->insn : "?",
		      p->cost ? p->cost : "?");
	if (p->link_addr != p->natural_addr)
		gs_buf_printf(out, ", instead of 0x%" PRIx64, p->natural_addr);
	gs_buf_putc(out, '\n');
}

/* How the function is left there, and where what is kept of the call is saved. */
static void put_exit(struct gs_buf *out, const struct gs_site *site)
{
	const struct gs_exit_point *e = site->place->exit;

	if (!e)
		return;
	gs_buf_puts(out, "    return: ");
	if (e->kind == GS_EXIT_URETPROBE)
		gs_buf_puts(out, "uretprobe at the entry");
	else if (e->kind == GS_EXIT_RET)
		gs_buf_puts(out, "ret");
	else
		gs_buf_printf(out, "tail call to %s%s", e->target,
			      e->is_indirect		       ? ", unless it is a switch"
			      : e->condition != GS_EXIT_ALWAYS ? ", if the jump is taken"
							       : "");
	gs_buf_printf(out, "; the call is saved at 0x%" PRIx64 "%s\n",
		      site->entry->place->link_addr,
		      site->entry->place->is_loop ? " (which loops: nothing of it is used)" : "");
}

const char *gs_explain_where(struct gs_site *site, const struct gs_variable *var)
{
	struct gs_location loc = {0};
	struct gs_arena *arena = &site->r->arena;
	struct gs_plan plan;
	struct gs_error *err;
	const char *where, *at;

	if (var->flags & GS_VAR_CONSTANT)
		return gs_arena_printf(arena, "constant %" PRId64, var->constant);
	gs_plan_init(&plan);
	err = gs_context_location(site->place->context, var, &plan, &loc);
	if (err) {
		where = gs_arena_strdup(arena, gs_error_message(err));
		gs_error_free(err);
	} else if (loc.kind == GS_LOC_ABSENT) {
		at = gs_context_readable_at(site->place->context, var);
		where = gs_arena_printf(arena, "%s%s%s%s%s", gs_status_name(loc.status),
					loc.reason && *loc.reason ? ": " : "",
					loc.reason ? loc.reason : "", at ? "; readable at " : "",
					at ? at : "");
	} else {
		where = gs_arena_strdup(arena, loc.where ? loc.where : "");
	}
	gs_plan_deinit(&plan);
	return where;
}

/* Where what an item names is, when it names one variable. */
static const char *where_of(struct gs_site *site, const struct gs_want *want)
{
	const struct gs_operand *o = &want->operand;

	if (want->is_elsewhere)
		return want->problem;
	if (want->tree) {
		if (want->tree->kind != GS_EXPR_NAME || !want->tree->binding ||
		    want->tree->binding > site->noperands)
			return want->status && want->reason && *want->reason ? want->reason : "";
		o = &site->operands[want->tree->binding - 1];
	}
	return o->kind == GS_OPERAND_VARIABLE && site->place->context
		       ? gs_explain_where(site, &o->var)
		       : "";
}

static void put_want(struct gs_site *site, const struct gs_want *want)
{
	struct gs_buf *out = &site->r->explanation;
	const char *where = where_of(site, want);

	gs_buf_puts(out, "    ");
	gs_escape(out, want->key, strlen(want->key), GS_ESCAPE_PLAIN);
	gs_buf_puts(out, ": ");
	put_type(site->r, want->type);
	if (where && *where)
		gs_buf_printf(out, ", %s", where);
	else if (want->status)
		gs_buf_printf(out, ", %s", gs_status_name(want->status));
	gs_buf_putc(out, '\n');
}

static void put_sharing(struct gs_resolver *r, uint32_t site_id)
{
	const struct gs_meta_site *row = &r->out->meta.sites[site_id];
	struct gs_layout layout;
	struct gs_error *err = gs_schema_layout(&r->out->meta.schemas[row->schema], &layout);

	gs_buf_printf(&r->explanation, "    plan %u", r->out->sites[site_id].plan);
	if (err) {
		gs_buf_printf(&r->explanation, ": %s\n", gs_error_message(err));
		gs_error_free(err);
		return;
	}
	if (layout.max_len == layout.fixed_len)
		gs_buf_printf(&r->explanation, ", records of %u bytes\n", layout.max_len);
	else
		gs_buf_printf(&r->explanation, ", records of %u to %u bytes\n", layout.fixed_len,
			      layout.max_len);
	gs_layout_deinit(&layout);
}

void gs_explain_site(struct gs_resolver *r, struct gs_site *site, uint32_t site_id,
		     const struct gs_want *wants, size_t n)
{
	put_site_head(&r->explanation, site->place, site_id);
	put_exit(&r->explanation, site);
	for (size_t i = 0; i < n; i++)
		put_want(site, &wants[i]);
	put_sharing(r, site_id);
}

static void put_listing(struct gs_resolver *r, const struct gs_plan *plan)
{
	const struct gs_gen_options options = {.features = ~0u, .ring_bytes = 1u << 20};
	struct gs_layout layout;
	struct gs_program program = {0};
	struct gs_buf listing = {0};
	struct gs_error *err;

	err = gs_plan_layout(plan, &layout);
	if (!err) {
		err = gs_program_generate(plan, &layout, &options, &program, &listing);
		gs_layout_deinit(&layout);
	}
	if (err) {
		gs_buf_printf(&r->explanation, "  %s\n", gs_error_message(err));
		gs_error_free(err);
	} else {
		gs_buf_printf(&r->explanation, "  program of %zu instructions\n", program.n);
		gs_buf_append(&r->explanation, listing.data, listing.len);
		gs_program_deinit(&program);
	}
	gs_buf_deinit(&listing);
}

/* The sites that share plan I: "plan 0 (sites 0, 1)". */
static void put_plan_head(struct gs_resolver *r, size_t plan)
{
	struct gs_buf *out = &r->explanation;
	size_t n = 0;

	gs_buf_printf(out, "\nplan %zu (site", plan);
	for (size_t s = 0; s < r->out->meta.nsites; s++) {
		if (r->out->sites[s].plan != plan)
			continue;
		if (n < 8)
			gs_buf_printf(out, "%s %zu", n ? "," : "", s);
		n++;
	}
	gs_buf_puts(out, n > 8 ? ", ...)\n" : ")\n");
}

void gs_explain_plans(struct gs_resolver *r)
{
	for (size_t i = 0; i < r->out->nplans; i++) {
		struct gs_buf text = {0};

		put_plan_head(r, i);
		gs_plan_print(&text, &r->out->plans[i]);
		/* Indented under its head, line by line. */
		for (char *line = gs_buf_cstr(&text), *nl; *line; line = nl + (*nl == '\n')) {
			nl = line + strcspn(line, "\n");
			gs_buf_printf(&r->explanation, "  %.*s\n", (int)(nl - line), line);
		}
		gs_buf_deinit(&text);
		if (r->req->verbose)
			put_listing(r, &r->out->plans[i]);
	}
	for (size_t i = 0; i < r->out->npending; i++)
		gs_buf_printf(&r->explanation,
			      "%sprobe %s\n  pending: resolved when %s is mapped\n",
			      r->explanation.len ? "\n" : "",
			      r->out->meta.probes[r->out->pending[i].probe].text,
			      r->out->pending[i].module);
}
