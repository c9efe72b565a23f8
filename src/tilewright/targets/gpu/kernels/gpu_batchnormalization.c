/* y = (x - mean) / sqrt(var + epsilon) * scale + b for each channel; without mean and var y = x * scale + b. */
#include <math.h>

#include "batchnormalization.h"
#include "gpu.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_batchnormalization
#define TW_X float
#define TW_Y float
#endif

#include "gpu_stored.h"

static inline int32_t results(const tw_batchnormalization_params *p) { return p->batch * p->channels * p->elements; }

static inline tw_grid grid(const tw_batchnormalization_params *params) { return tw_items(results(params)); }

TW_GPU void group(const tw_batchnormalization_params *params, const TW_X *x, const float *scale, const float *b,
                  const float *mean, const float *var, TW_Y *y) {
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < results(params)) {
      const int32_t c = i / params->elements % params->channels;
      const float factor = var ? scale[c] / sqrtf(var[c] + params->epsilon) : scale[c];
      y[i] = TW_Y_STORE(TW_X_LOAD(x[i]) * factor + (mean ? b[c] - mean[c] * factor : b[c]));
    }
  }
}

TW_GPU_KERNEL(tw_batchnormalization_params,
              (const TW_X *x, const float *scale, const float *b, const float *mean, const float *var, TW_Y *y),
              (x, scale, b, mean, var, y))
