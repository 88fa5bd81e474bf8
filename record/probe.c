/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probe text to specification: [NAME =] place [%return] [{ items }] [if condition].
 * First stage of the recorder; the place itself is probe_place.c's, expressions are the common
 * parser's.
 *
 * Items and condition are only delimited here, token by token: whether `(T)*p' is a cast is known
 * where the program's types are.
 */
#include "record/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/probe_place.h"

#define PROBE_MAX 65536
#define ITEMS_MAX 256
#define FILE_MAX (1u << 20)

/* `NAME =', but not `NAME ==' and not C++'s `operator='; 0 or the offset after `='. */
static size_t skip_assignment(const char *text, size_t pos, size_t *name_len)
{
	size_t p = pos;

	if (text[p] >= '0' && text[p] <= '9')
		return 0;
	while (gs_probe_is_name_byte(text[p]) && text[p] != '$')
		p++;
	*name_len = p - pos;
	p = gs_probe_skip_blanks(text, p);
	if (!*name_len || text[p] != '=' || text[p + 1] == '=' ||
	    (*name_len == strlen("operator") && strncmp(text + pos, "operator", *name_len) == 0))
		return 0;
	return p + 1;
}

static enum gs_item_word word_of(const struct gs_tok *tok)
{
	if (tok->kind != GS_TOK_DOLLAR)
		return GS_WORD_NONE;
	return strcmp(tok->string, "$args") == 0     ? GS_WORD_ARGS
	       : strcmp(tok->string, "$locals") == 0 ? GS_WORD_LOCALS
	       : strcmp(tok->string, "$regs") == 0   ? GS_WORD_REGS
						     : GS_WORD_NONE;
}

static struct gs_error *empty_item(const char *text, size_t start, size_t len)
{
	struct gs_error *err = gs_probe_error(text, start, len, "an item is expected here");

	return gs_error_hint(err,
			     "did the shell expand a `$'? Quote the probe with single quotes.");
}

/* Steps over one item's tokens up to the `,' or `}' that ends it. */
static struct gs_error *scan_item(struct gs_lexer *lex, struct gs_probe_item *item,
				  struct gs_tok *stop)
{
	unsigned depth = 0, ntokens = 0;
	size_t end = lex->pos;
	enum gs_item_word word = GS_WORD_NONE;

	for (;; ntokens++) {
		GS_TRY(gs_lex_next(lex, stop));
		char op = stop->kind == GS_TOK_PUNCT && !stop->op[1] ? stop->op[0] : 0;

		if (stop->kind == GS_TOK_END)
			return gs_probe_error(lex->text, lex->end, 1,
					      "`}' is expected here: the items are not closed");
		if (!depth && (op == ',' || op == '}'))
			break;
		if (op == '(' || op == '[' || op == '{')
			depth++;
		if ((op == ')' || op == ']' || op == '}') && depth)
			depth--;
		if (ntokens == 0) {
			item->start = stop->start;
			word = word_of(stop);
		}
		end = stop->start + stop->len;
	}
	if (ntokens == 0)
		return empty_item(lex->text, stop->start, 1);
	item->len = end - item->start;
	item->word = ntokens == 1 ? word : GS_WORD_NONE;
	item->text = gs_arena_strndup(lex->arena, lex->text + item->start, item->len);
	return NULL;
}

static struct gs_error *parse_item(struct gs_lexer *lex, struct gs_probe_item *item,
				   struct gs_tok *stop)
{
	size_t start = gs_probe_skip_blanks(lex->text, lex->pos), name_len = 0;
	size_t after = skip_assignment(lex->text, start, &name_len);

	if (after) {
		item->name = gs_arena_strndup(lex->arena, lex->text + start, name_len);
		lex->pos = after;
	}
	GS_TRY(scan_item(lex, item, stop));
	if (item->word != GS_WORD_NONE && item->name)
		return gs_probe_error(lex->text, start, item->start + item->len - start,
				      "%s stands for several items and cannot be given one name",
				      item->text);
	return NULL;
}

static struct gs_error *parse_items(struct gs_arena *arena, const char *text, size_t *pos,
				    struct gs_probe_spec *spec)
{
	struct gs_lexer lex = {text, *pos + 1, strlen(text), arena};
	struct gs_probe_item items[ITEMS_MAX];
	struct gs_tok stop = {.kind = GS_TOK_PUNCT, .op = ","};
	size_t n = 0, inside = gs_probe_skip_blanks(text, *pos + 1);

	spec->has_braces = true;
	if (text[inside] == '}') {
		struct gs_error *err = gs_probe_error(text, *pos, inside + 1 - *pos,
						      "there is no item between the braces");
		return gs_error_hint(
			err, "did the shell expand a `$'? Quote the probe with single quotes.");
	}
	while (stop.op[0] == ',') {
		if (n == ITEMS_MAX)
			return gs_probe_error(text, lex.pos, 1, "a probe has at most %d items",
					      ITEMS_MAX);
		items[n] = (struct gs_probe_item){0};
		GS_TRY(parse_item(&lex, &items[n], &stop));
		n++;
	}
	spec->items = gs_arena_memdup(arena, items, n * sizeof(*items));
	spec->nitems = n;
	*pos = lex.pos;
	return NULL;
}

static struct gs_error *parse_condition(const char *text, size_t pos, struct gs_probe_spec *spec)
{
	size_t end = strlen(text);

	pos = gs_probe_skip_blanks(text, pos + strlen("if"));
	if (pos == end) {
		struct gs_error *err =
			gs_probe_error(text, pos, 1, "a condition is expected after `if'");
		return gs_error_hint(
			err, "did the shell expand a `$'? Quote the probe with single quotes.");
	}
	while (end > pos && strchr(" \t\n\r\f\v", text[end - 1]))
		end--;
	spec->condition_start = pos;
	spec->condition_len = end - pos;
	return NULL;
}

struct gs_error *gs_probe_parse(struct gs_arena *arena, const char *text, struct gs_probe_spec *out)
{
	struct gs_probe_spec spec = {0};
	size_t pos, after, name_len = 0;

	if (strnlen(text, PROBE_MAX + 1) > PROBE_MAX)
		return gs_error_new(GS_ERR_LIMIT, "a probe is longer than %d bytes", PROBE_MAX);
	spec.text = text = gs_arena_strdup(arena, text);
	pos = gs_probe_skip_blanks(text, 0);
	after = skip_assignment(text, pos, &name_len);
	if (after) {
		spec.name = gs_arena_strndup(arena, text + pos, name_len);
		pos = gs_probe_skip_blanks(text, after);
	}
	GS_TRY(gs_probe_parse_place(arena, text, pos, &spec, &pos));
	pos = gs_probe_skip_blanks(text, pos);
	if (text[pos] == '{') {
		GS_TRY(parse_items(arena, text, &pos, &spec));
		pos = gs_probe_skip_blanks(text, pos);
	}
	if (gs_probe_at_word(text, pos, "if")) {
		GS_TRY(parse_condition(text, pos, &spec));
	} else if (text[pos]) {
		struct gs_error *err = gs_probe_error(
			text, pos, strlen(text + pos),
			spec.has_braces ? "only `if CONDITION' can follow the items"
					: "`{ items }' or `if CONDITION' is expected here");
		if (!spec.has_braces)
			gs_error_hint(err,
				      "a name that contains blanks is written in quotes: 'a b'");
		return err;
	}
	*out = spec;
	return NULL;
}

/* ---- probe files ---- */

static struct gs_error *read_whole(const char *path, struct gs_buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n;

	if (fd < 0)
		return gs_error_errno(errno, "cannot open probe file %s", path);
	do {
		uint8_t *to = gs_buf_reserve(out, 65536);

		n = read(fd, to, 65536);
		if (n > 0)
			out->len += (size_t)n;
	} while ((n > 0 && out->len <= FILE_MAX) || (n < 0 && errno == EINTR));
	int err = errno;

	close(fd);
	if (n < 0)
		return gs_error_errno(err, "cannot read probe file %s", path);
	if (out->len > FILE_MAX)
		return gs_error_new(GS_ERR_LIMIT, "probe file %s is larger than %u bytes", path,
				    FILE_MAX);
	return NULL;
}

/* Joins continued lines in place; gives the logical line and moves *pos behind it. */
static char *next_line(struct gs_arena *arena, const char *data, size_t *pos, unsigned *line)
{
	struct gs_buf joined = {0};
	char *result;

	for (;;) {
		const char *start = data + *pos, *nl = strchr(start, '\n');
		size_t n = nl ? (size_t)(nl - start) : strlen(start);

		*pos += n + (nl != NULL);
		++*line;
		if (n && start[n - 1] == '\r')
			n--;
		bool more = n && start[n - 1] == '\\' && nl;

		gs_buf_append(&joined, start, more ? n - 1 : n);
		if (!more)
			break;
		gs_buf_putc(&joined, ' ');
	}
	result = gs_arena_strdup(arena, gs_buf_cstr(&joined));
	gs_buf_deinit(&joined);
	return result;
}

struct gs_error *gs_probe_file_read(struct gs_arena *arena, const char *path, const char ***texts,
				    size_t *n)
{
	struct gs_buf data = {0};
	const char **list = NULL;
	size_t count = 0, cap = 0, pos = 0;
	unsigned line = 0;
	struct gs_error *err = read_whole(path, &data);

	if (!err && memchr(data.data, 0, data.len))
		err = gs_error_new(GS_ERR_USAGE, "probe file %s has a NUL byte: it is not text",
				   path);
	if (err) {
		gs_buf_deinit(&data);
		return err;
	}
	gs_buf_cstr(&data);
	while (pos < data.len) {
		/* Comments do not continue: a backslash at their end is only text. */
		if (data.data[pos] == '#') {
			const uint8_t *nl = memchr(data.data + pos, '\n', data.len - pos);
			pos = nl ? (size_t)(nl - data.data) + 1 : data.len;
			continue;
		}
		const char *text = next_line(arena, (const char *)data.data, &pos, &line);

		if (text[gs_probe_skip_blanks(text, 0)])
			*(const char **)GS_PUSH(list, count, cap) = text;
	}
	*texts = gs_arena_memdup(arena, list, count * sizeof(*list));
	*n = count;
	free(list);
	gs_buf_deinit(&data);
	return NULL;
}
