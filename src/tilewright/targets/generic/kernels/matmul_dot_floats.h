/* Matrix product of floats, b stored column by column: each result is the product of two contiguous rows. */
#ifndef TW_MATMUL_DOT_FLOATS_H
#define TW_MATMUL_DOT_FLOATS_H

#include "matmul.h"

/* Weights are floats, unless whoever includes this says how they are stored. */
#ifndef TW_WEIGHT
#define TW_WEIGHT float
#define TW_FROM_WEIGHT(x) (x)
#endif

/* Sums that do not wait for each other; floats may not be summed in another order unless the source says so. */
#define TW_LANES 16

static float dot(const float *a, const TW_WEIGHT *b, int32_t count) {
  float lane[TW_LANES] = {0}, sum = 0.0f;
  int32_t k = 0;
  for (; k + TW_LANES <= count; k += TW_LANES) {
    for (int32_t i = 0; i < TW_LANES; i++) lane[i] += a[k + i] * TW_FROM_WEIGHT(b[k + i]);
  }
  for (; k < count; k++) sum += a[k] * TW_FROM_WEIGHT(b[k]);
  for (int32_t i = 0; i < TW_LANES; i++) sum += lane[i];
  return sum;
}

void TW_NAME(const tw_matmul_params *params, const float *a, const TW_WEIGHT *b, const float *c, float *y) {
  tw_batch at = {{0}, 0, 0, 0, 0};
  if (tw_batch_is_empty(params)) return;
  do {
    for (int32_t row = 0; row < params->rows; row++) {
      for (int32_t column = 0; column < params->columns; column++) {
        const float total = dot(a + at.a + row * params->a_row, b + at.b + column * params->b_column, params->inner);
        float *to = y + at.y + row * params->y_row + column * params->y_column;
        tw_matmul_store_f32(params, c ? c + at.c : 0, row, column, &total, to, 1);
      }
      tw_activate(&params->activation, y + at.y + row * params->y_row, params->columns, params->y_column);
    }
  } while (tw_batch_next(params, &at));
}

#endif
