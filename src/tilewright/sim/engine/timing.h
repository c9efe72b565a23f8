/* Every timing constant that is not a property of one memory or device of a platform description.
 * Sources: [c01] ... = calibration program that measures it; [S n] = section n of the Siracusa programmer's model;
 * [GV] = read in the published models of the chip's simulator; [40P] = CV32E40P user manual, pipeline chapter; [RTL] = measured on its RTL (tests/sim/cv32e40p/test_rtl.py). Numbers are cycles. */
#ifndef TW_TIMING_H
#define TW_TIMING_H
#include "engine/base.h"

enum { DIVIDER_RI5CY, DIVIDER_CV32E40P };

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
    u32 divider;       /* how the steps of a signed division are counted */
    u32 loop_unit;     /* bytes per unit of a hardware loop immediate */
} core_timing;

static const core_timing TIMING_RI5CY = {
    .load_use = 1,          /* [c02] lw_use */
    .taken_branch = 2,      /* [c01] branch_taken */
    .jump = 1,              /* [c01] jal */
    .mul = 1, .mul_use = 1, /* [c01] mul_indep, mul_dep (an artefact of the reference, kept) */
    .mulh = 4, .mulh_use = 1, /* [c01] mulh, mulh_dep */
    .fpu_divide = 14,       /* [c19] t_fdiv */
    .elw_answered = 2,      /* [c07] disp_pop_ready2 */
    .elw_wake = 5,          /* [c07] barrier */
    .float_load_repeat = 1, /* [c19] t_flw */
    .divider = DIVIDER_RI5CY,
    .loop_unit = 2,
};

static const core_timing TIMING_CV32E40P = {
    .load_use = 1,      /* [40P] */
    .taken_branch = 2,  /* [40P] 3 cycles */
    .jump = 1,          /* [40P] 2 cycles */
    .jump_use = 1,      /* [40P] hazards; the load before: [RTL] */
    .split_target = 1,  /* [40P] 3 cycles instead of 2, 4 instead of 3 */
    .mul = 0, .mul_use = 0, /* [40P] 1 cycle */
    .mulh = 4, .mulh_use = 0, /* [40P] 5 cycles */
    .fpu_divide = 11,   /* [40P] FPU chapter */
    .elw_answered = 3,  /* [40P] cv.elw 4 cycles */
    .elw_wake = 5,
    .float_load_repeat = 0,
    .load_lost = 1,     /* [RTL] */
    .csr_flush = 3,     /* [40P] 4 cycles */
    .fence = 3,         /* [RTL]; [40P] says 1 for fence.i */
    .jump_own = 1,      /* [RTL] */
    .divider = DIVIDER_CV32E40P,
    .loop_unit = 4,
};

static const core_timing TIMING_SNITCH = { /* the rest is in snitch/timing.h */
    .jump = 1, .mul = 4, .mulh = 4, /* [s01] */
    .divider = DIVIDER_RI5CY,
};

static const core_timing TIMING_MEMPOOL = {0}; /* all of it is in mempool/timing.h */

/* Iterative divider [c01 div_*], [40P], [RTL]: one step per leading zero of the divisor. */
static inline u32 divider_zeros(u32 divisor) { return divisor ? (u32)__builtin_clz(divisor) : 32; }
static inline u32 divider_steps_unsigned(u32 divisor) { return divider_zeros(divisor) + 2; }
static inline u32 divider_steps_signed(u32 kind, u32 divisor) {
    if (kind == DIVIDER_CV32E40P) return (i32)divisor < 0 ? divider_zeros(~divisor) + 1 : divider_zeros(divisor) + 2;
    if (divisor == 0) return 0;
    return (i32)divisor > 0 ? (u32)__builtin_clz(divisor) + 2 : (u32)__builtin_clz(-divisor) + 1;
}

enum {
    FETCH_LINE_BYTES = 16,   /* [S 4.1] */
    FETCH_REFILL = 2,        /* [c04] every cache level adds this to the wait of the level below */
    FETCH_QUEUED_MISS = 2,   /* [GV] cycles from the answer to one miss to the first access for another that waited behind it */

    DMA_BURST_BYTES = 256,   /* [S 6] */
    DMA_BURSTS_AHEAD = 8,    /* [S 6] unfinished bursts per direction */
    DMA_READ_OVERHEAD = 5,   /* [c12 l2_lw] cycles that a full inbound burst keeps each L2 bank beyond its words; fitted */
    DMA_WRITE_OVERHEAD = 8,  /* [c12 l2_lw] the same of an outbound burst while data comes in; fitted. Alone it has none */
    DMA_PORT_QUEUE = 2,      /* [c11 16_cmds] */
    DMA_GLOBAL_QUEUE = 8,    /* [S 6] */
    DMA_COUNTERS = 16,       /* [c11 alloc16] */

    NPU_START = 1,           /* [S 7.6] commit to first cycle of the state machine */
    /* cycles of its phases that are no memory access [S 7.6, c21] */
    NPU_LOAD_OVERHEAD = 6, NPU_LOAD_OVERHEAD_1X1 = 6, NPU_PREFETCH_LOAD_BIAS = 3,
    NPU_CONTROL_1X1 = 10, NPU_CONTROL_1X1_PREFETCH = 7, NPU_CONTROL_3X3 = 6, NPU_CONTROL_DEPTHWISE = 34,
    NPU_VECTOR_TAIL_3X3 = 8, NPU_SCALE_TAIL = 9, NPU_BIAS_LOADS = 4, NPU_BIAS_TAIL = 8, NPU_STREAM_IN_TAIL = 10, NPU_OUTPUT_TAIL_1X1 = 3,

    /* ITA. [ITA] = read from its RTL; [own] = chosen so that the published utilisation comes out (docs/ita.md) */
    ITA_START = 1,           /* [own] trigger to first cycle of a job, while nothing runs */
    ITA_COMPUTE = 256,       /* [ITA] 64 rows by 4 groups of 16 columns */
    ITA_JOB_TAIL = 11,       /* [own] of every job, beyond its cycles of computing and of access */
    ITA_LAYER_START = 10,    /* [own] before the first job of a layer */
    ITA_CLEAR = 10,          /* [ITA] from a soft clear until it takes registers */

    HYPER_READ_SETUP = 19, HYPER_WRITE_SETUP = 12,      /* [c29] */
    HYPER_READ_PER_10 = 10, HYPER_WRITE_PER_10 = 18,    /* [c29] cycles per 10 bytes */
};
#endif
