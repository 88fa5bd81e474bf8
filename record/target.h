/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is to be recorded: a command, processes, or every process that maps a file; and where its
 * names are looked up. Made from the options, gives the resolver's request its files and the tracer
 * its filter.
 */
#ifndef GS_RECORD_TARGET_H
#define GS_RECORD_TARGET_H

#include "record/options.h"

enum gs_target_kind { GS_TARGET_COMMAND, GS_TARGET_PIDS, GS_TARGET_SYSTEM };

struct gs_target {
	enum gs_target_kind kind;
	struct gs_arena arena;
	const char *command_file;    /* what is executed; NULL without a command */
	const char *executable;	     /* opens the file where names are looked up */
	const char *display;	     /* its path for people and for the file */
	struct gs_resolve_map *maps; /* of the processes of -p */
	size_t nmaps, maps_cap;
	const char *root; /* of its files, when it is not ours; or NULL */
	const char **library_dirs;
	size_t nlibrary_dirs, library_dirs_cap;
	const char **notes; /* what was looked through */
	size_t nnotes, notes_cap;
};

/*
 * Checks everything that can be checked without running anything: that the command can be run, that
 * the processes exist, are processes and may be recorded, that the binary is a regular file. Opens
 * nothing for long.
 */
struct gs_error *gs_target_init(const struct gs_record_options *opts, struct gs_target *out);
void gs_target_deinit(struct gs_target *t);

/* "command ./srv -p 80", "pids 70,71", "system /usr/bin/srv": for the session block. In ARENA. */
const char *gs_target_describe(const struct gs_record_options *opts, struct gs_arena *arena);

/* A file with probes in it, as a cost for those who map it. */
struct gs_crowd {
	int fd; /* borrowed */
	const char *path;
	/* Results, without those of PIDS and the caller. */
	size_t others;	  /* processes that map it */
	size_t strangers; /* that map another file under its path, and have no probes */
};
void gs_crowd_count(struct gs_crowd *files, size_t n, const int32_t *pids, size_t npids);

/* Descendants of the NPIDS processes, as /proc has them now; each is given to FN. */
void gs_target_descendants(const int32_t *pids, size_t npids, void (*fn)(void *ctx, int32_t pid),
			   void *ctx);

#endif
