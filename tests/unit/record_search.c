/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which file MODULE! and names are looked up in: needed libraries, maps, short names, several of
 * one name. Over a file system made by hand: the search sees files only through its source.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/resolver.h"
#include "tests/tap.h"

/* ---- files and modules made by hand ---- */

static struct fake_file {
	const char *path, *soname, *runpath;
	const char *needed[3];
	uint8_t pointer_size;
	int fd;
} files[] = {
	{.path = "/bin/prog",
	 .needed = {"liba.so.1", "libz.so.1", "libgone.so"},
	 .runpath = "$ORIGIN/../lib"},
	{.path = "/bin/../lib/liba.so.1", .soname = "liba.so.1", .needed = {"libc.so.6"}},
	{.path = "/lib/x86_64-linux-gnu/libc.so.6", .soname = "libc.so.6"},
	{.path = "/usr/lib/libz.so.1.2.13", .soname = "libz.so.1"},
	{.path = "/usr/lib/i386/libz.so.1", .soname = "libz.so.1", .pointer_size = 4},
	{.path = "/opt/one/plugin.so"},
	{.path = "/opt/two/plugin.so"},
	{.path = "/env/libz.so.1", .soname = "libz.so.1"},
};

struct gs_module {
	struct gs_module_info info;
};

static int open_fake(void *ctx, const char *name, struct gs_arena *arena, uint32_t *ticket,
		     const char **path)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(files); i++) {
		if (strcmp(files[i].path, name) != 0)
			continue;
		/* One inode a file, so that two ways to it are one module. */
		if (!files[i].fd)
			files[i].fd = memfd_create(name, MFD_CLOEXEC);
		if (ticket)
			*ticket = (uint32_t)i;
		if (path)
			*path = files[i].path;
		return dup(files[i].fd);
	}
	return -ENOENT;
}

struct gs_error *gs_module_open(int fd, const char *path, const struct gs_opener *opener,
				struct gs_types *types, struct gs_module **out)
{
	struct gs_module *m = gs_calloc(1, sizeof(*m));

	for (size_t i = 0; i < GS_ARRAY_SIZE(files); i++) {
		if (strcmp(files[i].path, path) != 0)
			continue;
		m->info = (struct gs_module_info){.path = path,
						  .soname = files[i].soname,
						  .runpath = files[i].runpath,
						  .needed = files[i].needed,
						  .machine = 62};
		while (m->info.nneeded < 3 && files[i].needed[m->info.nneeded])
			m->info.nneeded++;
		m->info.pointer_size = files[i].pointer_size ? files[i].pointer_size : 8;
	}
	*out = m;
	return NULL;
}
void gs_module_close(struct gs_module *m)
{
	free(m);
}
const struct gs_module_info *gs_module_info(const struct gs_module *m)
{
	return &m->info;
}

static const struct gs_file_source source = {.open = open_fake};
static struct gs_resolve_request request;
static struct gs_resolver resolver;

static void start(void)
{
	request = (struct gs_resolve_request){.executable = "/bin/prog"};
	resolver = (struct gs_resolver){.req = &request, .files = &source};
}
static void stop(void)
{
	gs_search_close(&resolver);
	gs_arena_deinit(&resolver.arena);
}

/* The path of what NAME! means; "" for nothing, the message for an error. */
static const char *module(const char *name)
{
	static char text[200];
	struct gs_loaded *m = NULL;
	struct gs_error *err = gs_search_module(&resolver, name, &m);

	snprintf(text, sizeof(text), "%s", err ? gs_error_message(err) : m ? m->path : "");
	gs_error_free(err);
	return text;
}

/* ---- tests ---- */

static void test_needed(void)
{
	static const char *const want[] = {"/bin/prog", "/bin/../lib/liba.so.1",
					   "/lib/x86_64-linux-gnu/libc.so.6"};
	size_t n = 0;

	start();
	CHECK(gs_search_needed(&resolver) == NULL);
	for (struct gs_loaded *m = resolver.loaded; m; m = m->next)
		if (m->needed && n < GS_ARRAY_SIZE(want))
			CHECK_STR(m->path, want[n++]);
	CHECK_INT(n, GS_ARRAY_SIZE(want));
	stop();
}

static void test_library_dirs_come_first(void)
{
	static const char *const dirs[] = {"/env"};

	start();
	request.library_dirs = dirs;
	request.nlibrary_dirs = 1;
	CHECK_STR(module("libz"), "/env/libz.so.1");
	stop();
}

static void test_maps(void)
{
	struct gs_resolve_map maps[] = {{"/usr/lib/i386/libz.so.1", "/usr/lib/i386/libz.so.1"},
					{"/usr/lib/libz.so.1.2.13", "/usr/lib/libz.so.1.2.13"},
					{"/opt/one/plugin.so", "/opt/one/plugin.so"},
					{"/opt/two/plugin.so", "/opt/two/plugin.so"}};

	start();
	request.maps = maps;
	request.nmaps = 4;
	/* By soname, and not the one of another class. */
	CHECK_STR(module("libz.so.1"), "/usr/lib/libz.so.1.2.13");
	CHECK_STR(module("z"), "/usr/lib/libz.so.1.2.13");
	CHECK_STR(module("one/plugin.so"), "/opt/one/plugin.so");
	CHECK_STR(module("plugin.so"), "several modules are called `plugin.so'");
	stop();
}

static void test_names(void)
{
	start();
	CHECK_STR(module("libc"), "/lib/x86_64-linux-gnu/libc.so.6");
	CHECK_STR(module("libc.so"), "/lib/x86_64-linux-gnu/libc.so.6");
	CHECK_STR(module("libc.so.6"), "/lib/x86_64-linux-gnu/libc.so.6");
	CHECK_STR(module("x86_64-linux-gnu/libc.so.6"), "/lib/x86_64-linux-gnu/libc.so.6");
	CHECK_STR(module("4-linux-gnu/libc.so.6"), "");
	CHECK_STR(module("prog"), "/bin/prog");
	CHECK_STR(module("lib"), "");
	CHECK_STR(module("/opt/two/plugin.so"), "/opt/two/plugin.so");
	CHECK_STR(module("nothing"), "");
	stop();
}

static void test_no_executable(void)
{
	struct gs_loaded *m;
	struct gs_error *err;

	start();
	request.executable = NULL;
	err = gs_search_executable(&resolver, &m);
	CHECK(err && strstr(gs_error_message(err), "-x"));
	gs_error_free(err);
	CHECK_STR(module("/opt/two/plugin.so"), "/opt/two/plugin.so");
	request.executable = "/bin/none";
	err = gs_search_executable(&resolver, &m);
	CHECK(err && strstr(gs_error_message(err), "/bin/none does not exist"));
	gs_error_free(err);
	stop();
}

int main(void)
{
	TAP_RUN(test_needed);
	TAP_RUN(test_library_dirs_come_first);
	TAP_RUN(test_maps);
	TAP_RUN(test_names);
	TAP_RUN(test_no_executable);
	return tap_done();
}
