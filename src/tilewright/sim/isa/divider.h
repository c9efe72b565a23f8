/* Steps of the iterative dividers. */
#ifndef TW_DIVIDER_H
#define TW_DIVIDER_H
#include "engine/base.h"

/* DIVIDER_FIXED: core_timing.divide, whatever is divided. */
enum { DIVIDER_RI5CY, DIVIDER_CV32E40P, DIVIDER_FIXED };

/* [c01 div_*], [40P], [RTL]: one step per leading zero of the divisor. */
static inline u32 divider_zeros(u32 divisor) { return divisor ? (u32)__builtin_clz(divisor) : 32; }
static inline u32 divider_steps_unsigned(u32 divisor) { return divider_zeros(divisor) + 2; }
static inline u32 divider_steps_signed(u32 kind, u32 divisor) {
    if (kind == DIVIDER_CV32E40P) return (i32)divisor < 0 ? divider_zeros(~divisor) + 1 : divider_zeros(divisor) + 2;
    if (divisor == 0) return 0;
    return (i32)divisor > 0 ? (u32)__builtin_clz(divisor) + 2 : (u32)__builtin_clz(-divisor) + 1;
}
#endif
