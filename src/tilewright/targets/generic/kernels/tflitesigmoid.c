/* The logistic function or tanh of 16-bit integers as TensorFlow Lite has them: half of it by a table of 256 values, linear
 * in between, the other half by symmetry. */
#include "tflitesigmoid.h"

#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_tflitesigmoid
#endif

#define TW_LAST 255

/* For distances z from 0. */
static inline int32_t total_of(const tw_tflitesigmoid_params *p, const uint16_t *table, int32_t z) {
  const int32_t at = z >> p->bits, rest = z & ((1 << p->bits) - 1);
  if (at >= TW_LAST) return p->most;
  return (int32_t)table[at] * (1 << p->bits) + rest * (table[at + 1] - table[at]);
}

void TW_NAME(const tw_tflitesigmoid_params *params, const int16_t *x, const uint16_t *table, int16_t *y) {
  const tw_tflitesigmoid_params p = *params;
  const int32_t half = p.shift > 0 ? 1 << (p.shift - 1) : 0, tie = 1 << (p.narrowing - 1);
  TW_INDEPENDENT
  for (int32_t i = 0; i < p.count; i++) {
    const int32_t z = (x[i] * p.mul + half) >> p.shift, total = total_of(&p, table, z < 0 ? -z : z);
    y[i] = (int16_t)(((z < 0 ? p.above - total - 1 : total - p.below) + tie) >> p.narrowing);
  }
}
