/* How instructions come into the queue before the floating-point unit: for the loop of the integer core, which includes this once. */
#ifndef TW_FPU_PUSH_H
#define TW_FPU_PUSH_H
#include "snitch/fpu/registers.h"

/* The sequence that frep announced: an outer one is repeated as a whole, of an inner one each instruction by itself. */
static inline void join_body(snitch *n, fpu_entry *e, u32 use) {
    int is_first = n->frep_left-- == n->frep_body, accumulates = e->of.is_packed && (use & READS_F3);
    e->regularity = 0;
    if (!n->frep_repeats) return;
    u32 mask = n->frep_mask, third = accumulates ? mask & 1 : mask >> 3 & 1;
    e->stagger_max = (u8)n->frep_max, e->stagger = (mask & 1) | (mask >> 1 & 1) << 8 | (mask >> 2 & 1) << 16 | third << 24;
    if (n->frep_is_inner) e->repeats = n->frep_repeats;
    else if (is_first) e->body = n->frep_body, e->repeats = n->frep_repeats;
}

static const fpu_traits TRAITS[SNITCH_KIND_COUNT] = {
    [SNITCH_FLOAD] = {.is_access = 1}, [SNITCH_DLOAD] = {.is_access = 1}, [SNITCH_FSTORE] = {.is_access = 1}, [SNITCH_DSTORE] = {.is_access = 1},
    [SNITCH_FOP] = {FPU_ARITHMETIC, 1, 0, 0}, [SNITCH_DOP] = {FPU_ARITHMETIC, 1, 0, 0}, [SNITCH_VOP] = {FPU_ARITHMETIC, 1, 0, 1},
    [SNITCH_FPICK] = {FPU_PICK, FPU_PICK, 0, 0}, [SNITCH_DPICK] = {FPU_PICK, FPU_PICK, 0, 0}, [SNITCH_VPICK] = {FPU_PICK, FPU_PICK, 0, 1},
    [SNITCH_FDIV] = {FPU_DIVIDE, FPU_DIVIDE, 0, 0}, [SNITCH_DDIV] = {FPU_DIVIDE, FPU_DIVIDE, 0, 0}, [SNITCH_VPACK] = {FPU_PACK, 1, 0, 1},
};

static const u8 KIND_OF[SN_COUNT] = {
#define RV(name, mask, match, form, kind, ...) [SN_##name] = SNITCH_##kind,
#include "snitch/snitch.def"
#undef RV
};

static inline void fpu_push(core *c, const insn *ip, u64 now) {
    snitch *n = snitch_of(c);
    fpu_entry *e = &n->queue[(n->first + n->used++) % FPU_QUEUE];
    u32 kind = KIND_OF[ip->real];
    u64 due = e->when = now + FPU_HAND_OVER;
    e->registers = e->named = ip->floats;
    e->stagger = e->repeats = 0;
    e->body = 1;
    e->pc = ip->pc;
    e->of = TRAITS[kind];
    e->op = ip->real, e->kind = (u8)kind, e->rm = ip->rm == 7 ? (u8)c->frm : ip->rm;
    e->lanes_repeat = e->reads = 0;
    e->is_shared = e->of.is_access;
    if (e->of.is_access) e->operand = c->x[ip->rs1] + (u32)ip->imm, n->accesses++;
    else if (e->of.is_packed) e->rm = (u8)c->frm, e->lanes_repeat = ip->rm & 4 ? lane_bits(ip->rm) : 0;
    if (UNLIKELY(n->streams_on)) {
        e->registers = with_streams(ip->floats), e->reads = (u8)streams_read(e->registers);
        e->is_shared = is_seen(e, e->registers, e->reads);
        due |= n->on_fastpath;
    }
    if (n->frep_left) join_body(n, e, ip->dep);
    n->due = earlier(n->due, due);
}
#endif
