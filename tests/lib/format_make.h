/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings made by hand, for tests of the format and of reports: types, schemas, sites and rows
 * in, the bytes of a file out.
 *
 *   struct gs_make *m = gs_make_new(NULL);
 *   gs_type_id t = gs_make_int(m, "int", 4, true);
 *   uint32_t schema = gs_make_schema(m);
 *   gs_make_item(m, schema, "n", t, 4, 0);           fixed item 0
 *   gs_make_string(m, schema, "s", 200);             variable item 1
 *   uint32_t site = gs_make_site(m, gs_make_probe(m, "p"), schema, "f", "f.c", 7);
 *   gs_make_event(m, 1000, 0, site, 71, 71, "srv");  time, cpu, site, pid, tid, comm
 *   gs_make_uint(m, 0, 42);                          item 0: ok
 *   gs_make_bytes(m, 1, "/a", 2);                    item 1: ok
 *   gs_make_end(m, 0);
 *   gs_input_open_memory(m->file.data, m->file.len, NULL, &in);
 *   gs_make_free(m);                                 after gs_input_free
 *
 * Items that an event is not given are NOT_COLLECTED. Anything else that a file can hold is set in
 * gs_writer_meta(m->writer) before the next event. A failure ends the process with a message.
 */
#ifndef GS_TESTS_LIB_FORMAT_MAKE_H
#define GS_TESTS_LIB_FORMAT_MAKE_H

#include "common/status.h"
#include "format/writer.h"

struct gs_make {
	struct gs_writer *writer;
	struct gs_meta *meta; /* the writer's */
	int fd;		      /* memfd, or the caller's */
	bool own_fd;
	struct gs_buf file; /* after gs_make_end or gs_make_sync: the bytes of the file */
	/* the event that is being made */
	bool open;
	struct gs_event_head head;
	struct gs_event_item items[GS_EVENT_MAX_ITEMS];
	struct gs_arena values;
	/* finished events of one cpu, not written yet */
	struct gs_buf records;
	uint32_t cpu;
};

struct gs_make_options {
	bool big_endian;       /* target: gs_make_uint stores by it */
	uint8_t pointer_size;  /* 0: 8 */
	uint64_t repeat_bytes; /* as in struct gs_writer_options */
	bool no_index;
	int fd; /* > 0: write there instead of to memory */
};
/* A session, a module "/bin/prog", a process 71 are there already. The file id is fixed. OPTS may
 * be NULL. */
struct gs_make *gs_make_new(const struct gs_make_options *opts);
void gs_make_free(struct gs_make *m);

gs_type_id gs_make_type(struct gs_make *m, const struct gs_type *type);
gs_type_id gs_make_int(struct gs_make *m, const char *name, unsigned size, bool is_signed);
gs_type_id gs_make_char_array(struct gs_make *m); /* `char []', for strings */

uint32_t gs_make_probe(struct gs_make *m, const char *name);
uint32_t gs_make_schema(struct gs_make *m);
/* These return the item's index. Items are added before the schema's first event. */
uint32_t gs_make_item(struct gs_make *m, uint32_t schema, const char *key, gs_type_id type,
		      uint32_t size, uint32_t flags);
uint32_t gs_make_variable(struct gs_make *m, uint32_t schema, const char *key, gs_type_id type,
			  uint32_t max, uint32_t flags);
uint32_t gs_make_string(struct gs_make *m, uint32_t schema, const char *key, uint32_t max);
uint32_t gs_make_site(struct gs_make *m, uint32_t probe, uint32_t schema, const char *func,
		      const char *file, uint32_t line);

/* Begins an event; the one before is finished. */
void gs_make_event(struct gs_make *m, uint64_t time_ns, uint32_t cpu, uint32_t site, uint32_t pid,
		   uint32_t tid, const char *comm);
void gs_make_bytes(struct gs_make *m, uint32_t item, const void *p, size_t n);
void gs_make_uint(struct gs_make *m, uint32_t item, uint64_t v); /* fixed items up to 8 bytes */
/* TRUNCATED and PARTIAL: change the status of an item that has its bytes; others: absent. */
void gs_make_status(struct gs_make *m, uint32_t item, uint8_t status);
void gs_make_fault(struct gs_make *m, uint32_t item, uint64_t address);

/* Writes what there is as a block now (also done when the cpu changes, and at the end). */
void gs_make_flush(struct gs_make *m);
/* Flush, and the bytes so far in m->file: a recording that was not ended. */
void gs_make_sync(struct gs_make *m);
/* End block (LOST events) and index; the bytes in m->file. */
void gs_make_end(struct gs_make *m, uint64_t lost);

#endif
