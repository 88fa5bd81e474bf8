/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scopes around a pc, and the variables that are declared in them.
 * Made for every site by place.c; asked by the front end for $args, $locals and names.
 */
#include "record/dwarf_find.h"

/* ---- contexts ---- */

static bool is_function_tag(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static bool is_block_tag(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* The child of DIE that holds the pc; blocks only when INLINED is false. */
static bool child_with_pc(Dwarf_Die *die, uint64_t pc, bool inlined, Dwarf_Die *out)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);

		if ((is_block_tag(tag) || (inlined && tag == DW_TAG_inlined_subroutine)) &&
		    dwarf_haspc(&child, pc) > 0) {
			*out = child;
			return true;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

static struct gs_context *new_context(struct gs_module *m, uint64_t pc, Dwarf_Die *outer)
{
	struct gs_context *c = gs_arena_alloc(&m->arena, sizeof(*c));

	c->m = m;
	c->pc = pc;
	c->scopes = gs_arena_alloc(&m->arena, GS_DIE_DEPTH_MAX * sizeof(*c->scopes));
	c->scopes[c->nscopes++] = *outer;
	if (!dwarf_diecu(outer, &c->cu, NULL, NULL))
		return NULL;
	return c;
}

/*
 * Scopes from the outer function inwards. With TARGET (an inlined instance) nothing inlined into it
 * is entered. With LINE the instances that begin at the pc and were called from that line are not:
 * the line is the caller's.
 */
static bool descend(struct gs_context *c, const Dwarf_Die *target, const char *file, uint32_t line)
{
	bool found = !target || target->addr == c->scopes[0].addr;
	Dwarf_Die at = c->scopes[0], child;
	Dwarf_Addr entry;
	Dwarf_Attribute attr;
	Dwarf_Word called;

	while (c->nscopes < GS_DIE_DEPTH_MAX &&
	       child_with_pc(&at, c->pc, !target || !found, &child)) {
		if (line && dwarf_tag(&child) == DW_TAG_inlined_subroutine &&
		    gs_die_entry(c->m, &child, &entry) && entry == c->pc &&
		    dwarf_attr(&child, DW_AT_call_line, &attr) &&
		    dwarf_formudata(&attr, &called) == 0 && called == line)
			return true;
		c->scopes[c->nscopes++] = child;
		if (dwarf_tag(&child) == DW_TAG_inlined_subroutine)
			c->function = c->nscopes - 1;
		found |= target && target->addr == child.addr;
		at = child;
	}
	return found;
}

struct gs_context *gs_context_new(struct gs_module *m, uint64_t pc, Dwarf_Die *function)
{
	struct gs_context *c;
	Dwarf_Die outer;

	if (function && dwarf_tag(function) == DW_TAG_subprogram)
		outer = *function;
	else if (!gs_index_function_at(m, pc, &outer))
		return NULL;
	c = new_context(m, pc, &outer);
	if (!c)
		return NULL;
	if (!descend(c, function, NULL, 0)) {
		/* The instance is not where its own ranges say: only itself is certain. */
		c->nscopes = 1;
		c->scopes[c->nscopes++] = *function;
		c->function = 1;
	}
	return c;
}

struct gs_context *gs_context_new_line(struct gs_module *m, uint64_t pc, const char *file,
				       uint32_t line)
{
	struct gs_context *c;
	Dwarf_Die outer;

	if (!gs_index_function_at(m, pc, &outer))
		return NULL;
	c = new_context(m, pc, &outer);
	if (c)
		descend(c, NULL, file, line);
	return c;
}

Dwarf_Die *gs_context_function(struct gs_context *c)
{
	return &c->scopes[c->function];
}

uint64_t gs_context_pc(const struct gs_context *c)
{
	return c->pc;
}

gs_type_id gs_context_return_type(struct gs_context *c)
{
	gs_type_id id = GS_TYPE_VOID;

	gs_error_free(gs_type_of(c->m, &c->scopes[0], &id));
	return id;
}

/* ---- variables ---- */

bool gs_definition_of(struct gs_module *m, Dwarf_Die *die, Dwarf_Die *out)
{
	const struct gs_index_entry *e;
	const char *name = dwarf_diename(die), *qualified;

	if (!name)
		return false;
	qualified = gs_qualified_name(m, die);
	for (e = gs_index_first(m, name, gs_name_base_len(name)); e; e = gs_index_next(m, e)) {
		if (e->kind != GS_INDEX_VARIABLE || (e->flags & GS_INDEX_DECLARATION) ||
		    !gs_ref_die(m, e->ref, out))
			continue;
		if (strcmp(gs_qualified_name(m, out), qualified) != 0)
			continue;
		/* A file's own variable of that name is another one, unless this declares it. */
		if ((e->flags & GS_INDEX_EXTERNAL) || dwarf_hasattr(out, DW_AT_specification))
			return true;
	}
	return false;
}

static uint64_t handle_of(struct gs_module *m, Dwarf_Die *die, Dwarf_Die *frame, bool is_param)
{
	const void *key[] = {die->addr, frame ? frame->addr : NULL};
	bool fresh;
	uint64_t *number =
		gs_map_put(&m->variable_numbers, key, sizeof(key), m->nvariables + 1, &fresh);

	if (fresh) {
		struct gs_known_variable v = {.die = *die, .is_param = is_param};

		/* DIE and FRAME can be in the table, which grows. */
		if (frame)
			v.frame = *frame;
		*GS_PUSH(m->variables, m->nvariables, m->variables_cap) = v;
	}
	return *number;
}

static void classify_location(struct gs_module *m, Dwarf_Die *die, struct gs_variable *var)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	Dwarf_Word value;
	const struct gs_type *type;

	if (dwarf_attr_integrate(die, DW_AT_const_value, &attr)) {
		type = gs_type_get(m->types, gs_type_strip(m->types, var->type));
		if (!gs_type_is_integral(m->types, var->type) || type->byte_size > 8)
			return;
		if (attr.form == DW_FORM_sdata || attr.form == DW_FORM_implicit_const
			    ? dwarf_formsdata(&attr, (Dwarf_Sword *)&value) != 0
			    : dwarf_formudata(&attr, &value) != 0)
			return;
		var->flags |= GS_VAR_CONSTANT;
		var->constant = (int64_t)value;
		if (type->byte_size < 8) {
			uint64_t bits = value << (64 - type->byte_size * 8);

			var->constant = gs_type_is_signed(m->types, var->type)
						? (int64_t)bits >> (64 - type->byte_size * 8)
						: (int64_t)(bits >> (64 - type->byte_size * 8));
		}
		return;
	}
	if (!dwarf_attr_integrate(die, DW_AT_location, &attr) ||
	    dwarf_getlocation(&attr, &ops, &n) != 0 || n == 0)
		return;
	if (ops[n - 1].atom == DW_OP_form_tls_address ||
	    ops[n - 1].atom == DW_OP_GNU_push_tls_address)
		var->flags |= GS_VAR_TLS;
	else if (n == 1 && (ops[0].atom == DW_OP_addr || ops[0].atom == DW_OP_addrx ||
			    ops[0].atom == DW_OP_GNU_addr_index))
		var->flags |= GS_VAR_STATIC;
}

/* FRAME: the scope for the frame base, NULL for what has a fixed address. */
struct gs_error *gs_variable_from_die(struct gs_module *m, Dwarf_Die *die, Dwarf_Die *frame,
				      uint32_t flags, struct gs_variable *var)
{
	const char *name = dwarf_diename(die);
	Dwarf_Attribute attr;
	bool artificial = false;
	int line;

	*var = (struct gs_variable){.name = name ? name : "", .flags = flags};
	GS_TRY(gs_type_of(m, die, &var->type));
	if (dwarf_decl_line(die, &line) == 0 && line > 0)
		var->decl_line = (uint32_t)line;
	if (dwarf_attr_integrate(die, DW_AT_artificial, &attr) &&
	    dwarf_formflag(&attr, &artificial) == 0 && artificial)
		var->flags |= GS_VAR_ARTIFICIAL;
	classify_location(m, die, var);
	var->handle = handle_of(m, die, frame, (flags & GS_VAR_PARAM) != 0);
	return NULL;
}

/* ---- lists ---- */

struct variable_list {
	struct gs_context *c;
	struct gs_variable *vars;
	size_t n, cap;
	struct gs_error *err;
};

static bool is_listed(const struct variable_list *l, size_t end, const char *name)
{
	for (size_t i = 0; i < end; i++)
		if (strcmp(l->vars[i].name, name) == 0)
			return true;
	return false;
}

static void list_one(struct variable_list *l, Dwarf_Die *die, size_t scope, uint32_t flags,
		     size_t outer_end)
{
	struct gs_context *c = l->c;
	struct gs_variable var;
	struct gs_error *err;
	const char *name = dwarf_diename(die);

	/* A parameter without a name cannot be asked for, but it takes its place among the
	 * arguments. */
	if (!name && !(flags & GS_VAR_PARAM))
		return;
	if (name && is_listed(l, outer_end, name))
		return;
	err = gs_variable_from_die(c->m, die, &c->scopes[scope], flags, &var);
	if (err) {
		/* One variable whose type is damaged costs only itself. */
		gs_error_free(err);
		return;
	}
	*GS_PUSH(l->vars, l->n, l->cap) = var;
}

static bool is_copy_of(Dwarf_Die *copy, Dwarf_Die *original)
{
	Dwarf_Die link;

	return gs_die_link(copy, DW_AT_abstract_origin, &link) && link.addr == original->addr;
}

/* The child of SCOPE that is the copy of ORIGINAL. */
static bool copy_in(Dwarf_Die *scope, Dwarf_Die *original, Dwarf_Die *copy)
{
	if (dwarf_child(scope, copy) != 0)
		return false;
	do
		if (is_copy_of(copy, original))
			return true;
	while (dwarf_siblingof(copy, copy) == 0);
	return false;
}

static bool is_wanted(Dwarf_Die *die, int tag)
{
	return dwarf_tag(die) == tag && !gs_die_flag(die, DW_AT_declaration);
}

/*
 * Variables of a scope with TAG. A copy of an abstract function may leave out what it has optimised
 * out: the abstract one gives names and order, the copy the locations.
 */
static void list_scope(struct variable_list *l, size_t scope, int tag, uint32_t flags)
{
	Dwarf_Die *die = &l->c->scopes[scope], origin, child, copy;
	size_t before = l->n;
	bool has_origin = gs_die_link(die, DW_AT_abstract_origin, &origin);

	if (has_origin && dwarf_child(&origin, &child) == 0) {
		do
			if (is_wanted(&child, tag))
				list_one(l, copy_in(die, &child, &copy) ? &copy : &child, scope,
					 flags, before);
		while (dwarf_siblingof(&child, &child) == 0);
	}
	if (dwarf_child(die, &child) != 0)
		return;
	do {
		Dwarf_Die link;

		if (!is_wanted(&child, tag))
			continue;
		if (has_origin && gs_die_link(&child, DW_AT_abstract_origin, &link) &&
		    l->n > before &&
		    is_listed(l, l->n, dwarf_diename(&child) ? dwarf_diename(&child) : ""))
			continue;
		list_one(l, &child, scope, flags, before);
	} while (dwarf_siblingof(&child, &child) == 0);
}

struct gs_error *gs_context_args(struct gs_context *c, const struct gs_variable **vars, size_t *n)
{
	struct variable_list l = {.c = c};

	if (!c->has_args) {
		list_scope(&l, c->function, DW_TAG_formal_parameter, GS_VAR_PARAM);
		c->args = gs_arena_memdup(&c->m->arena, l.vars, l.n * sizeof(*l.vars));
		c->nargs = l.n;
		c->has_args = true;
		free(l.vars);
	}
	*vars = c->args;
	*n = c->nargs;
	return NULL;
}

static int compare_lines(const void *pa, const void *pb)
{
	const struct gs_variable *a = pa, *b = pb;

	if (a->decl_line != b->decl_line)
		return a->decl_line < b->decl_line ? -1 : 1;
	return a->handle < b->handle ? -1 : a->handle > b->handle;
}

struct gs_error *gs_context_locals(struct gs_context *c, const struct gs_variable **vars, size_t *n)
{
	struct variable_list l = {.c = c};

	if (!c->has_locals) {
		for (size_t i = c->nscopes; i-- > c->function;)
			list_scope(&l, i, DW_TAG_variable, GS_VAR_LOCAL);
		if (l.n)
			qsort(l.vars, l.n, sizeof(*l.vars), compare_lines);
		c->locals = gs_arena_memdup(&c->m->arena, l.vars, l.n * sizeof(*l.vars));
		c->nlocals = l.n;
		c->has_locals = true;
		free(l.vars);
	}
	*vars = c->locals;
	*n = c->nlocals;
	return NULL;
}

/* ---- names in scopes ---- */

static bool search_scope(struct gs_context *c, size_t scope, Dwarf_Die *parent, const char *name,
			 Dwarf_Die *found)
{
	Dwarf_Die child, link;
	bool any = false;

	if (dwarf_child(parent, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);
		const char *have;

		if (tag == DW_TAG_enumeration_type && !gs_die_flag(&child, DW_AT_enum_class) &&
		    search_scope(c, scope, &child, name, found))
			return true;
		if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter &&
		    tag != DW_TAG_enumerator)
			continue;
		have = dwarf_diename(&child);
		/* The last of a scope wins: it hides the earlier ones. */
		if (have && strcmp(have, name) == 0) {
			*found = child;
			any = true;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	if (!any && gs_die_link(parent, DW_AT_abstract_origin, &link))
		return search_scope(c, scope, &link, name, found);
	return any;
}

bool gs_scope_find(struct gs_context *c, const char *name, Dwarf_Die *found, size_t *scope)
{
	for (size_t i = c->nscopes; i-- > 0;) {
		if (search_scope(c, i, &c->scopes[i], name, found)) {
			*scope = i;
			return true;
		}
		/* What is around an inlined function in the code is not around it in the source. */
		if (is_function_tag(dwarf_tag(&c->scopes[i])))
			return false;
	}
	return false;
}
