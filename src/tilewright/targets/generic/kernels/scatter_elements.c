/* y = x, but updates[i, j, ...] at [i, j, ...] with the position along one axis taken from indices[i, j, ...] */
#include "scatter_elements.h"

#include "bytes.h"
#include "gather.h"

#ifndef TW_NAME
#define TW_NAME tw_scatter_elements_f32_i64
#define TW_X float
#define TW_INDICES int64_t
#define TW_UPDATES float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#define TW_Y_IS_FLOAT 1
#endif

#include "scatter.h"

void TW_NAME(const tw_scatter_elements_params *params, const TW_X *x, const TW_INDICES *indices,
             const TW_UPDATES *updates, TW_Y *y) {
  const int32_t count = tw_walk_length(params->rank, params->size), reduction = params->reduction;
  int32_t at[TW_MAX_RANK] = {0}, offset = 0;
  memcpy(y, x, (size_t)params->count * sizeof *y);
  for (int32_t i = 0; i < count; i++) {
    TW_Y *place = y + offset + tw_position(indices[i], params->length) * params->step;
    *place = tw_joined(*place, updates[i], reduction);
    tw_walk(params->rank, params->size, params->stride, at, &offset);
  }
}
