/* A user's device moves what its job reads and writes, at its rate, as far as banks are free. */
#include "user/streams.h"

enum { WORD = 4 };

void streams_move(streams *m, const tw_part *part, int is_write) {
    const u32 side = is_write != 0;
    if (m->parts[side] < MOST_PARTS && part->run && part->runs && part->rows) m->part[side][m->parts[side]++] = *part;
}

static void enter(streams *m, u32 stage) {
    m->stage = stage;
    m->side = stage == STREAM_WRITES;
    m->at = m->run = m->runs = m->rows = 0;
}

void streams_begin(streams *m, u64 cycles, double bytes_per_cycle, int overlapped, u64 now) {
    const double rate = bytes_per_cycle * (1 << RATE_BITS);
    m->rate = rate < 1 ? 1 : (u64)rate;
    m->budget = 0;
    m->cycles = cycles;
    m->started = m->due = now;
    m->overlapped = (u32)overlapped;
    enter(m, overlapped ? STREAM_ALL : STREAM_READS);
}

static const tw_part *current(const streams *m) { return m->at < m->parts[m->side] ? &m->part[m->side][m->at] : NULL; }

static u32 address_of(const streams *m, const tw_part *p) { return p->address + m->rows * p->row + m->runs * p->step + m->run; }

/* Up to the next word boundary, within the run. */
static u32 word_size(const streams *m, const tw_part *p) {
    const u32 aligned = WORD - address_of(m, p) % WORD, left = p->run - m->run;
    return aligned < left ? aligned : left;
}

static void step(streams *m, const tw_part *p, u32 size) {
    m->run += size;
    if (m->run < p->run) return;
    m->run = 0;
    if (++m->runs < p->runs) return;
    m->runs = 0;
    if (++m->rows < p->rows) return;
    m->rows = 0;
    m->at++;
}

/* What the rate allows in this cycle; how long the last word waits for its bank. A memory takes no more than a word for each
 * bank in a cycle: what is wider than that is its port. */
static u32 move_words(sim *s, streams *m, u64 now) {
    const tw_part *p;
    u32 wait = 0;
    for (u32 words = 0; (p = current(m)) && m->budget >= (u64)word_size(m, p) << RATE_BITS; words++) {
        u32 size = word_size(m, p), offset = 0;
        memory *at = bus_memory(s, 0, address_of(m, p), size, &offset);
        if (at && words < at->banks) wait = (u32)later(wait, bank_wait(at, offset, now));
        m->budget -= (u64)size << RATE_BITS;
        step(m, p, size);
    }
    return wait;
}

/* In how many cycles the rate allows the next word. */
static u64 until_next(const streams *m) {
    const u64 wanted = (u64)word_size(m, current(m)) << RATE_BITS;
    return m->budget >= wanted ? 1 : (wanted - m->budget + m->rate - 1) / m->rate;
}

/* The next side, or the next stage. */
static void leave(streams *m, u64 now) {
    if (m->stage == STREAM_ALL && m->side == 0) {
        m->side = 1, m->at = 0;
    } else if (m->stage == STREAM_READS) {
        enter(m, STREAM_COMPUTES);
        m->due = now + m->cycles;
    } else if (m->stage == STREAM_COMPUTES) {
        enter(m, STREAM_WRITES);
    } else {
        m->due = later(now, m->stage == STREAM_ALL ? m->started + m->cycles : now);
        m->stage = STREAM_IDLE;
    }
}

u64 streams_go_on(sim *s, streams *m, u64 now) {
    while (m->stage != STREAM_IDLE && now >= m->due) {
        if (m->stage == STREAM_COMPUTES || !current(m)) {
            leave(m, now);
            continue;
        }
        const u64 cycles = until_next(m);
        m->budget += cycles * m->rate;
        m->due = now + cycles + move_words(s, m, now);
    }
    if (m->stage == STREAM_IDLE && now >= m->due) m->parts[0] = m->parts[1] = 0;
    return later(now, m->due);
}
