/* Vectors of floats that are stored as float16. */
#ifndef TW_SHORT_VECTORS_H
#define TW_SHORT_VECTORS_H

#include "half.h"
#include "vectors.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

#if defined(__riscv_zvfhmin)
__extension__ typedef _Float16 tw_float16s __attribute__((vector_size(TW_VECTOR_BYTES / 2)));
#endif

TW_INLINE tw_vector tw_load_short(const uint16_t *x) {
#if defined(__AVX512F__) && TW_VECTOR_BYTES == 64
  return (tw_vector)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)x));
#elif defined(__F16C__) && TW_VECTOR_BYTES == 32
  return (tw_vector)_mm256_cvtph_ps(_mm_loadu_si128((const void *)x));
#elif defined(__aarch64__) && TW_VECTOR_BYTES == 16
  return (tw_vector)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x)));
#elif defined(__riscv_zvfhmin)
  tw_float16s halves;
  memcpy(&halves, x, sizeof halves);
  return __builtin_convertvector(halves, tw_vector);
#else
  /* The bits of a float 2^112 times too small; an exponent of ones stays one. */
  typedef uint16_t narrow __attribute__((vector_size(TW_VECTOR_BYTES / 2)));
  typedef uint32_t wide __attribute__((vector_size(TW_VECTOR_BYTES)));
  narrow halves;
  memcpy(&halves, x, sizeof halves);
  const wide bits = __builtin_convertvector(halves, wide), size = (bits & 0x7fff) << 13;
  const tw_vector value = (tw_vector)size * 0x1p112f;
  return (tw_vector)((wide)value | (bits & 0x8000) << 16 | ((wide)(size >= 0x0f800000) & 0x7f800000));
#endif
}

/* The first `count` lanes; the others are 0. */
TW_INLINE tw_vector tw_load_first_short(const uint16_t *x, int32_t count) {
  uint16_t some[TW_LANES] = {0};
  memcpy(some, x, (size_t)count * sizeof *x);
  return tw_load_short(some);
}

/* To nearest, ties to even. */
TW_INLINE void tw_store_short(uint16_t *y, tw_vector v) {
#if defined(__AVX512F__) && TW_VECTOR_BYTES == 64
  _mm256_storeu_si256((void *)y, _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__) && TW_VECTOR_BYTES == 32
  _mm_storeu_si128((void *)y, _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__aarch64__) && TW_VECTOR_BYTES == 16
  vst1_u16(y, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)v)));
#elif defined(__riscv_zvfhmin)
  const tw_float16s halves = __builtin_convertvector(v, tw_float16s);
  memcpy(y, &halves, sizeof halves);
#else
  for (int lane = 0; lane < TW_LANES; lane++) y[lane] = tw_to_float16(v[lane]);
#endif
}

#endif
