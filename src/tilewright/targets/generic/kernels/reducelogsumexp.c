/* y = log(sum of exp(x)) over some axes */
#include <math.h>

#include "alone.h"
#include "reduce.h"

/* The largest x so far, and the sum of exp(x - largest), which can not overflow. */
typedef struct {
  float largest;
  float sum;
} acc_t;

static inline acc_t start(void) { return (acc_t){-INFINITY, 0.0f}; }

static inline acc_t join(acc_t a, acc_t b) {
  const float largest = a.largest > b.largest || isnan(a.largest) ? a.largest : b.largest;
  if (isinf(largest)) return (acc_t){largest, largest > 0.0f ? 1.0f : 0.0f};
  return (acc_t){largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
}

static inline acc_t step(acc_t total, float x) { return join(total, (acc_t){x, 1.0f}); }

static inline float finish(acc_t total, const tw_reduce_params *params) {
  (void)params;
  return isinf(total.largest) ? total.largest : total.largest + logf(total.sum);
}

#include "reduce_loops.h"
