/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Targets: the three kinds, and the processes around them.
 * After the options, before the resolver.
 */
#include "record/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/broker.h"
#include "record/lookup.h"
#include "record/proc.h"

/* ---- binary ---- */

/* An absolute path is one below the sysroot, if it is there. */
static char *real_path(const struct gs_target *t, const char *path)
{
	size_t n = t->root ? strlen(t->root) : 0;
	char link[64], *real = NULL;
	int fd = -1;

	if (n && *path == '/' && !(strncmp(path, t->root, n) == 0 && path[n] == '/'))
		fd = gs_broker_open_below(t->root, path);
	if (fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		real = realpath(link, NULL);
		close(fd);
	}
	return real ? real : realpath(path, NULL);
}

static struct gs_error *set_binary(struct gs_target *t, const char *path)
{
	char *real = real_path(t, path);
	struct stat st;

	if (!real || stat(real, &st)) {
		free(real);
		return gs_error_errno(errno, "cannot open `%s'", path);
	}
	t->display = t->executable = gs_arena_strdup(&t->arena, real);
	free(real);
	if (S_ISDIR(st.st_mode))
		return gs_error_new(GS_ERR_USAGE, "cannot use `%s': it is a directory", path);
	if (!S_ISREG(st.st_mode))
		return gs_error_new(GS_ERR_USAGE, "cannot use `%s': it is not a regular file",
				    path);
	return NULL;
}

static struct gs_error *set_sysroot(struct gs_target *t, const char *path)
{
	char *real = realpath(path, NULL);

	if (!real)
		return gs_error_errno(errno, "--sysroot: cannot open `%s'", path);
	/* The real root is no other one. */
	if (strcmp(real, "/") != 0)
		t->root = gs_arena_strdup(&t->arena, real);
	free(real);
	return NULL;
}

/* ---- command ---- */

static void add_library_dirs(struct gs_target *t, const char *list)
{
	while (list && *list) {
		size_t n = strcspn(list, ":");
		const char *dir = n ? gs_arena_strndup(&t->arena, list, n) : ".";

		*GS_PUSH(t->library_dirs, t->nlibrary_dirs, t->library_dirs_cap) = dir;
		list += n + (list[n] != 0);
	}
}

static struct gs_error *init_command(const struct gs_record_options *opts, struct gs_target *t)
{
	struct gs_lookup l;
	struct gs_error *err = NULL;

	GS_TRY(gs_lookup_command(&t->arena, opts->command, getenv("PATH"),
				 getenv("LD_LIBRARY_PATH"), &l));
	t->command_file = l.file;
	if (l.forked_by && opts->no_follow)
		err = gs_error_new(
			GS_ERR_USAGE,
			"--no-follow: `%s' runs the command as its child, which would not "
			"be recorded",
			l.forked_by);
	if (!err && !t->executable) {
		t->executable = t->display = l.executable;
		for (size_t i = 0; i < l.nnotes; i++)
			*GS_PUSH(t->notes, t->nnotes, t->notes_cap) = l.notes[i];
	}
	add_library_dirs(t, l.library_path);
	gs_lookup_deinit(&l);
	return err;
}

/* ---- processes ---- */

static struct gs_error *check_pid(int32_t pid)
{
	struct gs_proc_info info;

	if (pid == getpid())
		return gs_error_new(GS_ERR_USAGE, "-p: process %d is gs-record itself", pid);
	if (!gs_proc_info(pid, &info))
		return gs_error_new(GS_ERR_NOT_FOUND, "-p: there is no process %d", pid);
	if (info.tgid != pid)
		return gs_error_new(
			GS_ERR_USAGE,
			"-p: %d is a thread of process %d; give -p %d (all its threads are "
			"recorded)",
			pid, info.tgid, info.tgid);
	if (gs_proc_is_kernel_thread(pid))
		return gs_error_new(GS_ERR_USAGE, "-p: process %d (%s) is a kernel thread", pid,
				    info.comm);
	if (!gs_proc_live_thread(pid))
		return gs_error_new(GS_ERR_NOT_FOUND, "-p: process %d (%s) has already ended", pid,
				    info.comm);
	if (geteuid() != 0 && info.uid != getuid())
		return gs_error_new(GS_ERR_USAGE,
				    "-p: process %d (%s) belongs to user %u: run gs-record as root",
				    pid, info.comm, info.uid);
	return NULL;
}

struct map_walk {
	struct gs_target *t;
	int32_t pid; /* or a thread of it */
};

/*
 * map_files opens the very file that is mapped, replaced or not, but only for root; root/PATH is
 * the way through the process's own mounts for everybody else.
 */
static bool add_map(void *ctx, const struct gs_proc_map *map)
{
	struct map_walk *w = ctx;
	struct gs_target *t = w->t;
	const char *open;

	if (!map->exec)
		return true;
	for (size_t i = 0; i < t->nmaps; i++) {
		if (!strcmp(t->maps[i].name, map->path))
			return true;
	}
	open = gs_arena_printf(&t->arena, "/proc/%d/map_files/%llx-%llx", w->pid,
			       (unsigned long long)map->start, (unsigned long long)map->end);
	if (access(open, R_OK) != 0)
		open = gs_arena_printf(&t->arena, "/proc/%d/root%s", w->pid, map->path);
	*GS_PUSH(t->maps, t->nmaps, t->maps_cap) = (struct gs_resolve_map){
		.name = gs_arena_strdup(&t->arena, map->path),
		.open = open,
	};
	return true;
}

static struct gs_error *set_pid_executable(struct gs_target *t, int32_t pid, int32_t thread)
{
	char path[64], exe[PATH_MAX];
	struct stat st, first;

	snprintf(path, sizeof(path), "/proc/%d/exe", thread);
	if (stat(path, &st))
		return gs_error_errno(errno, "-p: cannot open the program of process %d", pid);
	gs_proc_exe(thread, exe, sizeof(exe));
	if (!t->executable) {
		t->executable = gs_arena_strdup(&t->arena, path);
		t->display = gs_arena_strdup(&t->arena, exe);
		return NULL;
	}
	if (stat(t->executable, &first))
		return gs_error_errno(errno, "-p: cannot open `%s'", t->executable);
	if (first.st_dev == st.st_dev && first.st_ino == st.st_ino)
		return NULL;
	if (!strcmp(exe, t->display))
		return gs_error_new(GS_ERR_USAGE,
				    "-p: process %d runs another file as `%s' (it was replaced, or "
				    "is seen under another root): record them apart",
				    pid, exe);
	return gs_error_new(
		GS_ERR_USAGE,
		"-p: process %d runs `%s', not `%s': say with -x in which file the probes are "
		"to be looked up",
		pid, exe, t->display);
}

/*
 * A process under another root (a container): its paths mean files there. Where the roots are told
 * apart by what they are, not by name.
 */
static void set_process_root(struct gs_target *t, int32_t thread)
{
	char path[64], name[PATH_MAX];
	struct stat own, its, named;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/root", thread);
	if (t->root || stat("/", &own) != 0 || stat(path, &its) != 0 ||
	    (own.st_dev == its.st_dev && own.st_ino == its.st_ino))
		return;
	/* After a mere chroot its files have names here, and those are in its maps. */
	n = readlink(path, name, sizeof(name) - 1);
	name[n > 0 ? n : 0] = 0;
	if (n > 1 && stat(name, &named) == 0 && named.st_dev == its.st_dev &&
	    named.st_ino == its.st_ino)
		t->root = gs_arena_strdup(&t->arena, name);
	else
		t->root = gs_arena_strdup(&t->arena, path);
}

static struct gs_error *init_pids(const struct gs_record_options *opts, struct gs_target *t)
{
	for (size_t i = 0; i < opts->npids; i++) {
		struct map_walk walk = {.t = t};

		GS_TRY(check_pid(opts->pids[i]));
		walk.pid = gs_proc_live_thread(opts->pids[i]);
		set_process_root(t, walk.pid);
		if (!opts->binary)
			GS_TRY(set_pid_executable(t, opts->pids[i], walk.pid));
		if (!gs_proc_each_map(walk.pid, add_map, &walk))
			return gs_error_new(
				GS_ERR_SYSTEM,
				"-p: cannot read /proc/%d/maps: it has ended, or its owner "
				"forbids it",
				opts->pids[i]);
	}
	return NULL;
}

/* ---- all kinds ---- */

struct gs_error *gs_target_init(const struct gs_record_options *opts, struct gs_target *out)
{
	struct gs_target t = {.kind = opts->command ? GS_TARGET_COMMAND
				      : opts->npids ? GS_TARGET_PIDS
						    : GS_TARGET_SYSTEM};
	struct gs_error *err = NULL;

	gs_arena_init(&t.arena);
	if (opts->sysroot)
		err = set_sysroot(&t, opts->sysroot);
	if (!err && opts->binary)
		err = set_binary(&t, opts->binary);
	if (!err && opts->command)
		err = init_command(opts, &t);
	if (!err && opts->npids)
		err = init_pids(opts, &t);
	if (err) {
		gs_target_deinit(&t);
		return err;
	}
	*out = t;
	return NULL;
}

void gs_target_deinit(struct gs_target *t)
{
	free(t->maps);
	free(t->library_dirs);
	free(t->notes);
	gs_arena_deinit(&t->arena);
}

const char *gs_target_describe(const struct gs_record_options *opts, struct gs_arena *arena)
{
	struct gs_buf text;
	const char *copy;

	gs_buf_init(&text);
	if (opts->command) {
		gs_buf_puts(&text, "command");
		for (char **word = opts->command; *word; word++)
			gs_buf_printf(&text, " %s", *word);
	} else if (opts->npids) {
		gs_buf_puts(&text, "pids ");
		for (size_t i = 0; i < opts->npids; i++)
			gs_buf_printf(&text, "%s%d", i ? "," : "", opts->pids[i]);
	} else {
		gs_buf_printf(&text, "system %s", opts->binary);
	}
	copy = gs_arena_strdup(arena, gs_buf_cstr(&text));
	gs_buf_deinit(&text);
	return copy;
}

/* ---- other processes ---- */

struct crowd_walk {
	struct gs_crowd *files;
	struct stat *stats;
	bool *here; /* by file: the process at hand maps it */
	bool *stranger;
	size_t n;
	int32_t pid;
	const int32_t *pids;
	size_t npids;
};

static bool crowd_map(void *ctx, const struct gs_proc_map *map)
{
	struct crowd_walk *w = ctx;

	for (size_t i = 0; i < w->n; i++) {
		if (!map->exec)
			continue;
		if (gs_proc_map_is(map, &w->stats[i], w->files[i].path))
			w->here[i] = true;
		else if (gs_proc_map_is_stranger(w->pid, map, &w->stats[i], w->files[i].path))
			w->stranger[i] = true;
	}
	return true;
}

static bool crowd_process(void *ctx, int32_t pid)
{
	struct crowd_walk *w = ctx;

	if (pid == getpid())
		return true;
	for (size_t i = 0; i < w->npids; i++) {
		if (w->pids[i] == pid)
			return true;
	}
	memset(w->here, 0, w->n * sizeof(*w->here));
	memset(w->stranger, 0, w->n * sizeof(*w->stranger));
	w->pid = pid;
	gs_proc_each_map(pid, crowd_map, w);
	for (size_t i = 0; i < w->n; i++) {
		w->files[i].others += w->here[i];
		w->files[i].strangers += w->stranger[i];
	}
	return true;
}

void gs_crowd_count(struct gs_crowd *files, size_t n, const int32_t *pids, size_t npids)
{
	GS_CLEANUP_FREE struct stat *stats = gs_calloc(n, sizeof(*stats));
	GS_CLEANUP_FREE bool *here = gs_calloc(n, sizeof(*here));
	GS_CLEANUP_FREE bool *stranger = gs_calloc(n, sizeof(*stranger));
	struct crowd_walk walk = {files, stats, here, stranger, n, 0, pids, npids};

	for (size_t i = 0; i < n; i++) {
		files[i].others = files[i].strangers = 0;
		if (files[i].fd < 0 || fstat(files[i].fd, &stats[i]))
			stats[i].st_ino = 0; /* no file has it */
	}
	gs_proc_each(crowd_process, &walk);
}

struct family {
	int32_t *pid, *parent;
	size_t n, pid_cap, parent_cap;
};

static bool family_process(void *ctx, int32_t pid)
{
	struct family *f = ctx;
	struct gs_proc_info info;
	size_t n = f->n;

	if (!gs_proc_info(pid, &info))
		return true;
	*GS_PUSH(f->pid, f->n, f->pid_cap) = pid;
	*GS_PUSH(f->parent, n, f->parent_cap) = info.ppid;
	return true;
}

static bool contains(const int32_t *pids, size_t n, int32_t pid)
{
	for (size_t i = 0; i < n; i++) {
		if (pids[i] == pid)
			return true;
	}
	return false;
}

void gs_target_descendants(const int32_t *pids, size_t npids, void (*fn)(void *ctx, int32_t pid),
			   void *ctx)
{
	struct family f = {0};
	int32_t *found = NULL;
	size_t nfound = 0, cap = 0, before;

	gs_proc_each(family_process, &f);
	do { /* generations: parents may have higher numbers than children */
		before = nfound;
		for (size_t i = 0; i < f.n; i++) {
			if (contains(pids, npids, f.pid[i]) || contains(found, nfound, f.pid[i]))
				continue;
			if (!contains(pids, npids, f.parent[i]) &&
			    !contains(found, nfound, f.parent[i]))
				continue;
			*GS_PUSH(found, nfound, cap) = f.pid[i];
			fn(ctx, f.pid[i]);
		}
	} while (nfound != before);
	free(found);
	free(f.pid);
	free(f.parent);
}
