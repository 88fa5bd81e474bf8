/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Targets: from the words of a command to the program, processes that can be recorded, safe
 * creation of files. Tests what happens before anything is armed; nothing but files in a directory
 * of its own is touched.
 */
#include "record/target.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/child.h"
#include "record/lookup.h"
#include "record/output_file.h"
#include "record/proc.h"
#include "tests/tap.h"

static char dir[PATH_MAX];

static const char *in_dir(const char *name)
{
	static char paths[8][PATH_MAX + 64];
	static int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
	FILE *f = fopen(in_dir(name), "w");

	fputs(text, f);
	fclose(f);
	chmod(in_dir(name), mode);
}

static void check_file(const char *name, const char *want)
{
	char text[64] = "";
	FILE *f = fopen(in_dir(name), "r");

	CHECK(f);
	if (!f)
		return;
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	CHECK_STR(text, want);
}

/* ---- commands ---- */

struct found {
	struct gs_arena arena;
	struct gs_lookup l;
	struct gs_error *err;
};

static struct found find(const char *const *words)
{
	struct found f = {0};
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "/no/such:%s:/usr/bin:/bin", dir);
	f.err = gs_lookup_command(&f.arena, (char *const *)words, path, "/env/lib", &f.l);
	return f;
}

static void found_free(struct found *f)
{
	if (!f->err)
		gs_lookup_deinit(&f->l);
	gs_error_free(f->err);
	gs_arena_deinit(&f->arena);
}

#define FIND(...) find((const char *const[]){__VA_ARGS__, NULL})

static char sh_path[PATH_MAX]; /* what /bin/sh is */

static void test_path_search(void)
{
	struct found f = FIND("sh", "-c", "true");

	CHECK(!f.err);
	CHECK_STR(f.l.executable, sh_path);
	CHECK_INT(f.l.nnotes, 0);
	found_free(&f);
	/* A file that cannot be run does not end the search; it is the reason when nothing follows.
	 */
	put("sh", "x", 0644);
	put("only", "x", 0644);
	f = FIND("sh");
	CHECK(!f.err);
	found_free(&f);
	f = FIND("only");
	CHECK(f.err && strstr(gs_error_message(f.err), "`only'"));
	CHECK(f.err && strstr(gs_error_message(f.err), "not executable"));
	found_free(&f);
	unlink(in_dir("sh"));
}

static void test_cannot_run(void)
{
	struct found f = FIND("no-such-thing");

	CHECK(f.err && strstr(gs_error_message(f.err), "`no-such-thing': no such command in PATH"));
	found_free(&f);
	f = FIND(in_dir("missing"));
	CHECK(f.err && strstr(gs_error_message(f.err), "No such file"));
	found_free(&f);
	f = FIND(dir);
	CHECK(f.err && strstr(gs_error_message(f.err), "directory"));
	found_free(&f);
	f = FIND("");
	CHECK(f.err);
	found_free(&f);
	f = FIND("env", "no-such-thing");
	CHECK(f.err && strstr(gs_error_message(f.err), "which env runs"));
	found_free(&f);
}

static void test_wrappers(void)
{
	static const char *const cases[][12] = {
		{"env", "sh"},
		{"env", "-i", "-u", "A", "--unset=B", "--unset", "C", "X=1", "Y=", "sh"},
		{"env", "--", "sh"},
		{"env", "-", "PATH=/bin", "sh"},
		{"env", "-S", "nice -n5  sh -c", "true"},
		{"nice", "sh"},
		{"nice", "-n", "5", "sh"},
		{"nice", "-n5", "sh"},
		{"nice", "-5", "sh"},
		{"nice", "--adjustment", "5", "sh"},
		{"nohup", "setsid", "-w", "sh"},
		{"stdbuf", "-o", "L", "-e0", "--input=0", "sh"},
		{"env", "A=1", "nice", "-n", "1", "stdbuf", "-oL", "sh", "-c", "x"},
	};
	struct found f;

	for (size_t i = 0; i < GS_ARRAY_SIZE(cases); i++) {
		f = find(cases[i]);
		if (f.err)
			printf("# case %zu: %s\n", i, gs_error_message(f.err));
		CHECK(!f.err);
		if (!f.err) {
			CHECK_STR(f.l.executable, sh_path);
			CHECK(f.l.nnotes > 0);
			CHECK(!f.l.forked_by);
		}
		found_free(&f);
	}
	f = FIND("timeout", "-k", "1", "-s", "INT", "10", "env", "sh");
	CHECK(!f.err);
	CHECK_STR(f.l.executable, sh_path);
	CHECK_STR(f.l.forked_by, "timeout");
	found_free(&f);
}

static void test_wrapper_alone(void)
{
	struct found f = FIND("env");
	char env_path[PATH_MAX];

	CHECK(!f.err);
	CHECK(realpath("/usr/bin/env", env_path));
	CHECK_STR(f.l.executable, env_path);
	CHECK_INT(f.l.nnotes, 0);
	found_free(&f);
	f = FIND("env", "LD_LIBRARY_PATH=/x:/y", "sh");
	CHECK_STR(f.l.library_path, "/x:/y");
	found_free(&f);
	f = FIND("sh");
	CHECK_STR(f.l.library_path, "/env/lib");
	found_free(&f);
}

static void test_scripts(void)
{
	struct found f;

	put("one", "#!/bin/sh -e x\n", 0755);
	put("two", "#! /usr/bin/env -S sh -c\n", 0755);
	put("three", "#!/usr/bin/env sh\n", 0755);
	put("plain", "echo hello\n", 0755);
	put("loop", "", 0755);
	for (int i = 0; i < 4; i++) {
		static const char *const names[] = {"one", "two", "three", "plain"};

		f = FIND(in_dir(names[i]), "arg");
		if (f.err)
			printf("# %s: %s\n", names[i], gs_error_message(f.err));
		CHECK(!f.err);
		if (!f.err)
			CHECK_STR(f.l.executable, sh_path);
		CHECK(f.l.nnotes >= 1);
		found_free(&f);
	}
	f = FIND("one");
	CHECK_STR(f.l.file, in_dir("one"));
	found_free(&f);
	put("self", "", 0755);
	{
		char line[PATH_MAX + 80];

		snprintf(line, sizeof(line), "#!%s\n", in_dir("self"));
		put("self", line, 0755);
	}
	f = FIND(in_dir("self"));
	CHECK(f.err && strstr(gs_error_message(f.err), "too deep"));
	found_free(&f);
	put("bad", "#!/no/such/interpreter\n", 0755);
	f = FIND(in_dir("bad"));
	CHECK(f.err && strstr(gs_error_message(f.err), "/no/such/interpreter"));
	found_free(&f);
}

/* ---- processes ---- */

static void check_refused(int32_t pid, const char *words)
{
	struct gs_record_options o = {.pids = &pid, .npids = 1};
	struct gs_target t;
	struct gs_error *err = gs_target_init(&o, &t);

	CHECK(err && strstr(gs_error_message(err), words));
	if (err && !strstr(gs_error_message(err), words))
		printf("# %s\n", gs_error_message(err));
	if (!err)
		gs_target_deinit(&t);
	gs_error_free(err);
}

static void test_pids(void)
{
	struct gs_record_options o = {.npids = 1};
	struct gs_target t;
	struct gs_error *err;
	int status;
	pid_t pid = fork();
	int32_t id = pid;

	if (pid == 0) {
		pause();
		_exit(0);
	}
	o.pids = &id;
	err = gs_target_init(&o, &t);
	CHECK(!err);
	if (!err) {
		CHECK_INT(t.kind, GS_TARGET_PIDS);
		CHECK(strstr(t.display, "record_target"));
		CHECK(t.nmaps >= 2); /* itself and libc */
		gs_target_deinit(&t);
	}
	kill(pid, SIGKILL);
	usleep(100000);
	check_refused(id, "already ended"); /* not waited for yet */
	waitpid(pid, &status, 0);
	check_refused(id, "there is no process");
	check_refused(getpid(), "gs-record itself");
	check_refused(INT32_MAX, "there is no process 2147483647");
}

static void test_descendants(void)
{
	struct gs_proc_info info;
	int32_t self = getpid();

	CHECK(gs_proc_info(self, &info));
	CHECK_INT(info.tgid, self);
	CHECK_INT(info.ppid, getppid());
	CHECK(!gs_proc_is_kernel_thread(self));
	CHECK(gs_proc_is_kernel_thread(2) || !gs_proc_info(2, &info) || info.ppid != 0);
	CHECK(!gs_proc_info(INT32_MAX, &info));
}

/* ---- child ---- */

static void test_child(void)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)"exit 5", NULL};
	struct gs_child_options opts = {.file = "/bin/sh", .argv = argv};
	struct gs_child c;
	struct gs_error *err;

	CHECK(!gs_child_start(&opts, &c));
	CHECK(!gs_child_ended(&c));
	CHECK(!gs_child_release(&c, "sh"));
	while (!gs_child_ended(&c))
		usleep(1000);
	CHECK_INT(WEXITSTATUS(c.status), 5);

	put("mark", "", 0600);
	unlink(in_dir("mark"));
	argv[2] = (char *)"exit 1";
	CHECK(!gs_child_start(&opts, &c));
	gs_child_abort(&c);
	CHECK(c.ended && WIFEXITED(c.status) && WEXITSTATUS(c.status) == 127);

	put("elf", "\177ELF and nothing behind it", 0755);
	opts.file = in_dir("elf");
	CHECK(!gs_child_start(&opts, &c));
	err = gs_child_release(&c, "elf");
	CHECK(err && strstr(gs_error_message(err), "Exec format"));
	CHECK(c.ended);
	gs_error_free(err);

	opts.user = "no-such-user-here";
	err = gs_child_start(&opts, &c);
	CHECK(err && strstr(gs_error_message(err), "no-such-user-here"));
	gs_error_free(err);
}

/* ---- files ---- */

static void test_output_file(void)
{
	struct gs_output_file f;
	struct gs_error *err;
	struct stat st;

	unlink(in_dir("d"));
	CHECK(!gs_output_file_open(in_dir("d"), &f));
	CHECK(f.created && !f.moved);
	CHECK(!fstat(f.fd, &st));
	CHECK_INT(st.st_mode & 0777, 0600);
	CHECK(write(f.fd, "new", 3) == 3);
	CHECK(!gs_output_file_close(&f));
	check_file("d", "new");

	CHECK(!gs_output_file_open(in_dir("d"), &f));
	CHECK(f.created && f.moved);
	check_file("d.old", "new");
	gs_output_file_discard(&f);
	check_file("d", "new");
	CHECK(access(in_dir("d.old"), F_OK) != 0);

	put("victim", "precious", 0644);
	CHECK(!symlink(in_dir("victim"), in_dir("link")));
	err = gs_output_file_open(in_dir("link"), &f);
	CHECK(err && strstr(gs_error_message(err), "symbolic link"));
	gs_error_free(err);
	check_file("victim", "precious");
	CHECK(!symlink(in_dir("victim"), in_dir("d.old")));
	CHECK(!gs_output_file_open(in_dir("d"), &f));
	CHECK(!gs_output_file_close(&f));
	check_file("victim", "precious");
	check_file("d.old", "new");

	err = gs_output_file_open(dir, &f);
	CHECK(err && strstr(gs_error_message(err), dir));
	gs_error_free(err);
	err = gs_output_file_open(in_dir("no/such"), &f);
	CHECK(err && strstr(gs_error_message(err), "no/such"));
	gs_error_free(err);
	CHECK(!gs_output_file_open("/dev/null", &f));
	CHECK(!f.created);
	gs_output_file_discard(&f);
	CHECK(access("/dev/null", F_OK) == 0);
}

int main(void)
{
	char template[] = "/tmp/gs-target-XXXXXX";
	char command[PATH_MAX + 16];

	if (!mkdtemp(template) || !realpath(template, dir) || !realpath("/bin/sh", sh_path))
		return 1;
	TAP_RUN(test_path_search);
	TAP_RUN(test_cannot_run);
	TAP_RUN(test_wrappers);
	TAP_RUN(test_wrapper_alone);
	TAP_RUN(test_scripts);
	TAP_RUN(test_pids);
	TAP_RUN(test_descendants);
	TAP_RUN(test_child);
	TAP_RUN(test_output_file);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command) ? 1 : tap_done();
}
