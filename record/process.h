/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of the recorded processes: who they are, where the probed modules are mapped, and
 * the names of code addresses in their values. Fed by the drain; gives rows of metadata to the
 * output.
 */
#ifndef GS_RECORD_PROCESS_H
#define GS_RECORD_PROCESS_H

#include "record/resolve.h"

/* Caps, so that a box that forks all day does not fill the recorder's memory; what is beyond is
 * counted. */
#define GS_PROCESS_MAX_ROWS 100000u
#define GS_PROCESS_MAX_SYMBOLS 16384u

struct gs_processes;

struct gs_processes *gs_processes_new(void);
void gs_processes_free(struct gs_processes *p);

/*
 * Modules of the session with their ids, function symbols and where each site is: the distance
 * between file offset and link address. Copies what it keeps. MODULE_BASE is added to the ids.
 */
void gs_processes_add(struct gs_processes *p, const struct gs_resolution *res,
		      uint32_t module_base);

/* An event of PID at TIME: the first one makes rows of process and maps. Cheap for a pid seen
 * before. */
void gs_processes_event(struct gs_processes *p, int32_t pid, uint64_t time_ns);
/* A process that exists when recording begins. */
void gs_processes_start(struct gs_processes *p, int32_t pid, uint64_t time_ns);
/* Its maps, at once: of a command that has just been executed and may be gone at the next poll. */
void gs_processes_map(struct gs_processes *p, int32_t pid);
/* A FORK, EXEC or EXIT record. */
void gs_processes_record(struct gs_processes *p, const struct gs_process_record *rec);
/* Such a record was lost: what was known of maps may be of a program that is gone. */
void gs_processes_forget(struct gs_processes *p);
/* A code address in a value of PID: named once. */
void gs_processes_pointer(struct gs_processes *p, int32_t pid, uint64_t address);

/* Rows since the last call, to be freed by the caller with gs_meta_deinit and free; NULL when there
 * are none. Symbols only with SYMBOLS: their table is written whole each time. */
struct gs_meta *gs_processes_rows(struct gs_processes *p, bool symbols);
/*
 * A process maps another file under the path of a module, where no probe is: which path, and who.
 * NULL when there is none that was not told yet; each module is told once.
 */
const char *gs_processes_stranger(struct gs_processes *p, int32_t *pid);

uint64_t gs_processes_dropped(const struct gs_processes *p); /* rows beyond the caps */

#endif
