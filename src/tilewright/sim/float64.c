/* Double precision: the host's own operation where it is certain to give the same bits and flags (nearest-even, normal
 * numbers, inexact already raised), exact integer arithmetic otherwise. */
#include "float_any.h"

static u32 exponent(u64 a) { return (u32)(a >> 52) & 2047; }
static int is_normal(u64 a) { return exponent(a) - 1 < 2046; }
static int is_comfortable(u64 a) { return exponent(a) - 2 < 2044; }
static int host_may(u32 mode, const u32 *flags) { return mode == RM_NEAREST_EVEN && (*flags & FLAG_INEXACT); }

static double as_double(u64 a) {
    double d;
    memcpy(&d, &a, 8);
    return d;
}
static u64 as_bits(double d) {
    u64 a;
    memcpy(&a, &d, 8);
    return a;
}

u64 f64_fma(u64 a, u64 b, u64 c, u32 mode, u32 *flags) {
    if (host_may(mode, flags) && is_normal(a) && is_normal(b) && is_normal(c)) {
        u64 r = as_bits(__builtin_fma(as_double(a), as_double(b), as_double(c)));
        if (is_comfortable(r)) return r;
    }
    return any_fma(&FORMAT_D, a, b, c, mode, flags);
}

u64 f64_add(u64 a, u64 b, u32 mode, u32 *flags) {
    if (host_may(mode, flags) && is_normal(a) && is_normal(b)) {
        u64 r = as_bits(as_double(a) + as_double(b));
        if (is_comfortable(r)) return r;
    }
    return any_add(&FORMAT_D, a, b, mode, flags);
}

u64 f64_mul(u64 a, u64 b, u32 mode, u32 *flags) {
    if (host_may(mode, flags) && is_normal(a) && is_normal(b)) {
        u64 r = as_bits(as_double(a) * as_double(b));
        if (is_comfortable(r)) return r;
    }
    return any_mul(&FORMAT_D, a, b, mode, flags);
}
