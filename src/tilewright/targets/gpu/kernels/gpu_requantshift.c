/* y = clamp((x * mul + add + half) >> shift), per tensor or per channel */
#include "gpu.h"
#include "requantshift.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_requantshift
#define TW_X int32_t
#define TW_Y int8_t
#endif

static inline int32_t results(const tw_requantshift_params *p) { return p->outer * p->requant.channels * p->inner; }

static inline tw_grid grid(const tw_requantshift_params *params) { return tw_items(results(params)); }

TW_GPU void group(const tw_requantshift_params *params, const TW_X *x, const int32_t *mul, const int32_t *add,
                  TW_Y *y) {
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < results(params)) {
      const int32_t channel = i / params->inner % params->requant.channels;
      y[i] = (TW_Y)tw_requantise(&params->requant, x[i], mul[channel], add[channel]);
    }
  }
}

TW_GPU_KERNEL(tw_requantshift_params, (const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y),
              (x, mul, add, y))
