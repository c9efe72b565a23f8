#ifndef TW_PLACE_ROWS_H
#define TW_PLACE_ROWS_H

#include "tw.h"

typedef struct {
  int32_t planes; /* parts of x that have rows */
  int32_t held;   /* elements of such a part */
  int32_t length; /* elements of its new rows */
  int32_t start;  /* where they begin in it */
} tw_place_rows_params;

#endif
