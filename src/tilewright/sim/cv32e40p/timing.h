/* Timing of RI5CY and CV32E40P. Sources: [c01] ... = calibration program that measures it; [40P] = CV32E40P user manual, pipeline chapter;
 * [RTL] = measured on its RTL (tests/sim/cv32e40p/test_rtl.py). Numbers are cycles. */
#ifndef TW_CV32E40P_TIMING_H
#define TW_CV32E40P_TIMING_H
#include "engine/timing.h"
#include "isa/divider.h"

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
#endif
