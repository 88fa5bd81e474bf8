/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Following processes: children join the set, exec and exit are reported, strangers are not
 * recorded; in the first pid namespace and in one of our own. Needs root.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/lib/bpf_live.h"
#include "tests/tap.h"

enum { RSI = 4, RDI = 5 };

static volatile unsigned long sink;

LIVE_TARGET static void target(const void *a, long b)
{
	sink += (unsigned long)a + (unsigned long)b;
	__asm__ volatile("" ::: "memory");
}

static void *thread_hits(void *arg)
{
	target(NULL, 2);
	return arg;
}

/* Hits 1 (main), 2 (thread), 3 (child, which exits with 9), 4; then exec. */
static void command(int go)
{
	pthread_t thread;
	pid_t child;
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(99);
	target(NULL, 1);
	pthread_create(&thread, NULL, thread_hits, NULL);
	pthread_join(thread, NULL);
	child = fork();
	if (child == 0) {
		target(NULL, 3);
		_exit(9);
	}
	waitpid(child, NULL, 0);
	target(NULL, 4);
	execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
	_exit(98);
}

struct seen {
	unsigned events, forks, execs, exits;
	uint32_t child, child_status, command_status;
};

static void look(const struct live *l, uint32_t pid, struct seen *s)
{
	for (size_t i = 0; i < l->nevents; i++) {
		const struct live_event *ev = &l->events[i];

		switch (ev->head.kind) {
		case GS_RECORD_EVENT:
			s->events++;
			break;
		case GS_RECORD_FORK:
			s->forks++;
			s->child = ev->process.other;
			CHECK_INT(ev->head.pid, pid);
			break;
		case GS_RECORD_EXEC:
			s->execs++;
			CHECK_INT(ev->head.pid, pid);
			CHECK_STR(ev->head.comm, "sh");
			break;
		default:
			s->exits++;
			if (ev->head.pid == pid)
				s->command_status = ev->process.code;
			else
				s->child_status = ev->process.code;
		}
	}
}

static void follow(void)
{
	struct gs_tracer_options opts = {.feature_mask = ~0u,
					 .buffer_bytes = 1u << 20,
					 .max_sites = 1,
					 .nprobes = 1,
					 .filter_pids = true,
					 .follow = true};
	struct seen s = {0};
	pid_t pid, stranger;
	struct live l;
	int go[2], status;

	live_init(&l);
	live_item(&l.plan, GS_ITEM_VALUE, live_reg(&l.plan, RSI), 8);
	CHECK(pipe(go) == 0);
	pid = fork();
	if (pid == 0)
		command(go[0]);
	if (!live_start_with(&l, &opts, target)) {
		CHECK(!"started");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		live_deinit(&l);
		return;
	}
	CHECK(!gs_tracer_pid_remove(l.tracer, getpid()));
	CHECK(!gs_tracer_pid_add(l.tracer, pid));
	stranger = fork();
	if (stranger == 0) {
		target(NULL, 77);
		_exit(0);
	}
	waitpid(stranger, NULL, 0);
	target(NULL, 78); /* we are not in the set either */
	CHECK(write(go[1], "x", 1) == 1);
	waitpid(pid, &status, 0);
	CHECK_INT(status, 5 << 8);
	live_drain(&l);
	look(&l, (uint32_t)pid, &s);
	CHECK_INT(s.events, 4);
	CHECK_INT(s.forks, 1);
	CHECK_INT(s.execs, 1);
	CHECK_INT(s.exits, 2);
	CHECK_INT(s.child_status, 9 << 8);
	CHECK_INT(s.command_status, 5 << 8);
	CHECK(s.child > 0 && s.child != (uint32_t)pid);
	CHECK(!gs_tracer_pid_has(l.tracer, pid));
	CHECK_INT(gs_tracer_filter_lost(l.tracer), 0);
	CHECK_INT(gs_tracer_process_lost(l.tracer), 0);
	for (size_t i = 0; i < l.nevents; i++)
		if (l.events[i].head.kind == GS_RECORD_EVENT) {
			uint64_t n = *(const uint64_t *)l.events[i].items[0].data;

			CHECK(n >= 1 && n <= 4);
			CHECK_INT(l.events[i].head.pid, n == 3 ? s.child : (uint32_t)pid);
			CHECK((l.events[i].head.tid == l.events[i].head.pid) == (n != 2));
		}
	live_deinit(&l);
}

static void test_follow(void)
{
	follow();
}

/* The same, as process 1 of a namespace of our own. */
static void test_follow_in_a_namespace(void)
{
	pid_t outer = fork(), inner;
	int status = 1;

	if (outer == 0) {
		if (unshare(CLONE_NEWPID))
			_exit(77);
		inner = fork();
		if (inner == 0) {
			follow();
			fflush(stdout);
			_exit(tap_case_failed);
		}
		waitpid(inner, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
	}
	waitpid(outer, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		printf("# pid namespaces cannot be made here\n");
	else
		CHECK_INT(status, 0);
}

/* Killed: the status says by what. */
static void test_killed_process(void)
{
	struct gs_tracer_options opts = {.feature_mask = ~0u,
					 .buffer_bytes = 1u << 20,
					 .max_sites = 1,
					 .nprobes = 1,
					 .filter_pids = true,
					 .follow = true};
	struct live l;
	pid_t pid;

	live_init(&l);
	live_item(&l.plan, GS_ITEM_VALUE, live_reg(&l.plan, RSI), 8);
	CHECK(live_start_with(&l, &opts, target));
	pid = fork(); /* we are in the set: the child is followed */
	if (pid == 0)
		for (;;)
			pause();
	CHECK(gs_tracer_pid_has(l.tracer, pid));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	live_drain(&l);
	CHECK_INT(l.nevents, 2);
	if (l.nevents == 2) {
		const struct live_event *ev = l.events;
		const struct live_event *fork_ev = ev[0].head.kind == GS_RECORD_FORK ? ev : ev + 1;
		const struct live_event *exit_ev = fork_ev == ev ? ev + 1 : ev;

		CHECK_INT(fork_ev->head.kind, GS_RECORD_FORK);
		CHECK_INT(fork_ev->process.other, pid);
		CHECK_INT(exit_ev->head.kind, GS_RECORD_EXIT);
		CHECK_INT(exit_ev->head.pid, pid);
		CHECK_INT(exit_ev->process.code & 0x7f, SIGKILL);
	}
	live_deinit(&l);
}

/* A set that is full: the child is not followed, and that is counted. */
static void test_full_set_is_counted(void)
{
	struct gs_tracer_options opts = {.feature_mask = ~0u,
					 .buffer_bytes = 1u << 20,
					 .max_sites = 1,
					 .nprobes = 1,
					 .filter_pids = true,
					 .follow = true};
	struct live l;
	pid_t pid;
	int fake = 1 << 24; /* numbers that no process has */

	live_init(&l);
	live_item(&l.plan, GS_ITEM_VALUE, live_reg(&l.plan, RSI), 8);
	CHECK(live_start_with(&l, &opts, target));
	for (struct gs_error *err = NULL; !err && fake < (1 << 24) + 100000; fake++) {
		err = gs_tracer_pid_add(l.tracer, fake);
		if (err) {
			gs_error_free(err);
			break;
		}
	}
	pid = fork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	CHECK_INT(gs_tracer_filter_lost(l.tracer), 1);
	live_deinit(&l);
}

int main(void)
{
	const char *why = live_unable();

	if (why) {
		tap_skip("live", why);
		return tap_done();
	}
	TAP_RUN(test_follow);
	TAP_RUN(test_follow_in_a_namespace);
	TAP_RUN(test_killed_process);
	TAP_RUN(test_full_set_is_counted);
	return tap_done();
}
