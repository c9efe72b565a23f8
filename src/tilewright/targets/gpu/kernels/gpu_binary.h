/* Results of two operands that are broadcast together. */
#ifndef TW_GPU_BINARY_H
#define TW_GPU_BINARY_H

#include "binary.h"

/* How many results the loops of two operands have, and where both lie for one of them. */
static inline __attribute__((unused)) int32_t tw_binary_length(const tw_binary_params *p) {
  int32_t length = 1;
  for (int32_t axis = 0; axis < p->rank; axis++) length *= p->size[axis];
  return length;
}

static inline __attribute__((unused)) void tw_binary_place(const tw_binary_params *p, int32_t i, int32_t *a,
                                                           int32_t *b) {
  *a = *b = 0;
  for (int32_t axis = p->rank - 1; axis >= 0; axis--) {
    const int32_t at = i % p->size[axis];
    *a += at * p->stride_a[axis];
    *b += at * p->stride_b[axis];
    i /= p->size[axis];
  }
}

#endif
