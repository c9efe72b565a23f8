/* y = (x - zero_point) * scale */
#include "dequant.h"
#include "gpu.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_dequant
#define TW_X int8_t
#endif

static inline tw_grid grid(const tw_dequant_params *params) { return tw_items(params->count); }

TW_GPU void group(const tw_dequant_params *params, const TW_X *x, float *y) {
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < params->count) y[i] = (float)((int64_t)x[i] - params->zero_point) * params->scale;
  }
}

TW_GPU_KERNEL(tw_dequant_params, (const TW_X *x, float *y), (x, y))
