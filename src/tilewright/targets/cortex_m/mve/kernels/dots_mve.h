/* Products of 16 bytes with those of four filters. */
#ifndef TW_DOTS_MVE_H
#define TW_DOTS_MVE_H

#include "requant_mve.h"

#define TW_VECTOR 16
#define TW_FILTERS 4

TW_ALWAYS int32x4_t tw_vector_of(int32_t a, int32_t b, int32_t c, int32_t d) {
  int32x4_t made = vdupq_n_s32(a);
  made = vsetq_lane_s32(b, made, 1);
  made = vsetq_lane_s32(c, made, 2);
  return vsetq_lane_s32(d, made, 3);
}

typedef struct {
  int32_t t0, t1, t2, t3;
} tw_totals;

/* 16 elements of x meet those of four filters, which lie side by side. */
TW_ALWAYS void tw_multiply(tw_totals *t, int8x16_t x, const int8_t *w) {
  t->t0 = vmladavaq_s8(t->t0, x, vldrbq_s8(w));
  t->t1 = vmladavaq_s8(t->t1, x, vldrbq_s8(w + TW_VECTOR));
  t->t2 = vmladavaq_s8(t->t2, x, vldrbq_s8(w + 2 * TW_VECTOR));
  t->t3 = vmladavaq_s8(t->t3, x, vldrbq_s8(w + 3 * TW_VECTOR));
}

#endif
