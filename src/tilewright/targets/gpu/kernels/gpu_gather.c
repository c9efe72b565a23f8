/* y[o, i, :] = x[o, indices[i], :]; an item for each element */
#include "gather.h"
#include "gpu.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_gather
#define TW_X float
#define TW_INDICES int64_t
#define TW_Y float
#endif

static inline int32_t results(const tw_gather_params *p) { return p->outer * p->count * p->inner; }

static inline tw_grid grid(const tw_gather_params *params) { return tw_items(results(params)); }

TW_GPU void group(const tw_gather_params *params, const TW_X *x, const TW_INDICES *indices, TW_Y *y) {
  const int32_t length = params->length, inner = params->inner, count = params->count;
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < results(params)) {
      const int32_t outer = i / inner / count, position = tw_position(indices[i / inner % count], length);
      y[i] = x[(outer * length + position) * inner + i % inner];
    }
  }
}

TW_GPU_KERNEL(tw_gather_params, (const TW_X *x, const TW_INDICES *indices, TW_Y *y), (x, indices, y))
