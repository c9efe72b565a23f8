/* Control and status registers. */
#include "cv32e40p/cv32e40p.h"

enum {
    CSR_FFLAGS = 0x001, CSR_FRM = 0x002, CSR_FCSR = 0x003, CSR_HART_OLD = 0x014,
    CSR_MSTATUS = 0x300, CSR_MISA = 0x301, CSR_MIE = 0x304, CSR_MTVEC = 0x305,
    CSR_MSCRATCH = 0x340, CSR_MEPC = 0x341, CSR_MCAUSE = 0x342, CSR_MTVAL = 0x343, CSR_MIP = 0x344,
    CSR_PCCR0 = 0x780, CSR_PCCR_ALL = 0x79f, CSR_LOOP0 = 0x7c0, CSR_LOOP1 = 0x7c4, CSR_CV_LOOP0 = 0xcc0, CSR_CV_LOOP1 = 0xcc4,
    CSR_MCYCLE = 0xb00, CSR_MINSTRET = 0xb02, CSR_MCYCLEH = 0xb80, CSR_MINSTRETH = 0xb82,
    CSR_CYCLE = 0xc00, CSR_INSTRET = 0xc02, CSR_CYCLEH = 0xc80, CSR_INSTRETH = 0xc82,
    CSR_PCER = 0xcc0, CSR_PCMR = 0xcc1, CSR_HART = 0xf14,
};
enum { MSTATUS_RESET = 0x6000, MISA = 0x40000000, PCCRS = 31 };
enum { EVENT_CYCLES, EVENT_INSTRUCTIONS, EVENT_LOAD_STALLS, EVENT_JUMP_STALLS, EVENT_FETCH_STALLS, EVENT_LOADS, EVENT_STORES,
       EVENT_JUMPS, EVENT_BRANCHES, EVENT_TAKEN, EVENT_COMPRESSED };

static u64 counter_now(const core *c, u32 event, u64 now, u64 instructions) {
    switch (event) {
    case EVENT_CYCLES: return now;
    case EVENT_INSTRUCTIONS: return instructions;
    case EVENT_FETCH_STALLS: return c->stall[STALL_FETCH];
    case EVENT_LOAD_STALLS: return c->counted[COUNT_LOAD_STALLS];
    case EVENT_LOADS: return c->counted[COUNT_LOADS];
    case EVENT_STORES: return c->counted[COUNT_STORES];
    case EVENT_JUMPS: return c->counted[COUNT_JUMPS];
    case EVENT_BRANCHES: return c->counted[COUNT_BRANCHES];
    case EVENT_TAKEN: return c->counted[COUNT_TAKEN];
    case EVENT_COMPRESSED: return c->counted[COUNT_COMPRESSED];
    default: return 0;
    }
}

/* A counter holds a value and, while counting is on, what the event's total was when that value was set. */
static u32 read_counter(const core *c, u32 event, u64 now, u64 instructions) {
    u32 value = c->pccr[event];
    if ((c->pcmr & 1) && (c->pcer >> event & 1)) value += (u32)(counter_now(c, event, now, instructions) - c->pccr_base[event]);
    return value;
}

static void set_counter(core *c, u32 event, u32 value, u64 now, u64 instructions) {
    c->pccr[event] = value;
    c->pccr_base[event] = counter_now(c, event, now, instructions);
}

static void set_counting(sim *s, core *c, u32 enable, u32 mode, u64 now, u64 instructions) {
    for (u32 e = 0; e < PCCRS; e++) c->pccr[e] = read_counter(c, e, now, instructions);
    c->pcer = enable;
    c->pcmr = mode;
    for (u32 e = 0; e < PCCRS; e++) c->pccr_base[e] = counter_now(c, e, now + 1, instructions + 1);
    c->hooked = s->breakpoints || s->is_stepping || s->observer.watching || (mode & 1);
}

/* Loads of every addressing mode stand in the table as lb, lh, lw, lbu, lhu. */
static u32 load_bytes(const insn *ip) {
    static const u8 BYTES[] = {1, 2, 4, 1, 2};
    if (ip->real == OP_flw) return 4;
    return BYTES[(ip->real - (ip->real < OP_p_lb_pi ? OP_lb : OP_p_lb_pi)) % 5];
}

static u32 load_address(const core *c, const insn *ip) {
    if (insn_kind(ip) == KIND_LOADPOST) return c->x[ip->rs1];
    int is_indexed = ip->real >= OP_p_lb_rr && ip->real <= OP_p_lhu_rr;
    return c->x[ip->rs1] + (is_indexed ? c->x[ip->rs2] : (u32)ip->imm);
}

/* Called before every instruction of a core that counts. */
void csr_count(sim *s, core *c, const insn *ip) {
    (void)s;
    if (c->previous_next == ip->pc && !c->hide_load_stall) c->counted[COUNT_LOAD_STALLS] += ip->dep;
    c->hide_load_stall = 0;
    c->previous_next = ip->pc + ip->len;
    c->counted[COUNT_COMPRESSED] += ip->len == 2;
    switch (insn_kind(ip)) {
    case KIND_LOAD: case KIND_LOADPOST: case KIND_FLOAD:
        c->counted[COUNT_LOADS] += (load_address(c, ip) & 3) + load_bytes(ip) > 4 ? 2 : 1; /* [c28] two accesses */
        break;
    case KIND_STORE: case KIND_STOREPOST: case KIND_FSTORE: c->counted[COUNT_STORES]++; break;
    default: break;
    }
}

static u32 *loop_register(core *c, u32 number) {
    u32 loop = number >> 2 & 1;
    switch (number & 3) {
    case 0: return &c->lp_start[loop];
    case 1: return &c->lp_end[loop];
    case 2: return &c->lp_count[loop];
    default: return NULL;
    }
}

static int is_loop(const sim *s, const core *c, u32 number) {
    u32 base = s->view[c->group].flavour == FLAVOUR_COREV ? CSR_CV_LOOP0 : CSR_LOOP0;
    return number >= base && number < base + 7 && number != base + 3;
}

static u32 csr_read(sim *s, core *c, u32 number, u64 now, u64 instructions) {
    if (c->own && vector_csr(number)) return vector_csr_read(c->own, number);
    if (is_loop(s, c, number)) return *loop_register(c, number);
    if (number >= CSR_PCCR0 && number < CSR_PCCR0 + PCCRS) return read_counter(c, number - CSR_PCCR0, now, instructions);
    switch (number) {
    case CSR_FFLAGS: return c->fcsr_flags;
    case CSR_FRM: return c->frm;
    case CSR_FCSR: return c->frm << 5 | c->fcsr_flags;
    case CSR_HART: case CSR_HART_OLD: return c->hart;
    case CSR_MSTATUS: return c->mstatus;
    case CSR_MISA: return MISA;
    case CSR_MIE: return c->mie;
    case CSR_MTVEC: return c->mtvec;
    case CSR_MSCRATCH: return c->mscratch;
    case CSR_MEPC: return c->mepc;
    case CSR_MCAUSE: return c->mcause;
    case CSR_MTVAL: return c->mtval;
    case CSR_MCYCLE: case CSR_CYCLE: return (u32)now;
    case CSR_MCYCLEH: case CSR_CYCLEH: return (u32)(now >> 32);
    case CSR_MINSTRET: case CSR_INSTRET: return (u32)instructions;
    case CSR_MINSTRETH: case CSR_INSTRETH: return (u32)(instructions >> 32);
    case CSR_PCER: return c->pcer;
    case CSR_PCMR: return c->pcmr;
    default: return 0;
    }
}

static void loop_write(sim *s, core *c, u32 number, u32 value) {
    u32 loop = number >> 2 & 1;
    *loop_register(c, number) = value;
    if ((number & 3) == 0) c->lp_ip[loop] = NULL;
    if ((number & 3) == 1) loop_end(s, c, loop, value);
}

static void csr_write(sim *s, core *c, u32 number, u32 value, u64 now, u64 instructions) {
    if (c->own && vector_csr(number)) {
        vector_csr_write(c->own, number, value);
        return;
    }
    if (is_loop(s, c, number)) {
        loop_write(s, c, number, value);
        return;
    }
    if (number >= CSR_PCCR0 && number <= CSR_PCCR_ALL) {
        u32 first = number == CSR_PCCR_ALL ? 0 : number - CSR_PCCR0, last = number == CSR_PCCR_ALL ? PCCRS - 1 : first;
        for (u32 e = first; e <= last; e++) set_counter(c, e, value, now, instructions);
        return;
    }
    switch (number) {
    case CSR_FFLAGS: c->fcsr_flags = value & 31; break;
    case CSR_FRM: c->frm = value & 7; break;
    case CSR_FCSR: c->fcsr_flags = value & 31, c->frm = value >> 5 & 7; break;
    case CSR_MSTATUS: c->mstatus = MSTATUS_RESET | (value & 0x1888); break;
    case CSR_MIE: c->mie = value; break;
    case CSR_MTVEC: c->mtvec = value, c->trap_handler_set = 1; break;
    case CSR_MSCRATCH: c->mscratch = value; break;
    case CSR_MEPC: c->mepc = value & ~1u; break;
    case CSR_MCAUSE: c->mcause = value; break;
    case CSR_MTVAL: c->mtval = value; break;
    case CSR_PCER: set_counting(s, c, value, c->pcmr, now, instructions); break;
    case CSR_PCMR: set_counting(s, c, c->pcer, value, now, instructions); break;
    default: break;
    }
}

u32 csr_access(sim *s, core *c, u32 number, u32 operation, u32 operand, int writes, u64 now, u64 instructions) {
    u32 old = csr_read(s, c, number, now, instructions);
    if (!writes) return old;
    u32 value = operation == CSR_WRITE ? operand : operation == CSR_SET ? old | operand : old & ~operand;
    csr_write(s, c, number, value, now, instructions);
    return old;
}
