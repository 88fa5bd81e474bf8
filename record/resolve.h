/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The resolver: probe texts and files in; modules, sites, schemas, types and plans out, as plain
 * data. It runs in a separate, unprivileged process with limits on time and memory, gets its files
 * as descriptors from the recorder, and is gone before recording begins.
 */
#ifndef GS_RECORD_RESOLVE_H
#define GS_RECORD_RESOLVE_H

#include "bpf/plan.h"
#include "format/meta.h"

struct gs_resolve_request {
	const char *const *probes; /* texts */
	size_t nprobes;
	const char *executable; /* path to open for the target: -x, the command's file,
				   /proc/PID/exe; or NULL */
	const char *display;	/* path to show and store for it (NULL: executable) */
	/* Modules already mapped by a pid target: where to find MODULE! names. */
	struct gs_resolve_map {
		const char *name; /* path as mapped: shown, stored, matched against MODULE */
		const char *open; /* path that opens the very file (/proc/PID/map_files/...,
				     /proc/PID/root/...) */
	} * maps;
	size_t nmaps;
	const char *const *library_dirs; /* LD_LIBRARY_PATH of the target, searched first */
	size_t nlibrary_dirs;
	/* Debug information: directories of -D; the root of the target's files when it is not ours
	 * (--sysroot, another mount namespace); whether debuginfod may be asked. */
	const char *const *debug_dirs;
	size_t ndebug_dirs;
	const char *root;
	bool debuginfod, quiet;
	uint32_t string_limit, array_limit, depth, max_sites;
	bool explain;	     /* fill gs_resolution.explanation (--dry-run) */
	bool verbose;	     /* with the BPF listing */
	bool raw_containers; /* containers of libraries as the structures that they are */
	/* -L, -V, -F: fill `explanation' with the listing instead of resolving probes. */
	enum gs_listing {
		GS_LIST_NONE,
		GS_LIST_LINES,
		GS_LIST_VARIABLES,
		GS_LIST_FUNCTIONS
	} listing;
	const char *listing_arg;
	bool allow_pending;    /* a MODULE that is found nowhere is pending, not an error */
	const char *elsewhere; /* what to do about a name that is found nowhere; or NULL */
	enum gs_return_method { GS_RETURN_AUTO, GS_RETURN_RET, GS_RETURN_URETPROBE } return_method;
	bool may_uretprobe;   /* the kernel has what they need */
	bool executable_only; /* -x: names without MODULE! are looked up in `executable' alone */
};

struct gs_resolved_site {
	uint32_t plan; /* index in plans */
	uint64_t file_offset;
	uint64_t ref_ctr_offset; /* 0 */
	uint32_t entry;		 /* index in entries whose frames its plan finds, or GS_NONE */
};

/* An instruction at a function's entry that saves values for other sites; it makes no events. */
struct gs_resolved_entry {
	uint32_t plan, probe, module;
	uint64_t link_addr, file_offset;
};

struct gs_pending_probe {
	uint32_t probe;	    /* index in request */
	const char *module; /* name or path to wait for */
};

/* A span of a captured item that holds a code address, for naming it later. */
struct gs_code_pointer {
	uint32_t schema, item;
	uint32_t offset;
	uint32_t size;
};

struct gs_module_symbol {
	uint32_t module;
	uint64_t addr, size;
	const char *name;
};

struct gs_resolution {
	/* modules, types, probes, schemas, sites. Probe ids are request indices; the rest is
	 * numbered from 0. A pending probe has a probe row and no sites. */
	struct gs_meta meta;
	struct gs_resolved_site *sites; /* by site id */
	struct gs_resolved_entry *entries;
	size_t nentries;
	struct gs_plan *plans;
	size_t nplans;
	int *module_fds; /* by module id, opened by the recorder for the resolver; owned here */
	struct gs_pending_probe *pending;
	size_t npending;
	struct gs_code_pointer *code_pointers;
	size_t ncode_pointers;
	struct gs_module_symbol *
		symbols; /* function symbols of the modules, only when code_pointers is not empty */
	size_t nsymbols;
	bool want_tls;
	const char **warnings;
	size_t nwarnings;
	const char *explanation; /* NUL-terminated, or NULL */
	struct gs_error *
		*errors; /* all errors of all probes; when not empty the rest is not to be used */
	size_t nerrors;
};

/*
 * Forks the resolver, drops its privileges (uid and gid nobody when root, no_new_privs, RLIMIT_AS,
 * RLIMIT_CPU, no other descriptors), brokers its opens (regular files only), and takes the answer
 * apart with full checks. Returns an error only when the process itself failed (crash, limit:
 * named); probe errors are in *out.
 */
struct gs_error *gs_resolve(const struct gs_resolve_request *req, struct gs_resolution *out);
void gs_resolution_deinit(struct gs_resolution *r);

#endif
