/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes, their maps, and names for code addresses, taken while they live.
 * Beside the drain: never formats, reads /proc once a process (again when its maps may have
 * changed).
 */
#include "record/process.h"

#include <limits.h>
#include <sys/stat.h>
#include <time.h>

#include "common/hash.h"
#include "record/proc.h"

#define MAPS_AGAIN_NS                                                               \
	100000000 /* an address that is in no known map: look again after this time \
		   */

struct module {
	uint32_t id;
	const char *path;
	struct stat st; /* st_ino 0: unknown */
	bool probed;
	int32_t stranger; /* a process that maps another file under this path; 0: none */
	bool told;
};

/* File offset and link address of a site: their distance holds for the whole segment. */
struct anchor {
	uint32_t module;
	uint64_t offset, link_addr;
};

struct code_map {
	uint64_t start, end, pgoff;
	uint32_t module; /* index */
};

struct process {
	int32_t pid;
	bool known;	     /* has a row */
	uint32_t generation; /* of the modules when its maps were read; 0: not read */
	uint64_t read_ns;
	struct code_map *maps;
	size_t nmaps, maps_cap;
};

struct gs_processes {
	struct gs_arena arena; /* names of modules and symbols */
	struct module *modules;
	size_t nmodules, modules_cap;
	struct anchor *anchors; /* one a module and segment that was seen */
	size_t nanchors, anchors_cap;
	struct gs_module_symbol *symbols; /* by module, address */
	size_t nsymbols, symbols_cap;
	struct process *list;
	size_t n, cap;
	struct gs_map by_pid, named;
	uint32_t generation;
	int32_t last_pid;
	struct gs_meta *rows;
	struct gs_meta_symbol *new_symbols; /* names are in the arena */
	size_t nnew_symbols, new_symbols_cap;
	uint64_t total_rows, dropped;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct gs_processes *gs_processes_new(void)
{
	struct gs_processes *p = gs_calloc(1, sizeof(*p));

	gs_arena_init(&p->arena);
	p->generation = 1;
	return p;
}

static void rows_free(struct gs_meta *rows)
{
	if (!rows)
		return;
	gs_meta_deinit(rows);
	free(rows);
}

void gs_processes_free(struct gs_processes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		free(p->list[i].maps);
	free(p->list);
	free(p->modules);
	free(p->anchors);
	free(p->symbols);
	free(p->new_symbols);
	gs_map_deinit(&p->by_pid);
	gs_map_deinit(&p->named);
	rows_free(p->rows);
	gs_arena_deinit(&p->arena);
	free(p);
}

/* ---- modules ---- */

static int symbol_order(const void *a, const void *b)
{
	const struct gs_module_symbol *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void add_anchor(struct gs_processes *p, uint32_t module, uint64_t offset, uint64_t link_addr)
{
	for (size_t i = 0; i < p->nanchors; i++) {
		const struct anchor *a = &p->anchors[i];

		if (a->module == module && a->offset - a->link_addr == offset - link_addr)
			return;
	}
	*GS_PUSH(p->anchors, p->nanchors, p->anchors_cap) =
		(struct anchor){module, offset, link_addr};
}

static void add_site(struct gs_processes *p, const struct gs_meta_site *site, uint32_t module_base,
		     uint64_t file_offset)
{
	for (size_t i = 0; i < p->nmodules; i++)
		p->modules[i].probed |= p->modules[i].id == site->module + module_base;
	add_anchor(p, site->module + module_base, file_offset, site->link_addr);
}

void gs_processes_add(struct gs_processes *p, const struct gs_resolution *res, uint32_t module_base)
{
	for (size_t i = 0; i < res->meta.nmodules; i++) {
		struct module *m = GS_PUSH(p->modules, p->nmodules, p->modules_cap);

		m->id = res->meta.modules[i].id + module_base;
		m->path = gs_arena_strdup(&p->arena, res->meta.modules[i].path);
		if (!res->module_fds || fstat(res->module_fds[i], &m->st))
			m->st.st_ino = 0;
	}
	for (size_t i = 0; i < res->meta.nsites; i++)
		add_site(p, &res->meta.sites[i], module_base, res->sites[i].file_offset);
	for (size_t i = 0; i < res->nsymbols; i++) {
		struct gs_module_symbol *s = GS_PUSH(p->symbols, p->nsymbols, p->symbols_cap);

		*s = res->symbols[i];
		s->module += module_base;
		s->name = gs_arena_strdup(&p->arena, res->symbols[i].name);
	}
	if (p->nsymbols)
		qsort(p->symbols, p->nsymbols, sizeof(*p->symbols), symbol_order);
	p->generation++;
	p->last_pid = 0;
}

/* ---- rows ---- */

/* Where the next row goes, or NULL beyond the cap. */
static struct gs_meta *row(struct gs_processes *p)
{
	if (p->total_rows >= GS_PROCESS_MAX_ROWS) {
		p->dropped++;
		return NULL;
	}
	p->total_rows++;
	if (!p->rows) {
		p->rows = gs_calloc(1, sizeof(*p->rows));
		gs_meta_init(p->rows);
	}
	return p->rows;
}

static void process_row(struct gs_processes *p, const struct gs_meta_process *what)
{
	struct gs_meta *m = row(p);
	struct gs_proc_info info = {0};
	char exe[PATH_MAX] = "";
	struct gs_meta_process *r;

	if (!m)
		return;
	r = GS_PUSH(m->processes, m->nprocesses, m->processes_cap);
	*r = *what;
	if (r->event != GS_PROCESS_EXIT && gs_proc_info((int32_t)r->pid, &info)) {
		r->inner_pid = (uint32_t)info.inner_pid;
		if (!r->ppid)
			r->ppid = (uint32_t)info.ppid;
		gs_proc_exe((int32_t)r->pid, exe, sizeof(exe));
	}
	r->comm = gs_arena_strdup(&m->arena, r->comm ? r->comm : info.comm);
	r->exe = gs_arena_strdup(&m->arena, exe);
}

static struct process *find(struct gs_processes *p, int32_t pid)
{
	bool fresh;
	uint64_t *at = gs_map_put(&p->by_pid, &pid, sizeof(pid), p->n, &fresh);

	if (!fresh)
		return &p->list[*at];
	GS_PUSH(p->list, p->n, p->cap)->pid = pid;
	return &p->list[p->n - 1];
}

/* ---- maps ---- */

struct map_walk {
	struct gs_processes *p;
	struct process *proc;
	uint64_t time_ns;
};

static const struct code_map *find_map(const struct process *proc, uint64_t address)
{
	for (size_t i = 0; i < proc->nmaps; i++) {
		if (address >= proc->maps[i].start && address < proc->maps[i].end)
			return &proc->maps[i];
	}
	return NULL;
}

static void map_row(struct map_walk *w, const struct gs_proc_map *map, const struct module *module)
{
	struct gs_meta *m = row(w->p);

	if (!m)
		return;
	*GS_PUSH(m->maps, m->nmaps, m->maps_cap) = (struct gs_meta_map){
		.pid = (uint32_t)w->proc->pid,
		.time_ns = w->time_ns,
		.start = map->start,
		.end = map->end,
		.pgoff = map->pgoff,
		.module = module->id,
		.path = gs_arena_strdup(&m->arena, map->path),
	};
}

static void note_stranger(struct gs_processes *p, size_t module, int32_t pid,
			  const struct gs_proc_map *map)
{
	struct module *m = &p->modules[module];

	if (m->probed && !m->stranger && gs_proc_map_is_stranger(pid, map, &m->st, m->path))
		m->stranger = pid;
}

static bool each_map(void *ctx, const struct gs_proc_map *map)
{
	struct map_walk *w = ctx;
	const struct code_map *old;

	for (size_t i = 0; map->exec && i < w->p->nmodules; i++) {
		const struct module *m = &w->p->modules[i];

		note_stranger(w->p, i, w->proc->pid, map);
		if (!m->st.st_ino || !gs_proc_map_is(map, &m->st, m->path))
			continue;
		old = find_map(w->proc, map->start);
		if (old && old->start == map->start && old->module == i)
			return true;
		*GS_PUSH(w->proc->maps, w->proc->nmaps, w->proc->maps_cap) =
			(struct code_map){map->start, map->end, map->pgoff, (uint32_t)i};
		map_row(w, map, m);
		return true;
	}
	return true;
}

static bool each_stranger(void *ctx, const struct gs_proc_map *map)
{
	struct map_walk *w = ctx;

	for (size_t i = 0; map->exec && i < w->p->nmodules; i++)
		note_stranger(w->p, i, w->proc->pid, map);
	return true;
}

static void read_maps(struct gs_processes *p, struct process *proc, uint64_t time_ns)
{
	struct map_walk walk = {p, proc, time_ns};

	gs_proc_each_map(gs_proc_live_thread(proc->pid), each_map, &walk);
	proc->generation = p->generation;
	proc->read_ns = now_ns();
}

/* A new program: one that was built anew has another file under the same path. */
static void look_at_program(struct gs_processes *p, struct process *proc)
{
	char exe[PATH_MAX];

	gs_proc_exe(proc->pid, exe, sizeof(exe));
	for (size_t i = 0; i < p->nmodules; i++) {
		const struct module *m = &p->modules[i];

		if (m->probed && !m->stranger && !strcmp(m->path, exe)) {
			gs_proc_each_map(proc->pid, each_stranger,
					 &(struct map_walk){.p = p, .proc = proc});
			return;
		}
	}
}

static void forget_maps(struct gs_processes *p, struct process *proc)
{
	proc->nmaps = 0;
	proc->generation = 0;
	if (p->last_pid == proc->pid)
		p->last_pid = 0;
}

/* ---- what the drain tells ---- */

void gs_processes_start(struct gs_processes *p, int32_t pid, uint64_t time_ns)
{
	struct process *proc = find(p, pid);

	if (!proc->known) {
		proc->known = true;
		process_row(p, &(struct gs_meta_process){.pid = (uint32_t)pid,
							 .event = GS_PROCESS_START,
							 .time_ns = time_ns});
	}
	if (proc->generation != p->generation)
		read_maps(p, proc, time_ns);
}

void gs_processes_event(struct gs_processes *p, int32_t pid, uint64_t time_ns)
{
	if (pid == p->last_pid)
		return;
	gs_processes_start(p, pid, time_ns);
	p->last_pid = pid;
}

void gs_processes_map(struct gs_processes *p, int32_t pid)
{
	read_maps(p, find(p, pid), now_ns());
}

/* A child has the maps of its parent; it may be gone before anybody could look. */
static void inherit_maps(struct gs_processes *p, int32_t child_pid, int32_t parent_pid)
{
	struct process *child = find(p, child_pid), *parent;
	const uint64_t *at = gs_map_get(&p->by_pid, &parent_pid, sizeof(parent_pid));

	forget_maps(p, child);
	if (!at)
		return;
	parent = &p->list[*at];
	child->maps = gs_grow(child->maps, &child->maps_cap, parent->nmaps, sizeof(*child->maps));
	if (parent->nmaps)
		memcpy(child->maps, parent->maps, parent->nmaps * sizeof(*child->maps));
	child->nmaps = parent->nmaps;
}

void gs_processes_record(struct gs_processes *p, const struct gs_process_record *rec)
{
	struct gs_meta_process what = {.time_ns = rec->head.time_ns};
	char comm[sizeof(rec->head.comm) + 1] = "";
	struct process *proc;

	memcpy(comm, rec->head.comm, sizeof(rec->head.comm));
	what.comm = comm;
	what.pid = rec->head.pid;
	switch (rec->head.kind) {
	case GS_RECORD_FORK:
		what.event = GS_PROCESS_FORK;
		what.pid = rec->other;
		what.ppid = rec->head.pid;
		break;
	case GS_RECORD_EXEC:
		what.event = GS_PROCESS_EXEC;
		break;
	default:
		what.event = GS_PROCESS_EXIT;
		what.exit_code = rec->code;
	}
	proc = find(p, (int32_t)what.pid);
	proc->known = true;
	/* Events of other processors' rings may still come from a process that has ended; a number
	 * that is used again begins with a fork. */
	if (what.event == GS_PROCESS_FORK)
		inherit_maps(p, (int32_t)what.pid, (int32_t)what.ppid);
	else if (what.event == GS_PROCESS_EXEC && proc->read_ns <= what.time_ns)
		forget_maps(p, proc);
	if (what.event == GS_PROCESS_EXEC)
		look_at_program(p, proc);
	process_row(p, &what);
}

void gs_processes_forget(struct gs_processes *p)
{
	for (size_t i = 0; i < p->n; i++)
		forget_maps(p, &p->list[i]);
}

/* ---- names of code addresses ---- */

static const struct gs_module_symbol *symbol_at(const struct gs_processes *p, uint32_t module,
						uint64_t addr)
{
	size_t low = 0, high = p->nsymbols;
	const struct gs_module_symbol *s;

	while (low < high) { /* first one behind (module, addr) */
		size_t mid = low + (high - low) / 2;

		s = &p->symbols[mid];
		if (s->module < module || (s->module == module && s->addr <= addr))
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	s = &p->symbols[low - 1];
	if (s->module != module || addr - s->addr >= (s->size ? s->size : 1))
		return NULL;
	return s;
}

static bool link_address(const struct gs_processes *p, const struct code_map *map, uint64_t address,
			 uint64_t *out)
{
	uint64_t offset = address - map->start + map->pgoff;
	uint32_t id = p->modules[map->module].id;

	for (size_t i = 0; i < p->nanchors; i++) {
		const struct anchor *a = &p->anchors[i];

		if (a->module == id && a->offset >= map->pgoff &&
		    a->offset - map->pgoff < map->end - map->start) {
			*out = offset + a->link_addr - a->offset;
			return true;
		}
	}
	return false;
}

struct pointer_key {
	uint64_t address, pid;
};

void gs_processes_pointer(struct gs_processes *p, int32_t pid, uint64_t address)
{
	struct pointer_key key = {address, (uint64_t)pid};
	const struct gs_module_symbol *s;
	const struct code_map *map;
	struct process *proc;
	uint64_t link;

	if (!address || gs_map_get(&p->named, &key, sizeof(key)))
		return;
	if (p->named.n >= GS_PROCESS_MAX_SYMBOLS) {
		p->dropped++;
		return;
	}
	proc = find(p, pid);
	map = find_map(proc, address);
	if (!map) {
		/* A library may have been mapped since; but not at every wild pointer. */
		if (now_ns() - proc->read_ns < MAPS_AGAIN_NS)
			return;
		read_maps(p, proc, now_ns());
		map = find_map(proc, address);
	}
	gs_map_put(&p->named, &key, sizeof(key), 0, NULL);
	if (!map || !link_address(p, map, address, &link))
		return;
	s = symbol_at(p, p->modules[map->module].id, link);
	if (s)
		*GS_PUSH(p->new_symbols, p->nnew_symbols, p->new_symbols_cap) =
			(struct gs_meta_symbol){(uint32_t)pid, address, s->name, link - s->addr};
}

struct gs_meta *gs_processes_rows(struct gs_processes *p, bool symbols)
{
	struct gs_meta *rows;

	if (symbols && p->nnew_symbols && !p->rows) {
		p->rows = gs_calloc(1, sizeof(*p->rows));
		gs_meta_init(p->rows);
	}
	rows = p->rows;
	p->rows = NULL;
	for (size_t i = 0; symbols && i < p->nnew_symbols; i++) {
		struct gs_meta_symbol *s =
			GS_PUSH(rows->symbols, rows->nsymbols, rows->symbols_cap);

		*s = p->new_symbols[i];
		s->name = gs_arena_strdup(&rows->arena, s->name);
	}
	if (symbols)
		p->nnew_symbols = 0;
	return rows;
}

const char *gs_processes_stranger(struct gs_processes *p, int32_t *pid)
{
	for (size_t i = 0; i < p->nmodules; i++) {
		struct module *m = &p->modules[i];

		if (!m->stranger || m->told)
			continue;
		m->told = true;
		*pid = m->stranger;
		return m->path;
	}
	return NULL;
}

uint64_t gs_processes_dropped(const struct gs_processes *p)
{
	return p->dropped;
}
