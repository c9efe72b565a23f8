/* y = saturate(round(x / scale) + zero), ties to even; what is not a number gives the lowest value */
#include "gpu.h"
#include "gpu_quantise.h"
#include "quantizelinear.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_quantizelinear
#define TW_ZERO int8_t
#define TW_Y int8_t
#endif

static inline int32_t results(const tw_quantizelinear_params *p) { return p->outer * p->channels * p->inner; }

static inline tw_grid grid(const tw_quantizelinear_params *params) { return tw_items(results(params)); }

TW_GPU void group(const tw_quantizelinear_params *params, const float *x, const float *scale, const TW_ZERO *zero,
                  TW_Y *y) {
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < results(params)) {
      const int32_t channel = i / params->inner % params->channels;
      y[i] = (TW_Y)tw_quantised(x[i], scale[channel], zero[channel], params->low, params->high);
    }
  }
}

TW_GPU_KERNEL(tw_quantizelinear_params, (const float *x, const float *scale, const TW_ZERO *zero, TW_Y *y),
              (x, scale, zero, y))
