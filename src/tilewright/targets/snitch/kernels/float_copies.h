/* Floats that the integer core copies, as bits. */
#ifndef TW_FLOAT_COPIES_H
#define TW_FLOAT_COPIES_H

#include "stream_sums.h"

/* Elements that are `step` apart; eight are loaded before one is stored, because a load's result is not there at once. */
static inline __attribute__((always_inline)) void tw_copy_run_twice(const uint32_t *from, int32_t step, int32_t count, uint64_t *to) {
  for (; count >= 8; count -= 8, from += 8 * step, to += 8) {
    uint32_t eight[8];
    for (int i = 0; i < 8; i++) eight[i] = ((const volatile uint32_t *)from)[i * step];
    for (int i = 0; i < 8; i++) tw_put(to + i, eight[i]);
  }
  for (; count > 0; count--, from += step, to++) tw_put(to, *from);
}

static __attribute__((noinline)) void tw_copy_row_twice(const uint32_t *from, int32_t step, int32_t count, uint64_t *to) {
  if (step == 1) {
    tw_copy_run_twice(from, 1, count, to);
  } else {
    tw_copy_run_twice(from, step, count, to);
  }
}

/* To elements that are `to_step` apart. */
static inline __attribute__((noinline)) void tw_copy_apart(const uint32_t *from, int32_t step, uint32_t *to, int32_t to_step, int32_t count) {
  for (; count >= 4; count -= 4, from += 4 * step) {
    const uint32_t a = from[0], b = from[step], c = from[2 * step], d = from[3 * step];
    to[0] = a, to += to_step;
    to[0] = b, to += to_step;
    to[0] = c, to += to_step;
    to[0] = d, to += to_step;
  }
  for (; count > 0; count--, from += step, to += to_step) *to = *from;
}

#endif
