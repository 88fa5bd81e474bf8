/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Damaged debug information: small programs of which some bytes of the debug sections are others.
 * What is asked of them ends, in time and without a crash, with whatever answer. Always the same
 * bytes.
 */
#include <dirent.h>
#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/lib/record_ask.h"
#include "tests/tap.h"

#define CORPUS "tests/fuzz/corpus-module"
#define MUTATIONS 500
#define SECONDS_MAX 20

static uint8_t *read_file(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = gs_malloc(1 << 16);

	*n = f ? fread(data, 1, 1 << 16, f) : 0;
	if (f)
		fclose(f);
	return data;
}

/* The part of the file that holds debug sections: those that are not loaded, beside the tables of
 * symbols and of names. */
static void debug_part(const uint8_t *elf, size_t n, size_t *from, size_t *to)
{
	bool is_64 = n > EI_CLASS && elf[EI_CLASS] == ELFCLASS64;
	size_t at, size = is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), count;
	Elf64_Ehdr e64;
	Elf32_Ehdr e32;

	memcpy(&e64, elf, sizeof(e64));
	memcpy(&e32, elf, sizeof(e32));
	at = is_64 ? e64.e_shoff : e32.e_shoff;
	count = is_64 ? e64.e_shnum : e32.e_shnum;
	*from = n;
	*to = 0;
	for (size_t i = 1; i < count && at + (i + 1) * size <= n; i++) {
		Elf64_Shdr s64;
		Elf32_Shdr s32;
		uint64_t flags, type, offset, len;

		memcpy(&s64, elf + at + i * size, sizeof(s64));
		memcpy(&s32, elf + at + i * size, sizeof(s32));
		flags = is_64 ? s64.sh_flags : s32.sh_flags;
		type = is_64 ? s64.sh_type : s32.sh_type;
		offset = is_64 ? s64.sh_offset : s32.sh_offset;
		len = is_64 ? s64.sh_size : s32.sh_size;
		if ((flags & SHF_ALLOC) || type != SHT_PROGBITS || offset + len > n)
			continue;
		*from = offset < *from ? offset : *from;
		*to = offset + len > *to ? offset + len : *to;
	}
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void mutate(uint8_t *data, size_t from, size_t to, uint32_t seed)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff, 0x10, 0x31, 0x13};
	uint32_t state = seed * 2654435761u + 1;

	for (unsigned left = 1 + next_random(&state) % 6; left; left--) {
		uint8_t *p = data + from + next_random(&state) % (to - from);

		if (next_random(&state) % 2)
			*p ^= (uint8_t)(1u << next_random(&state) % 8);
		else
			*p = values[next_random(&state) % sizeof(values)];
	}
}

static void ask_mutations(const uint8_t *data, size_t n, int progress)
{
	size_t from, to;
	uint8_t *copy = gs_malloc(n);

	debug_part(data + 1, n - 1, &from, &to);
	if (from >= to)
		_exit(2);
	for (uint32_t i = 0; i < MUTATIONS; i++) {
		if (write(progress, &i, sizeof(i)) != sizeof(i))
			_exit(2);
		memcpy(copy, data, n);
		copy[0] = (uint8_t)(data[0] + i);
		mutate(copy, from + 1, to + 1, i);
		ask_module(copy, n);
	}
	_exit(0);
}

/* In a process of its own; what it was at when it ended. */
static int run_file(const char *path, uint32_t *last)
{
	size_t n;
	uint8_t *data = read_file(path, &n);
	int pipes[2], status = -1;
	pid_t pid;

	if (n < 64 || pipe(pipes) != 0)
		return -1;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct rlimit cpu = {SECONDS_MAX, SECONDS_MAX};

		setrlimit(RLIMIT_CPU, &cpu);
		close(pipes[0]);
		ask_mutations(data, n, pipes[1]);
	}
	close(pipes[1]);
	while (read(pipes[0], last, sizeof(*last)) == sizeof(*last))
		;
	close(pipes[0]);
	waitpid(pid, &status, 0);
	free(data);
	return status;
}

static void test_damage(void)
{
	DIR *dir = opendir(CORPUS);
	struct dirent *entry;
	unsigned files = 0;

	while (dir && (entry = readdir(dir))) {
		char path[512];
		uint32_t last = 0;
		int status;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", CORPUS, entry->d_name);
		status = run_file(path, &last);
		if (status != 0)
			printf("# %s, mutation %u: status %#x\n", path, last, status);
		CHECK(status == 0);
		files++;
	}
	if (dir)
		closedir(dir);
	CHECK(files >= 8);
}

int main(void)
{
	TAP_RUN(test_damage);
	return tap_done();
}
