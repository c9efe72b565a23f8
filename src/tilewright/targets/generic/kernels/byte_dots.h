/* Products of rows of bytes with a vector of bytes. */
#ifndef TW_BYTE_DOTS_H
#define TW_BYTE_DOTS_H

#include "tw.h"

static inline void tw_byte_dots(const int8_t *r, const int8_t *h, int32_t hidden, int32_t first, int32_t end,
                                int32_t *sums) {
  for (int32_t i = first; i < end; i++) {
    int32_t sum = 0;
    for (int32_t k = 0; k < hidden; k++) sum += r[i * hidden + k] * h[k];
    sums[i] = sum;
  }
}

#endif
