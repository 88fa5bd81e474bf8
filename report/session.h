/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recordings that are reported together: opened, described, and given out as one sequence of
 * events by wall clock. Between format/input.h and everything that filters, aggregates or renders.
 */
#ifndef GS_REPORT_SESSION_H
#define GS_REPORT_SESSION_H

#include "common/expr.h"
#include "common/value.h"
#include "format/input.h"

/* What the report knows of a schema beyond the file: names, trees, and who is whose pointee. */
struct gs_view {
	uint32_t serial; /* dense over all files: index into per-view tables of others */
	struct gs_file *file;
	struct gs_meta_schema schema; /* copy: the file's table may move while a pipe is read */
	const char **keys;	/* of top-level items, repeated ones with #2; NULL for pointees */
	struct gs_expr **trees; /* captured expression of each item, normalised, or NULL */
	struct gs_view_child {
		uint32_t parent, item;
		uint64_t offset;
	} * children; /* sorted by parent, then offset */
	size_t nchildren;
	bool selected; /* a site of a reported probe has it */
};

struct gs_file {
	struct gs_session *session;
	const char *path; /* as given; "standard input" for - */
	struct gs_input *in;
	const struct gs_meta *meta;
	bool no_start;		/* when it began is lost: then all times are CLOCK_MONOTONIC's */
	uint64_t start_mono_ns; /* of what is the file's zero of time */
	int64_t to_unix_ns;	/* wall clock minus CLOCK_MONOTONIC */
	struct gs_view **views;
	size_t nviews, views_cap;
	struct gs_batch *batch; /* next event of a merge */
	uint32_t row;
	bool ended;
	size_t damages_said;
	uint64_t bad_columns; /* columns that could not be decoded */
	char *bad_column;     /* what was wrong with the first */
	uint8_t *repeats;     /* by type: whether names of members repeat; see names.c */
	size_t nrepeats, repeats_cap;
};

enum gs_clock { GS_CLOCK_REL, GS_CLOCK_MONO, GS_CLOCK_UNIX };

struct gs_session {
	struct gs_arena arena;
	struct gs_file **files;
	size_t nfiles, files_cap;
	uint32_t nviews;
	int64_t start_unix_ns; /* earliest of all files */
	enum gs_clock clock;
	char **probe_globs; /* --probe; none: all */
	size_t nprobe_globs;
};

/* One event where it lies. Without a batch it stands for all events of its view: every item is
 * absent. */
struct gs_event {
	struct gs_file *file;
	struct gs_view *view;
	const struct gs_meta_site *site;
	const struct gs_meta_probe *probe;
	struct gs_batch *batch;
	uint32_t row, schema_row;
	uint32_t cpu, pid, tid;
	const char *comm;
	uint64_t mono_ns;
	int64_t ts_ns; /* by the chosen clock */
	struct gs_value_source source;
};

void gs_session_init(struct gs_session *s);
/* Opens one more recording. The code of the error tells the exit status. */
struct gs_error *gs_session_add(struct gs_session *s, const char *path);
struct gs_error *gs_session_add_memory(struct gs_session *s, const void *data, size_t len);
/* After the last file: common start, views of all schemas, selection of probes. */
struct gs_error *gs_session_start(struct gs_session *s);
void gs_session_deinit(struct gs_session *s);

bool gs_session_selects(const struct gs_session *s, const char *probe);
/* The view of a schema; made when a pipe brings a new one. */
struct gs_view *gs_file_view(struct gs_file *f, uint32_t schema);

/* Events by wall clock (ties: order of the files). False at the end; events of unselected probes
 * are skipped. */
struct gs_error *gs_session_next(struct gs_session *s, struct gs_event *ev, bool *more);
/* Every event once, in no particular order, a batch at a time: EACH gives false to stop. */
struct gs_error *gs_session_each(struct gs_session *s, bool (*each)(void *ctx, struct gs_event *ev),
				 void *ctx);
/* CLOCK_MONOTONIC of a file at time T of the chosen clock; saturates. */
uint64_t gs_file_mono(const struct gs_file *f, int64_t t);

/* An event that stands for every event of VIEW. */
void gs_event_static(struct gs_view *view, struct gs_event *ev);
/* Item ITEM (top-level or pointee) of the event, with its status and reason. */
void gs_event_item(struct gs_event *ev, uint32_t item, struct gs_value *out);
/*
 * A note of the site on bytes [offset, offset + size) of an item: they were not captured although
 * the item was. NULL when there is none.
 */
const struct gs_meta_note *gs_event_note(const struct gs_event *ev, uint32_t item, uint64_t offset,
					 uint64_t size);
/* Name of a code address in the event's process, or NULL. */
const struct gs_meta_symbol *gs_event_symbol(const struct gs_event *ev, uint64_t address);

#endif
