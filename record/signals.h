/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals of the recorder: what ends a recording, what is passed on to the command, and what the
 * command inherits. Used by the session (asks every turn) and by the launch of the command
 * (restores).
 */
#ifndef GS_RECORD_SIGNALS_H
#define GS_RECORD_SIGNALS_H

#include <stdbool.h>

/*
 * Catches SIGINT, SIGTERM, SIGQUIT, SIGHUP (unless ignored: nohup), SIGUSR1, SIGUSR2 and SIGCHLD
 * without restarting system calls, ignores SIGPIPE and SIGXFSZ (a write then fails with an error),
 * and remembers what was there.
 */
void gs_signals_install(void);
/* In the child before exec: dispositions and mask as the user had them. Async-signal-safe. */
void gs_signals_restore(void);

struct gs_signals_taken {
	int signal;
	bool request; /* it asks for an end; the others (SIGUSR1, SIGUSR2) are for the command */
	bool from_terminal; /* the kernel sent it to the whole foreground group: the command has it
			       too */
};
/* One of those that came since the last calls; false when there is none left. */
bool gs_signals_take(struct gs_signals_taken *taken);
/*
 * Two or more requests with at least a tenth of a second between them: the user insists.
 * (timeout(1) and service managers send one request to the process and to its group, which is not
 * insisting.)
 */
bool gs_signals_insist(void);

#endif
