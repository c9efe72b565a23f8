/* y = table[x - lowest] */
#include "gpu.h"
#include "lookup.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_lookup
#define TW_X int8_t
#define TW_TABLE int8_t
#define TW_Y int8_t
#endif

static inline int32_t results(const tw_lookup_params *p) { return p->outer * p->channels * p->inner; }

static inline tw_grid grid(const tw_lookup_params *params) { return tw_items(results(params)); }

TW_GPU void group(const tw_lookup_params *params, const TW_X *x, const TW_TABLE *table, TW_Y *y) {
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < results(params)) y[i] = table[i / params->inner % params->channels * 256 + x[i] - params->lowest];
  }
}

TW_GPU_KERNEL(tw_lookup_params, (const TW_X *x, const TW_TABLE *table, TW_Y *y), (x, table, y))
