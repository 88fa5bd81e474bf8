/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recording says about itself: session, modules, probes, schemas, sites, processes, maps,
 * clock, counters, symbols. Plain data, shared by resolver (which makes most of it), writer, and
 * reader.
 *
 *   event -> site -> { probe, schema, module };  schema -> items -> types
 *
 * Ids are dense from 0 within their table. Strings are UTF-8 (the writer escapes what is not),
 * owned by the arena of whoever filled the structure.
 */
#ifndef GS_FORMAT_META_H
#define GS_FORMAT_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/mem.h"
#include "common/type.h"
#include "format/event.h"

#define GS_NONE UINT32_MAX

struct gs_meta_session {
	const char *version;			 /* of gs-record */
	const char *command;			 /* command line of gs-record, shell-quoted */
	const char *hostname, *kernel, *machine; /* uname */
	const char *target; /* "command", "pids", "system" and what: for --info */
	uint64_t start_mono_ns, start_unix_ns; /* when recording was enabled: ts 0 */
	uint32_t ncpus;
	uint32_t string_limit, array_limit, depth; /* options in force */
	uint64_t buffer_bytes;
	uint32_t recorder_pid;
	uint32_t page_size;
	uint8_t big_endian;   /* of captured target bytes */
	uint8_t pointer_size; /* of the main module; each module has its own */
};

struct gs_meta_module {
	uint32_t id;
	const char *path;
	uint8_t build_id[32];
	uint8_t build_id_len; /* 0: none */
	uint16_t machine;     /* ELF e_machine */
	uint8_t big_endian, pointer_size;
	uint64_t file_size;
	const char *debug_path; /* separate debug file that was used, or "" */
};

enum gs_probe_kind {
	GS_PROBE_FUNCTION = 0,
	GS_PROBE_LINE = 1,
	GS_PROBE_ADDRESS = 2, /* instruction: *ADDRESS or FUNCTION+OFFSET */
	GS_PROBE_RETURN = 3,
	GS_PROBE_MARKER = 4,
};

struct gs_meta_probe {
	uint32_t id;
	const char *name; /* NAME, or the place as written: the key in reports */
	const char *text; /* the whole probe as written */
	uint8_t kind;	  /* enum gs_probe_kind */
};

enum gs_schema_item_flags {
	GS_SCHEMA_ARG = 1 << 0,	     /* from $args */
	GS_SCHEMA_LOCAL = 1 << 1,    /* from $locals */
	GS_SCHEMA_REG = 1 << 2,	     /* from $regs */
	GS_SCHEMA_STRING = 1 << 3,   /* variable: a C string (its NUL not captured) */
	GS_SCHEMA_COMM = 1 << 4,     /* 16 bytes, shown up to NUL */
	GS_SCHEMA_DURATION = 1 << 5, /* nanoseconds */
	GS_SCHEMA_AT_ENTRY = 1 << 6, /* a value from the function's entry, at its return */
	/* A virtual base class: parent_offset is where the class that has it is in the parent. */
	GS_SCHEMA_VIRTUAL_BASE = 1 << 7,
};

/*
 * One captured thing. Top-level items (parent NONE) are what the user asked for. Items with a
 * parent are the pointees that were captured with it: the pointer at byte parent_offset of the
 * parent's bytes leads to them. A string item has type `char []', a slice an array with
 * COUNT_UNKNOWN, both by captured length.
 */
struct gs_meta_item {
	const char *key;  /* NAME, or text as written; the variable's name for $args and $locals */
	const char *expr; /* canonical expression text (gs_expr_print), "" for pointees */
	gs_type_id type;
	bool variable; /* slot class, as struct gs_layout_item */
	uint32_t size;
	uint32_t flags;
	uint32_t parent; /* item index, smaller than its own, or GS_NONE */
	uint64_t parent_offset;
};

struct gs_meta_schema {
	uint32_t id;
	struct gs_meta_item *items;
	uint32_t nitems;
};

/* Why (part of) an item is statically absent at a site. size 0: the whole item. */
struct gs_meta_note {
	uint32_t item;
	uint32_t offset, size;
	uint8_t status;	    /* enum gs_status */
	const char *reason; /* "in xmm0", "DW_OP_entry_value is not supported here", or "" */
};

enum gs_site_flags {
	GS_SITE_INLINED = 1 << 0,
	GS_SITE_MOVED = 1 << 1,	    /* on a later, cheaper instruction than the natural one */
	GS_SITE_TAIL_CALL = 1 << 2, /* of a return: the function is left by a jump to another */
	GS_SITE_URETPROBE = 1 << 3, /* of a return: at the entry, fires at the return */
};

struct gs_meta_site {
	uint32_t id, probe, schema, module;
	uint64_t link_addr;
	const char *func;	/* function at the site (the inlined one), or symbol, or "" */
	const char *inlined_in; /* the out-of-line function that holds it, or "" */
	const char *file;	/* as shown in `src': base name when unambiguous, or "" */
	uint32_t line;		/* 0: unknown */
	uint32_t flags;
	const uint8_t *code; /* instruction bytes from code_addr on, at most 256, or none */
	uint32_t code_len;
	uint64_t code_addr;
	struct gs_meta_note *notes;
	uint32_t nnotes;
};

enum gs_process_event {
	GS_PROCESS_START = 0, /* existed when recording began, or first seen in an event */
	GS_PROCESS_FORK = 1,
	GS_PROCESS_EXEC = 2,
	GS_PROCESS_EXIT = 3,
};
struct gs_meta_process {
	uint32_t pid, ppid;
	uint32_t inner_pid; /* in its own pid namespace; 0 unknown */
	uint8_t event;
	uint64_t time_ns;   /* CLOCK_MONOTONIC */
	uint32_t exit_code; /* EXIT: wait status */
	const char *comm;
	const char *exe; /* path, "" unknown */
};

struct gs_meta_map {
	uint32_t pid;
	uint64_t time_ns, start, end, pgoff;
	uint32_t module; /* or GS_NONE */
	const char *path;
};

struct gs_meta_clock {
	uint64_t mono_ns, unix_ns, boot_ns;
};

/* Cumulative, per probe; probe GS_NONE: losses that no probe can be given (queue, filter set). */
struct gs_meta_counters {
	uint32_t probe;
	uint64_t hits, matched, recorded, skipped, lost, faulted;
	uint64_t time_ns;
	uint64_t unpaired; /* returns of calls whose entry was not seen */
};

/* Name of a code address in a process (function pointers in values). */
struct gs_meta_symbol {
	uint32_t pid;
	uint64_t address;
	const char *name;
	uint64_t offset; /* address - start of the symbol */
};

enum gs_end_reason {
	GS_END_TARGET_EXIT = 0,
	GS_END_SIGNAL = 1,
	GS_END_DURATION = 2,
	GS_END_MAX_EVENTS = 3,
	GS_END_MAX_SIZE = 4,
	GS_END_ERROR = 5, /* message says what */
};
struct gs_meta_end {
	uint64_t time_ns;
	uint64_t events, lost;
	uint8_t reason;
	uint8_t has_status;
	uint32_t exit_status; /* wait status of the command */
	const char *message;
};

/* Everything that a reader knows of a file, tables indexed by id. */
struct gs_meta {
	struct gs_arena arena;
	struct gs_types *types;
	bool has_session, has_end;
	struct gs_meta_session session;
	struct gs_meta_end end;
	struct gs_meta_module *modules;
	struct gs_meta_probe *probes;
	struct gs_meta_schema *schemas;
	struct gs_meta_site *sites;
	struct gs_meta_process *processes; /* in file order */
	struct gs_meta_map *maps;
	struct gs_meta_clock *clocks;
	struct gs_meta_counters *counters; /* the newest of each probe */
	struct gs_meta_symbol *symbols;	   /* sorted by pid, address */
	size_t nmodules, nprobes, nschemas, nsites, nprocesses, nmaps, nclocks, ncounters, nsymbols;
	size_t modules_cap, probes_cap, schemas_cap, sites_cap, processes_cap, maps_cap, clocks_cap,
		counters_cap, symbols_cap;
	/*
	 * Reader only: id in `types' of each type of the file. They differ once somebody has added
	 * types of their own (expressions of a report) between two reads.
	 */
	gs_type_id *type_map;
	size_t ntype_map, type_map_cap;
};
void gs_meta_init(struct gs_meta *m);
void gs_meta_deinit(struct gs_meta *m);

/* Layout of the raw records of a schema. */
struct gs_error *gs_schema_layout(const struct gs_meta_schema *s, struct gs_layout *out);

/*
 * Serialisation of the tables, shared by the file's metadata blocks and by the resolver's messages.
 * Each read appends to (or replaces by id in) META and verifies all references; GS_ERR_DAMAGED
 * otherwise.
 */
enum gs_meta_table {
	GS_META_SESSION,
	GS_META_MODULES,
	GS_META_TYPES,
	GS_META_PROBES,
	GS_META_SCHEMAS,
	GS_META_SITES,
	GS_META_PROCESSES,
	GS_META_MAPS,
	GS_META_CLOCK,
	GS_META_COUNTERS,
	GS_META_SYMBOLS,
	GS_META_END,
	GS_META_TABLES
};
/* Writes rows [first, n) of the table (all of TYPES, SESSION, END). */
void gs_meta_write(struct gs_buf *out, const struct gs_meta *m, enum gs_meta_table table,
		   size_t first);
/*
 * All or nothing: META is unchanged after an error. Rows that META has already are skipped. R is
 * left behind the table, so that several can follow each other.
 */
struct gs_error *gs_meta_read(struct gs_reader *r, struct gs_meta *m, enum gs_meta_table table);
/*
 * Pieces of a long table: rows [first, ...) until about LIMIT bytes are written; the next first
 * row. TYPES are never cut.
 */
size_t gs_meta_write_some(struct gs_buf *out, const struct gs_meta *m, enum gs_meta_table table,
			  size_t first, size_t limit);
size_t gs_meta_count(const struct gs_meta *m, enum gs_meta_table table); /* rows it has now */
/*
 * When the recording began, on CLOCK_MONOTONIC and since 1970: as the session says, or the first
 * clock snapshot, which was taken at the same moment and is in another block. False: both are
 * missing.
 */
bool gs_meta_start(const struct gs_meta *m, uint64_t *mono_ns, uint64_t *unix_ns);
const char *gs_meta_table_name(enum gs_meta_table table);

#endif
