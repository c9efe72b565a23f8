/* Matrices in tiles of 64 x 64 bytes, with zeros behind their last rows and columns; rows of tiles over the cores. */
#include "ita_tiles.h"

#ifndef TW_NAME
#define TW_NAME tw_ita_tiles
#define TW_X int8_t
#endif

#include "cluster.h"
#include "tile_rows.h"

static void row_of_tiles(const int8_t *x, int8_t *y, int32_t row, int32_t columns, int32_t across, uint32_t flip) {
  for (int32_t column = 0; column < across; column++) {
    const int32_t left = columns - 64 * column, bytes = left < 64 ? left : 64;
    int8_t *const to = y + column * 4096 + row * 64;
    if (x != 0) tw_copy_row(to, x + 64 * column, bytes, flip);
    tw_clear_row(to + (x != 0 ? bytes : 0), 64 - (x != 0 ? bytes : 0));
  }
}

void TW_NAME(const tw_ita_tiles_params *params, const TW_X *bytes, int8_t *y) {
  const int32_t rows = params->rows, columns = params->columns, down = (rows + 63) / 64, across = (columns + 63) / 64;
  const tw_share share = tw_share_of(params->batch * down * 64);
  const int32_t matrix = share.first / (down * 64);
  int32_t row = share.first - matrix * down * 64;
  const int8_t *x = (const int8_t *)bytes + matrix * rows * columns;
  for (int32_t at = share.first; at < share.end; at++) {
    row_of_tiles(row < rows ? x + row * columns : 0, y + (at >> 6) * across * 4096, at & 63, columns, across,
                 TW_FLIP(params->flips));
    if (++row == down * 64) {
      row = 0;
      x += rows * columns;
    }
  }
}
