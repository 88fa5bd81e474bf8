/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The generator: strings the steps of one probe program together, from the hit to the ring buffer.
 * In the flow: capture plan in, eBPF instructions out; loaded by the tracer, run by the tests.
 */
#include "bpf/program.h"

#include "bpf/gen.h"
#include "common/status.h"

#define COUNTER(field) ((int16_t)offsetof(struct gs_counters, field))

/* r8->field += 1 */
static void count(struct gs_gen *g, int16_t field)
{
	gs_emit_movi(&g->e, BPF_REG_1, 1);
	gs_emit_atomic_add(&g->e, GS_R_COUNTERS, field, BPF_REG_1);
}

/* Thread and thread-group id, as the recorder's pid namespace numbers them. */
static void identify_task(struct gs_gen *g)
{
	gs_label known = gs_emit_label(&g->e, "task_known");

	if (!gs_gen_has(g, GS_FEATURE_NS_PID)) {
		gs_emit_call(&g->e, BPF_FUNC_get_current_pid_tgid);
		gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_PID_TGID, BPF_REG_0);
		return;
	}
	gs_emit_imm64(&g->e, BPF_REG_1, g->opts->ns_dev);
	gs_emit_imm64(&g->e, BPF_REG_2, g->opts->ns_ino);
	gs_emit_mov(&g->e, BPF_REG_3, BPF_REG_10);
	gs_emit_alui(&g->e, BPF_ADD, BPF_REG_3, GS_FP_PID_TGID);
	gs_emit_movi(&g->e, BPF_REG_4, 8);
	gs_emit_call(&g->e, BPF_FUNC_get_ns_current_pid_tgid);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, known);
	gs_emit_storei(&g->e, BPF_DW, BPF_REG_10, GS_FP_PID_TGID, 0); /* not of this namespace */
	gs_emit_bind(&g->e, known);
}

static void filter_task(struct gs_gen *g, gs_label leave)
{
	if (!g->opts->filter_pids)
		return;
	gs_emit_note(&g->e, "only processes of the set");
	gs_emit_load(&g->e, BPF_W, BPF_REG_1, BPF_REG_10, GS_FP_PID_TGID + 4);
	gs_emit_store(&g->e, BPF_W, BPF_REG_10, GS_FP_KEY, BPF_REG_1);
	gs_gen_lookup(g, GS_MAP_PIDS, GS_FP_KEY, leave);
	gs_emit_load(&g->e, BPF_W, BPF_REG_1, BPF_REG_0, 0);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_1, GS_PID_AWAITS_EXEC, leave);
}

static void identify_site(struct gs_gen *g, gs_label leave)
{
	gs_emit_note(&g->e, "site");
	if (gs_gen_has(g, GS_FEATURE_COOKIE)) {
		gs_emit_mov(&g->e, BPF_REG_1, GS_R_CTX);
		gs_emit_call(&g->e, BPF_FUNC_get_attach_cookie);
		gs_emit_store(&g->e, BPF_W, BPF_REG_10, GS_FP_KEY, BPF_REG_0);
	} else {
		gs_emit_storei(&g->e, BPF_W, BPF_REG_10, GS_FP_KEY, (int32_t)g->opts->site);
	}
	gs_gen_lookup(g, GS_MAP_SITES, GS_FP_KEY, leave);
	gs_emit_load(&g->e, BPF_W, BPF_REG_1, BPF_REG_0, offsetof(struct gs_site_slot, id));
	gs_emit_store(&g->e, BPF_W, BPF_REG_10, GS_FP_SITE, BPF_REG_1);
	gs_emit_load(&g->e, BPF_W, BPF_REG_1, BPF_REG_0, offsetof(struct gs_site_slot, probe));
	gs_emit_store(&g->e, BPF_W, BPF_REG_10, GS_FP_KEY, BPF_REG_1);
	gs_emit_load(&g->e, BPF_W, BPF_REG_1, BPF_REG_0, offsetof(struct gs_site_slot, group));
	gs_emit_store(&g->e, BPF_W, BPF_REG_10, GS_FP_FRAME + 4, BPF_REG_1);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_0, offsetof(struct gs_site_slot, link_addr));
	if (g->plan->at_return) {
		/* The ip is in the caller; the kernel knows which probe it is. */
		gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_BIAS, BPF_REG_1);
		gs_emit_mov(&g->e, BPF_REG_1, GS_R_CTX);
		gs_emit_call(&g->e, BPF_FUNC_get_func_ip);
		gs_emit_mov(&g->e, BPF_REG_2, BPF_REG_0);
		gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, GS_FP_BIAS);
	} else {
		gs_emit_load(&g->e, BPF_DW, BPF_REG_2, GS_R_CTX, 128 /* pt_regs.ip */);
	}
	gs_emit_alu(&g->e, BPF_SUB, BPF_REG_2, BPF_REG_1);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_BIAS, BPF_REG_2);
}

/* The end of a hit: a call that is over has no frame any more. */
static void end(struct gs_gen *g)
{
	if (g->plan->takes_frame)
		gs_gen_drop_frame(g);
	gs_emit_exit(&g->e);
}

static void find_frame(struct gs_gen *g)
{
	if (g->plan->frame != GS_NODE_NONE)
		gs_gen_find_frame(g);
}

static void count_unpaired(struct gs_gen *g)
{
	gs_label paired = gs_emit_label(&g->e, "paired");

	if (g->plan->frame == GS_NODE_NONE)
		return;
	gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, GS_FP_FRAME + 8);
	gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_1, 0, paired);
	count(g, COUNTER(unpaired));
	gs_emit_bind(&g->e, paired);
}

static void count_hit(struct gs_gen *g, gs_label leave)
{
	gs_label on = gs_emit_label(&g->e, "enabled");

	gs_gen_lookup(g, GS_MAP_COUNTERS, GS_FP_KEY, leave);
	gs_emit_mov(&g->e, GS_R_COUNTERS, BPF_REG_0);
	gs_gen_guard(g, leave);
	count(g, COUNTER(hits));
	find_frame(g);
	gs_emit_storei(&g->e, BPF_W, BPF_REG_10, GS_FP_KEY, 0);
	gs_gen_lookup(g, GS_MAP_CONTROL, GS_FP_KEY, leave);
	gs_emit_load(&g->e, BPF_W, BPF_REG_1, BPF_REG_0, offsetof(struct gs_control, enabled));
	gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_1, 0, on);
	count(g, COUNTER(skipped));
	end(g);
	gs_emit_bind(&g->e, on);
	count_unpaired(g);
}

static void test_condition(struct gs_gen *g, gs_label leave)
{
	gs_label matched = gs_emit_label(&g->e, "matched");

	if (g->plan->condition == GS_NODE_NONE)
		return;
	gs_emit_note(&g->e, "condition n%u", g->plan->condition);
	g->fail = gs_emit_label(&g->e, "condition_fails");
	g->in_condition = true;
	gs_gen_unit_begin(g, g->plan->condition, GS_NODE_NONE);
	gs_gen_jump(g, g->plan->condition, leave, false);
	gs_gen_unit_end(g);
	g->in_condition = false;
	if (gs_emit_label_used(&g->e, g->fail)) {
		gs_emit_goto(&g->e, matched);
		gs_emit_bind(&g->e, g->fail);
		count(g, COUNTER(faulted));
		end(g);
	}
	gs_emit_bind(&g->e, matched);
}

/* ---- where the record is built ---- */

/* KEY = this cpu */
static void this_cpu(struct gs_gen *g)
{
	gs_emit_call(&g->e, BPF_FUNC_get_smp_processor_id);
	gs_emit_store(&g->e, BPF_W, BPF_REG_10, GS_FP_KEY, BPF_REG_0);
}

static void fetch_staging(struct gs_gen *g, gs_label lost)
{
	gs_emit_note(&g->e, "record, staged in the task's own memory");
	gs_emit_call(&g->e, BPF_FUNC_get_current_task_btf);
	gs_emit_mov(&g->e, BPF_REG_2, BPF_REG_0);
	gs_emit_map(&g->e, BPF_REG_1, GS_MAP_STAGING);
	gs_emit_movi(&g->e, BPF_REG_3, 0);
	gs_emit_movi(&g->e, BPF_REG_4, BPF_LOCAL_STORAGE_GET_F_CREATE);
	gs_emit_call(&g->e, BPF_FUNC_task_storage_get);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, lost);
	gs_emit_mov(&g->e, GS_R_RECORD, BPF_REG_0);
}

/*
 * Drops the record, faults in the pages of the read that failed (r1, r2), and captures again. r3:
 * the number of that read.
 */
static void emit_restart(struct gs_gen *g, gs_label again)
{
	gs_emit_bind(&g->e, g->restart);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_LIMIT, BPF_REG_2);
	gs_emit_mov(&g->e, GS_R_ADDR, BPF_REG_1);
	/* Two bytes: the verifier does not track what is in them, so it cannot tell the restarts
	 * apart. */
	gs_emit_store(&g->e, BPF_H, BPF_REG_10, GS_FP_LAST, BPF_REG_3);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_3, BPF_REG_10, GS_FP_RETRIES);
	gs_emit_alui(&g->e, BPF_ADD, BPF_REG_3, 1);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_RETRIES, BPF_REG_3);
	gs_emit_mov(&g->e, BPF_REG_1, GS_R_RECORD);
	gs_emit_movi(&g->e, BPF_REG_2, BPF_RB_NO_WAKEUP);
	gs_emit_call(&g->e, BPF_FUNC_ringbuf_discard);
	g->in_condition = true;
	gs_gen_scan(g, g->layout->max_len, NULL, NULL);
	g->in_condition = false;
	gs_emit_goto(&g->e, again);
}

static void reserve(struct gs_gen *g, gs_label begin, gs_label lost)
{
	uint32_t size = (g->layout->max_len + GS_RECORD_SLACK + 7) & ~7u;

	gs_emit_note(&g->e, "record, reserved in the ring at its largest size");
	this_cpu(g);
	gs_gen_lookup(g, GS_MAP_RINGS, GS_FP_KEY, lost);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_RING, BPF_REG_0);
	gs_emit_storei(&g->e, BPF_DW, BPF_REG_10, GS_FP_RETRIES, 0);
	gs_emit_storei(&g->e, BPF_H, BPF_REG_10, GS_FP_LAST, 0);
	gs_emit_bind(&g->e, begin);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, GS_FP_RING);
	gs_emit_movi(&g->e, BPF_REG_2, (int32_t)size);
	gs_emit_movi(&g->e, BPF_REG_3, 0);
	gs_emit_call(&g->e, BPF_FUNC_ringbuf_reserve);
	gs_emit_ifi(&g->e, BPF_JEQ, BPF_REG_0, 0, lost);
	gs_emit_mov(&g->e, GS_R_RECORD, BPF_REG_0);
}

static void fill_head(struct gs_gen *g)
{
	gs_emit_note(&g->e, "head");
	gs_emit_call(&g->e, BPF_FUNC_get_smp_processor_id);
	gs_gen_record_store(g, BPF_W, offsetof(struct gs_event_head, cpu), BPF_REG_0);
	gs_emit_load(&g->e, BPF_DW, BPF_REG_1, BPF_REG_10, GS_FP_TIME);
	gs_gen_record_store(g, BPF_DW, offsetof(struct gs_event_head, time_ns), BPF_REG_1);
	gs_gen_record_storei(g, BPF_W, offsetof(struct gs_event_head, len),
			     (int32_t)g->layout->fixed_len);
	gs_emit_load(&g->e, BPF_W, BPF_REG_1, BPF_REG_10, GS_FP_SITE);
	gs_gen_record_store(g, BPF_W, offsetof(struct gs_event_head, site), BPF_REG_1);
	gs_emit_load(&g->e, BPF_W, BPF_REG_1, BPF_REG_10, GS_FP_PID_TGID + 4);
	gs_gen_record_store(g, BPF_W, offsetof(struct gs_event_head, pid), BPF_REG_1);
	gs_emit_load(&g->e, BPF_W, BPF_REG_1, BPF_REG_10, GS_FP_PID_TGID);
	gs_gen_record_store(g, BPF_W, offsetof(struct gs_event_head, tid), BPF_REG_1);
	gs_gen_record_storei(g, BPF_W, offsetof(struct gs_event_head, kind), GS_RECORD_EVENT);
	gs_gen_record_at(g, BPF_REG_1, offsetof(struct gs_event_head, comm));
	gs_emit_movi(&g->e, BPF_REG_2, 16);
	gs_emit_call(&g->e, BPF_FUNC_get_current_comm);
}

/* r0 = flags for a record on the ring at R: no wake-up, unless the ring is over half full. */
static void wakeup_flags(struct gs_gen *g, uint8_t ring)
{
	gs_label full = gs_emit_label(&g->e, "wake"), set = gs_emit_label(&g->e, "flags");

	gs_emit_mov(&g->e, BPF_REG_1, ring);
	gs_emit_movi(&g->e, BPF_REG_2, BPF_RB_AVAIL_DATA);
	gs_emit_call(&g->e, BPF_FUNC_ringbuf_query);
	gs_emit_imm64(&g->e, BPF_REG_1, g->opts->ring_bytes / 2);
	gs_emit_if(&g->e, BPF_JGT, BPF_REG_0, BPF_REG_1, full);
	gs_emit_movi(&g->e, BPF_REG_0, BPF_RB_NO_WAKEUP);
	gs_emit_goto(&g->e, set);
	gs_emit_bind(&g->e, full);
	gs_emit_movi(&g->e, BPF_REG_0, BPF_RB_FORCE_WAKEUP);
	gs_emit_bind(&g->e, set);
}

static void send_reserved(struct gs_gen *g)
{
	gs_emit_load(&g->e, BPF_DW, GS_R_ADDR, BPF_REG_10, GS_FP_RING);
	wakeup_flags(g, GS_R_ADDR);
	gs_emit_mov(&g->e, BPF_REG_1, GS_R_RECORD);
	gs_emit_mov(&g->e, BPF_REG_2, BPF_REG_0);
	gs_emit_call(&g->e, BPF_FUNC_ringbuf_submit);
	count(g, COUNTER(recorded));
	end(g);
}

static void send_staged(struct gs_gen *g)
{
	gs_label lost = gs_emit_label(&g->e, "no_room");

	this_cpu(g);
	gs_gen_lookup(g, GS_MAP_RINGS, GS_FP_KEY, lost);
	gs_emit_mov(&g->e, GS_R_ADDR, BPF_REG_0);
	wakeup_flags(g, GS_R_ADDR);
	gs_emit_mov(&g->e, BPF_REG_4, BPF_REG_0);
	gs_emit_mov(&g->e, BPF_REG_1, GS_R_ADDR);
	gs_emit_mov(&g->e, BPF_REG_2, GS_R_RECORD);
	gs_gen_record_load(g, BPF_W, BPF_REG_3, offsetof(struct gs_event_head, len));
	gs_emit_ifi(&g->e, BPF_JGT, BPF_REG_3, (int32_t)g->layout->max_len, lost); /* never */
	gs_emit_call(&g->e, BPF_FUNC_ringbuf_output);
	gs_emit_ifi(&g->e, BPF_JNE, BPF_REG_0, 0, lost);
	count(g, COUNTER(recorded));
	end(g);
	gs_emit_bind(&g->e, lost);
	count(g, COUNTER(lost));
	end(g);
}

/* Early ends, placed before the items so that every jump to them is short. */
static void emit_ends(struct gs_gen *g, gs_label leave, gs_label lost, gs_label go)
{
	gs_emit_goto(&g->e, go);
	gs_emit_bind(&g->e, lost);
	count(g, COUNTER(lost));
	gs_emit_bind(&g->e, leave);
	end(g);
	gs_emit_bind(&g->e, go);
}

/* Where the hit was not one of ours: nothing is known of its call. */
static void emit_leave(struct gs_gen *g, gs_label leave)
{
	if (!gs_emit_label_used(&g->e, leave))
		return;
	gs_emit_bind(&g->e, leave);
	gs_emit_exit(&g->e);
}

/* At a function's entry. Also while recording is off: the call may be over when it is on. */
static void emit_entry(struct gs_gen *g)
{
	gs_label leave = gs_emit_label(&g->e, "leave");

	gs_emit_mov(&g->e, GS_R_CTX, BPF_REG_1);
	gs_emit_call(&g->e, BPF_FUNC_ktime_get_ns);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_TIME, BPF_REG_0);
	identify_task(g);
	filter_task(g, leave);
	identify_site(g, leave);
	gs_gen_save_frame(g);
	gs_emit_exit(&g->e);
	emit_leave(g, leave);
}

static void emit_program(struct gs_gen *g)
{
	gs_label leave = gs_emit_label(&g->e, "leave");
	gs_label over = gs_emit_label(&g->e, "over");
	gs_label lost = gs_emit_label(&g->e, "lost");
	gs_label go = gs_emit_label(&g->e, "items");
	gs_label begin = gs_emit_label(&g->e, "capture");
	bool staged = gs_gen_has(g, GS_FEATURE_TASK_STORAGE);

	g->restart = gs_emit_label(&g->e, "restart");
	gs_emit_mov(&g->e, GS_R_CTX, BPF_REG_1);
	gs_emit_call(&g->e, BPF_FUNC_ktime_get_ns);
	gs_emit_store(&g->e, BPF_DW, BPF_REG_10, GS_FP_TIME, BPF_REG_0);
	identify_task(g);
	filter_task(g, leave);
	identify_site(g, leave);
	count_hit(g, leave);
	test_condition(g, over);
	count(g, COUNTER(matched));
	if (staged)
		fetch_staging(g, lost);
	else
		reserve(g, begin, lost);
	emit_ends(g, over, lost, go);
	fill_head(g);
	for (size_t i = 0; i < g->plan->nitems; i++)
		gs_gen_item(g, i);
	gs_emit_note(&g->e, "send");
	if (staged)
		send_staged(g);
	else
		send_reserved(g);
	if (gs_emit_label_used(&g->e, g->restart))
		emit_restart(g, begin);
	emit_leave(g, leave);
}

/* ---- entry ---- */

static void gen_init(struct gs_gen *g)
{
	size_t n = g->plan->nnodes + 1;
	uint32_t offset = g->layout->fixed_len;
	int text = (int)gs_gen_text_buffer(g->plan);
	int slots;

	g->uses = gs_calloc(n, sizeof(*g->uses));
	g->memo = gs_calloc(n, sizeof(*g->memo));
	g->touched = gs_calloc(n, sizeof(*g->touched));
	g->memo_log = gs_calloc(n, sizeof(*g->memo_log));
	g->max_offset = gs_calloc(g->plan->nitems + 1, sizeof(*g->max_offset));
	for (size_t i = 0; i < g->plan->nitems; i++) {
		g->max_offset[i] = offset;
		offset += g->layout->items[i].variable ? g->layout->items[i].size : 0;
	}
	g->text_buf = GS_FP_END - (int)gs_gen_frame_bytes(g) - text;
	g->walk_buf = g->text_buf - (g->plan->nwalks ? (int)GS_GEN_WALK_BYTES : 0);
	g->slot_base = g->walk_buf;
	slots = (512 + g->slot_base) / 8;
	if (slots < 1) {
		g->out_of_slots = true;
		slots = 1;
	}
	g->free_slots = slots >= 64 ? ~0ull : (1ull << slots) - 1;
}

static void gen_deinit(struct gs_gen *g)
{
	gs_emit_deinit(&g->e);
	free(g->uses);
	free(g->memo);
	free(g->touched);
	free(g->memo_log);
	free(g->max_offset);
}

static bool layout_fits(const struct gs_plan *plan, const struct gs_layout *layout)
{
	if (layout->nitems != plan->nitems)
		return false;
	for (size_t i = 0; i < plan->nitems; i++)
		if (layout->items[i].variable != plan->items[i].variable ||
		    layout->items[i].size != plan->items[i].size)
			return false;
	return true;
}

/* The kernel takes a million instructions; but jumps reach 2^15, and a program this size has a
 * defect. */
#define MAX_INSNS 1000000u

struct gs_error *gs_program_generate(const struct gs_plan *plan, const struct gs_layout *layout,
				     const struct gs_gen_options *opts, struct gs_program *out,
				     struct gs_buf *listing)
{
	struct gs_gen g = {.plan = plan, .layout = layout, .opts = opts};
	struct gs_error *err;

	GS_TRY(gs_plan_check(plan));
	if (plan->nsaves > opts->frame_slots)
		return gs_error_new(GS_ERR_INTERNAL, "program: the frames are too small");
	if (!layout_fits(plan, layout))
		return gs_error_new(GS_ERR_INTERNAL, "program: the layout is not of this plan");
	gs_emit_init(&g.e, listing != NULL);
	gen_init(&g);
	if (plan->kind == GS_PLAN_ENTRY)
		emit_entry(&g);
	else
		emit_program(&g);
	if (g.out_of_slots)
		err = gs_error_new(GS_ERR_LIMIT,
				   "an expression of this probe is too complex: it needs "
				   "more intermediate values than a BPF program has room for");
	else if (g.e.n > MAX_INSNS)
		err = gs_error_new(GS_ERR_LIMIT, "this probe captures too much for one program");
	else
		err = gs_emit_finish(&g.e, out, listing);
	gen_deinit(&g);
	return err;
}

void gs_program_deinit(struct gs_program *p)
{
	free(p->insns);
	*p = (struct gs_program){0};
}
