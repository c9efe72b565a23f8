/* Xssr: three data movers that feed ft0..ft2 from memory, or write them to it, over up to four nested loops. */
#include "snitch/ssr.h"

enum { REGISTER_STATUS, REGISTER_REPEAT, REGISTER_BOUNDS, REGISTER_STRIDES = 6, REGISTER_READ = 24, REGISTER_WRITE = 28, ALL_MOVERS = 31 };
enum { STATUS_POINTER = 0x07ffffff };

u32 stream_read_register(const snitch *n, u32 number, u32 mover) {
    if (mover >= STREAM_MOVERS) return 0;
    const data_mover *m = &n->mover[mover];
    if (number == REGISTER_STATUS) return (u32)!m->is_running << 31 | m->is_write << 30 | (m->loops - 1) << 28 | (m->pointer & STATUS_POINTER);
    if (number == REGISTER_REPEAT) return m->repeat;
    if (number >= REGISTER_BOUNDS && number < REGISTER_BOUNDS + STREAM_LOOPS) return m->bound[number - REGISTER_BOUNDS];
    if (number >= REGISTER_STRIDES && number < REGISTER_STRIDES + STREAM_LOOPS) return m->stride[number - REGISTER_STRIDES];
    return number >= REGISTER_READ ? m->pointer : 0;
}

static void start(data_mover *m, u32 number, u32 pointer, u64 now) {
    m->is_write = number >= REGISTER_WRITE;
    m->loops = number % STREAM_LOOPS + 1;
    m->pointer = m->address = pointer;
    m->is_running = 1;
    m->next = now + 1;
    m->room = 1;
    for (u32 i = 0; i < m->loops; i++) m->room *= m->bound[i] + 1ull;
}

/* Any write makes a data mover forget what it has. */
static void write_one(data_mover *m, u32 number, u32 value, u64 now) {
    m->head = m->used = m->delivered = m->is_running = 0;
    memset(m->count, 0, sizeof m->count);
    if (number == REGISTER_REPEAT) m->repeat = value;
    if (number >= REGISTER_BOUNDS && number < REGISTER_BOUNDS + STREAM_LOOPS) m->bound[number - REGISTER_BOUNDS] = value;
    if (number >= REGISTER_STRIDES && number < REGISTER_STRIDES + STREAM_LOOPS) m->stride[number - REGISTER_STRIDES] = value;
    if (number >= REGISTER_READ) start(m, number, value, now);
}

/* What was written to a stream reaches memory before its data mover is set up anew. */
static void write_back(sim *s, core *c, u32 i, u64 now) {
    const data_mover *m = &snitch_of(c)->mover[i];
    while (m->is_write && m->used && !s->fault.reason) mover_rare_step(s, c, i, later(now, m->due));
}

void stream_write_register(sim *s, core *c, u32 number, u32 mover, u32 value, u64 now) {
    snitch *n = snitch_of(c);
    const u32 first = mover == ALL_MOVERS ? 0 : mover, last = mover == ALL_MOVERS ? STREAM_MOVERS - 1 : mover;
    for (u32 i = first; i <= last && i < STREAM_MOVERS; i++) {
        write_back(s, c, i, now);
        write_one(&n->mover[i], number, value, now);
        n->unread = (n->unread & ~(1u << i)) | (u32)(n->mover[i].is_running && !n->mover[i].is_write) << i;
        mover_plan(n, &n->mover[i]);
        mover_show(n, &n->mover[i], i);
    }
    n->due = earlier(n->due, movers_due(n));
}

void streams_switch(core *c, u32 on, u64 now) {
    snitch *n = snitch_of(c);
    if (on && !n->streams_on)
        for (u32 i = 0; i < STREAM_MOVERS; i++) n->mover[i].next = later(n->mover[i].next, now + 1);
    n->streams_on = on;
    for (u32 i = 0; i < STREAM_MOVERS; i++) mover_plan(n, &n->mover[i]);
    n->due = earlier(n->due, movers_due(n));
}

/* To or from what is not TCDM: cycles. */
static u64 far_access(sim *s, core *c, data_mover *m, u32 slot, u64 now) {
    const snitch *n = snitch_of(c);
    u32 pc = n->used ? n->queue[(n->first + n->position) % FPU_QUEUE].pc : c->ip->pc;
    snitch_result r = snitch_access(s, c, pc, now, m->address, STREAM_ELEMENT, m->is_write, m->fifo[slot]);
    if (!m->is_write) m->fifo[slot] = r.value;
    return r.latency + r.wait;
}

/* To memory, or from what is not TCDM. */
void mover_rare_step(sim *s, core *c, u32 i, u64 now) {
    snitch *n = snitch_of(c);
    data_mover *m = &n->mover[i];
    u32 slot = m->is_write ? m->head : (m->head + m->used) % STREAM_FIFO, offset = m->address - c->local_base;
    u64 wait = i ? 0 : snitch_port_wait(n, now);
    if (is_tcdm(c, m->address, STREAM_ELEMENT)) {
        wait += tcdm_wait(c, n, offset, now + wait);
        memcpy(c->local + offset, &m->fifo[slot], STREAM_ELEMENT);
        n->moved++;
    } else {
        wait += far_access(s, c, m, slot, now + wait);
    }
    m->next = now + excess(wait, STREAM_HIDDEN_WAIT) + 1;
    if (m->is_write) m->head = (slot + 1) % STREAM_FIFO, m->used--;
    else m->ready[slot] = m->next, m->used++;
    mover_next_address(m);
    mover_plan(n, m);
    mover_show(n, m, i);
}
