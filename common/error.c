/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors: a code, a message with its causes before it, the source span, and hints.
 * Made at every stage, printed by the two main functions.
 */
#include "common/error.h"

#include <stdarg.h>
#include <string.h>

#include "common/mem.h"
#include "common/text.h"

struct gs_error {
	enum gs_error_code code;
	char *message;
	char *source; /* probe text, or NULL */
	size_t start, len;
	char **hints;
	size_t nhints, cap_hints;
};

static char *format(const char *fmt, va_list ap)
{
	char *s = NULL;

	if (vasprintf(&s, fmt, ap) < 0)
		return gs_strdup(fmt);
	return s;
}

static struct gs_error *error_of(enum gs_error_code code, char *message)
{
	struct gs_error *err = gs_calloc(1, sizeof(*err));

	err->code = code;
	err->message = message;
	return err;
}

struct gs_error *gs_error_new(enum gs_error_code code, const char *fmt, ...)
{
	va_list ap;
	char *message;

	va_start(ap, fmt);
	message = format(fmt, ap);
	va_end(ap);
	return error_of(code, message);
}

struct gs_error *gs_error_errno(int errnum, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	char *what, *message;

	va_start(ap, fmt);
	what = format(fmt, ap);
	va_end(ap);
	/* The GNU variant: thread-safe, and TEXT is only its scratch space. */
	message = gs_asprintf("%s: %s", what, strerror_r(errnum, text, sizeof(text)));
	free(what);
	return error_of(GS_ERR_SYSTEM, message);
}

struct gs_error *gs_error_wrap(struct gs_error *cause, const char *fmt, ...)
{
	va_list ap;
	char *context, *message;

	va_start(ap, fmt);
	context = format(fmt, ap);
	va_end(ap);
	message = gs_asprintf("%s: %s", context, cause->message);
	free(context);
	free(cause->message);
	cause->message = message;
	return cause;
}

struct gs_error *gs_error_at(struct gs_error *err, const char *text, size_t start, size_t len)
{
	size_t n = strlen(text);

	if (err->source)
		return err;
	err->source = gs_strdup(text);
	err->start = start < n ? start : n;
	err->len = len < n - err->start ? len : n - err->start;
	return err;
}

struct gs_error *gs_error_hint(struct gs_error *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*GS_PUSH(err->hints, err->nhints, err->cap_hints) = format(fmt, ap);
	va_end(ap);
	return err;
}

enum gs_error_code gs_error_code_of(const struct gs_error *err)
{
	return err->code;
}

const char *gs_error_message(const struct gs_error *err)
{
	return err->message;
}

const char *gs_error_source(const struct gs_error *err, size_t *start, size_t *len)
{
	if (!err->source)
		return NULL;
	if (start)
		*start = err->start;
	if (len)
		*len = err->len;
	return err->source;
}

const char *gs_error_hint_at(const struct gs_error *err, size_t i)
{
	return i < err->nhints ? err->hints[i] : NULL;
}

/* Columns that escaped text takes on a terminal: code points, for want of better. */
static size_t columns(const uint8_t *s, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += (s[i] & 0xc0) != 0x80;
	return count;
}

/* The line of the source in which the span starts, and carets under the part of the span in it. */
static void put_source(struct gs_buf *out, const struct gs_error *err)
{
	const char *line = err->source + err->start, *end = err->source + err->start;
	size_t before, under, from, span;

	while (line > err->source && line[-1] != '\n')
		line--;
	while (*end && *end != '\n')
		end++;
	span = (size_t)(end - err->source) - err->start;
	if (span > err->len)
		span = err->len;
	gs_buf_puts(out, "  ");
	from = out->len;
	gs_escape(out, line, (size_t)(err->source + err->start - line), GS_ESCAPE_PLAIN);
	before = columns(out->data + from, out->len - from);
	from = out->len;
	gs_escape(out, err->source + err->start, span, GS_ESCAPE_PLAIN);
	under = columns(out->data + from, out->len - from);
	gs_escape(out, err->source + err->start + span,
		  (size_t)(end - err->source) - err->start - span, GS_ESCAPE_PLAIN);
	gs_buf_puts(out, "\n  ");
	for (size_t i = 0; i < before; i++)
		gs_buf_putc(out, ' ');
	gs_buf_putc(out, '^');
	for (size_t i = 1; i < under; i++)
		gs_buf_putc(out, '~');
	gs_buf_putc(out, '\n');
}

void gs_error_print(FILE *out, const char *prog, const struct gs_error *err)
{
	struct gs_buf text = {0};

	gs_buf_printf(&text, "%s: ", prog);
	gs_escape(&text, err->message, strlen(err->message), GS_ESCAPE_PLAIN);
	gs_buf_putc(&text, '\n');
	if (err->source)
		put_source(&text, err);
	for (size_t i = 0; i < err->nhints; i++) {
		gs_buf_puts(&text, "  ");
		gs_escape(&text, err->hints[i], strlen(err->hints[i]), GS_ESCAPE_PLAIN);
		gs_buf_putc(&text, '\n');
	}
	/* One write: messages of the recorder and of its target must not mix within a line. */
	fwrite(text.data, 1, text.len, out);
	gs_buf_deinit(&text);
}

void gs_error_free(struct gs_error *err)
{
	if (!err)
		return;
	for (size_t i = 0; i < err->nhints; i++)
		free(err->hints[i]);
	free(err->hints);
	free(err->source);
	free(err->message);
	free(err);
}
