/* Makes kernels for a GPU of the portable ArgMax and ArgMin: a group for each result. It stands before their source,
 * which defines better(x, than), and takes the place of their loops. */
#ifndef TW_GPU_EXTREME_H
#define TW_GPU_EXTREME_H

#define TW_EXTREME_LOOPS_H

#include "alone.h"
#include "extreme.h"
#include "gpu.h"
#include "gpu_unroll.h"
#include "nan.h"

TW_GROUP_SHARED(int32_t, tw_places, [TW_GROUP_SIZE]);

static inline int better(TW_X x, TW_X than);

/* The place of two that counts; the first one is before the other. */
TW_GPU int32_t tw_better_place(const tw_extreme_params *p, const TW_X *x, int32_t one, int32_t other) {
  const TW_X a = x[one * p->inner], b = x[other * p->inner];
  const int32_t are_same = a == b || (TW_IS_NAN(a) && TW_IS_NAN(b));
  const int32_t first = one < other ? one : other, last = one < other ? other : one;
  if (are_same) return p->last ? last : first;
  return better(b, a) ? other : one;
}

static inline tw_grid grid(const tw_extreme_params *params) {
  const tw_grid groups = {params->length > 0 ? params->outer * params->inner : 0, 1, 1};
  return groups;
}

TW_GPU void group(const tw_extreme_params *params, const TW_X *x, int64_t *y) {
  x += TW_GROUP_X / params->inner * params->length * params->inner + TW_GROUP_X % params->inner;
  TW_ITEMS(t) {
    int32_t place = t < params->length ? t : 0;
    TW_X best = x[place * params->inner];
    TW_UNROLL_BY(8)
    for (int32_t i = place + TW_GROUP_SIZE; i < params->length; i += TW_GROUP_SIZE) {
      const TW_X candidate = x[i * params->inner];
      const int32_t are_same = candidate == best || (TW_IS_NAN(candidate) && TW_IS_NAN(best));
      const int32_t is_taken = are_same ? params->last : better(candidate, best);
      place = is_taken ? i : place;
      best = is_taken ? candidate : best;
    }
    tw_places[t] = place;
  }
  TW_MEET();
  for (int32_t half = TW_GROUP_SIZE / 2; half > 0; half /= 2) {
    TW_ITEMS(t) {
      if (t < half) tw_places[t] = tw_better_place(params, x, tw_places[t], tw_places[t + half]);
    }
    TW_MEET();
  }
  TW_ITEMS(t) {
    if (t == 0) y[TW_GROUP_X] = tw_places[0];
  }
}

TW_GPU_KERNEL(tw_extreme_params, (const TW_X *x, int64_t *y), (x, y))

#endif
