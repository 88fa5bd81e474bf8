/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading /proc: status, executables and maps of processes that may end at any moment.
 * Used by targets (before recording), process metadata and late modules (while recording).
 */
#ifndef GS_RECORD_PROC_H
#define GS_RECORD_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct gs_proc_info {
	int32_t tgid, ppid;
	int32_t inner_pid; /* in the innermost pid namespace */
	uint32_t uid;	   /* real */
	char state;	   /* R S D T Z X ... */
	char comm[17];
};
/* False when there is no such process or thread (any more). */
bool gs_proc_info(int32_t pid, struct gs_proc_info *out);

bool gs_proc_is_kernel_thread(int32_t pid);

/* The process is numbered in our own pid namespace first. Also true when that cannot be found out.
 */
bool gs_proc_in_our_namespace(int32_t pid);

/*
 * A thread that has the memory and files of the process: its main thread, or another one where that
 * has ended, and leaves nothing in /proc/PID. 0 when all have.
 */
int32_t gs_proc_live_thread(int32_t pid);

/* Path of the executable without " (deleted)"; "" when unknown. At least 1 byte. Returns out. */
char *gs_proc_exe(int32_t pid, char *out, size_t size);

/* One line of /proc/PID/maps with a file behind it. */
struct gs_proc_map {
	uint64_t start, end, pgoff, inode;
	uint32_t dev_major, dev_minor;
	bool exec, deleted;
	const char *path; /* without " (deleted)"; valid during the call */
};
/* File mappings in address order until FN returns false. False when the maps cannot be read. */
bool gs_proc_each_map(int32_t pid, bool (*fn)(void *ctx, const struct gs_proc_map *map), void *ctx);
/*
 * The map is of the file that ST and PATH describe. Some file systems (btrfs, overlayfs) show
 * another device in maps than stat gives: there the path decides.
 */
bool gs_proc_map_is(const struct gs_proc_map *map, const struct stat *st, const char *path);

/* The map is of another file than ST and PATH describe, which has the same path: it was replaced,
 * or the process has another root. False when that cannot be found out. */
bool gs_proc_map_is_stranger(int32_t pid, const struct gs_proc_map *map, const struct stat *st,
			     const char *path);

/* Process ids in /proc, ascending as the kernel gives them, until FN returns false. */
void gs_proc_each(bool (*fn)(void *ctx, int32_t pid), void *ctx);

#endif
