/* Makes kernels for a GPU of the portable ArgMax and ArgMin: a group for each result or, where there are few of them, up
 * to TW_PARTS groups, of which the last one joins what all have found. It stands before their source, which defines
 * better(x, than), and takes the place of their loops. */
#ifndef TW_GPU_EXTREME_H
#define TW_GPU_EXTREME_H

#define TW_EXTREME_LOOPS_H

#include "alone.h"
#include "extreme.h"
#include "gpu.h"
#include "gpu_last_group.h"
#include "gpu_unroll.h"
#include "nan.h"

#ifndef TW_PARTS
#define TW_PARTS 1
#endif

enum { TW_MOST_SHARED_RESULTS = 64 };

#if TW_PARTS > 1
/* Of a result: how many groups have left what they found, zero between launches; and the places that they left. */
enum { TW_LEFT_WORDS = 1 + TW_PARTS };
static int32_t tw_left[TW_MOST_SHARED_RESULTS * TW_LEFT_WORDS];
TW_GROUP_SHARED(int32_t, tw_is_last, [1]);
#endif

TW_GROUP_SHARED(int32_t, tw_places, [TW_GROUP_SIZE]);
TW_GROUP_SHARED(TW_X, tw_values, [TW_GROUP_SIZE]);

static inline int better(TW_X x, TW_X than);

/* Groups that share a result. */
static inline int32_t tw_parts(const tw_extreme_params *p) {
  return p->outer * p->inner > TW_MOST_SHARED_RESULTS ? 1 : TW_PARTS;
}

static inline tw_grid grid(const tw_extreme_params *params) {
  const tw_grid groups = {params->length > 0 ? params->outer * params->inner : 0, 1, tw_parts(params)};
  return groups;
}

enum { TW_TOGETHER = 16 / sizeof(TW_X) /* elements that are read at once */ };

typedef struct {
  TW_X at[TW_TOGETHER];
} __attribute__((aligned(16), may_alias)) tw_piece;

/* The best of what was seen so far, and its place. */
typedef struct {
  TW_X value;
  int32_t place;
} tw_best;

/* Of equals, the one that is later where the last one counts. */
TW_GPU void tw_see(tw_best *best, TW_X candidate, int32_t place, int32_t takes_last) {
  const int32_t are_same = candidate == best->value || (TW_IS_NAN(candidate) && TW_IS_NAN(best->value));
  const int32_t is_taken = are_same ? (place > best->place) == takes_last : better(candidate, best->value);
  best->place = is_taken ? place : best->place;
  best->value = is_taken ? candidate : best->value;
}

/* Of what an item sees; there are so many items. */
TW_GPU tw_best tw_best_of_item(const tw_extreme_params *p, const TW_X *x, int32_t item, int32_t items) {
  const int32_t pieces = p->inner == 1 && p->length % TW_TOGETHER == 0 ? p->length / TW_TOGETHER : 0;
  const int32_t start = pieces ? item * TW_TOGETHER : item, first = start < p->length ? start : 0;
  tw_best best = {x[first * p->inner], first};
  TW_UNROLL_BY(4)
  for (int32_t i = item; i < pieces; i += items) {
    const tw_piece piece = *(const tw_piece *)(x + i * TW_TOGETHER);
    TW_UNROLL for (int32_t k = 0; k < TW_TOGETHER; k++) tw_see(&best, piece.at[k], i * TW_TOGETHER + k, p->last);
  }
  TW_UNROLL_BY(8)
  for (int32_t i = item; !pieces && i < p->length; i += items) tw_see(&best, x[i * p->inner], i, p->last);
  return best;
}

/* The best of what all items have found, to the first of them. */
TW_GPU void tw_join_items(const tw_extreme_params *p) {
  for (int32_t half = TW_GROUP_SIZE / 2; half > 0; half /= 2) {
    TW_MEET();
    TW_ITEMS(t) {
      if (t < half) {
        tw_best best = {tw_values[t], tw_places[t]};
        tw_see(&best, tw_values[t + half], tw_places[t + half], p->last);
        tw_values[t] = best.value;
        tw_places[t] = best.place;
      }
    }
  }
  TW_MEET();
}

#if TW_PARTS > 1
/* What all groups of a result have found, to the items of the last one; whether it is this one. */
TW_GPU int32_t tw_found_of_all(const tw_extreme_params *p, const TW_X *x) {
  int32_t *const arrived = tw_left + TW_GROUP_X * TW_LEFT_WORDS;
  TW_LEFT int32_t *const places = arrived + 1;
  TW_ITEMS(t) {
    if (t == 0) {
      places[TW_GROUP_Z] = tw_places[0];
      TW_EVERYBODY_SEES();
      tw_is_last[0] = tw_one_more(arrived) == TW_PARTS - 1;
      if (tw_is_last[0]) arrived[0] = 0;
    }
  }
  TW_MEET();
  TW_EVERYBODY_SEES();
  if (!tw_is_last[0]) return 0;
  TW_ITEMS(t) {
    const int32_t place = places[t % TW_PARTS];
    tw_values[t] = x[place * p->inner];
    tw_places[t] = place;
  }
  return 1;
}
#endif

TW_GPU void group(const tw_extreme_params *params, const TW_X *x, int64_t *y) {
  x += TW_GROUP_X / params->inner * params->length * params->inner + TW_GROUP_X % params->inner;
  const int32_t parts = tw_parts(params);
  TW_ITEMS(t) {
    const tw_best best =
        tw_best_of_item(params, x, TW_GROUP_Z * TW_GROUP_SIZE + t, parts * TW_GROUP_SIZE);
    tw_values[t] = best.value;
    tw_places[t] = best.place;
  }
  tw_join_items(params);
#if TW_PARTS > 1
  if (parts > 1) {
    if (!tw_found_of_all(params, x)) return;
    tw_join_items(params);
  }
#endif
  TW_ITEMS(t) {
    if (t == 0) y[TW_GROUP_X] = tw_places[0];
  }
}

TW_GPU_KERNEL(tw_extreme_params, (const TW_X *x, int64_t *y), (x, y))

#endif
