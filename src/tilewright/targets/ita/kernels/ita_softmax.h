#ifndef TW_ITA_SOFTMAX_H
#define TW_ITA_SOFTMAX_H

#include <stdint.h>

/* Rows of x are independent. */
typedef struct {
  int32_t rows, length;
  int32_t bits; /* a share is halved for each 2^bits below the largest score */
  int32_t one, numerator;
} tw_ita_softmax_params;

#endif
