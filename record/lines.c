/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Line tables: rows of a unit, source paths, the line of an address, the end of a prologue.
 * Under place.c; a unit's table is read when it is first asked for.
 */
#include "record/dwarf_internal.h"

/* ---- paths ---- */

const char *gs_path_clean(struct gs_arena *a, const char *path)
{
	char *out = gs_arena_alloc(a, strlen(path) + 2);
	size_t n = 0;

	if (*path == '/')
		out[n++] = '/';
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && path[0] == '.' && path[1] == '.' && n > 1 &&
		    !(n >= 3 && strncmp(out + n - 3, "../", 3) == 0)) {
			for (n--; n > 0 && out[n - 1] != '/';)
				n--;
		} else if (len && !(len == 1 && path[0] == '.')) {
			memcpy(out + n, path, len);
			n += len;
			out[n++] = '/';
		}
		path += len + (path[len] == '/');
	}
	if (n > 1)
		n--;
	out[n] = 0;
	return out;
}

bool gs_path_has_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), k = strlen(suffix);

	if (k == 0 || k > n || strcmp(path + n - k, suffix) != 0)
		return false;
	return k == n || suffix[0] == '/' || path[n - k - 1] == '/';
}

/* ---- rows ---- */

static uint32_t file_number(struct gs_unit_lines *t, struct gs_map *known, struct gs_arena *arena,
			    const char *path, size_t *cap)
{
	bool fresh;
	uint64_t *number;

	if (!path)
		path = "";
	number = gs_map_put(known, path, strlen(path), t->nfiles, &fresh);
	if (fresh)
		*GS_PUSH(t->files, t->nfiles, *cap) = gs_path_clean(arena, path);
	return (uint32_t)*number;
}

/* Rows in the order of addresses; of one address the end of the sequence before first. */
static int compare_rows(const void *pa, const void *pb)
{
	const struct gs_row *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->end_sequence != b->end_sequence)
		return a->end_sequence ? -1 : 1;
	return 0;
}

static bool is_sorted(const struct gs_row *rows, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (compare_rows(&rows[i - 1], &rows[i]) > 0)
			return false;
	return true;
}

/*
 * gcc marks where statements begin. LLVM marks the rows whose line is not that of the row before:
 * nothing that the lines do not tell, and a statement inside a run of its line is not marked. There
 * every row is a statement's.
 */
static void find_markers(struct gs_unit_lines *t)
{
	uint32_t last = 0;

	for (size_t i = 0; i < t->nrows && !t->has_markers; i++) {
		const struct gs_row *row = &t->rows[i];

		if (row->end_sequence)
			last = 0;
		else if (row->line) {
			t->has_markers = !row->is_stmt && last && row->line != last;
			last = row->line;
		}
	}
	for (size_t i = 0; i < t->nrows && !t->has_markers; i++)
		t->rows[i].is_stmt = t->rows[i].line != 0;
}

static void read_rows(struct gs_module *m, size_t unit, struct gs_unit_lines *t)
{
	Dwarf_Die die;
	Dwarf_Lines *lines;
	size_t n, cap = 0;
	struct gs_map known = {0};
	const char *last_path = NULL;
	uint32_t last_file = 0;

	if (!gs_unit_line_die(m, unit, &die) || dwarf_getsrclines(&die, &lines, &n) != 0)
		return;
	t->rows = gs_calloc(n + 1, sizeof(*t->rows));
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		struct gs_row *row = &t->rows[t->nrows];
		Dwarf_Addr addr;
		int number = 0;
		const char *path = dwarf_linesrc(line, NULL, NULL);

		if (dwarf_lineaddr(line, &addr) != 0 || dwarf_lineno(line, &number) != 0)
			continue;
		if (path != last_path || i == 0)
			last_file = file_number(t, &known, &m->arena, path, &cap);
		last_path = path;
		*row = (struct gs_row){
			.addr = addr, .line = number > 0 ? (uint32_t)number : 0, .file = last_file};
		if (dwarf_linecol(line, &number) == 0 && number > 0)
			row->column = (uint32_t)number;
		dwarf_linebeginstatement(line, &row->is_stmt);
		dwarf_lineendsequence(line, &row->end_sequence);
		dwarf_lineprologueend(line, &row->prologue_end);
		t->nrows++;
	}
	gs_map_deinit(&known);
	find_markers(t);
	if (!is_sorted(t->rows, t->nrows))
		qsort(t->rows, t->nrows, sizeof(*t->rows), compare_rows);
}

const struct gs_unit_lines *gs_lines_of_unit(struct gs_module *m, size_t unit)
{
	struct gs_unit *u = &m->units[unit];

	if (!u->lines) {
		u->lines = gs_calloc(1, sizeof(*u->lines));
		read_rows(m, unit, u->lines);
	}
	return u->lines;
}

/* Index of the first row beyond ADDR. */
static size_t row_after(const struct gs_unit_lines *t, uint64_t addr)
{
	size_t low = 0, high = t->nrows;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (t->rows[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint32_t gs_line_at(struct gs_module *m, Dwarf_Die *cu, uint64_t addr, const char **file)
{
	size_t unit = gs_unit_of(m, cu), i;
	const struct gs_unit_lines *t;

	if (unit == SIZE_MAX)
		return 0;
	t = gs_lines_of_unit(m, unit);
	i = row_after(t, addr);
	if (i == 0 || t->rows[i - 1].end_sequence)
		return 0;
	/* As gdb: of several rows at one address the last; a row without a line is none. */
	i--;
	*file = t->files[t->rows[i].file];
	return t->rows[i].line;
}

/* ---- prologues ---- */

/* Address after "push %rbp; mov %rsp,%rbp" (after endbr64), or ADDR when the function does not
 * begin so. */
static uint64_t after_frame_setup(struct gs_module *m, uint64_t addr)
{
	static const uint8_t setups[][4] = {{0x55, 0x48, 0x89, 0xe5},
					    {0x55, 0x48, 0x8b, 0xec},
					    {0x55, 0x89, 0xe5, 0},
					    {0x55, 0x8b, 0xec, 0}};
	uint64_t pc = gs_insn_is_endbr(m, addr) ? addr + 4 : addr;
	uint8_t bytes[4];

	if (gs_module_read(m, pc, bytes, 4) != 4)
		return addr;
	for (size_t i = 0; i < GS_ARRAY_SIZE(setups); i++) {
		size_t len = i < 2 ? 4 : 3;

		if (memcmp(bytes, setups[i], len) == 0 && (i < 2) == m->decoder.is_64)
			return pc + len;
	}
	return addr;
}

uint64_t gs_prologue_end(struct gs_module *m, Dwarf_Die *function, uint64_t low)
{
	size_t unit = gs_unit_of(m, function), i;
	const struct gs_unit_lines *t;
	uint64_t pc;

	if (unit == SIZE_MAX)
		return low;
	t = gs_lines_of_unit(m, unit);
	for (i = row_after(t, low); i < t->nrows && !t->rows[i].end_sequence; i++)
		if (t->rows[i].prologue_end)
			return dwarf_haspc(function, t->rows[i].addr) > 0 ? t->rows[i].addr : low;
	/* gcc does not mark it: the line that follows the one in which the frame is set up. */
	pc = after_frame_setup(m, low);
	if (pc == low)
		return low;
	i = row_after(t, pc - 1);
	if (i < t->nrows && t->rows[i].addr == pc)
		return pc;
	for (; i < t->nrows && !t->rows[i].end_sequence; i++)
		if (t->rows[i].addr > pc && t->rows[i].line != 0)
			return dwarf_haspc(function, t->rows[i].addr) > 0 ? t->rows[i].addr : low;
	return low;
}

/*
 * Not dwarf_decl_file: of a split unit it ends the process with an assertion, where only the lines
 * were read before.
 */
const char *gs_decl_file(Dwarf_Die *die)
{
	Dwarf_Die at = *die, next, unit;
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word number;
	size_t n;

	for (unsigned i = 0; i < 16 && !dwarf_hasattr(&at, DW_AT_decl_file); i++) {
		if (!gs_die_link(&at, DW_AT_abstract_origin, &next) &&
		    !gs_die_link(&at, DW_AT_specification, &next))
			return NULL;
		at = next;
	}
	if (!dwarf_attr(&at, DW_AT_decl_file, &attr) || dwarf_formudata(&attr, &number) != 0 ||
	    !dwarf_diecu(&at, &unit, NULL, NULL) || dwarf_getsrcfiles(&unit, &files, &n) != 0 ||
	    number >= n)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}
