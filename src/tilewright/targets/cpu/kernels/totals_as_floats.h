/* Totals of bytes become floats: times a scale of their filter, times one of their row, plus a bias, between bounds. */
#ifndef TW_TOTALS_AS_FLOATS_H
#define TW_TOTALS_AS_FLOATS_H

#include "rounded.h"

typedef struct {
  const int32_t *start, *sums; /* of each filter: what totals begin with, and the sum of its weights */
  const float *scale, *bias;
  const TW_X *row_zero;     /* of each row, if it has its own: `start` has none then */
  const float *row_scale;   /* of each row, or of all */
  int32_t is_row_scale;
  float low, high; /* bounds, which may be infinite */
} tw_floats;

/* Two vectors of totals, of filters from number `at` on. */
TW_INLINE void tw_totals_as_floats(const tw_floats *l, int64_t at, int64_t row, tw_vector_bits total[2], tw_vector made[2]) {
  for (int v = 0; v < 2; v++) {
    const int64_t first = at + v * TW_LANES;
    if (l->row_zero) {
      tw_vector_bits sums;
      memcpy(&sums, l->sums + first, sizeof sums);
      total[v] -= sums * (int32_t)l->row_zero[row];
    }
    made[v] = __builtin_convertvector(total[v], tw_vector) * tw_load(l->scale + first);
    if (l->row_scale) made[v] *= tw_all(l->row_scale[l->is_row_scale ? row : 0]);
    made[v] = tw_rounded(made[v]) + tw_load(l->bias + first);
    made[v] = tw_at_most(tw_at_least(made[v], tw_all(l->low)), tw_all(l->high));
  }
}

#endif
