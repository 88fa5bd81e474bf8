/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signal handlers and the little state that they share with the session.
 * Beside the drain: a signal interrupts its wait, the session then asks here what it was.
 */
#include "record/signals.h"

#include <signal.h>
#include <stdint.h>
#include <stddef.h>
#include <time.h>

#define INSIST_AFTER_NS 100000000

/* Those that ask for an end, those that are for the command alone, and the news of its end. */
static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
static const int ignored[] = {SIGPIPE, SIGXFSZ};
#define NCAUGHT (sizeof(caught) / sizeof(caught[0]))
#define NIGNORED (sizeof(ignored) / sizeof(ignored[0]))

/* Handlers have no context argument: the one place of record/ with mutable globals. */
static struct sigaction old_caught[NCAUGHT], old_ignored[NIGNORED];
static sigset_t old_mask;
static bool installed;
static volatile sig_atomic_t came[NCAUGHT], from_terminal[NCAUGHT], requests, insisted;
static int64_t first_ns; /* written and read only by the handler */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_request(int sig)
{
	return sig != SIGUSR1 && sig != SIGUSR2;
}

static void note_request(void)
{
	int64_t now = now_ns();

	if (!requests) {
		requests = 1;
		first_ns = now;
	} else if (now - first_ns >= INSIST_AFTER_NS) {
		insisted = 1;
	}
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	if (is_request(sig))
		note_request();
	for (size_t i = 0; i < NCAUGHT; i++) {
		if (caught[i] != sig)
			continue;
		from_terminal[i] = info->si_code == SI_KERNEL;
		came[i] = 1;
	}
}

static void on_child(int sig)
{
}

void gs_signals_install(void)
{
	sigset_t unblock;

	sigemptyset(&unblock);
	for (size_t i = 0; i < NCAUGHT; i++) {
		struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

		if (caught[i] == SIGCHLD)
			act = (struct sigaction){.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP};
		sigaction(caught[i], NULL, &old_caught[i]);
		if (caught[i] != SIGHUP || old_caught[i].sa_handler != SIG_IGN)
			sigaction(caught[i], &act, NULL);
		sigaddset(&unblock, caught[i]);
	}
	for (size_t i = 0; i < NIGNORED; i++) {
		struct sigaction act = {.sa_handler = SIG_IGN};

		sigaction(ignored[i], &act, &old_ignored[i]);
	}
	sigprocmask(SIG_UNBLOCK, &unblock, &old_mask);
	installed = true;
}

void gs_signals_restore(void)
{
	if (!installed)
		return;
	for (size_t i = 0; i < NCAUGHT; i++)
		sigaction(caught[i], &old_caught[i], NULL);
	for (size_t i = 0; i < NIGNORED; i++)
		sigaction(ignored[i], &old_ignored[i], NULL);
	sigprocmask(SIG_SETMASK, &old_mask, NULL);
}

bool gs_signals_take(struct gs_signals_taken *taken)
{
	for (size_t i = 0; i < NCAUGHT; i++) {
		if (!came[i])
			continue;
		came[i] = 0; /* first: one that comes now is another one */
		*taken = (struct gs_signals_taken){
			.signal = caught[i],
			.from_terminal = from_terminal[i],
			.request = is_request(caught[i]),
		};
		return true;
	}
	return false;
}

bool gs_signals_insist(void)
{
	return insisted;
}
