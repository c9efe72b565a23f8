/* y = exp(x) / sum of exp(x) along an axis; all cores together */
#include "softmax.h"

#ifndef TW_NAME
#define TW_NAME tw_softmax_rows
#endif

#include "cluster.h"
#include "fast_exp.h"

/* One distribution, of elements `step` apart. */
static void softmax(const float *x, float *y, int32_t length, int32_t step) {
  const int32_t end = length * step;
  float largest = x[0], sum = 0.0f;
  for (int32_t i = step; i < end; i += step) largest = x[i] > largest ? x[i] : largest;
  for (int32_t i = 0; i < end; i += step) {
    const float power = tw_exp(x[i] - largest);
    y[i] = power;
    sum += power;
  }
  const float scale = 1.0f / sum;
  for (int32_t i = 0; i < end; i += step) y[i] *= scale;
}

void TW_NAME(const tw_softmax_params *params, const float *x, float *y) {
  const int32_t length = params->length, inner = params->inner;
  const tw_share share = tw_share_of(params->outer * inner);
  if (length == 0 || share.first >= share.end) return;
  int32_t outer = share.first / inner, column = share.first - outer * inner;
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t start = outer * length * inner + column;
    softmax(x + start, y + start, length, inner);
    if (++column < inner) continue;
    column = 0;
    outer++;
  }
}
