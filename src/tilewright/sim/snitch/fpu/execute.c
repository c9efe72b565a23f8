/* What floating-point instructions compute: the rows of snitch.def as cases. */
#include "floats/float32_host.h"
#include "floats/packed_float.h"
#include "snitch/snitch.h"

static const lanes S_LANES = {&FORMAT_S, &FORMAT_D, 32}, H_LANES = {&FORMAT_H, &FORMAT_S, 16}, B_LANES = {&FORMAT_B, &FORMAT_H, 8};
static const lanes H_LANES_OTHER = {&FORMAT_H_OTHER, &FORMAT_S, 16}, B_LANES_OTHER = {&FORMAT_B_OTHER, &FORMAT_H_OTHER, 8};
#define LANES_S (&S_LANES)
#define LANES_H (snitch_of(c)->fmode & 1 ? &H_LANES_OTHER : &H_LANES)
#define LANES_B (snitch_of(c)->fmode & 1 ? &B_LANES_OTHER : &B_LANES)

/* The host's own operations, without a call. */
#define f32_fma f32_fma_quick
#define f32_add f32_add_quick
#define f32_mul f32_mul_quick
#define BOX(value) (0xffffffff00000000ull | (value))
enum { SINGLE_NAN = 0x7fc00000 };

/* A register that does not hold a single number reads as NaN; elements of streams are not looked at. */
static u32 single(u64 bits, int is_unchecked) { return is_unchecked || bits >> 32 == 0xffffffff ? (u32)bits : SINGLE_NAN; }

static u64 repeated(u64 value, u32 bits) {
    if (!bits) return value;
    value &= ~0ull >> (64 - bits);
    for (; bits < 64; bits *= 2) value |= value << bits;
    return value;
}

#define FFLAGS (&c->fcsr_flags)
#define SKIP(...)
#define CASE_ALU SKIP
#define CASE_NOP SKIP
#define CASE_JAL SKIP
#define CASE_JALR SKIP
#define CASE_BRANCH SKIP
#define CASE_MUL SKIP
#define CASE_MULH SKIP
#define CASE_DECLARED SKIP
#define CASE_DIV SKIP
#define CASE_DIVU SKIP
#define CASE_LOAD SKIP
#define CASE_STORE SKIP
#define CASE_LR SKIP
#define CASE_SC SKIP
#define CASE_AMO SKIP
#define CASE_CSR SKIP
#define CASE_TRAP SKIP
#define CASE_MRET SKIP
#define CASE_WFI SKIP
#define CASE_FENCEI SKIP
#define CASE_FREP SKIP
#define CASE_DMA SKIP
#define CASE_DMA_START SKIP
#define CASE_DMA_STATUS SKIP
#define CASE_FLOAD SKIP
#define CASE_DLOAD SKIP
#define CASE_FSTORE SKIP
#define CASE_DSTORE SKIP
#define CASE_STREAM_READ SKIP
#define CASE_STREAM_WRITE SKIP

/* ---- through the queue ---- */
#define RM e->rm
#define FA single(a, unchecked & 1)
#define FB single(b, unchecked & 2)
#define FC single(d, unchecked & 4)
#define DA a
#define DB b
#define DC d
#define VA a
#define VB b
#define VC d
#define SINGLE(name, ...) case SN_##name: { u32 FR; __VA_ARGS__; return BOX(FR); }
#define DOUBLE(name, ...) case SN_##name: { u64 DR; __VA_ARGS__; return DR; }
#define PACKED_CASE(name, ...) case SN_##name: { u64 VR; b = repeated(b, e->lanes_repeat); __VA_ARGS__; return VR; }
#define CASE_FOP SINGLE
#define CASE_FPICK SINGLE
#define CASE_FDIV SINGLE
#define CASE_DOP DOUBLE
#define CASE_DPICK DOUBLE
#define CASE_DDIV DOUBLE
#define CASE_VOP PACKED_CASE
#define CASE_VPICK PACKED_CASE
#define CASE_VPACK PACKED_CASE
#define CASE_FTOX SKIP
#define CASE_FMVX SKIP
#define CASE_DTOX SKIP
#define CASE_VTOX SKIP
#define CASE_XTOF SKIP
#define CASE_FMVF SKIP
#define CASE_XTOD SKIP
#define CASE_FTOD SKIP
#define CASE_DTOF SKIP
#define RV(name, mask, match, form, kind, ...) CASE_##kind(name, __VA_ARGS__)
u64 fpu_execute(core *c, const fpu_entry *e, u64 a, u64 b, u64 d, int unchecked) {
    switch (e->op) {
#include "snitch/snitch.def"
    default: return 0;
    }
}
#undef RV

/* ---- past the queue: to the integer core ---- */
#undef RM
#undef CASE_FOP
#undef CASE_FPICK
#undef CASE_FDIV
#undef CASE_DOP
#undef CASE_DPICK
#undef CASE_DDIV
#undef CASE_VOP
#undef CASE_VPICK
#undef CASE_VPACK
#undef CASE_FTOX
#undef CASE_FMVX
#undef CASE_DTOX
#undef CASE_VTOX
#define CASE_FOP SKIP
#define CASE_FPICK SKIP
#define CASE_FDIV SKIP
#define CASE_DOP SKIP
#define CASE_DPICK SKIP
#define CASE_DDIV SKIP
#define CASE_VOP SKIP
#define CASE_VPICK SKIP
#define CASE_VPACK SKIP
#define RM (ip->rm == 7 ? c->frm : ip->rm)
#define TO_X(name, ...) case SN_##name: { __VA_ARGS__; return R; }
#define CASE_FTOX TO_X
#define CASE_FMVX(name, ...) case SN_##name: return (u32)a;
#define CASE_DTOX TO_X
#define CASE_VTOX(name, ...) case SN_##name: { b = repeated(b, ip->rm & 4 ? lane_bits(ip->rm) : 0); __VA_ARGS__; return R; }
#define RV(name, mask, match, form, kind, ...) CASE_##kind(name, __VA_ARGS__)
u32 fpu_to_integer(core *c, const insn *ip) {
    u64 a = snitch_of(c)->f[ip->rs1], b = snitch_of(c)->f[ip->rs2];
    const int unchecked = 0;
    u32 R = 0;
    switch (ip->real) {
#include "snitch/snitch.def"
    default: return 0;
    }
}
#undef RV

/* ---- past the queue: from the integer core, and between formats ---- */
#undef CASE_FTOX
#undef CASE_FMVX
#undef CASE_DTOX
#undef CASE_VTOX
#undef CASE_XTOF
#undef CASE_FMVF
#undef CASE_XTOD
#undef CASE_FTOD
#undef CASE_DTOF
#define CASE_FTOX SKIP
#define CASE_FMVX SKIP
#define CASE_DTOX SKIP
#define CASE_VTOX SKIP
#define TO_SINGLE(name, ...) case SN_##name: { u32 FR; __VA_ARGS__; *to = BOX(FR); return; }
#define TO_DOUBLE(name, ...) case SN_##name: { u64 DR; __VA_ARGS__; *to = DR; return; }
#define CASE_XTOF TO_SINGLE
#define CASE_FMVF TO_SINGLE
#define CASE_DTOF TO_SINGLE
#define CASE_XTOD TO_DOUBLE
#define CASE_FTOD TO_DOUBLE
#define RV(name, mask, match, form, kind, ...) CASE_##kind(name, __VA_ARGS__)
void fpu_from_integer(core *c, const insn *ip, u32 A) {
    u64 a = snitch_of(c)->f[ip->rs1], *to = &snitch_of(c)->f[ip->rd];
    const int unchecked = 0;
    switch (ip->real) {
#include "snitch/snitch.def"
    default: return;
    }
}
#undef RV
