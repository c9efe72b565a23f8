/* Sums of four columns of bytes, for four_columns.h. Needs TW_X. */
#ifndef TW_COLUMN_TOTALS_H
#define TW_COLUMN_TOTALS_H

#include "lane_sums.h"

typedef struct {
  int32_t total[4];
} four_t;

static inline four_t start(void) {
  const four_t nothing = {{0, 0, 0, 0}};
  return nothing;
}

static inline void step(four_t *sums, uint32_t word) { tw_add_lanes(sums->total, word); }

#endif
