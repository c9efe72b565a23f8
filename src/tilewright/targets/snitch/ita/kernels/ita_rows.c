/* Matrices row by row that lie in tiles of 64 x 64 bytes; rows over the cores. */
#include "ita_rows.h"

#ifndef TW_NAME
#define TW_NAME tw_ita_rows
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "tile_rows.h"

void TW_NAME(const tw_ita_rows_params *params, const int8_t *x, TW_Y *bytes) {
  const int32_t rows = params->rows, columns = params->columns, down = (rows + 63) / 64, across = (columns + 63) / 64;
  const tw_share share = tw_share_of(params->batch * rows);
  const int32_t matrix = share.first / rows;
  int32_t row = share.first - matrix * rows;
  int8_t *const y = (int8_t *)bytes;
  x += matrix * down * across * 4096;
  for (int32_t at = share.first; at < share.end; at++) {
    const int8_t *const from = x + (row >> 6) * across * 4096 + (row & 63) * 64;
    for (int32_t column = 0; column < across; column++) {
      const int32_t left = columns - 64 * column;
      tw_copy_row(y + at * columns + 64 * column, from + column * 4096, left < 64 ? left : 64, TW_FLIP(params->flips));
    }
    if (++row == rows) {
      row = 0;
      x += down * across * 4096;
    }
  }
}
