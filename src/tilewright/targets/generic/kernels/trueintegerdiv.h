#ifndef TW_TRUEINTEGERDIV_H
#define TW_TRUEINTEGERDIV_H

#include <stdint.h>

/* numerator * x / denominator. */
typedef struct {
  int32_t count;
  int64_t numerator;
  int64_t denominator;
} tw_trueintegerdiv_params;

#endif
