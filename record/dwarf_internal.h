/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a module: what the sources behind record/module.h share.
 * From the bytes of an ELF file to places, variables, types and plan nodes.
 */
#ifndef GS_RECORD_DWARF_INTERNAL_H
#define GS_RECORD_DWARF_INTERNAL_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>

#include "common/hash.h"
#include "record/insn.h"
#include "record/module.h"

/* Caps on what a stranger's file can ask for. */
#define GS_DIE_DEPTH_MAX 200
#define GS_SITES_MAX 100000
#define GS_SYMBOLS_MAX (1u << 22)
#define GS_FUNCTION_BYTES_MAX (1u << 21)

/*
 * A debugging information entry by number, smaller and steadier than a Dwarf_Die: the file (main,
 * .debug_types, alternate, split units) in the upper bits, the offset in its section in the
 * lower 40. 0 is none.
 */
typedef uint64_t gs_ref;
#define GS_REF_FILE_SHIFT 40
#define GS_REF_FILES_MAX (1u << 20)

struct gs_sections;
struct gs_debug_file {
	Dwarf *dw;
	bool is_types;		      /* offsets are in .debug_types */
	uint32_t info_file;	      /* the number of the same handle's .debug_info */
	struct gs_sections *sections; /* NULL: only libdw reads it */
};

struct gs_segment {
	uint64_t vaddr, offset, filesz, memsz;
	bool executable;
};

struct gs_symbol {
	const char *name;
	uint64_t addr, size;
	uint8_t type, bind, visibility;
};

/* ---- the index: of the units that the questions so far have touched ---- */

enum gs_index_kind {
	GS_INDEX_SCOPE, /* a namespace, or a class without definition: only a parent */
	GS_INDEX_FUNCTION,
	GS_INDEX_VARIABLE,
	GS_INDEX_TYPE,
	GS_INDEX_ENUMERATOR,
};
enum gs_index_flags {
	GS_INDEX_DECLARATION = 1 << 0,
	GS_INDEX_LINKAGE = 1 << 1, /* the hash is that of the linkage name */
	GS_INDEX_EXTERNAL = 1 << 2,
};
struct gs_index_entry {
	gs_ref ref, parent;
	struct gs_index_entry *chain; /* in the bucket of its hash */
	struct gs_index_entry *same;  /* of the same hash, ascending ref: made by gs_index_first */
	uint32_t hash;
	uint8_t kind, flags;
};
struct gs_instance {
	gs_ref origin; /* abstract function */
	gs_ref die;    /* its out-of-line copy or inlined instance */
	gs_ref outer;  /* the out-of-line function around it (itself for a copy) */
};
struct gs_code_range {
	uint64_t low, high;
	gs_ref die; /* subprogram */
};
enum gs_index_mode {
	GS_INDEX_LAZY,
	GS_INDEX_WHOLE, /* for tests: all units are read, by the scanner */
	GS_INDEX_LIBDW, /* for tests: all units are read, through libdw */
};
struct gs_index {
	enum gs_index_mode mode;
	struct gs_index_entry **heads;
	size_t nheads, nentries;
	struct gs_map names;	 /* that were searched for */
	struct gs_map instances; /* origin -> struct gs_instances */
	bool is_whole;		 /* every unit is walked */
};

struct gs_abbrevs;
struct gs_unit {
	gs_ref ref, end, first_die;
	uint64_t abbrev_offset, low_pc, stmt_list, str_offsets_base, addr_base, rnglists_base;
	struct gs_abbrevs *abbrevs;
	uint16_t version;
	uint8_t address_size, offset_size, type; /* DW_UT_... */
	bool is_readable;			 /* by the scanner */
	bool is_split;				 /* the entries are in another file */
	bool covers_code;			 /* its addresses are known */
	bool may_have_code, has_lines, is_walked;
	struct gs_index_entry *entries; /* ascending ref */
	struct gs_instance *instances;	/* ascending origin */
	struct gs_code_range *ranges;	/* ascending low */
	size_t nentries, ninstances, nranges;
	struct gs_unit_lines *lines;
};
struct gs_unit_range {
	uint64_t low, high;
	size_t unit;
	uint64_t reach; /* the highest end of this and all before */
};

struct gs_row {
	uint64_t addr;
	uint32_t line, file;
	uint32_t column;
	bool is_stmt, end_sequence, prologue_end;
};
struct gs_unit_lines {
	struct gs_row *rows; /* ascending address */
	size_t nrows;
	bool has_markers;   /* is_stmt means the beginning of a statement, not that the line changes
			     */
	const char **files; /* cleaned paths */
	size_t nfiles;
};

struct gs_type_cache;
struct gs_call;
struct gs_function_flow;

/* A variable that was handed out: its handle is the number of this, from 1. */
struct gs_known_variable {
	Dwarf_Die die;
	Dwarf_Die frame; /* the scope that it was found in, for its frame base */
	bool is_param;
};

struct gs_module {
	struct gs_module_info info;
	struct gs_arena arena;
	struct gs_types *types;
	struct gs_opener opener;
	int fd;
	Elf *elf;
	struct gs_segment *segments;
	size_t nsegments, segments_cap;
	const char **needed;
	size_t nneeded, needed_cap;
	struct gs_symbol *functions; /* ascending address */
	size_t nfunctions, functions_cap;
	struct gs_map
		by_name; /* name -> index in functions of the last with it, chained by same_name */
	uint32_t *same_name;
	uint64_t tls_size, tls_align, tls_vaddr;
	bool has_tls, is_symbolic;
	bool is_initial; /* loaded with the program */

	/* debugfile.c */
	Elf *debug_elf; /* the file that holds the DWARF; elf or another */
	int debug_fd, alt_fd;
	Elf *alt_elf;
	Dwarf *dw, *alt;
	struct gs_debug_state *debug;

	/* dwarf_index.c, dwarf_units.c */
	struct gs_index index;
	struct gs_debug_file *files; /* number 0 is none */
	size_t nfiles, files_cap;
	uint32_t alt_file;     /* its number, or 0 */
	struct gs_unit *units; /* ascending ref */
	size_t nunits, units_cap;
	struct gs_unit_range *unit_ranges; /* ascending low */
	size_t nunit_ranges, unit_ranges_cap;
	struct gs_unit_range *split_refs; /* which refs are those of a split unit */
	size_t nsplit_refs, split_refs_cap;
	struct gs_map abbrevs; /* tables of abbreviations */
	size_t *uncovered;     /* units that may have code at addresses that they do not tell */
	size_t nuncovered, uncovered_cap;
	bool units_listed, can_scan;
	bool links_units;    /* entries refer to entries of other units */
	uint64_t searched;   /* bytes */
	struct gs_map names; /* ref -> qualified name */

	/* dwarf_cfi.c */
	Dwarf_CFI *cfi_debug, *cfi_eh;
	bool cfi_looked_for;

	/* dwarf_type.c */
	struct gs_type_cache *type_cache;

	/* dwarf_scope.c */
	struct gs_known_variable *variables;
	size_t nvariables, variables_cap;
	struct gs_map variable_numbers; /* entry and scope -> handle */

	/* dwarf_caller.c */
	struct gs_call *calls; /* ascending target */
	size_t ncalls;
	bool calls_looked_for;

	/* flow_function.c */
	struct gs_function_flow *flow;

	struct gs_decoder decoder;
};

struct gs_prologue;
struct gs_callers;

struct gs_context {
	struct gs_module *m;
	uint64_t pc;
	Dwarf_Die cu;
	Dwarf_Die *scopes; /* [0] the out-of-line function, then inwards */
	size_t nscopes;
	size_t function; /* index of the innermost function among the scopes */
	struct gs_prologue *prologue;
	struct gs_callers *callers;
	struct gs_variable *args, *locals;
	size_t nargs, nlocals;
	bool has_args, has_locals;
};

/* ---- elf.c, elf_symbols.c ---- */

struct gs_error *gs_elf_open(struct gs_module *m);
void gs_elf_load_symbols(struct gs_module *m, Elf *elf);
void gs_elf_finish_symbols(struct gs_module *m);
/* Data of a section by name, decompressed, or NULL. */
Elf_Data *gs_elf_section(Elf *elf, const char *name, GElf_Shdr *shdr);
bool gs_elf_has_section(Elf *elf, const char *name);
const struct gs_symbol *gs_symbol_at(const struct gs_module *m, uint64_t addr);
/* The I-th function symbol with that name, or NULL. */
const struct gs_symbol *gs_symbol_named(const struct gs_module *m, const char *name, size_t i);
bool gs_elf_is_executable(const struct gs_module *m, uint64_t addr);

enum gs_preemption {
	GS_PREEMPT_OWN,	 /* the module's own object at *addr is the live one */
	GS_PREEMPT_SLOT, /* its address is in the word at *addr */
	GS_PREEMPT_UNKNOWN,
};
/* Which object NAME is at run time, when the module defines one at ADDR (0: only declares it). */
enum gs_preemption gs_elf_preemption(const struct gs_module *m, const char *name, bool is_defined,
				     uint64_t *addr);

/* ---- debugfile.c ---- */

void gs_debugfile_load(struct gs_module *m);
void gs_debugfile_close(struct gs_module *m);

/* ---- split.c ---- */

/*
 * Finds the other half of a skeleton and has libdw link the two; to be called before libdw is asked
 * for it in any way. What is not found is a note of the module.
 */
void gs_split_link(struct gs_module *m, Dwarf_CU *cu);

/* ---- dwarf_index.c ---- */

/*
 * Every question below reads the units that it touches, and answers as if all were read. A
 * pointer to an entry or to instances stays good.
 */
/* Lists the units, if there is DWARF and that was not done yet. */
void gs_index_need(struct gs_module *m);
/* Reads all of them. */
void gs_index_whole(struct gs_module *m);
void gs_index_free(struct gs_module *m);
gs_ref gs_ref_of(struct gs_module *m, Dwarf_Die *die);
bool gs_ref_die(const struct gs_module *m, gs_ref ref, Dwarf_Die *die);
const struct gs_index_entry *gs_index_at(struct gs_module *m, gs_ref ref);
/* First entry with that (base) name, and the next with the same hash, by ascending ref; NULL ends.
 */
const struct gs_index_entry *gs_index_first(struct gs_module *m, const char *base, size_t len);
const struct gs_index_entry *gs_index_next(struct gs_module *m, const struct gs_index_entry *e);
/* First of the instances of ORIGIN, by ascending ref; *n their number. */
const struct gs_instance *gs_index_instances(struct gs_module *m, gs_ref origin, size_t *n);
/* The subprogram whose code covers the address. */
bool gs_index_function_at(struct gs_module *m, uint64_t addr, Dwarf_Die *die);
/* The name of an entry, or NULL. */
const char *gs_index_name(struct gs_module *m, const struct gs_index_entry *e);
/* Every entry of the module, by ascending ref. */
void gs_index_each(struct gs_module *m, void (*fn)(void *ctx, const struct gs_index_entry *e),
		   void *ctx);
/* The first entry of a unit; of a split one, that of the split part. */
bool gs_unit_die(struct gs_module *m, size_t unit, Dwarf_Die *die);
/* The same, but of a split one the skeleton, which has the line table. */
bool gs_unit_line_die(struct gs_module *m, size_t unit, Dwarf_Die *die);
bool gs_die_flag(Dwarf_Die *die, unsigned at);
/*
 * Where a function or inlined instance begins: DW_AT_entry_pc, else DW_AT_low_pc, else its first
 * range that is no cold part (a function that gcc split has only DW_AT_ranges, and libdw gives no
 * entry for it).
 */
bool gs_die_entry(const struct gs_module *m, Dwarf_Die *die, uint64_t *entry);
bool gs_die_link(Dwarf_Die *die, unsigned at, Dwarf_Die *out);
/* The unit of an entry: index in units, or SIZE_MAX. */
size_t gs_unit_of(struct gs_module *m, Dwarf_Die *die);

/* ---- dwarf_name.c ---- */

/* "ns::A::f", without parameters. */
const char *gs_qualified_name(struct gs_module *m, Dwarf_Die *die);
/* The part of a name that is hashed: without template arguments. */
size_t gs_name_base_len(const char *name);

struct gs_name_query;
/* In ARENA. The last component's base is what the index is asked for. */
struct gs_name_query *gs_name_query_parse(struct gs_arena *arena, const char *text);
const char *gs_name_query_base(const struct gs_name_query *q, size_t *len);
/* Whether the entry's qualified name ends in the query, and its parameters are those of the query.
 */
bool gs_name_query_matches(struct gs_module *m, const struct gs_name_query *q, Dwarf_Die *die);

/* ---- lines.c ---- */

const struct gs_unit_lines *gs_lines_of_unit(struct gs_module *m, size_t unit);
/* Whether the unit has lines of code in a file whose path may end in FILE: by the names in the
 * header of its table, before that is decoded. */
bool gs_unit_may_have_lines(struct gs_module *m, size_t unit, const char *file);
/* The source file of an entry's declaration, also of its origin's; NULL if it is not known. */
const char *gs_decl_file(Dwarf_Die *die);
/* Path with "." and ".." taken out, in the arena. */
const char *gs_path_clean(struct gs_arena *a, const char *path);
/* Whether SUFFIX is PATH or its end, at a component boundary. */
bool gs_path_has_suffix(const char *path, const char *suffix);
/* The row that covers ADDR; *file is its path. Line 0 when there is none. */
uint32_t gs_line_at(struct gs_module *m, Dwarf_Die *cu, uint64_t addr, const char **file);
/* First address after the prologue by the line table, as gdb finds it; LOW if there is none. */
uint64_t gs_prologue_end(struct gs_module *m, Dwarf_Die *function, uint64_t low);

/* ---- dwarf_scope.c ---- */

/*
 * FUNCTION (NULL: the innermost at the pc) is a subprogram or an inlined instance inside OUTER.
 * NULL when no function covers the pc.
 */
struct gs_context *gs_context_new(struct gs_module *m, uint64_t pc, Dwarf_Die *function);
/* As gs_context_new, but instances that begin at the pc and were called from LINE are not entered.
 */
struct gs_context *gs_context_new_line(struct gs_module *m, uint64_t pc, const char *file,
				       uint32_t line);
Dwarf_Die *gs_context_function(struct gs_context *c);
/* The entry's own definition when DIE is only a declaration. */
bool gs_definition_of(struct gs_module *m, Dwarf_Die *die, Dwarf_Die *out);

/* ---- dwarf_type.c ---- */

struct gs_error *gs_type_of_die(struct gs_module *m, Dwarf_Die *type, gs_type_id *id);
/* The type of what has a DW_AT_type; VOID without. */
struct gs_error *gs_type_of(struct gs_module *m, Dwarf_Die *die, gs_type_id *id);
void gs_type_cache_free(struct gs_module *m);

/* ---- dwarf_expr.c, dwarf_cfi.c ---- */

struct gs_place_value {
	uint16_t node;
	uint8_t size; /* of a typed value; 0: the generic type */
	bool is_signed;
	bool is_float; /* node: its bits */
	bool is_cfa;   /* it is the canonical frame address plus cfa_offset */
	int64_t cfa_offset;
};
struct gs_evaluation {
	struct gs_context *c;
	struct gs_plan *plan;
	struct gs_place_value stack[64];
	unsigned depth, nesting, steps, forks;
	bool at_entry; /* registers are asked for as they were at the function's entry */
	bool is_param; /* own frame memory is read as the prologue left it */
	Dwarf_Die *frame_die;
	struct gs_evaluation *callee; /* this is in the frame that called it; NULL: at the probe */
	unsigned frames;	      /* how many are between */
	uint8_t status;		      /* not OK: it has no value, for this reason */
	const char *reason;
	const char *where; /* where a parameter is that is not in its slot yet */
};
/* False with status and reason in EV. */
bool gs_evaluate_ops(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *ops,
		     size_t nops);
bool gs_no_value(struct gs_evaluation *ev, uint8_t status, const char *fmt, ...) GS_PRINTF(3, 4);
/* A general register by DWARF number of the module's machine, as a plan node. */
bool gs_register_node(struct gs_evaluation *ev, unsigned regno, uint16_t *node);
const char *gs_register_name(const struct gs_module *m, unsigned regno);
bool gs_frame_cfa(struct gs_evaluation *ev, struct gs_place_value *out);
/* CFA = register + offset at the pc, where the rule is that simple. */
bool gs_cfi_rule(struct gs_module *m, uint64_t pc, unsigned *regno, int64_t *offset);
bool gs_frame_base(struct gs_evaluation *ev, struct gs_place_value *out);
/* What a register held in the caller, before the call that led to EV's frame. */
bool gs_frame_caller_register(struct gs_evaluation *ev, unsigned regno, uint16_t *node);
/* A link-time address in the module's image. */
uint16_t gs_image_address(struct gs_evaluation *ev, uint64_t addr);

/* ---- dwarf_typed.c ---- */

/* The base type that OP names; WHAT is the operation, for the reason. */
bool gs_typed_base(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *op,
		   const char *what, struct gs_place_value *out);
/* Node cut to the type's width (any from 1 to 8 bytes) and extended by its sign. */
uint16_t gs_typed_extend(struct gs_evaluation *ev, const struct gs_place_value *type,
			 uint16_t node);
bool gs_typed_convert(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *op,
		      bool reinterpret);
bool gs_typed_constant(struct gs_evaluation *ev, Dwarf_Attribute *attr, const Dwarf_Op *op,
		       struct gs_place_value *out);

/* ---- dwarf_tls.c ---- */

/* Of the thread-local at OFFSET in the module's block. */
bool gs_thread_local_address(struct gs_evaluation *ev, uint16_t offset, uint16_t *node);

/* Whether the rule for the frame address at PC begins with the register. */
bool gs_cfi_uses(struct gs_module *m, uint64_t pc, unsigned regno);

/* ---- dwarf_frame.c ---- */

/* Whether the register is at the context's pc what it is in the body of the function. */
bool gs_frame_is_set_up(struct gs_context *c, unsigned regno);

/* ---- dwarf_caller.c ---- */

struct gs_passed {
	unsigned regno;
	Dwarf_Die *parameter; /* not NULL: it, instead of what was in a register */
};
/* What the call that led to EV's frame passed; a node that fails after calls that are not known. */
bool gs_caller_value(struct gs_evaluation *ev, const struct gs_passed *what, uint16_t *node);

/* What follows the I-th direct call of TARGET in the module; false past the last. */
bool gs_call_to(struct gs_module *m, uint64_t target, size_t i, uint64_t *after);

/* ---- dwarf_dropped.c ---- */

/* Why the function of the context may leave no result although DWARF says so, or NULL. */
const char *gs_result_is_dropped(struct gs_context *c);

/* ---- red_zone.c ---- */

/* Whether the eight bytes below the stack pointer are provably unused at an instruction. */
bool gs_red_zone_is_free(struct gs_module *m, uint64_t addr);

/* ---- dwarf_prologue.c ---- */

enum gs_spill_kind {
	GS_SPILL_MEMORY, /* what the slot holds is good */
	GS_SPILL_VALUE,	 /* still in a register: node */
	GS_SPILL_ABSENT,
	GS_SPILL_PARTS, /* several stores: ask for smaller parts */
};
/*
 * What the bytes [offset, offset + size) from the CFA, in the function's own frame, hold at the
 * context's pc for a parameter; size 1 to 8.
 */
enum gs_spill_kind gs_prologue_read(struct gs_evaluation *ev, int64_t offset, unsigned size,
				    uint16_t *node);
/* The register that still holds what register REGNO held at the entry of the function. */
bool gs_prologue_entry_value(struct gs_context *c, unsigned regno, unsigned *now);
/* CFA minus the stack pointer at the pc, where the decoded prologue tells. */
bool gs_prologue_sp_offset(struct gs_context *c, int64_t *offset);

#endif
