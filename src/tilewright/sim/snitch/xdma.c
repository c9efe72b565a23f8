/* Xdma: the engine that the last core of a Snitch cluster starts with instructions. Transfers of rows, in order.
 *
 * A transfer is cut in bursts, one each cycle, of which up to XDMA_BURSTS are unfinished. Each cycle the first of them moves up to
 * XDMA_BYTES, which takes its banks of the TCDM on both sides; the engine itself never waits for banks. */
#include "snitch/snitch.h"

extern const device_type ZERO_MEMORY;

enum { COMPLETIONS = XDMA_QUEUE + XDMA_BURSTS + 2, TRACKS = 16, IS_2D = 2 };
enum { STATUS_COMPLETED, STATUS_NEXT, STATUS_BUSY, STATUS_FULL };

typedef struct { u32 source, destination, bytes, source_stride, destination_stride, rows, id, pc, core; u64 since; } transfer;
typedef struct { u32 source, destination, size, done, is_last; u64 start; transfer of; } burst;
typedef struct { u32 id, pad; u64 at; } completion;
/* Bytes that were read and are to be written. */
typedef struct { u8 data[XDMA_BYTES], known[XDMA_BYTES]; u32 to, size; u64 due; burst of; int is_waiting, is_first, ends_burst; } beat;
typedef struct {
    transfer next, queue[XDMA_QUEUE + 1];   /* next: as the registers are set up; queue[0] is being cut in bursts */
    u32 queued, row, column;                /* how far it is cut */
    burst burst[XDMA_BURSTS];
    u32 first, used;
    beat beat;
    completion completed[COMPLETIONS];
    u32 first_completed, completions;
    u32 next_id, completed_id;
    memory *tcdm;
    u64 read_free;                          /* the path from outside, as it is booked by bursts */
    u64 bytes;
} xdma;

static xdma *engine(const sim *s) { return cluster_of(s)->xdma->state; }
void xdma_source(sim *s, u32 address) { engine(s)->next.source = address; }
void xdma_destination(sim *s, u32 address) { engine(s)->next.destination = address; }
void xdma_strides(sim *s, u32 source, u32 destination) {
    engine(s)->next.source_stride = source;
    engine(s)->next.destination_stride = destination;
}
void xdma_rows(sim *s, u32 rows) { engine(s)->next.rows = rows; }
int xdma_is_full(const sim *s) { return engine(s)->queued == XDMA_QUEUE + 1; }
u64 xdma_read_end(const sim *s, u64 now) { return cluster_of(s)->xdma ? later(now, engine(s)->read_free) : now; }
static void count(const device *d, u64 now, activity *a) { (void)now, a->dma_bytes = ((const xdma *)d->state)->bytes; }

static int is_in_tcdm(const xdma *x, u32 address) { return address - x->tcdm->base < x->tcdm->size; }

static void complete(xdma *x, u32 id, u64 at) {
    x->completed[(x->first_completed + x->completions++) % COMPLETIONS] = (completion){.id = id, .at = at};
}

static void see_completions(xdma *x, u64 now) {
    for (; x->completions && x->completed[x->first_completed].at <= now; x->completions--) {
        x->completed_id = x->completed[x->first_completed].id;
        x->first_completed = (x->first_completed + 1) % COMPLETIONS;
    }
}

/* An empty transfer ends behind those before it. */
static void end_empty(xdma *x, u32 id, u64 now) {
    complete(x, id, x->completions ? later(now, x->completed[(x->first_completed + x->completions - 1) % COMPLETIONS].at) : now);
}

u32 xdma_start(sim *s, const core *c, u32 pc, u32 bytes, u32 configuration, u64 now) {
    xdma *x = engine(s);
    transfer t = x->next;
    t.bytes = bytes, t.id = x->next_id++, t.pc = pc, t.core = c->id, t.since = now;
    if (!(configuration & IS_2D)) t.rows = 1;
    see_completions(x, now);
    if ((!t.bytes || !t.rows) && !x->queued && !x->used && !x->beat.is_waiting) {
        end_empty(x, t.id, now);
        return t.id;
    }
    x->queue[x->queued++] = t;
    sim_schedule(s, cluster_of(s)->xdma->actor, now + XDMA_SET_UP);
    return t.id;
}

u32 xdma_status(sim *s, u32 selector, u64 now) {
    xdma *x = engine(s);
    see_completions(x, now);
    switch (selector & 3) {
    case STATUS_COMPLETED: return x->completed_id;
    case STATUS_NEXT: return x->next_id + 1; /* one too many, as on the reference [s08 stat] */
    case STATUS_BUSY: return x->completed_id + 1 != x->next_id;
    default: return (u32)xdma_is_full(s);
    }
}

/* Bytes up to the next page of an address outside of the TCDM. */
static u32 page_left(const xdma *x, u32 address) { return is_in_tcdm(x, address) ? XDMA_PAGE : XDMA_PAGE - address % XDMA_PAGE; }

static void next_transfer(xdma *x) {
    memmove(&x->queue[0], &x->queue[1], --x->queued * sizeof x->queue[0]);
    x->row = x->column = 0;
}

/* When the data of a burst is there: what comes from outside waits for what was asked for before. */
static u64 arrival(xdma *x, const burst *b, int is_outside, u64 now) {
    if (!is_outside) return now;
    u64 wait = excess(x->read_free, now);
    x->read_free = now + wait + b->size / XDMA_BYTES;
    return now + XDMA_READ_WAIT * wait;
}

static int is_zero_memory(const sim *s, u32 address) {
    for (u32 i = 0; i < s->devices; i++)
        if (s->device[i].type == &ZERO_MEMORY && address - s->device[i].description->base < s->device[i].description->size) return 1;
    return 0;
}

static void issue(sim *s, xdma *x, u64 now) {
    transfer *t = &x->queue[0];
    if (!x->queued || x->used == XDMA_BURSTS || now < t->since + XDMA_SET_UP) return;
    burst *b = &x->burst[(x->first + x->used++) % XDMA_BURSTS];
    *b = (burst){.of = *t};
    b->source = t->source + x->row * t->source_stride + x->column;
    b->destination = t->destination + x->row * t->destination_stride + x->column;
    u32 left = t->bytes - x->column, from = page_left(x, b->source), to = page_left(x, b->destination);
    b->size = left < from ? left : from;
    if (is_in_tcdm(x, b->source) && is_in_tcdm(x, b->destination)) b->size = left;
    else if (b->size > to) b->size = to;
    if (!t->rows || !t->bytes) b->size = 0;
    b->start = arrival(x, b, !is_in_tcdm(x, b->source) && !is_zero_memory(s, b->source), now);
    x->column += b->size;
    if (x->column < t->bytes && b->size) return;
    x->column = 0;
    b->is_last = ++x->row >= t->rows;
    if (b->is_last) next_transfer(x);
}

static u32 to_boundary(const xdma *x, u32 address) { return is_in_tcdm(x, address) ? XDMA_BYTES - address % XDMA_BYTES : XDMA_BYTES; }

static void book(sim *s, xdma *x, u32 address, u32 size, u32 cycles, u64 now) {
    u32 shift = snitch_of(&s->core[0])->bank_shift, offset = address - x->tcdm->base;
    for (u32 bank = offset >> shift; bank <= (offset + size - 1) >> shift; bank++) {
        u64 *free = &x->tcdm->free[bank % x->tcdm->banks];
        *free = later(*free, now) + cycles;
    }
}

static void refuse(sim *s, const burst *b, u32 reason, u32 address, u32 size, int is_write, u64 now) {
    sim_fault(s, reason, &s->core[b->of.core], b->of.pc, now, address, size, (u32)is_write);
}

/* Up to XDMA_BYTES of a burst. */
static void read_beat(sim *s, xdma *x, burst *b, u64 now) {
    beat *k = &x->beat;
    u32 from = b->source + b->done, offset;
    *k = (beat){.to = b->destination + b->done, .size = b->size - b->done, .due = now + XDMA_WRITE, .is_waiting = 1, .is_first = !b->done};
    if (k->size > to_boundary(x, from)) k->size = to_boundary(x, from);
    if (k->size > to_boundary(x, k->to)) k->size = to_boundary(x, k->to);
    memset(k->known, 1, sizeof k->known);
    b->done += k->size;
    k->ends_burst = b->done == b->size;
    k->of = *b;
    if (!k->size) return;
    memory *m = bus_memory(s, 0, from, k->size, &offset);
    if (!m && !is_zero_memory(s, from)) refuse(s, b, FAULT_DEVICE, from, k->size, 0, now);
    if (!m) return;
    memcpy(k->data, m->data + offset, k->size);
    check_take(m, offset, k->size, k->known);
    m->dma_bytes += k->size;
    if (m == x->tcdm) book(s, x, from, k->size, 1, now);
    else m->bytes_read += k->size;
}

static void write_beat(sim *s, xdma *x, u64 now) {
    beat *k = &x->beat;
    u32 offset;
    k->is_waiting = 0;
    if (!k->size) return;
    memory *m = bus_memory(s, 0, k->to, k->size, &offset);
    x->bytes += k->size;
    if (!m && !is_zero_memory(s, k->to)) refuse(s, &k->of, FAULT_DEVICE, k->to, k->size, 1, now);
    if (m && check_device_write(s, m, offset, k->size)) refuse(s, &k->of, FAULT_PROTECTED, k->to, k->size, 1, now);
    if (!m || s->fault.reason) return;
    memcpy(m->data + offset, k->data, k->size);
    check_carry(m, offset, k->size, k->known);
    m->dma_bytes += k->size;
    if (m == x->tcdm) book(s, x, k->to, k->size, 1 + (k->is_first ? XDMA_FIRST_WRITE : 0), now);
    else m->bytes_written += k->size;
}

static void finish(sim *s, xdma *x, const burst *b, u64 now) {
    const transfer *t = &b->of;
    u32 is_in = is_in_tcdm(x, t->destination), is_out = is_in_tcdm(x, t->source);
    u64 end = now + XDMA_LAST;
    const dma_transfer done = {t->since, end, t->core, is_in, t->bytes * t->rows, t->id % TRACKS};
    complete(x, t->id, end);
    probe_transfer(s, &done);
    observe_span(s, s->cores + s->devices + t->id % TRACKS, is_in && is_out ? SPAN_DMA_BOTH : is_in ? SPAN_DMA_IN : SPAN_DMA_OUT, t->since, end);
}

static u64 tick(sim *s, device *d, u64 now) {
    xdma *x = d->state;
    if (x->beat.is_waiting && x->beat.due <= now) {
        write_beat(s, x, now);
        if (x->beat.ends_burst && x->beat.of.is_last) finish(s, x, &x->beat.of, now);
    }
    issue(s, x, now);
    burst *b = &x->burst[x->first];
    if (x->used && b->start <= now) {
        read_beat(s, x, b, now);
        if (b->done == b->size) x->first = (x->first + 1) % XDMA_BURSTS, x->used--;
    }
    d->busy++;
    return x->used || x->queued || x->beat.is_waiting ? now + 1 : NEVER;
}

static int overlaps(u32 a, u32 a_size, u32 b, u32 b_size) { return a - b < b_size || b - a < a_size; }

/* Is an access in one of the rows from `row` on? */
static int hits_rows(u32 base, u32 stride, u32 bytes, u32 row, u32 rows, u32 address, u32 size) {
    for (; row < rows; row++)
        if (overlaps(address, size, base + row * stride, bytes)) return 1;
    return 0;
}

/* What is still to be written must not be touched, what is still to be read must not be written. */
static int conflicts(const sim *s, const device *d, const memory *m, u32 address, u32 size, u32 is_write) {
    (void)s, (void)m;
    const xdma *x = d->state;
    for (u32 i = 0; i < x->queued; i++) {
        const transfer *t = &x->queue[i];
        u32 row = i ? 0 : x->row;
        if (hits_rows(t->destination, t->destination_stride, t->bytes, row, t->rows, address, size)) return 1;
        if (is_write && hits_rows(t->source, t->source_stride, t->bytes, row, t->rows, address, size)) return 1;
    }
    const beat *k = &x->beat;
    if (k->is_waiting && overlaps(address, size, k->to, k->size)) return 1;
    for (u32 i = 0; i < x->used; i++) {
        const burst *b = &x->burst[(x->first + i) % XDMA_BURSTS];
        if (overlaps(address, size, b->destination + b->done, b->size - b->done)) return 1;
        if (is_write && overlaps(address, size, b->source + b->done, b->size - b->done)) return 1;
    }
    return 0;
}

static void reset(sim *s, device *d) {
    xdma *x = d->state;
    memset(x, 0, sizeof *x);
    x->tcdm = &s->memory[d->description->parameters[0]];
    x->next_id = 2, x->completed_id = 1;
    if (s->core[0].kind == &SNITCH_CORE) cluster_of(s)->xdma = d;
}
static void no_access(sim *s, device *d, access *a) { (void)s, (void)d, a->value = 0; }

const device_type XDMA = {.name = "Xdma", .state_bytes = sizeof(xdma), .reset = reset, .read = no_access, .write = no_access, .tick = tick,
    .conflicts = conflicts,
    .conflict = FAULT_TRANSFER,
    .count = count};
