/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names that an expression may use at one site: variables, types, registers, built-ins.
 * Between the type checker, which asks for names, and the lowering, which asks where they are.
 */
#include <stdio.h>

#include "record/resolver.h"

/* ---- types that need no debug information ---- */

static struct gs_error *add_uint(struct gs_site *site, unsigned size, gs_type_id *id)
{
	const char *name = size == 1   ? "unsigned char"
			   : size == 2 ? "unsigned short"
			   : size == 4 ? "unsigned int"
				       : "unsigned long";

	if (size == 8 && site->pointer_size == 4)
		name = "unsigned long long";
	return gs_types_add(site->r->types,
			    &(struct gs_type){.kind = GS_KIND_INT,
					      .name = name,
					      .byte_size = size,
					      .flags = size == 1 ? GS_TYPE_CHAR : 0},
			    id);
}

static struct gs_error *add_int(struct gs_site *site, gs_type_id *id)
{
	return gs_types_add(site->r->types,
			    &(struct gs_type){.kind = GS_KIND_INT,
					      .name = "int",
					      .byte_size = 4,
					      .flags = GS_TYPE_SIGNED},
			    id);
}

static struct gs_error *add_pointer(struct gs_site *site, gs_type_id target, gs_type_id *id)
{
	return gs_types_add(site->r->types,
			    &(struct gs_type){.kind = GS_KIND_POINTER,
					      .target = target,
					      .byte_size = site->pointer_size},
			    id);
}

/* void (*)(): what a code address is, so that reports can name it. */
static struct gs_error *add_code_pointer(struct gs_site *site, gs_type_id *id)
{
	gs_type_id function;

	GS_TRY(gs_types_add(site->r->types, &(struct gs_type){.kind = GS_KIND_FUNCTION},
			    &function));
	return add_pointer(site, function, id);
}

static struct gs_error *add_text(struct gs_site *site, uint64_t count, gs_type_id *id)
{
	gs_type_id character;

	GS_TRY(gs_types_add(
		site->r->types,
		&(struct gs_type){.kind = GS_KIND_INT,
				  .name = "char",
				  .byte_size = 1,
				  .flags = GS_TYPE_SIGNED | GS_TYPE_CHAR | GS_TYPE_PLAIN_CHAR},
		&character));
	return gs_types_add(
		site->r->types,
		&(struct gs_type){
			.kind = GS_KIND_ARRAY, .target = character, .count = count, .stride = 1},
		id);
}

/* ---- registers ---- */

static const char *const wide_names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
					 "rbp", "rsp", "r8",  "r9",  "r10", "r11",
					 "r12", "r13", "r14", "r15", "rip"};
/* The parts of the first eight, in DWARF's order. */
static const char *const low_names[4][8] = {
	{"eax", "edx", "ecx", "ebx", "esi", "edi", "ebp", "esp"},
	{"ax", "dx", "cx", "bx", "si", "di", "bp", ""},
	{"al", "dl", "cl", "bl", "sil", "dil", "bpl", "spl"},
	{"ah", "dh", "ch", "bh", "", "", "", ""}};
static const uint8_t low_sizes[4] = {4, 2, 1, 1};

static void set_register(struct gs_operand *o, unsigned number, unsigned size, unsigned shift)
{
	o->kind = GS_OPERAND_REGISTER;
	o->number = number;
	o->size = (uint8_t)size;
	o->shift = (uint8_t)shift;
}

/* r8d, r8w, r8b ... */
static bool find_numbered(const char *name, struct gs_operand *o)
{
	unsigned number;
	char suffix = 0, more;

	if (sscanf(name, "r%2u%c%c", &number, &suffix, &more) != 2 || number < 8 || number > 15)
		return false;
	if (suffix != 'd' && suffix != 'w' && suffix != 'b')
		return false;
	set_register(o, number, suffix == 'd' ? 4 : suffix == 'w' ? 2 : 1, 0);
	return true;
}

static bool find_register(const struct gs_site *site, const char *name, struct gs_operand *o)
{
	uint8_t whole = site->pointer_size;

	if (strcmp(name, "pc") == 0 || strcmp(name, "eip") == 0) {
		set_register(o, 16, whole, 0);
		return true;
	}
	if (strcmp(name, "sp") == 0 || strcmp(name, "fp") == 0) {
		set_register(o, name[0] == 's' ? 7 : 6, whole, 0);
		return true;
	}
	for (unsigned i = 0; whole == 8 && i < GS_ARRAY_SIZE(wide_names); i++) {
		if (strcmp(name, wide_names[i]) == 0) {
			set_register(o, i, 8, 0);
			return true;
		}
	}
	for (unsigned row = 0; row < 4; row++) {
		for (unsigned i = 0; i < 8; i++) {
			if (*low_names[row][i] && strcmp(name, low_names[row][i]) == 0) {
				set_register(o, i, low_sizes[row], row == 3 ? 8 : 0);
				return true;
			}
		}
	}
	return whole == 8 && find_numbered(name, o);
}

bool gs_site_register(struct gs_site *site, unsigned i, struct gs_operand *out)
{
	*out = (struct gs_operand){0};
	if (site->pointer_size == 8) {
		if (i >= GS_ARRAY_SIZE(wide_names))
			return false;
		out->name = wide_names[i];
		set_register(out, i, 8, 0);
		return true;
	}
	if (i > 8)
		return false;
	out->name = i == 8 ? "eip" : low_names[0][i];
	set_register(out, i == 8 ? 16 : i, 4, 0);
	return true;
}

/* ---- built-ins ---- */

static const struct {
	const char *name;
	enum gs_plan_builtin value;
	uint8_t size;
	bool is_signed;
} values[] = {
	{"pid", GS_PLAN_PID, 4, true},	{"tid", GS_PLAN_TID, 4, true},
	{"cpu", GS_PLAN_CPU, 4, true},	{"time", GS_PLAN_TIME, 8, false},
	{"uid", GS_PLAN_UID, 4, false}, {"site", GS_PLAN_SITE, 4, false},
};

static bool find_value(const char *name, struct gs_operand *o)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(values); i++) {
		if (strcmp(name, values[i].name) != 0)
			continue;
		o->kind = GS_OPERAND_VALUE;
		o->number = values[i].value;
		o->size = values[i].size;
		return true;
	}
	return false;
}

/* $arg1 to $arg99; false if NAME is not of that form. */
static bool find_argument(const char *name, struct gs_operand *o)
{
	unsigned n = 0;

	if (strncmp(name, "arg", 3) != 0 || name[3] < '1' || name[3] > '9')
		return false;
	for (const char *p = name + 3; *p; p++) {
		if (*p < '0' || *p > '9' || n > 9)
			return false;
		n = n * 10 + (unsigned)(*p - '0');
	}
	o->kind = GS_OPERAND_ARGUMENT;
	o->number = n - 1;
	return true;
}

struct gs_error *gs_site_operand_type(struct gs_site *site, const struct gs_operand *o,
				      gs_type_id *type)
{
	switch (o->kind) {
	case GS_OPERAND_VARIABLE:
		*type = o->var.type;
		return NULL;
	case GS_OPERAND_REGISTER:
		if (strcmp(o->name, "pc") == 0)
			return add_code_pointer(site, type);
		if (strcmp(o->name, "sp") == 0 || strcmp(o->name, "fp") == 0)
			return add_pointer(site, GS_TYPE_VOID, type);
		return add_uint(site, o->size, type);
	case GS_OPERAND_VALUE:
		if (o->number == GS_PLAN_PID || o->number == GS_PLAN_TID ||
		    o->number == GS_PLAN_CPU)
			return add_int(site, type);
		return add_uint(site, o->size, type);
	case GS_OPERAND_COMM:
		return add_text(site, 16, type);
	case GS_OPERAND_TEXT:
		return add_text(site, strlen(site->place->func) + 1, type);
	case GS_OPERAND_ARGUMENT:
		return add_uint(site, site->pointer_size, type);
	case GS_OPERAND_CALLER:
		return add_code_pointer(site, type);
	case GS_OPERAND_RETVAL:
		/* Without debug information the register, whatever it means. */
		if (!site->place->context)
			return add_uint(site, site->pointer_size, type);
		*type = gs_context_return_type(site->place->context);
		return NULL;
	case GS_OPERAND_DURATION:
		return add_uint(site, 8, type);
	}
	return gs_error_new(GS_ERR_INTERNAL, "operand %d has no type", (int)o->kind);
}

static struct gs_error *unknown_builtin(const char *name)
{
	static const char *const others[] = {"comm", "func", "caller", "args", "locals",
					     "regs", "pc",   "sp",     "arg1"};
	struct gs_nearest near = {.wanted = name};
	struct gs_error *err =
		gs_error_new(GS_ERR_USAGE, "there is no built-in or register called `$%s'", name);

	for (size_t i = 0; i < GS_ARRAY_SIZE(values); i++)
		gs_nearest_feed(&near, values[i].name);
	for (size_t i = 0; i < GS_ARRAY_SIZE(wide_names); i++)
		gs_nearest_feed(&near, wide_names[i]);
	for (size_t i = 0; i < GS_ARRAY_SIZE(others); i++)
		gs_nearest_feed(&near, others[i]);
	GS_CLEANUP_FREE char *hint = gs_nearest_hint(&near);

	gs_nearest_deinit(&near);
	return hint ? gs_error_hint(err, "%s", hint) : err;
}

/* Built-ins that exist, but not here. */
static struct gs_error *refuse_builtin(const char *name)
{
	if (strcmp(name, "args") == 0 || strcmp(name, "locals") == 0 || strcmp(name, "regs") == 0)
		return gs_error_new(GS_ERR_USAGE,
				    "`$%s' stands for several items: it is an item alone, not a "
				    "part of an expression",
				    name);
	return NULL;
}

static struct gs_error *find_result(struct gs_site *site, const char *name, struct gs_operand *o,
				    bool *found)
{
	bool is_retval = strcmp(name, "retval") == 0;

	*found = is_retval || strcmp(name, "duration") == 0;
	if (!*found)
		return NULL;
	if (!site->place->exit)
		return gs_error_hint(gs_error_new(GS_ERR_USAGE,
						  "`$%s' is only known at the return of a function",
						  name),
				     "FUNCTION%%return is the place for it");
	if (is_retval && site->place->context &&
	    gs_context_return_type(site->place->context) == GS_TYPE_VOID)
		return gs_error_new(GS_ERR_USAGE, "`%s' returns nothing (void)", site->place->func);
	o->kind = is_retval ? GS_OPERAND_RETVAL : GS_OPERAND_DURATION;
	return NULL;
}

static struct gs_error *find_special(struct gs_site *site, const char *name, struct gs_operand *o,
				     bool *found)
{
	*found = true;
	if (strcmp(name, "comm") == 0) {
		o->kind = GS_OPERAND_COMM;
	} else if (strcmp(name, "func") == 0) {
		o->kind = GS_OPERAND_TEXT;
	} else if (strcmp(name, "caller") == 0) {
		o->kind = GS_OPERAND_CALLER;
	} else if (find_argument(name, o)) {
		if (!site->at_entry)
			return gs_error_new(GS_ERR_UNSUPPORTED,
					    "`$%s' is read by the calling convention: only at the "
					    "entry of a function that is not inlined%s",
					    name,
					    site->place->exit ? " (here in $entry(...))" : "");
	} else {
		*found = false;
	}
	return NULL;
}

static struct gs_error *find_builtin(void *ctx, const char *name, struct gs_symbol *sym)
{
	struct gs_site *site = ctx;
	struct gs_operand o = {.name = gs_arena_strdup(&site->r->arena, name)};
	struct gs_error *err = refuse_builtin(name);
	bool found;

	if (err)
		return err;
	if (site->in_entry)
		return find_builtin(site->entry, name, sym);
	GS_TRY(find_result(site, name, &o, &found));
	if (!found)
		GS_TRY(find_special(site, name, &o, &found));
	if (!found && !find_value(name, &o) && !find_register(site, name, &o))
		return unknown_builtin(name);
	GS_TRY(gs_site_operand_type(site, &o, &sym->type));
	sym->is_register = true;
	sym->binding = gs_site_bind(site, &o);
	return NULL;
}

/* ---- variables and types ---- */

/* In a C++ method, members come between locals and what is outside of the function. */
static bool hidden_by_member(struct gs_site *site, const struct gs_variable *var)
{
	struct gs_variable self;
	struct gs_error *err;
	struct gs_types *types = site->r->types;
	const struct gs_type *type;

	if (var->flags & (GS_VAR_PARAM | GS_VAR_LOCAL))
		return false;
	err = gs_context_find(site->place->context, NULL, "this", &self);
	if (err) {
		gs_error_free(err);
		return false;
	}
	type = gs_type_get(types, gs_type_strip(types, self.type));
	return type->kind == GS_KIND_POINTER &&
	       gs_type_find_member(types, gs_type_strip(types, type->target), var->name,
				   strlen(var->name), NULL, NULL, NULL);
}

static struct gs_error *no_debug_info(const struct gs_site *site, const char *name)
{
	const struct gs_module_info *info = gs_module_info(site->module->m);
	struct gs_error *err;

	if (info->debug_problem)
		return gs_error_new(GS_ERR_NOT_FOUND, "`%s' is not known: %s", name,
				    info->debug_problem);
	err = gs_error_new(GS_ERR_NOT_FOUND, "`%s' is not known: %s has no debug information", name,
			   site->module->path);
	return gs_error_hint(err, "without it there are $arg1 ... at a function's entry, and "
				  "registers such as $rdi");
}

static struct gs_error *find_name(void *ctx, const char *qualifier, const char *name,
				  struct gs_symbol *sym)
{
	struct gs_site *site = ctx;
	struct gs_operand o = {.kind = GS_OPERAND_VARIABLE};

	if (site->in_entry)
		return find_name(site->entry, qualifier, name, sym);
	if (site->place->context)
		GS_TRY(gs_context_find(site->place->context, qualifier, name, &o.var));
	else if (gs_module_info(site->module->m)->has_dwarf)
		GS_TRY(gs_module_find_global(site->module->m, name, &o.var));
	else
		return no_debug_info(site, name);
	if (site->place->context && !qualifier && hidden_by_member(site, &o.var))
		return gs_error_new(GS_ERR_NOT_FOUND, "`%s' is a member of *this", name);
	o.name = o.var.name;
	sym->type = o.var.type;
	sym->is_constant = (o.var.flags & GS_VAR_CONSTANT) != 0;
	sym->value = o.var.constant;
	sym->binding = gs_site_bind(site, &o);
	return NULL;
}

static void set_in_entry(void *ctx, bool inside)
{
	struct gs_site *site = ctx;

	site->in_entry = inside && site->entry;
}

static struct gs_error *find_type(void *ctx, const char *name, gs_type_id *id)
{
	struct gs_site *site = ctx;

	if (!gs_module_info(site->module->m)->has_dwarf)
		return gs_error_new(GS_ERR_NOT_FOUND,
				    "type `%s' is not known: %s has no debug information", name,
				    site->module->path);
	return gs_module_find_type(site->module->m, site->place->context, name, id);
}

static bool is_type(void *ctx, const char *name, size_t len)
{
	struct gs_site *site = ctx;
	GS_CLEANUP_FREE char *copy = gs_strndup(name, len);
	struct gs_variable var;
	gs_type_id id;
	struct gs_error *err = find_type(ctx, copy, &id);

	if (err) {
		gs_error_free(err);
		return false;
	}
	/* C: a variable hides a type of the same name. */
	if (!site->place->context)
		return true;
	err = gs_context_find(site->place->context, NULL, copy, &var);
	if (!err)
		return false;
	gs_error_free(err);
	return true;
}

/* ---- the site ---- */

/* Only endbr64 (or endbr32) between the beginning of the function and the probe. */
static bool only_landing_pad(const struct gs_site *site)
{
	const struct gs_place_site *p = site->place;
	uint8_t code[4];

	if (p->link_addr == p->natural_addr)
		return true;
	if (p->link_addr != p->natural_addr + 4 ||
	    gs_module_read(site->module->m, p->natural_addr, code, 4) != 4)
		return false;
	return code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e &&
	       (code[3] == 0xfa || code[3] == 0xfb);
}

void gs_site_init(struct gs_site *site, struct gs_resolver *r, struct gs_loaded *module,
		  const struct gs_place_site *place)
{
	uint64_t offset = 1;

	*site = (struct gs_site){.r = r, .module = module, .place = place};
	site->pointer_size = gs_module_info(module->m)->pointer_size;
	/* A function's symbol begins here, and nothing of it ran yet. */
	site->at_entry = !(place->flags & GS_SITE_INLINED) &&
			 gs_module_symbol_at(module->m, place->natural_addr, &offset) &&
			 offset == 0 && only_landing_pad(site);
}

void gs_site_assume_entry(struct gs_site *site)
{
	site->at_entry = !(site->place->flags & GS_SITE_INLINED) && only_landing_pad(site);
}

void gs_site_deinit(struct gs_site *site)
{
	free(site->operands);
	site->operands = NULL;
}

uint64_t gs_site_bind(struct gs_site *site, const struct gs_operand *operand)
{
	*GS_PUSH(site->operands, site->noperands, site->operands_cap) = *operand;
	return site->noperands;
}

struct gs_error *gs_site_check(struct gs_site *site, const char *text, size_t start, size_t len,
			       bool is_condition, struct gs_expr **out)
{
	struct gs_parse_hooks hooks = {is_type, site};
	struct gs_scope scope = {.types = site->r->types,
				 .pointer_size = site->pointer_size,
				 .has_lengths = true,
				 .ctx = site,
				 .find_name = find_name,
				 .find_builtin = find_builtin,
				 .find_type = find_type,
				 .in_entry = set_in_entry};
	struct gs_expr *e;
	size_t stop = start;

	site->in_entry = false; /* an error may have left it */
	GS_TRY(gs_expr_parse(&site->r->arena, text, start, &hooks, &stop, &e));
	if (stop < start + len)
		return gs_error_at(
			gs_error_new(GS_ERR_USAGE, "unexpected text after the expression"), text,
			stop, start + len - stop);
	if (is_condition)
		GS_TRY(gs_expr_check_scalar(&e, "the condition", text, &site->r->arena, &scope));
	else
		GS_TRY(gs_expr_check(e, text, &site->r->arena, &scope));
	*out = e;
	return NULL;
}
