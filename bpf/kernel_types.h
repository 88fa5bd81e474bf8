/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Offsets of kernel structures, from the running kernel's own BTF. Private to bpf/.
 */
#ifndef GS_BPF_KERNEL_TYPES_H
#define GS_BPF_KERNEL_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

/* Byte offsets within the structure named first. */
struct gs_kernel_types {
	uint32_t task_pid, task_tgid, task_thread_pid, task_signal, task_exit_code,
		task_group_leader;
	uint32_t task_fsbase;
	uint32_t signal_live, signal_group_exit_code, signal_flags;
	uint32_t pid_level, pid_numbers;
	uint32_t upid_size;
	bool exit_says_group_dead; /* the tracepoint sched_process_exit has that argument */
};

/* GS_ERR_UNSUPPORTED names what is missing. */
struct gs_error *gs_kernel_types_load(struct gs_kernel_types *t);

#endif
