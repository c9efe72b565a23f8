/* y[g, i, :] = x[g, indices[g, i, 0], indices[g, i, 1], ..., :] */
#include "gather_nd.h"

#include "bytes.h"
#include "gather.h"

#ifndef TW_NAME
#define TW_NAME tw_gather_nd_f32_i64
#define TW_X float
#define TW_INDICES int64_t
#define TW_Y float
#endif

void TW_NAME(const tw_gather_nd_params *params, const TW_X *x, const TW_INDICES *indices, TW_Y *y) {
  const int32_t depth = params->depth, inner = params->inner, count = params->count;
  int32_t group_length = inner;
  for (int32_t axis = 0; axis < depth; axis++) group_length *= params->size[axis];
  for (int32_t group = 0; group < params->groups; group++) {
    for (int32_t i = 0; i < count; i++) {
      int32_t place = 0;
      for (int32_t axis = 0; axis < depth; axis++) {
        place = place * params->size[axis] + tw_position(indices[axis], params->size[axis]);
      }
      memcpy(y, x + place * inner, (size_t)inner * sizeof *y);
      indices += depth;
      y += inner;
    }
    x += group_length;
  }
}
