#ifndef TW_ISOFTMAX_BYTES_H
#define TW_ISOFTMAX_BYTES_H

#include <stdint.h>

/* Rows of x are independent. shares are from 0 to top. */
typedef struct {
  int32_t rows;
  int32_t length;
  int32_t top;
  uint32_t exponentials[256]; /* of minus 255 up to that of 0, the largest */
  uint8_t results[256];       /* what becomes of each share */
} tw_isoftmax_bytes_params;

#endif
