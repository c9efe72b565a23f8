#ifndef TW_ROW_NORM_H
#define TW_ROW_NORM_H

#include "tw.h"

/* Rows of x are independent; scale and bias, if there, have one value per column. */
typedef struct {
  int32_t rows;
  int32_t length;
  float epsilon;
} tw_row_norm_params;

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
