/* y = requant(c / sqrt(mean of c * c + epsilon) * mul + add), row by row, as qlinearrownorm_words.c, four at a time. */
#ifndef TW_NAME
#define TW_NAME tw_qlinearrownorm_mve
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "elements_mve.h"
#include "row_norm_words.h"

#define TW_IS_SIGNED(type) ((type)-1 < (type)0)

/* ---- a row as a whole ---- */

/* Behind the last element there are zeros. */
static sums sums_of_bytes(const void *x, int32_t length) {
  int32_t sum = 0, squares = 0;
  for (int32_t i = 0; i < length; i += 16) {
    const mve_pred16_t some = vctp8q((uint32_t)(length - i));
    if (TW_IS_SIGNED(TW_X)) {
      const int8x16_t v = vldrbq_z_s8((const int8_t *)x + i, some);
      sum = vaddvaq_s8(sum, v), squares = vmladavaq_s8(squares, v, v);
    } else {
      const uint8x16_t v = vldrbq_z_u8((const uint8_t *)x + i, some);
      sum = (int32_t)vaddvaq_u8((uint32_t)sum, v), squares = (int32_t)vmladavaq_u8((uint32_t)squares, v, v);
    }
  }
  const sums s = {sum, (uint32_t)squares};
  return s;
}

static sums sums_of_halves(const void *x, int32_t length) {
  int32_t sum = 0;
  uint64_t squares = 0;
  for (int32_t i = 0; i < length; i += 8) {
    const mve_pred16_t some = vctp16q((uint32_t)(length - i));
    if (TW_IS_SIGNED(TW_X)) {
      const int16x8_t v = vldrhq_z_s16((const int16_t *)x + i, some);
      sum = vaddvaq_s16(sum, v), squares = (uint64_t)vmlaldavaq_s16((int64_t)squares, v, v);
    } else {
      const uint16x8_t v = vldrhq_z_u16((const uint16_t *)x + i, some);
      sum = (int32_t)vaddvaq_u16((uint32_t)sum, v), squares = vmlaldavaq_u16(squares, v, v);
    }
  }
  const sums s = {sum, squares};
  return s;
}

static __attribute__((noinline)) row_scale measure(const tw_qlinearrownorm_params *p, const TW_X *x) {
  return row_scale_of(p, sizeof(TW_X) == 1 ? sums_of_bytes(x, p->length) : sums_of_halves(x, p->length));
}

/* ---- its elements ---- */

/* Four results, and their units. */
typedef struct {
  int32x4_t unit, sum;
} four;

TW_ALWAYS four scaled(const row_scale *s, const narrowing *n, int is_large, int32x4_t x, int32x4_t mul, int32x4_t add) {
  const int32x4_t centred = vaddq_n_s32(vmulq_n_s32(x, s->factor), s->offset);
  const int32x4_t product = vmulhq_s32(centred, vdupq_n_s32(s->inverse));
  const int32x4_t upper = is_large ? vaddq_s32(product, centred) : product;
  const int32x4_t unit = vrshlq_s32(upper, vdupq_n_s32(-s->back));
  const int32x4_t summand = vaddq_n_s32(vshlq_s32(add, vdupq_n_s32(-n->back)), n->add);
  const four made = {unit, vaddq_s32(vmulhq_s32(unit, mul), summand)};
  return made;
}

/* Those next to a tie. */
static __attribute__((noinline)) void again(const tw_qlinearrownorm_params *p, mve_pred16_t which, int32x4_t units,
                                            const int32_t *mul, const int32_t *add, TW_Y *y) {
  int32_t unit[TW_LANES];
  vstrwq_s32(unit, units);
  for (int32_t i = 0; i < TW_LANES; i++, which >>= 4) {
    if (which & 1) y[i] = exactly(p, unit[i], mul[i], add[i]);
  }
}

TW_ALWAYS void scale_by(const tw_qlinearrownorm_params *p, const row_scale *scale, int is_large, const TW_X *x,
                        const int32_t *mul, const int32_t *add, TW_Y *y) {
  const row_scale s = *scale;
  const narrowing n = narrowing_of(p);
  const int32x4_t least = vdupq_n_s32(p->requant.low), most = vdupq_n_s32(p->requant.high);
  const int32x4_t mask = vdupq_n_s32(n.mask), shift = vdupq_n_s32(-n.shift);
  for (int32_t left = p->length; left > 0; left -= TW_LANES) {
    const mve_pred16_t some = vctp32q((uint32_t)left);
    const four made = scaled(&s, &n, is_large, TW_FOUR(TW_X, x, some), vldrwq_z_s32(mul, some), vldrwq_z_s32(add, some));
    const mve_pred16_t near_tie = vcmpeqq_m_n_s32(vandq_s32(made.sum, mask), 0, some);
    TW_PUT_FOUR(TW_Y, y, vminq_s32(vmaxq_s32(vshlq_s32(made.sum, shift), least), most), some);
    if (__builtin_expect(near_tie, 0)) again(p, near_tie, made.unit, mul, add, y);
    x += TW_LANES, mul += TW_LANES, add += TW_LANES, y += TW_LANES;
  }
}

#include "row_norm_rows.h"

void TW_NAME(const tw_qlinearrownorm_params *params, const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y) {
  norm_rows(params, x, mul, add, y);
}
