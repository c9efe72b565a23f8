/* y = clamp(round(e * (numerator / sum(e)) / 2^shift) + zero_point), where e = table[max(x) - x], rows side by side, four
 * at a time. The upper word of a product with two words is enough: shifts are longer. */
#include "qlinearsoftmax.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearsoftmax_mve
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "elements_mve.h"

#define TW_BYTES 16 /* of a vector */

static int32_t largest_of(const TW_X *x, int32_t count) {
  int8_t largest = INT8_MIN;
  uint8_t largest_unsigned = 0;
  for (int32_t left = count; left > 0; left -= TW_BYTES, x += TW_BYTES) {
    const mve_pred16_t some = vctp8q((uint32_t)left);
    if ((TW_X)-1 < (TW_X)0) {
      largest = vmaxvq_p_s8(largest, vldrbq_z_s8((const int8_t *)x, some), some);
    } else {
      largest_unsigned = vmaxvq_p_u8(largest_unsigned, vldrbq_z_u8((const uint8_t *)x, some), some);
    }
  }
  return (TW_X)-1 < (TW_X)0 ? largest : largest_unsigned;
}

/* Exponentials of four elements; 0 where there are none. */
TW_ALWAYS uint32x4_t powers(const int32_t *table, int32_t largest, const TW_X *x, mve_pred16_t some) {
  const int32x4_t distance = vsubq_s32(vdupq_n_s32(largest), TW_FOUR(TW_X, x, some));
  return vldrwq_gather_shifted_offset_z_u32((const uint32_t *)table, vreinterpretq_u32_s32(distance), some);
}

static uint64_t sum_of(const int32_t *table, int32_t largest, const TW_X *x, int32_t count) {
  uint64_t sum = 0;
  for (int32_t left = count; left > 0; left -= TW_LANES, x += TW_LANES) {
    sum = vaddlvaq_u32(sum, powers(table, largest, x, vctp32q((uint32_t)left)));
  }
  return sum;
}

/* How a row's exponentials become results. */
typedef struct {
  uint32_t high, low; /* words of the factor */
  int32_t shift;      /* of the upper word */
  int is_even;        /* halves go to the even number, otherwise up */
} share;

TW_ALWAYS int32x4_t rounded(const share *s, uint32x4_t e) {
  const uint32x4_t upper = vaddq_u32(vmulq_n_u32(e, s->high), vmulhq_u32(e, vdupq_n_u32(s->low)));
  const int32x4_t found = vreinterpretq_s32_u32(vrshlq_u32(upper, vdupq_n_s32(-s->shift)));
  if (!s->is_even) return found;
  const uint32_t half = 1u << (s->shift - 1);
  const mve_pred16_t is_half = vcmpeqq_n_u32(vandq_u32(upper, vdupq_n_u32(2 * half - 1)), half);
  const mve_pred16_t is_tie = vcmpeqq_m_n_u32(vmulq_n_u32(e, s->low), 0, is_half);
  const int32x4_t odd = vandq_s32(found, vdupq_n_s32(1));
  return vsubq_m_s32(found, found, odd, is_tie);
}

static void softmax(const tw_qlinearsoftmax_params *p, const TW_X *x, const int32_t *table, TW_Y *y) {
  const int32_t largest = largest_of(x, p->count);
  const uint64_t factor = (uint64_t)p->numerator / sum_of(table, largest, x, p->count);
  const share s = {(uint32_t)(factor >> 32), (uint32_t)factor, p->requant.shift - 32, p->requant.rounding == TW_HALF_EVEN};
  const tw_vector_limits limits = tw_vector_limits_of(&p->requant);
  for (int32_t left = p->count; left > 0; left -= TW_LANES, x += TW_LANES, y += TW_LANES) {
    const mve_pred16_t some = vctp32q((uint32_t)left);
    TW_PUT_FOUR(TW_Y, y, tw_vector_limited(&limits, rounded(&s, powers(table, largest, x, some))), some);
  }
}

void TW_NAME(const tw_qlinearsoftmax_params *params, const TW_X *x, const int32_t *table, TW_Y *y) {
  const tw_qlinearsoftmax_params p = *params;
  if (p.count == 0) return;
  for (int32_t o = 0; o < p.outer; o++, x += p.count, y += p.count) softmax(&p, x, table, y);
}
