/* y = c ? a : b, broadcast */
#include "alone.h"
#include "gpu.h"
#include "gpu_stored.h"
#include "ternary.h"

static inline int32_t results(const tw_ternary_params *p) {
  int32_t length = 1;
  for (int32_t axis = 0; axis < p->rank; axis++) length *= p->size[axis];
  return length;
}

static inline tw_grid grid(const tw_ternary_params *params) { return tw_items(results(params)); }

TW_GPU void group(const tw_ternary_params *params, const uint8_t *c, const TW_A *a, const TW_B *b, TW_Y *y) {
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < results(params)) {
      int32_t rest = i, at_c = 0, at_a = 0, at_b = 0;
      for (int32_t axis = params->rank - 1; axis >= 0; axis--) {
        const int32_t at = rest % params->size[axis];
        at_c += at * params->stride_c[axis];
        at_a += at * params->stride_a[axis];
        at_b += at * params->stride_b[axis];
        rest /= params->size[axis];
      }
      y[i] = TW_Y_STORE(c[at_c] ? TW_A_LOAD(a[at_a]) : TW_B_LOAD(b[at_b]));
    }
  }
}

TW_GPU_KERNEL(tw_ternary_params, (const uint8_t *c, const TW_A *a, const TW_B *b, TW_Y *y), (c, a, b, y))
