/* y = sum of x over some axes */
#include "alone.h"
#include "reduce.h"
#include "wrapping.h"

typedef TW_Y acc_t;

static inline acc_t start(void) { return 0; }

static inline acc_t step(acc_t total, TW_X x) { return (acc_t)(TW_WRAP(total) + TW_WRAP(x)); }

static inline acc_t join(acc_t a, acc_t b) { return (acc_t)(TW_WRAP(a) + TW_WRAP(b)); }

static inline TW_Y finish(acc_t total, const tw_reduce_params *params) {
  (void)params;
  return total;
}

#include "reduce_loops.h"
