/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wrappers of bpf(2) and perf_event_open(2): what libbpf of the supported distributions lacks.
 * In the flow: under the tracer's features, maps, programs and links.
 */
#include "bpf/sys.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/mem.h"

/* union bpf_attr of BPF_LINK_CREATE with the member uprobe_multi of Linux 6.6
 * (include/uapi/linux/bpf.h). */
struct link_create_attr {
	uint32_t prog_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t ref_ctr_offsets;
	uint64_t cookies;
	uint32_t cnt;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t pad;
};

#define UPROBE_MULTI_RETURN 1u /* BPF_F_UPROBE_MULTI_RETURN */

int gs_sys_uprobe_multi(int prog_fd, unsigned attach_type, const struct gs_uprobe_multi *m)
{
	struct link_create_attr attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = attach_type,
		.path = (uintptr_t)m->path,
		.offsets = (uintptr_t)m->offsets,
		.ref_ctr_offsets = (uintptr_t)m->ref_ctr_offsets,
		.cookies = (uintptr_t)m->cookies,
		.cnt = m->n,
		.multi_flags = m->at_return ? UPROBE_MULTI_RETURN : 0,
		.pid = (uint32_t)m->pid,
	};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

static void bind_maps(struct bpf_insn *insns, size_t n, const int *map_fds)
{
	for (size_t i = 0; i < n; i++)
		if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW)) {
			if (insns[i].src_reg == BPF_PSEUDO_MAP_FD)
				insns[i].imm = map_fds[insns[i].imm];
			i++;
		}
}

/* The last lines say why; the rest is a transcript of the program. */
static char *log_tail(const char *log)
{
	size_t len = strlen(log), lines = 0, at = len;

	while (at > 0 && lines < 12)
		lines += log[--at] == '\n';
	return gs_strdup(log + at);
}

#define LOG_SIZE (16u << 20)

int gs_sys_load(const struct gs_load *load, const struct bpf_insn *insns, size_t n,
		const int *map_fds, char **log)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = load->flags,
		    .expected_attach_type = (enum bpf_attach_type)load->attach_type);
	GS_CLEANUP_FREE struct bpf_insn *bound = gs_calloc(n, sizeof(*bound));
	GS_CLEANUP_FREE char *text = NULL;
	int fd, err;

	memcpy(bound, insns, n * sizeof(*bound));
	if (map_fds)
		bind_maps(bound, n, map_fds);
	fd = bpf_prog_load(load->type, load->name, GS_PROGRAM_LICENSE, bound, n, &opts);
	if (fd >= 0 || !log)
		return fd;
	err = fd;
	text = gs_malloc(LOG_SIZE);
	text[0] = '\0';
	opts.log_buf = text;
	opts.log_size = LOG_SIZE;
	opts.log_level = 1;
	fd = bpf_prog_load(load->type, load->name, GS_PROGRAM_LICENSE, bound, n, &opts);
	if (fd >= 0)
		return fd;
	*log = log_tail(text);
	return err;
}

int gs_sys_task_storage(uint32_t size)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	struct btf *btf = btf__new_empty();
	int key, byte, value, fd;

	if (!btf)
		return -errno;
	key = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	byte = btf__add_int(btf, "unsigned char", 1, 0);
	value = btf__add_array(btf, key, byte, size);
	fd = key < 0 || byte < 0 || value < 0 ? -ENOMEM : btf__load_into_kernel(btf);
	if (fd >= 0) {
		opts.btf_fd = (uint32_t)btf__fd(btf);
		opts.btf_key_type_id = (uint32_t)key;
		opts.btf_value_type_id = (uint32_t)value;
		fd = bpf_map_create(BPF_MAP_TYPE_TASK_STORAGE, "gs_staging", 4, size, 0, &opts);
	}
	btf__free(btf); /* the map keeps what it needs */
	return fd;
}

static int uprobe_pmu_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type = -ENOENT;

	if (!f)
		return -errno;
	if (fscanf(f, "%d", &type) != 1)
		type = -ENOENT;
	fclose(f);
	return type;
}

int gs_sys_perf_uprobe(const char *path, uint64_t offset, uint64_t ref_ctr_offset)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	int type = uprobe_pmu_type();
	long fd;

	if (type < 0)
		return type;
	/* format/ref_ctr_offset: config:32-63 */
	if (ref_ctr_offset > UINT32_MAX)
		return -EINVAL;
	attr.type = (uint32_t)type;
	attr.config = ref_ctr_offset << 32;
	attr.uprobe_path = (uintptr_t)path;
	attr.probe_offset = offset;
	/* The program of such an event runs on every cpu, whatever cpu the event itself is on. */
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}
