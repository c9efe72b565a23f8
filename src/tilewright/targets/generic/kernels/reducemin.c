/* y = smallest x over some axes; NaN if there is one */
#include "alone.h"
#include "nan.h"
#include "reduce.h"
#include "wrapping.h"

#if TW_Y_IS_FLOAT
#include <math.h>
#endif

typedef TW_X acc_t;

/* The highest number of the type. */
static inline acc_t start(void) {
#if TW_Y_IS_FLOAT
  return INFINITY;
#else
  return (acc_t)(UINT64_MAX >> (64 - 8 * sizeof(acc_t) + TW_Y_IS_SIGNED));
#endif
}

/* Both comparisons always, so that compilers vectorise it. */
static inline acc_t join(acc_t a, acc_t b) { return ((b < a) | TW_IS_NAN(b)) ? b : a; }

static inline acc_t step(acc_t total, TW_X x) { return join(total, x); }

static inline TW_Y finish(acc_t total, const tw_reduce_params *params) {
  (void)params;
  return total;
}

#include "reduce_loops.h"
