/* A result of all values of its type. Needs TW_Y. */
#ifndef TW_FULL_RANGE_H
#define TW_FULL_RANGE_H

#include "always.h"
#include "requant.h"
#include "tw.h"

#ifdef __ARM_FEATURE_SAT
#include <arm_acle.h>
#endif

#define TW_LEAST_Y ((TW_Y)-1 < 0 ? -128 : 0)

static inline int tw_is_full_range(const tw_requant *r) {
  return sizeof(TW_Y) == 1 && r->low == TW_LEAST_Y && r->high == TW_LEAST_Y + 255;
}

TW_ALWAYS TW_Y tw_to_byte(int32_t value) {
#ifdef __ARM_FEATURE_SAT
  return (TW_Y)((TW_Y)-1 < 0 ? __ssat(value, 8) : (int32_t)__usat(value, 8));
#else
  return (TW_Y)tw_clamp(value, TW_LEAST_Y, TW_LEAST_Y + 255);
#endif
}

#endif
