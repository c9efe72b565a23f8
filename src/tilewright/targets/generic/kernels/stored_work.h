/* Results by the way from a total to them. */
#ifndef TW_STORED_WORK_H
#define TW_STORED_WORK_H

#include "requant_data.h"
#include "units_of_work.h"

/* As it is, a half rounded up, TensorFlow Lite's, all others. */
static inline int tw_stored_way(int32_t requantised, const tw_requant *r) {
  if (!requantised) return 0;
  return r->rounding == TW_HALF_UP ? 1 : r->rounding == TW_DOUBLE ? 2 : 3;
}

/* Of parameters with a requantisation. */
#define TW_STORED_BY(p, way, count) (tw_stored_way((p)->requantised, &(p)->requant) == (way) ? (count) : 0)
#define TW_STORED(p, count) \
  TW_STORED_BY(p, 0, count), TW_STORED_BY(p, 1, count), TW_STORED_BY(p, 2, count), TW_STORED_BY(p, 3, count)

#endif
