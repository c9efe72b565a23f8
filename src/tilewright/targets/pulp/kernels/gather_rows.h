/* Defines a kernel: y[o, i, :] = x[o, indices[i], :], wherever x lies. */
#ifndef TW_GATHER_ROWS_H
#define TW_GATHER_ROWS_H

#include "gather.h"
#include "shared_rows.h"

void TW_NAME(const tw_gather_params *params, const TW_X *x, const TW_INDICES *indices, TW_Y *y) {
  const int32_t inner = params->inner, length = params->length, count = params->count;
  const tw_shared_rows mine = tw_share_rows(params->outer * count, inner * (int32_t)sizeof *x);
  if (mine.rows.first >= mine.rows.end) return;
  const int32_t outer = mine.rows.first / count;
  int32_t i = mine.rows.first - outer * count;
  x += outer * length * inner;
  y += mine.rows.first * inner;
  for (int32_t row = mine.rows.first; row < mine.rows.end; row++, y += inner) {
    const TW_X *const from = x + tw_position(indices[i], length) * inner;
    if (inner == 1) {
      *y = (TW_Y)*from;
    } else {
      tw_copy_part(y, from, mine.bytes);
    }
    if (++i < count) continue;
    i = 0;
    x += length * inner;
  }
}

#endif
