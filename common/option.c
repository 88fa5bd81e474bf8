/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Command lines by table: parsing and --help come from the same rows.
 * Between argv and the two main functions.
 */
#include "common/option.h"

#include "common/mem.h"
#include "common/text.h"

#define HELP_COLUMNS 80
#define HELP_INDENT 28 /* where the help texts start */

struct parser {
	const struct gs_option *table;
	size_t n;
	int argc;
	char **argv;
	struct gs_error *(*set)(void *ctx, int id, const char *value);
	void *ctx;
};

static struct gs_error *usage(const struct gs_option *o, bool by_short, const char *what)
{
	if (by_short)
		return gs_error_new(GS_ERR_USAGE, "option -%c %s", o->short_name, what);
	return gs_error_new(GS_ERR_USAGE, "option --%s %s", o->long_name, what);
}

static struct gs_error *needs_argument(const struct gs_option *o, bool by_short)
{
	char *what GS_CLEANUP_FREE = gs_asprintf("needs an argument: %s", o->argument);

	return usage(o, by_short, what);
}

static struct gs_error *unknown_long(const struct parser *p, const char *name, size_t len)
{
	char *wanted GS_CLEANUP_FREE = gs_strndup(name, len);
	struct gs_nearest near = {.wanted = wanted};
	struct gs_error *err = gs_error_new(GS_ERR_USAGE, "unknown option --%s", wanted);
	char *hint GS_CLEANUP_FREE = NULL;

	for (size_t i = 0; i < p->n; i++)
		if (p->table[i].long_name)
			gs_nearest_feed(&near, p->table[i].long_name);
	for (size_t i = 0; i < near.n; i++) {
		char *dashed = gs_asprintf("--%s", near.best[i].name);

		free(near.best[i].name);
		near.best[i].name = dashed;
	}
	hint = gs_nearest_hint(&near);
	gs_nearest_deinit(&near);
	return gs_error_hint(err, "%s", hint ? hint : "--help lists the options");
}

/* The row whose long name is NAME or, if it is the only one, begins with it. */
static struct gs_error *find_long(const struct parser *p, const char *name, size_t len,
				  const struct gs_option **out)
{
	const struct gs_option *only = NULL, *other = NULL;

	for (size_t i = 0; i < p->n; i++) {
		const struct gs_option *o = &p->table[i];

		if (!o->long_name || strncmp(o->long_name, name, len) != 0)
			continue;
		if (!o->long_name[len]) {
			*out = o;
			return NULL;
		}
		other = only;
		only = o;
		if (other)
			break;
	}
	/* After a second prefix match an exact one may still follow. */
	for (size_t i = 0; other && i < p->n; i++) {
		const struct gs_option *o = &p->table[i];

		if (o->long_name && strlen(o->long_name) == len &&
		    memcmp(o->long_name, name, len) == 0) {
			*out = o;
			return NULL;
		}
	}
	if (other)
		return gs_error_new(GS_ERR_USAGE, "option --%.*s is ambiguous: --%s or --%s",
				    (int)len, name, other->long_name, only->long_name);
	if (!only || !len)
		return unknown_long(p, name, len);
	*out = only;
	return NULL;
}

/* "--name", "--name=value", "--name value". *used: arguments consumed. */
static struct gs_error *parse_long(const struct parser *p, int i, int *used)
{
	const char *name = p->argv[i] + 2, *value = NULL;
	size_t len = strcspn(name, "=");
	const struct gs_option *o = NULL;

	GS_TRY(find_long(p, name, len, &o));
	*used = 1;
	if (!o->argument && name[len])
		return usage(o, false, "takes no argument");
	if (o->argument && name[len]) {
		value = name + len + 1;
	} else if (o->argument) {
		if (i + 1 >= p->argc)
			return needs_argument(o, false);
		value = p->argv[i + 1];
		*used = 2;
	}
	return p->set(p->ctx, o->id, value);
}

/* "-abc", "-ofile", "-o file". */
static struct gs_error *parse_short(const struct parser *p, int i, int *used)
{
	*used = 1;
	for (const char *c = p->argv[i] + 1; *c; c++) {
		const struct gs_option *o = NULL;

		for (size_t k = 0; k < p->n && !o; k++)
			if (p->table[k].short_name == *c)
				o = &p->table[k];
		if (!o)
			return gs_error_hint(gs_error_new(GS_ERR_USAGE, "unknown option -%c", *c),
					     "--help lists the options");
		if (!o->argument) {
			GS_TRY(p->set(p->ctx, o->id, NULL));
			continue;
		}
		if (c[1])
			return p->set(p->ctx, o->id, c + 1);
		if (i + 1 >= p->argc)
			return needs_argument(o, true);
		*used = 2;
		return p->set(p->ctx, o->id, p->argv[i + 1]);
	}
	return NULL;
}

struct gs_error *gs_options_parse(const struct gs_option *table, size_t n, int argc, char **argv,
				  bool stop_at_positional,
				  struct gs_error *(*set)(void *ctx, int id, const char *value),
				  void *ctx, int *rest)
{
	struct parser p = {table, n, argc, argv, set, ctx};
	char **positional GS_CLEANUP_FREE = gs_calloc((size_t)argc + 1, sizeof(*positional));
	int npositional = 0, nparsed = argc ? 1 : 0, i = nparsed, used;
	char **options GS_CLEANUP_FREE = gs_calloc((size_t)argc + 1, sizeof(*options));

	for (; i < argc; i += used) {
		const char *arg = argv[i];
		bool is_option = arg[0] == '-' && arg[1]; /* "-" alone is the standard stream */

		used = 1;
		if (strcmp(arg, "--") == 0) {
			options[nparsed++] = argv[i++];
			break;
		}
		if (!is_option && stop_at_positional)
			break;
		if (!is_option) {
			positional[npositional++] = argv[i];
			continue;
		}
		GS_TRY(arg[1] == '-' ? parse_long(&p, i, &used) : parse_short(&p, i, &used));
		for (int k = 0; k < used; k++)
			options[nparsed++] = argv[i + k];
	}
	for (; i < argc; i++)
		positional[npositional++] = argv[i];
	for (int k = 1; k < nparsed; k++)
		argv[k] = options[k];
	for (int k = 0; k < npositional; k++)
		argv[nparsed + k] = positional[k];
	*rest = nparsed;
	return NULL;
}

/* ---- --help ---- */

/* Wraps TEXT at spaces; the cursor is at COLUMN, later lines start at HELP_INDENT. */
static void put_wrapped(struct gs_buf *out, const char *text, size_t column)
{
	bool first = true;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (!first && column + 1 + word >= HELP_COLUMNS) {
			gs_buf_printf(out, "\n%*s", HELP_INDENT, "");
			column = HELP_INDENT;
		} else if (!first) {
			gs_buf_putc(out, ' ');
			column++;
		}
		gs_buf_append(out, text, word);
		column += word;
		text += word;
		text += strspn(text, " ");
		first = false;
	}
	gs_buf_putc(out, '\n');
}

static void put_option(struct gs_buf *out, const struct gs_option *o)
{
	size_t start = out->len, column;

	if (o->short_name)
		gs_buf_printf(out, "  -%c%s", o->short_name, o->long_name ? ", " : "");
	else
		gs_buf_puts(out, "      ");
	if (o->long_name)
		gs_buf_printf(out, "--%s", o->long_name);
	if (o->argument)
		gs_buf_printf(out, "%c%s", o->long_name ? '=' : ' ', o->argument);
	column = out->len - start;
	if (column + 2 > HELP_INDENT) {
		gs_buf_putc(out, '\n');
		column = 0;
	}
	gs_buf_printf(out, "%*s", (int)(HELP_INDENT - column), "");
	put_wrapped(out, o->help ? o->help : "", HELP_INDENT);
}

void gs_options_help(FILE *out, const char *usage_lines, const struct gs_option *table, size_t n,
		     const char *footer)
{
	struct gs_buf text = {0};
	const char *group = NULL;

	gs_buf_puts(&text, usage_lines);
	if (text.len && text.data[text.len - 1] != '\n')
		gs_buf_putc(&text, '\n');
	for (size_t i = 0; i < n; i++) {
		const char *next = table[i].group;

		if (!i || (next != group && (!next || !group || strcmp(next, group) != 0)))
			gs_buf_printf(&text, "\n%s:\n", next ? next : "Options");
		group = next;
		put_option(&text, &table[i]);
	}
	if (footer)
		gs_buf_printf(&text, "\n%s%s", footer,
			      *footer && footer[strlen(footer) - 1] == '\n' ? "" : "\n");
	fwrite(text.data, 1, text.len, out);
	gs_buf_deinit(&text);
}
