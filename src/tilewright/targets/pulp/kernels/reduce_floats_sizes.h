/* Working memory of reductions of floats. */
#ifndef TW_REDUCE_FLOATS_SIZES_H
#define TW_REDUCE_FLOATS_SIZES_H

#include "reduce.h"

/* Four totals of each core. */
static inline int64_t tw_reduce_floats_scratch(const tw_reduce_params *p, int32_t cores) {
  (void)p;
  return (int64_t)cores * 16;
}

#endif
