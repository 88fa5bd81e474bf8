/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a parsed place to its module and sites.
 * Between the search for files and the questions to one module; the rule of where names are looked
 * up is here.
 */
#include <inttypes.h>

#include "record/resolver.h"

/* Libraries that have the name; more than these are not listed. */
#define LISTED_MAX 8

/*
 * A uretprobe hides the caller from whoever unwinds the stack: only where nobody can. What is
 * loaded later is not known, nor are the programs that others run with a library.
 */
static bool may_uretprobe(struct gs_resolver *r, struct gs_loaded *m)
{
	struct gs_error *err;

	if (!r->req->may_uretprobe || r->req->executable_only || r->req->nmaps || !r->executable)
		return false;
	err = gs_search_needed(r);
	if (err) {
		gs_error_free(err);
		return false;
	}
	if (m != r->executable)
		return false;
	for (struct gs_loaded *l = r->loaded; l; l = l->next)
		if (gs_module_unwinds(l->m))
			return false;
	return true;
}

static struct gs_error *find_returns(struct gs_resolver *r, struct gs_loaded *m,
				     const struct gs_probe_spec *spec, struct gs_places *places)
{
	enum gs_return_method method = r->req->return_method;
	struct gs_return_options opts = {
		.uretprobe = method == GS_RETURN_URETPROBE ||
			     (method == GS_RETURN_AUTO && may_uretprobe(r, m)),
		.force = method == GS_RETURN_RET,
	};

	return gs_module_find_returns(m->m, spec->function, &opts, places);
}

static struct gs_error *find_in(struct gs_resolver *r, struct gs_loaded *m,
				const struct gs_probe_spec *spec, struct gs_places *places)
{

	switch (spec->where) {
	case GS_WHERE_FUNCTION:
		if (spec->is_return)
			return find_returns(r, m, spec, places);
		return gs_module_find_function(m->m, spec->function, places);
	case GS_WHERE_OFFSET:
		return gs_module_find_offset(m->m, spec->function, spec->number, places);
	case GS_WHERE_FUNCTION_LINE:
		if (spec->number > UINT32_MAX)
			return gs_error_new(GS_ERR_USAGE, "no function has that many lines");
		return gs_module_find_function_line(m->m, spec->function, (uint32_t)spec->number,
						    places);
	case GS_WHERE_LINE:
		return gs_module_find_line(m->m, spec->file, (uint32_t)spec->number, places);
	case GS_WHERE_ADDRESS:
		return gs_module_find_address(m->m, spec->number, places);
	case GS_WHERE_MARKER:
		break;
	}
	return gs_error_new(GS_ERR_INTERNAL, "a place of kind %d is not looked up", spec->where);
}

/* One attempt; NOT_FOUND leaves *found false and the error in *missing when that is still empty. */
static struct gs_error *try_in(struct gs_resolver *r, struct gs_loaded *m,
			       const struct gs_probe_spec *spec, struct gs_places *places,
			       bool *found, struct gs_error **missing)
{
	struct gs_error *err = find_in(r, m, spec, places);

	*found = !err;
	if (!err)
		return NULL;
	if (gs_error_code_of(err) != GS_ERR_NOT_FOUND)
		return err;
	if (*missing)
		gs_error_free(err);
	else
		*missing = err;
	return NULL;
}

static struct gs_error *found_in_several(const struct gs_probe_spec *spec,
					 struct gs_loaded *const *where, size_t n)
{
	struct gs_error *err =
		gs_error_new(GS_ERR_USAGE, "`%s' is in %zu libraries", spec->place, n);

	for (size_t i = 0; i < n && i < LISTED_MAX; i++)
		gs_error_hint(err, "%s!%s", where[i]->path, spec->place);
	return err;
}

/* The dynamic loader has a malloc and more of its own, which no program calls. */
static bool is_loader(const struct gs_loaded *m)
{
	const char *soname = gs_module_info(m->m)->soname;

	return soname && strncmp(soname, "ld-linux", strlen("ld-linux")) == 0;
}

/* In what the executable needs: the libraries, or the loader alone. *module stays NULL when it is
 * nowhere. */
static struct gs_error *find_in_needed(struct gs_resolver *r, const struct gs_probe_spec *spec,
				       bool loader, struct gs_loaded **module,
				       struct gs_places *places)
{
	struct gs_loaded *where[LISTED_MAX] = {NULL};
	struct gs_error *missing = NULL;
	size_t n = 0;

	for (struct gs_loaded *m = r->loaded; m; m = m->next) {
		struct gs_places here;
		bool found;

		if (!m->needed || m == r->executable || is_loader(m) != loader)
			continue;
		gs_places_init(&here);
		struct gs_error *err = try_in(r, m, spec, &here, &found, &missing);

		if (err || !found || n) {
			gs_places_deinit(&here);
			if (err)
				return err;
		} else {
			gs_places_deinit(places);
			*places = here;
		}
		if (found && n < LISTED_MAX)
			where[n] = m;
		n += found;
		gs_error_free(missing);
		missing = NULL;
	}
	if (n > 1)
		return found_in_several(spec, where, n);
	*module = where[0];
	return NULL;
}

static struct gs_error *not_found(struct gs_resolver *r, struct gs_error *missing, bool searched)
{
	const struct gs_module_info *info = gs_module_info(r->executable->m);

	if (!info->has_dwarf && !info->has_symbols && !info->debug_problem)
		gs_error_hint(missing, "%s has neither symbols nor debug information",
			      r->executable->path);
	if (searched && info->nneeded)
		gs_error_hint(missing, "the libraries that it needs do not have it either");
	if (searched && r->req->elsewhere)
		gs_error_hint(missing, "%s", r->req->elsewhere);
	return missing;
}

static struct gs_error *find_unnamed(struct gs_resolver *r, const struct gs_probe_spec *spec,
				     struct gs_loaded **module, struct gs_places *places)
{
	struct gs_error *missing = NULL, *err;
	struct gs_loaded *executable;
	bool found, search = spec->where != GS_WHERE_ADDRESS && !r->req->executable_only;

	GS_TRY(gs_search_executable(r, &executable));
	*module = executable;
	GS_TRY(try_in(r, executable, spec, places, &found, &missing));
	if (found)
		return NULL;
	*module = NULL;
	if (search) {
		err = gs_search_needed(r);
		if (!err)
			err = find_in_needed(r, spec, false, module, places);
		if (!err && !*module)
			err = find_in_needed(r, spec, true, module, places);
		if (err || *module) {
			gs_error_free(missing);
			return err;
		}
	}
	return not_found(r, missing, search);
}

static struct gs_error *find_named(struct gs_resolver *r, const struct gs_probe_spec *spec,
				   struct gs_loaded **module, struct gs_places *places)
{
	struct gs_error *err;

	GS_TRY(gs_search_module(r, spec->module, module));
	if (*module)
		return find_in(r, *module, spec, places);
	if (r->req->allow_pending)
		return NULL;
	err = gs_error_new(GS_ERR_NOT_FOUND,
			   "there is no module `%s': no library that is needed or mapped, and no "
			   "file of that name",
			   spec->module);
	return gs_search_hint(r, err, spec->module);
}

/* A library that the program needs is there from its start to its end: its thread-locals are read
 * by that. */
static void note_initial(struct gs_resolver *r, struct gs_loaded *m)
{
	if (!r->executable || m == r->executable || !gs_module_has_thread_locals(m->m) ||
	    !gs_module_info(r->executable->m)->is_executable)
		return;
	gs_error_free(gs_search_needed(r));
	if (m->needed)
		gs_module_set_initial(m->m);
}

struct gs_error *gs_resolve_place(struct gs_resolver *r, const struct gs_probe_spec *spec,
				  struct gs_loaded **module, struct gs_places *places)
{
	struct gs_error *err = spec->module ? find_named(r, spec, module, places)
					    : find_unnamed(r, spec, module, places);

	if (!err && *module)
		note_initial(r, *module);
	if (!err && *module && places->nsites > r->req->max_sites && r->req->max_sites)
		err = gs_error_hint(gs_error_new(GS_ERR_LIMIT,
						 "this place has %zu sites, and the most is %u",
						 places->nsites, r->req->max_sites),
				    "a longer name, FILE:LINE or an address matches fewer");
	return err ? gs_error_at(err, spec->text, spec->place_start, spec->place_len) : NULL;
}
