/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instruction builder: labels, fixups, and comments for the listing. Errors are sticky.
 * In the flow: between the generator's steps and the instructions that are loaded.
 */
#include "bpf/emit.h"

#include <stdarg.h>
#include <stdio.h>

void gs_emit_init(struct gs_emit *e, bool want_notes)
{
	*e = (struct gs_emit){.want_notes = want_notes};
}

void gs_emit_deinit(struct gs_emit *e)
{
	for (size_t i = 0; i < e->nnotes; i++)
		free(e->notes[i].text);
	free(e->notes);
	free(e->insns);
	free(e->labels);
	free(e->fixups);
	*e = (struct gs_emit){0};
}

gs_label gs_emit_label(struct gs_emit *e, const char *name)
{
	struct gs_emit_label *label = GS_PUSH(e->labels, e->nlabels, e->labels_cap);

	label->name = name;
	label->at = -1;
	return (gs_label)(e->nlabels - 1);
}

void gs_emit_bind(struct gs_emit *e, gs_label label)
{
	e->labels[label].at = (int64_t)e->n;
}

bool gs_emit_label_used(const struct gs_emit *e, gs_label label)
{
	return e->labels[label].used;
}

void gs_emit_note(struct gs_emit *e, const char *fmt, ...)
{
	struct gs_emit_note *note;
	char text[200];
	va_list ap;

	if (!e->want_notes)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	note = GS_PUSH(e->notes, e->nnotes, e->notes_cap);
	note->insn = e->n;
	note->text = gs_strdup(text);
}

void gs_emit_raw(struct gs_emit *e, uint8_t code, uint8_t dst, uint8_t src, int16_t off,
		 int32_t imm)
{
	struct bpf_insn *insn = GS_PUSH(e->insns, e->n, e->cap);

	insn->code = code;
	insn->dst_reg = dst & 0xf;
	insn->src_reg = src & 0xf;
	insn->off = off;
	insn->imm = imm;
}

void gs_emit_imm64(struct gs_emit *e, uint8_t dst, uint64_t v)
{
	if ((uint64_t)(int64_t)(int32_t)v == v) {
		gs_emit_movi(e, dst, (int32_t)v);
		return;
	}
	gs_emit_raw(e, BPF_LD | BPF_IMM | BPF_DW, dst, 0, 0, (int32_t)(uint32_t)v);
	gs_emit_raw(e, 0, 0, 0, 0, (int32_t)(uint32_t)(v >> 32));
}

void gs_emit_map(struct gs_emit *e, uint8_t dst, enum gs_map map)
{
	gs_emit_raw(e, BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_FD, 0, (int32_t)map);
	gs_emit_raw(e, 0, 0, 0, 0, 0);
}

void gs_emit_call(struct gs_emit *e, int helper)
{
	e->helpers[(unsigned)helper / 64 % 4] |= 1ull << ((unsigned)helper % 64);
	gs_emit_raw(e, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

static void fixup(struct gs_emit *e, gs_label to)
{
	struct gs_emit_fixup *f = GS_PUSH(e->fixups, e->nfixups, e->fixups_cap);

	f->insn = e->n;
	f->label = to;
	e->labels[to].used = true;
}

void gs_emit_goto(struct gs_emit *e, gs_label to)
{
	fixup(e, to);
	gs_emit_raw(e, BPF_JMP | BPF_JA, 0, 0, 0, 0);
}

void gs_emit_if(struct gs_emit *e, uint8_t op, uint8_t dst, uint8_t src, gs_label to)
{
	fixup(e, to);
	gs_emit_raw(e, BPF_JMP | op | BPF_X, dst, src, 0, 0);
}

void gs_emit_ifi(struct gs_emit *e, uint8_t op, uint8_t dst, int32_t imm, gs_label to)
{
	fixup(e, to);
	gs_emit_raw(e, BPF_JMP | op | BPF_K, dst, 0, 0, imm);
}

void gs_emit_exit(struct gs_emit *e)
{
	gs_emit_movi(e, BPF_REG_0, 0);
	gs_emit_raw(e, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static struct gs_error *resolve(struct gs_emit *e)
{
	for (size_t i = 0; i < e->nfixups; i++) {
		const struct gs_emit_label *label = &e->labels[e->fixups[i].label];
		int64_t off = label->at - (int64_t)e->fixups[i].insn - 1;

		if (label->at < 0)
			return gs_error_new(GS_ERR_INTERNAL, "program: label `%s' is not bound",
					    label->name);
		if (off < INT16_MIN || off > INT16_MAX)
			return gs_error_hint(
				gs_error_new(GS_ERR_LIMIT,
					     "this probe captures too much for one program"),
				"capture fewer items, or split them over several probes");
		e->insns[e->fixups[i].insn].off = (int16_t)off;
	}
	return NULL;
}

/* ---- listing ---- */

/* The label of each instruction that has one. */
static const char **labels_by_insn(const struct gs_emit *e)
{
	const char **names = gs_calloc(e->n + 1, sizeof(*names));

	for (size_t i = 0; i < e->nlabels; i++)
		if (e->labels[i].at >= 0 && e->labels[i].used)
			names[e->labels[i].at] = e->labels[i].name;
	return names;
}

static void print_listing(const struct gs_emit *e, struct gs_buf *out)
{
	GS_CLEANUP_FREE const char **names = labels_by_insn(e);
	size_t note = 0;

	for (size_t i = 0; i < e->n; i++) {
		const struct bpf_insn *insn = &e->insns[i];
		bool wide = insn->code == (BPF_LD | BPF_IMM | BPF_DW);

		for (; note < e->nnotes && e->notes[note].insn <= i; note++)
			gs_buf_printf(out, "\t; %s\n", e->notes[note].text);
		if (names[i])
			gs_buf_printf(out, "%s:\n", names[i]);
		gs_buf_printf(out, "%5zu: ", i);
		gs_insn_print(out, insn, wide ? insn + 1 : NULL);
		if (BPF_CLASS(insn->code) == BPF_JMP && BPF_OP(insn->code) != BPF_CALL &&
		    BPF_OP(insn->code) != BPF_EXIT)
			gs_buf_printf(out, " <%s>", names[(int64_t)i + 1 + insn->off]);
		gs_buf_putc(out, '\n');
		i += wide;
	}
}

struct gs_error *gs_emit_finish(struct gs_emit *e, struct gs_program *out, struct gs_buf *listing)
{
	GS_TRY(resolve(e));
	if (listing)
		print_listing(e, listing);
	*out = (struct gs_program){.insns = e->insns, .n = e->n, .helpers = e->helpers[0]};
	e->insns = NULL;
	e->n = e->cap = 0;
	return NULL;
}
