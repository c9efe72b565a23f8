/* Elements of x in another order: transposed, sliced or repeated; an item for each. */
#include "copy.h"
#include "gpu.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_copied
#define TW_X float
#define TW_Y float
#endif

static inline tw_grid grid(const tw_copy_params *params) {
  return tw_items(tw_walk_length(params->rank, params->size));
}

TW_GPU void group(const tw_copy_params *params, const TW_X *x, TW_Y *y) {
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < tw_walk_length(params->rank, params->size)) {
      int32_t rest = i, offset = params->start;
      for (int32_t axis = params->rank - 1; axis >= 0; axis--) {
        offset += rest % params->size[axis] * params->stride[axis];
        rest /= params->size[axis];
      }
      y[i] = x[offset];
    }
  }
}

TW_GPU_KERNEL(tw_copy_params, (const TW_X *x, TW_Y *y), (x, y))
