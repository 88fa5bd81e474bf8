/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Live sessions for the tests of bpf/: the test program itself is the target.
 * In the flow: a plan by hand, a site in this program, and what came out of the ring buffers.
 */
#include "tests/lib/bpf_live.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/mem.h"

const char *live_unable(void)
{
	if (geteuid() != 0)
		return "needs root";
	if (access("/sys/bus/event_source/devices/uprobe/type", R_OK))
		return "the kernel has no uprobes";
	return NULL;
}

uint64_t live_offset(const void *address)
{
	unsigned long want = (unsigned long)address, lo, hi, off;
	FILE *f = fopen("/proc/self/maps", "re");
	uint64_t found = 0;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &lo, &hi, &off) == 3 && want >= lo && want < hi)
			found = want - lo + off;
	if (f)
		fclose(f);
	return found;
}

void live_init(struct live *l)
{
	*l = (struct live){.keep = true, .exe = -1};
	gs_plan_init(&l->plan);
}

void live_deinit(struct live *l)
{
	gs_tracer_close(l->tracer);
	for (size_t i = 0; i < l->nevents; i++)
		free(l->events[i].bytes);
	free(l->events);
	gs_plan_deinit(&l->plan);
	gs_layout_deinit(&l->layout);
	if (l->exe >= 0)
		close(l->exe);
}

static bool said(struct gs_error *err)
{
	if (!err)
		return false;
	printf("# %s\n", gs_error_message(err));
	for (size_t i = 0; gs_error_hint_at(err, i); i++)
		printf("# hint: %s\n", gs_error_hint_at(err, i));
	gs_error_free(err);
	return true;
}

bool live_start_with(struct live *l, const struct gs_tracer_options *opts, void *function)
{
	struct gs_trace_site site = {0};
	struct gs_attach_failure *failures = NULL;
	size_t nfailures = 0;

	if (said(gs_plan_layout(&l->plan, &l->layout)) || said(gs_tracer_open(opts, &l->tracer)))
		return false;
	if (opts->filter_pids && said(gs_tracer_pid_add(l->tracer, getpid())))
		return false;
	l->exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	site.fd = l->exe;
	site.file_offset = live_offset(function);
	site.link_addr = site.file_offset;
	if (said(gs_tracer_attach(l->tracer, &l->plan, &l->layout, 1, &site, 1, &failures,
				  &nfailures)))
		return false;
	for (size_t i = 0; i < nfailures; i++)
		printf("# site %u refused: %d\n", failures[i].site, failures[i].err);
	free(failures);
	return nfailures == 0 && !said(gs_tracer_enable(l->tracer, true));
}

bool live_start(struct live *l, uint32_t feature_mask, void *function)
{
	struct gs_tracer_options opts = {
		.feature_mask = feature_mask,
		.buffer_bytes = 8u << 20,
		.max_sites = 16,
		.nprobes = 1,
		.filter_pids = true,
		.want_tls = true,
	};

	return live_start_with(l, &opts, function);
}

static int on_record(void *ctx, int cpu, const void *data, size_t len)
{
	struct live *l = ctx;
	struct live_event *ev;

	l->counted++;
	if (!l->keep)
		return 0;
	ev = GS_PUSH(l->events, l->nevents, l->events_cap);
	ev->bytes = gs_malloc(len);
	memcpy(ev->bytes, data, len);
	memcpy(&ev->head, data, sizeof(ev->head));
	if (ev->head.kind != GS_RECORD_EVENT) {
		memcpy(&ev->process, data, sizeof(ev->process));
		return 0;
	}
	if (said(gs_event_decode(&l->layout, ev->bytes, len, ev->items)))
		l->ndamaged++;
	return 0;
}

void live_drain(struct live *l)
{
	size_t n = 1;

	while (n)
		if (said(gs_tracer_poll(l->tracer, 0, on_record, l, &n)))
			return;
}

uint16_t live_reg(struct gs_plan *p, int reg)
{
	return gs_plan_node(p, GS_OP_REG, 8, GS_NODE_NONE, GS_NODE_NONE, reg);
}

struct gs_plan_item *live_item(struct gs_plan *p, enum gs_plan_item_kind kind, uint16_t node,
			       uint32_t size)
{
	struct gs_plan_item *item = gs_plan_item(p);

	item->kind = kind;
	item->node = node;
	item->size = size;
	item->variable = kind == GS_ITEM_STRING || kind == GS_ITEM_ARRAY;
	return item;
}
