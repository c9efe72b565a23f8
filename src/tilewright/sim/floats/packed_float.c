/* Arithmetic on the lanes of a 64-bit register. */
#include "floats/float32_host.h"
#include "floats/packed_float.h"

enum { REGISTER = 64 };

static u64 lane(const lanes *l, u64 a, u32 at) { return a >> at & (~0ull >> (REGISTER - l->bits)); }
static int is_single(const lanes *l) { return l->bits == 32; }

#define EACH_LANE(expression) \
    u64 result = 0; \
    for (u32 at = 0; at < REGISTER; at += l->bits) result |= (u64)(expression) << at; \
    return result
/* ... of singles, which are the most common by far */
#define BOTH_SINGLES(low, high) if (is_single(l)) { u32 first = (low); return (u64)(high) << 32 | first; }
#define LOW(a) (u32)(a)
#define HIGH(a) (u32)((a) >> 32)
#define A lane(l, a, at)
#define B lane(l, b, at)
#define C lane(l, c, at)

u64 packed_repeat(const lanes *l, u64 a) { EACH_LANE(lane(l, a, 0)); }
u64 packed_signs(const lanes *l) { EACH_LANE(1ull << (l->bits - 1)); }
u64 packed_negate(const lanes *l, u64 a) { return a ^ packed_signs(l); }
u64 packed_sign(const lanes *l, u64 a, u64 b) { return (a & ~packed_signs(l)) | (b & packed_signs(l)); }
u64 packed_add(const lanes *l, u64 a, u64 b, u32 mode, u32 *flags) {
    BOTH_SINGLES(f32_add_quick(LOW(a), LOW(b), mode, flags), f32_add_quick(HIGH(a), HIGH(b), mode, flags));
    EACH_LANE(any_add(l->format, A, B, mode, flags));
}
u64 packed_mul(const lanes *l, u64 a, u64 b, u32 mode, u32 *flags) {
    BOTH_SINGLES(f32_mul_quick(LOW(a), LOW(b), mode, flags), f32_mul_quick(HIGH(a), HIGH(b), mode, flags));
    EACH_LANE(any_mul(l->format, A, B, mode, flags));
}
u64 packed_fma(const lanes *l, u64 a, u64 b, u64 c, u32 mode, u32 *flags) {
    if (is_single(l)) return f32_fma_pair(a, b, c, mode, flags);
    EACH_LANE(any_fma(l->format, A, B, C, mode, flags));
}
u64 packed_pick(const lanes *l, u64 a, u64 b, int want_max, u32 *flags) { EACH_LANE(any_pick(l->format, A, B, want_max, flags)); }

u32 packed_compare(const lanes *l, u64 a, u64 b, u32 how, int negated, u32 *flags) {
    u32 result = 0;
    for (u32 at = 0, i = 0; at < REGISTER; at += l->bits, i++)
        result |= (any_compare(l->format, A, B, how, flags) ^ (u32)negated) << i;
    return result;
}

u64 packed_sum(u64 a, u64 c, u32 mode, u32 *flags) {
    return f32_add((u32)c, f32_add((u32)a, (u32)(a >> 32), mode, flags), mode, flags);
}

static u64 widen(const lanes *l, u64 a, u32 at, u32 mode, u32 *flags) {
    return any_convert(l->wide, l->format, lane(l, a, at), mode, flags);
}

u64 packed_widen_sum(const lanes *l, u64 a, u64 c, u32 mode, u32 *flags) {
    u64 result = 0;
    const lanes wide = {l->wide, NULL, 2 * l->bits};
    for (u32 at = 0; at < REGISTER; at += wide.bits) {
        u64 pair = any_add(l->wide, widen(l, a, at, mode, flags), widen(l, a, at + l->bits, mode, flags), mode, flags);
        result |= any_add(l->wide, lane(&wide, c, at), pair, mode, flags) << at;
    }
    return result;
}

u64 packed_widen_dot(const lanes *l, u64 a, u64 b, u64 c, u32 mode, u32 *flags) {
    u64 result = 0;
    const lanes wide = {l->wide, NULL, 2 * l->bits};
    for (u32 at = 0; at < REGISTER; at += wide.bits) {
        u64 total = lane(&wide, c, at);
        for (u32 half = at; half < at + wide.bits; half += l->bits)
            total = any_fma(l->wide, widen(l, a, half, mode, flags), widen(l, b, half, mode, flags), total, mode, flags);
        result |= total << at;
    }
    return result;
}
