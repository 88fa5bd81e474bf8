/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gs-report: reads what gs-record recorded, and shows it.
 * The front end: command line in, exit status out.
 */
#include <signal.h>
#include <stdio.h>

#include "report/report.h"

int main(int argc, char **argv)
{
	struct gs_report_options opts;
	struct gs_error *err;
	int status;

	/* A reader that goes away is an error of write(2), which ends the report cleanly. */
	signal(SIGPIPE, SIG_IGN);
	err = gs_report_options_parse(&opts, argc, argv);
	if (err) {
		gs_error_print(stderr, "gs-report", err);
		gs_error_free(err);
		status = GS_EXIT_USAGE;
	} else if (opts.help) {
		gs_report_help(stdout);
		status = GS_EXIT_OK;
	} else if (opts.version) {
		printf("gs-report %s\n", GS_VERSION);
		status = GS_EXIT_OK;
	} else {
		status = gs_report_run(&opts, stderr);
	}
	gs_report_options_deinit(&opts);
	return status;
}
