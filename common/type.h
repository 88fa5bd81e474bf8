/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Types: the vocabulary shared by recorder and reporter. A table of immutable types that were
 * derived from DWARF (or built by hand in tests), addressed by id.
 *
 * In the flow: record/ imports them from DWARF, common/ checks expressions against them, format/
 * stores the table in the file, report/ decodes captured bytes by them.
 *
 * Invariants (kept by gs_types_add, verified by the file reader):
 *  - id 0 is void, always present;
 *  - by-value references (member, element, typedef and qualifier targets, enum underlying types)
 * point to smaller ids: cycles cannot exist; pointer, reference and function targets may point
 * forwards;
 *  - every name is valid UTF-8 without control characters (others are escaped on import).
 */
#ifndef GS_COMMON_TYPE_H
#define GS_COMMON_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/container.h"
#include "common/error.h"
#include "common/mem.h"

typedef uint32_t gs_type_id;
#define GS_TYPE_VOID ((gs_type_id)0)
#define GS_TYPE_MAX (1u << 20) /* cap on the table, for hostile files */

/* Numbers are part of the file format: append only. */
enum gs_type_kind {
	GS_KIND_VOID = 0,
	GS_KIND_BOOL = 1,
	GS_KIND_INT = 2,     /* flags: SIGNED, CHAR; 1..16 bytes */
	GS_KIND_FLOAT = 3,   /* encoding: enum gs_float_format */
	GS_KIND_COMPLEX = 4, /* two floats; encoding as FLOAT, byte_size the whole */
	GS_KIND_ENUM =
		5, /* target: underlying integer (0 when unknown: use byte_size and SIGNED) */
	GS_KIND_POINTER = 6,   /* target */
	GS_KIND_REFERENCE = 7, /* target; stored as an address */
	GS_KIND_RVALUE_REFERENCE = 8,
	GS_KIND_FUNCTION = 9, /* target: return type; members: parameters (name may be NULL) */
	GS_KIND_STRUCT = 10,
	GS_KIND_UNION = 11,
	GS_KIND_CLASS = 12,
	GS_KIND_ARRAY = 13, /* target: element; count; stride; multi-dimensional = array of array */
	GS_KIND_TYPEDEF = 14,	     /* target */
	GS_KIND_CONST = 15,	     /* target */
	GS_KIND_VOLATILE = 16,	     /* target */
	GS_KIND_RESTRICT = 17,	     /* target */
	GS_KIND_ATOMIC = 18,	     /* target */
	GS_KIND_MEMBER_POINTER = 19, /* target: pointed-to type; containing: class */
	GS_KIND_UNSPECIFIED = 20,    /* decltype(nullptr) and the like; shown as an address */
	/* 21.. reserved: variant part (Rust), container (C++ library), template parameters */
};

enum gs_type_flags {
	GS_TYPE_SIGNED = 1 << 0,
	GS_TYPE_CHAR = 1 << 1, /* a character type: `char', `signed char', `unsigned char' */
	GS_TYPE_PLAIN_CHAR =
		1 << 2,	      /* C's `char' itself: pointers to it and arrays of it are strings */
	GS_TYPE_UTF = 1 << 3, /* char8_t, char16_t, char32_t, (wchar_t by name) */
	GS_TYPE_FLAG_ENUM = 1 << 4,  /* all enumerators are single bits, disjoint (or zero): A|B */
	GS_TYPE_INCOMPLETE = 1 << 5, /* a declaration only */
	GS_TYPE_ENUM_CLASS = 1 << 6, /* C++ scoped enumeration */
	GS_TYPE_VECTOR = 1 << 7,     /* GNU vector type (an array) */
	GS_TYPE_COUNT_UNKNOWN = 1 << 8, /* flexible or unbounded array: count is 0 */
	GS_TYPE_PROTOTYPED = 1 << 9,
	GS_TYPE_VARARGS = 1 << 10,
	GS_TYPE_NO_TAG = 1 << 11, /* of C++ or Rust: named without `struct', `union', `enum' */
	GS_TYPE_RUN_TIME_COUNT = 1
				 << 12, /* with COUNT_UNKNOWN: the variable's own scope tells it */
};

enum gs_float_format {
	GS_FLOAT_IEEE = 0,    /* binary16/32/64/128 by byte_size 2, 4, 8, 16 */
	GS_FLOAT_X87 = 1,     /* 80 bits in 10, 12 or 16 bytes */
	GS_FLOAT_DECIMAL = 2, /* shown as unavailable */
	GS_FLOAT_BFLOAT = 3,
	GS_FLOAT_IBM = 4, /* double-double: shown as unavailable */
};

enum gs_member_flags {
	GS_MEMBER_BASE = 1 << 0, /* C++ base class */
	/*
	 * Where it is, the object's virtual table tells: bit_offset / 8 is how far before the
	 * address point its offset stands there (Itanium C++ ABI 2.5.2); 0 is not known.
	 */
	GS_MEMBER_VIRTUAL_BASE = 1 << 1,
	GS_MEMBER_ARTIFICIAL = 1 << 2, /* virtual-table pointers: not rendered */
	GS_MEMBER_STATIC = 1 << 3,     /* no storage here: not rendered */
	/*
	 * Rust's enumerations. Of the VARIANT members one is there: the one whose value in the
	 * aggregate's enumerators (by the member's name) the DISCRIMINANT member has, else the one
	 * that has no value there.
	 */
	GS_MEMBER_VARIANT = 1 << 4,
	GS_MEMBER_DISCRIMINANT = 1 << 5,
};

struct gs_member {
	const char *name; /* NULL: anonymous struct or union (its members appear in the parent) */
	gs_type_id type;
	uint32_t flags;
	/*
	 * From the start of the aggregate. For bit-fields this is DWARF 5's DW_AT_data_bit_offset
	 * (older forms are converted on import): on little-endian targets the position of the least
	 * significant bit, on big-endian targets of the most significant one.
	 */
	uint64_t bit_offset;
	uint32_t bit_size; /* 0: not a bit-field */
};

struct gs_enumerator {
	const char *name;
	int64_t value; /* for unsigned 64-bit enums: the same bits */
};

struct gs_type {
	uint8_t kind;
	uint8_t encoding; /* enum gs_float_format */
	uint32_t flags;
	const char *name; /* tag, typedef or base type name, C++ fully qualified; NULL: anonymous */
	uint64_t byte_size;
	gs_type_id target;
	gs_type_id containing; /* MEMBER_POINTER: the class */
	uint64_t count;	       /* ARRAY: elements of this dimension */
	uint64_t stride;       /* ARRAY: bytes from element to element */
	const struct gs_member *members;
	uint32_t nmembers;
	const struct gs_enumerator *enumerators; /* sorted by declaration */
	uint32_t nenumerators; /* of ENUM; of aggregates with VARIANT members their values */
	/* Of aggregates that are containers; target is then a pointer to the element. */
	struct gs_container container;
};

struct gs_types; /* the table */

struct gs_types *gs_types_new(void);
void gs_types_free(struct gs_types *t);

/*
 * Adds a copy of *TYPE (names and members are copied into the table) and gives its id. An equal
 * type (same shape, names and ids) gives the id that it already has, except POINTERs reserved with
 * gs_types_reserve. Checks the invariants; a violation is GS_ERR_DAMAGED.
 */
struct gs_error *gs_types_add(struct gs_types *t, const struct gs_type *type, gs_type_id *id);
/*
 * For pointer targets that are not there yet: adds a pointer-like type (POINTER, REFERENCE,
 * RVALUE_REFERENCE, MEMBER_POINTER) whose target is set later, once.
 */
struct gs_error *gs_types_reserve(struct gs_types *t, const struct gs_type *type, gs_type_id *id);
void gs_types_set_target(struct gs_types *t, gs_type_id id, gs_type_id target);

/* Never NULL: an id out of range gives void. */
const struct gs_type *gs_type_get(const struct gs_types *t, gs_type_id id);
uint32_t gs_types_count(const struct gs_types *t);

/* Copies ID and all that it reaches from SRC into DST (deduplicated); the id there. */
struct gs_error *gs_types_import(struct gs_types *dst, const struct gs_types *src, gs_type_id id,
				 gs_type_id *out);

/* Through typedefs and qualifiers to the type itself. */
gs_type_id gs_type_strip(const struct gs_types *t, gs_type_id id);
static inline bool gs_kind_is_aggregate(unsigned kind)
{
	return kind == GS_KIND_STRUCT || kind == GS_KIND_UNION || kind == GS_KIND_CLASS;
}
bool gs_type_is_integral(const struct gs_types *t, gs_type_id id); /* bool, int, char, enum */
bool gs_type_is_signed(const struct gs_types *t, gs_type_id id); /* integral; enums by underlying */
bool gs_type_is_pointer(const struct gs_types *t, gs_type_id id); /* POINTER after stripping */
/* `char *' (const or not): captured with its string, shown as a string. */
bool gs_type_is_char_pointer(const struct gs_types *t, gs_type_id id);
/*
 * The prefix of C's literals ("L", "u", "U", "u8") for a type that holds wide or UTF characters,
 * else NULL. In C these are typedefs of integers, known by their name alone, to gdb as well.
 */
const char *gs_type_wide_prefix(const struct gs_types *t, gs_type_id id);
/* A pointer to such characters, captured with its string; *size: bytes of a character. */
bool gs_type_is_wide_pointer(const struct gs_types *t, gs_type_id id, unsigned *size);
/* `char[]': shown as a string. */
bool gs_type_is_char_array(const struct gs_types *t, gs_type_id id);
/* Bytes; arrays by count * stride (checked: saturates at UINT64_MAX). */
uint64_t gs_type_size(const struct gs_types *t, gs_type_id id);
/* Compatible after typedefs: the same structure or the same tag. */
bool gs_type_equal(const struct gs_types *t, gs_type_id a, gs_type_id b);

/*
 * Finds member NAME, also in anonymous members and base classes. *bit_offset is from the start of
 * ID, and has no meaning when the member's flags have VIRTUAL_BASE. False when there is none;
 * *ambiguous (may be NULL) is set when several bases have it.
 */
bool gs_type_find_member(const struct gs_types *t, gs_type_id id, const char *name, size_t len,
			 struct gs_member *member, uint64_t *bit_offset, bool *ambiguous);

/*
 * The outermost virtual base class of ID in which NAME is found, or that is called NAME: the member
 * of the class that has it, and where that class is in ID.
 */
bool gs_type_find_virtual_base(const struct gs_types *t, gs_type_id id, const char *name,
			       size_t len, struct gs_member *base, uint64_t *holder_bits);

/* C declaration syntax: `struct req *', `int (*)(char, ...)', `char [16]'; NAME may be NULL, else
 * it is put where C puts it: `int (*name)[4]'. */
void gs_type_print(struct gs_buf *out, const struct gs_types *t, gs_type_id id, const char *name);

#endif
