/* Requantisation to bytes by an instruction of the user's (`requant_s8`), where one does for TensorFlow Lite's two roundings: it takes
 * shift, zero point and limits as signed bytes of a word, so that unsigned results have 128 less until then. */
#ifndef TW_OWN_REQUANT_H
#define TW_OWN_REQUANT_H

#include "patterns.h"
#include "requant.h"

static inline int32_t tw_requantise_byte(const tw_requant *r, int32_t total, int32_t mul, int32_t add) {
#if TW_HAS_REQUANT_S8
  const int32_t middle = r->high > 127 ? 128 : 0, zero = r->zero_point - middle, low = r->low - middle, high = r->high - middle;
  const int is_own = r->rounding == TW_DOUBLE && zero >= -128 && zero < 128 && low >= -128 && high < 128;
  if (is_own && mul >= 0 && add < 0 && add >= -28 && (uint32_t)total + 0x3fffffffu < 0x7fffffffu) {
    const uint32_t bytes = ((uint32_t)zero & 255) << 8 | ((uint32_t)low & 255) << 16 | (uint32_t)high << 24;
    return (int32_t)TW_REQUANT_S8(total, mul, (uint32_t)-add | bytes) + middle;
  }
#endif
  return tw_requantise(r, total, mul, add);
}

#endif
