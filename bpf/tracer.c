/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tracing session in the kernel: its maps, process set, counters and ring buffers.
 * In the flow: record/ opens it, attaches through attach.c, and drains it.
 */
#include "bpf/tracer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/tracer_impl.h"
#include "common/mem.h"

/* Processes of one session that are alive at the same time. Preallocated: a fork must not fail. */
#define MAX_PROCESSES 32768u

static struct gs_error *explain(int err, const char *what)
{
	struct gs_error *e = gs_error_errno(err, "%s", what);

	if (err == EPERM || err == EACCES)
		return gs_error_hint(e, "recording needs root, or CAP_BPF and CAP_PERFMON");
	if (err == ENOSYS || err == EINVAL)
		return gs_error_hint(e, "the kernel must have CONFIG_BPF_SYSCALL and "
					"CONFIG_UPROBE_EVENTS (Linux 5.8 or later)");
	return e;
}

static struct gs_error *create_map(struct gs_tracer *t, enum gs_map map, enum bpf_map_type type,
				   const char *name, uint32_t value, uint32_t entries)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts,
		    .map_flags = map == GS_MAP_CONTROL ? BPF_F_MMAPABLE : 0);
	int fd = bpf_map_create(type, name, sizeof(uint32_t), value, entries, &opts);

	if (fd < 0)
		return explain(errno, "cannot create a BPF map");
	t->map_fd[map] = fd;
	return NULL;
}

/* Mapped, so that the switch is one store and takes nothing from the kernel's counters beside it.
 */
static struct gs_error *map_control(struct gs_tracer *t)
{
	void *p = mmap(NULL, sizeof(*t->control), PROT_READ | PROT_WRITE, MAP_SHARED,
		       t->map_fd[GS_MAP_CONTROL], 0);

	if (p == MAP_FAILED)
		return gs_error_errno(errno, "cannot map the control map");
	t->control = p;
	return NULL;
}

static struct gs_error *create_maps(struct gs_tracer *t)
{
	const struct gs_tracer_options *o = &t->opts;
	uint32_t nsites = o->max_sites + o->max_entries ? o->max_sites + o->max_entries : 1;
	uint32_t nprobes = o->nprobes ? o->nprobes : 1;
	uint32_t npids = o->filter_pids ? MAX_PROCESSES : 64;

	/* The first map: here missing privileges show. */
	GS_TRY(create_map(t, GS_MAP_CONTROL, BPF_MAP_TYPE_ARRAY, "gs_control",
			  sizeof(struct gs_control), 1));
	GS_TRY(map_control(t));
	GS_TRY(create_map(t, GS_MAP_SITES, BPF_MAP_TYPE_ARRAY, "gs_sites",
			  sizeof(struct gs_site_slot), nsites));
	GS_TRY(create_map(t, GS_MAP_COUNTERS, BPF_MAP_TYPE_PERCPU_ARRAY, "gs_counters",
			  sizeof(struct gs_counters), nprobes));
	GS_TRY(create_map(t, GS_MAP_PIDS, BPF_MAP_TYPE_HASH, "gs_pids", sizeof(uint32_t), npids));
	GS_TRY(gs_rings_open(&t->rings, o->buffer_bytes));
	t->map_fd[GS_MAP_RINGS] = t->rings.outer;
	return NULL;
}

/* What a kernel offers one by one may not go together: a small program with all of it decides. */
static bool combination_loads(struct gs_tracer *t)
{
	struct gs_plan plan;
	struct gs_layout layout = {0};
	struct gs_program program;
	struct gs_gen_options opts = {
		.features = t->features,
		.filter_pids = true,
		.ring_bytes = (uint32_t)t->rings.bytes,
		.ns_dev = t->ns.dev,
		.ns_ino = t->ns.ino,
	};
	struct gs_load load = {
		.type = BPF_PROG_TYPE_KPROBE,
		.attach_type = t->features & GS_FEATURE_MULTI ? GS_BPF_TRACE_UPROBE_MULTI : 0,
		.flags = t->features & GS_FEATURE_SLEEPABLE ? BPF_F_SLEEPABLE : 0,
		.name = "gs_try",
	};
	int map_fd[GS_MAP_COUNT], fd = -1;
	struct gs_plan_item *item;
	struct gs_error *err;

	memcpy(map_fd, t->map_fd, sizeof(map_fd));
	gs_plan_init(&plan);
	item = gs_plan_item(&plan);
	item->kind = GS_ITEM_STRING;
	item->variable = true;
	item->size = 100;
	item->node = gs_plan_node(&plan, GS_OP_REG, 8, GS_NODE_NONE, GS_NODE_NONE, 5);
	err = gs_plan_layout(&plan, &layout);
	if (!err)
		err = gs_program_generate(&plan, &layout, &opts, &program, NULL);
	gs_plan_deinit(&plan);
	gs_layout_deinit(&layout);
	if (err) {
		gs_error_free(err);
		return false;
	}
	map_fd[GS_MAP_STAGING] = -1;
	if (t->features & GS_FEATURE_TASK_STORAGE)
		map_fd[GS_MAP_STAGING] = gs_sys_task_storage(512);
	fd = gs_sys_load(&load, program.insns, program.n, map_fd, NULL);
	gs_program_deinit(&program);
	if (map_fd[GS_MAP_STAGING] >= 0)
		close(map_fd[GS_MAP_STAGING]);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void settle_features(struct gs_tracer *t)
{
	static const uint32_t give_up[] = {GS_FEATURE_SLEEPABLE, GS_FEATURE_TASK_STORAGE,
					   GS_FEATURE_MULTI | GS_FEATURE_MULTI_PID |
						   GS_FEATURE_SESSION};

	t->features = gs_features_probe(t->opts.feature_mask, &t->ns);
	for (size_t i = 0; i < GS_ARRAY_SIZE(give_up) && !combination_loads(t); i++)
		t->features &= ~give_up[i];
}

static struct gs_error *check_namespace(const struct gs_tracer *t)
{
	if (t->ns.initial || (t->features & GS_FEATURE_NS_PID) || !t->opts.filter_pids)
		return NULL;
	return gs_error_hint(
		gs_error_new(GS_ERR_UNSUPPORTED,
			     "processes cannot be told apart in this pid namespace: "
			     "the kernel has no bpf_get_ns_current_pid_tgid"),
		"run gs-record in the initial pid namespace, or on Linux 5.7 or later");
}

static struct gs_error *open_session(struct gs_tracer *t)
{
	GS_TRY(create_maps(t));
	gs_pid_namespace_read(&t->ns);
	settle_features(t);
	GS_TRY(check_namespace(t));
	if (t->opts.follow) {
		struct gs_error *err = gs_kernel_types_load(&t->types);

		if (err)
			return gs_error_hint(err,
					     "following children needs them: --no-follow does not");
	} else if (t->opts.want_tls) {
		struct gs_error *err = gs_kernel_types_load(&t->types);

		/* Thread-local variables are then unavailable, and said to be: not worth a failure.
		 */
		gs_error_free(err);
	}
	return t->opts.follow || t->opts.at_exec ? gs_follow_start(t) : NULL;
}

struct gs_error *gs_tracer_open(const struct gs_tracer_options *opts, struct gs_tracer **out)
{
	struct gs_tracer *t = gs_calloc(1, sizeof(*t));
	struct gs_error *err;

	libbpf_set_print(NULL);
	t->opts = *opts;
	t->rings = (struct gs_rings){.epoll = -1, .outer = -1};
	for (size_t i = 0; i < GS_MAP_COUNT; i++)
		t->map_fd[i] = -1;
	t->ncpus = libbpf_num_possible_cpus();
	err = t->ncpus < 1 ? gs_error_errno(-t->ncpus, "cannot count the processors")
			   : open_session(t);
	if (err) {
		gs_tracer_close(t);
		return err;
	}
	*out = t;
	return NULL;
}

uint32_t gs_tracer_features(const struct gs_tracer *t)
{
	return t->features;
}

/* ---- control, process set, counters ---- */

struct gs_error *gs_tracer_enable(struct gs_tracer *t, bool on)
{
	__atomic_store_n(&t->control->enabled, on, __ATOMIC_SEQ_CST);
	return NULL;
}

static struct gs_error *enter_pid(struct gs_tracer *t, int32_t pid, uint32_t state)
{
	if (bpf_map_update_elem(t->map_fd[GS_MAP_PIDS], &pid, &state, BPF_ANY))
		return gs_error_errno(errno, "cannot add process %d to those that are recorded",
				      pid);
	return NULL;
}

struct gs_error *gs_tracer_pid_add(struct gs_tracer *t, int32_t pid)
{
	return enter_pid(t, pid, GS_PID_RECORDED);
}

struct gs_error *gs_tracer_pid_add_at_exec(struct gs_tracer *t, int32_t pid)
{
	return enter_pid(t, pid, GS_PID_AWAITS_EXEC);
}

struct gs_error *gs_tracer_pid_remove(struct gs_tracer *t, int32_t pid)
{
	/* One that has ended has removed itself. */
	if (bpf_map_delete_elem(t->map_fd[GS_MAP_PIDS], &pid) && errno != ENOENT)
		return gs_error_errno(errno, "cannot remove process %d from those recorded", pid);
	return NULL;
}

bool gs_tracer_pid_has(struct gs_tracer *t, int32_t pid)
{
	uint32_t flags;

	return bpf_map_lookup_elem(t->map_fd[GS_MAP_PIDS], &pid, &flags) == 0;
}

bool gs_tracer_pid_awaits_exec(struct gs_tracer *t, int32_t pid)
{
	uint32_t state;

	return bpf_map_lookup_elem(t->map_fd[GS_MAP_PIDS], &pid, &state) == 0 &&
	       state == GS_PID_AWAITS_EXEC;
}

uint32_t gs_tracer_pid_each(struct gs_tracer *t, void (*fn)(void *ctx, int32_t pid), void *ctx)
{
	uint32_t n = 0, key, next;
	const void *at = NULL;

	/* Deletions meanwhile may begin it anew: it ends where the set cannot be larger. */
	while (n < MAX_PROCESSES && bpf_map_get_next_key(t->map_fd[GS_MAP_PIDS], at, &next) == 0) {
		n++;
		key = next;
		at = &key;
		if (fn)
			fn(ctx, (int32_t)next);
	}
	return n;
}

struct gs_error *gs_tracer_counters(struct gs_tracer *t, uint32_t probe, struct gs_counters *out)
{
	GS_CLEANUP_FREE struct gs_counters *each = gs_calloc((size_t)t->ncpus, sizeof(*each));
	struct gs_counters sum = {0};

	if (bpf_map_lookup_elem(t->map_fd[GS_MAP_COUNTERS], &probe, each))
		return gs_error_errno(errno, "cannot read the counters of probe %u", probe);
	for (int c = 0; c < t->ncpus; c++) {
		sum.hits += each[c].hits;
		sum.matched += each[c].matched;
		sum.recorded += each[c].recorded;
		sum.skipped += each[c].skipped;
		sum.lost += each[c].lost;
		sum.faulted += each[c].faulted;
		sum.unpaired += each[c].unpaired;
	}
	*out = sum;
	return NULL;
}

uint64_t gs_tracer_filter_lost(struct gs_tracer *t)
{
	return __atomic_load_n(&t->control->filter_lost, __ATOMIC_RELAXED);
}

uint64_t gs_tracer_deeper(struct gs_tracer *t)
{
	return __atomic_load_n(&t->control->deeper, __ATOMIC_RELAXED);
}

uint64_t gs_tracer_process_lost(struct gs_tracer *t)
{
	return __atomic_load_n(&t->control->process_lost, __ATOMIC_RELAXED);
}

uint64_t gs_tracer_ring_bytes(const struct gs_tracer *t)
{
	return t->rings.bytes * t->rings.n;
}

struct gs_error *gs_tracer_poll(struct gs_tracer *t, int timeout_ms, gs_record_fn record, void *ctx,
				size_t *nrecords)
{
	size_t n = 0;
	struct gs_error *err = gs_rings_poll(&t->rings, timeout_ms, record, ctx, &n);

	if (nrecords)
		*nrecords = n;
	return err;
}

/* ---- the end ---- */

void gs_tracer_keep(struct gs_tracer *t, int fd)
{
	*GS_PUSH(t->links, t->nlinks, t->links_cap) = fd;
}

static void *close_one(void *arg)
{
	close((int)(intptr_t)arg);
	return NULL;
}

#define CLOSERS 64u

void gs_close_links(const int *fds, size_t n)
{
	pthread_t thread[CLOSERS];

	for (size_t at = 0; at < n; at += CLOSERS) {
		size_t batch = n - at < CLOSERS ? n - at : CLOSERS;
		bool started[CLOSERS] = {false};

		for (size_t i = 0; i < batch; i++) {
			void *arg = (void *)(intptr_t)fds[at + i];

			started[i] = batch > 1 && !pthread_create(&thread[i], NULL, close_one, arg);
			if (!started[i])
				close_one(arg);
		}
		for (size_t i = 0; i < batch; i++)
			if (started[i])
				pthread_join(thread[i], NULL);
	}
}

void gs_tracer_detach(struct gs_tracer *t)
{
	gs_close_links(t->links, t->nlinks);
	t->nlinks = 0;
}

void gs_tracer_close(struct gs_tracer *t)
{
	if (!t)
		return;
	gs_tracer_detach(t);
	if (t->control)
		munmap(t->control, sizeof(*t->control));
	t->map_fd[GS_MAP_RINGS] = -1; /* closed with the rings */
	gs_rings_close(&t->rings);
	for (size_t i = 0; i < GS_MAP_COUNT; i++)
		if (t->map_fd[i] >= 0)
			close(t->map_fd[i]);
	free(t->links);
	free(t);
}
