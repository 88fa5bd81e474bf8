/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which candidates of a line are redundant: graphs written by hand, each a shape that compilers
 * make.
 */
#include "record/flow.h"

#include "tests/tap.h"

/*
 * A function of one-byte instructions at 0x100. Each letter of SHAPE is one: `.' goes on, `j' jumps
 * and `b' branches to the next of TARGETS, `r' returns, `i' jumps to where is not known, `n' is a
 * no-operation.
 */
struct function {
	struct gs_insn insns[32];
	struct gs_code code;
	struct gs_graph graph;
	uint8_t boundaries[33];
	struct gs_flow_candidate candidates[8];
	size_t order[8], n;
	bool drop[8];
};

static void make(struct function *f, const char *shape, const unsigned *targets)
{
	*f = (struct function){0};
	for (size_t i = 0; shape[i]; i++) {
		static const char kinds[] = ".bjir";
		static const uint8_t flows[] = {GS_FLOW_NEXT, GS_FLOW_BRANCH, GS_FLOW_JUMP,
						GS_FLOW_JUMP_INDIRECT, GS_FLOW_RETURN};
		struct gs_insn *insn = &f->insns[f->code.n++];

		*insn = (struct gs_insn){.addr = 0x100 + i, .len = 1, .is_nop = shape[i] == 'n'};
		if (shape[i] != 'n')
			insn->flow = flows[strchr(kinds, shape[i]) - kinds];
		if (shape[i] == 'b' || shape[i] == 'j')
			insn->target = 0x100 + *targets++;
	}
	f->code.insns = f->insns;
}

static void graph(struct function *f, const uint64_t *leaders, size_t n)
{
	gs_graph_init(&f->graph, &f->code, 0x100, NULL, 0, leaders, n);
}

/* In the order in which they are tried. */
static void candidate(struct function *f, unsigned at, uint32_t key)
{
	f->order[f->n] = f->n;
	f->candidates[f->n++] = (struct gs_flow_candidate){0x100 + at, key};
}

/* The kept ones as text: "1 4 ". */
static const char *kept(struct function *f)
{
	static char text[64];
	const struct gs_flow_line line = {.candidates = f->candidates,
					  .order = f->order,
					  .n = f->n,
					  .boundaries = f->boundaries};
	size_t len = 0;

	gs_flow_thin(&f->graph, &line, f->drop);
	text[0] = 0;
	for (size_t i = 0; i < f->n; i++)
		if (!f->drop[i])
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%u ",
						(unsigned)(f->candidates[i].addr - 0x100));
	gs_graph_deinit(&f->graph);
	return text;
}

static void test_parts_of_one_statement_are_one(void)
{
	struct function f;

	/* A condition of three blocks: each is reached through the first. */
	make(&f, ".b.b..r", (const unsigned[]){5, 5});
	f.boundaries[5] = GS_BOUNDARY_BEFORE;
	candidate(&f, 4, 3);
	candidate(&f, 2, 2);
	candidate(&f, 0, 1);
	graph(&f, NULL, 0);
	CHECK_STR(kept(&f), "0 ");
}

static void test_a_loop_fires_each_round(void)
{
	struct function f;

	/* for (...) body: the body is another line; 1 is the step, reached from itself. */
	make(&f, "..b.j.r", (const unsigned[]){5, 1});
	f.boundaries[3] = GS_BOUNDARY_BEFORE;
	candidate(&f, 3, 9);
	f.boundaries[3] = 0;
	f.boundaries[0] = f.boundaries[1] = f.boundaries[5] = GS_BOUNDARY_BEFORE;
	graph(&f, NULL, 0);
	CHECK_STR(kept(&f), "3 ");
}

static void test_copies_of_a_statement_are_several(void)
{
	struct function f;

	/* Unrolled: body (1, 3) and step (2, 4) of one line each, twice in one loop. */
	make(&f, ".....b.r", (const unsigned[]){1});
	f.boundaries[2] = f.boundaries[4] = f.boundaries[6] = GS_BOUNDARY_BEFORE;
	candidate(&f, 3, 7);
	candidate(&f, 1, 7);
	graph(&f, NULL, 0);
	CHECK_STR(kept(&f), "3 1 ");
	/* The same without another statement between them: parts of one. */
	make(&f, ".....b.r", (const unsigned[]){1});
	f.boundaries[6] = GS_BOUNDARY_BEFORE;
	candidate(&f, 3, 7);
	candidate(&f, 1, 7);
	graph(&f, NULL, 0);
	CHECK_STR(kept(&f), "1 ");
}

static void test_an_unknown_jump_may_lead_to_any_line(void)
{
	struct function f;
	const uint64_t leaders[] = {0x103};

	make(&f, "..i..r", NULL);
	candidate(&f, 4, 2);
	candidate(&f, 3, 3);
	candidate(&f, 0, 1);
	f.boundaries[1] = f.boundaries[5] = GS_BOUNDARY_BEFORE;
	graph(&f, leaders, 1);
	CHECK_STR(kept(&f), "3 0 ");
}

static void test_padding_leads_nowhere(void)
{
	struct function f;

	/* 0: to 4; 1: returned from; 2, 3: fill up to 4. */
	make(&f, "jrnn..r", (const unsigned[]){4});
	f.boundaries[5] = GS_BOUNDARY_BEFORE;
	candidate(&f, 4, 2);
	candidate(&f, 0, 1);
	graph(&f, NULL, 0);
	CHECK(f.graph.is_padding[2] && f.graph.is_padding[3] && !f.graph.is_leader[4]);
	CHECK_STR(kept(&f), "0 ");
}

int main(void)
{
	TAP_RUN(test_parts_of_one_statement_are_one);
	TAP_RUN(test_a_loop_fires_each_round);
	TAP_RUN(test_copies_of_a_statement_are_several);
	TAP_RUN(test_an_unknown_jump_may_lead_to_any_line);
	TAP_RUN(test_padding_leads_nowhere);
	return tap_done();
}
