/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Process following: the programs that keep the set of recorded processes, at fork, exec and exit.
 * In the flow: beside the probe programs; their records tell the drain of processes that come and
 * go.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#include "bpf/emit.h"
#include "bpf/tracer_impl.h"

/* Stack frame: the record first, then what is found out. */
enum {
	FP_RECORD = -(int)sizeof(struct gs_process_record), /* 56 bytes */
	FP_PID_TGID = FP_RECORD - 8,			    /* of the current task */
	FP_KEY = FP_RECORD - 16,
	FP_VALUE = FP_RECORD - 24,
	FP_NEW_PID = FP_RECORD - 32,
	FP_NEW_TGID = FP_RECORD - 40,
	FP_POINTER = FP_RECORD - 48,
	FP_CODE = FP_RECORD - 56,
};

#define SIGNAL_GROUP_EXIT 4 /* include/linux/sched/signal.h */

struct follow {
	struct gs_emit e;
	const struct gs_tracer *t;
	gs_label leave;
	uint32_t level; /* of the recorder's pid namespace */
};

#define R_CTX BPF_REG_6
#define R_TASK BPF_REG_7

/* *(r10 + to) = SIZE bytes of kernel memory at base + off. A failure leaves: the kernel's own
 * structures are there. */
static void read_kernel(struct follow *f, int to, uint32_t size, uint8_t base, uint32_t off)
{
	gs_emit_mov(&f->e, BPF_REG_3, base);
	gs_emit_alui(&f->e, BPF_ADD, BPF_REG_3, (int32_t)off);
	gs_emit_mov(&f->e, BPF_REG_1, BPF_REG_10);
	gs_emit_alui(&f->e, BPF_ADD, BPF_REG_1, to);
	gs_emit_movi(&f->e, BPF_REG_2, (int32_t)size);
	gs_emit_call(&f->e, BPF_FUNC_probe_read_kernel);
	gs_emit_ifi(&f->e, BPF_JNE, BPF_REG_0, 0, f->leave);
}

static void map_call(struct follow *f, enum gs_map map, int key, int helper)
{
	gs_emit_map(&f->e, BPF_REG_1, map);
	gs_emit_mov(&f->e, BPF_REG_2, BPF_REG_10);
	gs_emit_alui(&f->e, BPF_ADD, BPF_REG_2, key);
	gs_emit_call(&f->e, helper);
}

/* control.FIELD += 1 */
static void count_loss(struct follow *f, int16_t field)
{
	gs_label past = gs_emit_label(&f->e, "counted");

	gs_emit_storei(&f->e, BPF_W, BPF_REG_10, FP_KEY, 0);
	map_call(f, GS_MAP_CONTROL, FP_KEY, BPF_FUNC_map_lookup_elem);
	gs_emit_ifi(&f->e, BPF_JEQ, BPF_REG_0, 0, past);
	gs_emit_movi(&f->e, BPF_REG_1, 1);
	gs_emit_atomic_add(&f->e, BPF_REG_0, field, BPF_REG_1);
	gs_emit_bind(&f->e, past);
}

/* The current task's numbers; leaves when they are none in our namespace. */
static void identify_current(struct follow *f)
{
	const struct gs_tracer *t = f->t;

	gs_emit_mov(&f->e, R_CTX, BPF_REG_1);
	if (!(t->features & GS_FEATURE_NS_PID)) {
		gs_emit_call(&f->e, BPF_FUNC_get_current_pid_tgid);
		gs_emit_store(&f->e, BPF_DW, BPF_REG_10, FP_PID_TGID, BPF_REG_0);
	} else {
		gs_emit_imm64(&f->e, BPF_REG_1, t->ns.dev);
		gs_emit_imm64(&f->e, BPF_REG_2, t->ns.ino);
		gs_emit_mov(&f->e, BPF_REG_3, BPF_REG_10);
		gs_emit_alui(&f->e, BPF_ADD, BPF_REG_3, FP_PID_TGID);
		gs_emit_movi(&f->e, BPF_REG_4, 8);
		gs_emit_call(&f->e, BPF_FUNC_get_ns_current_pid_tgid);
		gs_emit_ifi(&f->e, BPF_JNE, BPF_REG_0, 0, f->leave);
	}
	gs_emit_load(&f->e, BPF_W, BPF_REG_1, BPF_REG_10, FP_PID_TGID + 4);
	gs_emit_store(&f->e, BPF_W, BPF_REG_10, FP_KEY, BPF_REG_1);
}

#define HEAD(field) (FP_RECORD + (int)offsetof(struct gs_event_head, field))
#define PROCESS(field) (FP_RECORD + (int)offsetof(struct gs_process_record, field))

/* Builds the record and sends it. OTHER and CODE: stack offsets of u32, or 0. */
static void send(struct follow *f, enum gs_record_kind kind, int other, int code)
{
	struct gs_emit *e = &f->e;
	gs_label lost = gs_emit_label(e, "no_room");

	for (int at = 0; at < (int)sizeof(struct gs_process_record); at += 8)
		gs_emit_storei(e, BPF_DW, BPF_REG_10, (int16_t)(FP_RECORD + at), 0);
	gs_emit_call(e, BPF_FUNC_ktime_get_ns);
	gs_emit_store(e, BPF_DW, BPF_REG_10, HEAD(time_ns), BPF_REG_0);
	gs_emit_storei(e, BPF_W, BPF_REG_10, HEAD(len), sizeof(struct gs_process_record));
	gs_emit_load(e, BPF_W, BPF_REG_1, BPF_REG_10, FP_PID_TGID + 4);
	gs_emit_store(e, BPF_W, BPF_REG_10, HEAD(pid), BPF_REG_1);
	gs_emit_load(e, BPF_W, BPF_REG_1, BPF_REG_10, FP_PID_TGID);
	gs_emit_store(e, BPF_W, BPF_REG_10, HEAD(tid), BPF_REG_1);
	gs_emit_storei(e, BPF_H, BPF_REG_10, HEAD(kind), kind);
	if (other) {
		gs_emit_load(e, BPF_W, BPF_REG_1, BPF_REG_10, (int16_t)other);
		gs_emit_store(e, BPF_W, BPF_REG_10, PROCESS(other), BPF_REG_1);
	}
	if (code) {
		gs_emit_load(e, BPF_W, BPF_REG_1, BPF_REG_10, (int16_t)code);
		gs_emit_store(e, BPF_W, BPF_REG_10, PROCESS(code), BPF_REG_1);
	}
	gs_emit_mov(e, BPF_REG_1, BPF_REG_10);
	gs_emit_alui(e, BPF_ADD, BPF_REG_1, HEAD(comm));
	gs_emit_movi(e, BPF_REG_2, 16);
	gs_emit_call(e, BPF_FUNC_get_current_comm);
	gs_emit_call(e, BPF_FUNC_get_smp_processor_id);
	gs_emit_store(e, BPF_W, BPF_REG_10, HEAD(cpu), BPF_REG_0);
	gs_emit_store(e, BPF_W, BPF_REG_10, FP_KEY, BPF_REG_0);
	map_call(f, GS_MAP_RINGS, FP_KEY, BPF_FUNC_map_lookup_elem);
	gs_emit_ifi(e, BPF_JEQ, BPF_REG_0, 0, lost);
	gs_emit_mov(e, BPF_REG_1, BPF_REG_0);
	gs_emit_mov(e, BPF_REG_2, BPF_REG_10);
	gs_emit_alui(e, BPF_ADD, BPF_REG_2, FP_RECORD);
	gs_emit_movi(e, BPF_REG_3, sizeof(struct gs_process_record));
	gs_emit_movi(e, BPF_REG_4, BPF_RB_NO_WAKEUP);
	gs_emit_call(e, BPF_FUNC_ringbuf_output);
	gs_emit_ifi(e, BPF_JEQ, BPF_REG_0, 0, f->leave);
	gs_emit_bind(e, lost);
	count_loss(f, offsetof(struct gs_control, process_lost));
}

/*
 * The new task's numbers in our namespace, from its struct pid; one that is the first of a deeper
 * namespace has a number here, too, but its hits cannot be told: it is counted as not followed.
 */
static void new_task_numbers(struct follow *f, gs_label deeper)
{
	const struct gs_kernel_types *k = &f->t->types;

	read_kernel(f, FP_NEW_PID, 4, R_TASK, k->task_pid);
	read_kernel(f, FP_NEW_TGID, 4, R_TASK, k->task_tgid);
	gs_emit_load(&f->e, BPF_W, BPF_REG_1, BPF_REG_10, FP_NEW_PID);
	gs_emit_load(&f->e, BPF_W, BPF_REG_2, BPF_REG_10, FP_NEW_TGID);
	gs_emit_if(&f->e, BPF_JNE, BPF_REG_1, BPF_REG_2, f->leave); /* a thread of its process */
	if (!(f->t->features & GS_FEATURE_NS_PID))
		return;
	read_kernel(f, FP_POINTER, 8, R_TASK, k->task_thread_pid);
	gs_emit_load(&f->e, BPF_DW, R_TASK, BPF_REG_10, FP_POINTER);
	read_kernel(f, FP_VALUE, 4, R_TASK, k->pid_level);
	read_kernel(f, FP_NEW_TGID, 4, R_TASK, k->pid_numbers + f->level * k->upid_size);
	gs_emit_load(&f->e, BPF_W, BPF_REG_1, BPF_REG_10, FP_VALUE);
	gs_emit_ifi(&f->e, BPF_JNE, BPF_REG_1, (int32_t)f->level, deeper);
}

/* sched_process_fork(parent, child): in the parent, before the child can run. */
static void on_fork(struct follow *f)
{
	gs_label deeper = gs_emit_label(&f->e, "namespace_below");
	gs_label sent = gs_emit_label(&f->e, "followed");

	map_call(f, GS_MAP_PIDS, FP_KEY, BPF_FUNC_map_lookup_elem);
	gs_emit_ifi(&f->e, BPF_JEQ, BPF_REG_0, 0, f->leave);
	gs_emit_load(&f->e, BPF_DW, R_TASK, R_CTX, 8);
	new_task_numbers(f, deeper);
	gs_emit_storei(&f->e, BPF_W, BPF_REG_10, FP_VALUE, GS_PID_RECORDED);
	gs_emit_map(&f->e, BPF_REG_1, GS_MAP_PIDS);
	gs_emit_mov(&f->e, BPF_REG_2, BPF_REG_10);
	gs_emit_alui(&f->e, BPF_ADD, BPF_REG_2, FP_NEW_TGID);
	gs_emit_mov(&f->e, BPF_REG_3, BPF_REG_10);
	gs_emit_alui(&f->e, BPF_ADD, BPF_REG_3, FP_VALUE);
	gs_emit_movi(&f->e, BPF_REG_4, BPF_ANY);
	gs_emit_call(&f->e, BPF_FUNC_map_update_elem);
	gs_emit_ifi(&f->e, BPF_JEQ, BPF_REG_0, 0, sent);
	count_loss(f, offsetof(struct gs_control, filter_lost));
	if (gs_emit_label_used(&f->e, deeper)) {
		gs_emit_goto(&f->e, sent);
		gs_emit_bind(&f->e, deeper);
		count_loss(f, offsetof(struct gs_control, deeper));
	}
	gs_emit_bind(&f->e, sent);
	send(f, GS_RECORD_FORK, FP_NEW_TGID, 0);
}

/* sched_process_exec(task, old_pid, bprm): before the new program's first instruction. */
static void on_exec(struct follow *f)
{
	map_call(f, GS_MAP_PIDS, FP_KEY, BPF_FUNC_map_lookup_elem);
	gs_emit_ifi(&f->e, BPF_JEQ, BPF_REG_0, 0, f->leave);
	gs_emit_storei(&f->e, BPF_W, BPF_REG_0, 0, GS_PID_RECORDED);
	send(f, GS_RECORD_EXEC, 0, 0);
}

/* Leaves unless this was the last thread of its process. */
static void require_group_dead(struct follow *f)
{
	const struct gs_kernel_types *k = &f->t->types;

	if (k->exit_says_group_dead) {
		gs_emit_load(&f->e, BPF_DW, BPF_REG_1, R_CTX, 8);
		gs_emit_alui(&f->e, BPF_AND, BPF_REG_1, 0xff); /* a bool */
		gs_emit_ifi(&f->e, BPF_JEQ, BPF_REG_1, 0, f->leave);
		return;
	}
	/* Two last threads may both see 0: whoever removes the process from the set reports it. */
	read_kernel(f, FP_POINTER, 8, R_TASK, k->task_signal);
	gs_emit_load(&f->e, BPF_DW, BPF_REG_8, BPF_REG_10, FP_POINTER);
	read_kernel(f, FP_VALUE, 4, BPF_REG_8, k->signal_live);
	gs_emit_load(&f->e, BPF_W, BPF_REG_1, BPF_REG_10, FP_VALUE);
	gs_emit_ifi(&f->e, BPF_JNE, BPF_REG_1, 0, f->leave);
}

/* What a parent will wait for: the group's code if the group was told to exit, else the leader's.
 */
static void exit_status(struct follow *f)
{
	const struct gs_kernel_types *k = &f->t->types;
	gs_label leader = gs_emit_label(&f->e, "leader"), have = gs_emit_label(&f->e, "status");

	read_kernel(f, FP_POINTER, 8, R_TASK, k->task_signal);
	gs_emit_load(&f->e, BPF_DW, BPF_REG_8, BPF_REG_10, FP_POINTER);
	read_kernel(f, FP_VALUE, 4, BPF_REG_8, k->signal_flags);
	gs_emit_load(&f->e, BPF_W, BPF_REG_1, BPF_REG_10, FP_VALUE);
	gs_emit_alui(&f->e, BPF_AND, BPF_REG_1, SIGNAL_GROUP_EXIT);
	gs_emit_ifi(&f->e, BPF_JEQ, BPF_REG_1, 0, leader);
	read_kernel(f, FP_CODE, 4, BPF_REG_8, k->signal_group_exit_code);
	gs_emit_goto(&f->e, have);
	gs_emit_bind(&f->e, leader);
	read_kernel(f, FP_POINTER, 8, R_TASK, k->task_group_leader);
	gs_emit_load(&f->e, BPF_DW, BPF_REG_8, BPF_REG_10, FP_POINTER);
	read_kernel(f, FP_CODE, 4, BPF_REG_8, k->task_exit_code);
	gs_emit_bind(&f->e, have);
}

/* sched_process_exit(task [, group_dead]) */
static void on_exit_task(struct follow *f)
{
	gs_emit_load(&f->e, BPF_DW, R_TASK, R_CTX, 0);
	require_group_dead(f);
	map_call(f, GS_MAP_PIDS, FP_KEY, BPF_FUNC_map_delete_elem);
	gs_emit_ifi(&f->e, BPF_JNE, BPF_REG_0, 0, f->leave);
	exit_status(f);
	send(f, GS_RECORD_EXIT, 0, FP_CODE);
}

static struct gs_error *load_program(struct follow *f, const char *name, int *fd)
{
	struct gs_load load = {BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0, name};
	GS_CLEANUP_FREE char *log = NULL;
	struct gs_program program;
	struct gs_error *err;

	gs_emit_bind(&f->e, f->leave);
	gs_emit_exit(&f->e);
	err = gs_emit_finish(&f->e, &program, NULL);
	gs_emit_deinit(&f->e);
	if (err)
		return err;
	*fd = gs_sys_load(&load, program.insns, program.n, f->t->map_fd, &log);
	gs_program_deinit(&program);
	return *fd < 0 ? gs_load_error(*fd, "process following", log) : NULL;
}

static void begin(struct follow *f)
{
	gs_emit_init(&f->e, false);
	f->leave = gs_emit_label(&f->e, "leave");
}

/* How deep our pid namespace is: a program that runs in our own context looks. */
static struct gs_error *find_level(struct follow *f)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	const struct gs_kernel_types *k = &f->t->types;
	int fd, err;

	begin(f);
	gs_emit_movi(&f->e, BPF_REG_0, 0);
	gs_emit_call(&f->e, BPF_FUNC_get_current_task);
	gs_emit_mov(&f->e, R_TASK, BPF_REG_0);
	read_kernel(f, FP_POINTER, 8, R_TASK, k->task_thread_pid);
	gs_emit_load(&f->e, BPF_DW, R_TASK, BPF_REG_10, FP_POINTER);
	read_kernel(f, FP_VALUE, 4, R_TASK, k->pid_level);
	gs_emit_load(&f->e, BPF_W, BPF_REG_0, BPF_REG_10, FP_VALUE);
	gs_emit_raw(&f->e, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	GS_TRY(load_program(f, "gs_ns_level", &fd));
	err = bpf_prog_test_run_opts(fd, &run);
	close(fd);
	if (err || run.retval == 0)
		return gs_error_hint(
			gs_error_new(GS_ERR_UNSUPPORTED,
				     "cannot find out the depth of this pid namespace"),
			"run gs-record in the initial pid namespace");
	f->level = run.retval;
	return NULL;
}

struct gs_error *gs_follow_start(struct gs_tracer *t)
{
	static const struct {
		const char *tracepoint, *name;
		void (*body)(struct follow *f);
		bool children; /* needed for them alone */
	} programs[] = {
		{"sched_process_fork", "gs_fork", on_fork, true},
		{"sched_process_exec", "gs_exec", on_exec, false},
		{"sched_process_exit", "gs_exit", on_exit_task, true},
	};
	struct follow f = {.t = t};

	if (t->opts.follow && t->features & GS_FEATURE_NS_PID)
		GS_TRY(find_level(&f));
	for (size_t i = 0; i < GS_ARRAY_SIZE(programs); i++) {
		int prog, link;

		if (programs[i].children && !t->opts.follow)
			continue;
		begin(&f);
		identify_current(&f);
		programs[i].body(&f);
		GS_TRY(load_program(&f, programs[i].name, &prog));
		link = bpf_raw_tracepoint_open(programs[i].tracepoint, prog);
		close(prog);
		if (link < 0)
			return gs_error_errno(errno, "cannot attach to the tracepoint %s",
					      programs[i].tracepoint);
		gs_tracer_keep(t, link);
	}
	return NULL;
}
