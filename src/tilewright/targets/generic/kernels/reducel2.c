/* y = square root of the sum of x * x over some axes */
#include <math.h>

#include "alone.h"
#include "reduce.h"

typedef float acc_t;

static inline acc_t start(void) { return 0.0f; }

static inline acc_t step(acc_t total, float x) { return total + x * x; }

static inline acc_t join(acc_t a, acc_t b) { return a + b; }

static inline float finish(acc_t total, const tw_reduce_params *params) {
  (void)params;
  return sqrtf(total);
}

#include "reduce_loops.h"
