/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes of a file, of memory or of a pipe.
 * First stage of reading a recording. Files are read with pread(2): a mapping would kill the reader
 * when the file is truncated under it.
 */
#include "format/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_CHUNK ((size_t)256 << 10)

static struct gs_error *source_stat(struct gs_source *s)
{
	off_t at = lseek(s->fd, 0, SEEK_CUR);
	struct stat st;

	if (fstat(s->fd, &st))
		return gs_error_errno(errno, "fstat");
	if (S_ISDIR(st.st_mode))
		return gs_error_errno(EISDIR, "cannot read");
	if (S_ISREG(st.st_mode) && at >= 0) {
		s->seekable = true;
		s->start = (uint64_t)at;
		s->size = st.st_size > at ? (uint64_t)(st.st_size - at) : 0;
	}
	return NULL;
}

struct gs_error *gs_source_open(struct gs_source *s, const char *path)
{
	struct gs_error *err;

	*s = (struct gs_source){.fd = STDIN_FILENO};
	if (strcmp(path, "-") != 0) {
		s->fd = open(path, O_RDONLY | O_CLOEXEC);
		if (s->fd < 0)
			return gs_error_errno(errno, "cannot open");
		s->close_fd = true;
	}
	err = source_stat(s);
	if (err)
		gs_source_close(s);
	return err;
}

void gs_source_memory(struct gs_source *s, const void *data, size_t len)
{
	*s = (struct gs_source){.fd = -1, .seekable = true, .size = len, .memory = data};
	if (!data)
		s->memory = (const uint8_t *)"";
}

void gs_source_close(struct gs_source *s)
{
	if (s->close_fd)
		close(s->fd);
	gs_buf_deinit(&s->buf);
	*s = (struct gs_source){.fd = -1};
}

static struct gs_error *file_at(struct gs_source *s, uint64_t offset, size_t n, size_t *got)
{
	size_t done = 0;

	gs_buf_reset(&s->buf);
	gs_buf_reserve(&s->buf, n);
	while (done < n) {
		ssize_t r = pread(s->fd, s->buf.data + done, n - done,
				  (off_t)(s->start + offset + done));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return gs_error_errno(errno, "cannot read the recording");
		if (r == 0)
			break;
		done += (size_t)r;
	}
	*got = done;
	return NULL;
}

/* Appends what the pipe gives next. */
static struct gs_error *pipe_fill(struct gs_source *s)
{
	ssize_t r;

	if (s->skip > PIPE_CHUNK && s->skip > s->buf.len / 2) {
		memmove(s->buf.data, s->buf.data + s->skip, s->buf.len - s->skip);
		s->buf.len -= s->skip;
		s->base += s->skip;
		s->skip = 0;
	}
	do
		r = read(s->fd, gs_buf_reserve(&s->buf, PIPE_CHUNK), PIPE_CHUNK);
	while (r < 0 && errno == EINTR);
	if (r < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
		struct pollfd pfd = {.fd = s->fd, .events = POLLIN};

		poll(&pfd, 1, -1);
		return NULL;
	}
	if (r < 0)
		return gs_error_errno(errno, "cannot read the recording");
	s->eof = r == 0;
	s->buf.len += (size_t)r;
	s->size += (size_t)r;
	return NULL;
}

static struct gs_error *pipe_at(struct gs_source *s, uint64_t offset, size_t n, const uint8_t **p,
				size_t *got)
{
	uint64_t have;

	for (;;) {
		have = s->base + s->buf.len > offset ? s->base + s->buf.len - offset : 0;
		if (have >= n || s->eof)
			break;
		if (!have) /* a block that is not read at all: nothing of it needs to be kept */
			gs_source_forget(s, s->base + s->buf.len);
		GS_TRY(pipe_fill(s));
	}
	*got = have < n ? (size_t)have : n;
	*p = *got ? s->buf.data + (offset - s->base) : (const uint8_t *)"";
	return NULL;
}

struct gs_error *gs_source_at(struct gs_source *s, uint64_t offset, size_t n, const uint8_t **p,
			      size_t *got)
{
	if (!s->seekable)
		return pipe_at(s, offset, n, p, got);
	if (offset >= s->size)
		n = 0;
	else if (n > s->size - offset)
		n = (size_t)(s->size - offset);
	if (s->memory) {
		*p = s->memory + (n ? offset : 0);
		*got = n;
		return NULL;
	}
	GS_TRY(file_at(s, offset, n, got));
	*p = s->buf.data;
	return NULL;
}

uint64_t gs_source_data(const struct gs_source *s, uint64_t offset)
{
	off_t at;

	if (!s->seekable || s->memory || offset >= s->size)
		return offset;
	at = lseek(s->fd, (off_t)(s->start + offset), SEEK_DATA);
	if (at < 0)
		return errno == ENXIO ? s->size : offset;
	return (uint64_t)at - s->start < s->size ? (uint64_t)at - s->start : s->size;
}

void gs_source_forget(struct gs_source *s, uint64_t offset)
{
	if (!s->seekable && offset > s->base + s->skip)
		s->skip = offset - s->base < s->buf.len ? (size_t)(offset - s->base) : s->buf.len;
}

bool gs_source_wait(struct gs_source *s, uint64_t offset, int timeout_ms)
{
	struct pollfd pfd = {.fd = s->fd, .events = POLLIN};
	int r;

	if (s->seekable || s->eof || s->base + s->buf.len > offset)
		return true;
	do
		r = poll(&pfd, 1, timeout_ms);
	while (r < 0 && errno == EINTR);
	return r != 0;
}
