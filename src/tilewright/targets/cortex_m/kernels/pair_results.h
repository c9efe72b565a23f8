/* Results of filters in pairs, by whatever way. Needs TW_Y. */
#ifndef TW_PAIR_RESULTS_H
#define TW_PAIR_RESULTS_H

#include "pair_products.h"
#include "requant_row.h"

/* From totals of one pair after the other. */
static __attribute__((noinline)) void tw_pairs_any(tw_pairs job, const tw_requant *r, int32_t requantised,
                                                   int32_t pixels) {
  int32_t total[8];
  TW_Y *y = job.y;
  const tw_requant requant = *r;
  job.y = (TW_Y *)(void *)total;
  for (int32_t left = job.filters; left > 0; left -= 2, job.w += job.pair_bytes, job.starts += TW_PAIR_WORDS) {
    job.filters = tw_min(left, 2);
    if (pixels == 4) {
      tw_pairs_on_4(&job);
    } else {
      tw_pairs_on_1(&job);
    }
    for (int32_t f = 0; f < job.filters; f++, y += job.plane) {
      const int32_t mul = job.starts[2 + 3 * f], add = job.starts[4 + 3 * f];
      const tw_way way = tw_way_of(requantised, &requant, add || TW_IS_TFLITE(r) ? &add : 0, 0, 1, 1);
      const tw_factor factor = tw_factor_of(way, &requant, mul, add);
      tw_requantise_row(way, &requant, &factor, total + f * pixels, y, pixels);
    }
  }
}

/* All filters on the panel of four pixels, or of one. */
static inline void tw_pairs_results(tw_jobs *jobs, const tw_requant *r, int32_t requantised, int32_t pixels, TW_Y *y) {
  tw_pairs *const job = pixels == 4 ? &jobs->four : &jobs->one;
  job->y = y;
  if (job->way == TW_BY_TOTALS) {
    tw_pairs_any(*job, r, requantised, pixels);
  } else if (pixels == 4) {
    tw_pairs_on_4(job);
  } else {
    tw_pairs_on_1(job);
  }
}

/* The next pixels of a row: four, beginning earlier at its end where that takes less time, or one. */
static inline int32_t tw_pixels_from(int32_t at, int32_t count, int32_t *pixels) {
  const int32_t left = count - at;
  *pixels = left >= 3 && count >= 4 ? 4 : 1;
  return left == 3 && count >= 4 ? at - 1 : at;
}

#endif
