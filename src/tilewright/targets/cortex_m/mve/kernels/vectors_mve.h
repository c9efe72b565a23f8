/* Elements in and out of vectors. Needs TW_X and TW_Y. Unsigned bytes are computed with 128 less, as signed ones. */
#ifndef TW_VECTORS_MVE_H
#define TW_VECTORS_MVE_H

#include "type_names.h"

#define TW_ELEMENT_BYTES TW_BYTES_OF(TW_X)
#include "dots_mve.h"

#define TW_X_FLIP ((TW_X)-1 < 0 ? 0 : 0x80)

/* As they are in memory; some are 0 or stay there as they are. */
#if TW_ELEMENT_BYTES == 1
TW_ALWAYS tw_elements tw_read(const TW_X *x) { return vldrbq_s8((const int8_t *)x); }
TW_ALWAYS tw_elements tw_read_some(const TW_X *x, mve_pred16_t some) { return vldrbq_z_s8((const int8_t *)x, some); }
TW_ALWAYS void tw_write(TW_X *to, tw_elements x) { vstrbq_s8((int8_t *)to, x); }
TW_ALWAYS void tw_write_some(TW_X *to, tw_elements x, mve_pred16_t some) { vstrbq_p_s8((int8_t *)to, x, some); }
TW_ALWAYS tw_elements tw_all_of(int32_t value) { return vdupq_n_s8((int8_t)value); }
#else
TW_ALWAYS tw_elements tw_read(const TW_X *x) { return vldrhq_s16(x); }
TW_ALWAYS tw_elements tw_read_some(const TW_X *x, mve_pred16_t some) { return vldrhq_z_s16(x, some); }
TW_ALWAYS void tw_write(TW_X *to, tw_elements x) { vstrhq_s16(to, x); }
TW_ALWAYS void tw_write_some(TW_X *to, tw_elements x, mve_pred16_t some) { vstrhq_p_s16(to, x, some); }
TW_ALWAYS tw_elements tw_all_of(int32_t value) { return vdupq_n_s16((int16_t)value); }
#endif

/* With sign, whatever they are. */
TW_ALWAYS tw_elements tw_signed(tw_elements x) {
#if TW_ELEMENT_BYTES == 1
  if (TW_X_FLIP) return veorq_s8(x, vdupq_n_s8((int8_t)TW_X_FLIP));
#endif
  return x;
}

TW_ALWAYS tw_elements tw_load(const TW_X *x) { return tw_signed(tw_read(x)); }

/* Some of them: the others are 0 or what weights of 0 make of them. */
TW_ALWAYS tw_elements tw_load_some(const TW_X *x, mve_pred16_t some) { return tw_signed(tw_read_some(x, some)); }

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
