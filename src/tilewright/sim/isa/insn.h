/* Operand forms, kinds and numbers of the instructions in insn.def. */
#ifndef TW_INSN_H
#define TW_INSN_H
#include "engine/operations.h"

enum { READS_1 = 1, READS_2 = 2, READS_D = 4, READS_F1 = 8, READS_F2 = 16, READS_F3 = 32, WRITES_X = 64, WRITES_F = 128 };

/* FORM(name, register use): rd = bits 11:7, rs1 = 19:15, rs2 = 24:20; the immediate is made in immediate.c.
 * A trailing D means that the old destination is read. */
#define FORMS \
    FORM(NONE, 0) \
    FORM(U, WRITES_X) FORM(J, WRITES_X) \
    FORM(IMM, READS_1 | WRITES_X) FORM(U5, READS_1 | WRITES_X) FORM(R1, READS_1 | WRITES_X) \
    FORM(RR, READS_1 | READS_2 | WRITES_X) FORM(RRD, READS_1 | READS_2 | READS_D | WRITES_X) \
    FORM(BR, READS_1 | READS_2) FORM(BRI, READS_1) \
    FORM(ST, READS_1 | READS_2) FORM(STR, READS_1 | READS_2 | READS_D) \
    FORM(POST, READS_1 | WRITES_X) FORM(POSTR, READS_1 | READS_2 | WRITES_X) \
    FORM(CSR, READS_1 | WRITES_X) FORM(CSRI, WRITES_X) \
    FORM(HL, READS_1) FORM(HLC, 0) FORM(HLI, 0) \
    FORM(BI, READS_1 | WRITES_X) FORM(BID, READS_1 | READS_D | WRITES_X) \
    FORM(RN, READS_1 | READS_2 | WRITES_X) FORM(RND, READS_1 | READS_2 | READS_D | WRITES_X) \
    FORM(SCH, READS_1 | READS_2 | WRITES_X) FORM(SCHD, READS_1 | READS_2 | READS_D | WRITES_X) \
    FORM(SCB, READS_1 | READS_2 | WRITES_X) FORM(SCBD, READS_1 | READS_2 | READS_D | WRITES_X) \
    FORM(VSH, READS_1 | WRITES_X) FORM(VSHD, READS_1 | READS_D | WRITES_X) \
    FORM(VSB, READS_1 | WRITES_X) FORM(VSBD, READS_1 | READS_D | WRITES_X) \
    FORM(VUH, READS_1 | WRITES_X) FORM(VUHD, READS_1 | READS_D | WRITES_X) \
    FORM(VUB, READS_1 | WRITES_X) FORM(VUBD, READS_1 | READS_D | WRITES_X) \
    FORM(VI, READS_1 | WRITES_X) FORM(VID, READS_1 | READS_D | WRITES_X) \
    FORM(FLD, READS_1 | WRITES_F) FORM(FST, READS_1 | READS_F2) \
    FORM(FF, READS_F1 | READS_F2 | WRITES_F) FORM(FF1, READS_F1 | WRITES_F) \
    FORM(F4, READS_F1 | READS_F2 | READS_F3 | WRITES_F) \
    FORM(FX, READS_F1 | READS_F2 | WRITES_X) FORM(XF, READS_1 | WRITES_F) \
    FORM(FFD, READS_F1 | READS_F2 | READS_F3 | WRITES_F) FORM(FF1D, READS_F1 | READS_F3 | WRITES_F) \
    FORM(SR2, READS_2 | WRITES_X) FORM(SW1, READS_1) \
    FORM(VV, 0) FORM(VS, READS_1) FORM(VS2, READS_1 | READS_2) FORM(VX, WRITES_X) \
    FORM(VSET, READS_1 | WRITES_X) FORM(VSETI, WRITES_X) FORM(VSETR, READS_1 | READS_2 | WRITES_X)

/* KIND(name, acts on shared state, result comes late): float kinds come last. */
#define KINDS \
    KIND(ALU, 0, 0) KIND(MAC, 0, 0) KIND(DOT, 0, 0) KIND(NOP, 0, 0) KIND(JAL, 0, 0) KIND(JALR, 0, 0) KIND(BRANCH, 0, 0) KIND(HWLOOP, 0, 0) \
    KIND(MUL, 0, 1) KIND(MULH, 0, 1) KIND(DIV, 0, 0) KIND(DIVU, 0, 0) KIND(DECLARED, 0, 0) \
    KIND(LOAD, 1, 1) KIND(LOADPOST, 1, 1) KIND(STORE, 1, 0) KIND(STOREPOST, 1, 0) KIND(ELW, 1, 0) \
    KIND(LR, 1, 1) KIND(SC, 1, 1) KIND(AMO, 1, 1) \
    KIND(CSR, 1, 0) KIND(TRAP, 0, 0) KIND(MRET, 0, 0) KIND(WFI, 1, 0) KIND(FENCEI, 1, 0) \
    KIND(VECTOR, 0, 0) KIND(VTOX, 0, 0) KIND(VMOVE, 1, 0) \
    KIND(FLOAD, 1, 1) KIND(FSTORE, 1, 0) KIND(FOP, 1, 0) KIND(FPICK, 1, 0) KIND(FDIV, 1, 0) KIND(FTOX, 1, 0) KIND(XTOF, 1, 0) \
    KIND(FMVX, 0, 0) KIND(FMVF, 0, 0)

#define FORM(name, use) FORM_##name,
enum { FORMS FORM_COUNT };
#undef FORM
#define KIND(name, shared, late) KIND_##name,
enum { KINDS KIND_COUNT };
#undef KIND

/* Instructions that a core may have besides, as sim/platform.py names them: bits of platform_group.extensions. */
enum { EXTENSION_zba, EXTENSION_zbb, EXTENSION_zbs, EXTENSION_zbkb, EXTENSION_zcb, EXTENSION_zve32x };
enum { ZBA = 1 << EXTENSION_zba, ZBB = 1 << EXTENSION_zbb, ZBS = 1 << EXTENSION_zbs, ZBKB = 1 << EXTENSION_zbkb, ZVE32X = 1 << EXTENSION_zve32x };

/* The instructions, behind the operations that are none. */
enum {
    OP_BEFORE_FIRST = OP_FIRST - 1,
#define I(name, ...) OP_##name,
#include "isa/insn.def"
#undef I
    OP_COUNT
};

static inline u32 bits(u32 word, u32 high, u32 low) { return word >> low & (~0u >> (31 - (high - low))); }
/* isa/immediate.c; loop_unit: bytes per unit of a hardware loop's. */
i32 insn_immediate(u32 word, u32 form, u32 loop_unit);
/* isa/rvc.c */
u32 rvc_expand(u32 half);
u32 rvc_expand_zcb(u32 half);

enum { CSR_WRITE, CSR_SET, CSR_CLEAR };
enum { CAUSE_FETCH = 1, CAUSE_ILLEGAL = 2, CAUSE_BREAKPOINT = 3, CAUSE_ECALL = 11 };
#endif
