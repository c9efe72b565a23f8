/* Weights of few bits. A row of them begins at a word of four bytes; four neighbours are in the lowest bits of a word's
 * bytes, the next four in the bits above. */
#ifndef TW_PACKED_H
#define TW_PACKED_H

#include <stdint.h>

/* A row as numbers: codes of `bits` bits, plus `least`. */
static inline void tw_unpack_row(const uint8_t *from, int32_t length, int32_t bits, int32_t least, int16_t *restrict to) {
  const int32_t mask = (1 << bits) - 1;
  for (int32_t i = 0; i < length; from += 4) {
    for (int32_t shift = 0; shift < 8 && i < length; shift += bits) {
      for (int32_t lane = 0; lane < 4 && i < length; lane++, i++) {
        to[i] = (int16_t)((from[lane] >> shift & mask) + least);
      }
    }
  }
}

#endif
