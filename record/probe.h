/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probe text to probe specification: places, items and condition as written, without any binary.
 * First stage of the recorder.
 */
#ifndef GS_RECORD_PROBE_H
#define GS_RECORD_PROBE_H

#include "common/error.h"
#include "common/expr.h"
#include "common/mem.h"

enum gs_where {
	GS_WHERE_FUNCTION,
	GS_WHERE_OFFSET,	/* FUNCTION + number */
	GS_WHERE_FUNCTION_LINE, /* FUNCTION :+ number */
	GS_WHERE_LINE,		/* file : number */
	GS_WHERE_ADDRESS,	/* * number */
	GS_WHERE_MARKER,	/* sdt: provider : marker */
};

enum gs_item_word {
	GS_WORD_NONE,
	GS_WORD_ARGS,
	GS_WORD_LOCALS,
	GS_WORD_REGS,
	GS_WORD_RESULT, /* never written: what a return captures without items */
};

struct gs_probe_item {
	const char *name;	/* NAME, or NULL */
	enum gs_item_word word; /* $args, $locals, $regs: then no expression */
	size_t start, len;	/* of the expression (or word) in the text */
	const char *text;	/* the expression as written, trimmed: the key without NAME */
};

struct gs_probe_spec {
	const char *text;   /* whole probe */
	const char *name;   /* NAME as given, or NULL */
	const char *place;  /* place as written, with %return */
	const char *module; /* or NULL */
	enum gs_where where;
	const char *function; /* FUNCTION*, without quotes; or marker */
	const char *file;     /* LINE: path suffix; MARKER: provider */
	uint64_t number;      /* OFFSET, LINE, ADDRESS */
	bool is_return;
	bool has_wildcard; /* * or ? in function or marker outside quotes and operators */
	size_t place_start, place_len; /* span of the place in the text */
	bool has_braces;
	struct gs_probe_item *items;
	size_t nitems;
	size_t condition_start, condition_len; /* 0 length: none */
};

/* Errors have spans. Specs live in the arena. */
struct gs_error *gs_probe_parse(struct gs_arena *arena, const char *text,
				struct gs_probe_spec *out);

/*
 * Probe files: one probe a line; `#' begins a comment at the start of a line alone, `\' at the end
 * joins the next line. Gives the probes' texts, in the arena.
 */
struct gs_error *gs_probe_file_read(struct gs_arena *arena, const char *path, const char ***texts,
				    size_t *n);

#endif
