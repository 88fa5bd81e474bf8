/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attachment: sites in groups that share a program and a link, and what to do when the kernel
 * refuses some of them. In the flow: plans and sites of record/ become links that the tracer holds.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/tracer_impl.h"
#include "common/mem.h"

#define MAX_SITES_A_LINK (1u << 20) /* MAX_UPROBE_MULTI_CNT of the kernel */

struct site {
	const struct gs_trace_site *s;
	uint64_t dev, ino;
	int32_t pid; /* that the kernel filters by, 0 if none */
	bool is_entry;
};

struct attach {
	struct gs_tracer *t;
	const struct gs_plan *plans;
	const struct gs_layout *layouts;
	struct site *sites; /* sorted: groups are runs */
	size_t nsites;
	int *prog; /* per plan: shared program, -1 if not loaded yet; [2 * plan + own_filter] */
	struct gs_attach_failure *failures;
	size_t nfailures, failures_cap;
};

static bool has(const struct gs_tracer *t, enum gs_feature f)
{
	return t->features & f;
}

/* ---- programs ---- */

struct gs_error *gs_load_error(int err, const char *what, const char *log)
{
	struct gs_error *e;

	if (err == -E2BIG)
		return gs_error_hint(gs_error_new(GS_ERR_LIMIT,
						  "%s captures too much for one "
						  "program: the kernel refuses it",
						  what),
				     "capture fewer items, or split them over several probes");
	if (err == -EPERM)
		return gs_error_hint(gs_error_errno(EPERM, "cannot load the program of %s", what),
				     "recording needs root, or CAP_BPF and CAP_PERFMON");
	if (err != -EACCES && err != -EINVAL)
		return gs_error_errno(-err, "cannot load the program of %s", what);
	e = gs_error_new(GS_ERR_INTERNAL, "the kernel refuses the program of %s: %s", what,
			 strerror(-err));
	return log && log[0] ? gs_error_hint(e, "the verifier says:\n%s", log) : e;
}

/* One storage for all programs of a task: they run one after the other. A larger plan that comes
 * later gets a larger map; programs that are loaded keep theirs. */
static struct gs_error *ensure_staging(struct gs_tracer *t, uint32_t max_len)
{
	uint32_t size = 1024;
	int fd;

	if (!has(t, GS_FEATURE_TASK_STORAGE) || t->staging_size >= max_len + 8)
		return NULL;
	while (size < max_len + 8)
		size *= 2;
	if (size > GS_EVENT_MAX_LEN + 8)
		size = GS_EVENT_MAX_LEN + 8;
	fd = gs_sys_task_storage(size);
	if (fd < 0)
		return gs_error_errno(-fd, "cannot create task storage of %u bytes", size);
	if (t->map_fd[GS_MAP_STAGING] >= 0)
		close(t->map_fd[GS_MAP_STAGING]);
	t->map_fd[GS_MAP_STAGING] = fd;
	t->staging_size = size;
	return NULL;
}

#define FRAMES_BYTES (8u << 20)
#define FRAMES_MOST 32768u
#define FRAMES_LEAST 4096u
#define FRAME_OVERHEAD 80u /* of an element of a hash in the kernel */

/* Frames of the programs that are attached together; those attached before keep their own. */
static struct gs_error *ensure_frames(struct attach *a, size_t nplans)
{
	struct gs_tracer *t = a->t;
	uint32_t slots = 0, entries;
	bool wanted = false;
	int fd;

	for (size_t i = 0; i < nplans; i++) {
		wanted |= a->plans[i].frame != GS_NODE_NONE;
		slots = a->plans[i].nsaves > slots ? a->plans[i].nsaves : slots;
	}
	if (!wanted || (t->map_fd[GS_MAP_FRAMES] >= 0 && t->frame_slots >= slots))
		return NULL;
	slots = slots ? slots : 1;
	entries = FRAMES_BYTES / (gs_frame_size(slots) + FRAME_OVERHEAD);
	entries = entries > FRAMES_MOST ? FRAMES_MOST : entries;
	entries = entries < FRAMES_LEAST ? FRAMES_LEAST : entries;
	fd = bpf_map_create(BPF_MAP_TYPE_LRU_HASH, "gs_frames", sizeof(struct gs_frame_key),
			    gs_frame_size(slots), entries, NULL);
	if (fd < 0)
		return gs_error_errno(errno, "cannot create the map of calls");
	if (t->map_fd[GS_MAP_FRAMES] >= 0)
		close(t->map_fd[GS_MAP_FRAMES]);
	t->map_fd[GS_MAP_FRAMES] = fd;
	t->frame_slots = slots;
	return NULL;
}

static struct gs_error *check_room(const struct attach *a, size_t plan)
{
	uint64_t need = a->layouts[plan].max_len + 24u;

	if (need <= a->t->rings.bytes)
		return NULL;
	return gs_error_hint(
		gs_error_new(GS_ERR_LIMIT,
			     "one event can take %llu bytes, the buffer of a processor "
			     "is %llu bytes",
			     (unsigned long long)need, (unsigned long long)a->t->rings.bytes),
		"raise the buffer size, or capture less");
}

static struct gs_error *load_plan(struct attach *a, size_t plan, uint32_t site, bool filter,
				  int *fd)
{
	struct gs_tracer *t = a->t;
	struct gs_gen_options opts = {
		.features = t->features,
		.filter_pids = filter,
		.site = site,
		.ring_bytes = (uint32_t)t->rings.bytes,
		.ns_dev = t->ns.dev,
		.ns_ino = t->ns.ino,
		.tls_offset = t->types.task_fsbase,
		.frame_slots = t->frame_slots,
	};
	struct gs_load load = {
		.type = BPF_PROG_TYPE_KPROBE,
		.attach_type = has(t, GS_FEATURE_MULTI) ? GS_BPF_TRACE_UPROBE_MULTI : 0,
		.flags = has(t, GS_FEATURE_SLEEPABLE) ? BPF_F_SLEEPABLE : 0,
		.name = "gs_probe",
	};
	GS_CLEANUP_FREE char *log = NULL;
	struct gs_program program;

	GS_TRY(check_room(a, plan));
	GS_TRY(ensure_staging(t, a->layouts[plan].max_len));
	GS_TRY(gs_program_generate(&a->plans[plan], &a->layouts[plan], &opts, &program, NULL));
	*fd = gs_sys_load(&load, program.insns, program.n, t->map_fd, &log);
	gs_program_deinit(&program);
	if (*fd < 0)
		return gs_load_error(*fd, "a probe", log);
	return NULL;
}

/* The kernel's own pid filter makes the set needless, unless the set says from when on. */
static bool own_filter(const struct attach *a, const struct site *s)
{
	if (s->pid > 0)
		return a->t->opts.at_exec;
	return a->t->opts.filter_pids || s->s->pid > 0;
}

/* The program for a site: shared by plan, or its own where there are no cookies. */
static struct gs_error *program_for(struct attach *a, const struct site *s, int *fd, bool *mine)
{
	bool filter = own_filter(a, s);
	int *shared = &a->prog[2 * s->s->plan + filter];

	*mine = !has(a->t, GS_FEATURE_COOKIE);
	if (*mine)
		return load_plan(a, s->s->plan, s->s->id, filter, fd);
	if (*shared < 0)
		GS_TRY(load_plan(a, s->s->plan, 0, filter, shared));
	*fd = *shared;
	return NULL;
}

/* ---- links ---- */

static void refuse(struct attach *a, const struct site *s, int err)
{
	struct gs_attach_failure *f = GS_PUSH(a->failures, a->nfailures, a->failures_cap);

	f->site = s->s->id;
	f->err = err;
}

/* The instruction or the semaphore is at fault, not this process or the system. */
static bool concerns_site(int err)
{
	switch (err) {
	case EPERM:
	case EACCES:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case EBADF:
	case EFAULT:
	case E2BIG:
	case ESRCH:
	case ENOSYS:
	case EINTR:
		return false;
	default:
		return true;
	}
}

static void file_path(char buf[64], int fd)
{
	/* The very inode that was examined, whatever its name is now. */
	snprintf(buf, 64, "/proc/self/fd/%d", fd);
}

static int link_multi(const struct attach *a, const struct site *const *sites, size_t n, int prog,
		      bool cookies)
{
	GS_CLEANUP_FREE uint64_t *offsets = gs_calloc(n, sizeof(*offsets));
	GS_CLEANUP_FREE uint64_t *semaphores = gs_calloc(n, sizeof(*semaphores));
	GS_CLEANUP_FREE uint64_t *cookie = gs_calloc(n, sizeof(*cookie));
	struct gs_uprobe_multi m = {.offsets = offsets,
				    .n = (uint32_t)n,
				    .pid = sites[0]->pid,
				    .at_return = a->plans[sites[0]->s->plan].at_return};
	char path[64];

	file_path(path, sites[0]->s->fd);
	m.path = path;
	for (size_t i = 0; i < n; i++) {
		offsets[i] = sites[i]->s->file_offset;
		semaphores[i] = sites[i]->s->ref_ctr_offset;
		cookie[i] = sites[i]->s->id;
		if (semaphores[i])
			m.ref_ctr_offsets = semaphores;
	}
	if (cookies)
		m.cookies = cookie;
	return gs_sys_uprobe_multi(prog, GS_BPF_TRACE_UPROBE_MULTI, &m);
}

struct bisection {
	const struct site **good;
	size_t ngood;
	int prog;
	int *links;
	size_t nlinks, links_cap;
};

/* The kernel does not say which site it refuses: halve until it is alone. */
static struct gs_error *bisect(struct attach *a, struct bisection *b,
			       const struct site *const *sites, size_t n)
{
	int fd = link_multi(a, sites, n, b->prog, true);

	if (fd >= 0) {
		*GS_PUSH(b->links, b->nlinks, b->links_cap) = fd;
		memcpy(b->good + b->ngood, sites, n * sizeof(*sites));
		b->ngood += n;
		return NULL;
	}
	if (!concerns_site(-fd))
		return gs_error_errno(-fd, "cannot attach the probes");
	if (n == 1) {
		refuse(a, sites[0], -fd);
		return NULL;
	}
	GS_TRY(bisect(a, b, sites, n / 2));
	return bisect(a, b, sites + n / 2, n - n / 2);
}

static struct gs_error *link_some(struct attach *a, struct bisection *b,
				  const struct site *const *sites, size_t n)
{
	struct gs_error *err = bisect(a, b, sites, n);

	if (!err && b->nlinks > 2) {
		/* Each link costs time when it is closed: one for all that are good. */
		int fd;

		gs_close_links(b->links, b->nlinks);
		b->nlinks = 0;
		fd = link_multi(a, b->good, b->ngood, b->prog, true);
		if (fd < 0)
			err = gs_error_errno(-fd, "cannot attach the probes");
		else
			*GS_PUSH(b->links, b->nlinks, b->links_cap) = fd;
	}
	for (size_t i = 0; i < b->nlinks; i++)
		gs_tracer_keep(a->t, b->links[i]);
	free(b->links);
	return err;
}

/* Sites of one plan, file and pid filter: one program, one link. */
static struct gs_error *attach_group(struct attach *a, const struct site *sites, size_t n)
{
	GS_CLEANUP_FREE const struct site **all = gs_calloc(n, sizeof(*all));
	GS_CLEANUP_FREE const struct site **good = gs_calloc(n, sizeof(*good));
	struct bisection b = {.good = good};
	bool mine;

	for (size_t i = 0; i < n; i++)
		all[i] = &sites[i];
	GS_TRY(program_for(a, &sites[0], &b.prog, &mine));
	return link_some(a, &b, all, n);
}

/* ---- one site at a time: no cookies, or perf events ---- */

static int link_perf(const struct attach *a, const struct site *s, int prog, int *link)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = s->s->id);
	char path[64];
	int event;

	*link = -1;
	file_path(path, s->s->fd);
	event = gs_sys_perf_uprobe(path, s->s->file_offset, s->s->ref_ctr_offset);
	if (event < 0)
		return event;
	if (has(a->t, GS_FEATURE_COOKIE))
		*link = bpf_link_create(prog, event, BPF_PERF_EVENT, &opts);
	if ((has(a->t, GS_FEATURE_COOKIE) && *link < 0) ||
	    (!has(a->t, GS_FEATURE_COOKIE) && ioctl(event, PERF_EVENT_IOC_SET_BPF, prog)) ||
	    ioctl(event, PERF_EVENT_IOC_ENABLE, 0)) {
		int err = -errno;

		close(event);
		if (*link >= 0)
			close(*link);
		return err;
	}
	return event;
}

static struct gs_error *cannot_attach(const struct attach *a, int err)
{
	struct gs_error *e = gs_error_errno(err, "cannot attach a probe");

	if (has(a->t, GS_FEATURE_MULTI) || (err != EPERM && err != EACCES))
		return e;
	return gs_error_hint(
		e, "without uprobe_multi (Linux 6.6) CAP_SYS_ADMIN is needed: run gs-record "
		   "as root, with sudo");
}

static struct gs_error *attach_one(struct attach *a, const struct site *s)
{
	int prog, fd, link = -1;
	bool mine;

	GS_TRY(program_for(a, s, &prog, &mine));
	if (has(a->t, GS_FEATURE_MULTI))
		fd = link_multi(a, &s, 1, prog, has(a->t, GS_FEATURE_COOKIE));
	else
		fd = link_perf(a, s, prog, &link);
	if (mine)
		close(prog); /* the link holds it */
	if (fd < 0 && concerns_site(-fd)) {
		refuse(a, s, -fd);
		return NULL;
	}
	if (fd < 0)
		return cannot_attach(a, -fd);
	gs_tracer_keep(a->t, fd);
	if (link >= 0)
		gs_tracer_keep(a->t, link);
	return NULL;
}

/* ---- all of it ---- */

static int by_group(const void *x, const void *y)
{
	const struct site *a = x, *b = y;

	/* Entries first: a return that comes in between would lack its own. */
	if (a->is_entry != b->is_entry)
		return a->is_entry ? -1 : 1;
	if (a->s->plan != b->s->plan)
		return a->s->plan < b->s->plan ? -1 : 1;
	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->s->pid != b->s->pid)
		return a->s->pid < b->s->pid ? -1 : 1;
	return a->s->id < b->s->id ? -1 : a->s->id > b->s->id;
}

static bool same_group(const struct site *a, const struct site *b)
{
	return a->s->plan == b->s->plan && a->dev == b->dev && a->ino == b->ino &&
	       a->pid == b->pid && (a->s->pid > 0) == (b->s->pid > 0);
}

/* Fills the slot that programs find by cookie. */
static struct gs_error *enter_site(struct attach *a, const struct gs_trace_site *s,
				   struct site *out)
{
	struct gs_site_slot slot = {
		.id = s->id, .probe = s->probe, .link_addr = s->link_addr, .group = s->group};
	struct stat st;

	if (fstat(s->fd, &st))
		return gs_error_errno(errno, "cannot examine the file of a probe site");
	if (bpf_map_update_elem(a->t->map_fd[GS_MAP_SITES], &s->id, &slot, BPF_ANY))
		return gs_error_errno(errno, "cannot enter probe site %u", s->id);
	*out = (struct site){.s = s,
			     .dev = st.st_dev,
			     .ino = st.st_ino,
			     .is_entry = a->plans[s->plan].kind == GS_PLAN_ENTRY};
	if (s->pid <= 0)
		return NULL;
	if (has(a->t, GS_FEATURE_MULTI_PID))
		out->pid = s->pid;
	else
		return gs_tracer_pid_add(a->t, s->pid);
	return NULL;
}

static struct gs_error *attach_sorted(struct attach *a)
{
	bool grouped = has(a->t, GS_FEATURE_MULTI) && has(a->t, GS_FEATURE_COOKIE);
	size_t n;

	for (size_t i = 0; i < a->nsites; i += n) {
		for (n = 1; grouped && i + n < a->nsites && n < MAX_SITES_A_LINK &&
			    same_group(&a->sites[i], &a->sites[i + n]);)
			n++;
		if (grouped)
			GS_TRY(attach_group(a, &a->sites[i], n));
		else
			GS_TRY(attach_one(a, &a->sites[i]));
	}
	return NULL;
}

static struct gs_error *attach_all(struct attach *a, const struct gs_trace_site *sites,
				   size_t nplans)
{
	for (size_t i = 0; i < a->nsites; i++) {
		if (sites[i].plan >= nplans)
			return gs_error_new(GS_ERR_INTERNAL, "probe site %u has no plan",
					    sites[i].id);
		if (a->plans[sites[i].plan].at_return && !has(a->t, GS_FEATURE_MULTI))
			return gs_error_hint(
				gs_error_new(GS_ERR_UNSUPPORTED,
					     "uretprobes need uprobe_multi (Linux 6.6)"),
				"--return=ret probes the functions' own instructions");
		GS_TRY(enter_site(a, &sites[i], &a->sites[i]));
	}
	GS_TRY(ensure_frames(a, nplans));
	qsort(a->sites, a->nsites, sizeof(*a->sites), by_group);
	return attach_sorted(a);
}

struct gs_error *gs_tracer_attach(struct gs_tracer *t, const struct gs_plan *plans,
				  const struct gs_layout *layouts, size_t nplans,
				  const struct gs_trace_site *sites, size_t nsites,
				  struct gs_attach_failure **failures, size_t *nfailures)
{
	struct attach a = {.t = t, .plans = plans, .layouts = layouts, .nsites = nsites};
	size_t had = t->nlinks;
	struct gs_error *err;

	a.sites = gs_calloc(nsites, sizeof(*a.sites));
	a.prog = gs_calloc(nplans, 2 * sizeof(*a.prog));
	memset(a.prog, -1, nplans * 2 * sizeof(*a.prog));
	err = attach_all(&a, sites, nplans);
	for (size_t i = 0; i < 2 * nplans; i++)
		if (a.prog[i] >= 0)
			close(a.prog[i]); /* links hold them */
	free(a.prog);
	free(a.sites);
	if (err) {
		gs_close_links(t->links + had, t->nlinks - had);
		t->nlinks = had;
		free(a.failures);
		return err;
	}
	*failures = a.failures;
	*nfailures = a.nfailures;
	return NULL;
}
