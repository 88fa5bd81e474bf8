/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors: one type for every failure; NULL is success.
 * Used by every stage of the flow, from probe text to rendered output.
 */
#ifndef GS_COMMON_ERROR_H
#define GS_COMMON_ERROR_H

#include <stddef.h>
#include <stdio.h>

#define GS_PRINTF(f, a) __attribute__((format(printf, f, a)))

/*
 * What the caller may do about it. The front ends map these to exit statuses; the message carries
 * everything a person needs (what was tried, on what, what to do).
 */
enum gs_error_code {
	GS_ERR_USAGE,	     /* the command line or the probe text is wrong */
	GS_ERR_NOT_FOUND,    /* a name, line, file or process does not exist */
	GS_ERR_UNSUPPORTED,  /* this kernel, binary or construct cannot do that */
	GS_ERR_SYSTEM,	     /* a system call failed */
	GS_ERR_DAMAGED,	     /* foreign bytes (ELF, DWARF, data file) are malformed */
	GS_ERR_LIMIT,	     /* a stated cap was exceeded */
	GS_ERR_INCOMPATIBLE, /* the data file is of a newer, incompatible version */
	GS_ERR_INTERNAL,     /* a defect of gs; the message says where */
};

struct gs_error;

/* All constructors return an owned error; they never return NULL. */
struct gs_error *gs_error_new(enum gs_error_code code, const char *fmt, ...) GS_PRINTF(2, 3);
/* "FMT: strerror(err)", code GS_ERR_SYSTEM. */
struct gs_error *gs_error_errno(int err, const char *fmt, ...) GS_PRINTF(2, 3);
/* Takes ownership of CAUSE and puts a context before it; the code of the cause is kept. */
struct gs_error *gs_error_wrap(struct gs_error *cause, const char *fmt, ...) GS_PRINTF(2, 3);
/*
 * Attaches the source text and the offending span [start, start+len) in bytes, for the caret line.
 * TEXT is copied. A span that is already there (set deeper, hence more precise) is kept.
 */
struct gs_error *gs_error_at(struct gs_error *err, const char *text, size_t start, size_t len);
/* Adds a line that is printed after the message ("did you mean `r->size'?"). */
struct gs_error *gs_error_hint(struct gs_error *err, const char *fmt, ...) GS_PRINTF(2, 3);

enum gs_error_code gs_error_code_of(const struct gs_error *err);
/* "outer: inner" on one line without newline; valid until the error is freed. */
const char *gs_error_message(const struct gs_error *err);
/* Source text and span, or NULL where none was attached. */
const char *gs_error_source(const struct gs_error *err, size_t *start, size_t *len);
/* i-th hint, or NULL past the last one. */
const char *gs_error_hint_at(const struct gs_error *err, size_t i);
/* "PROG: message", then source line with caret, then hints. Control characters are escaped. */
void gs_error_print(FILE *out, const char *prog, const struct gs_error *err);
void gs_error_free(struct gs_error *err);

static inline void gs_error_cleanup(struct gs_error **err)
{
	gs_error_free(*err);
}
#define GS_CLEANUP_ERROR __attribute__((cleanup(gs_error_cleanup)))

/* if ((err = f())) return err; */
#define GS_TRY(expr)                                   \
	do {                                           \
		struct gs_error *gs_try_err_ = (expr); \
		if (gs_try_err_)                       \
			return gs_try_err_;            \
	} while (0)

#endif
