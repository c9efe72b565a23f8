/* y = x with a border of a constant: first all of y is the border, then x comes into it */
#include "gpu.h"
#include "pad.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_pad
#define TW_X float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

#include "gpu_stored.h"

typedef struct {
  tw_pad_params pad;
  int32_t count; /* of items */
  int32_t fills; /* whether it is the border's turn */
} step;

static inline tw_grid grid(const step *params) { return tw_items(params->count); }

TW_GPU void group(const step *params, const TW_X *x, TW_Y *y) {
  const tw_pad_params *const pad = &params->pad;
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < params->count && params->fills) {
#if TW_X_IS_FLOAT
      y[i] = TW_Y_STORE(pad->value);
#else
      y[i] = (TW_Y)pad->integer;
#endif
    } else if (i < params->count) {
      int32_t rest = i, offset = pad->start;
      for (int32_t axis = pad->rank - 1; axis >= 0; axis--) {
        offset += rest % pad->size[axis] * pad->stride[axis];
        rest /= pad->size[axis];
      }
      y[offset] = x[i];
    }
  }
}

TW_GPU_PART(step, (const TW_X *x, TW_Y *y), (x, y))

#ifndef TW_GPU_CODE
void TW_NAME(const tw_pad_params *params, const TW_X *x, TW_Y *y) {
  step one = {*params, params->count, 1};
  launch(&one, x, y);
  one.count = tw_walk_length(params->rank, params->size);
  one.fills = 0;
  launch(&one, x, y);
}
#endif
