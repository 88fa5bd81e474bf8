/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Standard output (or -o FILE) behind one large buffer, and the number writers of the per-event
 * path. The last stage of the flow.
 */
#include "report/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLUSH_AT (256u * 1024)

static struct gs_error *refuse_input(const char *path, char **inputs, size_t ninputs)
{
	struct stat to, from;

	if (stat(path, &to))
		return NULL;
	for (size_t i = 0; i < ninputs; i++)
		if (S_ISREG(to.st_mode) && !stat(inputs[i], &from) && from.st_dev == to.st_dev &&
		    from.st_ino == to.st_ino)
			return gs_error_new(GS_ERR_USAGE,
					    "-o %s: this is the recording that is read", path);
	return NULL;
}

struct gs_error *gs_output_open(struct gs_output *out, const char *path, char **inputs,
				size_t ninputs)
{
	*out = (struct gs_output){.fd = STDOUT_FILENO};
	if (!path || strcmp(path, "-") == 0)
		return NULL;
	GS_TRY(refuse_input(path, inputs, ninputs));
	out->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (out->fd < 0)
		return gs_error_errno(errno, "cannot create `%s'", path);
	out->path = gs_strdup(path);
	return NULL;
}

static void output_write(struct gs_output *out)
{
	size_t done = 0;

	while (done < out->buf.len && !out->closed && !out->error) {
		ssize_t n = write(out->fd, out->buf.data + done, out->buf.len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno == EPIPE)
			out->closed = true;
		else if (errno != EINTR)
			out->error = gs_error_errno(errno, "cannot write `%s'",
						    out->path ? out->path : "standard output");
	}
	gs_buf_reset(&out->buf);
}

bool gs_output_room(struct gs_output *out)
{
	if (out->buf.len >= FLUSH_AT)
		output_write(out);
	return !out->closed && !out->error;
}

void gs_output_idle(struct gs_output *out, bool from_stdin)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	if (out->buf.len && (!from_stdin || poll(&input, 1, 0) == 0))
		output_write(out);
}

struct gs_error *gs_output_close(struct gs_output *out)
{
	struct gs_error *err;

	output_write(out);
	/* A file system may say only now that the disk is full. */
	if (out->path && close(out->fd) && !out->error)
		out->error = gs_error_errno(errno, "cannot write `%s'", out->path);
	err = out->error;
	gs_buf_deinit(&out->buf);
	free(out->path);
	*out = (struct gs_output){.fd = -1};
	return err;
}

void gs_put_decimal(struct gs_buf *out, uint64_t v)
{
	char text[20];
	size_t at = sizeof(text);

	do {
		text[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	gs_buf_append(out, text + at, sizeof(text) - at);
}

void gs_put_signed(struct gs_buf *out, int64_t v)
{
	if (v < 0)
		gs_buf_putc(out, '-');
	gs_put_decimal(out, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void gs_put_hex(struct gs_buf *out, uint64_t v)
{
	char text[18];
	size_t at = sizeof(text);

	do {
		text[--at] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	text[--at] = 'x';
	text[--at] = '0';
	gs_buf_append(out, text + at, sizeof(text) - at);
}

void gs_put_seconds(struct gs_buf *out, int64_t ns)
{
	uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	uint64_t fraction = magnitude % 1000000000;
	char text[10];

	if (ns < 0)
		gs_buf_putc(out, '-');
	gs_put_decimal(out, magnitude / 1000000000);
	text[0] = '.';
	for (int i = 9; i > 0; i--) {
		text[i] = (char)('0' + fraction % 10);
		fraction /= 10;
	}
	gs_buf_append(out, text, sizeof(text));
}
