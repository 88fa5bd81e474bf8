/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the recorder.
 * At the side of the whole flow in record/: what is said never goes through the data file.
 */
#include "record/voice.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "common/text.h"

/* One write(2) a line, so that lines of the command on the same terminal do not cut into it. */
static void say(const char *fmt, va_list args)
{
	GS_CLEANUP_FREE char *text = NULL;
	struct gs_buf line;
	size_t done = 0;

	if (vasprintf(&text, fmt, args) < 0) {
		text = NULL;
		return;
	}
	gs_buf_init(&line);
	gs_buf_puts(&line, "gs-record: ");
	gs_escape(&line, text, strlen(text), GS_ESCAPE_PLAIN);
	gs_buf_putc(&line, '\n');
	while (done < line.len) {
		ssize_t n = write(STDERR_FILENO, line.data + done, line.len - done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	gs_buf_deinit(&line);
}

void gs_voice_say(const struct gs_voice *v, const char *fmt, ...)
{
	va_list args;

	if (v->quiet)
		return;
	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
}

void gs_voice_detail(const struct gs_voice *v, const char *fmt, ...)
{
	va_list args;

	if (v->quiet || !v->verbose)
		return;
	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
}

void gs_voice_always(const struct gs_voice *v, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
}

void gs_voice_error(const struct gs_voice *v, struct gs_error *err)
{
	gs_error_print(stderr, "gs-record", err);
	gs_error_free(err);
}
