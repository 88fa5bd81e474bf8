/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What makes a structure a container: a rule, kept with its type, that says where its content is.
 * In the flow: record/ recognises library types and writes the rule, its planner reads the content
 * by it, report/ shows the content by it and needs to know no library.
 *
 * The content of a container is an item of its own: a child of the item that holds the container,
 * at the offset of the container plus the rule's `data'.
 */
#ifndef GS_COMMON_CONTAINER_H
#define GS_COMMON_CONTAINER_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers are part of the file format: append only. Unknown ones are shown as structures. */
enum gs_container_kind {
	GS_CONTAINER_NONE = 0,
	GS_CONTAINER_STRING = 1, /* content: its characters, without a NUL at the end */
	GS_CONTAINER_SEQUENCE = 2,
	GS_CONTAINER_SET = 3,
	GS_CONTAINER_MAP = 4,	   /* elements are structures of two members: key, value */
	GS_CONTAINER_OPTIONAL = 5, /* a value inside, if the flag at `length' is set */
	GS_CONTAINER_POINTER = 6,  /* an owning pointer at `data': shown as that pointer */
	GS_CONTAINER_WRAPPER = 7,  /* shown as its member at `data' of type `target' */
	GS_CONTAINER_KINDS
};

/* How the content is reached. Numbers as above. */
enum gs_container_form {
	GS_CONTENT_INSIDE = 0,	/* in the object itself */
	GS_CONTENT_SPAN = 1,	/* pointers at data, length (end) and capacity (end of storage) */
	GS_CONTENT_COUNTED = 2, /* pointer at data, number of elements at length and capacity */
	GS_CONTENT_REP = 3,	/* pointer at data; number of elements three words before it */
	GS_CONTENT_LIST = 4,	/* first node at data; each begins with the address of the next */
	GS_CONTENT_TREE = 5,	/* root at data; nodes: a word (colour), parent, left, right */
	GS_CONTENT_FORMS
};

enum gs_container_flags {
	GS_CONTAINER_MULTI = 1 << 0,	/* a key may come more than once */
	GS_CONTAINER_COUNTED = 1 << 1,	/* LIST: `length' is the offset of the number of nodes */
	GS_CONTAINER_ENDED = 1 << 2,	/* STRING: a NUL follows the content */
	GS_CONTAINER_CAPACITY = 1 << 3, /* `capacity' is there */
	GS_CONTAINER_RING = 1 << 4, /* LIST: the last node leads to the object's own, at data; the
				     * address of the last follows there */
};

struct gs_container {
	uint8_t kind, form;
	uint8_t flags;
	/* Offsets in the object, bytes; payload: of the element in a node. */
	uint32_t data, length, capacity, payload;
};

#endif
