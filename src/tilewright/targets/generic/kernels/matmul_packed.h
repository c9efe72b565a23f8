/* Parameters of products with packed weights: y[rows, columns] = a @ weights + c, where column i of the weights is row i of
 * b (packed.h). */
#ifndef TW_MATMUL_PACKED_H
#define TW_MATMUL_PACKED_H

#include "packed.h"
#include "requant.h"
#include "tw.h"

typedef struct {
  int32_t rows, inner, columns;
  int32_t row_bytes;                  /* of b */
  int32_t bits, least;                /* of a code, and what is added to it */
  int32_t c_step, mul_step, add_step; /* 1: a value for each column; 0: one for all */
  int32_t requantised;                /* whether totals become narrow integers */
  tw_requant requant;
} tw_matmul_packed_params;

#endif
