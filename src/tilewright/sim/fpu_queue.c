/* The queue before the floating-point unit, frep, and the unit's time.
 *
 * One instruction begins each cycle at most, in order, when its operands are there. The unit and the data movers act in the
 * order of their cycles; fpu_run() stops before `limit`, from where on others may act first. */
#include "ssr.h"

static inline int is_load(u32 kind) { return kind == SNITCH_FLOAD || kind == SNITCH_DLOAD; }
static inline int is_store(u32 kind) { return kind == SNITCH_FSTORE || kind == SNITCH_DSTORE; }
static int is_packed(u32 kind) { return kind == SNITCH_VOP || kind == SNITCH_VPICK || kind == SNITCH_VPACK; }

void fpu_fault(sim *s, core *c, u32 misuse, u32 pc, u64 now) {
    sim_fault(s, FAULT_MISUSE, c, pc, now, pc, 4, 0);
    s->fault.value = misuse;
}

/* Is an access to the same 8 bytes still to be made? */
int fpu_conflicts(const snitch *n, u32 address) {
    for (u32 i = 0; i < n->used; i++) {
        const fpu_entry *e = &n->queue[(n->first + i) % FPU_QUEUE];
        if ((is_load(e->kind) || is_store(e->kind)) && e->operand >> 3 == address >> 3) return 1;
    }
    return 0;
}

/* The sequence that frep announced: an outer one is repeated as a whole, of an inner one each instruction by itself. */
static void join_body(snitch *n, fpu_entry *e) {
    int is_first = n->frep_left-- == n->frep_body, accumulates = is_packed(e->kind) && (e->use & READS_F3);
    if (!n->frep_repeats) return;
    u32 mask = n->frep_mask, third = accumulates ? mask & 1 : mask >> 3 & 1;
    e->stagger_max = (u8)n->frep_max, e->stagger = (mask & 1) | (mask >> 1 & 1) << 8 | (mask >> 2 & 1) << 16 | third << 24;
    if (n->frep_is_inner) e->repeats = n->frep_repeats;
    else if (is_first) e->body = n->frep_body, e->repeats = n->frep_repeats;
}

/* Cycles to the result, and to the next instruction. */
static const u8 LATENCY[SNITCH_KIND_COUNT] = {
    [SNITCH_FOP] = FPU_ARITHMETIC, [SNITCH_DOP] = FPU_ARITHMETIC, [SNITCH_VOP] = FPU_ARITHMETIC, [SNITCH_VPACK] = FPU_PACK,
    [SNITCH_FPICK] = FPU_PICK, [SNITCH_DPICK] = FPU_PICK, [SNITCH_VPICK] = FPU_PICK, [SNITCH_FDIV] = FPU_DIVIDE, [SNITCH_DDIV] = FPU_DIVIDE,
};
static const u8 INTERVAL[SNITCH_KIND_COUNT] = {
    [SNITCH_FOP] = 1, [SNITCH_DOP] = 1, [SNITCH_VOP] = 1, [SNITCH_VPACK] = 1,
    [SNITCH_FPICK] = FPU_PICK, [SNITCH_DPICK] = FPU_PICK, [SNITCH_VPICK] = FPU_PICK, [SNITCH_FDIV] = FPU_DIVIDE, [SNITCH_DDIV] = FPU_DIVIDE,
};

void fpu_push(core *c, const insn *ip, u64 now) {
    snitch *n = c->snitch;
    fpu_entry *e = &n->queue[(n->first + n->used++) % FPU_QUEUE];
    u32 kind = snitch_kind(ip->real);
    *e = (fpu_entry){.op = ip->real, .kind = (u8)kind, .use = ip->dep, .rm = ip->rm == 7 ? (u8)c->frm : ip->rm, .pc = ip->pc, .body = 1,
                     .latency = LATENCY[kind], .interval = INTERVAL[kind], .registers = ip->floats, .when = now + FPU_HAND_OVER};
    if (is_packed(kind)) e->rm = (u8)c->frm, e->lanes_repeat = ip->rm & 4 ? lane_bits(ip->rm) : 0;
    if (!e->latency) e->is_access = 1, e->operand = c->x[ip->rs1] + (u32)ip->imm, n->accesses++;
    if (n->frep_left) join_body(n, e);
    n->due = earlier(n->due, e->when);
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
    n->accesses -= head->is_access;
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

static void load(sim *s, core *c, snitch *n, const fpu_entry *e, u32 rd, u64 now) {
    u32 size = e->kind == SNITCH_FLOAD ? 4 : 8;
    u64 value, wait = snitch_port_wait(n, now), latency = 0;
    if (is_tcdm(c, e->operand, size)) {
        u32 offset = e->operand - c->local_base;
        wait += tcdm_wait(c, n, offset, now + wait);
        value = loaded(c, n, offset, size);
    } else {
        snitch_result r = snitch_access(s, c, e->pc, now, e->operand, size, 0, 0);
        value = r.value, latency = r.latency, wait += r.wait;
    }
    c->counted[COUNT_FAR_LOADS]++;
    n->f[rd] = size == 4 ? BOX(value) : value;
    n->f_ready[rd] = now + later(FPU_LOAD_USE, latency + wait + SNITCH_LOAD_RETURN);
    n->next = now + later(1, latency);
    n->idle = later(n->idle, n->next + wait);
}

static void store(sim *s, core *c, snitch *n, const fpu_entry *e, u64 value, u64 now) {
    u32 size = e->kind == SNITCH_FSTORE ? 4 : 8;
    u64 wait = snitch_port_wait(n, now);
    if (is_tcdm(c, e->operand, size)) {
        u32 offset = e->operand - c->local_base;
        tcdm_wait(c, n, offset, now + wait);
        if (size == 4) memcpy(c->local + offset, &value, 4);
        else memcpy(c->local + offset, &value, 8);
        count_access(c, n, size);
    } else {
        snitch_access(s, c, e->pc, now, e->operand, size, 1, size == 4 ? (u32)value : value);
    }
    c->counted[COUNT_FAR_STORES]++;
    n->next = now + 1;
    n->idle = later(n->idle, n->next);
}

/* The registers of an instruction in this repetition. */
typedef struct { u32 rd, rs1, rs2, rs3; } operands;

static inline operands operands_of(const snitch *n, const fpu_entry *e) {
    u32 all = e->registers, none = NO_REGISTER * 0x01010101u;
    if (n->stagger) all = ((all + n->stagger * e->stagger) & ~0xe0e0e0e0u) | (all & none);
    return (operands){all & 63, all >> 8 & 63, all >> 16 & 63, all >> 24};
}

/* Bits of the streams that are read. */
static inline u32 streams_of(const operands *o) {
    u64 named = 1ull << o->rs1 | 1ull << o->rs2 | 1ull << o->rs3;
    return (u32)named & ((1u << STREAM_MOVERS) - 1);
}

static int faults(sim *s, core *c, u32 pc, u64 at, u64 limit) {
    if (at < limit) fpu_fault(s, c, MISUSE_STREAM_OFF, pc, at);
    return 0;
}

/* Is there an element in each stream that is read, and a place in the one that is written? If so, from when on. */
static inline int streams_ready(sim *s, core *c, snitch *n, const fpu_entry *e, const operands *o, u32 reads, u64 limit, u64 *at) {
    for (u32 left = reads; left; left &= left - 1) {
        data_mover *m = &n->mover[__builtin_ctz(left)];
        if (!m->used) return m->is_running && !m->is_write ? 0 : faults(s, c, e->pc, *at, limit);
        *at = later(*at, m->ready[m->head]);
    }
    if (o->rd >= STREAM_MOVERS) return 1;
    data_mover *m = &n->mover[o->rd];
    if (UNLIKELY(!m->is_write || !m->room)) return faults(s, c, e->pc, *at, limit);
    if (m->used == STREAM_FIFO) return 0;
    *at = later(*at, m->open[(m->head + m->used) % STREAM_FIFO]);
    return 1;
}

/* The present elements of streams in the place of operands. An instruction that names a stream twice takes one element. */
typedef struct { u64 a, b, d; } values;

static inline void take_elements(snitch *n, const operands *o, u32 reads, values *v, u64 at) {
    for (u32 left = reads; left; left &= left - 1) {
        u32 i = (u32)__builtin_ctz(left);
        u64 element = mover_pop(n, &n->mover[i], at);
        if (o->rs1 == i) v->a = element;
        if (o->rs2 == i) v->b = element;
        if (o->rs3 == i) v->d = element;
    }
}

/* An instruction begins: loads and stores, or arithmetic. */
static inline void begin(sim *s, core *c, snitch *n, const fpu_entry *e, const operands *o, u32 reads, u64 at) {
    values v = {n->f[o->rs1], n->f[o->rs2], n->f[o->rs3]};
    if (reads) take_elements(n, o, reads, &v, at);
    if (e->is_access) {
        if (is_load(e->kind)) load(s, c, n, e, o->rd, at);
        else store(s, c, n, e, v.b, at);
        return;
    }
    c->counted[COUNT_FLOAT]++;
    n->next = at + e->interval;
    n->idle = later(n->idle, at + e->latency);
    u32 unchecked = reads ? (o->rs1 < STREAM_MOVERS) | (o->rs2 < STREAM_MOVERS) << 1 | (o->rs3 < STREAM_MOVERS) << 2 : 0;
    u64 result = fpu_execute(c, e, v.a, v.b, v.d, unchecked);
    if (n->streams_on & (o->rd < STREAM_MOVERS)) mover_push(n, &n->mover[o->rd], result, at);
    else n->f[o->rd] = result, n->f_ready[o->rd] = at + e->latency;
}

enum { UNIT_ENOUGH, UNIT_FAULT, UNIT_EMPTY, UNIT_HELD };

/* Begins what can begin without an access of a data mover, until there are fewer than `wanted` instructions in the queue. Only accesses
 * are seen by others and have to wait for their turn; *at tells when the one is due that is held back, or the last one began. */
static inline int begin_all(sim *s, core *c, snitch *n, u64 limit, u32 wanted, u64 *at) {
    while (n->position < n->used) {
        const fpu_entry *e = &n->queue[(n->first + n->position) % FPU_QUEUE];
        operands o = operands_of(n, e);
        u32 reads = 0;
        u64 now = later(later(e->when, n->next), later(n->f_ready[o.rs1], later(n->f_ready[o.rs2], n->f_ready[o.rs3])));
        *at = NEVER;
        if (n->streams_on) {
            reads = streams_of(&o);
            if (!streams_ready(s, c, n, e, &o, reads, limit, &now)) return s->fault.reason ? UNIT_FAULT : UNIT_HELD;
        }
        if (e->is_access && (now >= limit || movers_due(n) <= now)) {
            *at = now;
            return UNIT_HELD;
        }
        begin(s, c, n, e, &o, reads, now);
        advance(n, now);
        *at = now;
        if (UNLIKELY(s->fault.reason)) return UNIT_FAULT;
        if (n->used < wanted) return UNIT_ENOUGH;
    }
    *at = NEVER;
    return UNIT_EMPTY;
}

/* The accesses of data movers in the next cycle that has some. */
static inline void move(sim *s, core *c, snitch *n, u64 now) {
    for (data_mover *m = n->mover; m < n->mover + STREAM_MOVERS; m++)
        if (m->due == now) mover_step(s, c, n, m, now);
}

/* Brings the unit up to a cycle, from where on others may act first. */
void fpu_run(sim *s, core *c, u64 limit) {
    snitch *n = c->snitch;
    for (u64 at;;) {
        int state = begin_all(s, c, n, limit, 0, &at);
        u64 due = movers_due(n);
        n->due = earlier(due, at);
        if (due >= limit || UNLIKELY(state == UNIT_FAULT || s->fault.reason)) return;
        move(s, c, n, due);
    }
}

/* The core waits until there are fewer than `wanted` instructions in the queue, and the unit gets no further than that. */
int fpu_make_room(sim *s, core *c, u64 limit, u32 wanted) {
    snitch *n = c->snitch;
    for (u64 at;;) {
        int state = begin_all(s, c, n, limit, wanted, &at);
        u64 due = movers_due(n);
        n->due = earlier(due, at);
        if (state != UNIT_HELD || due >= limit || UNLIKELY(s->fault.reason)) return state == UNIT_ENOUGH;
        move(s, c, n, due);
    }
}
