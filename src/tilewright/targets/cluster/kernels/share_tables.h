#ifndef TW_SHARE_TABLES_H
#define TW_SHARE_TABLES_H

#include <stdint.h>

/* Products of exponentials below two to this power with a reciprocal fit 32 bits. */
#define TW_SHORT_BITS 11

/* Of a softmax of bytes, whose shares are from 0 to top. */
typedef struct {
  int32_t top;
  uint32_t exponentials[256]; /* of minus 255 up to that of 0, the largest */
  uint8_t results[256];       /* what becomes of each share */
} tw_share_tables;

#endif
