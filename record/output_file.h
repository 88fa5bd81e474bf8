/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the recording goes: a new file, a device or named pipe that is there, or standard output.
 * Made by the output once the probes are armed; can be undone until the command runs.
 */
#ifndef GS_RECORD_OUTPUT_FILE_H
#define GS_RECORD_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

struct gs_output_file {
	int fd;
	bool created; /* a new regular file, removed by discard */
	bool moved;   /* an older file was renamed to old_path */
	char *path, *old_path;
};

/*
 * PATH "-" is standard output, which must not be a terminal. An existing regular file becomes
 * PATH.old. The file is new (O_EXCL), mode 0600, and under sudo belongs to the user who called it.
 * Symbolic links are never followed: in a directory that others can write to, root would be led by
 * them; but /dev/fd/N is the descriptor N that the caller was given.
 */
struct gs_error *gs_output_file_open(const char *path, struct gs_output_file *out);
/* PATH is a descriptor: the command, which would hold it open, does not inherit it. */
void gs_output_file_keep_from_command(const char *path);
/* Removes the new file and puts the older one back. */
void gs_output_file_discard(struct gs_output_file *f);
struct gs_error *gs_output_file_close(struct gs_output_file *f);

#endif
