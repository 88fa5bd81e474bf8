/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program gs-report but for main: opens, filters, shows, and says what was wrong.
 */
#ifndef GS_REPORT_REPORT_H
#define GS_REPORT_REPORT_H

#include "report/options.h"

enum gs_exit {
	GS_EXIT_OK = 0,
	GS_EXIT_USAGE = 1,
	GS_EXIT_DAMAGED = 2, /* and what could be read was reported */
	GS_EXIT_UNREADABLE = 3,
	GS_EXIT_INCOMPATIBLE = 4,
};

/* Messages go to ERR. Takes the options' queries. */
int gs_report_run(struct gs_report_options *o, FILE *err);

#endif
