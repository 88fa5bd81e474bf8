/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything that the resolver asks of a module, asked of an ELF file in memory: functions, lines,
 * addresses, variables, types, locations. For the fuzz target and for files that are damaged a
 * little.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/dwarf_internal.h"
#include "tests/lib/record_ask.h"

#define SITES_MAX 8
#define LISTED_MAX 24

static int open_nothing(void *ctx, const char *path)
{
	(void)ctx;
	(void)path;
	return -ENOENT;
}

struct asked {
	struct gs_module *m;
	const char *names[LISTED_MAX];
	size_t n;
};

static void ask_variables(struct gs_context *c, const struct gs_variable *vars, size_t n)
{
	struct gs_location loc;
	struct gs_plan plan;

	gs_plan_init(&plan);
	for (size_t i = 0; i < n; i++) {
		gs_error_free(gs_context_location(c, &vars[i], &plan, &loc));
		gs_context_readable_at(c, &vars[i]);
	}
	gs_plan_deinit(&plan);
}

static void ask_context(struct gs_module *m, struct gs_context *c)
{
	const struct gs_variable *vars;
	struct gs_variable one;
	gs_type_id id;
	size_t n = 0;

	if (!gs_context_args(c, &vars, &n))
		ask_variables(c, vars, n);
	if (!gs_context_locals(c, &vars, &n))
		ask_variables(c, vars, n);
	gs_context_return_type(c);
	if (!gs_context_find(c, NULL, "table", &one))
		ask_variables(c, &one, 1);
	gs_error_free(gs_module_find_type(m, c, "struct node", &id));
	gs_error_free(gs_module_find_type(m, c, "size_t", &id));
}

static void ask_places(struct gs_module *m, const struct gs_places *places)
{
	for (size_t i = 0; i < places->nsites && i < SITES_MAX; i++)
		if (places->sites[i].context)
			ask_context(m, places->sites[i].context);
}

static bool note_function(void *ctx, const struct gs_function_row *row)
{
	struct asked *a = ctx;

	if (a->n < LISTED_MAX)
		a->names[a->n++] = row->name;
	return a->n < LISTED_MAX;
}

static bool note_line(void *ctx, const struct gs_line_row *row)
{
	unsigned *left = ctx;

	(void)row;
	return --*left != 0;
}

static void ask_all(struct gs_module *m)
{
	struct asked a = {.m = m};
	unsigned left = LISTED_MAX;
	struct gs_variable global;
	struct gs_places p;

	gs_error_free(gs_module_list_functions(m, "*", note_function, &a));
	for (size_t i = 0; i < a.n; i++) {
		gs_places_init(&p);
		gs_error_free(gs_module_find_function(m, a.names[i], &p));
		ask_places(m, &p);
		gs_places_deinit(&p);
		gs_places_init(&p);
		gs_error_free(gs_module_find_function_line(m, a.names[i], 1, &p));
		gs_places_deinit(&p);
	}
	gs_error_free(gs_module_list_lines(m, NULL, "a.c", note_line, &left));
	gs_error_free(gs_module_find_global(m, "table", &global));
}

static void ask_some(struct gs_module *m)
{
	static const char *const names[] = {"main", "work", "shop::counter::add", "twice", "box"};
	struct gs_places p;

	for (size_t i = 0; i < GS_ARRAY_SIZE(names); i++) {
		gs_places_init(&p);
		gs_error_free(gs_module_find_function(m, names[i], &p));
		ask_places(m, &p);
		gs_places_deinit(&p);
	}
	for (uint32_t line = 8; line < 24; line += 3) {
		gs_places_init(&p);
		gs_error_free(gs_module_find_line(m, "a.c", line, &p));
		ask_places(m, &p);
		gs_places_deinit(&p);
	}
	for (size_t i = 0; i < m->nsegments && i < 4; i++) {
		gs_places_init(&p);
		gs_error_free(gs_module_find_address(m, m->segments[i].vaddr + 0x40, &p));
		ask_places(m, &p);
		gs_places_deinit(&p);
	}
}

void ask_module(const uint8_t *data, size_t size)
{
	const struct gs_opener opener = {.open_file = open_nothing};
	struct gs_types *types;
	struct gs_module *m = NULL;
	struct gs_error *err;
	int fd;

	if (size < 2)
		return;
	fd = memfd_create("module", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1))
		abort();
	types = gs_types_new();
	err = gs_module_open(fd, "module", &opener, types, &m);
	if (err) {
		gs_error_free(err);
	} else {
		m->index.mode = (enum gs_index_mode)(data[0] % 3);
		ask_some(m);
		if (data[0] & 4)
			ask_all(m);
		gs_module_close(m);
	}
	gs_types_free(types);
	close(fd);
}
