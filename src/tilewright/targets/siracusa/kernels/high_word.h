/* A requantisation by the upper word of one product: x times 2^up fits 32 bits, and with its factor's product the shift
 * is more than 32. The lower word of the product then decides ties only, and is not computed where there can be none. */
#ifndef TW_HIGH_WORD_H
#define TW_HIGH_WORD_H

#include "xpulp.h"

typedef struct {
  int32_t mul;
  int32_t up;    /* what x is shifted by to the left */
  int32_t shift; /* of the upper word, at least 1 */
  int32_t add;   /* half and the zero point, in the upper word */
  int32_t low;
  int32_t high;
  int32_t odd; /* the zero point's lowest bit */
  int32_t even; /* 1 where ties go to the even neighbour, else 0 */
} tw_high_word;

static inline int32_t tw_upper(int32_t a, int32_t b) { return (int32_t)((int64_t)a * b >> 32); }

static inline int32_t tw_upper_unsigned(int32_t a, uint32_t b) { return (int32_t)((int64_t)a * (int64_t)(uint64_t)b >> 32); }

/* `mask` has the bits below the shift: it is kept in a register. */
static inline int32_t tw_by_high_word(const tw_high_word *h, int32_t mask, int32_t x) {
  const uint32_t wide = (uint32_t)x << h->up;
  const int32_t sum = tw_upper((int32_t)wide, h->mul) + h->add;
  int32_t value = sum >> h->shift;
  if (!(sum & mask) && wide * (uint32_t)h->mul == 0) value -= (value ^ h->odd) & h->even;
  return tw_x_max(h->low, tw_x_min(value, h->high));
}

#endif
