/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The index that reads only what a question touches answers as one that has read everything, and
 * the scanner reads what libdw reads: for every name, every function's instances and every
 * address of small programs, as compilers and linkers arrange them. Programs given as arguments
 * are compared instead.
 */
#include <fcntl.h>
#include <unistd.h>

#include "record/dwarf_units.h"
#include "tests/lib/record_run.h"
#include "tests/tap.h"

#define FRESH_MAX 60

struct pair {
	struct run_module lazy, whole;
	const char *path;
	unsigned differences;
};

static bool open_mode(const char *path, enum gs_index_mode mode, struct run_module *out)
{
	if (!run_open(path, out))
		return false;
	out->m->index.mode = mode;
	return true;
}

/* Numbers of split files depend on the order in which they are opened. */
static bool same_ref(struct pair *p, gs_ref a, gs_ref b)
{
	const uint64_t mask = (1ull << GS_REF_FILE_SHIFT) - 1;

	if ((a & mask) != (b & mask) || !a != !b)
		return false;
	return !a || gs_unit_of_ref(p->lazy.m, a) == gs_unit_of_ref(p->whole.m, b);
}

static void differs(struct pair *p, const char *what, const char *name, uint64_t where)
{
	if (p->differences++ < 10)
		printf("# %s: %s differ for `%s' (0x%llx)\n", p->path, what, name ? name : "",
		       (unsigned long long)where);
}

/* ---- what a unit holds ---- */

static bool same_unit(struct pair *p, const struct gs_unit *a, const struct gs_unit *b)
{
	if (a->nentries != b->nentries || a->ninstances != b->ninstances ||
	    a->nranges != b->nranges)
		return false;
	for (size_t i = 0; i < a->nentries; i++)
		if (!same_ref(p, a->entries[i].ref, b->entries[i].ref) ||
		    !same_ref(p, a->entries[i].parent, b->entries[i].parent) ||
		    a->entries[i].hash != b->entries[i].hash ||
		    a->entries[i].kind != b->entries[i].kind ||
		    a->entries[i].flags != b->entries[i].flags)
			return false;
	for (size_t i = 0; i < a->ninstances; i++)
		if (!same_ref(p, a->instances[i].origin, b->instances[i].origin) ||
		    !same_ref(p, a->instances[i].die, b->instances[i].die) ||
		    !same_ref(p, a->instances[i].outer, b->instances[i].outer))
			return false;
	for (size_t i = 0; i < a->nranges; i++)
		if (a->ranges[i].low != b->ranges[i].low ||
		    a->ranges[i].high != b->ranges[i].high ||
		    !same_ref(p, a->ranges[i].die, b->ranges[i].die))
			return false;
	return true;
}

static void compare_units(struct pair *p)
{
	struct gs_module *a = p->lazy.m, *b = p->whole.m;

	gs_index_whole(a);
	gs_index_whole(b);
	if (a->nunits != b->nunits)
		differs(p, "numbers of units", "", a->nunits);
	for (size_t i = 0; i < a->nunits && i < b->nunits; i++)
		if (!same_unit(p, &a->units[i], &b->units[i]))
			differs(p, "entries of a unit", "", a->units[i].ref);
}

/* ---- names and instances ---- */

static bool same_instances(struct pair *p, gs_ref a, gs_ref b)
{
	size_t na, nb;
	const struct gs_instance *ia = gs_index_instances(p->lazy.m, a, &na);
	const struct gs_instance *ib = gs_index_instances(p->whole.m, b, &nb);

	if (na != nb)
		return false;
	for (size_t i = 0; i < na; i++)
		if (!same_ref(p, ia[i].die, ib[i].die) || !same_ref(p, ia[i].outer, ib[i].outer))
			return false;
	return true;
}

struct listed {
	const struct gs_index_entry *e;
	size_t unit;
};

/* By unit: the numbers of split files, and so the order of refs, depend on what was asked first. */
static int compare_listed(const void *pa, const void *pb)
{
	const struct listed *a = pa, *b = pb;

	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	if (a->e->ref != b->e->ref)
		return a->e->ref < b->e->ref ? -1 : 1;
	return (a->e->flags & GS_INDEX_LINKAGE) - (b->e->flags & GS_INDEX_LINKAGE);
}

static struct listed *entries_named(struct gs_module *m, const char *base, size_t len, size_t *n)
{
	const struct gs_index_entry *e = gs_index_first(m, base, len);
	struct listed *list = NULL;
	size_t cap = 0;

	*n = 0;
	for (; e; e = gs_index_next(m, e))
		*GS_PUSH(list, *n, cap) = (struct listed){e, gs_unit_of_ref(m, e->ref)};
	if (*n)
		qsort(list, *n, sizeof(*list), compare_listed);
	return list;
}

static void compare_name(struct pair *p, const char *base, size_t len)
{
	size_t na, nb, i;
	struct listed *a GS_CLEANUP_FREE = entries_named(p->lazy.m, base, len, &na);
	struct listed *b GS_CLEANUP_FREE = entries_named(p->whole.m, base, len, &nb);

	for (i = 0; i < na && i < nb; i++) {
		const struct gs_index_entry *x = a[i].e, *y = b[i].e;

		if (!same_ref(p, x->ref, y->ref) || !same_ref(p, x->parent, y->parent) ||
		    x->kind != y->kind || x->flags != y->flags)
			break;
		if (x->kind == GS_INDEX_FUNCTION && !same_instances(p, x->ref, y->ref))
			differs(p, "instances", base, x->ref);
	}
	if (i < na || i < nb)
		differs(p, "entries", base, i < na ? a[i].e->ref : b[i].e->ref);
}

struct names {
	struct gs_module *m;
	struct gs_map map;
};

static void collect(void *ctx, const struct gs_index_entry *e)
{
	struct names *names = ctx;
	const char *name = gs_index_name(names->m, e);
	Dwarf_Die die;
	Dwarf_Attribute attr;

	if (e->kind == GS_INDEX_SCOPE || !name)
		return;
	if ((e->flags & GS_INDEX_LINKAGE) && gs_ref_die(names->m, e->ref, &die) &&
	    dwarf_attr(&die, DW_AT_linkage_name, &attr) && dwarf_formstring(&attr))
		name = dwarf_formstring(&attr);
	gs_map_put(&names->map, name,
		   e->flags & GS_INDEX_LINKAGE ? strlen(name) : gs_name_base_len(name), 0, NULL);
}

/* Some of a module that was asked nothing before, then all of one. */
static void compare_names(struct pair *p)
{
	struct names names = {.m = p->whole.m};
	size_t step;

	gs_index_each(p->whole.m, collect, &names);
	step = names.map.n / FRESH_MAX + 1;
	for (size_t i = 0; i < names.map.n; i += step) {
		run_close(&p->lazy);
		if (!open_mode(p->path, GS_INDEX_LAZY, &p->lazy))
			return;
		compare_name(p, names.map.entries[i].key, names.map.entries[i].len);
	}
	for (size_t i = 0; i < names.map.n; i++)
		compare_name(p, names.map.entries[i].key, names.map.entries[i].len);
	printf("# %s: %zu units, %zu names, %zu bytes searched\n", p->path, p->whole.m->nunits,
	       names.map.n, (size_t)p->lazy.m->searched);
	gs_map_deinit(&names.map);
}

/* ---- addresses ---- */

static void compare_address(struct pair *p, uint64_t addr)
{
	Dwarf_Die a, b;
	bool has_a = gs_index_function_at(p->lazy.m, addr, &a);
	bool has_b = gs_index_function_at(p->whole.m, addr, &b);

	if (has_a != has_b ||
	    (has_a && !same_ref(p, gs_ref_of(p->lazy.m, &a), gs_ref_of(p->whole.m, &b))))
		differs(p, "functions at an address", "", addr);
}

/* What one that has read everything finds in all ranges of all units. */
static bool covers(struct gs_module *m, uint64_t addr)
{
	for (size_t u = 0; u < m->nunits; u++)
		for (size_t i = 0; i < m->units[u].nranges; i++)
			if (addr >= m->units[u].ranges[i].low && addr < m->units[u].ranges[i].high)
				return true;
	return false;
}

static void compare_addresses(struct pair *p)
{
	Dwarf_Die die;

	for (size_t u = 0; u < p->whole.m->nunits; u++) {
		const struct gs_unit *unit = &p->whole.m->units[u];

		for (size_t i = 0; i < unit->nranges; i += 1 + unit->nranges / 100) {
			compare_address(p, unit->ranges[i].low - 1);
			compare_address(p, unit->ranges[i].low);
			compare_address(p, unit->ranges[i].high - 1);
			compare_address(p, unit->ranges[i].high);
			if (!gs_index_function_at(p->lazy.m, unit->ranges[i].low, &die))
				differs(p, "ranges", "", unit->ranges[i].low);
			if (!covers(p->whole.m, unit->ranges[i].high) &&
			    gs_index_function_at(p->lazy.m, unit->ranges[i].high, &die))
				differs(p, "ranges", "", unit->ranges[i].high);
		}
	}
}

/* ---- lines ---- */

/* No table that has rows of a file is passed over. */
static void compare_lines(struct pair *p)
{
	struct gs_module *m = p->whole.m;

	for (size_t u = 0; u < m->nunits; u++) {
		const struct gs_unit_lines *t = gs_lines_of_unit(m, u);

		for (size_t i = 0; i < t->nrows; i++)
			if (gs_elf_is_executable(m, t->rows[i].addr) &&
			    !gs_unit_may_have_lines(p->lazy.m, u, t->files[t->rows[i].file])) {
				differs(p, "line tables", t->files[t->rows[i].file], u);
				break;
			}
	}
}

static const char *compare(const char *path)
{
	struct pair p = {.path = path};

	if (!path || !open_mode(path, GS_INDEX_LIBDW, &p.whole))
		return "not compiled";
	if (!open_mode(path, GS_INDEX_LAZY, &p.lazy)) {
		run_close(&p.whole);
		return "not opened";
	}
	compare_names(&p);
	run_close(&p.lazy);
	if (open_mode(path, GS_INDEX_LAZY, &p.lazy)) {
		compare_addresses(&p);
		compare_lines(&p);
		run_close(&p.lazy);
	}
	if (open_mode(path, GS_INDEX_WHOLE, &p.lazy)) {
		compare_units(&p);
		run_close(&p.lazy);
	}
	if (!p.whole.m->index.nentries)
		differs(&p, "nothing is there: all", "", 0);
	run_close(&p.whole);
	return p.differences ? "differences" : NULL;
}

static void check(const char *what, const char *path)
{
	const char *wrong = compare(path);

	tap_failed += wrong != NULL;
	printf("%sok %d - %s%s%s\n", wrong ? "not " : "", ++tap_count, what, wrong ? ": " : "",
	       wrong ? wrong : "");
	fflush(stdout);
}

static const struct {
	const char *cc, *flags;
	const char *then; /* to be run on it */
} programs[] = {
	{"g++", "-O2", NULL},
	{"g++", "-O0", NULL},
	{"g++", "-O2 -gdwarf-4", NULL},
	{"g++", "-O2 -gdwarf-3 -gstrict-dwarf", NULL},
	{"g++", "-O2 -flto", NULL},
	{"g++", "-O2 -gdwarf-4 -fdebug-types-section", NULL},
	{"g++", "-O2 -gdwarf-5 -fdebug-types-section", NULL},
	{"g++", "-O2 -gz", NULL},
	{"g++", "-O2 -gdwarf64 -gdwarf-5", NULL},
	{"g++", "-O2 -ffunction-sections -Wl,--gc-sections", NULL},
	{"g++", "-O2 -gsplit-dwarf", NULL},
	{"g++", "-O2 -m32 -nodefaultlibs -lc", NULL},
	{"g++", "-O2", "dwz"},
	{"g++", "-O2 -gdwarf-4", "dwz"},
	{"clang++", "-O2", NULL},
	{"clang++", "-O0 -gdwarf-4", NULL},
	{"clang++", "-O2 -fdebug-types-section", NULL},
	{"clang++", "-O2 -gpubnames", NULL},
	{"clang++", "-O2 -gsplit-dwarf", NULL},
};

static void check_program(size_t i)
{
	const char *then = programs[i].then, *path;
	char flags[256], name[256], command[256];

	snprintf(name, sizeof(name), "%s %s%s%s", programs[i].cc, programs[i].flags,
		 then ? ", " : "", then ? then : "");
	if (!run_have(programs[i].cc) || (then && !run_have(then))) {
		tap_skip(name, "a program that makes it is not installed");
		return;
	}
	snprintf(flags, sizeof(flags), "%s tests/fixtures/index_second.cc", programs[i].flags);
	path = run_compile(programs[i].cc, flags, "index_first.cc");
	snprintf(command, sizeof(command), "%s '%s'", then ? then : "true", path ? path : "");
	check(name, path && system(command) == 0 ? path : NULL);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		check(argv[i], argv[i]);
	for (size_t i = 0; argc == 1 && i < GS_ARRAY_SIZE(programs); i++)
		check_program(i);
	return tap_done();
}
