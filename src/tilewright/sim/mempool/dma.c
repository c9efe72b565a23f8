/* MemPool's DMA: bytes between L1 and L2, one transfer at a time, some bytes each cycle. A launch waits for the transfer before it. */
#include "mempool/mempool.h"
#include "kinds/misuse.h"

enum { R_SOURCE, R_DESTINATION, R_BYTES, R_CONFIGURATION, R_STATUS, R_LAUNCH, R_DONE };
enum { MOST_TRANSFERS = 1024, TRACKS = 16, WORD = 4, WIDEST = 1024 };

typedef struct { u32 source, destination, bytes, id, core, pc; u64 since, from; } transfer; /* since: launched; from: first bytes */
typedef struct {
    u32 source, destination, bytes, configuration;
    u32 per_cycle, next_id;
    transfer queue[MOST_TRANSFERS]; /* the first one is under way */
    u32 first, used, moved;         /* moved: bytes of the first */
    u64 free;                       /* when all are over */
    u64 total;
} engine;

static transfer *current(engine *e) { return &e->queue[e->first % MOST_TRANSFERS]; }
static int is_at_work(const device *d) { return ((const engine *)d->state)->used != 0; }
static void count(const device *d, u64 now, activity *a) { (void)now, a->dma_bytes = ((const engine *)d->state)->total; }

static u64 cycles_of(const engine *e, u32 bytes) { return (bytes + e->per_cycle - 1) / e->per_cycle; }
static u64 end_of(const engine *e, const transfer *t) { return t->from + cycles_of(e, t->bytes); }

static int in_l1(const sim *s, u32 address) {
    const memory *l1 = &s->memory[s->description.group[s->core[0].group].local_memory];
    return address - l1->base < l1->size;
}

static int is_sound(const sim *s, const engine *e) {
    return e->source % WORD == 0 && e->destination % WORD == 0 && e->bytes % WORD == 0 && in_l1(s, e->source) != in_l1(s, e->destination);
}

static void launch(sim *s, device *d, access *a) {
    engine *e = d->state;
    check_misuse(s, MISUSE_POOL_TRANSFER, !is_sound(s, e), a);
    const u64 begins = later(a->now, e->free);
    a->value = e->next_id++;
    a->wait = (u32)(begins - a->now);
    if (e->used == MOST_TRANSFERS) return;
    transfer *t = &e->queue[(e->first + e->used++) % MOST_TRANSFERS];
    *t = (transfer){e->source, e->destination, e->bytes, a->value, a->core, a->pc, begins, begins + MEMPOOL_DMA_LAUNCH + MEMPOOL_DMA_LATENCY};
    e->free = end_of(e, t);
    sim_schedule(s, d->actor, t->from);
}

/* Both sides of some bytes, or NULL where there is no memory. */
static memory *side(sim *s, const transfer *t, u32 address, u32 bytes, u32 is_write, u64 now, u32 *offset) {
    const core *c = &s->core[t->core];
    memory *m = bus_memory(s, c->group, address, bytes, offset);
    if (!m) sim_fault(s, FAULT_DEVICE, c, t->pc, now, address, bytes, is_write);
    const u32 objection = m && is_write ? check_device_write(s, m, *offset, bytes) : FAULT_NONE;
    if (objection) sim_fault(s, objection, c, t->pc, now, address, bytes, is_write);
    return objection ? NULL : m;
}

/* Every word takes its bank for a cycle; the engine itself does not wait. */
static void take_banks(sim *s, const memory *m, u32 offset, u32 bytes, u64 now) {
    if (m->data != s->core[0].local) return;
    for (u32 at = offset; at < offset + bytes; at += WORD) book_bank(pool_of(s), at, now);
}

static int move(sim *s, engine *e, const transfer *t, u32 bytes, u64 now) {
    u32 from, to;
    u8 data[WIDEST], known[WIDEST];
    memory *a = side(s, t, t->source + e->moved, bytes, 0, now, &from);
    memory *b = a ? side(s, t, t->destination + e->moved, bytes, 1, now, &to) : NULL;
    if (!b) return 0;
    memset(known, 1, bytes);
    check_take(a, from, bytes, known);
    memcpy(data, a->data + from, bytes);
    memcpy(b->data + to, data, bytes);
    check_carry(b, to, bytes, known);
    take_banks(s, a, from, bytes, now), take_banks(s, b, to, bytes, now);
    a->bytes_read += bytes, b->bytes_written += bytes;
    a->dma_bytes += bytes, b->dma_bytes += bytes;
    e->moved += bytes, e->total += bytes;
    return 1;
}

static void finish(sim *s, device *d, engine *e, const transfer *t) {
    const u64 end = end_of(e, t);
    const u32 is_in = (u32)in_l1(s, t->destination);
    const dma_transfer done = {t->since, end, t->core, is_in, t->bytes, t->id % TRACKS};
    probe_transfer(s, &done);
    observe_span(s, s->cores + s->devices + t->id % TRACKS, is_in ? SPAN_DMA_IN : SPAN_DMA_OUT, t->since, end);
    d->busy += end - t->since;
    e->first++, e->used--, e->moved = 0;
}

/* Everything up to a cycle; when there is more to do. */
static u64 advance(sim *s, device *d, u64 limit) {
    engine *e = d->state;
    while (e->used) {
        const transfer *t = current(e);
        for (u64 at = t->from + e->moved / e->per_cycle; e->moved < t->bytes; at++) {
            if (at >= limit) return at;
            const u32 left = t->bytes - e->moved;
            if (!move(s, e, t, left < e->per_cycle ? left : e->per_cycle, at)) return NEVER;
        }
        if (end_of(e, t) > limit) return end_of(e, t);
        finish(s, d, e, t);
    }
    return NEVER;
}

/* Some cycles at a time, as cores do. */
static u64 tick(sim *s, device *d, u64 now) { return advance(s, d, now + TURN); }

static void write(sim *s, device *d, access *a) {
    engine *e = d->state;
    check_misuse(s, MISUSE_READ_ONLY, a->offset / 4 >= R_STATUS, a);
    switch (a->offset / 4) {
    case R_SOURCE: e->source = a->value; break;
    case R_DESTINATION: e->destination = a->value; break;
    case R_BYTES: e->bytes = a->value; break;
    case R_CONFIGURATION: e->configuration = a->value; break;
    default: break;
    }
}

static void read(sim *s, device *d, access *a) {
    engine *e = d->state;
    advance(s, d, a->now); /* a core may be ahead of the engine */
    switch (a->offset / 4) {
    case R_SOURCE: a->value = e->source; break;
    case R_DESTINATION: a->value = e->destination; break;
    case R_BYTES: a->value = e->bytes; break;
    case R_CONFIGURATION: a->value = e->configuration; break;
    case R_STATUS: a->value = e->free > a->now; break;
    case R_LAUNCH: launch(s, d, a); break;
    case R_DONE: a->value = e->free <= a->now; break;
    default: a->value = 0;
    }
}

static int overlaps(u32 a, u32 a_size, u32 b, u32 b_size) { return a < b + b_size && b < a + a_size; }

/* Does a core touch what is being moved? */
static int conflicts(const sim *s, const device *d, const memory *m, u32 address, u32 size, u32 is_write) {
    (void)s, (void)m;
    const engine *e = d->state;
    for (u32 i = 0; i < e->used; i++) {
        const transfer *t = &e->queue[(e->first + i) % MOST_TRANSFERS];
        if (overlaps(address, size, t->destination, t->bytes) || (is_write && overlaps(address, size, t->source, t->bytes))) return 1;
    }
    return 0;
}

static void reset(sim *s, device *d) {
    (void)s;
    engine *e = d->state;
    memset(e, 0, sizeof *e);
    e->per_cycle = d->description->parameters[0];
}

const device_type MEMPOOL_DMA = {.name = "MemPool's DMA", .state_bytes = sizeof(engine), .reset = reset, .read = read, .write = write, .tick = tick,
    .conflicts = conflicts,
    .conflict = FAULT_TRANSFER,
    .is_at_work = is_at_work,
    .count = count};
