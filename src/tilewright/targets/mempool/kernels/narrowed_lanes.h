/* Requantisations of four numbers of which is known that 32 bits do; results less the lowest one. */
#ifndef TW_NARROWED_LANES_H
#define TW_NARROWED_LANES_H

#include "byte_words.h"
#include "narrowing.h"

/* Of products and summands that are there. `even` is known when this is compiled. */
static inline void tw_narrow_sums(const tw_narrowing *s, int32_t *x, int even) {
  if (even) {
    TW_EACH_LANE(i) x[i] = tw_narrowed_sum(s, x[i], 1);
    return;
  }
  TW_EACH_LANE(i) x[i] >>= s->shift;
  TW_EACH_LANE(i) x[i] = tw_x_clipu(x[i], s->top);
}

static inline void tw_narrow_lanes(const tw_narrowing *s, int32_t *x, int even) {
  TW_EACH_LANE(i) x[i] = tw_x_mac(s->add, x[i], s->mul);
  tw_narrow_sums(s, x, even);
}

#endif
