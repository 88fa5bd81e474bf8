/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a command as the user wrote it to the file in which its probes are looked up: PATH as execvp
 * searches it, scripts to their interpreters, wrappers (env, timeout, nice, ...) looked through.
 * Used by the target, before anything runs; reads files, executes nothing.
 */
#ifndef GS_RECORD_LOOKUP_H
#define GS_RECORD_LOOKUP_H

#include "common/error.h"
#include "common/mem.h"

struct gs_lookup {
	const char *file;	/* of the first word: what is executed */
	const char *executable; /* absolute path of the program that it comes to, links resolved */
	const char *library_path; /* LD_LIBRARY_PATH as the program will have it, or NULL */
	const char **notes;	  /* what was looked through, for the user */
	size_t nnotes, notes_cap;
	const char *forked_by; /* a wrapper that runs the program as its child, or NULL */
};

/*
 * ARGV is NULL-terminated, not empty. PATH and LIBRARY_PATH are the environment's (may be NULL).
 * What cannot be run (no such file, a directory, not executable) is an error that names it. Strings
 * are in the arena; notes are freed with gs_lookup_deinit.
 */
struct gs_error *gs_lookup_command(struct gs_arena *arena, char *const *argv, const char *path,
				   const char *library_path, struct gs_lookup *out);
void gs_lookup_deinit(struct gs_lookup *l);

#endif
