/* IEEE-like arithmetic of any format up to 64 bits, on bit patterns, with RISC-V rounding modes, flags and canonical NaN. */
#ifndef TW_FLOAT_ANY_H
#define TW_FLOAT_ANY_H
#include "floats/float32.h"

typedef struct { int exponent, mantissa; } float_format; /* bits of each field */
static const float_format FORMAT_D = {11, 52}, FORMAT_S = {8, 23}, FORMAT_H = {5, 10}, FORMAT_B = {5, 2}, FORMAT_H_OTHER = {8, 7},
                          FORMAT_B_OTHER = {4, 3};
#define F64_SIGN 0x8000000000000000ull
enum { COMPARE_EQUAL, COMPARE_LESS, COMPARE_LESS_EQUAL };

u64 any_fma(const float_format *f, u64 a, u64 b, u64 c, u32 mode, u32 *flags);
u64 any_add(const float_format *f, u64 a, u64 b, u32 mode, u32 *flags);
u64 any_mul(const float_format *f, u64 a, u64 b, u32 mode, u32 *flags);
u64 any_div(const float_format *f, u64 a, u64 b, u32 mode, u32 *flags);
u64 any_sqrt(const float_format *f, u64 a, u32 mode, u32 *flags);
u64 any_pick(const float_format *f, u64 a, u64 b, int want_max, u32 *flags);
u32 any_compare(const float_format *f, u64 a, u64 b, u32 how, u32 *flags);
u32 any_classify(const float_format *f, u64 a);
i64 any_to_integer(const float_format *f, u64 a, i64 low, i64 high, u32 mode, u32 *flags);
u64 any_from_integer(const float_format *f, i64 a, u32 mode, u32 *flags);
u64 any_convert(const float_format *to, const float_format *from, u64 a, u32 mode, u32 *flags);

/* floats/float64.c: the same for doubles, by the host where that is certain to give the same bits and flags. */
u64 f64_fma(u64 a, u64 b, u64 c, u32 mode, u32 *flags);
u64 f64_add(u64 a, u64 b, u32 mode, u32 *flags);
u64 f64_mul(u64 a, u64 b, u32 mode, u32 *flags);
#endif
