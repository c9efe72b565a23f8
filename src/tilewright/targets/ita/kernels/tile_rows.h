/* Up to 64 bytes of a row at a time, in words where both ends are aligned. With `flip` their highest bits are flipped. */
#ifndef TW_TILE_ROWS_H
#define TW_TILE_ROWS_H

#include <stdint.h>

#define TW_FLIP(flips) ((flips) ? 0x80808080u : 0u)

/* Doubles move eight bytes in one instruction where cores have them. */
typedef double __attribute__((may_alias)) tw_eight_bytes;

static inline void tw_copy_64(int8_t *to, const int8_t *from) {
  const tw_eight_bytes *const d = (const tw_eight_bytes *)(const void *)from;
  tw_eight_bytes *const v = (tw_eight_bytes *)(void *)to;
  const double a = d[0], b = d[1], c = d[2], e = d[3], f = d[4], g = d[5], h = d[6], i = d[7];
  v[0] = a;
  v[1] = b;
  v[2] = c;
  v[3] = e;
  v[4] = f;
  v[5] = g;
  v[6] = h;
  v[7] = i;
}

static inline void tw_copy_row(int8_t *to, const int8_t *from, int32_t bytes, uint32_t flip) {
  int32_t at = 0;
  if (bytes == 64 && flip == 0 && (((uintptr_t)to | (uintptr_t)from) & 7) == 0) {
    tw_copy_64(to, from);
    return;
  }
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
