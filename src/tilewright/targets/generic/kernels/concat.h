#ifndef TW_CONCAT_H
#define TW_CONCAT_H

#include "tw.h"

/* Each row of y is a row of x[0], a row of x[1], ...; `length` has the elements in a row of each. */
typedef struct {
  int32_t rows;
  int32_t count;
  const int32_t *length;
} tw_concat_params;

#endif
