/* y[i, j, ...] = x[i, j, ...] with the position along one axis taken from indices[i, j, ...] */
#include "gather_elements.h"

#include "gather.h"

#ifndef TW_NAME
#define TW_NAME tw_gather_elements_f32_i64
#define TW_X float
#define TW_INDICES int64_t
#define TW_Y float
#endif

void TW_NAME(const tw_gather_elements_params *params, const TW_X *x, const TW_INDICES *indices, TW_Y *y) {
  const int32_t count = tw_walk_length(params->rank, params->size);
  const int32_t length = params->length, step = params->step;
  int32_t at[TW_MAX_RANK] = {0}, offset = 0;
  for (int32_t i = 0; i < count; i++) {
    y[i] = x[offset + tw_position(indices[i], length) * step];
    tw_walk(params->rank, params->size, params->stride, at, &offset);
  }
}
