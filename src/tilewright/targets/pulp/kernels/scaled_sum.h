#ifndef TW_SCALED_SUM_H
#define TW_SCALED_SUM_H

#include "tw.h"

/* Rows of channels. */
typedef struct {
  int32_t rows, channels;
  int32_t is_positive; /* whether zero stands for what is below it */
} tw_scaled_sum_params;

#endif
