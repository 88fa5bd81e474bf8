/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One BPF instruction as text, in the notation of the kernel's verifier.
 * In the flow: the listing of --dry-run -v, and the messages of failing tests.
 */
#include "bpf/emit.h"

static const char *const alu_ops[16] = {"+=",  "-=", "*=", "/=", "|=",	 "&=",	"<<=", ">>=",
					"neg", "%=", "^=", "=",	 "s>>=", "end", "?",   "?"};
static const char *const jmp_ops[16] = {"goto", "==",	">", ">=", "&",	 "!=",	"s>", "s>=",
					"call", "exit", "<", "<=", "s<", "s<=", "?",  "?"};

static const char *const map_names[GS_MAP_COUNT] = {
	[GS_MAP_RINGS] = "rings",     [GS_MAP_SITES] = "sites", [GS_MAP_COUNTERS] = "counters",
	[GS_MAP_CONTROL] = "control", [GS_MAP_PIDS] = "pids",	[GS_MAP_STAGING] = "staging",
	[GS_MAP_FRAMES] = "frames",
};

static const struct {
	int id;
	const char *name;
} helpers[] = {
	{BPF_FUNC_map_lookup_elem, "map_lookup_elem"},
	{BPF_FUNC_map_update_elem, "map_update_elem"},
	{BPF_FUNC_map_delete_elem, "map_delete_elem"},
	{BPF_FUNC_ktime_get_ns, "ktime_get_ns"},
	{BPF_FUNC_get_smp_processor_id, "get_smp_processor_id"},
	{BPF_FUNC_get_current_pid_tgid, "get_current_pid_tgid"},
	{BPF_FUNC_get_current_uid_gid, "get_current_uid_gid"},
	{BPF_FUNC_get_current_comm, "get_current_comm"},
	{BPF_FUNC_get_current_task, "get_current_task"},
	{BPF_FUNC_get_func_ip, "get_func_ip"},
	{BPF_FUNC_probe_read_user, "probe_read_user"},
	{BPF_FUNC_probe_read_kernel, "probe_read_kernel"},
	{BPF_FUNC_probe_read_user_str, "probe_read_user_str"},
	{BPF_FUNC_get_ns_current_pid_tgid, "get_ns_current_pid_tgid"},
	{BPF_FUNC_ringbuf_output, "ringbuf_output"},
	{BPF_FUNC_ringbuf_reserve, "ringbuf_reserve"},
	{BPF_FUNC_ringbuf_submit, "ringbuf_submit"},
	{BPF_FUNC_ringbuf_discard, "ringbuf_discard"},
	{BPF_FUNC_ringbuf_query, "ringbuf_query"},
	{BPF_FUNC_copy_from_user, "copy_from_user"},
	{BPF_FUNC_task_storage_get, "task_storage_get"},
	{BPF_FUNC_get_current_task_btf, "get_current_task_btf"},
	{BPF_FUNC_get_attach_cookie, "get_attach_cookie"},
};

static const char *width_name(uint8_t code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B:
		return "u8";
	case BPF_H:
		return "u16";
	case BPF_W:
		return "u32";
	default:
		return "u64";
	}
}

static void print_alu(struct gs_buf *out, const struct bpf_insn *insn)
{
	char r = BPF_CLASS(insn->code) == BPF_ALU64 ? 'r' : 'w';
	unsigned op = BPF_OP(insn->code);

	if (op == BPF_NEG)
		gs_buf_printf(out, "%c%u = -%c%u", r, insn->dst_reg, r, insn->dst_reg);
	else if (insn->code & BPF_X)
		gs_buf_printf(out, "%c%u %s %c%u", r, insn->dst_reg, alu_ops[op >> 4], r,
			      insn->src_reg);
	else
		gs_buf_printf(out, "%c%u %s %d", r, insn->dst_reg, alu_ops[op >> 4], insn->imm);
}

static void print_call(struct gs_buf *out, int id)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(helpers); i++)
		if (helpers[i].id == id) {
			gs_buf_printf(out, "call %s", helpers[i].name);
			return;
		}
	gs_buf_printf(out, "call helper#%d", id);
}

static void print_jmp(struct gs_buf *out, const struct bpf_insn *insn)
{
	unsigned op = BPF_OP(insn->code);

	if (op == BPF_CALL)
		print_call(out, insn->imm);
	else if (op == BPF_EXIT)
		gs_buf_puts(out, "exit");
	else if (op == BPF_JA)
		gs_buf_printf(out, "goto %+d", insn->off);
	else if (insn->code & BPF_X)
		gs_buf_printf(out, "if r%u %s r%u goto %+d", insn->dst_reg, jmp_ops[op >> 4],
			      insn->src_reg, insn->off);
	else
		gs_buf_printf(out, "if r%u %s %d goto %+d", insn->dst_reg, jmp_ops[op >> 4],
			      insn->imm, insn->off);
}

static void print_wide(struct gs_buf *out, const struct bpf_insn *insn, const struct bpf_insn *next)
{
	uint64_t v = (uint32_t)insn->imm | (uint64_t)(uint32_t)next->imm << 32;

	if (insn->src_reg == BPF_PSEUDO_MAP_FD && insn->imm >= 0 && insn->imm < GS_MAP_COUNT)
		gs_buf_printf(out, "r%u = map:%s", insn->dst_reg, map_names[insn->imm]);
	else
		gs_buf_printf(out, "r%u = 0x%llx ll", insn->dst_reg, (unsigned long long)v);
}

void gs_insn_print(struct gs_buf *out, const struct bpf_insn *insn, const struct bpf_insn *next)
{
	const char *width = width_name(insn->code);

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		print_alu(out, insn);
		break;
	case BPF_JMP:
	case BPF_JMP32:
		print_jmp(out, insn);
		break;
	case BPF_LDX:
		gs_buf_printf(out, "r%u = *(%s *)(r%u %+d)", insn->dst_reg, width, insn->src_reg,
			      insn->off);
		break;
	case BPF_ST:
		gs_buf_printf(out, "*(%s *)(r%u %+d) = %d", width, insn->dst_reg, insn->off,
			      insn->imm);
		break;
	case BPF_STX:
		gs_buf_printf(out,
			      BPF_MODE(insn->code) == 0xc0 ? "lock *(%s *)(r%u %+d) += r%u"
							   : "*(%s *)(r%u %+d) = r%u",
			      width, insn->dst_reg, insn->off, insn->src_reg);
		break;
	default:
		if (next)
			print_wide(out, insn, next);
		else
			gs_buf_printf(out, "?%02x", insn->code);
	}
}
