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

/* Lanes of the packed instructions: bits by the format in funct3. */
static u8 lane_bits(u32 funct3) {
    static const u8 BITS[] = {32, 32, 16, 8};
    return BITS[funct3 & 3];
}

static void set_times(fpu_entry *e) {
    switch (e->kind) {
    case SNITCH_FPICK: case SNITCH_DPICK: case SNITCH_VPICK: e->latency = e->interval = FPU_PICK; return;
    case SNITCH_FDIV: case SNITCH_DDIV: e->latency = e->interval = FPU_DIVIDE; return;
    case SNITCH_VPACK: e->latency = FPU_PACK, e->interval = 1; return;
    default: e->latency = FPU_ARITHMETIC, e->interval = 1;
    }
}

void fpu_push(sim *s, core *c, const insn *ip, u64 now) {
    (void)s;
    snitch *n = c->snitch;
    fpu_entry *e = &n->queue[(n->first + n->used++) % FPU_QUEUE];
    u32 kind = snitch_kind(ip->real);
    *e = (fpu_entry){.op = ip->real, .kind = (u8)kind, .use = ip->dep, .rm = ip->rm == 7 ? (u8)c->frm : ip->rm, .pc = ip->pc, .body = 1,
                     .registers = ip->rd | (u32)ip->rs1 << 8 | (u32)ip->rs2 << 16 | ((u32)ip->imm & 31) << 24, .when = now + FPU_HAND_OVER};
    set_times(e);
    if (is_packed(kind)) e->rm = (u8)c->frm, e->lanes_repeat = ip->rm & 4 ? lane_bits(ip->rm) : 0;
    if (is_load(kind) || is_store(kind)) e->is_access = 1, e->operand = c->x[ip->rs1] + (u32)ip->imm, n->accesses++;
    if (n->frep_left) join_body(n, e);
    n->due = earlier(n->due, e->when);
}

/* The instruction at `position` is done: what comes next, and what leaves the queue. */
static inline void advance(snitch *n, u64 now) {
    fpu_entry *head = &n->queue[n->first];
    if (n->repetition < head->repeats) {
        n->repeated++;
        if (++n->position == head->body) n->position = 0, n->repetition++;
        return;
    }
    u32 slot = n->first, body = head->body;
    n->accesses -= head->is_access;
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
    for (u64 due; (due = n->movers_due) <= until;) {
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
typedef struct { u32 rd, rs1, rs2, rs3, reads, writes; } operands; /* reads, writes: bits of streams */

static inline operands operands_of(const snitch *n, const fpu_entry *e) {
    u32 all = e->registers;
    if (n->repetition && e->stagger) all = (all + n->repetition % (e->stagger_max + 1u) * e->stagger) & 0x1f1f1f1f;
    operands o = {all & 31, all >> 8 & 31, all >> 16 & 31, all >> 24, 0, 0};
    if (!n->streams_on) return o;
    if (e->use & READS_F1) o.reads |= 1u << o.rs1;
    if (e->use & READS_F2) o.reads |= 1u << o.rs2;
    if (e->use & READS_F3) o.reads |= 1u << o.rs3;
    if (e->use & WRITES_F) o.writes = 1u << o.rd;
    o.reads &= (1u << STREAM_MOVERS) - 1, o.writes &= (1u << STREAM_MOVERS) - 1;
    return o;
}

static inline u64 registers_ready(const snitch *n, const fpu_entry *e, const operands *o, u64 at) {
    if ((e->use & READS_F1) && !(o->reads >> o->rs1 & 1)) at = later(at, n->f_ready[o->rs1]);
    if ((e->use & READS_F2) && !(o->reads >> o->rs2 & 1)) at = later(at, n->f_ready[o->rs2]);
    if ((e->use & READS_F3) && !(o->reads >> o->rs3 & 1)) at = later(at, n->f_ready[o->rs3]);
    return at;
}

static inline u64 streams_ready(sim *s, core *c, const fpu_entry *e, const operands *o, u64 at, u64 limit) {
    snitch *n = c->snitch;
    for (u32 left = o->reads; left && at != NEVER; left &= left - 1) {
        data_mover *m = &n->mover[__builtin_ctz(left)];
        at = LIKELY(m->used) ? later(at, m->ready[m->head]) : stream_ready(s, c, m, 1, e->pc, at, limit);
    }
    if (o->writes && at != NEVER) at = stream_ready(s, c, &n->mover[o->rd], 0, e->pc, at, limit);
    return at;
}

static inline u64 operand(const snitch *n, u32 number, u32 reads, const u64 *elements) {
    return UNLIKELY(reads >> number & 1) ? elements[number] : n->f[number];
}

static inline void begin(sim *s, core *c, const fpu_entry *e, const operands *o, u64 at) {
    snitch *n = c->snitch;
    u64 elements[STREAM_MOVERS];
    u32 reads = o->reads;
    for (u32 left = reads; left; left &= left - 1) {
        u32 i = (u32)__builtin_ctz(left);
        elements[i] = mover_pop(n, &n->mover[i], at);
    }
    if (is_load(e->kind)) load(s, c, e, o->rd, at);
    else if (is_store(e->kind)) store(s, c, e, operand(n, o->rs2, reads, elements), at);
    else {
        u32 unchecked = (reads >> o->rs1 & 1) | (reads >> o->rs2 & 1) << 1 | (reads >> o->rs3 & 1) << 2;
        u64 result = fpu_execute(c, e, operand(n, o->rs1, reads, elements), operand(n, o->rs2, reads, elements),
                                 operand(n, o->rs3, reads, elements), (int)unchecked);
        c->counted[COUNT_FLOAT]++;
        n->next = at + e->interval;
        n->idle = later(n->idle, at + e->latency);
        if (o->writes) mover_push(n, &n->mover[o->rd], result, at);
        else n->f[o->rd] = result, n->f_ready[o->rd] = at + e->latency;
    }
    advance(n, at);
}

/* Returns 1 once there are fewer than `wanted` instructions in the queue, 0 where nothing more is done before the limit. */
static inline int run(sim *s, core *c, u64 limit, u32 wanted) {
    snitch *n = c->snitch;
    while (n->position < n->used) {
        const fpu_entry *e = &n->queue[(n->first + n->position) % FPU_QUEUE];
        operands o = operands_of(n, e);
        u64 at = registers_ready(n, e, &o, later(e->when, n->next));
        if (o.reads | o.writes) {
            at = streams_ready(s, c, e, &o, at, limit);
            if (at == NEVER) break;
        }
        if (n->movers_due <= at && !move_until(s, c, at, limit)) break;
        if (at >= limit && (o.reads | o.writes | e->is_access)) {
            n->due = earlier(at, n->movers_due);
            return 0;
        }
        begin(s, c, e, &o, at);
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
    n->due = n->movers_due;
}

/* The core waits until there are fewer than `wanted` instructions in the queue, and the unit gets no further than that. */
int fpu_make_room(sim *s, core *c, u64 limit, u32 wanted) {
    snitch *n = c->snitch;
    n->due = NEVER;
    if (run(s, c, limit, wanted)) return 1;
    n->due = earlier(n->due, n->movers_due);
    return 0;
}
