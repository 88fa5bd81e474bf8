/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Offsets of kernel structures, from the running kernel's own BTF.
 * In the flow: for thread pointers in probe programs, and for the programs that follow processes.
 */
#include "bpf/kernel_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"

/* Member PATH ("a.b") of structure TYPE, through anonymous members; bits from its start. */
static bool find_member(const struct btf *btf, int type, const char *path, uint32_t *bits)
{
	size_t len = strcspn(path, ".");
	const struct btf_type *t;
	const struct btf_member *m;

	type = btf__resolve_type(btf, (uint32_t)type);
	t = type > 0 ? btf__type_by_id(btf, (uint32_t)type) : NULL;
	if (!t || !btf_is_composite(t))
		return false;
	m = btf_members(t);
	for (uint32_t i = 0; i < btf_vlen(t); i++, m++) {
		const char *name = btf__name_by_offset(btf, m->name_off);
		uint32_t base = *bits + btf_member_bit_offset(t, i), inner = base;

		if (!name[0] && find_member(btf, (int)m->type, path, &inner)) {
			*bits = inner;
			return true;
		}
		if (strlen(name) != len || memcmp(name, path, len) != 0)
			continue;
		if (path[len] && !find_member(btf, (int)m->type, path + len + 1, &inner))
			return false;
		*bits = inner;
		return true;
	}
	return false;
}

static bool exit_has_group_dead(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "btf_trace_sched_process_exit", BTF_KIND_TYPEDEF);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	t = t ? btf__type_by_id(btf, t->type) : NULL; /* pointer */
	t = t ? btf__type_by_id(btf, t->type) : NULL; /* function: void *data, task, ... */
	return t && btf_is_func_proto(t) && btf_vlen(t) >= 3;
}

struct wanted {
	const char *type, *member;
	size_t field;
};

#define FIELD(f) offsetof(struct gs_kernel_types, f)
static const struct wanted wanted[] = {
	{"task_struct", "pid", FIELD(task_pid)},
	{"task_struct", "tgid", FIELD(task_tgid)},
	{"task_struct", "thread_pid", FIELD(task_thread_pid)},
	{"task_struct", "signal", FIELD(task_signal)},
	{"task_struct", "exit_code", FIELD(task_exit_code)},
	{"task_struct", "group_leader", FIELD(task_group_leader)},
	{"task_struct", "thread.fsbase", FIELD(task_fsbase)},
	{"signal_struct", "live", FIELD(signal_live)},
	{"signal_struct", "group_exit_code", FIELD(signal_group_exit_code)},
	{"signal_struct", "flags", FIELD(signal_flags)},
	{"pid", "level", FIELD(pid_level)},
	{"pid", "numbers", FIELD(pid_numbers)},
};

static struct gs_error *read_all(const struct btf *btf, struct gs_kernel_types *t)
{
	int upid = btf__find_by_name_kind(btf, "upid", BTF_KIND_STRUCT);

	for (size_t i = 0; i < GS_ARRAY_SIZE(wanted); i++) {
		int type = btf__find_by_name_kind(btf, wanted[i].type, BTF_KIND_STRUCT);
		uint32_t bits = 0;

		if (type < 0 || !find_member(btf, type, wanted[i].member, &bits))
			return gs_error_new(GS_ERR_UNSUPPORTED,
					    "the kernel's type information has no %s.%s",
					    wanted[i].type, wanted[i].member);
		bits /= 8;
		memcpy((char *)t + wanted[i].field, &bits, sizeof(bits));
	}
	if (upid < 0)
		return gs_error_new(GS_ERR_UNSUPPORTED,
				    "the kernel's type information has no upid");
	t->upid_size = btf__type_by_id(btf, (uint32_t)upid)->size;
	t->exit_says_group_dead = exit_has_group_dead(btf);
	return NULL;
}

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
#define BTF_BYTES_MAX (256 << 20)

/* libbpf looks in several places and says ESRCH in the end, whatever the reason was. */
static struct gs_error *no_types(void)
{
	int fd = open(KERNEL_BTF, O_RDONLY | O_CLOEXEC), err = errno;

	if (fd < 0 && err != ENOENT)
		return gs_error_errno(err, "cannot open " KERNEL_BTF);
	if (fd >= 0)
		close(fd);
	return gs_error_hint(gs_error_new(GS_ERR_UNSUPPORTED,
					  "cannot find the kernel's own types in " KERNEL_BTF),
			     "the kernel must have CONFIG_DEBUG_INFO_BTF");
}

/*
 * libbpf reads the file 4 KiB at a time, as all that the kernel gives of it in one read; mapped
 * (Linux 6.16) it is there at once. NULL: libbpf's way.
 */
static struct btf *map_types(void)
{
	int fd = open(KERNEL_BTF, O_RDONLY | O_CLOEXEC);
	struct stat st;
	struct btf *btf = NULL;
	void *data = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= BTF_BYTES_MAX)
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data != MAP_FAILED) {
		btf = btf__new(data, (uint32_t)st.st_size);
		munmap(data, (size_t)st.st_size);
	}
	if (fd >= 0)
		close(fd);
	return btf;
}

struct gs_error *gs_kernel_types_load(struct gs_kernel_types *t)
{
	struct btf *mapped = map_types(), *btf = mapped ? mapped : btf__load_vmlinux_btf();
	struct gs_error *err;

	*t = (struct gs_kernel_types){0};
	if (!btf)
		return no_types();
	err = read_all(btf, t);
	btf__free(btf);
	return err;
}
