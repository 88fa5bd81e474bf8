/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one walk over a value: decides what is a string, a pointer, a name, an object, what is absent
 * and why. Text, JSON and CSV are sets of callbacks; none of them looks at types on its own.
 */
#ifndef GS_REPORT_WALK_H
#define GS_REPORT_WALK_H

#include "report/session.h"

enum gs_leaf_kind {
	GS_LEAF_ABSENT,	 /* value->status says why */
	GS_LEAF_NULL,	 /* a null char pointer: no string, and that is its value */
	GS_LEAF_BOOL,	 /* bits */
	GS_LEAF_INT,	 /* wide (size up to 16), is_signed */
	GS_LEAF_CHAR,	 /* bits; a character type of 1, 2 or 4 bytes */
	GS_LEAF_ENUM,	 /* bits; type has the names */
	GS_LEAF_FLOAT,	 /* bytes, or value->real when in_bits */
	GS_LEAF_COMPLEX, /* bytes: two floats */
	GS_LEAF_STRING,	 /* bytes */
	GS_LEAF_POINTER, /* bits; symbol for functions when known */
};

struct gs_leaf {
	enum gs_leaf_kind kind;
	const struct gs_value *value;
	const struct gs_type *type; /* stripped */
	uint64_t bits;		    /* extended to 64 bits by the type */
	__int128 wide;		    /* INT: as signed or (cast) unsigned by is_signed */
	bool is_signed;
	uint8_t size; /* INT, CHAR, FLOAT; STRING: bytes of a character */
	const uint8_t *bytes;
	size_t len;
	const char *prefix; /* CHAR, STRING: "", "L", "u", "U" as in C */
	bool nul_ends;	    /* STRING: an array, whose NULs are part of the bytes */
	bool is_function;   /* POINTER to code */
	int64_t adjust;	    /* POINTER to a member function: of `this' */
	const struct gs_meta_symbol *symbol;
};

enum gs_node_kind {
	GS_NODE_OBJECT,
	GS_NODE_ARRAY,
	GS_NODE_FOLLOWED,  /* a pointer and what it leads to; leaf: the pointer */
	GS_NODE_REFERENCE, /* a reference and its referent; leaf: the address */
	GS_NODE_CONTAINER, /* of a library; box: what is known of it */
};

/* Beside the elements of a container. */
struct gs_box {
	const struct gs_container *rule;
	bool has_length, has_capacity;
	uint64_t length, capacity;
	uint64_t captured; /* elements that are here; OPTIONAL: 0 or 1 */
	bool keyed;	   /* MAP: the keys are text, and none comes twice */
};

enum gs_entry_phase { GS_ENTRY_KEY, GS_ENTRY_VALUE, GS_ENTRY_END };

struct gs_node {
	enum gs_node_kind kind;
	const struct gs_value *value;
	const struct gs_type *type; /* stripped */
	const struct gs_leaf *leaf;
	const struct gs_box *box;
	bool cut; /* close: elements are missing at the end */
	bool any; /* close: something was inside */
};

enum gs_walk_flags {
	GS_WALK_FLATTEN =
		1 << 0, /* anonymous members and pointees' members appear in their parent */
	/*
	 * What is visited depends on the type and schema alone: absent values too are taken apart,
	 * so that the leaves of every event are the same columns. Arrays of unknown length are
	 * given to `cell'.
	 */
	GS_WALK_EXPAND = 1 << 1,
	GS_WALK_REPEATS =
		1 << 2,		/* equal elements are told once, and long arrays cut, as gdb does */
	GS_WALK_CHARS = 1 << 3, /* arrays of every character type are strings, as gdb has it */
};

struct gs_walk;

struct gs_walk_ops {
	void (*leaf)(struct gs_walk *w, const struct gs_leaf *leaf);
	void (*open)(struct gs_walk *w, const struct gs_node *node);
	void (*close)(struct gs_walk *w, const struct gs_node *node);
	void (*member)(struct gs_walk *w, const struct gs_member *m, const char *name);
	void (*element)(struct gs_walk *w, uint64_t index);
	void (*repeats)(struct gs_walk *w, uint64_t count);
	/* Element INDEX of a map: before its key, between key and value, after the value. Not
	 * called where containers are cells. */
	void (*entry)(struct gs_walk *w, const struct gs_node *map, uint64_t index,
		      enum gs_entry_phase phase);
	void (*cell)(struct gs_walk *w, const struct gs_value *v);
	/* The value at the current path is not, or not wholly, there. May be NULL. */
	void (*mark)(struct gs_walk *w, const struct gs_value *v);
};

#define GS_WALK_DEPTH 64

struct gs_walk {
	const struct gs_walk_ops *ops;
	void *ctx; /* of the callbacks */
	struct gs_event *event;
	unsigned flags;
	uint64_t element_limit; /* REPEATS: elements of an array that are shown */
	uint32_t budget;	/* parts that may still be visited */
	unsigned depth;		/* aggregates around the current value */
	/* The object that the current base class is a part of. */
	int32_t object_item;
	uint64_t object_start, object_size;
	size_t npath;
	struct gs_path_part {
		const char *name; /* NULL: [index] */
		uint64_t index;
	} path[2 * GS_WALK_DEPTH + 8];
};

/* Walks V, whose path begins with KEY. */
void gs_walk_value(struct gs_walk *w, const char *key, const struct gs_value *v);
/* Classifies a value without parts. False: it has some (an aggregate, an array that is no string
 * ...). */
bool gs_leaf_of(struct gs_event *ev, unsigned flags, const struct gs_value *v,
		struct gs_leaf *leaf);
/* req.flags, a[0].x, p.@ */
void gs_walk_path(struct gs_buf *out, const struct gs_walk *w);

/* ---- steps that walk.c and container.c share ---- */

void gs_walk_any(struct gs_walk *w, const struct gs_value *v);
void gs_walk_mark(struct gs_walk *w, const struct gs_value *v);
void gs_walk_emit(struct gs_walk *w, const struct gs_leaf *leaf);
/* Elements of the array V (whose type is node->type); sets cut and any. */
void gs_walk_elements(struct gs_walk *w, const struct gs_value *v, struct gs_node *node);
void gs_walk_push(struct gs_walk *w, const char *name, uint64_t index);

/* ---- container.c ---- */

/* V, or what is inside where V is a container that is shown as that; *inner is for the caller's
 * use. */
const struct gs_value *gs_container_open(struct gs_event *ev, const struct gs_value *v,
					 struct gs_value *inner);
/* A container that is text: LEAF is its content, or why there is none. */
bool gs_container_text(struct gs_event *ev, const struct gs_value *v, struct gs_leaf *leaf,
		       struct gs_value *other);
/* A container that has elements; false: V is none. */
bool gs_walk_container(struct gs_walk *w, const struct gs_value *v, const struct gs_type *t);

#endif
