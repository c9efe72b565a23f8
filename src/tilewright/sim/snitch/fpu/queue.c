/* The queue before the floating-point unit, frep, and the unit's time.
 *
 * One instruction begins each cycle at most, in order, when its operands are there. The unit and the data movers act in the
 * order of their cycles; fpu_run() stops before `limit`, from where on others may act first. */
#include "snitch/fpu/registers.h"
#include "kinds/misuse.h"
#include "snitch/ssr.h"

static inline int is_load(u32 kind) { return kind == SNITCH_FLOAD || kind == SNITCH_DLOAD; }

void fpu_fault(sim *s, core *c, u32 misuse, u32 pc, u64 now) {
    sim_fault(s, FAULT_MISUSE, c, pc, now, pc, 4, 0);
    s->fault.value = misuse;
}

/* Is an access to the same 8 bytes still to be made? */
int fpu_conflicts(const snitch *n, u32 address) {
    for (u32 i = 0; i < n->used; i++) {
        const fpu_entry *e = &n->queue[(n->first + i) % FPU_QUEUE];
        if (e->of.is_access && e->operand >> 3 == address >> 3) return 1;
    }
    return 0;
}

/* While streams are off, ft0 to ft2 are plain registers: does it read one whose data mover has elements for it? */
int fpu_reads_idle_stream(snitch *n, const insn *ip) {
    if (n->streams_on) return 0;
    const u32 registers = with_streams(ip->floats);
    for (u32 left = streams_read(registers) & n->unread; left; left &= left - 1) {
        const data_mover *m = &n->mover[__builtin_ctz(left)];
        if (m->used || m->is_running) return 1;
    }
    if ((registers & 63) > NO_REGISTER) n->unread &= ~(1u << ((registers & 63) - STREAM_REGISTER));
    return 0;
}

/* The instruction at `position` is done: what comes next, and what leaves the queue. */
static inline void advance(snitch *n, u64 now) {
    fpu_entry *head = &n->queue[n->first];
    if (n->repetition < head->repeats) {
        n->repeated++;
        if (++n->position < head->body) return;
        n->position = 0;
        n->repetition++;
        n->stagger = n->stagger == head->stagger_max ? 0 : n->stagger + 1;
        return;
    }
    u32 slot = n->first, body = head->body;
    n->accesses -= head->of.is_access;
    n->freed[slot] = now;
    n->first = (slot + 1) % FPU_QUEUE;
    n->used--;
    if (body == 1) {
        n->repetition = n->stagger = 0;
        return;
    }
    n->queue[n->first].body = body - 1; /* the rest of the last repetition */
    n->queue[n->first].repeats = n->repetition;
}

#define BOX(value) (0xffffffff00000000ull | (value))

static inline u64 loaded(core *c, snitch *n, u32 offset, u32 size) {
    u64 value = 0;
    if (size == 4) memcpy(&value, c->local + offset, 4);
    else memcpy(&value, c->local + offset, 8);
    count_access(c, n, size);
    return value;
}

static inline __attribute__((always_inline)) void load(sim *s, core *c, snitch *n, const fpu_entry *e, u32 rd, u64 now) {
    u32 size = e->kind == SNITCH_FLOAD ? 4 : 8;
    u64 value, wait = snitch_port_wait(n, now), latency = 0;
    if (is_tcdm(c, e->operand, size)) {
        u32 offset = e->operand - c->local_base;
        wait += tcdm_wait(c, n, offset, now + wait);
        value = loaded(c, n, offset, size);
    } else {
        snitch_result r = snitch_access(s, c, e->pc, now + wait, e->operand, size, 0, 0);
        value = r.value, latency = r.latency, wait += r.wait;
    }
    c->counted[COUNT_FAR_LOADS]++;
    n->f[rd] = size == 4 ? BOX(value) : value;
    n->f_ready[rd] = now + later(FPU_LOAD_USE, latency + wait + SNITCH_LOAD_RETURN);
    n->next = now + later(1, latency);
    n->idle = later(n->idle, n->next + wait);
}

static inline __attribute__((always_inline)) void store(sim *s, core *c, snitch *n, const fpu_entry *e, u64 value, u64 now) {
    u32 size = e->kind == SNITCH_FSTORE ? 4 : 8;
    u64 wait = snitch_port_wait(n, now);
    if (is_tcdm(c, e->operand, size)) {
        u32 offset = e->operand - c->local_base;
        tcdm_wait(c, n, offset, now + wait);
        if (size == 4) memcpy(c->local + offset, &value, 4);
        else memcpy(c->local + offset, &value, 8);
        count_access(c, n, size);
    } else {
        snitch_access(s, c, e->pc, now + wait, e->operand, size, 1, size == 4 ? (u32)value : value);
    }
    c->counted[COUNT_FAR_STORES]++;
    n->next = now + 1;
    n->idle = later(n->idle, n->next);
}

/* The accesses of data movers in a cycle. */
static inline void move(sim *s, core *c, snitch *n, u64 now) {
    if (n->mover[0].due == now) mover_step(s, c, n, 0, now);
    if (n->mover[1].due == now) mover_step(s, c, n, 1, now);
    if (n->mover[2].due == now) mover_step(s, c, n, 2, now);
}

/* ... up to and including a cycle, before the limit. Returns 0 where one is left to be made. */
static int move_until(sim *s, core *c, snitch *n, u64 until, u64 limit) {
    for (u64 due; (due = movers_due(n)) <= until;) {
        if (due >= limit || UNLIKELY(s->fault.reason)) return 0;
        move(s, c, n, due);
    }
    return 1;
}

/* The registers of an instruction in this repetition. */
static inline u32 staggered(const snitch *n, const fpu_entry *e) {
    u32 none = NO_REGISTER * 0x01010101u, all = ((e->named + n->stagger * e->stagger) & ~0xe0e0e0e0u) | (e->named & none);
    return n->streams_on ? with_streams(all) : all;
}

/* An operand is an element that was not fetched. Where none will be that is a fault. */
static void check_missing(sim *s, core *c, const fpu_entry *e, u32 reads) {
    const snitch *n = snitch_of(c);
    for (u32 left = reads; left; left &= left - 1) {
        const data_mover *m = &n->mover[__builtin_ctz(left)];
        if ((!m->used && !m->is_running) || m->is_write) fpu_fault(s, c, MISUSE_STREAM_OFF, e->pc, later(e->when, n->next));
    }
}

/* From when on there is a place in a stream that is written; NEVER where there is none before the limit. */
static u64 place_in(sim *s, core *c, const fpu_entry *e, u32 i, u64 now, u64 limit) {
    snitch *n = snitch_of(c);
    const data_mover *m = &n->mover[i];
    if (UNLIKELY(!m->is_write || !m->room)) {
        fpu_fault(s, c, MISUSE_STREAM_OFF, e->pc, now);
        return NEVER;
    }
    while (m->used == STREAM_FIFO) {
        u64 due = m->due;
        if (!move_until(s, c, n, due, limit)) return NEVER;
        now = later(now, due);
    }
    return now;
}

static inline void access_memory(sim *s, core *c, snitch *n, const fpu_entry *e, u32 rd, u32 rs2, u64 now) {
    if (is_load(e->kind)) load(s, c, n, e, rd, now);
    else store(s, c, n, e, n->f[rs2], now);
}

static inline void compute(core *c, snitch *n, const fpu_entry *e, u32 rd, u32 rs1, u32 rs2, u32 rs3, u64 now) {
    u32 unchecked = (rs1 > NO_REGISTER) | (rs2 > NO_REGISTER) << 1 | (rs3 > NO_REGISTER) << 2;
    u64 end = now + e->of.latency, result = fpu_execute(c, e, n->f[rs1], n->f[rs2], n->f[rs3], unchecked);
    c->counted[COUNT_FLOAT]++;
    n->next = now + e->of.interval;
    if (n->idle < end) n->idle = end;
    if (UNLIKELY(rd > NO_REGISTER)) {
        mover_push(n, &n->mover[rd - STREAM_REGISTER], result, now);
        return;
    }
    n->f[rd] = result;
    n->f_ready[rd] = end;
}

static inline void pop_all(snitch *n, u32 reads, u64 now) {
    if (reads & 1) mover_pop(n, 0, now);
    if (reads & 2) mover_pop(n, 1, now);
    if (reads & 4) mover_pop(n, 2, now);
}

static inline const fpu_entry *next_of(const snitch *n) { return &n->queue[(n->first + n->position) % FPU_QUEUE]; }

/* Does the next instruction not begin before its turn, which is at the limit or later? Not before when, that is. */
static inline int is_held(const snitch *n, u64 limit, u64 *when) {
    const fpu_entry *e = next_of(n);
    const u64 first = later(n->next, e->when);
    if (first < limit || !e->is_shared || n->position >= n->used) return 0;
    *when = first;
    return 1;
}

/* Begins instructions in order, as early as they can, until there are fewer than `wanted` in the queue (returns 1) or the next one, if
 * others see when it begins, does not begin before the limit. What data movers do in its cycle comes first. */
static int run(sim *s, core *c, u64 limit, u32 wanted) {
    snitch *n = snitch_of(c);
    u64 due = movers_due(n), held = NEVER;
    while (n->position < n->used) {
        const fpu_entry *e = next_of(n);
        u64 now = n->next;
        if (due > now) { /* else it begins later than that, whatever its operands are */
            u32 all = e->registers, reads = e->reads, is_shared = e->is_shared;
            if (UNLIKELY(n->stagger) && e->stagger) all = staggered(n, e), reads = streams_read(all), is_shared = is_seen(e, all, reads);
            u32 rd = all & 63, rs1 = all >> 8 & 63, rs2 = all >> 16 & 63, rs3 = all >> 24;
            now = later(later(e->when, now), later(n->f_ready[rs1], later(n->f_ready[rs2], n->f_ready[rs3])));
            if (UNLIKELY(rd > NO_REGISTER) && now != NEVER) now = place_in(s, c, e, rd - STREAM_REGISTER, now, limit), due = movers_due(n);
            if (UNLIKELY(now == NEVER)) check_missing(s, c, e, reads);
            if (due > now) {
                if (now >= limit && is_shared) {
                    held = now;
                    break;
                }
                if (UNLIKELY(e->of.is_access)) access_memory(s, c, n, e, rd, rs2, now);
                else compute(c, n, e, rd, rs1, rs2, rs3, now);
                if (reads) pop_all(n, reads, now);
                advance(n, now);
                if (UNLIKELY(s->fault.reason)) return 0;
                if (n->used < wanted) {
                    n->due = now;
                    return 1;
                }
                due = movers_due(n);
                if (is_held(n, limit, &held)) break;
                continue;
            }
        }
        if (due >= limit || UNLIKELY(s->fault.reason)) break;
        move(s, c, n, due);
        due = movers_due(n);
    }
    n->due = earlier(due, held);
    return 0;
}

/* Does the unit do nothing before the limit? */
static inline int must_wait(snitch *n, u64 limit) {
    u64 held, due = movers_due(n);
    if (due < limit || !is_held(n, limit, &held)) return 0;
    n->due = earlier(due, held);
    return 1;
}

/* Brings the unit up to a cycle, from where on others may act first. */
void fpu_run(sim *s, core *c, u64 limit) {
    snitch *n = snitch_of(c);
    run(s, c, limit, 0);
    if (n->position < n->used) return;
    move_until(s, c, n, limit - 1, limit); /* streams are fetched ahead and written back */
    n->due = movers_due(n);
}

/* The core waits until there are fewer than `wanted` instructions in the queue, and the unit gets no further than that. */
int fpu_make_room(sim *s, core *c, u64 limit, u32 wanted) {
    snitch *n = snitch_of(c);
    if (n->used >= wanted && must_wait(n, limit)) return 0;
    if (run(s, c, limit, wanted)) return 1;
    return n->used < wanted; /* the unit may have come so far before it was asked, with streams still to be fetched ahead */
}
