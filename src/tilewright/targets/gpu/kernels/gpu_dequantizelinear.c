/* y = (x - zero) * scale */
#include "dequantizelinear.h"
#include "gpu.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_dequantizelinear
#define TW_X int8_t
#define TW_ZERO int8_t
#endif

static inline int32_t results(const tw_dequantizelinear_params *p) { return p->outer * p->channels * p->inner; }

static inline tw_grid grid(const tw_dequantizelinear_params *params) { return tw_items(results(params)); }

TW_GPU void group(const tw_dequantizelinear_params *params, const TW_X *x, const float *scale, const TW_ZERO *zero,
                  float *y) {
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < results(params)) {
      const int32_t channel = i / params->inner % params->channels;
      y[i] = (float)((int64_t)x[i] - (int64_t)zero[channel]) * scale[channel];
    }
  }
}

TW_GPU_KERNEL(tw_dequantizelinear_params, (const TW_X *x, const float *scale, const TW_ZERO *zero, float *y),
              (x, scale, zero, y))
