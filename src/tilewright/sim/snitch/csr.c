/* Control and status registers of Snitch cores, and what cores wait for: the barrier and interrupts. */
#include "snitch/snitch.h"

enum {
    CSR_FFLAGS = 0x001, CSR_FRM = 0x002, CSR_FCSR = 0x003, CSR_MSTATUS = 0x300, CSR_MISA = 0x301, CSR_MIE = 0x304, CSR_MTVEC = 0x305,
    CSR_MSCRATCH = 0x340, CSR_MEPC = 0x341, CSR_MCAUSE = 0x342, CSR_MTVAL = 0x343, CSR_MIP = 0x344, CSR_STREAMS = 0x7c0, CSR_FMODE = 0x800,
    CSR_MCYCLE = 0xb00, CSR_MINSTRET = 0xb02, CSR_CYCLE = 0xc00, CSR_INSTRET = 0xc02, CSR_HART = 0xf14,
};
enum { MSTATUS_RESET = 0x6000, MISA = 0x40000000 | 1 << 0 | 1 << 3 | 1 << 5 | 1 << 8 | 1 << 12 };

/* Registers of the floating-point unit are accessed when it has nothing to do. */
int snitch_csr_waits(u32 number) { return number <= CSR_FCSR || number == CSR_STREAMS || number == CSR_FMODE; }

static u32 csr_read(const core *c, u32 number, u64 now, u64 instructions) {
    switch (number) {
    case CSR_FFLAGS: return c->fcsr_flags;
    case CSR_FRM: return c->frm;
    case CSR_FCSR: return c->frm << 5 | c->fcsr_flags;
    case CSR_MSTATUS: return c->mstatus;
    case CSR_MISA: return MISA;
    case CSR_MIE: return c->mie;
    case CSR_MTVEC: return c->mtvec;
    case CSR_MSCRATCH: return c->mscratch;
    case CSR_MEPC: return c->mepc;
    case CSR_MCAUSE: return c->mcause;
    case CSR_MTVAL: return c->mtval;
    case CSR_MIP: return snitch_of(c)->mip;
    case CSR_STREAMS: return snitch_of(c)->streams_on;
    case CSR_FMODE: return snitch_of(c)->fmode;
    case CSR_MCYCLE: case CSR_CYCLE: return (u32)now;
    case CSR_MINSTRET: case CSR_INSTRET: return (u32)instructions;
    case CSR_HART: return c->hart;
    default: return 0;
    }
}

static void csr_write(core *c, u32 number, u32 value, u64 now) {
    switch (number) {
    case CSR_FFLAGS: c->fcsr_flags = value & 31; break;
    case CSR_FRM: c->frm = value & 7; break;
    case CSR_FCSR: c->fcsr_flags = value & 31, c->frm = value >> 5 & 7; break;
    case CSR_MSTATUS: c->mstatus = MSTATUS_RESET | (value & 0x1888); break;
    case CSR_MIE: c->mie = value; break;
    case CSR_MTVEC: c->mtvec = value, c->trap_handler_set = 1; break;
    case CSR_MSCRATCH: c->mscratch = value; break;
    case CSR_MEPC: c->mepc = value & ~3u; break;
    case CSR_MCAUSE: c->mcause = value; break;
    case CSR_MTVAL: c->mtval = value; break;
    case CSR_STREAMS: streams_switch(c, value & 1, now); break;
    case CSR_FMODE: snitch_of(c)->fmode = value & 3; break;
    default: break;
    }
}

u32 snitch_csr(sim *s, core *c, u32 number, u32 operation, u32 operand, int writes, u64 now, u64 instructions) {
    (void)s;
    u32 old = csr_read(c, number, now, instructions);
    if (writes) csr_write(c, number, operation == CSR_WRITE ? operand : operation == CSR_SET ? old | operand : old & ~operand, now);
    return old;
}

/* A core comes to the barrier: 1 if it is the last one, which lets the others go on. */
int snitch_barrier(sim *s, core *c, u64 now) {
    snitch_of(c)->is_at_barrier = 1;
    for (u32 i = 0; i < s->cores; i++)
        if (!snitch_of(&s->core[i])->is_at_barrier) return 0;
    for (u32 i = 0; i < s->cores; i++) {
        snitch_of(&s->core[i])->is_at_barrier = 0;
        if (i != c->id) sim_wake(s, i, now + SNITCH_WAKE, 0);
    }
    return 1;
}

/* An interrupt line of a core goes up or down; one that is enabled ends wfi, whether or not interrupts are taken. */
void snitch_interrupt(sim *s, u32 id, u32 line, int is_up, u64 now) {
    core *c = &s->core[id];
    snitch *n = snitch_of(c);
    n->mip = is_up ? n->mip | 1u << line : n->mip & ~(1u << line);
    if ((n->mip & c->mie) && c->status == CORE_WAITING && !n->is_at_barrier) sim_wake(s, id, now + SNITCH_WAKE, 0);
}
