/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small BPF interpreter with fake user memory, fake maps and helpers.
 * In the flow: runs generated programs for the unit tests of bpf/, with no kernel.
 */
#include "tests/lib/bpf_interp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"

#define MAP_BASE 0xfeed0000ull
#define RING 0xfeedf000ull
#define TASK 0xffff888000001000ull
#define MOST_INSNS 2000000u

/* pt_regs in 8-byte words, by DWARF register. */
static const uint8_t ctx_word[17] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16};

void interp_init(struct interp *in)
{
	memset(in, 0, offsetof(struct interp, record));
	in->control.enabled = 1;
	in->in_set = true;
	in->pid = 100;
	in->tid = 101;
	in->site.id = 5;
}

struct interp_memory *interp_map(struct interp *in, uint64_t addr, const void *bytes, size_t len)
{
	struct interp_memory *m = &in->memory[in->nmemory++];

	*m = (struct interp_memory){addr, len, bytes, false};
	return m;
}

static bool fail(struct interp *in, const char *what, uint64_t v)
{
	if (!in->failure[0])
		snprintf(in->failure, sizeof(in->failure), "%s (0x%llx)", what,
			 (unsigned long long)v);
	return false;
}

static bool within(uint64_t p, size_t n, const void *base, size_t size)
{
	uint64_t b = (uint64_t)(uintptr_t)base;

	return p >= b && n <= size && p - b <= size - n;
}

static bool writable(const struct interp *in, uint64_t p, size_t n)
{
	return within(p, n, in->stack, sizeof(in->stack)) ||
	       within(p, n, in->staging, in->staging_size) ||
	       within(p, n, &in->counters, sizeof(in->counters));
}

static bool readable(const struct interp *in, uint64_t p, size_t n)
{
	return writable(in, p, n) || within(p, n, in->ctx, sizeof(in->ctx)) ||
	       within(p, n, &in->site, sizeof(in->site)) ||
	       within(p, n, &in->control, sizeof(in->control));
}

/* ---- user memory ---- */

static bool user_byte(const struct interp *in, uint64_t addr, bool may_sleep, uint8_t *out)
{
	for (size_t i = 0; i < in->nmemory; i++) {
		const struct interp_memory *m = &in->memory[i];

		if (addr < m->addr || addr - m->addr >= m->len)
			continue;
		if (m->absent && !may_sleep)
			return false;
		*out = ((const uint8_t *)m->bytes)[addr - m->addr];
		return true;
	}
	return false;
}

/* A read that sleeps makes what it touched resident. */
static void touch(struct interp *in, uint64_t addr, size_t n)
{
	for (size_t i = 0; i < in->nmemory; i++) {
		struct interp_memory *m = &in->memory[i];

		if (addr < m->addr + m->len && m->addr < addr + n)
			m->absent = false;
	}
}

static uint64_t read_user(struct interp *in, uint64_t dst, uint64_t n, uint64_t addr, bool sleeps)
{
	uint8_t *to = (uint8_t *)(uintptr_t)dst;

	if (sleeps) {
		in->nsleeps++;
		in->slept_while_holding |= in->holding;
	}
	if (!writable(in, dst, n)) {
		fail(in, "a helper would write outside", n);
		return 0;
	}
	for (uint64_t i = 0; i < n; i++)
		if (!user_byte(in, addr + i, sleeps, &to[i])) {
			memset(to, 0, n);
			return (uint64_t)-EFAULT;
		}
	if (sleeps)
		touch(in, addr, n);
	return 0;
}

/* strncpy_from_user_nofault: the length with NUL; the last byte is made one. */
static uint64_t read_user_str(struct interp *in, uint64_t dst, uint64_t n, uint64_t addr)
{
	uint8_t *to = (uint8_t *)(uintptr_t)dst;

	if (!writable(in, dst, n)) {
		fail(in, "a helper would write outside", n);
		return 0;
	}
	for (uint64_t i = 0; i < n; i++) {
		if (!user_byte(in, addr + i, false, &to[i])) {
			memset(to, 0, n);
			return (uint64_t)-EFAULT;
		}
		if (to[i] == 0)
			return i + 1;
	}
	if (n)
		to[n - 1] = 0;
	return n;
}

/* ---- helpers ---- */

static uint64_t lookup(struct interp *in, uint64_t map, uint64_t key)
{
	uint32_t k = *(const uint32_t *)(uintptr_t)key;

	switch (map - MAP_BASE) {
	case GS_MAP_RINGS:
		return k == INTERP_CPU ? RING : 0;
	case GS_MAP_SITES:
		return k == in->site.id ? (uint64_t)(uintptr_t)&in->site : 0;
	case GS_MAP_COUNTERS:
		return k == in->site.probe ? (uint64_t)(uintptr_t)&in->counters : 0;
	case GS_MAP_CONTROL:
		return k == 0 ? (uint64_t)(uintptr_t)&in->control : 0;
	case GS_MAP_PIDS:
		return k == in->pid && in->in_set ? (uint64_t)(uintptr_t)&in->control : 0;
	default:
		fail(in, "lookup in a map that has none", map);
		return 0;
	}
}

/* A fresh record is full of what another event left. */
static uint64_t fresh_record(struct interp *in, uint32_t size)
{
	if (in->no_staging || size > sizeof(in->staging))
		return 0;
	in->staging_size = size;
	memset(in->staging, 0xa5, 2048);
	return (uint64_t)(uintptr_t)in->staging;
}

static void submit(struct interp *in, const void *data, size_t len, uint64_t flags)
{
	memcpy(in->record, data, len);
	in->record_len = len;
	in->nrecords++;
	in->flags = flags;
}

static uint64_t ringbuf(struct interp *in, int id, const uint64_t *r)
{
	switch (id) {
	case BPF_FUNC_ringbuf_output:
		if (in->ring_full)
			return (uint64_t)-EAGAIN;
		if (!readable(in, r[2], r[3]))
			return fail(in, "output from outside", r[3]);
		submit(in, (const void *)(uintptr_t)r[2], r[3], r[4]);
		return 0;
	case BPF_FUNC_ringbuf_reserve:
		if (in->ring_full)
			return 0;
		in->holding = true;
		return fresh_record(in, (uint32_t)r[2]);
	case BPF_FUNC_ringbuf_submit:
		in->holding = false;
		submit(in, in->staging, in->staging_size, r[2]);
		return 0;
	case BPF_FUNC_ringbuf_discard:
		in->holding = false;
		in->ndiscarded++;
		return 0;
	default:
		return in->queued;
	}
}

static uint64_t comm(struct interp *in, const uint64_t *r)
{
	if (r[2] != 16 || !writable(in, r[1], 16))
		return fail(in, "comm to outside", r[1]);
	memset((void *)(uintptr_t)r[1], 0, 16);
	memcpy((void *)(uintptr_t)r[1], INTERP_COMM, sizeof(INTERP_COMM));
	return 0;
}

static uint64_t read_kernel(struct interp *in, const uint64_t *r)
{
	if (r[2] != 8 || r[3] != TASK + INTERP_TLS_OFFSET || !writable(in, r[1], 8))
		return (uint64_t)-EFAULT;
	*(uint64_t *)(uintptr_t)r[1] = INTERP_FSBASE;
	return 0;
}

static uint64_t call(struct interp *in, int id, const uint64_t *r)
{
	switch (id) {
	case BPF_FUNC_map_lookup_elem:
		return lookup(in, r[1], r[2]);
	case BPF_FUNC_ktime_get_ns:
		return INTERP_TIME;
	case BPF_FUNC_get_smp_processor_id:
		return INTERP_CPU;
	case BPF_FUNC_get_current_pid_tgid:
		return (uint64_t)in->pid << 32 | in->tid;
	case BPF_FUNC_get_current_uid_gid:
		return 50ull << 32 | INTERP_UID;
	case BPF_FUNC_get_current_comm:
		return comm(in, r);
	case BPF_FUNC_get_current_task:
	case BPF_FUNC_get_current_task_btf:
		return TASK;
	case BPF_FUNC_probe_read_user:
		return read_user(in, r[1], r[2], r[3], false);
	case BPF_FUNC_copy_from_user:
		return read_user(in, r[1], r[2], r[3], true);
	case BPF_FUNC_probe_read_user_str:
		return read_user_str(in, r[1], r[2], r[3]);
	case BPF_FUNC_probe_read_kernel:
		return read_kernel(in, r);
	case BPF_FUNC_get_attach_cookie:
		return in->site.id;
	case BPF_FUNC_task_storage_get:
		return fresh_record(in, GS_EVENT_MAX_LEN + 8);
	case BPF_FUNC_ringbuf_output:
	case BPF_FUNC_ringbuf_reserve:
	case BPF_FUNC_ringbuf_submit:
	case BPF_FUNC_ringbuf_discard:
	case BPF_FUNC_ringbuf_query:
		return ringbuf(in, id, r);
	default:
		return fail(in, "unknown helper", (uint64_t)id);
	}
}

/* ---- instructions ---- */

static uint64_t alu(struct interp *in, uint8_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b ? a / b : 0;
	case BPF_MOD:
		return b ? a % b : a;
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << (b & 63);
	case BPF_RSH:
		return a >> (b & 63);
	case BPF_ARSH:
		return (uint64_t)((int64_t)a >> (b & 63));
	case BPF_NEG:
		return 0 - a;
	case BPF_MOV:
		return b;
	default:
		fail(in, "unknown operation", op);
		return 0;
	}
}

static bool taken(struct interp *in, uint8_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case BPF_JA:
		return true;
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return (int64_t)a > (int64_t)b;
	case BPF_JSGE:
		return (int64_t)a >= (int64_t)b;
	case BPF_JSLT:
		return (int64_t)a < (int64_t)b;
	case BPF_JSLE:
		return (int64_t)a <= (int64_t)b;
	default:
		return fail(in, "unknown jump", op);
	}
}

static size_t width(uint8_t code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	default:
		return 8;
	}
}

static bool access_memory(struct interp *in, const struct bpf_insn *i, uint64_t *r)
{
	bool is_load = BPF_CLASS(i->code) == BPF_LDX;
	uint64_t at = r[is_load ? i->src_reg : i->dst_reg] + (uint64_t)(int64_t)i->off;
	uint64_t v = BPF_CLASS(i->code) == BPF_ST ? (uint64_t)(int64_t)i->imm : r[i->src_reg];
	size_t n = width(i->code);

	if (is_load ? !readable(in, at, n) : !writable(in, at, n))
		return fail(in, is_load ? "load from outside" : "store to outside", at);
	if (is_load) {
		r[i->dst_reg] = 0;
		memcpy(&r[i->dst_reg], (const void *)(uintptr_t)at, n);
	} else if (BPF_MODE(i->code) == 0xc0) {
		*(uint64_t *)(uintptr_t)at += v;
	} else {
		memcpy((void *)(uintptr_t)at, &v, n);
	}
	return true;
}

/* One instruction; false at the exit and after a failure. */
static bool step(struct interp *in, const struct bpf_insn *insns, size_t *pc, uint64_t *r)
{
	const struct bpf_insn *i = &insns[*pc];
	uint64_t operand = i->code & BPF_X ? r[i->src_reg] : (uint64_t)(int64_t)i->imm;

	++*pc;
	switch (BPF_CLASS(i->code)) {
	case BPF_ALU64:
		r[i->dst_reg] = alu(in, BPF_OP(i->code), r[i->dst_reg], operand);
		return !in->failure[0];
	case BPF_JMP:
		if (BPF_OP(i->code) == BPF_EXIT)
			return false;
		if (BPF_OP(i->code) == BPF_CALL) {
			r[0] = call(in, i->imm, r);
			for (int k = 1; k <= 5; k++)
				r[k] = 0xdead000000000000ull + (unsigned)k; /* clobbered */
		} else if (taken(in, BPF_OP(i->code), r[i->dst_reg], operand)) {
			*pc = (size_t)((int64_t)*pc + i->off);
		}
		return !in->failure[0];
	case BPF_LD:
		r[i->dst_reg] = i->src_reg == BPF_PSEUDO_MAP_FD
					? MAP_BASE + (uint32_t)i->imm
					: (uint32_t)i->imm | (uint64_t)(uint32_t)i[1].imm << 32;
		++*pc;
		return true;
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		return access_memory(in, i, r);
	default:
		return fail(in, "unknown instruction", i->code);
	}
}

bool interp_run(struct interp *in, const struct gs_program *p)
{
	uint64_t r[11] = {0};
	size_t pc = 0;

	memset(in->stack, 0x5a, sizeof(in->stack));
	for (size_t i = 0; i < GS_ARRAY_SIZE(ctx_word); i++)
		in->ctx[ctx_word[i]] = in->reg[i];
	r[1] = (uint64_t)(uintptr_t)in->ctx;
	r[10] = (uint64_t)(uintptr_t)(in->stack + 64);
	for (in->ninsns = 0; in->ninsns < MOST_INSNS; in->ninsns++) {
		if (pc >= p->n)
			return fail(in, "ran off the end", pc);
		if (!step(in, p->insns, &pc, r))
			break;
	}
	if (in->ninsns == MOST_INSNS)
		return fail(in, "does not end", pc);
	if (in->holding)
		return fail(in, "a reservation is never given back", 0);
	return !in->failure[0];
}
