/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debuginfod: debug files from the network, where DEBUGINFOD_URLS names servers.
 * Beside broker.c, for the resolver, which has no network.
 *
 * The library (libdebuginfod, elfutils) is opened at run time: it brings curl and its kin, which no
 * recording needs otherwise. It keeps its own cache and time limits (DEBUGINFOD_CACHE_PATH,
 * DEBUGINFOD_TIMEOUT). What it downloads is a stranger's: that happens in a process of its own,
 * under sudo as the user who called it, and only the open descriptor comes back.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/broker.h"

#define LIBRARY "libdebuginfod.so.1"
#define EXIT_NO_LIBRARY 3
#define TIMEOUT_SECONDS "30" /* without DEBUGINFOD_TIMEOUT: without progress for that long */

/* As in elfutils/debuginfod.h; its interface is versioned and only grows. */
typedef struct debuginfod_client client;
struct library {
	client *(*begin)(void);
	void (*end)(client *);
	int (*find_debuginfo)(client *, const unsigned char *id, int len, char **path);
	void (*set_progressfn)(client *, int (*)(client *, long done, long all));
};

bool gs_debuginfod_wanted(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && urls[strspn(urls, " \t")];
}

static bool load(struct library *l)
{
	void *h = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!h)
		return false;
	*(void **)&l->begin = dlsym(h, "debuginfod_begin");
	*(void **)&l->end = dlsym(h, "debuginfod_end");
	*(void **)&l->find_debuginfo = dlsym(h, "debuginfod_find_debuginfo");
	*(void **)&l->set_progressfn = dlsym(h, "debuginfod_set_progressfn");
	return l->begin && l->end && l->find_debuginfo && l->set_progressfn;
}

static int say_progress(client *c, long done, long all)
{
	static long last_mib = -1;
	long mib = done >> 20;

	if (all > 0 && mib != last_mib)
		fprintf(stderr, "gs-record: debuginfod: %ld of %ld MiB\n", mib,
			(all + (1 << 20) - 1) >> 20);
	last_mib = mib;
	return 0;
}

/* Root by sudo becomes the caller again: the cache is in that user's home. */
static bool become_caller(void)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	struct passwd *pw;

	if (geteuid() != 0 || !uid || !gid)
		return true;
	pw = getpwuid((uid_t)strtoul(uid, NULL, 10));
	if (!pw || setgid((gid_t)strtoul(gid, NULL, 10)) != 0 ||
	    initgroups(pw->pw_name, (gid_t)strtoul(gid, NULL, 10)) != 0 || setuid(pw->pw_uid) != 0)
		return false;
	setenv("HOME", pw->pw_dir, 1);
	unsetenv("XDG_CACHE_HOME");
	return true;
}

static void send_file(int sock, int fd, const char *path)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)path, strlen(path)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	sendmsg(sock, &msg, MSG_NOSIGNAL);
}

static int receive_file(int sock, char *path, size_t size)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {path, size - 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c;
	ssize_t n;
	int fd = -ENOENT;

	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return -ENOENT;
	path[n] = 0;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static _Noreturn void run(int sock, const uint8_t *id, size_t len, bool quiet)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGPIPE};
	struct library l;
	char *path = NULL;
	sigset_t none;
	client *c;
	int fd = -1;

	for (size_t i = 0; i < GS_ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setenv("DEBUGINFOD_TIMEOUT", TIMEOUT_SECONDS, 0);
	if (!become_caller())
		_exit(1);
	if (!load(&l)) {
		if (!quiet)
			fprintf(stderr,
				"gs-record: DEBUGINFOD_URLS is set, but there is no "
				"%s to ask with\n",
				LIBRARY);
		_exit(EXIT_NO_LIBRARY);
	}
	c = l.begin();
	if (!c)
		_exit(1);
	if (!quiet)
		l.set_progressfn(c, say_progress);
	fd = l.find_debuginfo(c, id, (int)len, &path);
	if (fd >= 0)
		send_file(sock, fd, path ? path : "debuginfod");
	else if (fd != -ENOENT && !quiet)
		fprintf(stderr, "gs-record: debuginfod: %s\n", strerror(-fd));
	l.end(c);
	_exit(fd >= 0 ? 0 : 1);
}

int gs_debuginfod_fetch(const uint8_t *id, size_t len, bool quiet, char *path, size_t path_size)
{
	static bool is_missing; /* said once */
	int socks[2], fd, status = 0;
	pid_t child;

	if (is_missing || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) != 0)
		return -ENOENT;
	child = fork();
	if (child == 0) {
		close(socks[0]);
		run(socks[1], id, len, quiet);
	}
	close(socks[1]);
	fd = child < 0 ? -errno : receive_file(socks[0], path, path_size);
	close(socks[0]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	is_missing = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_LIBRARY;
	return fd;
}
