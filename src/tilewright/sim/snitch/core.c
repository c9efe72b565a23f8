/* Snitch cores, in one function: threaded code over decoded slots.
 *
 * As in cv32e40p/core.c, a core runs ahead as long as it touches nothing that others can see, and steps aside (SUSPEND) before it does
 * if it is not first. One instruction issues each cycle, and a scoreboard holds it back until its operands are there. The
 * floating-point unit has a clock of its own: fpu_run() brings it up to a cycle, before an access of the core in that cycle,
 * and before the core steps aside. */
#include "snitch/fpu/push.h"
#include "kinds/misuse.h"
#include "isa/divider.h"
#include "isa/dispatch.h"
#include "isa/semantics.h"
#include "snitch/snitch.h"
#include "snitch/frep_fastpath/fastpath.h"

#define NEXT NEXT_LONG
/* Hold the instruction back until its operands are there. */
#define SETTLE() do { if (UNLIKELY(t < f->last_ready)) t = settle(c, f, ip, t); } while (0)
#define OPERANDS(form) SETTLE(); u32 A = X(rs1), B = B_##form, N = (u32)ip->imm, PC = ip->pc, R = 0; (void)A; (void)B; (void)N; (void)PC; (void)R

#define HANDLE_ALU(form, ...) { OPERANDS(form); __VA_ARGS__; X(rd) = R; n++; t++; NEXT; }
#define HANDLE_NOP(form, ...) { n++; t++; NEXT; }
#define HANDLE_MUL(form, ...) { OPERANDS(form); __VA_ARGS__; X(rd) = R; n++; t += SNITCH_MULTIPLY; c->counted[COUNT_MUL]++; NEXT; }
#define HANDLE_MULH HANDLE_MUL
#define DIVIDE(form, steps_of, ...) { OPERANDS(form); __VA_ARGS__; u32 steps = steps_of; X(rd) = R; n++; t += 1 + steps; \
    c->stall[STALL_MULDIV] += steps; c->counted[COUNT_DIV]++; NEXT; }
#define HANDLE_DIV(form, ...) DIVIDE(form, divider_steps_signed(DIVIDER_RI5CY, B), __VA_ARGS__)
#define HANDLE_DIVU(form, ...) DIVIDE(form, divider_steps_unsigned(B), __VA_ARGS__)
#define HANDLE_DECLARED(form, ...) { SETTLE(); const declared *d = &s->declared.table[ip->rm]; \
    u32 R = d->compute(declared_old(c, ip), X(rs1), X(rs2), (u32)ip->imm); X(rd) = R; n++; t += d->latency; \
    c->stall[STALL_MULDIV] += d->latency - 1; c->counted[COUNT_DOT]++; NEXT; }
#define HANDLE_BRANCH(form, ...) { OPERANDS(form); n++; t++; c->counted[COUNT_BRANCHES]++; \
    if (__VA_ARGS__) { c->counted[COUNT_TAKEN]++; APART(); goto taken; } NEXT; }
#define HANDLE_JAL(form, ...) { SETTLE(); X(rd) = ip->pc + 4; n++; t += SNITCH_JUMP; c->counted[COUNT_JUMPS]++; APART(); goto taken; }
#define HANDLE_JALR(form, ...) { SETTLE(); u32 target = (X(rs1) + (u32)ip->imm) & ~1u; X(rd) = ip->pc + 4; \
    n++; t += SNITCH_JUMP; c->counted[COUNT_JUMPS]++; ip = code_at(s, c->group, target); goto jumped; }

/* The unit must not be behind the core's own access, nor hold one to the same 8 bytes. */
#define CATCH_UP(address) do { \
    if (UNLIKELY(f->due < t)) { fpu_run(s, c, t); horizon = s->horizon; if (UNLIKELY(s->fault.reason)) goto stopped; } \
    if (UNLIKELY(f->accesses) && fpu_conflicts(f, address)) { t++; c->stall[STALL_FPU]++; RETRY(); } } while (0)
#define THROUGH_BUS(type, is_write, data, when) \
    c->ip = ip; \
    snitch_result r = snitch_access(s, c, ip->pc, when, address, sizeof(type), is_write, data); \
    horizon = s->horizon; \
    if (UNLIKELY(r.failed)) goto stopped; \
    c->counted[(is_write) ? COUNT_FAR_STORES : COUNT_FAR_LOADS]++
#define LATE_RESULT(reg, when) do { f->x_ready[reg] = (when); if (f->last_ready < (when)) f->last_ready = (when); } while (0)
#define LOAD_RESULT(cycles) do { u64 ready = t + later(SNITCH_LOAD_USE, (cycles) + SNITCH_LOAD_RETURN); LATE_RESULT(ip->rd, ready); \
    if (UNLIKELY(f->most_loads)) f->returns[f->loads++ % f->most_loads] = ready; } while (0)
/* Where only some loads may be in flight: hold the next one back until an earlier one has returned. */
#define WAIT_LOADS() do { if (UNLIKELY(f->most_loads)) { u64 room = f->returns[f->loads % f->most_loads]; \
    if (t < room) { c->stall[STALL_MEMORY] += room - t; t = room; } } } while (0)
#define HANDLE_LOAD(form, type) { SETTLE(); WAIT_LOADS(); u32 address = X(rs1) + (u32)ip->imm; WAIT_TURN(); CATCH_UP(address); \
    if (is_tcdm(c, address, sizeof(type))) { \
        u32 offset = address - c->local_base; u64 wait = snitch_port_wait(f, t); wait += tcdm_wait(c, f, offset, t + wait); \
        type v; memcpy(&v, c->local + offset, sizeof v); X(rd) = (u32)v; c->local_loads[SIZE_INDEX(type)]++; \
        LOAD_RESULT(wait); n++; t++; NEXT; \
    } \
    u64 port = snitch_looked_at_wait(s, f, address, t); THROUGH_BUS(type, 0, 0, t + port); \
    X(rd) = (u32)(type)r.value; LOAD_RESULT(port + r.latency + r.wait); n++; t++; NEXT; }
#define HANDLE_STORE(form, type) { SETTLE(); u32 address = X(rs1) + (u32)ip->imm; WAIT_TURN(); CATCH_UP(address); \
    if (is_tcdm(c, address, sizeof(type))) { \
        u32 offset = address - c->local_base; u64 wait = snitch_port_wait(f, t); tcdm_wait(c, f, offset, t + wait); \
        type v = (type)X(rs2); memcpy(c->local + offset, &v, sizeof v); c->local_stores[SIZE_INDEX(type)]++; n++; t++; NEXT; \
    } \
    u64 port = snitch_looked_at_wait(s, f, address, t); THROUGH_BUS(type, 1, (type)X(rs2), t + port); n++; t++; NEXT; }

#define ATOMIC(is_write) u32 address = X(rs1); WAIT_TURN(); CATCH_UP(address); if (UNLIKELY(address & 3)) { \
    sim_fault(s, FAULT_MISALIGNED, c, ip->pc, t, address, 4, is_write); goto stopped; }
#define PAY_ATOMIC() do { u64 wait = r.latency + r.wait; c->stall[STALL_CONFLICT] += r.wait; c->stall[STALL_MEMORY] += r.latency; \
    n++; t += 1 + wait; } while (0)
#define HANDLE_LR(form, ...) { SETTLE(); ATOMIC(0); THROUGH_BUS(u32, 0, 0, t); \
    c->reservation = address; c->reserved = 1; c->reserved_value = X(rd) = (u32)r.value; PAY_ATOMIC(); NEXT; }
#define HANDLE_SC(form, ...) { SETTLE(); ATOMIC(1); \
    const int holds = is_still_reserved(s, c, address); c->reserved = 0; \
    if (!holds) { X(rd) = 1; n++; t++; NEXT; } \
    THROUGH_BUS(u32, 1, X(rs2), t); X(rd) = 0; PAY_ATOMIC(); NEXT; }
#define HANDLE_AMO(form, ...) { SETTLE(); ATOMIC(1); u32 B = X(rs2), R; THROUGH_BUS(u32, 0, 0, t); u32 M = (u32)r.value; __VA_ARGS__; \
    u8 *at = bus_pointer(s, c->group, address, 4); \
    if (!at) { sim_fault(s, FAULT_UNMAPPED, c, ip->pc, t, address, 4, 1); goto stopped; } \
    memcpy(at, &R, 4); X(rd) = M; PAY_ATOMIC(); NEXT; }

/* Step aside until the unit has done what it has to do next, and look again. */
#define WAIT_FOR_UNIT(wanted) do { f->waits_for_unit = (wanted); \
    if (f->due > t) { c->stall[STALL_FPU] += f->due - t; t = f->due; } \
    RETRY(); } while (0)
/* ... while frep_fastpath/ drives it: until that is over. */
#define WAIT_FASTPATH(wanted) do { f->waits_for_unit = (wanted); fastpath_wait(s, c); c->ip = ip, c->t = t, c->instructions = n; \
    c->resume = (void *)plain[ip->real]; goto pick; } while (0)
/* Past the queue: when the unit has nothing to do any more. */
#define WAIT_IDLE() do { if (f->used) goto unit_first; if (t < f->idle) { c->stall[STALL_FPU] += f->idle - t; t = f->idle; } } while (0)
/* ... and what the data movers do before is done, before they are told or asked something. */
#define WAIT_MOVERS() do { WAIT_IDLE(); if (UNLIKELY(movers_due(f) < t)) goto movers_first; } while (0)
#define CHECK_BODY() do { if (UNLIKELY(f->frep_left)) goto in_body; } while (0)

#define HANDLE_CSR(form, operation) { \
    SETTLE(); u32 number = (u32)ip->imm, operand = FORM_##form == FORM_CSRI ? ip->rs1 : X(rs1); \
    int writes = operation == CSR_WRITE || ip->rs1; \
    if (snitch_csr_waits(number)) { WAIT_TURN(); WAIT_MOVERS(); } \
    if (number == CSR_BARRIER) { WAIT_TURN(); CHECK_BODY(); c->ip = ip; \
        if (!snitch_barrier(s, c, t)) { c->wait_rd = ip->rd; goto block; } horizon = s->horizon; } \
    X(rd) = snitch_csr(s, c, number, operation, operand, writes, t, n); n++; t++; NEXT; }
#define HANDLE_MRET(form, ...) { n++; t++; ip = code_at(s, c->group, c->mepc); goto jumped; }
#define HANDLE_WFI(form, ...) { WAIT_TURN(); if (f->mip & c->mie) { n++; t++; NEXT; } c->wait_rd = ZERO_SINK; goto block; }
#define HANDLE_FENCEI(form, ...) { WAIT_TURN(); c->ip = ip; icache_flush(s, c->group); code_flush(s); n++; t++; NEXT; }

/* Floating point: into the queue, or past it. */
#define QUEUE(form, ...) { APART(); goto enqueue; }
#define HANDLE_FLOAD QUEUE
#define HANDLE_DLOAD QUEUE
#define HANDLE_FSTORE QUEUE
#define HANDLE_DSTORE QUEUE
#define HANDLE_FOP QUEUE
#define HANDLE_DOP QUEUE
#define HANDLE_VOP QUEUE
#define HANDLE_FPICK QUEUE
#define HANDLE_DPICK QUEUE
#define HANDLE_VPICK QUEUE
#define HANDLE_VPACK QUEUE
#define HANDLE_FDIV QUEUE
#define HANDLE_DDIV QUEUE
#define BEGIN_PAST() SETTLE(); CHECK_BODY(); WAIT_IDLE(); if (UNLIKELY(f->streams_on) && names_stream(ip)) goto at_stream
/* Instructions past the queue that follow each other at once are pipelined. */
#define END_PAST() do { f->idle = f->past_end = t + (t == f->past_end ? 1 : FPU_FIRST_BYPASS); c->counted[COUNT_FLOAT]++; n++; t++; } while (0)
#define TO_INTEGER(form, ...) { BEGIN_PAST(); X(rd) = fpu_to_integer(c, ip); LATE_RESULT(ip->rd, t + FPU_TO_INTEGER); END_PAST(); NEXT; }
#define HANDLE_FTOX TO_INTEGER
#define HANDLE_FMVX TO_INTEGER
#define HANDLE_DTOX TO_INTEGER
#define HANDLE_VTOX TO_INTEGER
#define FROM_INTEGER(form, ...) { BEGIN_PAST(); fpu_from_integer(c, ip, X(rs1)); f->f_ready[ip->rd] = t + 1; END_PAST(); NEXT; }
#define HANDLE_XTOF FROM_INTEGER
#define HANDLE_FMVF FROM_INTEGER
#define HANDLE_XTOD FROM_INTEGER
#define CONVERT(form, ...) { BEGIN_PAST(); t = converted(c, f, ip, t); fpu_from_integer(c, ip, 0); \
    f->f_ready[ip->rd] = t + FPU_CONVERT; END_PAST(); NEXT; }
#define HANDLE_FTOD CONVERT
#define HANDLE_DTOF CONVERT

#define HANDLE_STREAM_READ(form, place) { SETTLE(); CHECK_BODY(); WAIT_MOVERS(); u32 N = (u32)ip->imm, where = place; (void)N; \
    X(rd) = stream_read_register(f, where >> 5 & 31, where & 31); n++; t++; NEXT; }
#define HANDLE_STREAM_WRITE(form, place) { SETTLE(); CHECK_BODY(); WAIT_MOVERS(); u32 N = (u32)ip->imm, where = place; (void)N; \
    stream_write_register(s, c, where >> 5 & 31, where & 31, X(rs1), t); n++; t++; NEXT; }
#define HANDLE_FREP(form, ...) { SETTLE(); CHECK_BODY(); \
    f->frep_repeats = X(rs1), f->frep_body = f->frep_left = bits_of(ip, 11, 0) + 1, f->frep_is_inner = !(ip->rd & 1); \
    f->frep_max = ip->rm, f->frep_mask = ip->rd >> 1; \
    if (f->frep_body > FPU_QUEUE) { fpu_fault(s, c, MISUSE_FREP_LONG, ip->pc, t); goto stopped; } \
    n++; t++; NEXT; }

/* Only the last core has the DMA engine. */
#define NEEDS_DMA() do { if (UNLIKELY(!cluster_of(s)->xdma || c->id + 1 != s->cores)) goto L_ILLEGAL; } while (0)
#define HANDLE_DMA(form, ...) { NEEDS_DMA(); SETTLE(); u32 A = X(rs1), B = B_##form; (void)A; (void)B; WAIT_TURN(); __VA_ARGS__; n++; t++; NEXT; }
#define HANDLE_DMA_START(form, configuration) { NEEDS_DMA(); SETTLE(); WAIT_TURN(); \
    if (xdma_is_full(s)) { t++; c->stall[STALL_MEMORY]++; RETRY(); } \
    X(rd) = xdma_start(s, c, ip->pc, X(rs1), configuration, t); horizon = s->horizon; n++; t++; NEXT; }
#define HANDLE_DMA_STATUS(form, selector) { NEEDS_DMA(); SETTLE(); WAIT_TURN(); X(rd) = xdma_status(s, selector, t); n++; t++; NEXT; }

enum { CSR_BARRIER = 0x7c2 };

static u32 bits_of(const insn *ip, u32 high, u32 low) { return (u32)ip->imm >> low & (~0u >> (31 - (high - low))); }

/* The cycle in which all operands are there. What the instruction writes is not waited for any more. */
static u64 settle(core *c, snitch *f, const insn *ip, u64 t) {
    u64 when = t;
    if (ip->dep & READS_1) when = later(when, f->x_ready[ip->rs1]);
    if (ip->dep & READS_2) when = later(when, f->x_ready[ip->rs2]);
    if (ip->dep & READS_D) when = later(when, f->x_ready[ip->rd]);
    if (ip->dep & WRITES_X) f->x_ready[ip->rd] = 0;
    c->stall[STALL_LOAD_USE] += when - t;
    return when;
}

static int names_stream(const insn *ip) {
    return ((ip->dep & READS_F1) && ip->rs1 < STREAM_MOVERS) || ((ip->dep & READS_F2) && ip->rs2 < STREAM_MOVERS) ||
           ((ip->dep & WRITES_F) && ip->rd < STREAM_MOVERS);
}

/* What one conversion makes, another may wait for. */
static u64 converted(core *c, const snitch *f, const insn *ip, u64 t) {
    u64 when = later(t, f->f_ready[ip->rs1]);
    c->stall[STALL_FPU] += when - t;
    return when;
}

/* When this core does something next; when it or its unit does. */
static u64 pending_core(const core *c) { return c->status == CORE_RUNNING ? c->t : NEVER; }
static u64 pending(const core *c) { return earlier(pending_core(c), snitch_of(c)->due); }

/* Does a core that waits for its unit go on waiting? Where it does not, nothing has changed in its place in time. */
static int still_waits(sim *s, core *c, u64 horizon) {
    snitch *f = snitch_of(c);
    if (fpu_make_room(s, c, horizon, f->waits_for_unit) || s->fault.reason || f->due == NEVER) return f->waits_for_unit = 0;
    if (f->due > c->t) c->stall[STALL_FPU] += f->due - c->t, c->t = f->due;
    return 1;
}

/* Is it the turn of another core in the present cycle, without a debugger that holds some, or units that act beside the queue? */
static inline int more_in_this_cycle(const sim *s) {
    const queue *q = &s->queue;
    return q->ready && !(q->is_wide | s->is_locked | cluster_of(s)->units) && (u32)__builtin_ctzll(q->ready) < s->cores;
}

/* The core whose turn it is, or NULL at the end of a run; devices have their turns in between. */
static core *next_core(sim *s) {
    for (;;) {
        if (cluster_of(s)->units) fastpath_advance(s);
        const int actor = next_actor(s);
        const u64 now = s->queue.now;
        if (UNLIKELY(actor < 0)) return NULL;
        if ((u32)actor >= s->cores) {
            if (!device_turn(s, (u32)actor, now)) return NULL;
            continue;
        }
        core *c = s->by_rank[actor];
        if (UNLIKELY(s->is_locked) && c->id != s->only_core) {
            if (c->status == CORE_RUNNING && c->t <= now) c->t = now + 1;
            if (pending(c) != NEVER) queue_push(&s->queue, (u32)actor, later(pending(c), now + 1));
            continue;
        }
        if (LIKELY(pending(c) <= now)) return c;
        if (pending(c) != NEVER) queue_push(&s->queue, (u32)actor, pending(c));
    }
}

static void run_cores(sim *s) {
    static const void *const plain[SN_COUNT] = {
        SPECIAL_OPERATIONS(L_DECODE, L_ILLEGAL),
#define RV(name, ...) [SN_##name] = &&L_##name,
#include "snitch/snitch.def"
#undef RV
    };
    static const void *const hooked[SN_COUNT] = {
        SPECIAL_OPERATIONS(L_DECODE, L_ILLEGAL),
#define RV(name, ...) [SN_##name] = &&L_hook,
#include "snitch/snitch.def"
#undef RV
    };
    const void *const *table = plain;
    core *c = NULL;
    snitch *f = NULL;
    insn *ip = NULL;
    u64 t = 0, n = 0, horizon = 0;
    const u64 stop = s->stop;
    u32 line, cause;
    goto pick;

suspend:
    c->ip = ip;
    c->t = t;
    c->instructions = n;
    if (LIKELY(f->due >= t)) {
        queue_push(&s->queue, c->rank, t);
        goto pick;
    }
leave: /* the unit goes on as far as it may: up to what others do, and to what the core itself does next */
    {
        u64 own = pending_core(c), turn = earlier(horizon, own);
        if (f->due < turn) fpu_run(s, c, turn);
        if (fastpath_may_begin(f)) fastpath_begin(s, c);
        u64 next = earlier(own, f->due);
        if (next != NEVER) queue_push(&s->queue, c->rank, later(next, s->queue.now));
    }
    if (UNLIKELY(s->fault.reason)) return;
pick:
    if (LIKELY(more_in_this_cycle(s))) {
        s->running = (u32)queue_pop(&s->queue);
        c = s->by_rank[s->running];
        f = snitch_of(c);
        if (UNLIKELY(pending(c) > s->queue.now)) { /* somebody woke it before */
            if (pending(c) != NEVER) queue_push(&s->queue, c->rank, pending(c));
            goto pick;
        }
    } else if (!(c = next_core(s))) {
        return;
    } else {
        f = snitch_of(c);
        if (cluster_of(s)->units) goto beside_fastpath;
    }
    horizon = s->horizon = earlier(queue_horizon(&s->queue, c->rank), stop);
chosen:
    if (c->status != CORE_RUNNING || c->t >= horizon) goto leave;
    if (f->waits_for_unit && still_waits(s, c, horizon)) {
        if (!fastpath_may_begin(f) || !fastpath_begin(s, c)) queue_push(&s->queue, c->rank, pending(c));
        goto pick;
    }
    ip = c->ip;
    t = c->t;
    n = c->instructions;
    table = c->hooked ? hooked : plain;
    if (UNLIKELY(!c->resume)) goto check_jump;
    goto *c->resume;

beside_fastpath: /* units that are not in the queue act in each cycle */
    if (UNLIKELY(f->waits_for_unit && f->on_fastpath)) goto pick;
    horizon = s->horizon = earlier(s->queue.now + 1, stop);
    goto chosen;

block: /* somebody wakes this core */
    n++;
    c->wait_since = t;
    c->ip = ip + 2;
    c->instructions = n;
    c->resume = &&L_FALL_THROUGH;
    c->status = CORE_WAITING;
    if (c->wake_at != NEVER) sim_wake(s, c->id, c->wake_at, c->wake_value);
    goto leave;

stopped:
    c->ip = ip;
    c->t = t;
    c->instructions = n;
    c->resume = (void *)plain[ip->real];
    queue_push(&s->queue, c->rank, later(pending(c), s->queue.now));
    return;

at_stream:
    fpu_fault(s, c, MISUSE_STREAM_BYPASS, ip->pc, t);
    goto stopped;

unit_first: /* the instruction comes again when the unit has nothing to do any more */
    if (f->on_fastpath) WAIT_FASTPATH(1);
    c->ip = ip;
    fpu_make_room(s, c, horizon, 1);
    horizon = s->horizon;
    if (UNLIKELY(s->fault.reason)) goto stopped;
    if (!f->used) goto *plain[ip->real];
    if (f->due == NEVER) goto in_body;
    WAIT_FOR_UNIT(1);

movers_first: /* the instruction comes again when they are up to it */
    WAIT_TURN();
    fpu_run(s, c, t);
    horizon = s->horizon;
    if (UNLIKELY(s->fault.reason)) goto stopped;
    goto *plain[ip->real];

enqueue: /* of the floating-point unit; all its instructions do the same here */
    SETTLE();
    if (UNLIKELY(f->used == FPU_QUEUE)) {
        if (f->on_fastpath) WAIT_FASTPATH(FPU_QUEUE);
        c->ip = ip;
        fpu_make_room(s, c, horizon, FPU_QUEUE);
        horizon = s->horizon;
        if (UNLIKELY(s->fault.reason)) goto stopped;
        if (f->used == FPU_QUEUE) WAIT_FOR_UNIT(FPU_QUEUE);
    }
    {
        u64 room = f->freed[(f->first + f->used) % FPU_QUEUE];
        if (UNLIKELY(t < room)) c->stall[STALL_FPU] += room - t, t = room;
    }
    fpu_push(c, ip, t);
    n++, t++;
    NEXT;

in_body: /* an instruction that cannot be in the body of frep */
    fpu_fault(s, c, MISUSE_FREP_BYPASS, ip->pc, t);
    goto stopped;

taken:
    ip = UNLIKELY(ip->flags & INSN_FAR) ? code_at(s, c->group, ip->pc + (u32)ip->imm) : (insn *)((char *)ip + ip->imm);
jumped:
    if (UNLIKELY(t >= stop)) SUSPEND(&&check_jump);
check_jump:
    if (UNLIKELY(ip->real == OP_DECODE)) code_decode(s, c->group, ip);
    line = ip->pc / SNITCH_LINE_BYTES;
    if (LIKELY(line == f->line[0])) goto *table[ip->entry];
L_LINE:
    line = ip->pc / SNITCH_LINE_BYTES;
    if (line == f->line[0]) goto *table[ip->start];
    if (line == f->line[1]) {
        f->line[1] = f->line[0];
        f->line[0] = line;
        goto *table[ip->start];
    }
    if (t >= horizon) SUSPEND(&&check_jump);
    {
        u32 wait = snitch_fetch_wait(s, c, line, t);
        c->stall[STALL_FETCH] += wait;
        f->line[1] = f->line[0];
        f->line[0] = line;
        t += wait;
        goto *table[ip->start];
    }

L_PROBE: /* what the platform has done by now is noted too */
    if (t >= horizon) SUSPEND(&&L_PROBE);
    if (cluster_of(s)->units) fastpath_end_all(s, c);
    c->instructions = n;
    c->t = t;
    probe_pass(s, c, ip->pc, t, n);
    if (UNLIKELY(s->fault.reason)) goto stopped;
    goto *table[ip->real];

L_FALL_THROUGH:
    goto *table[ip->op];
#define TRAP_CYCLES 1
#include "isa/dispatch_ends.h"
    if (UNLIKELY(f->frep_left) && (s->checker.checks & CHECK_MISUSE) && snitch_is_in_core(ip->real)) {
        fpu_fault(s, c, MISUSE_FREP_INTEGER, ip->pc, t);
        goto stopped;
    }
    if (UNLIKELY(f->unread) && (s->checker.checks & CHECK_MISUSE) && fpu_reads_idle_stream(f, ip)) {
        fpu_fault(s, c, MISUSE_STREAM_IDLE, ip->pc, t);
        goto stopped;
    }
    goto *plain[ip->real];

#define RV(name, mask, match, form, kind, ...) L_##name: HANDLE_##kind(form, __VA_ARGS__)
#include "snitch/snitch.def"
#undef RV
}

void snitch_run(sim *s) {
    fastpath y;
    cluster_of(s)->units = 0;
    cluster_of(s)->fastpath = &y;
    if (s->queue.ready && s->queue.now >= s->stop) sim_fault(s, FAULT_LIMIT, NULL, 0, s->queue.now, 0, 0, 0); /* the run before looked ahead so far */
    else run_cores(s);
    fastpath_end_all(s, NULL);
    cluster_of(s)->fastpath = NULL;
}
