/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture plans as bytes, between the resolver process and the recorder, and as text.
 * In the flow: the resolver writes, the recorder reads (and checks) before it generates.
 */
#include "bpf/plan.h"
#include "bpf/plan_ops.h"
#include "common/mem.h"
#include "format/event.h"

static void write_walks(struct gs_buf *out, const struct gs_plan *p)
{
	gs_put_uleb(out, p->nwalks);
	for (size_t i = 0; i < p->nwalks; i++) {
		const struct gs_plan_walk *w = &p->walks[i];

		gs_put_u8(out, w->form);
		gs_put_u8(out, w->link_size);
		gs_put_u8(out, w->exact);
		gs_put_uleb(out, w->next);
		gs_put_uleb(out, w->payload);
		gs_put_u16(out, w->end);
		gs_put_uleb(out, w->steps);
	}
}

void gs_plan_write(struct gs_buf *out, const struct gs_plan *p)
{
	gs_put_uleb(out, p->nnodes);
	for (size_t i = 0; i < p->nnodes; i++) {
		const struct gs_plan_node *n = &p->nodes[i];

		gs_put_u8(out, n->op);
		gs_put_u8(out, n->size);
		gs_put_u16(out, n->a);
		gs_put_u16(out, n->b);
		gs_put_u16(out, n->c);
		gs_put_sleb(out, n->imm);
	}
	gs_put_uleb(out, p->nitems);
	for (size_t i = 0; i < p->nitems; i++) {
		const struct gs_plan_item *it = &p->items[i];

		gs_put_u8(out, it->kind);
		gs_put_u8(out, it->status);
		gs_put_u8(out, it->flags);
		gs_put_u8(out, it->variable);
		gs_put_u16(out, it->node);
		gs_put_u16(out, it->count);
		gs_put_u16(out, it->parent);
		gs_put_uleb(out, it->parent_need);
		gs_put_uleb(out, it->size);
		gs_put_uleb(out, it->stride);
		gs_put_uleb(out, it->first_piece);
		gs_put_uleb(out, it->npieces);
		gs_put_uleb(out, it->walk);
	}
	gs_put_uleb(out, p->npieces);
	for (size_t i = 0; i < p->npieces; i++) {
		gs_put_uleb(out, p->pieces[i].offset);
		gs_put_uleb(out, p->pieces[i].size);
		gs_put_u16(out, p->pieces[i].node);
		gs_put_u8(out, p->pieces[i].memory);
	}
	write_walks(out, p);
	gs_put_uleb(out, p->data_len);
	gs_buf_append(out, p->data, p->data_len);
	gs_put_u16(out, p->condition);
	gs_put_u8(out, p->kind);
	gs_put_u8(out, p->at_return);
	gs_put_u8(out, p->takes_frame);
	gs_put_u16(out, p->guard);
	gs_put_u16(out, p->frame);
	gs_put_u16(out, p->check);
	gs_put_uleb(out, p->nsaves);
	for (uint32_t i = 0; i < p->nsaves; i++)
		gs_put_u16(out, p->saves[i]);
}

static uint32_t read_u32(struct gs_reader *r)
{
	uint64_t v = gs_read_uleb(r);

	if (v > UINT32_MAX)
		r->bad = true;
	return (uint32_t)v;
}

static uint16_t read_u16(struct gs_reader *r)
{
	uint32_t v = read_u32(r);

	if (v > UINT16_MAX)
		r->bad = true;
	return (uint16_t)v;
}

/* A flag is one bit: any other byte would be another plan that prints as the same. */
static bool read_flag(struct gs_reader *r)
{
	uint8_t v = gs_read_u8(r);

	if (v > 1)
		r->bad = true;
	return v != 0;
}

/* A count of things that take at least LEAST bytes each: never more than what is left can hold. */
static size_t read_count(struct gs_reader *r, size_t least)
{
	uint64_t n = gs_read_uleb(r);

	if (n > gs_reader_left(r) / least) {
		r->bad = true;
		return 0;
	}
	return (size_t)n;
}

static void read_nodes(struct gs_reader *r, struct gs_plan *p)
{
	size_t n = read_count(r, 9);

	for (size_t i = 0; i < n && !r->bad; i++) {
		struct gs_plan_node *node = GS_PUSH(p->nodes, p->nnodes, p->nodes_cap);

		node->op = gs_read_u8(r);
		node->size = gs_read_u8(r);
		node->a = gs_read_u16(r);
		node->b = gs_read_u16(r);
		node->c = gs_read_u16(r);
		node->imm = gs_read_sleb(r);
	}
}

static void read_items(struct gs_reader *r, struct gs_plan *p)
{
	size_t n = read_count(r, 16);

	for (size_t i = 0; i < n && !r->bad; i++) {
		struct gs_plan_item *it = gs_plan_item(p);

		it->kind = gs_read_u8(r);
		it->status = gs_read_u8(r);
		it->flags = gs_read_u8(r);
		it->variable = read_flag(r);
		it->node = gs_read_u16(r);
		it->count = gs_read_u16(r);
		it->parent = gs_read_u16(r);
		it->parent_need = read_u32(r);
		it->size = read_u32(r);
		it->stride = read_u32(r);
		it->first_piece = read_u16(r);
		it->npieces = read_u16(r);
		it->walk = read_u16(r);
	}
}

static void read_pieces(struct gs_reader *r, struct gs_plan *p)
{
	size_t n = read_count(r, 5);

	for (size_t i = 0; i < n && !r->bad; i++) {
		struct gs_plan_piece *piece = GS_PUSH(p->pieces, p->npieces, p->pieces_cap);

		piece->offset = read_u32(r);
		piece->size = read_u32(r);
		piece->node = gs_read_u16(r);
		piece->memory = read_flag(r);
	}
}

static void read_walks(struct gs_reader *r, struct gs_plan *p)
{
	size_t n = read_count(r, 8);

	for (size_t i = 0; i < n && !r->bad; i++) {
		struct gs_plan_walk *w = GS_PUSH(p->walks, p->nwalks, p->walks_cap);

		w->form = gs_read_u8(r);
		w->link_size = gs_read_u8(r);
		w->exact = read_flag(r);
		w->next = read_u32(r);
		w->payload = read_u32(r);
		w->end = gs_read_u16(r);
		w->steps = read_u16(r);
	}
}

static void read_frame(struct gs_reader *r, struct gs_plan *p)
{
	size_t n;

	p->kind = gs_read_u8(r);
	p->at_return = read_flag(r);
	p->takes_frame = read_flag(r);
	p->guard = gs_read_u16(r);
	p->frame = gs_read_u16(r);
	p->check = gs_read_u16(r);
	n = read_count(r, 2);
	if (n > GS_PLAN_MAX_SAVES) {
		r->bad = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		p->saves[i] = gs_read_u16(r);
	p->nsaves = (uint32_t)n;
}

struct gs_error *gs_plan_read(struct gs_reader *r, struct gs_plan *p)
{
	struct gs_error *err;
	const uint8_t *data;
	size_t n;

	gs_plan_init(p);
	read_nodes(r, p);
	read_items(r, p);
	read_pieces(r, p);
	read_walks(r, p);
	n = read_count(r, 1);
	data = gs_read_bytes(r, n);
	if (data && n)
		gs_plan_literal(p, data, n);
	p->condition = gs_read_u16(r);
	read_frame(r, p);
	if (r->bad)
		err = gs_error_new(GS_ERR_DAMAGED, "capture plan: the message is malformed");
	else
		err = gs_plan_check(p);
	if (err)
		gs_plan_deinit(p);
	return err;
}

/* ---- text ---- */

static const char *const reg_names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
					"rbp", "rsp", "r8",  "r9",  "r10", "r11",
					"r12", "r13", "r14", "r15", "rip", "eflags"};
static const char *const builtin_names[] = {"$pid", "$tid", "$cpu", "$time", "$uid", "$site"};

static void print_literal(struct gs_buf *out, const struct gs_plan *p, const struct gs_plan_node *n)
{
	gs_buf_putc(out, '"');
	for (size_t i = 0; i < n->size && (size_t)n->imm + i < p->data_len; i++) {
		uint8_t c = p->data[n->imm + (int64_t)i];

		if (c >= ' ' && c < 0x7f && c != '"' && c != '\\')
			gs_buf_putc(out, (char)c);
		else
			gs_buf_printf(out, "\\x%02x", c);
	}
	gs_buf_putc(out, '"');
}

static void print_leaf(struct gs_buf *out, const struct gs_plan_node *n)
{
	long long imm = n->imm;

	switch (n->op) {
	case GS_OP_CONST:
		if (imm > -4096 && imm < 4096)
			gs_buf_printf(out, "%lld", imm);
		else
			gs_buf_printf(out, "0x%llx", (unsigned long long)imm);
		break;
	case GS_OP_REG:
		gs_buf_puts(out, imm >= 0 && imm <= GS_PLAN_REG_FLAGS ? reg_names[imm] : "reg?");
		break;
	case GS_OP_BUILTIN:
		gs_buf_puts(out, imm >= 0 && imm <= GS_PLAN_SITE ? builtin_names[imm] : "$?");
		break;
	case GS_OP_ITEM:
		gs_buf_printf(out, "i%u[%lld, +%u]", n->a, imm, n->size);
		break;
	case GS_OP_ABSENT:
		gs_buf_printf(out, "<%s>", gs_status_name((unsigned)imm));
		break;
	case GS_OP_SAVED:
		if (imm == GS_SAVED_TIME)
			gs_buf_puts(out, "saved time");
		else
			gs_buf_printf(out, "saved s%lld", imm);
		break;
	default:
		gs_buf_puts(out, gs_plan_op_name(n->op));
	}
}

/* The operand itself when it is a leaf, else its number. */
static void print_ref(struct gs_buf *out, const struct gs_plan *p, uint16_t i)
{
	if (i < p->nnodes && gs_plan_op_operands(p->nodes[i].op) == 0)
		print_leaf(out, &p->nodes[i]);
	else
		gs_buf_printf(out, "n%u", i);
}

static void print_node(struct gs_buf *out, const struct gs_plan *p, const struct gs_plan_node *n)
{
	const char *name = gs_plan_op_name(n->op);

	switch (n->op) {
	case GS_OP_LOAD:
	case GS_OP_ZEXT:
	case GS_OP_SEXT:
		gs_buf_printf(out, "%s%u ", name, n->size * 8u);
		print_ref(out, p, n->a);
		return;
	case GS_OP_NEG:
	case GS_OP_NOT:
	case GS_OP_LNOT:
	case GS_OP_BOOL:
		gs_buf_puts(out, name);
		print_ref(out, p, n->a);
		return;
	case GS_OP_SELECT:
		print_ref(out, p, n->a);
		gs_buf_puts(out, " ? ");
		print_ref(out, p, n->b);
		gs_buf_puts(out, " : ");
		print_ref(out, p, n->c);
		return;
	case GS_OP_STR_EQ:
	case GS_OP_STR_PREFIX:
	case GS_OP_STR_FIND:
		gs_buf_printf(out, "%s ", name);
		print_ref(out, p, n->a);
		gs_buf_putc(out, ' ');
		print_literal(out, p, n);
		return;
	default:
		print_ref(out, p, n->a);
		gs_buf_printf(out, " %s ", name);
		print_ref(out, p, n->b);
		if (n->op >= GS_OP_SHL && n->op <= GS_OP_SMOD && n->size != 8)
			gs_buf_printf(out, " (%u bits)", n->size * 8u);
	}
}

/* "rdi + 16" rather than a number, where the address is that simple. */
static void print_address(struct gs_buf *out, const struct gs_plan *p, uint16_t i)
{
	const struct gs_plan_node *n = i < p->nnodes ? &p->nodes[i] : NULL;

	if (n && n->op == GS_OP_ADD)
		print_node(out, p, n);
	else
		print_ref(out, p, i);
}

static void print_pieces(struct gs_buf *out, const struct gs_plan *p, const struct gs_plan_item *it)
{
	gs_buf_printf(out, "pieces %u", it->size);
	for (size_t k = it->first_piece; k < (size_t)it->first_piece + it->npieces; k++) {
		const struct gs_plan_piece *piece = &p->pieces[k];

		gs_buf_printf(out, "%s [%u, +%u] %s", k == it->first_piece ? "" : ",",
			      piece->offset, piece->size, piece->memory ? "@ " : "= ");
		print_address(out, p, piece->node);
	}
}

static void print_walk(struct gs_buf *out, const struct gs_plan *p, const struct gs_plan_item *it)
{
	const struct gs_plan_walk *w = &p->walks[it->walk];

	gs_buf_printf(out, "%s %u @ ", w->form == GS_WALK_TREE ? "tree" : "list", it->size);
	print_address(out, p, it->node);
	gs_buf_printf(out, ", +%u of each, stride %u, next +%u", w->payload, it->stride, w->next);
	if (w->link_size != 8)
		gs_buf_printf(out, " (%u bytes)", w->link_size);
	if (w->end != GS_NODE_NONE) {
		gs_buf_puts(out, ", end ");
		print_ref(out, p, w->end);
	}
	if (it->count != GS_NODE_NONE) {
		gs_buf_puts(out, w->exact ? ", count " : ", most ");
		print_ref(out, p, it->count);
	}
	gs_buf_printf(out, ", %u steps", w->steps);
}

static void print_item(struct gs_buf *out, const struct gs_plan *p, const struct gs_plan_item *it)
{
	switch (it->kind) {
	case GS_ITEM_ABSENT:
		gs_buf_printf(out, "<%s>", gs_status_name(it->status));
		break;
	case GS_ITEM_VALUE:
		gs_buf_printf(out, "value %u = ", it->size);
		print_address(out, p, it->node);
		break;
	case GS_ITEM_PIECES:
		print_pieces(out, p, it);
		break;
	case GS_ITEM_COMM:
		gs_buf_puts(out, "comm");
		break;
	case GS_ITEM_WALK:
		print_walk(out, p, it);
		break;
	default:
		gs_buf_printf(out, "%s %u @ ",
			      it->kind == GS_ITEM_MEMORY   ? "mem"
			      : it->kind == GS_ITEM_STRING ? "string"
							   : "array",
			      it->size);
		print_address(out, p, it->node);
		if (it->kind == GS_ITEM_ARRAY)
			gs_buf_printf(out, ", stride %u", it->stride);
		if (it->count != GS_NODE_NONE) {
			gs_buf_puts(out, ", count ");
			print_ref(out, p, it->count);
		}
	}
	if (it->flags & GS_ITEM_SKIP_NULL)
		gs_buf_puts(out, ", unless null");
	if (it->parent != GS_NODE_NONE)
		gs_buf_printf(out, ", if i%u has %u bytes", it->parent, it->parent_need);
}

static void print_early(struct gs_buf *out, const struct gs_plan *p, const char *what,
			uint16_t node)
{
	if (node == GS_NODE_NONE)
		return;
	gs_buf_puts(out, what);
	print_address(out, p, node);
	gs_buf_putc(out, '\n');
}

static void print_frame(struct gs_buf *out, const struct gs_plan *p)
{
	print_early(out, p, "hit if ", p->guard);
	print_early(out, p, p->kind == GS_PLAN_ENTRY ? "save at " : "saved at ", p->frame);
	print_early(out, p, "saved s0 must be ", p->check);
	for (uint32_t i = 0; i < p->nsaves; i++) {
		gs_buf_printf(out, "s%u = ", i);
		print_address(out, p, p->saves[i]);
		gs_buf_putc(out, '\n');
	}
}

void gs_plan_print(struct gs_buf *out, const struct gs_plan *p)
{
	for (size_t i = 0; i < p->nnodes; i++) {
		if (gs_plan_op_operands(p->nodes[i].op) == 0)
			continue; /* leaves are shown where they are used */
		gs_buf_printf(out, "n%zu = ", i);
		print_node(out, p, &p->nodes[i]);
		gs_buf_putc(out, '\n');
	}
	print_frame(out, p);
	if (p->condition != GS_NODE_NONE) {
		gs_buf_puts(out, "if ");
		print_ref(out, p, p->condition);
		gs_buf_putc(out, '\n');
	}
	for (size_t i = 0; i < p->nitems; i++) {
		gs_buf_printf(out, "i%zu = ", i);
		print_item(out, p, &p->items[i]);
		gs_buf_putc(out, '\n');
	}
}
