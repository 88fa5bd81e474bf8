/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /proc as structures.
 * Foot of the recorder's process knowledge: targets, metadata and late modules all look through
 * here.
 */
#include "record/proc.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define KTHREAD_FLAG 0x00200000u /* PF_KTHREAD in include/linux/sched.h */

static const char deleted_suffix[] = " (deleted)";

/* PF_KTHREAD of field 9 of stat; the command name before it may hold anything, ')' too. */
bool gs_proc_is_kernel_thread(int32_t pid)
{
	char path[64], text[1024];
	const char *end;
	unsigned flags = 0;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
		return false;
	return flags & KTHREAD_FLAG;
}

bool gs_proc_in_our_namespace(int32_t pid)
{
	struct stat ours, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	if (stat(path, &its) || stat("/proc/self/ns/pid", &ours))
		return true;
	return its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
}

static bool has_ended(int32_t pid)
{
	struct gs_proc_info info;

	return !gs_proc_info(pid, &info) || info.state == 'Z' || info.state == 'X';
}

int32_t gs_proc_live_thread(int32_t pid)
{
	int32_t found = has_ended(pid) ? 0 : pid;
	struct dirent *e;
	char path[64];
	DIR *dir;

	if (found)
		return found;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir))) {
		int32_t tid = (int32_t)strtol(e->d_name, NULL, 10);

		if (tid > 0 && !has_ended(tid))
			found = tid;
	}
	if (dir)
		closedir(dir);
	return found;
}

static void status_line(struct gs_proc_info *info, const char *line)
{
	const char *last;

	if (!strncmp(line, "Name:\t", 6)) {
		snprintf(info->comm, sizeof(info->comm), "%.*s", (int)strcspn(line + 6, "\n"),
			 line + 6);
	} else if (!strncmp(line, "State:\t", 7)) {
		info->state = line[7];
	} else if (!strncmp(line, "Tgid:\t", 6)) {
		info->tgid = (int32_t)strtol(line + 6, NULL, 10);
	} else if (!strncmp(line, "PPid:\t", 6)) {
		info->ppid = (int32_t)strtol(line + 6, NULL, 10);
	} else if (!strncmp(line, "Uid:\t", 5)) {
		info->uid = (uint32_t)strtoul(line + 5, NULL, 10);
	} else if (!strncmp(line, "NSpid:\t", 7)) {
		last = strrchr(line, '\t');
		info->inner_pid = (int32_t)strtol(last + 1, NULL, 10);
	}
}

bool gs_proc_info(int32_t pid, struct gs_proc_info *out)
{
	struct gs_proc_info info = {0};
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f))
		status_line(&info, line);
	fclose(f);
	if (!info.tgid)
		return false;
	*out = info;
	return true;
}

/* Cuts " (deleted)", which the kernel appends, off PATH of LEN bytes. */
static bool strip_deleted(char *path, size_t len)
{
	size_t n = sizeof(deleted_suffix) - 1;

	if (len < n || strcmp(path + len - n, deleted_suffix) != 0)
		return false;
	path[len - n] = 0;
	return true;
}

char *gs_proc_exe(int32_t pid, char *out, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, out, size - 1);
	out[n < 0 ? 0 : n] = 0;
	if (n > 0)
		strip_deleted(out, (size_t)n);
	return out;
}

/* The kernel escapes only newlines in these paths, as \012. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *s = path; *s; s++) {
		if (!strncmp(s, "\\012", 4)) {
			*to++ = '\n';
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = 0;
}

/* A number in BASE that ends in END; moves past it. By hand: a busy box has a million such lines.
 */
static bool number(char **at, int base, char end, uint64_t *out)
{
	char *stop;

	*out = strtoull(*at, &stop, base);
	if (stop == *at || *stop != end)
		return false;
	*at = stop + 1;
	return true;
}

/* "55d0-55f0 r-xp 00001000 08:01 1234    /usr/bin/x" */
static bool parse_map(char *line, struct gs_proc_map *map)
{
	uint64_t major, minor;
	size_t len;

	if (!number(&line, 16, '-', &map->start) || !number(&line, 16, ' ', &map->end) ||
	    strlen(line) < 5)
		return false;
	map->exec = line[2] == 'x';
	line += 5;
	if (!number(&line, 16, ' ', &map->pgoff) || !number(&line, 16, ':', &major) ||
	    !number(&line, 16, ' ', &minor) || !number(&line, 10, ' ', &map->inode))
		return false;
	map->dev_major = (uint32_t)major;
	map->dev_minor = (uint32_t)minor;
	line += strspn(line, " ");
	if (line[0] != '/')
		return false;
	len = strcspn(line, "\n");
	line[len] = 0;
	map->deleted = strip_deleted(line, len);
	unescape(line);
	map->path = line;
	return true;
}

bool gs_proc_each_map(int32_t pid, bool (*fn)(void *ctx, const struct gs_proc_map *map), void *ctx)
{
	char path[64], *line = NULL;
	size_t cap = 0;
	bool any = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (getline(&line, &cap, f) > 0) {
		struct gs_proc_map map = {0};

		any = true;
		if (parse_map(line, &map) && !fn(ctx, &map))
			break;
	}
	free(line);
	fclose(f);
	return any;
}

bool gs_proc_map_is(const struct gs_proc_map *map, const struct stat *st, const char *path)
{
	if (map->inode != st->st_ino)
		return false;
	if (map->dev_major == major(st->st_dev) && map->dev_minor == minor(st->st_dev))
		return true;
	return path && !strcmp(map->path, path);
}

bool gs_proc_map_is_stranger(int32_t pid, const struct gs_proc_map *map, const struct stat *st,
			     const char *path)
{
	char link[96];
	struct stat its;

	if (!st->st_ino || strcmp(map->path, path) != 0)
		return false;
	/* Not by the numbers in the maps: some file systems show others there than stat gives. */
	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)map->start, (unsigned long long)map->end);
	if (stat(link, &its))
		return false;
	return its.st_dev != st->st_dev || its.st_ino != st->st_ino;
}

void gs_proc_each(bool (*fn)(void *ctx, int32_t pid), void *ctx)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;

	if (!dir)
		return;
	while ((e = readdir(dir))) {
		char *end;
		long pid = strtol(e->d_name, &end, 10);

		if (e->d_name[0] < '1' || e->d_name[0] > '9' || *end || pid > INT32_MAX)
			continue;
		if (!fn(ctx, (int32_t)pid))
			break;
	}
	closedir(dir);
}
