/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From resolved sites to probes in the kernel: at the start, and for modules that are mapped later.
 * Between the resolver's answer and the tracer.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "record/session_state.h"

/* Beyond this many other processes that pay for a probe, --system-wide is asked for. */
#define CROWD_MAX 50
#define LATE_LOOK_NS 9000000

/* ---- layouts ---- */

/* The program stores by the plan, everybody else decodes by the schema: they must say the same. */
static struct gs_error *check_plan(const struct gs_plan *plan, const struct gs_meta_schema *schema)
{
	bool same = plan->nitems == schema->nitems;

	for (size_t i = 0; same && i < plan->nitems; i++)
		same = plan->items[i].variable == schema->items[i].variable &&
		       plan->items[i].size == schema->items[i].size;
	if (same)
		return NULL;
	return gs_error_new(GS_ERR_INTERNAL, "the plan and the schema of a probe differ");
}

static struct gs_error *make_layouts(const struct gs_resolution *res, struct gs_layout *layouts)
{
	GS_CLEANUP_FREE bool *made = gs_calloc(res->nplans + 1, sizeof(*made));

	for (size_t i = 0; i < res->nentries; i++) {
		uint32_t plan = res->entries[i].plan;

		if (!made[plan])
			GS_TRY(gs_layout_init(&layouts[plan], NULL, 0));
		made[plan] = true;
	}

	for (size_t i = 0; i < res->meta.nsites; i++) {
		const struct gs_meta_schema *schema = &res->meta.schemas[res->meta.sites[i].schema];
		uint32_t plan = res->sites[i].plan;

		GS_TRY(check_plan(&res->plans[plan], schema));
		if (made[plan])
			continue;
		GS_TRY(gs_schema_layout(schema, &layouts[plan]));
		made[plan] = true;
	}
	return NULL;
}

/* ---- attach ---- */

static uint32_t session_probe(const struct gs_bases *bases, uint32_t probe)
{
	return bases->probes ? bases->probes[probe] : probe;
}

/* Sites that save frames are numbered behind all those that make events. */
static uint32_t entry_id(const struct gs_session *s, const struct gs_bases *bases, uint32_t entry)
{
	return entry == GS_NONE ? 0 : s->tally.max_sites + bases->entries + entry;
}

static void fill_sites(const struct gs_session *s, const struct gs_resolution *res,
		       const struct gs_bases *bases, struct gs_trace_site *sites)
{
	for (size_t i = 0; i < res->meta.nsites; i++) {
		const struct gs_meta_site *site = &res->meta.sites[i];

		sites[i] = (struct gs_trace_site){
			.id = site->id + bases->sites,
			.probe = session_probe(bases, site->probe),
			.plan = res->sites[i].plan,
			.group = entry_id(s, bases, res->sites[i].entry),
			.fd = res->module_fds[site->module],
			.file_offset = res->sites[i].file_offset,
			.link_addr = site->link_addr,
			.ref_ctr_offset = res->sites[i].ref_ctr_offset,
			.pid = s->kernel_pid,
		};
	}
	sites += res->meta.nsites;
	for (size_t i = 0; i < res->nentries; i++) {
		const struct gs_resolved_entry *e = &res->entries[i];

		sites[i] = (struct gs_trace_site){
			.id = entry_id(s, bases, (uint32_t)i),
			.probe = session_probe(bases, e->probe),
			.plan = e->plan,
			.group = entry_id(s, bases, (uint32_t)i),
			.fd = res->module_fds[e->module],
			.file_offset = e->file_offset,
			.link_addr = e->link_addr,
			.pid = s->kernel_pid,
		};
	}
}

/* Values that are saved at an entry are absent then, and say so. */
static void say_refused_entries(struct gs_session *s, const struct gs_resolution *res,
				const struct gs_bases *bases, struct gs_attach_failure *failures,
				size_t *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		uint32_t id = failures[i].site;

		if (id < s->tally.max_sites) {
			failures[kept++] = failures[i];
			continue;
		}
		id -= s->tally.max_sites + bases->entries;
		gs_voice_say(&s->voice,
			     "probe `%s': the kernel refused the entry of a function at 0x%" PRIx64
			     ": what is saved there is absent: %s",
			     s->res.meta.probes[session_probe(bases, res->entries[id].probe)].name,
			     res->entries[id].link_addr, strerror(abs(failures[i].err)));
	}
	*n = kept;
}

/* One line a probe, with the first reason. */
static void say_refused(struct gs_session *s, const struct gs_resolution *res,
			const struct gs_bases *bases, const struct gs_attach_failure *failures,
			size_t n)
{
	for (uint32_t p = 0; n && p < s->tally.nprobes; p++) {
		uint32_t count = 0;
		int err = 0;

		for (size_t i = 0; i < n; i++) {
			const struct gs_meta_site *site =
				&res->meta.sites[failures[i].site - bases->sites];

			if (session_probe(bases, site->probe) != p)
				continue;
			if (!count++)
				err = abs(failures[i].err);
		}
		s->refused[p] += count;
		if (count)
			gs_voice_say(&s->voice,
				     "probe `%s': the kernel refused %u of its %u site%s: %s",
				     s->res.meta.probes[p].name, count, s->sites_of[p],
				     gs_plural(s->sites_of[p]), strerror(err));
	}
}

static struct gs_error *none_left(const struct gs_session *s,
				  const struct gs_attach_failure *failures, size_t nfailures,
				  size_t nsites)
{
	if (!nsites || nfailures < nsites || s->late)
		return NULL;
	return gs_error_errno(abs(failures[0].err),
			      "the kernel refused every site of every probe; nothing to record");
}

struct gs_error *gs_session_attach(struct gs_session *s, const struct gs_resolution *res,
				   const struct gs_bases *bases)
{
	size_t nsites = res->meta.nsites, nfailures = 0, nall = nsites + res->nentries;
	GS_CLEANUP_FREE struct gs_trace_site *sites = gs_calloc(nall + 1, sizeof(*sites));
	GS_CLEANUP_FREE struct gs_layout *layouts = gs_calloc(res->nplans + 1, sizeof(*layouts));
	GS_CLEANUP_FREE struct gs_attach_failure *failures = NULL;
	struct gs_error *err;

	fill_sites(s, res, bases, sites);
	for (size_t i = 0; i < nsites; i++)
		s->sites_of[sites[i].probe]++;
	err = make_layouts(res, layouts);
	if (!err && nsites)
		err = gs_tracer_attach(s->tracer, res->plans, layouts, res->nplans, sites, nall,
				       &failures, &nfailures);
	if (!err) {
		say_refused_entries(s, res, bases, failures, &nfailures);
		say_refused(s, res, bases, failures, nfailures);
		err = none_left(s, failures, nfailures, nsites);
	}
	for (size_t i = 0; i < res->nplans; i++)
		gs_layout_deinit(&layouts[i]);
	return err;
}

/* ---- what others pay ---- */

struct pids {
	int32_t *list;
	size_t n, cap;
};

static void add_pid(void *ctx, int32_t pid)
{
	struct pids *p = ctx;

	*GS_PUSH(p->list, p->n, p->cap) = pid;
}

static struct gs_error *judge_crowd(struct gs_session *s, const struct gs_crowd *file)
{
	if (file->strangers && s->target.kind == GS_TARGET_SYSTEM)
		gs_voice_say(
			&s->voice,
			"%zu process%s another file as `%s' (it was replaced, or is seen under "
			"another root): not recorded",
			file->strangers, file->strangers == 1 ? " maps" : "es map", file->path);
	if (!file->others)
		return NULL;
	if (s->target.kind == GS_TARGET_SYSTEM) {
		gs_voice_detail(&s->voice, "%zu process%s `%s' now", file->others,
				file->others == 1 ? " maps" : "es map", file->path);
		return NULL;
	}
	if (file->others > CROWD_MAX && !s->opts->system_wide)
		return gs_error_hint(
			gs_error_new(
				GS_ERR_USAGE,
				"%zu other processes map `%s' and would pay for each hit of its "
				"probes",
				file->others, file->path),
			"accept it with --system-wide, or leave children out with --no-follow: "
			"then only the recorded process pays");
	gs_voice_say(&s->voice,
		     "%zu other process%s `%s' too: each hit costs them some microseconds as well",
		     file->others, file->others == 1 ? " maps" : "es map", file->path);
	return NULL;
}

/* A breakpoint is in the file, not in the process: every process that maps it traps. */
struct gs_error *gs_session_crowd(struct gs_session *s)
{
	size_t n = s->res.meta.nmodules;
	GS_CLEANUP_FREE struct gs_crowd *files = gs_calloc(n + 1, sizeof(*files));
	GS_CLEANUP_FREE bool *probed = gs_calloc(n + 1, sizeof(*probed));
	struct pids own = {0};
	struct gs_error *err = NULL;

	if (s->kernel_pid)
		return NULL;
	for (size_t i = 0; i < s->res.meta.nsites; i++)
		probed[s->res.meta.sites[i].module] = true;
	for (size_t i = 0; i < n; i++) {
		files[i].fd = probed[i] ? s->res.module_fds[i] : -1;
		files[i].path = s->res.meta.modules[i].path;
	}
	for (size_t i = 0; i < s->opts->npids; i++)
		add_pid(&own, s->opts->pids[i]);
	gs_target_descendants(s->opts->pids, s->opts->npids, add_pid, &own);
	gs_crowd_count(files, n, own.list, own.n);
	free(own.list);
	for (size_t i = 0; i < n && !err; i++)
		err = judge_crowd(s, &files[i]);
	return err;
}

/* ---- modules mapped later ---- */

static void attach_late(struct gs_session *s, struct gs_late_ready *ready)
{
	struct gs_bases bases = s->bases;
	struct gs_resolution *res = ready->resolution;
	struct gs_error *err;

	bases.probes = ready->probes;
	err = gs_drain_add(s->drain, res, &bases);
	if (!err) {
		gs_processes_add(s->processes, res, bases.modules);
		err = gs_session_attach(s, res, &bases);
	}
	if (err) {
		gs_voice_error(&s->voice,
			       gs_error_wrap(err, "`%s' was mapped, but", ready->module));
		gs_resolution_deinit(res);
		free(res);
	} else {
		gs_voice_say(&s->voice,
			     "`%s' is mapped now, its probes are armed: calls before are "
			     "not recorded",
			     ready->module);
		s->bases.modules += (uint32_t)res->meta.nmodules;
		s->bases.schemas += (uint32_t)res->meta.nschemas;
		s->bases.sites += (uint32_t)res->meta.nsites;
		s->bases.entries += (uint32_t)res->nentries;
		/* In the queue before any event of it: those are still in the rings. */
		gs_output_resolution(s->output, res, &bases, ready->nprobes);
	}
	free(ready->probes);
}

static void look(void *ctx, int32_t pid)
{
	struct gs_session *s = ctx;

	gs_late_look(s->late, pid);
}

void gs_session_late(struct gs_session *s, uint64_t now_ns)
{
	struct gs_late_ready ready;
	uint64_t took;

	if (!gs_late_waiting(s->late))
		return;
	if (gs_late_take(s->late, &ready))
		attach_late(s, &ready);
	if (now_ns < s->late_next_ns)
		return;
	gs_tracer_pid_each(s->tracer, look, s);
	/* Many processes, or one with thousands of maps, are looked at less often: at most a
	 * twentieth of the time. */
	took = gs_session_now() - now_ns;
	s->late_next_ns = now_ns + (took * 20 > LATE_LOOK_NS ? took * 20 : LATE_LOOK_NS);
}
