/* y = min(max(x, low), high); NaN stays NaN */
#include "alone.h"
#include "clip.h"
#include "gpu.h"
#include "gpu_stored.h"

static inline tw_grid grid(const tw_clip_params *params) { return tw_items(params->count); }

TW_GPU void group(const tw_clip_params *params, const TW_X *x, TW_Y *y) {
#if TW_X_IS_FLOAT
  const float low = params->low, high = params->high;
#else
  const TW_X low = (TW_X)params->int_low, high = (TW_X)params->int_high;
#endif
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < params->count) {
      const TW_X_VALUE value = TW_X_LOAD(x[i]), raised = value < low ? low : value;
      y[i] = TW_Y_STORE(raised > high ? high : raised);
    }
  }
}

TW_GPU_KERNEL(tw_clip_params, (const TW_X *x, TW_Y *y), (x, y))
