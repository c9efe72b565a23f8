/* What a kind of core is timed by, and the constants of instruction caches. Sources: [c01] ... = calibration program that measures it;
 * [S n] = section n of the programmer's model; [GV] = read in the published models of the chip's simulator. Numbers are cycles. */
#ifndef TW_TIMING_H
#define TW_TIMING_H
#include "engine/base.h"

/* As sim/core_timing.py has them, in this order. */
enum { PREDICT_NONE, PREDICT_LAST_BACKWARD, PREDICT_BACKWARD };

/* Extra cycles beyond the one that every instruction takes. */
typedef struct {
    u32 load_use;      /* next instruction reads a loaded register */
    u32 taken_branch;  /* conditional branch taken */
    u32 jump;          /* jal, jalr */
    u32 jump_use;      /* jalr through the result of the instruction before, or of a load before that one */
    u32 split_target;  /* jump or taken branch to four bytes that lie in two words */
    u32 mul, mul_use;  /* 32-bit product; its use by the next instruction */
    u32 mulh, mulh_use;
    u32 fpu_divide;    /* fdiv, fsqrt: cycles of the shared unit */
    u32 elw_answered;  /* event load that is answered at once */
    u32 elw_wake;      /* event to next instruction after a sleeping event load */
    u32 float_load_repeat; /* flw to the register that the flw just before wrote */
    u32 load_lost;     /* arithmetic into the register that the load just before wrote */
    u32 csr_flush;     /* access to a control register that empties the pipeline */
    u32 fence;         /* fence, fence.i */
    u32 jump_own;      /* jalr that links into its own address register */
    u32 divider;       /* how the steps of a division are counted */
    u32 loop_unit;     /* bytes per unit of a hardware loop immediate */
    u32 load, store;   /* every load, every store */
    u32 divide;        /* div, divu, rem, remu, where all take the same */
    u32 predictor;     /* which branches are expected to be taken; those that are guessed take no taken_branch */
} core_timing;

enum {
    FETCH_LINE_BYTES = 16,   /* [S 4.1] */
    FETCH_REFILL = 2,        /* [c04] every cache level adds this to the wait of the level below */
    FETCH_QUEUED_MISS = 2,   /* [GV] cycles from the answer to one miss to the first access for another that waited behind it */
};
#endif
