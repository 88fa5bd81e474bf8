/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copying rows between metadata tables.
 * Between the resolver's answers and the writer's tables; nothing of the source is kept.
 */
#include "record/merge.h"

static const char *copy(struct gs_meta *meta, const char *s)
{
	return gs_arena_strdup(&meta->arena, s ? s : "");
}

static void add_modules(struct gs_meta *meta, const struct gs_meta *src, const struct gs_bases *b)
{
	for (size_t i = 0; i < src->nmodules; i++) {
		struct gs_meta_module *m =
			GS_PUSH(meta->modules, meta->nmodules, meta->modules_cap);

		*m = src->modules[i];
		m->id += b->modules;
		m->path = copy(meta, src->modules[i].path);
		m->debug_path = copy(meta, src->modules[i].debug_path);
	}
}

static void add_probes(struct gs_meta *meta, const struct gs_meta *src)
{
	for (size_t i = 0; i < src->nprobes; i++) {
		struct gs_meta_probe *p = GS_PUSH(meta->probes, meta->nprobes, meta->probes_cap);

		*p = src->probes[i];
		p->name = copy(meta, src->probes[i].name);
		p->text = copy(meta, src->probes[i].text);
	}
}

static struct gs_error *add_schemas(struct gs_meta *meta, const struct gs_meta *src,
				    const struct gs_bases *b)
{
	for (size_t i = 0; i < src->nschemas; i++) {
		const struct gs_meta_schema *from = &src->schemas[i];
		struct gs_meta_schema *to =
			GS_PUSH(meta->schemas, meta->nschemas, meta->schemas_cap);

		to->id = from->id + b->schemas;
		to->nitems = from->nitems;
		to->items = gs_arena_memdup(&meta->arena, from->items,
					    from->nitems * sizeof(*from->items));
		for (uint32_t k = 0; k < to->nitems; k++) {
			struct gs_meta_item *item = &to->items[k];

			item->key = copy(meta, item->key);
			item->expr = copy(meta, item->expr);
			GS_TRY(gs_types_import(meta->types, src->types, item->type, &item->type));
		}
	}
	return NULL;
}

static void add_sites(struct gs_meta *meta, const struct gs_meta *src, const struct gs_bases *b)
{
	for (size_t i = 0; i < src->nsites; i++) {
		const struct gs_meta_site *from = &src->sites[i];
		struct gs_meta_site *to = GS_PUSH(meta->sites, meta->nsites, meta->sites_cap);

		*to = *from;
		to->id += b->sites;
		to->probe = b->probes ? b->probes[from->probe] : from->probe;
		to->schema += b->schemas;
		to->module += b->modules;
		to->func = copy(meta, from->func);
		to->inlined_in = copy(meta, from->inlined_in);
		to->file = copy(meta, from->file);
		to->code = gs_arena_memdup(&meta->arena, from->code, from->code_len);
		to->notes = gs_arena_memdup(&meta->arena, from->notes,
					    from->nnotes * sizeof(*from->notes));
		for (uint32_t k = 0; k < to->nnotes; k++)
			to->notes[k].reason = copy(meta, from->notes[k].reason);
	}
}

struct gs_error *gs_merge_resolution(struct gs_meta *meta, const struct gs_resolution *res,
				     const struct gs_bases *bases)
{
	add_modules(meta, &res->meta, bases);
	if (!bases->probes)
		add_probes(meta, &res->meta);
	GS_TRY(add_schemas(meta, &res->meta, bases));
	add_sites(meta, &res->meta, bases);
	return NULL;
}

static void merge_counters(struct gs_meta *meta, const struct gs_meta_counters *row)
{
	for (size_t i = 0; i < meta->ncounters; i++) {
		if (meta->counters[i].probe == row->probe) {
			meta->counters[i] = *row;
			return;
		}
	}
	*GS_PUSH(meta->counters, meta->ncounters, meta->counters_cap) = *row;
}

void gs_merge_rows(struct gs_meta *meta, const struct gs_meta *rows)
{
	for (size_t i = 0; i < rows->nprocesses; i++) {
		struct gs_meta_process *p =
			GS_PUSH(meta->processes, meta->nprocesses, meta->processes_cap);

		*p = rows->processes[i];
		p->comm = copy(meta, p->comm);
		p->exe = copy(meta, p->exe);
	}
	for (size_t i = 0; i < rows->nmaps; i++) {
		struct gs_meta_map *m = GS_PUSH(meta->maps, meta->nmaps, meta->maps_cap);

		*m = rows->maps[i];
		m->path = copy(meta, m->path);
	}
	for (size_t i = 0; i < rows->nclocks; i++)
		*GS_PUSH(meta->clocks, meta->nclocks, meta->clocks_cap) = rows->clocks[i];
	for (size_t i = 0; i < rows->nsymbols; i++) {
		struct gs_meta_symbol *s =
			GS_PUSH(meta->symbols, meta->nsymbols, meta->symbols_cap);

		*s = rows->symbols[i];
		s->name = copy(meta, s->name);
	}
	for (size_t i = 0; i < rows->ncounters; i++)
		merge_counters(meta, &rows->counters[i]);
}
