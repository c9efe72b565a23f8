/* Matrices in tiles of 64 x 64 bytes, with zeros behind their last rows and columns; rows of tiles over the cores. */
#include "ita_tiles.h"

#ifndef TW_NAME
#define TW_NAME tw_ita_tiles
#define TW_X int8_t
#endif

#include "cluster.h"
#include "tile_rows.h"

/* One row of tiles, of which the first `columns` bytes are there. */
static inline void row_of_tiles(const int8_t *x, int8_t *to, int32_t columns, int32_t across, uint32_t flip) {
  for (; columns >= 64; columns -= 64, across--, x += 64, to += 4096) tw_copy_row(to, x, 64, flip);
  if (columns > 0) {
    tw_copy_row(to, x, columns, flip);
    tw_clear_row(to + columns, 64 - columns);
    across--;
    to += 4096;
  }
  for (; across > 0; across--, to += 4096) tw_clear_row(to, 64);
}

void TW_NAME(const tw_ita_tiles_params *params, const TW_X *bytes, int8_t *y) {
  const int32_t rows = params->rows, columns = params->columns, down = (rows + 63) / 64, across = (columns + 63) / 64;
  const uint32_t flip = TW_FLIP(params->flips);
  const tw_share share = tw_share_of(params->batch * down * 64);
  const int32_t matrix = share.first / (down * 64);
  int32_t row = share.first - matrix * down * 64;
  const int8_t *x = (const int8_t *)bytes + (matrix * rows + (row < rows ? row : rows)) * columns;
  int8_t *to = y + (share.first >> 6) * across * 4096 + (share.first & 63) * 64;
  for (int32_t left = share.end - share.first; left > 0; left--) {
    row_of_tiles(x, to, row < rows ? columns : 0, across, flip);
    if (row < rows) x += columns;
    to += 64;
    row++;
    if ((row & 63) == 0) to += (across - 1) * 4096;
    if (row == down * 64) row = 0;
  }
}
