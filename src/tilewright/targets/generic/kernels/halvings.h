#ifndef TW_HALVINGS_H
#define TW_HALVINGS_H

#include <stdint.h>

/* How often a share is halved for its distance from the largest value: once per 32, rounded, at most 31 times. */
static inline int32_t tw_halvings(int32_t largest, int32_t x) {
  const uint32_t distance = (uint32_t)largest - (uint32_t)x;
  return distance < 31 * 32 ? (int32_t)((distance + 16) >> 5) : 31;
}

#endif
