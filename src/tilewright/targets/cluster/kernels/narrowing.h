/* A requantisation of which is known beforehand that 32 bits do: the compiler of the network has looked at the range of
 * what goes in, and folded half, zero point and the lowest result into the summand. */
#ifndef TW_NARROWING_H
#define TW_NARROWING_H

#include "xpulp.h"

typedef struct {
  int32_t mul;
  int32_t add;
  int32_t shift;
  int32_t top;  /* the largest result less the lowest */
  int32_t even; /* whether ties go to the even neighbour */
  int32_t zero; /* the zero point less the lowest result, which is not in `add` if ties do */
} tw_narrowing;

/* The result less the lowest one. `even` is known when this is compiled. */
static inline int32_t tw_narrowed_sum(const tw_narrowing *s, int32_t sum, int even) {
  if (!even) return tw_x_clipu(sum >> s->shift, s->top);
  const int32_t half = (1 << s->shift) >> 1;
  const int32_t rounded = (sum + half - (s->shift > 0) + (sum >> s->shift & (s->shift > 0))) >> s->shift;
  return tw_x_clipu(rounded + s->zero, s->top);
}

static inline int32_t tw_narrowed(const tw_narrowing *s, int32_t x, int even) {
  return tw_narrowed_sum(s, tw_x_mac(s->add, x, s->mul), even);
}

#endif
