/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions in the running kernel: memory that is not resident, a page that nobody brings, a million
 * hits, refused sites, and what is left after the recorder dies. Needs root.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/lib/bpf_live.h"
#include "tests/tap.h"

enum { RDX = 1, RCX = 2, RSI = 4, RDI = 5 };

static volatile unsigned long sink;

LIVE_TARGET static void target(const void *a, long b)
{
	sink += (unsigned long)a + (unsigned long)b;
	__asm__ volatile("" ::: "memory");
}

LIVE_TARGET static void other_target(long b)
{
	sink += (unsigned long)b * 3;
	__asm__ volatile("" ::: "memory");
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* ---- memory that is valid but not resident ---- */

/* A file of two pages, mapped, and dropped from the page cache. */
static char *map_cold_file(void)
{
	char path[] = "/var/tmp/gs-test-XXXXXX";
	char text[8192];
	int fd = mkstemp(path);
	char *p;

	memset(text, 'A', sizeof(text));
	memcpy(text + 4090, "cold string", 12);
	if (fd < 0 || write(fd, text, sizeof(text)) != sizeof(text) || fsync(fd))
		return NULL;
	p = mmap(NULL, sizeof(text), PROT_READ, MAP_SHARED, fd, 0);
	madvise(p, sizeof(text), MADV_DONTNEED);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	unlink(path);
	return p;
}

static void not_resident(uint32_t mask)
{
	char *file = map_cold_file();
	char *lazy = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct live l;
	struct gs_plan *p = &l.plan;
	bool sleeps;

	CHECK(file != NULL);
	live_init(&l);
	live_item(p, GS_ITEM_STRING,
		  gs_plan_node(p, GS_OP_ADD, 8, live_reg(p, RDI), gs_plan_const(p, 4090), 0), 100);
	live_item(p, GS_ITEM_MEMORY, live_reg(p, RDI), 16);
	live_item(p, GS_ITEM_VALUE,
		  gs_plan_node(p, GS_OP_LOAD, 4, live_reg(p, RSI), GS_NODE_NONE, 0), 4);
	if (!live_start(&l, mask, target)) {
		CHECK(!"started");
		live_deinit(&l);
		return;
	}
	target(file, (long)lazy);
	live_drain(&l);
	sleeps = gs_tracer_features(l.tracer) & GS_FEATURE_SLEEPABLE;
	CHECK_INT(l.nevents, 1);
	if (l.nevents == 1) {
		const struct gs_event_item *items = l.events[0].items;
		unsigned want = sleeps ? GS_STATUS_OK : GS_STATUS_FAULT;

		CHECK_INT(items[0].status, want);
		CHECK_INT(items[1].status, want);
		CHECK_INT(items[2].status, want);
		if (sleeps && items[0].data && items[1].data && items[2].data) {
			CHECK_INT(items[0].len, 11);
			CHECK(memcmp(items[0].data, "cold string", 11) == 0);
			CHECK(memcmp(items[1].data, "AAAAAAAAAAAAAAAA", 16) == 0);
			CHECK(*(const uint32_t *)items[2].data == 0);
		}
	}
	live_deinit(&l);
	munmap(file, 8192);
	munmap(lazy, 8192);
}

static void test_not_resident(void)
{
	not_resident(~0u);
	not_resident(~(uint32_t)GS_FEATURE_SLEEPABLE);
	not_resident(~(uint32_t)GS_FEATURE_TASK_STORAGE);
	not_resident(~(uint32_t)GS_FEATURE_MULTI);
}

/* ---- a page that nobody brings, in one thread ---- */

static void *hit_page(void *page)
{
	target(page, 1);
	return NULL;
}

static int userfault_on(void *page)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register reg = {.range = {(uintptr_t)page, 4096},
				      .mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void stalled(uint32_t mask)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char resident[64] = "resident";
	struct uffdio_copy copy = {0};
	int fd = userfault_on(page);
	struct gs_counters n = {0};
	pthread_t thread;
	struct live l;

	if (fd < 0) {
		printf("# no userfaultfd: %s\n", strerror(errno));
		return;
	}
	live_init(&l);
	live_item(&l.plan, GS_ITEM_MEMORY, live_reg(&l.plan, RDI), 64);
	if (!live_start(&l, mask, target)) {
		CHECK(!"started");
		return;
	}
	pthread_create(&thread, NULL, hit_page, page);
	sleep_ms(100);
	for (int i = 0; i < 5000; i++)
		target(resident, i);
	live_drain(&l);
	CHECK_INT(l.nevents, 5000); /* while the other is still held */
	copy = (struct uffdio_copy){
		.dst = (uintptr_t)page, .src = (uintptr_t)aligned_alloc(4096, 4096), .len = 4096};
	memset((void *)(uintptr_t)copy.src, 'u', 4096);
	CHECK(ioctl(fd, UFFDIO_COPY, &copy) == 0);
	pthread_join(thread, NULL);
	live_drain(&l);
	CHECK_INT(l.nevents, 5001);
	CHECK_INT(l.events[l.nevents - 1].items[0].status, GS_STATUS_OK);
	CHECK(l.events[l.nevents - 1].items[0].data[0] == 'u');
	CHECK(!gs_tracer_counters(l.tracer, 0, &n));
	CHECK_INT(n.hits, 5001);
	CHECK_INT(n.recorded, 5001);
	free((void *)(uintptr_t)copy.src);
	close(fd);
	munmap(page, 4096);
	live_deinit(&l);
}

static void test_stalled_page_stops_nobody_else(void)
{
	stalled(~0u);
	stalled(~(uint32_t)GS_FEATURE_TASK_STORAGE);
}

/* ---- two threads, every hit accounted for ---- */

/* GS_TEST_HITS=500000 makes it a million; a trap is slow in a virtual machine. */
static long hits_per_thread = 50000;
#define HITS hits_per_thread

static void *hammer(void *arg)
{
	for (long i = 0; i < HITS; i++)
		target(arg, i);
	return NULL;
}

static void count_exactly(uint64_t buffer, bool drain, const char *name)
{
	char text[40] = "some text that is recorded";
	struct gs_tracer_options opts = {.feature_mask = ~0u,
					 .buffer_bytes = buffer,
					 .max_sites = 1,
					 .nprobes = 1,
					 .filter_pids = true};
	struct gs_counters n = {0};
	pthread_t thread[2];
	struct live l;

	live_init(&l);
	l.keep = false;
	live_item(&l.plan, GS_ITEM_STRING, live_reg(&l.plan, RDI), 40);
	live_item(&l.plan, GS_ITEM_VALUE, live_reg(&l.plan, RSI), 8);
	if (!live_start_with(&l, &opts, target)) {
		CHECK(!"started");
		live_deinit(&l);
		return;
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, hammer, text);
	while (drain && l.counted < 2 * (size_t)HITS) {
		size_t before = l.counted;

		sleep_ms(20);
		live_drain(&l);
		CHECK(!gs_tracer_counters(l.tracer, 0, &n));
		if (l.counted == before && n.hits == 2 * (uint64_t)HITS)
			break;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	live_drain(&l);
	CHECK(!gs_tracer_counters(l.tracer, 0, &n));
	printf("# %s: %llu hits, %llu recorded, %llu lost\n", name, (unsigned long long)n.hits,
	       (unsigned long long)n.recorded, (unsigned long long)n.lost);
	CHECK_INT(n.hits, 2 * HITS);
	CHECK_INT(n.matched, 2 * HITS);
	CHECK_INT(n.recorded + n.lost, 2 * HITS);
	CHECK_INT(n.recorded, l.counted);
	if (drain)
		CHECK_INT(n.lost, 0);
	else
		CHECK(n.lost > 0);
	live_deinit(&l);
}

static void test_every_hit_is_accounted_for(void)
{
	count_exactly(8u << 20, true, "drained");
	count_exactly(64u << 10, false, "left alone");
}

/* ---- sites that the kernel refuses ---- */

static void refused(uint32_t mask)
{
	struct gs_tracer_options opts = {.feature_mask = mask,
					 .buffer_bytes = 1u << 20,
					 .max_sites = 8,
					 .nprobes = 2,
					 .filter_pids = true};
	struct gs_trace_site sites[6] = {{0}};
	struct gs_attach_failure *failures = NULL;
	struct gs_counters n = {0};
	struct live l;
	size_t nfailures = 0;

	live_init(&l);
	live_item(&l.plan, GS_ITEM_VALUE, live_reg(&l.plan, RDI), 8);
	CHECK(!gs_plan_layout(&l.plan, &l.layout));
	CHECK(!gs_tracer_open(&opts, &l.tracer));
	CHECK(!gs_tracer_pid_add(l.tracer, getpid()));
	l.exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	for (uint32_t i = 0; i < 6; i++) {
		sites[i].id = i;
		sites[i].fd = l.exe;
		/* Beyond the end of the file for 1, 3 and 4. */
		sites[i].file_offset = i == 0 ? live_offset(target) : live_offset(other_target);
		if (i == 1 || i == 3 || i == 4)
			sites[i].file_offset = (1ull << 40) + i;
		sites[i].probe = i == 2;
		if (i == 5)
			sites[i].file_offset = live_offset(sleep_ms);
	}
	CHECK(!gs_tracer_attach(l.tracer, &l.plan, &l.layout, 1, sites, 6, &failures, &nfailures));
	CHECK_INT(nfailures, 3);
	for (size_t i = 0; i < nfailures; i++)
		CHECK(failures[i].err > 0 &&
		      (failures[i].site == 1 || failures[i].site == 3 || failures[i].site == 4));
	CHECK(!gs_tracer_enable(l.tracer, true));
	for (int i = 0; i < 10; i++) {
		target(NULL, i);
		other_target(i);
		other_target(i);
	}
	live_drain(&l);
	CHECK_INT(l.nevents, 30);
	CHECK(!gs_tracer_counters(l.tracer, 1, &n));
	CHECK_INT(n.recorded, 20);
	/* Switched off, hits are still counted. */
	CHECK(!gs_tracer_enable(l.tracer, false));
	other_target(1);
	CHECK(!gs_tracer_counters(l.tracer, 1, &n));
	CHECK_INT(n.skipped, 1);
	CHECK_INT(n.hits, 21);
	gs_tracer_detach(l.tracer);
	other_target(1);
	CHECK(!gs_tracer_counters(l.tracer, 1, &n));
	CHECK_INT(n.hits, 21);
	free(failures);
	live_deinit(&l);
}

static void test_refused_sites(void)
{
	refused(~0u);
	refused(~(uint32_t)GS_FEATURE_COOKIE);
	refused(~(uint32_t)GS_FEATURE_MULTI);
	refused(~(uint32_t)(GS_FEATURE_MULTI | GS_FEATURE_COOKIE));
}

/* ---- one process only ---- */

/* By the kernel's filter, or the program's where that one is not right: all its threads, no child.
 */
static void one_process(uint32_t mask)
{
	struct gs_tracer_options opts = {
		.feature_mask = mask, .buffer_bytes = 1u << 20, .max_sites = 1, .nprobes = 1};
	struct gs_trace_site site = {.pid = getpid()};
	struct gs_attach_failure *failures = NULL;
	size_t nfailures = 0;
	pthread_t thread;
	struct live l;
	pid_t child;

	live_init(&l);
	live_item(&l.plan, GS_ITEM_VALUE, live_reg(&l.plan, RDI), 8);
	CHECK(!gs_plan_layout(&l.plan, &l.layout));
	CHECK(!gs_tracer_open(&opts, &l.tracer));
	l.exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	site.fd = l.exe;
	site.file_offset = live_offset(target);
	CHECK(!gs_tracer_attach(l.tracer, &l.plan, &l.layout, 1, &site, 1, &failures, &nfailures));
	CHECK(!gs_tracer_enable(l.tracer, true));
	child = fork();
	if (child == 0) {
		target(NULL, 1);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	pthread_create(&thread, NULL, hit_page, NULL);
	pthread_join(thread, NULL);
	target(NULL, 2);
	live_drain(&l);
	CHECK_INT(l.nevents, 2);
	for (size_t i = 0; i < l.nevents; i++)
		CHECK_INT(l.events[i].head.pid, getpid());
	free(failures);
	live_deinit(&l);
}

static void test_one_process(void)
{
	one_process(~0u);
	one_process(~(uint32_t)GS_FEATURE_MULTI_PID);
	one_process(~(uint32_t)GS_FEATURE_MULTI);
}

/* ---- death of the recorder ---- */

/* Ids of the programs that the links of a process hold. */
static size_t programs_of(pid_t pid, unsigned *ids, size_t most)
{
	size_t n = 0;

	for (int fd = 0; fd < 64; fd++) {
		char path[64], line[128];
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			if (n < most && sscanf(line, "prog_id: %u", &ids[n]) == 1)
				n++;
		if (f)
			fclose(f);
	}
	return n;
}

static size_t still_there(const unsigned *ids, size_t n)
{
	size_t there = 0;

	for (size_t i = 0; i < n; i++) {
		int fd = bpf_prog_get_fd_by_id(ids[i]);

		there += fd >= 0;
		if (fd >= 0)
			close(fd);
	}
	return there;
}

static void test_killed_recorder_leaves_nothing(void)
{
	unsigned ids[16];
	size_t n;
	int ready[2];
	pid_t child;
	char byte;

	CHECK(pipe(ready) == 0);
	child = fork();
	if (child == 0) {
		struct gs_tracer_options opts = {.feature_mask = ~0u,
						 .buffer_bytes = 1u << 20,
						 .max_sites = 1,
						 .nprobes = 1,
						 .filter_pids = true,
						 .follow = true};
		struct live l;

		live_init(&l);
		live_item(&l.plan, GS_ITEM_VALUE, live_reg(&l.plan, RDI), 8);
		byte = live_start_with(&l, &opts, target);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			target(NULL, 1);
	}
	CHECK(read(ready[0], &byte, 1) == 1 && byte);
	n = programs_of(child, ids, GS_ARRAY_SIZE(ids));
	CHECK(n >= 4); /* the probe, fork, exec, exit */
	CHECK_INT(still_there(ids, n), n);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (int i = 0; i < 100 && still_there(ids, n); i++)
		sleep_ms(50);
	CHECK_INT(still_there(ids, n), 0);
	for (int i = 0; i < 1000; i++)
		target(NULL, 1); /* the target lives on */
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	const char *why = live_unable();

	if (why) {
		tap_skip("live", why);
		return tap_done();
	}
	if (getenv("GS_TEST_HITS"))
		hits_per_thread = atol(getenv("GS_TEST_HITS"));
	TAP_RUN(test_not_resident);
	TAP_RUN(test_stalled_page_stops_nobody_else);
	TAP_RUN(test_every_hit_is_accounted_for);
	TAP_RUN(test_refused_sites);
	TAP_RUN(test_one_process);
	TAP_RUN(test_killed_recorder_leaves_nothing);
	return tap_done();
}
