/* Some rows of factors with a panel of neighbouring pixels. Sums stay in registers. */
#ifndef TW_TAP_TILES_H
#define TW_TAP_TILES_H

#include <string.h>

#include "tap_parts.h"
#include "tw.h"

#define TW_PANEL 32   /* columns of a panel */
#define TW_TAP_ROWS 4 /* of a tile at the most */

/* Sums of up to TW_TAP_ROWS rows and as many columns as are there begin with zero, or go on with what is stored. Where
 * rows are fewer, the last one is computed again and dropped; what is beside the columns is read and dropped as well. */
static inline void tw_tap_tile(int32_t rows, const float *const *row, const tw_tap_parts *parts, const float *planes,
                               int64_t plane, int32_t is_first, float *y, int64_t y_row, int32_t columns) {
  float sum[TW_TAP_ROWS][TW_PANEL] = {{0.0f}};
  const float *from[TW_TAP_ROWS];
  for (int32_t r = 0; r < TW_TAP_ROWS; r++) from[r] = row[tw_min(r, rows - 1)];
  for (int32_t r = 0; r < rows && !is_first; r++) memcpy(sum[r], y + r * y_row, (size_t)columns * sizeof *y);
  for (int32_t tap = 0, k = 0; tap < parts->taps; tap++) {
    const float *seen = planes + parts->at[tap];
    for (int32_t c = 0; c < parts->channels; c++, k++, seen += plane) {
      for (int32_t r = 0; r < TW_TAP_ROWS; r++) {
        const float factor = from[r][k];
        for (int32_t i = 0; i < TW_PANEL; i++) sum[r][i] += factor * seen[i];
      }
    }
  }
  for (int32_t r = 0; r < rows; r++) memcpy(y + r * y_row, sum[r], (size_t)columns * sizeof *y);
}

/* Up to TW_PANEL rows of some length that are `step` apart, element after element, with zeros beside them. */
static inline void tw_turn_rows(const float *rows, int64_t step, int32_t count, int32_t length, float *panel) {
  for (int32_t j = 0; j < TW_PANEL; j++) {
    for (int32_t i = 0; i < length; i++) panel[i * TW_PANEL + j] = j < count ? rows[j * step + i] : 0.0f;
  }
}

#endif
