/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The resolver as a process of its own: forked, stripped of privileges, limited, and gone before
 * recording begins. Between the session, which asks, and resolve.c, which answers.
 *
 * The child parses files that strangers made. It is user and group nobody when the recorder is
 * root, can gain no privileges, write no file, and holds no descriptor but its socket and standard
 * error. It opens nothing itself: it asks the parent, which opens regular ELF files (and the
 * loader's cache) for reading and passes the descriptor. So a child that was taken over can read
 * ELF files and answer nonsense, which is checked.
 *
 *   child to parent:  u8 kind, u32 length, bytes
 *     OPEN: u8 flags, path    FETCH: build-id    ANSWER: gs_resolution_write
 *   parent to child:  i32 ticket or -errno, u32 length, resolved path; with the
 * descriptor
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/broker.h"
#include "record/resolver.h"

#define NOBODY 65534
#define MEMORY_MAX ((rlim_t)4 << 30)
#define CPU_SECONDS 60
#define ANSWER_MAX (256u << 20)
#define PATH_LEN_MAX 4096u
#define FILES_MAX 4096u
#define OPENS_MAX 100000u
#define EXIT_PRIVILEGES 120
#define EXIT_CHANNEL 121
#define STACK_BYTES ((size_t)64 << 20)

/* Sanitizers reserve terabytes of address space. */
#if defined(__SANITIZE_ADDRESS__)
#define LIMIT_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LIMIT_MEMORY 0
#endif
#endif
#ifndef LIMIT_MEMORY
#define LIMIT_MEMORY 1
#endif

enum { MESSAGE_OPEN = 1, MESSAGE_ANSWER = 2, MESSAGE_FETCH = 3 };
enum { OPEN_KEEP = 1, OPEN_OR_HOST = 2 };

/* ---- the channel ---- */

static bool send_all(int sock, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t sent = send(sock, p, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		p += sent;
		n -= (size_t)sent;
	}
	return true;
}

static bool receive_all(int sock, void *data, size_t n)
{
	char *p = data;

	while (n) {
		ssize_t got = recv(sock, p, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
	}
	return true;
}

static bool send_message(int sock, uint8_t kind, const void *data, size_t n)
{
	uint8_t head[5] = {kind};
	uint32_t len = (uint32_t)n;

	memcpy(head + 1, &len, sizeof(len));
	return send_all(sock, head, sizeof(head)) && send_all(sock, data, n);
}

struct reply {
	int32_t result; /* ticket or -errno */
	uint32_t path_len;
};

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static bool send_reply(int sock, const struct reply *reply, const char *path, int fd)
{
	struct iovec iov = {(void *)reply, sizeof(*reply)};
	union control control = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (fd >= 0) {
		struct cmsghdr *c;

		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*reply) && send_all(sock, path, reply->path_len);
}

static bool receive_reply(int sock, struct reply *reply, int *fd)
{
	struct iovec iov = {reply, sizeof(*reply)};
	union control control = {0};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c;
	ssize_t n;

	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_WAITALL);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(*reply))
		return false;
	*fd = -1;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return true;
}

/* ---- the child ---- */

/* MESSAGE is freed. */
static int ask(int sock, uint8_t kind, struct gs_buf *message, struct gs_arena *arena,
	       uint32_t *ticket, const char **path)
{
	struct reply reply;
	char *resolved;
	int fd = -1;
	bool ok = send_message(sock, kind, message->data, message->len) &&
		  receive_reply(sock, &reply, &fd) && reply.path_len < 2 * PATH_LEN_MAX;

	gs_buf_deinit(message);
	if (!ok)
		_exit(EXIT_CHANNEL);
	resolved = gs_arena_alloc(arena, reply.path_len + 1);
	if (!receive_all(sock, resolved, reply.path_len))
		_exit(EXIT_CHANNEL);
	if (reply.result < 0 || fd < 0)
		return reply.result < 0 ? reply.result : -EBADF;
	if (ticket)
		*ticket = (uint32_t)reply.result;
	if (path)
		*path = *resolved ? resolved : NULL;
	return fd;
}

static int ask_open(int sock, const char *name, uint8_t flags, struct gs_arena *arena,
		    uint32_t *ticket, const char **path)
{
	struct gs_buf message = {0};
	size_t n = strlen(name);

	if (n == 0 || n >= PATH_LEN_MAX)
		return n ? -ENAMETOOLONG : -ENOENT;
	gs_put_u8(&message, flags);
	gs_buf_append(&message, name, n);
	return ask(sock, MESSAGE_OPEN, &message, arena, ticket, path);
}

static int ask_parent(void *ctx, const char *name, struct gs_arena *arena, uint32_t *ticket,
		      const char **path)
{
	return ask_open(*(int *)ctx, name, ticket ? OPEN_KEEP : 0, arena, ticket, path);
}

static int ask_for_debug_file(void *ctx, const char *name, struct gs_arena *arena)
{
	return ask_open(*(int *)ctx, name, OPEN_OR_HOST, arena, NULL, NULL);
}

static int ask_debuginfod(void *ctx, const uint8_t *id, size_t len, struct gs_arena *arena,
			  const char **path)
{
	struct gs_buf message = {0};

	gs_buf_append(&message, id, len);
	return ask(*(int *)ctx, MESSAGE_FETCH, &message, arena, NULL, path);
}

static void limit(int resource, rlim_t value)
{
	struct rlimit lim;

	/* A lower limit that is in force already stays. */
	if (getrlimit(resource, &lim) == 0 && lim.rlim_max != RLIM_INFINITY && lim.rlim_max < value)
		value = lim.rlim_max;
	lim.rlim_cur = lim.rlim_max = value;
	setrlimit(resource, &lim);
}

static void set_limits(void)
{
	if (LIMIT_MEMORY)
		limit(RLIMIT_AS, MEMORY_MAX);
	limit(RLIMIT_CPU, CPU_SECONDS);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_CORE, 0);
}

static void default_signals(void)
{
	static const int signals[] = {SIGINT,  SIGTERM, SIGHUP,	 SIGQUIT, SIGPIPE, SIGALRM, SIGCHLD,
				      SIGSEGV, SIGBUS,	SIGABRT, SIGXCPU, SIGUSR1, SIGUSR2};
	sigset_t none;

	for (size_t i = 0; i < GS_ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_DFL);
	/* Standard error may be a file, which it cannot write to: its last words are lost, not it.
	 */
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Keeps SOCK, as descriptor 3, and standard error. */
static int close_others(int sock)
{
	int null = open("/dev/null", O_RDWR);

	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
	}
	if (sock != 3)
		sock = dup2(sock, 3);
	if (syscall(SYS_close_range, 4u, ~0u, 0u) != 0)
		for (int fd = 4; fd < 65536; fd++)
			close(fd);
	return sock;
}

static bool drop_privileges(void)
{
	if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
			       setresuid(NOBODY, NOBODY, NOBODY) != 0))
		return false;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

struct work {
	const struct gs_resolve_request *req;
	int sock;
	struct gs_buf answer;
};

static void *work(void *ctx)
{
	struct work *w = ctx;
	struct gs_file_source files = {.ctx = &w->sock,
				       .open = ask_parent,
				       .open_debug = ask_for_debug_file,
				       .fetch = ask_debuginfod};

	gs_resolver_run(w->req, &files, &w->answer);
	return NULL;
}

/* Nested types and expressions take stack, and the caller's limit may be small: it has its own. */
static void run_on_own_stack(struct work *w)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, STACK_BYTES) == 0 &&
	    pthread_create(&thread, &attr, work, w) == 0)
		pthread_join(thread, NULL);
	else
		work(w);
}

static _Noreturn void run_child(const struct gs_resolve_request *req, int sock, pid_t parent)
{
	struct work w = {.req = req};

	default_signals();
	sock = close_others(sock);
	if (sock < 0 || !drop_privileges())
		_exit(EXIT_PRIVILEGES);
	/* After the change of user, which clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(EXIT_CHANNEL);
	set_limits();
	w.sock = sock;
	run_on_own_stack(&w);
	_exit(send_message(sock, MESSAGE_ANSWER, w.answer.data, w.answer.len) ? 0 : EXIT_CHANNEL);
}

/* ---- the parent ---- */

struct broker {
	const struct gs_resolve_request *req;
	int sock;
	int *kept; /* by ticket */
	size_t nkept, kept_cap;
	unsigned nopens;
	char last[PATH_LEN_MAX]; /* the file that was asked for last, for messages */
	struct gs_buf answer;
	bool answered;
};

/* The path behind the descriptor, or "". */
static void resolved_path(int fd, char *out, size_t size)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, out, size - 1);
	out[n > 0 ? n : 0] = '\0';
}

static bool serve_open(struct broker *b, const uint8_t *message, size_t n)
{
	struct reply reply = {0};
	char path[PATH_LEN_MAX] = "";
	bool keep = n && (message[0] & OPEN_KEEP), sent;
	int fd;

	if (n < 2 || n - 1 >= sizeof(b->last) || memchr(message + 1, 0, n - 1))
		return false;
	memcpy(b->last, message + 1, n - 1);
	b->last[n - 1] = '\0';
	if (++b->nopens > OPENS_MAX || b->nkept >= FILES_MAX)
		fd = -EMFILE;
	else
		fd = gs_broker_open(b->req, b->last, (message[0] & OPEN_OR_HOST) != 0);
	reply.result = fd;
	if (fd >= 0) {
		resolved_path(fd, path, sizeof(path));
		reply.path_len = (uint32_t)strlen(path);
		reply.result = keep ? (int32_t)b->nkept : 0;
	}
	sent = send_reply(b->sock, &reply, path, fd);
	if (fd >= 0 && keep)
		*GS_PUSH(b->kept, b->nkept, b->kept_cap) = fd;
	else if (fd >= 0)
		close(fd);
	return sent;
}

static bool serve_fetch(struct broker *b, const uint8_t *message, size_t n)
{
	struct reply reply = {.result = -ENOENT};
	char path[PATH_LEN_MAX] = "";
	bool sent;
	int fd = -ENOENT;

	if (n == 0 || n > 64)
		return false;
	if (b->req->debuginfod && ++b->nopens <= OPENS_MAX)
		fd = gs_debuginfod_fetch(message, n, b->req->quiet, path, sizeof(path));
	if (fd >= 0) {
		reply.result = 0;
		reply.path_len = (uint32_t)strlen(path);
	}
	sent = send_reply(b->sock, &reply, path, fd);
	if (fd >= 0)
		close(fd);
	return sent;
}

/* One message; false at the end of the stream or when the child breaks the protocol. */
static bool serve_message(struct broker *b)
{
	struct gs_buf message = {0};
	uint8_t head[5];
	uint32_t len;
	bool ok;

	if (!receive_all(b->sock, head, sizeof(head)))
		return false;
	memcpy(&len, head + 1, sizeof(len));
	if (head[0] == MESSAGE_ANSWER ? len > ANSWER_MAX : len > PATH_LEN_MAX)
		return false;
	ok = receive_all(b->sock, gs_buf_reserve(&message, len), len);
	message.len = len;
	if (ok && head[0] == MESSAGE_ANSWER) {
		b->answer = message;
		b->answered = true;
		return false;
	}
	ok = ok && (head[0] == MESSAGE_OPEN    ? serve_open(b, message.data, message.len)
		    : head[0] == MESSAGE_FETCH ? serve_fetch(b, message.data, message.len)
					       : false);
	gs_buf_deinit(&message);
	return ok;
}

static struct gs_error *explain_end(const struct broker *b, int status)
{
	const char *last = *b->last ? b->last : "nothing";
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (sig == SIGXCPU || sig == SIGKILL)
		return gs_error_new(
			GS_ERR_LIMIT,
			"the resolver was stopped after %d s of processor time; the last "
			"file it opened: %s",
			CPU_SECONDS, last);
	if (sig == SIGABRT)
		return gs_error_new(
			GS_ERR_LIMIT,
			"the resolver gave up, most likely for lack of memory (its limit "
			"is 4 GiB); the last file it opened: %s",
			last);
	if (sig == SIGINT || sig == SIGTERM)
		return gs_error_new(GS_ERR_SYSTEM, "the resolver was interrupted");
	if (sig)
		return gs_error_new(GS_ERR_DAMAGED,
				    "the resolver crashed (%s); the last file it opened: %s",
				    strsignal(sig), last);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_PRIVILEGES)
		return gs_error_hint(
			gs_error_new(GS_ERR_SYSTEM, "the resolver could not drop its privileges"),
			"root's becomes user nobody, which takes CAP_SETUID and CAP_SETGID; "
			"without "
			"them run gs-record as another user");
	return gs_error_new(GS_ERR_INTERNAL,
			    "the resolver ended without an answer (status %d); the last file it "
			    "opened: %s",
			    WIFEXITED(status) ? WEXITSTATUS(status) : status, last);
}

/* Each module gets the descriptor that its file was opened with. */
static void take_files(struct broker *b, struct gs_resolution *r, const uint32_t *tickets)
{
	r->module_fds = gs_calloc(r->meta.nmodules, sizeof(*r->module_fds));
	for (size_t i = 0; i < r->meta.nmodules; i++)
		r->module_fds[i] = fcntl(b->kept[tickets[i]], F_DUPFD_CLOEXEC, 3);
}

static struct gs_error *take_answer(struct broker *b, struct gs_resolution *out)
{
	struct gs_reader in = gs_reader_of(b->answer.data, b->answer.len);
	GS_CLEANUP_FREE uint32_t *tickets = NULL;
	struct gs_resolution r;
	struct gs_error *err = gs_resolution_read(&in, (uint32_t)b->nkept, &r, &tickets);

	if (err)
		return gs_error_wrap(err, "the resolver");
	if (!r.nerrors)
		take_files(b, &r, tickets);
	for (size_t i = 0; r.module_fds && i < r.meta.nmodules; i++) {
		if (r.module_fds[i] >= 0)
			continue;
		err = gs_error_errno(errno, "cannot keep %s open", r.meta.modules[i].path);
		gs_resolution_deinit(&r);
		return err;
	}
	*out = r;
	return NULL;
}

static struct gs_error *serve(const struct gs_resolve_request *req, int sock, pid_t child,
			      struct gs_resolution *out)
{
	struct broker b = {.req = req, .sock = sock};
	struct gs_error *err;
	int status = 0;

	while (serve_message(&b))
		;
	/* Its work is done, or it broke the rules: either way it ends now. */
	close(sock);
	if (b.answered)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	err = b.answered ? take_answer(&b, out) : explain_end(&b, status);
	for (size_t i = 0; i < b.nkept; i++)
		close(b.kept[i]);
	free(b.kept);
	gs_buf_deinit(&b.answer);
	return err;
}

struct gs_error *gs_resolve(const struct gs_resolve_request *req, struct gs_resolution *out)
{
	pid_t parent = getpid(), child;
	int socks[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) != 0)
		return gs_error_errno(errno, "cannot make a channel for the resolver");
	fflush(NULL);
	child = fork();
	if (child < 0) {
		int err = errno;

		close(socks[0]);
		close(socks[1]);
		return gs_error_errno(err, "cannot start the resolver");
	}
	if (child == 0)
		run_child(req, socks[1], parent);
	close(socks[1]);
	return serve(req, socks[0], child, out);
}
