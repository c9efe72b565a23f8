/* Bytes in and out of vectors. Needs TW_X and TW_Y. Unsigned bytes are computed with 128 less, as signed ones. */
#ifndef TW_VECTORS_MVE_H
#define TW_VECTORS_MVE_H

#include "requant_mve.h"

#define TW_VECTOR 16
#define TW_X_FLIP ((TW_X)-1 < 0 ? 0 : 0x80)

/* With sign, whatever they are. */
TW_ALWAYS int8x16_t tw_signed(int8x16_t x) {
  return TW_X_FLIP ? veorq_s8(x, vdupq_n_s8((int8_t)TW_X_FLIP)) : x;
}

TW_ALWAYS int8x16_t tw_load(const TW_X *x) { return tw_signed(vldrbq_s8((const int8_t *)x)); }

/* Some of them: the others are 0 or what weights of 0 make of them. */
TW_ALWAYS int8x16_t tw_load_some(const TW_X *x, mve_pred16_t some) {
  return tw_signed(vldrbq_z_s8((const int8_t *)x, some));
}

TW_ALWAYS void tw_store(TW_Y *y, int32x4_t value, mve_pred16_t some) {
  if (sizeof(TW_Y) == 1) {
    vstrbq_p_s32((int8_t *)y, value, some);
  } else if (sizeof(TW_Y) == 2) {
    vstrhq_p_s32((int16_t *)y, value, some);
  } else {
    vstrwq_p_s32((int32_t *)y, value, some);
  }
}

TW_ALWAYS void tw_store_four(TW_Y *y, int32x4_t value) {
  if (sizeof(TW_Y) == 1) {
    vstrbq_s32((int8_t *)y, value);
  } else if (sizeof(TW_Y) == 2) {
    vstrhq_s32((int16_t *)y, value);
  } else {
    vstrwq_s32((int32_t *)y, value);
  }
}

#endif
