/* What Python calls. */
#include "engine/sim.h"
#include <stdlib.h>

sim *sim_new(const platform *p);
void sim_delete(sim *s);

EXPORT size_t tw_platform_bytes(void) { return sizeof(platform); }
EXPORT size_t tw_activity_bytes(void) { return sizeof(activity); }
EXPORT sim *tw_new(const platform *p) { return sim_new(p); }
EXPORT void tw_delete(sim *s) { sim_delete(s); }

EXPORT int tw_write(sim *s, u32 group, u32 address, const u8 *data, u32 size) {
    u32 offset;
    memory *m = group >= s->groups ? NULL : bus_memory(s, group, address, size, &offset);
    if (!m) return 0;
    memcpy(m->data + offset, data, size);
    check_written(m, offset, size);
    return 1;
}

EXPORT int tw_read(sim *s, u32 group, u32 address, u8 *data, u32 size) {
    const u8 *at = group >= s->groups ? NULL : bus_pointer(s, group, address, size);
    if (!at) return 0;
    memcpy(data, at, size);
    return 1;
}

EXPORT void tw_protect(sim *s, u32 start, u32 end) { check_protect(s, start, end); }
EXPORT void tw_flush_code(sim *s) { code_flush(s); }

/* Where a whole range lies: 1 if inside one memory of a group. */
EXPORT int tw_is_memory(sim *s, u32 group, u32 address, u32 size) {
    u32 offset;
    return bus_memory(s, group, address, size, &offset) != NULL;
}

/* Stores to this word end the run; local memory that holds it is reached through the bus, so that the store is seen. */
EXPORT void tw_set_tohost(sim *s, u32 address) {
    s->tohost = address;
    s->has_tohost = 1;
    for (u32 i = 0; i < s->cores; i++)
        if (address - s->core[i].local_base < s->core[i].local_size) s->core[i].local_size = 0;
}

EXPORT void tw_boot(sim *s, u32 entry) {
    for (u32 i = 0; i < s->cores; i++)
        if (s->description.group[s->core[i].group].boots) sim_start_core(s, i, entry, 0);
}

/* Another word of the host interface. */
EXPORT void tw_set_fromhost(sim *s, u32 address) { s->fromhost = address; }

/* What a boot ROM leaves in the first two argument registers. */
EXPORT void tw_pass_hart(sim *s, u32 second) {
    for (u32 i = 0; i < s->cores; i++) s->core[i].x[10] = s->core[i].hart, s->core[i].x[11] = second;
}

/* Before anything is decoded: one more instruction; 0 where there is no room. */
EXPORT int tw_declare(sim *s, const declared *d) {
    if (s->declared.count == MOST_DECLARED) return 0;
    s->declared.table[s->declared.count++] = *d;
    return 1;
}

/* The name of an instruction of a group's cores that has some of these words, or NULL. */
EXPORT const char *tw_collides(const sim *s, u32 group, u32 mask, u32 match) {
    const core_kind *kind = s->view[group].kind;
    return kind->collides ? kind->collides(s, group, mask, match) : NULL;
}

EXPORT u32 tw_run(sim *s, u64 stop) {
    if (s->exited) return s->fault.reason;
    s->fault = (fault){0};
    s->stop = stop;
    s->core[0].kind->run(s);
    for (u32 i = 0; s->exited && i < s->devices; i++)
        if (s->device[i].type->drain) s->device[i].type->drain(s, &s->device[i]);
    return s->fault.reason;
}

/* From within a device's callback: end the run after this access. */
EXPORT void tw_stop(sim *s) { sim_fault(s, FAULT_STOPPED, NULL, 0, s->queue.now, 0, 0, 0); }

EXPORT void tw_fault(const sim *s, fault *f) { *f = s->fault; }
EXPORT u32 tw_exit_code(const sim *s) { return s->exit_code; }
/* A core that stops a run may be ahead of the queue. */
EXPORT u64 tw_now(const sim *s) {
    int is_ahead = s->fault.reason == FAULT_EXIT || s->fault.reason == FAULT_BREAKPOINT;
    return is_ahead ? s->fault.cycle : s->queue.now;
}

EXPORT u32 tw_take_output(sim *s, char *text, u32 size) {
    u32 n = s->out_used < size ? s->out_used : size;
    memcpy(text, s->out, n);
    memmove(s->out, s->out + n, s->out_used - n);
    s->out_used -= n;
    return n;
}
EXPORT u32 tw_output_bytes(const sim *s) { return s->out_used; }

EXPORT u64 tw_get_register(const sim *s, u32 id, u32 number) {
    const core *c = &s->core[id];
    if (number >= 33 && number < 65 && c->kind->float_register) return *c->kind->float_register(c, number - 33);
    if (number < 32) return c->x[number];
    if (number == 32) return c->ip ? c->ip->pc : c->boot_address;
    if (number < 65) return c->f[number - 33];
    return number == 65 ? c->fcsr_flags : number == 66 ? c->frm : c->frm << 5 | c->fcsr_flags;
}

EXPORT void tw_set_register(sim *s, u32 id, u32 number, u64 bits) {
    core *c = &s->core[id];
    u32 value = (u32)bits;
    if (number > 0 && number < 32) c->x[number] = value;
    if (number == 32) c->ip = code_at(s, c->group, value), c->resume = NULL;
    if (number >= 33 && number < 65 && c->kind->float_register) *c->kind->float_register(c, number - 33) = bits;
    else if (number >= 33 && number < 65) c->f[number - 33] = value;
    if (number == 65 || number == 67) c->fcsr_flags = value & 31;
    if (number == 66 || number == 67) c->frm = (number == 66 ? value : value >> 5) & 7;
}

/* Cycles by cause up to `end`; what remains unexplained are waits for the result of the previous instruction. */
void core_stalls(const core *c, u64 end, u64 instructions, u64 *stall) {
    u64 explained = instructions;
    memcpy(stall, c->stall, sizeof c->stall);
    const u64 taken = c->timing->predictor ? 0 : c->counted[COUNT_TAKEN]; /* those of a core that guesses are in c->stall */
    stall[STALL_BRANCH] += taken * c->timing->taken_branch + c->counted[COUNT_JUMPS] * c->timing->jump;
    stall[STALL_MULDIV] += c->counted[COUNT_MUL] * c->timing->mul + c->counted[COUNT_MULH] * c->timing->mulh;
    for (u32 i = 0; i < STALL_CAUSES; i++) explained += stall[i];
    stall[STALL_LOAD_USE] += end - c->started > explained ? end - c->started - explained : 0;
}

/* Until when a core has run, and the cycles of a sleep that goes on. */
u64 core_end(const core *c, u64 now, u64 *asleep) {
    *asleep = 0;
    if (c->status != CORE_WAITING) return c->t;
    u64 end = later(now, c->wait_since + 1);
    *asleep = end - c->wait_since - 1;
    return end;
}

typedef struct {
    u64 cycles, instructions, stall[STALL_CAUSES], local_bytes, memory_bytes[MAX_MEMORIES];
    u32 hart, status, group, pc;
} core_statistics;

/* Time asleep counts up to now. */
EXPORT void tw_core_statistics(const sim *s, u32 id, core_statistics *out) {
    const core *c = &s->core[id];
    u64 asleep, end = core_end(c, tw_now(s), &asleep);
    *out = (core_statistics){.instructions = c->instructions, .hart = c->hart, .status = c->status, .group = c->group};
    for (u32 i = 0; i < ACCESS_SIZES; i++) out->local_bytes += (c->local_loads[i] + c->local_stores[i]) << i;
    out->pc = c->ip ? c->ip->pc : 0;
    memcpy(out->memory_bytes, c->memory_bytes, sizeof out->memory_bytes);
    const core_extras extras = c->kind->extras ? c->kind->extras(c) : (core_extras){0};
    out->memory_bytes[extras.memory] += extras.element_bytes * extras.streamed;
    if (extras.is_at_barrier) out->status = CORE_AT_BARRIER;
    out->cycles = c->instructions ? end - c->started : 0;
    core_stalls(c, c->started + out->cycles - asleep + c->late, c->instructions, out->stall);
    out->stall[STALL_FETCH] -= c->late; /* not paid yet */
    out->stall[STALL_SLEEP] += asleep;
}

EXPORT void tw_memory_traffic(const sim *s, u32 index, u64 *read, u64 *written) {
    *read = s->memory[index].bytes_read;
    *written = s->memory[index].bytes_written;
}
EXPORT void tw_activity(const sim *s, activity *a) { activity_until(s, tw_now(s), a); }
EXPORT u64 tw_device_busy(const sim *s, u32 index) { return s->device[index].busy; }

static void set_hooks(sim *s) {
    for (u32 i = 0; i < s->cores; i++)
        s->core[i].hooked = s->breakpoints || s->is_stepping || s->observer.watching || (s->core[i].pcmr & 1) ||
                            (s->core[i].kind->checks_misuse && (s->checker.checks & CHECK_MISUSE));
}

EXPORT void tw_check(sim *s, u32 checks) {
    check_begin(s, checks);
    set_hooks(s);
}

EXPORT int tw_set_breakpoints(sim *s, const u32 *addresses, u32 count) {
    if (count > 64) return 0;
    memcpy(s->breakpoint, addresses, count * sizeof *addresses);
    s->breakpoints = count;
    set_hooks(s);
    return 1;
}

/* The next instruction of a core ends the run; -1: no stepping. */
EXPORT void tw_step(sim *s, i32 id) {
    s->is_stepping = id >= 0;
    s->step_core = (u32)id;
    set_hooks(s);
}

/* Only this core runs, the others stand still; -1: all run. */
EXPORT void tw_lock(sim *s, i32 id) {
    s->is_locked = id >= 0;
    s->only_core = (u32)id;
}

EXPORT void tw_observe(sim *s, const u32 *starts, u32 count, u32 tracing) { observe_begin(s, starts, count, tracing); }
EXPORT void tw_observe_close(sim *s) { observe_close(s, tw_now(s)); }
EXPORT const profile_cell *tw_profile(const sim *s) { return s->observer.profile; }
EXPORT const span *tw_spans(const sim *s, u32 *count, u32 *lost) {
    *count = s->observer.spans;
    *lost = s->observer.lost;
    return s->observer.span;
}

EXPORT void tw_guard_stacks(sim *s, const u32 *sites, const u32 *taken, u32 count, const u32 *bytes) { guard_begin(s, sites, taken, count, bytes); }
EXPORT void tw_probe(sim *s, const u32 *places, const u8 *metered, u32 count, const u8 *cores) { probe_begin(s, places, metered, count, cores); }
EXPORT const probe_event *tw_probe_events(const sim *s, u32 *count, u32 *lost) {
    *count = s->prober.events;
    *lost = s->prober.lost;
    return s->prober.event;
}
EXPORT const activity *tw_probe_meters(const sim *s, u32 *count) {
    *count = s->prober.meters;
    return s->prober.meter;
}
EXPORT const dma_transfer *tw_probe_transfers(const sim *s, u32 *count) {
    *count = s->prober.transfers;
    return s->prober.transfer;
}
EXPORT const engine_job *tw_probe_jobs(const sim *s, u32 *count) {
    *count = s->prober.jobs;
    return s->prober.job;
}

/* Snapshots: the simulator's own struct, the arena, the sanitizer's maps; decoded code is made again. */
EXPORT size_t tw_snapshot_bytes(sim *s) {
    code_note_stalls(s);
    return sizeof *s + packed_bytes(s->arena, s->used) + check_bytes(s);
}
/* Right after it was asked how large that is. */
EXPORT void tw_save(const sim *s, u8 *to) {
    memcpy(to, s, sizeof *s);
    check_save(s, pack(s->arena, s->used, to + sizeof *s));
}
EXPORT void tw_restore(sim *s, const u8 *from) {
    sim now = *s;
    memcpy(s, from, sizeof *s);
    const u8 *const maps = unpack(s->arena, s->used, from + sizeof *s);
    prober then = s->prober;
    s->out = now.out, s->out_size = now.out_size, s->out_used = 0;
    s->observer = now.observer, s->checker = now.checker, s->prober = now.prober, s->guard = now.guard;
    memcpy(s->view, now.view, sizeof now.view);
    check_restore(s, now.memory, maps);
    probe_rewind(s, &then);
    code_forget(s);
    set_hooks(s);
}
