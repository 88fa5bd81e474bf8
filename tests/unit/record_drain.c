/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The drain and the writer thread behind it: every record is in the file or counted, the first N
 * are the first by time, a full disk and a damaged record are counted, code addresses get names.
 * Records are made by hand; the file is read back with the reader.
 */
#include "record/drain.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/hash.h"
#include "format/input.h"
#include "record/proc.h"
#include "tests/tap.h"

#define NCPUS 4u
#define MS 1000000u

/* Two probes, a site each; one item of 8 bytes, which holds a code address. */
struct bench {
	char path[64];
	struct gs_resolution res;
	struct gs_tally tally;
	struct gs_processes *processes;
	struct gs_output *output;
	struct gs_drain *drain;
	struct gs_output_summary summary;
	struct gs_error *error;
};

static void make_resolution(struct gs_resolution *r)
{
	static struct gs_meta_item item = {.key = "a", .expr = "a", .size = 8, .parent = GS_NONE};
	static struct gs_resolved_site sites[2];
	static struct gs_code_pointer pointer = {0, 0, 0, 8};
	struct gs_type type = {.kind = GS_KIND_INT, .name = "long", .byte_size = 8};
	struct gs_meta *m = &r->meta;
	struct gs_meta_module *module;
	struct gs_meta_schema *schema;

	memset(r, 0, sizeof(*r));
	gs_meta_init(m);
	CHECK(!gs_types_add(m->types, &type, &item.type));
	module = GS_PUSH(m->modules, m->nmodules, m->modules_cap);
	module->path = "/proc/self/exe";
	module->debug_path = "";
	module->pointer_size = 8;
	schema = GS_PUSH(m->schemas, m->nschemas, m->schemas_cap);
	schema->items = &item;
	schema->nitems = 1;
	for (uint32_t i = 0; i < 2; i++) {
		struct gs_meta_probe *p = GS_PUSH(m->probes, m->nprobes, m->probes_cap);
		struct gs_meta_site *s = GS_PUSH(m->sites, m->nsites, m->sites_cap);

		*p = (struct gs_meta_probe){.id = i, .name = "p", .text = "p"};
		*s = (struct gs_meta_site){
			.id = i, .probe = i, .func = "f", .inlined_in = "", .file = ""};
	}
	r->sites = sites;
	r->code_pointers = &pointer;
	r->ncode_pointers = 1;
}

static void bench_open(struct bench *b, const char *path, uint64_t max_events, uint64_t max_size)
{
	struct gs_output_options oopts = {path, max_size, NCPUS, &b->tally};
	struct gs_drain_options dopts = {
		.tally = &b->tally, .ncpus = NCPUS, .max_events = max_events};
	struct gs_bases bases = {0};
	struct gs_meta *meta;

	snprintf(b->path, sizeof(b->path), "%s", path);
	make_resolution(&b->res);
	gs_tally_init(&b->tally, 2, 2);
	b->processes = gs_processes_new();
	CHECK(!gs_output_open(&oopts, &b->output));
	meta = gs_output_meta(b->output);
	CHECK(!gs_merge_resolution(meta, &b->res, &bases));
	meta->has_session = true;
	meta->session.version = meta->session.command = meta->session.hostname = "";
	meta->session.kernel = meta->session.machine = meta->session.target = "";
	dopts.output = b->output;
	dopts.processes = b->processes;
	b->drain = gs_drain_new(&dopts);
	CHECK(!gs_drain_add(b->drain, &b->res, &bases));
}

static void fill_end(void *ctx, struct gs_meta *meta, struct gs_meta_end *end)
{
	*end = (struct gs_meta_end){.message = ""};
}

static bool never(void *ctx)
{
	return false;
}

static void bench_finish(struct bench *b)
{
	struct gs_output_end end = {fill_end, never, NULL};
	struct gs_meta *rows;

	gs_drain_finish(b->drain);
	rows = gs_processes_rows(b->processes, true);
	if (rows)
		gs_output_rows(b->output, rows);
	b->error = gs_output_finish(b->output, &end, &b->summary);
}

static void bench_close(struct bench *b)
{
	gs_error_free(b->error);
	gs_drain_free(b->drain);
	gs_processes_free(b->processes);
	gs_tally_deinit(&b->tally);
	gs_meta_deinit(&b->res.meta);
	if (!strncmp(b->path, "/tmp/", 5))
		unlink(b->path);
}

/* A record as a probe program leaves it: head, status padded to 8, one slot. */
struct record {
	struct gs_event_head head;
	uint64_t status, value;
};

static void give(struct bench *b, uint32_t cpu, uint32_t site, uint64_t time_ns, uint64_t value)
{
	struct record r = {
		.head = {.time_ns = time_ns, .len = sizeof(r), .site = site, .pid = 0, .cpu = cpu},
		.value = value,
	};

	CHECK_INT(gs_drain_record(b->drain, (int)cpu, &r, sizeof(r)), 0);
}

/* Times of all events in the file's order; *values likewise. */
static size_t read_back(const char *path, uint64_t *times, uint64_t *values, size_t max)
{
	struct gs_input_options opts = {0};
	struct gs_input *in = NULL;
	struct gs_batch *batch = NULL;
	const struct gs_column *col;
	const struct gs_damage *damages;
	uint32_t row;
	size_t n = 0;
	struct gs_error *err = gs_input_open(path, &opts, &in);

	CHECK(!err);
	while (!err && !(err = gs_input_next(in, &batch, &row)) && batch) {
		if (n < max) {
			times[n] = batch->time[row];
			CHECK(!gs_batch_column(batch, 0, 0, &col));
			values[n] = gs_load_uint(col->data + batch->schema_row[row] * 8u, 8, false);
		}
		n++;
	}
	if (err)
		printf("# %s\n", gs_error_message(err));
	CHECK(!err);
	gs_error_free(err);
	if (in)
		CHECK_INT(gs_input_damages(in, &damages), 0);
	gs_input_free(in);
	return n;
}

static void test_all_are_there(void)
{
	enum { N = 20000 };
	static uint64_t times[N], values[N];
	char path[] = "/tmp/gs-drain-XXXXXX";
	struct bench b = {0};
	size_t n;

	close(mkstemp(path));
	unlink(path);
	bench_open(&b, path, 0, 0);
	CHECK(!gs_output_start(b.output));
	for (uint64_t i = 0; i < N; i++) {
		give(&b, i % NCPUS, i & 1, 1000 + i, i);
		if (i % 1000 == 0)
			gs_drain_tick(b.drain, 1000 + i, 1000 + i);
	}
	bench_finish(&b);
	CHECK(!b.error);
	CHECK_INT(b.summary.events, N);
	CHECK_INT(b.tally.rows[0].seen + b.tally.rows[1].seen, N);
	CHECK_INT(b.tally.rows[0].lost + b.tally.rows[1].lost + b.tally.rows[2].lost, 0);
	n = read_back(path, times, values, N);
	CHECK_INT(n, N);
	for (size_t i = 0; i < n; i++) {
		if (times[i] != 1000 + i || values[i] != i) {
			CHECK_INT(times[i], 1000 + i);
			break;
		}
	}
	bench_close(&b);
}

/* A chunk goes out when its oldest record is old, also if it is nearly empty. */
static void test_age(void)
{
	char path[] = "/tmp/gs-drain-XXXXXX";
	struct bench b = {0};
	struct stat before, after;

	close(mkstemp(path));
	unlink(path);
	bench_open(&b, path, 0, 0);
	CHECK(!gs_output_start(b.output));
	CHECK(!stat(path, &before));
	give(&b, 1, 0, 1000 * MS, 5);
	gs_drain_tick(b.drain, 1050 * MS, 1050 * MS);
	usleep(100000);
	CHECK(!stat(path, &after));
	CHECK_INT(after.st_size, before.st_size);
	gs_drain_tick(b.drain, 1100 * MS, 1100 * MS);
	for (int i = 0; i < 200 && after.st_size == before.st_size; i++) {
		usleep(10000);
		CHECK(!stat(path, &after));
	}
	CHECK(after.st_size > before.st_size);
	bench_finish(&b);
	CHECK_INT(b.summary.events, 1);
	bench_close(&b);
}

/* Processors deliver one after the other, up to 60 ms apart; what is kept is the first 10 by time.
 */
static void test_first_by_time(void)
{
	uint64_t times[64], values[64];
	char path[] = "/tmp/gs-drain-XXXXXX";
	struct bench b = {0};
	size_t n;

	close(mkstemp(path));
	unlink(path);
	bench_open(&b, path, 10, 0);
	CHECK(!gs_output_start(b.output));
	for (uint64_t i = 0; i < 8; i++)
		give(&b, 0, 0, 1000 * MS + 10 * i * MS, i);
	gs_drain_tick(b.drain, 1075 * MS, 1075 * MS);
	CHECK(!gs_drain_full(b.drain));
	for (uint64_t i = 0; i < 8; i++)
		give(&b, 1, 1, 1005 * MS + 10 * i * MS, 100 + i);
	gs_drain_tick(b.drain, 1085 * MS, 1085 * MS);
	CHECK(!gs_drain_full(b.drain)); /* an older one could still come */
	gs_drain_tick(b.drain, 1145 * MS, 1145 * MS);
	CHECK(gs_drain_full(b.drain));
	give(&b, 2, 0, 1150 * MS, 999);
	bench_finish(&b);
	n = read_back(path, times, values, 64);
	CHECK_INT(n, 10);
	for (size_t i = 0; i < n && i < 10; i++)
		CHECK_INT(times[i], 1000 * MS + 5 * i * MS);
	CHECK_INT(b.tally.rows[0].seen + b.tally.rows[1].seen, 17);
	CHECK_INT(b.tally.rows[0].beyond + b.tally.rows[1].beyond, 7);
	CHECK_INT(b.tally.rows[0].beyond, 4);
	bench_close(&b);
}

static void test_fewer_than_max(void)
{
	uint64_t times[8], values[8];
	char path[] = "/tmp/gs-drain-XXXXXX";
	struct bench b = {0};

	close(mkstemp(path));
	unlink(path);
	bench_open(&b, path, 10, 0);
	CHECK(!gs_output_start(b.output));
	for (uint64_t i = 0; i < 3; i++)
		give(&b, (uint32_t)i, 0, 1000 - i, i);
	bench_finish(&b);
	CHECK_INT(b.summary.events, 3);
	CHECK_INT(read_back(path, times, values, 8), 3);
	CHECK_INT(values[0], 2);
	CHECK(!gs_drain_full(b.drain));
	bench_close(&b);
}

/* What no program of ours wrote is counted, and never reaches the file. */
static void test_damaged_records(void)
{
	char path[] = "/tmp/gs-drain-XXXXXX";
	struct bench b = {0};
	struct record r = {.head = {.time_ns = 1, .len = sizeof(r), .site = 7}};
	struct gs_process_record short_fork = {
		.head = {.len = sizeof(r.head), .kind = GS_RECORD_FORK}};

	close(mkstemp(path));
	unlink(path);
	bench_open(&b, path, 0, 0);
	CHECK(!gs_output_start(b.output));
	gs_drain_record(b.drain, 0, &r, sizeof(r)); /* unknown site */
	gs_drain_record(b.drain, 0, &r, 8);	    /* shorter than a head */
	r.head.site = 0;
	r.head.len = sizeof(r) + 8;
	gs_drain_record(b.drain, 0, &r, sizeof(r)); /* says more than there is */
	r.head.len = sizeof(r.head);
	gs_drain_record(b.drain, 99, &r,
			sizeof(r)); /* too short for its item: the writer counts it */
	gs_drain_record(b.drain, 0, &short_fork, sizeof(short_fork.head));
	bench_finish(&b);
	CHECK(!b.error);
	CHECK_INT(b.summary.events, 0);
	CHECK_INT(b.tally.rows[2].lost, 4);
	bench_close(&b);
}

/* The output is standard output, a pipe whose reader goes away once the recording has begun. */
static void open_on_pipe(struct bench *b)
{
	int ends[2], out;

	fflush(stdout);
	out = dup(STDOUT_FILENO);
	CHECK(!pipe(ends));
	CHECK(dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO);
	bench_open(b, "-", 0, 0);
	CHECK(!gs_output_start(b->output));
	CHECK(dup2(out, STDOUT_FILENO) == STDOUT_FILENO);
	close(out);
	close(ends[0]);
	close(ends[1]);
}

static void test_writing_fails(void)
{
	enum { N = 30000 };
	struct bench b = {0};

	signal(SIGPIPE, SIG_IGN);
	open_on_pipe(&b);
	for (uint64_t i = 0; i < N; i++)
		give(&b, i % NCPUS, i & 1, 1000 + i, i);
	bench_finish(&b);
	CHECK(b.error && strstr(gs_error_message(b.error), "Broken pipe"));
	CHECK(b.error && strstr(gs_error_message(b.error), "standard output"));
	CHECK_INT(b.summary.events, 0);
	CHECK_INT(b.tally.rows[0].lost, N / 2);
	CHECK_INT(b.tally.rows[1].lost, N / 2);
	bench_close(&b);
}

static void test_max_size(void)
{
	enum { N = 300000 };
	char path[] = "/tmp/gs-drain-XXXXXX";
	struct bench b = {0};
	uint64_t beyond;

	close(mkstemp(path));
	unlink(path);
	bench_open(&b, path, 0, 40000);
	CHECK(!gs_output_start(b.output));
	for (uint64_t i = 0; i < N; i++)
		give(&b, 0, 0, 1000 + i, gs_hash(&i, sizeof(i), 0)); /* does not compress */
	bench_finish(&b);
	CHECK(!b.error);
	beyond = b.tally.rows[0].beyond;
	CHECK(beyond > 0);
	CHECK_INT(b.summary.events + beyond, N);
	CHECK(b.summary.bytes >= 40000);
	CHECK_INT(read_back(path, NULL, NULL, 0), b.summary.events);
	bench_close(&b);
}

/* ---- names of code addresses ---- */

struct mapped {
	uint64_t address, start, pgoff;
};

static bool find_self(void *ctx, const struct gs_proc_map *map)
{
	struct mapped *m = ctx;

	if (m->address < map->start || m->address >= map->end)
		return true;
	m->start = map->start;
	m->pgoff = map->pgoff;
	return false;
}

/* A link address that is not the file offset: the distance comes from the site. */
static void test_code_pointers(void)
{
	struct mapped self = {.address = (uint64_t)(uintptr_t)test_max_size};
	struct gs_module_symbol symbols[2] = {{0, 0x700000, 4, "other"},
					      {0, 0x800000, 64, "target"}};
	struct gs_resolution res = {0};
	int fd = open("/proc/self/exe", O_RDONLY);
	struct gs_processes *p = gs_processes_new();
	struct gs_resolved_site site = {0};
	struct gs_meta_module module = {.path = "x"};
	struct gs_meta_site meta_site = {.link_addr = 0x800000};
	struct gs_process_record forked = {
		.head = {.time_ns = 1500,
			 .len = sizeof(forked),
			 .pid = (uint32_t)getpid(),
			 .kind = GS_RECORD_FORK},
		.other = 4194303,
	};
	struct gs_meta *rows;

	CHECK(gs_proc_each_map(getpid(), find_self, &self));
	site.file_offset = self.address - self.start + self.pgoff;
	res.meta.modules = &module;
	res.meta.sites = &meta_site;
	res.meta.nmodules = res.meta.nsites = 1;
	res.sites = &site;
	res.module_fds = &fd;
	res.symbols = symbols;
	res.nsymbols = 2;
	gs_processes_add(p, &res, 3);
	gs_processes_event(p, getpid(), 1000);
	for (int i = 0; i < 3; i++) {
		gs_processes_pointer(p, getpid(), self.address + 4);
		gs_processes_pointer(p, getpid(), self.address + 64);	     /* behind the symbol */
		gs_processes_pointer(p, getpid(), (uint64_t)(uintptr_t)&fd); /* no code */
		gs_processes_pointer(p, getpid(), 0);
	}
	/* A child that is gone already has the maps of its parent. */
	gs_processes_record(p, &forked);
	gs_processes_event(p, 4194303, 2000);
	gs_processes_pointer(p, 4194303, self.address);
	rows = gs_processes_rows(p, true);
	CHECK(rows);
	if (rows) {
		CHECK_INT(rows->nsymbols, 2);
		CHECK_INT(rows->symbols[1].pid, 4194303);
		CHECK_STR(rows->symbols[1].name, "target");
		CHECK_STR(rows->symbols[0].name, "target");
		CHECK_INT(rows->symbols[0].offset, 4);
		CHECK_INT(rows->symbols[0].address, self.address + 4);
		CHECK_INT(rows->nprocesses, 2);
		CHECK_INT(rows->processes[0].pid, getpid());
		CHECK(rows->nmaps >= 1);
		CHECK_INT(rows->maps[0].module, 3);
		gs_meta_deinit(rows);
		free(rows);
	}
	CHECK(!gs_processes_rows(p, true));
	gs_processes_free(p);
	close(fd);
}

static void test_process_records(void)
{
	struct gs_processes *p = gs_processes_new();
	struct gs_process_record rec = {
		.head = {.time_ns = 5, .len = sizeof(rec), .pid = 10, .tid = 10, .comm = "parent"},
		.other = 4194303,
	};
	struct gs_meta *rows;

	rec.head.kind = GS_RECORD_FORK;
	gs_processes_record(p, &rec);
	gs_processes_event(p, 4194303, 6); /* known by the fork: no second row */
	rec.head.kind = GS_RECORD_EXIT;
	rec.head.pid = 4194303;
	rec.code = 0x700;
	gs_processes_record(p, &rec);
	gs_processes_event(p, 4194303, 7); /* late, of another ring */
	rows = gs_processes_rows(p, false);
	CHECK(rows);
	if (rows) {
		CHECK_INT(rows->nprocesses, 2);
		CHECK_INT(rows->processes[0].event, GS_PROCESS_FORK);
		CHECK_INT(rows->processes[0].pid, 4194303);
		CHECK_INT(rows->processes[0].ppid, 10);
		CHECK_STR(rows->processes[0].comm, "parent");
		CHECK_INT(rows->processes[1].event, GS_PROCESS_EXIT);
		CHECK_INT(rows->processes[1].exit_code, 0x700);
		gs_meta_deinit(rows);
		free(rows);
	}
	gs_processes_free(p);
}

int main(void)
{
	TAP_RUN(test_all_are_there);
	TAP_RUN(test_age);
	TAP_RUN(test_first_by_time);
	TAP_RUN(test_fewer_than_max);
	TAP_RUN(test_damaged_records);
	TAP_RUN(test_writing_fails);
	TAP_RUN(test_max_size);
	TAP_RUN(test_code_pointers);
	TAP_RUN(test_process_records);
	return tap_done();
}
