#define TW_NAME tw_gpu_each_reducemean_f32
#define TW_X float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#define TW_Y_IS_FLOAT 1
#include <stdint.h>
#include "reduce.h"
#include "prefix.h"
#include "gpu_each.h"
void tw_gpu_each_reducemean_f32(const tw_reduce_params *params, const float *x, float *y);

/* y = mean of x over some axes */
#include "alone.h"
#include "accumulator.h"
#include "reduce.h"

static inline acc_t start(void) { return 0; }

static inline acc_t step(acc_t total, TW_X x) { return total + (acc_t)x; }

static inline acc_t join(acc_t a, acc_t b) { return a + b; }

enum { TOWARD_ZERO, SHIFT, HALF_AWAY };

static inline TW_Y finish(acc_t total, const tw_reduce_params *params) {
#if TW_X_IS_FLOAT
  return total / (float)params->count;
#else
  const uint64_t half = (uint64_t)(params->count >> 1);
  if (params->rounding == SHIFT) return (TW_Y)((int64_t)(total + half) >> params->shift);
  if (params->rounding == HALF_AWAY) total = (int64_t)total > 0 ? total + half : total - half;
  return (TW_Y)((int64_t)total / params->count);
#endif
}

#include "reduce_loops.h"
