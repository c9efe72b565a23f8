/* Parameters of products with a constant matrix whose columns are in blocks: y[rows, columns] = a @ w + c. */
#ifndef TW_MATMUL_BLOCKED_H
#define TW_MATMUL_BLOCKED_H

#include "requant.h"
#include "tw.h"

typedef struct {
  int32_t rows, inner, columns;
  int32_t mul_step, add_step; /* 1: a value for each column; 0: one for all */
  int32_t requantised;        /* whether totals become narrow integers */
  tw_requant requant;
} tw_matmul_blocked_params;

#endif
