/* Working memory of products on vectors of 16 bytes. */
#ifndef TW_MATMUL_MVE_SIZES_H
#define TW_MATMUL_MVE_SIZES_H

#include "matmul_mve.h"

/* Vectors of a row of bytes. */
static inline int32_t tw_row_vectors(const tw_matmul_params *p) { return (p->inner + 15) / 16; }

/* Starts of totals, a row, and the panel of some columns. */
static inline int64_t tw_matmul_mve_scratch(const tw_matmul_mve_params *p) {
  return 4 * (int64_t)p->columns + 16 * (int64_t)tw_row_vectors(&p->product) * (1 + p->columns);
}

#endif
