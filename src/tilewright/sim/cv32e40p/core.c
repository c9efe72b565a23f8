/* All cores, in one function: threaded code over decoded slots.
 *
 * A core runs ahead on its own clock as long as it touches nothing that others can see. Before it does, it must be
 * first in the order (cycle, number) of all actors; if it is not, it steps aside (SUSPEND) and the first one goes on.
 * An instruction acts in its issue cycle; what it has to wait for is paid afterwards. */
#include "cv32e40p/cv32e40p.h"
#include "floats/float32.h"
#include "isa/dispatch.h"
#include "isa/semantics.h"

#define F(field) c->f[ip->field]

/* To the next slot: by a branch, so that the processor guesses the length instead of waiting for it. */
#define ADVANCE() do { insn *next = ip + 2; \
    if (UNLIKELY(ip->len == 2)) { next = ip + 1; __asm__ volatile("" : "+r"(next)); } \
    ip = next; } while (0)
#define NEXT do { ADVANCE(); APART(); goto *table[ip->op]; } while (0)
/* The same of instructions that often follow each other, as loads and dot products do: whether the next one is the same again is easier
 * to guess for the processor than which one it is. Handlers of such begin with AGAIN. */
#define AGAIN __label__ again; again:
#define GO_ON() do { const void *next_label = table[ip->op]; if (next_label == &&again) goto again; APART(); goto *next_label; } while (0)
#define NEXT_OR_AGAIN do { ADVANCE(); GO_ON(); } while (0)
#define NEXT_LONG_OR_AGAIN do { ip += 2; GO_ON(); } while (0)
#define OPERANDS(form) u32 A = X(rs1), B = B_##form, O = X(rd), N = (u32)ip->imm, PC = ip->pc, R = 0; \
    (void)A; (void)B; (void)O; (void)N; (void)PC; (void)R
/* The end of an instruction that acted on shared state in cycle t. */
#define PAY(cycles) do { n++; t += ip->cost + (cycles) + c->late; c->late = 0; } while (0)

#define HANDLE_ALU(form, ...) { OPERANDS(form); __VA_ARGS__; X(rd) = R; n++; t += ip->cost; NEXT; }
#define HANDLE_MAC(form, ...) { OPERANDS(form); __VA_ARGS__; X(rd) = R; n++; t += ip->cost; c->counted[COUNT_MAC]++; NEXT_LONG; }
#define HANDLE_DOT(form, ...) { AGAIN; OPERANDS(form); __VA_ARGS__; X(rd) = R; n++; t += ip->cost; c->counted[COUNT_DOT]++; NEXT_LONG_OR_AGAIN; }
#define HANDLE_NOP(form, ...) { n++; t += ip->cost; NEXT; }
#define HANDLE_HWLOOP(form, ...) { OPERANDS(form); u32 L = ip->rd & 1; (void)L; __VA_ARGS__; n++; t += ip->cost; NEXT; }
#define HANDLE_MUL(form, ...) { OPERANDS(form); __VA_ARGS__; X(rd) = R; n++; t += ip->cost; c->counted[COUNT_MUL]++; NEXT; }
#define HANDLE_MULH(form, ...) { OPERANDS(form); __VA_ARGS__; X(rd) = R; n++; t += ip->cost; c->counted[COUNT_MULH]++; NEXT; }
#define DIVIDER_STEPS(steps) (UNLIKELY(c->timing->divider == DIVIDER_FIXED) ? c->timing->divide : (steps))
#define HANDLE_DIV(form, ...) { OPERANDS(form); __VA_ARGS__; u32 steps = DIVIDER_STEPS(divider_steps_signed(c->timing->divider, B)); \
    X(rd) = R; n++; t += ip->cost + steps; c->stall[STALL_MULDIV] += steps; c->counted[COUNT_DIV]++; NEXT; }
#define HANDLE_DIVU(form, ...) { OPERANDS(form); __VA_ARGS__; u32 steps = DIVIDER_STEPS(divider_steps_unsigned(B)); \
    X(rd) = R; n++; t += ip->cost + steps; c->stall[STALL_MULDIV] += steps; c->counted[COUNT_DIV]++; NEXT; }

#define HANDLE_DECLARED(form, ...) { const declared *d = &s->declared.table[ip->rm]; u32 R = d->compute(declared_old(c, ip), X(rs1), X(rs2), (u32)ip->imm); \
    X(rd) = R; n++; t += ip->cost + d->latency - 1; c->stall[STALL_MULDIV] += d->latency - 1; c->counted[COUNT_DOT]++; NEXT_LONG; }

#define HANDLE_BRANCH(form, ...) { OPERANDS(form); const int is_taken = __VA_ARGS__; n++; t += ip->cost; c->counted[COUNT_BRANCHES]++; \
    if (UNLIKELY(c->timing->predictor)) t += guessed_branch(c, ip, is_taken); \
    else if (is_taken) t += c->timing->taken_branch; \
    if (is_taken) { c->counted[COUNT_TAKEN]++; APART(); goto taken; } NEXT; }
#define HANDLE_JAL(form, ...) { X(rd) = ip->pc + ip->len; n++; t += ip->cost; c->counted[COUNT_JUMPS]++; APART(); goto taken; }
#define HANDLE_JALR(form, ...) { u32 target = (X(rs1) + (u32)ip->imm) & ~1u; X(rd) = ip->pc + ip->len; \
    n++; t += ip->cost; c->counted[COUNT_JUMPS]++; ip = code_at(s, c->group, target); goto jumped; }

/* Memory: the local memory inline, everything else through the bus. */
#define IS_LOCAL(offset, type) (LIKELY((offset) < c->local_size) && LIKELY(!((offset) & (sizeof(type) - 1))))
#define BANK_WAIT(offset) \
    u64 *bank = &c->local_free[(offset) >> 2 & c->bank_mask], wait = excess(*bank, t); \
    *bank = t + wait + 1; c->stall[STALL_CONFLICT] += wait
#define THROUGH_BUS(type, is_write, value, is_elw) \
    c->ip = ip; \
    bus_result r = bus_access(s, c, ip, t, address, sizeof(type), is_write, value, is_elw); \
    horizon = s->horizon; \
    if (UNLIKELY(r.failed)) goto stopped; \
    c->counted[(is_write) ? COUNT_FAR_STORES : COUNT_FAR_LOADS]++
#define BLOCK_ON(destination) do { c->wait_rd = (destination); goto block; } while (0)

#define LOAD(type, DESTINATION, ...) { \
    u32 offset = address - c->local_base; \
    WAIT_TURN(); \
    if (IS_LOCAL(offset, type)) { \
        BANK_WAIT(offset); type v; memcpy(&v, c->local + offset, sizeof v); \
        DESTINATION = (u32)v; __VA_ARGS__; c->local_loads[SIZE_INDEX(type)]++; PAY(wait); NEXT_OR_AGAIN; \
    } \
    THROUGH_BUS(type, 0, 0, 0); \
    if (UNLIKELY(r.blocked)) BLOCK_ON(ip->rd); \
    DESTINATION = (u32)(type)r.value; __VA_ARGS__; PAY(r.wait); NEXT; }
#define STORE(type, source, ...) { \
    u32 offset = address - c->local_base, data = (source); \
    WAIT_TURN(); \
    if (IS_LOCAL(offset, type)) { \
        BANK_WAIT(offset); type v = (type)data; memcpy(c->local + offset, &v, sizeof v); \
        __VA_ARGS__; c->local_stores[SIZE_INDEX(type)]++; PAY(wait); NEXT; \
    } \
    THROUGH_BUS(type, 1, data, 0); \
    __VA_ARGS__; \
    if (UNLIKELY(r.blocked)) BLOCK_ON(ZERO_SINK); \
    PAY(r.wait); \
    if (UNLIKELY(c->line == NO_LINE)) goto refetch; \
    NEXT; }
#define HANDLE_LOAD(form, type) { AGAIN; u32 address = X(rs1) + B_##form; LOAD(type, X(rd)) }
#define HANDLE_LOADPOST(form, type) { AGAIN; u32 address = X(rs1), step = B_##form; LOAD(type, X(rd), X(rs1) += step) }
#define HANDLE_FLOAD(form, type) { AGAIN; u32 address = X(rs1) + B_##form; LOAD(type, F(rd)) }
#define HANDLE_STORE(form, type) { u32 address = X(rs1) + B_##form; STORE(type, X(rs2)) }
#define HANDLE_STOREPOST(form, type) { u32 address = X(rs1); STORE(type, X(rs2), X(rs1) += B_##form) }
#define HANDLE_FSTORE(form, type) { u32 address = X(rs1) + B_##form; STORE(type, F(rs2)) }
#define HANDLE_ELW(form, type) { u32 address = X(rs1) + B_##form; WAIT_TURN(); \
    THROUGH_BUS(type, 0, 0, 1); \
    if (r.blocked) BLOCK_ON(ip->rd); \
    X(rd) = r.value; c->stall[STALL_SLEEP] += c->timing->elw_answered; PAY(r.wait + c->timing->elw_answered); NEXT; }

#define ATOMIC(is_write) do { WAIT_TURN(); if (UNLIKELY(address & 3)) { \
    sim_fault(s, FAULT_MISALIGNED, c, ip->pc, t, address, 4, is_write); goto stopped; } } while (0)
#define HANDLE_LR(form, ...) { u32 address = X(rs1); ATOMIC(0); THROUGH_BUS(u32, 0, 0, 0); \
    c->reservation = address; c->reserved = 1; c->reserved_value = X(rd) = r.value; PAY(r.wait); NEXT; }
#define HANDLE_SC(form, ...) { u32 address = X(rs1); ATOMIC(1); \
    if (!is_still_reserved(s, c, address)) { c->reserved = 0; X(rd) = 1; PAY(0); NEXT; } \
    THROUGH_BUS(u32, 1, X(rs2), 0); c->reserved = 0; X(rd) = 0; PAY(r.wait); NEXT; }
#define HANDLE_AMO(form, ...) { u32 address = X(rs1), B = X(rs2), R; ATOMIC(1); \
    THROUGH_BUS(u32, 0, 0, 0); u32 M = r.value, wait = r.wait; __VA_ARGS__; \
    r = bus_access(s, c, ip, t + wait, address, 4, 1, R, 0); if (r.failed) goto stopped; \
    X(rd) = M; PAY(wait + r.wait); NEXT; }

#define HANDLE_CSR(form, operation) { \
    u32 operand = FORM_##form == FORM_CSRI ? ip->rs1 : X(rs1); \
    X(rd) = csr_access(s, c, (u32)ip->imm, operation, operand, operation == CSR_WRITE || ip->rs1, t, n); \
    table = c->hooked ? hooked : plain; \
    if (UNLIKELY(s->fault.reason)) goto stopped; \
    PAY(0); NEXT; }
#define HANDLE_MRET(form, ...) { n++; t += ip->cost; ip = code_at(s, c->group, c->mepc); goto jumped; }
#define HANDLE_WFI(form, ...) { c->wait_rd = ZERO_SINK; goto block; }
#define HANDLE_FENCEI(form, ...) { WAIT_TURN(); c->ip = ip; code_flush(s); PAY(0); NEXT; }

/* Vectors: the unit says how long it takes; the word of the instruction is in place of an immediate. */
#define V_WORD ((u32)ip->imm)
#define HANDLE_VECTOR(form, ...) { vector_result v; __VA_ARGS__; if (UNLIKELY(!v.cycles)) goto L_ILLEGAL; \
    n++; t += ip->cost + v.cycles - 1; c->stall[STALL_MULDIV] += v.cycles - 1; NEXT; }
#define HANDLE_VTOX(form, ...) { vector_result v = {1, 0}; __VA_ARGS__; if (UNLIKELY(!v.cycles)) goto L_ILLEGAL; \
    X(rd) = v.value; n++; t += ip->cost + v.cycles - 1; c->stall[STALL_MULDIV] += v.cycles - 1; NEXT; }
#define HANDLE_VMOVE(form, is_store) { WAIT_TURN(); c->ip = ip; \
    const vector_moved v = vector_move(s, c, ip, t, X(rs1), X(rs2), is_store); \
    horizon = s->horizon; \
    if (UNLIKELY(v.failed)) goto stopped; \
    if (UNLIKELY(!v.cycles)) goto L_ILLEGAL; \
    PAY(v.cycles - 1); \
    if (UNLIKELY(c->line == NO_LINE)) goto refetch; \
    NEXT; }

/* Floating point: units shared by cores are booked like memory banks. */
#define FA F(rs1)
#define FB F(rs2)
#define FC c->f[ip->imm]
#define RM (ip->rm == 7 ? c->frm : ip->rm)
#define FFLAGS (&c->fcsr_flags)
#define BOOK_FPU() \
    WAIT_TURN(); \
    u64 *unit = c->fpu_free, wait = excess(*unit, t); *unit = t + wait + 1; c->stall[STALL_FPU] += wait; c->counted[COUNT_FLOAT]++
#define HANDLE_FOP(form, ...) { BOOK_FPU(); u32 FR; __VA_ARGS__; F(rd) = FR; PAY(wait); NEXT; }
#define HANDLE_FPICK HANDLE_FOP
#define HANDLE_FTOX(form, ...) { BOOK_FPU(); u32 R; __VA_ARGS__; X(rd) = R; PAY(wait); NEXT; }
#define HANDLE_XTOF(form, ...) { BOOK_FPU(); u32 A = X(rs1), FR; __VA_ARGS__; F(rd) = FR; PAY(wait); NEXT; }
#define HANDLE_FMVX(form, ...) { u32 R; __VA_ARGS__; X(rd) = R; n++; t += ip->cost; NEXT; }
#define HANDLE_FMVF(form, ...) { u32 A = X(rs1), FR; __VA_ARGS__; F(rd) = FR; n++; t += ip->cost; NEXT; }
#define HANDLE_FDIV(form, ...) { WAIT_TURN(); u32 FR, steps = c->timing->fpu_divide; \
    u64 *unit = c->fdiv_free, wait = excess(*unit, t); *unit = t + wait + steps; \
    __VA_ARGS__; F(rd) = FR; c->stall[STALL_FPU] += wait + steps - 1; c->counted[COUNT_FLOAT_DIV]++; PAY(wait + steps - 1); NEXT; }

static inline int in_private_cache(const core *c, u32 line) {
    const cache *l0 = &c->private_cache;
    const u32 *tag = l0->tag + (line & (l0->sets - 1)) * 4;
    return (tag[0] == line + 1) | (tag[1] == line + 1) | (tag[2] == line + 1) | (tag[3] == line + 1);
}

/* What a branch costs beyond its own cycle on a core that guesses: nothing, where the guess is right. */
static u32 guessed_branch(core *c, const insn *ip, int is_taken) {
    const int is_backward = ip->imm < 0, remembers = c->timing->predictor == PREDICT_LAST_BACKWARD;
    const int guess = remembers ? c->last_backward == ip->pc + 1 : is_backward;
    if (remembers && is_taken && is_backward) c->last_backward = ip->pc + 1;
    if (remembers && guess && !is_taken) c->last_backward = 0;
    const u32 wait = guess == is_taken ? 0 : c->timing->taken_branch;
    c->stall[STALL_BRANCH] += wait;
    return wait;
}

static void loop_start(core *c, u32 loop, u32 pc) {
    c->lp_start[loop] = pc;
    c->lp_ip[loop] = NULL;
}

/* A jump to an instruction that is new or lies in two words: what the latter costs. */
static u32 arrive(sim *s, core *c, insn *ip) {
    if (ip->flags & INSN_NEW) code_decode(s, c->group, ip);
    u32 wait = ip->flags & INSN_SPLIT ? c->timing->split_target : 0;
    c->stall[STALL_BRANCH] += wait;
    return wait;
}

static insn *loop_target(sim *s, core *c, u32 loop) {
    if (UNLIKELY(!c->lp_ip[loop])) c->lp_ip[loop] = code_at(s, c->group, c->lp_start[loop]);
    return c->lp_ip[loop];
}

void core_run(sim *s) {
    static const void *const plain[OP_COUNT] = {
        SPECIAL_OPERATIONS(L_DECODE_JUMP, L_LOOP),
#define I(name, ...) [OP_##name] = &&L_##name,
#include "isa/insn.def"
#undef I
    };
    static const void *const hooked[OP_COUNT] = {
        SPECIAL_OPERATIONS(L_DECODE_JUMP, L_LOOP),
#define I(name, ...) [OP_##name] = &&L_hook,
#include "isa/insn.def"
#undef I
    };
    const void *const *table = plain;
    core *c = NULL;
    insn *ip = NULL;
    u64 t = 0, n = 0, horizon = 0;
    const u64 stop = s->stop;
    u32 line, cause, hidden;
    goto pick;

suspend:
    c->ip = ip;
    c->t = t;
    c->instructions = n;
    queue_push(&s->queue, c->rank, t);
pick: {
    const int actor = next_actor(s);
    if (UNLIKELY(actor < 0)) return;
    if ((u32)actor >= s->cores) {
        if (!device_turn(s, (u32)actor, s->queue.now)) return;
        goto pick;
    }
    c = s->by_rank[actor];
    if (UNLIKELY(c->t != s->queue.now || c->status != CORE_RUNNING)) {
        if (c->status == CORE_RUNNING) ask_again(s, (u32)actor, c->t);
        goto pick;
    }
    if (UNLIKELY(s->is_locked) && c->id != s->only_core) {
        queue_push(&s->queue, (u32)actor, c->t = s->queue.now + 1);
        goto pick;
    }
    horizon = s->horizon = earlier(queue_horizon(&s->queue, (u32)actor), stop);
    ip = c->ip;
    t = c->t;
    n = c->instructions;
    table = c->hooked ? hooked : plain;
    if (UNLIKELY(!c->resume)) goto check_jump;
    goto *c->resume;
}

block: /* the device wakes this core; what the instruction returns is written then */
    n++;
    c->wait_since = t;
    c->ip = ip + ip->len / 2;
    c->wake_delay = c->late; /* its fetch wait is paid when it wakes */
    c->stall[STALL_FETCH] -= c->late;
    c->late = 0;
    c->instructions = n;
    c->resume = &&L_FALL_THROUGH;
    c->status = CORE_WAITING;
    if (c->wake_at != NEVER) sim_wake(s, c->id, c->wake_at, c->wake_value);
    goto pick;

stopped:
    c->ip = ip;
    c->t = t;
    c->instructions = n;
    c->resume = (void *)plain[ip->real];
    queue_push(&s->queue, c->rank, t);
    return;

taken:
    ip = UNLIKELY(ip->flags & INSN_FAR) ? code_at(s, c->group, ip->pc + (u32)ip->imm) : (insn *)((char *)ip + ip->imm);
jumped:
    if (UNLIKELY(ip->flags & (INSN_SPLIT | INSN_NEW))) t += arrive(s, c, ip);
    t -= ip->dep;
    if (UNLIKELY(t >= stop)) SUSPEND(&&check_jump);
check_jump:
    line = ip->pc / FETCH_LINE_BYTES;
    if (line == c->line) goto *table[ip->entry];
    if (LIKELY(in_private_cache(c, line))) {
        c->line = line;
        goto *table[ip->entry];
    }
    if (t >= horizon) SUSPEND(&&check_jump);
    if (ip->real == OP_DECODE) code_decode(s, c->group, ip);
    hidden = 0;
    goto fetch;

L_LINE:
    line = (ip->pc + 3) / FETCH_LINE_BYTES;
    if (line == c->line) goto *table[ip->start];
    if (LIKELY(in_private_cache(c, line))) {
        c->line = line;
        goto *table[ip->start];
    }
    if (t >= horizon) SUSPEND(&&L_LINE);
    hidden = ip->dep; /* the wait for an operand goes by during the wait for the instruction */
fetch: {
    if (UNLIKELY(s->checker.checks) && check_fetch(s, c, ip->pc, t)) goto stopped;
    u32 wait = icache_wait(s, c, line, t), next_line = (ip->pc + 3) / FETCH_LINE_BYTES;
    if (next_line != line && !in_private_cache(c, next_line)) wait += icache_wait(s, c, next_line, t);
    c->stall[STALL_FETCH] += wait;
    c->line = next_line;
    if (wait < hidden) hidden = wait;
    c->hide_load_stall = hidden;
    if (ip->flags & INSN_LATE) c->late = wait - hidden;
    else t += wait - hidden;
    goto *table[ip->start];
}

L_LOOP:
    for (u32 loop = 0; loop < 2; loop++) {
        if (c->lp_after[loop] != ip->pc || !c->lp_count[loop] || !--c->lp_count[loop]) continue;
        insn *first = loop_target(s, c, loop);
        if (c->lp_last[loop]) t += loop_hazard(s, c, loop, first);
        ip = first;
        goto jumped;
    }
    goto *table[ip->flags & INSN_LINE ? OP_LINE : ip->start];

L_PROBE: /* what the platform has done by now is noted too */
    if (t >= horizon) SUSPEND(&&L_PROBE);
    c->instructions = n;
    c->t = t;
    probe_pass(s, c, ip->pc, t + c->late, n);
    if (UNLIKELY(s->fault.reason)) goto stopped;
    goto *table[ip->real];

refetch: /* the store emptied the fetch buffer */
    ip += ip->len / 2;
L_FALL_THROUGH:
    if (UNLIKELY(c->line == NO_LINE)) goto check_jump;
    goto *table[ip->op];
L_DECODE_JUMP:
    code_decode(s, c->group, ip);
    goto *table[ip->entry];
#define TRAP_CYCLES ip->cost
#include "isa/dispatch_ends.h"
    csr_count(s, c, ip);
    goto *plain[ip->real];

#define I(name, xm, xv, cm, cv, form, kind, ...) L_##name: HANDLE_##kind(form, __VA_ARGS__)
#include "isa/insn.def"
#undef I
}
