#ifndef TW_FLOAT_BITS_H
#define TW_FLOAT_BITS_H

#include <stdint.h>

/* A float and its bits. No memcpy: without a C library compilers call it for four bytes, too. */
typedef union {
  float value;
  uint32_t bits;
} tw_float_bits;

#endif
