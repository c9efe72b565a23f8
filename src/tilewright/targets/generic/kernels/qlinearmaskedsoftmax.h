#ifndef TW_QLINEARMASKEDSOFTMAX_H
#define TW_QLINEARMASKEDSOFTMAX_H

#include "requant.h"
#include "rows_beside.h"

/* Rows of x beside rows of the mask. */
typedef struct {
  tw_rows_beside rows;
  int32_t length;
  int64_t numerator;
  tw_requant requant;
} tw_qlinearmaskedsoftmax_params;

#endif
