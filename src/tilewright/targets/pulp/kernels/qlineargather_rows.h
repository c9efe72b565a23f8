/* Defines a kernel: y[i, c] = requant(x[indices[i], c] * columns[c] * rows[indices[i]]), wherever x lies. */
#ifndef TW_QLINEARGATHER_ROWS_H
#define TW_QLINEARGATHER_ROWS_H

#include "high_word.h"
#include "qlineargather.h"
#include "shared_rows.h"

void TW_NAME(const tw_qlineargather_params *params, const TW_X *x, const TW_INDICES *indices, const int32_t *rows,
             const int32_t *columns, TW_Y *y) {
  const int32_t inner = params->inner;
  const tw_requant r = params->requant;
  /* Half is a multiple of 2^32: the upper word decides. */
  const int32_t shift = r.shift - 32, half = 1 << shift >> 1;
  const tw_shared_rows mine = tw_share_rows(params->count, inner);
  for (int32_t i = mine.rows.first; i < mine.rows.end; i++) {
    const int32_t row = tw_position(indices[i], params->length), mul = rows[row];
    const TW_X *const from = x + row * inner;
    TW_Y *const to = y + i * inner;
    for (int32_t c = mine.bytes.first; c < mine.bytes.end; c++) {
      const int32_t value = ((tw_upper(from[c] * columns[c], mul) + half) >> shift) + r.zero_point;
      to[c] = (TW_Y)tw_x_max(tw_x_min(value, r.high), r.low);
    }
  }
}

#endif
