/* Neighbours among the elements of x, quantised with one scale as quantise_row.h says */
#include "quantised_slice.h"

#ifndef TW_NAME
#define TW_NAME tw_quantised_slice
#define TW_ZERO int8_t
#define TW_Y int8_t
#endif

#include "quantise_row.h"

void TW_NAME(const tw_quantised_slice_params *params, const float *x, const float *scale, const TW_ZERO *zero, TW_Y *y) {
  const float low = (float)(params->low - *zero), high = (float)(params->high - *zero);
  tw_quantise_row(x + params->start, y, params->count, *scale, *zero, low, high);
}
