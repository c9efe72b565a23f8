/* Floating-point arithmetic of any format by exact integer arithmetic. */
#include "floats/float_any.h"

typedef unsigned __int128 u128;
enum { TOP = 125 }; /* where the highest bit of aligned operands lies: two bits are left for a sum */

static int bias(const float_format *f) { return (1 << (f->exponent - 1)) - 1; }
static int lowest_power(const float_format *f) { return 1 - bias(f) - f->mantissa; }
static u64 mantissa_mask(const float_format *f) { return (1ull << f->mantissa) - 1; }
static u64 exponent_mask(const float_format *f) { return ((1ull << f->exponent) - 1) << f->mantissa; }
static u64 sign_bit(const float_format *f) { return 1ull << (f->exponent + f->mantissa); }
static u64 magnitude(const float_format *f, u64 a) { return a & (sign_bit(f) - 1); }
static u64 signed_bits(const float_format *f, u32 sign, u64 rest) { return (sign ? sign_bit(f) : 0) | rest; }
static u32 sign_of(const float_format *f, u64 a) { return (a & sign_bit(f)) != 0; }
static u64 nan_bits(const float_format *f) { return exponent_mask(f) | 1ull << (f->mantissa - 1); }
static int is_nan(const float_format *f, u64 a) { return magnitude(f, a) > exponent_mask(f); }
static int is_inf(const float_format *f, u64 a) { return magnitude(f, a) == exponent_mask(f); }
static int is_zero(const float_format *f, u64 a) { return !magnitude(f, a); }
static int is_signalling(const float_format *f, u64 a) { return is_nan(f, a) && !(a >> (f->mantissa - 1) & 1); }

static u64 invalid(const float_format *f, u32 *flags) {
    *flags |= FLAG_INVALID;
    return nan_bits(f);
}

static u64 nan_of(const float_format *f, u64 a, u64 b, u32 *flags) {
    return is_signalling(f, a) || is_signalling(f, b) ? invalid(f, flags) : nan_bits(f);
}

/* value = significand * 2^power; never called for infinity or NaN. */
static u64 significand_of(const float_format *f, u64 a, int *power) {
    int e = (int)((a & exponent_mask(f)) >> f->mantissa);
    *power = (e ? e : 1) - 1 + lowest_power(f);
    return (a & mantissa_mask(f)) | (e ? 1ull << f->mantissa : 0);
}

static int bit_length(u128 a) {
    u64 high = (u64)(a >> 64), low = (u64)a;
    return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
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

/* a >> n with the bit below the result and whether anything lies below that. */
static u64 shift_out(u128 a, int n, int *half_bit, int *sticky) {
    *half_bit = *sticky = 0;
    if (n <= 0) return (u64)(a << -n);
    if (n > 127) {
        *sticky = a != 0;
        return 0;
    }
    *half_bit = (int)(a >> (n - 1) & 1);
    *sticky = (a & (((u128)1 << (n - 1)) - 1)) != 0;
    return (u64)(a >> n);
}

static u64 overflow(const float_format *f, u32 sign, u32 mode, u32 *flags) {
    int to_inf = mode == RM_NEAREST_EVEN || mode == RM_NEAREST_AWAY || (mode == RM_UP && !sign) || (mode == RM_DOWN && sign);
    *flags |= FLAG_OVERFLOW | FLAG_INEXACT;
    return signed_bits(f, sign, exponent_mask(f) - !to_inf);
}

/* Would it be below the smallest normal number if exponents had no end? */
static int is_tiny(const float_format *f, u32 sign, u128 a, int power, u32 mode) {
    int digits = f->mantissa + 1, top = bit_length(a) + power, half_bit, sticky;
    u64 kept = shift_out(a, top - digits - power, &half_bit, &sticky);
    kept += (u64)rounds_up(sign, kept, half_bit, sticky, mode);
    return top + (kept >> digits ? 1 : 0) < lowest_power(f) + digits;
}

/* sign * a * 2^power, rounded. The lowest bit of `a` may stand for something below it if `a` has enough bits. */
static u64 pack(const float_format *f, u32 sign, u128 a, int power, u32 mode, u32 *flags) {
    if (a == 0) return signed_bits(f, sign, 0);
    int digits = f->mantissa + 1, top = bit_length(a) + power, half_bit, sticky;
    int lowest = top - digits < lowest_power(f) ? lowest_power(f) : top - digits;
    u64 kept = shift_out(a, lowest - power, &half_bit, &sticky);
    if (half_bit || sticky)
        *flags |= FLAG_INEXACT | (top - digits < lowest_power(f) && is_tiny(f, sign, a, power, mode) ? FLAG_UNDERFLOW : 0);
    kept += (u64)rounds_up(sign, kept, half_bit, sticky, mode);
    if (kept >> digits) kept >>= 1, lowest++;
    if (!(kept >> f->mantissa)) return signed_bits(f, sign, kept);
    int e = lowest - lowest_power(f) + 1;
    if (e >= (1 << f->exponent) - 1) return overflow(f, sign, mode, flags);
    return signed_bits(f, sign, (u64)e << f->mantissa | (kept & mantissa_mask(f)));
}

/* a >> n; what falls off is remembered in the lowest bit. */
static u128 shift_jamming(u128 a, int n) {
    if (n > 127) return a != 0;
    return n ? a >> n | ((a & (((u128)1 << n) - 1)) != 0) : a;
}

/* The sum of two numbers that are not 0. */
static u64 sum(const float_format *f, u32 sa, u128 a, int pa, u32 sb, u128 b, int pb, u32 mode, u32 *flags) {
    int up_a = TOP + 1 - bit_length(a), up_b = TOP + 1 - bit_length(b);
    a <<= up_a, pa -= up_a, b <<= up_b, pb -= up_b;
    int power = pa > pb ? pa : pb;
    a = shift_jamming(a, power - pa), b = shift_jamming(b, power - pb);
    if (sa == sb) return pack(f, sa, a + b, power, mode, flags);
    if (a == b) return signed_bits(f, mode == RM_DOWN, 0);
    return a > b ? pack(f, sa, a - b, power, mode, flags) : pack(f, sb, b - a, power, mode, flags);
}

u64 any_fma(const float_format *f, u64 a, u64 b, u64 c, u32 mode, u32 *flags) {
    u32 sign = sign_of(f, a) ^ sign_of(f, b), csign = sign_of(f, c);
    if (is_nan(f, a) || is_nan(f, b) || is_nan(f, c)) {
        if ((is_inf(f, a) && is_zero(f, b)) || (is_zero(f, a) && is_inf(f, b))) *flags |= FLAG_INVALID;
        return is_signalling(f, c) ? invalid(f, flags) : nan_of(f, a, b, flags);
    }
    if (is_inf(f, a) || is_inf(f, b)) {
        if (is_zero(f, a) || is_zero(f, b) || (is_inf(f, c) && csign != sign)) return invalid(f, flags);
        return signed_bits(f, sign, exponent_mask(f));
    }
    if (is_inf(f, c)) return c;
    int pa, pb, pc;
    u128 product = (u128)significand_of(f, a, &pa) * significand_of(f, b, &pb), addend = significand_of(f, c, &pc);
    if (product == 0 && addend == 0) return signed_bits(f, sign == csign ? sign : mode == RM_DOWN, 0);
    if (product == 0) return c;
    if (addend == 0) return pack(f, sign, product, pa + pb, mode, flags);
    return sum(f, sign, product, pa + pb, csign, addend, pc, mode, flags);
}

static u64 one(const float_format *f) { return (u64)bias(f) << f->mantissa; }
u64 any_add(const float_format *f, u64 a, u64 b, u32 mode, u32 *flags) { return any_fma(f, a, one(f), b, mode, flags); }
u64 any_mul(const float_format *f, u64 a, u64 b, u32 mode, u32 *flags) { return any_fma(f, a, b, (a ^ b) & sign_bit(f), mode, flags); }

u64 any_div(const float_format *f, u64 a, u64 b, u32 mode, u32 *flags) {
    u32 sign = sign_of(f, a) ^ sign_of(f, b);
    if (is_nan(f, a) || is_nan(f, b)) return nan_of(f, a, b, flags);
    if ((is_inf(f, a) && is_inf(f, b)) || (is_zero(f, a) && is_zero(f, b))) return invalid(f, flags);
    if (is_inf(f, a)) return signed_bits(f, sign, exponent_mask(f));
    if (is_zero(f, b)) {
        *flags |= FLAG_DIV_ZERO;
        return signed_bits(f, sign, exponent_mask(f));
    }
    if (is_zero(f, a) || is_inf(f, b)) return signed_bits(f, sign, 0);
    int pa, pb;
    u64 n = significand_of(f, a, &pa), d = significand_of(f, b, &pb), quotient = 0;
    int up = __builtin_clzll(n), down = __builtin_clzll(d), bits = f->mantissa + 4;
    n = n << up >> 1, d = d << down >> 1; /* both have their highest bit in bit 62 */
    for (int i = 0; i < bits; i++) {
        quotient <<= 1;
        if (n >= d) n -= d, quotient |= 1;
        n <<= 1;
    }
    return pack(f, sign, quotient << 1 | (n != 0), pa - up - pb + down - bits, mode, flags);
}

u64 any_sqrt(const float_format *f, u64 a, u32 mode, u32 *flags) {
    if (is_nan(f, a)) return nan_of(f, a, a, flags);
    if (is_zero(f, a)) return a;
    if (sign_of(f, a)) return invalid(f, flags);
    if (is_inf(f, a)) return a;
    int power;
    u128 n = significand_of(f, a, &power), root = 0;
    int up = 116 - bit_length(n);
    n <<= up, power -= up;
    if (power & 1) n <<= 1, power--;
    for (u128 bit = (u128)1 << 58; bit; bit >>= 1)
        if ((root | bit) * (root | bit) <= n) root |= bit;
    return pack(f, 0, root << 1 | (root * root != n), power / 2 - 1, mode, flags);
}

static int is_less(const float_format *f, u64 a, u64 b) {
    u32 sa = sign_of(f, a), sb = sign_of(f, b);
    if (is_zero(f, a) && is_zero(f, b)) return 0;
    if (sa != sb) return (int)sa;
    return sa ? magnitude(f, a) > magnitude(f, b) : magnitude(f, a) < magnitude(f, b);
}

u64 any_pick(const float_format *f, u64 a, u64 b, int want_max, u32 *flags) {
    if (is_signalling(f, a) || is_signalling(f, b)) *flags |= FLAG_INVALID;
    if (is_nan(f, a)) return is_nan(f, b) ? nan_bits(f) : b;
    if (is_nan(f, b)) return a;
    if (is_zero(f, a) && is_zero(f, b)) return want_max ? a & b : a | b;
    return is_less(f, a, b) != want_max ? a : b;
}

u32 any_compare(const float_format *f, u64 a, u64 b, u32 how, u32 *flags) {
    if (is_nan(f, a) || is_nan(f, b)) {
        if (how != COMPARE_EQUAL || is_signalling(f, a) || is_signalling(f, b)) *flags |= FLAG_INVALID;
        return 0;
    }
    if (how == COMPARE_LESS) return (u32)is_less(f, a, b);
    if (how == COMPARE_LESS_EQUAL) return !is_less(f, b, a);
    return !is_less(f, a, b) && !is_less(f, b, a);
}

u32 any_classify(const float_format *f, u64 a) {
    u32 negative = sign_of(f, a);
    if (is_nan(f, a)) return is_signalling(f, a) ? 1u << 8 : 1u << 9;
    if (is_inf(f, a)) return negative ? 1u << 0 : 1u << 7;
    if (is_zero(f, a)) return negative ? 1u << 3 : 1u << 4;
    if (!(a & exponent_mask(f))) return negative ? 1u << 2 : 1u << 5;
    return negative ? 1u << 1 : 1u << 6;
}

i64 any_to_integer(const float_format *f, u64 a, i64 low, i64 high, u32 mode, u32 *flags) {
    u32 sign = sign_of(f, a);
    if (is_nan(f, a) || is_inf(f, a)) return *flags |= FLAG_INVALID, sign && !is_nan(f, a) ? low : high;
    int power, half_bit = 0, sticky = 0;
    u64 m = significand_of(f, a, &power);
    u64 kept = power > 8 ? 1ull << 62 : shift_out(m, -power, &half_bit, &sticky);
    if (m == 0) kept = 0;
    kept += (u64)rounds_up(sign, kept, half_bit, sticky, mode);
    i64 value = sign ? -(i64)kept : (i64)kept;
    if (value < low || value > high) return *flags |= FLAG_INVALID, value < low ? low : high;
    if (half_bit || sticky) *flags |= FLAG_INEXACT;
    return value;
}

u64 any_from_integer(const float_format *f, i64 a, u32 mode, u32 *flags) {
    return pack(f, a < 0, a < 0 ? -(u64)a : (u64)a, 0, mode, flags);
}

u64 any_convert(const float_format *to, const float_format *from, u64 a, u32 mode, u32 *flags) {
    u32 sign = sign_of(from, a);
    if (is_nan(from, a)) return is_signalling(from, a) ? invalid(to, flags) : nan_bits(to);
    if (is_inf(from, a)) return signed_bits(to, sign, exponent_mask(to));
    int power;
    u64 m = significand_of(from, a, &power);
    return pack(to, sign, m, power, mode, flags);
}
