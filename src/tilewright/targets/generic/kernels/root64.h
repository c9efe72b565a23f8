/* The square root of a number of 62 bits and the reciprocal of that, without divisions: cores divide bit by bit, and words
 * only. Estimates by Newton's method are made exact by what they leave. */
#ifndef TW_ROOT64_H
#define TW_ROOT64_H

#include <stdint.h>

static inline uint32_t tw_upper_of(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }

/* 2^61 / sqrt(square) of a square from 2^60 to 2^62, of which this is the upper word: within 2^-22 of it by three steps, 2^-27 by
 * four. */
static inline uint32_t tw_inverse_root_estimate(uint32_t upper, int steps) {
  /* A line is less than 9.3 % off; the error's square, times 1.5, is left by each step. */
  uint32_t y = 0x8a3d70a3u - upper - (upper >> 2);
  for (int step = 0; step < steps; step++) {
    const uint32_t one = tw_upper_of(tw_upper_of(y, y), upper << 2); /* 2^28 if y is right */
    y = tw_upper_of(y, ((3u << 28) - one) << 2) << 1;
  }
  return y;
}

/* `number` / 2^(62 - bits) * y, of a number that is y's error times 2^(31 + bits), in units of y's last place. */
static inline int32_t tw_correction(int64_t number, uint32_t y, int32_t bits) {
  return (int32_t)((int64_t)(int32_t)(number >> 11) * (int64_t)(uint64_t)y >> 32) >> (19 - bits);
}

/* The floor of the root, and of 2^61 divided by it. */
static inline uint32_t tw_root_and_inverse(uint64_t square, uint32_t *inverse) {
  const uint32_t y = tw_inverse_root_estimate((uint32_t)(square >> 32), 3);
  uint32_t root = tw_upper_of((uint32_t)(square >> 32) << 2, y) << 1;
  root += (uint32_t)tw_correction((int64_t)(square - (uint64_t)root * root), y, 0);
  while ((uint64_t)root * root > square) root--;
  while ((uint64_t)root * root + 2 * (uint64_t)root < square) root++;
  int64_t rest = ((int64_t)1 << 61) - (int64_t)((uint64_t)y * root);
  const int32_t more = tw_correction(rest, y, 1);
  uint32_t quotient = y + (uint32_t)more;
  rest -= (int64_t)more * root;
  for (; rest < 0; rest += root) quotient--;
  for (; rest >= root; rest -= root) quotient++;
  *inverse = quotient;
  return root;
}

#endif
