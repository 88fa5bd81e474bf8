/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Split DWARF: finds the unit that belongs to a skeleton, in a package beside the program or in
 * a .dwo file, and has libdw link the two. Between the units of a module and split_open.c.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "record/debugfile.h"

#define PACKAGES_MAX 8

struct package {
	struct gs_dwp *dwp;
	Elf *elf;
	int fd;
	const char *path;
};
struct gs_split {
	bool looked_for;
	struct package packages[PACKAGES_MAX];
	size_t npackages;
	struct gs_image **images; /* behind units that are linked */
	size_t nimages, images_cap;
	unsigned nmissing;
	struct gs_map done; /* skeletons that were asked for, by handle */
};

/* What a skeleton says of its other half. */
struct wanted {
	uint64_t id;
	const char *name, *comp_dir; /* as written; comp_dir may be NULL */
};

static struct gs_split *state_of(struct gs_module *m)
{
	if (!m->debug->split)
		m->debug->split = gs_calloc(1, sizeof(*m->debug->split));
	return m->debug->split;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- packages ---- */

static void try_package(struct gs_module *m, const char *path)
{
	struct gs_split *s = state_of(m);
	int fd = s->npackages < PACKAGES_MAX ? gs_debugfile_open(m, path) : -1;
	struct gs_error *err = NULL;
	struct gs_dwp *dwp = NULL;
	Elf *elf;

	if (fd < 0)
		return;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf)
		err = gs_dwp_open(elf, &dwp);
	if (dwp) {
		s->packages[s->npackages++] = (struct package){dwp, elf, fd, path};
		return;
	}
	gs_debugfile_problem(m, "%s is no package of split units that can be read: %s", path,
			     err ? gs_error_message(err) : "it has no .debug_cu_index");
	gs_error_free(err);
	if (elf)
		elf_end(elf);
	close(fd);
}

/* As the tools name it: the program's (or its debug file's) name with .dwp. */
static void find_packages(struct gs_module *m)
{
	const char *path = m->info.path, *debug = m->info.debug_path;

	if (state_of(m)->looked_for)
		return;
	state_of(m)->looked_for = true;
	try_package(m, gs_arena_printf(&m->arena, "%s.dwp", path));
	if (debug)
		try_package(m, gs_arena_printf(&m->arena, "%s.dwp", debug));
	for (size_t i = 0; i < m->opener.ndebug_dirs; i++)
		try_package(m, gs_arena_printf(&m->arena, "%s/%s.dwp", m->opener.debug_dirs[i],
					       base_name(path)));
}

static bool keep_image(struct gs_module *m, Dwarf_CU *cu, struct gs_image *img)
{
	struct gs_split *s = state_of(m);
	struct gs_image *kept;

	if (!gs_split_hand_over(cu, img->elf)) {
		/* libdw has ended the handle. */
		gs_image_deinit(img, true);
		return false;
	}
	kept = gs_calloc(1, sizeof(*kept));
	*kept = *img;
	*GS_PUSH(s->images, s->nimages, s->images_cap) = kept;
	return true;
}

static bool link_from_packages(struct gs_module *m, Dwarf_CU *cu, const struct wanted *w)
{
	struct gs_split *s = state_of(m);

	find_packages(m);
	for (size_t i = 0; i < s->npackages; i++) {
		struct gs_image img;
		bool found;
		struct gs_error *err = gs_dwp_unit(s->packages[i].dwp, w->id, &found, &img);

		if (err) {
			gs_debugfile_problem(m, "%s: %s", s->packages[i].path,
					     gs_error_message(err));
			gs_error_free(err);
		} else if (found) {
			return keep_image(m, cu, &img);
		}
	}
	return false;
}

/* ---- .dwo files ---- */

/* Whether a unit of that number is in the file; *other is the number of one that is. */
static bool has_unit(Elf *elf, uint64_t id, uint64_t *other)
{
	Dwarf *dw = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	Dwarf_CU *cu = NULL;
	bool found = false;
	uint8_t type;

	while (dw && !found && dwarf_get_units(dw, cu, &cu, NULL, &type, NULL, NULL) == 0) {
		uint64_t here = 0;

		if (type != DW_UT_split_compile ||
		    dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &here, NULL, NULL) != 0)
			continue;
		found = here == id;
		if (!found)
			*other = here;
	}
	if (dw)
		dwarf_end(dw);
	return found;
}

static void refuse(struct gs_module *m, const char *path, uint64_t wanted, uint64_t got)
{
	if (got)
		gs_debugfile_problem(m,
				     "%s is of another build: its dwo_id is %016" PRIx64
				     ", the program wants %016" PRIx64,
				     path, got, wanted);
	else
		gs_debugfile_problem(m, "%s holds no split unit that can be read", path);
}

static bool try_dwo(struct gs_module *m, Dwarf_CU *cu, const struct wanted *w, const char *path)
{
	int fd = gs_debugfile_open(m, path);
	struct gs_image img = {0};
	struct gs_error *err = NULL;
	uint64_t other = 0;
	bool linked = false;
	Elf *elf;

	if (fd < 0)
		return false;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && (gs_elf_has_zstd(elf) || gs_elf_is_in_pieces(elf)))
		err = gs_image_decompressed(elf, &img);
	if (err) {
		gs_debugfile_problem(m, "%s: %s", path, gs_error_message(err));
		gs_error_free(err);
	} else if (!elf || !has_unit(img.elf ? img.elf : elf, w->id, &other)) {
		refuse(m, path, w->id, other);
	} else if (img.elf) {
		linked = keep_image(m, cu, &img);
		img = (struct gs_image){0};
	} else {
		linked = gs_split_hand_over(cu, elf);
		elf = NULL; /* libdw's, also when it was of no use */
	}
	gs_image_deinit(&img, false);
	if (elf)
		elf_end(elf);
	close(fd);
	return linked;
}

static bool link_from_files(struct gs_module *m, Dwarf_CU *cu, const struct wanted *w)
{
	const char *base = base_name(w->name);
	const char *from = m->info.debug_path ? m->info.debug_path : m->info.path;
	const char *dir = gs_debugfile_dir(m, from);

	if (w->name[0] == '/' ? try_dwo(m, cu, w, w->name)
			      : w->comp_dir && try_dwo(m, cu, w,
						       gs_arena_printf(&m->arena, "%s/%s",
								       w->comp_dir, w->name)))
		return true;
	if (w->name[0] != '/' &&
	    try_dwo(m, cu, w, gs_arena_printf(&m->arena, "%s/%s", dir, w->name)))
		return true;
	if (strchr(w->name, '/') &&
	    try_dwo(m, cu, w, gs_arena_printf(&m->arena, "%s/%s", dir, base)))
		return true;
	for (size_t i = 0; i < m->opener.ndebug_dirs; i++) {
		const char *d = m->opener.debug_dirs[i];

		if (try_dwo(m, cu, w, gs_arena_printf(&m->arena, "%s/%s", d, w->name)))
			return true;
		if (base != w->name &&
		    try_dwo(m, cu, w, gs_arena_printf(&m->arena, "%s/%s", d, base)))
			return true;
	}
	return false;
}

/* ---- linking ---- */

static const char *string_of(Dwarf_Die *die, unsigned at)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, at, &attr) ? dwarf_formstring(&attr) : NULL;
}

static void say_missing(struct gs_module *m, Dwarf_Die *die, const struct wanted *w)
{
	const char *source = string_of(die, DW_AT_name);
	const char *path = w->name[0] == '/' || !w->comp_dir
				   ? w->name
				   : gs_arena_printf(&m->arena, "%s/%s", w->comp_dir, w->name);

	/* Of a program whose build directory is gone all are missing: a few stand for them. */
	if (++state_of(m)->nmissing > 3)
		return;
	gs_debugfile_problem(m,
			     "the split debug information %s%s%s was not found (dwo_id %016" PRIx64
			     "): variables and types of that unit are not known; -D DIR names a "
			     "directory that has it",
			     path, source ? " of " : "", source ? source : "", w->id);
}

void gs_split_link(struct gs_module *m, Dwarf_CU *cu)
{
	struct wanted w = {0};
	Dwarf_Die die;
	uint8_t type = 0;
	bool fresh;

	gs_map_put(&state_of(m)->done, &cu, sizeof(cu), 1, &fresh);
	if (!fresh)
		return;
	if (dwarf_cu_info(cu, NULL, &type, &die, NULL, &w.id, NULL, NULL) != 0 ||
	    type != DW_UT_skeleton)
		return;
	w.name = string_of(&die, DW_AT_dwo_name);
	if (!w.name)
		w.name = string_of(&die, DW_AT_GNU_dwo_name);
	w.comp_dir = string_of(&die, DW_AT_comp_dir);
	if (!w.name || link_from_packages(m, cu, &w) || link_from_files(m, cu, &w))
		return;
	/* So that libdw does not look by itself. */
	gs_split_hand_over(cu, NULL);
	say_missing(m, &die, &w);
}

void gs_split_close(struct gs_module *m)
{
	struct gs_split *s = m->debug->split;

	for (size_t i = 0; s && i < s->npackages; i++) {
		gs_dwp_close(s->packages[i].dwp);
		elf_end(s->packages[i].elf);
		close(s->packages[i].fd);
	}
	for (size_t i = 0; s && i < s->nimages; i++) {
		/* The handle went with libdw's. */
		gs_image_deinit(s->images[i], true);
		free(s->images[i]);
	}
	if (!s)
		return;
	gs_map_deinit(&s->done);
	free(s->images);
	free(s);
}
