/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Standard output (or -o FILE) behind one large buffer, and the number writers of the per-event
 * path. Every renderer appends to the buffer; it is written when it is large, and at the end.
 */
#ifndef GS_REPORT_OUTPUT_H
#define GS_REPORT_OUTPUT_H

#include "common/error.h"
#include "common/mem.h"

struct gs_output {
	int fd;
	char *path;		/* NULL: standard output */
	struct gs_buf buf;	/* renderers append here */
	bool closed;		/* the reader of the pipe has gone: nothing more is wanted */
	struct gs_error *error; /* the first failed write; owned */
};

/*
 * PATH NULL or "-": standard output. A file that is one of the inputs is refused: reports never
 * change recordings.
 */
struct gs_error *gs_output_open(struct gs_output *out, const char *path, char **inputs,
				size_t ninputs);
/* Writes the buffer when it is large. False when no more output is wanted or possible. */
bool gs_output_room(struct gs_output *out);
/*
 * For a live view: writes what there is unless more input is waiting on standard input (FROM_STDIN)
 * to be reported along with it.
 */
void gs_output_idle(struct gs_output *out, bool from_stdin);
/* Writes everything and closes; the error of any write, a closed pipe excepted. */
struct gs_error *gs_output_close(struct gs_output *out);

void gs_put_decimal(struct gs_buf *out, uint64_t v);
void gs_put_signed(struct gs_buf *out, int64_t v);
void gs_put_hex(struct gs_buf *out, uint64_t v); /* 0x1f */
/* Seconds and nine digits, as 12.000000345. */
void gs_put_seconds(struct gs_buf *out, int64_t ns);

#endif
