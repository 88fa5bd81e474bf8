/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting for modules, resolving their probes once they are there.
 * Between the maps of the recorded processes and a second round of the resolver.
 */
#include "record/late.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "record/proc.h"

enum state { STATE_WAITING, STATE_RESOLVING, STATE_DONE };

struct pending {
	uint32_t probe; /* of the session */
	const char *module;
	enum state state;
	bool alone; /* its round failed: perhaps another probe of the module was the reason */
};

/* One round of the resolver: all probes of one module. */
struct round {
	struct gs_arena arena;
	struct gs_resolve_request request;
	struct gs_resolve_map map;
	uint32_t *probes;
	size_t nprobes;
	const char *path;
	pthread_t thread;
	struct gs_resolution *resolution;
	struct gs_error *error;
	_Atomic bool finished;
};

/* A file that looked like a module and is not it. */
struct rejected {
	const char *module, *path;
};

struct gs_late {
	struct gs_arena arena;
	struct rejected *rejected;
	size_t nrejected, rejected_cap;
	const struct gs_resolve_request *request;
	const struct gs_voice *voice;
	struct pending *pending;
	size_t npending;
	struct round *round; /* one at a time */
};

struct gs_late *gs_late_new(const struct gs_late_options *opts)
{
	const struct gs_resolution *res = opts->resolution;
	struct gs_late *l;

	if (!res->npending)
		return NULL;
	l = gs_calloc(1, sizeof(*l));
	gs_arena_init(&l->arena);
	l->request = opts->request;
	l->voice = opts->voice;
	l->pending = gs_calloc(res->npending, sizeof(*l->pending));
	l->npending = res->npending;
	for (size_t i = 0; i < res->npending; i++)
		l->pending[i] = (struct pending){
			.probe = res->pending[i].probe,
			.module = gs_arena_strdup(&l->arena, res->pending[i].module),
		};
	return l;
}

static void round_free(struct round *r)
{
	if (r->resolution) {
		gs_resolution_deinit(r->resolution);
		free(r->resolution);
	}
	gs_error_free(r->error);
	free(r->probes);
	gs_arena_deinit(&r->arena);
	free(r);
}

bool gs_late_free(struct gs_late *l)
{
	if (!l)
		return true;
	if (l->round && !l->round->finished)
		return false; /* its thread reads these */
	if (l->round) {
		pthread_join(l->round->thread, NULL);
		round_free(l->round);
	}
	free(l->pending);
	free(l->rejected);
	gs_arena_deinit(&l->arena);
	free(l);
	return true;
}

bool gs_late_waiting(const struct gs_late *l)
{
	for (size_t i = 0; l && i < l->npending; i++) {
		if (l->pending[i].state != STATE_DONE)
			return true;
	}
	return false;
}

const char *gs_late_module(const struct gs_late *l, uint32_t probe)
{
	for (size_t i = 0; l && i < l->npending; i++) {
		if (l->pending[i].probe == probe && l->pending[i].state == STATE_WAITING)
			return l->pending[i].module;
	}
	return NULL;
}

/* ---- is it mapped? ---- */

/*
 * A cheap first look, which takes in too much rather than too little: libfoo.so, libfoo.so.1,
 * libfoo and foo all may mean a file; of a path the last part is compared. The resolver, which
 * opens the file, has the last word: a file that it does not take for the module is rejected, and
 * the wait goes on.
 */
static bool names(const char *wanted, const char *path)
{
	const char *base = strrchr(path, '/');
	const char *want = strrchr(wanted, '/');
	size_t n;

	base = base ? base + 1 : path;
	want = want ? want + 1 : wanted;
	n = strlen(want);
	if (!strncmp(base, want, n) && (!base[n] || base[n] == '.' || base[n] == '-'))
		return true;
	return !strncmp(base, "lib", 3) && !strncmp(base + 3, want, n) &&
	       (base[3 + n] == '.' || base[3 + n] == '-');
}

struct look {
	struct gs_late *l;
	int32_t pid;
	struct gs_proc_map map;
	char *path;
	size_t index; /* of the pending probe */
	bool found;
};

static bool is_rejected(const struct gs_late *l, const char *module, const char *path)
{
	for (size_t i = 0; i < l->nrejected; i++) {
		if (!strcmp(l->rejected[i].module, module) && !strcmp(l->rejected[i].path, path))
			return true;
	}
	return false;
}

static bool look_map(void *ctx, const struct gs_proc_map *map)
{
	struct look *look = ctx;

	if (!map->exec)
		return true;
	for (size_t i = 0; i < look->l->npending; i++) {
		const struct pending *p = &look->l->pending[i];

		if (p->state != STATE_WAITING || !names(p->module, map->path) ||
		    is_rejected(look->l, p->module, map->path))
			continue;
		look->map = *map;
		look->path = gs_strdup(map->path);
		look->index = i;
		look->found = true;
		return false;
	}
	return true;
}

/* ---- the second round ---- */

static void *round_main(void *arg)
{
	struct round *r = arg;

	r->error = gs_resolve(&r->request, r->resolution);
	r->finished = true;
	return NULL;
}

static void fill_round(struct gs_late *l, struct round *r, const struct look *look)
{
	const char *module = l->pending[look->index].module;
	const char **texts = gs_arena_alloc(&r->arena, l->npending * sizeof(*texts));

	r->probes = gs_calloc(l->npending, sizeof(*r->probes));
	for (size_t i = 0; i < l->npending; i++) {
		struct pending *p = &l->pending[i];

		if (p->state != STATE_WAITING || strcmp(p->module, module) != 0)
			continue;
		if (i != look->index && (p->alone || l->pending[look->index].alone))
			continue;
		p->state = STATE_RESOLVING;
		texts[r->nprobes] = l->request->probes[p->probe];
		r->probes[r->nprobes++] = p->probe;
	}
	r->path = gs_arena_strdup(&l->arena, look->path);
	r->map.name = r->path;
	r->map.open = gs_arena_printf(&r->arena, "/proc/%d/map_files/%llx-%llx", look->pid,
				      (unsigned long long)look->map.start,
				      (unsigned long long)look->map.end);
	if (access(r->map.open, R_OK) != 0)
		r->map.open = gs_arena_printf(&r->arena, "/proc/%d/root%s", look->pid, r->path);
	r->request = *l->request;
	r->request.probes = texts;
	r->request.nprobes = r->nprobes;
	r->request.maps = &r->map;
	r->request.nmaps = 1;
	r->request.explain = false;
	/* The module is there: neither the executable nor what it needs has to be opened again. */
	r->request.executable = NULL;
	r->request.display = NULL;
	r->request.allow_pending = true; /* still: it may be another file than it looks */
}

static void start_round(struct gs_late *l, const struct look *look)
{
	struct round *r = gs_calloc(1, sizeof(*r));
	sigset_t all, old;
	int err;

	gs_arena_init(&r->arena);
	r->resolution = gs_calloc(1, sizeof(*r->resolution));
	fill_round(l, r, look);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&r->thread, NULL, round_main, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	l->round = r;
	if (err) { /* without a thread it is done here: slower for the drain, but done */
		round_main(r);
		r->thread = pthread_self();
	}
}

void gs_late_look(struct gs_late *l, int32_t pid)
{
	struct look look = {.l = l, .pid = pid};

	if (l->round)
		return;
	gs_proc_each_map(pid, look_map, &look);
	if (look.found)
		start_round(l, &look);
	free(look.path);
}

/* Says why a round gave nothing; true when it gave sites. */
static bool usable(struct gs_late *l, struct round *r)
{
	if (r->error) {
		gs_voice_error(l->voice, gs_error_wrap(r->error,
						       "`%s' was mapped, but its probes are "
						       "not recorded",
						       r->path));
		r->error = NULL;
		free(r->resolution); /* was not filled */
		r->resolution = NULL;
		return false;
	}
	for (size_t i = 0; i < r->resolution->nwarnings; i++)
		gs_voice_say(l->voice, "%s", r->resolution->warnings[i]);
	if (r->resolution->nerrors)
		gs_voice_always(l->voice,
				"`%s' was mapped, but its probes are not recorded:", r->path);
	for (size_t i = 0; i < r->resolution->nerrors; i++)
		gs_error_print(stderr, "gs-record", r->resolution->errors[i]);
	return !r->resolution->nerrors && r->resolution->meta.nsites;
}

/*
 * The resolver gives all probes of a request or none. One that it does not take must not cost the
 * others theirs: each gets a round of its own, which tells whose error it is.
 */
static bool one_by_one(struct gs_late *l, const struct round *r)
{
	if (r->nprobes < 2 || r->error || !r->resolution->nerrors)
		return false;
	for (size_t i = 0; i < l->npending; i++) {
		if (l->pending[i].state != STATE_RESOLVING)
			continue;
		l->pending[i].state = STATE_WAITING;
		l->pending[i].alone = true;
	}
	return true;
}

/* The module of these is another file: they wait on. */
static void wait_again(struct gs_late *l, const struct gs_resolution *res, const uint32_t *probes,
		       const char *path)
{
	for (size_t i = 0; i < res->npending; i++) {
		for (size_t k = 0; k < l->npending; k++) {
			struct pending *p = &l->pending[k];

			if (p->probe != probes[res->pending[i].probe])
				continue;
			p->state = STATE_WAITING;
			if (!is_rejected(l, p->module, path))
				*GS_PUSH(l->rejected, l->nrejected, l->rejected_cap) =
					(struct rejected){p->module, path};
		}
	}
}

bool gs_late_take(struct gs_late *l, struct gs_late_ready *out)
{
	struct round *r = l->round;
	bool good;

	if (!r || !r->finished)
		return false;
	if (!pthread_equal(r->thread, pthread_self()))
		pthread_join(r->thread, NULL);
	if (one_by_one(l, r)) {
		l->round = NULL;
		round_free(r);
		return false;
	}
	for (size_t i = 0; i < l->npending; i++) {
		if (l->pending[i].state == STATE_RESOLVING)
			l->pending[i].state = STATE_DONE;
	}
	good = usable(l, r);
	if (r->resolution)
		wait_again(l, r->resolution, r->probes, r->path);
	if (good) {
		*out = (struct gs_late_ready){r->resolution, r->probes, r->nprobes, r->path};
		r->resolution = NULL;
		r->probes = NULL;
	}
	l->round = NULL;
	round_free(r);
	return good;
}
