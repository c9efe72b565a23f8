/* Some rows of factors with a panel of neighbouring pixels, which is two vectors wide. Sums stay in registers. */
#ifndef TW_TAP_TILES_H
#define TW_TAP_TILES_H

#include "panels.h"
#include "tap_parts.h"
#include "turned_rows.h"

#define TW_TAP_ROWS TW_TILE

/* `rows` and `vectors` are constants. Sums begin with zero, or go on with what is stored. */
TW_INLINE void tw_tap_vectors(const int rows, const int vectors, const float *const *row, const tw_tap_parts *parts,
                              const float *planes, int64_t plane, int32_t is_first, float *y, int64_t y_row,
                              int32_t columns) {
  tw_vector sum[TW_TILE][2];
  const float *from[TW_TILE];
  const tw_bounds unbounded = {0, 0, 0.0f, 0.0f};
  const tw_tile_end end = {0, unbounded, y, y_row, columns};
  TW_UNROLL for (int r = 0; r < rows; r++) {
    from[r] = row[r];
    TW_UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (tw_vector){0};
  }
  if (!is_first) tw_begin_tile(rows, vectors, sum, &end);
  int64_t k = 0;
  for (int32_t tap = 0; tap < parts->taps; tap++) {
    const float *seen = planes + parts->at[tap];
    for (const int64_t stop = k + parts->channels; k < stop; k++, seen += plane) {
      TW_UNROLL for (int v = 0; v < vectors; v++) {
        const tw_vector x = tw_load(seen + v * TW_LANES);
        TW_UNROLL for (int r = 0; r < rows; r++) sum[r][v] += x * from[r][k];
      }
    }
  }
  tw_end_tile(rows, vectors, sum, &end);
}

#define TW_TAP_CASE(ROWS)                                                                            \
  case ROWS:                                                                                         \
    if (columns > TW_LANES) {                                                                        \
      tw_tap_vectors(ROWS, 2, row, parts, planes, plane, is_first, y, y_row, columns);               \
    } else {                                                                                         \
      tw_tap_vectors(ROWS, 1, row, parts, planes, plane, is_first, y, y_row, columns);               \
    }                                                                                                \
    break

static inline void tw_tap_tile(int32_t rows, const float *const *row, const tw_tap_parts *parts, const float *planes,
                               int64_t plane, int32_t is_first, float *y, int64_t y_row, int32_t columns) {
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

#endif
