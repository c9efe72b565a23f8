/* Up to 64 bytes of a row at a time, in words where both ends are aligned. With `flip` their highest bits are flipped. */
#ifndef TW_TILE_ROWS_H
#define TW_TILE_ROWS_H

#include <stdint.h>

#define TW_FLIP(flips) ((flips) ? 0x80808080u : 0u)

static inline void tw_copy_row(int8_t *to, const int8_t *from, int32_t bytes, uint32_t flip) {
  int32_t at = 0;
  if ((((uintptr_t)to | (uintptr_t)from) & 3) == 0) {
    for (; at + 16 <= bytes; at += 16) { /* loads first: none waits for the one before */
      const uint32_t *const w = (const uint32_t *)(const void *)(from + at);
      const uint32_t a = w[0] ^ flip, b = w[1] ^ flip, c = w[2] ^ flip, d = w[3] ^ flip;
      uint32_t *const v = (uint32_t *)(void *)(to + at);
      v[0] = a;
      v[1] = b;
      v[2] = c;
      v[3] = d;
    }
  }
  for (; at < bytes; at++) to[at] = (int8_t)(from[at] ^ (int8_t)flip);
}

static inline void tw_clear_row(int8_t *to, int32_t bytes) {
  for (int32_t at = 0; at < bytes; at++) to[at] = 0;
}

#endif
