/* y[c] = sum of the squares of a[i][c] * scale[c] + b[c]; all cores together. */
#include "channel_sums.h"

#ifndef TW_NAME
#define TW_NAME tw_square_sum_rows
#endif

#include "cluster.h"

typedef struct {
  const float *a, *scale, *b;
  int32_t rows, channels;
} operands;

static __attribute__((noinline)) void four_totals(const operands *k, int32_t c, tw_share rows, float *total) {
  const int32_t step = k->channels;
  const float *a = k->a + rows.first * step + c;
  const float s0 = k->scale[c], s1 = k->scale[c + 1], s2 = k->scale[c + 2], s3 = k->scale[c + 3];
  const float b0 = k->b[c], b1 = k->b[c + 1], b2 = k->b[c + 2], b3 = k->b[c + 3];
  float t0 = 0.0f, t1 = 0.0f, t2 = 0.0f, t3 = 0.0f;
  for (int32_t left = rows.end - rows.first; left > 0; left--, a += step) {
    const float x0 = a[0] * s0 + b0, x1 = a[1] * s1 + b1, x2 = a[2] * s2 + b2, x3 = a[3] * s3 + b3;
    t0 += x0 * x0, t1 += x1 * x1, t2 += x2 * x2, t3 += x3 * x3;
  }
  total[0] = t0, total[1] = t1, total[2] = t2, total[3] = t3;
}

static __attribute__((noinline)) float one_total(const operands *k, int32_t c, tw_share rows) {
  float total = 0.0f;
  for (int32_t i = rows.first; i < rows.end; i++) {
    const float x = k->a[i * k->channels + c] * k->scale[c] + k->b[c];
    total += x * x;
  }
  return total;
}

#include "channel_sums_rows.h"

void TW_NAME(const tw_channel_sums_params *params, const float *a, const float *scale, const float *b, float *y,
             void *scratch) {
  const operands k = {a, scale, b, params->rows, params->channels};
  tw_channel_sums(&k, y, scratch);
}
