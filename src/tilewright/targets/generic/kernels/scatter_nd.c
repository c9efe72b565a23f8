/* y = x, but updates[i, :] at [indices[i, 0], indices[i, 1], ..., :] */
#include "scatter_nd.h"

#include "bytes.h"
#include "gather.h"

#ifndef TW_NAME
#define TW_NAME tw_scatter_nd_f32_i64
#define TW_X float
#define TW_INDICES int64_t
#define TW_UPDATES float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#define TW_Y_IS_FLOAT 1
#endif

#include "scatter.h"

void TW_NAME(const tw_scatter_nd_params *params, const TW_X *x, const TW_INDICES *indices, const TW_UPDATES *updates,
             TW_Y *y) {
  const int32_t depth = params->depth, inner = params->inner, reduction = params->reduction;
  memcpy(y, x, (size_t)params->count * sizeof *y);
  for (int32_t i = 0; i < params->tuples; i++) {
    int32_t place = 0;
    for (int32_t axis = 0; axis < depth; axis++) {
      place = place * params->size[axis] + tw_position(indices[axis], params->size[axis]);
    }
    for (int32_t j = 0; j < inner; j++) y[place * inner + j] = tw_joined(y[place * inner + j], updates[j], reduction);
    indices += depth;
    updates += inner;
  }
}
