/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A module: one ELF file with its symbols and debug information, and the questions that the probe
 * front end asks of it: where is this place, which variables are visible there, where do they live,
 * of what type are they. The only users of libelf and libdw are the sources behind this header; it
 * runs in the unprivileged resolver process.
 */
#ifndef GS_RECORD_MODULE_H
#define GS_RECORD_MODULE_H

#include "bpf/plan.h"
#include "common/text.h"
#include "common/type.h"

struct gs_module;
struct gs_context; /* a program counter and the scopes around it; owned by the module */

/* Opens files on the resolver's behalf: a descriptor, or -errno. The caller closes it. */
struct gs_opener {
	void *ctx;
	int (*open_file)(void *ctx, const char *path);
	bool raw_containers; /* library types are structures like all others */
	/* The debug file of a build-id from the network, and where it is now; NULL: there is none.
	 */
	int (*fetch)(void *ctx, const uint8_t *id, size_t len, const char **path);
	const char *const *debug_dirs; /* searched first, in this order */
	size_t ndebug_dirs;
	const char *root; /* not part of where files were installed to; or NULL */
};

/* The optional libraries that are built in: " zstd lzma". */
const char *gs_image_features(void);

/*
 * FD is borrowed for the life of the module. Separate debug files (build-id, .gnu_debuglink, dwz
 * alternates) are looked for through OPENER. Not an ELF file, a damaged one, an unsupported
 * machine: an error that names PATH. Without DWARF or without symbols it opens all the same; why
 * debug information that exists cannot be used is said in info->debug_problem, and what is wrong
 * with files beside it (also later: split units are looked for when they are needed) in
 * debug_notes. TYPES is the session's table: all type ids below are in it.
 */
struct gs_error *gs_module_open(int fd, const char *path, const struct gs_opener *opener,
				struct gs_types *types, struct gs_module **out);
void gs_module_close(struct gs_module *m);
/* Whether it has thread-locals; that it is loaded with the program, and never unloaded. */
bool gs_module_has_thread_locals(const struct gs_module *m);
void gs_module_set_initial(struct gs_module *m);

struct gs_module_info {
	const char *path, *soname, *interpreter, *debug_path; /* NULL where there is none */
	const char *debug_problem; /* why debug information could not be used, or NULL */
	const char *const *debug_notes;
	size_t ndebug_notes;
	const char *const *needed; /* DT_NEEDED names */
	size_t nneeded;
	const char *runpath; /* DT_RUNPATH or DT_RPATH, or NULL */
	uint8_t build_id[32];
	uint8_t build_id_len;
	uint16_t machine;
	bool big_endian, is_pie_or_library, is_executable, has_symbols, has_dwarf;
	uint8_t pointer_size;
	uint64_t file_size;
};
const struct gs_module_info *gs_module_info(const struct gs_module *m);

/* ---- addresses ---- */

/* Link-time address to file offset through PT_LOAD; false if not in an executable segment's file
 * bytes. */
bool gs_module_file_offset(const struct gs_module *m, uint64_t link_addr, uint64_t *offset);
/* At most N bytes of the file's image at the address; what is not there is not counted. */
size_t gs_module_read(const struct gs_module *m, uint64_t link_addr, void *buf, size_t n);
/* The function symbol that covers the address, or NULL. */
const char *gs_module_symbol_at(const struct gs_module *m, uint64_t link_addr, uint64_t *offset);
/* Every function symbol, for naming function pointers in values; stops when FN returns false. */
void gs_module_each_symbol(const struct gs_module *m,
			   bool (*fn)(void *ctx, const char *name, uint64_t addr, uint64_t size),
			   void *ctx);

/* ---- places ---- */

/* How a function is left at a site of %return. */
enum gs_exit_kind {
	GS_EXIT_RET,
	GS_EXIT_TAIL,	   /* a jump to another function, which returns in its place */
	GS_EXIT_URETPROBE, /* the kernel's own way: the site is the function's entry */
};
#define GS_EXIT_ALWAYS 16
struct gs_exit_point {
	uint8_t kind;
	uint8_t condition; /* x86 condition code under which it is taken, or ALWAYS */
	/* An indirect jump is an exit when its target, base + index * scale + disp or the word in
	 * memory there, is outside of the function's ranges. */
	bool is_indirect, is_memory, is_image; /* is_image: disp is a link-time address */
	int8_t base, index;		       /* registers as plans number them, or -1 */
	uint8_t scale;
	int64_t disp;
	const uint64_t (*ranges)[2];
	size_t nranges;
	const char *target; /* TAIL: to what */
};

struct gs_place_site {
	uint64_t link_addr;    /* the instruction to probe */
	uint64_t natural_addr; /* where the place begins (before endbr64 etc.) */
	uint32_t flags;	       /* enum gs_site_flags of format/meta.h */
	const char *func; /* innermost function at the site, C++ qualified; symbol without DWARF; or
			     "" */
	const char *inlined_in;	    /* out-of-line function around an inlined instance, or "" */
	const char *file;	    /* source path as DWARF gives it, or "" */
	uint32_t line;		    /* 0 unknown */
	const char *insn;	    /* disassembly of the probed instruction */
	const char *cost;	    /* "emulated", "single-stepped", "nop5" */
	struct gs_context *context; /* NULL without DWARF */
	const struct gs_exit_point *exit; /* of %return, else NULL; in the module's arena */
	uint32_t entry;			  /* with it: index in the entries */
	bool is_loop; /* of an entry: the instruction runs more than once a call */
};

struct gs_places {
	struct gs_place_site *sites; /* ascending link_addr, no duplicates */
	size_t nsites;
	struct gs_place_site *entries; /* of %return: where the functions of the sites begin */
	size_t nentries;
	const char **notes; /* what the user should know: refused instances, counts that are not
			       executions */
	size_t nnotes;
	const char *doubt; /* of a line: why its hits are not executions (among the notes), or NULL
			    */
	struct gs_arena arena;
};
void gs_places_init(struct gs_places *p);
void gs_places_deinit(struct gs_places *p);

/*
 * All return GS_ERR_NOT_FOUND with nearest names or lines as hints. An instruction that cannot be
 * probed (not an instruction boundary, refused by the kernel) is left out with a note; an error if
 * none is left.
 *
 * function: entry of every out-of-line copy and inlined instance (DWARF), or the ELF symbol. NAME
 * may be qualified; without scope it matches every one that ends in it; aliases through the symbol
 * table (malloc).
 */
struct gs_error *gs_module_find_function(struct gs_module *m, const char *name,
					 struct gs_places *out);
struct gs_error *gs_module_find_line(struct gs_module *m, const char *file, uint32_t line,
				     struct gs_places *out);
/* N lines below the DW_AT_decl_line of the definition. */
struct gs_error *gs_module_find_function_line(struct gs_module *m, const char *function, uint32_t n,
					      struct gs_places *out);
struct gs_error *gs_module_find_offset(struct gs_module *m, const char *function, uint64_t offset,
				       struct gs_places *out);
struct gs_error *gs_module_find_address(struct gs_module *m, uint64_t link_addr,
					struct gs_places *out);
/* All exits of the function's out-of-line copies. */
struct gs_return_options {
	bool uretprobe;
	bool force; /* also functions that may return twice */
};
struct gs_error *gs_module_find_returns(struct gs_module *m, const char *name,
					const struct gs_return_options *opts,
					struct gs_places *out);
/* Why a uretprobe in a process with this module could break it, or NULL. */
const char *gs_module_unwinds(struct gs_module *m);
/* Feeds function names (DWARF and symbols) for "did you mean". */
void gs_module_feed_functions(struct gs_module *m, struct gs_nearest *near);

/* ---- listings: -L -V -F ---- */
/* Function names that match the glob, sorted; "name  file:line  (inlined: N)" style fields in the
 * callback. */
struct gs_function_row {
	const char *name, *file;
	uint32_t line, ncopies, ninlined;
	uint64_t link_addr; /* of the first copy */
	bool from_symbol;   /* no DWARF for it */
};
struct gs_error *gs_module_list_functions(struct gs_module *m, const char *glob,
					  bool (*fn)(void *ctx, const struct gs_function_row *row),
					  void *ctx);
/* Probe-able lines of a function (or of FILE when function is NULL), ascending. */
struct gs_line_row {
	const char *file, *directory; /* directory of the compilation, or NULL */
	uint32_t line, nsites;
	const char *doubt; /* why hits are not executions, or NULL */
};
struct gs_error *gs_module_list_lines(struct gs_module *m, const char *function, const char *file,
				      bool (*fn)(void *ctx, const struct gs_line_row *row),
				      void *ctx);

/* ---- variables ---- */

enum gs_variable_flags {
	GS_VAR_PARAM = 1 << 0,
	GS_VAR_LOCAL = 1 << 1,
	GS_VAR_STATIC = 1 << 2, /* fixed address */
	GS_VAR_ARTIFICIAL = 1 << 3,
	GS_VAR_TLS = 1 << 4,
	GS_VAR_CONSTANT =
		1 << 5, /* an enumerator or a variable with a constant value: `constant' */
	GS_VAR_FUNCTION = 1 << 6, /* a function's name: type FUNCTION */
};

struct gs_variable {
	const char *name;
	gs_type_id type;
	uint32_t flags;
	int64_t constant;
	uint32_t decl_line;
	uint64_t handle; /* for gs_context_location */
};

/* Parameters of the innermost function at the pc, in order. Arrays live in the module. */
struct gs_error *gs_context_args(struct gs_context *c, const struct gs_variable **vars, size_t *n);
/* Locals in scope at the pc (innermost block first wins; shadowed ones left out), in declaration
 * order. */
struct gs_error *gs_context_locals(struct gs_context *c, const struct gs_variable **vars,
				   size_t *n);
/*
 * By C's scope rules: blocks, parameters, (C++: members through `this' are the front end's), file
 * scope of the compile unit, then globals of the module, enumerators, functions. QUALIFIER (file
 * suffix or function name) or NULL. GS_ERR_NOT_FOUND with nearest names as hint.
 */
struct gs_error *gs_context_find(struct gs_context *c, const char *qualifier, const char *name,
				 struct gs_variable *var);
/* For places without DWARF scope (context NULL): globals by DWARF elsewhere in the module. */
struct gs_error *gs_module_find_global(struct gs_module *m, const char *name,
				       struct gs_variable *var);
/* "struct req", "u64", "ns::T<int>", "enum color": nearest definition to the context's unit. */
struct gs_error *gs_module_find_type(struct gs_module *m, struct gs_context *c, const char *name,
				     gs_type_id *id);
/* Return type of the function of the context (VOID if none). */
gs_type_id gs_context_return_type(struct gs_context *c);
struct gs_location;
/* Where the result of the out-of-line function around the context is, at its exit. */
void gs_context_return_value(struct gs_context *c, struct gs_plan *plan, struct gs_location *out);

/* Where a variable is at the context's pc. */
enum gs_location_kind {
	GS_LOC_MEMORY, /* object at address node */
	GS_LOC_VALUE,  /* value in node (register, stack_value); at most 8 bytes; is_register when
			* it is a register's content */
	GS_LOC_PIECES, /* parts */
	GS_LOC_BYTES,  /* known at compile time: implicit_value, const_value */
	GS_LOC_ABSENT, /* status and reason */
};
struct gs_location_piece {
	uint32_t offset, size;
	uint8_t kind; /* MEMORY, VALUE, BYTES or ABSENT */
	uint16_t node;
	const uint8_t *bytes;
	uint8_t status;
	const char *reason;
	/* ABSENT: a pointer that the program does not have, to byte pointee_offset of this. */
	const struct gs_variable *pointee;
	int64_t pointee_offset;
};
struct gs_location {
	enum gs_location_kind kind;
	bool is_register;
	uint16_t node;
	const uint8_t *bytes;
	uint32_t nbytes;
	struct gs_location_piece
		*pieces; /* ascending, covering the object; in the module's arena */
	size_t npieces;
	uint8_t status;			   /* ABSENT: OPTIMIZED_OUT or UNAVAILABLE */
	const char *reason;		   /* "in xmm0", "DW_OP_entry_value(rdi)", "" */
	const struct gs_variable *pointee; /* as of a piece, in the module's arena */
	int64_t pointee_offset;
	const char *where; /* "rdi", "[rbp-20]", "0x4010 + bias": for --dry-run */
};
/*
 * Lowers the location at the pc into nodes of PLAN. Never guesses: what it cannot evaluate exactly
 * is ABSENT with a reason that says what it was. Errors only for damaged DWARF (the caller turns
 * those into ABSENT with the message as reason: one bad variable costs only itself).
 */
struct gs_error *gs_context_location(struct gs_context *c, const struct gs_variable *var,
				     struct gs_plan *plan, struct gs_location *out);
/*
 * The number of elements of an array of variable length, as a VALUE, or ABSENT. STEP counts the
 * dimensions and pointers of the variable's type from the outermost one.
 */
struct gs_error *gs_context_dimension(struct gs_context *c, const struct gs_variable *var,
				      unsigned step, struct gs_plan *plan, struct gs_location *out);
uint64_t gs_context_pc(const struct gs_context *c);
/* Nearest address or line in the function where the variable is readable, as text, or NULL. */
const char *gs_context_readable_at(struct gs_context *c, const struct gs_variable *var);

#endif
