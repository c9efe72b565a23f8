/* y[sample, target] = what the leaves say that a sample reaches, one in each tree: their sum, or the least or largest.
 *
 * A split asks codes[at] >> 2 for a feature: whether it is <= values[at], or != where bit 0 is set; bit 1 says that NaN
 * goes where a comparison with NaN does not. Where it holds the next entry follows, otherwise that jumps[at] further on.
 * A leaf has an entry for each weight, with the target in jumps; those before the last have the code -2, the last -1. */
#include "decision_trees.h"

#include <math.h>

#ifndef TW_NAME
#define TW_NAME tw_decision_trees_i16
#define TW_CODES int16_t
#define TW_JUMPS int16_t
#endif

static inline int32_t leaf_of(const float *x, const TW_CODES *codes, const TW_JUMPS *jumps, const float *values,
                              int32_t at) {
  for (int32_t code = codes[at]; code >= 0; code = codes[at]) {
    const float feature = x[code >> 2], value = values[at];
    int holds = (code & 1) ? feature != value : feature <= value;
    if ((code & 2) && feature != feature) holds = !holds;
    at += holds ? 1 : jumps[at];
  }
  return at;
}

/* What no leaf has named yet is not a number. */
static inline float combined(float before, float weight, int32_t combining) {
  if (combining == TW_TREES_SUM) return before + weight;
  if (before != before) return weight;
  if (weight != weight) return before;
  return (combining == TW_TREES_MIN) == (weight < before) ? weight : before;
}

void TW_NAME(const tw_decision_trees_params *params, const float *x, const TW_CODES *codes, const TW_JUMPS *jumps,
             const float *values, const int32_t *roots, float *y) {
  const int32_t targets = params->targets, trees = params->trees, combining = params->combining;
  const float none = combining == TW_TREES_SUM ? 0.0f : NAN;
  for (int32_t sample = 0; sample < params->samples; sample++) {
    for (int32_t target = 0; target < targets; target++) y[target] = none;
    for (int32_t tree = 0; tree < trees; tree++) {
      int32_t at = leaf_of(x, codes, jumps, values, roots[tree]);
      do {
        float *total = y + jumps[at];
        *total = combined(*total, values[at], combining);
      } while (codes[at++] != -1);
    }
    for (int32_t target = 0; target < targets; target++) {
      if (y[target] != y[target]) y[target] = combining == TW_TREES_SUM ? y[target] : 0.0f;
    }
    x += params->features;
    y += targets;
  }
}
