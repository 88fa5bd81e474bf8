/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gs-record: records typed events of running programs into one file.
 * Where the recorder begins: the command line to options, options to a session.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/module.h"
#include "record/session.h"

/*
 * A standard stream that is closed would be the next file to be opened: messages would go into the
 * data. Its place is taken by what fails as a closed one does, and is closed for the command.
 */
static void hold_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
	}
}

static enum gs_exit tell(const struct gs_record_options *opts)
{
	if (opts->help)
		gs_record_options_help(stdout);
	else
		printf("gs-record " GS_VERSION "%s%s\n", *gs_image_features() ? " with" : "",
		       gs_image_features());
	if (fflush(stdout) == 0)
		return GS_EXIT_RECORDED;
	perror("gs-record: cannot write to standard output");
	return GS_EXIT_NOTHING;
}

int main(int argc, char **argv)
{
	struct gs_record_options opts;
	struct gs_error *err;
	/* The parser permutes argv; the file has it as it was. */
	GS_CLEANUP_FREE char **words = gs_calloc((size_t)argc + 1, sizeof(*words));
	enum gs_exit status;

	hold_standard_streams();
	memcpy(words, argv, sizeof(*argv) * ((size_t)argc + 1));
	err = gs_record_options_parse(argc, argv, &opts);
	if (err) {
		gs_error_print(stderr, "gs-record", err);
		gs_error_free(err);
		return GS_EXIT_NOTHING;
	}
	if (opts.help || opts.version)
		status = tell(&opts);
	else
		status = gs_session_run(&opts, argc, words);
	gs_record_options_deinit(&opts);
	return (int)status;
}
