#ifndef TW_SCORING_H
#define TW_SCORING_H

#include "narrowing.h"

/* Entries of its table. */
#define TW_SCORES 260

/* What becomes of the products of rows. */
typedef struct {
  int32_t words; /* of the rows that are multiplied */
  /* Products are clipped to -bound - 1 .. bound and multiplied by `factor`, of which the upper half is the index if it is
   * rounded and `base` is added; or else, with a bound of 0, they are narrowed. */
  int32_t bound, factor, base;
  tw_narrowing narrowing;
  uint8_t table[TW_SCORES];
} tw_scoring;

#endif
