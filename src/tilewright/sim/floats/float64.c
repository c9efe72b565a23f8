/* Double precision: the host's own operation where it is certain to give the same bits and flags, exact integer arithmetic
 * otherwise. It is certain for nearest-even and numbers far from the ends of the range, if it is known whether the result is exact. */
#include "floats/float_any.h"

enum { LEAST = 256, MOST = 1792 }; /* exponents between which nothing that is computed here loses bits */

static u32 exponent(u64 a) { return (u32)(a >> 52) & 2047; }
static int is_middle(u64 a) { return exponent(a) - LEAST < MOST - LEAST; }
static int is_plain(u64 a) { return is_middle(a) || !(a << 1); }

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

/* What rounding took from a sum. */
static double lost_by_sum(double a, double b, double sum) {
    double moved = sum - a;
    return (a - (sum - moved)) + (b - moved);
}

u64 f64_fma(u64 a, u64 b, u64 c, u32 mode, u32 *flags) {
    if (mode == RM_NEAREST_EVEN) {
        double x = as_double(a), y = as_double(b), z = as_double(c), product = x * y;
        u64 r = as_bits(__builtin_fma(x, y, z));
        if ((*flags & FLAG_INEXACT) && is_middle(r)) return r; /* and so are flags, whatever the operands are */
        if (is_middle(r) && is_plain(a) && is_plain(b) && is_plain(c) && is_plain(as_bits(product))) {
            if (__builtin_fma(x, y, -product) == 0) {
                if (lost_by_sum(product, z, product + z) != 0) *flags |= FLAG_INEXACT;
                return r;
            }
        }
    }
    return any_fma(&FORMAT_D, a, b, c, mode, flags);
}

u64 f64_add(u64 a, u64 b, u32 mode, u32 *flags) {
    if (mode == RM_NEAREST_EVEN && is_plain(a) && is_plain(b)) {
        double x = as_double(a), y = as_double(b), sum = x + y;
        if (is_middle(as_bits(sum))) {
            if (lost_by_sum(x, y, sum) != 0) *flags |= FLAG_INEXACT;
            return as_bits(sum);
        }
    }
    return any_add(&FORMAT_D, a, b, mode, flags);
}

u64 f64_mul(u64 a, u64 b, u32 mode, u32 *flags) {
    if (mode == RM_NEAREST_EVEN && is_plain(a) && is_plain(b)) {
        double x = as_double(a), y = as_double(b), product = x * y;
        if (is_middle(as_bits(product))) {
            if (__builtin_fma(x, y, -product) != 0) *flags |= FLAG_INEXACT;
            return as_bits(product);
        }
    }
    return any_mul(&FORMAT_D, a, b, mode, flags);
}
