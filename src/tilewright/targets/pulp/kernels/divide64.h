/* A quotient of 64 bits by a divisor of 32: cores divide words, the faster the larger the divisor is. */
#ifndef TW_DIVIDE64_H
#define TW_DIVIDE64_H

#include <stdint.h>

#include "xpulp.h"

/* The next 16 bits of a quotient: (rest * 2^16 + next) / divisor, where the divisor's highest bit is set and rest is less
 * than it. An estimate by the divisor's upper half is at most 2 too large. */
static inline uint32_t tw_next_digit(uint32_t *rest, uint32_t next, uint32_t divisor) {
  const uint32_t upper = divisor >> 16, lower = divisor & 0xffff;
  uint32_t digit = *rest / upper, left = *rest - digit * upper;
  while (digit >> 16 || digit * lower > (left << 16 | next)) {
    digit--;
    left += upper;
    if (left >> 16) break;
  }
  *rest = (*rest << 16 | next) - digit * divisor;
  return digit;
}

/* The divisor is not 0. */
static inline uint64_t tw_divide_by_word(uint64_t number, uint32_t divisor) {
  const uint32_t upper = (uint32_t)(number >> 32), lower = (uint32_t)number;
  const uint32_t first = upper / divisor, left = upper - first * divisor;
  const int32_t up = 31 - tw_x_fl1(divisor);
  uint32_t rest = up ? left << up | lower >> (32 - up) : left;
  const uint32_t high = tw_next_digit(&rest, lower << up >> 16, divisor << up);
  const uint32_t low = tw_next_digit(&rest, lower << up & 0xffff, divisor << up);
  return (uint64_t)first << 32 | high << 16 | low;
}

#endif
