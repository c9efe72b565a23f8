/* Floats as sums of two floats of 11 bits, as tensor cores take them (tf32). */
#ifndef TW_GPU_FLOAT_PARTS_H
#define TW_GPU_FLOAT_PARTS_H

#include "gpu.h"

#define TW_LEFT_OFF 0x00001fffu /* bits that tensor cores do not read */

TW_GPU float tw_float_of(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

TW_GPU uint32_t tw_bits_of(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* The large part is cut off, as a rounded one would be infinite for the largest floats. */
TW_GPU uint32_t tw_large_part(uint32_t x) { return x & ~TW_LEFT_OFF; }

/* What is left, of 13 bits; rounded where tensor cores cut it off. */
TW_GPU uint32_t tw_small_part(uint32_t x, uint32_t large) {
  return tw_bits_of(tw_float_of(x) - tw_float_of(large)) + (TW_LEFT_OFF + 1) / 2;
}

#endif
