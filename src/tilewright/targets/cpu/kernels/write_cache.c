/* y = x with rows of floats written from a position on, as short as x is; where y is x, nothing else is touched. */
#include "write_cache.h"

#include "short_vectors.h"

#ifndef TW_NAME
#define TW_NAME tw_write_cache
#define TW_X float
#define TW_Y float
#endif

/* A vector of elements as they are stored. */
TW_INLINE void shorten(const float *x, TW_Y *y) {
#ifdef TW_Y_IS_HALF
  tw_store_short(y, tw_load(x));
#else
  memcpy(y, x, TW_LANES * sizeof *y);
#endif
}

static void put(const float *row, int32_t length, TW_Y *y, int32_t step) {
  for (int32_t i = 0; i < length; i += TW_LANES) {
    const int32_t count = tw_min(TW_LANES, length - i);
    float some[TW_LANES] = {0};
    TW_Y made[TW_LANES];
    memcpy(some, row + i, (size_t)count * sizeof *some);
    shorten(some, made);
    for (int32_t j = 0; j < count; j++) y[(int64_t)(i + j) * step] = made[j];
  }
}

void TW_NAME(const tw_write_cache_params *params, const TW_X *x, const float *rows, const int32_t *position, TW_Y *y) {
  const int32_t length = params->length, panel = params->panel;
  const int32_t first = tw_clamp(position[0], 0, params->held), last = tw_min(params->held, first + params->rows);
  const int64_t blocks = (params->held + panel - 1) / panel;
  if ((const void *)x != (const void *)y) memcpy(y, x, (size_t)(blocks * panel * length) * sizeof *y);
  for (int32_t token = first; token < last; token++, rows += length) {
    put(rows, length, y + (int64_t)(token / panel) * panel * length + token % panel, panel);
  }
}
