/* The largest element of each window, NaN if there is one, with the channels last; all cores together. */
#include <math.h>

#include "alone.h"
#include "pool.h"

/* The largest of the numbers, which no branch finds, and whether all were numbers. */
typedef struct {
  float largest;
  int32_t are_numbers;
} total_of;

static inline total_of start(void) { return (total_of){-INFINITY, 1}; }
static inline total_of with(total_of total, float x) { return (total_of){fmaxf(total.largest, x), total.are_numbers & (x == x)}; }
static inline float result_of(total_of total) { return total.are_numbers ? total.largest : NAN; }

static inline float scale_of(const tw_pool_params *params, int32_t top, int32_t left) {
  (void)params, (void)top, (void)left;
  return 1.0f;
}

#include "pool_floats.h"
