/* Matrices row by row that lie in tiles of 64 x 64 bytes; rows over the cores. */
#include "ita_rows.h"

#ifndef TW_NAME
#define TW_NAME tw_ita_rows
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "tile_rows.h"

/* One row, from all tiles that have a part of it. */
static inline int8_t *row_of(const int8_t *from, int8_t *y, int32_t columns, uint32_t flip) {
  for (; columns >= 64; columns -= 64, from += 4096, y += 64) tw_copy_row(y, from, 64, flip);
  if (columns > 0) tw_copy_row(y, from, columns, flip);
  return y + columns;
}

void TW_NAME(const tw_ita_rows_params *params, const int8_t *x, TW_Y *bytes) {
  const int32_t rows = params->rows, columns = params->columns, down = (rows + 63) / 64, across = (columns + 63) / 64;
  const uint32_t flip = TW_FLIP(params->flips);
  const tw_share share = tw_share_of(params->batch * rows);
  const int32_t matrix = share.first / rows;
  int32_t row = share.first - matrix * rows;
  const int8_t *from = x + (matrix * down + (row >> 6)) * across * 4096 + (row & 63) * 64;
  int8_t *y = (int8_t *)bytes + share.first * columns;
  for (int32_t left = share.end - share.first; left > 0; left--) {
    y = row_of(from, y, columns, flip);
    from += 64;
    row++;
    if (row == rows) {
      from += (64 * down - rows) * 64 + (across - 1) * 4096;
      row = 0;
    } else if ((row & 63) == 0) {
      from += (across - 1) * 4096;
    }
  }
}
