/* A requantisation by the upper word of one product: x times 2^up fits 32 bits, and the product with its factor is shifted
 * by more than 32. The lower word of the product then decides ties only. */
#ifndef TW_HIGH_WORD_H
#define TW_HIGH_WORD_H

#include "next_element.h"

typedef struct {
  int32_t mul;
  int32_t up;    /* what x is shifted by to the left */
  int32_t shift; /* of the upper word, at least 1 */
  int32_t add;   /* half and the zero point, in the upper word */
  int32_t mask;  /* the bits below the shift */
  int32_t odd;   /* the zero point's lowest bit if ties go to the even neighbour; else 2 */
} tw_high_word;

static inline int32_t tw_upper(int32_t a, int32_t b) { return (int32_t)((int64_t)a * b >> 32); }

static inline int32_t tw_upper_unsigned(int32_t a, uint32_t b) { return (int32_t)((int64_t)a * (int64_t)(uint64_t)b >> 32); }

/* What a tie that was rounded up is too large by. */
static inline int32_t tw_tie_excess(int32_t value, int32_t odd) { return odd > 1 ? 0 : (value ^ odd) & 1; }

/* Before it is clipped. */
static inline int32_t tw_by_high_word(const tw_high_word *h, int32_t x) {
  const int32_t wide = (int32_t)((uint32_t)x << h->up);
  const int32_t sum = tw_upper(wide, h->mul) + h->add;
  int32_t value = sum >> h->shift;
  if (TW_COLD(!(sum & h->mask))) {
    if ((uint32_t)wide * (uint32_t)h->mul == 0) value -= tw_tie_excess(value, h->odd);
  }
  return value;
}

#endif
