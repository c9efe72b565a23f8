/* All rows of a normalisation, by a file's own measure(params, x), which finds a row's scale, and
 * scale_by(params, scale, is_large, x, mul, add, y), which gives its elements. Needs TW_X and TW_Y. */
#ifndef TW_ROW_NORM_ROWS_H
#define TW_ROW_NORM_ROWS_H

#include "row_norm_words.h"

/* A reciprocal of 2^31 is a negative word, and is_large then. A function of its own: it has all registers. */
static __attribute__((noinline)) void scale_row(const tw_qlinearrownorm_params *p, const row_scale *s, const TW_X *x,
                                                const int32_t *mul, const int32_t *add, TW_Y *y) {
  if (s->inverse < 0) {
    scale_by(p, s, 1, x, mul, add, y);
  } else {
    scale_by(p, s, 0, x, mul, add, y);
  }
}

TW_ALWAYS void norm_rows(const tw_qlinearrownorm_params *p, const TW_X *x, const int32_t *mul, const int32_t *add,
                         TW_Y *y) {
  const int32_t length = p->length;
  for (int32_t row = 0; row < p->rows; row++, x += length, y += length) {
    const int32_t group = p->groups > 1 ? row % p->groups * length : 0;
    const row_scale scale = measure(p, x);
    scale_row(p, &scale, x, mul + group, add + group, y);
  }
}

#endif
