/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gs-report: reads what gs-record recorded, and shows it.
 * The front end: command line in, exit status out.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/report.h"

static void interrupted(int sig)
{
}

/*
 * In `gs-record -o - ... | gs-report -' a Ctrl-C is for both: the recorder then ends its recording,
 * and its last events are still to be shown. So the first one is left to the writer of the pipe;
 * the second ends.
 */
static void outlive_one_interrupt(const struct gs_report_options *opts)
{
	bool from_stdin = false;

	struct sigaction action = {.sa_handler = interrupted,
				   .sa_flags = SA_RESETHAND | SA_RESTART};
	struct stat st;

	for (size_t i = 0; i < opts->npaths; i++)
		from_stdin |= strcmp(opts->paths[i], "-") == 0;
	if (from_stdin && fstat(STDIN_FILENO, &st) == 0 && S_ISFIFO(st.st_mode))
		sigaction(SIGINT, &action, NULL);
}

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
		outlive_one_interrupt(&opts);
		status = gs_report_run(&opts, stderr);
	}
	gs_report_options_deinit(&opts);
	return status;
}
