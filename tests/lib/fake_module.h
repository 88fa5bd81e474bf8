/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A module made by hand behind the interface of record/module.h: tests of the front end need no ELF
 * and no DWARF. The including test fills fake_vars; one function "f" of "prog" is at 0x1000, "g" at
 * 0x2000.
 */
#ifndef GS_TESTS_FAKE_MODULE_H
#define GS_TESTS_FAKE_MODULE_H

#include "record/module.h"

struct fake_var {
	struct gs_variable var;
	struct gs_location loc[2]; /* at f's first and second site */
	bool hidden[2];		   /* not declared there */
	uint8_t reg;		   /* VALUE and pieces: + 1 of the register, 0: none */
	uint64_t address;	   /* MEMORY */
};

static struct fake_var fake_vars[64];
static size_t fake_nvars;
static struct gs_types *fake_types;
static void (*fake_on_open)(
	void); /* makes the variables: their types are of the resolver's table */

struct gs_module {
	struct gs_module_info info;
};
struct gs_context {
	unsigned site;
};
static struct gs_module fake_module;
static struct gs_context fake_contexts[2] = {{0}, {1}};

struct gs_error *gs_module_open(int fd, const char *path, const struct gs_opener *opener,
				struct gs_types *types, struct gs_module **out)
{
	fake_types = types;
	fake_module.info = (struct gs_module_info){.path = path,
						   .machine = 62,
						   .pointer_size = 8,
						   .has_dwarf = true,
						   .has_symbols = true};
	*out = &fake_module;
	if (fake_on_open)
		fake_on_open();
	return NULL;
}
void gs_module_close(struct gs_module *m)
{
}
const struct gs_module_info *gs_module_info(const struct gs_module *m)
{
	return &m->info;
}
bool gs_module_file_offset(const struct gs_module *m, uint64_t link_addr, uint64_t *offset)
{
	*offset = link_addr;
	return true;
}
size_t gs_module_read(const struct gs_module *m, uint64_t link_addr, void *buf, size_t n)
{
	memset(buf, 0x90, n);
	return n;
}
const char *gs_module_symbol_at(const struct gs_module *m, uint64_t link_addr, uint64_t *offset)
{
	*offset = link_addr & 0xfff;
	return link_addr >= 0x2000 ? "g" : "f";
}
void gs_module_each_symbol(const struct gs_module *m,
			   bool (*fn)(void *ctx, const char *name, uint64_t addr, uint64_t size),
			   void *ctx)
{
	if (fn(ctx, "f", 0x1000, 0x100))
		fn(ctx, "g", 0x2000, 0x100);
}
void gs_places_init(struct gs_places *p)
{
	*p = (struct gs_places){0};
}
void gs_places_deinit(struct gs_places *p)
{
	gs_arena_deinit(&p->arena);
}
/* "f" has two sites, "g" the first of them alone. */
struct gs_error *gs_module_find_function(struct gs_module *m, const char *name,
					 struct gs_places *out)
{
	size_t n = strcmp(name, "f") == 0 ? 2 : strcmp(name, "g") == 0 ? 1 : 0;

	if (!n)
		return gs_error_new(GS_ERR_NOT_FOUND, "there is no function `%s'", name);
	out->sites = gs_arena_alloc(&out->arena, n * sizeof(*out->sites));
	for (size_t i = 0; i < n; i++)
		out->sites[i] = (struct gs_place_site){.link_addr = 0x1000 + i * 16,
						       .natural_addr = 0x1000 + i * 16,
						       .func = name,
						       .inlined_in = i ? "outer" : "",
						       .flags = i ? GS_SITE_INLINED : 0,
						       .file = "dir/prog.c",
						       .line = 10 + (uint32_t)i,
						       .insn = "push rbp",
						       .cost = "emulated",
						       .context = &fake_contexts[i]};
	out->nsites = n;
	return NULL;
}
/* "r" has an entry, a `ret' and a tail call. */
struct gs_error *gs_module_find_returns(struct gs_module *m, const char *name,
					const struct gs_return_options *opts, struct gs_places *out)
{
	static const struct gs_exit_point exits[] = {
		{.kind = GS_EXIT_RET, .condition = GS_EXIT_ALWAYS},
		{.kind = GS_EXIT_TAIL, .condition = GS_EXIT_ALWAYS, .target = "elsewhere"}};

	if (strcmp(name, "r") != 0)
		return gs_error_new(GS_ERR_NOT_FOUND, "there is no function `%s'", name);
	out->sites = gs_arena_alloc(&out->arena, 2 * sizeof(*out->sites));
	out->entries = gs_arena_alloc(&out->arena, sizeof(*out->entries));
	for (size_t i = 0; i < 3; i++)
		*(i ? &out->sites[i - 1] : out->entries) =
			(struct gs_place_site){.link_addr = 0x2000 + i * 16,
					       .natural_addr = 0x2000 + i * 16,
					       .func = name,
					       .inlined_in = "",
					       .file = "dir/prog.c",
					       .line = 20,
					       .insn = i ? "ret" : "push rbp",
					       .cost = "emulated",
					       .exit = i ? &exits[i - 1] : NULL,
					       .context = &fake_contexts[0]};
	out->nsites = 2;
	out->nentries = 1;
	return NULL;
}
bool gs_module_has_thread_locals(const struct gs_module *m)
{
	return false;
}

void gs_module_set_initial(struct gs_module *m)
{
}

const char *gs_module_unwinds(struct gs_module *m)
{
	return NULL;
}
static struct gs_error *fake_nothing(void)
{
	return gs_error_new(GS_ERR_NOT_FOUND, "the fake module has no such place");
}
struct gs_error *gs_module_find_line(struct gs_module *m, const char *file, uint32_t line,
				     struct gs_places *out)
{
	return fake_nothing();
}
struct gs_error *gs_module_find_function_line(struct gs_module *m, const char *function, uint32_t n,
					      struct gs_places *out)
{
	return fake_nothing();
}
struct gs_error *gs_module_find_offset(struct gs_module *m, const char *function, uint64_t offset,
				       struct gs_places *out)
{
	return fake_nothing();
}
struct gs_error *gs_module_find_address(struct gs_module *m, uint64_t link_addr,
					struct gs_places *out)
{
	return fake_nothing();
}
void gs_module_feed_functions(struct gs_module *m, struct gs_nearest *near)
{
	gs_nearest_feed(near, "f");
}
struct gs_error *gs_module_list_functions(struct gs_module *m, const char *glob,
					  bool (*fn)(void *ctx, const struct gs_function_row *row),
					  void *ctx)
{
	static const struct gs_function_row row = {
		.name = "f", .file = "prog.c", .line = 10, .ncopies = 1, .ninlined = 1};

	if (gs_glob_match(glob, "f"))
		fn(ctx, &row);
	return NULL;
}
struct gs_error *gs_module_list_lines(struct gs_module *m, const char *function, const char *file,
				      bool (*fn)(void *ctx, const struct gs_line_row *row),
				      void *ctx)
{
	static const struct gs_line_row rows[] = {
		{.file = "prog.c", .line = 10, .nsites = 1},
		{.file = "prog.c", .line = 11, .nsites = 2, .doubt = "its loop is vectorised"}};

	if (function && strcmp(function, "f") != 0)
		return fake_nothing();
	if (fn(ctx, &rows[0]))
		fn(ctx, &rows[1]);
	return NULL;
}

static const struct gs_variable *fake_list(unsigned site, uint32_t flag, size_t *n)
{
	static struct gs_variable lists[4][64];
	struct gs_variable *list = lists[site * 2 + (flag == GS_VAR_LOCAL)];

	*n = 0;
	for (size_t i = 0; i < fake_nvars; i++)
		if ((fake_vars[i].var.flags & flag) && !fake_vars[i].hidden[site])
			list[(*n)++] = fake_vars[i].var;
	return list;
}
struct gs_error *gs_context_args(struct gs_context *c, const struct gs_variable **vars, size_t *n)
{
	*vars = fake_list(c->site, GS_VAR_PARAM, n);
	return NULL;
}
struct gs_error *gs_context_locals(struct gs_context *c, const struct gs_variable **vars, size_t *n)
{
	*vars = fake_list(c->site, GS_VAR_LOCAL, n);
	return NULL;
}
struct gs_error *gs_context_find(struct gs_context *c, const char *qualifier, const char *name,
				 struct gs_variable *var)
{
	for (size_t i = 0; i < fake_nvars; i++) {
		if (strcmp(fake_vars[i].var.name, name) == 0 && !fake_vars[i].hidden[c->site]) {
			*var = fake_vars[i].var;
			var->handle = i;
			return NULL;
		}
	}
	return gs_error_new(GS_ERR_NOT_FOUND, "no variable `%s' in scope", name);
}
struct gs_error *gs_module_find_global(struct gs_module *m, const char *name,
				       struct gs_variable *var)
{
	return fake_nothing();
}
struct gs_error *gs_module_find_type(struct gs_module *m, struct gs_context *c, const char *name,
				     gs_type_id *id)
{
	return gs_error_new(GS_ERR_NOT_FOUND, "no type `%s'", name);
}
struct gs_error *gs_context_dimension(struct gs_context *c, const struct gs_variable *var,
				      unsigned step, struct gs_plan *plan, struct gs_location *out)
{
	*out = (struct gs_location){.kind = GS_LOC_ABSENT,
				    .status = GS_STATUS_UNAVAILABLE,
				    .node = GS_NODE_NONE,
				    .reason = "its length is not known here"};
	return NULL;
}
static gs_type_id fake_return_type; /* in rax */
gs_type_id gs_context_return_type(struct gs_context *c)
{
	return fake_return_type;
}
void gs_context_return_value(struct gs_context *c, struct gs_plan *plan, struct gs_location *out)
{
	*out = (struct gs_location){.kind = GS_LOC_VALUE};
	out->node = gs_plan_node(plan, GS_OP_REG, 8, GS_NODE_NONE, GS_NODE_NONE, 0);
}
struct gs_error *gs_context_location(struct gs_context *c, const struct gs_variable *var,
				     struct gs_plan *plan, struct gs_location *out)
{
	for (size_t i = 0; i < fake_nvars; i++) {
		struct fake_var *v = &fake_vars[i];

		if (strcmp(v->var.name, var->name) != 0)
			continue;
		*out = v->loc[c->site];
		if (out->kind == GS_LOC_MEMORY)
			out->node = gs_plan_node(
				plan, GS_OP_ADD, 8,
				gs_plan_node(plan, GS_OP_BIAS, 8, GS_NODE_NONE, GS_NODE_NONE, 0),
				gs_plan_const(plan, (int64_t)v->address), 0);
		if (out->kind == GS_LOC_VALUE)
			out->node = gs_plan_node(plan, GS_OP_REG, 8, GS_NODE_NONE, GS_NODE_NONE,
						 v->reg - 1);
		/* Pieces of kind VALUE name their register in node until now. */
		if (out->kind == GS_LOC_PIECES) {
			static struct gs_location_piece pieces[64][8];

			memcpy(pieces[i], out->pieces, out->npieces * sizeof(*out->pieces));
			out->pieces = pieces[i];
			for (size_t k = 0; k < out->npieces; k++)
				if (pieces[i][k].kind == GS_LOC_VALUE)
					pieces[i][k].node =
						gs_plan_node(plan, GS_OP_REG, 8, GS_NODE_NONE,
							     GS_NODE_NONE, pieces[i][k].node);
		}
		return NULL;
	}
	return gs_error_new(GS_ERR_DAMAGED, "no location for `%s'", var->name);
}
uint64_t gs_context_pc(const struct gs_context *c)
{
	return 0x1000;
}
const char *gs_context_readable_at(struct gs_context *c, const struct gs_variable *var)
{
	return "prog.c:12";
}

#endif
