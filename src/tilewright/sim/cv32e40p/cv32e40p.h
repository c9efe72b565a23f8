/* RI5CY and CV32E40P: cores whose stalls are known when code is decoded. */
#ifndef TW_CV32E40P_H
#define TW_CV32E40P_H
#include "cv32e40p/timing.h"
#include "engine/sim.h"
#include "isa/insn.h"
#include "kinds/kinds.h"
#include "vectors/unit.h"

/* cv32e40p/core.c */
void core_run(sim *s);
/* cv32e40p/decode.c */
void loop_end(sim *s, core *c, u32 loop, u32 end);
u32 loop_hazard(sim *s, core *c, u32 loop, insn *first);
int insn_reads(const insn *consumer, const insn *producer);
u32 insn_kind(const insn *slot);
/* cv32e40p/csr.c */
u32 csr_access(sim *s, core *c, u32 number, u32 operation, u32 operand, int writes, u64 now, u64 instructions);
void csr_count(sim *s, core *c, const insn *ip);
#endif
