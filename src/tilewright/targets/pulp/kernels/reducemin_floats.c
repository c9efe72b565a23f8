/* y = smallest x over some axes, NaN if there is one; all cores together */
#include <math.h>

#include "alone.h"
#include "reduce.h"

static inline float start(void) { return INFINITY; }
static inline float with(float total, float x) { return ((x < total) | (x != x)) ? x : total; }
static inline float join(float a, float b) { return ((b < a) | (b != b)) ? b : a; }
static inline float finish(float total, const tw_reduce_params *params) {
  (void)params;
  return total;
}

#include "reduce_floats.h"
