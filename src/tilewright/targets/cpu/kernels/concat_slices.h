#ifndef TW_CONCAT_SLICES_H
#define TW_CONCAT_SLICES_H

#include "tw.h"

/* Each row of y is a row of x[0], a row of x[1], ...; `length` has the elements in a row of each, `start` those before
 * its first row. */
typedef struct {
  int32_t rows;
  int32_t count;
  const int32_t *length;
  const int32_t *start;
} tw_concat_slices_params;

#endif
