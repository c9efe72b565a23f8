#ifndef TW_QUANTISED_CONCAT_H
#define TW_QUANTISED_CONCAT_H

#include "tw.h"

/* As tw_concat_slices_params, with the scale and the limits of results. */
typedef struct {
  int32_t rows;
  int32_t count;
  const int32_t *length;
  const int32_t *start;
  float scale;
  int32_t zero, low, high;
} tw_quantised_concat_params;

#endif
