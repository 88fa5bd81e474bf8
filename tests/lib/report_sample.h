/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings for tests of reports, and running gs-report over them within the test.
 *
 *   struct gs_make *m = report_sample();      two probes, rich types, absences
 *   char *path = report_save(m);              ends it; a file in $TMPDIR, removed at exit
 *   char *out = report_run(path, "--json --limit 1", &status, &err);
 */
#ifndef GS_TESTS_LIB_REPORT_SAMPLE_H
#define GS_TESTS_LIB_REPORT_SAMPLE_H

#include "tests/lib/format_make.h"

/*
 * Probe `handle' (srv.c:31), of 3 events at 1204, 2204, 3204 ns: len, uri, req (a struct), p (a
 * pointer that was followed), fp (a function pointer), x (optimised out). Probe `put' (a.c:7 and
 * a.c:9), of 2 events: len (of another type), n.
 */
struct gs_make *report_sample(void);
char *report_save(struct gs_make *m);
/* As it is after gs_make_sync, and what the test did to m->file. */
char *report_save_bytes(struct gs_make *m);

/* Splits ARGS at blanks, except in '...'. Standard output and error of the run; caller frees. */
char *report_run(const char *path, const char *args, int *status, char **err);

/* Pieces for other recordings. */
struct gs_sample_types {
	gs_type_id i32, u64, u8, plain_char, boolean, f64, char_ptr, flags, req, req_ptr, handler;
};
void report_types(struct gs_make *m, struct gs_sample_types *t);
gs_type_id report_pointer(struct gs_make *m, gs_type_id target);
gs_type_id report_array(struct gs_make *m, gs_type_id elem, uint64_t count, uint64_t stride);
/* A pointee of ITEM at OFFSET: its index. Fixed of SIZE bytes, or a string when SIZE is 0. */
uint32_t report_pointee(struct gs_make *m, uint32_t schema, uint32_t item, uint64_t offset,
			gs_type_id type, uint32_t size);

#endif
