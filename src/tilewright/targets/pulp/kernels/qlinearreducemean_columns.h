#ifndef TW_QLINEARREDUCEMEAN_COLUMNS_H
#define TW_QLINEARREDUCEMEAN_COLUMNS_H

#include "qlinearreducemean.h"

/* 2^shift times a mean: the upper word of the total, shifted to the left by `up`, times `mul`. */
typedef struct {
  int32_t mul;
  int32_t up;
  int32_t shift;
} tw_upper_mean;

typedef struct {
  tw_qlinearreducemean_params exact;
  tw_upper_mean quick;
} tw_qlinearreducemean_columns_params;

#endif
