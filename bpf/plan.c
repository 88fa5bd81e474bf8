/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture plans: building them, and checking those that come from elsewhere.
 * In the flow: record/ builds plans from DWARF and expressions, the generator compiles them.
 */
#include "bpf/plan.h"

#include "bpf/plan_ops.h"
#include "common/mem.h"
#include "format/event.h"

/* What the generator can walk: nesting of one expression, and its size when shared nodes are
 * written out at each use. */
#define MAX_DEPTH 200u
#define MAX_TREE 20000u
#define MAX_COMPOSITE 4096u
#define MAX_DATA (1u << 20)
#define MAX_STEPS 1024u
#define MAX_NODE_BYTES 65536u

void gs_plan_init(struct gs_plan *p)
{
	*p = (struct gs_plan){.condition = GS_NODE_NONE,
			      .guard = GS_NODE_NONE,
			      .frame = GS_NODE_NONE,
			      .check = GS_NODE_NONE};
}

void gs_plan_deinit(struct gs_plan *p)
{
	free(p->nodes);
	free(p->items);
	free(p->pieces);
	free(p->walks);
	free(p->data);
	gs_plan_init(p);
}

static uint16_t append(struct gs_plan *p, const struct gs_plan_node *node)
{
	for (size_t i = p->nnodes; i-- > 0;)
		if (memcmp(&p->nodes[i], node, sizeof(*node)) == 0)
			return (uint16_t)i;
	if (p->nnodes >= GS_PLAN_MAX_NODES)
		return GS_NODE_NONE;
	*GS_PUSH(p->nodes, p->nnodes, p->nodes_cap) = *node;
	return (uint16_t)(p->nnodes - 1);
}

static const struct gs_plan_node *node_at(const struct gs_plan *p, uint16_t i)
{
	return i < p->nnodes ? &p->nodes[i] : NULL;
}

static bool is_const(const struct gs_plan *p, uint16_t i, int64_t *v)
{
	const struct gs_plan_node *n = node_at(p, i);

	if (!n || n->op != GS_OP_CONST)
		return false;
	*v = n->imm;
	return true;
}

/* x + c1 + c2 is what DWARF gives for a member of a variable in a frame: one addition is enough. */
static bool fold_sum(struct gs_plan *p, enum gs_plan_op op, uint16_t a, int64_t y, uint16_t *out)
{
	const struct gs_plan_node *n = node_at(p, a);
	uint64_t sum = op == GS_OP_SUB ? 0 - (uint64_t)y : (uint64_t)y;
	int64_t inner;

	if (n && n->op == GS_OP_ADD && is_const(p, n->b, &inner)) {
		sum += (uint64_t)inner;
		a = n->a;
	}
	if (sum == 0)
		*out = a;
	else
		*out = append(p, &(struct gs_plan_node){GS_OP_ADD, 8, a,
							gs_plan_const(p, (int64_t)sum),
							GS_NODE_NONE, 0});
	return true;
}

/* Operand b of a control operation must not be taken for evaluated: only a decides. */
static bool fold_control(struct gs_plan *p, enum gs_plan_op op, uint16_t a, uint16_t b,
			 uint16_t *out)
{
	int64_t x;

	if (!is_const(p, a, &x))
		return false;
	if ((op == GS_OP_LAND) == (x != 0))
		*out = gs_plan_node(p, GS_OP_BOOL, 8, b, GS_NODE_NONE, 0);
	else
		*out = gs_plan_const(p, op == GS_OP_LOR);
	return true;
}

static bool fold(struct gs_plan *p, enum gs_plan_op op, unsigned size, uint16_t a, uint16_t b,
		 uint16_t *out)
{
	unsigned status = GS_STATUS_OK;
	int64_t x, y = 0;
	uint64_t v;

	if (op == GS_OP_LAND || op == GS_OP_LOR)
		return fold_control(p, op, a, b, out);
	if ((op == GS_OP_ADD || op == GS_OP_SUB) && !is_const(p, a, &x) && is_const(p, b, &y))
		return fold_sum(p, op, a, y, out);
	if (op == GS_OP_ADD && is_const(p, a, &x) && !is_const(p, b, &y))
		return fold_sum(p, op, b, x, out);
	if (!gs_plan_op_is_pure(op) || !is_const(p, a, &x))
		return false;
	if (gs_plan_op_is_binary(op) && !is_const(p, b, &y))
		return false;
	v = gs_plan_op_apply(op, size, (uint64_t)x, (uint64_t)y, &status);
	if (status == GS_STATUS_OK)
		*out = gs_plan_const(p, (int64_t)v);
	else
		*out = gs_plan_node(p, GS_OP_ABSENT, 8, GS_NODE_NONE, GS_NODE_NONE, status);
	return true;
}

uint16_t gs_plan_node(struct gs_plan *p, enum gs_plan_op op, unsigned size, uint16_t a, uint16_t b,
		      int64_t imm)
{
	bool unary = gs_plan_op_is_unary(op) || op == GS_OP_STR_EQ || op == GS_OP_STR_PREFIX ||
		     op == GS_OP_STR_FIND;
	bool binary = gs_plan_op_is_binary(op) || op == GS_OP_LAND || op == GS_OP_LOR;
	uint16_t folded;

	/* A node that found no room must stay visible in what is built on it. */
	if ((unary || binary) && a >= p->nnodes)
		return GS_NODE_NONE;
	if (binary && b >= p->nnodes)
		return GS_NODE_NONE;
	if ((unary || binary) && fold(p, op, size, a, b, &folded))
		return folded;
	return append(p,
		      &(struct gs_plan_node){(uint8_t)op, (uint8_t)size, a, b, GS_NODE_NONE, imm});
}

uint16_t gs_plan_select(struct gs_plan *p, uint16_t a, uint16_t b, uint16_t c)
{
	int64_t x;

	if (a >= p->nnodes || b >= p->nnodes || c >= p->nnodes)
		return GS_NODE_NONE;
	if (is_const(p, a, &x))
		return x ? b : c;
	return append(p, &(struct gs_plan_node){GS_OP_SELECT, 8, a, b, c, 0});
}

unsigned gs_plan_save(struct gs_plan *p, uint16_t node)
{
	for (uint32_t i = 0; i < p->nsaves; i++)
		if (p->saves[i] == node)
			return i;
	if (p->nsaves == GS_PLAN_MAX_SAVES)
		return GS_PLAN_MAX_SAVES;
	p->saves[p->nsaves] = node;
	return p->nsaves++;
}

uint32_t gs_plan_literal(struct gs_plan *p, const void *bytes, size_t n)
{
	uint32_t at = (uint32_t)p->data_len;

	p->data = gs_realloc(p->data, p->data_len + n + 1, 1);
	memcpy(p->data + at, bytes, n);
	p->data_len += n;
	return at;
}

struct gs_plan_item *gs_plan_item(struct gs_plan *p)
{
	struct gs_plan_item *item = GS_PUSH(p->items, p->nitems, p->items_cap);

	item->node = item->count = item->parent = GS_NODE_NONE;
	return item;
}

struct gs_error *gs_plan_layout(const struct gs_plan *p, struct gs_layout *out)
{
	GS_CLEANUP_FREE struct gs_layout_item *items = gs_calloc(p->nitems, sizeof(*items));

	for (size_t i = 0; i < p->nitems; i++)
		items[i] = (struct gs_layout_item){p->items[i].variable, p->items[i].size};
	return gs_layout_init(out, items, p->nitems);
}

/* ---- checks ---- */

static struct gs_error *malformed(const char *what, size_t i)
{
	return gs_error_new(GS_ERR_DAMAGED, "capture plan: %s %zu is malformed", what, i);
}

static bool size_is_integer(unsigned size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool leaf_is_valid(const struct gs_plan *p, const struct gs_plan_node *n)
{
	switch (n->op) {
	case GS_OP_REG:
		return n->imm >= 0 && n->imm <= GS_PLAN_REG_FLAGS;
	case GS_OP_BUILTIN:
		return n->imm >= 0 && n->imm <= GS_PLAN_SITE;
	case GS_OP_ABSENT:
		return n->imm > 0 && n->imm < GS_STATUS_COUNT &&
		       !gs_status_has_data((unsigned)n->imm);
	case GS_OP_SAVED:
		return n->imm >= GS_SAVED_TIME && n->imm < (int64_t)GS_PLAN_MAX_SAVES &&
		       p->frame != GS_NODE_NONE;
	case GS_OP_ITEM:
		return n->a < p->nitems && n->size >= 1 && n->size <= 8 && n->imm >= 0 &&
		       n->imm <= GS_EVENT_MAX_LEN;
	default:
		return true;
	}
}

static bool size_is_valid(const struct gs_plan *p, const struct gs_plan_node *n)
{
	switch (n->op) {
	case GS_OP_LOAD:
		return size_is_integer(n->size);
	case GS_OP_ZEXT:
	case GS_OP_SEXT:
	case GS_OP_SHL:
	case GS_OP_SHR:
	case GS_OP_SAR:
	case GS_OP_SDIV:
	case GS_OP_SMOD:
		return n->size >= 1 && n->size <= 8;
	case GS_OP_STR_EQ:
	case GS_OP_STR_PREFIX:
	case GS_OP_STR_FIND:
		return n->imm >= 0 && (uint64_t)n->imm <= p->data_len &&
		       n->size <= p->data_len - (uint64_t)n->imm;
	default:
		return true;
	}
}

/* Depth, written-out size and the highest item used of each node, so that every walk is bounded. */
struct node_facts {
	uint32_t depth, tree, items; /* items: 1 + highest item that is used */
	bool saved;		     /* it finds something in the call's frame */
};

static struct gs_error *check_node(const struct gs_plan *p, size_t i, struct node_facts *facts)
{
	const struct gs_plan_node *n = &p->nodes[i];
	uint16_t operand[3] = {n->a, n->b, n->c};
	unsigned noperands = gs_plan_op_operands(n->op);
	struct node_facts f = {1, 1, n->op == GS_OP_ITEM ? n->a + 1u : 0, n->op == GS_OP_SAVED};

	if (n->op >= GS_OP_COUNT || !leaf_is_valid(p, n) || !size_is_valid(p, n))
		return malformed("node", i);
	for (unsigned k = 0; k < noperands; k++) {
		const struct node_facts *o = &facts[operand[k]];

		if (operand[k] >= i)
			return malformed("node", i);
		f.depth = o->depth + 1 > f.depth ? o->depth + 1 : f.depth;
		f.items = o->items > f.items ? o->items : f.items;
		f.tree += o->tree;
		f.saved |= o->saved;
	}
	if (f.depth > MAX_DEPTH || f.tree > MAX_TREE)
		return gs_error_new(GS_ERR_LIMIT,
				    "an expression is nested too deeply (more than "
				    "%u levels or %u steps)",
				    MAX_DEPTH, MAX_TREE);
	facts[i] = f;
	return NULL;
}

static bool item_is_variable_kind(unsigned kind)
{
	return kind == GS_ITEM_STRING || kind == GS_ITEM_ARRAY || kind == GS_ITEM_WALK;
}

static bool walk_is_valid(const struct gs_plan *p, const struct gs_plan_item *it)
{
	const struct gs_plan_walk *w = &p->walks[it->walk];

	if (it->walk >= p->nwalks)
		return false;
	if (w->form > GS_WALK_TREE || (w->link_size != 4 && w->link_size != 8))
		return false;
	if (w->end != GS_NODE_NONE && (w->form != GS_WALK_LIST || w->end >= p->nnodes))
		return false;
	if (w->exact && it->count == GS_NODE_NONE)
		return false;
	return w->steps > 0 && w->steps <= MAX_STEPS && w->next <= MAX_NODE_BYTES &&
	       w->payload <= MAX_NODE_BYTES;
}

static bool item_shape_is_valid(const struct gs_plan *p, const struct gs_plan_item *it)
{
	bool counted = it->kind == GS_ITEM_ARRAY, walk = it->kind == GS_ITEM_WALK;

	if (it->kind > GS_ITEM_WALK || it->size > GS_EVENT_MAX_LEN)
		return false;
	if (it->kind == GS_ITEM_ABSENT)
		return it->status > 0 && it->status < GS_STATUS_COUNT &&
		       !gs_status_has_data(it->status);
	if (it->size == 0 || it->variable != item_is_variable_kind(it->kind))
		return false;
	if (it->kind == GS_ITEM_VALUE && it->size > 8)
		return false;
	if (it->kind == GS_ITEM_COMM)
		return it->size == 16;
	if (it->kind == GS_ITEM_PIECES)
		return it->first_piece <= p->npieces &&
		       it->npieces <= p->npieces - it->first_piece && it->size <= MAX_COMPOSITE;
	if (it->node >= p->nnodes)
		return false;
	if (walk && !walk_is_valid(p, it))
		return false;
	if ((counted || walk) &&
	    (it->stride == 0 || it->stride > it->size || it->size % it->stride))
		return false;
	if (counted || ((walk || it->kind == GS_ITEM_STRING) && it->count != GS_NODE_NONE))
		return it->count < p->nnodes;
	return true;
}

static bool pieces_are_valid(const struct gs_plan *p, const struct gs_plan_item *it,
			     const struct node_facts *facts, size_t i)
{
	for (size_t k = it->first_piece; k < (size_t)it->first_piece + it->npieces; k++) {
		const struct gs_plan_piece *piece = &p->pieces[k];

		if (piece->size == 0 || piece->size > it->size ||
		    piece->offset > it->size - piece->size)
			return false;
		if (piece->node >= p->nnodes || facts[piece->node].items > i)
			return false;
		if (!piece->memory && piece->size > 8)
			return false;
	}
	return true;
}

static struct gs_error *check_item(const struct gs_plan *p, size_t i,
				   const struct node_facts *facts)
{
	const struct gs_plan_item *it = &p->items[i];

	if (!item_shape_is_valid(p, it))
		return malformed("item", i);
	if (it->parent != GS_NODE_NONE && it->parent >= i)
		return malformed("item", i);
	if (it->kind == GS_ITEM_PIECES && !pieces_are_valid(p, it, facts, i))
		return malformed("item", i);
	if (it->kind == GS_ITEM_ABSENT || it->kind == GS_ITEM_PIECES || it->kind == GS_ITEM_COMM)
		return NULL;
	if (it->kind == GS_ITEM_WALK && p->walks[it->walk].end != GS_NODE_NONE &&
	    facts[p->walks[it->walk].end].items > i)
		return malformed("item", i);
	if (facts[it->node].items > i ||
	    (it->count != GS_NODE_NONE && it->count < p->nnodes && facts[it->count].items > i))
		return malformed("item", i);
	return NULL;
}

/* A node that is evaluated before there is a record, and before the frame is found. */
static bool is_early(const struct gs_plan *p, const struct node_facts *facts, uint16_t node)
{
	return node == GS_NODE_NONE ||
	       (node < p->nnodes && facts[node].items == 0 && !facts[node].saved);
}

static struct gs_error *check_saving(const struct gs_plan *p, const struct node_facts *facts)
{
	bool good = p->kind <= GS_PLAN_ENTRY && p->nsaves <= GS_PLAN_MAX_SAVES &&
		    is_early(p, facts, p->guard) && is_early(p, facts, p->frame) &&
		    is_early(p, facts, p->check);

	for (uint32_t i = 0; good && i < p->nsaves; i++)
		good = p->saves[i] != GS_NODE_NONE && is_early(p, facts, p->saves[i]);
	if (p->kind == GS_PLAN_ENTRY)
		good = good && p->nitems == 0 && p->condition == GS_NODE_NONE &&
		       p->guard == GS_NODE_NONE && p->check == GS_NODE_NONE &&
		       p->frame != GS_NODE_NONE;
	else
		good = good && p->nsaves == 0;
	if ((p->takes_frame || p->check != GS_NODE_NONE) && p->frame == GS_NODE_NONE)
		good = false;
	return good ? NULL : gs_error_new(GS_ERR_DAMAGED, "capture plan: its frame is malformed");
}

struct gs_error *gs_plan_check(const struct gs_plan *p)
{
	GS_CLEANUP_FREE struct node_facts *facts = gs_calloc(p->nnodes + 1, sizeof(*facts));

	if (p->nnodes > GS_PLAN_MAX_NODES)
		return gs_error_new(GS_ERR_LIMIT, "a probe needs more than %u steps",
				    GS_PLAN_MAX_NODES);
	if (p->nitems > GS_EVENT_MAX_ITEMS)
		return gs_error_new(GS_ERR_LIMIT, "a probe captures %zu items; the most is %u",
				    p->nitems, GS_EVENT_MAX_ITEMS);
	if (p->npieces >= GS_NODE_NONE || p->nwalks >= GS_NODE_NONE || p->data_len > MAX_DATA)
		return gs_error_new(GS_ERR_LIMIT, "a probe has too many pieces or literals");
	for (size_t i = 0; i < p->nnodes; i++)
		GS_TRY(check_node(p, i, facts));
	for (size_t i = 0; i < p->nitems; i++)
		GS_TRY(check_item(p, i, facts));
	if (p->condition != GS_NODE_NONE &&
	    (p->condition >= p->nnodes || facts[p->condition].items > 0))
		return malformed("condition", p->condition);
	return check_saving(p, facts);
}

bool gs_plan_equal(const struct gs_plan *a, const struct gs_plan *b)
{
	struct gs_buf x, y;
	bool equal;

	if (a->nnodes != b->nnodes || a->nitems != b->nitems || a->condition != b->condition)
		return false;
	gs_buf_init(&x);
	gs_buf_init(&y);
	gs_plan_write(&x, a);
	gs_plan_write(&y, b);
	equal = x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
	gs_buf_deinit(&x);
	gs_buf_deinit(&y);
	return equal;
}
