/* y = requant(c / sqrt(mean of c * c + epsilon) * mul + add), row by row, where c = n * x, less the sum if centred; each
 * element has its own factor. What is multiplied has 32 bits, so that compilers find products of vectors. */
#include "qlinearrownorm.h"

#include "int32.h"
#include "requant_loops.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearrownorm_rows
#define TW_X int8_t
#define TW_Y int8_t
#endif

#define UNIT_BITS 20 /* fraction bits of a normalised element */
#define ROOT_BITS 31
#define NARROW_ROW 65536 /* elements whose squares, of bytes, are summed in 32 bits without a sign */

typedef struct {
  int64_t sum;     /* what is subtracted from n times an element */
  int64_t inverse; /* what the difference is multiplied with, before it is shifted by `down` */
  int32_t down;
} row_scale;

typedef struct {
  int64_t sum, squares;
} moments;

static moments moments_of(const TW_X *x, int32_t count, int32_t zero) {
  moments made = {0, 0};
  if (sizeof(TW_X) == 1 && count < NARROW_ROW) {
    int32_t sum = 0;
    uint32_t squares = 0;
    for (int32_t i = 0; i < count; i++) {
      const int32_t value = (int32_t)x[i] - zero;
      sum += value;
      squares += (uint32_t)(value * value);
    }
    made.sum = sum;
    made.squares = squares;
    return made;
  }
  for (int32_t i = 0; i < count; i++) {
    const int32_t value = (int32_t)x[i] - zero;
    made.sum += value;
    made.squares += (int64_t)value * value;
  }
  return made;
}

static row_scale measure(const tw_qlinearrownorm_params *p, const TW_X *x) {
  const uint64_t one = (uint64_t)1 << p->fraction;
  const moments found = moments_of(x, p->length, p->x_zero);
  const int64_t sum = p->centred ? found.sum : 0;
  uint64_t spread = ((uint64_t)(found.squares * p->length - sum * sum) << p->fraction) + (uint64_t)p->epsilon;
  /* Less than one only where all elements are the same: whatever they are divided by, zero is zero. */
  if (spread < one) spread = one;
  int32_t down = 2 * ROOT_BITS - 1 - UNIT_BITS - p->fraction / 2;
  for (; spread >> (2 * ROOT_BITS - 2) == 0; down--) spread <<= 2;
  row_scale scale = {sum, ((int64_t)1 << (2 * ROOT_BITS - 1)) / (int64_t)tw_root(spread), down};
  /* 2^31 does not fit 32 bits with a sign; half of it, shifted by a bit fewer, gives the same. */
  if (scale.inverse > INT32_MAX) scale.inverse >>= 1, scale.down--;
  return scale;
}

static inline void scale_row(const tw_qlinearrownorm_params *p, int32_t rounding, row_scale scale, const TW_X *x,
                             const int32_t *mul, const int32_t *add, TW_Y *y) {
  const int64_t half = (int64_t)1 << (scale.down - 1), low = p->requant.low, high = p->requant.high;
  const int32_t zero = p->x_zero, length = p->length, sum = (int32_t)scale.sum, down = scale.down, lift = p->lift;
  const int32_t shift = p->requant.shift, offset = p->requant.zero_point;
  const int32_t inverse = (int32_t)scale.inverse;
  TW_INDEPENDENT
  for (int32_t i = 0; i < length; i++) {
    const int32_t centred = ((int32_t)x[i] - zero) * length - sum;
    const int32_t unit = (int32_t)(((int64_t)centred * inverse + half) >> down);
    const int64_t total = (int64_t)unit * mul[i] + ((int64_t)add[i] << lift);
    y[i] = (TW_Y)tw_limited64(tw_shifted64(total, shift, rounding) + offset, low, high);
  }
}

void TW_NAME(const tw_qlinearrownorm_params *params, const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y) {
  const tw_qlinearrownorm_params p = *params;
  for (int32_t row = 0; row < p.rows; row++, x += p.length, y += p.length) {
    const int32_t group = row % p.groups * p.length;
    const row_scale scale = measure(&p, x);
    if (p.requant.rounding == TW_HALF_EVEN) {
      scale_row(&p, TW_HALF_EVEN, scale, x, mul + group, add + group, y);
    } else {
      scale_row(&p, p.requant.rounding, scale, x, mul + group, add + group, y);
    }
  }
}
