/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording from its options to its closing line.
 * Called by main.c; holds the stages of record/ together.
 */
#ifndef GS_RECORD_SESSION_H
#define GS_RECORD_SESSION_H

#include "record/options.h"

enum gs_exit {
	GS_EXIT_RECORDED = 0,
	GS_EXIT_NOTHING = 1, /* usage, probe or attach error: no file */
	GS_EXIT_CUT = 2,     /* cut short by an error: the file is valid */
};

/* ARGV is the whole command line, for the file. Says everything itself; the result is the exit
 * status. */
enum gs_exit gs_session_run(const struct gs_record_options *opts, int argc, char **argv);

#endif
