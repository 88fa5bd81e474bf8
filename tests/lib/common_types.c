/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Building type tables by hand in tests.
 * In the flow: stands in for the DWARF importer.
 */
#include "tests/lib/common_types.h"

gs_type_id t_add(struct gs_types *t, struct gs_type type)
{
	gs_type_id id = GS_TYPE_VOID;
	struct gs_error *err = gs_types_add(t, &type, &id);

	if (err)
		printf("# %s\n", gs_error_message(err));
	gs_error_free(err);
	return id;
}

gs_type_id t_int(struct gs_types *t, const char *name, unsigned size, uint32_t flags)
{
	return t_add(t,
		     (struct gs_type){
			     .kind = GS_KIND_INT, .name = name, .byte_size = size, .flags = flags});
}

gs_type_id t_char(struct gs_types *t)
{
	return t_int(t, "char", 1, GS_TYPE_SIGNED | GS_TYPE_CHAR | GS_TYPE_PLAIN_CHAR);
}

gs_type_id t_float(struct gs_types *t, const char *name, unsigned size)
{
	return t_add(t, (struct gs_type){.kind = GS_KIND_FLOAT, .name = name, .byte_size = size});
}

gs_type_id t_pointer(struct gs_types *t, gs_type_id target)
{
	return t_add(t,
		     (struct gs_type){.kind = GS_KIND_POINTER, .byte_size = 8, .target = target});
}

gs_type_id t_array(struct gs_types *t, gs_type_id element, uint64_t count)
{
	return t_add(t, (struct gs_type){.kind = GS_KIND_ARRAY, .target = element, .count = count});
}

gs_type_id t_array_unknown(struct gs_types *t, gs_type_id element)
{
	return t_add(t, (struct gs_type){.kind = GS_KIND_ARRAY,
					 .target = element,
					 .flags = GS_TYPE_COUNT_UNKNOWN});
}

gs_type_id t_wrap(struct gs_types *t, unsigned kind, const char *name, gs_type_id target)
{
	return t_add(t, (struct gs_type){.kind = (uint8_t)kind, .name = name, .target = target});
}

gs_type_id t_struct(struct gs_types *t, const char *name, uint64_t size,
		    const struct gs_member *members, uint32_t n)
{
	return t_add(t, (struct gs_type){.kind = GS_KIND_STRUCT,
					 .name = name,
					 .byte_size = size,
					 .members = members,
					 .nmembers = n});
}

gs_type_id t_node(struct gs_types *t, const char *name, const char *value_name)
{
	gs_type_id number = t_int(t, "int", 4, GS_TYPE_SIGNED), pointer, node;
	struct gs_type type = {.kind = GS_KIND_POINTER, .byte_size = 8};

	gs_error_free(gs_types_reserve(t, &type, &pointer));
	struct gs_member members[] = {{value_name, number, 0, 0, 0}, {"next", pointer, 0, 64, 0}};
	node = t_struct(t, name, 16, members, 2);
	gs_types_set_target(t, pointer, node);
	return node;
}

const char *t_text(const struct gs_types *t, gs_type_id id, const char *name)
{
	static char text[8192];
	struct gs_buf b = {0};

	gs_type_print(&b, t, id, name);
	snprintf(text, sizeof(text), "%s", gs_buf_cstr(&b));
	gs_buf_deinit(&b);
	return text;
}
