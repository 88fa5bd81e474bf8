/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file names in the header of a line table, read before the table is decoded: a search for
 * FILE:LINE decodes only the tables that name the file. Beside lines.c.
 */
#include "common/bytes.h"
#include "record/dwarf_units.h"

struct header {
	struct gs_reader in;
	const struct gs_sections *s;
	uint8_t offset_size;
	const char *wanted; /* last component */
};

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *read_string(struct gs_reader *in)
{
	const char *s = (const char *)in->pos;
	const uint8_t *nul = memchr(in->pos, 0, gs_reader_left(in));

	if (!nul) {
		in->bad = true;
		return "";
	}
	in->pos = nul + 1;
	return s;
}

static bool is_wanted(const struct header *h, const char *path)
{
	return strcmp(last_component(path), h->wanted) == 0;
}

/* ---- versions 2 to 4 ---- */

static bool names_before_5(struct header *h)
{
	const char *name;

	while (!h->in.bad && *read_string(&h->in))
		; /* directories */
	for (;;) {
		name = read_string(&h->in);
		if (h->in.bad)
			return true;
		if (!*name)
			return false;
		if (is_wanted(h, name))
			return true;
		for (int i = 0; i < 3; i++)
			gs_read_uleb(&h->in);
	}
}

/* ---- version 5 ---- */

struct format {
	uint64_t type, form;
};

static const char *string_at(const struct header *h, const struct gs_span *s, uint64_t offset)
{
	return offset < s->n && memchr(s->p + offset, 0, s->n - offset)
		       ? (const char *)s->p + offset
		       : NULL;
}

/* A path of an entry, or NULL: another form, or the value of something else; *odd when the rest
 * cannot be read. */
static const char *read_value(struct header *h, uint64_t form, bool *odd)
{
	uint64_t n;

	switch (form) {
	case DW_FORM_string:
		return read_string(&h->in);
	case DW_FORM_line_strp:
	case DW_FORM_strp:
		n = h->offset_size == 8 ? gs_read_u64(&h->in) : gs_read_u32(&h->in);
		return string_at(h, form == DW_FORM_strp ? &h->s->str : &h->s->line_str, n);
	case DW_FORM_udata:
		gs_read_uleb(&h->in);
		return NULL;
	case DW_FORM_data1:
		gs_read_bytes(&h->in, 1);
		return NULL;
	case DW_FORM_data2:
		gs_read_bytes(&h->in, 2);
		return NULL;
	case DW_FORM_data4:
		gs_read_bytes(&h->in, 4);
		return NULL;
	case DW_FORM_data8:
		gs_read_bytes(&h->in, 8);
		return NULL;
	case DW_FORM_data16:
		gs_read_bytes(&h->in, 16);
		return NULL;
	case DW_FORM_block:
		gs_read_bytes(&h->in, (size_t)gs_read_uleb(&h->in));
		return NULL;
	default:
		*odd = true;
		return NULL;
	}
}

/* A list of directories or files; whether one is wanted, or what is there cannot be read. */
static bool list_names(struct header *h, bool are_files)
{
	struct format formats[16];
	unsigned n = gs_read_u8(&h->in);
	uint64_t count;
	bool odd = n > GS_ARRAY_SIZE(formats);

	for (unsigned i = 0; i < n && !odd; i++) {
		formats[i].type = gs_read_uleb(&h->in);
		formats[i].form = gs_read_uleb(&h->in);
	}
	count = gs_read_uleb(&h->in);
	for (uint64_t k = 0; k < count && n && !odd && !h->in.bad; k++)
		for (unsigned i = 0; i < n && !odd; i++) {
			const char *path = read_value(h, formats[i].form, &odd);

			if (!are_files || formats[i].type != DW_LNCT_path || odd)
				continue;
			if (!path || is_wanted(h, path))
				return true;
		}
	return odd || h->in.bad;
}

/* ---- the header ---- */

static bool header_names(struct header *h)
{
	uint64_t length = gs_read_u32(&h->in);
	unsigned version;

	h->offset_size = 4;
	if (length == UINT32_MAX) {
		length = gs_read_u64(&h->in);
		h->offset_size = 8;
	}
	if (h->in.bad || length > gs_reader_left(&h->in))
		return true;
	h->in.end = h->in.pos + length;
	version = gs_read_u16(&h->in);
	if (version < 2 || version > 5)
		return true;
	if (version == 5)
		gs_read_u16(&h->in);
	gs_read_bytes(&h->in, h->offset_size);
	/* Instruction lengths, default_is_stmt, line_base and line_range. */
	gs_read_bytes(&h->in, version >= 4 ? 5 : 4);
	length = gs_read_u8(&h->in);
	gs_read_bytes(&h->in, length ? length - 1 : 0);
	if (h->in.bad)
		return true;
	return version < 5 ? names_before_5(h) : list_names(h, false) || list_names(h, true);
}

bool gs_unit_may_have_lines(struct gs_module *m, size_t unit, const char *file)
{
	const struct gs_unit *u = &m->units[unit];
	const struct gs_span *line;
	struct header h = {.wanted = last_component(file)};

	if (!u->may_have_code || !u->has_lines)
		return false;
	if (!u->is_readable || !*h.wanted)
		return true;
	h.s = gs_unit_sections(m, u);
	line = &h.s->line;
	if (u->stmt_list >= line->n)
		return false;
	h.in = gs_reader_of(line->p + u->stmt_list, line->n - u->stmt_list);
	return header_names(&h);
}
