/* The queue before the floating-point unit, frep, and the unit's time.
 *
 * One instruction begins each cycle at most, in order, when its operands are there. The unit and the data movers act in the
 * order of their cycles; fpu_run() stops before `limit`, from where on others may act first. */
#include "snitch.h"

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

static inline u32 registers_of(const insn *ip) {
    u32 rd = ip->dep & WRITES_F ? ip->rd : NO_REGISTER, rs1 = ip->dep & READS_F1 ? ip->rs1 : NO_REGISTER;
    u32 rs2 = ip->dep & READS_F2 ? ip->rs2 : NO_REGISTER, rs3 = ip->dep & READS_F3 ? (u32)ip->imm & 31 : NO_REGISTER;
    return rd | rs1 << 8 | rs2 << 16 | rs3 << 24;
}

void fpu_push(core *c, const insn *ip, u64 now) {
    snitch *n = c->snitch;
    fpu_entry *e = &n->queue[(n->first + n->used++) % FPU_QUEUE];
    u32 kind = snitch_kind(ip->real);
    *e = (fpu_entry){.op = ip->real, .kind = (u8)kind, .use = ip->dep, .rm = ip->rm == 7 ? (u8)c->frm : ip->rm, .pc = ip->pc, .body = 1,
                     .latency = LATENCY[kind], .interval = INTERVAL[kind], .registers = registers_of(ip), .when = now + FPU_HAND_OVER};
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

static void load(sim *s, core *c, const fpu_entry *e, u32 rd, u64 now) {
    snitch *n = c->snitch;
    u32 size = e->kind == SNITCH_FLOAD ? 4 : 8;
    u64 value = 0, wait = snitch_port_wait(n, now), latency = 0;
    if (is_tcdm(c, e->operand, size)) {
        u32 offset = e->operand - c->local_base;
        wait += tcdm_wait(c, n, offset, now + wait);
        memcpy(&value, c->local + offset, size);
        count_access(c, n, size);
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

static void store(sim *s, core *c, const fpu_entry *e, u64 value, u64 now) {
    snitch *n = c->snitch;
    u32 size = e->kind == SNITCH_FSTORE ? 4 : 8;
    u64 wait = snitch_port_wait(n, now);
    if (is_tcdm(c, e->operand, size)) {
        u32 offset = e->operand - c->local_base;
        tcdm_wait(c, n, offset, now + wait);
        memcpy(c->local + offset, &value, size);
        count_access(c, n, size);
    } else {
        snitch_access(s, c, e->pc, now, e->operand, size, 1, size == 4 ? (u32)value : value);
    }
    c->counted[COUNT_FAR_STORES]++;
    n->next = now + 1;
    n->idle = later(n->idle, n->next);
}

/* All accesses of data movers up to and including a cycle, before the limit. Returns 0 where one is left to be made. */
static inline int move_until(sim *s, core *c, u64 until, u64 limit) {
    snitch *n = c->snitch;
    for (u64 due; (due = movers_due(n)) <= until;) {
        if (due >= limit || UNLIKELY(s->fault.reason)) return 0;
        for (data_mover *m = n->mover; m < n->mover + STREAM_MOVERS; m++)
            if (m->due == due) mover_step(s, c, m, due);
    }
    return 1;
}

/* Waits until an element is there, or until there is room for one; NEVER where an access for that is not before the limit. */
static u64 stream_ready(sim *s, core *c, data_mover *m, int is_read, u32 pc, u64 at, u64 limit) {
    if (UNLIKELY(is_read ? !m->used && (!m->is_running || m->is_write) : !m->is_write || !m->room)) {
        fpu_fault(s, c, MISUSE_STREAM_OFF, pc, at);
        return NEVER;
    }
    while (is_read ? !m->used : m->used == STREAM_FIFO) {
        u64 due = m->due;
        if (!move_until(s, c, due, limit) || UNLIKELY(s->fault.reason)) return NEVER;
        if (!is_read) at = later(at, due);
    }
    return is_read ? later(at, m->ready[m->head]) : at;
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

static u64 streams_ready(sim *s, core *c, const fpu_entry *e, const operands *o, u32 reads, u64 at, u64 limit) {
    snitch *n = c->snitch;
    for (u32 left = reads; left && at != NEVER; left &= left - 1) {
        data_mover *m = &n->mover[__builtin_ctz(left)];
        at = LIKELY(m->used) ? later(at, m->ready[m->head]) : stream_ready(s, c, m, 1, e->pc, at, limit);
    }
    if (o->rd < STREAM_MOVERS && at != NEVER) at = stream_ready(s, c, &n->mover[o->rd], 0, e->pc, at, limit);
    return at;
}

/* An instruction begins: loads and stores, or arithmetic on the values that it is given. */
static inline void access_memory(sim *s, core *c, const fpu_entry *e, const operands *o, u64 value, u64 at) {
    if (is_load(e->kind)) load(s, c, e, o->rd, at);
    else store(s, c, e, value, at);
}

static inline u64 compute(core *c, const fpu_entry *e, u64 a, u64 b, u64 d, int unchecked, u64 at) {
    snitch *n = c->snitch;
    c->counted[COUNT_FLOAT]++;
    n->next = at + e->interval;
    n->idle = later(n->idle, at + e->latency);
    return fpu_execute(c, e, a, b, d, unchecked);
}

/* ... with streams in the place of ft0 to ft2. */
static void begin_with_streams(sim *s, core *c, const fpu_entry *e, const operands *o, u32 reads, u64 at) {
    snitch *n = c->snitch;
    u64 kept[STREAM_MOVERS];
    for (u32 left = reads; left; left &= left - 1) { /* elements stand in the registers while they are operands */
        u32 i = (u32)__builtin_ctz(left);
        kept[i] = n->f[i];
        n->f[i] = mover_pop(n, &n->mover[i], at);
    }
    u64 a = n->f[o->rs1], b = n->f[o->rs2], d = n->f[o->rs3];
    for (u32 left = reads; left; left &= left - 1) n->f[__builtin_ctz(left)] = kept[__builtin_ctz(left)];
    if (e->is_access) {
        access_memory(s, c, e, o, b, at);
        return;
    }
    u64 result = compute(c, e, a, b, d, (o->rs1 < STREAM_MOVERS) | (o->rs2 < STREAM_MOVERS) << 1 | (o->rs3 < STREAM_MOVERS) << 2, at);
    if (o->rd < STREAM_MOVERS) mover_push(n, &n->mover[o->rd], result, at);
    else n->f[o->rd] = result, n->f_ready[o->rd] = at + e->latency;
}

static inline void begin(sim *s, core *c, const fpu_entry *e, const operands *o, u64 at) {
    snitch *n = c->snitch;
    if (e->is_access) {
        access_memory(s, c, e, o, n->f[o->rs2], at);
        return;
    }
    n->f[o->rd] = compute(c, e, n->f[o->rs1], n->f[o->rs2], n->f[o->rs3], 0, at);
    n->f_ready[o->rd] = at + e->latency;
}

/* Returns 1 once there are fewer than `wanted` instructions in the queue, 0 where nothing more is done before the limit. */
static inline int run(sim *s, core *c, u64 limit, u32 wanted) {
    snitch *n = c->snitch;
    while (n->position < n->used) {
        const fpu_entry *e = &n->queue[(n->first + n->position) % FPU_QUEUE];
        operands o = operands_of(n, e);
        u64 at = later(later(e->when, n->next), later(n->f_ready[o.rs1], later(n->f_ready[o.rs2], n->f_ready[o.rs3])));
        u32 reads = n->streams_on ? streams_of(&o) : 0, is_shared = e->is_access | reads | (n->streams_on & (o.rd < STREAM_MOVERS));
        if (reads | (n->streams_on & (o.rd < STREAM_MOVERS))) {
            at = streams_ready(s, c, e, &o, reads, at, limit);
            if (at == NEVER) break;
        }
        if (movers_due(n) <= at && !move_until(s, c, at, limit)) break;
        if (at >= limit && is_shared) {
            n->due = earlier(at, movers_due(n));
            return 0;
        }
        if (n->streams_on) begin_with_streams(s, c, e, &o, reads, at);
        else begin(s, c, e, &o, at);
        advance(n, at);
        if (UNLIKELY(s->fault.reason)) return 0;
        if (n->used < wanted) {
            n->due = at;
            return 1;
        }
    }
    return 0;
}

void fpu_run(sim *s, core *c, u64 limit) {
    snitch *n = c->snitch;
    n->due = NEVER;
    run(s, c, limit, 0);
    if (n->due != NEVER) return;
    move_until(s, c, limit - 1, limit); /* streams are fetched ahead and written back */
    n->due = movers_due(n);
}

/* The core waits until there are fewer than `wanted` instructions in the queue, and the unit gets no further than that. */
int fpu_make_room(sim *s, core *c, u64 limit, u32 wanted) {
    snitch *n = c->snitch;
    n->due = NEVER;
    if (run(s, c, limit, wanted)) return 1;
    n->due = earlier(n->due, movers_due(n));
    return n->used < wanted; /* the unit may have come so far before it was asked, with streams still to be fetched ahead */
}
