/* y[o, i, :] = sum over taps of weight[i, tap] * x[o, taps[i, tap], :]; an item for each element */
#include "gpu.h"
#include "resize.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_resize
#endif

static inline int32_t results(const tw_resize_params *p) { return p->outer * p->count * p->inner; }

static inline tw_grid grid(const tw_resize_params *params) { return tw_items(results(params)); }

TW_GPU void group(const tw_resize_params *params, const float *x, const int32_t *taps, const float *weight, float *y) {
  const int32_t inner = params->inner;
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < results(params)) {
      const int32_t place = i / inner % params->count * params->taps;
      const float *const from = x + i / inner / params->count * params->length * inner + i % inner;
      float sum = 0.0f;
      for (int32_t tap = 0; tap < params->taps; tap++) sum += weight[place + tap] * from[taps[place + tap] * inner];
      y[i] = sum;
    }
  }
}

TW_GPU_KERNEL(tw_resize_params, (const float *x, const int32_t *taps, const float *weight, float *y),
              (x, taps, weight, y))
