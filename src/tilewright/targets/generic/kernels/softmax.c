/* y = exp(x) / sum of exp(x) along an axis, or its logarithm */
#include "softmax.h"

#include <math.h>

#include "fast_exp.h"
#include "sums.h"

#ifndef TW_NAME
#define TW_NAME tw_softmax
#endif

static void softmax_row(const float *x, int32_t length, float *y) {
  const float largest = tw_largest(x, length);
  for (int32_t i = 0; i < length; i++) y[i] = tw_exp(x[i] - largest);
  const float scale = 1.0f / tw_sum(y, length);
  for (int32_t i = 0; i < length; i++) y[i] *= scale;
}

static void log_softmax_row(const float *x, int32_t length, float *y) {
  const float largest = tw_largest(x, length);
  for (int32_t i = 0; i < length; i++) y[i] = tw_exp(x[i] - largest);
  const float shift = largest + logf(tw_sum(y, length));
  for (int32_t i = 0; i < length; i++) y[i] = x[i] - shift;
}

/* Neighbouring columns that are `inner` long in each row. */
enum { COLUMNS = 32 };

static void softmax_columns(const float *x, int32_t length, int32_t inner, int32_t columns, int32_t logarithm,
                            float *y) {
  float largest[COLUMNS], sum[COLUMNS];
  for (int32_t i = 0; i < columns; i++) largest[i] = x[i], sum[i] = 0.0f;
  for (int32_t l = 1; l < length; l++) {
    for (int32_t i = 0; i < columns; i++) {
      largest[i] = x[l * inner + i] > largest[i] ? x[l * inner + i] : largest[i];
    }
  }
  for (int32_t l = 0; l < length; l++) {
    for (int32_t i = 0; i < columns; i++) {
      y[l * inner + i] = tw_exp(x[l * inner + i] - largest[i]);
      sum[i] += y[l * inner + i];
    }
  }
  for (int32_t i = 0; i < columns; i++) sum[i] = logarithm ? largest[i] + logf(sum[i]) : 1.0f / sum[i];
  for (int32_t l = 0; l < length; l++) {
    for (int32_t i = 0; i < columns; i++) {
      y[l * inner + i] = logarithm ? x[l * inner + i] - sum[i] : y[l * inner + i] * sum[i];
    }
  }
}

void TW_NAME(const tw_softmax_params *params, const float *x, float *y) {
  const int32_t length = params->length, inner = params->inner, logarithm = params->logarithm;
  if (length == 0) return;
  for (int32_t outer = 0; outer < params->outer; outer++) {
    if (inner != 1) {
      for (int32_t i = 0; i < inner; i += COLUMNS) {
        softmax_columns(x + i, length, inner, tw_min(COLUMNS, inner - i), logarithm, y + i);
      }
    } else if (logarithm) {
      log_softmax_row(x, length, y);
    } else {
      softmax_row(x, length, y);
    }
    x += length * inner;
    y += length * inner;
  }
}
