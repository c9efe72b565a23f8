/* Products of a row of floats with columns that lie in one piece each: nothing is copied. */
#ifndef TW_ROW_DOTS_H
#define TW_ROW_DOTS_H

#include "lanes.h"

/* The sums of four vectors. */
static inline void tw_store_sums(const tw_vector sum[4], float *y) {
#if defined(__aarch64__) && TW_VECTOR_BYTES == 16
  const float32x4_t first = vpaddq_f32((float32x4_t)sum[0], (float32x4_t)sum[1]);
  const float32x4_t second = vpaddq_f32((float32x4_t)sum[2], (float32x4_t)sum[3]);
  vst1q_f32(y, vpaddq_f32(first, second));
#else
  for (int i = 0; i < 4; i++) y[i] = tw_lane_sum(sum[i]);
#endif
}

static inline float tw_row_dot(const float *a, const float *b, int32_t inner) {
  tw_vector sum = {0};
  float rest = 0.0f;
  int32_t k = 0;
  for (; k + TW_LANES <= inner; k += TW_LANES) sum += tw_load(a + k) * tw_load(b + k);
  for (; k < inner; k++) rest += a[k] * b[k];
  return tw_lane_sum(sum) + rest;
}

/* Products of a row with four columns that are `step` apart. */
static inline void tw_four_dots(const float *a, const float *b, int64_t step, int32_t inner, float *y) {
  tw_vector sum[4] = {{0}, {0}, {0}, {0}};
  int32_t k = 0;
  for (; k + TW_LANES <= inner; k += TW_LANES) {
    const tw_vector factor = tw_load(a + k);
    TW_UNROLL for (int i = 0; i < 4; i++) sum[i] += factor * tw_load(b + i * step + k);
  }
  tw_store_sums(sum, y);
  for (; k < inner; k++) {
    for (int i = 0; i < 4; i++) y[i] += a[k] * b[i * step + k];
  }
}

/* The same of so many columns. */
static inline void tw_row_dots(const float *a, const float *b, int64_t step, int32_t inner, int32_t columns, float *y) {
  int32_t column = 0;
  for (; column + 4 <= columns; column += 4) tw_four_dots(a, b + column * step, step, inner, y + column);
  for (; column < columns; column++) y[column] = tw_row_dot(a, b + column * step, inner);
}

#endif
