/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives libdw the split units that split.c found.
 *
 * libdw has no call for that: when a skeleton's other half is first asked for it open(2)s the
 * .dwo file by name itself, once. The resolver may not open files, and a unit of a package has
 * none. So the program defines the two functions that libdw goes through, open and elf_begin, and
 * answers them while a unit is handed over, and only then, with what was found; all else passes on.
 */
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/debugfile.h"

/* Of one thread: the recorder has others, which open files of their own. */
static __thread struct {
	bool active;
	Elf *elf; /* NULL once it was taken */
} handed;

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	if (flags & (O_CREAT | __O_TMPFILE)) {
		va_list ap;

		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	if (handed.active && !handed.elf) {
		errno = ENOENT;
		return -1;
	}
	/* libdw closes what it opened; which file it is does not matter. */
	if (handed.active)
		path = "/dev/null";
#ifdef O_LARGEFILE
	flags |= O_LARGEFILE;
#endif
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

Elf *elf_begin(int fd, Elf_Cmd cmd, Elf *ref)
{
	static Elf *(*next)(int, Elf_Cmd, Elf *);
	Elf *elf = handed.elf;

	if (handed.active && elf) {
		handed.elf = NULL;
		return elf;
	}
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "elf_begin");
	return next(fd, cmd, ref);
}

bool gs_split_hand_over(Dwarf_CU *skeleton, Elf *elf)
{
	Dwarf_Die sub = {0};
	bool linked;

	handed.active = true;
	handed.elf = elf;
	linked = dwarf_cu_info(skeleton, NULL, NULL, NULL, &sub, NULL, NULL, NULL) == 0 && sub.cu;
	handed.active = false;
	/* Not asked for: the skeleton was linked, or given up, before. */
	if (handed.elf)
		elf_end(handed.elf);
	handed.elf = NULL;
	return linked;
}
