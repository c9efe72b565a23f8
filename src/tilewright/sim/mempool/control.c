/* MemPool's control registers: the end of a run, waking cores, what there is, regions of code for the groups' caches.
 * ITAPool has an older, shorter list. */
#include "mempool/mempool.h"
#include "kinds/misuse.h"

enum { EVERYBODY = ~0 };
enum { R_NONE, R_EXIT, R_WAKE, R_WAKE_TILES, R_WAKE_GROUPS, R_STRIDE, R_OFFSET, R_L1_START, R_L1_END, R_CORES, R_CACHE_ON, R_CACHE_FLUSH,
       R_REGION_START, R_REGION_END };
typedef struct { u32 what, which; } place;
typedef struct { u32 is_old, status, stride, offset; } control;

static place old_place(u32 offset) {
    static const u8 WHAT[] = {R_EXIT, R_WAKE, R_L1_START, R_L1_END, R_CORES};
    return (place){offset / 4 < sizeof WHAT ? WHAT[offset / 4] : R_NONE, 0};
}

static place new_place(u32 offset) {
    static const struct { u32 from, what, count; } RANGE[] = {
        {0x00, R_EXIT, 1}, {0x04, R_WAKE, 1}, {0x08, R_WAKE_TILES, 8}, {0x28, R_WAKE_GROUPS, 1}, {0x2c, R_STRIDE, 1}, {0x30, R_OFFSET, 1},
        {0x34, R_L1_START, 1}, {0x38, R_L1_END, 1}, {0x3c, R_CORES, 1}, {0x40, R_CACHE_ON, 1}, {0x44, R_CACHE_FLUSH, 1},
        {0x48, R_REGION_START, REGIONS}, {0x58, R_REGION_END, REGIONS},
    };
    for (u32 i = 0; i < sizeof RANGE / sizeof RANGE[0]; i++)
        if ((offset - RANGE[i].from) / 4 < RANGE[i].count) return (place){RANGE[i].what, (offset - RANGE[i].from) / 4};
    return (place){R_NONE, 0};
}

/* A core that does not sleep will not do so when it wants to, once for each of these. */
void mempool_wake(sim *s, u32 id, u64 when) {
    core *c = &s->core[id];
    if (c->status == CORE_WAITING) {
        sim_wake(s, id, later(when, c->wait_since + 1), 0);
        return;
    }
    core_of(c)->wakes++;
    core_of(c)->woken_at = when;
}

static void wake_all(sim *s, const control *k, u64 when) {
    for (u32 i = k->offset; i < s->cores; i += k->stride ? k->stride : 1) mempool_wake(s, i, when);
}

static void wake_tiles(sim *s, u32 group, u32 tiles, u64 when) {
    for (u32 i = 0; i < s->cores; i++) {
        const mempool_core *k = core_of(&s->core[i]);
        if (k->group == group && tiles >> (k->tile & ((1u << pool_of(s)->group_shift) - 1)) & 1) mempool_wake(s, i, when);
    }
}

static void end_run(sim *s, control *k, const access *a) {
    k->status = a->value;
    if (!(a->value & 1)) return;
    check_misuse(s, MISUSE_UNIT_LEFT, sim_is_at_work(s), a);
    if (s->fault.reason) return;
    s->exited = 1;
    s->exit_code = a->value >> 1;
    sim_fault(s, FAULT_EXIT, &s->core[a->core], 0, a->now, 0, 0, 0);
}

static void write(sim *s, device *d, access *a) {
    control *k = d->state;
    const place at = k->is_old ? old_place(a->offset) : new_place(a->offset);
    const u64 when = a->now + MEMPOOL_WAKE;
    check_misuse(s, MISUSE_READ_ONLY, at.what == R_L1_START || at.what == R_L1_END || at.what == R_CORES, a);
    check_misuse(s, MISUSE_POOL_HART, at.what == R_WAKE && a->value >= s->cores && a->value != (u32)EVERYBODY, a);
    switch (at.what) {
    case R_EXIT: end_run(s, k, a); break;
    case R_WAKE:
        if (a->value == (u32)EVERYBODY) wake_all(s, k, when);
        else if (a->value < s->cores) mempool_wake(s, a->value, when);
        break;
    case R_WAKE_TILES: wake_tiles(s, at.which, a->value, when); break;
    case R_WAKE_GROUPS:
        for (u32 g = 0; g < pool_of(s)->groups; g++)
            if (a->value >> g & 1) wake_tiles(s, g, ~0u, when);
        break;
    case R_STRIDE: k->stride = a->value; break;
    case R_OFFSET: k->offset = a->value; break;
    case R_CACHE_ON: pool_of(s)->cache_on = a->value & 1; break;
    case R_CACHE_FLUSH: mempool_flush(s); break;
    case R_REGION_START: pool_of(s)->region_start[at.which] = a->value; break;
    case R_REGION_END: pool_of(s)->region_end[at.which] = a->value; break;
    default: break;
    }
}

static void read(sim *s, device *d, access *a) {
    const control *k = d->state;
    const place at = k->is_old ? old_place(a->offset) : new_place(a->offset);
    const core *c = &s->core[a->core];
    const memory *l1 = &s->memory[s->description.group[c->group].local_memory];
    switch (at.what) {
    case R_EXIT: a->value = k->status; break;
    case R_STRIDE: a->value = k->stride; break;
    case R_OFFSET: a->value = k->offset; break;
    case R_L1_START: a->value = l1->base; break;
    case R_L1_END: a->value = l1->base + l1->size; break;
    case R_CORES: a->value = s->cores; break;
    case R_CACHE_ON: a->value = pool_of(s)->cache_on; break;
    case R_REGION_START: a->value = pool_of(s)->region_start[at.which]; break;
    case R_REGION_END: a->value = pool_of(s)->region_end[at.which]; break;
    default: a->value = 0;
    }
}

static void reset(sim *s, device *d) {
    (void)s;
    *(control *)d->state = (control){.is_old = d->description->parameters[0], .stride = 1};
}

static u64 tick(sim *s, device *d, u64 now) {
    (void)s, (void)d, (void)now;
    return NEVER;
}

const device_type MEMPOOL_CONTROL = {.name = "MemPool's registers", .state_bytes = sizeof(control), .reset = reset, .read = read, .write = write, .tick = tick};
