/* Bounds of results in vectors. */
#ifndef TW_BOUNDS_H
#define TW_BOUNDS_H

#include "activation.h"
#include "vectors.h"

/* What is done with sums before they are stored. */
typedef struct {
  int32_t raises, lowers; /* to at least `low`, to at most `high` */
  float low, high;
} tw_bounds;

/* Where clamping is all that there is to do, tiles do it; anything else follows when all of a row is stored. */
static inline tw_bounds tw_bounds_of(const tw_activation *activation) {
  const tw_bounds none = {0, 0, 0.0f, 0.0f};
  if (activation->kind != TW_CLAMP) return none;
  const tw_bounds found = {1, activation->beta < 3.4e38f, activation->alpha, activation->beta};
  return found;
}

TW_INLINE tw_vector tw_bounded(tw_vector x, const tw_bounds *bounds) {
  if (bounds->raises) x = tw_at_least(x, tw_all(bounds->low));
  return bounds->lowers ? tw_at_most(x, tw_all(bounds->high)) : x;
}

#endif
