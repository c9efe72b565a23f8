#ifndef TW_ROW_NORM_H
#define TW_ROW_NORM_H

#include "tw.h"

/* Rows of x are independent; scale and bias, if there, have one value per column. */
typedef struct {
  int32_t rows;
  int32_t length;
  float epsilon;
} tw_row_norm_params;

/* Whether a row's spread is so small beside its mean that the rounding of the mean shows in the results. */
static inline int tw_is_narrow(float centre, float variance) { return variance * 65536.0f < centre * centre; }

/* y = x - centre, which is exact for such a row; returns what the centre lacks to be the mean. */
static inline float tw_centre_row(const float *x, int32_t length, float centre, float *y) {
  float sum = 0.0f;
  for (int32_t i = 0; i < length; i++) {
    y[i] = x[i] - centre;
    sum += y[i];
  }
  return sum / (float)length;
}

/* y = (x - centre) * factor * scale + bias; absent (null) scale is 1, absent bias 0. */
static inline void tw_scale_row(const float *x, int32_t length, float centre, float factor, const float *scale,
                                const float *bias, float *y) {
  if (scale && bias) {
    for (int32_t i = 0; i < length; i++) y[i] = (x[i] - centre) * factor * scale[i] + bias[i];
  } else if (scale) {
    for (int32_t i = 0; i < length; i++) y[i] = (x[i] - centre) * factor * scale[i];
  } else if (bias) {
    for (int32_t i = 0; i < length; i++) y[i] = (x[i] - centre) * factor + bias[i];
  } else {
    for (int32_t i = 0; i < length; i++) y[i] = (x[i] - centre) * factor;
  }
}

#endif
