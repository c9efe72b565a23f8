/* y = saturate(round(x / scale) + zero) to bytes, ties to even; what is not a number gives the lowest value; all cores
 * together. The cores share one divider, so that x is multiplied by the reciprocal, and divided only where the product
 * is so close to the middle between two whole numbers that it might be rounded to the wrong one. */
#include "quantizelinear.h"

#ifndef TW_NAME
#define TW_NAME tw_quantizelinear_products_i8
#define TW_ZERO int8_t
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "tw.h"

/* Below 512 a product with a rounded reciprocal is less than 0.0001 from the quotient. */
#define TW_CLOSE_TO_TIE 0.4997f

static inline float clamped(float x, float low, float high) { return x >= low ? x <= high ? x : high : low; }

/* Floats from 2^23 on have no fraction: adding 1.5 * 2^23 rounds to a whole number, ties to even. */
static inline float rounded(float x) { return (x + 12582912.0f) - 12582912.0f; }

static inline float distance(float a, float b) { return a > b ? a - b : b - a; }

void TW_NAME(const tw_quantizelinear_params *params, const float *x, const float *scale, const TW_ZERO *zero, TW_Y *y) {
  const tw_share share = tw_share_in_blocks(params->outer * params->inner, 4);
  const float divisor = scale[0], factor = 1.0f / divisor;
  const int32_t offset = zero[0];
  const float low = (float)(params->low - offset), high = (float)(params->high - offset);
  /* Where the reciprocal is no ordinary number, every quotient is a real one. */
  const float limit = factor > 1e-30f && factor < 1e30f ? TW_CLOSE_TO_TIE : -1.0f;
  for (int32_t i = share.first; i < share.end; i++) {
    float value = clamped(x[i] * factor, low, high), whole = rounded(value);
    if (distance(value, whole) > limit) whole = rounded(clamped(x[i] / divisor, low, high));
    y[i] = (TW_Y)((int32_t)whole + offset);
  }
}
