/* MemPool's cores, in one function: threaded code over decoded slots.
 *
 * A core has its turn until the next multiple of TURN cycles, then the next one has its own; so no core is more than a turn ahead of
 * another, memory changes in an order that programs can see on hardware, and arbitration is by slots_book(). One instruction issues
 * each cycle, in order, when its operands are there and what it writes is not under way. */
#include "mempool/mempool.h"
#include "isa/dispatch.h"
#include "isa/semantics.h"

#define NEXT NEXT_LONG
#define USES(form, what) (FORM_USE[FORM_##form] & (what))
/* By a branch, so that the processor guesses that there is no wait. */
#define WAIT_FOR(reg) do { const u64 when = k->ready[reg]; t = when > t ? when : t; } while (0)
/* Hold the instruction back until its operands are there, and what it writes has been written. */
#define SETTLE(form) do { \
    if (USES(form, READS_1)) WAIT_FOR(ip->rs1); \
    if (USES(form, READS_2)) WAIT_FOR(ip->rs2); \
    if (USES(form, READS_D | WRITES_X)) WAIT_FOR(ip->dep); } while (0)
#define OPERANDS(form) SETTLE(form); u32 A = X(rs1), B = B_##form, O = X(rd), PC = ip->pc, R = 0; (void)A; (void)B; (void)O; (void)PC; (void)R

#define HANDLE_ALU(form, ...) { OPERANDS(form); __VA_ARGS__; X(rd) = R; n++; t++; NEXT; }
#define PRODUCT(form, count, ...) { OPERANDS(form); __VA_ARGS__; X(rd) = R; k->ready[ip->rd] = t + MEMPOOL_PRODUCT; n++; t++; c->counted[count]++; NEXT; }
#define HANDLE_MUL(form, ...) PRODUCT(form, COUNT_MUL, __VA_ARGS__)
#define HANDLE_MULH(form, ...) PRODUCT(form, COUNT_MULH, __VA_ARGS__)
#define HANDLE_MAC(form, ...) PRODUCT(form, COUNT_MAC, __VA_ARGS__)
#define HANDLE_DOT(form, ...) PRODUCT(form, COUNT_DOT, __VA_ARGS__)
#define HANDLE_DIV(form, ...) { OPERANDS(form); WAIT_TURN(); __VA_ARGS__; X(rd) = R; k->ready[ip->rd] = divided(&p->tile[k->tile], t); \
    n++; t++; c->counted[COUNT_DIV]++; NEXT; }
#define HANDLE_DIVU HANDLE_DIV
#define HANDLE_NOP(form, ...) { const u64 done = all_done(k, t); c->stall[STALL_MEMORY] += done - t; n++; t = done + 1; NEXT; } /* fence */
#define HANDLE_BRANCH(form, ...) { OPERANDS(form); n++; t++; c->counted[COUNT_BRANCHES]++; \
    if (__VA_ARGS__) { c->counted[COUNT_TAKEN]++; APART(); goto taken; } NEXT; }
#define HANDLE_JAL(form, ...) { SETTLE(form); X(rd) = ip->pc + 4; n++; t++; c->counted[COUNT_JUMPS]++; APART(); goto taken; }
#define HANDLE_JALR(form, ...) { SETTLE(form); u32 target = (X(rs1) + (u32)ip->imm) & ~1u; X(rd) = ip->pc + 4; \
    n++; t++; c->counted[COUNT_JUMPS]++; ip = code_at(s, c->group, target); goto jumped; }

/* Memory: plain accesses to L1 inline, everything else by mempool_access(). */
#define IS_LOCAL(type) (LIKELY(address < c->local_size) && LIKELY(!(address & (sizeof(type) - 1))))
/* Only some accesses may be under way: hold the next one back until an earlier one is done. Those that take as few cycles never fill
 * the room, so only longer ones are noted. */
#define WAIT_ROOM() do { if (UNLIKELY(t < k->room)) { c->stall[STALL_MEMORY] += k->room - t; t = k->room; } WAIT_TURN(); } while (0)
#define TAKE_TIME(r) do { if (UNLIKELY((r).ready - t > k->most_accesses)) note_access(k, (r).ready); \
    if (UNLIKELY((r).issued != t)) c->stall[STALL_CONFLICT] += (r).issued - t, t = (r).issued; \
    n++; t++; } while (0)
#define THROUGH_BUS(type, is_write, data) \
    c->ip = ip; \
    mempool_result r = mempool_access(s, c, ip->pc, t, address, sizeof(type), is_write, data); \
    if (UNLIKELY(r.failed)) goto stopped; \
    c->counted[(is_write) ? COUNT_FAR_STORES : COUNT_FAR_LOADS]++
#define LOAD(type, ...) { WAIT_ROOM(); \
    if (IS_LOCAL(type)) { \
        type v; memcpy(&v, c->local + address, sizeof v); /* early, because this machine may have to wait for it */ \
        const l1_time r = l1_access(p, k, address, t); \
        X(rd) = (u32)v; __VA_ARGS__; k->ready[ip->rd] = r.ready; c->local_loads[SIZE_INDEX(type)]++; TAKE_TIME(r); NEXT; \
    } \
    THROUGH_BUS(type, 0, 0); X(rd) = (u32)(type)r.value; __VA_ARGS__; k->ready[ip->rd] = r.ready; TAKE_TIME(r); NEXT; }
#define STORE(type, ...) { WAIT_ROOM(); \
    if (IS_LOCAL(type)) { \
        const l1_time r = l1_access(p, k, address, t); \
        type v = (type)X(rs2); memcpy(c->local + address, &v, sizeof v); \
        __VA_ARGS__; c->local_stores[SIZE_INDEX(type)]++; k->stored = later(k->stored, r.ready); TAKE_TIME(r); NEXT; \
    } \
    THROUGH_BUS(type, 1, (type)X(rs2)); __VA_ARGS__; k->stored = later(k->stored, r.ready); TAKE_TIME(r); NEXT; }
#define HANDLE_LOAD(form, type) { SETTLE(form); const u32 address = X(rs1) + B_##form; LOAD(type) }
#define HANDLE_LOADPOST(form, type) { SETTLE(form); const u32 address = X(rs1), step = B_##form; LOAD(type, X(rs1) += step) }
#define HANDLE_STORE(form, type) { SETTLE(form); const u32 address = X(rs1) + B_##form; STORE(type) }
#define HANDLE_STOREPOST(form, type) { SETTLE(form); const u32 address = X(rs1); STORE(type, X(rs1) += B_##form) }

/* Done at the bank; the result comes as that of a load. */
#define ATOMIC(form) SETTLE(form); const u32 address = X(rs1); WAIT_ROOM()
#define END_ATOMIC(value) do { X(rd) = (value); r.ready += MEMPOOL_ATOMIC; k->ready[ip->rd] = r.ready; TAKE_TIME(r); } while (0)
#define HANDLE_LR(form, ...) { ATOMIC(form); THROUGH_BUS(u32, 0, 0); \
    c->reservation = address; c->reserved = 1; c->reserved_value = r.value; END_ATOMIC(r.value); NEXT; }
#define HANDLE_SC(form, ...) { ATOMIC(form); const int holds = is_still_reserved(s, c, address); \
    c->reserved = 0; \
    if (holds) { THROUGH_BUS(u32, 1, X(rs2)); END_ATOMIC(0); NEXT; } \
    THROUGH_BUS(u32, 0, 0); END_ATOMIC(1); NEXT; }
#define HANDLE_AMO(form, ...) { ATOMIC(form); u32 B = X(rs2), R; THROUGH_BUS(u32, 0, 0); const u32 M = r.value; __VA_ARGS__; \
    u32 offset; memory *m = bus_memory(s, c->group, address, 4, &offset); \
    const u32 objection = !m ? FAULT_UNMAPPED : s->checker.checks ? check_access(s, m, address, 4, 1) : FAULT_NONE; \
    if (UNLIKELY(objection)) { mempool_object(s, c, objection, ip->pc, t, address, 4, 1); goto stopped; } \
    memcpy(m->data + offset, &R, 4); END_ATOMIC(M); NEXT; }

#define HANDLE_CSR(form, operation) { SETTLE(form); u32 operand = FORM_##form == FORM_CSRI ? ip->rs1 : X(rs1); \
    X(rd) = mempool_csr(c, (u32)ip->imm, operation, operand, operation == CSR_WRITE || ip->rs1, t, n); n++; t++; NEXT; }
#define HANDLE_MRET(form, ...) { n++; t++; ip = code_at(s, c->group, c->mepc); goto jumped; }
#define HANDLE_WFI(form, ...) { WAIT_TURN(); if (!k->wakes) { c->wait_rd = ZERO_SINK; goto block; } \
    k->wakes--; n++; t++; if (t < k->woken_at) { c->stall[STALL_SLEEP] += k->woken_at - t; t = k->woken_at; } NEXT; }
#define HANDLE_FENCEI(form, ...) { WAIT_TURN(); c->ip = ip; mempool_flush(s); code_flush(s); n++; t++; ip += 2; goto jumped; }

enum { LINE = 64 }; /* of this machine's cache */

#define FORM(name, use) use,
static const u8 FORM_USE[] = {FORMS};
#undef FORM

static void note_access(mempool_core *k, u64 ready) {
    k->returns[k->accesses] = ready;
    k->accesses = k->accesses + 1 < k->most_accesses ? k->accesses + 1 : 0;
    k->room = k->returns[k->accesses];
}

/* When everything is done that is under way. */
static u64 all_done(const mempool_core *k, u64 now) {
    u64 done = later(now, k->stored);
    for (u32 i = 0; i < sizeof k->ready / sizeof k->ready[0]; i++) done = later(done, k->ready[i]);
    return done;
}

/* One quotient at a time in a tile. */
static u64 divided(tile *own, u64 now) { return own->divider_free = later(own->divider_free, now) + MEMPOOL_DIVIDE; }

/* Bit i of the result is bit i ^ flip. */
static u64 flipped(u64 bits, u32 flip) {
    if (flip & 1) bits = (bits >> 1 & 0x5555555555555555) | (bits & 0x5555555555555555) << 1;
    if (flip & 2) bits = (bits >> 2 & 0x3333333333333333) | (bits & 0x3333333333333333) << 2;
    if (flip & 4) bits = (bits >> 4 & 0x0f0f0f0f0f0f0f0f) | (bits & 0x0f0f0f0f0f0f0f0f) << 4;
    if (flip & 8) bits = (bits >> 8 & 0x00ff00ff00ff00ff) | (bits & 0x00ff00ff00ff00ff) << 8;
    if (flip & 16) bits = (bits >> 16 & 0x0000ffff0000ffff) | (bits & 0x0000ffff0000ffff) << 16;
    return flip & 32 ? bits >> 32 | bits << 32 : bits;
}

/* Time moves on, and those who act then get in line: in every turn in another order, so that nobody is preferred. 0 if there are none. */
static int form_line(sim *s) {
    mempool *p = pool_of(s);
    u64 words[ACTOR_WORDS];
    if (!s->queue.ready && !queue_advance(&s->queue)) return 0;
    const u32 count = (s->cores + s->devices + 63) / 64;
    const u32 order = (u32)(s->queue.now / TURN) * 0x9e3779b1u; /* the upper bits of a product with an odd number are well mixed */
    queue_take_all(&s->queue, words);
    p->flip = order >> 26, p->first_word = (order >> 16) % count, p->words = count;
    for (u32 i = 0; i < count; i++) {
        const u64 bits = words[(i + p->first_word) % count];
        p->line[i] = bits ? flipped(bits, p->flip) : 0;
        p->in_line |= (u64)(bits != 0) << i;
    }
    return 1;
}

static u32 actor_in_line(const mempool *p, u32 word, u64 bits) {
    const u32 at = word + p->first_word;
    return (at < p->words ? at : at - p->words) * 64 + ((u32)__builtin_ctzll(bits) ^ p->flip);
}

/* What a core has that will have the next turn. */
static void expect(const core *c, const mempool_core *k) {
    for (u32 at = 0; at < sizeof c->x; at += LINE) __builtin_prefetch((const u8 *)c + at);
    for (u32 at = 0; at < sizeof k->ready + LINE; at += LINE) __builtin_prefetch((const u8 *)k + at);
    __builtin_prefetch(&c->ip), __builtin_prefetch(&c->local), __builtin_prefetch(c->counted), __builtin_prefetch(&c->own);
}

/* The first in line, which is not empty. */
static u32 next_in_line(sim *s) {
    mempool *p = pool_of(s);
    const u32 word = (u32)__builtin_ctzll(p->in_line);
    const u64 bits = p->line[word], rest = p->line[word] = bits & (bits - 1);
    if (!rest) p->in_line &= p->in_line - 1;
    const u32 next = rest ? actor_in_line(p, word, rest) : s->cores;
    if (next < s->cores) expect(&s->core[next], &p->core[next]);
    return actor_in_line(p, word, bits);
}

/* All who want something in a turn get in line at its beginning, so that nobody is first because others had to wait before. */
static void await_turn(sim *s, const core *c) { queue_push(&s->queue, c->id, c->t - c->t % TURN); }

/* The core whose turn it is, or NULL at the end of a run; devices have their turns in between. */
static core *next_core(sim *s) {
    for (;;) {
        if (!pool_of(s)->in_line && !form_line(s)) {
            sim_fault(s, FAULT_DEADLOCK, NULL, 0, s->queue.now, 0, 0, 0);
            return NULL;
        }
        const u64 now = s->queue.now;
        if (UNLIKELY(now >= s->stop)) {
            sim_fault(s, FAULT_LIMIT, NULL, 0, now, 0, 0, 0);
            return NULL;
        }
        const u32 actor = s->running = next_in_line(s);
        if (actor >= s->cores) {
            if (!device_turn(s, actor, now)) return NULL;
            continue;
        }
        if (now - pool_of(s)->turn >= TURN) book_turn(pool_of(s), now - now % TURN);
        core *c = &s->core[actor];
        if (UNLIKELY(c->status != CORE_RUNNING || c->t - pool_of(s)->turn >= TURN)) {
            if (c->status == CORE_RUNNING) ask_again(s, actor, c->t - c->t % TURN);
            continue;
        }
        if (LIKELY(!s->is_locked) || c->id == s->only_core) return c;
        c->t += TURN;
        await_turn(s, c);
    }
}

/* The core that was stopped in its turn goes on first, so that results do not depend on stops. */
static core *begin_turn(sim *s) {
    mempool *p = pool_of(s);
    core *c = p->unfinished ? &s->core[p->unfinished - 1] : NULL;
    p->unfinished = 0;
    if (c && c->status == CORE_RUNNING && !(s->is_locked && c->id != s->only_core)) return c;
    if (c && c->status == CORE_RUNNING) c->t += TURN, await_turn(s, c);
    return next_core(s);
}

void mempool_run(sim *s) {
    static const void *const plain[MP_COUNT] = {
        SPECIAL_OPERATIONS(L_DECODE, L_ILLEGAL),
#define RV(name, ...) [MP_##name] = &&L_##name,
#include "mempool/mempool.def"
#undef RV
    };
    static const void *const hooked[MP_COUNT] = {
        SPECIAL_OPERATIONS(L_DECODE, L_ILLEGAL),
#define RV(name, ...) [MP_##name] = &&L_hook,
#include "mempool/mempool.def"
#undef RV
    };
    mempool *const p = pool_of(s);
    const void *const *table = plain;
    core *c = NULL;
    mempool_core *k = NULL;
    insn *ip = NULL;
    u64 t = 0, n = 0, horizon = 0;
    u32 line, cause;
    goto pick;

suspend:
    c->ip = ip;
    c->t = t;
    c->instructions = n;
    await_turn(s, c);
pick:
    if (!(c = begin_turn(s))) return;
    k = core_of(c);
    horizon = p->turn + TURN;
    p->used |= 1ull << k->tile;
    ip = c->ip;
    t = c->t;
    n = c->instructions;
    table = c->hooked ? hooked : plain;
    if (UNLIKELY(!c->resume)) goto check_jump;
    goto *c->resume;

block: /* somebody wakes this core */
    n++;
    c->wait_since = t;
    c->ip = ip + 2;
    c->instructions = n;
    c->resume = &&L_FALL_THROUGH;
    c->status = CORE_WAITING;
    goto pick;

stopped:
    c->ip = ip;
    c->t = t;
    c->instructions = n;
    c->resume = (void *)plain[ip->real];
    p->unfinished = c->id + 1;
    return;

taken:
    ip = UNLIKELY(ip->flags & INSN_FAR) ? code_at(s, c->group, ip->pc + (u32)ip->imm) : (insn *)((char *)ip + ip->imm);
jumped:
    if (UNLIKELY(t >= horizon)) SUSPEND(&&check_jump);
check_jump:
    if (UNLIKELY(ip->real == OP_DECODE)) code_decode(s, c->group, ip);
    line = ip->pc / MEMPOOL_LINE_BYTES;
    if (LIKELY(line == k->line)) goto *table[ip->entry];
    goto fetch;
L_LINE:
    line = ip->pc / MEMPOOL_LINE_BYTES;
    if (line == k->line) goto *table[ip->start];
fetch: {
    if (LIKELY(k->at_hand[line % LINES_AT_HAND] == line)) {
        k->line = line;
        goto *table[ip->start];
    }
    if (UNLIKELY(t >= horizon)) SUSPEND(&&check_jump);
    const u64 there = mempool_fetch(s, c, ip, t);
    c->stall[STALL_FETCH] += there - t;
    t = there;
    goto *table[ip->start];
}

L_PROBE:
    if (t >= horizon) SUSPEND(&&L_PROBE);
    c->instructions = n;
    c->t = t;
    probe_pass(s, c, ip->pc, t, n);
    if (UNLIKELY(s->fault.reason)) goto stopped;
    goto *table[ip->real];

L_FALL_THROUGH:
    goto *table[ip->op];
#define TRAP_CYCLES 1
#include "isa/dispatch_ends.h"
    goto *plain[ip->real];

#define RV(name, mask, match, form, kind, ...) L_##name: HANDLE_##kind(form, __VA_ARGS__)
#include "mempool/mempool.def"
#undef RV
}
