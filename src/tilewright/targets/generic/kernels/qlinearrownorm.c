/* y = requant(c / sqrt(mean of c * c + epsilon) * mul + add), row by row, where c = n * x, less the sum if centred */
#include "qlinearrownorm.h"

#include "int32.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearrownorm_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#define UNIT_BITS 20 /* fraction bits of a normalised element */
#define ROOT_BITS 31

typedef struct {
  int64_t sum;     /* what is subtracted from n times an element */
  int64_t inverse; /* what the difference is multiplied with, before it is shifted by `down` */
  int32_t down;
} row_scale;

static row_scale measure(const tw_qlinearrownorm_params *p, const TW_X *x) {
  const uint64_t one = (uint64_t)1 << p->fraction;
  int64_t sum = 0, squares = 0;
  for (int32_t i = 0; i < p->length; i++) {
    const int64_t value = (int64_t)x[i] - p->x_zero;
    sum += value;
    squares += value * value;
  }
  if (!p->centred) sum = 0;
  uint64_t spread = ((uint64_t)(squares * p->length - sum * sum) << p->fraction) + (uint64_t)p->epsilon;
  /* Less than one only where all elements are the same: whatever they are divided by, zero is zero. */
  if (spread < one) spread = one;
  int32_t down = 2 * ROOT_BITS - 1 - UNIT_BITS - p->fraction / 2;
  for (; spread >> (2 * ROOT_BITS - 2) == 0; down--) spread <<= 2;
  const row_scale scale = {sum, ((int64_t)1 << (2 * ROOT_BITS - 1)) / (int64_t)tw_root(spread), down};
  return scale;
}

static void scale_row(const tw_qlinearrownorm_params *p, row_scale scale, const TW_X *x, const int32_t *mul,
                      const int32_t *add, TW_Y *y) {
  const int64_t half = (int64_t)1 << (scale.down - 1);
  for (const TW_X *end = x + p->length; x < end; mul++, add++) {
    const int64_t factor = *mul, summand = *add * ((int64_t)1 << p->lift);
    for (int32_t i = 0; i < p->repeat; i++) {
      const int64_t centred = ((int64_t)*x++ - p->x_zero) * p->length - scale.sum;
      const int64_t unit = (centred * scale.inverse + half) >> scale.down;
      *y++ = (TW_Y)tw_narrow(&p->requant, unit * factor + summand);
    }
  }
}

void TW_NAME(const tw_qlinearrownorm_params *params, const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y) {
  const tw_qlinearrownorm_params p = *params;
  const int32_t columns = p.length > 0 ? p.length / p.repeat : 0;
  if (columns == 0) return;
  for (int32_t row = 0; row < p.rows; row++, x += p.length, y += p.length) {
    const int32_t group = row % p.groups * columns;
    scale_row(&p, measure(&p, x), x, mul + group, add + group, y);
  }
}
