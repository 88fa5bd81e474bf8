/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which file a name is looked up in: the executable, the libraries that it needs, or what MODULE!
 * names. Between a parsed place and an open module.
 *
 * Needed libraries are found as the dynamic loader finds them: in the target's maps when it runs,
 * else through LD_LIBRARY_PATH, RUNPATH with $ORIGIN, /etc/ld.so.cache and the default directories.
 * One file is one module, whatever its names: device and inode decide.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/resolver.h"

#define MODULES_MAX 1024
#define CACHE_PATH "/etc/ld.so.cache"
#define CACHE_MAX (64u << 20)

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- opening ---- */

static struct gs_loaded *find_loaded(struct gs_resolver *r, const struct stat *st)
{
	for (struct gs_loaded *m = r->loaded; m; m = m->next)
		if (m->dev == st->st_dev && m->ino == st->st_ino)
			return m;
	return NULL;
}

static void append(struct gs_resolver *r, struct gs_loaded *m)
{
	struct gs_loaded **end = &r->loaded;

	while (*end)
		end = &(*end)->next;
	*end = m;
}

static struct gs_error *cannot_open(int err, const char *path)
{
	if (err == ENOEXEC)
		return gs_error_new(GS_ERR_UNSUPPORTED, "%s is not an ELF file", path);
	if (err == EINVAL)
		return gs_error_new(GS_ERR_UNSUPPORTED, "%s is not a regular file", path);
	if (err == ENOENT)
		return gs_error_new(GS_ERR_NOT_FOUND, "%s does not exist", path);
	return gs_error_errno(err, "cannot open %s", path);
}

/* NAME opens it, DISPLAY (or the resolved path) is shown. */
static struct gs_error *load(struct gs_resolver *r, const char *name, const char *display,
			     struct gs_loaded **out)
{
	uint32_t ticket = 0;
	const char *path = NULL;
	int fd = r->files->open(r->files->ctx, name, &r->arena, &ticket, &path);
	struct gs_loaded *m;
	struct gs_error *err;
	struct stat st;

	if (fd < 0)
		return cannot_open(-fd, display ? display : name);
	if (fstat(fd, &st) != 0) {
		int saved = errno;

		close(fd);
		return gs_error_errno(saved, "cannot read the status of %s", name);
	}
	m = find_loaded(r, &st);
	if (m) {
		close(fd);
		*out = m;
		return NULL;
	}
	m = gs_arena_alloc(&r->arena, sizeof(*m));
	m->path = gs_arena_strdup(&r->arena, display ? display : path ? path : name);
	err = gs_module_open(fd, m->path, &r->opener, r->types, &m->m);
	if (err) {
		close(fd);
		return err;
	}
	m->dev = st.st_dev;
	m->ino = st.st_ino;
	m->ticket = ticket;
	m->id = GS_NONE;
	m->fd = fd;
	append(r, m);
	*out = m;
	return NULL;
}

struct gs_error *gs_search_executable(struct gs_resolver *r, struct gs_loaded **out)
{
	if (!r->executable) {
		if (!r->req->executable)
			return gs_error_new(GS_ERR_USAGE,
					    "there is no executable to look in: name one with -x, "
					    "or write MODULE! before the place");
		GS_TRY(load(r, r->req->executable, r->req->display, &r->executable));
	}
	*out = r->executable;
	return NULL;
}

void gs_search_close(struct gs_resolver *r)
{
	for (struct gs_loaded *m = r->loaded; m; m = m->next) {
		gs_module_close(m->m);
		close(m->fd);
	}
	r->loaded = r->executable = NULL;
}

/* ---- needed libraries ---- */

/* The loader skips files of another machine or class; so does the search. Other faults are the
 * file's own. */
static bool fits(const struct gs_loaded *m, const struct gs_module_info *for_whom)
{
	const struct gs_module_info *info = gs_module_info(m->m);

	return info->machine == for_whom->machine && info->pointer_size == for_whom->pointer_size;
}

static struct gs_loaded *try_path(struct gs_resolver *r, const char *path, const char *display,
				  const struct gs_module_info *for_whom)
{
	struct gs_loaded *m = NULL;
	struct gs_error *err = load(r, path, display, &m);

	if (err) {
		gs_error_free(err);
		return NULL;
	}
	return fits(m, for_whom) ? m : NULL;
}

static struct gs_loaded *try_in(struct gs_resolver *r, const char *dir, size_t n, const char *name,
				const struct gs_module_info *for_whom)
{
	if (!n)
		return NULL;
	return try_path(r, gs_arena_printf(&r->arena, "%.*s/%s", (int)n, dir, name), NULL,
			for_whom);
}

/* One directory of a RUNPATH, with $ORIGIN or ${ORIGIN} replaced by the module's own directory. */
static const char *expand_origin(struct gs_resolver *r, const struct gs_loaded *m, const char *dir,
				 size_t n)
{
	static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};
	const char *slash = strrchr(m->path, '/');
	int origin = slash ? (int)(slash - m->path) : 1;
	char *copy = gs_arena_strndup(&r->arena, dir, n);

	for (size_t i = 0; i < GS_ARRAY_SIZE(words); i++) {
		char *at = strstr(copy, words[i]);

		if (at)
			return gs_arena_printf(&r->arena, "%.*s%.*s%s", (int)(at - copy), copy,
					       origin, slash ? m->path : ".",
					       at + strlen(words[i]));
	}
	return copy;
}

static struct gs_loaded *try_runpath(struct gs_resolver *r, const struct gs_loaded *m,
				     const char *name)
{
	const struct gs_module_info *info = gs_module_info(m->m);
	const char *p = info->runpath;

	while (p && *p) {
		size_t n = strcspn(p, ":");
		const char *dir = expand_origin(r, m, p, n);
		struct gs_loaded *found = try_in(r, dir, strlen(dir), name, info);

		if (found)
			return found;
		p += n + (p[n] == ':');
	}
	return NULL;
}

static struct gs_loaded *try_cache(struct gs_resolver *r, const char *name,
				   const struct gs_module_info *for_whom)
{
	int fd = r->files->open(r->files->ctx, CACHE_PATH, &r->arena, NULL, NULL);
	const char *path = NULL;
	struct stat st;
	void *map;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= CACHE_MAX) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED) {
			path = gs_ld_cache_find(map, (size_t)st.st_size, name, for_whom->machine,
						&r->arena);
			munmap(map, (size_t)st.st_size);
		}
	}
	close(fd);
	return path ? try_path(r, path, NULL, for_whom) : NULL;
}

static struct gs_loaded *try_default(struct gs_resolver *r, const char *name,
				     const struct gs_module_info *for_whom)
{
	static const char *const wide[] = {"/lib/x86_64-linux-gnu",
					   "/usr/lib/x86_64-linux-gnu",
					   "/lib64",
					   "/usr/lib64",
					   "/lib",
					   "/usr/lib"};
	static const char *const narrow[] = {"/lib/i386-linux-gnu",
					     "/usr/lib/i386-linux-gnu",
					     "/lib32",
					     "/usr/lib32",
					     "/lib",
					     "/usr/lib"};
	const char *const *dirs = for_whom->pointer_size == 8 ? wide : narrow;
	struct gs_loaded *found = NULL;

	for (size_t i = 0; i < GS_ARRAY_SIZE(wide) && !found; i++)
		found = try_in(r, dirs[i], strlen(dirs[i]), name, for_whom);
	return found;
}

/* `libz.so.1' is mapped as libz.so.1.2.13: the part before .so must agree, the soname decides. */
static bool may_be(const char *path, const char *name)
{
	const char *base = base_name(path), *so = strstr(name, ".so");

	if (strcmp(base, name) == 0)
		return true;
	return so && strncmp(base, name, (size_t)(so - name)) == 0;
}

static bool is_called(const struct gs_loaded *m, const char *name)
{
	const char *soname = gs_module_info(m->m)->soname;

	return strcmp(base_name(m->path), name) == 0 || (soname && strcmp(soname, name) == 0);
}

/* A library by its soname in the target's maps. */
static struct gs_loaded *try_maps(struct gs_resolver *r, const char *name,
				  const struct gs_module_info *for_whom)
{
	name = base_name(name);
	for (size_t i = 0; i < r->req->nmaps; i++) {
		const struct gs_resolve_map *map = &r->req->maps[i];
		struct gs_loaded *found = NULL;

		if (may_be(map->name, name))
			found = try_path(r, map->open, map->name, for_whom);
		if (found && is_called(found, name))
			return found;
	}
	return NULL;
}

static struct gs_loaded *find_library(struct gs_resolver *r, const struct gs_loaded *m,
				      const char *name)
{
	const struct gs_module_info *info = gs_module_info(m->m);
	struct gs_loaded *found = try_maps(r, name, info);

	if (found)
		return found;
	if (strchr(name, '/'))
		return try_path(r, name, NULL, info);
	for (size_t i = 0; i < r->req->nlibrary_dirs && !found; i++)
		found = try_in(r, r->req->library_dirs[i], strlen(r->req->library_dirs[i]), name,
			       info);
	if (!found)
		found = try_runpath(r, m, name);
	if (!found && r->executable && m != r->executable)
		found = try_runpath(r, r->executable, name);
	if (!found)
		found = try_cache(r, name, info);
	return found ? found : try_default(r, name, info);
}

struct gs_error *gs_search_needed(struct gs_resolver *r)
{
	struct gs_loaded *executable;
	unsigned n = 0;

	GS_TRY(gs_search_executable(r, &executable));
	if (r->needed_known)
		return NULL;
	r->needed_known = true;
	executable->needed = true;
	/* Modules are appended as they are found: the list is the queue. */
	for (struct gs_loaded *m = r->loaded; m && n < MODULES_MAX; m = m->next) {
		const struct gs_module_info *info = gs_module_info(m->m);

		for (size_t i = 0; m->needed && i < info->nneeded && n < MODULES_MAX; i++, n++) {
			struct gs_loaded *found = find_library(r, m, info->needed[i]);

			if (found)
				found->needed = true;
		}
	}
	return NULL;
}

/* ---- MODULE! ---- */

/* How well NAME names a file: the whole path or its end, the file's name, or that without lib, .so,
 * version. */
enum rank { RANK_NONE, RANK_SHORT, RANK_NAME, RANK_PATH };

static bool is_short_for(const char *base, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(base, name, n) != 0)
		return false;
	/* libc.so.6, libfoo.cpython-311.so, python3.11, libc-2.31.so; but not libc-client.so */
	return base[n] == '.' || (base[n] == '-' && base[n + 1] >= '0' && base[n + 1] <= '9');
}

static enum rank rank_of(const char *path, const char *name)
{
	size_t n = strlen(name), len = strlen(path);
	const char *base = base_name(path);

	if (strchr(name, '/')) {
		bool ends =
			len > n && path[len - n - 1] == '/' && strcmp(path + len - n, name) == 0;

		return ends || strcmp(path, name) == 0 ? RANK_PATH : RANK_NONE;
	}
	if (strcmp(base, name) == 0)
		return RANK_NAME;
	if (is_short_for(base, name) ||
	    (strncmp(base, "lib", 3) == 0 && is_short_for(base + 3, name)))
		return RANK_SHORT;
	return RANK_NONE;
}

static enum rank module_rank(const struct gs_loaded *m, const char *name)
{
	const char *soname = gs_module_info(m->m)->soname;
	enum rank by_path = rank_of(m->path, name);
	enum rank by_soname = soname ? rank_of(soname, name) : RANK_NONE;

	return by_path > by_soname ? by_path : by_soname;
}

struct matches {
	struct gs_loaded *all[8];
	size_t n;
	enum rank rank; /* of all of them: a better one displaces the rest */
};

static void add_match(struct matches *found, struct gs_loaded *m, enum rank rank)
{
	if (rank == RANK_NONE || rank < found->rank)
		return;
	if (rank > found->rank)
		found->n = 0;
	found->rank = rank;
	for (size_t i = 0; i < found->n; i++)
		if (found->all[i] == m)
			return;
	if (found->n < GS_ARRAY_SIZE(found->all))
		found->all[found->n++] = m;
}

static struct gs_error *ambiguous(const struct matches *found, const char *name)
{
	struct gs_error *err = gs_error_new(GS_ERR_USAGE, "several modules are called `%s'", name);

	for (size_t i = 0; i < found->n; i++)
		gs_error_hint(err, "%s", found->all[i]->path);
	return err;
}

static struct gs_error *match_maps(struct gs_resolver *r, const char *name, struct matches *found)
{
	struct gs_loaded *m;

	for (size_t i = 0; i < r->req->nmaps; i++) {
		enum rank rank = rank_of(r->req->maps[i].name, name);

		if (rank == RANK_NONE)
			continue;
		GS_TRY(load(r, r->req->maps[i].open, r->req->maps[i].name, &m));
		if (!r->executable || fits(m, gs_module_info(r->executable->m)))
			add_match(found, m, rank);
	}
	return NULL;
}

/* An existing file: a path as given, or a library that is not loaded yet, as the loader would find
 * it. */
static struct gs_error *match_file(struct gs_resolver *r, const char *name, struct gs_loaded **out)
{
	struct gs_error *err;
	const char *so;

	/* Only what has a slash is a path, as for the loader: a file of that name in the current
	 * directory is not what the program would load. */
	if (strchr(name, '/')) {
		err = load(r, name, NULL, out);
		if (!err || gs_error_code_of(err) != GS_ERR_NOT_FOUND)
			return err;
		gs_error_free(err);
		*out = NULL;
		return NULL;
	}
	*out = NULL;
	if (!r->executable)
		return NULL;
	*out = find_library(r, r->executable, name);
	so = gs_arena_printf(&r->arena, "%s.so", name);
	if (!*out && !strstr(name, ".so"))
		*out = find_library(r, r->executable, so);
	return NULL;
}

struct gs_error *gs_search_module(struct gs_resolver *r, const char *name, struct gs_loaded **out)
{
	struct matches found = {0};

	*out = NULL;
	/* A process may be gone by the time that its library is asked for: the maps are enough. */
	if (r->req->executable)
		gs_error_free(gs_search_needed(r));
	for (struct gs_loaded *m = r->loaded; m; m = m->next)
		if (m->needed || m == r->executable)
			add_match(&found, m, module_rank(m, name));
	if (found.rank < RANK_NAME)
		GS_TRY(match_maps(r, name, &found));
	if (found.n > 1)
		return ambiguous(&found, name);
	if (found.n) {
		*out = found.all[0];
		return NULL;
	}
	return match_file(r, name, out);
}

struct gs_error *gs_search_hint(struct gs_resolver *r, struct gs_error *err, const char *name)
{
	struct gs_nearest near = {.wanted = name};

	for (struct gs_loaded *m = r->loaded; m; m = m->next)
		gs_nearest_feed(&near, base_name(m->path));
	for (size_t i = 0; i < r->req->nmaps; i++)
		gs_nearest_feed(&near, base_name(r->req->maps[i].name));
	GS_CLEANUP_FREE char *hint = gs_nearest_hint(&near);

	gs_nearest_deinit(&near);
	return hint ? gs_error_hint(err, "%s", hint) : err;
}
