/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the running kernel offers, found out by trying: versions say little of kernels with
 * backports. In the flow: first thing the tracer does; the generator and the attachment follow it.
 */
#include "bpf/features.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bpf/emit.h"
#include "bpf/sys.h"
#include "bpf/tracer.h"

/* PROC_PID_INIT_INO of include/linux/proc_ns.h: the inode of the first pid namespace. */
#define INITIAL_PID_NS 0xEFFFFFFCu

void gs_pid_namespace_read(struct gs_pid_namespace *ns)
{
	struct stat st;

	*ns = (struct gs_pid_namespace){.initial = true};
	if (stat("/proc/self/ns/pid", &st))
		return;
	ns->initial = st.st_ino == INITIAL_PID_NS;
	/* The helper compares with the kernel's own dev_t: MKDEV of include/linux/kdev_t.h. */
	ns->dev = (uint64_t)major(st.st_dev) << 20 | minor(st.st_dev);
	ns->ino = st.st_ino;
}

/* Loads { body; return 0 } and closes it again: what the load said. */
static int try_program(struct gs_emit *e, const struct gs_load *load, const int *map_fds)
{
	struct gs_program p;
	struct gs_error *err;
	int fd;

	gs_emit_exit(e);
	err = gs_emit_finish(e, &p, NULL);
	gs_emit_deinit(e);
	if (err) {
		gs_error_free(err);
		return -EINVAL;
	}
	fd = gs_sys_load(load, p.insns, p.n, map_fds, NULL);
	gs_program_deinit(&p);
	return fd;
}

static bool loads(struct gs_emit *e, const struct gs_load *load, const int *map_fds)
{
	int fd = try_program(e, load, map_fds);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/*
 * A link on a directory is refused with EBADF by a kernel that knows such links, before anything is
 * attached; one that mends the pid filter (it matched one thread) also refuses a negative pid
 * first.
 */
static int try_multi(unsigned attach_type, int32_t pid)
{
	struct gs_load load = {BPF_PROG_TYPE_KPROBE, attach_type, 0, "gs_probe_multi"};
	struct gs_uprobe_multi m = {.path = "/", .offsets = &(uint64_t){0}, .n = 1, .pid = pid};
	struct gs_emit e;
	int fd, link;

	gs_emit_init(&e, false);
	fd = try_program(&e, &load, NULL);
	if (fd < 0)
		return fd;
	link = gs_sys_uprobe_multi(fd, attach_type, &m);
	close(fd);
	if (link >= 0)
		close(link);
	return link;
}

static struct gs_load uprobe_load(uint32_t features, const char *name)
{
	return (struct gs_load){
		.type = BPF_PROG_TYPE_KPROBE,
		.attach_type = features & GS_FEATURE_MULTI ? GS_BPF_TRACE_UPROBE_MULTI : 0,
		.flags = features & GS_FEATURE_SLEEPABLE ? BPF_F_SLEEPABLE : 0,
		.name = name,
	};
}

static bool has_multi(uint32_t features, const struct gs_pid_namespace *ns)
{
	return try_multi(GS_BPF_TRACE_UPROBE_MULTI, 0) == -EBADF;
}

static bool has_multi_pid(uint32_t features, const struct gs_pid_namespace *ns)
{
	return try_multi(GS_BPF_TRACE_UPROBE_MULTI, -1) == -EINVAL;
}

static bool has_session(uint32_t features, const struct gs_pid_namespace *ns)
{
	return try_multi(GS_BPF_TRACE_UPROBE_SESSION, 0) == -EBADF;
}

static bool has_sleepable(uint32_t features, const struct gs_pid_namespace *ns)
{
	struct gs_load load = uprobe_load(features | GS_FEATURE_SLEEPABLE, "gs_probe_sleep");
	struct gs_emit e;

	gs_emit_init(&e, false);
	gs_emit_mov(&e, BPF_REG_1, BPF_REG_10);
	gs_emit_alui(&e, BPF_ADD, BPF_REG_1, -8);
	gs_emit_movi(&e, BPF_REG_2, 8);
	gs_emit_movi(&e, BPF_REG_3, 0);
	gs_emit_call(&e, BPF_FUNC_copy_from_user);
	return loads(&e, &load, NULL);
}

static bool has_cookie(uint32_t features, const struct gs_pid_namespace *ns)
{
	struct gs_load load = uprobe_load(features, "gs_probe_cookie");
	struct gs_emit e;

	gs_emit_init(&e, false);
	gs_emit_call(&e, BPF_FUNC_get_attach_cookie);
	return loads(&e, &load, NULL);
}

static bool has_task_storage(uint32_t features, const struct gs_pid_namespace *ns)
{
	struct gs_load load = uprobe_load(features, "gs_probe_task");
	int map_fds[GS_MAP_COUNT] = {0};
	struct gs_emit e;
	bool ok;

	map_fds[GS_MAP_STAGING] = gs_sys_task_storage(GS_EVENT_MAX_LEN + 8);
	if (map_fds[GS_MAP_STAGING] < 0)
		return false;
	gs_emit_init(&e, false);
	gs_emit_call(&e, BPF_FUNC_get_current_task_btf);
	gs_emit_mov(&e, BPF_REG_2, BPF_REG_0);
	gs_emit_map(&e, BPF_REG_1, GS_MAP_STAGING);
	gs_emit_movi(&e, BPF_REG_3, 0);
	gs_emit_movi(&e, BPF_REG_4, BPF_LOCAL_STORAGE_GET_F_CREATE);
	gs_emit_call(&e, BPF_FUNC_task_storage_get);
	ok = loads(&e, &load, map_fds);
	close(map_fds[GS_MAP_STAGING]);
	return ok;
}

static bool has_ns_pid(uint32_t features, const struct gs_pid_namespace *ns)
{
	struct gs_load load = uprobe_load(features, "gs_probe_ns_pid");
	struct gs_emit e;

	if (ns->initial)
		return false;
	gs_emit_init(&e, false);
	gs_emit_imm64(&e, BPF_REG_1, ns->dev);
	gs_emit_imm64(&e, BPF_REG_2, ns->ino);
	gs_emit_mov(&e, BPF_REG_3, BPF_REG_10);
	gs_emit_alui(&e, BPF_ADD, BPF_REG_3, -8);
	gs_emit_movi(&e, BPF_REG_4, 8);
	gs_emit_call(&e, BPF_FUNC_get_ns_current_pid_tgid);
	return loads(&e, &load, NULL);
}

/* In the order of probing: later ones are tried with what is known to be there. */
static const struct {
	const char *name;
	uint32_t bit, needs;
	bool (*probe)(uint32_t features, const struct gs_pid_namespace *ns);
	const char *fallback;
} features[] = {
	{"multi", GS_FEATURE_MULTI, 0, has_multi, "perf-event uprobes, one a site"},
	{"sleepable", GS_FEATURE_SLEEPABLE, 0, has_sleepable,
	 "memory that is not resident is reported as a fault"},
	{"cookie", GS_FEATURE_COOKIE, 0, has_cookie, "one program a site"},
	{"task-storage", GS_FEATURE_TASK_STORAGE, 0, has_task_storage,
	 "records of the largest size, reserved in the ring"},
	{"multi-pid", GS_FEATURE_MULTI_PID, GS_FEATURE_MULTI, has_multi_pid,
	 "processes are filtered in the program"},
	{"session", GS_FEATURE_SESSION, GS_FEATURE_MULTI, has_session, "entry and return programs"},
	{"ns-pid", GS_FEATURE_NS_PID, 0, has_ns_pid, "process ids of the initial namespace"},
};

uint32_t gs_features_probe(uint32_t mask, const struct gs_pid_namespace *ns)
{
	uint32_t found = 0;

	for (size_t i = 0; i < GS_ARRAY_SIZE(features); i++)
		if ((mask & features[i].bit) && (found & features[i].needs) == features[i].needs &&
		    features[i].probe(found, ns))
			found |= features[i].bit;
	return found;
}

bool gs_tracer_may_uretprobe(uint32_t feature_mask)
{
	struct gs_pid_namespace ns;

	gs_pid_namespace_read(&ns);
	return (feature_mask & GS_FEATURE_MULTI) && has_multi(0, &ns);
}

void gs_features_print(struct gs_buf *out, uint32_t present)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(features); i++) {
		bool there = present & features[i].bit;

		if (there)
			gs_buf_printf(out, "%-12s yes\n", features[i].name);
		else
			gs_buf_printf(out, "%-12s no: %s\n", features[i].name,
				      features[i].fallback);
	}
}

static bool turn_off(const char *word, size_t len, uint32_t *mask)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(features); i++)
		if (len == strlen(features[i].name) + 3 && memcmp(word, "no-", 3) == 0 &&
		    memcmp(word + 3, features[i].name, len - 3) == 0) {
			*mask &= ~features[i].bit;
			return true;
		}
	return false;
}

struct gs_error *gs_features_parse(const char *text, uint32_t *mask)
{
	uint32_t m = ~0u;

	while (text && *text) {
		size_t len = strcspn(text, ", ");

		if (len && !turn_off(text, len, &m))
			return gs_error_new(GS_ERR_USAGE, "GS_FEATURES_OFF: unknown feature `%.*s'",
					    (int)len, text);
		text += len;
		text += strspn(text, ", ");
	}
	*mask = m;
	return NULL;
}
