/* y = saturate(round(x / scale) + zero) to bytes, ties to even; what is not a number gives the lowest value; one scale; all cores
 * together. There is no floating-point unit: the mantissa is multiplied by the reciprocal of the scale's, and a float is
 * divided only where the product is so close to the middle between two whole numbers that rounding it first might matter. */
#include "quantizelinear.h"

#ifndef TW_NAME
#define TW_NAME tw_quantizelinear_words_i8
#define TW_ZERO int8_t
#define TW_Y int8_t
#endif

#include "byte_words.h"

/* Mantissas have 24 bits. What a rounded quotient and a rounded reciprocal are off by, of a product below 2^31. */
#define TW_DOUBT 256
/* Products are shifted by so many bits: by less they are too large for a byte, by more below one half. */
#define TW_LEAST_SHIFT 20
#define TW_MOST_SHIFT 31

typedef union {
  float value;
  uint32_t bits;
} number;

typedef struct {
  float divisor;
  int32_t zero, low, high;
  uint32_t reciprocal; /* of the divisor's mantissa, 2^55 over it; 0 where each element has to be divided */
  int32_t exponent;    /* of the divisor, and 30 */
} rule;

/* 2^55 / mantissa, eight bits at a time; 2^32 is rounded down. */
static uint32_t reciprocal_of(uint32_t mantissa) {
  uint32_t rest = 1u << 31, found = 0;
  if (mantissa == 1u << 23) return 0xffffffffu;
  for (int i = 0; i < 4; i++) {
    const uint32_t digit = rest / mantissa;
    found = found << 8 | digit;
    rest = (rest - digit * mantissa) << 8;
  }
  return found;
}

static rule rule_of(float scale, int32_t zero, int32_t low, int32_t high) {
  const number divisor = {scale};
  const int32_t exponent = (int32_t)(divisor.bits >> 23); /* with the sign, which scales do not have */
  const uint32_t mantissa = (divisor.bits & 0x7fffffu) | 0x800000u;
  const int is_usual = exponent > TW_MOST_SHIFT - 30 && exponent < 255;
  const rule found = {scale, zero, low, high, is_usual ? reciprocal_of(mantissa) : 0, exponent + 30};
  return found;
}

static __attribute__((noinline)) int32_t divided(const rule *r, uint32_t bits) {
  const number x = {.bits = bits};
  const float value = x.value / r->divisor, low = (float)(r->low - r->zero), high = (float)(r->high - r->zero);
  const float clamped = value >= low ? value <= high ? value : high : low;
  return (int32_t)((clamped + 12582912.0f) - 12582912.0f) + r->zero; /* floats from 2^23 on have no fraction */
}

static inline int32_t quantised(const rule *r, uint32_t bits) {
  const int32_t shift = r->exponent - (int32_t)(bits >> 23 & 0xff), sign = (int32_t)bits >> 31;
  if (shift > TW_MOST_SHIFT && r->reciprocal) return tw_x_min(tw_x_max(r->zero, r->low), r->high);
  if (shift < TW_LEAST_SHIFT || !r->reciprocal) return divided(r, bits);
  const uint32_t product = (uint32_t)((uint64_t)(bits << 8 | 0x80000000u) * r->reciprocal >> 33);
  const uint32_t sum = product + (1u << (shift - 1)), nearest = (sum + TW_DOUBT) >> shift;
  if (nearest != (sum - TW_DOUBT) >> shift) return divided(r, bits);
  return tw_x_min(tw_x_max((((int32_t)nearest ^ sign) - sign) + r->zero, r->low), r->high);
}

void TW_NAME(const tw_quantizelinear_params *params, const float *x, const float *scale, const TW_ZERO *zero, TW_Y *y) {
  const tw_share mine = tw_share_in_blocks(params->outer * params->channels * params->inner, 4);
  const uint32_t *from = (const uint32_t *)(const void *)x + mine.first;
  int32_t count = mine.end - mine.first;
  if (count <= 0) return;
  const rule r = rule_of(*scale, *zero, params->low, params->high);
  y += mine.first;
  for (; count >= 4; count -= 4, from += 4, y += 4) {
    const uint32_t x0 = from[0], x1 = from[1], x2 = from[2], x3 = from[3];
    const int32_t y0 = quantised(&r, x0), y1 = quantised(&r, x1), y2 = quantised(&r, x2), y3 = quantised(&r, x3);
    y[0] = (TW_Y)y0, y[1] = (TW_Y)y1, y[2] = (TW_Y)y2, y[3] = (TW_Y)y3;
  }
  for (; count > 0; count--) *y++ = (TW_Y)quantised(&r, *from++);
}
