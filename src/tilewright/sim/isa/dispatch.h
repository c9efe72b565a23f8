/* What the loops of all kinds of cores have in common: threaded code over decoded slots, with a label for each operation.
 * Names that they use: the core c, its slot ip, its cycle t, the cycle `horizon` that it must not pass, labels in `plain` and `table`. */
#ifndef TW_DISPATCH_H
#define TW_DISPATCH_H
#include "engine/sim.h"
#include "isa/insn.h"

#define X(field) c->x[ip->field]

/* The second operand, by form. */
#define B_NONE 0u
#define B_U (u32)ip->imm
#define B_J (u32)ip->imm
#define B_IMM (u32)ip->imm
#define B_U5 (u32)ip->imm
#define B_R1 0u
#define B_RR X(rs2)
#define B_RRD X(rs2)
#define B_BR X(rs2)
#define B_BRI ((u32)((i32)((u32)ip->rs2 << 27) >> 27))
#define B_ST (u32)ip->imm
#define B_STR X(rd)
#define B_POST (u32)ip->imm
#define B_POSTR X(rs2)
#define B_BI (u32)ip->imm
#define B_BID (u32)ip->imm
#define B_RN X(rs2)
#define B_RND X(rs2)
#define B_SCH ((X(rs2) & 0xffff) * 0x10001)
#define B_SCHD B_SCH
#define B_SCB ((X(rs2) & 0xff) * 0x1010101)
#define B_SCBD B_SCB
#define B_VSH (u32)ip->imm
#define B_VSHD (u32)ip->imm
#define B_VSB (u32)ip->imm
#define B_VSBD (u32)ip->imm
#define B_VUH (u32)ip->imm
#define B_VUHD (u32)ip->imm
#define B_VUB (u32)ip->imm
#define B_VUBD (u32)ip->imm
#define B_VI (u32)ip->imm
#define B_VID (u32)ip->imm
#define B_HL (u32)ip->imm
#define B_HLC (u32)ip->imm
#define B_HLI (u32)ip->imm
#define B_FLD (u32)ip->imm
#define B_FST (u32)ip->imm
#define B_CSRI 0u
#define B_SW1 0u
#define B_SR2 X(rs2)

/* What a declared instruction finds in its destination: writes to x0 leave nothing there. */
static inline u32 declared_old(const core *c, const insn *ip) { return ip->rd == ZERO_SINK ? 0 : X(rd); }

/* The empty asm differs from handler to handler, which keeps compilers from merging their ends: each has its own jump. */
#define APART() __asm__ volatile("" : : "i"(__COUNTER__))
/* To the slot behind an instruction of four bytes. */
#define NEXT_LONG do { ip += 2; APART(); goto *table[ip->op]; } while (0)
/* Step aside; the instruction is done when this core comes first. */
#define SUSPEND(label) do { c->resume = (label); goto suspend; } while (0)
#define RETRY() SUSPEND((void *)plain[ip->real])
#define WAIT_TURN() do { if (UNLIKELY(t >= horizon)) RETRY(); } while (0)
#define HANDLE_TRAP(form, number) { cause = number; goto trap; }
#define SIZE_INDEX(type) (sizeof(type) >> 1) /* of 1, 2, 4 bytes */

/* First entries of a table of labels; how a jump to new code goes on, and the end of a hardware loop. */
#define SPECIAL_OPERATIONS(decode_jump, loop) \
    [OP_DECODE] = &&L_DECODE, [OP_DECODE_JUMP] = &&decode_jump, [OP_LINE] = &&L_LINE, [OP_LOOP] = &&loop, [OP_PROBE] = &&L_PROBE, \
    [OP_NEXT_PAGE] = &&L_NEXT_PAGE, [OP_ILLEGAL] = &&L_ILLEGAL, [OP_UNMAPPED] = &&L_UNMAPPED

/* A store by somebody else ends a reservation; it is known by the value that it leaves. */
static int is_still_reserved(sim *s, const core *c, u32 address) {
    const u8 *at = c->reserved && c->reservation == address ? bus_pointer(s, c->group, address, 4) : NULL;
    return at && !memcmp(at, &c->reserved_value, 4);
}

/* The first in the order of cycles, or -1 at the end of a run. */
static inline int next_actor(sim *s) {
    const int actor = queue_pop(&s->queue);
    if (UNLIKELY(actor < 0)) {
        sim_fault(s, FAULT_DEADLOCK, NULL, 0, s->queue.now, 0, 0, 0);
        return -1;
    }
    if (UNLIKELY(s->queue.now >= s->stop)) {
        queue_push(&s->queue, (u32)actor, s->queue.now);
        sim_fault(s, FAULT_LIMIT, NULL, 0, s->queue.now, 0, 0, 0);
        return -1;
    }
    s->running = (u32)actor;
    return actor;
}

/* An actor has a turn that it no longer wants. Beyond its wheel the queue keeps the first appointment of an actor alone,
 * so that a later one, which it does want, has to be made again. */
static inline void ask_again(sim *s, u32 actor, u64 when) {
    if (when != NEVER && when > s->queue.now) queue_push(&s->queue, actor, when);
}

/* A device has its turn, if it still wants this one; 0 if that ends the run. */
static inline int device_turn(sim *s, u32 actor, u64 now) {
    device *d = &s->device[actor - s->cores];
    if (UNLIKELY(d->next != now)) {
        ask_again(s, actor, d->next);
        return 1;
    }
    d->next = NEVER;
    sim_schedule(s, actor, d->type->tick(s, d, now));
    return LIKELY(!s->fault.reason);
}
#endif
