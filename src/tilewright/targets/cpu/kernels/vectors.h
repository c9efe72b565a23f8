/* Vectors of floats, as wide as a register: TW_VECTOR_BYTES says how wide. */
#ifndef TW_VECTORS_H
#define TW_VECTORS_H

#include <stdint.h>
#include <string.h>

#ifndef TW_VECTOR_BYTES
#define TW_VECTOR_BYTES 16
#endif

#if defined(__aarch64__) && TW_VECTOR_BYTES == 16
#include <arm_neon.h>
#endif
#if defined(__AVX512F__) && TW_VECTOR_BYTES == 64
#include <immintrin.h>
#define TW_HAS_MASKS 1 /* of the lanes that an instruction reads or writes */
#endif

#if defined(__riscv_v) && TW_VECTOR_BYTES == 64
#define TW_ANY_LENGTH 1 /* registers have a length that is known when programs run */
#endif

#define TW_LANES (TW_VECTOR_BYTES / 4)
#define TW_INLINE static inline __attribute__((always_inline))

/* The next loop has a constant count: its body is written out, so that arrays of vectors become registers. */
#if defined(__clang__)
#define TW_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define TW_UNROLL _Pragma("GCC unroll 16")
#else
#define TW_UNROLL
#endif

typedef float tw_vector __attribute__((vector_size(TW_VECTOR_BYTES)));
typedef int32_t tw_vector_bits __attribute__((vector_size(TW_VECTOR_BYTES)));

TW_INLINE tw_vector tw_load(const float *x) {
  tw_vector v;
  memcpy(&v, x, sizeof v);
  return v;
}

/* The same by an instruction of its own: one for two neighbours takes longer where both have to be waited for. */
TW_INLINE tw_vector tw_load_alone(const float *x) {
#if defined(__aarch64__)
  typedef tw_vector unaligned __attribute__((aligned(4), may_alias));
  return *(const volatile unaligned *)x;
#else
  return tw_load(x);
#endif
}

TW_INLINE void tw_store(float *y, tw_vector v) { memcpy(y, &v, sizeof v); }

/* The first `count` lanes; the others are 0. */
TW_INLINE tw_vector tw_load_first(const float *x, int32_t count) {
#ifdef TW_HAS_MASKS
  return (tw_vector)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), x);
#else
  tw_vector v = {0};
  memcpy(&v, x, (size_t)count * sizeof *x);
  return v;
#endif
}

TW_INLINE void tw_store_first(float *y, tw_vector v, int32_t count) {
#ifdef TW_HAS_MASKS
  _mm512_mask_storeu_ps(y, (__mmask16)((1u << count) - 1), (__m512)v);
#else
  memcpy(y, &v, (size_t)count * sizeof *y);
#endif
}

TW_INLINE tw_vector tw_all(float x) { return x - (tw_vector){0}; }

/* The first where `mask` is all ones, else the second. */
TW_INLINE tw_vector tw_select(tw_vector_bits mask, tw_vector first, tw_vector second) {
  return (tw_vector)((mask & (tw_vector_bits)first) | (~mask & (tw_vector_bits)second));
}

/* x, but no less than low; NaN stays NaN. */
TW_INLINE tw_vector tw_at_least(tw_vector x, tw_vector low) {
#if defined(__aarch64__) && TW_VECTOR_BYTES == 16
  return (tw_vector)vmaxq_f32((float32x4_t)x, (float32x4_t)low);
#else
  return tw_select(x < low, low, x);
#endif
}

TW_INLINE tw_vector tw_at_most(tw_vector x, tw_vector high) {
#if defined(__aarch64__) && TW_VECTOR_BYTES == 16
  return (tw_vector)vminq_f32((float32x4_t)x, (float32x4_t)high);
#else
  return tw_select(x > high, high, x);
#endif
}

/* The smaller of both; NaN if one of them is. */
TW_INLINE tw_vector tw_smaller(tw_vector a, tw_vector b) {
#if defined(__aarch64__) && TW_VECTOR_BYTES == 16
  return tw_at_most(a, b);
#else
  return tw_select((a < b) | (a != a), a, b);
#endif
}

TW_INLINE tw_vector tw_larger(tw_vector a, tw_vector b) {
#if defined(__aarch64__) && TW_VECTOR_BYTES == 16
  return tw_at_least(a, b);
#else
  return tw_select((a > b) | (a != a), a, b);
#endif
}

#endif
