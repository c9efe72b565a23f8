/* y = the word that is best of all, from the best of each block of words and its place there */
#include "bestblock.h"

#ifndef TW_NAME
#define TW_NAME tw_bestblock_i16
#define TW_BEST int16_t
#endif

#if TW_BEST_IS_FLOAT
static inline int better(TW_BEST x, TW_BEST than) { return x > than || (x != x && than == than); }
#else
static inline int better(TW_BEST x, TW_BEST than) { return x > than; }
#endif

void TW_NAME(const tw_bestblock_params *params, const TW_BEST *best, const int32_t *place, int64_t *y) {
  const int32_t count = params->count;
  for (int32_t row = 0; row < params->rows; row++, best += count, place += count) {
    int32_t which = 0;
    for (int32_t i = 1; i < count; i++) which = better(best[i], best[which]) ? i : which;
    y[row] = (int64_t)which * params->block + place[which];
  }
}
