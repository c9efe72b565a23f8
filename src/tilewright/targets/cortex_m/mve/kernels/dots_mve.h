/* Products of 16 bytes with weights of four filters; of eight elements of 16 bits, if TW_ELEMENT_BYTES is 2. */
#ifndef TW_DOTS_MVE_H
#define TW_DOTS_MVE_H

#include "requant_mve.h"

#ifndef TW_ELEMENT_BYTES
#define TW_ELEMENT_BYTES 1
#endif

#define TW_VECTOR (16 / TW_ELEMENT_BYTES)
#define TW_FILTERS 4

#if TW_ELEMENT_BYTES == 1
typedef int8x16_t tw_elements;
TW_ALWAYS mve_pred16_t tw_first(int32_t count) { return vctp8q((uint32_t)count); }
TW_ALWAYS tw_elements tw_weights(const int8_t *w) { return vldrbq_s8(w); }
TW_ALWAYS int32_t tw_dot(tw_elements x, tw_elements w) { return vmladavq_s8(x, w); }
TW_ALWAYS int32_t tw_add_dot(int32_t total, tw_elements x, tw_elements w) { return vmladavaq_s8(total, x, w); }
#else
typedef int16x8_t tw_elements;
TW_ALWAYS mve_pred16_t tw_first(int32_t count) { return vctp16q((uint32_t)count); }
TW_ALWAYS tw_elements tw_weights(const int8_t *w) { return vldrbq_s16(w); }
TW_ALWAYS int32_t tw_dot(tw_elements x, tw_elements w) { return vmladavq_s16(x, w); }
TW_ALWAYS int32_t tw_add_dot(int32_t total, tw_elements x, tw_elements w) { return vmladavaq_s16(total, x, w); }
#endif

TW_ALWAYS int32x4_t tw_vector_of(int32_t a, int32_t b, int32_t c, int32_t d) {
  int32x4_t made = vdupq_n_s32(a);
  made = vsetq_lane_s32(b, made, 1);
  made = vsetq_lane_s32(c, made, 2);
  return vsetq_lane_s32(d, made, 3);
}

typedef struct {
  int32_t t0, t1, t2, t3;
} tw_totals;

/* A vector of x meets those of four filters, which lie side by side. */
TW_ALWAYS void tw_multiply(tw_totals *t, tw_elements x, const int8_t *w) {
  t->t0 = tw_add_dot(t->t0, x, tw_weights(w));
  t->t1 = tw_add_dot(t->t1, x, tw_weights(w + TW_VECTOR));
  t->t2 = tw_add_dot(t->t2, x, tw_weights(w + 2 * TW_VECTOR));
  t->t3 = tw_add_dot(t->t3, x, tw_weights(w + 3 * TW_VECTOR));
}

#endif
