/* The queue before the floating-point unit, frep, and the unit's time.
 *
 * One instruction begins each cycle at most, in order, when its operands are there. The unit and the data movers act in the
 * order of their cycles; fpu_run() stops before `limit`, from where on others may act first. */
#include "snitch.h"

static int is_load(u32 kind) { return kind == SNITCH_FLOAD || kind == SNITCH_DLOAD; }
static int is_store(u32 kind) { return kind == SNITCH_FSTORE || kind == SNITCH_DSTORE; }
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
    int is_first = n->frep_left-- == n->frep_body;
    if (!n->frep_repeats) return;
    e->stagger_max = (u8)n->frep_max, e->stagger_mask = (u8)n->frep_mask;
    if (n->frep_is_inner) e->repeats = n->frep_repeats;
    else if (is_first) e->body = n->frep_body, e->repeats = n->frep_repeats;
}

/* Lanes of the packed instructions: bits by the format in funct3. */
static u8 lane_bits(u32 funct3) {
    static const u8 BITS[] = {32, 32, 16, 8};
    return BITS[funct3 & 3];
}

void fpu_push(sim *s, core *c, const insn *ip, u64 now) {
    (void)s;
    snitch *n = c->snitch;
    fpu_entry *e = &n->queue[(n->first + n->used++) % FPU_QUEUE];
    u32 kind = snitch_kind(ip->real);
    *e = (fpu_entry){.op = ip->real, .kind = (u8)kind, .use = ip->dep, .rd = ip->rd, .rs1 = ip->rs1, .rs2 = ip->rs2, .rs3 = (u8)ip->imm,
                     .rm = ip->rm == 7 ? (u8)c->frm : ip->rm, .pc = ip->pc, .body = 1, .when = now + FPU_HAND_OVER};
    if (is_packed(kind)) e->rm = (u8)c->frm, e->lanes_repeat = ip->rm & 4 ? lane_bits(ip->rm) : 0;
    if (is_load(kind) || is_store(kind)) e->operand = c->x[ip->rs1] + (u32)ip->imm, n->accesses++;
    if (n->frep_left) join_body(n, e);
    n->due = earlier(n->due, e->when);
}

/* The registers of an instruction in this repetition. */
static fpu_entry staggered(const snitch *n, const fpu_entry *e) {
    fpu_entry r = *e;
    u32 by = n->repetition % (e->stagger_max + 1u), mask = e->stagger_mask;
    int accumulates = e->rs3 == e->rd && is_packed(e->kind);
    if (mask & 1) r.rd = (u8)(r.rd + by) & 31;
    if (mask & 2) r.rs1 = (u8)(r.rs1 + by) & 31;
    if (mask & 4) r.rs2 = (u8)(r.rs2 + by) & 31;
    if (accumulates) r.rs3 = r.rd;
    else if (mask & 8) r.rs3 = (u8)(r.rs3 + by) & 31;
    return r;
}

/* The instruction at `position` is done: what comes next, and what leaves the queue. */
static void advance(snitch *n, u64 now) {
    fpu_entry *head = &n->queue[n->first];
    if (n->repetition < head->repeats) {
        n->repeated++;
        if (++n->position == head->body) n->position = 0, n->repetition++;
        return;
    }
    u32 slot = n->first, body = head->body;
    if (is_load(head->kind) || is_store(head->kind)) n->accesses--;
    n->freed[slot] = now;
    n->first = (slot + 1) % FPU_QUEUE;
    n->used--;
    if (body == 1) {
        n->repetition = 0;
        return;
    }
    n->queue[n->first].body = body - 1; /* the rest of the last repetition */
    n->queue[n->first].repeats = n->repetition;
}

typedef struct { u32 latency, interval; } unit_time;
static unit_time time_of(u32 kind) {
    switch (kind) {
    case SNITCH_FPICK: case SNITCH_DPICK: case SNITCH_VPICK: return (unit_time){FPU_PICK, FPU_PICK};
    case SNITCH_FDIV: case SNITCH_DDIV: return (unit_time){FPU_DIVIDE, FPU_DIVIDE};
    case SNITCH_VPACK: return (unit_time){FPU_PACK, 1};
    default: return (unit_time){FPU_ARITHMETIC, 1};
    }
}

#define BOX(value) (0xffffffff00000000ull | (value))

static void load(sim *s, core *c, const fpu_entry *e, u64 now) {
    snitch *n = c->snitch;
    u32 size = e->kind == SNITCH_FLOAD ? 4 : 8;
    u64 value = 0, wait = snitch_port_wait(n, now), latency = 0;
    if (is_tcdm(c, e->operand, size)) {
        u32 offset = e->operand - c->local_base;
        wait += tcdm_wait(c, n, offset, now + wait);
        memcpy(&value, c->local + offset, size);
        c->local_loads[2]++;
    } else {
        snitch_result r = snitch_access(s, c, e->pc, now, e->operand, size, 0, 0);
        value = r.value, latency = r.latency, wait += r.wait;
        c->counted[COUNT_FAR_LOADS]++;
    }
    n->f[e->rd] = size == 4 ? BOX(value) : value;
    n->f_ready[e->rd] = now + later(FPU_LOAD_USE, latency + wait + SNITCH_LOAD_RETURN);
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
        c->local_stores[2]++;
    } else {
        snitch_access(s, c, e->pc, now, e->operand, size, 1, size == 4 ? (u32)value : value);
        c->counted[COUNT_FAR_STORES]++;
    }
    n->next = now + 1;
    n->idle = later(n->idle, n->next);
}

static void compute(core *c, const fpu_entry *e, u64 a, u64 b, u64 d, u32 from_streams, int to_stream, u64 now) {
    snitch *n = c->snitch;
    unit_time time = time_of(e->kind);
    u64 result = fpu_execute(c, e, a, b, d, (int)from_streams);
    c->counted[COUNT_FLOAT]++;
    n->next = now + time.interval;
    n->idle = later(n->idle, now + time.latency);
    if (to_stream) {
        mover_push(&n->mover[e->rd], result, now);
        n->movers_due = 0;
        return;
    }
    n->f[e->rd] = result;
    n->f_ready[e->rd] = now + time.latency;
}

static void find_movers_due(snitch *n) {
    n->movers_due = earlier(mover_due(n, &n->mover[0]), earlier(mover_due(n, &n->mover[1]), mover_due(n, &n->mover[2])));
}

/* All accesses of data movers up to and including a cycle, before the limit. Returns 0 where one is left to be made. */
static int move_until(sim *s, core *c, u64 until, u64 limit) {
    snitch *n = c->snitch;
    for (;;) {
        find_movers_due(n);
        u64 due = n->movers_due;
        if (due > until) return 1;
        if (due >= limit || s->fault.reason) return 0;
        for (u32 i = 0; i < STREAM_MOVERS; i++)
            if (mover_due(n, &n->mover[i]) == due) mover_step(s, c, &n->mover[i], due);
    }
}

/* Bits of the streams that an instruction reads; ft0..ft2 are streams while they are on. */
static u32 streams_read(const fpu_entry *e) {
    u32 mask = 0;
    if ((e->use & READS_F1) && e->rs1 < STREAM_MOVERS) mask |= 1u << e->rs1;
    if ((e->use & READS_F2) && e->rs2 < STREAM_MOVERS) mask |= 1u << e->rs2;
    if ((e->use & READS_F3) && e->rs3 < STREAM_MOVERS) mask |= 1u << e->rs3;
    return mask;
}

static u64 operands_ready(const snitch *n, const fpu_entry *e, u64 at, u32 streams) {
    if ((e->use & READS_F1) && !(streams >> e->rs1 & 1)) at = later(at, n->f_ready[e->rs1]);
    if ((e->use & READS_F2) && !(streams >> e->rs2 & 1)) at = later(at, n->f_ready[e->rs2]);
    if ((e->use & READS_F3) && !(streams >> e->rs3 & 1)) at = later(at, n->f_ready[e->rs3]);
    return at;
}

/* When all elements are there and there is room for the result; NEVER where a stream has none, or its access is not before the limit. */
static u64 streams_ready(sim *s, core *c, const fpu_entry *e, u64 at, u32 reads, int writes, u64 limit) {
    snitch *n = c->snitch;
    for (u32 i = 0; i < STREAM_MOVERS; i++) {
        data_mover *m = &n->mover[i];
        int is_read = reads >> i & 1, is_written = writes && e->rd == i;
        if (!is_read && !is_written) continue;
        if ((is_read && !m->used && (!m->is_running || m->is_write)) || (is_written && !m->is_write)) {
            fpu_fault(s, c, MISUSE_STREAM_OFF, e->pc, at);
            return NEVER;
        }
        while (is_read ? !m->used : m->used == STREAM_FIFO) {
            u64 due = mover_due(n, m);
            if (!move_until(s, c, due, limit)) return NEVER;
            if (s->fault.reason) return NEVER;
            if (is_written) at = later(at, due);
        }
        if (is_read) at = later(at, m->ready[m->head]);
    }
    return at;
}

static u64 operand(snitch *n, u32 number, u32 streams, const u64 *elements) { return streams >> number & 1 ? elements[number] : n->f[number]; }

static void begin(sim *s, core *c, const fpu_entry *e, u32 reads, int writes_stream, u64 at) {
    snitch *n = c->snitch;
    u64 elements[STREAM_MOVERS] = {0};
    for (u32 i = 0; reads >> i; i++)
        if (reads >> i & 1) elements[i] = mover_pop(n, &n->mover[i], at);
    if (reads) n->movers_due = 0;
    if (is_load(e->kind)) load(s, c, e, at);
    else if (is_store(e->kind)) store(s, c, e, operand(n, e->rs2, reads, elements), at);
    else {
        u32 unboxed = (reads >> e->rs1 & 1) | (reads >> e->rs2 & 1) << 1 | (reads >> e->rs3 & 1) << 2;
        compute(c, e, operand(n, e->rs1, reads, elements), operand(n, e->rs2, reads, elements), operand(n, e->rs3, reads, elements), unboxed,
                writes_stream, at);
    }
    advance(n, at);
}

void fpu_run(sim *s, core *c, u64 limit) {
    snitch *n = c->snitch;
    for (;;) {
        if (n->position >= n->used) { /* no instruction, but streams are fetched ahead and written back */
            n->due = NEVER;
            if (!move_until(s, c, limit - 1, limit) || n->movers_due != NEVER) n->due = n->movers_due;
            return;
        }
        const fpu_entry *entry = &n->queue[(n->first + n->position) % FPU_QUEUE];
        fpu_entry moved;
        if (n->repetition && entry->stagger_mask) moved = staggered(n, entry), entry = &moved;
        u32 reads = n->streams_on ? streams_read(entry) : 0;
        int writes = n->streams_on && (entry->use & WRITES_F) && entry->rd < STREAM_MOVERS;
        u64 at = operands_ready(n, entry, later(entry->when, n->next), reads);
        if (reads || writes) at = streams_ready(s, c, entry, at, reads, writes, limit);
        if (UNLIKELY(s->fault.reason)) return;
        if (at == NEVER) {
            n->due = n->movers_due;
            return;
        }
        if (n->movers_due <= at && !move_until(s, c, at, limit)) {
            n->due = n->movers_due;
            return;
        }
        if (UNLIKELY(s->fault.reason)) return;
        if (at >= limit && (reads || writes || is_load(entry->kind) || is_store(entry->kind))) {
            n->due = at;
            return;
        }
        begin(s, c, entry, reads, writes, at);
        if (UNLIKELY(s->fault.reason)) return;
    }
}
