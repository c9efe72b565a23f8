/* Fixed-point requantisation: y = clamp(round((x * mul + add) / 2^shift) + zero_point, low, high).
 *
 * From TW_DOUBLE on it is one of TensorFlow Lite's: x * mul / 2^31 * 2^add, where `add` is an exponent. */
#ifndef TW_REQUANT_H
#define TW_REQUANT_H

#include "narrow.h"
#include "requant_data.h"

/* x * mul / 2^31, ties up. */
static inline int32_t tw_high_product(int32_t x, int32_t mul) {
  return (int32_t)(((int64_t)x * mul + (1 << 30)) >> 31);
}

/* x / 2^bits: ties away from zero, or up. */
static inline int32_t tw_divided(int32_t x, int32_t bits, int32_t ties_up) {
  if (bits == 0) return x;
  return (int32_t)(((int64_t)x + (1 << (bits - 1)) - (!ties_up && x < 0)) >> bits);
}

/* Ties to even, of numbers between -2^22 and 2^22. */
static inline int32_t tw_nearest(float x) {
  const float up = x + 12582912.0f;
  return (int32_t)(up - 12582912.0f);
}

static inline int32_t tw_requantise_float(const tw_requant *r, int32_t x, int32_t mul) {
  union {
    int32_t bits;
    float value;
  } scale;
  scale.bits = mul;
  float product = (float)x * scale.value;
  const float least = (float)(r->low - r->zero_point), most = (float)(r->high - r->zero_point);
  product = product < least ? least : product > most ? most : product;
  return tw_nearest(product) + r->zero_point;
}

/* TensorFlow Lite's. */
static inline int32_t tw_requantise_scaled(const tw_requant *r, int32_t x, int32_t mul, int32_t exponent) {
  int64_t value;
  if (r->rounding == TW_FLOAT) return tw_requantise_float(r, x, mul);
  if (r->rounding == TW_SINGLE) {
    value = ((int64_t)x * mul + ((int64_t)1 << (30 - exponent))) >> (31 - exponent);
  } else {
    const int32_t left = exponent > 0 ? exponent : 0, right = exponent < 0 ? -exponent : 0;
    const int32_t high = tw_high_product((int32_t)((uint32_t)x << left), mul);
    value = tw_divided(high, right, r->rounding == TW_DOUBLE_UP);
  }
  value += r->zero_point;
  return (int32_t)(value < r->low ? r->low : value > r->high ? r->high : value);
}

static inline int32_t tw_requantise(const tw_requant *r, int32_t x, int32_t mul, int32_t add) {
  if (TW_IS_TFLITE(r)) return tw_requantise_scaled(r, x, mul, add);
  return tw_narrow(r, (int64_t)x * mul + add);
}

/* A requantisation with one multiplier and one summand. */
typedef struct {
  int32_t mul;
  int32_t add;
  tw_requant requant;
} tw_scaling;

static inline int32_t tw_scale(const tw_scaling *s, int32_t x) { return tw_requantise(&s->requant, x, s->mul, s->add); }

#endif
