/* Floats of 16 bits, held as their bits: float16 (IEEE 754 binary16) and bfloat16 (the upper half of a float). */
#ifndef TW_HALF_H
#define TW_HALF_H

#include <stdint.h>
#include "bytes.h"
#include "float_bits.h"

static inline float tw_float_of_bits(uint32_t bits) {
  tw_float_bits both;
  both.bits = bits;
  return both.value;
}

static inline uint32_t tw_bits_of_float(float value) {
  tw_float_bits both;
  both.value = value;
  return both.bits;
}

/* Compilers for GPUs have these types, and their hardware the conversions. */
#ifdef TW_GPU_DEVICE

static inline float tw_from_float16(uint16_t half) {
  _Float16 value;
  memcpy(&value, &half, sizeof value);
  return (float)value;
}

static inline uint16_t tw_to_float16(float value) {
  const _Float16 rounded = (_Float16)value;
  uint16_t half;
  memcpy(&half, &rounded, sizeof half);
  return half;
}

#else

static inline float tw_from_float16(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = (half >> 10) & 31u, fraction = half & 0x3ffu;
  if (exponent == 0) {
    /* Below the smallest normal number: so many times 2 to the -24. */
    const float size = (float)fraction * 5.9604644775390625e-8f;
    return sign ? -size : size;
  }
  const uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
  return tw_float_of_bits(sign | wide << 23 | fraction << 13);
}

/* To nearest, ties to even; what is too large becomes infinite. */
static inline uint16_t tw_to_float16(float value) {
  const uint32_t bits = tw_bits_of_float(value), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  /* The last bit of 0.5 is 2 to the -24, the step of float16 numbers that are not normal: the sum rounds to it. */
  if (size < 0x38800000u) {
    return (uint16_t)(sign | (tw_bits_of_float(tw_float_of_bits(size) + 0.5f) - 0x3f000000u));
  }
  const uint32_t rounded = size + 0xfffu + (size >> 13 & 1u);
  return (uint16_t)(sign | (rounded - 0x38000000u) >> 13);
}

#endif

static inline float tw_from_bfloat16(uint16_t half) { return tw_float_of_bits((uint32_t)half << 16); }

/* To nearest, ties to even; a NaN stays one. */
static inline uint16_t tw_to_bfloat16(float value) {
#if defined(TW_GPU_DEVICE) && __CUDA_ARCH__ >= 800
  uint16_t half;
  __asm__("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
#else
  const uint32_t bits = tw_bits_of_float(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
#endif
}

/* Weights are finite: no tests, so that loops over them can be vectorised. The product moves the exponent. */
static inline float tw_weight_of_float16(uint16_t half) {
  const uint32_t bits = (uint32_t)(half & 0x8000u) << 16 | (uint32_t)(half & 0x7fffu) << 13;
  return tw_float_of_bits(bits) * 0x1p112f;
}

static inline float tw_weight_of_bfloat16(uint16_t half) { return tw_from_bfloat16(half); }

#endif
