/* Single precision arithmetic by exact integer arithmetic, where the host's own (float32_host.h) does not do. */
#include "floats/float32_host.h"

typedef unsigned __int128 u128;
enum { BIAS = 127, NAN_BITS = 0x7fc00000, INF_BITS = 0x7f800000 };

static u32 exponent(u32 a) { return a >> 23 & 255; }
static int is_nan(u32 a) { return (a & ~F32_SIGN) > INF_BITS; }
static int is_signalling(u32 a) { return is_nan(a) && !(a & 0x400000); }
static int is_inf(u32 a) { return (a & ~F32_SIGN) == INF_BITS; }
static int is_zero(u32 a) { return !(a & ~F32_SIGN); }

static u32 nan_of(u32 a, u32 b, u32 *flags) {
    if (is_signalling(a) || is_signalling(b)) *flags |= FLAG_INVALID;
    return NAN_BITS;
}

static u32 invalid(u32 *flags) {
    *flags |= FLAG_INVALID;
    return NAN_BITS;
}

/* value = significand * 2^power; never called for infinity or NaN. */
static u64 mantissa(u32 a, int *power) {
    u32 e = exponent(a);
    *power = (int)(e ? e : 1) - BIAS - 23;
    return (a & 0x7fffff) | (e ? 0x800000 : 0);
}

static int rounds_up(u32 sign, u64 kept, int half_bit, int sticky, u32 mode) {
    switch (mode) {
    case RM_NEAREST_EVEN: return half_bit && (sticky || (kept & 1));
    case RM_NEAREST_AWAY: return half_bit;
    case RM_DOWN: return sign && (half_bit || sticky);
    case RM_UP: return !sign && (half_bit || sticky);
    default: return 0;
    }
}

static u32 overflow(u32 sign, u32 mode, u32 *flags) {
    int to_inf = mode == RM_NEAREST_EVEN || mode == RM_NEAREST_AWAY || (mode == RM_UP && !sign) || (mode == RM_DOWN && sign);
    *flags |= FLAG_OVERFLOW | FLAG_INEXACT;
    return sign << 31 | (to_inf ? INF_BITS : INF_BITS - 1);
}

static u64 shift_right_sticky(u128 a, int n, int *half_bit, int *sticky) {
    if (n <= 0) {
        *half_bit = 0;
        return (u64)a << -n;
    }
    if (n > 127) {
        *sticky |= a != 0;
        *half_bit = 0;
        return 0;
    }
    *half_bit = (int)(a >> (n - 1) & 1);
    *sticky |= (a & (((u128)1 << (n - 1)) - 1)) != 0;
    return (u64)(a >> n);
}

static int bit_length(u128 a) {
    u64 high = (u64)(a >> 64), low = (u64)a;
    return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

/* Round sign * a * 2^power (plus something below, if sticky) to single precision. */
static u32 pack(u32 sign, u128 a, int power, int sticky, u32 mode, u32 *flags) {
    if (a == 0) return sign << 31;
    int top = bit_length(a) + power, half_bit = 0, lost = sticky;
    int lowest = top - 24 < -149 ? -149 : top - 24;
    u64 kept = shift_right_sticky(a, lowest - power, &half_bit, &lost);
    int inexact = half_bit || lost, tiny = 0;
    if (top - 24 < -149) {
        int h = 0, s = sticky;
        u64 unbounded = shift_right_sticky(a, top - 24 - power, &h, &s);
        unbounded += (u64)rounds_up(sign, unbounded, h, s, mode);
        tiny = top - 1 + (unbounded >> 24 ? 1 : 0) < -126;
    }
    kept += (u64)rounds_up(sign, kept, half_bit, lost, mode);
    if (inexact) *flags |= FLAG_INEXACT | (tiny ? FLAG_UNDERFLOW : 0);
    if (kept >> 24) kept >>= 1, lowest++;
    if (!(kept >> 23)) return sign << 31 | (u32)kept;
    u32 e = (u32)(lowest + 23 + BIAS);
    return e >= 255 ? overflow(sign, mode, flags) : sign << 31 | e << 23 | ((u32)kept & 0x7fffff);
}

u32 f32_fma_exact(u32 a, u32 b, u32 c, u32 mode, u32 *flags) {
    if (is_nan(a) || is_nan(b) || is_nan(c)) {
        if ((is_inf(a) && is_zero(b)) || (is_zero(a) && is_inf(b))) *flags |= FLAG_INVALID;
        return is_signalling(c) ? invalid(flags) : nan_of(a, b, flags);
    }
    u32 sign = (a ^ b) >> 31, csign = c >> 31;
    if (is_inf(a) || is_inf(b)) {
        if (is_zero(a) || is_zero(b) || (is_inf(c) && csign != sign)) return invalid(flags);
        return sign << 31 | INF_BITS;
    }
    if (is_inf(c)) return c;
    int pa, pb, pc;
    u128 product = (u128)mantissa(a, &pa) * mantissa(b, &pb), addend = mantissa(c, &pc);
    int pp = pa + pb;
    if (product == 0 && addend == 0) return sign == csign ? sign << 31 : (u32)(mode == RM_DOWN) << 31;
    if (product == 0) return pack(csign, addend, pc, 0, mode, flags);
    if (addend == 0) return pack(sign, product, pp, 0, mode, flags);
    /* Align to the larger one with 50 guard bits; what falls off is remembered as one sticky unit below. */
    int tp = bit_length(product) + pp, tc = bit_length(addend) + pc, top = tp > tc ? tp : tc;
    int base = top - 110, sticky = 0, ignored = 0;
    u128 x = pp >= base ? product << (pp - base) : 0, y = pc >= base ? addend << (pc - base) : 0;
    if (pp < base) x = shift_right_sticky(product, base - pp, &ignored, &sticky), sticky |= ignored;
    if (pc < base) y = shift_right_sticky(addend, base - pc, &ignored, &sticky), sticky |= ignored;
    x = x << 2 | (pp < base && sticky), y = y << 2 | (pc < base && sticky);
    if (sign == csign) return pack(sign, x + y, base - 2, 0, mode, flags);
    if (x == y) return (u32)(mode == RM_DOWN) << 31;
    return x > y ? pack(sign, x - y, base - 2, 0, mode, flags) : pack(csign, y - x, base - 2, 0, mode, flags);
}

u32 f32_fma(u32 a, u32 b, u32 c, u32 mode, u32 *flags) { return f32_fma_quick(a, b, c, mode, flags); }
u32 f32_add(u32 a, u32 b, u32 mode, u32 *flags) { return f32_add_quick(a, b, mode, flags); }
u32 f32_mul(u32 a, u32 b, u32 mode, u32 *flags) { return f32_mul_quick(a, b, mode, flags); }

u32 f32_div(u32 a, u32 b, u32 mode, u32 *flags) {
    u32 sign = (a ^ b) >> 31;
    if (is_nan(a) || is_nan(b)) return nan_of(a, b, flags);
    if ((is_inf(a) && is_inf(b)) || (is_zero(a) && is_zero(b))) return invalid(flags);
    if (is_inf(a)) return sign << 31 | INF_BITS;
    if (is_zero(b)) {
        *flags |= FLAG_DIV_ZERO;
        return sign << 31 | INF_BITS;
    }
    if (is_zero(a) || is_inf(b)) return sign << 31;
    int pa, pb;
    u64 n = mantissa(a, &pa), d = mantissa(b, &pb);
    int up = __builtin_clzll(n); /* at least 40 bits of quotient */
    n <<= up;
    return pack(sign, (u128)(n / d) << 1 | (n % d != 0), pa - up - pb - 1, 0, mode, flags);
}

u32 f32_sqrt(u32 a, u32 mode, u32 *flags) {
    if (is_nan(a)) return nan_of(a, a, flags);
    if (is_zero(a)) return a;
    if (a >> 31) return invalid(flags);
    if (is_inf(a)) return a;
    int power;
    u64 n = mantissa(a, &power);
    int up = __builtin_clzll(n) - 2;
    n <<= up;
    power -= up;
    if (power & 1) n <<= 1, power--;
    u64 root = 0;
    for (u64 bit = 1ull << 31; bit; bit >>= 1)
        if ((root | bit) * (root | bit) <= n) root |= bit;
    return pack(0, (u128)root << 1 | (root * root != n), power / 2 - 1, 0, mode, flags);
}

static int less(u32 a, u32 b) {
    if (is_zero(a) && is_zero(b)) return 0;
    if ((a ^ b) >> 31) return (int)(a >> 31);
    return a >> 31 ? a > b : a < b;
}

static u32 pick(u32 a, u32 b, int want_max, u32 *flags) {
    if (is_signalling(a) || is_signalling(b)) *flags |= FLAG_INVALID;
    if (is_nan(a)) return is_nan(b) ? NAN_BITS : b;
    if (is_nan(b)) return a;
    if (is_zero(a) && is_zero(b)) return want_max ? a & b : a | b;
    return less(a, b) != want_max ? a : b;
}

u32 f32_min(u32 a, u32 b, u32 *flags) { return pick(a, b, 0, flags); }
u32 f32_max(u32 a, u32 b, u32 *flags) { return pick(a, b, 1, flags); }

u32 f32_eq(u32 a, u32 b, u32 *flags) {
    if (is_nan(a) || is_nan(b)) {
        nan_of(a, b, flags);
        return 0;
    }
    return a == b || (is_zero(a) && is_zero(b));
}

u32 f32_lt(u32 a, u32 b, u32 *flags) {
    if (is_nan(a) || is_nan(b)) return invalid(flags), 0;
    return (u32)less(a, b);
}

u32 f32_le(u32 a, u32 b, u32 *flags) {
    if (is_nan(a) || is_nan(b)) return invalid(flags), 0;
    return !less(b, a);
}

u32 f32_classify(u32 a) {
    u32 negative = a >> 31;
    if (is_nan(a)) return is_signalling(a) ? 1u << 8 : 1u << 9;
    if (is_inf(a)) return negative ? 1u << 0 : 1u << 7;
    if (is_zero(a)) return negative ? 1u << 3 : 1u << 4;
    if (!exponent(a)) return negative ? 1u << 2 : 1u << 5;
    return negative ? 1u << 1 : 1u << 6;
}

static i64 to_integer(u32 a, u32 mode, i64 low, i64 high, u32 *flags) {
    if (is_nan(a)) return invalid(flags), high;
    u32 sign = a >> 31;
    if (is_inf(a)) return invalid(flags), sign ? low : high;
    int power, half_bit = 0, sticky = 0;
    u64 m = mantissa(a, &power);
    u64 kept = power > 20 ? 1ull << 62 : shift_right_sticky(m, -power, &half_bit, &sticky);
    kept += (u64)rounds_up(sign, kept, half_bit, sticky, mode);
    i64 value = sign ? -(i64)kept : (i64)kept;
    if (value < low || value > high) return invalid(flags), value < low ? low : high;
    if (half_bit || sticky) *flags |= FLAG_INEXACT;
    return value;
}

u32 f32_to_i32(u32 a, u32 mode, u32 *flags) { return (u32)to_integer(a, mode, INT32_MIN, INT32_MAX, flags); }
u32 f32_to_u32(u32 a, u32 mode, u32 *flags) { return (u32)to_integer(a, mode, 0, UINT32_MAX, flags); }

u32 f32_from_i64(i64 a, u32 mode, u32 *flags) {
    return pack(a < 0, (u128)(a < 0 ? -(u64)a : (u64)a), 0, 0, mode, flags);
}
