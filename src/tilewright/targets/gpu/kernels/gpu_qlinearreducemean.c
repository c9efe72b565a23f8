/* y = requant(sum(x - x_zero) * mul / count) over some axes */
#include "gpu_reduce.h"
#include "qlinear_mean.h"
#include "qlinearreducemean.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_qlinearreducemean
#define TW_X int8_t
#define TW_Y int8_t
#endif

typedef uint32_t acc_t; /* a difference of sums is right, however often these wrap */

static inline acc_t start(void) { return 0; }

static inline acc_t step(acc_t total, TW_X x) { return total + (acc_t)(int32_t)x; }

static inline acc_t join(acc_t a, acc_t b) { return a + b; }

static inline TW_Y finish(acc_t total, const tw_qlinearreducemean_params *params) {
  const acc_t zeros = (acc_t)tw_elements(&params->loops) * (acc_t)params->x_zero;
  return (TW_Y)tw_mean(&params->requant, (int32_t)(total - zeros), params->loops.count, params->mul);
}

TW_REDUCE(tw_qlinearreducemean_params, &params->loops, TW_X, TW_Y)
