/* Parameters of products with a constant matrix whose columns are in pairs: y[rows, columns] = a @ w, requantised. */
#ifndef TW_MATMUL_PAIRS_H
#define TW_MATMUL_PAIRS_H

#include "requant.h"
#include "tw.h"

typedef struct {
  int32_t rows, inner, columns;
  int32_t way;         /* how accumulators become results: TW_BY_... */
  int32_t requantised; /* whether totals become narrow integers */
  tw_requant requant;
} tw_matmul_pairs_params;

#endif
