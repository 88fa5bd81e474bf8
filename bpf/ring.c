/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ring buffers, one an online cpu, and their consumer.
 * In the flow: between the probe programs and the drain of record/.
 *
 * libbpf's manager is not used: it stays with one ring for as long as that ring has data, so one
 * busy cpu would keep it from the others, and it has no cpu to tell.
 */
#include "bpf/ring.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/mem.h"

#define MAX_RING_BYTES (1ull << 30)

/* Marks the online cpus: "0-3,8". All when the file cannot be read. */
static void read_online(bool *online, int ncpus)
{
	FILE *f = fopen("/sys/devices/system/cpu/online", "re");
	int lo, hi, found = 0;

	while (f && fscanf(f, "%d", &lo) == 1) {
		hi = lo;
		if (fscanf(f, "-%d", &hi) == EOF && hi == lo)
			hi = lo;
		for (int c = lo; c <= hi && c < ncpus; c++) {
			online[c] = true;
			found++;
		}
		if (fgetc(f) != ',')
			break;
	}
	if (f)
		fclose(f);
	for (int c = 0; c < ncpus && !found; c++)
		online[c] = true;
}

static uint64_t ring_size(uint64_t total, size_t nrings)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	while (size < MAX_RING_BYTES && size * nrings < total)
		size *= 2;
	return size;
}

static struct gs_error *ring_open(struct gs_ring *ring, int cpu, uint64_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	ring->cpu = cpu;
	ring->bytes = bytes;
	ring->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "gs_ring", 0, 0, (uint32_t)bytes, NULL);
	if (ring->fd < 0 && errno == EMFILE)
		return gs_error_errno(errno, "cannot create a ring buffer");
	if (ring->fd < 0)
		return gs_error_hint(gs_error_errno(errno,
						    "cannot create a ring buffer of %llu KiB",
						    (unsigned long long)bytes / 1024),
				     "BPF ring buffers need Linux 5.8; a smaller --buffer-size "
				     "needs less memory");
	p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (p == MAP_FAILED)
		return gs_error_errno(errno, "cannot map a ring buffer");
	ring->consumer = p;
	p = mmap(NULL, page + 2 * bytes, PROT_READ, MAP_SHARED, ring->fd, (off_t)page);
	if (p == MAP_FAILED)
		return gs_error_errno(errno, "cannot map a ring buffer");
	ring->producer = p;
	ring->data = (const uint8_t *)p + page;
	return NULL;
}

static void ring_close(struct gs_ring *ring)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (ring->consumer)
		munmap(ring->consumer, page);
	if (ring->producer)
		munmap((void *)(uintptr_t)ring->producer, page + 2 * ring->bytes);
	if (ring->fd >= 0)
		close(ring->fd);
}

void gs_rings_close(struct gs_rings *r)
{
	for (size_t i = 0; i < r->n; i++)
		ring_close(&r->ring[i]);
	free(r->ring);
	if (r->outer >= 0)
		close(r->outer);
	if (r->epoll >= 0)
		close(r->epoll);
	*r = (struct gs_rings){.epoll = -1, .outer = -1};
}

/* A cpu that is offline now may come up: it shares the ring of another, rings have many producers.
 */
static struct gs_error *index_by_cpu(struct gs_rings *r, int ncpus)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = (uint32_t)r->ring[0].fd);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "gs_rings", 4, 4, (uint32_t)ncpus,
				&opts);
	size_t own = 0;

	if (fd < 0)
		return gs_error_errno(errno, "cannot create the array of ring buffers");
	r->outer = fd;
	for (int cpu = 0; cpu < ncpus; cpu++) {
		const struct gs_ring *ring = &r->ring[(size_t)cpu % r->n];

		if (own < r->n && r->ring[own].cpu == cpu)
			ring = &r->ring[own++];
		if (bpf_map_update_elem(fd, &cpu, &ring->fd, BPF_ANY))
			return gs_error_errno(errno, "cannot fill the array of ring buffers");
	}
	return NULL;
}

/* Edge-triggered: only a forced wake-up counts, not that there is data. */
static struct gs_error *watch(struct gs_rings *r)
{
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll < 0)
		return gs_error_errno(errno, "epoll_create1");
	for (size_t i = 0; i < r->n; i++) {
		struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.u64 = i};

		if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->ring[i].fd, &ev))
			return gs_error_errno(errno, "cannot watch a ring buffer");
	}
	return NULL;
}

struct gs_error *gs_rings_open(struct gs_rings *r, uint64_t total)
{
	int ncpus = libbpf_num_possible_cpus();
	GS_CLEANUP_FREE bool *online = NULL;
	size_t nonline = 0;

	*r = (struct gs_rings){.epoll = -1, .outer = -1};
	if (ncpus < 1)
		return gs_error_errno(-ncpus, "cannot count the processors");
	online = gs_calloc((size_t)ncpus, sizeof(*online));
	read_online(online, ncpus);
	for (int c = 0; c < ncpus; c++)
		nonline += online[c];
	r->ring = gs_calloc(nonline, sizeof(*r->ring));
	r->bytes = ring_size(total, nonline);
	for (int c = 0; c < ncpus; c++)
		if (online[c])
			GS_TRY(ring_open(&r->ring[r->n++], c, r->bytes));
	GS_TRY(index_by_cpu(r, ncpus));
	return watch(r);
}

/* Room that a record takes: its header and itself, to 8 bytes. */
static unsigned long room_of(uint32_t header)
{
	uint32_t len = header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

	return ((unsigned long)len + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
}

/* A reserved record has its largest size; its head says how much of it was used. */
static size_t used_length(const uint8_t *data, uint32_t len)
{
	struct gs_event_head head;

	if (len < sizeof(head))
		return len;
	memcpy(&head, data, sizeof(head));
	return head.len >= sizeof(head) && head.len < len ? head.len : len;
}

static int ring_consume(struct gs_ring *ring, gs_record_fn record, void *ctx, size_t *n)
{
	unsigned long pos = *ring->consumer;
	unsigned long end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	int err = 0;

	while (pos < end && err >= 0) {
		const uint8_t *at = ring->data + (pos & (ring->bytes - 1));
		uint32_t header = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);

		if (header & BPF_RINGBUF_BUSY_BIT)
			break; /* still being written: it and what follows is for the next time */
		if (!(header & BPF_RINGBUF_DISCARD_BIT)) {
			const uint8_t *data = at + BPF_RINGBUF_HDR_SZ;

			err = record(ctx, ring->cpu, data, used_length(data, header));
			++*n;
		}
		pos += room_of(header);
		__atomic_store_n(ring->consumer, pos, __ATOMIC_RELEASE);
	}
	return err;
}

struct gs_error *gs_rings_poll(struct gs_rings *r, int timeout_ms, gs_record_fn record, void *ctx,
			       size_t *n)
{
	struct epoll_event ev[16];

	if (timeout_ms != 0 && epoll_wait(r->epoll, ev, GS_ARRAY_SIZE(ev), timeout_ms) < 0 &&
	    errno != EINTR)
		return gs_error_errno(errno, "cannot wait for events");
	for (size_t i = 0; i < r->n; i++) {
		int err = ring_consume(&r->ring[i], record, ctx, n);

		if (err < 0)
			return gs_error_errno(-err, "recording stopped");
	}
	return NULL;
}
