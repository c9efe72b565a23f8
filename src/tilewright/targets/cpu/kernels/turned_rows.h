/* Rows side by side as a panel: squares of four by four are turned in registers. */
#ifndef TW_TURNED_ROWS_H
#define TW_TURNED_ROWS_H

#include "lanes.h"
#include "panels.h"

/* Four rows, of which all elements but the last few are in squares. */
static inline void tw_turn_four(const float *rows, int64_t step, int32_t length, float *panel) {
  int32_t d = 0;
  for (; d + 4 <= length; d += 4) {
    tw_fourth x[4];
    TW_UNROLL for (int r = 0; r < 4; r++) memcpy(&x[r], rows + r * step + d, sizeof x[r]);
    TW_UNROLL for (int i = 0; i < 4; i++) {
      const tw_fourth turned = {x[0][i], x[1][i], x[2][i], x[3][i]};
      memcpy(panel + (d + i) * TW_PANEL, &turned, sizeof turned);
    }
  }
  for (; d < length; d++) {
    for (int r = 0; r < 4; r++) panel[d * TW_PANEL + r] = rows[r * step + d];
  }
}

/* Up to TW_PANEL rows of some length that are `step` apart, element after element, with zeros beside them. */
static inline void tw_turn_rows(const float *rows, int64_t step, int32_t count, int32_t length, float *panel) {
  int32_t j = 0;
  for (; j + 4 <= count; j += 4) tw_turn_four(rows + j * step, step, length, panel + j);
  for (; j < TW_PANEL; j++) {
    for (int32_t d = 0; d < length; d++) panel[d * TW_PANEL + j] = j < count ? rows[j * step + d] : 0.0f;
  }
}

#endif
