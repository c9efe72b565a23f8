/* Results of filters in pairs, by whatever way. Needs TW_Y. */
#ifndef TW_PAIR_RESULTS_H
#define TW_PAIR_RESULTS_H

#include "pair_products.h"

#ifdef TW_APART
#include "requant_row.h"
#endif

/* A layer on four pixels and on one; an odd number of filters has the last one apart from the pairs. */
typedef struct {
  tw_pairs four, one;
  uint32_t *panel;
  int32_t steps, filters;
} tw_layer;

static inline tw_layer tw_layer_of(uint32_t *panel, int32_t steps, int32_t filters, int32_t plane, const int8_t *w,
                                   int32_t way) {
  plane *= (int32_t)sizeof(TW_Y);
  const tw_pairs job = {panel, panel + steps, 0, 0, 0, plane, way, w, w + filters / 2 * tw_pair_bytes(steps)};
  tw_layer layer = {job, job, panel, steps, filters};
  layer.four.panel_end = panel + 4 * steps;
  tw_enter_on_4(&layer.four, steps);
  tw_enter_on_1(&layer.one, steps);
  return layer;
}

static inline void tw_pairs_on(const tw_pairs *job, int32_t pixels) {
  if (pixels == 4) {
    tw_pairs_on_4(job);
  } else {
    tw_pairs_on_1(job);
  }
}

#ifdef TW_APART
/* From totals of one pair after the other. */
static __attribute__((noinline)) void tw_pairs_by_totals(const tw_layer *layer, tw_pairs job, const tw_requant *r,
                                                         int32_t requantised, int32_t pixels) {
  int32_t total[8];
  TW_Y *y = job.y;
  const tw_requant requant = *r;
  job.y = (TW_Y *)(void *)total;
  for (int32_t left = layer->filters; left > 0; left -= 2, job.w = job.w_end) {
    job.w_end = job.w + tw_pair_bytes(layer->steps);
    const int32_t *scale = (const int32_t *)(const void *)(job.w_end - TW_PAIR_SCALES);
    tw_pairs_on(&job, pixels);
    for (int32_t f = 0; f < tw_min(left, 2); f++, y = tw_moved(y, job.plane), scale += 3) {
      const int32_t mul = scale[0], add = scale[2];
      const tw_way way = tw_way_of(requantised, &requant, add || TW_IS_TFLITE(r) ? &add : 0, 0, 1, 1);
      const tw_factor factor = tw_factor_of(way, &requant, mul, add);
      tw_requantise_row(way, &requant, &factor, total + f * pixels, y, pixels);
    }
  }
}

#endif

/* The last of an odd number of filters: results of a second one go nowhere. */
static __attribute__((noinline)) void tw_last_filter(const tw_layer *layer, tw_pairs job, int32_t pixels) {
  TW_Y nowhere[4];
  job.y = tw_moved(job.y, (layer->filters - 1) * job.plane);
  job.w = job.w_end, job.w_end += tw_pair_bytes(layer->steps);
  job.plane = (int32_t)((intptr_t)nowhere - (intptr_t)job.y);
  tw_pairs_on(&job, pixels);
}

/* All filters on the panel of four pixels, or of one. */
static inline void tw_all_filters(tw_layer *layer, const tw_requant *r, int32_t requantised, int32_t pixels, TW_Y *y) {
  tw_pairs *const job = pixels == 4 ? &layer->four : &layer->one;
  job->y = y;
#ifdef TW_APART
  if (job->way == TW_BY_TOTALS) {
    tw_pairs_by_totals(layer, *job, r, requantised, pixels);
    return;
  }
#else
  (void)r, (void)requantised;
#endif
  if (layer->filters > 1) tw_pairs_on(job, pixels);
  if (layer->filters & 1) tw_last_filter(layer, *job, pixels);
}

/* The next pixels of a row: four, beginning earlier at its end where that takes less time, or one. */
static inline int32_t tw_pixels_from(int32_t at, int32_t count, int32_t *pixels) {
  const int32_t left = count - at;
  *pixels = left >= 3 && count >= 4 ? 4 : 1;
  return left == 3 && count >= 4 ? at - 1 : at;
}

#endif
