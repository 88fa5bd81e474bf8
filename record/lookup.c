/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which program a command really runs.
 * First stage of a command target: its result is what the resolver opens.
 *
 * A command is a list of words. Each turn finds the file of the first word; a wrapper drops its own
 * words, a script puts its interpreter's words before them, and the next turn looks again, as the
 * kernel would.
 */
#include "record/lookup.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TURNS 12
#define SHEBANG_MAX 256 /* BINPRM_BUF_SIZE of the kernel */

/* Programs whose arguments end in the command that they run. */
struct wrapper {
	const char *name;
	const char *with_value;	   /* short options that take a value */
	const char *long_value[8]; /* long options that take a value as the next word */
	unsigned positionals;	   /* own words before the command */
	bool assignments;	   /* NAME=VALUE words before the command */
	bool forks;		   /* the command is its child, not itself */
};

static const struct wrapper wrappers[] = {
	{"env", "uCS", {"unset", "chdir", "split-string"}, 0, true, false},
	{"timeout", "ks", {"kill-after", "signal"}, 1, false, true},
	{"nice", "n", {"adjustment"}, 0, false, false},
	{"nohup", "", {NULL}, 0, false, false},
	{"setsid", "", {NULL}, 0, false, false},
	{"stdbuf", "ioe", {"input", "output", "error"}, 0, false, false},
	{"ionice", "cn", {"class", "classdata"}, 0, false, false},
	{"taskset", "", {NULL}, 1, false, false},
	{"chrt", "TPD", {"sched-runtime", "sched-period", "sched-deadline"}, 1, false, false},
	{"time", "fo", {"format", "output"}, 0, false, true},
	{"sudo",
	 "CDghprRTtuU",
	 {"user", "group", "chdir", "host", "prompt", "chroot", "close-from", "command-timeout"},
	 0,
	 true,
	 true},
};

struct state {
	struct gs_arena *arena;
	struct gs_lookup *out;
	const char *path;
	const char **words; /* NULL-terminated */
	const char *by;	    /* what runs words[0], for messages; NULL for the user */
};

static void note(struct state *s, const char *text)
{
	*GS_PUSH(s->out->notes, s->out->nnotes, s->out->notes_cap) = text;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* 0, or why execve(2) would refuse the file. */
static int can_run(const char *file)
{
	struct stat st;

	if (stat(file, &st))
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return access(file, X_OK) ? errno : 0;
}

static struct gs_error *cannot_run(const struct state *s, const char *word, int err)
{
	const char *by = s->by ? gs_arena_printf(s->arena, " (which %s runs)", s->by) : "";

	if (err == ENOENT && !strchr(word, '/'))
		return gs_error_new(GS_ERR_NOT_FOUND, "cannot run `%s'%s: no such command in PATH",
				    word, by);
	if (err == EACCES)
		return gs_error_new(GS_ERR_USAGE, "cannot run `%s'%s: it is not executable", word,
				    by);
	return gs_error_errno(err, "cannot run `%s'%s", word, by);
}

/* As execvp(3): names with a slash are paths; a file that cannot be run does not end the search. */
static struct gs_error *find_file(const struct state *s, const char *word, const char **out)
{
	const char *dir = s->path ? s->path : "/bin:/usr/bin";
	int err = ENOENT, e;

	if (!*word)
		return gs_error_new(GS_ERR_USAGE, "cannot run `': the command is empty");
	if (strchr(word, '/')) {
		err = can_run(word);
		if (err)
			return cannot_run(s, word, err);
		*out = word;
		return NULL;
	}
	for (;;) {
		size_t n = strcspn(dir, ":");
		const char *file =
			n ? gs_arena_printf(s->arena, "%.*s/%s", (int)n, dir, word) : word;

		e = can_run(file);
		if (!e) {
			*out = n ? file : gs_arena_printf(s->arena, "./%s", word);
			return NULL;
		}
		if (e == EACCES)
			err = EACCES;
		if (!dir[n])
			return cannot_run(s, word, err);
		dir += n + 1;
	}
}

static bool takes_value(const struct wrapper *w, const char *name)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(w->long_value) && w->long_value[i]; i++) {
		if (!strcmp(w->long_value[i], name))
			return true;
	}
	return false;
}

/* Words of the option at WORDS: 1, or 2 when its value is the next word. */
static size_t option_words(const struct wrapper *w, const char *const *words)
{
	const char *opt = words[0];

	if (opt[1] == '-')
		return takes_value(w, opt + 2) && words[1] ? 2 : 1;
	for (opt++; *opt; opt++) {
		if (strchr(w->with_value, *opt))
			return opt[1] || !words[1] ? 1 : 2;
	}
	return 1;
}

/* env -S: its argument is split at white space into words that stand in its place. */
static const char **split_string(const struct state *s, const char *text, const char *const *rest)
{
	const char **words = NULL;
	size_t n = 0, cap = 0;
	const char **copy;

	while (*text) {
		size_t len;

		text += strspn(text, " \t");
		len = strcspn(text, " \t");
		if (len)
			*GS_PUSH(words, n, cap) = gs_arena_strndup(s->arena, text, len);
		text += len;
	}
	for (; *rest; rest++)
		*GS_PUSH(words, n, cap) = *rest;
	*GS_PUSH(words, n, cap) = NULL;
	copy = gs_arena_memdup(s->arena, words, n * sizeof(*words));
	free(words);
	return copy;
}

static void assignment(struct state *s, const char *word)
{
	if (!strncmp(word, "PATH=", 5))
		s->path = word + 5;
	if (!strncmp(word, "LD_LIBRARY_PATH=", 16))
		s->out->library_path = word + 16;
}

/* The words after the wrapper's own, or NULL when it runs no command. */
static const char **skip_wrapper(struct state *s, const struct wrapper *w)
{
	const char **words = s->words + 1;
	unsigned positionals = w->positionals;
	bool env = !strcmp(w->name, "env");

	while (*words) {
		const char *word = *words;

		if (env && !strncmp(word, "-S", 2)) {
			if (!word[2] && !words[1])
				return NULL;
			words = word[2] ? split_string(s, word + 2, words + 1)
					: split_string(s, words[1], words + 2);
		} else if (env && !strncmp(word, "--split-string=", 15)) {
			words = split_string(s, word + 15, words + 1);
		} else if (!strcmp(word, "--")) {
			words++;
			break;
		} else if (word[0] == '-') {
			words += word[1] ? option_words(w, words) : 1;
		} else {
			break;
		}
	}
	for (; w->assignments && *words && strchr(*words, '='); words++)
		assignment(s, *words);
	for (; positionals && *words; positionals--)
		words++;
	return *words ? words : NULL;
}

static const struct wrapper *find_wrapper(const char *name)
{
	for (size_t i = 0; i < GS_ARRAY_SIZE(wrappers); i++) {
		if (!strcmp(wrappers[i].name, name))
			return &wrappers[i];
	}
	return NULL;
}

/* The first bytes of FILE; 0 when it cannot be read (execute-only files: then taken as a program).
 */
static size_t first_bytes(const char *file, char buf[SHEBANG_MAX + 1])
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = 0;

	if (fd >= 0) {
		n = read(fd, buf, SHEBANG_MAX);
		close(fd);
	}
	n = n < 0 ? 0 : n;
	buf[n] = 0;
	return (size_t)n;
}

/* "#! INTERPRETER [ARG]", as fs/binfmt_script.c takes it apart: one argument, spaces and all. */
static void enter_script(struct state *s, const char *file, char *line)
{
	size_t n = 0, nold = 0, len;
	const char **words;
	char *interp = line + 2, *arg;

	line[strcspn(line, "\n")] = 0;
	interp += strspn(interp, " \t");
	len = strcspn(interp, " \t");
	arg = interp + len + strspn(interp + len, " \t");
	interp[len] = 0;
	for (char *end = arg + strlen(arg); end > arg && strchr(" \t\r", end[-1]);)
		*--end = 0;
	while (s->words[nold])
		nold++;
	words = gs_arena_alloc(s->arena, (nold + 3) * sizeof(*words));
	words[n++] = gs_arena_strdup(s->arena, interp);
	if (*arg)
		words[n++] = gs_arena_strdup(s->arena, arg);
	words[n++] = file;
	for (size_t i = 1; i < nold; i++)
		words[n++] = s->words[i];
	s->words = words;
}

/* Without one the kernel refuses the file, and the shell runs it. */
static bool names_interpreter(const char *line)
{
	line += strspn(line, " \t");
	return *line && *line != '\n';
}

/* A file that is neither ELF nor has an interpreter line is run by the shell, as execvp(3) does. */
static void enter_shell(struct state *s, const char *file)
{
	char line[] = "#!/bin/sh";

	enter_script(s, file, line);
}

/* One turn; *done when FILE is the program. */
static struct gs_error *turn(struct state *s, bool *done)
{
	const char *word = s->words[0], *file = word;
	const struct wrapper *w = find_wrapper(base_name(word));
	char head[SHEBANG_MAX + 1], *real;
	const char **inner;
	size_t n;

	GS_TRY(find_file(s, word, &file));
	if (!s->out->file)
		s->out->file = file;
	inner = w ? skip_wrapper(s, w) : NULL;
	if (inner) {
		if (w->forks)
			s->out->forked_by = w->name;
		s->words = inner;
		s->by = w->name;
		note(s, gs_arena_printf(s->arena, "looked through `%s' at `%s'", word, inner[0]));
		return NULL;
	}
	n = first_bytes(file, head);
	if (n > 2 && head[0] == '#' && head[1] == '!' && names_interpreter(head + 2)) {
		enter_script(s, file, head);
	} else if (n && (n < 4 || memcmp(head, "\177ELF", 4) != 0)) {
		enter_shell(s, file);
	} else {
		real = realpath(file, NULL);
		if (!real)
			return gs_error_errno(errno, "cannot find `%s'", file);
		s->out->executable = gs_arena_strdup(s->arena, real);
		free(real);
		*done = true;
		return NULL;
	}
	s->by = file;
	note(s, gs_arena_printf(s->arena, "`%s' is a script, run by `%s'", file, s->words[0]));
	return NULL;
}

struct gs_error *gs_lookup_command(struct gs_arena *arena, char *const *argv, const char *path,
				   const char *library_path, struct gs_lookup *out)
{
	struct gs_lookup l = {.library_path = library_path};
	struct state s = {.arena = arena, .out = &l, .path = path};
	struct gs_error *err = NULL;
	bool done = false;
	size_t n = 0;

	while (argv[n])
		n++;
	s.words = gs_arena_alloc(arena, (n + 1) * sizeof(*s.words));
	for (size_t i = 0; i < n; i++)
		s.words[i] = argv[i];
	for (int i = 0; i < MAX_TURNS && !done && !err; i++)
		err = turn(&s, &done);
	if (!err && !done)
		err = gs_error_new(GS_ERR_USAGE,
				   "cannot run `%s': scripts that run scripts, too deep", argv[0]);
	if (err) {
		gs_lookup_deinit(&l);
		return err;
	}
	*out = l;
	return NULL;
}

void gs_lookup_deinit(struct gs_lookup *l)
{
	free(l->notes);
	l->notes = NULL;
}
