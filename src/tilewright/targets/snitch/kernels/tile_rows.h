/* Up to 64 bytes of a row at a time, in words where both ends are aligned. */
#ifndef TW_TILE_ROWS_H
#define TW_TILE_ROWS_H

#include <stdint.h>

static inline void tw_copy_row(int8_t *to, const int8_t *from, int32_t bytes) {
  int32_t at = 0;
  if ((((uintptr_t)to | (uintptr_t)from) & 3) == 0) {
    for (; at + 4 <= bytes; at += 4) *(uint32_t *)(void *)(to + at) = *(const uint32_t *)(const void *)(from + at);
  }
  for (; at < bytes; at++) to[at] = from[at];
}

static inline void tw_clear_row(int8_t *to, int32_t bytes) {
  for (int32_t at = 0; at < bytes; at++) to[at] = 0;
}

#endif
