/* Images as planes, and the products of rows of factors with what taps see of them. */
#ifndef TW_TAP_PLANES_H
#define TW_TAP_PLANES_H

#include <string.h>

#include "plane_products_sizes.h"
#include "tap_tiles.h"

/* Every `step`-th pixel of a row from `first` on, which may lie beside the row, where zeros are. */
static inline void tw_plane_row(const float *row, int32_t size, int32_t first, int32_t step, int32_t count, float *to) {
  const tw_range inside = tw_inside(first, step, size, count);
  const float *const from = row + first;
  for (int32_t i = 0; i < inside.first; i++) to[i] = 0.0f;
  if (step == 1) {
    memcpy(to + inside.first, from + inside.first, (size_t)(inside.end - inside.first) * sizeof *to);
  } else {
    for (int32_t i = inside.first; i < inside.end; i++) to[i] = from[(int64_t)i * step];
  }
  for (int32_t i = inside.end; i < count; i++) to[i] = 0.0f;
}

/* One plane of one channel: its rows begin at `first_y`, `first_x` of the image. What is behind is read with it. */
static inline void tw_plane(const tw_planes *planes, const float *image, int32_t in_h, int32_t in_w, int32_t first_y,
                            int32_t step_y, int32_t first_x, int32_t step_x, float *to) {
  float *const end = to + planes->plane;
  for (int32_t i = 0; i < planes->rows; i++, to += planes->pitch) {
    const int32_t y = first_y + i * step_y;
    if (y >= 0 && y < in_h) tw_plane_row(image + (int64_t)y * in_w, in_w, first_x, step_x, planes->pitch, to);
    else memset(to, 0, (size_t)planes->pitch * sizeof *to);
  }
  while (to < end) *to++ = 0.0f;
}

/* y[row][i] = sum over taps and channels of row[tap][channel] * planes[channel][at[tap] + i], for rows of factors that are
 * `w_row` apart; tiles of rows have as many rows each, or one more. */
static inline void tw_tap_products(int32_t rows, const float *w, int64_t w_row, const tw_tap_parts *parts,
                                   const float *planes, int64_t plane, float *y, int64_t y_row, int32_t count) {
  const int32_t tiles = (rows + TW_TAP_ROWS - 1) / TW_TAP_ROWS, least = rows / tiles, more = rows % tiles;
  for (int32_t i = 0; i < count; i += TW_PANEL) {
    for (int32_t tile = 0, row = 0; tile < tiles; tile++) {
      const int32_t own = least + (tile < more);
      const float *from[TW_TAP_ROWS];
      for (int32_t r = 0; r < own; r++) from[r] = w + (row + r) * w_row;
      tw_tap_tile(own, from, parts, planes + i, plane, 1, y + row * y_row + i, y_row, tw_min(TW_PANEL, count - i));
      row += own;
    }
  }
}

#endif
