/* What the data movers of streams do each cycle, for those that drive them. */
#ifndef TW_SSR_H
#define TW_SSR_H
#include "snitch/snitch.h"

/* What comes in is fetched ahead while streams are on; what goes out does not wait for that. */
static inline void mover_plan(snitch *n, data_mover *m) {
    if (UNLIKELY(m->is_write)) m->due = m->used ? later(m->next, m->ready[m->head]) : NEVER;
    else m->due = (n->streams_on & m->is_running & (m->used < STREAM_FIFO)) ? m->next : NEVER;
}
static inline u64 movers_due(const snitch *n) { return earlier(n->mover[0].due, earlier(n->mover[1].due, n->mover[2].due)); }

/* The present element is an operand like others. */
static inline void mover_show(snitch *n, const data_mover *m, u32 i) {
    n->f[STREAM_REGISTER + i] = m->fifo[m->head];
    n->f_ready[STREAM_REGISTER + i] = m->used && !m->is_write ? m->ready[m->head] : NEVER;
}

/* The present element was delivered; when that was often enough it leaves the FIFO. */
static inline void mover_pop(snitch *n, u32 i, u64 now) {
    data_mover *m = &n->mover[i];
    if (m->delivered != m->repeat) {
        m->delivered++;
        return;
    }
    m->delivered = 0;
    u32 head = m->head = (m->head + 1) % STREAM_FIFO;
    if (m->used-- == STREAM_FIFO) {
        m->next = later(m->next, now + 1);
        mover_plan(n, m);
    }
    n->f[STREAM_REGISTER + i] = m->fifo[head];
    n->f_ready[STREAM_REGISTER + i] = m->used ? m->ready[head] : NEVER;
}

static inline void mover_push(snitch *n, data_mover *m, u64 value, u64 now) {
    u32 slot = (m->head + m->used++) % STREAM_FIFO;
    m->fifo[slot] = value;
    m->ready[slot] = now + 1;
    m->room--;
    mover_plan(n, m);
}

/* To the next element of a loop around the innermost one. */
static inline void mover_next_row(data_mover *m) {
    m->count[0] = 0;
    for (u32 i = 1; i < m->loops; i++) {
        if (m->count[i] < m->bound[i]) {
            m->count[i]++;
            m->address += m->stride[i];
            return;
        }
        m->count[i] = 0;
    }
    m->is_running = 0;
}
static inline void mover_next_address(data_mover *m) {
    if (LIKELY(m->count[0] < m->bound[0])) m->count[0]++, m->address += m->stride[0];
    else mover_next_row(m);
}

/* One access: an element from memory into the FIFO, or the other way. Stream 0 shares the port of loads and stores. */
static inline __attribute__((always_inline)) void mover_step(sim *s, core *c, snitch *n, u32 i, u64 now) {
    data_mover *m = &n->mover[i];
    u32 offset = m->address - c->local_base;
    if (UNLIKELY(m->is_write) || !is_tcdm(c, m->address, STREAM_ELEMENT)) {
        mover_rare_step(s, c, i, now);
        return;
    }
    u64 port = i ? 0 : snitch_port_wait(n, now), wait = port + tcdm_wait(c, n, offset, now + port);
    u32 slot = (m->head + m->used) % STREAM_FIFO;
    u64 next = m->next = m->ready[slot] = now + 1 + excess(wait, STREAM_HIDDEN_WAIT);
    memcpy(&m->fifo[slot], c->local + offset, STREAM_ELEMENT);
    n->moved++;
    if (!m->used++) n->f[STREAM_REGISTER + i] = m->fifo[slot], n->f_ready[STREAM_REGISTER + i] = next;
    mover_next_address(m);
    m->due = (n->streams_on & m->is_running & (m->used < STREAM_FIFO)) ? next : NEVER;
}
#endif
