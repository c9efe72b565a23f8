/* Arithmetic that the instruction table is written with. Right shifts of negative numbers are arithmetic (GNU C). */
#ifndef TW_SEMANTICS_H
#define TW_SEMANTICS_H
#include "engine/base.h"
#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

static inline u32 rotate_right(u32 a, u32 n) { return n ? a >> n | a << (32 - n) : a; }

/* Bits equal to the sign bit, the sign bit itself not counted; 0 for 0. */
static inline u32 leading_sign_bits(u32 a) {
    u32 folded = a ^ (u32)((i32)a >> 31);
    return a == 0 ? 0 : folded == 0 ? 31 : (u32)__builtin_clz(folded) - 1;
}

static inline u32 clip_bound(u32 n) { return n ? 1u << (n - 1) : 1; }

static inline u32 clip(u32 a, i32 low, i32 high) {
    return (u32)((i32)a < low ? low : (i32)a > high ? high : (i32)a);
}

/* A field is (length - 1) << 5 | position; what lies beyond bit 31 is dropped. */
static inline u32 field_length_mask(u32 field) { return ~0u >> (31 - (field >> 5 & 31)); }
static inline u32 field_mask(u32 field) { return field_length_mask(field) << (field & 31); }
static inline u32 extract_unsigned(u32 a, u32 field) { return a >> (field & 31) & field_length_mask(field); }

static inline u32 extract_signed(u32 a, u32 field) {
    u32 unused = 31 - (field >> 5 & 31);
    return (u32)((i32)(a >> (field & 31) << unused) >> unused);
}

/* CORE-V: a field that reaches beyond bit 31 has the sign of bit 31. */
static inline u32 extract_from_signed(u32 a, u32 field) {
    u32 unused = 31 - (field >> 5 & 31);
    return (u32)((i32)((u32)((i32)a >> (field & 31)) << unused) >> unused);
}

static inline u32 insert_field(u32 old, u32 a, u32 field) {
    return (old & ~field_mask(field)) | (a << (field & 31) & field_mask(field));
}

/* Reverse the order of groups of 1, 2 or 3 bits after dropping `skip` upper bits; size 3 is like size 0. */
static inline u32 bit_reverse(u32 a, u32 size, u32 skip) {
    u32 width = size % 3 + 1, result = 0, x = a << skip;
    for (u32 i = 0; i + width <= 32; i += width) result |= (x >> (32 - width - i) & ((1u << width) - 1)) << i;
    return width == 3 ? result & 0x3fffffff : result;
}

/* Every byte that is not 0 becomes 255. */
static inline u32 or_combine_bytes(u32 a) {
    u32 result = 0;
    for (u32 at = 0; at < 32; at += 8) result |= (a >> at & 255 ? 255u : 0u) << at;
    return result;
}

static inline u32 reverse_bits_of_bytes(u32 a) {
    u32 result = 0;
    for (u32 i = 0; i < 32; i++) result |= (a >> i & 1) << ((i & 24) | (7 - (i & 7)));
    return result;
}

/* Bits of the lower half to even places, those of the upper half to odd ones; and back. */
static inline u32 zip_halves(u32 a) {
    u32 result = 0;
    for (u32 i = 0; i < 16; i++) result |= (a >> i & 1) << 2 * i | (a >> (i + 16) & 1) << (2 * i + 1);
    return result;
}
static inline u32 unzip_halves(u32 a) {
    u32 result = 0;
    for (u32 i = 0; i < 16; i++) result |= (a >> 2 * i & 1) << i | (a >> (2 * i + 1) & 1) << (i + 16);
    return result;
}

/* Products: the rounding constant is added without wrapping. */
static inline u32 norm_signed(i32 a, u32 n, int round) {
    return (u32)(((i64)a + (round && n ? 1ll << (n - 1) : 0)) >> n);
}
static inline u32 norm_unsigned(u32 a, u32 n, int round) {
    return (u32)(((u64)a + (round && n ? 1ull << (n - 1) : 0)) >> n);
}
/* Sums: the rounding constant wraps. */
static inline u32 sum_signed(u32 a, u32 n, int round) { return (u32)((i32)(a + (round && n ? 1u << (n - 1) : 0)) >> n); }
static inline u32 sum_unsigned(u32 a, u32 n, int round) { return (a + (round && n ? 1u << (n - 1) : 0)) >> n; }

static inline u32 half(u32 a, u32 lane) { return (u16)(a >> (lane & 1) * 16); }
static inline u32 byte(u32 a, u32 lane) { return (u8)(a >> (lane & 3) * 8); }

static inline u32 shuffle_imm(u32 a, u32 select, u32 top) {
    return byte(a, select) | byte(a, select >> 2) << 8 | byte(a, select >> 4) << 16 | byte(a, top) << 24;
}

/* Dot products of four bytes, each operand signed or unsigned. */
#ifdef __SSE4_1__
static inline __m128i widen(u32 a, int is_signed) {
    __m128i v = _mm_cvtsi32_si128((int)a);
    return is_signed ? _mm_cvtepi8_epi16(v) : _mm_cvtepu8_epi16(v);
}
static inline u32 dot_bytes(u32 a, u32 b, int a_signed, int b_signed) {
    u64 sums = (u64)_mm_cvtsi128_si64(_mm_madd_epi16(widen(a, a_signed), widen(b, b_signed)));
    return (u32)sums + (u32)(sums >> 32);
}
#else
static inline u32 dot_bytes(u32 a, u32 b, int a_signed, int b_signed) {
    u32 sum = 0;
    for (int k = 0; k < 32; k += 8) {
        i32 x = a_signed ? (i8)(a >> k) : (u8)(a >> k), y = b_signed ? (i8)(b >> k) : (u8)(b >> k);
        sum += (u32)(x * y);
    }
    return sum;
}
#endif
static inline u32 dot_halves(u32 a, u32 b, int a_signed, int b_signed) {
    u32 x0 = a_signed ? (u32)(i16)a : (u16)a, x1 = a_signed ? (u32)(i16)(a >> 16) : a >> 16;
    u32 y0 = b_signed ? (u32)(i16)b : (u16)b, y1 = b_signed ? (u32)(i16)(b >> 16) : b >> 16;
    return x0 * y0 + x1 * y1;
}

/* Complex numbers: real part in the low half, Q1.15; sums of products wrap. */
static inline u32 complex_real(u32 a, u32 b, int n) {
    u32 real = (u32)((i16)a * (i16)b) - (u32)((i16)(a >> 16) * (i16)(b >> 16));
    return (u32)((i32)real >> (15 + n));
}
static inline u32 complex_imaginary(u32 a, u32 b, int n) {
    u32 imaginary = (u32)((i16)a * (i16)(b >> 16)) + (u32)((i16)(a >> 16) * (i16)b);
    return (u32)((i32)imaginary >> (15 + n));
}
static inline u32 complex_rotate(u32 a, u32 b, int n) {
    u32 real = (u32)((i16)((a >> 16) - (b >> 16)) >> n);
    u32 imaginary = (u32)((i16)(b - a) >> n);
    return (real & 0xffff) | imaginary << 16;
}
#endif
