/* Control and status registers of MemPool's cores. */
#include "mempool/mempool.h"

enum {
    CSR_MSTATUS = 0x300, CSR_MISA = 0x301, CSR_MIE = 0x304, CSR_MTVEC = 0x305, CSR_MSCRATCH = 0x340, CSR_MEPC = 0x341, CSR_MCAUSE = 0x342,
    CSR_MTVAL = 0x343, CSR_TRACE = 0x7d0, CSR_STACK_LIMIT = 0x7d1, CSR_MCYCLE = 0xb00, CSR_MINSTRET = 0xb02, CSR_MCYCLEH = 0xb80,
    CSR_MINSTRETH = 0xb82, CSR_CYCLE = 0xc00, CSR_INSTRET = 0xc02, CSR_CYCLEH = 0xc80, CSR_INSTRETH = 0xc82, CSR_HART = 0xf14,
};
enum { MISA = 0x40000000 | 1 << 0 | 1 << 8 | 1 << 12 | 1 << 23 };

static u32 *plain(core *c, u32 number) {
    switch (number) {
    case CSR_MSTATUS: return &c->mstatus;
    case CSR_MIE: return &c->mie;
    case CSR_MTVEC: return &c->mtvec;
    case CSR_MSCRATCH: return &c->mscratch;
    case CSR_MEPC: return &c->mepc;
    case CSR_MCAUSE: return &c->mcause;
    case CSR_MTVAL: return &c->mtval;
    case CSR_TRACE: return &core_of(c)->trace;
    case CSR_STACK_LIMIT: return &core_of(c)->stack_limit;
    default: return NULL;
    }
}

static u32 counter(const core *c, u32 number, u64 now, u64 instructions) {
    switch (number) {
    case CSR_MISA: return MISA;
    case CSR_MCYCLE: case CSR_CYCLE: return (u32)now;
    case CSR_MCYCLEH: case CSR_CYCLEH: return (u32)(now >> 32);
    case CSR_MINSTRET: case CSR_INSTRET: return (u32)instructions;
    case CSR_MINSTRETH: case CSR_INSTRETH: return (u32)(instructions >> 32);
    case CSR_HART: return c->hart;
    default: return 0;
    }
}

u32 mempool_csr(core *c, u32 number, u32 operation, u32 operand, int writes, u64 now, u64 instructions) {
    u32 *const at = plain(c, number), old = at ? *at : counter(c, number, now, instructions);
    if (!at || !writes) return old;
    *at = operation == CSR_WRITE ? operand : operation == CSR_SET ? old | operand : old & ~operand;
    if (number == CSR_MTVEC) c->trap_handler_set = 1;
    return old;
}
