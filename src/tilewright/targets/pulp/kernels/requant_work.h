/* The ways in which kernels requantise totals, as far as they show in parameters; `add_bytes` is 0 where nothing is added. */
#ifndef TW_REQUANT_WORK_H
#define TW_REQUANT_WORK_H

#include "requant_data.h"
#include "units_of_work.h"

/* Whether totals are requantised in 64 bits; columns.h has the rules. */
static inline int tw_is_exact(int32_t requantised, const tw_requant *r, int32_t add_bytes) {
  if (!requantised) return 0;
  return TW_IS_TFLITE(r) || ((r->shift > 31 || r->rounding == TW_HALF_EVEN) && add_bytes);
}

/* Whether the high word of a product with its factor is enough: TW_HIGH in columns.h. */
static inline int tw_is_high_word(int32_t requantised, const tw_requant *r, int32_t add_bytes) {
  return requantised && r->shift > 32 && !add_bytes;
}

/* Whether totals are requantised one by one: in 64 bits, or where the second factor has a zero point. */
static inline int tw_is_one_by_one(int32_t requantised, const tw_requant *r, int32_t zero, int32_t add_bytes) {
  return tw_is_exact(requantised, r, add_bytes) || (requantised && zero != 0);
}

/* Whether factors and weights decide how totals are requantised: not where hardware's way is asked for. */
static inline int tw_is_looked_at(int32_t requantised, const tw_requant *r) { return requantised && r->rounding != TW_NATIVE; }

#endif
