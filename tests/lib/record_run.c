/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ptrace and an interpreter of plan nodes for the unit tests of record/.
 */
#include "tests/lib/record_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/plan_ops.h"

static char directory[] = "/tmp/gs-unit-XXXXXX";

static void remove_directory(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	if (system(command) != 0)
		printf("# %s was not removed\n", directory);
}

static const char *top_directory(void)
{
	return access("tests/fixtures/places.c", R_OK) == 0 ? "." : "../..";
}

bool run_have(const char *program)
{
	char command[256];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", program);
	return system(command) == 0;
}

const char *run_compile(const char *cc, const char *flags, const char *source)
{
	static char paths[256][64];
	static unsigned n;
	char command[1024];
	char *path = paths[n % GS_ARRAY_SIZE(paths)];

	if (directory[sizeof(directory) - 2] == 'X') {
		if (!mkdtemp(directory))
			return NULL;
		atexit(remove_directory);
	}
	snprintf(path, sizeof(paths[0]), "%s/%u", directory, n++);
	snprintf(command, sizeof(command),
		 "cd '%s' && %s -g %s -o '%s' 'tests/fixtures/%s' -lm 2>&1", top_directory(), cc,
		 flags, path, source);
	return system(command) == 0 ? path : NULL;
}

unsigned run_line(const char *source, const char *mark)
{
	char path[256], line[512], want[64];
	unsigned n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/fixtures/%s", top_directory(), source);
	snprintf(want, sizeof(want), "LINE: %s */", mark);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		n++;
		if (strstr(line, want)) {
			fclose(f);
			return n;
		}
	}
	if (f)
		fclose(f);
	return 0;
}

static int open_any(void *ctx, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : fd;
}

bool run_open(const char *path, struct run_module *out)
{
	static const struct gs_opener opener = {.open_file = open_any};
	struct gs_error *err;

	*out = (struct run_module){.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC)};
	if (out->fd < 0)
		return false;
	out->types = gs_types_new();
	err = gs_module_open(out->fd, path, &opener, out->types, &out->m);
	if (err) {
		printf("# %s\n", gs_error_message(err));
		gs_error_free(err);
		gs_types_free(out->types);
		close(out->fd);
		return false;
	}
	return true;
}

void run_close(struct run_module *rm)
{
	gs_module_close(rm->m);
	gs_types_free(rm->types);
	close(rm->fd);
}

/* ---- the process ---- */

static uint64_t load_bias(const struct run *r, const struct run_module *rm)
{
	char path[64], line[512], real[512];
	uint64_t low = 0;
	FILE *f;

	if (!gs_module_info(rm->m)->is_pie_or_library || !realpath(rm->path, real))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)r->pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, real)) {
			low = strtoull(line, NULL, 16);
			break;
		}
	if (f)
		fclose(f);
	return low;
}

bool run_start(struct run *r, const struct run_module *rm)
{
	int status;

	*r = (struct run){.pid = fork()};
	if (r->pid == 0) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl(rm->path, rm->path, (char *)NULL);
		_exit(127);
	}
	if (r->pid < 0 || waitpid(r->pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return false;
	r->bias = load_bias(r, rm);
	return true;
}

void run_stop_at(struct run *r, uint64_t link_addr)
{
	uint64_t addr = link_addr + r->bias;
	long word;

	for (size_t i = 0; i < r->nstops; i++)
		if (r->stops[i].addr == addr)
			return;
	if (r->nstops == GS_ARRAY_SIZE(r->stops))
		return;
	word = ptrace(PTRACE_PEEKTEXT, r->pid, (void *)addr, NULL);
	r->stops[r->nstops].addr = addr;
	r->stops[r->nstops++].word = word & 0xff;
	ptrace(PTRACE_POKETEXT, r->pid, (void *)addr, (void *)((word & ~0xffl) | 0xcc));
}

static void poke_byte(const struct run *r, uint64_t addr, long byte)
{
	long word = ptrace(PTRACE_PEEKTEXT, r->pid, (void *)addr, NULL);

	ptrace(PTRACE_POKETEXT, r->pid, (void *)addr, (void *)((word & ~0xffl) | byte));
}

/* The original instruction, alone, then the breakpoint again. */
static bool step_over(struct run *r)
{
	int status;

	for (size_t i = 0; i < r->nstops; i++) {
		if (r->stops[i].addr != r->skip)
			continue;
		poke_byte(r, r->skip, r->stops[i].word);
		ptrace(PTRACE_SINGLESTEP, r->pid, NULL, NULL);
		if (waitpid(r->pid, &status, 0) < 0 || !WIFSTOPPED(status))
			return false;
		poke_byte(r, r->skip, 0xcc);
		/* The step may have led to another stop, which is then not executed but reached. */
		ptrace(PTRACE_GETREGS, r->pid, NULL, &r->regs);
		break;
	}
	r->skip = 0;
	return true;
}

bool run_next(struct run *r)
{
	int status;

	r->at = 0;
	if (r->skip && !step_over(r))
		return false;
	ptrace(PTRACE_CONT, r->pid, NULL, NULL);
	if (waitpid(r->pid, &status, 0) < 0 || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		return false;
	ptrace(PTRACE_GETREGS, r->pid, NULL, &r->regs);
	r->regs.rip--;
	ptrace(PTRACE_SETREGS, r->pid, NULL, &r->regs);
	r->skip = r->regs.rip;
	r->at = r->regs.rip - r->bias;
	return true;
}

void run_end(struct run *r)
{
	kill(r->pid, SIGKILL);
	waitpid(r->pid, NULL, 0);
}

bool run_read(const struct run *r, uint64_t addr, void *buf, size_t n)
{
	struct iovec to = {buf, n}, from = {(void *)addr, n};

	return process_vm_readv(r->pid, &to, 1, &from, 1, 0) == (ssize_t)n;
}

/* ---- nodes ---- */

static uint64_t reg_value(const struct run *r, int64_t number)
{
	const struct user_regs_struct *u = &r->regs;
	const uint64_t regs[] = {u->rax, u->rdx, u->rcx, u->rbx, u->rsi, u->rdi,
				 u->rbp, u->rsp, u->r8,	 u->r9,	 u->r10, u->r11,
				 u->r12, u->r13, u->r14, u->r15, u->rip};

	return number < 17 ? regs[number] : 0;
}

bool run_node(const struct run *r, const struct gs_plan *p, uint16_t node, uint64_t *value)
{
	const struct gs_plan_node *n;
	uint64_t a = 0, b = 0;
	unsigned status = GS_STATUS_OK;

	if (node >= p->nnodes)
		return false;
	n = &p->nodes[node];
	if (n->a < node && !run_node(r, p, n->a, &a))
		return false;
	if (n->b < node && !run_node(r, p, n->b, &b))
		return false;
	switch (n->op) {
	case GS_OP_CONST:
		*value = (uint64_t)n->imm;
		return true;
	case GS_OP_REG:
		*value = reg_value(r, n->imm);
		return true;
	case GS_OP_BIAS:
		*value = r->bias;
		return true;
	case GS_OP_TLS_BASE:
		*value = r->regs.fs_base;
		return true;
	case GS_OP_LOAD:
		*value = 0;
		return run_read(r, a, value, n->size);
	case GS_OP_SELECT:
		return run_node(r, p, a ? n->b : n->c, value);
	case GS_OP_ABSENT:
		return false;
	}
	*value = gs_plan_op_apply(n->op, n->size, a, b, &status);
	return status == GS_STATUS_OK;
}

static bool piece_bytes(const struct run *r, const struct gs_plan *p,
			const struct gs_location_piece *piece, uint8_t *out)
{
	uint64_t value;

	switch (piece->kind) {
	case GS_LOC_BYTES:
		memcpy(out, piece->bytes, piece->size);
		return true;
	case GS_LOC_MEMORY:
		return run_node(r, p, piece->node, &value) && run_read(r, value, out, piece->size);
	case GS_LOC_VALUE:
		if (piece->size > 8 || !run_node(r, p, piece->node, &value))
			return false;
		memcpy(out, &value, piece->size);
		return true;
	default:
		return false;
	}
}

bool run_bytes(const struct run *r, struct gs_context *c, const struct gs_variable *v, void *buf,
	       size_t n, struct gs_location *loc)
{
	struct gs_plan p;
	struct gs_error *err;
	struct gs_location_piece whole;
	bool good = true;

	gs_plan_init(&p);
	err = gs_context_location(c, v, &p, loc);
	if (err) {
		printf("# %s: %s\n", v->name, gs_error_message(err));
		gs_error_free(err);
		gs_plan_deinit(&p);
		return false;
	}
	whole = (struct gs_location_piece){.size = (uint32_t)n,
					   .kind = (uint8_t)loc->kind,
					   .node = loc->node,
					   .bytes = loc->bytes};
	if (loc->kind == GS_LOC_PIECES)
		for (size_t i = 0; i < loc->npieces && good; i++)
			good = loc->pieces[i].offset + loc->pieces[i].size <= n &&
			       piece_bytes(r, &p, &loc->pieces[i],
					   (uint8_t *)buf + loc->pieces[i].offset);
	else if (loc->kind == GS_LOC_BYTES && loc->nbytes < n)
		good = false;
	else
		good = piece_bytes(r, &p, &whole, buf);
	gs_plan_deinit(&p);
	return good;
}
