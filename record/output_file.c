/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creating the data file safely, as root, in a directory that may belong to anyone.
 * Below the output's writer thread.
 */
#include "record/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"

#define CREATE_TRIES 8

static struct gs_error *open_stdout(struct gs_output_file *f)
{
	if (isatty(STDOUT_FILENO))
		return gs_error_new(
			GS_ERR_USAGE,
			"-o -: standard output is a terminal; pipe it (gs-record -o - ... | "
			"gs-report -) or name a file");
	f->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (f->fd < 0)
		return gs_error_errno(errno, "cannot write to standard output");
	return NULL;
}

/* N of /dev/fd/N and /proc/self/fd/N, which `-o >(gs-report -)' of a shell gives; or -1. */
static int own_descriptor(const char *path)
{
	static const char *const dirs[] = {"/dev/fd/", "/proc/self/fd/"};

	for (size_t i = 0; i < GS_ARRAY_SIZE(dirs); i++) {
		size_t len = strlen(dirs[i]), digits;
		const char *number;

		if (strncmp(path, dirs[i], len) != 0)
			continue;
		number = path + len;
		digits = strspn(number, "0123456789");
		if (digits && digits < 7 && !number[digits])
			return (int)strtol(number, NULL, 10);
	}
	return -1;
}

void gs_output_file_keep_from_command(const char *path)
{
	int fd = own_descriptor(path);

	if (fd > STDERR_FILENO)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static struct gs_error *open_own(const char *path, int fd, struct gs_output_file *f)
{
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (f->fd < 0)
		return gs_error_errno(errno, "cannot write to `%s'", path);
	return NULL;
}

/* Devices and named pipes are written to as they are. */
static struct gs_error *open_special(const char *path, struct gs_output_file *f)
{
	f->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
	if (f->fd < 0)
		return gs_error_errno(errno, "cannot write `%s'", path);
	return NULL;
}

static bool env_id(const char *name, unsigned *id)
{
	const char *text = getenv(name);
	char *end;
	unsigned long v;

	if (!text || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno || *end || v >= UINT32_MAX)
		return false;
	*id = (unsigned)v;
	return true;
}

static struct gs_error *give_to_caller(struct gs_output_file *f)
{
	unsigned uid, gid;

	if (geteuid() != 0 || !env_id("SUDO_UID", &uid) || !env_id("SUDO_GID", &gid))
		return NULL;
	if (fchown(f->fd, uid, gid))
		return gs_error_errno(errno, "cannot give `%s' to user %u, who called sudo",
				      f->path, uid);
	return NULL;
}

static struct gs_error *move_older(struct gs_output_file *f, const char *path)
{
	if (f->moved || rename(path, f->old_path) == 0) {
		f->moved = true;
		return NULL;
	}
	return gs_error_errno(errno, "cannot rename the older `%s' to `%s'", path, f->old_path);
}

static struct gs_error *open_new(const char *path, struct gs_output_file *f)
{
	struct stat st;

	for (int i = 0; i < CREATE_TRIES; i++) {
		if (lstat(path, &st) == 0) {
			if (S_ISLNK(st.st_mode))
				return gs_error_new(
					GS_ERR_USAGE,
					"cannot write `%s': it is a symbolic link; name the "
					"file itself (- is standard output)",
					path);
			if (S_ISDIR(st.st_mode))
				return gs_error_errno(EISDIR, "cannot write `%s'", path);
			if (!S_ISREG(st.st_mode))
				return open_special(path, f);
			GS_TRY(move_older(f, path));
		}
		f->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
			     0600);
		if (f->fd >= 0) {
			f->created = true;
			return give_to_caller(f);
		}
		if (errno != EEXIST)
			break;
	}
	return gs_error_errno(errno, "cannot create `%s'", path);
}

struct gs_error *gs_output_file_open(const char *path, struct gs_output_file *out)
{
	struct gs_output_file f = {.fd = -1};
	struct gs_error *err;
	int fd;

	f.path = gs_strdup(path);
	f.old_path = gs_asprintf("%s.old", path);
	fd = own_descriptor(path);
	if (fd >= 0)
		err = open_own(path, fd, &f);
	else
		err = strcmp(path, "-") ? open_new(path, &f) : open_stdout(&f);
	if (err) {
		gs_output_file_discard(&f);
		return err;
	}
	*out = f;
	return NULL;
}

static void deinit(struct gs_output_file *f)
{
	free(f->path);
	free(f->old_path);
	f->path = f->old_path = NULL;
}

void gs_output_file_discard(struct gs_output_file *f)
{
	if (f->created)
		unlink(f->path);
	/* If putting it back fails, the older recording is still there, under its .old name. */
	if (f->moved && rename(f->old_path, f->path))
		f->moved = false;
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	deinit(f);
}

struct gs_error *gs_output_file_close(struct gs_output_file *f)
{
	struct gs_error *err = NULL;

	/* Network file systems report a full disk only here. */
	if (close(f->fd))
		err = gs_error_errno(errno, "cannot write `%s'", f->path);
	f->fd = -1;
	deinit(f);
	return err;
}
