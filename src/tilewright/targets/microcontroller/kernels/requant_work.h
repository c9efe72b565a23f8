/* Results by the way from a total to them. */
#ifndef TW_REQUANT_WORK_H
#define TW_REQUANT_WORK_H

#include "requant_data.h"
#include "units_of_work.h"

/* As it is, by the upper word, in two steps, all others. */
static inline int tw_result_kind(int32_t requantised, const tw_requant *r) {
  if (!requantised) return 0;
  if (TW_IS_TFLITE(r)) return r->rounding == TW_DOUBLE ? 2 : 3;
  return r->shift > 32 ? 1 : 3;
}

#define TW_BY_KIND(kind, count) \
  (kind) == 0 ? (count) : 0, (kind) == 1 ? (count) : 0, (kind) == 2 ? (count) : 0, (kind) == 3 ? (count) : 0

#endif
