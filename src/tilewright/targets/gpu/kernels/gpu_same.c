/* y has the bytes of x, under the same type or another of that size. */
#include "alone.h"
#include "gpu.h"
#include "unary.h"

static inline tw_grid grid(const tw_unary_params *params) { return tw_items(params->count); }

TW_GPU void group(const tw_unary_params *params, const TW_X *x, TW_Y *y) {
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    union {
      TW_X from;
      TW_Y to;
    } both;
    if (i < params->count) {
      both.from = x[i];
      y[i] = both.to;
    }
  }
}

TW_GPU_KERNEL(tw_unary_params, (const TW_X *x, TW_Y *y), (x, y))
