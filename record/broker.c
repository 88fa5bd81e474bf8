/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens files for the resolver: only regular ELF files, below the right root.
 * In the recorder, behind the socket of resolver_process.c.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/broker.h"

#define LOADER_CACHE "/etc/ld.so.cache"
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/* Source text is shown by -L. A file names its sources itself: root opens only what all may read.
 */
static bool is_source(const struct gs_resolve_request *req, const struct stat *st)
{
	return req->listing == GS_LIST_LINES && (geteuid() != 0 || st->st_mode & S_IROTH);
}

int gs_broker_open_below(const char *root, const char *path)
{
	struct open_how how = {.flags = OPEN_FLAGS, .resolve = RESOLVE_IN_ROOT};
	int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, err;

	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	err = errno;
	close(dir);
	return fd < 0 ? -err : fd;
}

static int open_plain(const char *path)
{
	int fd = open(path, OPEN_FLAGS);

	return fd < 0 ? -errno : fd;
}

/* The length of "/proc/PID/root" at the beginning of PATH, or 0. */
static size_t process_root(const char *path)
{
	size_t n;

	if (strncmp(path, "/proc/", 6) != 0)
		return 0;
	n = 6 + strspn(path + 6, "0123456789");
	return n > 6 && strncmp(path + n, "/root/", 6) == 0 ? n + 5 : 0;
}

static int open_path(const struct gs_resolve_request *req, const char *path, bool or_host)
{
	size_t n = process_root(path), len = req->root ? strlen(req->root) : 0;
	char root[64];
	int fd;

	if (n && n < sizeof(root)) {
		memcpy(root, path, n);
		root[n] = 0;
		return gs_broker_open_below(root, path + n);
	}
	if (len && strncmp(path, req->root, len) == 0 && path[len] == '/')
		return gs_broker_open_below(req->root, path + len);
	if (!len || path[0] != '/' || strncmp(path, "/proc/", 6) == 0)
		return open_plain(path);
	fd = gs_broker_open_below(req->root, path);
	return fd < 0 && or_host ? open_plain(path) : fd;
}

int gs_broker_open(const struct gs_resolve_request *req, const char *path, bool or_host)
{
	int fd = open_path(req, path, or_host);
	struct stat st;
	int err = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) != 0)
		err = errno;
	else if (!S_ISREG(st.st_mode))
		err = EINVAL;
	else if (strcmp(path, LOADER_CACHE) != 0 && !is_elf(fd) && !is_source(req, &st))
		err = ENOEXEC;
	if (!err)
		return fd;
	close(fd);
	return -err;
}
