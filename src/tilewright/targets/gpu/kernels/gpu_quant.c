/* y = clamp(round(x / scale) + zero_point, low, high); halves round away from zero */
#include <math.h>

#include "gpu.h"
#include "quant.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_quant
#define TW_Y int8_t
#endif

static inline tw_grid grid(const tw_quant_params *params) { return tw_items(params->count); }

TW_GPU void group(const tw_quant_params *params, const float *x, TW_Y *y) {
  const double low = params->low, high = params->high;
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < params->count) {
      const double value = (double)roundf(x[i] / params->scale) + params->zero_point;
      y[i] = (TW_Y)(value > low ? value < high ? value : high : low);
    }
  }
}

TW_GPU_KERNEL(tw_quant_params, (const float *x, TW_Y *y), (x, y))
