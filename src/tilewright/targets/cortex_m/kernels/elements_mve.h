/* Four integers of any width as words, and back; only as many as a predicate says. */
#ifndef TW_ELEMENTS_MVE_H
#define TW_ELEMENTS_MVE_H

#include "requant_mve.h"

#define TW_LANES 4

TW_ALWAYS int32x4_t tw_four_of(const void *x, int size, int is_signed, mve_pred16_t some) {
  if (size == 1 && is_signed) return vldrbq_z_s32(x, some);
  if (size == 1) return vreinterpretq_s32_u32(vldrbq_z_u32(x, some));
  if (size == 2 && is_signed) return vldrhq_z_s32(x, some);
  if (size == 2) return vreinterpretq_s32_u32(vldrhq_z_u32(x, some));
  return vldrwq_z_s32(x, some);
}

TW_ALWAYS void tw_put_four(void *y, int size, int32x4_t value, mve_pred16_t some) {
  if (size == 1) {
    vstrbq_p_s32(y, value, some);
  } else if (size == 2) {
    vstrhq_p_s32(y, value, some);
  } else {
    vstrwq_p_s32(y, value, some);
  }
}

#define TW_FOUR(type, x, some) tw_four_of(x, sizeof(type), (type)-1 < (type)0, some)
#define TW_PUT_FOUR(type, y, value, some) tw_put_four(y, sizeof(type), value, some)

#endif
