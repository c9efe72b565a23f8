#ifndef TW_QLINEARMASKEDSOFTMAX_H
#define TW_QLINEARMASKEDSOFTMAX_H

#include "requant.h"
#include "rows_beside.h"

/* Rows of x beside rows of the mask. Tables for 16 bits are a coarse one with so many entries and a fine one for the
 * lower bits of a distance. */
typedef struct {
  tw_rows_beside rows;
  int32_t length;
  int32_t bits;
  int32_t coarse;
  int64_t numerator;
  tw_requant requant;
} tw_qlinearmaskedsoftmax_params;

#endif
