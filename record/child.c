/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork, wait for the word, exec.
 * Between arming the probes and enabling them: nothing of the command runs before its probes are
 * there.
 */
#include "record/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/signals.h"

struct account {
	bool change;
	uid_t uid;
	gid_t gid;
	const char *name, *home;
};

static struct gs_error *find_account(const char *user, struct account *out)
{
	struct passwd *pw;

	if (!user)
		return NULL;
	errno = 0;
	pw = getpwnam(user);
	if (!pw)
		return gs_error_new(GS_ERR_NOT_FOUND, "--user: there is no user `%s'", user);
	if (geteuid() != 0 && pw->pw_uid != geteuid())
		return gs_error_new(GS_ERR_USAGE, "--user: only root can run the command as `%s'",
				    user);
	*out = (struct account){geteuid() == 0, pw->pw_uid, pw->pw_gid, pw->pw_name, pw->pw_dir};
	return NULL;
}

/* 0 or errno. Groups first, uid last: afterwards none of it could be changed. */
static int become(const struct account *a)
{
	if (!a->change)
		return 0;
	if (initgroups(a->name, a->gid) || setgid(a->gid) || setuid(a->uid))
		return errno;
	if (setenv("HOME", a->home, 1) || setenv("USER", a->name, 1) ||
	    setenv("LOGNAME", a->name, 1))
		return errno;
	return 0;
}

static void report(int fd, int err)
{
	while (write(fd, &err, sizeof(err)) < 0 && errno == EINTR)
		;
}

/*
 * As execvp(3) a file without a format is given to the shell; but not an ELF file, of which ENOEXEC
 * means that it is for another machine: the shell would run its bytes. Returns errno.
 */
static int execute(const char *file, char **argv)
{
	char magic[4] = "";
	size_t n = 0;
	char **words;
	ssize_t got;
	int fd;

	execv(file, argv);
	if (errno != ENOEXEC)
		return errno;
	fd = open(file, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? 0 : read(fd, magic, sizeof(magic));
	if (got == (ssize_t)sizeof(magic) && !memcmp(magic, "\177ELF", sizeof(magic)))
		return ENOEXEC;
	while (argv[n])
		n++;
	words = calloc(n + 2, sizeof(*words));
	if (!words)
		return ENOMEM;
	words[0] = (char[]){"sh"};
	words[1] = (char *)file;
	memcpy(words + 2, argv + 1, n * sizeof(*words));
	execv("/bin/sh", words);
	return errno;
}

/* The child. Never returns. */
static void run(const struct gs_child_options *opts, const struct account *account, int go,
		int result)
{
	ssize_t n;
	char byte;
	int err;

	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(127);
	err = become(account);
	if (!err && opts->stdout_to_stderr && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		err = errno;
	if (!err && opts->files && setrlimit(RLIMIT_NOFILE, opts->files))
		err = errno;
	if (!err) {
		gs_signals_restore();
		err = execute(opts->file, opts->argv);
	}
	report(result, err);
	_exit(127);
}

struct gs_error *gs_child_start(const struct gs_child_options *opts, struct gs_child *out)
{
	struct account account = {0};
	int go[2], result[2], err;
	pid_t pid;

	GS_TRY(find_account(opts->user, &account));
	if (pipe2(go, O_CLOEXEC))
		return gs_error_errno(errno, "cannot start `%s'", opts->argv[0]);
	if (pipe2(result, O_CLOEXEC)) {
		err = errno;
		close(go[0]);
		close(go[1]);
		return gs_error_errno(err, "cannot start `%s'", opts->argv[0]);
	}
	pid = fork();
	err = errno;
	if (pid == 0) {
		close(go[1]);
		close(result[0]);
		run(opts, &account, go[0], result[1]);
	}
	close(go[0]);
	close(result[1]);
	if (pid < 0) {
		close(go[1]);
		close(result[0]);
		return gs_error_errno(err, "cannot start `%s'", opts->argv[0]);
	}
	*out = (struct gs_child){.pid = pid, .go_fd = go[1], .result_fd = result[0]};
	return NULL;
}

static void reap(struct gs_child *c)
{
	pid_t got;

	do
		got = waitpid(c->pid, &c->status, 0);
	while (got < 0 && errno == EINTR);
	c->ended = true;
}

struct gs_error *gs_child_release(struct gs_child *c, const char *name)
{
	int err = 0;
	ssize_t n;

	while (write(c->go_fd, "g", 1) < 0 && errno == EINTR)
		;
	close(c->go_fd);
	do
		n = read(c->result_fd, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	close(c->result_fd);
	c->go_fd = c->result_fd = -1;
	if (n != (ssize_t)sizeof(err))
		return NULL;
	reap(c);
	return gs_error_errno(err, "cannot run `%s'", name);
}

bool gs_child_ended(struct gs_child *c)
{
	if (!c->ended && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->ended = true;
	return c->ended;
}

void gs_child_abort(struct gs_child *c)
{
	if (c->go_fd >= 0) {
		close(c->go_fd);
		close(c->result_fd);
		c->go_fd = c->result_fd = -1;
		reap(c);
	}
}
