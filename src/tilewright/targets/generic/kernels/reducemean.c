/* y = mean of x over some axes */
#include "alone.h"
#include "reduce.h"

#if TW_X_IS_FLOAT
typedef float acc_t;

static inline acc_t step(acc_t total, TW_X x) { return total + x; }

static inline acc_t join(acc_t a, acc_t b) { return a + b; }

static inline TW_Y finish(acc_t total, const tw_reduce_params *params) { return total / (float)params->count; }

#else
typedef int64_t acc_t;

enum { TOWARD_ZERO, SHIFT, HALF_AWAY };

static inline acc_t join(acc_t a, acc_t b) { return (acc_t)((uint64_t)a + (uint64_t)b); }

static inline acc_t step(acc_t total, TW_X x) { return join(total, (acc_t)x); }

static inline TW_Y finish(acc_t total, const tw_reduce_params *params) {
  const int64_t half = params->count >> 1;
  if (params->rounding == SHIFT) return (TW_Y)(join(total, half) >> params->shift);
  if (params->rounding == HALF_AWAY) total = join(total, total > 0 ? half : -half);
  return (TW_Y)(total / params->count);
}
#endif

static inline acc_t start(void) { return 0; }

#include "reduce_loops.h"
