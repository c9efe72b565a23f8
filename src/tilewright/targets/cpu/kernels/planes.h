/* Images as planes, and the products of rows of factors with what taps see of them. */
#ifndef TW_PLANES_H
#define TW_PLANES_H

#include "panels.h"
#include "plane_products_sizes.h"

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

/* Factors of a row: for each tap, as many as there are channels. `at` says where the plane of the first channel is,
 * as a tap sees it. */
typedef struct {
  int32_t taps, channels;
  const int32_t *at;
} tw_tap_parts;

/* `rows` and `vectors` are constants. */
TW_INLINE void tw_tap_tile(const int rows, const int vectors, const float *w, int64_t w_row, const tw_tap_parts *parts,
                           const float *planes, int64_t plane, float *y, int64_t y_row, int32_t columns) {
  tw_vector sum[TW_TILE][2];
  TW_UNROLL for (int r = 0; r < rows; r++) {
    TW_UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (tw_vector){0};
  }
  for (int32_t tap = 0; tap < parts->taps; tap++) {
    const float *seen = planes + parts->at[tap];
    for (int32_t c = 0; c < parts->channels; c++, seen += plane, w++) {
      TW_UNROLL for (int v = 0; v < vectors; v++) {
        const tw_vector x = tw_load(seen + v * TW_LANES);
        TW_UNROLL for (int r = 0; r < rows; r++) sum[r][v] += x * w[r * w_row];
      }
    }
  }
  const int32_t last = columns - (vectors - 1) * TW_LANES;
  TW_UNROLL for (int r = 0; r < rows; r++, y += y_row) {
    TW_UNROLL for (int v = 0; v < vectors - 1; v++) tw_store(y + v * TW_LANES, sum[r][v]);
    if (last == TW_LANES) tw_store(y + (vectors - 1) * TW_LANES, sum[r][vectors - 1]);
    else tw_store_first(y + (vectors - 1) * TW_LANES, sum[r][vectors - 1], last);
  }
}

#define TW_TAP_CASE(ROWS)                                                                                        \
  case ROWS:                                                                                                     \
    if (columns > TW_LANES) tw_tap_tile(ROWS, 2, w, w_row, parts, planes, plane, y, y_row, columns);             \
    else tw_tap_tile(ROWS, 1, w, w_row, parts, planes, plane, y, y_row, columns);                                \
    break

static inline void tw_tap_rows(int32_t rows, const float *w, int64_t w_row, const tw_tap_parts *parts,
                               const float *planes, int64_t plane, float *y, int64_t y_row, int32_t columns) {
  switch (rows) {
    TW_TAP_CASE(1);
    TW_TAP_CASE(2);
    TW_TAP_CASE(3);
    TW_TAP_CASE(4);
#if TW_TILE >= 6
    TW_TAP_CASE(5);
    TW_TAP_CASE(6);
#endif
#if TW_TILE >= 7
    TW_TAP_CASE(7);
#endif
#if TW_TILE >= 8
    TW_TAP_CASE(8);
#endif
#if TW_TILE >= 10
    TW_TAP_CASE(9);
    TW_TAP_CASE(10);
#endif
    default: break;
  }
}

/* y[row][i] = sum over taps and channels of w[row][tap][channel] * planes[channel][at[tap] + i]; tiles of rows have as
 * many rows each, or one more. */
static inline void tw_tap_products(int32_t rows, const float *w, int64_t w_row, const tw_tap_parts *parts,
                                   const float *planes, int64_t plane, float *y, int64_t y_row, int32_t count) {
  const int32_t tiles = (rows + TW_TILE - 1) / TW_TILE, least = rows / tiles, more = rows % tiles;
  for (int32_t i = 0; i < count; i += TW_PANEL) {
    int32_t row = 0;
    for (int32_t tile = 0; tile < tiles; tile++) {
      const int32_t own = least + (tile < more);
      tw_tap_rows(own, w + row * w_row, w_row, parts, planes + i, plane, y + row * y_row + i, y_row,
                  tw_min(TW_PANEL, count - i));
      row += own;
    }
  }
}

#endif
