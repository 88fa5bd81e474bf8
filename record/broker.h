/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the recorder does on the resolver's behalf: opening files and asking debuginfod.
 * The resolver (resolver_process.c) cannot do either.
 */
#ifndef GS_RECORD_BROKER_H
#define GS_RECORD_BROKER_H

#include "record/resolve.h"

/*
 * A descriptor of a regular ELF file (or the loader's cache), or -errno. Absolute paths are below
 * REQ's root, where it has one and the path does not begin with it; links lead to nowhere outside.
 * OR_HOST: what is not there may be this system's.
 */
int gs_broker_open(const struct gs_resolve_request *req, const char *path, bool or_host);

/* PATH as a process whose root is ROOT means it: no link and no ".." leads out. Or -errno. */
int gs_broker_open_below(const char *root, const char *path);

/* DEBUGINFOD_URLS names servers. */
bool gs_debuginfod_wanted(void);
/*
 * The debug file of a build-id, fetched or from the library's cache, as a descriptor; or -errno.
 * Done in a process of its own, as the user who called sudo. *path (PATH_SIZE bytes) is where it
 * is.
 */
int gs_debuginfod_fetch(const uint8_t *id, size_t len, bool quiet, char *path, size_t path_size);

#endif
