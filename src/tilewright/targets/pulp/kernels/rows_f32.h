/* Sums over rows of floats, in four chains that fit registers. */
#ifndef TW_ROWS_F32_H
#define TW_ROWS_F32_H

#include <stdint.h>

static inline float tw_row_sum(const float *x, int32_t length) {
  float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
  for (; length >= 4; length -= 4, x += 4) s0 += x[0], s1 += x[1], s2 += x[2], s3 += x[3];
  for (; length > 0; length--) s0 += *x++;
  return (s0 + s1) + (s2 + s3);
}

/* The sum of (x - centre)^2. */
static inline float tw_row_squares(const float *x, int32_t length, float centre) {
  float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
  for (; length >= 4; length -= 4, x += 4) {
    const float x0 = x[0] - centre, x1 = x[1] - centre, x2 = x[2] - centre, x3 = x[3] - centre;
    s0 += x0 * x0, s1 += x1 * x1, s2 += x2 * x2, s3 += x3 * x3;
  }
  for (; length > 0; length--, x++) s0 += (*x - centre) * (*x - centre);
  return (s0 + s1) + (s2 + s3);
}

#endif
