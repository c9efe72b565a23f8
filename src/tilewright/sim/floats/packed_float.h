/* Arithmetic on the lanes of a 64-bit register, lane 0 in the lowest bits. */
#ifndef TW_PACKED_FLOAT_H
#define TW_PACKED_FLOAT_H
#include "floats/float_any.h"

typedef struct { const float_format *format, *wide; u32 bits; } lanes; /* wide: of sums that need twice the bits */

u64 packed_repeat(const lanes *l, u64 a); /* lane 0 in all lanes */
u64 packed_signs(const lanes *l);
u64 packed_negate(const lanes *l, u64 a);
u64 packed_sign(const lanes *l, u64 a, u64 b);
u64 packed_add(const lanes *l, u64 a, u64 b, u32 mode, u32 *flags);
u64 packed_mul(const lanes *l, u64 a, u64 b, u32 mode, u32 *flags);
u64 packed_fma(const lanes *l, u64 a, u64 b, u64 c, u32 mode, u32 *flags);
u64 packed_pick(const lanes *l, u64 a, u64 b, int want_max, u32 *flags);
u32 packed_compare(const lanes *l, u64 a, u64 b, u32 how, int negated, u32 *flags); /* a bit per lane */
/* lane 0 of c plus both lanes of a, which are single; lane 1 is 0. */
u64 packed_sum(u64 a, u64 c, u32 mode, u32 *flags);
/* Lanes of c, twice as wide: plus pairs of lanes of a, or plus products of pairs. */
u64 packed_widen_sum(const lanes *l, u64 a, u64 c, u32 mode, u32 *flags);
u64 packed_widen_dot(const lanes *l, u64 a, u64 b, u64 c, u32 mode, u32 *flags);
#endif
