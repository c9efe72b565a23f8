/* y[o, i, :] = sum over taps of weight[i, tap] * x[o, taps[i, tap], :]; an item for each element */
#include "gpu.h"
#include "resize.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_resize
#define TW_X float
#define TW_Y float
#endif

#include "gpu_stored.h"

static inline int32_t results(const tw_resize_params *p) { return p->outer * p->count * p->inner; }

static inline tw_grid grid(const tw_resize_params *params) { return tw_items(results(params)); }

TW_GPU void group(const tw_resize_params *params, const TW_X *x, const int32_t *taps, const float *weight, TW_Y *y) {
  const int32_t inner = params->inner;
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < results(params)) {
      const int32_t place = i / inner % params->count * params->taps;
      const TW_X *const from = x + i / inner / params->count * params->length * inner + i % inner;
      float sum = 0.0f;
      for (int32_t tap = 0; tap < params->taps; tap++) {
        sum += weight[place + tap] * TW_X_LOAD(from[taps[place + tap] * inner]);
      }
      y[i] = TW_Y_STORE(sum);
    }
  }
}

TW_GPU_KERNEL(tw_resize_params, (const TW_X *x, const int32_t *taps, const float *weight, TW_Y *y),
              (x, taps, weight, y))
