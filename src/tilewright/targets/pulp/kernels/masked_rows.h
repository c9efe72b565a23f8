/* Rows of masked scores of an attention: which of their columns count. Whoever includes this says what masks and shares are:
 * TW_M and TW_Y. */
#ifndef TW_MASKED_ROWS_H
#define TW_MASKED_ROWS_H

#include "masked_softmax.h"

#define TW_X uint8_t /* masked scores */
#define TW_X_UNSIGNED

#include "scores.h"
#include "shares.h"
#include "mask_row.h"

/* Whether quiet columns count: whether their exponentials may be more than 0, now that the largest other one is known. */
static inline int quiet_counts(const tw_masked_softmax_params *p, const mask_row *mask, int32_t loud) {
  return mask->loud < p->columns && loud - mask->quiet.highest < p->gone;
}

/* Of small exponentials that are as far away as this one, or farther. */
static inline uint32_t bound_of(const tw_masked_softmax_params *p, uint32_t exponential) {
  return exponential + (exponential * (uint32_t)p->rise >> 8) + 1;
}

#endif
