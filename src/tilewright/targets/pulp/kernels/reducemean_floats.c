/* y = mean of x over some axes; all cores together */
#include "alone.h"
#include "reduce.h"

static inline float start(void) { return 0.0f; }
static inline float with(float total, float x) { return total + x; }
static inline float join(float a, float b) { return a + b; }
static inline float finish(float total, const tw_reduce_params *params) {
  return total / (float)params->count;
}

#include "reduce_floats.h"
