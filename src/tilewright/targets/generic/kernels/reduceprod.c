/* y = product of x over some axes */
#include "alone.h"
#include "accumulator.h"
#include "reduce.h"

static inline acc_t start(void) { return 1; }

static inline acc_t step(acc_t total, TW_X x) { return total * (acc_t)x; }

static inline acc_t join(acc_t a, acc_t b) { return a * b; }

static inline TW_Y finish(acc_t total, const tw_reduce_params *params) {
  (void)params;
  return (TW_Y)total;
}

#include "reduce_loops.h"
