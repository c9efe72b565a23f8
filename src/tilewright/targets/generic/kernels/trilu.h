#ifndef TW_TRILU_H
#define TW_TRILU_H

#include "tw.h"

typedef struct {
  int32_t batch;
  int32_t rows;
  int32_t columns;
  int32_t upper; /* 1: keep columns from row + k on; 0: keep columns up to row + k */
  int32_t k;
} tw_trilu_params;

#endif
