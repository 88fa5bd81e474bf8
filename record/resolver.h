/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of the resolver process: its state, and the steps from a parsed probe to plans and
 * tables. Private to search*.c, lower*.c, items*.c, resolve*.c, explain.c, listing.c and
 * resolver_process.c.
 *
 *   spec -> search (modules) -> places (module.h) -> for each site: check, expand, lower -> tables
 */
#ifndef GS_RECORD_RESOLVER_H
#define GS_RECORD_RESOLVER_H

#include "common/expr.h"
#include "record/module.h"
#include "record/probe.h"
#include "record/resolve.h"

/* Where files come from: in the resolver process the recorder's broker, in tests open(2) itself. */
struct gs_file_source {
	void *ctx;
	/*
	 * A descriptor, or -errno. With TICKET the file is kept by the other side, and *ticket
	 * names it in the answer. *path, when PATH is not NULL, is the resolved path in ARENA.
	 */
	int (*open)(void *ctx, const char *name, struct gs_arena *arena, uint32_t *ticket,
		    const char **path);
	/* A file that proves itself: below the target's root, else of this system. NULL: as open.
	 */
	int (*open_debug)(void *ctx, const char *name, struct gs_arena *arena);
	/* From debuginfod, by build-id; NULL without. */
	int (*fetch)(void *ctx, const uint8_t *id, size_t len, struct gs_arena *arena,
		     const char **path);
};

/* A file that was opened as a module. */
struct gs_loaded {
	struct gs_module *m;
	const char *path; /* as shown and stored */
	uint64_t dev, ino;
	uint32_t ticket;
	uint32_t id; /* in the resolution, or GS_NONE while no site is in it */
	int fd;
	bool needed; /* by the executable, directly or not */
	struct gs_loaded *next;
};

struct gs_resolver {
	const struct gs_resolve_request *req;
	const struct gs_file_source *files;
	struct gs_opener opener;
	struct gs_types *types; /* the session's: everything that was ever looked at */
	struct gs_arena arena;
	struct gs_loaded *loaded; /* in the order of opening */
	struct gs_loaded *executable;
	bool needed_known;
	uint8_t pointer_size; /* of the module in hand */
	struct gs_resolution *out;
	uint32_t *tickets; /* by module id of the resolution */
	size_t tickets_cap;
	uint64_t *plan_hashes; /* beside the resolution's plans */
	size_t hashes_cap, plans_cap, sites_cap, entries_cap, pending_cap, code_cap, symbols_cap,
		warnings_cap, errors_cap;
	struct gs_buf explanation;
};

/* The whole answer, as bytes for gs_resolution_read; probe errors are in it. */
void gs_resolver_run(const struct gs_resolve_request *req, const struct gs_file_source *files,
		     struct gs_buf *answer);
void gs_resolver_warn(struct gs_resolver *r, const char *fmt, ...) GS_PRINTF(2, 3);

/* ---- search.c: files ---- */

/* The executable. */
struct gs_error *gs_search_executable(struct gs_resolver *r, struct gs_loaded **out);
/* What MODULE! names; *out is NULL when nothing does. Several: an error that lists them. */
struct gs_error *gs_search_module(struct gs_resolver *r, const char *name, struct gs_loaded **out);
/* Opens everything that the executable needs. */
struct gs_error *gs_search_needed(struct gs_resolver *r);
/* Nearest module names, as hints. */
struct gs_error *gs_search_hint(struct gs_resolver *r, struct gs_error *err, const char *name);
void gs_search_close(struct gs_resolver *r);

/* ---- search_cache.c: /etc/ld.so.cache ---- */

/* Path of library NAME (a soname) for MACHINE in the bytes of the cache, or NULL. Bounded, trusts
 * nothing. */
const char *gs_ld_cache_find(const void *data, size_t len, const char *name, uint16_t machine,
			     struct gs_arena *arena);

/* ---- lower_scope.c: names at a site ---- */

enum gs_operand_kind {
	GS_OPERAND_VARIABLE,
	GS_OPERAND_REGISTER, /* number: DWARF's; size and shift of the part */
	GS_OPERAND_VALUE,    /* number: enum gs_plan_builtin */
	GS_OPERAND_COMM,
	GS_OPERAND_TEXT,     /* $func: known at compile time */
	GS_OPERAND_ARGUMENT, /* $argN by the ABI: number from 0 */
	GS_OPERAND_CALLER,   /* the return address */
	GS_OPERAND_RETVAL,   /* at an exit: the result */
	GS_OPERAND_DURATION, /* at an exit: ns since the entry */
};

/* What a name in an expression was bound to; the binding is its index + 1 in the site. */
struct gs_operand {
	enum gs_operand_kind kind;
	const char *name;
	struct gs_variable var;
	uint32_t number;
	uint8_t size, shift;
};

/* One site while it is resolved. */
struct gs_site {
	struct gs_resolver *r;
	struct gs_loaded *module;
	const struct gs_place_site *place;
	uint8_t pointer_size;
	/* Nothing of the prologue ran: arguments are in their registers, the return address is on
	 * top. */
	bool at_entry;
	struct gs_operand *operands;
	size_t noperands, operands_cap;
	/* At an exit: where the call began, and the plan that saves there. */
	struct gs_site *entry;
	struct gs_plan *entry_plan;
	bool in_entry; /* names are looked up at the entry: in $entry(...) */
};

void gs_site_init(struct gs_site *site, struct gs_resolver *r, struct gs_loaded *module,
		  const struct gs_place_site *place);
void gs_site_deinit(struct gs_site *site);
/* The place was found as a function's beginning. */
void gs_site_assume_entry(struct gs_site *site);
/* Parses and checks TEXT[start, start + len) with the site's names. */
struct gs_error *gs_site_check(struct gs_site *site, const char *text, size_t start, size_t len,
			       bool is_condition, struct gs_expr **out);
/* The general registers, for $regs: name and operand of the I-th, false past the last. */
bool gs_site_register(struct gs_site *site, unsigned i, struct gs_operand *out);
/* A registered operand. */
uint64_t gs_site_bind(struct gs_site *site, const struct gs_operand *operand);
struct gs_error *gs_site_operand_type(struct gs_site *site, const struct gs_operand *o,
				      gs_type_id *type);

/* ---- lower*.c: checked trees to nodes ---- */

struct gs_want;

/* Where an object is: in memory, in parts (registers, constants), or nowhere. */
struct gs_object {
	enum { GS_OBJECT_MEMORY, GS_OBJECT_PARTS, GS_OBJECT_ABSENT } kind;
	uint16_t node;	 /* MEMORY: address */
	uint64_t offset; /* PARTS: of the object in what the parts describe */
	const struct gs_location_piece *parts;
	size_t nparts;
	uint32_t bit_offset,
		bit_size; /* a bit-field, from the object's first byte on; bit_size 0: not one */
	uint8_t status;
	const char *reason; /* ABSENT */
	/* ABSENT: a pointer that the compiler dropped, to byte pointee_offset of a known object */
	const struct gs_variable *pointee;
	int64_t pointee_offset;
};

struct gs_lower {
	struct gs_site *site;
	struct gs_types *types;
	struct gs_plan *plan;
	const char *text; /* of the probe, for errors */
	/* The first operand that is not there; status OK while all are. */
	uint8_t absent;
	const char *absent_name, *absent_reason;
	const struct gs_variable *absent_var;
};

/* The value of E, extended to 64 bits by its type. */
struct gs_error *gs_lower_scalar(struct gs_lower *l, const struct gs_expr *e, uint16_t *node);
/* E as 0 or 1. */
struct gs_error *gs_lower_condition(struct gs_lower *l, const struct gs_expr *e, uint16_t *node);
/* Where the lvalue E is. */
struct gs_error *gs_lower_object(struct gs_lower *l, const struct gs_expr *e,
				 struct gs_object *obj);
/* Where a variable or built-in is. */
void gs_lower_operand(struct gs_lower *l, const struct gs_operand *o, struct gs_object *obj);
/* Address of element LO and number of elements of a slice, `p@n', str or buf. */
struct gs_error *gs_lower_range(struct gs_lower *l, const struct gs_expr *e, uint16_t *address,
				uint16_t *count);
/* The value of a scalar object of type ID. */
uint16_t gs_object_value(struct gs_lower *l, const struct gs_object *obj, gs_type_id id);
/* SIZE (1..8) bytes at OFFSET of the object, zero-extended. */
uint16_t gs_object_bytes(struct gs_lower *l, const struct gs_object *obj, uint64_t offset,
			 unsigned size);
/* What the pointer OBJ leads to, when it is one that the compiler dropped and described. */
bool gs_object_pointee(struct gs_lower *l, const struct gs_object *obj, struct gs_object *out);
/* The part of an object at byte OFFSET. */
struct gs_object gs_object_at(struct gs_lower *l, const struct gs_object *obj, uint64_t offset);
/* An array whose count is the variable's own affair. (lower_length.c) */
bool gs_lower_is_run_time_array(const struct gs_types *types, gs_type_id id);
/* Bytes of E; of what array or pointer E leads to; elements of a wanted array. Nodes of constants
 * where types know them. */
struct gs_error *gs_lower_size(struct gs_lower *l, const struct gs_expr *e, uint16_t *node);
struct gs_error *gs_lower_element_size(struct gs_lower *l, const struct gs_expr *e, uint16_t *node);
struct gs_error *gs_lower_length(struct gs_lower *l, const struct gs_want *want, uint16_t *node);
/* The virtual base of the class at address OBJECT whose virtual table is at TABLE. */
uint16_t gs_lower_virtual_base(struct gs_lower *l, uint16_t object, uint16_t table,
			       uint32_t distance);
/* Notes an absence; gives an ABSENT node. */
uint16_t gs_lower_absent(struct gs_lower *l, unsigned status, const char *reason);
/* V cut to the width of type ID and extended by its sign. */
uint16_t gs_lower_extend(struct gs_lower *l, uint16_t node, gs_type_id id);
struct gs_error *gs_lower_error(const struct gs_lower *l, const struct gs_expr *e,
				enum gs_error_code code, const char *fmt, ...) GS_PRINTF(4, 5);
/* Comparison of text with a literal; starts_with; contains. (lower_text.c) */
struct gs_error *gs_lower_text(struct gs_lower *l, const struct gs_expr *e, uint16_t *node);
bool gs_lower_is_text(const struct gs_expr *e);
/* Comparisons and tests of float and double by their bits. (lower_float.c) */
struct gs_error *gs_lower_float_compare(struct gs_lower *l, const struct gs_expr *e,
					uint16_t *node);
struct gs_error *gs_lower_float_truth(struct gs_lower *l, const struct gs_expr *e, uint16_t *node);
bool gs_lower_is_float(const struct gs_lower *l, const struct gs_expr *e);

/* ---- lower_return.c: $retval, $duration, $entry ---- */

/* What finds the frame of the call, in the site's plan. */
void gs_lower_frame(struct gs_lower *l);
/* The plan of the entry of a function, whose frame is all that is there yet. */
void gs_lower_entry_init(struct gs_plan *plan, const struct gs_site *entry);
void gs_lower_retval(struct gs_lower *l, struct gs_object *obj);
uint16_t gs_lower_duration(struct gs_lower *l);
/* $entry(x) as a value, or as an object. */
struct gs_error *gs_lower_entry_scalar(struct gs_lower *l, const struct gs_expr *e, uint16_t *node);
struct gs_error *gs_lower_entry_object(struct gs_lower *l, const struct gs_expr *e,
				       struct gs_object *obj);
bool gs_lower_is_entry(const struct gs_expr *e);
void gs_lower_location(struct gs_lower *l, const struct gs_location *loc, struct gs_object *obj);

/* ---- items.c: what is captured at a site ---- */

enum gs_want_form {
	GS_WANT_OBJECT, /* a whole object or value */
	GS_WANT_RANGE,	/* slice, p@n, buf: elements by run-time count */
	GS_WANT_STRING, /* str(p [, n]) */
	GS_WANT_COMM,
	GS_WANT_LIST, /* list(head, next, n) */
};

/* One top-level item at one site. */
struct gs_want {
	const char *key, *expr;
	size_t start, len; /* in the probe's text, for errors; len 0: none */
	gs_type_id type;
	uint32_t flags; /* enum gs_schema_item_flags */
	enum gs_want_form form;
	uint64_t limit;	   /* RANGE: most elements; STRING: most bytes */
	bool from_word;	   /* of $args, $locals, $regs */
	bool is_elsewhere; /* not declared at this site: absent here, with the type of another site
			    */
	const char *problem;	   /* is_elsewhere: why */
	struct gs_expr *tree;	   /* or */
	struct gs_operand operand; /* of a word */
	/* Filled by lowering: */
	uint8_t status;
	const char *reason, *absent_name;
	const struct gs_variable *absent_var;
};

/* How a schema item is planned. */
struct gs_shape {
	enum {
		GS_SHAPE_ROOT,
		GS_SHAPE_STRING,
		GS_SHAPE_POINTEE,
		GS_SHAPE_CONTENT,
		GS_SHAPE_VIRTUAL_BASE
	} kind;
	uint32_t want;		/* ROOT */
	uint32_t stride, count; /* variable arrays: bytes and number of elements, all of them */
	/* CONTENT: the container; pointers still to be followed, and containers around it. */
	gs_type_id container;
	uint32_t level, nesting;
	uint32_t distance; /* VIRTUAL_BASE: of its offset in the virtual table, in bytes */
};

/* The schema of a site, as far as types and limits determine it. */
struct gs_expansion {
	struct gs_meta_item *items; /* types are the session's */
	struct gs_shape *shapes;    /* parallel */
	size_t n, items_cap, shapes_cap;
	uint64_t bytes; /* of the longest record */
	unsigned nstrings, nfollowed, nwalks;
	bool strings_left_out, followed_left_out;
};

/* An array that is cut to the limits: elements that are captured; false if whole. */
bool gs_items_array_limit(struct gs_resolver *r, gs_type_id type, uint64_t *count);
/* TEXT is the probe's. Items of $args and $locals that cannot be recorded are left out with a
 * warning. */
struct gs_error *gs_items_expand(struct gs_resolver *r, const char *text,
				 const struct gs_want *wants, size_t n, struct gs_expansion *out);
void gs_items_deinit(struct gs_expansion *x);

/* ---- items_content.c: what containers hold ---- */

/* Most nodes of a list or tree that are captured: each is a step of the program. */
#define GS_LIST_NODES 32u
#define GS_LIST_NODES_MAX 256u
/* The item of the content of a container of type ID, which is at OFFSET of item PARENT. False: it
 * has none, or none that is captured so deep. */
bool gs_content_item(struct gs_resolver *r, gs_type_id id, uint32_t parent, uint64_t offset,
		     uint32_t nesting, struct gs_meta_item *item, struct gs_shape *shape);
/* Completes the plan's item of a content; its parent's bytes are known to be there. */
void gs_content_plan(struct gs_lower *l, const struct gs_meta_item *schema,
		     const struct gs_shape *shape, struct gs_plan_item *item);
/* A walk over linked memory. */
uint16_t gs_content_walk(struct gs_plan *plan, const struct gs_plan_walk *walk);

/* Why (parts of) items are absent. */
struct gs_notes {
	struct gs_meta_note *notes;
	size_t n, cap;
};
/* items_plan.c: the plan's items for an expansion; condition is set before. */
struct gs_error *gs_items_plan(struct gs_lower *l, struct gs_want *wants,
			       const struct gs_expansion *x, struct gs_notes *notes);

/* ---- resolve_probe.c: one probe ---- */

struct gs_error *gs_resolve_probe(struct gs_resolver *r, uint32_t probe,
				  const struct gs_probe_spec *spec);

/* ---- resolve_place.c: from a place to sites ---- */

/* *module is NULL when the probe is pending. */
struct gs_error *gs_resolve_place(struct gs_resolver *r, const struct gs_probe_spec *spec,
				  struct gs_loaded **module, struct gs_places *places);

/* ---- resolve_tables.c: sharing of plans and schemas, the file's types ---- */

uint32_t gs_tables_module(struct gs_resolver *r, struct gs_loaded *module);
/* Takes the plan over. */
uint32_t gs_tables_plan(struct gs_resolver *r, struct gs_plan *plan);
uint32_t gs_tables_schema(struct gs_resolver *r, const struct gs_meta_item *items, size_t n);
/* Types of the schemas, from the session's table to the resolution's; then code pointers and
 * symbols. */
struct gs_error *gs_tables_finish(struct gs_resolver *r);
/* Whether the pointer type leads to something that can be followed; *target is what. */
bool gs_items_pointee(struct gs_types *types, gs_type_id pointer, gs_type_id *target);

/* ---- explain.c, listing.c ---- */

void gs_explain_probe(struct gs_resolver *r, const struct gs_probe_spec *spec,
		      const struct gs_loaded *module);
void gs_explain_site(struct gs_resolver *r, struct gs_site *site, uint32_t site_id,
		     const struct gs_want *wants, size_t n);
void gs_explain_plans(struct gs_resolver *r);
struct gs_error *gs_listing_run(struct gs_resolver *r);
/* "rdi", "[rbp-20]", "optimized out": where a variable is at a site. */
const char *gs_explain_where(struct gs_site *site, const struct gs_variable *var);

/* ---- resolution_io.c: the answer as bytes ---- */

void gs_resolution_write(struct gs_buf *out, const struct gs_resolution *r,
			 const uint32_t *tickets);
/* Fully checked; tickets of the modules are below NTICKETS. */
struct gs_error *gs_resolution_read(struct gs_reader *in, uint32_t ntickets,
				    struct gs_resolution *r, uint32_t **tickets);

#endif
