/* Single precision by the host's own operations, for nearest-even. The bits are the same unless the result is NaN, and so are the
 * flags: none where it is exact, and nothing but inexact where it is not and lies within the range, not at its ends. Whether it is
 * exact is asked only while that flag is down; a double holds the product of two numbers, and what a sum of doubles loses is known. */
#ifndef TW_FLOAT32_HOST_H
#define TW_FLOAT32_HOST_H
#include "floats/float32.h"

static inline float f32_value(u32 a) {
    float f;
    memcpy(&f, &a, 4);
    return f;
}
static inline u32 f32_bits(float f) {
    u32 a;
    memcpy(&a, &f, 4);
    return a;
}
static inline u32 f32_exponent(u32 a) { return a >> 23 & 255; }
static inline int f32_is_within_range(u32 r) { return f32_exponent(r) - 2 < 252; }

/* May a result be taken as it is? */
static inline int f32_is_settled(u32 r, int is_exact, u32 *flags) {
    if (is_exact) return f32_exponent(r) != 255;
    *flags |= f32_is_within_range(r) ? FLAG_INEXACT : 0;
    return f32_is_within_range(r);
}

static inline int f32_sum_is(u32 r, double a, double b) {
    double sum = a + b, moved = sum - a, lost = (a - (sum - moved)) + (b - moved);
    return f32_value(r) == sum && lost == 0;
}

static inline u32 f32_fma_quick(u32 a, u32 b, u32 c, u32 mode, u32 *flags) {
    if (LIKELY(mode == RM_NEAREST_EVEN)) {
        u32 r = f32_bits(__builtin_fmaf(f32_value(a), f32_value(b), f32_value(c)));
        if (LIKELY((*flags & FLAG_INEXACT) && f32_is_within_range(r))) return r;
        if (f32_is_settled(r, f32_sum_is(r, (double)f32_value(a) * f32_value(b), f32_value(c)), flags)) return r;
    }
    return f32_fma_exact(a, b, c, mode, flags);
}

/* Two at once, the second in the upper halves. */
static inline int f32_pair_is_within_range(u64 r) {
    const u64 both = 0x100000001ull, signs = both << 31, two = both << 24, exponents = r & 255 * (both << 23);
    return !(((exponents + two) | ~((exponents | signs) - two)) & signs);
}
/* ... to nearest. Returns 0 where more than the flag for inexact, which is up, may have to be raised. */
typedef float f32_pair __attribute__((vector_size(8)));
static inline f32_pair f32_pair_of(u64 a) {
    f32_pair pair;
    memcpy(&pair, &a, sizeof pair);
    return pair;
}
static inline f32_pair f32_fma_of_pairs(f32_pair x, f32_pair y, f32_pair z) {
#if defined __has_builtin && __has_builtin(__builtin_elementwise_fma)
    return __builtin_elementwise_fma(x, y, z);
#else
    return (f32_pair){__builtin_fmaf(x[0], y[0], z[0]), __builtin_fmaf(x[1], y[1], z[1])};
#endif
}
static inline int f32_fma_pair_quick(u64 a, u64 b, u64 c, u64 *result) {
    const f32_pair r = f32_fma_of_pairs(f32_pair_of(a), f32_pair_of(b), f32_pair_of(c));
    memcpy(result, &r, sizeof r);
    return LIKELY(f32_pair_is_within_range(*result));
}
/* Whether all of many are within range, asked once: the greatest exponents, counted from the least one that is. */
typedef u32 f32_pair_range __attribute__((vector_size(8)));
static inline f32_pair_range f32_pair_range_with(f32_pair_range range, f32_pair r) {
    f32_pair_range bits;
    memcpy(&bits, &r, sizeof r);
    bits = (bits << 1) - (2u << 24);
#if defined __has_builtin && __has_builtin(__builtin_elementwise_max)
    return __builtin_elementwise_max(bits, range);
#else
    return (f32_pair_range){bits[0] > range[0] ? bits[0] : range[0], bits[1] > range[1] ? bits[1] : range[1]};
#endif
}
static inline int f32_pair_range_is_within(f32_pair_range range) { return range[0] < 252u << 24 && range[1] < 252u << 24; }
static inline u64 f32_fma_pair(u64 a, u64 b, u64 c, u32 mode, u32 *flags) {
    u64 result;
    if (LIKELY(mode == RM_NEAREST_EVEN && (*flags & FLAG_INEXACT)) && f32_fma_pair_quick(a, b, c, &result)) return result;
    u32 low = f32_fma((u32)a, (u32)b, (u32)c, mode, flags);
    return (u64)f32_fma((u32)(a >> 32), (u32)(b >> 32), (u32)(c >> 32), mode, flags) << 32 | low;
}

static inline u32 f32_add_quick(u32 a, u32 b, u32 mode, u32 *flags) {
    if (LIKELY(mode == RM_NEAREST_EVEN)) {
        u32 r = f32_bits(f32_value(a) + f32_value(b));
        if (LIKELY((*flags & FLAG_INEXACT) && f32_is_within_range(r))) return r;
        if (f32_is_settled(r, f32_sum_is(r, f32_value(a), f32_value(b)), flags)) return r;
    }
    return f32_fma_exact(a, F32_ONE, b, mode, flags);
}

static inline u32 f32_mul_quick(u32 a, u32 b, u32 mode, u32 *flags) {
    if (LIKELY(mode == RM_NEAREST_EVEN)) {
        u32 r = f32_bits(f32_value(a) * f32_value(b));
        if (LIKELY((*flags & FLAG_INEXACT) && f32_is_within_range(r))) return r;
        if (f32_is_settled(r, f32_value(r) == (double)f32_value(a) * f32_value(b), flags)) return r;
    }
    return f32_fma_exact(a, b, (a ^ b) & F32_SIGN, mode, flags);
}
#endif
