/* IEEE single precision on bit patterns, with RISC-V rounding modes, flags and canonical NaN. */
#ifndef TW_FLOAT32_H
#define TW_FLOAT32_H
#include "engine/base.h"

#define F32_SIGN 0x80000000u
#define F32_ONE 0x3f800000u
enum { RM_NEAREST_EVEN, RM_TO_ZERO, RM_DOWN, RM_UP, RM_NEAREST_AWAY };
enum { FLAG_INEXACT = 1, FLAG_UNDERFLOW = 2, FLAG_OVERFLOW = 4, FLAG_DIV_ZERO = 8, FLAG_INVALID = 16 };

u32 f32_add(u32 a, u32 b, u32 mode, u32 *flags);
u32 f32_mul(u32 a, u32 b, u32 mode, u32 *flags);
u32 f32_fma(u32 a, u32 b, u32 c, u32 mode, u32 *flags);
/* ... by integer arithmetic, for all numbers and modes. */
u32 f32_fma_exact(u32 a, u32 b, u32 c, u32 mode, u32 *flags);
u32 f32_div(u32 a, u32 b, u32 mode, u32 *flags);
u32 f32_sqrt(u32 a, u32 mode, u32 *flags);
u32 f32_min(u32 a, u32 b, u32 *flags);
u32 f32_max(u32 a, u32 b, u32 *flags);
u32 f32_eq(u32 a, u32 b, u32 *flags);
u32 f32_lt(u32 a, u32 b, u32 *flags);
u32 f32_le(u32 a, u32 b, u32 *flags);
u32 f32_classify(u32 a);
u32 f32_to_i32(u32 a, u32 mode, u32 *flags);
u32 f32_to_u32(u32 a, u32 mode, u32 *flags);
u32 f32_from_i64(i64 a, u32 mode, u32 *flags);
#endif
